/* core/life/start_report.c: a start that failed: one report for the job, which names the first cause. A start that
 * succeeds does not pass through here (agree.c). */
#include "core/life/life.h"
#include "core/life/life_priv.h"

#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/boot/card.h"
#include "core/runtime.h"
#include "core/topo/topo.h"
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
    dprintf(STDERR_FILENO,
            "isthmus: the job cannot start\n"
            "  what     %s\n"
            "  where    %s on %s%s\n"
            "  tried    %s\n"
            "  to fix   correct what the first line names; isthmus-info shows this machine, isthmus-info --env all "
            "settings\n",
            why, pe_text, host, others, used > 0 ? tried : "no transport so far");
}

void ist_start_report_alone(void)
{
    const struct ist_boot_request *request = ist_life_request();
    char why[REASON_BYTES];
    take_reason(why);
    bool is_first = ist_verdict_claim();
    if (is_first) print_block(ist_boot_announced_pe(request), ist_host_name(), why, "");
    /* Without a launcher that ends the others no other PE reports while the first one lives. */
    if (!is_first || !ist_boot_has_launcher(request)) ist_fatal_yield();
}

/* ---- with a bootstrap ---- */

/* Returns true if a PE of a lower number, by its card, has a failure to report. That PE reports. */
static bool lower_pe_reports(void)
{
    const struct ist_card *first, *other;
    if (ist_runtime.boot->pe == 0 || ist_peer_card(0, &first) != ISTHMUS_OK) return false;
    for (int pe = 0; pe < ist_runtime.boot->pe; pe++) {
        if (ist_peer_card(pe, &other) != ISTHMUS_OK) return false;
        if (other->failure != ISTHMUS_OK) return true;
        if (first->agreement[0] == '\0' || other->agreement[0] == '\0') continue; /* in use: trimmed, and has agreed */
        if (ist_agreement_check(other, first) != ISTHMUS_OK) return true;
    }
    return false;
}

/* The culprit reports. Without one it is the lowest PE by its card, or the one that claims the report. */
static bool another_reports(int culprit)
{
    if (culprit >= 0) return ist_runtime.boot->pe != culprit;
    return lower_pe_reports() || !ist_verdict_agree();
}

void ist_start_report_job(int culprit)
{
    const struct ist_boot *boot = ist_runtime.boot;
    char why[REASON_BYTES], others[80] = "";
    take_reason(why); /* before the others' cards are read */
    bool is_silent = another_reports(culprit);
    if (boot->n_pes > 1) snprintf(others, sizeof others, " (of %d PEs)", boot->n_pes);
    if (!is_silent) print_block(boot->pe, ist_host_name(), why, others);
    if (culprit >= 0 && boot->ops->agree != NULL)
        (void)boot->ops->exchange(ist_runtime.boot); /* all have the culprit's card, and it has reported */
    else if (is_silent)
        ist_fatal_yield();
    if (culprit < 0 && boot->n_pes > 1) ist_end_job(EXIT_FAILURE);
}
