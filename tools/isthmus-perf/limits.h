/* tools/isthmus-perf/limits.h: which limit an operation has, and why it has none. What the limits do is in bare.c,
 * limit_gpu.c and limit_net.c. */
#ifndef ISTHMUS_PERF_LIMITS_H
#define ISTHMUS_PERF_LIMITS_H

#include "tools/isthmus-perf/operations.h"

/* What all measurements of a job share. */
struct limit_job {
    bool is_on_device;     /* the heap */
    bool is_flags_aliased; /* each PE stores to the flags of its partners */
    size_t dest_bytes;     /* of dest and of whole_source */
    size_t private_bytes;  /* of source and private_dest, where they are private */
};

struct limit {
    enum limit_kind kind;
    perf_batch *batch; /* NULL: there is none */
    const char *name;
    struct place place; /* what the batch uses */
    const char *reason; /* why there is none */
};

/* Collective. `lead` is the PE that calls; place and is_same_host count on PEs that take part. */
void limit_choose(const struct limit_job *job, const struct operation *operation, const struct place *place, int lead,
                  bool takes_part, bool is_same_host, struct limit *out);

void limit_close(void); /* collective; accepts any state */

/* What each PE does after it has waited for the others, where `lead` runs the batch or all do. Returns the
 * nanoseconds of one operation; 0 on a PE that does not take part. Not the slowest of all PEs. */
double limit_time(const struct limit *limit, bool is_together, bool takes_part, long reps);

/* Why the last batches of this PE have failed; NULL: they have not. */
const char *limit_failure(const struct limit *limit);

double limit_now_ns(void);

#endif
