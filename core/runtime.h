/* core/runtime.h: init and finalize of the whole library, and the state that the APIs read.
 * The composition root is runtime.c; how the job ends is in core/life. */
#ifndef IST_RUNTIME_H
#define IST_RUNTIME_H

#include "core/base/config.h"
#include "core/boot/boot.h"

enum ist_thread_level { IST_THREAD_SINGLE, IST_THREAD_FUNNELED, IST_THREAD_SERIALIZED, IST_THREAD_MULTIPLE };

struct ist_runtime {
    struct ist_config config;
    ist_boot *boot;
    int nesting; /* inits without a finalize so far */
    int thread_level;
    bool finalize_at_exit; /* start_pes: the exit of the program is the finalize */
};

extern struct ist_runtime ist_runtime;

/* Joins the job, or nests one level deeper. `routine` is the program's call, for messages. A failure has been reported,
 * once for the job, when this returns it. */
isthmus_status ist_init(const char *routine, enum ist_face face, int thread_level);

/* Returns the level available that is nearest to the requested one. */
int ist_thread_level_of(int requested);

/* Likewise for the faces' init_thread, at the nearest level; *provided (may be NULL) is set on success only. */
isthmus_status ist_init_thread(const char *routine, enum ist_face face, int requested, int *provided);

/* The same for a program that describes its job: the request is kept for later messages. If the library is initialised
 * already, the request has to match the running job. */
isthmus_status ist_init_job(const char *routine, enum ist_face face, int thread_level,
                            const struct ist_boot_request *request);
void ist_finalize(const char *routine);

/* Ends threads that outlive a finalize, unless the library is initialised: those of the launcher's library. */
void ist_runtime_end_idle_session(void);

_Noreturn void ist_global_exit(int exit_code);

/* Returns true between the first init and the last finalize. Any thread. */
bool ist_is_initialised(void);

/* A child after fork is no PE, whatever it inherits. Called before anything is opened ahead of the first init. */
void ist_runtime_watch_forks(void);

#endif
