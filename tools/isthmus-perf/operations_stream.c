/* tools/isthmus-perf/operations_stream.c: operations in the order of a stream of the GPU whose memory the heap is:
 * many, and one synchronization of the stream. See operations.h. */
#include "tools/isthmus-perf/limit_gpu.h"

#include <nvshmem.h>
#include <nvshmemx.h>

void call_put_on_stream(const struct place *place, long reps)
{
    cudaStream_t stream = (cudaStream_t)limit_gpu_stream();
    for (long i = 0; i < reps; i++)
        nvshmemx_putmem_on_stream(place->dest, place->source, place->size_bytes, place->to, stream);
    limit_gpu_synchronize();
}

void call_get_on_stream(const struct place *place, long reps)
{
    cudaStream_t stream = (cudaStream_t)limit_gpu_stream();
    for (long i = 0; i < reps; i++)
        nvshmemx_getmem_on_stream(place->source, place->dest, place->size_bytes, place->to, stream);
    limit_gpu_synchronize();
}
