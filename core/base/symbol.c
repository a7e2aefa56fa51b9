/* core/base/symbol.c: see note_page.h. dladdr() knows exported symbols only; variables of an executable rarely are. */
#include "core/base/note_page.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image {
    const unsigned char *bytes;
    size_t length_bytes;
};

/* Returns NULL if the file is shorter. */
static const void *part_of(const struct image *image, uint64_t offset, uint64_t length_bytes)
{
    if (offset > image->length_bytes || length_bytes > image->length_bytes - offset) return NULL;
    return image->bytes + offset;
}

/* The same for a table; also NULL if its offset is misaligned. */
static const void *table_of(const struct image *image, uint64_t offset, uint64_t length_bytes)
{
    return offset % sizeof(uint64_t) == 0 ? part_of(image, offset, length_bytes) : NULL;
}

static const Elf64_Ehdr *header_of(const struct image *image)
{
    const Elf64_Ehdr *header = part_of(image, 0, sizeof *header);
    bool is_ours = header != NULL && header->e_ident[EI_MAG0] == ELFMAG0 && header->e_ident[EI_MAG1] == ELFMAG1 &&
                   header->e_ident[EI_MAG2] == ELFMAG2 && header->e_ident[EI_MAG3] == ELFMAG3 &&
                   header->e_ident[EI_CLASS] == ELFCLASS64;
    return is_ours ? header : NULL;
}

/* Returns the address at which the file is linked; 0 if the system chooses it. */
static uint64_t first_address(const struct image *image, const Elf64_Ehdr *header)
{
    enum { PAGE_BYTES = 4096 };
    const Elf64_Phdr *segments = table_of(image, header->e_phoff, (uint64_t)header->e_phnum * sizeof *segments);
    for (int i = 0; segments != NULL && i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD) return segments[i].p_vaddr / PAGE_BYTES * PAGE_BYTES;
    return 0;
}

static const Elf64_Shdr *symbols_of(const struct image *image, const Elf64_Ehdr *header, const Elf64_Shdr **strings)
{
    const Elf64_Shdr *sections = table_of(image, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections);
    for (int i = 0; sections != NULL && i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum) continue;
        *strings = &sections[sections[i].sh_link];
        return &sections[i];
    }
    return NULL;
}

static void write_name(const struct image *image, const Elf64_Shdr *strings, const Elf64_Sym *symbol, uint64_t inside,
                       char *name, size_t room)
{
    struct ist_text out = ist_text_in(name, room);
    const char *text = part_of(image, strings->sh_offset, strings->sh_size);
    if (text == NULL || strings->sh_size == 0 || text[strings->sh_size - 1] != '\0') return;
    if (symbol->st_name < strings->sh_size) ist_text_add(&out, text + symbol->st_name);
    if (inside == 0) return;
    ist_text_add(&out, "+");
    ist_text_add_hex(&out, inside);
}

static bool find(const struct image *image, uint64_t offset, char *name, size_t room)
{
    const Elf64_Shdr *strings, *table;
    const Elf64_Ehdr *header = header_of(image);
    if (header == NULL || (table = symbols_of(image, header, &strings)) == NULL) return false;
    uint64_t address = offset + first_address(image, header), n = table->sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym *symbols = table_of(image, table->sh_offset, table->sh_size);
    for (uint64_t i = 0; symbols != NULL && i < n; i++) {
        const Elf64_Sym *symbol = &symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || address - symbol->st_value >= symbol->st_size) continue;
        write_name(image, strings, symbol, address - symbol->st_value, name, room);
        return *name != '\0';
    }
    return false;
}

static bool open_image(const char *path, struct image *out)
{
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    *out = (struct image){.bytes = MAP_FAILED};
    if (fstat(fd, &found) == 0 && found.st_size > 0) {
        out->length_bytes = (size_t)found.st_size;
        out->bytes = mmap(NULL, out->length_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
    return out->bytes != MAP_FAILED;
}

static void close_image(const struct image *image) { munmap((void *)(uintptr_t)image->bytes, image->length_bytes); }

bool ist_symbol_at(const char *path, uint64_t offset, char *name, size_t room)
{
    struct image image;
    if (!open_image(path, &image)) return false;
    bool is_found = find(&image, offset, name, room);
    close_image(&image);
    return is_found;
}

/* ---- the layout of all of them ---- */

uint64_t ist_hash_add(uint64_t hash, const void *data, size_t length_bytes)
{
    const unsigned char *bytes = data; /* FNV-1a */
    if (hash == 0) hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length_bytes; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* A sum: linkers do not agree on the order of symbols. */
static uint64_t layout_of(const struct image *image, uint64_t start, uint64_t end)
{
    enum { SYMBOLS_MAX = 1 << 16 }; /* 2 ms */
    const Elf64_Shdr *strings, *table;
    const Elf64_Ehdr *header = header_of(image);
    if (header == NULL || (table = symbols_of(image, header, &strings)) == NULL) return 0;
    const uint64_t first = first_address(image, header), n = table->sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym *symbols = table_of(image, table->sh_offset, table->sh_size);
    const char *names = part_of(image, strings->sh_offset, strings->sh_size);
    if (symbols == NULL || n > SYMBOLS_MAX || names == NULL || strings->sh_size == 0) return 0;
    if (names[strings->sh_size - 1] != '\0') return 0;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t offset = symbols[i].st_value - first;
        if (ELF64_ST_TYPE(symbols[i].st_info) != STT_OBJECT || offset < start || offset >= end) continue;
        if (symbols[i].st_name >= strings->sh_size) continue;
        const uint64_t numbers[] = {offset - start, symbols[i].st_size};
        const char *name = names + symbols[i].st_name;
        sum += ist_hash_add(ist_hash_add(0, numbers, sizeof numbers), name, strlen(name));
    }
    return sum;
}

uint64_t ist_symbol_layout(const char *path, uint64_t start, uint64_t end)
{
    struct image image;
    if (!open_image(path, &image)) return 0;
    const uint64_t layout = layout_of(&image, start, end);
    close_image(&image);
    return layout;
}
