/* core/coll/same_call.h: ISTHMUS_CHECK=1: all members of a team call the same routine with the same arguments.
 * Every collective of the APIs begins with one comparison, so that the first one that differs is found. */
#ifndef IST_COLL_SAME_CALL_H
#define IST_COLL_SAME_CALL_H

#include "core/ops/target.h"

/* The program's call, as far as it must be the same on all PEs. Fields that a routine does not use are 0. */
enum { IST_CHECK_VALUES = 3 };
struct ist_checked_call {
    const char *routine;
    const void *dest, *source; /* compared as places in symmetric memory */
    size_t length_bytes;
    bool any_length; /* each PE may pass a length of its own */
    struct {
        const char *name; /* of the argument */
        int64_t value;
    } other[IST_CHECK_VALUES];
};

/* Ends the job with a message that names the PEs and their routines, or the PEs and their arguments. */
void ist_check_same_call(struct ist_team *team, const struct ist_checked_call *call) IST_COLD;

#endif
