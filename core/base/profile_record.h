/* core/base/profile_record.h: what a PE has recorded for ISTHMUS_PROFILE: a file of records of one size, which the
 * PE's threads change in place while the job runs. Written by recorder.c, read by core/profile.
 * A record is a cache line and has one writer. The file is this process's own and of this version of the library. */
#ifndef IST_BASE_PROFILE_RECORD_H
#define IST_BASE_PROFILE_RECORD_H

#include <stdint.h>

enum ist_profile_kind {
    IST_PROFILE_NONE,       /* taken by a thread that has not filled it yet */
    IST_PROFILE_HEAD,       /* the first record */
    IST_PROFILE_HOST,       /* text: where the PE runs */
    IST_PROFILE_TRANSPORT,  /* text: the name of transport `index` */
    IST_PROFILE_NAME,       /* text: the name of routine `index` */
    IST_PROFILE_ROUTINE,    /* calls of routine `index` by one thread */
    IST_PROFILE_LINK,       /* what one thread has moved between this PE and `pe` through transport `index` */
    IST_PROFILE_LINK_CALLS, /* calls of one thread whose transfers all went to or from `pe`, the last one by `index` */
    IST_PROFILE_EVENT       /* one call of routine `index`; `pe`: its peer, -1 none, -2 several */
};

enum { IST_PROFILE_TEXT_BYTES = 56, IST_PROFILE_LAYOUT = 3, IST_PROFILE_NO_PE = -1, IST_PROFILE_MANY_PES = -2 };

struct ist_profile_head {
    uint64_t n_records;   /* 0: the PE has ended without shmem_finalize; then the size of the file bounds them */
    uint64_t realtime_ns; /* of the start, since 1970: the zero of the times of events */
    uint64_t wall_ns;     /* from init to finalize, without what level 0 leaves out; 0: not known */
    uint64_t n_unkept;    /* calls and transfers for which there was no record */
    uint64_t n_events_left_out;
    int32_t n_pes;
    uint16_t layout;   /* IST_PROFILE_LAYOUT */
    uint16_t is_trace; /* the part has events, for a trace */
    uint64_t job;      /* equal in the parts of one job only */
};

struct ist_profile_calls {
    uint64_t n, bytes, ns, longest_ns, waited_ns;
};

struct ist_profile_traffic {
    uint64_t n_puts, put_bytes, n_gets, got_bytes, n_atomics, atomic_bytes;
    uint64_t n_flags; /* of the library's own synchronisations; they count no bytes */
};

struct ist_profile_event {
    uint64_t begin_ns, ns, waited_ns, bytes;
    uint32_t thread; /* counted from 0 in this process */
};

struct ist_profile_record {
    uint8_t kind;      /* IST_PROFILE_; stored last */
    uint8_t is_direct; /* of a link and its calls: by load and store, not by a call of the transport */
    uint16_t index;
    int32_t pe;
    union {
        char text[IST_PROFILE_TEXT_BYTES]; /* ends with 0 */
        struct ist_profile_head head;
        struct ist_profile_calls calls;
        struct ist_profile_traffic traffic;
        struct ist_profile_event event;
    };
};
_Static_assert(sizeof(struct ist_profile_record) == 64, "one cache line");

#endif
