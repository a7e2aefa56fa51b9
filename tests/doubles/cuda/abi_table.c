/* tests/doubles/cuda/abi_table.c: sizes, places and values of plugins/nvlink/cuda_api.h and of launch_api.h as a table.
 * Compiled twice: from these headers, and from the toolkit's cuda.h, which also checks the prototypes. abi_test.c
 * compares the two. */
#include "tests/doubles/cuda/abi_table.h"
#include "plugins/nvlink/cuda_api.h"
#include "tests/doubles/cuda/launch_api.h"

#ifdef CUDA_API_FROM_TOOLKIT
#define TABLE abi_toolkit
#define CUDA(name, parameters)               \
    typedef CUresult name##_here parameters; \
    _Static_assert(__builtin_types_compatible_p(__typeof__(name), name##_here), #name);
#include "plugins/nvlink/cuda.def"
#else
#define TABLE abi_ours
#endif

#define SIZE(type) {"sizeof " #type, (long long)sizeof(type)},
#define FIELD(type, field) {#type "." #field, (long long)offsetof(type, field)},
#define VALUE(value) {#value, (long long)(value)},
const struct abi_row TABLE[] = {
#include "tests/doubles/cuda/abi.def"
    {NULL, 0},
};
