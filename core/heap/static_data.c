/* core/heap/static_data.c: which static data is moved, the move, the way back, and the handling of a fork.
 * Not where it lies (static_image.c) nor how pages are copied (static_pages.c).
 *
 * Nothing here may rest on the static data being where it was a moment ago: in a program that links this code
 * statically, the variables below are moved too. */
#include "core/heap/static_data_priv.h"

#include "core/base/thread.h"
#include "core/heap/static_data.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One image that was moved. In a mapping of its own: memory that is certainly not moved, and for which no allocator
 * has to work inside a fork handler. */
struct move {
    struct move *next;
    struct ist_static_image image;
    int fd;
    struct ist_static_snapshot snapshots[IST_STATIC_PARTS_MAX]; /* during a fork; pages NULL: none */
    bool is_snapshot_missing;
    uint8_t left_out[IST_STATIC_PARTS_MAX][IST_SPAN_BYTES];
};

static pthread_mutex_t moves_lock = PTHREAD_MUTEX_INITIALIZER;
static struct move *moves;

static _Thread_local struct move *moves_at_fork; /* the child's own from its first instruction, unlike `moves` */

/* With signals blocked: a handler writes to static data as well, or calls _Fork(). */
static void lock(sigset_t *mask)
{
    ist_block_signals(mask);
    pthread_mutex_lock(&moves_lock);
}

static void unlock(const sigset_t *mask)
{
    pthread_mutex_unlock(&moves_lock);
    pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static uint64_t offset_of(const struct move *move, const struct ist_static_part *part)
{
    return (uint64_t)(part->start - move->image.base);
}

static struct move *move_create(void)
{
    struct move *move = mmap(NULL, sizeof *move, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return move == MAP_FAILED ? NULL : move;
}

/* No hook of another library on munmap(), which may take a lock: it is also called in children. */
static void move_destroy(struct move *move) { syscall(SYS_munmap, move, sizeof *move); }

static bool overlaps_a_move(const struct ist_static_image *image)
{
    for (const struct move *move = moves; move; move = move->next) {
        if (image->base < move->image.base + move->image.length_bytes &&
            move->image.base < image->base + image->length_bytes)
            return true;
    }
    return false;
}

/* --- there --- */

/* Private pages again. When there is no memory for them, pages of the descriptor that no other process will write: the
 * values are the same, and the caller need not know. */
static void part_make_private(const struct move *move, const struct ist_static_part *part)
{
    const uint64_t offset = offset_of(move, part);
    const struct ist_static_snapshot none = {.pages = NULL};
    struct ist_static_snapshot snapshot = ist_static_snapshot(part, move->fd, offset, NULL);
    if (snapshot.pages && ist_static_snapshot_place(part, move->fd, offset, &snapshot)) return;
    ist_static_snapshot_drop(&snapshot);
    (void)ist_static_snapshot_place(part, move->fd, offset, &none);
}

static void parts_make_private(const struct move *move, uint32_t n_parts)
{
    for (uint32_t i = 0; i < n_parts; i++) {
        if (move->image.parts[i].is_moved) part_make_private(move, &move->image.parts[i]);
    }
}

static void parts_announce(const struct ist_static_image *image)
{
    for (uint32_t i = 0; i < image->n_parts; i++) {
        if (image->parts[i].is_moved) ist_static_announce(&image->parts[i]);
    }
}

/* No statement of the loop may change static data: between copy and map it would be lost. */
static isthmus_status parts_move(const struct move *move)
{
    for (uint32_t i = 0; i < move->image.n_parts; i++) {
        const struct ist_static_part *part = &move->image.parts[i];
        isthmus_status status = ISTHMUS_OK;
        if (!part->is_left_out) status = ist_static_copy_out(part, move->fd, offset_of(move, part));
        if (status == ISTHMUS_OK && part->is_moved)
            status = ist_static_map_shared(part, move->fd, offset_of(move, part));
        if (status) {
            parts_make_private(move, i);
            return status;
        }
    }
    return ISTHMUS_OK;
}

static isthmus_status move_locked(struct move *move)
{
    if (overlaps_a_move(&move->image))
        return ist_fail(ISTHMUS_ERR_INVALID, "this static data was made symmetric already");
    isthmus_status status = ist_static_memfd_create(move->image.length_bytes, &move->fd);
    if (status) return status;
    ist_static_guard_begin(&move->image);
    status = parts_move(move);
    ist_static_guard_end(&move->image);
    if (status == ISTHMUS_OK) {
        move->next = moves;
        moves = move;
    }
    parts_announce(&move->image);
    if (status) close(move->fd);
    return status;
}

/* The bytes that the process cannot write, before the first part that it can. */
static uint64_t frozen_bytes_of(const struct ist_static_image *image)
{
    for (uint32_t i = 0; i < image->n_parts; i++) {
        if (image->parts[i].is_moved) return (uint64_t)(image->parts[i].start - image->base);
    }
    return image->length_bytes;
}

static struct ist_blob list_left_out(struct move *move)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < move->image.n_parts; i++) {
        const struct ist_static_part *part = &move->image.parts[i];
        if (part->is_left_out) ist_span_write(move->left_out[n++], offset_of(move, part), part->length_bytes);
    }
    return (struct ist_blob){move->left_out, n * IST_SPAN_BYTES};
}

/* Takes `move` over. */
static isthmus_status move_image(struct move *move, struct ist_static_data *out)
{
    sigset_t mask;
    lock(&mask);
    isthmus_status status = move_locked(move);
    if (status == ISTHMUS_OK) /* under the lock: a fork of another thread may review the parts */
        *out = (struct ist_static_data){.base = move->image.base,
                                        .length_bytes = move->image.length_bytes,
                                        .frozen_bytes = frozen_bytes_of(&move->image),
                                        .layout = move->image.layout,
                                        .left_out = list_left_out(move),
                                        .fd = move->fd};
    unlock(&mask);
    if (status) move_destroy(move);
    return status;
}

static isthmus_status move_new(struct move **out)
{
    if (!ist_fork_is_watched()) return ist_fail_memory("the fork handlers");
    *out = move_create();
    return *out ? ISTHMUS_OK : ist_fail_errno(ISTHMUS_ERR_NO_MEMORY, "mmap of the bookkeeping of static data");
}

isthmus_status ist_static_data_init(struct ist_static_data *out, const char *name)
{
    struct move *move;
    isthmus_status status = move_new(&move);
    if (status) return status;
    status = ist_static_image_find(name, &move->image);
    if (status || !move->image.base) {
        if (status == ISTHMUS_OK) *out = (struct ist_static_data){.base = NULL, .fd = -1}; /* no error: nothing there */
        move_destroy(move);
        return status;
    }
    return move_image(move, out);
}

isthmus_status ist_static_range_init(struct ist_static_data *out, void *start, uint64_t length_bytes)
{
    struct move *move;
    isthmus_status status = move_new(&move);
    if (status) return status;
    move->image.base = start;
    move->image.length_bytes = length_bytes;
    move->image.n_parts = 1;
    move->image.parts[0] = (struct ist_static_part){
        .start = start, .length_bytes = length_bytes, .prot = PROT_READ | PROT_WRITE, .is_moved = true};
    return move_image(move, out);
}

/* --- and back --- */

static struct move *unlink_move(const char *base)
{
    for (struct move **at = &moves; *at; at = &(*at)->next) {
        struct move *move = *at;
        if (move->image.base != base) continue;
        *at = move->next;
        return move;
    }
    return NULL;
}

void ist_static_data_fini(struct ist_static_data *data)
{
    sigset_t mask;
    if (data->base) {
        lock(&mask);
        struct move *move = unlink_move(data->base);
        if (move) { /* in a child of fork() there is none: its data is private already */
            ist_static_parts_review(&move->image, move->fd);
            ist_static_guard_begin(&move->image);
            parts_make_private(move, move->image.n_parts);
            ist_static_guard_end(&move->image);
            parts_announce(&move->image);
            close(move->fd);
            move_destroy(move);
        }
        unlock(&mask);
    }
    *data = (struct ist_static_data){.base = NULL, .fd = -1};
}

/* --- fork: a child shares shared mappings with its parent, but may share no variable --- */

static bool part_is_missing(struct move *move, uint32_t i, uint64_t *budget_bytes)
{
    const struct ist_static_part *part = &move->image.parts[i];
    move->snapshots[i] = (struct ist_static_snapshot){.pages = NULL};
    if (!part->is_moved) return false;
    move->snapshots[i] = ist_static_snapshot(part, move->fd, offset_of(move, part), budget_bytes);
    return !move->snapshots[i].pages;
}

/* The oldest first: the executable's data rather than a buffer's. */
static void take_snapshots(struct move *move, uint64_t *budget_bytes)
{
    if (!move) return;
    take_snapshots(move->next, budget_bytes);
    ist_static_parts_review(&move->image, move->fd);
    move->is_snapshot_missing = false;
    for (uint32_t i = 0; i < move->image.n_parts; i++)
        move->is_snapshot_missing |= part_is_missing(move, i, budget_bytes);
}

void ist_static_fork_prepare(void)
{
    uint64_t budget_bytes = IST_STATIC_FORK_COPY_BYTES;
    pthread_mutex_lock(&moves_lock);
    moves_at_fork = moves;
    take_snapshots(moves, &budget_bytes);
}

void ist_static_fork_parent(void)
{
    for (struct move *move = moves_at_fork; move; move = move->next) {
        for (uint32_t i = 0; i < move->image.n_parts; i++) {
            ist_static_snapshot_drop(&move->snapshots[i]);
            move->snapshots[i] = (struct ist_static_snapshot){.pages = NULL};
        }
    }
    pthread_mutex_unlock(&moves_lock);
}

/* A fork handler cannot make fork() fail. A child that went on without its own copy would write into the variables of
 * its parent, and of a running job; one that ends reports it, and the parent sees status 127, as from a shell. */
static void end_child(void)
{
    static const char text[] =
        "isthmus: fork: no memory for the child's copy of the static data, so the child ends; start fewer PEs on this "
        "host\n";
    const ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(127);
}

static void move_make_private_in_child(struct move *move)
{
    if (move->is_snapshot_missing) end_child();
    for (uint32_t i = 0; i < move->image.n_parts; i++) {
        const struct ist_static_part *part = &move->image.parts[i];
        if (!move->snapshots[i].pages) continue;
        if (!ist_static_snapshot_place(part, move->fd, offset_of(move, part), &move->snapshots[i])) end_child();
    }
    close(move->fd);
}

void ist_static_fork_child(void)
{
    for (struct move *move = moves_at_fork; move; move = move->next) move_make_private_in_child(move);
    while (moves_at_fork) {
        struct move *move = moves_at_fork;
        moves_at_fork = move->next;
        move_destroy(move);
    }
    moves = NULL;
    pthread_mutex_unlock(&moves_lock);
}
