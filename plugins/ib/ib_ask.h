/* plugins/ib/ib_ask.h: what PEs ask of one another about memory of devices, and answer. Active messages of UCX: a header, and what
 * is put or was got behind it. ib_ask.c asks, ib_stage.c answers.
 * Never trusted: whoever gets one looks at every field. Builds of different processors do not talk to one another (ib_frame.h). */
#ifndef ISTHMUS_IB_ASK_H
#define ISTHMUS_IB_ASK_H

#include "plugins/ib/ib_pieces.h"

enum { IB_MESSAGE_ASK = 1, IB_MESSAGE_ANSWER = 2 };      /* UCX's numbers of kinds of messages */
enum { IB_ASK_PUT = 1, IB_ASK_GET = 2, IB_ASK_AMO = 3 }; /* what is asked for; of data a piece at most */
enum { IB_REASON_BYTES = 200 };                          /* most of the text of an answer that refuses */

struct ib_ask_head {
    uint32_t number; /* comes back in the answer */
    uint32_t what, kind, length_bytes;
    uint64_t address;
    uint32_t op, bits; /* from here on of an AMO */
    uint64_t operand, compare;
};

struct ib_answer_head {
    uint32_t number;
    int32_t status;   /* not OK: the payload says why */
    uint64_t fetched; /* of an AMO */
};

#endif
