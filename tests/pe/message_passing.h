/* tests/pe/message_passing.h: rounds of message passing around the ring of PEs, the shape of most ordering tests.
 * In each round a PE sends: it writes the round's number into all words of data, by the routines under test, and then
 * into flag; its reader waits for the flag and must find all of the data. The sender provides the order. */
#ifndef TESTS_PE_MESSAGE_PASSING_H
#define TESTS_PE_MESSAGE_PASSING_H

#include "check.h"

enum { MP_WORDS = 40 }; /* more than four cache lines */

/* Symmetric. Written by one PE only, but for ack. */
struct mp_box {
    uint64_t data[MP_WORDS];
    uint64_t line0[8];
    uint64_t flag;
    uint64_t line1[8];
    uint64_t ack;
};

struct mp_way {
    const char *name;
    void (*send)(struct mp_box *box, uint64_t round); /* data and flag to the right neighbour */
};

static struct mp_box mp_static;
static uint64_t mp_round; /* the last one; equal on all PEs */

static inline void mp_check(const char *name, const uint64_t *data, uint64_t round)
{
    for (int i = 0; i < MP_WORDS; i++)
        if (data[i] != round)
            check_fail(__FILE__, __LINE__, "%s: word %d of the data is %" PRIu64 " after the flag of round %" PRIu64,
                       name, i, data[i], round);
}

/* The left neighbour's data arrives here, and is read here by plain loads. */
static inline void mp_run(const struct mp_way *way, struct mp_box *box, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        uint64_t round = ++mp_round;
        way->send(box, round);
        shmem_uint64_wait_until(&box->flag, SHMEM_CMP_EQ, round);
        mp_check(way->name, box->data, round);
        shmem_uint64_atomic_set(&box->ack, round, pe.left); /* the next round may overwrite it */
        shmem_uint64_wait_until(&box->ack, SHMEM_CMP_EQ, round);
    }
    shmem_barrier_all();
}

/* The data goes to the right neighbour, the flag to the PE behind it, which gets the data from there. */
static inline void mp_run_third_party(const struct mp_way *way, struct mp_box *box, int rounds)
{
    int sender = (pe.me + 2 * pe.n - 2) % pe.n;
    for (int i = 0; i < rounds; i++) {
        uint64_t round = ++mp_round, seen[MP_WORDS];
        way->send(box, round);
        shmem_uint64_wait_until(&box->flag, SHMEM_CMP_EQ, round);
        shmem_uint64_get(seen, box->data, MP_WORDS, pe.left);
        mp_check(way->name, seen, round);
        shmem_uint64_atomic_set(&box->ack, round, sender);
        shmem_uint64_wait_until(&box->ack, SHMEM_CMP_EQ, round);
    }
    shmem_barrier_all();
}

/* Runs all routines, with the box in static data and in the heap. Collective. */
static inline void mp_run_all(const struct mp_way *ways, size_t n_ways, int rounds,
                              void (*run)(const struct mp_way *, struct mp_box *, int))
{
    struct mp_box *box = (struct mp_box *)shmem_calloc(1, sizeof *box);
    CHECK(box != NULL);
    for (size_t w = 0; w < n_ways; w++) {
        memset(mp_static.data, 0, sizeof mp_static.data);
        memset(box->data, 0, sizeof box->data);
        shmem_barrier_all();
        run(&ways[w], &mp_static, rounds);
        run(&ways[w], box, rounds);
    }
    shmem_free(box);
}

#endif
