/* isthmus/amo_op.h: the atomic operations by number: in the plugin ABI, and in the fast paths that are compiled into
 * programs. Numbers are never reused; new ones are added before the count. */
#ifndef ISTHMUS_AMO_OP_H
#define ISTHMUS_AMO_OP_H

enum {
    ISTHMUS_AMO_FETCH = 0,
    ISTHMUS_AMO_SET = 1,
    ISTHMUS_AMO_SWAP = 2,
    ISTHMUS_AMO_COMPARE_SWAP = 3,
    ISTHMUS_AMO_ADD = 4,
    ISTHMUS_AMO_AND = 5,
    ISTHMUS_AMO_OR = 6,
    ISTHMUS_AMO_XOR = 7,
    ISTHMUS_AMO_COUNT = 8
};

#endif
