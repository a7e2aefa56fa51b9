/* core/coll/check.h: ISTHMUS_CHECK=1: do all members of a team call the same thing, with the same arguments?
 * Every collective of the APIs begins with one comparison, so that the first one that differs is found, whatever it is. */
#ifndef IST_COLL_CHECK_H
#define IST_COLL_CHECK_H

#include "core/ops/target.h"

/* In `also`: lengths may differ from PE to PE. */
#define IST_CHECK_ANY_LENGTH (UINT64_C(1) << 63)

/* Ends the job with who is where. `dest` and `source` may be NULL; `also` is any other argument. */
void ist_check_meeting(struct ist_team *team, const char *routine, const void *dest, const void *source,
                       size_t length_bytes, uint64_t also) IST_COLD;

#endif
