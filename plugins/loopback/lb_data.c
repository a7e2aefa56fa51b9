/* plugins/loopback/lb_data.c: the data slots on mapped memory. Every operation is complete when its call returns. For
 * small accesses the core uses the alias instead; these slots carry bulk data, and all accesses if ISTHMUS_ALIAS is
 * 0. */
#include "plugins/loopback/loopback.h"

#include <isthmus/amo_cpu.h>
#include <isthmus/copy_cpu.h>
#include <isthmus/inline.h>

/* All state is in the mapping; the address of this stands for "open". */
struct isthmus_chan {
    char unused;
};
static isthmus_chan the_channel;

static isthmus_status lb_put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                             uint64_t remote_offset_bytes, const void *source, const isthmus_lmem *source_mem,
                             size_t length_bytes)
{
    (void)chan, (void)path, (void)source_mem;
    isthmus_copy_cpu(remote->addr + remote_offset_bytes, source, length_bytes);
    return ISTHMUS_OK;
}

static isthmus_status lb_get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                             uint64_t remote_offset_bytes, void *dest, const isthmus_lmem *dest_mem,
                             size_t length_bytes)
{
    (void)chan, (void)path, (void)dest_mem;
    isthmus_copy_cpu(dest, remote->addr + remote_offset_bytes, length_bytes);
    return ISTHMUS_OK;
}

/* One function per operation and width: no switch at run time. */
#define LB_AMO(op, bits)                                                                                               \
    static isthmus_status lb_##op##_##bits(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,         \
                                           uint64_t offset, uint64_t operand, uint64_t compare, void *fetched)         \
    {                                                                                                                  \
        (void)chan, (void)path;                                                                                        \
        uint##bits##_t *at = (uint##bits##_t *)(void *)(remote->addr + offset);                                        \
        uint64_t old = isthmus_amo_cpu_##bits(ISTHMUS_AMO_##op, at, (uint##bits##_t)operand, (uint##bits##_t)compare); \
        if (fetched != NULL) *(uint##bits##_t *)fetched = (uint##bits##_t)old;                                         \
        return ISTHMUS_OK;                                                                                             \
    }
#define LB_AMO_WIDTHS(op) LB_AMO(op, 8) LB_AMO(op, 16) LB_AMO(op, 32) LB_AMO(op, 64)
LB_AMO_WIDTHS(FETCH)
LB_AMO_WIDTHS(SET)
LB_AMO_WIDTHS(SWAP)
LB_AMO_WIDTHS(COMPARE_SWAP)
LB_AMO_WIDTHS(ADD)
LB_AMO_WIDTHS(AND)
LB_AMO_WIDTHS(OR)
LB_AMO_WIDTHS(XOR)

#define LB_ROW(op) [ISTHMUS_AMO_##op] = {lb_##op##_8, lb_##op##_16, lb_##op##_32, lb_##op##_64}
static const isthmus_amo_fn amo_table[ISTHMUS_AMO_COUNT][ISTHMUS_BITS_COUNT] = {
    LB_ROW(FETCH), LB_ROW(SET), LB_ROW(SWAP), LB_ROW(COMPARE_SWAP), LB_ROW(ADD), LB_ROW(AND), LB_ROW(OR), LB_ROW(XOR),
};
#undef LB_ROW
#undef LB_AMO_WIDTHS
#undef LB_AMO

static isthmus_amo_fn lb_amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags)
{
    (void)chan, (void)flags; /* all are complete on return, fetching or not */
    return op < ISTHMUS_AMO_COUNT && bits < ISTHMUS_BITS_COUNT ? amo_table[op][bits] : NULL;
}

static isthmus_status lb_fence(isthmus_chan *chan, isthmus_path *path)
{
    (void)chan, (void)path;
    isthmus_order_stores_();
    return ISTHMUS_OK;
}

static isthmus_status lb_remote_commit(isthmus_chan *chan, isthmus_path *path)
{
    (void)chan, (void)path;
    isthmus_publish_stores_();
    return ISTHMUS_OK;
}

/* A ticket is not looked at: its commit is complete. */
static isthmus_status lb_commit_start(isthmus_chan *chan, isthmus_path *path, uint64_t *ticket)
{
    *ticket = 1;
    return lb_remote_commit(chan, path);
}

static isthmus_status lb_commit_test(isthmus_chan *chan, uint64_t ticket)
{
    (void)chan, (void)ticket;
    return ISTHMUS_OK;
}

isthmus_status lb_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                               struct isthmus_data_ops *ops)
{
    (void)tr, (void)thread_mode, (void)ctx_options; /* one form serves all: nothing here is per channel */
    const struct isthmus_data_ops all = {
        .put = lb_put,
        .get = lb_get,
        .amo_entry = lb_amo_entry,
        .fence = lb_fence,
        .remote_commit = lb_remote_commit,
        .commit_start = lb_commit_start,
        .commit_test = lb_commit_test,
    };
    isthmus_write_out(ops, &all, sizeof all);
    *out = &the_channel;
    return ISTHMUS_OK;
}

void lb_channel_close(isthmus_chan *chan) { (void)chan; }
