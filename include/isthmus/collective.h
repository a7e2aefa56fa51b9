/* isthmus/collective.h: collectives, and what they combine, by number: in the plugin ABI (collectives.1), and in the
 * kernels that execute them. Numbers are never reused. */
#ifndef ISTHMUS_COLLECTIVE_H
#define ISTHMUS_COLLECTIVE_H

/* What a collective does. */
enum {
    ISTHMUS_COLLECTIVE_SYNC = 0,
    ISTHMUS_COLLECTIVE_BROADCAST = 1,
    ISTHMUS_COLLECTIVE_FCOLLECT = 2,
    ISTHMUS_COLLECTIVE_ALLTOALL = 3,
    ISTHMUS_COLLECTIVE_REDUCE = 4,
    ISTHMUS_COLLECTIVE_REDUCESCATTER = 5
};

/* How a reduction combines two elements. Sums and products of integers wrap. */
enum {
    ISTHMUS_COMBINE_AND = 0,
    ISTHMUS_COMBINE_OR = 1,
    ISTHMUS_COMBINE_XOR = 2,
    ISTHMUS_COMBINE_MAX = 3,
    ISTHMUS_COMBINE_MIN = 4,
    ISTHMUS_COMBINE_SUM = 5,
    ISTHMUS_COMBINE_PROD = 6
};

/* What the elements are. */
enum {
    ISTHMUS_NUMBER_UNSIGNED = 0,
    ISTHMUS_NUMBER_SIGNED = 1,
    ISTHMUS_NUMBER_FLOAT = 2,  /* of 4 or 8 bytes */
    ISTHMUS_NUMBER_HALF = 3,   /* of 2 bytes, 5 bits of exponent; combined in float, rounded to nearest even */
    ISTHMUS_NUMBER_BFLOAT = 4, /* of 2 bytes, 8 bits of exponent; likewise */
    ISTHMUS_NUMBER_COMPLEX = 5 /* of 8 or 16 bytes: two floats or doubles; products only */
};

enum { ISTHMUS_COLLECTIVE_MEMBERS = 64 }; /* the largest number of members */

#endif
