/* tests/doubles/ze/ze.h: what the double's files share: ze.c has devices, memory, lists and events, ze_vmm.c virtual
 * memory, ze_module.c kernels. */
#ifndef TESTS_DOUBLES_ZE_H
#define TESTS_DOUBLES_ZE_H

#include "tests/doubles/gpu/gpu.h"

#include <level_zero/ze_ddi.h>

/* What every call begins with. */
#define ENTER(name, code)                               \
    do {                                                \
        int failed_ = gpu_enter(name, (int)(code));     \
        if (failed_ == 0) failed_ = gpu_device_error(); \
        if (failed_ != 0) return (ze_result_t)failed_;  \
    } while (0)

int double_ordinal(ze_device_handle_t device); /* -1: not a device of one tile */

/* A launch of this kernel with the arguments that it has now. */
ze_result_t double_kernel_op(ze_kernel_handle_t kernel, struct gpu_op *out);

void fill_module(ze_module_dditable_t *table);
void fill_kernel(ze_kernel_dditable_t *table);
void fill_virtual_mem(ze_virtual_mem_dditable_t *table);
void fill_physical_mem(ze_physical_mem_dditable_t *table);

#endif
