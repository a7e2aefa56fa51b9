/* core/api/public.h: the public headers as the library itself sees them: their declarations are exported.
 * A tool may define routines of shmem.h itself: their names are weak here, and the pshmem_ names are not. */
#ifndef IST_API_PUBLIC_H
#define IST_API_PUBLIC_H

#pragma GCC visibility push(default)
#include <ishmem.h>
#include <ishmemx.h>
#include <nvshmem.h>
#include <pshmem.h>
#include <rocshmem/rocshmem.hpp>
#include <shmemx.h>
#pragma GCC visibility pop

#include "core/api/weak_names.h"

/* After the definition of a routine of shmem.h: the same code under the name that tools call. */
#define IST_PROFILED(routine) extern __typeof__(routine) p##routine __attribute__((alias(#routine)));

#endif
