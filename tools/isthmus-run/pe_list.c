/* See pe_list.h. The text begins with room for "PEs ", of which a single PE does not need all. */
#include "pe_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char prefix[] = "PEs ";

struct pe_list pe_list_in(char *text, size_t room)
{
    snprintf(text, room, "%s", prefix);
    return (struct pe_list){.text = text, .room = room, .used = sizeof prefix - 1, .first = -1};
}

static void write_range(struct pe_list *list)
{
    static const char more[] = ", ...";
    char range[32];
    const char *comma = list->used > sizeof prefix - 1 ? ", " : "";
    if (list->first < 0) return;
    if (list->first == list->last)
        snprintf(range, sizeof range, "%s%d", comma, list->first);
    else
        snprintf(range, sizeof range, "%s%d-%d", comma, list->first, list->last);
    bool has_room = list->used + strlen(range) + sizeof more <= list->room;
    snprintf(list->text + list->used, list->room - list->used, "%s", has_room ? range : more);
    list->used += strlen(range);
    if (!has_room) list->room = 0; /* no more from here on */
}

void pe_list_add(struct pe_list *list, int pe)
{
    if (list->n > 0 && pe == list->last) return;
    list->n++;
    if (list->first >= 0 && pe == list->last + 1) {
        list->last = pe;
        return;
    }
    if (list->room > 0) write_range(list);
    list->first = list->last = pe;
}

const char *pe_list_end(struct pe_list *list)
{
    if (list->room > 0) write_range(list);
    if (list->n != 1) return list->text;
    memmove(list->text + 2, list->text + 3, strlen(list->text + 3) + 1); /* "PE 3" */
    return list->text;
}
