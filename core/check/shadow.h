/* core/check/shadow.h: a table at every PE, in symmetric memory, of the PEs that have accessed its words, and how.
 * Bounded: a new access replaces an old one, which can only hide a mistake. Initiators write it before they access; so
 * it joins the accesses of two PEs to a third one. Both readers are in this folder: mixed.c and unordered.c. */
#ifndef IST_CHECK_SHADOW_H
#define IST_CHECK_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IST_SHADOW_LINE_BYTES = 64, IST_SHADOW_WAYS = 4, IST_SHADOW_BUCKETS = 511 };

enum ist_shadow_state { IST_SHADOW_ACCESS, IST_SHADOW_FLAG, IST_SHADOW_FLAG_COMPLETED };

/* One kind of access by one PE to bytes of one line. */
struct ist_shadow_entry {
    uint64_t line;          /* which, counted from 1; 0: the entry is free */
    uint64_t mask;          /* of the bytes */
    uint64_t time_ns, host; /* times of one host can be compared */
    int32_t pe;
    uint8_t kind;                  /* enum ist_transfer_kind */
    uint8_t size_bytes;            /* of an atomic; else 0 */
    uint8_t is_floating, is_fetch; /* an atomic that changes nothing */
    uint8_t state; /* enum ist_shadow_state: an access, or the setting of a flag that may overtake data */
    char routine[40], site[80];
    char data[80]; /* of a flag: the operations that it may overtake */
};

struct ist_shadow_bucket {
    uint64_t lock, padding[3];
    struct ist_shadow_entry entries[IST_SHADOW_WAYS];
};

/* Line and bytes of a symmetric address. */
struct ist_shadow_spot {
    uint64_t line, mask;
};

/* The first part of a range; `*addr` and `*length_bytes` become the rest. */
struct ist_shadow_spot ist_shadow_next_spot(uintptr_t *addr, size_t *length_bytes);

/* A copy of the line's bucket at a PE, which stays locked until the bucket is put back; `is_changed`: with the copy's
 * content. */
void ist_shadow_take(int world_pe, uint64_t line, struct ist_shadow_bucket *out);
void ist_shadow_give(int world_pe, uint64_t line, const struct ist_shadow_bucket *bucket, bool is_changed);

/* Where a new entry goes: a free one, or the oldest access, or the oldest flag. */
struct ist_shadow_entry *ist_shadow_room(struct ist_shadow_bucket *bucket);

/* Counts at every PE: flags that may overtake data, and how many of these are complete by now. */
enum ist_shadow_count { IST_SHADOW_FLAGS, IST_SHADOW_COMPLETED, IST_SHADOW_COUNTS };
void ist_shadow_count_up(int world_pe, enum ist_shadow_count which);
uint64_t ist_shadow_count_here(enum ist_shadow_count which);

/* Free all entries of this PE's table that are in this state. */
void ist_shadow_drop(enum ist_shadow_state state);

/* This host, for comparisons. */
uint64_t ist_shadow_host(void);

#endif
