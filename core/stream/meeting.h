/* core/stream/meeting.h: PEs of one host synchronise in the order of their streams, without a processor.
 * The same flags and rounds as in core/coll/sync_dissemination.c, but the flags lie in memory of the devices, and it is
 * streams that write them at peers and wait for their own: one launch for each synchronisation. Teams on several hosts
 * synchronise by their processors (item.h). */
#ifndef IST_STREAM_MEETING_H
#define IST_STREAM_MEETING_H

#include "core/stream/stream.h"

uint64_t ist_meetings_bytes(const struct ist_config *config); /* of flags */
void ist_meetings_open(const struct ist_config *config);      /* once ist_streams has its memory */
isthmus_status ist_meetings_expose(void);                     /* flags, as a segment; nothing where there are none */

/* The flags of the next team with this index, before any member uses them. Ends the job if the device has failed. */
void ist_meeting_clear(int index, const char *routine);

/* Collective, by the host: from now on this team, all of whose members are on one host, synchronises in streams if each
 * member's device reaches all others'. Teams within such a team do so too. */
void ist_meeting_agree(struct ist_team *team, const char *routine);

/* An enqueue of struct ist_stream_call, of its team. All members take it or none does. */
bool ist_meeting_sync(void *stream, struct ist_stream_call *call);
bool ist_meeting_barrier(void *stream, struct ist_stream_call *call); /* quiet before it, as a call of its own */

#endif
