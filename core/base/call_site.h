/* core/base/call_site.h: where in the program the call is that the library is working on. For messages. */
#ifndef IST_BASE_CALL_SITE_H
#define IST_BASE_CALL_SITE_H

#include <stddef.h>

/* In the program's code, in the call itself; NULL: the frames do not tell. */
const void *ist_caller(void);

/* "; called in main (a.out+0x11d4)", for addr2line; "" for NULL. */
void ist_call_site_of(const void *caller, char *out, size_t room);

/* Both in one. */
void ist_call_site(char *out, size_t room);

#endif
