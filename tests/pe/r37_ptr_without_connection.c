/* R37, R39, R42: to ask for the addresses of all PEs, or which of them are accessible, connects this PE to no PE of
 * another host. The library's log (ISTHMUS_LOG=debug) names what is attached through which transport. */
#include "check.h"

#include <stdbool.h>
#include <sys/mman.h>

enum { MOST_LOG_BYTES = 1 << 20 };

static long statics;

/* Where standard error goes while the program asks. */
static int collected;

static bool was_attached(off_t from, off_t to)
{
    char *text = calloc(MOST_LOG_BYTES, 1);
    CHECK(text != NULL && to - from < MOST_LOG_BYTES && pread(collected, text, (size_t)(to - from), from) >= 0);
    bool was = strstr(text, " through ib") != NULL;
    free(text);
    return was;
}

static off_t log_end(void) { return lseek(collected, 0, SEEK_END); }

int main(void)
{
    pe_begin();
    long *block = shmem_malloc(sizeof *block);
    int to_terminal = dup(STDERR_FILENO), n_wrong = 0;
    collected = memfd_create("log", MFD_CLOEXEC);
    CHECK(block != NULL && to_terminal >= 0 && collected >= 0);
    shmem_barrier_all();
    CHECK(dup2(collected, STDERR_FILENO) >= 0);
    for (int i = 0; i < pe.n; i++) {
        bool is_shared = shmem_team_translate_pe(SHMEM_TEAM_WORLD, i, SHMEM_TEAM_SHARED) >= 0;
        n_wrong += (shmem_ptr(block, i) != NULL) != is_shared;
        n_wrong += (shmem_ptr(&statics, i) != NULL) != is_shared;
        n_wrong += (shmem_team_ptr(SHMEM_TEAM_WORLD, block, i) != NULL) != is_shared;
        n_wrong += shmem_addr_accessible(block, i) != 1 || shmem_addr_accessible(&statics, i) != 1;
    }
    off_t asked = log_end();
    for (int i = 0; i < pe.n; i++) shmem_long_p(block, 1, i);
    shmem_barrier_all();
    CHECK(dup2(to_terminal, STDERR_FILENO) >= 0);
    CHECK_EQ(n_wrong, 0);
    CHECK(!was_attached(0, asked));
    CHECK(was_attached(asked, log_end())); /* of some PE that was not used before: the log shows it */
    return pe_end();
}
