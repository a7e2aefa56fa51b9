/* isthmus/amo_cpu.h: atomics in the CPU domain: one inline function for every operation and width.
 * Used by all that execute atomics on host memory: programs and the core on aliased peers (isthmus/inline.h), a
 * transport on behalf of a remote PE. All use locked instructions of the same width on the same bytes, so that they
 * exclude one another (ISTHMUS_DOMAIN_CPU in isthmus/transport.h). A set is an exchange, not a plain store: it must not
 * slip between the halves of another operation, and later accesses must not overtake it.
 * Compiles alone; needs nothing but a compiler with the __atomic builtins. */
#ifndef ISTHMUS_AMO_CPU_H
#define ISTHMUS_AMO_CPU_H

#include <isthmus/amo_op.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Never emitted: these are inlined wherever they are used, also into inline functions with external linkage. */
#define ISTHMUS_FAST_ extern __inline__ __attribute__((gnu_inline, always_inline))

/* Words through which memory of any type is accessed: a program's variables of other types may lie there. */
typedef uint8_t __attribute__((may_alias)) isthmus_word8;
typedef uint16_t __attribute__((may_alias)) isthmus_word16;
typedef uint32_t __attribute__((may_alias)) isthmus_word32;
typedef uint64_t __attribute__((may_alias)) isthmus_word64;

/* For one width. `op` is constant at every call, so that one instruction remains of the switch. */
#define ISTHMUS_AMO_CPU_WIDTH(bits)                                                                            \
    ISTHMUS_FAST_ uint64_t isthmus_amo_cpu_##bits(uint32_t op, isthmus_word##bits *at, uint##bits##_t operand, \
                                                  uint##bits##_t compare)                                      \
    {                                                                                                          \
        switch (op) {                                                                                          \
        case ISTHMUS_AMO_FETCH: return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                  \
        case ISTHMUS_AMO_SET:                                                                                  \
        case ISTHMUS_AMO_SWAP: return __atomic_exchange_n(at, operand, __ATOMIC_SEQ_CST);                      \
        case ISTHMUS_AMO_ADD: return __atomic_fetch_add(at, operand, __ATOMIC_SEQ_CST);                        \
        case ISTHMUS_AMO_AND: return __atomic_fetch_and(at, operand, __ATOMIC_SEQ_CST);                        \
        case ISTHMUS_AMO_OR: return __atomic_fetch_or(at, operand, __ATOMIC_SEQ_CST);                          \
        case ISTHMUS_AMO_XOR: return __atomic_fetch_xor(at, operand, __ATOMIC_SEQ_CST);                        \
        case ISTHMUS_AMO_COMPARE_SWAP:                                                                         \
            (void)__atomic_compare_exchange_n(at, &compare, operand, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
            return compare; /* the old value, also when it was equal */                                        \
        default: return 0;                                                                                     \
        }                                                                                                      \
    }

ISTHMUS_AMO_CPU_WIDTH(8)
ISTHMUS_AMO_CPU_WIDTH(16)
ISTHMUS_AMO_CPU_WIDTH(32)
ISTHMUS_AMO_CPU_WIDTH(64)
#undef ISTHMUS_AMO_CPU_WIDTH

/* Any width; `size_bytes` is 1, 2, 4 or 8, and constant wherever speed matters. Returns the old value in the low bits;
 * when the caller drops it, the compiler drops the instruction's fetching form too. */
ISTHMUS_FAST_ uint64_t isthmus_amo_cpu(uint32_t op, void *at, uint64_t operand, uint64_t compare, size_t size_bytes)
{
    switch (size_bytes) {
    case 1: return isthmus_amo_cpu_8(op, (isthmus_word8 *)at, (uint8_t)operand, (uint8_t)compare);
    case 2: return isthmus_amo_cpu_16(op, (isthmus_word16 *)at, (uint16_t)operand, (uint16_t)compare);
    case 4: return isthmus_amo_cpu_32(op, (isthmus_word32 *)at, (uint32_t)operand, (uint32_t)compare);
    default: return isthmus_amo_cpu_64(op, (isthmus_word64 *)at, operand, compare);
    }
}

#ifdef __cplusplus
}
#endif

#endif
