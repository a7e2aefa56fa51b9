/* core/coll/check.h: ISTHMUS_CHECK=1: do all members of a team call the same thing, with the same arguments?
 * Every collective of the APIs begins with one comparison, so that the first one that differs is found, whatever it is. */
#ifndef IST_COLL_CHECK_H
#define IST_COLL_CHECK_H

#include "core/team/team.h"

extern bool ist_coll_check_on;

/* In `also`: lengths may differ from PE to PE. */
#define IST_CHECK_ANY_LENGTH (UINT64_C(1) << 63)

/* Ends the job with who is where. `dest` and `source` may be NULL; `also` is any other argument. */
void ist_check_meeting(struct ist_team *team, const char *routine, const void *dest, const void *source,
                       size_t length_bytes, uint64_t also) IST_COLD;

/* Ends the job when the two overlap; equal ones are allowed where the routine may work in place. */
void ist_check_overlap(const char *routine, const void *dest, size_t dest_bytes, const void *source,
                       size_t source_bytes, bool may_be_equal) IST_COLD;

#endif
