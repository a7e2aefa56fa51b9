/* tools/isthmus-check-transport/case_life.c: the table, and a transport's life from open to close. */
#include "cases.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* KEPT_BYTES: bytes that a fabric's library may keep in each life: UCX does not free all that it allocates. */
enum { LIVES = 50, WARM_UP = 5, SMALL_BYTES = 64 << 10, GUARD_BYTES = 128, GUARD = 0xa5, KEPT_BYTES = 2048 };

void ct_case_table(struct ct_process *p)
{
    const struct isthmus_transport *t = &p->plugin.given;
    size_t least = offsetof(struct isthmus_transport, channel_close) + sizeof t->channel_close;
    CT_CHECK(t->struct_size >= least, "struct_size is %u; the required slots alone take %zu", t->struct_size, least);
    size_t length = strspn(t->name, "abcdefghijklmnopqrstuvwxyz0123456789");
    CT_CHECK(length > 0 && length <= 15 && t->name[length] == '\0',
             "the name is '%s'; valid: 1 to 15 lower case letters and digits", t->name);
    CT_CHECK(t->version != NULL && t->version[0] != '\0', "version is %s; valid: a text of one character or more",
             t->version == NULL ? "NULL" : "empty");
    uint64_t known = ISTHMUS_SCOPE_SELF | ISTHMUS_SCOPE_HOST | ISTHMUS_SCOPE_NETWORK | ISTHMUS_SCOPE_DEVICE;
    CT_CHECK((t->scopes & known) != 0, "scopes is %#llx; valid: at least one ISTHMUS_SCOPE_ bit",
             (unsigned long long)t->scopes);
}

void ct_case_probe_is_free(struct ct_process *p)
{
    struct ct_census before = ct_census_take();
    for (int i = 0; i < LIVES; i++) CT_OK(p->t->probe(&p->services));
    ct_census_compare(&before, &(struct ct_slack){2, LIVES * KEPT_BYTES}, "50 probes");
}

static void open_and_close(struct ct_process *p)
{
    isthmus_tr *tr = NULL;
    CT_OK(p->t->open(&p->services, &tr));
    p->t->close(tr);
}

void ct_case_open_close(struct ct_process *p)
{
    for (int i = 0; i < WARM_UP; i++) open_and_close(p);
    struct ct_census before = ct_census_take();
    for (int i = 0; i < LIVES; i++) open_and_close(p);
    ct_census_compare(&before, &(struct ct_slack){2, LIVES * KEPT_BYTES}, "50 times open and close");
}

static void check_same(const struct isthmus_traits *first, const struct isthmus_traits *second)
{
    static const char *const fields[] = {"struct_size",       "kinds_alloc",       "kinds_expose",  "kinds_attach",
                                         "kinds_local",       "card_max_bytes",    "key_max_bytes", "shared_channels",
                                         "traits, bits 0-31", "traits, bits 32-63"};
    enum { N = sizeof fields / sizeof *fields };
    uint32_t a[N], b[N];
    _Static_assert(sizeof a == sizeof *first, "a field of struct isthmus_traits has no name here");
    memcpy(a, first, sizeof a);
    memcpy(b, second, sizeof b);
    for (int i = 0; i < N; i++)
        CT_CHECK(a[i] == b[i], "%s: %#x in one call of describe, %#x in the next", fields[i], a[i], b[i]);
}

void ct_case_traits(struct ct_process *p)
{
    ct_open(p);
    const struct isthmus_traits *traits = &p->traits;
    CT_CHECK(traits->kinds_attach != 0, "kinds_attach is 0; valid: a bit for each kind of memory that attach takes");
    CT_CHECK(traits->key_max_bytes > 0 && traits->key_max_bytes <= CT_KEY_ROOM, "key_max_bytes is %u; valid: 1 to %d",
             traits->key_max_bytes, CT_KEY_ROOM);
    CT_CHECK(traits->shared_channels <= 1, "shared_channels is %u; valid: 0 and 1", traits->shared_channels);
    CT_CHECK(traits->kinds_alloc == 0 || p->plugin.given.mem_alloc != NULL,
             "kinds_alloc is %#x and mem_alloc is NULL; valid: both or neither", traits->kinds_alloc);
    CT_CHECK(traits->card_max_bytes == 0 || p->plugin.given.card != NULL,
             "card_max_bytes is %u and card is NULL; valid without a card: 0", traits->card_max_bytes);
    struct isthmus_traits again = {.struct_size = sizeof again};
    CT_OK(p->t->describe(p->tr, &again));
    check_same(traits, &again);
    ct_close(p);
}

static void live(struct ct_process *p)
{
    struct ct_extent extent;
    struct ct_channel channel;
    uint64_t value = 7, got = 0;
    ct_begin(p, &extent, SMALL_BYTES, &channel);
    int next = (p->pe + 1) % p->n;
    struct ct_target at = {p, &channel, &extent, next};
    ct_put(&at, 64, &value, sizeof value);
    ct_quiet(p, &channel);
    ct_get(&at, 64, &got, sizeof got);
    CT_CHECK(got == value, "%llu was put, %llu came back", (unsigned long long)value, (unsigned long long)got);
    ct_end(p, &extent, &channel);
}

/* ---- sizes of structs ---- */

/* A struct that the caller made, with room around it. `size` is the value of struct_size. */
struct guarded {
    union {
        uint32_t struct_size;
        struct isthmus_traits traits;
        struct isthmus_reach reach;
        struct isthmus_data_ops ops;
        uint8_t bytes[sizeof(struct isthmus_data_ops) + GUARD_BYTES];
    } u;
    size_t size;
};

static void guard(struct guarded *g, size_t size)
{
    memset(&g->u, GUARD, sizeof g->u);
    memset(&g->u, 0, size);
    g->u.struct_size = (uint32_t)size;
    g->size = size;
}

static void check_guard(const struct guarded *g, size_t from, const char *what)
{
    for (size_t i = from; i < sizeof g->u.bytes; i++)
        CT_CHECK(g->u.bytes[i] == GUARD, "%s wrote byte %zu of a struct; valid: the first %zu bytes", what, i, from);
}

/* Calls every slot that fills a caller's struct, with a struct_size larger or smaller by `change`. */
static void fill_structs(struct ct_process *p, ptrdiff_t change)
{
    struct guarded g;
    size_t room = (size_t)((ptrdiff_t)sizeof(struct isthmus_traits) + change);
    guard(&g, room);
    if (change > 0) memset(&g.u.bytes[sizeof(struct isthmus_traits)], GUARD, (size_t)change);
    CT_OK(p->t->describe(p->tr, &g.u.traits));
    check_guard(&g, change > 0 ? sizeof(struct isthmus_traits) : room, "describe");

    room = (size_t)((ptrdiff_t)sizeof(struct isthmus_reach) + change);
    guard(&g, room);
    if (change > 0) memset(&g.u.bytes[sizeof(struct isthmus_reach)], GUARD, (size_t)change);
    CT_OK(p->t->reach(p->tr, &p->peers[p->pe], &g.u.reach));
    check_guard(&g, change > 0 ? sizeof(struct isthmus_reach) : room, "reach");

    isthmus_chan *chan = NULL;
    room = (size_t)((ptrdiff_t)sizeof(struct isthmus_data_ops) + change);
    guard(&g, room);
    if (change > 0) memset(&g.u.bytes[sizeof(struct isthmus_data_ops)], GUARD, (size_t)change);
    CT_OK(p->t->channel_open(p->tr, ISTHMUS_THREAD_ONE, 0, &chan, &g.u.ops));
    check_guard(&g, change > 0 ? sizeof(struct isthmus_data_ops) : room, "channel_open");
    p->t->channel_close(chan);
}

void ct_case_longer_structs(struct ct_process *p)
{
    struct {
        struct isthmus_services services;
        uint64_t newer[4];
    } longer = {.services = p->services};
    longer.services.struct_size = sizeof longer;
    longer.services.abi_minor = ISTHMUS_ABI_MINOR + 7;
    p->services = longer.services;
    CT_OK(p->t->open(&longer.services, &p->tr));
    p->traits = (struct isthmus_traits){.struct_size = sizeof p->traits};
    CT_OK(p->t->describe(p->tr, &p->traits));
    ct_exchange_cards(p);
    struct {
        struct isthmus_peer peer;
        uint64_t newer[4];
    } peer = {.peer = p->peers[p->pe]};
    peer.peer.struct_size = sizeof peer;
    struct isthmus_reach reach = {.struct_size = sizeof reach};
    CT_OK(p->t->reach(p->tr, &peer.peer, &reach));
    fill_structs(p, 64);
    p->t->close(p->tr);
}

/* Services as they were at first: later fields are absent, and their bytes hold no function. */
void ct_case_older_services(struct ct_process *p)
{
    size_t first_bytes = offsetof(struct isthmus_services, host) + sizeof p->services.host;
    memset((char *)&p->services + first_bytes, GUARD, sizeof p->services - first_bytes);
    p->services.struct_size = (uint32_t)first_bytes;
    p->services.abi_minor = 0;
    ct_enter("t->open()");
    live(p);
}

/* The last field of each is cut off. No core is that old, but the rule holds. */
void ct_case_shorter_structs(struct ct_process *p)
{
    ct_open(p);
    ct_exchange_cards(p);
    fill_structs(p, -8);
    ct_close(p);
}

/* ---- lives ---- */

void ct_case_null_is_taken(struct ct_process *p)
{
    ct_open(p);
    ct_enter("t->path_close()");
    p->t->path_close(NULL);
    ct_enter("t->detach()");
    p->t->detach(NULL);
    ct_enter("t->unregister_local()");
    p->t->unregister_local(NULL);
    ct_enter("t->channel_close()");
    p->t->channel_close(NULL);
    ct_close(p);
}

void ct_case_life_cycle(struct ct_process *p)
{
    for (int i = 0; i < WARM_UP; i++) live(p);
    struct ct_census before = ct_census_take();
    for (int i = 0; i < LIVES; i++) live(p);
    ct_census_compare(&before, &(struct ct_slack){4, LIVES * KEPT_BYTES}, "50 lives");
}

/* ---- what belongs to the process ---- */

enum { SIGNALS = 64 };

struct habits {
    struct sigaction actions[SIGNALS];
    sigset_t mask;
    mode_t umask;
    char folder[400];
    size_t n_variables;
    uint64_t variables; /* a sum over their texts */
};

static void take_habits(struct habits *h)
{
    memset(h, 0, sizeof *h);
    for (int s = 1; s < SIGNALS; s++) sigaction(s, NULL, &h->actions[s]);
    pthread_sigmask(SIG_SETMASK, NULL, &h->mask);
    h->umask = umask(0);
    umask(h->umask);
    CT_NEED(getcwd(h->folder, sizeof h->folder) != NULL, "getcwd: %s", strerror(errno));
    for (char **v = environ; *v != NULL; v++, h->n_variables++)
        for (const char *c = *v; *c != '\0'; c++) h->variables = h->variables * 31 + (uint8_t)*c;
}

void ct_case_leaves_process_alone(struct ct_process *p)
{
    static struct habits before, after;
    take_habits(&before);
    live(p);
    take_habits(&after);
    for (int s = 1; s < SIGNALS; s++)
        CT_CHECK(before.actions[s].sa_handler == after.actions[s].sa_handler,
                 "the handler of signal %d (%s) has changed", s, strsignal(s));
    CT_CHECK(memcmp(&before.mask, &after.mask, sizeof before.mask) == 0, "the mask of blocked signals has changed");
    CT_CHECK(before.umask == after.umask, "umask was %o and is %o", before.umask, after.umask);
    CT_CHECK(strcmp(before.folder, after.folder) == 0, "the folder was %s and is %s", before.folder, after.folder);
    CT_CHECK(before.n_variables == after.n_variables && before.variables == after.variables,
             "the environment has changed: %zu variables before, %zu now", before.n_variables, after.n_variables);
}

/* ---- more ---- */

void ct_case_counters(struct ct_process *p)
{
    uint64_t values[64];
    const char *const *names = NULL;
    size_t n = 0;
    ct_open(p);
    ct_forget_failure();
    isthmus_status status = p->t->counters(p->tr, values, &names, &n);
    if (status == ISTHMUS_OK) {
        CT_CHECK(n == 0, "with room for no value, %zu were written", n);
        if (p->plugin.given.counters == NULL) ct_skip("%s has no counters", p->t->name);
    } else {
        CT_CHECK(status == ISTHMUS_ERR_LIMIT, "with room for no value: %s; expected LIMIT", ct_status_name(status));
        CT_CHECK(ct_failure_text()[0] != '\0', "LIMIT came without a text: services->fail() was not called");
        CT_CHECK(n > 0 && n <= sizeof values / sizeof *values,
                 "LIMIT came with %zu values as the number needed; valid: 1 to %zu", n, sizeof values / sizeof *values);
    }
    size_t needed = n;
    CT_OK(p->t->counters(p->tr, values, &names, &n));
    CT_CHECK(n == needed, "%zu values were written; LIMIT had come with %zu as the number needed", n, needed);
    for (size_t i = 0; i < n; i++)
        CT_CHECK(names[i] != NULL && names[i][0] != '\0', "name of counter %zu is NULL or empty", i);
    ct_close(p);
}

static void check_devices(struct ct_process *p)
{
    const struct isthmus_devices *devices = p->t->extension(p->tr, "devices.1");
    if (devices == NULL) return;
    CT_CHECK(devices->struct_size >= sizeof *devices, "devices.1 has %u bytes; its first version has %zu",
             devices->struct_size, sizeof *devices);
    for (uint32_t i = 0; i < devices->count(p->tr); i++) {
        struct isthmus_device device = {.struct_size = sizeof device};
        devices->describe(p->tr, i, &device);
        CT_CHECK(device.name != NULL && device.name[0] != '\0', "name of device %u is NULL or empty", i);
        CT_CHECK(device.what != NULL && device.why != NULL, "device %s: %s is NULL; valid: a text, or an empty one",
                 device.name, device.what == NULL ? "what" : "why");
        CT_CHECK(device.is_used <= 1, "device %s: is_used is %u; valid: 0 and 1", device.name, device.is_used);
    }
}

void ct_case_extensions(struct ct_process *p)
{
    ct_open(p);
    CT_CHECK(p->t->extension(p->tr, "no such extension.1") == NULL,
             "it returned a group for the unknown name 'no such extension.1'; valid: NULL");
    CT_CHECK(p->t->extension(p->tr, "") == NULL, "it returned a group for an empty name; valid: NULL");
    check_devices(p);
    ct_close(p);
}
