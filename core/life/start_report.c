/* core/life/start_report.c: do all PEs start with the same settings? If not: one report for the job, which names the
 * first cause.
 * Every PE puts its card, or a card of failure, and all synchronize in the one exchange. PE 0 reads the others' cards
 * only if a PE failed; every other PE reads PE 0's, so that no PE reads n cards in a start that works. */
#include "core/life/life.h"
#include "core/life/life_priv.h"

#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/runtime.h"
#include "core/topo/host_id.h"
#include "core/transport/peer.h"
#include "core/transport/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REASON_BYTES = 600 };

static void take_reason(char why[REASON_BYTES])
{
    snprintf(why, REASON_BYTES, "%s", ist_fail_text());
    ist_log_blank_controls(why, strlen(why));
}

/* A block is built whole and written once, so that no other output splits it. Text from cards and plugins adds no lines
 * of its own. */
static void print_block(int pe, const char *host, const char *why, const char *others)
{
    char tried[600] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < ist_registry.n && used < sizeof tried; i++) {
        const struct ist_transport *t = &ist_registry.list[i];
        used += (size_t)snprintf(tried + used, sizeof tried - used, "%s%s %s (%s%s%s)", i > 0 ? ", " : "", t->name,
                                 t->ops.version != NULL ? t->ops.version : "", ist_transport_state_name(t->state),
                                 t->why[0] != '\0' ? ": " : "", t->why);
    }
    ist_log_blank_controls(tried, strlen(tried));
    char pe_text[32] = "a PE";
    if (pe >= 0) snprintf(pe_text, sizeof pe_text, "PE %d", pe);
    dprintf(
        STDERR_FILENO,
        "isthmus: the job cannot start\n"
        "  what     %s\n"
        "  where    %s on %s%s\n"
        "  tried    %s\n"
        "  to fix   correct what the first line names; isthmus-info shows this machine, isthmus-info --env all settings\n",
        why, pe_text, host, others, used > 0 ? tried : "no transport so far");
}

void ist_start_report_alone(isthmus_status failure)
{
    (void)failure;
    char why[REASON_BYTES];
    take_reason(why);
    bool is_first = ist_verdict_claim();
    if (is_first) print_block(ist_boot_announced_pe(&ist_runtime.request), ist_host_name(), why, "");
    /* The launcher ends all PEs when the first one ends. Without a launcher no other PE reports while the first one
     * lives. */
    if (!is_first || ist_runtime.request.kind == IST_BOOTSTRAP_UID) ist_fatal_yield();
}

/* ---- with a bootstrap ---- */

static isthmus_status publish(isthmus_status failure, char *key, size_t key_room)
{
    struct ist_runtime *rt = &ist_runtime;
    snprintf(key, key_room, "isthmus.card.%u", rt->generation);
    struct ist_card failed = {.pe = rt->boot->pe, .pid = (int32_t)getpid(), .failure = failure};
    const struct ist_card *card = &rt->card;
    if (failure != ISTHMUS_OK) {
        snprintf(failed.host_name, sizeof failed.host_name, "%s", ist_host_name());
        failed.failure_text = ist_fail_text();
        card = &failed;
    }
    void *bytes;
    size_t n_bytes;
    isthmus_status status = ist_card_write(card, &bytes, &n_bytes);
    if (status != ISTHMUS_OK) return status;
    status = rt->boot->ops->put(rt->boot, key, bytes, n_bytes);
    free(bytes);
    return status;
}

/* Compares this PE with PE 0; the message names the PE that differs. */
static isthmus_status compare_with_first(const struct ist_card *first)
{
    char mine[300], theirs[300];
    if (first->failure != ISTHMUS_OK)
        return ist_fail(first->failure, "PE 0 on %s: %s", first->host_name, first->failure_text);
    if (ist_agreements_differ(ist_runtime.agreement, first->agreement, mine, theirs, sizeof mine))
        return ist_fail(ISTHMUS_ERR_INVALID, "this PE has '%s', PE 0 on %s has '%s'; all PEs need the same", mine,
                        first->host_name, theirs);
    return ISTHMUS_OK;
}

/* Returns true if a PE of a lower number, by its card, has a failure to report. That PE reports. */
static bool lower_pe_reports(void)
{
    const struct ist_card *first, *other;
    char mine[300], theirs[300];
    if (ist_runtime.boot->pe == 0 || ist_peer_card(0, &first) != ISTHMUS_OK) return false;
    for (int pe = 0; pe < ist_runtime.boot->pe; pe++) {
        if (ist_peer_card(pe, &other) != ISTHMUS_OK) return false;
        if (other->failure != ISTHMUS_OK) return true;
        if (ist_agreements_differ(other->agreement, first->agreement, mine, theirs, sizeof mine)) return true;
    }
    return false;
}

/* Runs on PEs that failed only; one of them reports. The others wait for it, for a bounded time: it ends the job, or
 * its program does when the initialiser returns a status. */
static void report_failed_job(void)
{
    const struct ist_boot *boot = ist_runtime.boot;
    char why[REASON_BYTES], others[80] = "";
    take_reason(why); /* before the others' cards are read */
    if (lower_pe_reports() || !ist_verdict_agree()) {
        ist_fatal_yield();
        return;
    }
    if (boot->n_pes > 1) snprintf(others, sizeof others, " (of %d PEs)", boot->n_pes);
    print_block(boot->pe, ist_host_name(), why, others);
}

isthmus_status ist_start_agree(isthmus_status failure)
{
    struct ist_runtime *rt = &ist_runtime;
    char key[40];
    isthmus_status status = publish(failure, key, sizeof key);
    if (status == ISTHMUS_OK) status = rt->boot->ops->exchange(rt->boot);
    if (failure == ISTHMUS_OK) failure = status;

    const struct ist_card *first = NULL;
    isthmus_status table = ist_peers_init(rt->boot, key, rt->config.alias && rt->config.atomics != IST_ATOMICS_NIC);
    if (failure == ISTHMUS_OK) failure = table;
    if (failure == ISTHMUS_OK) failure = ist_peer_card(0, &first);
    if (failure == ISTHMUS_OK) failure = compare_with_first(first);
    if (failure == ISTHMUS_OK) failure = ist_start_together(first->heap_limit_bytes);
    if (failure == ISTHMUS_OK) return ISTHMUS_OK;
    report_failed_job();
    return failure;
}
