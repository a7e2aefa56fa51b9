/* tools/isthmus-perf/measure.h: one figure beside its limit. Collective: the PE that measures and those that wait
 * for it go through the same steps. */
#ifndef ISTHMUS_PERF_MEASURE_H
#define ISTHMUS_PERF_MEASURE_H

#include "tools/isthmus-perf/operations.h"
#include "tools/isthmus-perf/options.h"
#include "tools/isthmus-perf/results.h"

/* Collective. Gathers facts and allocates the buffers. Returns false, on all PEs, if there is no memory. */
bool measure_open(const struct options *options);
void measure_close(void); /* collective; accepts any state */

/* Returns false if the blocks of this operation would need more memory than is allocated: it is left out. */
bool measure_has_room(const struct operation *operation, uint64_t size_bytes);

/* Collective. Operations of all PEs ignore `from` and `to`. *out is set on PE 0 only. */
void measure(const struct operation *operation, int from, int to, uint64_t size_bytes, struct result *out);

/* Returns false if there are no streams for this operation: it is left out. The same on all PEs. */
bool measure_can(const struct operation *operation);

/* The file of a library that stands for hardware here (doubles.h); "": none does. */
const char *measure_double(void);

/* This PE's heap is in the memory of a device. */
bool measure_is_on_device(void);

#endif
