/* core/sync/wait_sets.h: waiting for, and testing, all, any or some of an array of variables.
 * Not one variable (wait.h). Entries whose status is not 0 are ignored; without entries there is nothing to wait
 * for. */
#ifndef IST_SYNC_WAIT_SETS_H
#define IST_SYNC_WAIT_SETS_H

#include <stdbool.h>
#include <stddef.h>

struct ist_wait_set {
    const void *ivars;
    size_t nelems;
    const int *status; /* NULL: no entry is ignored */
    int cmp;
    const void *values; /* one, or one for each entry */
    bool is_vector;
    size_t size; /* bytes of an entry: 4 or 8 */
    bool is_signed;
    const char *routine;
};

bool ist_set_test_all(const struct ist_wait_set *set);
size_t ist_set_test_any(const struct ist_wait_set *set);                   /* an index, or SIZE_MAX */
size_t ist_set_test_some(const struct ist_wait_set *set, size_t *indices); /* how many indices were written */
size_t ist_set_count(const struct ist_wait_set *set);                      /* entries that hold now */
void ist_set_wait_all(const struct ist_wait_set *set);
size_t ist_set_wait_any(const struct ist_wait_set *set);                   /* SIZE_MAX: no entry is left */
size_t ist_set_wait_some(const struct ist_wait_set *set, size_t *indices); /* 0: no entry is left */

#endif
