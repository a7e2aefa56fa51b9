/* tests/threads/stress_ops.c: the parts of the stress job that concern one PE and another one. */
#include "stress.h"

#include <pthread.h>
#include <sys/wait.h>

void ops_begin(uint64_t seed)
{
    pe_know();
    pe.seed = seed;
}

static void add_under_lock(struct lane *lane)
{
    size_t which = random_below(&lane->random, 3);
    int home = (int)which % pe.n;
    if (random_below(&lane->random, 2) == 0)
        shmem_set_lock(&stress_locks[which]);
    else
        while (shmem_test_lock(&stress_locks[which]) != 0) sched_yield();
    long before = shmem_long_g(&stress_counters[which], home);
    if (random_below(&lane->random, 4) == 0) sched_yield();
    shmem_long_p(&stress_counters[which], before + 1, home);
    shmem_clear_lock(&stress_locks[which]);
}

void part_locks(struct lane *lane)
{
    for (int i = 0; i < STRESS_LOCKED; i++) add_under_lock(lane);
}

/* Words WORDS to 2 * WORDS of the right neighbour are this thread's alone. */
void part_rma(struct lane *lane)
{
    long out[WORDS], back[WORDS], *there = lane->from_left + WORDS;
    for (int i = 0; i < WORDS; i++) out[i] = stress_value(lane, pe.me, i);
    memset(back, 0, sizeof back);
    switch (random_below(&lane->random, 5)) {
    case 0: shmem_long_put(there, out, WORDS, pe.right); break;
    case 1: shmem_long_put_nbi(there, out, WORDS, pe.right); break;
    case 2:
        for (int i = 0; i < WORDS; i++) shmem_long_p(&there[i], out[i], pe.right);
        break;
    case 3:
        shmem_long_iput(there, out, 2, 2, WORDS / 2, pe.right);
        shmem_fence();
        shmem_long_iput(there + 1, out + 1, 2, 2, WORDS / 2, pe.right);
        break;
    default: shmem_long_ibput(there, out, 4, 4, 4, WORDS / 4, pe.right);
    }
    shmem_quiet();
    switch (random_below(&lane->random, 4)) {
    case 0: shmem_long_get(back, there, WORDS, pe.right); break;
    case 1:
        shmem_long_get_nbi(back, there, WORDS, pe.right);
        shmem_local_complete();
        break;
    case 2:
        for (int i = 0; i < WORDS; i++) back[i] = shmem_long_g(&there[i], pe.right);
        break;
    default: shmem_long_ibget(back, there, 4, 4, 4, WORDS / 4, pe.right);
    }
    CHECK_BYTES(back, out, sizeof out);
}

static void fetching_nbi(unsigned long *word, unsigned long expected)
{
    unsigned long seen[3] = {0};
    shmem_ulong_atomic_fetch_xor_nbi(&seen[0], word, 0, pe.right);
    shmem_ulong_atomic_fetch_or_nbi(&seen[1], word, 0, pe.right);
    shmem_ulong_atomic_fetch_nbi(&seen[2], word, pe.right);
    shmem_quiet();
    for (int i = 0; i < 3; i++) CHECK_EQ(seen[i], expected);
}

void part_atomics(struct lane *lane)
{
    unsigned long *word = (unsigned long *)&lane->words[0];
    unsigned long value = (unsigned long)stress_value(lane, pe.me, 0);
    shmem_ulong_atomic_set(word, value, pe.right);
    CHECK_EQ(shmem_ulong_atomic_swap(word, value + 1, pe.right), value);
    CHECK_EQ(shmem_ulong_atomic_compare_swap(word, value + 1, value + 2, pe.right), value + 1);
    CHECK_EQ(shmem_ulong_atomic_compare_swap(word, value + 1, 7, pe.right), value + 2);
    CHECK_EQ(shmem_ulong_atomic_fetch_and(word, ~0xfful, pe.right), value + 2);
    shmem_ulong_atomic_or(word, 0x5, pe.right);
    CHECK_EQ(shmem_ulong_atomic_fetch_xor(word, 0xf, pe.right), ((value + 2) & ~0xfful) | 5);
    fetching_nbi(word, ((value + 2) & ~0xfful) | 0xa);
    int to = (int)random_below(&lane->random, (size_t)pe.n);
    long before = shmem_long_atomic_fetch_add(&stress_sums[to], 3, to);
    CHECK(shmem_long_atomic_fetch_inc(&stress_sums[to], to) >= before + 3);
    shmem_long_atomic_add(&stress_sums[to], 2, to);
    shmem_long_atomic_inc(&stress_sums[to], to);
    lane->n_added += 7;
}

/* Each PE signals the right one and waits for the left one. */
void part_signals(struct lane *lane)
{
    long out[WORDS];
    for (int i = 0; i < WORDS; i++) out[i] = stress_value(lane, pe.me, i);
    uint64_t n = ++lane->n_signals;
    switch (random_below(&lane->random, 3)) {
    case 0: shmem_long_put_signal(lane->from_left, out, WORDS, lane->signal, n, SHMEM_SIGNAL_SET, pe.right); break;
    case 1: shmem_long_put_signal_nbi(lane->from_left, out, WORDS, lane->signal, 1, SHMEM_SIGNAL_ADD, pe.right); break;
    default:
        shmem_long_put(lane->from_left, out, WORDS, pe.right);
        shmem_fence();
        shmem_signal_add(lane->signal, 1, pe.right);
    }
    CHECK_EQ(shmem_signal_wait_until(lane->signal, SHMEM_CMP_GE, n), n);
    CHECK_EQ(shmem_signal_fetch(lane->signal), n);
    for (int i = 0; i < WORDS; i++) CHECK_EQ(lane->from_left[i], stress_value(lane, pe.left, i));
    nvshmemx_signal_op(&lane->signal[2], n, NVSHMEM_SIGNAL_ADD, pe.right);
    CHECK_EQ(nvshmem_barrier(lane->nv), 0); /* the words may be written again */
    CHECK_EQ(nvshmem_signal_fetch(&lane->signal[2]), n);
    nvshmemx_signal_counted_reset(&lane->signal[2]);
    CHECK_EQ(nvshmem_signal_fetch(&lane->signal[2]), 0);
    CHECK_EQ(shmem_team_sync(lane->team), 0);
}

/* The left PE sets words, at last with the number of this step. */
void part_waits(struct lane *lane)
{
    enum { N = 4 };
    long *here = lane->from_left + 2 * WORDS, values[N];
    size_t indices[N], i = 0;
    for (int k = 0; k < N; k++) values[k] = lane->step;
    for (int k = 0; k < N; k++) shmem_long_atomic_set(&here[(k + pe.me) % N], lane->step, pe.right);
    size_t kind = random_below(&lane->random, 9);
    switch (kind) {
    case 0: shmem_long_wait_until_all(here, N, NULL, SHMEM_CMP_EQ, lane->step); break;
    case 1: shmem_long_wait_until_all_vector(here, N, NULL, SHMEM_CMP_EQ, values); break;
    case 2: i = shmem_long_wait_until_any(here, N, NULL, SHMEM_CMP_EQ, lane->step); break;
    case 3: i = shmem_long_wait_until_any_vector(here, N, NULL, SHMEM_CMP_EQ, values); break;
    case 4: CHECK(shmem_long_wait_until_some(here, N, indices, NULL, SHMEM_CMP_EQ, lane->step) > 0); break;
    case 5: CHECK(shmem_long_wait_until_some_vector(here, N, indices, NULL, SHMEM_CMP_EQ, values) > 0); break;
    case 6:
        while (!shmem_long_test_all(here, N, NULL, SHMEM_CMP_EQ, lane->step)) {}
        break;
    case 7:
        while ((i = shmem_long_test_any_vector(here, N, NULL, SHMEM_CMP_EQ, values)) == SIZE_MAX) {}
        break;
    default:
        while (shmem_long_test_some(here, N, indices, NULL, SHMEM_CMP_EQ, lane->step) < N) {}
    }
    if (kind == 4 || kind == 5) i = indices[0];
    CHECK(i < N);
    CHECK_EQ(here[i], lane->step);
    for (int k = 0; k < N; k++) shmem_long_wait_until(&here[k], SHMEM_CMP_EQ, lane->step);
    while (!shmem_long_test(&here[0], SHMEM_CMP_EQ, lane->step)) {}
    shmem_quiet();
    CHECK_EQ(shmem_team_sync(lane->team), 0);
}

static void use_context(struct lane *lane, shmem_ctx_t ctx, long *word)
{
    long out[WORDS / 2], back[WORDS / 2] = {0};
    for (int i = 0; i < WORDS / 2; i++) out[i] = stress_value(lane, pe.me, i);
    shmem_ctx_long_put_nbi(ctx, word, out, WORDS / 2, pe.right);
    switch (random_below(&lane->random, 4)) {
    case 0: shmem_ctx_quiet(ctx); break;
    case 1: shmem_ctx_pe_quiet(ctx, &pe.right, 1); break;
    case 2: shmem_ctx_local_complete(ctx), shmem_ctx_remote_commit(ctx); break;
    default: shmemx_ctx_local_complete(ctx), shmemx_ctx_remote_commit(ctx);
    }
    shmem_ctx_long_get_nbi(ctx, back, word, WORDS / 2, pe.right);
    shmem_ctx_quiet(ctx);
    CHECK_BYTES(back, out, sizeof out);
    (void)shmem_ctx_long_atomic_fetch_add(ctx, &stress_sums[pe.right], 1, pe.right);
    shmem_ctx_long_p(ctx, word, 1, pe.right);
    shmem_ctx_fence(ctx);
    shmem_ctx_long_p(ctx, word, 2, pe.right);
    shmem_ctx_quiet(ctx);
    CHECK_EQ(shmem_ctx_long_g(ctx, word, pe.right), 2);
    lane->n_added++;
}

void part_contexts(struct lane *lane)
{
    long options = (long)random_below(&lane->random, 8); /* sums of SERIALIZED, PRIVATE, NOSTORE */
    bool is_of_team = random_below(&lane->random, 2) == 0;
    const shmem_ctx_session_config_t session = {.total_ops = 8};
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx;
    int failed = is_of_team ? shmem_team_create_ctx(lane->team, options, &ctx) : shmem_ctx_create(options, &ctx);
    CHECK_EQ(failed, 0);
    CHECK_EQ(shmem_ctx_get_team(ctx, &team), 0);
    CHECK(team == (is_of_team ? lane->team : SHMEM_TEAM_WORLD));
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &session, SHMEM_CTX_SESSION_TOTAL_OPS);
    use_context(lane, ctx, lane->from_left + 3 * WORDS);
    shmem_ctx_session_stop(ctx);
    if (random_below(&lane->random, 2) == 0) shmem_remote_commit();
    shmem_ctx_destroy(ctx);
    faces_context(lane);
}

void part_shared_context(struct lane *lane) { use_context(lane, stress_ctx, lane->from_left + 3 * WORDS + WORDS / 2); }

/* A child has data of its own, whatever the parent's other threads do meanwhile. */
void part_fork(struct lane *lane)
{
    static long data[LANES];
    int status = -1;
    if (lane->step % 8 != 0) return;
    data[lane->number] = lane->step;
    pid_t child = fork();
    if (child == 0) {
        bool was_copied = data[lane->number] == lane->step;
        data[lane->number] = -1;
        _exit(was_copied ? 0 : 1);
    }
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(data[lane->number], lane->step);
}

static void *await_neighbour(void *argument)
{
    const struct lane *lane = argument;
    shmem_uint64_wait_until(&lane->signal[1], SHMEM_CMP_GE, (uint64_t)lane->step);
    while (lane->step > 0) pthread_testcancel();
    return NULL;
}

/* A thread that is cancelled while it waits ends after the wait, which the left neighbour ends. */
void part_cancel(struct lane *lane)
{
    pthread_t thread;
    void *result = NULL;
    if (lane->step % 4 != 0) return;
    CHECK_EQ(pthread_create(&thread, NULL, await_neighbour, lane), 0);
    CHECK_EQ(pthread_cancel(thread), 0);
    shmem_uint64_p(&lane->signal[1], (uint64_t)lane->step, pe.right);
    shmem_quiet();
    CHECK_EQ(pthread_join(thread, &result), 0);
    CHECK(result == PTHREAD_CANCELED);
}
