/* plugins/hook/hook_amo.c: atomics. There is one function for each operation, width and form, because the core passes
 * none of them. See hook.h. */
#include "plugins/hook/hook.h"

static isthmus_status amo(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const uint64_t operands[2], void *fetched, const uint32_t which[3])
{
    struct hook_plan *plan = &chan->tr->plan;
    if ((which[2] & ISTHMUS_AMO_NBI) != 0 && hook_plan_says_again(plan)) return ISTHMUS_ERR_AGAIN;
    isthmus_status status = hook_plan_operation(plan, HOOK_AMO, path->pe);
    if (status != ISTHMUS_OK) return status;
    pthread_mutex_lock(&chan->lock);
    hook_held_age(chan, HOOK_ALL);
    status = chan->amo[which[0]][which[1]][which[2]](chan->base, path->base, remote->base, offset_bytes, operands[0],
                                                     operands[1], fetched);
    pthread_mutex_unlock(&chan->lock);
    return status;
}

#define FUNCTION(op, bits, flags)                                                                                   \
    static isthmus_status amo_##op##_##bits##_##flags(isthmus_chan *chan, isthmus_path *path,                       \
                                                      const isthmus_rmem *remote, uint64_t at, uint64_t operand,    \
                                                      uint64_t compare, void *fetched)                              \
    {                                                                                                               \
        return amo(chan, path, remote, at, (uint64_t[]){operand, compare}, fetched, (uint32_t[]){op, bits, flags}); \
    }
#define ENTRY(op, bits, flags) [op][bits][flags] = amo_##op##_##bits##_##flags,
#define FOR_FLAGS(MACRO, op, bits) MACRO(op, bits, 0) MACRO(op, bits, 1) MACRO(op, bits, 2) MACRO(op, bits, 3)
#define FOR_BITS(MACRO, op) \
    FOR_FLAGS(MACRO, op, 0) FOR_FLAGS(MACRO, op, 1) FOR_FLAGS(MACRO, op, 2) FOR_FLAGS(MACRO, op, 3)
#define FOR_ALL(MACRO) \
    FOR_BITS(MACRO, 0) \
    FOR_BITS(MACRO, 1) \
    FOR_BITS(MACRO, 2) FOR_BITS(MACRO, 3) FOR_BITS(MACRO, 4) FOR_BITS(MACRO, 5) FOR_BITS(MACRO, 6) FOR_BITS(MACRO, 7)

_Static_assert(ISTHMUS_AMO_COUNT == 8 && ISTHMUS_BITS_COUNT == 4, "the macros above count to these");
FOR_ALL(FUNCTION)
static const isthmus_amo_fn functions[ISTHMUS_AMO_COUNT][ISTHMUS_BITS_COUNT][HOOK_AMO_FLAGS] = {FOR_ALL(ENTRY)};

/* One for each that the base has. */
isthmus_amo_fn hook_amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags)
{
    if (op >= ISTHMUS_AMO_COUNT || bits >= ISTHMUS_BITS_COUNT || flags >= HOOK_AMO_FLAGS) return NULL;
    return chan->amo[op][bits][flags] != NULL ? functions[op][bits][flags] : NULL;
}
