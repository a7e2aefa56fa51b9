/* core/base/note_page.h: the page on which the threads of one PE note what they wait for; the launcher reads it too.
 * note.h writes it. The launcher and its PEs may be of different builds: `layout` identifies the format.
 * Each note is written by one thread at a time and may be read at any time; an odd or changed `version` marks a torn
 * read. */
#ifndef IST_BASE_NOTE_PAGE_H
#define IST_BASE_NOTE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
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

/* In `comparison`, of a note inside a call of a transport: the call is for requests of kernels. n_variables: how many;
 * of the first one `wanted` is the address, `seen` the PE, `quantity` the operation (enum isthmus_request_op). */
enum { IST_NOTE_OF_KERNELS = 0xf0 };

enum ist_quantity { IST_ALL_OF, IST_ANY_OF, IST_SOME_OF };

enum ist_phase { IST_PHASE_BEFORE, IST_PHASE_INIT, IST_PHASE_RUNNING, IST_PHASE_AFTER };

struct ist_note_page {
    uint32_t layout;  /* IST_NOTE_LAYOUT, once a PE has taken the page */
    int32_t pid;      /* the owner's; 0: the page is free */
    int32_t launcher; /* pid of isthmus-run; 0: there is none */
    uint32_t phase;   /* enum ist_phase */
    uint64_t phase_since_ns;
    uint64_t kernel_waits; /* where the PE has the words of waits of its kernels (kernel_waits.h); 0: none */
    uint64_t reserved[12];
    struct ist_note notes[IST_NOTES];
};

_Static_assert(sizeof(struct ist_note_page) <= IST_NOTE_PAGE_BYTES, "a page of notes is one page");

/* ---- notes as text (note_text.c) ----
 * Used by the PE itself, in a signal handler, and by the launcher: nothing here allocates, locks, or uses stdio. */

/* Text that is cut to the room there is; always terminated. */
struct ist_text {
    char *at, *end;
};

struct ist_text ist_text_in(char *room, size_t room_bytes);
void ist_text_add(struct ist_text *out, const char *text);
void ist_text_add_number(struct ist_text *out, int64_t number);
void ist_text_add_unsigned(struct ist_text *out, uint64_t number);
void ist_text_add_hex(struct ist_text *out, uint64_t number);
void ist_text_add_seconds(struct ist_text *out, uint64_t ns); /* "0.4 s", "12 s", "3 min", "5 h" */

/* Copies a note as a whole. Returns false if it kept changing, or if no thread waits. */
bool ist_note_read(const struct ist_note *note, struct ist_note *out);

/* Writes "in shmem_long_wait_until: flag (static data+0x40) >= 5, is 3". `executable`: where the variable's name may be
 * found, or NULL. Without `with_seen` the text is the same on all PEs in the same wait. */
void ist_note_tell(struct ist_text *out, const struct ist_note *note, const char *executable, bool with_seen);

/* ---- the names of static variables, as far as an executable has them (symbol.c) ---- */

/* Writes "flag", or "flags+0x8", for the variable `offset` bytes after the load address of the ELF file `path`. Uses
 * system calls only, so a signal handler may call it. */
bool ist_symbol_at(const char *path, uint64_t offset, char *name, size_t room);

/* Returns a number for the variables in [start, end) bytes after the load address: the same for two files if their
 * variables have the same names, sizes and places behind `start`; 0 if the file has no symbols, or more than a start
 * has time to read. */
uint64_t ist_symbol_layout(const char *path, uint64_t start, uint64_t end);

/* One more piece of data for a hash that begins with 0. */
uint64_t ist_hash_add(uint64_t hash, const void *data, size_t length_bytes);

#endif
