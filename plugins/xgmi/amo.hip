// plugins/xgmi/amo.hip: one atomic operation on a word of a GPU's memory, executed by the GPU: so it excludes those
// that kernels make there. Kept as text, and compiled by HIP's library when it is first needed. One thread; hip_amo.c
// launches it. op is an ISTHMUS_AMO_ number, bytes 4 or 8. The old value goes to *result, widened to 64 bits, unless
// that is null. C as well as C++: the double of HIP runs this very text.

#define AMO(name, word)                                                                                             \
    static __device__ word name(word *addr, word operand, word compare, unsigned op)                                \
    {                                                                                                               \
        switch (op) {                                                                                               \
        case 0: return __hip_atomic_load(addr, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);                        \
        case 1:                                                                                                     \
        case 2: return __hip_atomic_exchange(addr, operand, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);           \
        case 3:                                                                                                     \
            (void)__hip_atomic_compare_exchange_strong(addr, &compare, operand, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST, \
                                                       __HIP_MEMORY_SCOPE_SYSTEM);                                  \
            return compare;                                                                                         \
        case 4: return __hip_atomic_fetch_add(addr, operand, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);          \
        case 5: return __hip_atomic_fetch_and(addr, operand, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);          \
        case 6: return __hip_atomic_fetch_or(addr, operand, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);           \
        case 7: return __hip_atomic_fetch_xor(addr, operand, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);          \
        default: return 0;                                                                                          \
        }                                                                                                           \
    }

AMO(isthmus_amo_4, unsigned)
AMO(isthmus_amo_8, unsigned long long)

#ifdef __cplusplus
extern "C"
#endif
__global__ void isthmus_amo(void *addr, unsigned long long operand, unsigned long long compare,
                            unsigned long long *result, unsigned op, unsigned bytes)
{
    unsigned long long old;
    if (bytes == 4)
        old = isthmus_amo_4((unsigned *)addr, (unsigned)operand, (unsigned)compare, op);
    else
        old = isthmus_amo_8((unsigned long long *)addr, operand, compare, op);
    if (result) __hip_atomic_store(result, old, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
