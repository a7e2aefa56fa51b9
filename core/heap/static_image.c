/* core/heap/static_image.c: where a loaded object's writable data lies, and which parts of it stay writable.
 * Not its use (static_data.c), nor what the program did to it (static_parts.c). All of it follows from the object's
 * program headers; see elf(5), dl_iterate_phdr(3). */
#include "core/heap/static_data_priv.h"

#include "core/base/note_page.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct search {
    const char *name;
    struct ist_static_image *out;
    isthmus_status status;
    bool is_found;
};

struct span {
    uintptr_t start, end;
};

static uintptr_t page_down(uintptr_t address) { return address & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1); }
static uintptr_t page_up(uintptr_t address) { return page_down(address + (uintptr_t)sysconf(_SC_PAGESIZE) - 1); }

static struct span pages_of(const struct dl_phdr_info *info, const ElfW(Phdr) * header)
{
    const uintptr_t start = info->dlpi_addr + header->p_vaddr;
    return (struct span){page_down(start), page_up(start + header->p_memsz)};
}

/* "libfoo.so" names libfoo.so.1.2 as well, "libfoo.so.1" too. */
static bool is_named(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const size_t name_bytes = strlen(name);
    return strncmp(base, name, name_bytes) == 0 && (base[name_bytes] == '\0' || base[name_bytes] == '.');
}

/* As the dynamic linker protects it: both ends rounded down. An empty span when there is none. */
static struct span relro_of(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_GNU_RELRO) return (struct span){page_down(start), page_down(start + header->p_memsz)};
    }
    return (struct span){0, 0};
}

static struct span writable_of(const struct dl_phdr_info *info)
{
    struct span all = {UINTPTR_MAX, 0};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_W) || header->p_memsz == 0) continue;
        const struct span pages = pages_of(info, header);
        if (pages.start < all.start) all.start = pages.start;
        if (pages.end > all.end) all.end = pages.end;
    }
    return all;
}

/* One more part of `header`, [start, end) of its pages, unless empty. */
static void part_add(struct search *search, const struct dl_phdr_info *info, const ElfW(Phdr) * header, uintptr_t start,
                     uintptr_t end, bool is_moved)
{
    struct ist_static_image *image = search->out;
    if (start >= end) return;
    if (image->n_parts == IST_STATIC_PARTS_MAX) {
        search->status = ist_fail(ISTHMUS_ERR_UNSUPPORTED,
                                  "the static data of %s is in more than %d pieces, which is the limit",
                                  info->dlpi_name[0] ? info->dlpi_name : "the executable", IST_STATIC_PARTS_MAX);
        return;
    }
    const uintptr_t file_end = page_up(info->dlpi_addr + header->p_vaddr + header->p_filesz);
    const uintptr_t file_end_here = file_end < start || header->p_filesz == 0 ? start : file_end < end ? file_end : end;
    int prot = PROT_READ;
    if (header->p_flags & PF_W) prot |= PROT_WRITE;
    if (header->p_flags & PF_X) prot |= PROT_EXEC;
    image->parts[image->n_parts++] = (struct ist_static_part){.start = (char *)start,
                                                              .length_bytes = end - start,
                                                              .file_bytes = file_end_here - start,
                                                              .prot = prot,
                                                              .is_moved = is_moved};
}

/* ---- where its variables lie ---- */

/* A hash of the note that the linker writes, of the content of the file; 0: there is none. */
static uint64_t build_of(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + header->p_vaddr), *end = at + header->p_memsz;
        if (header->p_type != PT_NOTE || header->p_align > 4) continue;
        while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const void *)at;
            const char *name = at + sizeof *note, *content = name + (note->n_namesz + 3) / 4 * 4;
            if (content > end || note->n_descsz > (size_t)(end - content)) break;
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
                return ist_hash_add(0, content, note->n_descsz);
            at = content + (note->n_descsz + 3) / 4 * 4;
        }
    }
    return 0;
}

/* Without symbols, the lengths of the parts have to do. */
static void find_layout(const struct dl_phdr_info *info, struct ist_static_image *image)
{
    const bool is_executable = info->dlpi_name[0] == '\0';
    const char *path = is_executable ? "/proc/thread-self/exe" : info->dlpi_name;
    uintptr_t load_address = UINTPTR_MAX;
    uint64_t lengths = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD) continue;
        const uintptr_t start = page_down(info->dlpi_addr + header->p_vaddr);
        if (start < load_address) load_address = start;
        lengths = ist_hash_add(lengths, &header->p_memsz, sizeof header->p_memsz);
    }
    const uint64_t start = (uintptr_t)image->base - load_address;
    image->layout.build = build_of(info);
    image->layout.variables = ist_symbol_layout(path, start, start + image->length_bytes);
    if (image->layout.variables == 0) image->layout.variables = lengths;
}

static void image_fill(struct search *search, const struct dl_phdr_info *info)
{
    const struct span all = writable_of(info), relro = relro_of(info);
    search->out->base = NULL;
    search->out->n_parts = 0;
    if (all.start >= all.end) return;
    search->out->headers = info->dlpi_phdr;
    search->out->base = (char *)all.start;
    search->out->length_bytes = all.end - all.start;
    for (int i = 0; i < info->dlpi_phnum; i++) { /* ascending, by the ELF specification */
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || header->p_memsz == 0) continue;
        const struct span pages = pages_of(info, header);
        if (pages.end <= all.start || pages.start >= all.end) continue;
        const bool is_writable = header->p_flags & PF_W;
        const bool has_relro = relro.start < pages.end && relro.end > pages.start;
        const uintptr_t relro_start = !has_relro ? pages.start : relro.start < pages.start ? pages.start : relro.start;
        const uintptr_t relro_end = !has_relro ? pages.start : relro.end > pages.end ? pages.end : relro.end;
        part_add(search, info, header, pages.start, relro_start, is_writable);
        part_add(search, info, header, relro_start, relro_end, false);
        part_add(search, info, header, relro_end, pages.end, is_writable);
    }
    find_layout(info, search->out);
}

static int visit(struct dl_phdr_info *info, size_t info_bytes, void *data)
{
    (void)info_bytes;
    struct search *search = data;
    const bool is_executable = search->name[0] == '\0'; /* the executable comes first */
    if (!is_executable && !is_named(info->dlpi_name, search->name)) return 0;
    search->is_found = true;
    image_fill(search, info);
    return 1;
}

isthmus_status ist_static_image_find(const char *name, struct ist_static_image *out)
{
    struct search search = {.name = name ? name : "", .out = out, .status = ISTHMUS_OK};
    dl_iterate_phdr(visit, &search);
    if (!search.is_found)
        return ist_fail(
            ISTHMUS_ERR_INVALID,
            "ISTHMUS_SYMMETRIC_OBJECTS names %s, but no such shared object is loaded; link the program with it",
            search.name);
    if (search.status == ISTHMUS_OK && out->base != NULL) search.status = ist_static_parts_find(out);
    return search.status;
}
