/* R86, R137, R143, R146 on words in memory of a device: atomics of all widths exclude each other, also where the
 * library makes them of compare and swap; waits, tests, signals, locks. */
#include "device.h"

enum { ROUNDS = 200 };

static struct words {
    uint64_t sum, bits, signal, fetched, turns[4];
    uint32_t narrow;
    int ints[4];
    long lock;
} * words;
static long static_lock;

static void clear(void)
{
    fill_heap(words, 0, sizeof *words);
    shmem_barrier_all();
}

static void sums(void)
{
    uint64_t old, next = 0;
    for (int i = 0; i < ROUNDS; i++) {
        shmem_uint64_atomic_add(&words->sum, 3, 0);
        shmem_uint32_atomic_inc(&words->narrow, 0);
        shmem_uint64_atomic_xor(&words->bits, UINT64_C(1) << (pe.me % 64), 0);
        old = shmem_uint64_atomic_fetch_add(&words->turns[0], 1, 0);
        CHECK(i == 0 || old >= next);
        next = old + 1;
    }
    shmem_barrier_all();
    CHECK_EQ(shmem_uint64_atomic_fetch(&words->sum, 0), 3 * ROUNDS * pe.n);
    CHECK_EQ(shmem_uint32_atomic_fetch(&words->narrow, 0), ROUNDS * pe.n);
    CHECK_EQ(shmem_uint64_atomic_fetch(&words->bits, 0), 0); /* an even number of times each */
    CHECK_EQ(shmem_uint64_atomic_fetch(&words->turns[0], 0), ROUNDS * pe.n);
    shmem_barrier_all();
}

static void fetches(void)
{
    float half = 0.5f;
    uint64_t private_word = 7;
    shmem_uint64_atomic_set(&words->turns[1], 40 + (uint64_t)pe.me, pe.right);
    shmem_float_atomic_set((float *)(void *)&words->ints[2], half, pe.right);
    shmem_barrier_all();
    CHECK_EQ(shmem_uint64_atomic_swap(&words->turns[1], 1, pe.me), 40 + pe.left);
    CHECK_EQ(shmem_uint64_atomic_compare_swap(&words->turns[1], 2, 9, pe.me), 1);
    CHECK_EQ(shmem_uint64_atomic_compare_swap(&words->turns[1], 1, 9, pe.me), 1);
    CHECK(shmem_float_atomic_fetch((float *)(void *)&words->ints[2], pe.me) == half);
    shmem_uint64_atomic_fetch_add_nbi(&private_word, &words->turns[1], 5, pe.me);
    shmem_uint64_atomic_fetch_add_nbi(&words->fetched, &words->turns[1], 5, pe.me); /* the old value to the device */
    shmem_quiet();
    CHECK_EQ(private_word, 9);
    CHECK_EQ(shmem_uint64_g(&words->fetched, pe.me), 14);
    shmem_barrier_all();
}

static void waits(void)
{
    int cmp_values[4] = {1, 2, 3, 4}, status[4] = {0, 0, 0, 1};
    size_t indices[4];
    CHECK_EQ(shmem_int_test(&words->ints[0], SHMEM_CMP_NE, 0), 0);
    shmem_barrier_all();
    for (int i = 0; i < 3; i++) shmem_int_p(&words->ints[i], i + 1, pe.right);
    shmem_int_wait_until(&words->ints[0], SHMEM_CMP_EQ, 1);
    shmem_int_wait_until_all_vector(words->ints, 4, status, SHMEM_CMP_EQ, cmp_values);
    CHECK_EQ(shmem_int_wait_until_some(words->ints, 3, indices, NULL, SHMEM_CMP_GT, 0), 3);
    CHECK(shmem_int_wait_until_any(words->ints, 4, status, SHMEM_CMP_GE, 3) == 2);
    CHECK_EQ(shmem_int_test_all(words->ints, 3, NULL, SHMEM_CMP_GT, 1), 0);
    shmem_barrier_all();
}

static void signals(char *block)
{
    enum { BYTES = 10000 };
    char data[BYTES], wanted[BYTES];
    for (int round = 1; round <= 20; round++) {
        make_pattern(data, BYTES, 100 * round + pe.me);
        if (round % 2 == 0)
            shmem_putmem_signal(block, data, BYTES, &words->signal, (uint64_t)round, SHMEM_SIGNAL_SET, pe.right);
        else
            shmem_putmem_signal_nbi(block, data, BYTES, &words->signal, 1, SHMEM_SIGNAL_ADD, pe.right);
        CHECK_EQ(shmem_signal_wait_until(&words->signal, SHMEM_CMP_EQ, (uint64_t)round), round);
        CHECK_EQ(shmem_signal_fetch(&words->signal), round);
        make_pattern(wanted, BYTES, 100 * round + pe.left);
        expect_in_heap(block, wanted, BYTES);
        shmem_barrier_all();
    }
}

static void locks(void)
{
    for (int i = 0; i < 50; i++) {
        shmem_set_lock(&words->lock);
        shmem_uint64_p(&words->turns[3], shmem_uint64_g(&words->turns[3], 0) + 1, 0);
        shmem_clear_lock(&words->lock);
        shmem_set_lock(&static_lock);
        shmem_uint64_p(&words->turns[2], shmem_uint64_g(&words->turns[2], 0) + 1, 0);
        shmem_clear_lock(&static_lock);
    }
    shmem_barrier_all();
    CHECK_EQ(shmem_uint64_g(&words->turns[3], 0), 50 * pe.n);
    CHECK_EQ(shmem_uint64_g(&words->turns[2], 0), 50 * pe.n);
}

int main(void)
{
    pe_begin();
    words = shmem_malloc(sizeof *words);
    char *block = shmem_malloc(10000);
    CHECK(words != NULL && block != NULL);
    clear();
    sums();
    clear();
    fetches();
    clear();
    waits();
    clear();
    signals(block);
    locks();
    shmem_finalize();
    return 0;
}
