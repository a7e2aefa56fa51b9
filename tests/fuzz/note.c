/* tests/fuzz/note.c: what isthmus-run reads of a PE that hangs: its page of notes, which the PE may write at any time,
 * and the table of symbols of its program. The first byte selects one. */
#include "core/base/note_page.h"
#include "tests/fuzz/fuzz.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROOM = 256, OFFSET = 0x40 };

static void read_page(const uint8_t *bytes, size_t n_bytes)
{
    struct ist_note_page *page = aligned_alloc(64, IST_NOTE_PAGE_BYTES);
    if (page == NULL) abort();
    memset(page, 0, IST_NOTE_PAGE_BYTES);
    memcpy(page->notes, bytes, n_bytes < sizeof page->notes ? n_bytes : sizeof page->notes);
    for (int i = 0; i < IST_NOTES; i++) {
        struct ist_note *note = malloc(sizeof *note); /* sanitizers report a read beyond it */
        char line[ROOM];
        struct ist_text text = ist_text_in(line, sizeof line);
        if (note == NULL) abort();
        if (ist_note_read(&page->notes[i], note)) ist_note_tell(&text, note, NULL, i % 2 == 0);
        if (strlen(line) >= sizeof line) abort();
        free(note);
    }
    free(page);
}

static void read_symbols(const uint8_t *bytes, size_t n_bytes)
{
    char path[32], name[ROOM];
    int fd = memfd_create("program", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, bytes, n_bytes) == (ssize_t)n_bytes) (void)ist_symbol_at(path, OFFSET, name, sizeof name);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    if ((data[0] & 1) == 0)
        read_page(data + 1, size - 1);
    else
        read_symbols(data + 1, size - 1);
    return 0;
}

/* A page with one note of each kind; and a program with one variable. */
static size_t seed_page(uint8_t *out, size_t room)
{
    struct ist_note notes[IST_NOTE_CONNECTION];
    memset(notes, 0, sizeof notes);
    for (uint32_t i = 0; i < IST_NOTE_CONNECTION; i++)
        notes[i] = (struct ist_note){.thread = 1,
                                     .kind = i + 1,
                                     .team = 4,
                                     .collective = 41,
                                     .routine = "shmem_x",
                                     .place = "the symmetric heap+0x40",
                                     .size_bytes = 8,
                                     .quantity = IST_ANY_OF};
    return fuzz_put(out, room, notes, sizeof notes);
}

static size_t seed_program(uint8_t *out, size_t room)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Shdr sections[2];
        Elf64_Sym symbol;
        char strings[8];
    } file = {.strings = "\0flag"};
    memcpy(file.header.e_ident, ELFMAG, SELFMAG);
    file.header.e_ident[EI_CLASS] = ELFCLASS64;
    file.header.e_shoff = sizeof file.header;
    file.header.e_shnum = 2;
    file.sections[0] = (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_link = 1, .sh_size = sizeof file.symbol};
    file.sections[0].sh_offset = (size_t)((char *)&file.symbol - (char *)&file);
    file.sections[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = sizeof file.strings};
    file.sections[1].sh_offset = (size_t)((char *)file.strings - (char *)&file);
    file.symbol = (Elf64_Sym){
        .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .st_value = OFFSET, .st_size = 8};
    return fuzz_put(out, room, &file, sizeof file);
}

size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    if (i > 1) return 0;
    out[0] = (uint8_t)i;
    return 1 + (i == 0 ? seed_page(out + 1, room - 1) : seed_program(out + 1, room - 1));
}
