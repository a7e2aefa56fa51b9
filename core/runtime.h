/* core/runtime.h: init and finalize of the whole library, and the state that the APIs read.
 * The composition root is runtime.c; how the job ends is in core/life. */
#ifndef IST_RUNTIME_H
#define IST_RUNTIME_H

#include "core/base/config.h"
#include "core/boot/boot.h"
#include "core/boot/card.h"

enum ist_thread_level { IST_THREAD_SINGLE, IST_THREAD_FUNNELED, IST_THREAD_SERIALIZED, IST_THREAD_MULTIPLE };

struct ist_runtime {
    struct ist_config config;
    struct ist_boot_request request; /* the program's description of its job */
    ist_boot *boot;
    struct ist_card card; /* this PE's own; its blobs point into card_room */
    struct ist_card_room card_lists;
    uint8_t *card_room;
    char agreement[1024]; /* what must be equal on all PEs */
    int nesting;          /* inits without a finalize so far */
    int thread_level;
    bool arrivals_wake;    /* every arrival from a network wakes this PE */
    unsigned generation;   /* how often the library was initialised before */
    bool finalize_at_exit; /* start_pes: the exit of the program is the finalize */
};

extern struct ist_runtime ist_runtime;

/* Joins the job, or nests one level deeper. `routine` is the program's call, for messages. A failure has been reported,
 * once for the job, when this returns it. */
isthmus_status ist_init(const char *routine, enum ist_face face, int thread_level);

/* The same for the faces' init_thread: chooses the nearest level available; *provided (may be NULL) is set on success
 * only. */
isthmus_status ist_init_thread(const char *routine, enum ist_face face, int requested, int *provided);

/* The same for a program that describes its job: the request is kept for later messages. If the library is initialised
 * already, the request has to match the running job. */
isthmus_status ist_init_job(const char *routine, enum ist_face face, int thread_level,
                            const struct ist_boot_request *request);
void ist_finalize(const char *routine);

_Noreturn void ist_global_exit(int exit_code);

/* Returns true between the first init and the last finalize. Any thread. */
bool ist_is_initialised(void);

/* ---- parts ---- */

/* start_report.c: the agreement on the start, and one report for the job. `failure` not OK: this PE cannot start. Does
 * not return if any PE failed and `routine` is not allowed to fail. */
isthmus_status ist_start_agree(isthmus_status failure);
void ist_start_report_alone(isthmus_status failure);

/* A child after fork is no PE, whatever it inherits. Called before anything is opened ahead of the first init. */
void ist_runtime_watch_forks(void);

/* runtime.c: the steps after the exchange. */
isthmus_status ist_start_together(uint64_t heap_limit_bytes);

#endif
