/* core/check/pending.c: the local buffers of nonblocking operations, from the call until local completion.
 * A source is summed at the call and again at completion. A get is held back until completion, which is allowed: until
 * then its destination holds a pattern, so that a program that reads it too early gets the pattern in every run, and
 * one that writes there is detected. Accesses of other calls to either buffer in between are compared with the
 * table. */
#include "core/check/check_priv.h"

#include "core/base/fatal.h"
#include "core/ops/rma.h"
#include "core/ops/target.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    MAX_PENDING = 1 << 14, /* later ones are not checked */
    PATTERN = 0xdb         /* in a destination until its data arrives */
};

struct pending {
    const ist_ctx *ctx;
    const char *routine;
    const void *caller;
    uintptr_t addr;
    size_t length_bytes;
    uint64_t sum;
    int world_pe;
    bool is_dest;  /* of a get or fetch */
    bool is_fetch; /* of a fetch */
    bool is_held;  /* a get that is still to be done, from: */
    const void *remote;
    int pe;
    bool is_summed; /* a source that this PE can read: memory of a device need not be */
};

static struct pending *list;
static size_t n_pending, room;

static uint64_t add_to_sum(uint64_t sum, const unsigned char *bytes, size_t n)
{
    enum { WORD = sizeof sum };
    for (; n >= WORD; bytes += WORD, n -= WORD) {
        uint64_t word;
        memcpy(&word, bytes, WORD);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    for (; n > 0; bytes++, n--) sum = (sum ^ *bytes) * UINT64_C(0x100000001b3);
    return sum;
}

/* By a system call: the program may have unmapped the buffer, which is reported instead of ending in a fault. */
static bool sum_of(uintptr_t addr, size_t length_bytes, uint64_t *out)
{
    unsigned char bytes[8192];
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    while (length_bytes > 0) {
        size_t n = length_bytes < sizeof bytes ? length_bytes : sizeof bytes;
        struct iovec to = {bytes, n}, from = {(void *)addr, n};
        ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
        if (got != (ssize_t)n) return false; /* not mapped, or a sandbox that does not allow it */
        sum = add_to_sum(sum, bytes, n);
        addr += n;
        length_bytes -= n;
    }
    *out = sum;
    return true;
}

bool ist_pending_add(const struct ist_check_access *access)
{
    const struct ist_transfer *op = access->op;
    if (n_pending == room) {
        size_t more = room > 0 ? 2 * room : 64;
        struct pending *grown = more <= MAX_PENDING ? realloc(list, more * sizeof *list) : NULL;
        if (grown == NULL) return false;
        list = grown;
        room = more;
    }
    struct pending *p = &list[n_pending++];
    *p = (struct pending){.ctx = op->ctx,
                          .routine = op->routine,
                          .caller = access->caller,
                          .addr = (uintptr_t)ist_transfer_near(op),
                          .length_bytes = op->length_bytes,
                          .world_pe = access->world_pe,
                          .is_dest = op->kind != IST_TRANSFER_PUT,
                          .is_fetch = op->kind == IST_TRANSFER_ATOMIC};
    p->is_summed = !p->is_dest && sum_of(p->addr, p->length_bytes, &p->sum);
    p->is_held = op->kind == IST_TRANSFER_GET && !ist_is_on_device(ist_transfer_near(op));
    if (p->is_held) {
        p->remote = ist_transfer_far(op);
        p->pe = op->pe;
        memset((void *)p->addr, PATTERN, p->length_bytes);
    }
    return p->is_held;
}

struct use {
    const char *routine, *argument;
    const void *caller;
    uintptr_t addr;
    size_t length_bytes;
    bool is_write;
    bool is_fetch; /* into that buffer, by an atomic that is nonblocking itself */
};

/* Two reads are no mistake; nor are fetches to one word, whose values the program discards. */
static bool is_conflict(const struct use *use, const struct pending *p)
{
    if (!(p->is_dest || use->is_write) || (p->is_fetch && use->is_fetch)) return false;
    return ist_check_ranges_meet(use->addr, use->length_bytes, p->addr, p->length_bytes);
}

static void compare(const struct use *use)
{
    for (size_t i = 0; i < n_pending; i++) {
        const struct pending *p = &list[i];
        if (!is_conflict(use, p)) continue;
        ist_finding(IST_FINDING_IN_USE, use->routine, use->caller,
                    "%s %p (%zu bytes) is %s by this call, and the %s %p (%zu bytes) of %s with PE %d, which is not "
                    "complete%s; right: shmem_quiet before",
                    use->argument, (void *)use->addr, use->length_bytes, use->is_write ? "written" : "read",
                    p->is_dest ? "dest" : "source", (void *)p->addr, p->length_bytes, p->routine, p->world_pe,
                    ist_finding_site(p->caller));
        return;
    }
}

void ist_pending_compare(const struct ist_check_access *access)
{
    const struct ist_transfer *op = access->op;
    if (n_pending == 0) return;
    struct use use = {.routine = op->routine,
                      .argument = ist_transfer_near_name(op),
                      .caller = access->caller,
                      .addr = (uintptr_t)ist_transfer_near(op),
                      .length_bytes = op->length_bytes,
                      .is_write = op->kind != IST_TRANSFER_PUT,
                      .is_fetch = op->kind == IST_TRANSFER_ATOMIC};
    if (ist_transfer_near(op) != NULL) compare(&use);
    if (access->world_pe != ist_team_world.my_pe) return;
    use.argument = ist_transfer_far_name(op);
    use.addr = (uintptr_t)ist_transfer_far(op);
    use.is_write = op->kind != IST_TRANSFER_GET && !op->is_fetch;
    use.is_fetch = false;
    compare(&use);
}

static void use_of_collective(const char *routine, const char *argument, const void *addr, size_t length_bytes,
                              bool is_write)
{
    pthread_mutex_lock(&ist_check_lock);
    if (n_pending > 0 && length_bytes > 0)
        compare(&(struct use){routine, argument, ist_caller(), (uintptr_t)addr, length_bytes, is_write, false});
    pthread_mutex_unlock(&ist_check_lock);
}

void ist_check_local_read(const char *routine, const char *argument, const void *addr, size_t length_bytes)
{
    use_of_collective(routine, argument, addr, length_bytes, false);
}

void ist_check_local_write(const char *routine, const char *argument, const void *addr, size_t length_bytes)
{
    use_of_collective(routine, argument, addr, length_bytes, true);
}

static void compare_sum(const struct pending *p)
{
    uint64_t sum;
    if (!p->is_summed) return;
    bool is_mapped = sum_of(p->addr, p->length_bytes, &sum);
    if (is_mapped && sum == p->sum) return;
    ist_finding(IST_FINDING_CHANGED, p->routine, p->caller,
                "source %p (%zu bytes, to PE %d) %s before the operation was complete; right: shmem_quiet before the "
                "buffer is used again",
                (void *)p->addr, p->length_bytes, p->world_pe, is_mapped ? "has changed" : "is no longer mapped");
}

static void compare_pattern(const struct pending *p)
{
    const unsigned char *bytes = (const unsigned char *)p->addr;
    size_t i = 0;
    while (i < p->length_bytes && bytes[i] == PATTERN) i++;
    if (i < p->length_bytes)
        ist_finding(IST_FINDING_CHANGED, p->routine, p->caller,
                    "byte %zu of dest %p (%zu bytes, from PE %d) was written before the operation was complete; right: "
                    "shmem_quiet before the buffer is used",
                    i, (void *)p->addr, p->length_bytes, p->world_pe);
}

void ist_pending_complete(ist_ctx *ctx)
{
    size_t kept = 0;
    for (size_t i = 0; i < n_pending; i++)
        if (list[i].ctx == ctx && list[i].is_held) compare_pattern(&list[i]);
    for (size_t i = 0; i < n_pending; i++) {
        const struct pending *p = &list[i];
        if (p->ctx != ctx)
            list[kept++] = *p;
        else if (p->is_held)
            ist_get_slow(ctx, (void *)p->addr, p->remote, p->length_bytes, p->pe, p->routine);
        else
            compare_sum(p);
    }
    n_pending = kept;
}

void ist_pending_fini(void)
{
    free(list);
    list = NULL;
    n_pending = room = 0;
}
