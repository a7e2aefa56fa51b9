/* core/api/stream_entry.h: entry functions of the typed routines on streams: those of the same names without stream, in
 * the stream's order. Arguments that are values, and the arrays of waits, are taken when the call is made. */
#ifndef IST_API_STREAM_ENTRY_H
#define IST_API_STREAM_ENTRY_H

#include "core/coll/coll.h"
#include "core/team/team.h"

/* ---- stream_rma.c ---- */

void ist_entry_put_on_stream(void *stream, void *dest, const void *source, size_t nelems, int pe, size_t size,
                             const char *routine);
void ist_entry_get_on_stream(void *stream, void *dest, const void *source, size_t nelems, int pe, size_t size,
                             const char *routine);
void ist_entry_put_nbi_on_stream(void *stream, void *dest, const void *source, size_t nelems, int pe, size_t size,
                                 const char *routine);
void ist_entry_get_nbi_on_stream(void *stream, void *dest, const void *source, size_t nelems, int pe, size_t size,
                                 const char *routine);
void ist_entry_p_on_stream(void *stream, void *dest, const void *value, int pe, size_t size, const char *routine);
void ist_entry_g_on_stream(void *stream, void *result, const void *source, int pe, size_t size, const char *routine);
void ist_entry_iput_on_stream(void *stream, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                              int pe, size_t size, const char *routine);
void ist_entry_iget_on_stream(void *stream, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                              int pe, size_t size, const char *routine);
void ist_entry_put_signal_on_stream(void *stream, void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                                    uint64_t signal, int sig_op, int pe, size_t size, const char *routine);
void ist_entry_put_signal_nbi_on_stream(void *stream, void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                                        uint64_t signal, int sig_op, int pe, size_t size, const char *routine);
void ist_entry_signal_op_on_stream(void *stream, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                   const char *routine);
void ist_quiet_on_stream(void *stream, const char *routine);
void ist_local_complete_on_stream(void *stream, const char *routine);

/* ---- stream_sync.c ---- */

void ist_entry_signal_wait_on_stream(void *stream, const uint64_t *sig_addr, int cmp, uint64_t value,
                                     const char *routine);
void ist_entry_wait_until_on_stream(void *stream, const void *ivar, int cmp, const void *value, size_t size,
                                    bool is_signed, const char *routine);
void ist_entry_wait_all_on_stream(void *stream, const void *ivars, size_t nelems, const int *status, int cmp,
                                  const void *value, size_t size, bool is_signed, const char *routine);
void ist_entry_wait_all_vector_on_stream(void *stream, const void *ivars, size_t nelems, const int *status, int cmp,
                                         const void *values, size_t size, bool is_signed, const char *routine);
void ist_barrier_all_on_stream(void *stream, const char *routine);
void ist_entry_sync_all_on_stream(void *stream, const char *routine);
int ist_entry_team_sync_on_stream(void *stream, struct ist_team *team, const char *routine);
int ist_entry_barrier_on_stream(void *stream, struct ist_team *team, const char *routine);

/* ---- stream_coll.c: 0 if the call was queued, nonzero as without stream for an invalid team ---- */

int ist_entry_broadcast_on_stream(void *stream, struct ist_team *team, void *dest, const void *source, size_t nelems,
                                  int root, size_t size, const char *routine);
int ist_entry_fcollect_on_stream(void *stream, struct ist_team *team, void *dest, const void *source, size_t nelems,
                                 size_t size, const char *routine);
int ist_entry_alltoall_on_stream(void *stream, struct ist_team *team, void *dest, const void *source, size_t nelems,
                                 size_t size, const char *routine);
int ist_entry_reduce_on_stream(void *stream, enum ist_combine_op op, struct ist_team *team, void *dest,
                               const void *source, size_t nelems, enum ist_combine_type type, const char *routine);
int ist_entry_reducescatter_on_stream(void *stream, enum ist_combine_op op, struct ist_team *team, void *dest,
                                      const void *source, size_t nelems, enum ist_combine_type type,
                                      const char *routine);

#endif
