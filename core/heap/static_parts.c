/* core/heap/static_parts.c: see static_data_priv.h. Program headers tell what the loader has mapped; the list of
 * mappings tells what is there. A program may protect pages of its static data (guards of stacks) or map files, huge
 * pages, or memory that it shares with others there. */
#include "core/heap/static_data_priv.h"

#include "core/base/maps.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct file {
    uintptr_t headers;      /* of the program, if the file has to be found: where these lie */
    uint64_t device, inode; /* inode 0: none */
};
typedef bool (*judge)(const struct file *file, const struct ist_mapping *mapping, const struct ist_static_part *part);

/* ---- parts ---- */

static char *end_of(const struct ist_static_part *part) { return part->start + part->length_bytes; }

/* Makes a boundary at this address if it lies within a part. Returns false if there are too many parts. */
static bool cut(struct ist_static_image *image, uintptr_t at)
{
    for (uint32_t i = 0; i < image->n_parts; i++) {
        struct ist_static_part *part = &image->parts[i];
        const uint64_t first_bytes = at - (uintptr_t)part->start;
        if (at <= (uintptr_t)part->start || first_bytes >= part->length_bytes) continue;
        if (image->n_parts == IST_STATIC_PARTS_MAX) return false;
        memmove(part + 1, part, (image->n_parts++ - i) * sizeof *part);
        part[1].start += first_bytes;
        part[1].length_bytes -= first_bytes;
        part[1].file_bytes -= part->file_bytes < first_bytes ? part->file_bytes : first_bytes;
        part->length_bytes = first_bytes;
        if (part->file_bytes > first_bytes) part->file_bytes = first_bytes;
        return true;
    }
    return true;
}

static bool are_alike(const struct ist_static_part *a, const struct ist_static_part *b)
{
    return end_of(a) == b->start && a->prot == b->prot && a->is_moved == b->is_moved &&
           a->is_left_out == b->is_left_out && (a->file_bytes == a->length_bytes || b->file_bytes == 0);
}

/* A mapping's end that changes nothing makes no boundary. */
static void join(struct ist_static_image *image)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < image->n_parts; i++) {
        struct ist_static_part *last = &image->parts[n - (n > 0)];
        if (n > 0 && are_alike(last, &image->parts[i])) {
            last->length_bytes += image->parts[i].length_bytes;
            last->file_bytes += image->parts[i].file_bytes;
        } else {
            image->parts[n++] = image->parts[i];
        }
    }
    image->n_parts = n;
}

/* ---- mappings ---- */

static bool is_of(const struct file *file, const struct ist_mapping *mapping)
{
    return mapping->inode == file->inode && mapping->device == file->device;
}

static void keep_parts(struct ist_static_image *image, const struct ist_mapping *mapping, judge may_stay,
                       const struct file *file)
{
    for (uint32_t i = 0; i < image->n_parts; i++) {
        struct ist_static_part *part = &image->parts[i];
        if ((uintptr_t)part->start < mapping->start || (uintptr_t)end_of(part) > mapping->end) continue;
        if (!may_stay(file, mapping, part)) continue;
        part->is_left_out = false;
        if (part->is_moved) part->prot = mapping->prot;
    }
}

/* Keeps those parts that are marked as left out and may stay. *is_known is false if nothing was found. */
static isthmus_status keep(struct ist_static_image *image, judge may_stay, struct file *file, bool *is_known)
{
    const uintptr_t start = (uintptr_t)image->base, end = start + image->length_bytes;
    struct ist_maps maps;
    struct ist_mapping mapping = {.end = 0};
    bool has_room = true;
    *is_known = false;
    if (!ist_maps_open(&maps)) return ISTHMUS_OK;
    while (has_room && mapping.end < end && ist_maps_next(&maps, &mapping)) {
        *is_known |= mapping.start < end && mapping.end > start;
        if (mapping.start <= file->headers && file->headers < mapping.end)
            *file = (struct file){file->headers, mapping.device, mapping.inode};
        has_room = cut(image, mapping.start) && cut(image, mapping.end);
        keep_parts(image, &mapping, may_stay, file);
    }
    ist_maps_close(&maps);
    if (has_room) return ISTHMUS_OK;
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED,
                    "the program has protected or mapped pages of its static data in more than %d pieces, which is the "
                    "limit; set ISTHMUS_STATIC_DATA=0 if no PE accesses global variables of another",
                    IST_STATIC_PARTS_MAX);
}

static bool is_any_moved(const struct ist_static_image *image)
{
    bool is_any = false;
    for (uint32_t i = 0; i < image->n_parts; i++) is_any |= image->parts[i].is_moved && !image->parts[i].is_left_out;
    return is_any;
}

/* Leaves the parts out that may not stay; of all or of those that were moved. None where the list of mappings cannot be
 * had, as without /proc, or is not understood: an emulator shows its own addresses, or its own numbers of files. */
static isthmus_status leave_out(struct ist_static_image *image, bool are_all, judge may_stay, struct file *file)
{
    bool is_known;
    for (uint32_t i = 0; i < image->n_parts; i++) image->parts[i].is_left_out |= are_all || image->parts[i].is_moved;
    const isthmus_status status = keep(image, may_stay, file, &is_known);
    is_known &= status == ISTHMUS_OK && (are_all || is_any_moved(image));
    for (uint32_t i = 0; i < image->n_parts; i++) {
        struct ist_static_part *part = &image->parts[i];
        if (!is_known) part->is_left_out &= !are_all && !part->is_moved;
        part->is_moved &= !part->is_left_out;
    }
    join(image);
    return status;
}

/* ---- before the move ---- */

/* By the loader, or by an earlier move and its way back. Private pages without a file are as good as the loader's. */
static bool is_loaded(const struct file *file, const struct ist_mapping *mapping, const struct ist_static_part *part)
{
    const int needed = part->is_moved ? PROT_READ | PROT_WRITE : PROT_READ;
    const bool is_right = mapping->inode == 0 || file->inode == 0 || is_of(file, mapping) ||
                          strncmp(mapping->name, "/memfd:isthmus-static", 21) == 0;
    return is_right && !mapping->is_shared && (mapping->prot & needed) == needed;
}

/* The program headers are in the first mapping of the file, before the data. A program that has moved its code to huge
 * pages has no file there: it is not known. */
isthmus_status ist_static_parts_find(struct ist_static_image *image)
{
    struct file file = {(uintptr_t)image->headers, 0, 0};
    return leave_out(image, true, is_loaded, &file);
}

/* ---- after it ---- */

static bool is_moved(const struct file *file, const struct ist_mapping *mapping, const struct ist_static_part *part)
{
    return part->is_moved && mapping->is_shared && is_of(file, mapping);
}

void ist_static_parts_review(struct ist_static_image *image, int fd)
{
    struct stat of_fd;
    if (fstat(fd, &of_fd) != 0) return;
    struct file file = {0, of_fd.st_dev, of_fd.st_ino};
    (void)leave_out(image, false, is_moved, &file);
}
