/* core/base/symbol.h: the names of static variables, as far as an executable has them. For messages. */
#ifndef IST_BASE_SYMBOL_H
#define IST_BASE_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes "flag", or "flags+0x8", for the variable `offset` bytes after the load address of the ELF file `path`. Uses
 * system calls only, so a signal handler may call it. */
bool ist_symbol_at(const char *path, uint64_t offset, char *name, size_t room);

#endif
