/* Threads beside the steps: each has a lane, room of its own in every PE's memory, which no other thread writes; so it
 * needs no synchronization, and runs whatever the steps do meanwhile. It knows what it has written, and what it reads
 * must be that. */
#include "differential.h"

#include <pthread.h>

enum { LANE_BYTES = 2048, WORDS = 8 };

struct lane {
    unsigned char bytes[LANE_BYTES];
    uint64_t words[WORDS];
};

/* lanes[t][i] of a PE is what thread t of PE i has written there. */
static struct lane lanes[LANES_MAX][PES_MAX];

static struct worker {
    pthread_t thread;
    int number;
    uint64_t random;
    struct lane at[PES_MAX]; /* the model of what is there */
    shmem_ctx_t ctx;
    int is_dirty; /* a write may not have arrived yet */
} workers[LANES_MAX];
static int n_workers, must_stop;

static size_t draw(struct worker *w, size_t bound) { return random_below(&w->random, bound); }

static void fail(const struct worker *w, const char *what, int pe)
{
    mismatch(NULL, "thread %d: %s of PE %d is not what it wrote there", w->number, what, pe);
}

static void settle(struct worker *w)
{
    if (w->is_dirty) shmem_ctx_quiet(w->ctx);
    w->is_dirty = 0;
}

static void write_lane(struct worker *w, int pe)
{
    static _Thread_local unsigned char source[LANE_BYTES];
    size_t offset = draw(w, LANE_BYTES), length = draw(w, LANE_BYTES - offset + 1);
    settle(w); /* no operation in flight reads the source, or may follow what is written now */
    for (size_t i = 0; i < length; i++) source[i] = (unsigned char)draw(w, 256);
    unsigned char *dest = lanes[w->number][my_pe].bytes + offset;
    if (draw(w, 2))
        shmem_ctx_putmem_nbi(w->ctx, dest, source, length, pe);
    else
        shmem_ctx_putmem(w->ctx, dest, source, length, pe);
    memcpy(w->at[pe].bytes + offset, source, length);
    w->is_dirty = 1;
}

static void read_lane(struct worker *w, int pe)
{
    unsigned char seen[LANE_BYTES];
    settle(w);
    shmem_ctx_getmem(w->ctx, seen, lanes[w->number][my_pe].bytes, sizeof seen, pe);
    if (memcmp(seen, w->at[pe].bytes, sizeof seen) != 0) fail(w, "the lane", pe);
}

static void update_word(struct worker *w, int pe)
{
    size_t i = draw(w, WORDS);
    uint64_t *word = &lanes[w->number][my_pe].words[i], *model_word = &w->at[pe].words[i];
    uint64_t before = *model_word, value = random_next(&w->random), seen = before;
    switch (draw(w, 4)) {
    case 0:
        seen = shmem_ctx_uint64_atomic_fetch_add(w->ctx, word, value, pe);
        *model_word += value;
        break;
    case 1:
        seen = shmem_ctx_uint64_atomic_swap(w->ctx, word, value, pe);
        *model_word = value;
        break;
    case 2:
        seen = shmem_ctx_uint64_atomic_compare_swap(w->ctx, word, before, value, pe);
        *model_word = value;
        break;
    default: seen = shmem_ctx_uint64_atomic_fetch(w->ctx, word, pe);
    }
    if (seen != before) fail(w, "a word", pe);
}

static void *run_lane(void *worker)
{
    static const long options[] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE};
    struct worker *w = worker;
    w->ctx = SHMEM_CTX_DEFAULT;
    if (draw(w, 3) && shmem_ctx_create(options[draw(w, 3)], &w->ctx) != 0) mismatch(NULL, "no context for a thread");
    while (!__atomic_load_n(&must_stop, __ATOMIC_ACQUIRE)) {
        int pe = (int)draw(w, (size_t)n_pes);
        switch (draw(w, 3)) {
        case 0: write_lane(w, pe); break;
        case 1: read_lane(w, pe); break;
        default: update_word(w, pe);
        }
    }
    for (int pe = 0; pe < n_pes; pe++) read_lane(w, pe);
    if (w->ctx != SHMEM_CTX_DEFAULT) shmem_ctx_destroy(w->ctx);
    return NULL;
}

void start_lanes(int n)
{
    n_workers = n < LANES_MAX ? n : LANES_MAX;
    for (int i = 0; i < n_workers; i++) {
        struct worker *w = &workers[i];
        w->number = i;
        w->random = pe.seed + (uint64_t)(my_pe * LANES_MAX + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        CHECK_EQ(pthread_create(&w->thread, NULL, run_lane, w), 0);
    }
}

void end_lanes(void)
{
    __atomic_store_n(&must_stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < n_workers; i++) CHECK_EQ(pthread_join(workers[i].thread, NULL), 0);
}
