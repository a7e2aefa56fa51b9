/* plugins/ib/ib_text.c: see ib_text.h. */
#include "plugins/ib/ib_text.h"

#include <stdarg.h>
#include <stdio.h>

void ib_text_add(struct ib_text *text, const char *fmt, ...)
{
    size_t used = text->length < text->room ? text->length : text->room;
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text->start + used, text->room - used, fmt, args);
    va_end(args);
    text->length += n > 0 ? (size_t)n : 0;
}
