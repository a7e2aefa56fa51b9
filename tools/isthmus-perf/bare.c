/* tools/isthmus-perf/bare.c: see bare.h. */
#include "tools/isthmus-perf/bare.h"

#include <sched.h>
#include <shmem.h>
#include <string.h>

static char *remote(const struct place *place) { return place->alias != NULL ? place->alias : place->private_dest; }
static long *remote_word(const struct place *place) { return (long *)(void *)remote(place); }

/* The cheapest full barrier of the processor: on x86-64 any locked instruction. */
static void full_barrier(void)
{
#if defined(__x86_64__)
    __asm__ volatile("lock; orl $0, -8(%%rsp)" ::: "memory", "cc");
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* ---- copies ---- */

static void copy(char *to, const char *from, size_t length_bytes)
{
    memcpy(to, from, length_bytes);
    bare_keep_loop();
}

void bare_put(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) {
        copy(remote(place), place->source, place->size_bytes);
        full_barrier();
    }
}

void bare_near_put(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) {
        copy(place->private_dest, place->source, place->size_bytes);
        full_barrier();
    }
}

void bare_put_many(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) copy(remote(place), place->source, place->size_bytes);
    full_barrier();
}

void bare_get(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) copy(place->source, remote(place), place->size_bytes);
}

/* The word of the signal is that of this PE: which line it is in makes no difference. */
void bare_put_signal(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) {
        copy(remote(place), place->source, place->size_bytes);
        __atomic_store_n(&place->flags[FLAG_SIGNAL], (uint64_t)i, __ATOMIC_RELEASE);
        full_barrier();
    }
}

/* ---- one instruction ---- */

void bare_store(const struct place *place, long reps)
{
    long *word = remote_word(place);
    for (long i = 0; i < reps; i++) {
        __atomic_store_n(word, i, __ATOMIC_RELAXED);
        bare_keep_loop();
    }
}

void bare_load(const struct place *place, long reps)
{
    const long *word = remote_word(place);
    for (long i = 0; i < reps; i++) {
        bare_use(__atomic_load_n(word, __ATOMIC_RELAXED));
        bare_keep_loop();
    }
}

void bare_fetch_add(const struct place *place, long reps)
{
    long *word = remote_word(place);
    for (long i = 0; i < reps; i++) bare_use(__atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST));
}

void bare_compare_swap(const struct place *place, long reps)
{
    long *word = remote_word(place);
    for (long i = 0; i < reps; i++) {
        long seen = i;
        __atomic_compare_exchange_n(word, &seen, i + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        bare_use(seen);
    }
}

/* ---- all PEs ---- */

static void spin_until(const uint64_t *flag, uint64_t value)
{
    enum { SPINS = 200 }; /* before other PEs of this processor get their turn */
    for (unsigned n = 1; __atomic_load_n(flag, __ATOMIC_ACQUIRE) < value; n++)
        if (n % SPINS == 0) sched_yield();
}

/* The flags of the partners that this PE informs, round by round. Returns the number of rounds. */
static int find_partners(const struct place *place, uint64_t **partners)
{
    int n = 0;
    for (long step = 1; step < place->n_pes; step *= 2, n++)
        partners[n] = (uint64_t *)shmem_ptr(place->flags, (int)((place->my_pe + step) % place->n_pes)) +
                      n * FLAG_STRIDE;
    return n;
}

/* Counts through all batches, so that no flag is ever reset. */
uint64_t bare_next_turn(void)
{
    static uint64_t turn;
    return ++turn;
}

/* Acquire pairs with the partner's release: after the last round every PE has arrived. */
static void synchronize(const struct place *place, uint64_t *const *partners, int n_rounds)
{
    const uint64_t turn = bare_next_turn();
    for (int i = 0; i < n_rounds; i++) {
        __atomic_store_n(partners[i], turn, __ATOMIC_RELEASE);
        spin_until(&place->flags[i * FLAG_STRIDE], turn);
    }
}

void bare_flags(const struct place *place, long reps)
{
    uint64_t *partners[FLAG_ROUNDS];
    int n_rounds = find_partners(place, partners);
    for (long i = 0; i < reps; i++) synchronize(place, partners, n_rounds);
}

static void receive(const struct place *place, long reps, int n_blocks)
{
    uint64_t *partners[FLAG_ROUNDS];
    int n_rounds = find_partners(place, partners);
    for (long i = 0; i < reps; i++) {
        synchronize(place, partners, n_rounds);
        for (int block = 0; block < n_blocks; block++)
            copy(place->dest + (size_t)block * place->size_bytes, place->alias, place->size_bytes);
    }
}

void bare_receive_one(const struct place *place, long reps) { receive(place, reps, 1); }
void bare_receive_others(const struct place *place, long reps) { receive(place, reps, place->n_pes - 1); }

void bare_copy_one(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) copy(place->dest, place->alias, place->size_bytes);
}
