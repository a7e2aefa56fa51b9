/* R30: pages of static data that the program has protected or mapped itself before init stay as they are, in two jobs
 * and between them; the variables around them are symmetric, and an access to them ends the job with a message.
 * Usage: r30_left_out DEED WHO [ACCESS]. DEED: guard, read, file, private. WHO: which PEs have such pages, all or last.
 * ACCESS: what PE 0 does with these pages of the last PE. */
#include "check.h"

#include <setjmp.h>
#include <stdbool.h>
#include <sys/mman.h>

enum { PIECE = 65536, N_PIECES = 12, OWN = 5 }; /* whole pages of any system */

static _Alignas(PIECE) char pieces[N_PIECES][PIECE];
static _Alignas(PIECE) char filled[N_PIECES][PIECE] = {"filled"};
static const char *deed;
static bool has_own;
static int file = -1;

static void change(char *piece)
{
    const bool is_shared = strcmp(deed, "file") == 0;
    if (strcmp(deed, "guard") == 0) {
        CHECK_EQ(mprotect(piece, PIECE, PROT_NONE), 0);
    } else if (strcmp(deed, "read") == 0) {
        piece[7] = 7;
        CHECK_EQ(mprotect(piece, PIECE, PROT_READ), 0);
    } else {
        file = fileno(tmpfile());
        CHECK_EQ(ftruncate(file, PIECE), 0);
        CHECK(mmap(piece, PIECE, PROT_READ | PROT_WRITE, MAP_FIXED | (is_shared ? MAP_SHARED : MAP_PRIVATE), file, 0) ==
              piece);
        piece[7] = 7;
    }
}

/* ---- as they were ---- */

static sigjmp_buf back;

static void on_fault(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static bool can(volatile char *at, bool write)
{
    struct sigaction old, catch = {.sa_handler = on_fault};
    CHECK_EQ(sigaction(SIGSEGV, &catch, &old), 0);
    const bool faults = sigsetjmp(back, 1) != 0;
    if (!faults && write) *at = 7;
    if (!faults && !write) (void)*at;
    CHECK_EQ(sigaction(SIGSEGV, &old, NULL), 0);
    return !faults;
}

static void expect_own(char *piece, const char *when)
{
    const bool is_mapped = strcmp(deed, "file") == 0 || strcmp(deed, "private") == 0;
    char byte = 0;
    if (can(piece + 7, false) != (strcmp(deed, "guard") != 0) || can(piece + 7, true) != is_mapped)
        check_fail(__FILE__, __LINE__, "the protection has changed %s", when);
    if (strcmp(deed, "guard") != 0) CHECK_EQ(piece[7], 7);
    if (strcmp(deed, "file") != 0) return;
    piece[9]++;
    CHECK_EQ(pread(file, &byte, 1, 9), 1);
    CHECK_EQ(byte, piece[9]);
}

static void expect_own_pieces(const char *when)
{
    if (has_own) expect_own(pieces[OWN], when);
}

/* ---- what is around them ---- */

static void use_around(void)
{
    static long words[4];
    long *before = (long *)(void *)(pieces[OWN] - sizeof(long)), *after = (long *)(void *)pieces[OWN + 1];
    char *bulk = pieces[OWN + 2], source[20000];
    *before = *after = words[0] = 1;
    memset(source, pe.me + 3, sizeof source);
    shmem_barrier_all();
    shmem_long_p(before, pe.me + 10, pe.right);
    shmem_long_atomic_add(after, pe.me, pe.right);
    shmem_putmem(bulk, source, sizeof source, pe.right);
    shmem_putmem(filled[N_PIECES - 1], source, sizeof source, pe.right);
    shmem_barrier_all();
    CHECK_EQ(*before, pe.left + 10);
    CHECK_EQ(*after, pe.left + 1);
    CHECK_FILLED(bulk, pe.left + 3, sizeof source);
    CHECK_FILLED(filled[N_PIECES - 1], pe.left + 3, sizeof source);
    CHECK_EQ(shmem_long_g(before, pe.right), pe.me + 10);
    CHECK_EQ(shmem_long_atomic_fetch(after, pe.right), pe.me + 1);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, words, words, 1);
    CHECK_EQ(words[0], pe.n);
    CHECK_EQ(strcmp(filled[0], "filled"), 0);
}

static void access_own(const char *access, int target)
{
    long *word = (long *)(void *)pieces[OWN];
    static char source[2 * PIECE];
    if (strcmp(access, "p") == 0) shmem_long_p(word, 1, target);
    if (strcmp(access, "g") == 0) (void)shmem_long_g(word, target);
    if (strcmp(access, "add") == 0) shmem_long_atomic_add(word, 1, target);
    if (strcmp(access, "put") == 0) shmem_putmem(pieces[OWN - 1], source, sizeof source, target);
    if (strcmp(access, "get") == 0) shmem_getmem(source, pieces[OWN - 1], sizeof source, target);
    shmem_quiet();
}

int main(int argc, char **argv)
{
    const char *rank = getenv("PMIX_RANK"), *who = argv[2], *access = argc > 3 ? argv[3] : "";
    deed = argv[1];
    has_own = strcmp(who, "all") == 0 || atoi(rank) == atoi(getenv("PE_TEST_LAST"));
    if (has_own) change(pieces[OWN]);
    for (int job = 0; job < 2; job++) {
        expect_own_pieces("before a job");
        pe_begin();
        expect_own_pieces("in a job");
        use_around();
        for (int i = 0; i < pe.n; i++) {
            const bool is_left_out = strcmp(who, "all") == 0 || has_own || i == pe.n - 1;
            CHECK_EQ(shmem_addr_accessible(pieces[OWN] + 100, i), !is_left_out);
            CHECK_EQ(shmem_addr_accessible(pieces[OWN - 1], i), 1);
            if (is_left_out) CHECK(shmem_ptr(pieces[OWN] + 100, i) == NULL);
        }
        shmem_barrier_all();
        if (pe.me == 0) access_own(access, pe.n - 1);
        shmem_barrier_all();
        CHECK_EQ(pe_end(), 0);
        expect_own_pieces("after a job");
    }
    /* A search for leaks reads all static data. */
    return strcmp(deed, "guard") == 0 ? mprotect(pieces[OWN], PIECE, PROT_READ | PROT_WRITE) : 0;
}
