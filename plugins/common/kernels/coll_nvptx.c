/* plugins/common/kernels/coll_nvptx.c: coll_kernel.h for NVIDIA's GPUs, compiled to PTX by clang: no CUDA toolkit
 * is needed. The driver compiles the text for its device, as it does amo.ptx. */
#include "plugins/common/kernels/coll_kernel.h"

#if __has_attribute(nvptx_kernel)
#define KERNEL __attribute__((nvptx_kernel))
#else
#define KERNEL /* plugins/CMakeLists.txt marks it in the compiler's intermediate code */
#endif

enum { COLL_WORDS = sizeof(struct coll_args) / sizeof(uint64_t) };
_Static_assert(sizeof(struct coll_args) == COLL_WORDS * sizeof(uint64_t), "copied by words");

/* In memory of the block: members' deltas are looked up by number, which parameters do not allow without a copy. */
static __attribute__((address_space(3))) uint64_t coll_words[COLL_WORDS];

KERNEL void isthmus_coll(struct coll_args args);

KERNEL void isthmus_coll(struct coll_args args)
{
    const isthmus_u64 *from = (const isthmus_u64 *)(const void *)&args;
    for (uint32_t i = isthmus_dev_thread_rank(); i < COLL_WORDS; i += isthmus_dev_thread_count())
        coll_words[i] = from[i];
    isthmus_dev_barrier(ISTHMUS_BLOCK);
    coll_run((const struct coll_args *)(const void *)(const uint64_t *)coll_words);
}
