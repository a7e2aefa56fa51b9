#include "check_rows.h"
#include "values.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static __thread const struct item *current; /* for messages */

void fail(const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "PE %d of %d: %s: %s\n", world.me, world.n, current ? current->row->name : "start", text);
    fflush(NULL);
    _exit(1); /* the launcher ends the others */
}

uint64_t random_of(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* ---- calls ---- */

struct row_call call_to(const struct item *item, int pe)
{
    return (struct row_call){.pe = pe,
                             .ctx = lane.ctx,
                             .stream = lane.stream,
                             .team = lane.team[0].handle,
                             .dest = item->dest,
                             .source = item->source};
}

void call(struct item *item, struct row_call *arguments)
{
    if (face.run != NULL)
        face.run(item->row, arguments);
    else
        item->row->call(arguments);
}

/* ---- images ---- */

void image_clear(struct item *item) { memset(item->image, POISON, item->room_bytes); }

void image_elements(struct item *item, size_t offset_bytes, size_t n, const void *elements)
{
    struct row_type type = item->row->type;
    const unsigned char *wanted = elements;
    for (size_t i = 0; i < n; i++) {
        size_t at = offset_bytes + i * type.size;
        bool same = number_equal(type, item->dest + at, wanted + i * type.size);
        memcpy(item->image + at, same ? item->dest + at : wanted + i * type.size, type.size);
    }
}

void image_compare(struct item *item) { image_compare_until(item, item->room_bytes); }

void image_compare_until(struct item *item, size_t end_bytes)
{
    for (size_t i = 0; i < end_bytes; i++)
        if (item->dest[i] != item->image[i])
            fail("byte %zu of dest is 0x%02x, expected 0x%02x (element size %zu)", i, item->dest[i], item->image[i],
                 item->row->type.size);
    lane.n_checks++;
}

/* ---- rows ---- */

static const struct check *const all_checks[] = {rma_checks, amo_checks, signal_checks, wait_checks, collective_checks};

static const struct check *check_of(const struct row *row)
{
    size_t length = strcspn(row->check, " ");
    for (size_t list = 0; list < sizeof all_checks / sizeof *all_checks; list++)
        for (const struct check *check = all_checks[list]; check->name != NULL; check++)
            if (strlen(check->name) == length && strncmp(check->name, row->check, length) == 0) return check;
    fail("there is no check '%s' for %s", row->check, row->name);
}

void *memory(void *pointer)
{
    if (pointer == NULL) fail("no memory");
    return pointer;
}

static size_t work_bytes(void) { return face.work_elements * 16; }

/* Gives each row its pieces of the symmetric memory. */
static void items_place(struct item *items, size_t n, size_t total_bytes, size_t n_sets)
{
    unsigned char *dest = memory(face.allocate(total_bytes)), *source = memory(face.allocate(total_bytes));
    unsigned char *image = memory(malloc(total_bytes)), *work = NULL;
    long *sync = NULL;
    memset(dest, POISON, total_bytes);
    if (n_sets != 0) {
        sync = memory(face.allocate(n_sets * 2 * face.sync_longs * sizeof *sync));
        work = memory(face.allocate(n_sets * 2 * work_bytes()));
    }
    for (size_t i = 0; i < n; i++) {
        items[i].dest = dest, items[i].source = source, items[i].image = image;
        dest += items[i].room_bytes, source += items[i].room_bytes, image += items[i].room_bytes;
        if ((items[i].row->flags & ROW_SET) == 0) continue;
        items[i].sync = sync, items[i].work = work;
        for (size_t k = 0; k < 2 * face.sync_longs; k++) sync[k] = face.sync_value;
        sync += 2 * face.sync_longs, work += 2 * work_bytes();
    }
}

struct item *items_make(const struct row *rows, size_t n, int lane_number)
{
    struct item *items = memory(calloc(n, sizeof *items));
    size_t total_bytes = 0, n_sets = 0;
    uint64_t seed = n + (uint64_t)lane_number * 1000000;
    for (size_t i = 0; i < n; i++) {
        const struct check *check = check_of(&rows[i]);
        const char *space = strchr(rows[i].check, ' ');
        size_t room_bytes = check->room != NULL ? check->room() : ROOM_BYTES;
        items[i] = (struct item){.row = &rows[i], .op = space != NULL ? space + 1 : "", .seed = random_of(seed, i)};
        items[i].room_bytes = (room_bytes + 63) & ~(size_t)63;
        total_bytes += items[i].room_bytes;
        n_sets += (rows[i].flags & ROW_SET) != 0;
    }
    items_place(items, n, total_bytes, n_sets);
    return items;
}

/* A collective without a team is of the world, or of a set whose members may be in one such call at a time. */
static bool is_for_one_lane(const struct row *row, const struct check *check)
{
    for (const struct check *of = collective_checks; of->name != NULL; of++)
        if (of == check) return (row->flags & ROW_TEAM) == 0;
    return false;
}

void item_run(struct item *item, size_t part)
{
    const struct check *check = check_of(item->row);
    void (*parts[])(struct item *) = {check->prepare, check->act, check->verify};
    if (lane.number != 0 && is_for_one_lane(item->row, check)) return;
    current = item;
    if (parts[part] != NULL) parts[part](item);
    current = NULL;
}

void item_out_of_time(int sig)
{
    static const char text[] = "the deadline has passed; the routine is ";
    (void)sig;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    if (current != NULL) (void)!write(STDERR_FILENO, current->row->name, strlen(current->row->name));
    (void)!write(STDERR_FILENO, "\n", 1);
    _exit(1);
}
