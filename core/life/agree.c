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

/* What the PEs of a bootstrap that compares words need alike; 0 for a PE that has failed. */
static uint32_t word_of(const struct ist_card *card, isthmus_status failure)
{
    uint32_t sum = 2166136261u; /* FNV-1a */
    if (failure != ISTHMUS_OK) return 0;
    for (const char *at = card->agreement; *at != '\0'; at++) sum = (sum ^ (uint8_t)*at) * 16777619u;
    return sum != 0 ? sum : 1;
}

/* Waits for all PEs. *odd: `agree` of boot.h. */
static isthmus_status meet(uint32_t word, int *odd)
{
    ist_boot *boot = ist_runtime.boot;
    *odd = -1;
    return boot->ops->agree != NULL ? boot->ops->agree(boot, word, odd) : boot->ops->exchange(boot);
}

/* Compares a PE with PE 0; the message names the one that has failed or differs. */
static isthmus_status compare(const struct ist_card *card, const struct ist_card *first)
{
    const struct ist_card *failed = first->failure != ISTHMUS_OK ? first : card;
    if (failed->failure != ISTHMUS_OK)
        return ist_fail(failed->failure, "PE %d on %s: %s", failed->pe, failed->host_name, failed->failure_text);
    return ist_agreement_check(card, first);
}

/* Every PE finds the same. */
static isthmus_status compare_odd(int odd, const struct ist_card *first)
{
    const struct ist_card *card;
    isthmus_status status = ist_peer_card(odd, &card);
    if (status == ISTHMUS_OK) status = compare(card, first);
    return status != ISTHMUS_OK ? status : ist_fail(ISTHMUS_ERR_INVALID, "PE %d differs from PE 0", odd);
}

isthmus_status ist_agree(const struct ist_card *card, unsigned attempt, isthmus_status failure,
                         const struct ist_card **first, int *culprit)
{
    const struct ist_config *config = &ist_runtime.config;
    ist_boot *boot = ist_runtime.boot;
    char key[40], kept[512];
    *culprit = -1;
    snprintf(key, sizeof key, "isthmus.card.%u", attempt);
    isthmus_status status = publish(card, key, failure);
    if (status != ISTHMUS_OK) return failure != ISTHMUS_OK ? failure : status;
    snprintf(kept, sizeof kept, "%s", failure != ISTHMUS_OK ? ist_fail_text() : "");
    status = meet(word_of(card, failure), culprit);

    /* After a failure too: the report reads other PEs' cards. */
    if (status == ISTHMUS_OK) status = ist_peers_init(boot, key, config->alias && config->atomics != IST_ATOMICS_NIC);
    if (status == ISTHMUS_OK) status = ist_peer_card(0, first);
    if (status == ISTHMUS_OK && (*first)->failure != ISTHMUS_OK) *culprit = 0; /* which all PEs see */
    if (failure != ISTHMUS_OK) return ist_fail(failure, "%s", kept);
    if (status == ISTHMUS_OK) status = *culprit > 0 ? compare_odd(*culprit, *first) : compare(card, *first);
    return status;
}
