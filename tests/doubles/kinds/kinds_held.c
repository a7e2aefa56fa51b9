/* tests/doubles/kinds/kinds_held.c: with ISTHMUS_KINDS_HELD=1 what peers put is held back until the owner flushes it,
 * as a GPU's memory may hold back what a network adapter writes into it. The file behind an extent is longer then: the
 * memory, the held bytes, a mark for each byte that is held, and one for each page that has any. Peers read through
 * what is held, as a read of an adapter pushes its writes. The owner does not, but for single words: one of those
 * becomes visible by itself at some time, and may be what a wait polls. */
#include "tests/doubles/kinds/kinds.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { WORD_BYTES = 8, PAGE_BYTES = 4096 };

static struct kinds_held exposed[KINDS_MAX_RANGES]; /* this PE's own; real NULL: free */
static uint64_t n_flushes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- one range: mask before data, so that a concurrent write of a peer is not lost ---- */

static void apply_bytes(const struct kinds_held *held, uint64_t at, uint64_t end)
{
    for (; at < end; at++)
        if (__atomic_exchange_n(&held->mask[at], 0, __ATOMIC_ACQUIRE) != 0) held->real[at] = held->data[at];
}

/* A whole word at once: a wait may poll it. */
static void apply_word(const struct kinds_held *held, uint64_t at)
{
    uint64_t *mask = (uint64_t *)(void *)(held->mask + at), all = UINT64_MAX;
    if (__atomic_load_n(mask, __ATOMIC_RELAXED) == 0) return;
    if (__atomic_compare_exchange_n(mask, &all, 0, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        __atomic_store_n((uint64_t *)(void *)(held->real + at), *(uint64_t *)(void *)(held->data + at),
                         __ATOMIC_RELEASE);
    else if (all != 0)
        apply_bytes(held, at, at + WORD_BYTES);
}

/* One PE at a time: no PE reads between the moment that a byte is marked as not held and the moment that it is
 * written. */
static void enter(const struct kinds_held *held)
{
    while (__atomic_exchange_n(held->lock, 1, __ATOMIC_ACQUIRE) != 0) sched_yield();
}

static void leave(const struct kinds_held *held) { __atomic_store_n(held->lock, 0, __ATOMIC_RELEASE); }

static void apply(const struct kinds_held *held, uint64_t at, uint64_t length_bytes)
{
    uint64_t end = at + length_bytes;
    for (; at < end && at % WORD_BYTES != 0; at++) apply_bytes(held, at, at + 1);
    for (; at + WORD_BYTES <= end; at += WORD_BYTES) apply_word(held, at);
    apply_bytes(held, at, end);
}

void kinds_held_apply(const struct kinds_held *held, uint64_t at, uint64_t length_bytes)
{
    enter(held);
    apply(held, at, length_bytes);
    leave(held);
}

void kinds_held_write(const struct kinds_held *held, uint64_t at, const void *source, uint64_t length_bytes)
{
    memcpy(held->data + at, source, length_bytes);
    if (length_bytes == WORD_BYTES && at % WORD_BYTES == 0)
        __atomic_store_n((uint64_t *)(void *)(held->mask + at), UINT64_MAX, __ATOMIC_RELEASE);
    else
        for (uint64_t i = 0; i < length_bytes; i++) __atomic_store_n(&held->mask[at + i], UINT8_MAX, __ATOMIC_RELEASE);
    for (uint64_t page = at / PAGE_BYTES; page * PAGE_BYTES < at + length_bytes; page++)
        __atomic_store_n(&held->pages[page], 1, __ATOMIC_RELEASE);
}

static void apply_all(const struct kinds_held *held)
{
    enter(held);
    for (uint64_t page = 0; page * PAGE_BYTES < held->length_bytes; page++) {
        if (__atomic_load_n(&held->pages[page], __ATOMIC_RELAXED) == 0) continue;
        (void)__atomic_exchange_n(&held->pages[page], 0, __ATOMIC_ACQUIRE);
        uint64_t at = page * PAGE_BYTES, left = held->length_bytes - at;
        apply(held, at, left < PAGE_BYTES ? left : PAGE_BYTES);
    }
    leave(held);
}

uint64_t kinds_held_file_bytes(uint64_t length_bytes)
{
    return 3 * length_bytes + length_bytes / PAGE_BYTES + PAGE_BYTES;
}

struct kinds_held kinds_held_at(char *all, uint64_t length_bytes)
{
    uint8_t *mask = (uint8_t *)all + 2 * length_bytes;
    uint8_t *pages = mask + length_bytes, *lock_word = pages + length_bytes / PAGE_BYTES + 1;
    return (struct kinds_held){all, all + length_bytes, mask, pages, lock_word, length_bytes, NULL};
}

/* ---- this PE's own ---- */

int kinds_held_expose(isthmus_tr *tr, const isthmus_lmem *lmem, int fd)
{
    struct stat file;
    if (!tr->is_held || fstat(fd, &file) != 0 || (uint64_t)file.st_size < kinds_held_file_bytes(lmem->length_bytes))
        return 0;
    char *all = mmap(NULL, kinds_held_file_bytes(lmem->length_bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (all == MAP_FAILED) return 0;
    pthread_mutex_lock(&lock);
    int i = 0;
    while (exposed[i].real != NULL) i++; /* there are no more extents than ranges can have */
    exposed[i] = kinds_held_at(all, lmem->length_bytes);
    exposed[i].owner_addr = lmem->addr;
    pthread_mutex_unlock(&lock);
    tr->services->memory_is_direct(tr->services->core, ISTHMUS_MEM_CUDA);
    return 1;
}

void kinds_held_hide(const isthmus_lmem *lmem)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KINDS_MAX_RANGES; i++) {
        if (exposed[i].real == NULL || exposed[i].owner_addr != lmem->addr) continue;
        munmap(exposed[i].real, kinds_held_file_bytes(exposed[i].length_bytes));
        exposed[i].real = NULL;
    }
    pthread_mutex_unlock(&lock);
}

isthmus_status kinds_flush_writes(isthmus_tr *tr)
{
    (void)tr;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KINDS_MAX_RANGES; i++)
        if (exposed[i].real != NULL) apply_all(&exposed[i]);
    pthread_mutex_unlock(&lock);
    __atomic_add_fetch(&n_flushes, 1, __ATOMIC_RELAXED);
    return ISTHMUS_OK;
}

/* The owner's driver reads a word. */
void kinds_held_arrive(const void *addr, uint64_t length_bytes)
{
    if (length_bytes > WORD_BYTES) return;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KINDS_MAX_RANGES; i++) {
        uint64_t at = (uint64_t)((const char *)addr - exposed[i].owner_addr);
        bool is_here = exposed[i].real != NULL && at < exposed[i].length_bytes;
        if (is_here && length_bytes <= exposed[i].length_bytes - at) kinds_held_apply(&exposed[i], at, length_bytes);
    }
    pthread_mutex_unlock(&lock);
}

uint64_t kinds_n_flushes(void) { return __atomic_load_n(&n_flushes, __ATOMIC_RELAXED); }
