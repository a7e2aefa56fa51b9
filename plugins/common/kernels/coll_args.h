/* plugins/common/kernels/coll_args.h: the parameter of the kernel in coll_kernel.h, as it is launched. */
#ifndef ISTHMUS_KERNELS_COLL_ARGS_H
#define ISTHMUS_KERNELS_COLL_ARGS_H

#include <isthmus/collective.h>
#include <stdint.h>

/* The most of a launch. All members launch the same number of blocks. */
enum { COLL_BLOCKS = 32, COLL_THREADS = 512 };

/* By value: what is queued refers to nothing of the host's. */
struct coll_args {
    uint32_t what, most; /* ISTHMUS_COLLECTIVE_; members of any team */
    int32_t n, me, root;
    uint32_t op, number, size; /* of elements: ISTHMUS_COMBINE_, ISTHMUS_NUMBER_, bytes */
    uint64_t length;           /* bytes of source; of a block in alltoall and reducescatter */
    char *dest;
    const char *source;
    uint64_t *flags;
    const uint64_t *stop; /* not 0: the job ends */
    int64_t data_delta[ISTHMUS_COLLECTIVE_MEMBERS], flags_delta[ISTHMUS_COLLECTIVE_MEMBERS];
};

/* Flags of a team of up to `most` members. */
static inline uint64_t coll_flag_words(uint32_t most) { return COLL_BLOCKS * ((uint64_t)most + 1); }

#endif
