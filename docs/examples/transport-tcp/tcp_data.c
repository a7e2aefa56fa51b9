/* tcp_data.c: puts, gets, atomics and order. A channel has nothing of its own: a path has one stream, and a lock around
 * each request with its reply, so that any number of channels and threads may use it. Absent, and why: put_nbi and
 * get_nbi, since the blocking forms serve; local_complete, since every operation is complete at the source on return:
 * the system has copied the data to send; poll, since nothing of a channel goes on between its calls. */
#include "tcp.h"

#include <isthmus/amo_cpu.h>
#include <isthmus/copy_cpu.h>

#include <sched.h>
#include <string.h>

static isthmus_status put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const void *source, const isthmus_lmem *source_mem, size_t length_bytes)
{
    (void)chan, (void)source_mem;
    const struct tcp_request request = {
        .kind = TCP_PUT, .extent = remote->extent, .offset_bytes = offset_bytes, .length_bytes = length_bytes};
    if (path->fd >= 0) return tcp_tell(path, &request, source, length_bytes);
    isthmus_copy_cpu(remote->addr + offset_bytes, source, length_bytes);
    return ISTHMUS_OK;
}

static isthmus_status get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          void *dest, const isthmus_lmem *dest_mem, size_t length_bytes)
{
    (void)chan, (void)dest_mem;
    const struct tcp_request request = {
        .kind = TCP_GET, .extent = remote->extent, .offset_bytes = offset_bytes, .length_bytes = length_bytes};
    struct tcp_reply reply;
    if (path->fd < 0) {
        isthmus_copy_cpu(dest, remote->addr + offset_bytes, length_bytes);
        return ISTHMUS_OK;
    }
    isthmus_status status = tcp_ask(path, &request, &reply, dest, length_bytes);
    return status == ISTHMUS_OK && reply.is_refused ? tcp_refused(path) : status;
}

/* ---- atomics: by the processor of the PE that owns the memory, as all atomics of the domain CPU ---- */

static inline isthmus_status amo(isthmus_path *path, const isthmus_rmem *remote, const struct tcp_request *what,
                                 void *fetched)
{
    size_t size = (size_t)1 << what->bits;
    struct tcp_request request = *what;
    struct tcp_reply reply;
    request.kind = fetched != NULL ? TCP_FETCHING_AMO : TCP_AMO;
    request.extent = remote->extent;
    if (path->fd < 0) {
        reply.value = isthmus_amo_cpu(what->op, remote->addr + what->offset_bytes, what->operand, what->compare, size);
    } else {
        isthmus_status status = fetched != NULL ? tcp_ask(path, &request, &reply, NULL, 0)
                                                : tcp_tell(path, &request, NULL, 0);
        if (status != ISTHMUS_OK) return status;
        if (fetched != NULL && reply.is_refused) return tcp_refused(path);
    }
    if (fetched != NULL) memcpy(fetched, &reply.value, size); /* little endian: the low bytes */
    return ISTHMUS_OK;
}

/* One function for each operation and width, because the core fetches the functions once and passes neither to them. */
#define AMO_FUNCTION(op_, bits_)                                                                                   \
    static isthmus_status amo_##op_##_##bits_(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,  \
                                              uint64_t offset_bytes, uint64_t operand, uint64_t compare, void *to) \
    {                                                                                                              \
        (void)chan;                                                                                                \
        const struct tcp_request what = {.op = ISTHMUS_AMO_##op_,                                                  \
                                         .bits = ISTHMUS_##bits_,                                                  \
                                         .offset_bytes = offset_bytes,                                             \
                                         .operand = operand,                                                       \
                                         .compare = compare};                                                      \
        return amo(path, remote, &what, to);                                                                       \
    }
#define FOR_WIDTHS(MACRO, op) MACRO(op, BITS8) MACRO(op, BITS16) MACRO(op, BITS32) MACRO(op, BITS64)
#define FOR_OPERATIONS(MACRO)       \
    FOR_WIDTHS(MACRO, FETCH)        \
    FOR_WIDTHS(MACRO, SET)          \
    FOR_WIDTHS(MACRO, SWAP)         \
    FOR_WIDTHS(MACRO, COMPARE_SWAP) \
    FOR_WIDTHS(MACRO, ADD) FOR_WIDTHS(MACRO, AND) FOR_WIDTHS(MACRO, OR) FOR_WIDTHS(MACRO, XOR)
#define AMO_ENTRY(op_, bits_) [ISTHMUS_AMO_##op_][ISTHMUS_##bits_] = amo_##op_##_##bits_,

FOR_OPERATIONS(AMO_FUNCTION)
static const isthmus_amo_fn amo_table[ISTHMUS_AMO_COUNT][ISTHMUS_BITS_COUNT] = {FOR_OPERATIONS(AMO_ENTRY)};

static isthmus_amo_fn amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags)
{
    (void)chan, (void)flags; /* all are complete at the source on return, fetching or not */
    return op < ISTHMUS_AMO_COUNT && bits < ISTHMUS_BITS_COUNT ? amo_table[op][bits] : NULL;
}

/* ---- a put with a signal: the stream keeps the order, so one call of the system sends both requests ---- */

/* Returns true if other slots do as well: for the own PE, and for flags and operations of later versions. */
static bool is_declined(const isthmus_path *path, const struct isthmus_put_signal *what)
{
    bool is_known = what->op == ISTHMUS_AMO_SET || what->op == ISTHMUS_AMO_ADD;
    return path->fd < 0 || !is_known || (what->flags & ~(uint32_t)ISTHMUS_PUT_SIGNAL_NBI) != 0;
}

static isthmus_status put_signal(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    (void)chan;
    const struct tcp_request data = {.kind = TCP_PUT,
                                     .extent = what->remote->extent,
                                     .offset_bytes = what->remote_offset_bytes,
                                     .length_bytes = what->length_bytes};
    const struct tcp_request update = {.kind = TCP_AMO,
                                       .op = (uint16_t)what->op,
                                       .bits = ISTHMUS_BITS64,
                                       .extent = what->signal->extent,
                                       .offset_bytes = what->signal_offset_bytes,
                                       .operand = what->value};
    if (is_declined(path, what)) return ISTHMUS_ERR_UNSUPPORTED;
    return tcp_tell_both(path, &data, what->source, what->length_bytes, &update);
}

/* ---- order ---- */

/* To the own PE these are plain stores; to others the stream keeps the order. */
static isthmus_status fence(isthmus_chan *chan, isthmus_path *path)
{
    (void)chan, (void)path;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return ISTHMUS_OK;
}

/* Never waits. Commits that other contexts have begun before are part of this one. */
static isthmus_status commit_start(isthmus_chan *chan, isthmus_path *path, uint64_t *ticket)
{
    isthmus_tr *tr = chan->tr;
    isthmus_status status = ISTHMUS_OK;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    pthread_mutex_lock(&tr->paths_lock);
    uint64_t number = ++tr->newest_ticket;
    if (path != NULL) status = tcp_commit_begin(path, number);
    for (isthmus_path *each = path == NULL ? tr->paths : NULL; each != NULL && status == ISTHMUS_OK; each = each->next)
        status = tcp_commit_begin(each, number);
    pthread_mutex_unlock(&tr->paths_lock);
    if (status == ISTHMUS_OK) *ticket = number;
    return status;
}

/* Returns the status of the first path whose commit is not complete, or OK, and that path. */
static isthmus_status test_all(isthmus_tr *tr, uint64_t ticket, isthmus_path **first)
{
    isthmus_status status = ISTHMUS_OK;
    pthread_mutex_lock(&tr->paths_lock);
    for (*first = tr->paths; *first != NULL; *first = (*first)->next)
        if ((status = tcp_commit_test(*first, ticket)) != ISTHMUS_OK) break;
    pthread_mutex_unlock(&tr->paths_lock);
    return status;
}

static isthmus_status commit_test(isthmus_chan *chan, uint64_t ticket)
{
    isthmus_path *first;
    return test_all(chan->tr, ticket, &first);
}

/* All peers get their request before the first reply is waited for. */
static isthmus_status remote_commit(isthmus_chan *chan, isthmus_path *path)
{
    isthmus_status status;
    uint64_t ticket = 0;
    if (path != NULL) {
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        return tcp_commit(path);
    }
    while ((status = commit_start(chan, NULL, &ticket)) == ISTHMUS_ERR_AGAIN) sched_yield();
    if (status != ISTHMUS_OK) return status;
    while ((status = test_all(chan->tr, ticket, &path)) == ISTHMUS_ERR_AGAIN) {
        status = tcp_commit(path);
        if (status != ISTHMUS_OK) return status;
    }
    return status;
}

/* ---- channels ---- */

isthmus_status tcp_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                struct isthmus_data_ops *ops)
{
    (void)thread_mode, (void)ctx_options; /* one form serves all; progress() serves peers only, so PROXY has that too */
    const struct isthmus_data_ops all = {
        .put = put,
        .get = get,
        .amo_entry = amo_entry,
        .fence = fence,
        .remote_commit = remote_commit,
        .put_signal = put_signal,
        .commit_start = commit_start,
        .commit_test = commit_test,
    };
    isthmus_write_out(ops, &all, sizeof all);
    *out = &tr->channel;
    return ISTHMUS_OK;
}

void tcp_channel_close(isthmus_chan *chan) { (void)chan; }
