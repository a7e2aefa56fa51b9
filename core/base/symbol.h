/* core/base/symbol.h: the names of static variables, as far as an executable has them. For messages. */
#ifndef IST_BASE_SYMBOL_H
#define IST_BASE_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "flag", or "flags+0x8", of the variable that lies `offset` bytes behind where the ELF file `path` is loaded. Only system
 * calls: it may be used in a signal handler. */
bool ist_symbol_at(const char *path, uint64_t offset, char *name, size_t room);

#endif
