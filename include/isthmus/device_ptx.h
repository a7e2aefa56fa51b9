/* isthmus/device_ptx.h: accesses to memory by NVIDIA's GPUs, for the dialects of CUDA and of plain C (device_cuda.h,
 * device_nvptx.h). Every access names its order, its scope and its space in PTX: none is left to a compiler's idea of
 * volatile or of atomics. All of it is in global memory, of this GPU or of others: symmetric memory, and the words of
 * the ring. */
#ifndef ISTHMUS_DEVICE_PTX_H
#define ISTHMUS_DEVICE_PTX_H

#include <isthmus/device_state.h>

#if defined(ISTHMUS_PTX) && defined(ISTHMUS_GLOBAL) /* the dialect's words for an instruction, and for an address */

/* Two addresses that are increased in a loop stay two: the compiler makes no others from them, which take registers. */
#define ISTHMUS_DEVICE_KEEP(a, b) ISTHMUS_PTX("" : "+l"(a), "+l"(b))

/* ---- memory ---- */

ISTHMUS_DEVICE uint64_t isthmus_dev_load(const void *from, size_t size)
{
    uint64_t wide;
    uint32_t value;
    uint16_t narrow;
    switch (size) {
    case 1:
        ISTHMUS_PTX("ld.relaxed.sys.global.u8 %0, [%1];" : "=h"(narrow) : "l"(ISTHMUS_GLOBAL(from)) : "memory");
        return narrow;
    case 2:
        ISTHMUS_PTX("ld.relaxed.sys.global.u16 %0, [%1];" : "=h"(narrow) : "l"(ISTHMUS_GLOBAL(from)) : "memory");
        return narrow;
    case 4:
        ISTHMUS_PTX("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(ISTHMUS_GLOBAL(from)) : "memory");
        return value;
    default:
        ISTHMUS_PTX("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(wide) : "l"(ISTHMUS_GLOBAL(from)) : "memory");
        return wide;
    }
}

ISTHMUS_DEVICE uint64_t isthmus_dev_load_acquire(const void *from, size_t size)
{
    uint64_t wide;
    uint32_t value;
    uint16_t narrow;
    switch (size) {
    case 1:
        ISTHMUS_PTX("ld.acquire.sys.global.u8 %0, [%1];" : "=h"(narrow) : "l"(ISTHMUS_GLOBAL(from)) : "memory");
        return narrow;
    case 2:
        ISTHMUS_PTX("ld.acquire.sys.global.u16 %0, [%1];" : "=h"(narrow) : "l"(ISTHMUS_GLOBAL(from)) : "memory");
        return narrow;
    case 4:
        ISTHMUS_PTX("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(ISTHMUS_GLOBAL(from)) : "memory");
        return value;
    default:
        ISTHMUS_PTX("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(wide) : "l"(ISTHMUS_GLOBAL(from)) : "memory");
        return wide;
    }
}

ISTHMUS_DEVICE void isthmus_dev_store(void *to, uint64_t bits, size_t size)
{
    switch (size) {
    case 1:
        ISTHMUS_PTX("st.relaxed.sys.global.u8 [%0], %1;" ::"l"(ISTHMUS_GLOBAL(to)), "h"((uint16_t)bits) : "memory");
        break;
    case 2:
        ISTHMUS_PTX("st.relaxed.sys.global.u16 [%0], %1;" ::"l"(ISTHMUS_GLOBAL(to)), "h"((uint16_t)bits) : "memory");
        break;
    case 4:
        ISTHMUS_PTX("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(ISTHMUS_GLOBAL(to)), "r"((uint32_t)bits) : "memory");
        break;
    default: ISTHMUS_PTX("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(ISTHMUS_GLOBAL(to)), "l"(bits) : "memory"); break;
    }
}

ISTHMUS_DEVICE void isthmus_dev_store_release(uint64_t *to, uint64_t value)
{
    ISTHMUS_PTX("st.release.sys.global.u64 [%0], %1;" ::"l"(ISTHMUS_GLOBAL(to)), "l"(value) : "memory");
}

ISTHMUS_DEVICE void isthmus_dev_add_release(uint64_t *to, uint64_t value)
{
    ISTHMUS_PTX("red.release.sys.global.add.u64 [%0], %1;" ::"l"(ISTHMUS_GLOBAL(to)), "l"(value) : "memory");
}

/* One store of 16 bytes, of which each half shows by itself whether it has arrived. */
ISTHMUS_DEVICE void isthmus_dev_store_pair(uint64_t *to, uint64_t first, uint64_t second)
{
    ISTHMUS_PTX("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(ISTHMUS_GLOBAL(to)), "l"(first), "l"(second)
                : "memory");
}

ISTHMUS_DEVICE uint64_t isthmus_dev_add_device(uint64_t *at, uint64_t value)
{
    uint64_t old;
    ISTHMUS_PTX("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;"
                : "=l"(old)
                : "l"(ISTHMUS_GLOBAL(at)), "l"(value)
                : "memory");
    return old;
}

ISTHMUS_DEVICE uint64_t isthmus_dev_load_device(const uint64_t *at)
{
    uint64_t value;
    ISTHMUS_PTX("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(ISTHMUS_GLOBAL(at)) : "memory");
    return value;
}

ISTHMUS_DEVICE void isthmus_dev_store_device(uint64_t *at, uint64_t value)
{
    ISTHMUS_PTX("st.release.gpu.global.u64 [%0], %1;" ::"l"(ISTHMUS_GLOBAL(at)), "l"(value) : "memory");
}

ISTHMUS_DEVICE uint32_t isthmus_dev_load_turn(const uint32_t *at)
{
    uint32_t value;
    ISTHMUS_PTX("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(ISTHMUS_GLOBAL(at)) : "memory");
    return value;
}

ISTHMUS_DEVICE void isthmus_dev_store_turn(uint32_t *at, uint32_t value)
{
    ISTHMUS_PTX("st.release.gpu.global.u32 [%0], %1;" ::"l"(ISTHMUS_GLOBAL(at)), "r"(value) : "memory");
}

/* Returns 1 for a thread's variables, a block's shared memory and constants, whose addresses mean nothing outside of
 * the kernel. */
ISTHMUS_DEVICE int isthmus_dev_is_private(const void *addr)
{
    uint32_t is_global;
    ISTHMUS_PTX("{ .reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(is_global) : "l"(addr));
    return is_global == 0;
}

/* ---- atomics at system scope ---- */

ISTHMUS_DEVICE uint64_t isthmus_dev_amo_64(uint32_t op, void *at, uint64_t operand, uint64_t compare)
{
    uint64_t old = 0;
    switch (op) {
    case ISTHMUS_DEV_AMO_FETCH: return isthmus_dev_load(at, 8);
    case ISTHMUS_DEV_AMO_SET: isthmus_dev_store(at, operand, 8); return 0;
    case ISTHMUS_DEV_AMO_SWAP:
        ISTHMUS_PTX("atom.relaxed.sys.global.exch.b64 %0, [%1], %2;"
                    : "=l"(old)
                    : "l"(ISTHMUS_GLOBAL(at)), "l"(operand)
                    : "memory");
        break;
    case ISTHMUS_DEV_AMO_COMPARE_SWAP:
        ISTHMUS_PTX("atom.relaxed.sys.global.cas.b64 %0, [%1], %2, %3;"
                    : "=l"(old)
                    : "l"(ISTHMUS_GLOBAL(at)), "l"(compare), "l"(operand)
                    : "memory");
        break;
    case ISTHMUS_DEV_AMO_ADD:
        ISTHMUS_PTX("atom.relaxed.sys.global.add.u64 %0, [%1], %2;"
                    : "=l"(old)
                    : "l"(ISTHMUS_GLOBAL(at)), "l"(operand)
                    : "memory");
        break;
    case ISTHMUS_DEV_AMO_AND:
        ISTHMUS_PTX("atom.relaxed.sys.global.and.b64 %0, [%1], %2;"
                    : "=l"(old)
                    : "l"(ISTHMUS_GLOBAL(at)), "l"(operand)
                    : "memory");
        break;
    case ISTHMUS_DEV_AMO_OR:
        ISTHMUS_PTX("atom.relaxed.sys.global.or.b64 %0, [%1], %2;"
                    : "=l"(old)
                    : "l"(ISTHMUS_GLOBAL(at)), "l"(operand)
                    : "memory");
        break;
    default:
        ISTHMUS_PTX("atom.relaxed.sys.global.xor.b64 %0, [%1], %2;"
                    : "=l"(old)
                    : "l"(ISTHMUS_GLOBAL(at)), "l"(operand)
                    : "memory");
        break;
    }
    return old;
}

ISTHMUS_DEVICE uint32_t isthmus_dev_amo_32(uint32_t op, void *at, uint32_t operand, uint32_t compare)
{
    uint32_t old = 0;
    switch (op) {
    case ISTHMUS_DEV_AMO_FETCH: return (uint32_t)isthmus_dev_load(at, 4);
    case ISTHMUS_DEV_AMO_SET: isthmus_dev_store(at, operand, 4); return 0;
    case ISTHMUS_DEV_AMO_SWAP:
        ISTHMUS_PTX("atom.relaxed.sys.global.exch.b32 %0, [%1], %2;"
                    : "=r"(old)
                    : "l"(ISTHMUS_GLOBAL(at)), "r"(operand)
                    : "memory");
        break;
    case ISTHMUS_DEV_AMO_COMPARE_SWAP:
        ISTHMUS_PTX("atom.relaxed.sys.global.cas.b32 %0, [%1], %2, %3;"
                    : "=r"(old)
                    : "l"(ISTHMUS_GLOBAL(at)), "r"(compare), "r"(operand)
                    : "memory");
        break;
    case ISTHMUS_DEV_AMO_ADD:
        ISTHMUS_PTX("atom.relaxed.sys.global.add.u32 %0, [%1], %2;"
                    : "=r"(old)
                    : "l"(ISTHMUS_GLOBAL(at)), "r"(operand)
                    : "memory");
        break;
    case ISTHMUS_DEV_AMO_AND:
        ISTHMUS_PTX("atom.relaxed.sys.global.and.b32 %0, [%1], %2;"
                    : "=r"(old)
                    : "l"(ISTHMUS_GLOBAL(at)), "r"(operand)
                    : "memory");
        break;
    case ISTHMUS_DEV_AMO_OR:
        ISTHMUS_PTX("atom.relaxed.sys.global.or.b32 %0, [%1], %2;"
                    : "=r"(old)
                    : "l"(ISTHMUS_GLOBAL(at)), "r"(operand)
                    : "memory");
        break;
    default:
        ISTHMUS_PTX("atom.relaxed.sys.global.xor.b32 %0, [%1], %2;"
                    : "=r"(old)
                    : "l"(ISTHMUS_GLOBAL(at)), "r"(operand)
                    : "memory");
        break;
    }
    return old;
}

ISTHMUS_DEVICE uint64_t isthmus_dev_amo(uint32_t op, void *at, uint64_t operand, uint64_t compare, size_t size)
{
    return size == 8 ? isthmus_dev_amo_64(op, at, operand, compare)
                     : isthmus_dev_amo_32(op, at, (uint32_t)operand, (uint32_t)compare);
}

/* ---- order ---- */

ISTHMUS_DEVICE void isthmus_dev_fence(void) { ISTHMUS_PTX("fence.acq_rel.sys;" ::: "memory"); }

/* The same, and later loads come after earlier stores: an order that only sequentially consistent fences give. */
ISTHMUS_DEVICE void isthmus_dev_drain(void) { ISTHMUS_PTX("fence.sc.sys;" ::: "memory"); }

/* ---- threads ---- */

/* The barrier counts whole warps. The last warpgroup of a block may have fewer than four. */
ISTHMUS_DEVICE uint32_t isthmus_dev_warpgroup_threads(void)
{
    uint32_t left = isthmus_dev_thread_count() - isthmus_dev_thread_rank() / 128 * 128;
    return left < 128 ? (left + ISTHMUS_WARP_THREADS - 1) / ISTHMUS_WARP_THREADS * ISTHMUS_WARP_THREADS : 128;
}

/* A warpgroup meets at a named barrier: 8 to 15 of the block's sixteen, by its number. */
ISTHMUS_DEVICE void isthmus_dev_warpgroup_barrier(void)
{
    ISTHMUS_PTX("bar.sync %0, %1;" ::"r"(8 + isthmus_dev_thread_rank() / 128 % 8), "r"(isthmus_dev_warpgroup_threads())
                : "memory");
}

ISTHMUS_DEVICE uint64_t isthmus_dev_vary(void)
{
    uint32_t clock;
    ISTHMUS_PTX("mov.u32 %0, %%clock;" : "=r"(clock));
    return clock;
}

ISTHMUS_DEVICE ISTHMUS_NO_RETURN void isthmus_dev_trap(void)
{
    ISTHMUS_PTX("trap;");
    __builtin_unreachable();
}

ISTHMUS_DEVICE int isthmus_dev_is_over(void) { return 0; } /* a trap ends all threads of the kernel */

/* What a kernel without a state prints itself, because there is no report. Its thread would take more registers than
 * the kernel does. */
#define ISTHMUS_PTX_NO_STATE_LINE                                                                                \
    "isthmus: a kernel's %s: called before init, after finalize, or in a module that was not initialised, with " \
    "address %p and PE %d; valid: between init and finalize; in %s\n"

ISTHMUS_DEVICE_COLD const char *isthmus_dev_call_name(int call)
{
#define ISTHMUS_PTX_CALL_NAME(id, name) \
    case ISTHMUS_CALL_##id: return name;
    switch (call) {
        ISTHMUS_DEVICE_CALLS(ISTHMUS_PTX_CALL_NAME)
    default: return "call";
    }
#undef ISTHMUS_PTX_CALL_NAME
}

#endif

#endif
