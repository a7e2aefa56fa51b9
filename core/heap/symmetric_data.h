/* core/heap/symmetric_data.h: which loaded objects' static data is symmetric, and their exposure to peers.
 * The executable's always (unless ISTHMUS_STATIC_DATA=0), a shared object's only when ISTHMUS_SYMMETRIC_OBJECTS names
 * it. How data moves onto a memfd is static_data.h. */
#ifndef IST_HEAP_SYMMETRIC_DATA_H
#define IST_HEAP_SYMMETRIC_DATA_H

#include "core/base/config.h"

isthmus_status ist_symmetric_data_init(const struct ist_config *config);
isthmus_status ist_symmetric_data_expose(void); /* as segments 1, 2, ... */

/* Returns true if the range lies in read-only data of the executable. Every PE runs the same executable, so that get
 * can read constants from the local copy. */
bool ist_symmetric_data_is_constant(const void *addr, size_t length_bytes);

void ist_symmetric_data_fini(void); /* private memory again, with the last values; takes any state */

#endif
