/* R134: calls on streams of a real platform take effect in the stream's order and do not block the host. No case reads
 * a clock: a stream is held at a gate, the calls return all the same, and nothing of them has happened; the gate is
 * opened, and all of it has. */
#include "cuda_stream.h"
#include "tests/pe/nv.h"

#include <stdbool.h>
#include <string.h>

enum { WORDS = 3000, BYTES = WORDS * 8 };

static cudaStream_t streams[2];
static uint64_t *dest, *source, *words, turn;
static bool is_far; /* there is a network between some of the PEs */

/* ---- the heap, which the processor must not touch ---- */

static void set(void *at, const void *values, size_t n_bytes)
{
    nvshmem_putmem(at, values, n_bytes, pe.me);
    nvshmem_quiet();
}

static uint64_t word_of(const uint64_t *at, int of) { return nvshmem_uint64_g(at, of); }

/* n words, the first of which is `first`. */
static void fill(uint64_t *at, size_t n, uint64_t first)
{
    static uint64_t values[WORDS];
    for (size_t i = 0; i < n; i++) values[i] = first + i;
    set(at, values, n * sizeof *values);
}

static void expect(const uint64_t *at, size_t n, uint64_t first)
{
    static uint64_t seen[WORDS];
    nvshmem_getmem(seen, at, n * sizeof *seen, pe.me);
    for (size_t i = 0; i < n; i++) CHECK_EQ(seen[i], first + i);
}

static void begin_case(void)
{
    static const uint64_t zeroes[WORDS];
    set(dest, zeroes, BYTES);
    set(words, zeroes, 64 * sizeof *words);
    fill(source, WORDS, 1000u * (uint64_t)(pe.me + 1));
    turn = gate_turn() + 1;
    nvshmem_barrier_all();
}

static void release(cudaStream_t stream)
{
    gate_open();
    stream_end(stream);
}

/* ---- cases ---- */

/* What the transport does, and what the host does: a private buffer, a strided put. None of it before the gate
 * opens. */
static void late_and_in_order(void)
{
    static uint64_t private_source[8] = {70, 71, 72, 73}, private_dest[4];
    begin_case();
    stream_hold(streams[0], turn);
    nvshmemx_uint64_put_on_stream(dest, source + 1, 8, pe.right, streams[0]);
    nvshmemx_uint64_put_on_stream(dest, source, WORDS - 8, pe.right, streams[0]);
    nvshmemx_uint64_put_nbi_on_stream(dest + WORDS - 8, private_source, 4, pe.right, streams[0]);
    nvshmemx_uint64_iput_on_stream(dest + WORDS - 4, source, 1, 2, 4, pe.right, streams[0]);
    nvshmemx_uint64_p_on_stream(words, 5, pe.right, streams[0]);
    nvshmemx_int_p_on_stream((int *)(void *)(words + 1), 6, pe.right, streams[0]);
    nvshmemx_quiet_on_stream(streams[0]);
    nvshmemx_uint64_get_on_stream(words + 4, words, 2, pe.right, streams[0]);
    nvshmemx_uint64_get_nbi_on_stream(private_dest, dest + WORDS - 8, 4, pe.right, streams[0]);
    nvshmemx_quiet_on_stream(streams[0]);
    CHECK_EQ(word_of(dest, pe.right), 0);
    CHECK_EQ(word_of(dest + WORDS - 1, pe.right), 0);
    CHECK_EQ(word_of(words + 4, pe.me), 0);
    private_source[3] = 74; /* read when the stream gets there */
    nvshmem_barrier_all();
    release(streams[0]);
    nvshmem_barrier_all();
    uint64_t left = 1000u * (uint64_t)(pe.left + 1);
    expect(dest, WORDS - 8, left);
    expect(dest + WORDS - 8, 3, 70);
    CHECK_EQ(word_of(dest + WORDS - 5, pe.me), 74);
    for (uint64_t i = 0; i < 4; i++) CHECK_EQ(word_of(dest + WORDS - 4 + i, pe.me), left + 2 * i);
    expect(words, 2, 5);
    expect(words + 4, 2, 5);
    CHECK_EQ(private_dest[3], 74);
    nvshmem_barrier_all();
}

/* Around all PEs, each word waited for by a stream; the first PE's is held. */
static void signals(void)
{
    begin_case();
    for (uint64_t round = 1; round <= 5; round++) {
        if (pe.me == 0) stream_hold(streams[0], turn + round - 1);
        if (pe.me != 0) nvshmemx_signal_wait_until_on_stream(words, NVSHMEM_CMP_GE, round, streams[0]);
        if (pe.me != 0) nvshmemx_uint64_get_on_stream(source, dest, 100, pe.me, streams[0]);
        nvshmemx_uint64_put_signal_on_stream(dest, source, 100, words, 1, NVSHMEM_SIGNAL_ADD, pe.right, streams[0]);
        if (pe.me != 0) continue;
        nvshmemx_signal_wait_until_on_stream(words, NVSHMEM_CMP_GT, round - 1, streams[0]);
        CHECK_EQ(word_of(words, pe.me), round - 1);
        gate_open();
        stream_end(streams[0]);
    }
    nvshmemx_signal_op_on_stream(words + 1, 9, NVSHMEM_SIGNAL_SET, pe.right, streams[0]);
    nvshmemx_signal_wait_until_on_stream(words + 1, NVSHMEM_CMP_EQ, 9, streams[0]);
    nvshmemx_signal_wait_until_on_stream(words + 1, NVSHMEM_CMP_NE, 8, streams[0]);
    nvshmemx_uint64_wait_until_on_stream(words + 1, NVSHMEM_CMP_LE, 9, streams[0]);
    stream_end(streams[0]);
    CHECK_EQ(word_of(words, pe.me), 5);
    expect(dest, 100, 1000);
    nvshmem_barrier_all();
}

/* Arrays are the program's again when the call returns. */
static void arrays(void)
{
    uint64_t values[3] = {1, 2, 3};
    int status[3] = {0, 1, 0};
    begin_case();
    stream_hold(streams[0], turn);
    nvshmemx_uint64_wait_until_all_vector_on_stream(words, 3, status, NVSHMEM_CMP_EQ, values, streams[0]);
    nvshmemx_uint64_wait_until_all_on_stream(words, 3, status, NVSHMEM_CMP_GT, 0, streams[0]);
    nvshmemx_uint64_p_on_stream(words + 8, 1, pe.me, streams[0]);
    memset(values, 0xff, sizeof values);
    memset(status, 0, sizeof status);
    nvshmem_uint64_p(words, 1, pe.right);
    nvshmem_uint64_p(words + 2, 3, pe.right);
    nvshmem_quiet();
    CHECK_EQ(word_of(words + 8, pe.me), 0);
    release(streams[0]);
    CHECK_EQ(word_of(words + 8, pe.me), 1);
    nvshmem_barrier_all();
}

/* One stream is held at the gate, with an operation of the host behind it; the first PE's other stream waits in a
 * barrier for the others, which have not entered it. A third stream continues. */
static void apart(void)
{
    cudaStream_t third = stream_new();
    begin_case();
    stream_hold(streams[0], turn);
    nvshmemx_uint64_iput_on_stream(dest, source, 1, 2, 10, pe.me, streams[0]);
    if (pe.me == 0) nvshmemx_barrier_all_on_stream(streams[1]);
    nvshmemx_uint64_iput_on_stream(dest + 20, source, 1, 2, 10, pe.me, third);
    CHECK_EQ(nvshmemx_uint64_g_on_stream(dest + 21, pe.me, third), 1000 * (pe.me + 1) + 2);
    stream_end(third);
    CHECK_EQ(word_of(dest, pe.me), 0);
    if (pe.me == 0)
        for (int i = 1; i < pe.n; i++) nvshmemx_signal_op(words, 1, NVSHMEM_SIGNAL_SET, i);
    else
        nvshmemx_signal_wait_until_on_stream(words, NVSHMEM_CMP_EQ, 1, streams[1]);
    if (pe.me != 0) nvshmemx_barrier_all_on_stream(streams[1]);
    stream_end(streams[1]);
    release(streams[0]);
    CHECK_EQ(word_of(dest + 1, pe.me), 1000 * (pe.me + 1) + 2);
    stream_free(third);
    nvshmem_barrier_all();
}

/* No PE's stream passes the barrier while that of the last PE is held, which sets a word before it opens the gate. */
static void barrier_of_a_held_stream(void)
{
    int last = pe.n - 1;
    begin_case();
    if (pe.me == last) stream_hold(streams[0], turn);
    nvshmemx_barrier_all_on_stream(streams[0]);
    nvshmemx_uint64_get_on_stream(dest, words, 1, last, streams[0]);
    nvshmemx_uint64_put_signal_on_stream(dest + 8, source, 1, words + 1, 1, NVSHMEM_SIGNAL_ADD, last, streams[0]);
    if (getenv("ISTHMUS_CHECK") == NULL) /* which ends the job */
        CHECK(nvshmemx_barrier_on_stream(NVSHMEM_TEAM_INVALID, streams[0]) != 0);
    if (pe.me == last) {
        CHECK_EQ(word_of(words + 1, pe.me), 0);
        nvshmem_uint64_p(words, 77, pe.me);
        nvshmem_quiet();
        gate_open();
    }
    nvshmemx_sync_all_on_stream(streams[0]);
    nvshmemx_barrier_all_on_stream(streams[0]); /* a sync completes no put with signal */
    stream_end(streams[0]);
    CHECK_EQ(word_of(dest, pe.me), 77);
    if (pe.me == last) CHECK_EQ(word_of(words + 1, pe.me), pe.n);
    nvshmem_barrier_all();
}

/* Earlier nonblocking puts of the host are complete after a barrier of streams. */
static void host_puts(void)
{
    begin_case();
    for (int i = 0; i < 20; i++) nvshmem_putmem_nbi(dest + 100 * i, source, 100 * sizeof *source, pe.right);
    nvshmemx_barrier_all_on_stream(streams[0]);
    nvshmemx_uint64_get_on_stream(words, dest + 1999, 1, pe.me, streams[0]);
    stream_end(streams[0]);
    CHECK_EQ(word_of(words, pe.me), 1000u * (uint64_t)(pe.left + 1) + 99);
    nvshmem_barrier_all();
}

/* A team of all but the first PE synchronizes again and again, as do the teams created after it, which may be given the
 * same flags. Each member puts the number of its calls to the last one; no stream gets further than that. */
static void teams(void)
{
    enum { ROUNDS = 3 };
    int last = pe.n - 1;
    begin_case();
    for (int made = 0; made < 3; made++) {
        nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
        (void)nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 1, 1, pe.n - 1, NULL, 0, &team);
        CHECK((team != NVSHMEM_TEAM_INVALID) == (pe.me > 0));
        for (uint64_t round = 1; pe.me > 0 && round <= ROUNDS; round++) {
            if (pe.me == 1) stream_hold(streams[0], ++turn - 1);
            nvshmemx_uint64_p_on_stream(words + pe.me, round, last, streams[0]);
            CHECK_EQ(nvshmemx_barrier_on_stream(team, streams[0]), 0);
            nvshmemx_uint64_get_on_stream(words + 32, words, (size_t)pe.n, last, streams[0]);
            CHECK_EQ(nvshmemx_team_sync_on_stream(team, streams[0]), 0);
            if (pe.me == 1) gate_open();
            stream_end(streams[0]);
            for (int member = 1; member < pe.n; member++) CHECK_EQ(word_of(words + 32 + member, pe.me), round);
        }
        if (team != NVSHMEM_TEAM_INVALID) nvshmem_team_destroy(team);
    }
    nvshmem_barrier_all();
}

/* One after another, each on the result of the one before. */
static void collectives(void)
{
    uint64_t *part = dest + 100, *all = dest + 200, *sum = dest + 300;
    nvshmem_team_t team = NVSHMEM_TEAM_WORLD;
    begin_case();
    stream_hold(streams[1], turn);
    CHECK_EQ(nvshmemx_uint64_sum_reduce_on_stream(team, dest, source, 10, streams[1]), 0);
    CHECK_EQ(nvshmemx_uint64_max_reduce_on_stream(team, part, source, 4, streams[1]), 0);
    CHECK_EQ(nvshmemx_uint64_broadcast_on_stream(team, part + 8, source, 4, 0, streams[1]), 0);
    CHECK_EQ(nvshmemx_uint64_fcollect_on_stream(team, all, part + 8, 1, streams[1]), 0);
    CHECK_EQ(nvshmemx_uint64_alltoall_on_stream(team, all + 20, all, 1, streams[1]), 0);
    CHECK_EQ(nvshmemx_uint64_sum_reduce_on_stream(team, sum, all + 20, 1, streams[1]), 0);
    CHECK_EQ(nvshmemx_team_sync_on_stream(team, streams[1]), 0);
    CHECK_EQ(word_of(dest, pe.me), 0);
    release(streams[1]);
    uint64_t n = (uint64_t)pe.n, sources = 1000 * n * (n + 1) / 2;
    for (uint64_t i = 0; i < 10; i++) CHECK_EQ(word_of(dest + i, pe.me), sources + i * n);
    expect(part, 4, 1000 * n);
    expect(part + 8, 4, 1000);
    for (int i = 0; i < pe.n; i++) CHECK_EQ(word_of(all + 20 + i, pe.me), 1000);
    CHECK_EQ(word_of(sum, pe.me), 1000 * n);
    nvshmem_barrier_all();
}

static void count_launches(void)
{
    bool by_host = is_far || getenv("ISTHMUS_CHECK") != NULL; /* which checks what the host does */
    begin_case();
    stream_hold(streams[0], turn);
    int before = cuda_launches();
    nvshmemx_barrier_all_on_stream(streams[0]);
    if (before >= 0) CHECK_EQ(cuda_launches() - before, by_host ? 2 : pe.n > 1);
    stream_hold(streams[1], turn);
    nvshmemx_uint64_iput_on_stream(dest, source, 1, 2, 10, pe.right, streams[1]); /* by the host: quiet is, too */
    int with_item = cuda_launches();
    nvshmemx_barrier_all_on_stream(streams[0]);
    int behind_item = cuda_launches() - with_item; /* in one with the item's wait, or a kernel behind that */
    if (before >= 0) CHECK(behind_item == 2 || (behind_item == 3 && !by_host));
    if (by_host) before = -1;
    if (before >= 0) before = cuda_launches();
    nvshmemx_uint64_put_on_stream(dest, source, 10, pe.right, streams[0]);
    if (before >= 0) CHECK_EQ(cuda_launches() - before, 1);
    nvshmemx_uint64_put_signal_on_stream(dest, source, 10, words, 1, NVSHMEM_SIGNAL_SET, pe.right, streams[0]);
    if (before >= 0) CHECK_EQ(cuda_launches() - before, 3);
    nvshmem_sync_all(); /* what a far PE releases is copied here by the progress thread, whose launches count too */
    release(streams[0]);
    stream_end(streams[1]);
    nvshmem_barrier_all();
}

/* Invalid arguments of what the host runs are reported as those of the call without stream. */
static void misuse(void)
{
    nvshmemx_uint64_iput_on_stream(dest, source, 1, 1, 1, pe.n + 2, streams[0]);
    stream_end(streams[0]);
    nvshmem_barrier_all();
}

/* A few calls of each kind, for drivers that fail in one of them: no stream is created or synchronised, no status
 * checked. */
static int few_calls(void)
{
    dest = nvshmem_malloc(BYTES);
    source = nvshmem_malloc(BYTES);
    for (int i = 0; i < 2; i++) {
        nvshmemx_uint64_put_signal_on_stream(dest, source, 8, dest + 8, 1, NVSHMEM_SIGNAL_ADD, pe.right, NULL);
        nvshmemx_signal_wait_until_on_stream(dest + 8, NVSHMEM_CMP_GE, 1, NULL);
        nvshmemx_uint64_iput_on_stream(dest + 16, source, 1, 2, 2, pe.right, NULL);
        nvshmemx_barrier_all_on_stream(NULL);
        (void)nvshmemx_uint64_g_on_stream(dest, pe.right, NULL);
    }
    nvshmemx_barrier_all_on_stream(NULL);
    return nv_end();
}

int main(int argc, char **argv)
{
    nv_begin();
    if (argc > 1 && strcmp(argv[1], "few_calls") == 0) return few_calls();
    cuda_begin();
    streams[0] = stream_new();
    streams[1] = NULL; /* the default one */
    dest = nvshmem_malloc(BYTES);
    source = nvshmem_malloc(BYTES);
    words = nvshmem_malloc(64 * sizeof *words);
    CHECK(dest != NULL && source != NULL && words != NULL);
    is_far = argc > 1 && strcmp(argv[1], "far") == 0;
    if (argc > 1 && strcmp(argv[1], "misuse") == 0) misuse();
    for (int round = 0; round < 3; round++) {
        late_and_in_order();
        signals();
        arrays();
        apart();
        barrier_of_a_held_stream();
        host_puts();
        if (pe.n > 1) teams();
        collectives();
        count_launches();
    }
    stream_free(streams[0]);
    nvshmemx_barrier_all_on_stream(streams[1]); /* finalize waits for what streams have */
    nvshmemx_uint64_put_on_stream(dest, source, WORDS, pe.right, streams[1]);
    nvshmem_finalize();
    cuda_end();
    return 0;
}
