/* tests/contract/planted_signal.c: see planted.h. Bugs of put_signal. Loopback lacks that slot: it exists with these
 * only. */
#include "planted.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW_US = 300, SLOW_CALLS = 50 }; /* long enough to be seen */

static struct isthmus_data_ops base_ops;

/* ---- the two halves ---- */

static isthmus_status put_data(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    return base_ops.put(chan, path, what->remote, what->remote_offset_bytes, what->source, what->source_mem,
                        what->length_bytes);
}

static isthmus_status torn_add(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    static int calls;
    uint64_t word = 0;
    isthmus_status status = base_ops.get(chan, path, what->signal, what->signal_offset_bytes, &word, NULL, sizeof word);
    if (++calls <= SLOW_CALLS) usleep(WINDOW_US); /* others are fast: a few of these are enough */
    word += what->value;
    if (status != ISTHMUS_OK) return status;
    return base_ops.put(chan, path, what->signal, what->signal_offset_bytes, &word, NULL, sizeof word);
}

static isthmus_status update(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    uint32_t op = planted_has("signal_sets") ? ISTHMUS_AMO_SET : what->op;
    const isthmus_rmem *signal = planted_has("signal_here") ? what->remote : what->signal;
    if (planted_has("signal_torn")) return torn_add(chan, path, what);
    return base_ops.amo_entry(chan, op, ISTHMUS_BITS64, 0)(chan, path, signal, what->signal_offset_bytes, what->value,
                                                           0, NULL);
}

/* Once in some 10,000 calls: in one process of 31, and there in one call. Numbers of processes follow one another. */
static bool is_rare_call(void)
{
    enum { THE_CALL = 100, ONE_PROCESS_OF = 31 };
    static int calls;
    return ++calls == THE_CALL && getpid() / 2 % ONE_PROCESS_OF == 0;
}

static isthmus_status both(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    bool is_rare = planted_has("signal_rarely_leads") && is_rare_call();
    bool leads = planted_has("signal_leads") || is_rare;
    isthmus_status status = leads ? update(chan, path, what) : put_data(chan, path, what);
    if (leads) usleep(is_rare ? 100 * WINDOW_US : WINDOW_US);
    if (status != ISTHMUS_OK) return status;
    return leads ? put_data(chan, path, what) : update(chan, path, what);
}

/* ---- what is done by another thread, a little later ---- */

static struct {
    isthmus_chan *chan;
    isthmus_path *path;
    struct isthmus_put_signal what;
} late;

static void *do_late(void *has_signal)
{
    usleep(WINDOW_US);
    (void)(has_signal != NULL ? both : put_data)(late.chan, late.path, &late.what);
    return NULL;
}

static isthmus_status start_late(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what,
                                 bool has_signal)
{
    pthread_t thread;
    late.chan = chan;
    late.path = path;
    late.what = *what;
    if (pthread_create(&thread, NULL, do_late, has_signal ? &late : NULL) == 0) pthread_detach(thread);
    return ISTHMUS_OK;
}

/* ---- the slots ---- */

static isthmus_status put_signal(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    bool is_nbi = (what->flags & ISTHMUS_PUT_SIGNAL_NBI) != 0;
    if (planted_has("signal_reads_late") && is_nbi) return start_late(chan, path, what, true);
    return both(chan, path, what);
}

/* A fence does not wait for it. */
static isthmus_status late_put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                               uint64_t offset_bytes, const void *source, const isthmus_lmem *mem, size_t length_bytes)
{
    return start_late(chan, path,
                      &(struct isthmus_put_signal){.remote = remote,
                                                   .remote_offset_bytes = offset_bytes,
                                                   .source = source,
                                                   .source_mem = mem,
                                                   .length_bytes = length_bytes},
                      false);
}

void planted_signal_slots(struct isthmus_data_ops *ops)
{
    static const char *const bugs[] = {"signal_leads",      "signal_sets", "signal_here",
                                       "signal_reads_late", "signal_torn", "signal_rarely_leads"};
    base_ops = *ops;
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++)
        if (planted_has(bugs[i])) ops->put_signal = put_signal;
    if (!planted_has("signal_passes")) return;
    ops->put_signal = put_signal;
    ops->put_nbi = late_put;
}
