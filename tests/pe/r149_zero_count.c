/* R149: a count of 0 does nothing, with null pointers and with others; put with signal still signals. */
#include "check.h"

static uint64_t word = 5, signal_word;

static void run(uint64_t *dest, uint64_t *source)
{
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    shmem_uint64_put(dest, source, 0, pe.right);
    shmem_put128(dest, source, 0, pe.right);
    shmem_putmem(dest, source, 0, pe.right);
    shmem_ctx_uint64_get(ctx, source, dest, 0, pe.right);
    shmem_get8(source, dest, 0, pe.right);
    shmem_getmem(source, dest, 0, pe.right);
    shmem_uint64_put_nbi(dest, source, 0, pe.right);
    shmem_put16_nbi(dest, source, 0, pe.right);
    shmem_putmem_nbi(dest, source, 0, pe.right);
    shmem_uint64_get_nbi(source, dest, 0, pe.right);
    shmem_get64_nbi(source, dest, 0, pe.right);
    shmem_ctx_getmem_nbi(ctx, source, dest, 0, pe.right);
    shmem_uint64_iput(dest, source, 1, 1, 0, pe.right);
    shmem_iput32(dest, source, 3, 2, 0, pe.right);
    shmem_uint64_iget(source, dest, 1, 1, 0, pe.right);
    shmem_iget8(source, dest, 5, 1, 0, pe.right);
    shmem_uint64_ibput(dest, source, 4, 4, 4, 0, pe.right);
    shmem_uint64_ibput(dest, source, 4, 4, 0, 4, pe.right);
    shmem_ibput64(dest, source, 4, 4, 4, 0, pe.right);
    shmem_uint64_ibget(source, dest, 4, 4, 4, 0, pe.right);
    shmem_ibget16(source, dest, 4, 4, 0, 4, pe.right);
    shmem_uint64_put_signal(dest, source, 0, &signal_word, 1, SHMEM_SIGNAL_ADD, pe.right);
    shmem_putmem_signal(dest, source, 0, &signal_word, 1, SHMEM_SIGNAL_ADD, pe.right);
    shmem_put32_signal_nbi(dest, source, 0, &signal_word, 1, SHMEM_SIGNAL_ADD, pe.right);
    shmem_putmem_signal_nbi(dest, source, 0, &signal_word, 1, SHMEM_SIGNAL_ADD, pe.right);
    shmem_pe_quiet(NULL, 0);
}

int main(void)
{
    uint64_t local = 9;
    pe_begin();
    run(NULL, NULL);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 4);
    shmem_barrier_all();
    run(&word, &local);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 8);
    shmem_barrier_all();
    CHECK_EQ(word, 5);
    CHECK_EQ(local, 9);
    return pe_end();
}
