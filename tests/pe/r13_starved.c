/* R13: PE n-1 has no memory left for anything new when PE 0 connects to it through a network transport. starved MODE:
 *   peer     PE 0 accesses it for the first time; with 4 PEs, so that no barrier has connected them before
 *   context  PE 0 accesses it on contexts that are new
 * Either it works, because nothing new was needed, or the job ends with a message; it does not hang. */
#include "check.h"

#include <sys/resource.h>

static long cell, is_starved;

/* Limits new mappings; malloc keeps its free memory, or the launcher's client would fail first. */
static void starve(long spare_kib)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL);
    CHECK_EQ(fscanf(file, "%ld", &pages), 1);
    fclose(file);
    rlim_t most = (rlim_t)(pages * sysconf(_SC_PAGESIZE) + spare_kib * 1024);
    CHECK_EQ(setrlimit(RLIMIT_AS, &(struct rlimit){most, most}), 0);
}

static void talk_on_contexts(void)
{
    enum { CONTEXTS = 8 };
    for (int i = 0; i < CONTEXTS; i++) {
        shmem_ctx_t ctx;
        CHECK_EQ(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx), 0);
        shmem_ctx_long_p(ctx, &cell, i, pe.n - 1);
        shmem_ctx_quiet(ctx);
        CHECK_EQ(shmem_ctx_long_g(ctx, &cell, pe.n - 1), i);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "peer";
    pe_begin();
    shmem_barrier_all();
    if (pe.me == pe.n - 1) {
        starve(argc > 2 ? atol(argv[2]) : 0);
        shmem_long_p(&is_starved, 1, 0);
    }
    if (pe.me == 0) {
        shmem_long_wait_until(&is_starved, SHMEM_CMP_EQ, 1);
        if (strcmp(mode, "context") == 0) talk_on_contexts();
        shmem_long_p(&cell, 42, pe.n - 1);
        shmem_quiet();
        CHECK_EQ(shmem_long_g(&cell, pe.n - 1), 42);
        fputs("it works\n", stderr);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
