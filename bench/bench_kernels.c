/* bench_kernels [OPTIONS]: what NVSHMEM's calls take in kernels, beside the bare instructions of the GPU. The text uses
 * NVSHMEM's interface alone: it is compiled against Isthmus and against NVSHMEM by nvcc, and for the CPU device. Two
 * PEs, which share a GPU where there is one. Each row is checked in its first and last round: a row with a wrong value
 * has no figure. Lines of output, with tabs between the fields:
 *     plan NAME: a row of the set, before anything runs; device TEXT; library TEXT
 *     row NAME NS BARE-NS GOAL-OF-BARE GOAL-NS AGAINST: medians; AGAINST is 1 where NVSHMEM is to be no faster
 *     not NAME REASON: no figure; next NUMBER: the row to go on with (-f), because the PEs were ended
 * Read on: kernel_calls.h; kernels.py, which starts this and makes the table; docs/device.md. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dlfcn.h */
#endif
#include "kernel_calls.h"
#include "kernel_job.h"
#include "kernel_streams.h"
#include "median.h"
#include "nothing.h"

#include <dlfcn.h>

enum { MIB = 1 << 20, WORDS_BYTES = 1 << 18, MOST_BATCHES = 1001, BARRIER_THREADS = 128, SEEDS_OF_BATCH = 1 << 24 };

enum set { ALONE, TOGETHER, RING, NOTHING, N_SETS };
static const char *const set_names[] = {"alone", "together", "ring", "nothing"};

enum planted { NO_FAULT, EXPECTS_WRONG, HANGS, DIES, N_FAULTS };
static const char *const fault_names[] = {"none", "wrong", "hang", "die"};

static struct options {
    enum set set;
    int batches, limit_s, first;
    long divisor;       /* of repetitions and large sizes: for tests */
    enum planted fault; /* for tests, too */
} options = {ALONE, 21, 30, 0, 1, NO_FAULT};

/* One PE. The symmetric memory is one piece, so that one address of the peer's leads to all of it. */
static struct run {
    struct job *job;
    int me;
    char *memory, *host; /* host: as large, for checks */
    size_t copy_bytes;   /* of dest, and of source */
    struct kernel_args args;
    bool is_direct;                /* kernels load and store at the peer themselves */
    struct bench_nothing *nothing; /* NULL: the transport is another one */
    long n_batches;
} run;

struct row;
typedef bool row_check(const struct row *row, const struct kernel_args *args);

struct row {
    enum set set;
    const char *name;
    size_t bytes;
    const char *how; /* after the bytes */
    kernel_function call, bare;
    row_check *check;
    uint32_t blocks; /* 0: all */
    uint32_t threads;
    long reps;
    double goal_of_bare, goal_ns; /* 0: none */
    bool against_reference;
    const struct streamed *streamed; /* of calls of the host, instead of `call`; NULL: there are none */
};

/* ---- checks: what the kernel has written, in the memory of the PE that it was written to ---- */

static bool is_equal(const char *what, long at, long seen, long expected)
{
    char text[JOB_FAULT_BYTES];
    if (seen == expected) return true;
    snprintf(text, sizeof text, "wrong value: PE %d: %s %ld is %ld, expected %ld", run.me, what, at, seen, expected);
    job_fault(run.job, text);
    return false;
}

static long read_long(const void *from)
{
    long value;
    place_copy(&value, from, sizeof value);
    return value;
}

static bool has_result(const struct kernel_args *args, long expected)
{
    return run.me != 0 || is_equal("result", 0, read_long(args->results), expected);
}

static bool is_last(const struct row *row, const struct kernel_args *args)
{
    (void)row;
    return run.me == 0 || is_equal("word", 0, read_long(args->words), args->seed + args->reps - 1);
}

static bool is_last_of_blocks(const struct row *row, const struct kernel_args *args)
{
    (void)row;
    for (uint32_t i = 0; run.me != 0 && i < place_all_blocks(); i++) {
        long seen = read_long(args->words + (size_t)WORDS_OF_BLOCK * i);
        if (!is_equal("word of block", i, seen, args->seed + args->reps - 1)) return false;
    }
    return true;
}

static bool is_last_signal(const struct row *row, const struct kernel_args *args)
{
    (void)row;
    return run.me == 0 || is_equal("signal", 0, read_long(args->signals), args->seed + args->reps - 1);
}

static bool is_sum(const struct row *row, const struct kernel_args *args)
{
    (void)row;
    return run.me == 0 || is_equal("word", 0, read_long(args->words), args->seed + args->reps);
}

static bool is_sum_and_fetched(const struct row *row, const struct kernel_args *args)
{
    return is_sum(row, args) && has_result(args, args->seed + args->reps - 1);
}

static bool is_got(const struct row *row, const struct kernel_args *args)
{
    (void)row;
    return has_result(args, args->seed);
}

/* The results of a kernel that counts mistakes: of both sides, or of this PE's own. */
static bool has_none_wrong(const struct row *row, const struct kernel_args *args)
{
    int first = row->set == TOGETHER ? run.me : 0, last = row->set == TOGETHER ? run.me : 1;
    if (row->set != TOGETHER && run.me != 0) return true;
    for (int side = first; side <= last; side++)
        if (!is_equal("wrong messages of side", side, read_long(args->results + side),
                      (options.fault == EXPECTS_WRONG)))
            return false;
    return true;
}

static long pattern(long seed, int pe, size_t i) { return (seed + pe) * 0x9e3779b9 + (long)i * 0x10001; }

static bool are_bytes_of(const struct kernel_args *args, int pe)
{
    long *host = (long *)(void *)run.host;
    place_copy(host, args->dest, args->bytes);
    for (size_t i = 0; i < args->bytes / sizeof *host; i++)
        if (!is_equal("word", (long)i, host[i], pattern(args->seed, pe, i))) return false;
    return true;
}

static bool is_put(const struct row *row, const struct kernel_args *args)
{
    (void)row;
    return run.me == 0 || are_bytes_of(args, 0);
}

static bool is_copied_back(const struct row *row, const struct kernel_args *args)
{
    (void)row;
    return run.me != 0 || are_bytes_of(args, 1);
}

static bool is_counted(const struct row *row, const struct kernel_args *args)
{
    long blocks = row->blocks != 0 ? (long)row->blocks : (long)place_all_blocks();
    if (run.me != 0) return true;
    return is_equal("the number of puts", 0, (long)__atomic_load_n(&run.nothing->n_puts, __ATOMIC_ACQUIRE),
                    args->reps * blocks + (options.fault == EXPECTS_WRONG));
}

/* Not of the batch that was timed: the barrier has no value to check. */
static bool is_barrier(const struct row *row, const struct kernel_args *args)
{
    struct kernel_args checked = *args;
    checked.reps = args->reps < 100 ? args->reps : 100;
    checked.seed = args->seed + args->reps;
    place_run(1, row->threads, check_barrier, &checked);
    return is_equal("words too late for a barrier:", 0, read_long(args->results), (options.fault == EXPECTS_WRONG));
}

static bool is_reduced(const struct row *row, const struct kernel_args *args)
{
    long *host = (long *)(void *)run.host;
    (void)row;
    place_copy(host, args->dest, args->bytes);
    for (size_t i = 0; i < args->bytes / sizeof *host; i++)
        if (!is_equal("sum", (long)i, host[i], pattern(args->seed, 0, i) + pattern(args->seed, 1, i))) return false;
    return true;
}

/* ---- rows ---- */

#define THREAD 1, 1
#define WARP 1, PLACE_GROUP_THREADS
#define BLOCK 1, PLACE_BLOCK_THREADS
#define ALL_BLOCKS 0, PLACE_BLOCK_THREADS
#define PUT_ROW(bytes, group, kernel_group, shape, reps)                                                          \
    {                                                                                                             \
        ALONE, "put", bytes, " + quiet, " group, call_put_##kernel_group, bare_put_##kernel_group, is_put, shape, \
            reps, 1.05, 0, true, NULL                                                                             \
    }
#define PUTS(bytes, reps)                                                                               \
    PUT_ROW(bytes, "thread", thread, THREAD, (reps) / 8 + 1), PUT_ROW(bytes, "warp", warp, WARP, reps), \
        PUT_ROW(bytes, "block", block, BLOCK, reps)

static const struct row rows[] = {
    {ALONE, "p", 0, "", call_p, bare_p, is_last, THREAD, 20000, 1.05, 0, true, NULL},
    {ALONE, "p + quiet", 0, "", call_p_quiet, bare_p_quiet, is_last, THREAD, 2000, 1.05, 0, true, NULL},
    {ALONE, "g", 0, "", call_g, bare_g, is_got, THREAD, 2000, 1.05, 0, true, NULL},
    {ALONE, "atomic_add", 0, "", call_add, bare_add_1, is_sum, THREAD, 10000, 1.05, 0, true, NULL},
    {ALONE, "atomic_fetch_add", 0, "", call_fetch_add, bare_fetch_add_1, is_sum_and_fetched, THREAD, 2000, 1.05, 0,
     true, NULL},
    {ALONE, "atomic_compare_swap", 0, "", call_swap, bare_swap, is_sum_and_fetched, THREAD, 2000, 1.05, 0, true, NULL},
    {ALONE, "signal_op SET", 0, "", call_signal, bare_signal, is_last_signal, THREAD, 20000, 1.05, 0, true, NULL},
    PUTS(8, 2000),
    PUTS(512, 1000),
    PUTS(4096, 500),
    PUTS(65536, 200),
    {ALONE, "put", MIB, " + quiet, a block on each SM", call_put_all, bare_put_all, is_put, ALL_BLOCKS, 100, 0, 0,
     false, NULL},
    {ALONE, "put", 64 * MIB, " + quiet, a block on each SM", call_put_all, bare_put_all, is_put, ALL_BLOCKS, 10,
     1 / 0.97, 0, false, NULL},
    {ALONE, "get", MIB, ", a block on each SM", call_get_all, bare_get_all, is_copied_back, ALL_BLOCKS, 100, 0, 0,
     false, NULL},
    {ALONE, "get", 64 * MIB, ", a block on each SM", call_get_all, bare_get_all, is_copied_back, ALL_BLOCKS, 10,
     1 / 0.97, 0, false, NULL},
    {ALONE, "put_signal there and back, two blocks of a PE", 0, "", call_pingpong_blocks, bare_pingpong_blocks,
     has_none_wrong, 2, 1, 2000, 1.1, 0, false, NULL},
    {TOGETHER, "put_signal there and back, two PEs", 0, "", call_pingpong_pes, bare_pingpong_pes, has_none_wrong,
     THREAD, 2000, 1.1, 0, false, NULL},
    {TOGETHER, "barrier_all_block of two PEs, against that round trip", 0, "", call_barrier, bare_pingpong_pes,
     is_barrier, 1, BARRIER_THREADS, 2000, 1.2, 0, false, NULL},
    {TOGETHER, "sum_reduce_on_stream", 8, " of two PEs, against barrier_all_on_stream", NULL, NULL, is_reduced, THREAD,
     200, 1.3, 0, false, &reduce_and_barrier},
    {TOGETHER, "sum_reduce_on_stream", 64 * MIB, " of two PEs", NULL, bare_sum_all, is_reduced, ALL_BLOCKS, 10, 1 / 0.9,
     0, false, &reduce_alone},
    {RING, "p + quiet through the ring", 0, "", call_p_quiet, NULL, is_last, THREAD, 500, 0, 0, false, NULL},
    {RING, "p through the ring, each, from all SMs", 0, "", call_p_of_blocks, NULL, is_last_of_blocks, 0, 1, 100, 0, 0,
     false, NULL},
    {RING, "g through the ring", 0, "", call_g, NULL, is_got, THREAD, 500, 0, 0, false, NULL},
    {RING, "atomic_fetch_add through the ring", 0, "", call_fetch_add, NULL, is_sum_and_fetched, THREAD, 500, 0, 0,
     false, NULL},
    {NOTHING, "p + quiet through the ring, and no transport", 0, "", call_p_quiet, NULL, is_counted, THREAD, 2000, 0,
     6000, false, NULL},
    {NOTHING, "p through the ring, each, from all SMs, and no transport", 0, "", call_p_of_blocks, NULL, is_counted, 0,
     1, 1000, 0, 200, false, NULL},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* Whole copies of 16 bytes. */
static size_t bytes_of(const struct row *row)
{
    size_t bytes = row->bytes < MIB ? row->bytes : row->bytes / (size_t)options.divisor & ~(size_t)15;
    return row->bytes >= MIB && bytes < 64 ? 64 : bytes;
}

static const char *name_of(const struct row *row)
{
    static char name[PLACE_TEXT_BYTES];
    size_t bytes = bytes_of(row);
    if (bytes == 0)
        snprintf(name, sizeof name, "%s", row->name);
    else if (bytes % MIB == 0)
        snprintf(name, sizeof name, "%s of %zu MiB%s", row->name, bytes / MIB, row->how);
    else if (bytes % 1024 == 0)
        snprintf(name, sizeof name, "%s of %zu KiB%s", row->name, bytes / 1024, row->how);
    else
        snprintf(name, sizeof name, "%s of %zu B%s", row->name, bytes, row->how);
    return name;
}

/* ---- measuring ---- */

/* Only rows of the two PEs run on both. Between blocks of one PE, it is its own peer. */
static struct kernel_args args_of(const struct row *row)
{
    struct kernel_args args = run.args;
    args.bytes = bytes_of(row);
    args.reps = row->reps / options.divisor > 0 ? row->reps / options.divisor : 1;
    args.seed = ++run.n_batches * SEEDS_OF_BATCH;
    if (row->call == call_pingpong_blocks) {
        args.peer = run.me;
        args.far_words = args.words, args.far_signals = args.signals;
    }
    return args;
}

/* Before a batch, on each PE: the word that operations of the peer find; and before one that is checked the bytes. */
static void prepare(const struct kernel_args *args, bool is_checked)
{
    static const long no_results[] = {-1, -1};
    long *host = (long *)(void *)run.host;
    place_copy(args->words, &args->seed, sizeof args->seed);
    if (run.nothing != NULL) __atomic_store_n(&run.nothing->n_puts, 0, __ATOMIC_RELEASE);
    place_copy(args->results, no_results, sizeof no_results);
    if (!is_checked || args->bytes == 0) return;
    for (size_t i = 0; i < args->bytes / sizeof *host; i++) host[i] = pattern(args->seed, run.me, i);
    place_copy(args->source, host, args->bytes);
    memset(host, 0xff, args->bytes);
    place_copy(args->dest, host, args->bytes);
}

/* From the first block's begin to the last one's end, in ns for each operation. */
static double time_of(const struct row *row, const struct kernel_args *args, uint32_t blocks)
{
    static uint64_t times[2 * 4096];
    place_copy(times, args->times, 2 * (size_t)blocks * sizeof *times);
    uint64_t begin = times[0], end = times[1];
    for (uint32_t i = 1; i < blocks; i++) {
        if (times[2 * i] < begin) begin = times[2 * i];
        if (times[2 * i + 1] > end) end = times[2 * i + 1];
    }
    double operations = (double)args->reps;
    if (row->call == call_p_of_blocks) operations *= blocks;
    return (double)(end - begin) / operations;
}

/* From the first call to the end of the stream's work, in ns for each of the calls. */
static double time_streamed(stream_function *work, const struct kernel_args *args)
{
    uint64_t begin = job_now_ns();
    work(args);
    place_await_stream();
    return (double)(job_now_ns() - begin) / (double)args->reps;
}

static void switch_nothing(bool is_on)
{
    if (run.nothing != NULL) __atomic_store_n(&run.nothing->is_on, is_on, __ATOMIC_RELEASE);
}

/* One batch, on all PEs. Returns its time on this one. A barrier of streams has no value to check. */
static double batch(const struct row *row, bool is_call, bool is_checked)
{
    struct kernel_args args = args_of(row);
    kernel_function kernel = is_call ? row->call : row->bare;
    stream_function *work = row->streamed == NULL ? NULL : is_call ? row->streamed->call : row->streamed->bare;
    bool is_bare_pingpong = !is_call && row->check == is_barrier, is_bare_barrier = !is_call && work != NULL;
    uint32_t blocks = row->blocks != 0 ? row->blocks : place_all_blocks();
    double ns = 0;
    prepare(&args, is_checked);
    job_barrier(run.job);
    if (work != NULL) {
        ns = time_streamed(work, &args);
    } else if (run.me == 0 || row->set == TOGETHER) {
        switch_nothing(true);
        place_run(blocks, is_bare_pingpong ? 1 : row->threads, kernel, &args);
        switch_nothing(false);
        ns = time_of(row, &args, blocks);
    }
    job_barrier(run.job);
    if (is_checked && options.fault == EXPECTS_WRONG) args.seed ^= 64;
    if (is_checked && !is_bare_barrier) (void)(is_bare_pingpong ? has_none_wrong : row->check)(row, &args);
    job_barrier(run.job);
    return ns;
}

static void print_goal(double goal)
{
    if (goal > 0)
        printf("\t%.4g", goal);
    else
        printf("\t-");
}

static void print_row(const struct row *row, double ns, double bare_ns)
{
    printf("row\t%s\t%.4g", name_of(row), ns);
    print_goal(bare_ns);
    print_goal(row->goal_of_bare);
    print_goal(row->goal_ns);
    printf("\t%d\n", row->against_reference);
    fflush(stdout);
}

/* NULL, or why the row cannot be measured here. */
static const char *reason_against(const struct row *row)
{
    if (row->set == TOGETHER && place_takes_turns(JOB_PES) != NULL) return place_takes_turns(JOB_PES);
    if (row->set == NOTHING && run.nothing == NULL) return "BENCH_NOTHING names no loaded transport (nothing.so)";
    if (row->set == RING || row->set == NOTHING)
        return run.is_direct ? "kernels reach the peer directly: ISTHMUS_DEVICE_DIRECT is not 0" : NULL;
    if (!run.is_direct || run.args.far_words == NULL) return "kernels do not reach the peer directly";
    return NULL;
}

static bool is_direct(void)
{
    place_run(1, 1, find_way, &run.args);
    return read_long(run.args.results) != 0;
}

static bool has_bare(const struct row *row)
{
    return row->bare != NULL || (row->streamed != NULL && row->streamed->bare != NULL);
}

/* Call and bare operation in turn, each first every other time; the first round only warms up. */
static void measure(const struct row *row)
{
    static double call_ns[MOST_BATCHES], bare_ns[MOST_BATCHES];
    for (int round = -1; round < options.batches; round++) {
        bool is_checked = round < 0 || round == options.batches - 1;
        for (int half = 0; half < 2; half++) {
            bool is_call = (round + half) % 2 != 0;
            if (!is_call && !has_bare(row)) continue;
            double ns = batch(row, is_call, is_checked);
            if (round >= 0) *(is_call ? &call_ns[round] : &bare_ns[round]) = ns;
        }
    }
    if (run.me != 0) return;
    if (__atomic_load_n(&run.job->has_fault, __ATOMIC_ACQUIRE) != 0)
        printf("not\t%s\t%s\n", name_of(row), run.job->fault);
    else
        print_row(row, bench_median(call_ns, options.batches),
                  has_bare(row) ? bench_median(bare_ns, options.batches) : 0);
    fflush(stdout);
}

static void measure_all(void)
{
    run.is_direct = is_direct();
    for (int i = options.first; i < N_ROWS; i++) {
        if (rows[i].set != options.set) continue;
        const char *reason = reason_against(&rows[i]);
        if (run.me == 0) job_begin_row(run.job, i);
        job_barrier(run.job);
        if (run.me == 1 && options.fault == DIES) raise(SIGKILL);
        if (run.me == 1 && options.fault == HANGS) raise(SIGSTOP);
        if (reason == NULL)
            measure(&rows[i]);
        else if (run.me == 0)
            printf("not\t%s\t%s\n", name_of(&rows[i]), reason);
        job_barrier(run.job);
    }
    if (run.me == 0) job_begin_row(run.job, N_ROWS);
    job_barrier(run.job);
}

/* ---- one PE ---- */

/* Isthmus' transport `nothing`, if this process has loaded it. */
static struct bench_nothing *find_nothing(void)
{
    const char *file = getenv("BENCH_NOTHING");
    void *library = file != NULL ? dlopen(file, RTLD_NOW | RTLD_NOLOAD) : NULL;
    return library != NULL ? (struct bench_nothing *)dlsym(library, "bench_nothing") : NULL;
}

static bool start_library(struct job *job, int me)
{
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    if (me == 0 && nvshmemx_get_uniqueid(&id) != 0) return false;
    job_share_id(job, me, &id, sizeof id);
    nvshmemx_set_attr_uniqueid_args(me, JOB_PES, &id, &attr);
    return nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) == 0;
}

static bool allocate(void)
{
    size_t largest = 0;
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].set == options.set && bytes_of(&rows[i]) > largest) largest = bytes_of(&rows[i]);
    size_t bytes = 2 * largest + 2 * WORDS_BYTES;
    run.memory = (char *)nvshmem_calloc(1, bytes);
    run.host = (char *)malloc(largest + 1);
    if (run.memory == NULL || run.host == NULL) return false;
    char *far_memory = (char *)nvshmem_ptr(run.memory, 1 - run.me), *halves[] = {run.memory, far_memory};
    struct kernel_args *args = &run.args;
    long **words[] = {&args->words, &args->far_words};
    uint64_t **signals[] = {&args->signals, &args->far_signals};
    char **dest[] = {&args->dest, &args->far_dest}, **source[] = {&args->source, &args->far_source};
    for (int i = 0; i < 2 && halves[i] != NULL; i++) {
        *dest[i] = halves[i];
        *source[i] = halves[i] + largest;
        *words[i] = (long *)(void *)(halves[i] + 2 * largest);
        *signals[i] = (uint64_t *)(void *)(halves[i] + 2 * largest + WORDS_BYTES);
    }
    args->me = run.me, args->peer = 1 - run.me;
    args->times = (uint64_t *)place_allocate(2 * (size_t)place_all_blocks() * sizeof *args->times + 64);
    args->results = (long *)place_allocate(2 * sizeof *args->results);
    return true;
}

static int run_pe(struct job *job, int me, void *unused)
{
    char about[PLACE_TEXT_BYTES], reason[PLACE_TEXT_BYTES], library[NVSHMEM_MAX_NAME_LEN];
    (void)unused;
    run.job = job, run.me = me;
    if (!place_open(me, about, reason)) {
        if (me == 0) printf("skipped\t%s\n", reason);
        return JOB_SKIPPED;
    }
    if (!start_library(job, me) || !allocate()) {
        fprintf(stderr, "PE %d: the library does not start, or has no memory\n", me);
        return 1;
    }
    nvshmem_info_get_name(library);
    if (me == 0) printf("device\t%s\nlibrary\t%s\n", about, library);
    run.nothing = find_nothing();
    measure_all();
    place_free(run.args.times);
    place_free(run.args.results);
    nvshmem_free(run.memory);
    free(run.host);
    nvshmem_finalize();
    return 0;
}

/* ---- the parent ---- */

static int usage(void)
{
    fprintf(stderr,
            "usage: bench_kernels [OPTIONS]\n"
            "  -s SET      alone (default), together: the kernels of both PEs run, ring, nothing: with nothing.so\n"
            "  -b BATCHES  1 to %d (default: %d)\n"
            "  -t SECONDS  that a row may take, and the start (default: %d)\n"
            "  -f NUMBER   the first row\n"
            "  -d DIVISOR  of repetitions and large sizes: for tests\n"
            "  -x FAULT    of each row, for tests: wrong, it expects a wrong value; PE 1 has a hang, or is to die\n",
            MOST_BATCHES, options.batches, options.limit_s);
    return 2;
}

/* Finds a name among n. */
static bool number_of(const char *name, const char *const *names, int n, int *out)
{
    for (*out = 0; *out < n; ++*out)
        if (strcmp(name, names[*out]) == 0) return true;
    return false;
}

static bool read_options(int argc, char **argv)
{
    int letter, number;
    while ((letter = getopt(argc, argv, "s:b:t:f:d:x:")) != -1) {
        switch (letter) {
        case 's':
            if (!number_of(optarg, set_names, N_SETS, &number)) return false;
            options.set = (enum set)number;
            break;
        case 'b': options.batches = atoi(optarg); break;
        case 't': options.limit_s = atoi(optarg); break;
        case 'f': options.first = atoi(optarg); break;
        case 'd': options.divisor = atol(optarg); break;
        case 'x':
            if (!number_of(optarg, fault_names, N_FAULTS, &number)) return false;
            options.fault = (enum planted)number;
            break;
        default: return false;
        }
    }
    return optind == argc && options.batches >= 1 && options.batches <= MOST_BATCHES && options.limit_s > 0 &&
           options.first >= 0 && options.divisor > 0;
}

int main(int argc, char **argv)
{
    pid_t pids[JOB_PES];
    char reason[JOB_FAULT_BYTES] = "";
    if (!read_options(argc, argv)) return usage();
    for (int i = options.first; i < N_ROWS; i++)
        if (rows[i].set == options.set) printf("plan\t%s\n", name_of(&rows[i]));
    struct job *job = job_create();
    job_start(job, pids, run_pe, NULL);
    int status = job_watch(job, pids, options.limit_s, reason);
    int row = __atomic_load_n(&job->row, __ATOMIC_ACQUIRE);
    if (status != JOB_ROW_FAILED) return status;
    if (row >= 0 && row < N_ROWS)
        printf("not\t%s\t%s\nnext\t%d\n", name_of(&rows[row]), reason, row + 1);
    else
        printf("not\t%s\t%s\n", row < 0 ? "the start" : "the end", reason);
    return status;
}
