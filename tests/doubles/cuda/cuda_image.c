/* tests/doubles/cuda/cuda_image.c: see cuda_double.h. What an image of code has, as compilers make it: PTX, a text, or
 * the ELF file of one architecture (a cubin). */
#include "tests/doubles/cuda/cuda_double.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

enum { FOR_CUDA = 190 }; /* e_machine */

/* PTX begins with its version, after comments. */
static const char *ptx_of(const char *image)
{
    while (*image == '/' || *image == '\n' || *image == ' ') {
        if (*image == '/' && image[1] != '/') return NULL;
        if (*image == '/') image += strcspn(image, "\n");
        if (*image != '\0') image++;
    }
    return strncmp(image, ".version ", 9) == 0 ? image : NULL;
}

/* Arrays of bytes, wherever they lie: ".visible .const .align 8 .b8 NAME[BYTES];". */
static int read_ptx(const char *ptx, struct double_variable *out, int most)
{
    int n = 0;
    for (const char *at = ptx; n < most && (at = strstr(at, ".b8 ")) != NULL; at++)
        n += sscanf(at, ".b8 %63[A-Za-z0-9_$][%zu]", out[n].name, &out[n].bytes) == 2;
    return n;
}

static int read_symbols(const char *image, const Elf64_Shdr *sections, const Elf64_Shdr *table,
                        struct double_variable *out, int most)
{
    const Elf64_Sym *symbols = (const void *)(image + table->sh_offset);
    const char *names = image + sections[table->sh_link].sh_offset;
    int n = 0;
    for (size_t i = 0; n < most && i < table->sh_size / sizeof *symbols; i++) {
        const char *name = names + symbols[i].st_name;
        if (ELF64_ST_TYPE(symbols[i].st_info) != STT_OBJECT || symbols[i].st_shndx == SHN_UNDEF) continue;
        if (strlen(name) >= sizeof out->name) continue;
        memcpy(out[n].name, name, strlen(name) + 1);
        out[n++].bytes = symbols[i].st_size;
    }
    return n;
}

static int read_elf(const char *image, struct double_variable *out, int most)
{
    const Elf64_Ehdr *head = (const void *)image;
    if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != FOR_CUDA) return -1;
    const Elf64_Shdr *sections = (const void *)(image + head->e_shoff);
    int n = 0;
    for (int i = 0; i < head->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB) n += read_symbols(image, sections, &sections[i], out + n, most - n);
    return n;
}

int double_image_read(const char *image, struct double_variable *out, int most)
{
    if (strncmp(image, ELFMAG, SELFMAG) == 0) return read_elf(image, out, most);
    const char *ptx = ptx_of(image);
    return ptx != NULL ? read_ptx(ptx, out, most) : -1;
}
