/* tests/contract/planted.h: a transport with one bug: loopback, changed as PLANTED_BUG specifies.
 * The exported table is loopback's, changed in a few places; its objects are handed on as they are. */
#ifndef TESTS_CONTRACT_PLANTED_H
#define TESTS_CONTRACT_PLANTED_H

#include <stdbool.h>

/* The table is filled in when the plugin is loaded: it is not the constant that the header declares. */
#define isthmus_transport_v1 declared_by_the_header
#include <isthmus/transport.h>
#undef isthmus_transport_v1

extern const struct isthmus_transport *planted_base;
extern const struct isthmus_services *planted_services;

bool planted_has(const char *bug);

/* planted_data.c */
isthmus_status planted_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                    struct isthmus_data_ops *ops);
void planted_data_progress(void);     /* in every progress() */
void planted_wait_for_progress(void); /* until it was called */

/* planted_growing.c */
const void *planted_growing_extension(const char *name); /* NULL: without these bugs there is none of that name */
void planted_mem_free(isthmus_tr *tr, const struct isthmus_mem *mem);

/* planted_kernels.c */
const void *planted_kernels_extension(const char *name);

/* planted_collectives.c */
bool planted_has_collectives(void); /* one of these bugs */
const void *planted_collectives_extension(const char *name);

/* planted_signal.c */
void planted_signal_slots(struct isthmus_data_ops *ops); /* of the base, complete */

/* planted_commit.c. Puts and gets are its own then. */
void planted_commit_slots(isthmus_chan **chan, struct isthmus_data_ops *ops);

/* planted_order.c. Puts and gets are its own then. */
void planted_order_slots(isthmus_chan **chan, struct isthmus_data_ops *ops);

/* planted_held.c */
void planted_held_slots(struct isthmus_data_ops *ops);

/* planted_extents.c */
void planted_exposed(const struct isthmus_mem *mem, void *key, size_t *key_bytes); /* after an expose() */
void planted_extents_slots(struct isthmus_data_ops *ops);

/* planted_small.c */
void planted_small_slots(struct isthmus_data_ops *ops);
void planted_attached(const isthmus_rmem *rmem, const void *key, size_t key_bytes);
void planted_detached(const isthmus_rmem *rmem);

/* planted_more.c */
void planted_more_slots(struct isthmus_data_ops *ops);

#endif
