/* core/boot/card.c: cards to bytes and back. See card.h.
 * Little-endian numbers and length-prefixed texts, one after the other; the reader checks every length against the
 * bytes left, and every count against its limit. */
#include "core/boot/card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CARD_VERSION = 6 };
static const char MAGIC[4] = {'I', 'S', 'T', 'C'};

void ist_card_use_room(struct ist_card *card, struct ist_card_room *room)
{
    memset(room, 0, sizeof *room);
    card->transports = room->transports;
    card->segments = room->segments;
    for (uint32_t s = 0; s < IST_CARD_MAX_SEGMENTS; s++) room->segments[s].keys = room->keys[s];
}

/* ---- writing: into a buffer that grows ---- */

struct writer {
    uint8_t *bytes;
    size_t used, room;
    isthmus_status status;
};

static void put_bytes(struct writer *w, const void *bytes, size_t n)
{
    if (w->status != ISTHMUS_OK || n == 0) return;
    if (w->used + n > w->room) {
        size_t room = 2 * (w->room + n) + 256;
        uint8_t *grown = realloc(w->bytes, room);
        if (grown == NULL) {
            w->status = ist_fail_memory("%zu bytes", room);
            return;
        }
        w->bytes = grown;
        w->room = room;
    }
    memcpy(w->bytes + w->used, bytes, n);
    w->used += n;
}

static void write_u64(uint8_t out[8], uint64_t value)
{
    for (unsigned i = 0; i < 8; i++) out[i] = (uint8_t)(value >> 8 * i);
}

static void put_u64(struct writer *w, uint64_t value)
{
    uint8_t bytes[8];
    write_u64(bytes, value);
    put_bytes(w, bytes, sizeof bytes);
}

static void put_blob(struct writer *w, const void *bytes, size_t n)
{
    put_u64(w, n);
    put_bytes(w, bytes, n);
}

static void put_text(struct writer *w, const char *text)
{
    put_blob(w, text == NULL ? "" : text, text == NULL ? 1 : strlen(text) + 1); /* the reader points into the buffer */
}

isthmus_status ist_card_write(const struct ist_card *card, void **out, size_t *out_bytes)
{
    struct writer w = {.status = ISTHMUS_OK};
    put_bytes(&w, MAGIC, sizeof MAGIC);
    put_u64(&w, CARD_VERSION);
    /* The PE number is at the same place in all versions, so that a reader of another version can name the PE in its
     * report. */
    put_u64(&w, (uint64_t)card->pe);
    put_text(&w, card->host_name);
    put_u64(&w, (uint64_t)card->pid);
    put_u64(&w, (uint64_t)card->numa_node);
    put_u64(&w, (uint64_t)card->n_cpus);
    put_u64(&w, (uint64_t)(int64_t)card->failure);
    put_text(&w, card->failure_text);
    put_bytes(&w, card->host.bytes, sizeof card->host.bytes);
    put_text(&w, card->executable);
    put_u64(&w, (uint64_t)card->first_on_host);
    put_blob(&w, card->liveness.bytes, card->liveness.length_bytes);
    put_u64(&w, card->heap_limit_bytes);
    put_u64(&w, card->job);
    put_text(&w, card->agreement);
    put_u64(&w, card->n_transports);
    for (uint32_t i = 0; i < card->n_transports; i++) {
        put_text(&w, card->transports[i].name);
        put_u64(&w, card->transports[i].is_sparse);
        put_blob(&w, card->transports[i].card.bytes, card->transports[i].card.length_bytes);
    }
    put_u64(&w, card->n_segments);
    for (uint32_t i = 0; i < card->n_segments; i++) {
        const struct ist_card_segment *segment = &card->segments[i];
        put_u64(&w, segment->id);
        put_u64(&w, segment->kind);
        put_u64(&w, segment->base);
        put_u64(&w, segment->length_bytes);
        put_u64(&w, segment->first_bytes);
        put_u64(&w, segment->layout.build);
        put_u64(&w, segment->layout.variables);
        put_blob(&w, segment->left_out.bytes, segment->left_out.length_bytes);
        for (uint32_t t = 0; t < card->n_transports; t++)
            put_blob(&w, segment->keys[t].bytes, segment->keys[t].length_bytes);
    }
    if (w.status != ISTHMUS_OK) {
        free(w.bytes);
        return w.status;
    }
    *out = w.bytes;
    *out_bytes = w.used;
    return ISTHMUS_OK;
}

/* ---- reading: the input is not trusted ---- */

struct reader {
    const uint8_t *bytes;
    size_t left;
    bool bad;
};

static const void *take_bytes(struct reader *r, size_t n)
{
    if (r->bad || n > r->left) {
        r->bad = true;
        return NULL;
    }
    const void *at = r->bytes;
    r->bytes += n;
    r->left -= n;
    return at;
}

static uint64_t read_u64(const uint8_t bytes[8])
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++) value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static uint64_t take_u64(struct reader *r)
{
    const uint8_t *bytes = take_bytes(r, 8);
    return bytes != NULL ? read_u64(bytes) : 0;
}

static uint32_t take_count(struct reader *r, uint32_t max)
{
    uint64_t n = take_u64(r);
    if (n > max) r->bad = true;
    return r->bad ? 0 : (uint32_t)n;
}

static struct ist_blob take_blob(struct reader *r)
{
    uint64_t n = take_u64(r);
    if (n > r->left) r->bad = true;
    struct ist_blob blob = {.bytes = take_bytes(r, r->bad ? 0 : (size_t)n), .length_bytes = r->bad ? 0 : (uint32_t)n};
    return blob;
}

static const char *take_text(struct reader *r)
{
    struct ist_blob blob = take_blob(r);
    if (blob.bytes == NULL || blob.length_bytes == 0 || memchr(blob.bytes, '\0', blob.length_bytes) == NULL) {
        r->bad = true;
        return "";
    }
    return blob.bytes;
}

static void take_name(struct reader *r, char *out, size_t room)
{
    const char *text = take_text(r);
    size_t length = strlen(text);
    if (length >= room) r->bad = true;
    memset(out, 0, room);
    if (!r->bad) memcpy(out, text, length);
}

/* `seen`: bitmap of the segment numbers already read; each may occur once. */
static void read_segment(struct reader *r, uint32_t n_transports, uint64_t *seen, struct ist_card_segment *out)
{
    out->id = take_count(r, IST_CARD_SEGMENT_IDS - 1);
    out->kind = take_count(r, 31);
    out->base = take_u64(r);
    out->length_bytes = take_u64(r);
    out->first_bytes = take_u64(r);
    out->layout.build = take_u64(r);
    out->layout.variables = take_u64(r);
    out->left_out = take_blob(r);
    if (out->left_out.length_bytes % IST_SPAN_BYTES != 0) r->bad = true;
    if ((*seen >> out->id & 1) != 0) r->bad = true;
    *seen |= (uint64_t)1 << out->id;
    for (uint32_t t = 0; t < n_transports; t++) out->keys[t] = take_blob(r);
}

static void read_body(struct reader *r, struct ist_card *card)
{
    card->pid = (int32_t)take_u64(r);
    card->numa_node = (int32_t)take_u64(r);
    card->n_cpus = (int32_t)take_u64(r);
    card->failure = (isthmus_status)(int64_t)take_u64(r);
    card->failure_text = take_text(r);
    const void *host = take_bytes(r, sizeof card->host.bytes);
    if (host != NULL) memcpy(card->host.bytes, host, sizeof card->host.bytes);
    take_name(r, card->executable, sizeof card->executable);
    card->first_on_host = (int32_t)take_u64(r);
    card->liveness = take_blob(r);
    card->heap_limit_bytes = take_u64(r);
    card->job = take_u64(r);
    card->agreement = take_text(r);
    card->n_transports = take_count(r, IST_CARD_MAX_TRANSPORTS);
    for (uint32_t i = 0; i < card->n_transports; i++) {
        take_name(r, card->transports[i].name, sizeof card->transports[i].name);
        card->transports[i].is_sparse = take_count(r, 1);
        card->transports[i].card = take_blob(r);
    }
    card->n_segments = take_count(r, IST_CARD_MAX_SEGMENTS);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < card->n_segments; i++) read_segment(r, card->n_transports, &seen, &card->segments[i]);
}

/* Shrinks the lists from the size of the largest card to what this card needs. */
static isthmus_status fit_lists(struct ist_card *card)
{
    const size_t n_transports = card->n_transports, n_segments = card->n_segments;
    const size_t transports_bytes = n_transports * sizeof *card->transports;
    const size_t segments_bytes = n_segments * sizeof *card->segments;
    const size_t keys_bytes = n_transports * sizeof *card->segments->keys; /* of a segment */
    char *lists = malloc(transports_bytes + segments_bytes + n_segments * keys_bytes + 1);
    if (lists == NULL) return ist_fail_memory("the lists of the card of PE %d", card->pe);
    struct ist_card_segment *segments = (struct ist_card_segment *)(void *)(lists + transports_bytes);
    memcpy(lists, card->transports, transports_bytes);
    memcpy(segments, card->segments, segments_bytes);
    char *keys = lists + transports_bytes + segments_bytes;
    for (size_t s = 0; s < n_segments; s++, keys += keys_bytes) {
        segments[s].keys = (struct ist_blob *)(void *)keys;
        memcpy(keys, card->segments[s].keys, keys_bytes);
    }
    card->lists = lists;
    card->transports = (struct ist_card_transport *)(void *)lists;
    card->segments = segments;
    return ISTHMUS_OK;
}

isthmus_status ist_card_read(void *buffer, size_t buffer_bytes, struct ist_card *out)
{
    struct reader r = {.bytes = buffer, .left = buffer_bytes};
    const void *magic = take_bytes(&r, sizeof MAGIC);
    uint64_t version = take_u64(&r);
    if (r.bad || memcmp(magic, MAGIC, sizeof MAGIC) != 0) {
        free(buffer);
        return ist_fail(ISTHMUS_ERR_VERSION, "a peer published an invalid card; use one version of Isthmus on all PEs");
    }
    memset(out, 0, sizeof *out);
    out->pe = (int32_t)take_u64(&r);
    take_name(&r, out->host_name, sizeof out->host_name);
    if (version != CARD_VERSION) {
        isthmus_status status = ist_fail(
            ISTHMUS_ERR_VERSION,
            "PE %d on %s has a card of version %llu, but this PE reads version %d; use one version of Isthmus on all "
            "PEs",
            out->pe, r.bad ? "its host" : out->host_name, (unsigned long long)version, CARD_VERSION);
        free(buffer);
        memset(out, 0, sizeof *out);
        return status;
    }
    struct ist_card_room room;
    ist_card_use_room(out, &room);
    read_body(&r, out);
    isthmus_status status =
        r.bad || r.left != 0
            ? ist_fail(
                  ISTHMUS_ERR_VERSION,
                  "a peer's card is damaged: %zu of %zu bytes cannot be read; use one version of Isthmus on all PEs",
                  r.left, buffer_bytes)
            : fit_lists(out);
    if (status != ISTHMUS_OK) {
        free(buffer);
        memset(out, 0, sizeof *out);
        return status;
    }
    out->buffer = buffer;
    return ISTHMUS_OK;
}

/* ---- spans ---- */

void ist_span_write(uint8_t out[IST_SPAN_BYTES], uint64_t offset_bytes, uint64_t length_bytes)
{
    write_u64(out, offset_bytes);
    write_u64(out + 8, length_bytes);
}

bool ist_spans_touch(const struct ist_blob *spans, uint64_t offset_bytes, uint64_t length_bytes)
{
    for (uint32_t at = 0; at < spans->length_bytes; at += IST_SPAN_BYTES) {
        const uint8_t *span = (const uint8_t *)spans->bytes + at;
        const uint64_t start = read_u64(span), span_bytes = read_u64(span + 8);
        if (offset_bytes < start ? length_bytes > start - offset_bytes : offset_bytes - start < span_bytes) return true;
    }
    return false;
}

/* ---- after the peer's segments are attached ---- */

static void move_blob(struct ist_blob *blob, char **to)
{
    if (blob->length_bytes > 0) memcpy(*to, blob->bytes, blob->length_bytes);
    blob->bytes = *to;
    *to += blob->length_bytes;
}

void ist_card_trim(struct ist_card *card)
{
    const size_t list_bytes = card->n_transports * sizeof *card->transports;
    size_t blob_bytes = card->liveness.length_bytes;
    for (uint32_t t = 0; t < card->n_transports; t++) blob_bytes += card->transports[t].card.length_bytes;
    char *kept = malloc(list_bytes + blob_bytes + 1);
    if (kept == NULL) return; /* realloc failed: the buffer keeps its size */
    char *blobs = kept + list_bytes;
    memcpy(kept, card->transports, list_bytes);
    card->transports = (struct ist_card_transport *)(void *)kept;
    for (uint32_t t = 0; t < card->n_transports; t++) move_blob(&card->transports[t].card, &blobs);
    move_blob(&card->liveness, &blobs);
    card->agreement = card->failure_text = "";
    card->segments = NULL;
    card->n_segments = 0;
    free(card->buffer);
    free(card->lists);
    card->buffer = NULL;
    card->lists = kept;
}

void ist_card_fini(struct ist_card *card)
{
    free(card->buffer);
    free(card->lists);
    memset(card, 0, sizeof *card);
}
