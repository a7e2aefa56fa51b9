/* tests/contract/planted_extents.c: see planted.h. Bugs at the end of an extent, beyond 32 bits of offset, and of
 * extents that overlap. */
#include "planted.h"

#include <string.h>

static struct isthmus_data_ops base_ops;
static isthmus_amo_fn base_set;

/* Of the last one; all PEs expose the same. */
static uint64_t length_bytes_of_extent;

static bool is_at_end(uint64_t offset_bytes, size_t n_bytes)
{
    return offset_bytes + n_bytes == length_bytes_of_extent;
}

static isthmus_status refuse(void)
{
    return planted_services->fail(planted_services->core, ISTHMUS_ERR_REFUSED, "the range lies outside of the extent");
}

/* ---- memory ---- */

/* The key of a range becomes that of an earlier one that begins no later and ends behind its start. */
void planted_exposed(const struct isthmus_mem *mem, void *key, size_t *key_bytes)
{
    static const char *from, *to;
    static char first[ISTHMUS_KEY_MAX_BYTES];
    static size_t first_bytes;
    const char *addr = mem->addr;
    length_bytes_of_extent = mem->length_bytes;
    if (!planted_has("overlap_is_first")) return;
    if (from != NULL && addr >= from && addr < to) {
        memcpy(key, first, first_bytes);
        *key_bytes = first_bytes;
        return;
    }
    from = addr;
    to = addr + mem->length_bytes;
    memcpy(first, key, *key_bytes);
    first_bytes = *key_bytes;
}

/* ---- the slots ---- */

static isthmus_status put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const void *source, const isthmus_lmem *mem, size_t n_bytes)
{
    if (planted_has("puts_32_bits")) offset_bytes = (uint32_t)offset_bytes;
    if (planted_has("puts_miss_end") && is_at_end(offset_bytes, n_bytes)) n_bytes--;
    return n_bytes > 0 ? base_ops.put(chan, path, remote, offset_bytes, source, mem, n_bytes) : ISTHMUS_OK;
}

static isthmus_status get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          void *dest, const isthmus_lmem *mem, size_t n_bytes)
{
    if (planted_has("gets_32_bits")) offset_bytes = (uint32_t)offset_bytes;
    return base_ops.get(chan, path, remote, offset_bytes, dest, mem, n_bytes);
}

static isthmus_status set(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          uint64_t operand, uint64_t compare, void *fetched)
{
    if (planted_has("amos_32_bits")) offset_bytes = (uint32_t)offset_bytes;
    if (planted_has("amos_miss_end") && is_at_end(offset_bytes, sizeof operand)) return refuse();
    return base_set(chan, path, remote, offset_bytes, operand, compare, fetched);
}

static isthmus_amo_fn amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags)
{
    isthmus_amo_fn fn = base_ops.amo_entry(chan, op, bits, flags);
    if (op != ISTHMUS_AMO_SET || bits != ISTHMUS_BITS64 || flags != 0) return fn;
    base_set = fn;
    return set;
}

static isthmus_status notify(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             uint64_t value)
{
    if (is_at_end(offset_bytes, sizeof value)) return refuse();
    return base_ops.put(chan, path, remote, offset_bytes, &value, NULL, sizeof value);
}

static isthmus_status put_signal(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    isthmus_status status = base_ops.put(chan, path, what->remote, what->remote_offset_bytes, what->source,
                                         what->source_mem, what->length_bytes);
    if (status == ISTHMUS_OK && is_at_end(what->signal_offset_bytes, sizeof what->value)) return refuse();
    if (status != ISTHMUS_OK) return status;
    return base_ops.amo_entry(chan, what->op, ISTHMUS_BITS64, 0)(chan, path, what->signal, what->signal_offset_bytes,
                                                                 what->value, 0, NULL);
}

void planted_extents_slots(struct isthmus_data_ops *ops)
{
    base_ops = *ops;
    if (planted_has("puts_32_bits") || planted_has("puts_miss_end")) ops->put = ops->put_nbi = put;
    if (planted_has("gets_32_bits")) ops->get = ops->get_nbi = get;
    if (planted_has("amos_32_bits") || planted_has("amos_miss_end")) ops->amo_entry = amo_entry;
    if (planted_has("notify_misses_end")) ops->notify = notify;
    if (planted_has("signal_misses_end")) ops->put_signal = put_signal;
}
