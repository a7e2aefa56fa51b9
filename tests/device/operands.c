/* R26, R54: local operands in memory that the program has from CUDA and has not registered, of each kind of allocation:
 * puts, gets, their nonblocking forms, strides, signals and fetched values, towards memory of devices and of the host.
 * On the double of the driver (tests/doubles/cuda), whose file is the first argument.
 * operands FILE face: as a program of NVSHMEM has it, also with the heap on the host. operands FILE threads: several at
 * once. */
#include "device.h"
#include "tests/device/cuda_program.h"

#include <nvshmem.h>
#include <pthread.h>

enum { MOST = PROGRAM_GRANULE }; /* twice of what may be in flight at a time */

static char globals[MOST], wanted[MOST], seen[MOST];
static const size_t sizes[] = {1, 8, 257, 100001, (256 << 10) + 1, MOST - 3};

static void expect_private(const char *buffer, size_t n)
{
    memset(seen, 0, n);
    program_copy(seen, buffer, n);
    CHECK_BYTES(seen, wanted, n);
}

static void puts_of(char *buffer, char *dest, size_t n, size_t at)
{
    void (*const put[])(void *, const void *, size_t, int) = {shmem_putmem, shmem_putmem_nbi};
    for (int way = 0; way < 2; way++) {
        make_pattern(wanted, n, 10 * pe.me + way);
        program_copy(buffer + at, wanted, n);
        put[way](dest + at, buffer + at, n, pe.right);
        if (way == 0) { /* reusable now */
            memset(wanted, 1, n);
            program_copy(buffer + at, wanted, n);
        }
        shmem_barrier_all();
        make_pattern(wanted, n, 10 * pe.left + way);
        expect_in_heap(dest + at, wanted, n);
        shmem_barrier_all();
    }
}

static void gets_to(char *buffer, char *source, size_t n, size_t at)
{
    void (*const get[])(void *, const void *, size_t, int) = {shmem_getmem, shmem_getmem_nbi};
    for (int way = 0; way < 2; way++) {
        make_pattern(wanted, n, 10 * pe.me + way + 5);
        to_heap(source + at, wanted, n);
        shmem_barrier_all();
        get[way](buffer + at, source + at, n, pe.right);
        if (way == 1) shmem_quiet();
        make_pattern(wanted, n, 10 * pe.right + way + 5);
        expect_private(buffer + at, n);
        shmem_barrier_all();
    }
}

static void ranges(char *buffer, char *far)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t at = 0; at < 3; at += 2) {
            puts_of(buffer, far, sizes[i] > 3 ? sizes[i] - at : sizes[i], at);
            gets_to(buffer, far, sizes[i] > 3 ? sizes[i] - at : sizes[i], at);
        }
}

/* More of them at once than there are pieces; each to its own place. */
static void many(char *buffer, char *far)
{
    enum { N = 40, BYTES = 30000 };
    make_pattern(wanted, N * BYTES, pe.me);
    program_copy(buffer, wanted, N * BYTES);
    for (int i = 0; i < N; i++) shmem_putmem_nbi(far + i * BYTES, buffer + i * BYTES, BYTES, pe.right);
    shmem_barrier_all();
    memset(wanted, 0, N * BYTES);
    program_copy(buffer, wanted, N * BYTES);
    for (int i = N; i-- > 0;) shmem_getmem_nbi(buffer + i * BYTES, far + i * BYTES, BYTES, pe.left);
    shmem_quiet();
    make_pattern(wanted, N * BYTES, (pe.left + pe.n - 1) % pe.n);
    expect_private(buffer, N * BYTES);
    shmem_barrier_all();
}

static void strides(char *buffer, char *far)
{
    enum { N = 20 };
    long source[2 * N], got[N], *words = (long *)(void *)buffer, *theirs = (long *)(void *)far;
    for (int i = 0; i < 2 * N; i++) source[i] = 1000 * pe.me + i;
    program_copy(words, source, sizeof source);
    shmem_long_iput(theirs, words, 3, 2, N, pe.right);
    shmem_barrier_all();
    shmem_long_iget(words, theirs, 1, 3, N, pe.right);
    program_copy(got, words, sizeof got);
    for (int i = 0; i < N; i++) CHECK_EQ(got[i], 1000 * pe.me + 2 * i);
    shmem_barrier_all();
}

static void signals(char *buffer, char *far, uint64_t *signal)
{
    const uint64_t zero = 0;
    for (int way = 0; way < 2; way++) {
        to_heap(signal, &zero, sizeof zero);
        make_pattern(wanted, MOST, 30 * pe.me + way);
        program_copy(buffer, wanted, MOST);
        shmem_barrier_all();
        (way == 0 ? shmem_putmem_signal : shmem_putmem_signal_nbi)(far, buffer, MOST, signal, 7, SHMEM_SIGNAL_SET,
                                                                   pe.right);
        CHECK_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 7), 7);
        make_pattern(wanted, MOST, 30 * pe.left + way);
        expect_in_heap(far, wanted, MOST);
        shmem_barrier_all();
    }
}

static void fetched(char *buffer, uint64_t *word)
{
    const uint64_t before = 100 + (uint64_t)pe.me;
    uint64_t got[2];
    to_heap(word, &before, sizeof before);
    shmem_barrier_all();
    shmem_uint64_atomic_fetch_add_nbi((uint64_t *)(void *)buffer, word, 1, pe.right);
    shmem_quiet();
    shmem_uint64_atomic_swap_nbi((uint64_t *)(void *)(buffer + 8), word, 5, pe.right);
    shmem_quiet();
    program_copy(got, buffer, sizeof got);
    CHECK_EQ(got[0], 100 + pe.right);
    CHECK_EQ(got[1], 101 + pe.right);
    shmem_barrier_all();
}

static void all(char *buffer, char *far)
{
    uint64_t *word = shmem_calloc(2, sizeof *word);
    CHECK(word != NULL);
    ranges(buffer, far);
    many(buffer, far);
    strides(buffer, far);
    signals(buffer, far, &word[0]);
    fetched(buffer, &word[1]);
    shmem_free(word);
}

/* ---- threads: more pieces are needed than exist, by contexts with a shared worker and with their own ---- */

enum { N_THREADS = 4, SHARE = MOST / N_THREADS, ROUNDS = 6 };

static struct share {
    char *buffer, *far;
    int number;
} shares[N_THREADS];

static void *use_share(void *argument)
{
    const struct share *share = argument;
    char *pattern = malloc(SHARE), *got = malloc(SHARE);
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    CHECK(pattern != NULL && got != NULL);
    program_enter();
    if (share->number % 2 != 0) CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    for (int round = 0; round < ROUNDS; round++) {
        make_pattern(pattern, SHARE, 100 * share->number + round);
        program_copy(share->buffer, pattern, SHARE);
        (round % 2 == 0 ? shmem_ctx_putmem : shmem_ctx_putmem_nbi)(ctx, share->far, share->buffer, SHARE, pe.right);
        shmem_ctx_quiet(ctx);
        memset(got, 0, SHARE);
        program_copy(share->buffer, got, SHARE);
        (round % 3 == 0 ? shmem_ctx_getmem_nbi : shmem_ctx_getmem)(ctx, share->buffer, share->far, SHARE, pe.right);
        shmem_ctx_quiet(ctx);
        program_copy(got, share->buffer, SHARE);
        CHECK_BYTES(got, pattern, SHARE);
    }
    if (share->number % 2 != 0) shmem_ctx_destroy(ctx);
    free(got);
    free(pattern);
    return NULL;
}

static void threads(char *buffer, char *far)
{
    pthread_t ids[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        shares[i] = (struct share){buffer + i * SHARE, far + i * SHARE, i};
        CHECK_EQ(pthread_create(&ids[i], NULL, use_share, &shares[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) CHECK_EQ(pthread_join(ids[i], NULL), 0);
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    bool has_face = argc > 2 && strcmp(argv[2], "face") == 0, has_threads = argc > 2 && !has_face;
    if (has_face) nvshmem_init();
    (has_threads ? pe_begin_threads : pe_begin)();
    CHECK(argc >= 2 && program_open(argv[1], 2));
    char *heap = shmem_malloc(MOST), *mapped = (char *)program_map(0, 1, false), *older = (char *)program_alloc();
    CHECK(heap != NULL && mapped != NULL && older != NULL);
    if (has_threads) {
        threads(older, heap);
        threads(mapped, globals);
    } else {
        all(older, heap);
        all(mapped, globals);
        many((char *)program_map_on_host(1, 1), heap);
    }
    shmem_free(heap);
    program_free((long *)(void *)older);
    program_close();
    shmem_finalize();
    if (has_face) nvshmem_finalize();
    return 0;
}
