/* plugins/ib/am/am_device.h: requests and replies of PEs for memory of devices. Active messages of UCX: a header, and behind
 * it the data of a put or get. am_device.c requests, am_stage.c replies.
 * Never trusted: the receiver checks every field. Builds for different processors do not communicate (ib_frame.h). */
#ifndef ISTHMUS_IB_ASK_H
#define ISTHMUS_IB_ASK_H

#include "plugins/ib/am/am_bounce.h"

enum { IB_MESSAGE_ASK = 1, IB_MESSAGE_ANSWER = 2 };      /* UCX's numbers of kinds of messages */
enum { IB_ASK_PUT = 1, IB_ASK_GET = 2, IB_ASK_AMO = 3 }; /* the operation; of data a piece at most */
enum { IB_REASON_BYTES = 200 };                          /* the longest text of a reply that refuses */

struct ib_ask_head {
    uint32_t number; /* returned in the reply */
    uint32_t what, kind, length_bytes;
    uint64_t address;
    uint32_t op, bits; /* from here on of an AMO */
    uint64_t operand, compare;
};

struct ib_answer_head {
    uint32_t number;
    int32_t status;   /* not OK: the payload is the reason */
    uint64_t fetched; /* of an AMO */
};

#endif
