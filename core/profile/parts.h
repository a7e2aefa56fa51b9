/* core/profile/parts.h: the report from parts that a job has left. */
#ifndef IST_PROFILE_PARTS_H
#define IST_PROFILE_PARTS_H

#include <isthmus/transport.h>

/* Writes the report from FILE.pe0, FILE.pe1 and so on, as many as there are, which it leaves, and prints the summary on
 * stdout. Failures have been reported by ist_fail(). */
isthmus_status ist_profile_report_parts(const char *file);

#endif
