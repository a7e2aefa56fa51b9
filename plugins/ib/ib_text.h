/* plugins/ib/ib_text.h: a text that is put together piece by piece in a buffer of fixed size. */
#ifndef ISTHMUS_IB_TEXT_H
#define ISTHMUS_IB_TEXT_H

#include <stddef.h>

struct ib_text {
    char *start;
    size_t room, length; /* length: as it would be with enough room */
};

void ib_text_add(struct ib_text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
