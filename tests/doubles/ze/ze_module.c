/* tests/doubles/ze/ze_module.c: see ze.h. A module is accepted when it is SPIR-V with the entry point that is run here
 * in C; tests/doubles/ze/spirv_test.c tests the code itself. */
#include "tests/doubles/ze/ze.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t spirv_magic = 0x07230203;
enum { HEADER_WORDS = 5, OP_ENTRY_POINT = 15, MODEL_KERNEL = 6 };
static const char entry_name[] = "isthmus_amo";

struct kernel {
    uint64_t arguments[GPU_AMO_PARAMETERS];
    uint32_t n_set, group_size;
};

/* The first word of an instruction holds its number of words and its opcode. */
static bool has_entry_point(const uint32_t *words, size_t n)
{
    for (size_t at = HEADER_WORDS, length; at < n; at += length) {
        length = words[at] >> 16;
        if (length == 0 || length > n - at) return false;
        if ((words[at] & 0xffff) != OP_ENTRY_POINT || length < 4 || words[at + 1] != MODEL_KERNEL) continue;
        if (strncmp((const char *)(words + at + 3), entry_name, (length - 3) * sizeof *words) == 0) return true;
    }
    return false;
}

static ze_result_t module_create(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc,
                                 ze_module_handle_t *out, ze_module_build_log_handle_t *log)
{
    (void)context, (void)device, (void)log;
    ENTER("zeModuleCreate", ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
    const uint32_t *words = (const uint32_t *)(const void *)desc->pInputModule;
    if (desc->stype != ZE_STRUCTURE_TYPE_MODULE_DESC || desc->format != ZE_MODULE_FORMAT_IL_SPIRV)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    if (desc->inputSize % sizeof *words != 0 || desc->inputSize <= HEADER_WORDS * sizeof *words ||
        words[0] != spirv_magic || !has_entry_point(words, desc->inputSize / sizeof *words))
        return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    *out = malloc(1);
    gpu_count(GPU_MODULE, 1);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t module_destroy(ze_module_handle_t module)
{
    ENTER("zeModuleDestroy", ZE_RESULT_ERROR_DEVICE_LOST);
    free(module);
    gpu_count(GPU_MODULE, -1);
    return ZE_RESULT_SUCCESS;
}

static struct kernel *kernel_of(ze_kernel_handle_t kernel) { return (struct kernel *)(void *)kernel; }

static ze_result_t kernel_create(ze_module_handle_t module, const ze_kernel_desc_t *desc, ze_kernel_handle_t *out)
{
    (void)module;
    ENTER("zeKernelCreate", ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    if (desc->stype != ZE_STRUCTURE_TYPE_KERNEL_DESC) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (strcmp(desc->pKernelName, entry_name) != 0) return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
    struct kernel *kernel = calloc(1, sizeof *kernel);
    if (kernel == NULL) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    gpu_count(GPU_MODULE, 1); /* counted with those */
    *out = (ze_kernel_handle_t)(void *)kernel;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_destroy(ze_kernel_handle_t kernel)
{
    ENTER("zeKernelDestroy", ZE_RESULT_ERROR_DEVICE_LOST);
    free(kernel_of(kernel));
    gpu_count(GPU_MODULE, -1);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_set_group_size(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z)
{
    ENTER("zeKernelSetGroupSize", ZE_RESULT_ERROR_DEVICE_LOST);
    if (x * y * z == 0) return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    kernel_of(kernel)->group_size = x * y * z;
    return ZE_RESULT_SUCCESS;
}

/* Without a value: a null pointer. */
static ze_result_t kernel_set_argument(ze_kernel_handle_t handle, uint32_t index, size_t bytes, const void *value)
{
    struct kernel *kernel = kernel_of(handle);
    ENTER("zeKernelSetArgumentValue", ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    if (index >= GPU_AMO_PARAMETERS) return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
    if (bytes != gpu_amo_parameter_bytes[index]) return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
    kernel->arguments[index] = 0;
    if (value != NULL) memcpy(&kernel->arguments[index], value, bytes);
    kernel->n_set |= 1u << index;
    return ZE_RESULT_SUCCESS;
}

ze_result_t double_kernel_op(ze_kernel_handle_t handle, struct gpu_op *out)
{
    const struct kernel *kernel = kernel_of(handle);
    if (kernel->group_size != 1) return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    if (kernel->n_set != (1u << GPU_AMO_PARAMETERS) - 1) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *out = (struct gpu_op){.run = gpu_run_isthmus_amo};
    memcpy(out->parameters, kernel->arguments, sizeof kernel->arguments);
    return ZE_RESULT_SUCCESS;
}

void fill_module(ze_module_dditable_t *table)
{
    table->pfnCreate = module_create;
    table->pfnDestroy = module_destroy;
}

void fill_kernel(ze_kernel_dditable_t *table)
{
    table->pfnCreate = kernel_create;
    table->pfnDestroy = kernel_destroy;
    table->pfnSetGroupSize = kernel_set_group_size;
    table->pfnSetArgumentValue = kernel_set_argument;
}
