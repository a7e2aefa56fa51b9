/* core/base/names.h: "did you mean": the nearest of a list of names.
 * Not a spelling checker: for short identifiers of the environment and of transports. */
#ifndef IST_BASE_NAMES_H
#define IST_BASE_NAMES_H

#include <stddef.h>

/* Returns the candidate nearest to `name` by edit distance (transpositions count once), or NULL if none is near: at
 * most a third of the longer of the two names. Ties: the first one. */
const char *ist_names_nearest(const char *name, const char *const *candidates, size_t n);

#endif
