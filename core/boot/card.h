/* core/boot/card.h: what a PE publishes so that others can reach it.
 * Neither the exchange (boot.h) nor the meaning of a transport's part (known to that transport only).
 * The format is bytes, not structs: the reader may be of another build, and nothing from a peer is trusted. */
#ifndef IST_BOOT_CARD_H
#define IST_BOOT_CARD_H

#include "core/base/config.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    IST_CARD_MAX_TRANSPORTS = 16,
    IST_CARD_MAX_SEGMENTS = 16, /* in one card */
    /* Segment ids are below this bound. They include late segments, each of which has a card of its own. */
    IST_CARD_SEGMENT_IDS = 64,
    IST_CARD_NAME_BYTES = 16,
    IST_CARD_HOST_NAME_BYTES = 64,
    IST_CARD_EXECUTABLE_BYTES = 64
};

/* A piece of a card; `bytes` lies in the card's own buffer. */
struct ist_blob {
    const void *bytes;
    uint32_t length_bytes;
};

struct ist_card_transport {
    char name[IST_CARD_NAME_BYTES];
    /* 1: a segment's key covers all of it. 0: only its first extent; keys of later extents are published as it
     * grows. */
    uint32_t is_sparse;
    struct ist_blob card;
};

/* Where the variables of static data lie. All zero: the segment has no variables. */
struct ist_layout {
    uint64_t build;     /* a hash of the object's build id; 0: it has none */
    uint64_t variables; /* one of the names, sizes and places of its variables, as far as it has symbols */
};

static inline bool ist_layout_is_equal(const struct ist_layout *a, const struct ist_layout *b)
{
    return a->build == b->build && a->build != 0 ? true : a->variables == b->variables;
}

/* Ranges of a segment that are no symmetric memory: pages of static data that a program has protected or mapped anew
 * before init. As bytes, because they are kept as they are sent; each PE has its own. */
enum { IST_SPAN_BYTES = 16 };
void ist_span_write(uint8_t out[IST_SPAN_BYTES], uint64_t offset_bytes, uint64_t length_bytes);
bool ist_spans_touch(const struct ist_blob *spans, uint64_t offset_bytes, uint64_t length_bytes);

struct ist_card_segment {
    uint32_t id;   /* the same number means the same segment on every PE */
    uint32_t kind; /* ISTHMUS_MEM_ */
    uint64_t base, length_bytes;
    uint64_t first_bytes; /* length of the first extent */
    struct ist_layout layout;
    struct ist_blob left_out; /* spans */
    struct ist_blob *keys;    /* by the card's transports; empty: not exposed through it */
};

struct ist_card {
    int32_t pe, pid, numa_node;
    /* CPUs that this PE sees. All PEs of a host use the number on the card of its first PE. */
    int32_t n_cpus;
    isthmus_status failure;   /* not OK: this PE could not start; failure_text is the reason, the rest is empty */
    const char *failure_text; /* else why a transport could not be opened; empty: none */
    struct isthmus_host_id host;
    char host_name[IST_CARD_HOST_NAME_BYTES];
    char executable[IST_CARD_EXECUTABLE_BYTES]; /* its file's name, for messages */
    int32_t first_on_host;                      /* the lowest PE that the launcher put on its node */
    struct ist_blob liveness;                   /* address of its heartbeat receiver; empty: none */
    uint64_t heap_limit_bytes;                  /* how far the heap may grow */
    uint64_t job;          /* a random number; PE 0's is that of the job, and no other job has it */
    const char *agreement; /* what must be equal on all PEs, as text (agreement.c) */
    uint32_t n_transports, n_segments;
    struct ist_card_transport *transports;
    struct ist_card_segment *segments;
    void *buffer; /* of a card that was read: texts and blobs point into it */
    void *lists;  /* of a card that was read: memory of the lists */
};

/* Lists that hold the largest card, for a card about to be written: a card that was read has lists of its own
 * length. */
struct ist_card_room {
    struct ist_card_transport transports[IST_CARD_MAX_TRANSPORTS];
    struct ist_card_segment segments[IST_CARD_MAX_SEGMENTS];
    struct ist_blob keys[IST_CARD_MAX_SEGMENTS][IST_CARD_MAX_TRANSPORTS];
};
/* Clears `room` and lends it to the card. */
void ist_card_use_room(struct ist_card *card, struct ist_card_room *room);

/* Writes a card to bytes; *out is malloc'ed for the caller. */
isthmus_status ist_card_write(const struct ist_card *card, void **out, size_t *out_bytes);

/* Reads a card from bytes. Takes ownership of `buffer` (malloc'ed), also on failure. Returns VERSION if it is not a
 * card that this build can read. */
isthmus_status ist_card_read(void *buffer, size_t buffer_bytes, struct ist_card *out);
void ist_card_fini(struct ist_card *card); /* accepts a zeroed card */

/* Frees what is not needed once the segments are attached: the segments with their keys, and the texts. */
void ist_card_trim(struct ist_card *card);

/* ---- what must be equal on all PEs of a job, as text on each PE's card (agreement.c) ----
 * Not which settings these are (the column `of` in core/base/config.def), not the exchange of the cards (boot.h). */

enum { IST_AGREEMENT_BYTES = 4096 };

/* The subject of the fact that follows from what failure_text of a card reports. */
#define IST_FACT_TRANSPORTS "the list of open transports"

/* What must be equal and is no setting: it follows from the machine or from the plugins. */
struct ist_fact {
    const char *subject; /* of a sentence that goes on with "is": "the list of open transports" */
    const char *value;   /* without tabs and line ends */
};

/* Writes the version of the library, the settings that all PEs need alike, and the facts. Returns LIMIT if they do not
 * fit. */
isthmus_status ist_agreement_write(const struct ist_config *config, const struct ist_fact *facts, size_t n_facts,
                                   char out[IST_AGREEMENT_BYTES]);

/* Compares the agreements on two cards. Returns INVALID, with a text that names the first variable or fact in which
 * they differ, its two values and the two PEs. */
isthmus_status ist_agreement_check(const struct ist_card *mine, const struct ist_card *theirs);

#endif
