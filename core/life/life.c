/* core/life/life.c: see life.h. Dispatches what the lower floors report. */
#include "core/life/life.h"
#include "core/life/life_priv.h"

#include "core/base/atomic.h"
#include "core/base/life_event.h"
#include "core/runtime.h"

static struct {
    struct ist_boot_request request; /* the program's description of its job */
    ist_boot *boot;                  /* from start to end */
    bool is_joined;                  /* the cards of all PEs can be read */
} life;

/* Runs on any thread of this PE. */
static void on_event(const struct ist_life_event *event)
{
    bool is_joined = ist_load_acquire(&life.is_joined); /* pairs with the release in ist_life_join() */
    switch (event->kind) {
    case IST_LIFE_WAIT_IN_BOOTSTRAP:
        if (ist_load_acquire(&life.boot) != NULL) ist_processes_poll_in_exchange();
        break;
    case IST_LIFE_WAIT_IN_SLOT:
        if (is_joined) (void)ist_processes_poll();
        break;
    case IST_LIFE_WAIT_IN_CALL:
        if (is_joined) ist_exit_poll();
        break;
    case IST_LIFE_CONNECT: ist_liveness_watch(event->peer); break;
    case IST_LIFE_END: ist_verdict_end(event->end);
    }
}

__attribute__((constructor)) static void register_callback(void) { ist_life_register(on_event); }

void ist_life_begin(const struct ist_config *config, const struct ist_boot_request *request)
{
    char job[IST_BOOT_JOB_BYTES];
    life.request = *request;
    ist_boot_announced_job(request, job);
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
    ist_processes_end_stopped();
    return true;
}

isthmus_status ist_life_join(const struct ist_card **next)
{
    isthmus_status status = ist_ring_next(life.boot, next);
    if (status != ISTHMUS_OK) return status;
    ist_liveness_join(*next);
    ist_store_release(&life.is_joined, true);
    return ISTHMUS_OK;
}

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
