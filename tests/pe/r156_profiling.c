/* R156: a tool may define routines in the library's place, and sees each call of the program exactly once: those that
 * have an inlined path too, and none that the library makes itself. Run with the tool linked or loaded, and, with the
 * argument "alone", without one: then the inlined paths are taken. */
#include "check.h"
#include "r156_tool.h"

#include <dlfcn.h>
#include <isthmus/inline.h>
#include <pshmem.h>

static long word, numbers[4], sums[4], lock;

/* A tool that is an archive lies in this program; otherwise the function has no definition there. */
static tool_count_fn *find_tool(void)
{
    tool_count_fn *tool;
    void *found = dlsym(RTLD_DEFAULT, "tool_count");
    memcpy(&tool, &found, sizeof tool);
    return tool;
}

#define COUNTED(name, times) CHECK_EQ(tool("shmem_" #name), times)

static void check_counts(tool_count_fn *tool)
{
    COUNTED(init, 1);
    COUNTED(finalize, 1);
    COUNTED(my_pe, 1);
    COUNTED(n_pes, 1);
    COUNTED(malloc, 1);
    COUNTED(free, 1);
    COUNTED(ptr, 1);
    COUNTED(barrier_all, 2);
    COUNTED(sync_all, 1);
    COUNTED(team_sync, 1);
    COUNTED(team_my_pe, 1);
    COUNTED(quiet, 3);
    COUNTED(fence, 1);
    COUNTED(long_p, 4);
    COUNTED(long_g, 1);
    COUNTED(putmem, 1);
    COUNTED(long_get, 1);
    COUNTED(long_atomic_fetch_add, 1);
    COUNTED(long_atomic_set, 1);
    COUNTED(long_wait_until, 1);
    COUNTED(long_sum_reduce, 1);
    COUNTED(set_lock, 1);
}

static void use_everything(void)
{
    long seen[4];
    void (*through_pointer)(long *, long, int) = &shmem_long_p; /* makes the linker put a stand-in into the program */
    shmem_init();
    pe.me = shmem_my_pe(), pe.n = shmem_n_pes();
    int right = (pe.me + 1) % pe.n;
    long *block = (long *)shmem_malloc(4 * sizeof *block);
    CHECK(shmem_ptr(block, pe.me) != NULL);
    CHECK_EQ(shmem_team_my_pe(SHMEM_TEAM_WORLD), pe.me);
    for (long i = 0; i < 3; i++) shmem_long_p(&numbers[i], i + 1, right);
    through_pointer(&numbers[3], 4, right);
    shmem_fence();
    shmem_quiet();
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(&numbers[2], right), 3);
    shmem_putmem(block, numbers, 4 * sizeof *block, right);
    shmem_quiet();
    shmem_sync_all();
    shmem_long_get(seen, block, 4, right);
    CHECK_EQ(seen[3], 4);
    (void)shmem_long_atomic_fetch_add(&word, 1, right);
    shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
    CHECK_EQ(shmem_team_sync(SHMEM_TEAM_WORLD), 0);
    shmem_long_atomic_set(&word, 7, right);
    shmem_quiet();
    CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sums, numbers, 4), 0);
    CHECK_EQ(sums[3], 4L * pe.n);
    shmem_set_lock(&lock);
    shmem_clear_lock(&lock);
    shmem_barrier_all();
    shmem_free(block);
}

int main(int argc, char **argv)
{
    int alone = argc > 1 && strcmp(argv[1], "alone") == 0;
    tool_count_fn *tool = find_tool();
    use_everything();
    CHECK_EQ(tool == NULL, alone);
    CHECK_EQ(isthmus_fast_()->n_pes, alone ? (unsigned)pe.n : 0u);
    shmem_finalize();
    if (tool != NULL) check_counts(tool);
    return 0;
}
