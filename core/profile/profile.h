/* core/profile/profile.h: ISTHMUS_PROFILE from init to finalize: this PE's part, and the report of the job, which PE 0
 * writes. What threads record is core/base/recorder.h. */
#ifndef IST_PROFILE_PROFILE_H
#define IST_PROFILE_PROFILE_H

#include "core/base/config.h"
#include "core/base/recorder.h"
#include "core/boot/boot.h"

/* Both return OK without ISTHMUS_PROFILE, and INVALID, with a text that names the variable, if the files cannot be
 * written. The check comes early in a start; the part, FILE.peN, is created once the job starts, before
 * ist_profile_start(). */
isthmus_status ist_profile_check(const struct ist_config *config, const ist_boot *boot);
isthmus_status ist_profile_create(const struct ist_config *config, const ist_boot *boot);

/* Collective over all PEs, at finalize: PE 0 gets all parts and writes the report. */
void ist_profile_report(const struct ist_config *config, const char *routine);

/* Removes the part, unless the report could not be written or finalize was not reached. Takes any state. */
void ist_profile_end_job(void);

#endif
