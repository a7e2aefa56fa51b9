/* core/base/symbol.c: see note_page.h. dladdr() knows exported symbols only; variables of an executable rarely are. */
#include "core/base/note_page.h"

#include <elf.h>
#include <fcntl.h>
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

bool ist_symbol_at(const char *path, uint64_t offset, char *name, size_t room)
{
    struct stat found;
    struct image image = {.bytes = MAP_FAILED};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    if (fstat(fd, &found) == 0 && found.st_size > 0) {
        image.length_bytes = (size_t)found.st_size;
        image.bytes = mmap(NULL, image.length_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
    if (image.bytes == MAP_FAILED) return false;
    bool is_found = find(&image, offset, name, room);
    munmap((void *)(uintptr_t)image.bytes, image.length_bytes);
    return is_found;
}
