/* core/memory/malloc.c: see malloc.h.
 * The allocator is deterministic, so all PEs compute the same offset without communication. Only a shortage on one PE
 * alone (private memory for the book-keeping) has to be reported: it is counted on PE 0 before the synchronisation and
 * read after it. Until then a block is only found, not taken: the decisions whether to resize, to grow or to refuse
 * need no private memory, and a refusal leaves every PE's heap as it was. */
#include "core/memory/malloc.h"

#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/base/recorder.h"
#include "core/base/thread.h"
#include "core/check/check.h"
#include "core/coll/sync.h"
#include "core/heap/heap.h"
#include "core/ops/amo.h"
#include "core/ops/target.h"
#include "core/team/internal_area.h"
#include "core/transport/device_view.h"

#include <inttypes.h>
#include <stdio.h>

enum { MIN_ALIGN_BYTES = 16 };

static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;

/* Failures are counted in two words in turn: a PE that has left a synchronisation may already count for the next call
 * while another still reads this one's, but never for the one after that. */
static uint64_t calls, failures_seen[2];

static struct {
    ist_boot *boot;
    char card_key[64];
    uint32_t n_attempts;        /* the same on all PEs */
    uint64_t first_limit_bytes; /* how far PE 0's heap may grow */
    bool has_limit;
} grower;

/* With ISTHMUS_CHECK: all PEs make the same request. */
static void check(const char *routine, void *block, size_t bytes, const char *name, size_t value)
{
    if (!ist_check_on) return;
    ist_check_same_call(
        &(struct ist_transfer){.routine = routine, .team = &ist_team_world, .dest = block, .length_bytes = bytes},
        (const struct ist_same_argument[IST_SAME_ARGUMENTS]){{name, (int64_t)value}});
}

/* What this PE can allocate, found before the agreement and taken after it. */
struct found {
    void *block;  /* where it lies; NULL: nowhere on any PE */
    bool is_mine; /* this PE has private memory for it */
};

/* The lock is held from the look-up to the end of the reservation only: the call is collective, so that nothing else is
 * taken in between. */
static struct found find(size_t size_bytes, size_t align_bytes)
{
    pthread_mutex_lock(&heap_lock);
    struct found found = {.block = ist_heap_room(size_bytes, align_bytes)};
    found.is_mine = found.block != NULL && ist_heap_reserve_records() == ISTHMUS_OK;
    pthread_mutex_unlock(&heap_lock);
    return found;
}

static void take(size_t size_bytes, size_t align_bytes)
{
    pthread_mutex_lock(&heap_lock);
    (void)ist_heap_take(size_bytes, align_bytes);
    pthread_mutex_unlock(&heap_lock);
}

static bool give(void *block)
{
    pthread_mutex_lock(&heap_lock);
    bool given = ist_heap_give(block);
    pthread_mutex_unlock(&heap_lock);
    return given;
}

static void tell_failure(const char *routine)
{
    struct ist_amo count = {.op = ISTHMUS_AMO_ADD, .size = 8, .operand = 1};
    (void)ist_amo(&ist_ctx_default, &ist_internal_area()->failed_allocations[calls % 2], count, 0, 0, routine);
}

bool ist_malloc_agree(bool mine, const char *routine)
{
    calls++;
    if (!mine) tell_failure(routine);
    ist_barrier_all(routine);
    uint64_t failures = ist_g(&ist_ctx_default, &ist_internal_area()->failed_allocations[calls % 2], 8, 0, routine);
    bool all = failures == failures_seen[calls % 2];
    failures_seen[calls % 2] = failures;
    return all;
}

/* Kernels reach peers' memory from the end of this call on. Without peers in use this costs a synchronization. */
static bool show_to_kernels(const char *routine)
{
    if (ist_heap.segment != IST_SEGMENT_DEVICE) return true;
    isthmus_status status = ist_device_views_extend(IST_SEGMENT_DEVICE);
    if (status != ISTHMUS_OK) ist_info("%s: the heaps of other PEs cannot grow here: %s", routine, ist_fail_text());
    if (ist_malloc_agree(status == ISTHMUS_OK, routine)) return true;
    ist_device_views_cut(IST_SEGMENT_DEVICE);
    ist_barrier_all(routine); /* from here on no peer is attached */
    return false;
}

static isthmus_status reserve_records(void)
{
    pthread_mutex_lock(&heap_lock);
    isthmus_status status = ist_heap_reserve_records();
    pthread_mutex_unlock(&heap_lock);
    return status;
}

/* Every PE exposes one more extent of its heap; if one of them cannot, none of them uses it. */
static bool grow(uint64_t managed_bytes, const char *routine)
{
    isthmus_status status = reserve_records();
    grower.n_attempts++;
    if (status == ISTHMUS_OK) status = ist_heap_extend(grower.boot, grower.card_key, managed_bytes, grower.n_attempts);
    if (status != ISTHMUS_OK) ist_info("%s: the symmetric heap cannot grow: %s", routine, ist_fail_text());
    if (!ist_malloc_agree(status == ISTHMUS_OK, routine) || !show_to_kernels(routine)) {
        if (status == ISTHMUS_OK) ist_heap_shrink(grower.boot, grower.card_key);
        return false;
    }
    pthread_mutex_lock(&heap_lock);
    status = ist_heap_grow(managed_bytes);
    pthread_mutex_unlock(&heap_lock);
    return status == ISTHMUS_OK;
}

/* With a little more for later if there is enough, else as little as possible. */
static bool grow_for(size_t size_bytes, size_t align_bytes, const char *routine)
{
    int cancel = ist_cancel_disable();
    uint64_t usual_bytes = ist_heap_grown_for(size_bytes, align_bytes, true);
    uint64_t least_bytes = ist_heap_grown_for(size_bytes, align_bytes, false);
    bool has_grown = usual_bytes > 0 &&
                     (grow(usual_bytes, routine) || (least_bytes < usual_bytes && grow(least_bytes, routine)));
    ist_cancel_restore(cancel);
    return has_grown;
}

/* Raises a word on PE 0. */
static void raise_to(uint64_t value, uint64_t *word, const char *routine)
{
    struct ist_amo swap = {.op = ISTHMUS_AMO_COMPARE_SWAP, .size = 8, .operand = value};
    while (swap.compare < value) {
        uint64_t seen = ist_amo(&ist_ctx_default, word, swap, ISTHMUS_AMO_FETCHING, 0, routine);
        if (seen == swap.compare) return;
        swap.compare = seen;
    }
}

/* At the first allocation: the heap may grow as far as on the host that has the least memory. The PEs that have less
 * than PE 0 tell it by how much. */
static void agree_on_limit(const char *routine)
{
    if (grower.has_limit) return;
    grower.has_limit = true;
    uint64_t *lack = &ist_internal_area()->heap_lack, limit_bytes = grower.first_limit_bytes;
    if (grower.boot->n_pes > 1) {
        if (ist_heap.limit_bytes < limit_bytes) raise_to(limit_bytes - ist_heap.limit_bytes, lack, routine);
        ist_barrier_all(routine);
        limit_bytes -= ist_g(&ist_ctx_default, lack, 8, 0, routine);
    }
    if (limit_bytes < ist_heap.limit_bytes)
        ist_info("the symmetric heap may grow to %" PRIu64 " MiB, as on the host with the least memory, instead of "
                 "%" PRIu64 " MiB here",
                 limit_bytes >> 20, ist_heap.limit_bytes >> 20);
    pthread_mutex_lock(&heap_lock);
    ist_heap_set_limit(limit_bytes);
    pthread_mutex_unlock(&heap_lock);
}

/* All PEs find the same block, growth included, before the caller's own synchronisation. */
static struct found find_or_grow(size_t size_bytes, size_t align_bytes, const char *routine)
{
    agree_on_limit(routine);
    struct found found = find(size_bytes, align_bytes);
    if (found.block == NULL && ist_heap_grows() && grow_for(size_bytes, align_bytes, routine))
        found = find(size_bytes, align_bytes);
    if (found.block == NULL)
        ist_heap_explain_no_room(routine, size_bytes, align_bytes);
    else if (!found.is_mine)
        ist_info("%s: %s", routine, ist_fail_text());
    return found;
}

void ist_malloc_init(ist_boot *boot, const char *card_key, uint64_t first_limit_bytes)
{
    grower.boot = boot;
    grower.n_attempts = 0;
    grower.first_limit_bytes = first_limit_bytes;
    grower.has_limit = false;
    snprintf(grower.card_key, sizeof grower.card_key, "%s", card_key);
    calls = failures_seen[0] = failures_seen[1] = 0;
}

/* The block, taken, if all PEs can. */
static void *agreed(struct found found, size_t size_bytes, size_t align_bytes, const char *routine)
{
    if (!ist_malloc_agree(found.is_mine, routine)) return NULL;
    take(size_bytes, align_bytes);
    if (ist_check_on) ist_check_block_made(found.block, size_bytes, routine);
    return found.block;
}

void *ist_malloc(size_t size_bytes, size_t align_bytes, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    ist_require_ctx(&ist_ctx_default, routine);
    if (size_bytes == 0) return NULL;
    check(routine, NULL, size_bytes, "alignment", align_bytes);
    bool is_sane = align_bytes != 0 && (align_bytes & (align_bytes - 1)) == 0 && size_bytes <= SIZE_MAX / 2;
    struct found found = {.block = NULL};
    if (is_sane) found = find_or_grow(size_bytes, align_bytes, routine);
    return agreed(found, size_bytes, align_bytes, routine);
}

void *ist_calloc(size_t count, size_t size_bytes, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    ist_require_ctx(&ist_ctx_default, routine);
    if (count == 0 || size_bytes == 0) return NULL;
    check(routine, NULL, count * size_bytes, "count", count);
    size_t bytes;
    struct found found = {.block = NULL};
    if (!__builtin_mul_overflow(count, size_bytes, &bytes) && bytes <= SIZE_MAX / 2)
        found = find_or_grow(bytes, MIN_ALIGN_BYTES, routine);
    isthmus_status zeroed = ISTHMUS_OK;
    if (found.is_mine) /* before the synchronisation: after it peers may write */
        zeroed = ist_heap_zero(found.block, bytes);
    if (zeroed != ISTHMUS_OK) ist_die(routine, zeroed);
    return agreed(found, bytes, MIN_ALIGN_BYTES, routine);
}

static void refuse_block(const char *routine, const char *argument, const void *block)
{
    ist_misuse(
        routine,
        "%s is %p, which is not the start of a live block; valid: what shmem_malloc has returned, between %p and %p",
        argument, block, (void *)ist_heap.user_base, (void *)(ist_heap.user_base + ist_heap.limit_bytes));
}

void ist_free(void *block, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    ist_require_ctx(&ist_ctx_default, routine);
    if (block == NULL) return;
    if (ist_heap_size_of(block) == 0) refuse_block(routine, "ptr", block);
    check(routine, block, 1, NULL, 0);
    ist_barrier_all(routine);
    if (ist_check_on) ist_check_block_gone(block, routine);
    give(block);
}

/* The same block, if its neighbour has room on all PEs, or a new one with the old content. */
static struct found find_for(void *block, size_t old_bytes, size_t size_bytes, const char *routine)
{
    struct found found = {.block = NULL};
    if (size_bytes > SIZE_MAX / 2) return found;
    if (ist_heap_can_resize(block, size_bytes))
        return (struct found){.block = block, .is_mine = reserve_records() == ISTHMUS_OK};
    found = find_or_grow(size_bytes, MIN_ALIGN_BYTES, routine);
    if (found.is_mine) ist_copy_here(found.block, block, old_bytes < size_bytes ? old_bytes : size_bytes, routine);
    return found;
}

void *ist_realloc(void *block, size_t size_bytes, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    if (block == NULL) return ist_malloc(size_bytes, MIN_ALIGN_BYTES, routine);
    if (size_bytes == 0) {
        ist_free(block, routine);
        return NULL;
    }
    ist_require_ctx(&ist_ctx_default, routine);
    size_t old_bytes = ist_heap_size_of(block);
    if (old_bytes == 0) refuse_block(routine, "ptr", block);
    check(routine, block, size_bytes, NULL, 0);
    ist_barrier_all(routine); /* data that peers have put into the block arrives before it moves */

    struct found found = find_for(block, old_bytes, size_bytes, routine);
    if (!ist_malloc_agree(found.is_mine, routine)) return NULL;
    if (found.block == block) {
        pthread_mutex_lock(&heap_lock);
        (void)ist_heap_resize(block, size_bytes);
        pthread_mutex_unlock(&heap_lock);
    } else {
        take(size_bytes, MIN_ALIGN_BYTES);
        give(block);
    }
    if (ist_check_on) {
        ist_check_block_gone(block, routine);
        ist_check_block_made(found.block, size_bytes, routine);
    }
    return found.block;
}
