/* R30: global and static variables of the executable are symmetric: initialised, zero, function-local, in another file.
 * Stack, malloc memory and thread-local variables are not. */
#include "check.h"

#include "r30_static_data.h"

static long initialised = 12, zero;
static char large[1 << 20];
static _Thread_local long of_thread = 3;

static void use(long *variable, long value)
{
    CHECK_EQ(shmem_addr_accessible(variable, pe.right), 1);
    CHECK_EQ(shmem_long_g(variable, pe.right), value);
    shmem_barrier_all();
    shmem_long_p(variable, pe.me + 5, pe.right);
    shmem_barrier_all();
    CHECK_EQ(*variable, pe.left + 5);
    shmem_barrier_all(); /* all have read */
    CHECK_EQ(shmem_long_atomic_swap(variable, pe.me + 9, pe.right), pe.me + 5);
    shmem_barrier_all();
    CHECK_EQ(*variable, pe.left + 9);
}

int main(void)
{
    static long local = 77;
    long on_stack = 0;
    long *by_malloc = malloc(sizeof *by_malloc);
    pe_begin();
    use(&initialised, 12);
    use(&zero, 0);
    use(&local, 77);
    use(&r30_elsewhere, 1234);
    use(&r30_elsewhere_zero, 0);

    shmem_putmem(large + sizeof large - 8, &pe.me, sizeof pe.me, pe.right);
    shmem_barrier_all();
    CHECK_EQ(*(int *)(void *)(large + sizeof large - 8), pe.left);

    CHECK_EQ(shmem_addr_accessible(&on_stack, pe.me), 0);
    CHECK_EQ(shmem_addr_accessible(by_malloc, pe.right), 0);
    CHECK_EQ(shmem_addr_accessible(&of_thread, pe.right), 0);
    CHECK_EQ(of_thread, 3);
    free(by_malloc);
    return pe_end();
}
