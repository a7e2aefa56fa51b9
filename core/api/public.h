/* core/api/public.h: the public headers as the library itself sees them: what they declare is visible outside. */
#ifndef IST_API_PUBLIC_H
#define IST_API_PUBLIC_H

#pragma GCC visibility push(default)
#include <ishmem.h>
#include <ishmemx.h>
#include <nvshmem.h>
#include <shmem.h>
#include <shmemx.h>
#pragma GCC visibility pop

#endif
