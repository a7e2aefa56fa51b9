/* core/life/agree.c: do all PEs start, and with the same settings? See life.h.
 * Every PE puts its card, and all synchronize. PE 0 reads the others' cards only if a PE failed; every other PE reads
 * PE 0's, so that no PE reads n cards in a start that works. */
#include "core/life/life.h"

#include "core/boot/card.h"
#include "core/runtime.h"
#include "core/topo/topo.h"
#include "core/transport/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static isthmus_status publish(const struct ist_card *card, const char *key, isthmus_status failure)
{
    ist_boot *boot = ist_runtime.boot;
    struct ist_card failed = {.pe = boot->pe, .pid = (int32_t)getpid(), .failure = failure};
    if (failure != ISTHMUS_OK) {
        snprintf(failed.host_name, sizeof failed.host_name, "%s", ist_host_name());
        failed.failure_text = ist_fail_text();
        card = &failed;
    }
    void *bytes;
    size_t n_bytes;
    isthmus_status status = ist_card_write(card, &bytes, &n_bytes);
    if (status != ISTHMUS_OK) return status;
    status = boot->ops->put(boot, key, bytes, n_bytes);
    free(bytes);
    return status;
}

/* Compares this PE with PE 0; the message names the PE that differs. */
static isthmus_status compare_with_first(const struct ist_card *card, const struct ist_card *first)
{
    if (first->failure != ISTHMUS_OK)
        return ist_fail(first->failure, "PE 0 on %s: %s", first->host_name, first->failure_text);
    return ist_agreement_check(card, first);
}

isthmus_status ist_agree(const struct ist_card *card, unsigned attempt, isthmus_status failure,
                         const struct ist_card **first)
{
    const struct ist_config *config = &ist_runtime.config;
    ist_boot *boot = ist_runtime.boot;
    char key[40];
    snprintf(key, sizeof key, "isthmus.card.%u", attempt);
    isthmus_status status = publish(card, key, failure);
    if (status == ISTHMUS_OK) status = boot->ops->exchange(boot);
    if (failure == ISTHMUS_OK) failure = status;

    /* After a failure too: the report reads other PEs' cards. */
    status = ist_peers_init(boot, key, config->alias && config->atomics != IST_ATOMICS_NIC);
    if (failure == ISTHMUS_OK) failure = status;
    if (failure == ISTHMUS_OK) failure = ist_peer_card(0, first);
    if (failure == ISTHMUS_OK) failure = compare_with_first(card, *first);
    return failure;
}
