/* tests/contract/planted.c: see planted.h. Bugs of life, peers and memory; planted.def lists them all. */
#include "planted.h"

#include <isthmus/amo_cpu.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern ISTHMUS_PLUGIN_EXPORT struct isthmus_transport isthmus_transport_v1;
struct isthmus_transport isthmus_transport_v1;

const struct isthmus_transport *planted_base;
const struct isthmus_services *planted_services;
static const char *the_bug;

bool planted_has(const char *bug) { return the_bug != NULL && strcmp(the_bug, bug) == 0; }

/* ---- life ---- */

static isthmus_status probe(const struct isthmus_services *services)
{
    (void)services;
    if (planted_has("probe_opens")) (void)!dup(STDIN_FILENO);
    return ISTHMUS_OK;
}

static isthmus_status drop_text(void *core, isthmus_status code, const char *fmt, ...)
{
    (void)core, (void)fmt;
    return code;
}

/* Steps by the size of an entry that this plugin was built with. */
static isthmus_status find_own_place(const struct isthmus_services *s)
{
    const struct isthmus_local_place *list;
    uint32_t n;
    isthmus_status status = s->local_places(s->core, &list, &n);
    for (uint32_t i = 0; status == ISTHMUS_OK && i < n; i++)
        if (list[i].pe == s->my_pe) return ISTHMUS_OK;
    return status != ISTHMUS_OK ? status : s->fail(s->core, ISTHMUS_ERR_IO, "the own PE is not in the list of places");
}

static isthmus_status misbehave_in_open(const struct isthmus_services *services)
{
    static const int *const nowhere = NULL;
    if (planted_has("prints")) fputs("hello from the plugin\n", stderr);
    if (planted_has("exits")) exit(3);
    if (planted_has("hangs")) pause();
    if (planted_has("crashes")) raise(SIGSEGV + (nowhere != NULL));
    if (planted_has("calls_newer")) (void)services->nearest_name(services->core, "a", NULL, 0);
    if (planted_has("steps_short")) return find_own_place(services);
    if (planted_has("sets_umask")) umask(0777);
    if (planted_has("takes_signal")) signal(SIGUSR2, SIG_IGN);
    return services != NULL ? ISTHMUS_OK : ISTHMUS_ERR_INVALID;
}

static isthmus_status open_it(const struct isthmus_services *services, isthmus_tr **out)
{
    static struct isthmus_services silent;
    isthmus_status status = misbehave_in_open(services);
    if (status != ISTHMUS_OK) return status;
    silent = *services;
    silent.fail = drop_text;
    planted_services = services;
    return planted_base->open(planted_has("silent") ? &silent : services, out);
}

static void *sleep_for_ever(void *nothing)
{
    for (;;) pause();
    return nothing;
}

enum { FORGOTTEN_BYTES = 5000 };

static void close_it(isthmus_tr *tr)
{
    static void *forgotten;
    pthread_t thread;
    if (planted_has("close_leaks_memory")) forgotten = malloc(FORGOTTEN_BYTES);
    if (planted_has("close_leaks_thread")) (void)pthread_create(&thread, NULL, sleep_for_ever, NULL);
    if (forgotten != NULL) memset(forgotten, 1, FORGOTTEN_BYTES);
    planted_base->close(tr);
}

static isthmus_status describe(isthmus_tr *tr, struct isthmus_traits *out)
{
    struct isthmus_traits whole = {.struct_size = sizeof whole};
    isthmus_status status = planted_base->describe(tr, out);
    if (planted_has("key_zero")) out->key_max_bytes = 0;
    if (planted_has("fills_room")) memset((char *)out + sizeof *out, 0, out->struct_size - sizeof *out);
    if (planted_has("one_path_in_hand")) out->traits |= ISTHMUS_TRAIT_PATHS_AT_ONCE;
    if (planted_has("ignores_room") && planted_base->describe(tr, &whole) == ISTHMUS_OK) *out = whole;
    return status;
}

static isthmus_status counters(isthmus_tr *tr, uint64_t *values, const char *const **names, size_t *n)
{
    size_t room = 64;
    if (!planted_has("counts_without_room")) return planted_base->counters(tr, values, names, n);
    isthmus_status status = planted_base->counters(tr, values, names, &room);
    *n = room;
    return status;
}

static isthmus_status flush_in_one_thread(isthmus_tr *tr)
{
    static uint32_t n_threads;
    static _Thread_local bool is_known;
    (void)tr;
    if (!is_known && __atomic_add_fetch(&n_threads, 1, __ATOMIC_RELAXED) > 1)
        return planted_services->fail(planted_services->core, ISTHMUS_ERR_IO, "another thread has the device");
    is_known = true;
    return ISTHMUS_OK;
}

static isthmus_status amos_from_the_end(isthmus_tr *tr, const struct isthmus_memory_amo *list, uint32_t n)
{
    (void)tr;
    for (uint32_t i = n; i-- > 0;)
        (void)isthmus_amo_cpu(list[i].op, list[i].addr, list[i].operand, list[i].compare, (size_t)1 << list[i].bits);
    return ISTHMUS_OK;
}

static const void *extension(isthmus_tr *tr, const char *name)
{
    static const struct isthmus_memory lists = {.struct_size = sizeof lists, .amo_list = amos_from_the_end};
    static const struct isthmus_memory memory = {.struct_size = sizeof memory, .flush_writes = flush_in_one_thread};
    (void)tr;
    if (planted_has("flushes_in_one_thread") && strcmp(name, "memory.1") == 0) return &memory;
    if (planted_has("list_backwards") && strcmp(name, "memory.1") == 0) return &lists;
    const void *of_kernels = planted_kernels_extension(name);
    if (of_kernels != NULL) return of_kernels;
    const void *of_collectives = planted_collectives_extension(name);
    if (of_collectives != NULL) return of_collectives;
    if (planted_has("any_extension")) return name;
    return planted_growing_extension(name);
}

/* ---- peers ---- */

static isthmus_status card(isthmus_tr *tr, void *buf, size_t *length_bytes)
{
    size_t room = 4096;
    if (!planted_has("card_without_room")) return planted_base->card(tr, buf, length_bytes);
    isthmus_status status = planted_base->card(tr, buf, &room);
    *length_bytes = room;
    return status;
}

enum { PEERS = 16 };
static struct isthmus_peer known[PEERS];

static isthmus_status reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    static uint32_t calls;
    struct isthmus_peer here = *peer;
    if (planted_has("reaches_all")) here.host = planted_services->host;
    if (planted_has("reach_opens")) (void)!dup(STDIN_FILENO);
    if (planted_has("capital_text") && memcmp(peer->host, planted_services->host, sizeof *peer->host) != 0)
        return planted_services->fail(planted_services->core, ISTHMUS_ERR_UNREACHABLE, "Not on this host.");
    isthmus_status status = planted_base->reach(tr, &here, out);
    if (status != ISTHMUS_OK) return status;
    known[peer->pe % PEERS] = *peer;
    if (planted_has("reach_varies")) out->latency_ns = ++calls;
    if (planted_has("no_agent")) out->atomics_domain = ISTHMUS_DOMAIN_NONE;
    if (planted_has("agent_elsewhere") && peer->pe != planted_services->my_pe) out->atomics_domain = ISTHMUS_DOMAIN_NIC;
    if (planted_has("reach_one_sided")) out->latency_ns = 1 + (uint32_t)planted_services->my_pe;
    bool wakes = planted_has("says_it_wakes") || planted_has("wakes_uncounted");
    if (wakes && peer->pe != planted_services->my_pe) out->caps |= ISTHMUS_CAP_WAKES;
    return ISTHMUS_OK;
}

/* Each caller stores its peer in one variable, and opens the stored one when all have stored. */
static const struct isthmus_peer *take_in_hand(const struct isthmus_peer *peer)
{
    static const struct isthmus_peer *in_hand;
    static int n_callers;
    __atomic_store_n(&in_hand, peer, __ATOMIC_RELEASE);
    __atomic_add_fetch(&n_callers, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&n_callers, __ATOMIC_ACQUIRE) < planted_services->n_pes) sched_yield();
    return __atomic_load_n(&in_hand, __ATOMIC_ACQUIRE);
}

static isthmus_status path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out)
{
    isthmus_path *other = NULL;
    for (int pe = 0; planted_has("paths_to_all") && pe < planted_services->n_pes; pe++) {
        isthmus_status status = planted_base->path_open(tr, &known[pe], &other);
        if (status != ISTHMUS_OK) return status;
        planted_base->path_close(other);
    }
    if (planted_has("one_path_in_hand")) peer = take_in_hand(peer);
    isthmus_status status = planted_base->path_open(tr, peer, out);
    if (status != ISTHMUS_OK && planted_has("path_of_dreams")) {
        *out = (isthmus_path *)(void *)known;
        return ISTHMUS_OK;
    }
    return status;
}

static void path_close(isthmus_path *path)
{
    if (planted_has("path_leaks") && path != NULL) (void)!dup(STDIN_FILENO);
    planted_base->path_close(path);
}

/* ---- memory ---- */

static isthmus_status expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                             isthmus_lmem **out)
{
    struct isthmus_mem changed = *mem;
    size_t room = 256;
    if (planted_has("takes_any_kind")) {
        changed.kind = ISTHMUS_MEM_HOST;
        changed.device = -1;
    }
    if (planted_has("forgets_offset")) changed.fd_offset_bytes = 0;
    isthmus_status status = planted_base->expose(tr, &changed, key, planted_has("key_without_room") ? &room : key_bytes,
                                                 out);
    if (planted_has("key_without_room")) *key_bytes = room;
    if (status == ISTHMUS_OK) planted_exposed(mem, key, key_bytes);
    return status;
}

static struct {
    int n;
    isthmus_path *path;
    uint8_t key[ISTHMUS_KEY_MAX_BYTES];
    size_t key_bytes;
    isthmus_rmem *rmem;
    void *alias;
} first[PEERS];

/* The first extent attached through a path; NULL: none so far. */
static int first_of(isthmus_path *path)
{
    int i = 0;
    while (i < PEERS - 1 && first[i].path != NULL && first[i].path != path) i++;
    return i;
}

static isthmus_status attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias)
{
    int i = first_of(path);
    if (first[i].path != NULL && planted_has("attach_at_start"))
        return planted_services->fail(planted_services->core, ISTHMUS_ERR_NO_MEMORY, "no room for a second extent");
    if (first[i].path != NULL && planted_has("attach_first")) {
        key = first[i].key;
        key_bytes = first[i].key_bytes;
    }
    if (first[i].path != NULL && planted_has("attach_shares")) {
        *out = first[i].rmem;
        *alias = first[i].alias;
        return ISTHMUS_OK;
    }
    isthmus_status status = planted_base->attach(path, key, key_bytes, out, alias);
    if (status == ISTHMUS_OK) planted_attached(*out, key, key_bytes);
    if (status != ISTHMUS_OK || key_bytes > sizeof first[i].key) return status;
    if (first[i].path == NULL) {
        first[i].path = path;
        memcpy(first[i].key, key, key_bytes);
        first[i].key_bytes = key_bytes;
        first[i].rmem = *out;
        first[i].alias = *alias;
    }
    if (planted_has("no_alias")) *alias = NULL;
    if (planted_has("alias_elsewhere"))
        *alias = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return ISTHMUS_OK;
}

static void detach(isthmus_rmem *rmem)
{
    if (planted_has("detach_null") && *(const char *)(const void *)rmem == 'x') return;
    if (planted_has("detach_leaks")) (void)mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    planted_detached(rmem);
    planted_base->detach(rmem);
}

/* ---- progress ---- */

static int32_t progress(isthmus_tr *tr)
{
    static pthread_t first; /* the thread that has called this */
    static bool is_called;
    if (planted_has("progress_of_one_thread") && is_called && !pthread_equal(first, pthread_self())) pause();
    first = pthread_self();
    is_called = true;
    planted_data_progress();
    int32_t events = planted_base->progress(tr);
    if (planted_has("odd_progress")) return -EBUSY;
    return planted_has("always_busy") ? 1 : events;
}

static isthmus_status arm(isthmus_tr *tr, int32_t *event_fd)
{
    static int readable = -1; /* as long as the process: a core may hold it past close() */
    if (planted_has("always_readable") || planted_has("wakes_uncounted")) {
        if (readable < 0) readable = eventfd(1, EFD_CLOEXEC);
        *event_fd = readable;
        return ISTHMUS_OK;
    }
    if (!planted_has("never_wakes")) return planted_base->arm(tr, event_fd);
    *event_fd = -1;
    return ISTHMUS_OK;
}

__attribute__((constructor)) static void make_table(void)
{
    struct isthmus_transport *t = &isthmus_transport_v1;
    const char *base = getenv("PLANTED_BASE"); /* the plugin that is changed; loopback unless set */
    void *library = dlopen(base != NULL ? base : BASE_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    planted_base = library != NULL ? dlsym(library, "isthmus_transport_v1") : NULL;
    if (planted_base == NULL) abort();
    the_bug = getenv("PLANTED_BUG");
    *t = *planted_base;
    t->name = "planted";
    t->version = planted_has("no_version") ? NULL : "1";
    t->probe = probe;
    t->open = open_it;
    t->close = close_it;
    t->describe = describe;
    t->card = card;
    t->reach = planted_has("no_reach") ? NULL : reach;
    t->path_open = path_open;
    t->path_close = path_close;
    t->expose = expose;
    t->attach = attach;
    t->detach = detach;
    t->channel_open = planted_channel_open;
    t->progress = progress;
    t->arm = arm;
    t->counters = counters;
    t->extension = extension;
    t->mem_free = planted_mem_free;
}
