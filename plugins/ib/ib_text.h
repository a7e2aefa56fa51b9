/* plugins/ib/ib_text.h: a text that is composed in a buffer of fixed size. */
#ifndef ISTHMUS_IB_TEXT_H
#define ISTHMUS_IB_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

struct ib_text {
    char *start;
    size_t room, length; /* length: as it would be with enough room */
};

__attribute__((format(printf, 2, 3))) static inline void ib_text_add(struct ib_text *text, const char *fmt, ...)
{
    size_t used = text->length < text->room ? text->length : text->room;
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text->start + used, text->room - used, fmt, args);
    va_end(args);
    text->length += n > 0 ? (size_t)n : 0;
}

#endif
