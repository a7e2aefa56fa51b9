/* plugins/xelink/ze_amo.c: see xelink.h. The kernel of atomics (amo.spvasm), which the driver compiles on first use:
 * that may take a good part of a second, which jobs without atomics save. */
#include "plugins/xelink/xelink.h"

/* Ends with a zero, so that it is an array also where there was no spirv-as to make the module. */
static const _Alignas(uint32_t) uint8_t amo_spirv[] = {
#include "amo_spirv.inc"
    0};

bool xe_amo_is_built(void) { return sizeof amo_spirv > 1; }

/* With the lock. */
static ze_result_t load(struct p2p_gpu *gpu)
{
    const ze_module_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
        .format = ZE_MODULE_FORMAT_IL_SPIRV,
        .inputSize = sizeof amo_spirv - 1,
        .pInputModule = amo_spirv,
    };
    const ze_kernel_desc_t entry = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "isthmus_amo"};
    ze_result_t result = xe_ze.zeModuleCreate(gpu->context, gpu->device, &desc, &gpu->module, NULL);
    if (result == ZE_RESULT_SUCCESS) result = xe_ze.zeKernelCreate(gpu->module, &entry, &gpu->amo);
    if (result == ZE_RESULT_SUCCESS) result = xe_ze.zeKernelSetGroupSize(gpu->amo, 1, 1, 1);
    if (result != ZE_RESULT_SUCCESS) xe_amo_unload(gpu);
    return result;
}

void xe_amo_unload(struct p2p_gpu *gpu)
{
    if (gpu->amo != NULL) (void)xe_ze.zeKernelDestroy(gpu->amo);
    if (gpu->module != NULL) (void)xe_ze.zeModuleDestroy(gpu->module);
    gpu->amo = NULL;
    gpu->module = NULL;
}

/* A null pointer is passed as an argument without a value. */
static ze_result_t set_pointer(ze_kernel_handle_t kernel, uint32_t index, const void *const *pointer)
{
    return xe_ze.zeKernelSetArgumentValue(kernel, index, sizeof *pointer, *pointer != NULL ? pointer : NULL);
}

/* In the order of amo.spvasm. */
static ze_result_t set_arguments(ze_kernel_handle_t kernel, const struct p2p_amo *amo)
{
    const void *addr = amo->addr, *result_at = amo->result;
    ze_result_t result = set_pointer(kernel, 0, &addr);
    if (result == ZE_RESULT_SUCCESS)
        result = xe_ze.zeKernelSetArgumentValue(kernel, 1, sizeof amo->operand, &amo->operand);
    if (result == ZE_RESULT_SUCCESS)
        result = xe_ze.zeKernelSetArgumentValue(kernel, 2, sizeof amo->compare, &amo->compare);
    if (result == ZE_RESULT_SUCCESS) result = set_pointer(kernel, 3, &result_at);
    if (result == ZE_RESULT_SUCCESS) result = xe_ze.zeKernelSetArgumentValue(kernel, 4, sizeof amo->op, &amo->op);
    if (result == ZE_RESULT_SUCCESS) result = xe_ze.zeKernelSetArgumentValue(kernel, 5, sizeof amo->bytes, &amo->bytes);
    return result;
}

/* A list takes the arguments that the kernel has when it is appended: the lock keeps other channels' away. */
ze_result_t xe_amo_append(struct p2p_gpu *gpu, ze_command_list_handle_t list, const struct p2p_amo *amo)
{
    const ze_group_count_t one = {1, 1, 1};
    ze_result_t result = ZE_RESULT_SUCCESS;
    pthread_mutex_lock(&gpu->lock);
    if (gpu->amo == NULL) result = load(gpu);
    if (result == ZE_RESULT_SUCCESS) result = set_arguments(gpu->amo, amo);
    if (result == ZE_RESULT_SUCCESS)
        result = xe_ze.zeCommandListAppendLaunchKernel(list, gpu->amo, &one, NULL, 0, NULL);
    pthread_mutex_unlock(&gpu->lock);
    return result;
}
