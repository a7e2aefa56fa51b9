/* core/check/blocks.c: the live blocks of the symmetric heap by address, and the last ones that were freed, each with
 * its call site. The allocator (heap/alloc.h) knows the live ones too, but not the call. A table, because every
 * operation looks its block up. */
#include "core/check/check_priv.h"

#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/heap/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FREED = 256 };

struct block {
    uintptr_t start;
    size_t size_bytes;
    const char *routine; /* that made it; of a freed one, that freed it */
    const void *caller;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* inside ist_check_lock, if both */
static struct block *live;                               /* by address */
static size_t n_live, room;
static struct block freed[MAX_FREED];
static size_t n_freed;     /* ever */
static bool is_incomplete; /* there was no memory for a block: no more reports */

void ist_blocks_init(void) { is_incomplete = false; }

void ist_blocks_fini(void)
{
    free(live);
    live = NULL;
    n_live = room = n_freed = 0;
}

/* The first block that begins behind addr. */
static size_t behind(uintptr_t addr)
{
    size_t low = 0, high = n_live;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (live[middle].start <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool make_room(void)
{
    if (n_live < room) return true;
    size_t more = room > 0 ? 2 * room : 64;
    struct block *grown = realloc(live, more * sizeof *live);
    if (grown == NULL) return false;
    live = grown;
    room = more;
    return true;
}

void ist_check_block_made(const void *block, size_t size_bytes, const char *routine)
{
    if (block == NULL) return;
    struct block made = {(uintptr_t)block, size_bytes, routine, ist_caller()};
    pthread_mutex_lock(&lock);
    if (make_room()) {
        size_t at = behind(made.start);
        memmove(&live[at + 1], &live[at], (n_live - at) * sizeof *live);
        live[at] = made;
        n_live++;
    } else {
        is_incomplete = true;
    }
    pthread_mutex_unlock(&lock);
}

void ist_check_block_gone(const void *block, const char *routine)
{
    const void *caller = ist_caller();
    pthread_mutex_lock(&lock);
    size_t at = behind((uintptr_t)block);
    if (at > 0 && live[at - 1].start == (uintptr_t)block) {
        struct block *gone = &freed[n_freed++ % MAX_FREED];
        *gone = live[at - 1];
        gone->routine = routine;
        gone->caller = caller;
        memmove(&live[at - 1], &live[at], (n_live - at) * sizeof *live);
        n_live--;
    }
    pthread_mutex_unlock(&lock);
}

/* Returns the most recently freed block that held the address, or NULL if none is recorded. */
static const struct block *freed_at(uintptr_t addr)
{
    for (size_t i = n_freed; i > 0 && i + MAX_FREED > n_freed; i--) {
        const struct block *b = &freed[(i - 1) % MAX_FREED];
        if (addr - b->start < b->size_bytes) return b;
    }
    return NULL;
}

/* Returns true and describes what is wrong with a range, or returns false. */
static bool describe(uintptr_t addr, size_t length_bytes, char *out, size_t room_bytes)
{
    size_t at = behind(addr);
    const struct block *b = at > 0 ? &live[at - 1] : NULL;
    if (b != NULL && addr - b->start < b->size_bytes) {
        size_t left_bytes = b->size_bytes - (addr - b->start);
        if (length_bytes <= left_bytes) return false;
        snprintf(out, room_bytes, "%zu bytes from there pass the end of a block of %zu bytes by %zu (%s%s)",
                 length_bytes, b->size_bytes, length_bytes - left_bytes, b->routine, ist_finding_site(b->caller));
        return true;
    }
    const struct block *gone = freed_at(addr);
    if (gone != NULL)
        snprintf(out, room_bytes, "%zu bytes into a block of %zu bytes that was freed (%s%s)",
                 (size_t)(addr - gone->start), gone->size_bytes, gone->routine, ist_finding_site(gone->caller));
    else
        snprintf(out, room_bytes, "in the symmetric heap, but in no block that is allocated");
    return true;
}

void ist_check_heap_range(const char *routine, const char *argument, const void *addr, size_t length_bytes)
{
    char text[400];
    uintptr_t offset = (uintptr_t)addr - (uintptr_t)ist_heap.user_base;
    if (!ist_check_on || ist_heap.user_base == NULL || offset >= ist_heap.limit_bytes || !ist_check_is_on_program())
        return;
    pthread_mutex_lock(&lock);
    bool is_wrong = !is_incomplete && describe((uintptr_t)addr, length_bytes, text, sizeof text);
    pthread_mutex_unlock(&lock);
    if (is_wrong)
        ist_finding(IST_FINDING_FREED, routine, ist_caller(), "%s is %p, %s; valid: memory of one live block", argument,
                    addr, text);
}

void ist_blocks_leaks(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_live; i++) {
        size_t n = 0, bytes = 0;
        bool is_first = true;
        for (size_t other = 0; other < n_live; other++) {
            if (live[other].caller != live[i].caller || strcmp(live[other].routine, live[i].routine) != 0) continue;
            is_first = is_first && other >= i;
            n++;
            bytes += live[other].size_bytes;
        }
        if (is_first)
            ist_finding(IST_FINDING_LEAK, live[i].routine, live[i].caller,
                        "%zu bytes in %zu block%s from %p on are still allocated at finalize; right: shmem_free", bytes,
                        n, n == 1 ? "" : "s", (void *)live[i].start);
    }
    pthread_mutex_unlock(&lock);
}
