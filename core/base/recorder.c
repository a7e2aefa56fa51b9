/* core/base/recorder.c: see recorder.h: the part's file, what threads count in it, and their calls. */
#include "core/base/recorder.h"

#include "core/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    COUNTERS_MOST = 1 << 17, /* records besides events: 8 MiB of addresses */
    STEP_LEAST = 1 << 8,     /* records by which the file grows, twice as much each time: a job of 10,000 PEs */
    STEP_MOST = 1 << 14,     /* has as many files */
    TABLE_AT_FIRST = 64,     /* entries; a power of two */
    NAMES_MOST = 1 << 13     /* routines of all faces are fewer */
};

bool ist_profile_on;

/* ---- the file ---- */

static struct {
    struct ist_profile_record *records; /* the file, mapped; NULL: none */
    int fd;
    size_t n_most, n_backed; /* how many fit; how many have blocks of the file system */
    size_t n_taken;
    uint64_t n_events_most, n_events, n_unkept;
    uint64_t start_ns;
    char file[4096];
    pthread_mutex_t grow_lock; /* of n_backed */
    pthread_mutex_t lock;      /* of the names, the list of threads and the level */
    const char *names[NAMES_MOST];
    unsigned n_names;
    struct ist_profile_thread *threads; /* kept for the next init */
    uint32_t n_threads;
    pthread_key_t key;
    bool has_key;
    bool has_started; /* otherwise the part is of a start that failed */
    bool is_running;  /* between init and finalize */
    bool is_paused;   /* level 0 */
    uint64_t paused_at_ns, paused_ns;
} part = {.fd = -1, .grow_lock = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

static size_t step_from(size_t n_backed)
{
    size_t left = part.n_most - n_backed, step = n_backed;
    if (step < STEP_LEAST) step = STEP_LEAST;
    if (step > STEP_MOST) step = STEP_MOST;
    return step < left ? step : left;
}

/* Blocks first: a store to a file without room would end the process with SIGBUS. Returns an errno, or 0. */
static int back(size_t n)
{
    int error = 0;
    pthread_mutex_lock(&part.grow_lock);
    while (error == 0 && part.n_backed < n) {
        size_t step = step_from(part.n_backed);
        do
            error = posix_fallocate(part.fd, (off_t)(part.n_backed * sizeof *part.records),
                                    (off_t)(step * sizeof *part.records));
        while (error == EINTR);
        if (error == 0) ist_store_release(&part.n_backed, part.n_backed + step);
    }
    pthread_mutex_unlock(&part.grow_lock);
    return error;
}

/* Returns a record that is all zero, or NULL if there is no room. */
static struct ist_profile_record *take(void)
{
    size_t i = __atomic_fetch_add(&part.n_taken, 1, __ATOMIC_RELAXED);
    bool has_room = i < part.n_most && (i < ist_load_acquire(&part.n_backed) || back(i + 1) == 0);
    return has_room ? &part.records[i] : NULL;
}

static void publish(struct ist_profile_record *record, enum ist_profile_kind kind)
{
    ist_store_release(&record->kind, (uint8_t)kind); /* for a reader of the file of a PE that has ended */
}

isthmus_status ist_profile_open(const struct ist_profile_settings *settings)
{
    part.n_events_most = settings->n_events_most;
    part.n_most = COUNTERS_MOST + settings->n_events_most;
    size_t bytes = part.n_most * sizeof *part.records;
    if (snprintf(part.file, sizeof part.file, "%s", settings->file) >= (int)sizeof part.file)
        return ist_fail(ISTHMUS_ERR_IO, "%s", strerror(ENAMETOOLONG));
    (void)unlink(part.file); /* of an earlier job, which may have been another user's */
    part.fd = open(part.file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (part.fd < 0) return ist_fail(ISTHMUS_ERR_IO, "%s", strerror(errno));
    void *records = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, part.fd, 0);
    if (records == MAP_FAILED) return ist_fail(ISTHMUS_ERR_IO, "%s", strerror(errno));
    part.records = records;
    int error = back(1);
    if (error != 0) return ist_fail(ISTHMUS_ERR_IO, "%s", strerror(error));
    struct ist_profile_record *head = take();
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    part.start_ns = ist_clock_ns();
    head->pe = settings->pe;
    head->head = (struct ist_profile_head){.realtime_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                                           .n_pes = settings->n_pes,
                                           .layout = IST_PROFILE_LAYOUT,
                                           .is_trace = settings->n_events_most > 0,
                                           .job = settings->job};
    publish(head, IST_PROFILE_HEAD);
    return ISTHMUS_OK;
}

void ist_profile_note(enum ist_profile_kind kind, unsigned index, const char *text)
{
    struct ist_profile_record *record = take();
    if (record == NULL) return;
    record->index = (uint16_t)index;
    snprintf(record->text, sizeof record->text, "%s", text);
    publish(record, kind);
}

/* ---- what a thread counts ---- */

/* Its records, by routine and by peer: an open hash table. */
struct entry {
    uint64_t key; /* 0: free */
    struct ist_profile_record *record;
};

struct ist_profile_thread {
    struct ist_profile_thread *next;
    bool is_free; /* its thread has ended: the next new one continues it */
    uint32_t number;
    struct entry *table;
    size_t n_entries, n_used;
    struct ist_profile_record spare; /* stands for a record that there is no room for */

    unsigned depth, wait_depth; /* calls inside one another */
    struct ist_profile_record *call;
    uint64_t begin_ns, wait_begin_ns, waited_ns, bytes;
    int32_t peer;
    uint64_t link; /* key of the call's last transfer; valid with a peer */
};

static _Thread_local struct ist_profile_thread *mine __attribute__((tls_model("initial-exec")));

static void thread_ended(void *thread) { ist_store_release(&((struct ist_profile_thread *)thread)->is_free, true); }

/* With the lock. */
static struct ist_profile_thread *find_free(void)
{
    for (struct ist_profile_thread *t = part.threads; t != NULL; t = t->next) {
        if (!ist_load_acquire(&t->is_free)) continue;
        t->is_free = false;
        t->depth = t->wait_depth = 0; /* the thread may have been cancelled in a call */
        return t;
    }
    return NULL;
}

static struct ist_profile_thread *new_thread(void)
{
    struct ist_profile_thread *thread = calloc(1, sizeof *thread);
    struct entry *table = calloc(TABLE_AT_FIRST, sizeof *table);
    if (thread == NULL || table == NULL) {
        free(thread);
        free(table);
        return NULL;
    }
    *thread = (struct ist_profile_thread){
        .next = part.threads, .table = table, .n_entries = TABLE_AT_FIRST, .number = part.n_threads++};
    part.threads = thread;
    return thread;
}

/* Returns NULL if there is no memory: the thread's calls are not recorded then. */
static IST_COLD struct ist_profile_thread *join(void)
{
    pthread_mutex_lock(&part.lock);
    mine = find_free();
    if (mine == NULL) mine = new_thread();
    pthread_mutex_unlock(&part.lock);
    if (mine != NULL) (void)pthread_setspecific(part.key, mine);
    return mine;
}

static struct ist_profile_thread *my_thread(void) { return IST_LIKELY(mine != NULL) ? mine : join(); }

static size_t place_of(const struct entry *table, size_t n_entries, uint64_t key)
{
    size_t i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (n_entries - 1);
    while (table[i].key != 0 && table[i].key != key) i = (i + 1) & (n_entries - 1);
    return i;
}

/* Half of the entries stay free, so that searches end. */
static bool make_room(struct ist_profile_thread *t)
{
    if (t->n_used < t->n_entries / 2) return true;
    size_t n = 2 * t->n_entries;
    struct entry *table = calloc(n, sizeof *table);
    if (table == NULL) return false;
    for (size_t i = 0; i < t->n_entries; i++)
        if (t->table[i].key != 0) table[place_of(table, n, t->table[i].key)] = t->table[i];
    free(t->table);
    t->table = table;
    t->n_entries = n;
    return true;
}

/* Returns this thread's record for the key; *is_new: it is not filled yet. */
static struct ist_profile_record *record_of(struct ist_profile_thread *t, uint64_t key, bool *is_new)
{
    size_t i = place_of(t->table, t->n_entries, key);
    *is_new = false;
    if (IST_LIKELY(t->table[i].key == key)) return t->table[i].record;
    struct ist_profile_record *record = make_room(t) ? take() : NULL;
    if (record == NULL) {
        __atomic_fetch_add(&part.n_unkept, 1, __ATOMIC_RELAXED);
        return &t->spare;
    }
    t->table[place_of(t->table, t->n_entries, key)] = (struct entry){key, record};
    t->n_used++;
    *is_new = true;
    return record;
}

/* ---- routines ---- */

/* Returns the number of a name: several places of the library, and several threads, have the name of one routine. */
static unsigned number_of(const char *routine)
{
    unsigned i = 0;
    pthread_mutex_lock(&part.lock);
    while (i < part.n_names && strcmp(part.names[i], routine) != 0) i++;
    if (i == part.n_names && i < NAMES_MOST) {
        part.names[part.n_names++] = routine;
        ist_profile_note(IST_PROFILE_NAME, i, routine);
    }
    pthread_mutex_unlock(&part.lock);
    return i;
}

static struct ist_profile_record *record_of_routine(struct ist_profile_thread *t, const char *routine)
{
    bool is_new;
    struct ist_profile_record *record = record_of(t, (uint64_t)(uintptr_t)routine, &is_new);
    if (!is_new) return record;
    record->index = (uint16_t)number_of(routine);
    record->pe = (int32_t)t->number;
    publish(record, IST_PROFILE_ROUTINE);
    return record;
}

struct ist_profile_call ist_profile_begin_slow(const char *routine, bool is_wait)
{
    struct ist_profile_thread *t = my_thread();
    if (t == NULL || (t->depth == 0 && routine == NULL)) return (struct ist_profile_call){NULL, false};
    if (t->depth++ == 0) {
        t->call = record_of_routine(t, routine);
        t->waited_ns = t->bytes = 0;
        t->peer = IST_PROFILE_NO_PE;
        t->begin_ns = ist_clock_ns(); /* last, so that the first call's record costs the profile and not the call */
        if (is_wait) t->wait_begin_ns = t->begin_ns;
    } else if (is_wait && t->wait_depth == 0) {
        t->wait_begin_ns = ist_clock_ns();
    }
    t->wait_depth += is_wait;
    return (struct ist_profile_call){t, is_wait};
}

static void add_call(struct ist_profile_calls *calls, const struct ist_profile_thread *t, uint64_t ns)
{
    calls->n++;
    calls->ns += ns;
    calls->bytes += t->bytes;
    calls->waited_ns += t->waited_ns;
    if (ns > calls->longest_ns) calls->longest_ns = ns;
}

/* Of a link: bit 63, which no address of a name has, and its record's fields; of the calls of a link also bit 62. */
static uint64_t key_of_link(int pe, uint32_t transport, bool is_direct)
{
    return UINT64_C(1) << 63 | (uint64_t)is_direct << 48 | (uint64_t)transport << 32 | (uint32_t)pe;
}

static struct ist_profile_record *record_of_link(struct ist_profile_thread *t, uint64_t key, enum ist_profile_kind kind)
{
    bool is_new;
    struct ist_profile_record *record = record_of(t, key, &is_new);
    if (!is_new) return record;
    record->index = (uint16_t)(key >> 32);
    record->is_direct = key >> 48 & 1;
    record->pe = (int32_t)(uint32_t)key;
    publish(record, kind);
    return record;
}

static void record_event(const struct ist_profile_thread *t, uint64_t ns)
{
    if (__atomic_fetch_add(&part.n_events, 1, __ATOMIC_RELAXED) >= part.n_events_most) return;
    struct ist_profile_record *record = take();
    if (record == NULL) {
        __atomic_fetch_add(&part.n_unkept, 1, __ATOMIC_RELAXED);
        return;
    }
    record->index = t->call->index;
    record->pe = t->peer;
    record->event = (struct ist_profile_event){t->begin_ns - part.start_ns, ns, t->waited_ns, t->bytes, t->number};
    publish(record, IST_PROFILE_EVENT);
}

void ist_profile_pass_on_slow(const struct ist_profile_call *call)
{
    struct ist_profile_thread *t = call->thread;
    if (--t->depth == 0 && ist_load_relaxed(&ist_profile_on)) t->call->calls.bytes += t->bytes;
}

void ist_profile_end_slow(const struct ist_profile_call *call)
{
    struct ist_profile_thread *t = call->thread;
    uint64_t now = ist_clock_ns();
    if (call->is_wait && --t->wait_depth == 0) t->waited_ns += now - t->wait_begin_ns;
    if (--t->depth > 0 || !ist_load_relaxed(&ist_profile_on)) return;
    uint64_t ns = now - t->begin_ns;
    add_call(&t->call->calls, t, ns);
    if (t->peer >= 0) add_call(&record_of_link(t, t->link | UINT64_C(1) << 62, IST_PROFILE_LINK_CALLS)->calls, t, ns);
    if (part.n_events_most > 0) record_event(t, ns);
}

/* ---- transfers ---- */

void ist_profile_count_flag(int pe, uint32_t transport)
{
    struct ist_profile_thread *t = my_thread();
    if (t != NULL) record_of_link(t, key_of_link(pe, transport, false), IST_PROFILE_LINK)->traffic.n_flags++;
}

static void add(struct ist_profile_traffic *to, enum ist_profile_move what, size_t length_bytes)
{
    switch (what) {
    case IST_PROFILE_PUT: to->n_puts++, to->put_bytes += length_bytes; break;
    case IST_PROFILE_GET: to->n_gets++, to->got_bytes += length_bytes; break;
    case IST_PROFILE_ATOMIC: to->n_atomics++, to->atomic_bytes += length_bytes; break;
    }
}

void ist_profile_count(const struct ist_profile_moved *moved, size_t length_bytes)
{
    struct ist_profile_thread *t = my_thread();
    if (t == NULL) return;
    uint64_t link = key_of_link(moved->pe, moved->transport, moved->is_direct);
    struct ist_profile_traffic *traffic = &record_of_link(t, link, IST_PROFILE_LINK)->traffic;
    if (moved->is_element && t->depth > 1) {
        traffic->n_flags++;
        return;
    }
    add(traffic, moved->what, length_bytes);
    t->bytes += length_bytes;
    t->link = link;
    t->peer = t->peer == IST_PROFILE_NO_PE || t->peer == moved->pe ? moved->pe : IST_PROFILE_MANY_PES;
}

/* ---- the beginning ---- */

/* Threads of an earlier init have records of an earlier file. */
static void forget_records(void)
{
    for (struct ist_profile_thread *t = part.threads; t != NULL; t = t->next) {
        memset(t->table, 0, t->n_entries * sizeof *t->table);
        t->n_used = 0;
        t->depth = t->wait_depth = 0;
    }
}

void ist_profile_start(void)
{
    if (part.records == NULL) return;
    pthread_mutex_lock(&part.lock); /* a thread of the library that sees the profile on locks too, in join() */
    if (!part.has_key) part.has_key = pthread_key_create(&part.key, thread_ended) == 0;
    forget_records();
    part.has_started = part.is_running = true;
    part.paused_ns = 0;
    part.paused_at_ns = part.start_ns;
    ist_store_relaxed(&ist_profile_on, !part.is_paused);
    pthread_mutex_unlock(&part.lock);
}

/* ---- the level ---- */

static void note_losses(struct ist_profile_head *head)
{
    uint64_t n_events = ist_load_relaxed(&part.n_events), most = part.n_events_most;
    head->n_unkept = ist_load_relaxed(&part.n_unkept);
    head->n_events_left_out = n_events > most && most > 0 ? n_events - most : 0;
}

void ist_profile_set_level(int level)
{
    pthread_mutex_lock(&part.lock);
    bool is_paused = level >= 0 ? level == 0 : part.is_paused;
    if (is_paused && !part.is_paused) part.paused_at_ns = ist_clock_ns();
    if (!is_paused && part.is_paused) part.paused_ns += ist_clock_ns() - part.paused_at_ns;
    part.is_paused = is_paused;
    if (part.is_running) {
        ist_store_relaxed(&ist_profile_on, !is_paused);
        note_losses(&part.records[0].head);
        if (level == 2) (void)msync(part.records, ist_load_acquire(&part.n_backed) * sizeof *part.records, MS_SYNC);
    }
    pthread_mutex_unlock(&part.lock);
}

/* ---- the end ---- */

const struct ist_profile_record *ist_profile_stop(size_t *n)
{
    pthread_mutex_lock(&part.lock);
    ist_store_relaxed(&ist_profile_on, false);
    part.is_running = false;
    uint64_t now = ist_clock_ns(), paused_ns = part.paused_ns + (part.is_paused ? now - part.paused_at_ns : 0);
    pthread_mutex_unlock(&part.lock);
    *n = 0;
    if (part.records == NULL) return NULL;
    size_t taken = ist_load_relaxed(&part.n_taken), backed = ist_load_acquire(&part.n_backed);
    struct ist_profile_head *head = &part.records[0].head;
    note_losses(head);
    head->wall_ns = now - part.start_ns - paused_ns;
    *n = taken < backed ? taken : backed;
    ist_store_release(&head->n_records, *n);
    return part.records;
}

void ist_profile_close(bool is_kept)
{
    ist_store_relaxed(&ist_profile_on, false);
    if (part.records != NULL) munmap(part.records, part.n_most * sizeof *part.records);
    if (part.fd >= 0) {
        close(part.fd);
        if (!is_kept || !part.has_started) (void)unlink(part.file);
    }
    part.records = NULL;
    part.fd = -1;
    part.n_backed = part.n_taken = 0;
    part.n_events = part.n_events_most = part.n_unkept = 0;
    part.n_names = 0;
    part.has_started = part.is_running = false;
}

void ist_profile_forget(void)
{
    ist_store_relaxed(&ist_profile_on, false);
    part.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* a thread of the parent may hold it */
    part.is_running = false;
    part.records = NULL;
    part.fd = -1; /* both stay as they are in the child: the file is the parent's */
}
