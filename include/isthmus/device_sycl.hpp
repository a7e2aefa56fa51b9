/* isthmus/device_sycl.hpp: the primitives of device.h for SYCL, in DPC++'s dialect of it (device_global, free
 * functions that name the calling work-item). Not the names of Intel SHMEM (ishmem_device.hpp), nor how the state comes
 * to a device (device_sycl_module.hpp). "block" is a work-group here, "warp" a sub-group; a thread is a work-item.
 *
 * On the host these functions compile, because a SYCL program is compiled for both, and are not called. */
#ifndef ISTHMUS_DEVICE_SYCL_HPP
#define ISTHMUS_DEVICE_SYCL_HPP

#include <isthmus/device_state.h>

/* In the first page of memory, which no process has. */
enum { ISTHMUS_SYCL_TRAP_ADDRESS = 0x5c0 };

#ifdef SYCL_LANGUAGE_VERSION

#include <sycl/sycl.hpp>

/* Inlined, so that the scope of a call is a constant where a barrier depends on it: a kernel that would contain a
 * barrier of a sub-group is compiled another way than one that does not. */
#define ISTHMUS_DEVICE static inline __attribute__((always_inline, unused))
#define ISTHMUS_DEVICE_COLD static __attribute__((noinline, unused))
#define ISTHMUS_DEVICE_COLD_GROUP ISTHMUS_DEVICE
#define ISTHMUS_DEVICE_LIKELY(x) __builtin_expect(!!(x), 1)
#define ISTHMUS_DEVICE_APART ISTHMUS_DEVICE
#define ISTHMUS_DEVICE_UNROLL
#define ISTHMUS_DEVICE_ROLLED
#define ISTHMUS_DEVICE_KEEP(a, b) (void)0

/* The state, one object for a program or for a bundle that is compiled at run time. Without device_image_scope: kernels
 * of one program may lie in several images, which share it. */
inline sycl::ext::oneapi::experimental::device_global<struct isthmus_device_state> isthmus_sycl_state_v1;
#define isthmus_device_v1 (isthmus_sycl_state_v1.get())

/* Calls of isthmus_dev_vary() so far. */
inline sycl::ext::oneapi::experimental::device_global<uint32_t> isthmus_sycl_calls_v1;

typedef uint8_t __attribute__((may_alias)) isthmus_u8;
typedef uint16_t __attribute__((may_alias)) isthmus_u16;
typedef uint32_t __attribute__((may_alias)) isthmus_u32;
typedef uint64_t __attribute__((may_alias)) isthmus_u64;
struct __attribute__((may_alias, aligned(16))) isthmus_u128 {
    uint64_t low, high;
};

/* ---- memory ----
 * SYCL has atomics of 4 and 8 bytes. Narrower elements are loaded and stored by one volatile access each, and otherwise
 * are changed inside their word of 4 bytes. */

template <typename T, sycl::memory_scope Scope>
using isthmus_sycl_ref =
    sycl::atomic_ref<T, sycl::memory_order::relaxed, Scope, sycl::access::address_space::generic_space>;
template <typename T> using isthmus_sycl_system = isthmus_sycl_ref<T, sycl::memory_scope::system>;
template <typename T> using isthmus_sycl_device = isthmus_sycl_ref<T, sycl::memory_scope::device>;

template <typename T> ISTHMUS_DEVICE T &isthmus_sycl_at(const void *at) { return *(T *)(uintptr_t)at; }

ISTHMUS_DEVICE uint64_t isthmus_sycl_load(const void *from, size_t size, sycl::memory_order order)
{
    switch (size) {
    case 1: return isthmus_sycl_at<volatile isthmus_u8>(from);
    case 2: return isthmus_sycl_at<volatile isthmus_u16>(from);
    case 4: return isthmus_sycl_system<uint32_t>(isthmus_sycl_at<uint32_t>(from)).load(order);
    default: return isthmus_sycl_system<uint64_t>(isthmus_sycl_at<uint64_t>(from)).load(order);
    }
}

ISTHMUS_DEVICE uint64_t isthmus_dev_load(const void *from, size_t size)
{
    return isthmus_sycl_load(from, size, sycl::memory_order::relaxed);
}

ISTHMUS_DEVICE uint64_t isthmus_dev_load_acquire(const void *from, size_t size)
{
    uint64_t value = isthmus_sycl_load(from, size, sycl::memory_order::acquire);
    if (size < 4) sycl::atomic_fence(sycl::memory_order::acquire, sycl::memory_scope::system);
    return value;
}

ISTHMUS_DEVICE void isthmus_dev_store(void *to, uint64_t bits, size_t size)
{
    switch (size) {
    case 1: isthmus_sycl_at<volatile isthmus_u8>(to) = (uint8_t)bits; break;
    case 2: isthmus_sycl_at<volatile isthmus_u16>(to) = (uint16_t)bits; break;
    case 4: isthmus_sycl_system<uint32_t>(isthmus_sycl_at<uint32_t>(to)).store((uint32_t)bits); break;
    default: isthmus_sycl_system<uint64_t>(isthmus_sycl_at<uint64_t>(to)).store(bits); break;
    }
}

ISTHMUS_DEVICE void isthmus_dev_store_release(uint64_t *to, uint64_t value)
{
    isthmus_sycl_system<uint64_t>(*to).store(value, sycl::memory_order::release);
}

ISTHMUS_DEVICE void isthmus_dev_add_release(uint64_t *to, uint64_t value)
{
    (void)isthmus_sycl_system<uint64_t>(*to).fetch_add(value, sycl::memory_order::release);
}

ISTHMUS_DEVICE void isthmus_dev_store_pair(uint64_t *to, uint64_t first, uint64_t second)
{
    isthmus_sycl_system<uint64_t>(to[0]).store(first);
    isthmus_sycl_system<uint64_t>(to[1]).store(second);
}

ISTHMUS_DEVICE uint64_t isthmus_dev_add_device(uint64_t *at, uint64_t value)
{
    return isthmus_sycl_device<uint64_t>(*at).fetch_add(value);
}

ISTHMUS_DEVICE uint64_t isthmus_dev_load_device(const uint64_t *at)
{
    return isthmus_sycl_device<uint64_t>(isthmus_sycl_at<uint64_t>(at)).load(sycl::memory_order::acquire);
}

ISTHMUS_DEVICE void isthmus_dev_store_device(uint64_t *at, uint64_t value)
{
    isthmus_sycl_device<uint64_t>(*at).store(value, sycl::memory_order::release);
}

ISTHMUS_DEVICE uint32_t isthmus_dev_load_turn(const uint32_t *at)
{
    return isthmus_sycl_device<uint32_t>(isthmus_sycl_at<uint32_t>(at)).load(sycl::memory_order::acquire);
}

ISTHMUS_DEVICE void isthmus_dev_store_turn(uint32_t *at, uint32_t value)
{
    isthmus_sycl_device<uint32_t>(*at).store(value, sycl::memory_order::release);
}

/* On processors the host reaches all memory. On GPUs nothing tells private memory apart here. */
ISTHMUS_DEVICE int isthmus_dev_is_private(const void *) { return 0; }

/* ---- atomics at system scope ---- */

template <typename T> ISTHMUS_DEVICE T isthmus_sycl_amo(uint32_t op, T &word, T operand, T compare)
{
    isthmus_sycl_system<T> at(word);
    switch (op) {
    case ISTHMUS_DEV_AMO_FETCH: return at.load();
    case ISTHMUS_DEV_AMO_SET: at.store(operand); return 0;
    case ISTHMUS_DEV_AMO_SWAP: return at.exchange(operand);
    case ISTHMUS_DEV_AMO_COMPARE_SWAP: (void)at.compare_exchange_strong(compare, operand); return compare;
    case ISTHMUS_DEV_AMO_ADD: return at.fetch_add(operand);
    case ISTHMUS_DEV_AMO_AND: return at.fetch_and(operand);
    case ISTHMUS_DEV_AMO_OR: return at.fetch_or(operand);
    default: return at.fetch_xor(operand);
    }
}

ISTHMUS_DEVICE uint32_t isthmus_sycl_combined(uint32_t op, uint32_t old, uint32_t operand, uint32_t compare)
{
    switch (op) {
    case ISTHMUS_DEV_AMO_FETCH: return old;
    case ISTHMUS_DEV_AMO_SET:
    case ISTHMUS_DEV_AMO_SWAP: return operand;
    case ISTHMUS_DEV_AMO_COMPARE_SWAP: return old == compare ? operand : old;
    case ISTHMUS_DEV_AMO_ADD: return old + operand;
    case ISTHMUS_DEV_AMO_AND: return old & operand;
    case ISTHMUS_DEV_AMO_OR: return old | operand;
    default: return old ^ operand;
    }
}

/* 1 or 2 bytes: replaced inside their word, whose other bytes stay as they are. */
ISTHMUS_DEVICE_COLD uint64_t isthmus_sycl_narrow_amo(uint32_t op, void *addr, uint32_t operand, uint32_t compare,
                                                     size_t size)
{
    uintptr_t apart = (uintptr_t)addr & 3;
    isthmus_sycl_system<uint32_t> word(isthmus_sycl_at<uint32_t>((char *)addr - apart));
    uint32_t shift = 8 * (uint32_t)apart, mask = size == 1 ? 0xff : 0xffff, seen = word.load(), old, replaced;
    do {
        old = seen >> shift & mask;
        replaced = isthmus_sycl_combined(op, old, operand & mask, compare & mask) & mask;
    } while (!word.compare_exchange_weak(seen, (seen & ~(mask << shift)) | replaced << shift));
    return old;
}

/* op and size are constant; size: 1, 2, 4 or 8. */
ISTHMUS_DEVICE uint64_t isthmus_dev_amo(uint32_t op, void *at, uint64_t operand, uint64_t compare, size_t size)
{
    switch (size) {
    case 8: return isthmus_sycl_amo<uint64_t>(op, isthmus_sycl_at<uint64_t>(at), operand, compare);
    case 4: return isthmus_sycl_amo<uint32_t>(op, isthmus_sycl_at<uint32_t>(at), (uint32_t)operand, (uint32_t)compare);
    default: return isthmus_sycl_narrow_amo(op, at, (uint32_t)operand, (uint32_t)compare, size);
    }
}

/* ---- order ---- */

ISTHMUS_DEVICE void isthmus_dev_fence(void)
{
    sycl::atomic_fence(sycl::memory_order::acq_rel, sycl::memory_scope::system);
}

ISTHMUS_DEVICE void isthmus_dev_drain(void)
{
    sycl::atomic_fence(sycl::memory_order::seq_cst, sycl::memory_scope::system);
}

/* ---- work-items ----
 * A range of fewer dimensions is one of three whose other lengths are 1. */

ISTHMUS_DEVICE sycl::nd_item<3> isthmus_sycl_item(void) { return sycl::ext::oneapi::this_work_item::get_nd_item<3>(); }

ISTHMUS_DEVICE uint32_t isthmus_dev_thread_rank(void) { return (uint32_t)isthmus_sycl_item().get_local_linear_id(); }

ISTHMUS_DEVICE uint32_t isthmus_dev_thread_count(void)
{
    return (uint32_t)isthmus_sycl_item().get_local_range().size();
}

ISTHMUS_DEVICE uint32_t isthmus_dev_block_rank(void) { return (uint32_t)isthmus_sycl_item().get_group_linear_id(); }

ISTHMUS_DEVICE uint32_t isthmus_dev_block_count(void) { return (uint32_t)isthmus_sycl_item().get_group_range().size(); }

ISTHMUS_DEVICE void isthmus_dev_barrier(int scope)
{
    if (scope == ISTHMUS_WARP)
        sycl::group_barrier(sycl::ext::oneapi::this_work_item::get_sub_group());
    else
        sycl::group_barrier(isthmus_sycl_item().get_group());
}

/* The scope of a group that a program passes. */
template <int Dimensions> ISTHMUS_DEVICE constexpr int isthmus_sycl_scope(const sycl::group<Dimensions> &)
{
    return ISTHMUS_BLOCK;
}
ISTHMUS_DEVICE constexpr int isthmus_sycl_scope(const sycl::sub_group &) { return ISTHMUS_WARP; }

/* The groups of device_group.h. A sub-group has as many work-items as the device likes, and there are no warpgroups. */
#define ISTHMUS_DEVICE_HAS_GROUPS
ISTHMUS_DEVICE uint32_t isthmus_dev_rank(int scope)
{
    return scope == ISTHMUS_THREAD ? 0
           : scope == ISTHMUS_WARP ? (uint32_t)sycl::ext::oneapi::this_work_item::get_sub_group().get_local_linear_id()
                                   : isthmus_dev_thread_rank();
}

ISTHMUS_DEVICE uint32_t isthmus_dev_size(int scope)
{
    return scope == ISTHMUS_THREAD ? 1
           : scope == ISTHMUS_WARP
               ? (uint32_t)sycl::ext::oneapi::this_work_item::get_sub_group().get_local_linear_range()
               : isthmus_dev_thread_count();
}

/* SYCL has no way to give the processor away. */
ISTHMUS_DEVICE void isthmus_dev_pause(void) {}

ISTHMUS_DEVICE uint64_t isthmus_dev_vary(void)
{
    return isthmus_sycl_device<uint32_t>(isthmus_sycl_calls_v1.get()).fetch_add(1);
}

/* SYCL has no trap: a store that cannot be done ends the kernel. On processors the fault's handler of
 * device_sycl_module.hpp knows it by its address. */
ISTHMUS_DEVICE_COLD void isthmus_dev_trap(void)
{
    for (;;) isthmus_sycl_at<volatile uint32_t>((void *)(uintptr_t)ISTHMUS_SYCL_TRAP_ADDRESS) = 0;
}

ISTHMUS_DEVICE int isthmus_dev_is_over(void) { return 0; } /* a trap ends all work-items of the kernel */

#if defined(__SYCL_DEVICE_ONLY__) && defined(__clang__)
#define ISTHMUS_SYCL_CONSTANT __attribute__((opencl_constant))
#else
#define ISTHMUS_SYCL_CONSTANT
#endif

ISTHMUS_DEVICE const ISTHMUS_SYCL_CONSTANT char *isthmus_sycl_call_name(int call)
{
#define ISTHMUS_SYCL_CALL_NAME(id, text)                       \
    case ISTHMUS_CALL_##id: {                                  \
        static const ISTHMUS_SYCL_CONSTANT char name[] = text; \
        return name;                                           \
    }
    switch (call) {
        ISTHMUS_DEVICE_CALLS(ISTHMUS_SYCL_CALL_NAME)
    default: break;
    }
#undef ISTHMUS_SYCL_CALL_NAME
    static const ISTHMUS_SYCL_CONSTANT char other[] = "call";
    return other;
}

/* There is no memory for a report. SYCL's stream is the output of the process, which the fault's handler flushes. */
ISTHMUS_DEVICE void isthmus_dev_print_uninitialised(int call, const void *addr, int value)
{
    static const ISTHMUS_SYCL_CONSTANT char text[] =
        "isthmus: a kernel's %s: called before init, after finalize, or in a module that was not initialised, with "
        "address %p and PE %d; valid: between init and finalize\n";
    sycl::ext::oneapi::experimental::printf(text, isthmus_sycl_call_name(call), addr, value);
}

#endif

#endif
