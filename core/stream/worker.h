/* core/stream/worker.h: the threads that run items. Not which items there are, nor their order (item.h). */
#ifndef IST_STREAM_WORKER_H
#define IST_STREAM_WORKER_H

#include "core/stream/item.h"

struct ist_item {
    struct ist_stream_call call;
    struct ist_item_done *done;
    uint64_t *word; /* on the device */
    uint64_t turn;  /* the word's value when this use of the item is over; it only grows */
    struct ist_item *next;
};

/* item.c; on a worker: the call; then the stream goes on, and the item is gone. */
void ist_item_run(struct ist_item *item);
void ist_item_end(struct ist_item *item);

/* The host function of an item: returns at once, and calls no platform. */
void ist_worker_may_run(void *item);

void ist_workers_begin(const char *routine); /* starts at least one thread, or ends the job */
void ist_workers_end(void);                  /* nothing is left to run; takes any state */

#endif
