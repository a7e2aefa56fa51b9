/* tools/isthmus-check-transport/collectives.h: a collective of collectives.1 as the cases describe it, its numbers, and
 * the memory that all processes have for it. */
#ifndef CONTRACT_COLLECTIVES_H
#define CONTRACT_COLLECTIVES_H

#include "contract.h"

#include <isthmus/collective.h>

enum {
    CT_COLL_MOST = 20000,                           /* bytes of a source or block */
    CT_COLL_ROOM = CT_COLL_MOST * CT_MAX_PROCESSES, /* of all blocks */
    CT_COLL_BYTES = 2 * CT_COLL_ROOM + 1024
};

struct ct_coll_call {
    uint32_t what, op, number, size_bytes; /* size_bytes 0: no reduction */
    int root;
    size_t length_bytes, lean_bytes; /* lean: both addresses are that much more than a multiple of 16 */
    bool is_in_place;
};

/* ---- numbers: small ones, which every type holds without rounding ---- */

struct ct_number {
    int64_t real, imaginary;
};

bool ct_number_exists(const struct ct_coll_call *call); /* elements of that size, and the operation on them */
struct ct_number ct_number_of(const struct ct_coll_call *call, int member, size_t k);
struct ct_number ct_number_combine(const struct ct_coll_call *call, struct ct_number a, struct ct_number b);
void ct_number_put(const struct ct_coll_call *call, struct ct_number number, uint8_t *out);

/* ---- collectives ----
 * Two teams of all processes: process i is member i. Their flags lie side by side, with a guard behind them. */

struct ct_colls {
    struct ct_process *p;
    const struct isthmus_collectives *group;
    const struct isthmus_stream *stream;
    const struct isthmus_kernels *kernels;
    struct ct_extent data, flags;
    struct ct_channel channel;
    uint64_t flag_words;
    void *stop, *stop_view;
    struct ct_longer_member {
        struct isthmus_collective_member member;
        struct isthmus_collective_member newer; /* entries of the list are longer than a plugin knows */
    } members[CT_MAX_PROCESSES];
    bool by_start; /* the way of the next one: start and test, or enqueue and complete */
};

void ct_colls_open(struct ct_colls *c, struct ct_process *p); /* skips the case where the group is not there */
void ct_colls_close(struct ct_colls *c);                      /* checks that nothing is written behind the flags */

bool ct_coll_has_way(const struct ct_colls *c);
const char *ct_coll_slot(const struct ct_colls *c); /* of that way */

/* dest, source: offsets in c->data. */
struct isthmus_collective ct_coll_describe(const struct ct_colls *c, int team, const struct ct_coll_call *call,
                                           size_t dest, size_t source);
void ct_coll_run(const struct ct_colls *c, const struct isthmus_collective *what); /* returns when it is done */
void ct_coll_await(const struct ct_colls *c, uint64_t ticket);

uint64_t ct_coll_digest(const uint8_t *bytes, size_t n_bytes);

#endif
