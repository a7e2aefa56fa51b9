/* core/proxy/device.c: see device.h. */
#include "core/proxy/device.h"

#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/proxy/proxy.h"
#include "core/sync/spin.h"
#include "core/team/internal_area.h"
#include "core/team/team.h"
#include "core/topo/topo.h"
#include "core/transport/peer.h"
#include "core/transport/segment.h"

#include <isthmus/transport.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

_Static_assert((int)IST_TEAM_DEVICE_WORDS >= (int)ISTHMUS_DEVICE_FLAGS,
               "a team's place has room for the flags of kernels");
_Static_assert(sizeof(struct isthmus_device_state) == 128, "ABI");
_Static_assert(sizeof(struct isthmus_device_team) == 64, "ABI");

typedef int (*fill_fn)(const struct isthmus_device_state *state);

struct module {
    struct module *next;
    fill_fn fill;
};

static struct {
    pthread_mutex_t lock; /* of all that follows */
    struct module *modules;
    const ist_boot *boot;
    const struct ist_config *config; /* NULL: not initialised */
    bool is_open, has_proxy;
    bool needs_ring; /* memory is symmetric that no delta covers */
    struct isthmus_device_state state;
    int64_t *heap_delta, *statics_delta; /* by PE */
    struct isthmus_device_range ranges[2];
    struct isthmus_device_team *teams; /* by index, n_teams of them */
} device = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the parts of the state; with the lock ---- */

static isthmus_status find_delta(int pe)
{
    const struct ist_card *card;
    const struct ist_peer *peer;
    isthmus_status status = ist_peer_card(pe, &card);
    if (status != ISTHMUS_OK || !ist_host_id_equal(&card->host, &ist_registry.host)) return status;
    status = ist_peer_get(pe, &peer);
    if (status != ISTHMUS_OK) return status;
    device.heap_delta[pe] = (int64_t)ist_rows[pe].delta[1];
    device.statics_delta[pe] = (int64_t)ist_rows[pe].delta[2];
    return ISTHMUS_OK;
}

/* Returns the number of PEs that have memory which is not mapped here. Rows are filled when a peer is first used, and
 * kernels can fill none: the PEs of this host are used now. Those of other hosts are not, or the start of a job of n PEs
 * would make n * n connections. */
static isthmus_status find_deltas(uint32_t *n_far)
{
    int n = ist_team_world.n_pes, me = ist_team_world.my_pe;
    *n_far = 0;
    device.heap_delta = calloc((size_t)n, sizeof *device.heap_delta);
    device.statics_delta = calloc((size_t)n, sizeof *device.statics_delta);
    if (device.heap_delta == NULL || device.statics_delta == NULL) return ist_fail_memory("the addresses of %d PEs", n);
    for (int pe = 0; pe < n; pe++) device.heap_delta[pe] = device.statics_delta[pe] = ISTHMUS_NO_ALIAS;
    for (int i = 0; i < device.boot->n_local; i++) {
        int pe = device.boot->local_pes[i];
        isthmus_status status = device.config->device_direct || pe == me ? find_delta(pe) : ISTHMUS_OK;
        if (status != ISTHMUS_OK) return status;
    }
    for (int pe = 0; pe < n; pe++)
        *n_far += ((device.heap_delta[pe] | device.statics_delta[pe]) & ISTHMUS_NO_ALIAS) != 0;
    return ISTHMUS_OK;
}

static void write_team(struct isthmus_device_team *out, const struct ist_team *team, int index)
{
    *out = (struct isthmus_device_team){.n = team->n_pes,
                                        .me = team->my_pe,
                                        .start = team->start,
                                        .stride = team->stride,
                                        .list = team->list,
                                        .flags = ist_team_memory_of(index)->device};
}

static isthmus_status list_teams(void)
{
    device.teams = calloc(ist_team_limit, sizeof *device.teams);
    if (device.teams == NULL) return ist_fail_memory("%u teams", ist_team_limit);
    for (uint32_t i = 0; i < ist_team_limit; i++) {
        const struct ist_team *team = __atomic_load_n(&ist_team_table[i], __ATOMIC_SEQ_CST);
        if (team != NULL) write_team(&device.teams[i], team, (int)i);
    }
    return ISTHMUS_OK;
}

/* Teams that are made and destroyed later. */
static void on_team(const struct ist_team *team, int index)
{
    pthread_mutex_lock(&device.lock);
    if (device.is_open && team != NULL)
        write_team(&device.teams[index], team, index);
    else if (device.is_open)
        device.teams[index] = (struct isthmus_device_team){.n = 0};
    pthread_mutex_unlock(&device.lock);
}

/* Returns true if requests and accesses of kernels may go to one PE at once: then a fence has to complete requests. */
static bool is_mixed(void)
{
    bool is_mixed = device.needs_ring;
    for (int pe = 0; pe < ist_team_world.n_pes && !is_mixed; pe++)
        is_mixed = ((device.heap_delta[pe] ^ device.statics_delta[pe]) & ISTHMUS_NO_ALIAS) != 0;
    return is_mixed;
}

/* Data of shared objects, and buffers that the program has made symmetric. */
static bool has_other_memory(void)
{
    for (uint32_t id = IST_SEGMENT_OBJECTS; id < ist_segments.n; id++)
        if (ist_segments.list[id].mem.length_bytes > 0) return true;
    return false;
}

static void write_state(uint32_t n_far)
{
    device.ranges[0] = (struct isthmus_device_range){ist_windows.statics.base, ist_windows.statics.length_bytes,
                                                     device.statics_delta};
    device.state = (struct isthmus_device_state){
        .struct_size = sizeof device.state,
        .flags = (device.config->check ? ISTHMUS_DEVICE_CHECK : 0u) | (is_mixed() ? ISTHMUS_DEVICE_MIXED : 0u),
        .me = ist_team_world.my_pe,
        .n = ist_team_world.n_pes,
        .heap = ist_windows.heap.base,
        .heap_bytes = ist_windows.heap.length_bytes,
        .delta = device.heap_delta,
        .ranges = device.ranges,
        .teams = device.teams,
        .ring = device.has_proxy ? ist_proxy_ring() : NULL,
        .stop = device.has_proxy ? ist_proxy_stop_word() : NULL,
        .n_teams = ist_team_limit,
        .n_ring_pes = n_far,
    };
}

static void free_state(void)
{
    free(device.heap_delta);
    free(device.statics_delta);
    free(device.teams);
    device.heap_delta = device.statics_delta = NULL;
    device.teams = NULL;
    device.is_open = false;
    memset(&device.state, 0, sizeof device.state);
}

static isthmus_status make_state(void)
{
    uint32_t n_far;
    isthmus_status status = find_deltas(&n_far);
    for (int i = 0; i < IST_TEAMS_PREDEFINED; i++) (void)ist_team_at(i); /* makes it, and would announce it */
    ist_team_announce(on_team); /* it waits for the lock: what is not listed now comes through it later */
    if (status == ISTHMUS_OK) status = list_teams();
    device.needs_ring = has_other_memory();
    bool has_proxy = n_far > 0 || device.needs_ring;
    if (status == ISTHMUS_OK && has_proxy) status = ist_proxy_open(device.config);
    if (status != ISTHMUS_OK) {
        ist_team_announce(NULL);
        free_state();
        return status;
    }
    device.has_proxy = has_proxy;
    device.is_open = true;
    write_state(n_far);
    ist_spin_expect_stores();
    ist_info("kernels reach %u of %d PEs directly%s", (uint32_t)ist_team_world.n_pes - n_far, ist_team_world.n_pes,
             n_far > 0 ? ", the others through a thread of the host" : "");
    return ISTHMUS_OK;
}

static void fill_all(void)
{
    for (struct module *module = device.modules; module != NULL; module = module->next)
        (void)module->fill(&device.state);
}

/* ---- modules ---- */

/* Called by constructors, before main and later. */
EXPORTED int isthmus_device_register_v1(uint32_t kind, fill_fn fill)
{
    isthmus_status status = ISTHMUS_OK;
    if (kind != ISTHMUS_MEM_HOST) return ISTHMUS_ERR_UNSUPPORTED;
    struct module *module = malloc(sizeof *module);
    if (module == NULL) return ISTHMUS_ERR_NO_MEMORY;
    pthread_mutex_lock(&device.lock);
    *module = (struct module){device.modules, fill};
    device.modules = module;
    if (device.config != NULL && !device.is_open) status = make_state();
    if (device.is_open) (void)fill(&device.state);
    pthread_mutex_unlock(&device.lock);
    if (status != ISTHMUS_OK) ist_die("a module with kernels", status);
    return status;
}

EXPORTED void isthmus_device_unregister_v1(fill_fn fill)
{
    pthread_mutex_lock(&device.lock);
    for (struct module **link = &device.modules; *link != NULL; link = &(*link)->next) {
        struct module *module = *link;
        if (module->fill != fill) continue;
        *link = module->next;
        free(module);
        break;
    }
    pthread_mutex_unlock(&device.lock);
}

bool ist_device_is_expected(void)
{
    pthread_mutex_lock(&device.lock);
    bool is_expected = device.modules != NULL;
    pthread_mutex_unlock(&device.lock);
    return is_expected;
}

/* ---- init and finalize ---- */

isthmus_status ist_device_open(const ist_boot *boot, const struct ist_config *config)
{
    isthmus_status status = ISTHMUS_OK;
    pthread_mutex_lock(&device.lock);
    device.boot = boot;
    device.config = config;
    if (device.modules != NULL) status = make_state();
    if (device.is_open) fill_all();
    pthread_mutex_unlock(&device.lock);
    return status;
}

isthmus_status ist_device_need_ring(void)
{
    isthmus_status status = ISTHMUS_OK;
    pthread_mutex_lock(&device.lock);
    if (device.is_open && !device.has_proxy) {
        status = ist_proxy_open(device.config);
        device.has_proxy = status == ISTHMUS_OK;
    }
    if (device.has_proxy) {
        device.needs_ring = true;
        device.state.flags |= ISTHMUS_DEVICE_MIXED;
        device.state.ring = ist_proxy_ring();
        device.state.stop = ist_proxy_stop_word();
        fill_all();
    }
    pthread_mutex_unlock(&device.lock);
    return status;
}

void ist_device_close(void)
{
    pthread_mutex_lock(&device.lock);
    ist_team_announce(NULL);
    if (device.has_proxy) ist_proxy_end();
    bool was_open = device.is_open;
    memset(&device.state, 0, sizeof device.state);
    if (device.has_proxy) device.state.stop = ist_proxy_stop_word(); /* set until the next init */
    if (was_open) fill_all();
    if (device.has_proxy) ist_proxy_close();
    free_state();
    device.has_proxy = device.needs_ring = false;
    device.config = NULL;
    pthread_mutex_unlock(&device.lock);
}

void ist_device_leave(void)
{
    pthread_mutex_lock(&device.lock);
    ist_team_announce(NULL);
    if (device.has_proxy) ist_proxy_end();
    pthread_mutex_unlock(&device.lock);
}

void ist_device_forget(void)
{
    pthread_mutex_init(&device.lock, NULL); /* another thread of the parent may have had it */
    ist_team_announce(NULL);
    ist_proxy_forget();
    device.has_proxy = device.is_open = device.needs_ring = false;
    device.config = NULL;
    memset(&device.state, 0, sizeof device.state);
    fill_all(); /* a kernel of the child must not store through the parent's addresses */
}
