/* core/base/atomic.h: loads, stores and barriers on memory that peers or other threads also access.
 * Not the SHMEM atomics on a peer's memory (isthmus/amo_cpu.h).
 * A barrier's name is its purpose. Every use elsewhere names the access that it pairs with. */
#ifndef IST_BASE_ATOMIC_H
#define IST_BASE_ATOMIC_H

#include <isthmus/inline.h>
#include <stdint.h>

#define ist_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define ist_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define ist_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define ist_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* What fence needs between aliased accesses, and what quiet and remote_commit need after them: see isthmus/inline.h. */
static inline void ist_order_stores(void) { isthmus_order_stores_(); }

static inline void ist_publish_stores(void) { isthmus_publish_stores_(); }

/* Orders earlier loads before all later accesses, as a blocking get requires. */
static inline void ist_order_loads(void) { isthmus_order_loads_(); }

/* Orders the loads of a request's words before accesses to what the request refers to. Pairs with the fence of the
 * kernel that wrote it. ThreadSanitizer knows no fences: there both update one word (isthmus/device_cpu.h). */
#ifdef __SANITIZE_THREAD__
extern uint32_t isthmus_cpu_fence_v1;
static inline void ist_order_requests(void) { (void)__atomic_fetch_add(&isthmus_cpu_fence_v1, 1, __ATOMIC_ACQ_REL); }
#else
static inline void ist_order_requests(void) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
#endif

/* Hints to the processor that this is a spin loop. */
static inline void ist_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield" ::: "memory");
#endif
}

#endif
