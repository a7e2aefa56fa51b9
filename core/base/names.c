/* core/base/names.c: edit distance with transpositions, for lists of a few dozen short names.
 * Contract: names.h. */
#include "core/base/names.h"

#include <string.h>

#define LONGEST_NAME 63 /* longer names are no typing mistakes */

static size_t min2(size_t a, size_t b) { return a < b ? a : b; }

/* Optimal string alignment: insert, delete, replace, or swap two neighbours, at one each. Three rows of the table are
 * enough: a swap needs the row before the last. Both lengths are at most LONGEST_NAME. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LONGEST_NAME + 1];
    for (size_t j = 0; j <= b_length; j++) rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        const size_t *before = rows[(i + 1) % 3], *above = rows[(i - 1) % 3];
        size_t *row = rows[i % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = min2(above[j - 1] + (a[i - 1] != b[j - 1]), min2(above[j], row[j - 1]) + 1);
            int swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = min2(row[j], before[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

const char *ist_names_nearest(const char *name, const char *const *candidates, size_t n)
{
    const char *nearest = NULL;
    size_t nearest_distance = LONGEST_NAME + 1, name_length = strlen(name);
    if (name_length > LONGEST_NAME) return NULL;
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(candidates[i]);
        if (length > LONGEST_NAME) continue;
        size_t longer = length > name_length ? length : name_length;
        size_t distance = edit_distance(name, name_length, candidates[i], length);
        if (distance * 3 <= longer && distance < nearest_distance) {
            nearest = candidates[i];
            nearest_distance = distance;
        }
    }
    return nearest;
}
