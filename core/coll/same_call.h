/* core/coll/same_call.h: ISTHMUS_CHECK=1: all members of a team call the same routine with the same arguments.
 * Every collective of the APIs begins with one comparison, so that the first one that differs is found. */
#ifndef IST_COLL_SAME_CALL_H
#define IST_COLL_SAME_CALL_H

#include "core/ops/transfer.h"

/* An argument beside those of the transfer that must be the same on all PEs; without a name: there is none. */
enum { IST_SAME_ARGUMENTS = 3 };
struct ist_same_argument {
    const char *name;
    int64_t value;
};

/* Compares routine, dest and source as places in symmetric memory, length, and the other arguments, which may be NULL.
 * Ends the job with a message that names the PEs and their routines, or the PEs and their arguments. */
void ist_check_same_call(const struct ist_transfer *call, const struct ist_same_argument others[IST_SAME_ARGUMENTS])
    IST_COLD;

#endif
