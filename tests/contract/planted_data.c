/* tests/contract/planted_data.c: see planted.h. Bugs of the data slots. */
#include "planted.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

enum {
    HELD_BYTES = 1 << 16,
    PAGES_8 = 8 * 4096,
    MIB_32 = 32 << 20,
    MOST_CHANNELS = 64,
    WINDOW_US = 300,
    SLOW_CALLS = 50
};

static struct isthmus_data_ops base_ops;
static unsigned progress_calls;

/* Puts other bytes than the caller requested. */
static size_t cut(size_t n)
{
    if (planted_has("cuts_17") && n == 17) return 16;
    if (planted_has("writes_beside") && n == 3) return 4;
    if (planted_has("cuts_pages") && n > PAGES_8) return PAGES_8;
    if (planted_has("cuts_large") && n > MIB_32) return MIB_32;
    return n;
}

/* ---- a put that waits, so that others overtake it ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* progress takes it, too */
static struct {
    isthmus_chan *chan;
    isthmus_path *path;
    const isthmus_rmem *remote;
    uint64_t offset_bytes;
    const void *source;
    size_t length_bytes;
    char copy[HELD_BYTES];
} held;

static void let_go(void)
{
    pthread_mutex_lock(&lock);
    if (held.length_bytes > 0)
        (void)base_ops.put(held.chan, held.path, held.remote, held.offset_bytes, held.source, NULL, held.length_bytes);
    held.length_bytes = 0;
    pthread_mutex_unlock(&lock);
}

static void hold(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                 const void *source, size_t length_bytes, bool copies)
{
    pthread_mutex_lock(&lock);
    held.chan = chan, held.path = path, held.remote = remote, held.offset_bytes = offset_bytes;
    held.source = copies ? memcpy(held.copy, source, length_bytes) : source;
    held.length_bytes = length_bytes;
    pthread_mutex_unlock(&lock);
}

static bool holds(void)
{
    static const char *const bugs[] = {"fence_leaks", "commit_leaks", "unordered",
                                       "by_progress", "notify_leaks", "late_sets"};
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++)
        if (planted_has(bugs[i])) return true;
    return false;
}

void planted_data_progress(void)
{
    __atomic_fetch_add(&progress_calls, 1, __ATOMIC_RELAXED);
    if (planted_has("by_progress")) let_go();
}

void planted_wait_for_progress(void)
{
    unsigned before = __atomic_load_n(&progress_calls, __ATOMIC_RELAXED);
    while (__atomic_load_n(&progress_calls, __ATOMIC_RELAXED) == before) sched_yield();
}

/* ---- data ---- */

static isthmus_status put_through_one_buffer(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                             uint64_t offset_bytes, const void *source, size_t length_bytes)
{
    static char buffer[HELD_BYTES];
    if (length_bytes > sizeof buffer) return base_ops.put(chan, path, remote, offset_bytes, source, NULL, length_bytes);
    memcpy(buffer, source, length_bytes);
    sched_yield();
    return base_ops.put(chan, path, remote, offset_bytes, buffer, NULL, length_bytes);
}

/* Process 1 would reply, if it lived. */
static void wait_for_the_dead(void)
{
    while (planted_services->peer_alive(planted_services->core, 1) == 0) sched_yield();
}

static isthmus_status put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const void *source, const isthmus_lmem *mem, size_t length_bytes)
{
    static int calls;
    if (planted_has("odd_code") && ++calls > 10)
        return planted_services->fail(planted_services->core, ISTHMUS_ERR_LIMIT, "no eleventh put");
    if (planted_has("refused_as_lost") && offset_bytes > 0)
        return planted_services->fail(planted_services->core, ISTHMUS_ERR_PEER_LOST, "an access was refused");
    if (planted_has("beyond"))
        return base_ops.put(chan, path, remote, offset_bytes + MIB_32, source, mem, length_bytes);
    if (planted_has("waits_for_the_dead")) wait_for_the_dead();
    if (planted_has("one_buffer"))
        return put_through_one_buffer(chan, path, remote, offset_bytes, source, length_bytes);
    if (planted_has("locks_source")) *(volatile char *)(uintptr_t)source = *(const char *)source;
    if (planted_has("drops_registered") && mem != NULL) return ISTHMUS_OK;
    if (planted_has("progress_cuts")) {
        unsigned before = __atomic_load_n(&progress_calls, __ATOMIC_RELAXED);
        sched_yield();
        if (__atomic_load_n(&progress_calls, __ATOMIC_RELAXED) != before && length_bytes > 1) length_bytes--;
    }
    if (planted_has("reads_large_late") && length_bytes > MIB_32) {
        hold(chan, path, remote, offset_bytes, source, length_bytes, false);
        return ISTHMUS_OK;
    }
    if (!holds() || length_bytes > HELD_BYTES)
        return base_ops.put(chan, path, remote, offset_bytes, source, mem, cut(length_bytes));
    if (held.length_bytes == 0 && planted_has("late_sets"))
        return base_ops.put(chan, path, remote, offset_bytes, source, mem, length_bytes);
    if (held.length_bytes == 0) {
        hold(chan, path, remote, offset_bytes, source, length_bytes, true);
        return ISTHMUS_OK;
    }
    isthmus_status status = base_ops.put(chan, path, remote, offset_bytes, source, mem, length_bytes);
    usleep(WINDOW_US); /* long enough to be seen */
    let_go();
    return status;
}

/* The stream to that PE stands still: whatever follows waits, too. */
static isthmus_path *still;

static bool is_fenced;

static isthmus_status put_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                              const void *source, const isthmus_lmem *mem, size_t length_bytes)
{
    if (planted_has("nbi_waits_after_fence") && is_fenced) planted_wait_for_progress();
    is_fenced = false;
    if (!planted_has("reads_late")) return put(chan, path, remote, offset_bytes, source, mem, length_bytes);
    let_go();
    hold(chan, path, remote, offset_bytes, source, length_bytes, false);
    return ISTHMUS_OK;
}

static isthmus_status get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          void *dest, const isthmus_lmem *mem, size_t length_bytes)
{
    if (!planted_has("by_progress") && !planted_has("reads_late")) let_go();
    while (__atomic_load_n(&still, __ATOMIC_ACQUIRE) == path) pause();
    return base_ops.get(chan, path, remote, offset_bytes, dest, mem, length_bytes);
}

/* ---- order ---- */

static isthmus_status fence(isthmus_chan *chan, isthmus_path *path)
{
    is_fenced = true;
    if (!planted_has("fence_leaks") && !planted_has("by_progress") && !planted_has("late_sets")) let_go();
    return base_ops.fence(chan, path);
}

/* Loopback lacks the slot: it exists only with these bugs. */
static isthmus_status notify(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             uint64_t value)
{
    isthmus_status status = base_ops.put(chan, path, remote, offset_bytes, &value, NULL, sizeof value);
    if (planted_has("notify_leaks")) usleep(WINDOW_US);
    let_go();
    return status;
}

static isthmus_status local_complete(isthmus_chan *chan, isthmus_path *path)
{
    (void)chan, (void)path;
    return ISTHMUS_OK;
}

static isthmus_status remote_commit(isthmus_chan *chan, isthmus_path *path)
{
    if (planted_has("arm_forgets")) planted_wait_for_progress();
    if (planted_has("awaits_the_dead")) wait_for_the_dead();
    if (!planted_has("commit_leaks") && !planted_has("by_progress")) let_go();
    return base_ops.remote_commit(chan, path);
}

/* ---- atomics ---- */

static isthmus_status torn_add(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                               uint64_t offset_bytes, uint64_t operand, uint64_t compare, void *fetched)
{
    static int calls;
    uint64_t old = 0;
    (void)compare;
    isthmus_status status = base_ops.get(chan, path, remote, offset_bytes, &old, NULL, sizeof old);
    if (++calls <= SLOW_CALLS) usleep(WINDOW_US); /* others are fast: a few of these are enough */
    if (fetched != NULL) memcpy(fetched, &old, sizeof old);
    old += operand;
    return status != ISTHMUS_OK ? status : base_ops.put(chan, path, remote, offset_bytes, &old, NULL, sizeof old);
}

static isthmus_status wide_add(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                               uint64_t offset_bytes, uint64_t operand, uint64_t compare, void *fetched)
{
    uint64_t word = offset_bytes / 8 * 8, shift = 8 * (offset_bytes % 8), old = 0;
    (void)compare;
    isthmus_status status = base_ops.get(chan, path, remote, word, &old, NULL, sizeof old);
    uint64_t sum = (old >> shift) + operand;
    uint8_t narrow = (uint8_t)(old >> shift);
    if (fetched != NULL) *(uint8_t *)fetched = narrow;
    old = (old & ~((uint64_t)0xff << shift)) | (sum & 0xff) << shift;
    sched_yield();
    return status != ISTHMUS_OK ? status : base_ops.put(chan, path, remote, word, &old, NULL, sizeof old);
}

static isthmus_status add_that_stays(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                     uint64_t offset_bytes, uint64_t operand, uint64_t compare, void *fetched)
{
    enum { LEFT_AT = 20 };
    static int n_calls;
    if (planted_services->my_pe == 1 && ++n_calls == LEFT_AT) __atomic_store_n(&still, path, __ATOMIC_RELEASE);
    while (__atomic_load_n(&still, __ATOMIC_ACQUIRE) == path) pause();
    return base_ops.amo_entry(chan, ISTHMUS_AMO_ADD, ISTHMUS_BITS8, fetched != NULL ? ISTHMUS_AMO_FETCHING : 0)(
        chan, path, remote, offset_bytes, operand, compare, fetched);
}

static isthmus_status late_set(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                               uint64_t offset_bytes, uint64_t operand, uint64_t compare, void *fetched)
{
    (void)compare, (void)fetched;
    let_go();
    hold(chan, path, remote, offset_bytes, &operand, sizeof operand, true);
    return ISTHMUS_OK;
}

static isthmus_status add_with_room(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                    uint64_t offset_bytes, uint64_t operand, uint64_t compare, void *fetched)
{
    enum { ROOM = 64 };
    static int n_fetches;
    if (++n_fetches % ROOM == 0) planted_wait_for_progress();
    return base_ops.amo_entry(chan, ISTHMUS_AMO_ADD, ISTHMUS_BITS64,
                              ISTHMUS_AMO_FETCHING)(chan, path, remote, offset_bytes, operand, compare, fetched);
}

static isthmus_amo_fn amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags)
{
    if (planted_has("no_agent")) return NULL;
    if (planted_has("hands_out_all") && op >= ISTHMUS_AMO_COUNT) return torn_add;
    if (planted_has("torn_add") && op == ISTHMUS_AMO_ADD && bits == ISTHMUS_BITS64) return torn_add;
    if (planted_has("wide_add") && op == ISTHMUS_AMO_ADD && bits == ISTHMUS_BITS8) return wide_add;
    if (planted_has("request_left") && op == ISTHMUS_AMO_ADD && bits == ISTHMUS_BITS8) return add_that_stays;
    if (planted_has("late_sets") && op == ISTHMUS_AMO_SET && bits == ISTHMUS_BITS64 && flags == 0) return late_set;
    if (planted_has("nbi_fetches_wait") && op == ISTHMUS_AMO_ADD && bits == ISTHMUS_BITS64 &&
        (flags & ISTHMUS_AMO_NBI) != 0)
        return add_with_room;
    if (planted_has("swaps_always") && op == ISTHMUS_AMO_COMPARE_SWAP) op = ISTHMUS_AMO_SWAP;
    return base_ops.amo_entry(chan, op, bits, flags);
}

/* ---- channels ---- */

static bool changes_data(void)
{
    static const char *const bugs[] = {"cuts_17",
                                       "writes_beside",
                                       "cuts_pages",
                                       "cuts_large",
                                       "reads_late",
                                       "reads_large_late",
                                       "odd_code",
                                       "drops_registered",
                                       "one_buffer",
                                       "progress_cuts",
                                       "arm_forgets",
                                       "waits_for_the_dead",
                                       "refused_as_lost",
                                       "beyond",
                                       "awaits_the_dead",
                                       "locks_source",
                                       "nbi_waits_after_fence",
                                       "request_left"};
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++)
        if (planted_has(bugs[i])) return true;
    return holds();
}

isthmus_status planted_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                    struct isthmus_data_ops *ops)
{
    static int n_channels;
    if (planted_has("few_channels") && ++n_channels > MOST_CHANNELS)
        return planted_services->fail(planted_services->core, ISTHMUS_ERR_NO_MEMORY, "no room for another channel");
    isthmus_status status = planted_base->channel_open(tr, thread_mode, ctx_options, out, ops);
    if (status != ISTHMUS_OK || ops->struct_size < sizeof base_ops) return status;
    base_ops = *ops;
    if (base_ops.local_complete == NULL) base_ops.local_complete = local_complete;
    planted_more_slots(ops);
    planted_signal_slots(ops);
    planted_commit_slots(out, ops);
    planted_order_slots(out, ops);
    planted_held_slots(ops);
    planted_small_slots(ops);
    planted_extents_slots(ops);
    if (ops->put != base_ops.put || ops->get != base_ops.get || ops->amo_entry != base_ops.amo_entry) return ISTHMUS_OK;
    ops->amo_entry = amo_entry;
    if (planted_has("no_put")) ops->put = NULL;
    if (!changes_data()) return ISTHMUS_OK;
    ops->put = put;
    ops->put_nbi = put_nbi;
    ops->get = get;
    ops->get_nbi = get;
    ops->fence = fence;
    ops->local_complete = local_complete;
    ops->remote_commit = remote_commit;
    if (planted_has("notify_leaks") || planted_has("awaits_the_dead")) ops->notify = notify;
    return ISTHMUS_OK;
}
