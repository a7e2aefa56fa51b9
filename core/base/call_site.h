/* core/base/call_site.h: the place in the program from which the current library call was made. For messages. */
#ifndef IST_BASE_CALL_SITE_H
#define IST_BASE_CALL_SITE_H

#include <stddef.h>

/* Returns an address in the program's call instruction, or NULL if the frames do not show one. */
const void *ist_caller(void);

/* Writes "; called in main (a.out+0x11d4)", for addr2line; "" for NULL. */
void ist_call_site_of(const void *caller, char *out, size_t room);

/* Writes the call site of the current call. */
void ist_call_site(char *out, size_t room);

#endif
