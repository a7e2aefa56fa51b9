/* core/proxy/device.c: see device.h. Kernels run where the symmetric heap lies: on processors, or on the device whose
 * memory holds it. Modules for other places get no state. */
#include "core/proxy/device.h"

#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/heap/heap.h"
#include "core/ops/order.h"
#include "core/proxy/kernel_report.h"
#include "core/proxy/modules.h"
#include "core/proxy/tables.h"
#include "core/stream/stream.h"
#include "core/sync/spin.h"
#include "core/transport/memory.h"
#include "core/transport/progress.h"
#include "core/transport/segment.h"

#include <pthread.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

_Static_assert(sizeof(struct isthmus_device_state) == 128, "ABI");

typedef int (*fill_fn)(const struct isthmus_device_state *state);
typedef void *(*find_fn)(void);

static struct {
    pthread_mutex_t lock; /* of all that follows, and of the modules */
    const ist_boot *boot;
    const struct ist_config *config; /* NULL: not initialised */
    bool is_open, has_proxy;
    bool needs_flush; /* this device does not order what adapters write */
    bool is_mixed;    /* of some PE kernels reach a part only, or did: requests may be under way */
    struct ist_modules_place place;
    struct ist_tables tables;
    struct isthmus_device_state state;
} device = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_on_device(void) { return device.place.kind != ISTHMUS_MEM_HOST; }

/* ---- the state; with the lock ---- */

/* Teams that are made and destroyed later. Flags that no kernel can share would leave the others waiting. */
static void on_team(const struct ist_team *team, int index)
{
    pthread_mutex_lock(&device.lock);
    isthmus_status status = device.is_open ? ist_tables_write_team(&device.tables, team, index) : ISTHMUS_OK;
    pthread_mutex_unlock(&device.lock);
    if (status != ISTHMUS_OK) ist_die("a team of kernels", status);
}

static uint64_t heap_base(void) { return is_on_device() ? (uintptr_t)ist_device_heap.base : ist_windows.heap.base; }

static uint64_t heap_bytes(void)
{
    return is_on_device() ? ist_device_heap.length_bytes : ist_windows.heap.length_bytes;
}

/* Adapters write on behalf of PEs that take the ring. Whether they write directly is not known for pieces by which the
 * heap grows later, so that the request finds it out. */
static uint32_t flags(void)
{
    return (device.config->check ? ISTHMUS_DEVICE_CHECK : 0u) | (device.is_mixed ? ISTHMUS_DEVICE_MIXED : 0u) |
           (device.needs_flush && device.has_proxy ? ISTHMUS_DEVICE_FLUSHES : 0u);
}

static void write_state(void)
{
    const struct ist_tables *tables = &device.tables;
    device.is_mixed |= tables->is_mixed;
    device.state = (struct isthmus_device_state){
        .struct_size = sizeof device.state,
        .flags = flags(),
        .me = ist_team_world.my_pe,
        .n = ist_team_world.n_pes,
        .heap = heap_base(),
        .heap_bytes = heap_bytes(),
        .delta = tables->heap_delta,
        .ranges = tables->ranges,
        .teams = tables->teams,
        .ring = device.has_proxy ? ist_proxy_ring() : NULL,
        .stop = device.has_proxy ? ist_proxy_stop_word() : NULL,
        .n_teams = ist_team_limit,
        .n_ring_pes = tables->n_far,
        .report = ist_kernel_report_words(),
        .reporters = ist_kernel_report_reporters(),
        .waits = ist_kernel_report_waits(),
        .waiters = ist_kernel_report_waiters(),
    };
}

static void free_state(void)
{
    ist_progress_watch(NULL);
    ist_tables_close(&device.tables);
    ist_kernel_report_close();
    device.is_open = false;
    memset(&device.state, 0, sizeof device.state);
}

static isthmus_status open_proxy(void)
{
    isthmus_status status = ist_proxy_open(device.config, &device.place.memory);
    device.has_proxy = status == ISTHMUS_OK;
    if (device.has_proxy) ist_quiet_also(ist_proxy_quiet);
    return status;
}

static isthmus_status make_state(void)
{
    for (int i = 0; i < IST_TEAMS_PREDEFINED; i++) (void)ist_team_at(i); /* makes it, and would announce it */
    ist_team_announce(on_team); /* it waits for the lock: what is not listed now comes through it later */
    isthmus_status status = ist_tables_open(&device.tables, device.boot, &device.place.memory,
                                            device.config->device_direct);
    uint32_t n_far = device.tables.n_far;
    if (status == ISTHMUS_OK) status = ist_kernel_report_open(&device.place.memory, heap_base(), heap_bytes());
    if (status == ISTHMUS_OK && n_far > 0) status = open_proxy();
    if (status != ISTHMUS_OK) {
        ist_team_announce(NULL);
        free_state();
        return status;
    }
    device.is_open = true;
    write_state();
    if (is_on_device() && !device.has_proxy) ist_progress_watch(ist_device_check); /* the proxy's thread looks, too */
    ist_spin_expect_stores();
    ist_info("kernels reach %u of %d PEs directly%s", (uint32_t)ist_team_world.n_pes - n_far, ist_team_world.n_pes,
             n_far > 0 ? ", the others through a thread of the host" : "");
    return ISTHMUS_OK;
}

static isthmus_status fill_all(void) { return ist_modules_fill(&device.place, &device.state, true); }

/* ---- where kernels run ---- */

/* Returns why kernels on the device of the heap cannot make calls; NULL: they can. */
static const char *why_not(const struct ist_memory_keeper *keeper)
{
    if (keeper == NULL) return "no transport has that memory";
    if (!keeper->transport->extensions.has_kernels) return "the transport of that memory has no device.1";
    return NULL;
}

static void choose_place(void)
{
    uint32_t kind = ist_device_heap.kind;
    device.place = (struct ist_modules_place){.kind = ISTHMUS_MEM_HOST};
    device.needs_flush = false;
    if (kind == ISTHMUS_MEM_HOST) return;
    const struct ist_memory_keeper *keeper = ist_memory_ask(kind);
    const char *why = why_not(keeper);
    device.place.kind = kind;
    if (why != NULL) {
        ist_info("kernels on the device of the symmetric heap get no state: %s", why);
        return;
    }
    device.needs_flush = keeper->transport->extensions.has_flush;
    device.place.memory = (struct ist_kernel_memory){keeper->kernels, keeper->memory, keeper->transport->handle};
}

static bool can_have_kernels(void) { return !is_on_device() || device.place.memory.kernels != NULL; }

/* The state is made when the first module is there that runs in this place. */
static isthmus_status expect_kernels(void)
{
    if (device.config == NULL || device.is_open || !can_have_kernels()) return ISTHMUS_OK;
    return ist_modules_have(device.place.kind) ? make_state() : ISTHMUS_OK;
}

/* ---- modules ---- */

/* Called by constructors, before main and later. */
static int announce_module(const struct ist_module *like)
{
    pthread_mutex_lock(&device.lock);
    isthmus_status status = ist_modules_add(like), made = ISTHMUS_OK;
    if (status == ISTHMUS_OK) made = expect_kernels();
    if (status == ISTHMUS_OK && made == ISTHMUS_OK && device.is_open)
        made = ist_module_fill(ist_modules_find(like), &device.place, &device.state);
    pthread_mutex_unlock(&device.lock);
    if (made != ISTHMUS_OK) ist_die("a module with kernels", made);
    return status;
}

static void withdraw_module(const struct ist_module *like)
{
    pthread_mutex_lock(&device.lock);
    struct ist_module *module = ist_modules_find(like);
    if (module != NULL) ist_modules_remove(module);
    pthread_mutex_unlock(&device.lock);
}

static isthmus_status check_kind(uint32_t kind);

/* Whether modules that copy the state themselves have one there; before init they are to be kept in any case. */
static isthmus_status check_fill(uint32_t kind)
{
    pthread_mutex_lock(&device.lock);
    bool is_early = device.config == NULL;
    isthmus_status status = kind == ISTHMUS_MEM_HOST || is_early ? ISTHMUS_OK : check_kind(kind);
    pthread_mutex_unlock(&device.lock);
    return status;
}

EXPORTED int isthmus_device_register_v1(uint32_t kind, fill_fn fill)
{
    isthmus_status status = kind < IST_MEM_KINDS ? check_fill(kind) : ISTHMUS_ERR_INVALID;
    return status == ISTHMUS_OK ? announce_module(&(struct ist_module){.kind = kind, .fill = fill}) : status;
}

/* Calls the program without the lock: its compiler's runtime may load libraries, whose constructors announce modules
 * too. */
static void settle_kinds(void)
{
    pthread_mutex_lock(&device.lock);
    for (struct ist_module *m; (m = ist_modules_unsettled()) != NULL;) {
        struct ist_module copy = *m;
        pthread_mutex_unlock(&device.lock);
        copy.kind = copy.kind_of();
        pthread_mutex_lock(&device.lock);
        m = ist_modules_find(&copy); /* it may have been withdrawn */
        if (m != NULL) *m = (struct ist_module){.next = m->next, .kind = copy.kind, .fill = copy.fill};
    }
    pthread_mutex_unlock(&device.lock);
}

EXPORTED int isthmus_device_register_later_v1(uint32_t (*kind_of)(void), fill_fn fill)
{
    pthread_mutex_lock(&device.lock);
    bool is_early = device.config == NULL;
    isthmus_status status = is_early ? ist_modules_add(&(struct ist_module){.kind_of = kind_of, .fill = fill})
                                     : ISTHMUS_OK;
    pthread_mutex_unlock(&device.lock);
    return is_early ? status : isthmus_device_register_v1(kind_of(), fill);
}

EXPORTED void isthmus_device_unregister_v1(fill_fn fill) { withdraw_module(&(struct ist_module){.fill = fill}); }

EXPORTED int isthmus_device_register_gpu_v1(uint32_t kind, find_fn find)
{
    if (kind == ISTHMUS_MEM_HOST) return ISTHMUS_ERR_INVALID;
    return announce_module(&(struct ist_module){.kind = kind, .find = find});
}

EXPORTED void isthmus_device_unregister_gpu_v1(find_fn find) { withdraw_module(&(struct ist_module){.find = find}); }

/* Modules whose constructor came too early are found by now. */
EXPORTED int isthmus_device_launch_v1(void)
{
    pthread_mutex_lock(&device.lock);
    isthmus_status status = device.is_open ? ist_modules_fill_new(&device.place, &device.state) : ISTHMUS_OK;
    if (device.has_proxy) ist_proxy_wake();
    int has_proxy = device.has_proxy;
    pthread_mutex_unlock(&device.lock);
    if (status != ISTHMUS_OK) ist_die("a module with kernels", status);
    return has_proxy;
}

/* Whether code of this kind can have a state now; with the lock. */
static isthmus_status check_kind(uint32_t kind)
{
    if (device.config == NULL)
        return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "called outside init and finalize; call it between the two");
    if (kind != device.place.kind)
        return ist_fail(ISTHMUS_ERR_UNSUPPORTED,
                        "kernels of %s cannot make calls: the symmetric heap is in %s memory; set ISTHMUS_HEAP_KIND=%s",
                        ist_memory_kind_name(kind), ist_memory_kind_name(device.place.kind),
                        ist_memory_kind_name(kind));
    if (can_have_kernels()) return ISTHMUS_OK;
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "kernels of %s cannot make calls: %s", ist_memory_kind_name(kind),
                    why_not(ist_memory_ask(kind)));
}

static isthmus_status add_code(const struct ist_module *like)
{
    isthmus_status status = check_kind(like->kind);
    if (status == ISTHMUS_OK && like->handle == NULL)
        status = ist_fail(ISTHMUS_ERR_INVALID, "the handle is NULL; valid: one of loaded code");
    if (status != ISTHMUS_OK) return status;
    struct ist_module *before = ist_modules_find(like); /* perhaps of code that has been unloaded since */
    if (before != NULL) ist_modules_remove(before);
    status = ist_modules_add(like);
    if (status != ISTHMUS_OK) return status;
    status = expect_kernels();
    if (status == ISTHMUS_OK) status = ist_module_fill(ist_modules_find(like), &device.place, &device.state);
    if (status != ISTHMUS_OK) ist_modules_remove(ist_modules_find(like));
    return status;
}

isthmus_status ist_device_add_code(uint32_t kind, uint32_t code, void *handle)
{
    pthread_mutex_lock(&device.lock);
    isthmus_status status = add_code(&(struct ist_module){.kind = kind, .code = code, .handle = handle});
    pthread_mutex_unlock(&device.lock);
    return status;
}

static isthmus_status remove_code(const struct ist_module *like)
{
    const struct isthmus_device_state none = {.struct_size = 0};
    isthmus_status status = check_kind(like->kind);
    if (status != ISTHMUS_OK) return status;
    struct ist_module *module = like->handle != NULL ? ist_modules_find(like) : NULL;
    if (module == NULL)
        return ist_fail(ISTHMUS_ERR_INVALID,
                        "the handle is %p, whose code was not initialised; valid: one that was passed to init",
                        like->handle);
    status = ist_module_fill(module, &device.place, &none);
    ist_modules_remove(module);
    return status;
}

isthmus_status ist_device_remove_code(uint32_t kind, uint32_t code, void *handle)
{
    pthread_mutex_lock(&device.lock);
    isthmus_status status = remove_code(&(struct ist_module){.kind = kind, .code = code, .handle = handle});
    pthread_mutex_unlock(&device.lock);
    return status;
}

bool ist_device_is_expected(void)
{
    pthread_mutex_lock(&device.lock);
    bool is_expected = !ist_modules_are_empty();
    pthread_mutex_unlock(&device.lock);
    return is_expected;
}

bool ist_device_has(uint32_t kind)
{
    settle_kinds();
    pthread_mutex_lock(&device.lock);
    bool has = ist_modules_have(kind);
    pthread_mutex_unlock(&device.lock);
    return has;
}

bool ist_device_is_processor(void)
{
    settle_kinds();
    pthread_mutex_lock(&device.lock);
    bool is_on_gpu = false;
    for (uint32_t kind = ISTHMUS_MEM_HOST + 1; kind < IST_MEM_KINDS; kind++) is_on_gpu |= ist_modules_have(kind);
    bool is_processor = ist_modules_have(ISTHMUS_MEM_HOST) && !is_on_gpu;
    pthread_mutex_unlock(&device.lock);
    return is_processor;
}

/* ---- init and finalize ---- */

/* Kernels of a program that was built for a GPU, where it has none. */
static void note_other_modules(void)
{
    for (uint32_t kind = ISTHMUS_MEM_HOST + 1; kind < IST_MEM_KINDS; kind++)
        if (kind != device.place.kind && ist_modules_have(kind))
            ist_info("kernels of %s find no PEs: the symmetric heap is in memory of kind %s",
                     ist_memory_kind_name(kind), ist_memory_kind_name(device.place.kind));
}

isthmus_status ist_device_open(const ist_boot *boot, const struct ist_config *config)
{
    settle_kinds();
    pthread_mutex_lock(&device.lock);
    device.boot = boot;
    device.config = config;
    choose_place();
    note_other_modules();
    isthmus_status status = expect_kernels();
    if (status == ISTHMUS_OK && device.is_open) status = fill_all();
    pthread_mutex_unlock(&device.lock);
    return status;
}

/* Returns true where memory is freed only after the kernels that may read it: cuMemFree() and hipFree() wait for them.
 * zeMemFree() does not, nor does free() for kernels of other threads on processors: the old tables stay there until
 * finalize. */
static bool waits_to_free(void)
{
    return device.place.kind == ISTHMUS_MEM_CUDA || device.place.kind == ISTHMUS_MEM_HIP;
}

isthmus_status ist_device_list_buffers(void)
{
    isthmus_status status = ISTHMUS_OK;
    pthread_mutex_lock(&device.lock);
    if (device.is_open) {
        status = ist_tables_list_ranges(&device.tables, device.boot, device.config->device_direct);
        if (status == ISTHMUS_OK && device.tables.n_far > 0 && !device.has_proxy) status = open_proxy();
        write_state();
        if (status == ISTHMUS_OK) status = fill_all();
        if (status == ISTHMUS_OK && waits_to_free()) ist_tables_free_old(&device.tables);
    }
    pthread_mutex_unlock(&device.lock);
    return status;
}

/* ---- wrong calls of kernels ---- */

bool ist_device_has_stopped(struct ist_kernel_report *why) { return is_on_device() && ist_kernel_report_read(why); }

void ist_device_check(void)
{
    struct ist_kernel_report why;
    if (ist_device_has_stopped(&why)) ist_misuse(why.routine, "%s", why.text);
}

EXPORTED int isthmus_device_report_v1(const uint64_t *words)
{
    struct ist_kernel_report why;
    ist_device_check();
    if (words != NULL)
        ist_kernel_report_judge(words, &why);
    else if (!ist_kernel_report_take(&why))
        return 0;
    ist_error("%s: %s", why.routine, why.text);
    return 1;
}

/* ---- the end ---- */

static void quiet(ist_ctx *ctx) { ist_quiet(ctx, "finalize"); }

/* With the lock. */
static void end_proxy(void (*complete)(ist_ctx *ctx))
{
    if (!device.has_proxy) return;
    ist_quiet_also(NULL);
    ist_proxy_end(complete);
}

/* Kernels on processors may still look at `stop`: it stays set until the next init. */
void ist_device_close(void)
{
    ist_device_check();
    pthread_mutex_lock(&device.lock);
    ist_team_announce(NULL);
    end_proxy(quiet);
    memset(&device.state, 0, sizeof device.state);
    if (device.has_proxy && !is_on_device()) device.state.stop = ist_proxy_stop_word();
    if (device.is_open && ist_modules_fill(&device.place, &device.state, false) != ISTHMUS_OK)
        ist_warn("cannot take the state of this job from kernels at finalize: %s; launch none that makes calls",
                 ist_fail_text());
    struct ist_module *unfound = device.is_open ? ist_modules_end(device.place.kind) : NULL;
    if (device.has_proxy) ist_proxy_close();
    free_state();
    device.has_proxy = device.is_mixed = false;
    device.config = NULL;
    pthread_mutex_unlock(&device.lock);
    ist_modules_warn_unfound(unfound);
}

void ist_device_leave(void (*complete)(ist_ctx *ctx))
{
    struct ist_kernel_report why;
    if (ist_device_has_stopped(&why)) ist_error("%s: %s", why.routine, why.text);
    pthread_mutex_lock(&device.lock);
    ist_team_announce(NULL);
    end_proxy(complete);
    pthread_mutex_unlock(&device.lock);
}

void ist_device_forget(void)
{
    pthread_mutex_init(&device.lock, NULL); /* another thread of the parent may have had it */
    ist_team_announce(NULL);
    ist_proxy_forget();
    ist_kernel_report_forget();
    device.has_proxy = device.is_open = device.is_mixed = false;
    device.config = NULL;
    device.tables = (struct ist_tables){.teams = NULL}; /* what it had is the parent's */
    memset(&device.state, 0, sizeof device.state);
    ist_modules_forget(&device.state); /* a kernel of the child must not store through the parent's addresses */
}
