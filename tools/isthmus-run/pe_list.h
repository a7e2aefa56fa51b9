/* Numbers of PEs in words: "PE 3", "PEs 0-2, 5".
 * Read on in pe_list.c. */
#ifndef ISTHMUS_RUN_PE_LIST_H
#define ISTHMUS_RUN_PE_LIST_H

#include <stddef.h>

struct pe_list {
    char *text;
    size_t room, used;
    int first, last; /* the range that grows */
    int n;
};

struct pe_list pe_list_in(char *text, size_t room);
void pe_list_add(struct pe_list *list, int pe); /* in rising order; the same one again counts once */
const char *pe_list_end(struct pe_list *list);  /* in `text`; "..." at its end if there was no room for all */

#endif
