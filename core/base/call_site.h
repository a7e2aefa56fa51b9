/* core/base/call_site.h: where in the program the call is that the library is working on. For messages. */
#ifndef IST_BASE_CALL_SITE_H
#define IST_BASE_CALL_SITE_H

#include <stddef.h>

/* "; called in main (a.out+0x11d4)", for addr2line; "" when the frames do not tell. */
void ist_call_site(char *out, size_t room);

#endif
