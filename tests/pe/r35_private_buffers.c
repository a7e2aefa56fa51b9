/* R35: the source of a put and the destination of a get may be any memory of the caller: a literal, a read-only
 * mapping, a private mapping of a file, stack, thread-local, malloc. */
#include "check.h"

#include <fcntl.h>
#include <sys/mman.h>

enum { BYTES = 5000 };

static char target[BYTES];
static _Thread_local char of_thread[BYTES];

static char *map_own_program(int protection)
{
    int fd = open("/proc/self/exe", O_RDONLY);
    char *map = mmap(NULL, BYTES, protection, MAP_PRIVATE, fd, 0);
    CHECK(fd >= 0 && map != MAP_FAILED);
    close(fd);
    return map;
}

static void put_from(const char *source, size_t bytes)
{
    shmem_putmem(target, source, bytes, pe.right);
    shmem_barrier_all();
    CHECK_BYTES(target, source, bytes); /* all PEs put the same */
    shmem_barrier_all();
}

static void get_into(char *dest)
{
    memset(dest, 0, BYTES);
    shmem_getmem(dest, target, BYTES, pe.right);
    CHECK_BYTES(dest, target, BYTES);
}

int main(void)
{
    char on_stack[BYTES];
    pe_begin();
    char *allocated = malloc(BYTES), *read_only = map_own_program(PROT_READ);
    for (int i = 0; i < BYTES; i++) on_stack[i] = of_thread[i] = allocated[i] = (char)(i * 3);
    put_from("a literal in read-only data", 27);
    put_from(read_only, BYTES);
    put_from(on_stack, BYTES);
    put_from(of_thread, BYTES);
    put_from(allocated, BYTES);

    get_into(on_stack);
    get_into(of_thread);
    get_into(allocated);
    get_into(map_own_program(PROT_READ | PROT_WRITE));
    free(allocated);
    return pe_end();
}
