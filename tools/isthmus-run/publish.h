/* Publish, look up, unpublish: PMIx's small board of named values.
 * Not the modex data of PEs, which the library keeps.
 * Read on in publish.c. */
#ifndef ISTHMUS_RUN_PUBLISH_H
#define ISTHMUS_RUN_PUBLISH_H

#include <pmix_server.h>

/* Entries of pmix_server_module_t; called by the library's thread only. */
pmix_status_t publish_add(const pmix_proc_t *publisher, const pmix_info_t info[], size_t n_info,
                          pmix_op_cbfunc_t answer, void *answer_data);
pmix_status_t publish_look_up(const pmix_proc_t *asker, char **keys, const pmix_info_t info[], size_t n_info,
                              pmix_lookup_cbfunc_t answer, void *answer_data);
pmix_status_t publish_remove(const pmix_proc_t *publisher, char **keys, const pmix_info_t info[], size_t n_info,
                             pmix_op_cbfunc_t answer, void *answer_data);

#endif
