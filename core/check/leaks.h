/* core/check/leaks.h: what the program has created and not released when it finalizes. */
#ifndef IST_CHECK_LEAKS_H
#define IST_CHECK_LEAKS_H

void ist_leaks_report(void);

#endif
