/* R47: an operation through a transport on any block of a heap that has grown asks the loader nothing, as in a small
 * heap: calls of dl_iterate_phdr, which takes the loader's lock and walks all loaded objects, are counted here. */
#include "check.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>

enum { FIRST_BYTES = 16 << 20, BLOCK_BYTES = 40 << 20, N_BLOCKS = 6, ROUNDS = 20, WORDS = 4 };

static _Thread_local int n_walks;

/* The library's calls come here, because the program has the symbol before the C library. */
__attribute__((visibility("default"))) int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *),
                                                           void *data)
{
    int (*next)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    *(void **)(void *)&next = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    n_walks++;
    return next(visit, data);
}

struct block {
    long words[2 * WORDS];
    long element, counter;
    uint64_t signal;
};

static void use(struct block *block, uint64_t n_signals)
{
    long here[2 * WORDS] = {pe.me};
    for (int i = 0; i < ROUNDS; i++) {
        shmem_putmem(block->words, here, sizeof here, pe.right);
        shmem_putmem_nbi(block->words, here, sizeof here, pe.right);
        shmem_getmem(here, block->words, sizeof here, pe.right);
        shmem_getmem_nbi(here, block->words, sizeof here, pe.right);
        shmem_quiet();
        CHECK_EQ(here[0], pe.me);
        shmem_long_iput(block->words, here, 2, 2, WORDS, pe.right);
        shmem_long_iget(here, block->words, 2, 2, WORDS, pe.right);
        shmem_long_p(&block->element, i, pe.right);
        CHECK(shmem_long_g(&block->element, pe.right) < ROUNDS); /* this one, or an older one */
        (void)shmem_long_atomic_fetch_add(&block->counter, 1, pe.right);
        shmem_putmem_signal(block->words, here, sizeof here, &block->signal, 1, SHMEM_SIGNAL_ADD, pe.right);
    }
    shmem_signal_wait_until(&block->signal, SHMEM_CMP_GE, n_signals);
}

static void use_counted(struct block *block, const char *which)
{
    memset(block, 0, sizeof *block);
    shmem_barrier_all();
    use(block, ROUNDS); /* the first use of an extent attaches it */
    n_walks = 0;
    use(block, UINT64_C(2) * ROUNDS);
    if (n_walks != 0) check_fail(__FILE__, __LINE__, "%d walks of loaded objects, in the %s block", n_walks, which);
    shmem_barrier_all();
}

int main(void)
{
    static const long constant = 7;
    struct block *blocks[N_BLOCKS];
    pe_begin();
    for (int i = 0; i < N_BLOCKS; i++) {
        blocks[i] = shmem_malloc(i == 0 ? FIRST_BYTES : BLOCK_BYTES);
        CHECK(blocks[i] != NULL);
        if (i == 0) use_counted(blocks[0], "only");
    }
    use_counted(blocks[0], "first");
    use_counted(blocks[N_BLOCKS / 2], "middle");
    use_counted(blocks[N_BLOCKS - 1], "last");
    n_walks = 0;
    CHECK_EQ(shmem_long_g(&constant, pe.right), 7);
    CHECK(n_walks > 0 || pe.n == 1); /* it is the library's call that is counted */
    return pe_end();
}
