/* R142: shmem_wait and its typed forms wait until the word is another; on long the old names are functions, also where
 * they are type-generic macros. Compiled as C99, C11 and C++. */
#include "check.h"

static short a_short;
static int an_int;
static long a_long[4];
static long long a_longlong;

/* Each word becomes `value` at the right neighbour, in another order than it is waited for. */
static void send(int value)
{
    shmem_longlong_p(&a_longlong, value, pe.right);
    for (int i = 3; i >= 0; i--) shmem_long_p(&a_long[i], value, pe.right);
    shmem_int_p(&an_int, value, pe.right);
    shmem_short_p(&a_short, (short)value, pe.right);
    shmem_quiet();
}

static void wait_for_others(int old)
{
    shmem_short_wait(&a_short, (short)old);
    shmem_int_wait(&an_int, old);
    shmem_long_wait(&a_long[0], old);
    shmem_longlong_wait(&a_longlong, old);
    shmem_wait(&a_long[1], old);
    (shmem_wait)(&a_long[2], old);
    (shmem_wait_until)(&a_long[3], SHMEM_CMP_NE, old);
    shmem_wait_until(&a_long[3], SHMEM_CMP_NE, old);
}

int main(void)
{
    pe_begin();
    for (int value = 1; value <= pe_rounds(400); value++) {
        send(value);
        wait_for_others(value - 1);
        CHECK_EQ(a_short, value);
        CHECK_EQ(an_int, value);
        CHECK_EQ(a_longlong, value);
        for (int i = 0; i < 4; i++) CHECK_EQ(a_long[i], value);
        shmem_barrier_all();
    }
    return pe_end();
}
