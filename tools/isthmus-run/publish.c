/* A list of published values in memory, for as long as the job lasts.
 * Not persistent, no ranges and no waiting look-up: a key that is not published yet is not found.
 * Read on in server.c, whose table names these functions. */
#include "publish.h"
#include "launch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    pmix_proc_t publisher;
    pmix_info_t info; /* key and value */
    struct entry *next;
};

static struct entry *entries; /* touched by the library's thread only */

static struct entry **find(const char *key)
{
    struct entry **at = &entries;
    while (*at && !PMIX_CHECK_KEY(&(*at)->info, key)) at = &(*at)->next;
    return at;
}

/* Directions that clients send along with their values; they set the lifetime and the readers, which are always "until
 * the job ends" and "the job" here. */
static bool is_direction(const pmix_info_t *info)
{
    return PMIX_CHECK_KEY(info, PMIX_RANGE) || PMIX_CHECK_KEY(info, PMIX_PERSISTENCE) ||
           PMIX_CHECK_KEY(info, PMIX_USERID) || PMIX_CHECK_KEY(info, PMIX_GRPID) || PMIX_CHECK_KEY(info, PMIX_TIMEOUT);
}

pmix_status_t publish_add(const pmix_proc_t *publisher, const pmix_info_t info[], size_t n_info,
                          pmix_op_cbfunc_t answer, void *answer_data)
{
    (void)answer, (void)answer_data;
    for (size_t i = 0; i < n_info; i++)
        if (!is_direction(&info[i]) && *find(info[i].key)) return PMIX_ERR_DUPLICATE_KEY;
    for (size_t i = 0; i < n_info; i++) {
        if (is_direction(&info[i])) continue;
        struct entry *entry = zeroed_memory(1, sizeof *entry);
        entry->publisher = *publisher;
        PMIX_INFO_XFER(&entry->info, &info[i]);
        entry->next = entries;
        entries = entry;
    }
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t publish_look_up(const pmix_proc_t *asker, char **keys, const pmix_info_t info[], size_t n_info,
                              pmix_lookup_cbfunc_t answer, void *answer_data)
{
    (void)asker, (void)info, (void)n_info;
    size_t n_keys = 0, n_found = 0;
    while (keys[n_keys]) n_keys++;
    pmix_pdata_t *found = zeroed_memory(n_keys, sizeof *found);
    for (size_t i = 0; i < n_keys; i++) {
        struct entry *entry = *find(keys[i]);
        if (!entry) continue;
        PMIX_LOAD_KEY(found[n_found].key, keys[i]);
        found[n_found].proc = entry->publisher;
        found[n_found++].value = entry->info.value; /* borrowed: the library packs it before answer() returns */
    }
    /* Success also if only some were found: the library sends values with no other status. */
    if (n_found) answer(PMIX_SUCCESS, found, n_found, answer_data);
    free(found);
    return n_found ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

pmix_status_t publish_remove(const pmix_proc_t *publisher, char **keys, const pmix_info_t info[], size_t n_info,
                             pmix_op_cbfunc_t answer, void *answer_data)
{
    (void)info, (void)n_info, (void)answer, (void)answer_data;
    for (struct entry **at = &entries; *at;) {
        struct entry *entry = *at;
        bool is_meant = !keys; /* no keys: all that this PE has published */
        for (char **key = keys; key && *key; key++) is_meant = is_meant || PMIX_CHECK_KEY(&entry->info, *key);
        if (!is_meant || !PMIX_CHECK_PROCID(&entry->publisher, publisher)) {
            at = &entry->next;
            continue;
        }
        *at = entry->next;
        PMIX_INFO_DESTRUCT(&entry->info);
        free(entry);
    }
    return PMIX_OPERATION_SUCCEEDED;
}
