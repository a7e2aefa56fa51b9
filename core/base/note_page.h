/* core/base/note_page.h: the page on which the threads of one PE note what they wait for; the launcher reads it too.
 * note.h writes it. The launcher and its PEs may be of different builds: `layout` identifies the format.
 * Each note is written by one thread at a time and may be read at any time; an odd or changed `version` marks a torn
 * read. */
#ifndef IST_BASE_NOTE_PAGE_H
#define IST_BASE_NOTE_PAGE_H

#include <stdint.h>

enum {
    IST_NOTE_LAYOUT = 1,
    IST_NOTE_PAGE_BYTES = 4096,
    IST_NOTES = 21, /* threads of a PE that wait at a time; further ones leave no note */
    IST_NOTE_ROUTINE_BYTES = 48,
    IST_NOTE_PLACE_BYTES = 40
};

enum ist_note_kind {
    IST_NOTE_NONE,
    IST_NOTE_COLLECTIVE, /* for other members of a team */
    IST_NOTE_VARIABLE,   /* for a symmetric variable */
    IST_NOTE_VARIABLES,  /* for several: all, any or some of an array */
    IST_NOTE_LOCK,       /* for the PE before in the queue */
    IST_NOTE_TRANSPORT,  /* inside a call of a transport */
    IST_NOTE_CONNECTION  /* for a connection to a peer, on first use */
};

struct ist_note {
    uint32_t version;           /* odd: in the middle of a change */
    int32_t thread;             /* the system's number; 0: the note is free */
    uint32_t kind;              /* enum ist_note_kind */
    int32_t team;               /* number of the team that the collective is of; 0: the world */
    uint64_t collective;        /* its number, counted on the team; 0: in none */
    uint64_t since_ns, seen_ns; /* CLOCK_MONOTONIC: begin of the wait; the thread's last poll */
    uint64_t routine_addr;      /* of its name, in the PE; `routine` is empty then: notes of transports are cheap */
    char routine[IST_NOTE_ROUTINE_BYTES];
    char place[IST_NOTE_PLACE_BYTES]; /* of the variable: "the symmetric heap+0x40" */
    uint64_t executable_offset;       /* of the variable; 0: not in the executable */
    uint64_t wanted, seen;            /* of several variables: how many of them are satisfied */
    uint64_t n_variables;
    int32_t pe;                                          /* the PE waited for, if it is a single one; -1 */
    uint8_t comparison, size_bytes, is_signed, quantity; /* IST_CMP_, IST_CMP_COUNT: several; enum ist_quantity */
};

enum ist_quantity { IST_ALL_OF, IST_ANY_OF, IST_SOME_OF };

enum ist_phase { IST_PHASE_BEFORE, IST_PHASE_INIT, IST_PHASE_RUNNING, IST_PHASE_AFTER };

struct ist_note_page {
    uint32_t layout;  /* IST_NOTE_LAYOUT, once a PE has taken the page */
    int32_t pid;      /* the owner's; 0: the page is free */
    int32_t launcher; /* pid of isthmus-run; 0: there is none */
    uint32_t phase;   /* enum ist_phase */
    uint64_t phase_since_ns;
    uint64_t reserved[13];
    struct ist_note notes[IST_NOTES];
};

_Static_assert(sizeof(struct ist_note_page) <= IST_NOTE_PAGE_BYTES, "a page of notes is one page");

#endif
