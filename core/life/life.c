/* core/life/life.c: see life.h. Dispatches what the lower floors report, and chooses which PE this one watches. */
#include "core/life/life.h"
#include "core/life/life_priv.h"

#include "core/base/atomic.h"
#include "core/base/fatal.h"
#include "core/proxy/device.h"
#include "core/transport/peer.h"

#include <stdio.h>

static struct {
    struct ist_boot_request request; /* the program's description of its job */
    ist_boot *boot;                  /* from start to end */
    bool is_joined;                  /* the cards of all PEs can be read */
} life;

/* A call of the driver that fails does not know that a kernel has stopped before, and a transport that loses a PE not
 * that this has exited. */
static _Noreturn void end(struct ist_end end)
{
    char line[sizeof(struct ist_kernel_report) + 1400];
    struct ist_kernel_report why;
    const int exited = end.text != NULL && end.cause == IST_END_LOSS ? ist_liveness_exited() : -1;
    if (end.text != NULL && ist_device_has_stopped(&why)) {
        snprintf(line, sizeof line, "%s: %s", why.routine, why.text);
        end.text = line;
        end.cause = IST_END_FAILURE;
    } else if (exited >= 0) {
        snprintf(line, sizeof line, "%s; PE %d has exited without shmem_finalize", end.text, exited);
        end.text = line;
    }
    ist_verdict_end(&end);
}

/* Runs on any thread of this PE. */
static void on_event(const struct ist_life_event *event)
{
    bool is_joined = ist_load_acquire(&life.is_joined); /* pairs with the release in ist_life_join() */
    switch (event->kind) {
    case IST_LIFE_WAIT_IN_BOOTSTRAP:
        if (ist_load_acquire(&life.boot) != NULL) ist_processes_poll_in_exchange();
        break;
    case IST_LIFE_WAIT_IN_SLOT:
        ist_device_check();
        if (is_joined) (void)ist_processes_poll();
        break;
    case IST_LIFE_WAIT_IN_CALL:
        ist_device_check();
        if (is_joined) ist_exit_poll();
        break;
    case IST_LIFE_CONNECT: ist_liveness_watch(event->peer); break;
    case IST_LIFE_HAS_ENDED:
        if (is_joined) *event->has_ended = ist_processes_has_ended(event->pe) || ist_liveness_has_lost(event->pe);
        break;
    case IST_LIFE_END: end(*event->end);
    }
}

__attribute__((constructor)) static void register_callback(void) { ist_life_register(on_event); }

void ist_life_begin(const struct ist_config *config, const struct ist_boot_request *request)
{
    char job[IST_BOOT_JOB_BYTES];
    life.request = *request;
    ist_boot_announced_job(request, job);
    ist_exit_begin();
    ist_explain_begin(config);
    ist_verdict_begin(job, config->abort_action, (int)config->stack_frames);
}

const struct ist_boot_request *ist_life_request(void) { return &life.request; }

void ist_life_start(ist_boot *boot)
{
    ist_verdict_expect_launcher();
    ist_store_release(&life.boot, boot);
}

bool ist_life_abort(int exit_code)
{
    ist_boot *boot = ist_load_acquire(&life.boot);
    if (boot == NULL) return false;
    boot->ops->abort(boot, exit_code);
    ist_verdict_kill_condemned();
    return true;
}

/* ---- the ring of hosts ---- */

enum { CARDS_MAX = 64 }; /* cards read at most to find the next host's first PE; if none is found, PE 0 is used */

static bool is_local(const ist_boot *boot, int pe)
{
    for (int i = 0; i < boot->n_local; i++)
        if (boot->local_pes[i] == pe) return true;
    return false;
}

/* Searches in PE order. The first card fits if PEs are distributed by blocks or round-robin. */
static isthmus_status next_first(const ist_boot *boot, const struct ist_card **out)
{
    int n_cards = 0;
    for (int step = 1; step < boot->n_pes && n_cards < CARDS_MAX; step++) {
        int pe = (boot->pe + step) % boot->n_pes;
        if (is_local(boot, pe)) continue;
        isthmus_status status = ist_peer_card(pe, out);
        if (status != ISTHMUS_OK || (*out)->first_on_host == pe) return status;
        n_cards++;
    }
    return ist_peer_card(0, out);
}

/* Returns, for the first PE of a host, the first PE of the next host, and for every other PE the first one of its own
 * host. *out is NULL if there is no such PE. So every host has one that watches it, and none is watched by many. */
static isthmus_status next_in_ring(const ist_boot *boot, const struct ist_card **out)
{
    *out = NULL;
    if (boot->pe != boot->local_pes[0]) return ist_peer_card(boot->local_pes[0], out);
    return boot->n_local < boot->n_pes ? next_first(boot, out) : ISTHMUS_OK;
}

isthmus_status ist_life_join(const struct ist_card **next)
{
    isthmus_status status = next_in_ring(life.boot, next);
    if (status != ISTHMUS_OK) return status;
    ist_liveness_join(*next);
    ist_store_release(&life.is_joined, true);
    return ISTHMUS_OK;
}

isthmus_status ist_life_check_reach(int first_peer)
{
    const struct ist_peer *peer;
    const ist_boot *boot = life.boot;
    isthmus_status status = is_local(boot, 0) ? ISTHMUS_OK : ist_peer_check(0);
    if (status == ISTHMUS_OK && first_peer >= 0 && !is_local(boot, first_peer))
        status = ist_peer_get(first_peer, &peer);
    return status;
}

/* ---- the end ---- */

void ist_life_stop(void)
{
    ist_store_release(&life.is_joined, false);
    ist_processes_forget();
    ist_liveness_close();
}

void ist_life_end(void)
{
    ist_store_release(&life.boot, (ist_boot *)NULL);
    ist_verdict_stop();
}

void ist_life_forget(void)
{
    ist_exit_after_fork();
    ist_explain_after_fork();
    ist_liveness_forget();
    ist_processes_forget();
    life.is_joined = false;
    life.boot = NULL;
}
