/* tests/pe/check.h: what the multi-PE programs share: checks that print what was expected and seen and end the job;
 * this PE's number and neighbours; random numbers whose seed is printed; a deadline; skipping. Every program runs with
 * any number of PEs; a single PE is its own neighbour. C99, C11 and C++. */
#ifndef TESTS_PE_CHECK_H
#define TESTS_PE_CHECK_H

#include <shmem.h>

#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PE_DEADLINE_S = 100, PE_SKIPPED = 77 };

static struct {
    int me, n, right, left;
    uint64_t seed; /* the same on all PEs; 0: nothing random so far */
} pe;

/* ---- checks ---- */

static inline void check_fail(const char *file, int line, const char *format, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
static inline void check_fail(const char *file, int line, const char *format, ...)
{
    char text[600], seed[60] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (pe.seed != 0) snprintf(seed, sizeof seed, "; repeat with ISTHMUS_TEST_SEED=%" PRIu64, pe.seed);
    fprintf(stderr, "%s:%d: PE %d of %d: %s%s\n", file, line, pe.me, pe.n, text, seed);
    fflush(NULL);
    _exit(1); /* the launcher ends the others */
}

static inline void check_equal(const char *file, int line, const char *what, long long seen, long long expected)
{
    if (seen == expected) return;
    check_fail(file, line, "%s is %lld (0x%llx), expected %lld (0x%llx)", what, seen, (unsigned long long)seen,
               expected, (unsigned long long)expected);
}

static inline void check_bytes(const char *file, int line, const char *what, const void *seen, const void *expected,
                               size_t n)
{
    const unsigned char *s = (const unsigned char *)seen, *e = (const unsigned char *)expected;
    for (size_t i = 0; i < n; i++)
        if (s[i] != e[i])
            check_fail(file, line, "byte %zu of %zu of %s is 0x%02x, expected 0x%02x", i, n, what, s[i], e[i]);
}

static inline void check_filled(const char *file, int line, const char *what, const void *seen, int byte, size_t n)
{
    const unsigned char *s = (const unsigned char *)seen;
    for (size_t i = 0; i < n; i++)
        if (s[i] != (unsigned char)byte)
            check_fail(file, line, "byte %zu of %zu of %s is 0x%02x, expected 0x%02x", i, n, what, s[i],
                       (unsigned char)byte);
}

#define CHECK(condition) ((condition) ? (void)0 : check_fail(__FILE__, __LINE__, "not so: %s", #condition))
#define CHECK_EQ(seen, expected) check_equal(__FILE__, __LINE__, #seen, (long long)(seen), (long long)(expected))
#define CHECK_BYTES(seen, expected, n) check_bytes(__FILE__, __LINE__, #seen, seen, expected, n)
#define CHECK_FILLED(seen, byte, n) check_filled(__FILE__, __LINE__, #seen, seen, byte, n) /* all n bytes are byte */

/* ---- deadline ---- */

static inline void pe_out_of_time(int sig)
{
    static const char text[] = "the deadline of this PE has passed: a call hangs\n";
    (void)sig;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(1);
}

/* PE_TEST_DEADLINE: a longer one, in seconds, for emulated processors. */
static inline void pe_deadline(unsigned seconds)
{
    const char *longer = getenv("PE_TEST_DEADLINE");
    signal(SIGALRM, pe_out_of_time);
    alarm(longer != NULL ? (unsigned)atoi(longer) : seconds);
}

/* ---- start and end ---- */

static inline void pe_know(void)
{
    pe.me = shmem_my_pe();
    pe.n = shmem_n_pes();
    pe.right = (pe.me + 1) % pe.n;
    pe.left = (pe.me + pe.n - 1) % pe.n;
}

static inline void pe_begin(void)
{
    pe_deadline(PE_DEADLINE_S);
    shmem_init();
    pe_know();
}

static inline void pe_begin_threads(void)
{
    int provided = -1;
    pe_deadline(PE_DEADLINE_S);
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
    CHECK_EQ(provided, SHMEM_THREAD_MULTIPLE);
    pe_know();
}

static inline int pe_end(void)
{
    shmem_finalize();
    return 0;
}

static inline void pe_skip(const char *why)
{
    if (pe.me == 0) fprintf(stderr, "skipped: %s\n", why);
    shmem_finalize();
    exit(PE_SKIPPED);
}

/* The part of so many rounds that ISTHMUS_TEST_PART leaves; it is set where each round takes trips over a network. */
static inline int pe_part_of(int rounds)
{
    const char *part = getenv("ISTHMUS_TEST_PART");
    if (part != NULL && atoi(part) > 1) rounds /= atoi(part);
    return rounds > 3 ? rounds : 3;
}

/* How often to repeat steps of all PEs: `with_two` times with up to two of them, fewer when many share the cores. */
static inline int pe_rounds(int with_two)
{
    return pe_part_of(pe.n <= 2 ? with_two : pe.n <= 4 ? with_two / 4 : with_two / 40);
}

/* How often to repeat what PEs do to one word at the same time; pe_collide in the loop, with its count, makes them
 * collide at times: else one would be through before the next one is given a processor. */
static inline int pe_contended_rounds(void) { return pe_part_of(pe.n <= 4 ? 200000 : 10000); }

static inline void pe_collide(uint64_t count)
{
    if (count % 1000 == 0) shmem_sync_all();
}

/* ---- random numbers ---- */

/* Collective. The seed: ISTHMUS_TEST_SEED, or a new one; equal on all PEs. */
static inline void pe_seed(void)
{
    const char *wanted = getenv("ISTHMUS_TEST_SEED");
    uint64_t seed = (uint64_t)time(NULL) << 20 | (uint64_t)getpid();
    if (wanted != NULL) seed = strtoull(wanted, NULL, 0);
    for (int to = 0; pe.me == 0 && to < pe.n; to++) shmem_uint64_p(&pe.seed, seed, to);
    shmem_barrier_all();
}

/* splitmix64; *state may begin anywhere: pe.seed for equal numbers on all PEs, pe.seed + pe.me for different ones. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline size_t random_below(uint64_t *state, size_t bound) { return (size_t)(random_next(state) % bound); }

/* ---- deliberate delays, which make wrong orders likely; no result depends on them ---- */

static inline void dawdle_us(unsigned microseconds)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        sched_yield();
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 < (long)microseconds);
}

/* 0 to about 200 ns: to shift the steps of PEs that leave a barrier together against each other. */
static inline void jitter(uint64_t *state)
{
    for (volatile size_t turns = random_below(state, 200); turns > 0; turns = turns - 1) {}
}

#endif
