/* R7: no routine is a cancellation point: a thread that is cancelled while it waits, or in the middle of operations,
 * ends after the call, and nothing that other threads or PEs need goes with it.
 * In each round PE 0 has such a thread; PE 1 lets its wait end only after the main threads have used all that the
 * thread may have had locked. */
#include "check.h"

#include <pthread.h>
#include <stdbool.h>

enum { BYTES = 65536 };

static long go, sum, lock, words[2];
static uint64_t signal_word;
static char here[BYTES], there[BYTES];
static bool must_stop;

static void wait_until(void) { shmem_long_wait_until(&go, SHMEM_CMP_EQ, 1); }
static void wait_signal(void) { (void)shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1); }
static void wait_lock(void) { shmem_set_lock(&lock); }

/* The thread's own calls end, but there are many of them. */
static bool goes_on(void) { return !__atomic_load_n(&must_stop, __ATOMIC_RELAXED); }

static void get(void)
{
    while (goes_on()) shmem_getmem(here, there, BYTES, 1);
}

static void put(void)
{
    while (goes_on()) {
        shmem_putmem(there, here, BYTES, 1);
        shmem_quiet();
    }
}

static void add(void)
{
    while (goes_on()) (void)shmem_long_atomic_fetch_inc(&words[1], 1);
}

static void use_contexts(void)
{
    while (goes_on()) {
        shmem_ctx_t ctx;
        CHECK_EQ(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx), 0);
        shmem_ctx_putmem(ctx, there, here, 8, 1);
        shmem_ctx_destroy(ctx);
    }
}

static void (*const ways[])(void) = {wait_until, wait_signal, wait_lock, get, put, add, use_contexts};
enum { WAYS = sizeof ways / sizeof ways[0] };

static void *run(void *way)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    CHECK_EQ(before, PTHREAD_CANCEL_ENABLE);
    ways[(size_t)way]();
    while (ways[(size_t)way] != NULL) pthread_testcancel();
    return NULL;
}

/* What waits, sends, and takes the locks of the library, on both sides. */
static void use_all(int times)
{
    for (int i = 0; i < times; i++) {
        char from[256];
        shmem_barrier_all();
        shmem_getmem(from, here, sizeof from, 1 - pe.me);
        (void)shmem_long_atomic_fetch_inc(&words[0], 1 - pe.me);
        shmem_long_p(&sum, i, 1 - pe.me);
        shmem_quiet();
    }
}

static void round_of(size_t way, int times)
{
    pthread_t thread;
    void *result = NULL;
    if (pe.me == 1) shmem_set_lock(&lock);
    shmem_barrier_all();
    if (pe.me == 0) {
        CHECK_EQ(pthread_create(&thread, NULL, run, (void *)way), 0);
        use_all(1);
        CHECK_EQ(pthread_cancel(thread), 0);
    } else {
        use_all(1);
    }
    use_all(times);
    if (pe.me == 1) {
        shmem_clear_lock(&lock);
        shmem_long_p(&go, 1, 0);
        shmem_putmem_signal(there, here, 8, &signal_word, 1, SHMEM_SIGNAL_SET, 0);
        shmem_quiet();
    } else {
        __atomic_store_n(&must_stop, true, __ATOMIC_RELAXED);
        CHECK_EQ(pthread_join(thread, &result), 0);
        CHECK(result == PTHREAD_CANCELED);
        if (ways[way] == wait_lock) shmem_clear_lock(&lock); /* any thread of the PE may */
        must_stop = false;
        go = 0;
        signal_word = 0;
    }
    shmem_barrier_all();
}

int main(void)
{
    pe_begin_threads();
    int rounds = pe_part_of(8);
    for (size_t way = 0; way < WAYS; way++)
        for (int i = 0; i < rounds; i++) round_of(way, 10);
    void *block = shmem_malloc(1 << 20);
    CHECK(block != NULL);
    shmem_free(block);
    return pe_end();
}
