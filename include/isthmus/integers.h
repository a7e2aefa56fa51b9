/* isthmus/integers.h: size_t, ptrdiff_t and the integers of a fixed width, also for NVRTC, which has no headers of the
 * system. There they are what libcu++ makes of them. */
#ifndef ISTHMUS_INTEGERS_H
#define ISTHMUS_INTEGERS_H

#ifdef __CUDACC_RTC__
#if __has_include(<cuda/std/cstdint>)
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
#endif
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t;
typedef long long intptr_t;
typedef decltype((char *)0 - (char *)0) ptrdiff_t;
#ifndef INT_MAX
#define INT_MAX 0x7fffffff
#endif
#else
#include <stddef.h>
#include <stdint.h>
#endif

#endif
