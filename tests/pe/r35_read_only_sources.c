/* R35: the source of a put may be memory that the caller cannot write: constants of the program, a mapping for reading,
 * a buffer some pages of which are read-only. Adapters register no such memory with the access that UCX asks for.
 * With the argument `unmapped`: a put from memory that is not there. */
#include "check.h"

#include <nvshmemx.h>
#include <sys/mman.h>

#define TIMES_8(...) __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__
#define TIMES_512(...) TIMES_8(TIMES_8(TIMES_8(__VA_ARGS__)))

enum { PAGE = 4096, LARGE = 64 << 20, SMALL = 1 << 20 };

static const char constants[] = TIMES_512(
    "What a program may only read, it may put. This line has a length that is odd....");
static const char *const addresses[] = {TIMES_8(TIMES_512(constants, constants + 1, constants + 2, ))};
static uint64_t arrived;
static char *dest;

static size_t n_bytes_of(int step) /* 0 behind the last */
{
    static const size_t sizes[] = {8, 512, 4000, 40000, 200000, SMALL};
    return step < (int)(sizeof sizes / sizeof *sizes) ? sizes[step] : 0;
}

static void by_put(const char *source, size_t n_bytes) { shmem_putmem(dest, source, n_bytes, pe.right); }
static void by_put_nbi(const char *source, size_t n_bytes)
{
    shmem_putmem_nbi(dest, source, n_bytes, pe.right);
    shmem_putmem_nbi(dest + n_bytes, source, n_bytes, pe.right);
}
static void by_iput(const char *source, size_t n_bytes) { shmem_iput64(dest, source, 1, 1, n_bytes / 8, pe.right); }

/* Each way is followed by a flag behind a fence. */
static void move(void (*put)(const char *, size_t), const char *source, size_t n_bytes, uint64_t round)
{
    put(source, n_bytes);
    shmem_fence();
    shmem_uint64_p(&arrived, round, pe.right);
    shmem_uint64_wait_until(&arrived, SHMEM_CMP_EQ, round);
    CHECK_BYTES(dest, source, n_bytes); /* all PEs put the same */
    if (put == by_put_nbi) CHECK_BYTES(dest + n_bytes, source, n_bytes);
    memset(dest, 0, 2 * n_bytes);
    shmem_barrier_all();
}

static void move_with_signal(const char *source, size_t n_bytes, uint64_t round)
{
    shmem_putmem_signal(dest, source, n_bytes, &arrived, round, SHMEM_SIGNAL_SET, pe.right);
    shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, round);
    CHECK_BYTES(dest, source, n_bytes);
    memset(dest, 0, n_bytes);
    shmem_barrier_all();
    shmem_putmem_signal_nbi(dest, source, n_bytes, &arrived, round + 1, SHMEM_SIGNAL_SET, pe.right);
    shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, round + 1);
    CHECK_BYTES(dest, source, n_bytes);
    memset(dest, 0, n_bytes);
    shmem_barrier_all();
}

/* Constants that hold addresses are symmetric, so collectives take them; each PE has others. */
static void move_addresses(void)
{
    static char expected[sizeof addresses];
    const size_t n_bytes = sizeof addresses, part = n_bytes / (size_t)pe.n;
    shmem_putmem(dest, addresses, n_bytes, pe.right);
    shmem_barrier_all();
    shmem_getmem(expected, addresses, n_bytes, pe.left);
    CHECK_BYTES(dest, expected, n_bytes);
    shmem_barrier_all();
    CHECK_EQ(shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, addresses, part), 0);
    CHECK_BYTES(dest + (size_t)pe.left * part, expected + (size_t)pe.me * part, part);
    shmem_barrier_all();
    CHECK_EQ(shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, addresses, n_bytes), 0);
    CHECK_BYTES(dest + (size_t)pe.left * n_bytes, expected, n_bytes);
    shmem_barrier_all();
    CHECK_EQ(shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, addresses, n_bytes, 0), 0);
    if (pe.left == 0) CHECK_BYTES(dest, expected, n_bytes);
    shmem_barrier_all();
}

static void put_all(const char *source, size_t most_bytes)
{
    static uint64_t round;
    for (size_t i = 0, n_bytes; (n_bytes = n_bytes_of((int)i)) > 0 && n_bytes <= most_bytes; i++) {
        move(by_put, source, n_bytes, ++round);
        move(by_put_nbi, source, n_bytes, ++round);
        if (n_bytes <= 4000) move(by_iput, source, n_bytes, ++round);
        move_with_signal(source, n_bytes, ++round);
        round++;
    }
}

static char *new_memory(size_t n_bytes)
{
    char *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    for (size_t i = 0; i < n_bytes; i += 8) memcpy(memory + i, &i, sizeof i);
    return memory;
}

static const char *read_only_file(size_t n_bytes)
{
    FILE *file = tmpfile();
    char *written = new_memory(n_bytes);
    CHECK(file != NULL && fwrite(written, 1, n_bytes, file) == n_bytes && fflush(file) == 0);
    munmap(written, n_bytes);
    const char *map = mmap(NULL, n_bytes, PROT_READ, MAP_SHARED, fileno(file), 0);
    CHECK(map != MAP_FAILED);
    fclose(file);
    return map;
}

static void put_unmapped(void)
{
    char *memory = new_memory(LARGE);
    CHECK_EQ(munmap(memory, LARGE), 0);
    shmem_putmem(dest, memory, SMALL, pe.right);
}

int main(int argc, char **argv)
{
    pe_begin();
    dest = shmem_calloc(2, LARGE);
    CHECK(dest != NULL);
    if (argc > 1 && strcmp(argv[1], "unmapped") == 0) put_unmapped();
    put_all(constants, sizeof constants);
    move_addresses();

    const char *file = read_only_file(LARGE);
    put_all(file + 8, SMALL);
    move(by_put_nbi, file, LARGE, 1);

    char *mixed = new_memory(SMALL);
    for (size_t at = 8 * PAGE; at < SMALL; at += 16 * PAGE) CHECK_EQ(mprotect(mixed + at, 8 * PAGE, PROT_READ), 0);
    put_all(mixed, SMALL);
    CHECK_EQ(nvshmemx_buffer_register(mixed, SMALL), 0);
    put_all(mixed, SMALL);
    CHECK_EQ(nvshmemx_buffer_unregister(mixed), 0);
    mixed[0] = 1; /* still writable */
    shmem_getmem(mixed, dest, 8 * PAGE, pe.right);
    return pe_end();
}
