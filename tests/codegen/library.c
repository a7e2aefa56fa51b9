/* tests/codegen/library.c: fast paths of the library, from the headers of its entry points: one
 * function each, for order.py, which compiles this file alone for other processors. Not run. */
#include "core/api/amo_entry.h"
#include "core/api/rma_entry.h"
#include "core/api/sync_entry.h"
#include "core/ops/order.h"

void library_long_p(long *dest, long value, int pe);
long library_long_g(const long *source, int pe);
long library_ctx_long_g(ist_ctx *ctx, const long *source, int pe);
void library_put_8(void *dest, const void *source, int pe);
void library_get_8(void *dest, const void *source, int pe);
long library_fetch(const long *source, int pe);
long library_fetch_add(long *dest, long value, int pe);
long library_swap(long *dest, long value, int pe);
long library_compare_swap(long *dest, long cond, long value, int pe);
void library_set(long *dest, long value, int pe);
uint64_t library_signal_fetch(const uint64_t *sig_addr);
long library_wait_load(const long *ivar);
void library_fence(void);
void library_local_complete(void);
void library_remote_commit(void);
void library_quiet(void);

#define DEFAULT &ist_ctx_default

void library_long_p(long *dest, long value, int pe) { ist_entry_p(DEFAULT, dest, &value, pe, sizeof value, ""); }

long library_long_g(const long *source, int pe)
{
    long result;
    ist_entry_g(DEFAULT, &result, source, pe, sizeof result, "");
    return result;
}

long library_ctx_long_g(ist_ctx *ctx, const long *source, int pe)
{
    long result;
    ist_entry_g(ctx, &result, source, pe, sizeof result, "");
    return result;
}

void library_put_8(void *dest, const void *source, int pe) { ist_entry_put(DEFAULT, dest, source, 8, pe, 1, ""); }
void library_get_8(void *dest, const void *source, int pe) { ist_entry_get(DEFAULT, dest, source, 8, pe, 1, ""); }

long library_fetch(const long *source, int pe)
{
    long result;
    ist_entry_fetch(DEFAULT, &result, source, pe, sizeof result, "");
    return result;
}

long library_fetch_add(long *dest, long value, int pe)
{
    long result;
    ist_entry_fetch_update(DEFAULT, ISTHMUS_AMO_ADD, &result, dest, &value, pe, sizeof result, "");
    return result;
}

long library_swap(long *dest, long value, int pe)
{
    long result;
    ist_entry_fetch_update(DEFAULT, ISTHMUS_AMO_SWAP, &result, dest, &value, pe, sizeof result, "");
    return result;
}

long library_compare_swap(long *dest, long cond, long value, int pe)
{
    struct ist_amo amo = ist_amo_of(ISTHMUS_AMO_COMPARE_SWAP, &value, &cond, sizeof value);
    return (long)ist_amo(DEFAULT, dest, amo, ISTHMUS_AMO_FETCHING, pe, "");
}

void library_set(long *dest, long value, int pe)
{
    ist_entry_update(DEFAULT, ISTHMUS_AMO_SET, dest, &value, pe, sizeof value, "");
}

uint64_t library_signal_fetch(const uint64_t *sig_addr) { return ist_entry_signal_fetch(sig_addr, ""); }
long library_wait_load(const long *ivar) { return (long)ist_wait_load(ivar, sizeof *ivar); }
void library_fence(void) { ist_fence(DEFAULT, ""); }
void library_local_complete(void) { ist_local_complete(DEFAULT, ""); }
void library_remote_commit(void) { ist_remote_commit(DEFAULT, ""); }
void library_quiet(void) { ist_quiet(DEFAULT, ""); }
