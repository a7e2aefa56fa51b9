/* core/profile/profile.h: ISTHMUS_PROFILE from init to finalize: this PE's part, and the report of the job, which PE 0
 * writes. What threads record is core/base/recorder.h. */
#ifndef IST_PROFILE_PROFILE_H
#define IST_PROFILE_PROFILE_H

#include "core/base/config.h"
#include "core/base/recorder.h"
#include "core/boot/boot.h"

/* Creates this PE's part, FILE.peN. The transports are open. INVALID: the text names the variable. */
isthmus_status ist_profile_begin_job(const struct ist_config *config, const ist_boot *boot);

/* Collective over all PEs, at finalize: PE 0 gets all parts and writes the report. */
void ist_profile_report(const struct ist_config *config, const char *routine);

/* Removes the part, unless the report could not be written or finalize was not reached. Takes any state. */
void ist_profile_end_job(void);

#endif
