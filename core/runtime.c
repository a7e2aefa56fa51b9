/* core/runtime.c: the composition root: the steps of init, and of finalize in reverse order.
 * Each step is one line in start() and one in stop(), implemented in the file of that name. A start that fails on any
 * PE is reported once for the job (core/life/start_report.c). */
#include "core/runtime.h"

#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/base/note.h"
#include "core/base/process.h"
#include "core/base/thread.h"
#include "core/boot/card.h"
#include "core/check/check.h"
#include "core/coll/coll.h"
#include "core/coll/cost.h"
#include "core/coll/split.h"
#include "core/coll/sync.h"
#include "core/heap/heap.h"
#include "core/heap/registered.h"
#include "core/heap/static_data.h"
#include "core/life/life.h"
#include "core/memory/malloc.h"
#include "core/ops/order.h"
#include "core/ops/region.h"
#include "core/ops/target.h"
#include "core/own_card.h"
#include "core/profile/job.h"
#include "core/proxy/device.h"
#include "core/stream/stream.h"
#include "core/sync/spin.h"
#include "core/team/internal_area.h"
#include "core/topo/topo.h"
#include "core/transport/choose.h"
#include "core/transport/memory.h"
#include "core/transport/peer.h"
#include "core/transport/places.h"
#include "core/transport/progress.h"
#include "core/transport/segment.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ist_runtime ist_runtime;

static struct {
    uint64_t scopes;    /* in which the PEs and memory of the job may lie */
    bool arrivals_wake; /* every arrival from a network wakes this PE */
    unsigned n_starts;  /* attempts to initialise the library so far; each has keys of its own */
} init;

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;

/* A child has none of the parent's threads or peers: it may compute and exec, not communicate. */
static void after_fork_in_child(void)
{
    ist_life_forget();
    ist_boot_forget();
    ist_progress_forget();
    ist_streams_forget();
    ist_device_forget();
    ist_heap_make_private();
    ist_profile_forget();
    ist_ctx_default.reach.n_pes = 0;
    ist_fast_paths_set(0);
    ist_ctx_default.is_valid = 0;
    ist_runtime.nesting = 0;
    ist_runtime.boot = NULL;
}

void ist_runtime_watch_forks(void) { ist_fork_on_child(after_fork_in_child); }

/* ---- the steps of a start that take more than one call ---- */

/* Returns the scopes in which this job's peers and memory may lie, by the launcher and the configuration. A job without
 * device memory does not start a device's driver. */
static uint64_t scopes_of(const ist_boot *boot, const struct ist_config *config)
{
    uint64_t scopes = ISTHMUS_SCOPE_SELF;
    bool is_usual_kind = config->heap_kind == IST_HEAP_AUTO || config->heap_kind == IST_HEAP_HOST;
    if (config->face != IST_FACE_SHMEM || !is_usual_kind) scopes |= ISTHMUS_SCOPE_DEVICE;
    if (boot->n_local > 1) scopes |= ISTHMUS_SCOPE_HOST;
    if (boot->n_local < boot->n_pes || config->atomics == IST_ATOMICS_NIC) scopes |= ISTHMUS_SCOPE_NETWORK;
    return scopes;
}

/* A store by a PE of this host, or by another thread of this PE, does not wake a sleeping thread. */
static enum ist_spin_peers what_ends_waits(void)
{
    bool has_threads = ist_runtime.thread_level != IST_THREAD_SINGLE || ist_streams_are_on() ||
                       ist_device_is_expected();
    return ist_spin_peers_of(ist_registry_has_network(), init.arrivals_wake,
                             ist_runtime.boot->n_local > 1 || has_threads);
}

/* One peer is enough: the next host's first PE, or any on this host if the job has no other. */
static isthmus_status ask_whether_arrivals_wake(const struct ist_card *next)
{
    const ist_boot *boot = ist_runtime.boot;
    isthmus_status status = ISTHMUS_OK;
    if (!ist_registry_has_network() || boot->n_pes == 1) return ISTHMUS_OK;
    if (next == NULL) status = ist_peer_card(boot->local_pes[1], &next);
    if (status == ISTHMUS_OK) init.arrivals_wake = ist_arrivals_wake(next);
    return status;
}

/* Worker threads of streams make calls beside the program's threads, whatever thread level the program has
 * requested. */
static bool are_calls_at_once(void) { return ist_runtime.thread_level == IST_THREAD_MULTIPLE || ist_streams_are_on(); }

/* Reported at start, and not at the first put that fails. */
static isthmus_status require_reach(const ist_boot *boot)
{
    if (boot->n_local == boot->n_pes || ist_registry_has_network()) return ISTHMUS_OK;
    return ist_fail(
        ISTHMUS_ERR_UNREACHABLE,
        "%d of the %d PEs run on other hosts than PE %d, but no transport of this PE reaches other hosts; start all "
        "PEs on one host, or add a transport plugin (ISTHMUS_PLUGIN_PATH)",
        boot->n_pes - boot->n_local, boot->n_pes, boot->pe);
}

/* Returns whether this PE has the pieces of a peer's heap at addresses of its choice. Kernels reach all of them by one
 * distance, or the heap has to be one piece. */
static bool can_place_pieces(uint32_t kind)
{
    const struct ist_memory_keeper *keeper = ist_memory_ask(kind);
    return keeper == NULL || keeper->transport->extensions.has_attach_at;
}

static isthmus_status init_heap(void)
{
    struct ist_runtime *rt = &ist_runtime;
    uint32_t kind;
    isthmus_status status = ist_device_heap_choose(&rt->config, &kind);
    if (status != ISTHMUS_OK) return status;
    if (kind != ISTHMUS_MEM_HOST && ist_device_has(kind) && !can_place_pieces(kind)) rt->config.heap_grows = false;
    return ist_heap_init(&rt->config, ist_internal_area_bytes(&rt->config), rt->boot->n_local, kind);
}

static isthmus_status open_transports(const ist_boot *boot, const struct ist_config *config)
{
    init.scopes = scopes_of(boot, config);
    isthmus_status status = ist_registry_open_devices(boot->pe, boot->n_pes, init.scopes);
    if (status == ISTHMUS_OK) status = ist_device_heap_publish(config);
    return status == ISTHMUS_OK ? ist_registry_open(boot->pe, boot->n_pes, init.scopes) : status;
}

/* The steps that a PE can do by itself. */
static isthmus_status start_alone(void)
{
    struct ist_runtime *rt = &ist_runtime;
    isthmus_status status = ist_registry_load(&rt->config);
    ist_host_id_pretend(&ist_registry.host, rt->config.pretend_hosts, rt->boot->pe);
    if (status == ISTHMUS_OK) status = open_transports(rt->boot, &rt->config);
    if (status == ISTHMUS_OK) status = require_reach(rt->boot);
    if (status == ISTHMUS_OK) status = ist_profile_check(&rt->config, rt->boot);
    if (status == ISTHMUS_OK && ist_registry_has_open(ISTHMUS_SCOPE_NETWORK | ISTHMUS_SCOPE_DEVICE))
        ist_exit_before_destructors();
    if (status == ISTHMUS_OK && ist_registry_has_network() && rt->boot->n_pes > 1)
        status = ist_liveness_open(rt->boot, &rt->config);
    if (status == ISTHMUS_OK) status = init_heap();
    if (status == ISTHMUS_OK) ist_teams_place_memory(rt->boot);
    if (status == ISTHMUS_OK) status = ist_streams_open(&rt->config, rt->boot->n_pes);
    if (status == ISTHMUS_OK) status = ist_memory_expect_operands();
    if (status == ISTHMUS_OK) status = ist_heap_expose();
    if (status == ISTHMUS_OK) status = ist_meetings_expose();
    if (status == ISTHMUS_OK) status = ist_symmetric_data_expose();
    if (status == ISTHMUS_OK) status = ist_own_card_make(init.scopes);
    return status;
}

/* Returns the processors of this host as its first PE has counted them: PEs may see different numbers, but all have to
 * choose the same algorithms. `next` is that PE's card, on every PE but itself. */
static int cpus_of_host(const ist_boot *boot, const struct ist_card *next)
{
    return boot->pe == boot->local_pes[0] ? ist_own_card()->n_cpus : next->n_cpus;
}

/* The steps that need the other PEs: their cards are available now; `first` is PE 0's. */
static isthmus_status start_together(const struct ist_card *first)
{
    struct ist_runtime *rt = &ist_runtime;
    const struct ist_card *next = NULL;
    uint64_t job = first->job, heap_limit_bytes = first->heap_limit_bytes;
    isthmus_status status = ist_rows_init(rt->boot->n_pes);
    if (status == ISTHMUS_OK) status = ist_teams_init(rt->boot, &rt->config);
    if (status == ISTHMUS_OK) status = ist_life_join(&next);
    if (status == ISTHMUS_OK) status = ask_whether_arrivals_wake(next);
    if (status != ISTHMUS_OK) return status;
    int n_cpus = cpus_of_host(rt->boot, next);
    ist_spin_init(rt->config.spin_ns, rt->config.nap_ns, rt->boot->n_local, n_cpus, what_ends_waits());
    ist_cost_init(rt->boot->n_local > n_cpus);
    ist_sync_init(&rt->config);
    ist_coll_init(&rt->config);
    ist_malloc_init(rt->boot, ist_peers_card_key(), heap_limit_bytes);
    ist_lobby_init();
    ist_buffers_init(rt->boot, ist_peers_card_key());
    ist_ctx_init_default(are_calls_at_once() ? ISTHMUS_THREAD_SHARED : ISTHMUS_THREAD_ONE,
                         !rt->config.check && !ist_config_has_profile(&rt->config));
    status = ist_check_init(rt->config.check);
    if (status == ISTHMUS_OK) status = ist_profile_create(&rt->config, rt->boot, job);
    if (status != ISTHMUS_OK) return status;
    if (rt->boot->n_pes == 1) { /* a job of one PE has no requests to serve */
        ist_meeting_agree(&ist_team_world, "init");
        return ist_device_open(rt->boot, &rt->config);
    }
    status = ist_progress_start();
    if (status != ISTHMUS_OK) return status;
    status = ist_life_check_reach(ist_sync_rarely_towards(&ist_team_world, "init"));
    if (status == ISTHMUS_OK) ist_sync_rarely_link(&ist_team_world, &ist_internal_area()->links, "init");
    if (status == ISTHMUS_OK) ist_meeting_agree(&ist_team_world, "init");
    return status == ISTHMUS_OK ? ist_device_open(rt->boot, &rt->config) : status;
}

static void greet(void)
{
    const struct ist_boot *boot = ist_runtime.boot;
    if (boot->pe != 0) return;
    ist_info("%d PEs, %d on this host, through %s; heap of up to %llu MiB for each, in %s memory; %s, then %s",
             boot->n_pes, boot->n_local, boot->ops->name, (unsigned long long)(ist_heap.limit_bytes >> 20),
             ist_memory_kind_name(ist_device_heap.kind),
             ist_spin_is_oversubscribed() ? "more PEs than processors: waits yield at once" : "waits spin briefly",
             ist_spin_describe());
    if (ist_runtime.config.print_version) {
        printf("Isthmus " ISTHMUS_VERSION " (OpenSHMEM 1.6), %d PEs\n", boot->n_pes);
        fflush(stdout);
    }
    if (ist_runtime.config.print_info) ist_config_print_table(stdout, &ist_runtime.config);
}

/* One PE warns for all: they have the same plugins and variables. */
static void warn_once(void)
{
    const char *prefixes[IST_MAX_TRANSPORTS];
    if (ist_runtime.boot->pe != 0) return;
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        const struct ist_transport *t = &ist_registry.list[i];
        prefixes[i] = t->name;
        if (t->state == IST_TRANSPORT_REFUSED) ist_warn("plugin %s is refused: %s", t->file, t->why);
    }
    ist_config_warn_unknown(&ist_runtime.config, prefixes, ist_registry.n);
}

/* Runs on every PE, also on one that cannot start: transports of other PEs may wait for it. */
static isthmus_status say_place(void)
{
    char key[64];
    snprintf(key, sizeof key, "isthmus.place.%u", init.n_starts);
    bool has_device_note = (scopes_of(ist_runtime.boot, &ist_runtime.config) & ISTHMUS_SCOPE_DEVICE) != 0;
    return ist_places_publish(ist_runtime.boot, key, has_device_note);
}

static void stop(void);

static void wait_for_debugger(uint64_t seconds)
{
    ist_warn("process %d waits %d s for a debugger (ISTHMUS_ATTACH_DELAY)", (int)getpid(), (int)seconds);
    (void)poll(NULL, 0, (int)seconds * 1000);
}

static isthmus_status open_boot(const struct ist_boot_request *request)
{
    struct ist_runtime *rt = &ist_runtime;
    if (init.n_starts == 1) ist_launch_watch_begin(); /* the server gets one set of requests */
    isthmus_status status = ist_boot_open(&rt->config, request, ist_life_lost, &rt->boot);
    ist_launch_watch_end();
    if (status == ISTHMUS_OK) {
        ist_life_start(rt->boot);
        ist_log_set_pe(rt->boot->pe);
    } else if (status != ISTHMUS_ERR_PEER_LOST) { /* otherwise another PE reports it */
        ist_start_report_alone();
    }
    return status;
}

static isthmus_status start(enum ist_face face, int thread_level, const struct ist_boot_request *request)
{
    struct ist_runtime *rt = &ist_runtime;
    rt->thread_level = thread_level;
    init.n_starts++;
    isthmus_status failure = ist_config_init(&rt->config, face);
    if (failure == ISTHMUS_ERR_NO_MEMORY) { /* what is used from here on is not there */
        ist_start_report_alone();
        ist_config_fini(&rt->config);
        return failure;
    }
    /* Kernels that run on processors reach no other memory. */
    if (rt->config.heap_kind == IST_HEAP_AUTO && ist_device_is_processor()) rt->config.heap_kind = IST_HEAP_HOST;
    ist_log_open((uint32_t)rt->config.log_level, rt->config.log_file);
    if (failure == ISTHMUS_OK) failure = ist_log_filter(rt->config.log_filter);
    ist_life_begin(&rt->config, request);
    if (init.n_starts == 1 && rt->config.attach_delay_s > 0) wait_for_debugger(rt->config.attach_delay_s);

    /* Before the bootstrap starts threads: a longer table would stop them, and no other thread may write to static data
     * while it moves. */
    ist_descriptors_make_room();
    if (failure == ISTHMUS_OK) failure = ist_symmetric_data_init(&rt->config);
    char kept[512];
    snprintf(kept, sizeof kept, "%s", failure != ISTHMUS_OK ? ist_fail_text() : "");

    isthmus_status status = open_boot(request);
    if (status != ISTHMUS_OK) {
        stop();
        return status;
    }
    isthmus_status said = say_place();
    failure = failure != ISTHMUS_OK ? ist_fail(failure, "%s", kept) : said;

    if (failure == ISTHMUS_OK) failure = start_alone();
    said = ist_places_publish_device(ISTHMUS_MEM_HOST, NULL); /* after a failure too: other PEs wait for it */
    if (failure == ISTHMUS_OK) failure = said;
    const struct ist_card *first = NULL;
    int culprit = -1;
    status = ist_agree(ist_own_card(), init.n_starts, failure, &first, &culprit);
    if (status == ISTHMUS_OK) status = start_together(first);
    if (status != ISTHMUS_OK) {
        ist_start_report_job(culprit);
        stop();
        return status;
    }
    ist_note_phase(IST_PHASE_RUNNING);
    ist_profile_start();
    warn_once();
    greet();
    return ISTHMUS_OK;
}

/* In reverse order. Accepts any state that start() can leave. */
static void stop(void)
{
    struct ist_runtime *rt = &ist_runtime;
    ist_note_phase(IST_PHASE_AFTER);
    ist_device_close();
    ist_life_stop();
    ist_streams_close();
    ist_progress_stop();
    ist_check_fini();
    ist_profile_end_job();
    ist_ctxs_fini();
    ist_teams_fini();
    ist_peers_fini();
    ist_rows_fini();
    ist_registered_fini();
    ist_segments_withdraw();
    ist_streams_free();
    ist_heap_fini();
    ist_memory_forget();
    ist_registry_close();
    ist_places_close();
    ist_buffers_fini();
    ist_symmetric_data_fini();
    ist_own_card_free();
    ist_life_end();
    ist_boot_close(rt->boot);
    rt->boot = NULL;
    ist_log_set_pe(-1);
    ist_log_close();
    ist_config_fini(&rt->config);
}

/* A nested init cannot change the job. */
static isthmus_status check_request(const char *routine, const struct ist_boot_request *request)
{
    const ist_boot *boot = ist_runtime.boot;
    if (request->kind == IST_BOOTSTRAP_AUTO || (request->pe == boot->pe && request->n_pes == boot->n_pes))
        return ISTHMUS_OK;
    isthmus_status status = ist_fail(
        ISTHMUS_ERR_INVALID,
        "%s: this process is PE %d of %d already, and cannot become PE %d of %d; pass the same values in each init",
        routine, boot->pe, boot->n_pes, request->pe, request->n_pes);
    ist_error("%s", ist_fail_text());
    return status;
}

isthmus_status ist_init(const char *routine, enum ist_face face, int thread_level)
{
    struct ist_boot_request request = {.kind = IST_BOOTSTRAP_AUTO};
    return ist_init_job(routine, face, thread_level, &request);
}

int ist_thread_level_of(int requested)
{
    if (requested < IST_THREAD_SINGLE) return IST_THREAD_SINGLE;
    return requested > IST_THREAD_MULTIPLE ? IST_THREAD_MULTIPLE : requested;
}

isthmus_status ist_init_thread(const char *routine, enum ist_face face, int requested, int *provided)
{
    isthmus_status status = ist_init(routine, face, ist_thread_level_of(requested));
    if (status == ISTHMUS_OK && provided != NULL) *provided = ist_runtime.thread_level;
    return status;
}

static void quiet_in_init(ist_ctx *ctx) { ist_quiet(ctx, "shmem_init_thread"); }
static void quiet_in_finalize(ist_ctx *ctx) { ist_quiet(ctx, "shmem_finalize"); }

isthmus_status ist_init_job(const char *routine, enum ist_face face, int thread_level,
                            const struct ist_boot_request *request)
{
    isthmus_status status = ISTHMUS_OK;
    int cancel = ist_cancel_disable();
    pthread_mutex_lock(&init_lock);
    if (ist_runtime.nesting == 0) {
        ist_privileged_clean_environment();
        ist_runtime_watch_forks();
        status = start(face, thread_level, request);
    } else {
        status = check_request(routine, request);
    }
    if (status == ISTHMUS_OK) {
        ist_store_relaxed(&ist_runtime.nesting, ist_runtime.nesting + 1); /* other threads may ask */
        if (thread_level > ist_runtime.thread_level) {
            ist_runtime.thread_level = thread_level;
            ist_spin_expect(what_ends_waits());
            if (thread_level == IST_THREAD_MULTIPLE) {
                ist_ctx_each(quiet_in_init);
                ist_ctxs_share();
            }
        }
    }
    pthread_mutex_unlock(&init_lock);
    ist_cancel_restore(cancel);
    return status;
}

/* A PE that has left the last sync may still serve another PE's quiet: with connected transports no PE closes its
 * connections before all PEs have completed theirs. This exchange cannot go through the transports; all PEs have the
 * same ones open. */
static void part_from_peers(const char *routine)
{
    if (!ist_registry_has_network() || ist_runtime.boot->n_pes == 1) return;
    isthmus_status status = ist_runtime.boot->ops->exchange(ist_runtime.boot);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    ist_liveness_leave(true);
}

void ist_finalize(const char *routine)
{
    int cancel = ist_cancel_disable();
    pthread_mutex_lock(&init_lock);
    if (ist_runtime.nesting == 0) {
        ist_info("%s: called without an init that it could end; ignored", routine);
    } else if (ist_runtime.nesting > 1) {
        ist_barrier_all(routine);
        ist_store_relaxed(&ist_runtime.nesting, ist_runtime.nesting - 1);
    } else {
        ist_device_close();
        ist_streams_wait(routine);
        ist_region_stop();
        ist_profile_report(&ist_runtime.config, routine);
        ist_ctx_each(quiet_in_finalize);
        ist_sync_rarely(&ist_team_world, &ist_internal_area()->exit, 1, routine);
        /* Our flags of that sync, where quiet waits for them; those of others have arrived before the PEs
         * disconnect. */
        ist_quiet(&ist_ctx_default, routine);
        part_from_peers(routine);
        ist_runtime.nesting = 0;
        stop();
        ist_exit_watch_thread();
    }
    pthread_mutex_unlock(&init_lock);
    ist_cancel_restore(cancel);
}

void ist_runtime_end_idle_session(void)
{
    pthread_mutex_lock(&init_lock);
    if (ist_runtime.nesting == 0) ist_boot_end_threads();
    pthread_mutex_unlock(&init_lock);
}

_Noreturn void ist_global_exit(int exit_code) { ist_exit_all(exit_code); }

bool ist_is_initialised(void) { return ist_load_relaxed(&ist_runtime.nesting) > 0; }
