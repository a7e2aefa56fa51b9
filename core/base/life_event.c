/* core/base/life_event.c: see life_event.h. */
#include "core/base/life_event.h"

#include <stddef.h>

static void (*life)(const struct ist_life_event *event); /* written while the library is loaded */

void ist_life_register(void (*callback)(const struct ist_life_event *event)) { life = callback; }

void ist_life_report(const struct ist_life_event *event)
{
    if (life != NULL) life(event);
}
