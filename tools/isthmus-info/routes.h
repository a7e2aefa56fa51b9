/* tools/isthmus-info/routes.h: which transport carries what between the PEs of a job, gathered from all of them on PE
 * 0. Routes that are alike are one kind; the matrix holds the number of the kind. */
#ifndef ISTHMUS_INFO_ROUTES_H
#define ISTHMUS_INFO_ROUTES_H

#include "core/base/json.h"
#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    MAX_KINDS = 52,
    NO_ROUTE = 255,
    MAX_MEMORIES = 2,
    ROUTE_HOW_BYTES = 160,
    ROUTE_NAME_BYTES = 16,
    REASON_BYTES = 256,
    HOST_NAME_BYTES = 64,
    DEVICE_NAME_BYTES = 72,
    DEVICE_TEXT_BYTES = 160
};

struct route_kind {
    char carrier[ROUTE_NAME_BYTES]; /* of puts and gets */
    char atomics[ROUTE_NAME_BYTES]; /* of atomics; "": no transport executes them */
    uint32_t latency_ns, visibility, atomics_domain;
    uint32_t is_aliased; /* loads and stores reach the peer; 0 although the capability is there: ISTHMUS_ALIAS is off */
    uint64_t bandwidth_bytes_per_s, caps;
    char how[ROUTE_HOW_BYTES]; /* the transport's own words; "": it has none */
};

/* The reason why a transport does not carry puts and gets from one PE to another. */
struct route_reason {
    char transport[ROUTE_NAME_BYTES], text[REASON_BYTES];
    int32_t pe, peer; /* the first pair that it holds for */
    uint32_t n_pairs;
};

/* The devices of a PE's transport. Equal ones on several PEs are printed once, with the PEs. */
struct route_device {
    char transport[ROUTE_NAME_BYTES], name[DEVICE_NAME_BYTES], what[DEVICE_TEXT_BYTES], why[DEVICE_TEXT_BYTES];
};

/* Where a PE is, and its heap. */
struct route_host {
    struct isthmus_host_id id;
    char name[HOST_NAME_BYTES];
    int32_t heap_device;  /* -1: on the host */
    uint32_t is_examined; /* the PE was started with --doctor */
};

struct routes {
    int pe, n_pes; /* of this process; the rest is filled in on PE 0 only */
    uint32_t
        memories[MAX_MEMORIES]; /* ISTHMUS_MEM_ of each matrix: the host's, and that of the heap if it lies elsewhere */
    uint32_t n_memories;
    uint8_t *matrix;          /* [(memory * n_pes + from) * n_pes + to]: number of a kind, or NO_ROUTE */
    struct route_host *hosts; /* by PE */
    struct route_kind kinds[MAX_KINDS];
    struct route_reason *reasons;
    struct route_device *devices;
    struct route_use {
        int32_t pe;
        uint32_t device;
    } * uses; /* by PE */
    uint32_t n_kinds, n_reasons, n_devices, n_uses;
};

static inline uint8_t *routes_entry(const struct routes *routes, size_t memory, int from, int to)
{
    size_t n = (size_t)routes->n_pes;
    return &routes->matrix[(memory * n + (size_t)from) * n + (size_t)to];
}

/* Starts the library. A failed start has been reported when this returns it. */
isthmus_status routes_start(struct routes *out);

/* Collective. Gets the row, gathers; what each PE has published before can be got then. */
isthmus_status routes_gather(bool is_examined, struct routes *out);

/* All PEs have read what they need. The library stays up until the process exits: its finalize would synchronise
 * through the transports, and may not reach the others, which may be just what the report shows. */
void routes_end(struct routes *routes);

void routes_text(const struct routes *routes);
void routes_json(struct ist_json *json, const struct routes *routes);

#endif
