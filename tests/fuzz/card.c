/* tests/fuzz/card.c: cards, as a PE reads those of others, extents and late segments included. What can be read is
 * written again and must be equal; and two agreements are compared as the start does. */
#include "core/boot/card.h"
#include "tests/fuzz/fuzz.h"

static uint64_t touch(const void *bytes, size_t n_bytes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n_bytes; i++) sum += ((const uint8_t *)bytes)[i];
    return sum;
}

static uint64_t touch_all(const struct ist_card *card)
{
    uint64_t sum = strlen(card->failure_text) + strlen(card->host_name) +
                   touch(card->liveness.bytes, card->liveness.length_bytes);
    for (uint32_t t = 0; t < card->n_transports; t++)
        sum += strlen(card->transports[t].name) +
               touch(card->transports[t].card.bytes, card->transports[t].card.length_bytes);
    for (uint32_t s = 0; s < card->n_segments; s++)
        for (uint32_t t = 0; t < card->n_transports; t++)
            sum += touch(card->segments[s].keys[t].bytes, card->segments[s].keys[t].length_bytes);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ist_card mine = {.agreement = "a\t1\nb\t2\tc\ntransports\tloopback\n"};
    struct ist_card card, again;
    void *bytes = NULL;
    size_t n_bytes = 0;
    if (ist_card_read(fuzz_copy(data, size), size, &card) != ISTHMUS_OK) return 0;
    (void)ist_agreement_check(&mine, &card);
    (void)ist_agreement_check(&card, &mine);
    if (ist_card_write(&card, &bytes, &n_bytes) != ISTHMUS_OK || ist_card_read(bytes, n_bytes, &again) != ISTHMUS_OK ||
        touch_all(&card) != touch_all(&again) || again.n_segments != card.n_segments)
        abort();
    ist_card_fini(&again);
    ist_card_fini(&card);
    return 0;
}

size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    struct ist_card card = {.pe = 3, .pid = 4711, .numa_node = -1, .host_name = "node17", .agreement = "a\t1\nb\t3\n"};
    void *bytes = NULL;
    size_t n_bytes = 0;
    if (i > 2) return 0;
    if (i == 1) {
        card.failure = ISTHMUS_ERR_IO;
        card.failure_text = "no heap";
    }
    static struct ist_card_room lists;
    ist_card_use_room(&card, &lists);
    card.n_transports = i;
    card.n_segments = 2 * i;
    for (uint32_t t = 0; t < i; t++) {
        snprintf(card.transports[t].name, sizeof card.transports[t].name, "transport%u", t);
        card.transports[t].card = (struct ist_blob){"card", 5};
    }
    for (uint32_t s = 0; s < card.n_segments; s++) {
        card.segments[s].id = s;
        card.segments[s].base = 0x7f0000000000u;
        card.segments[s].length_bytes = 4096;
        for (uint32_t t = 0; t < i; t++) card.segments[s].keys[t] = (struct ist_blob){"key", 4};
    }
    if (ist_card_write(&card, &bytes, &n_bytes) != ISTHMUS_OK) abort();
    n_bytes = fuzz_put(out, room, bytes, n_bytes);
    free(bytes);
    return n_bytes;
}
