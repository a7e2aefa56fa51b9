/* plugins/xgmi/hip_amo.c: see xgmi.h. HIP takes kernels as code for one model of GPU; what can be kept in here is text,
 * and HIP's compiler, a library beside it, makes code of that. It takes a good part of a second, which jobs without
 * atomics save. */
#include "plugins/xgmi/xgmi.h"

#include <stdlib.h>

static const char amo_source[] =
#include "amo_hip.inc"
    ;

static isthmus_status fail_compiler(const struct isthmus_services *s, const char *what, hiprtcResult result)
{
    return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "HIP's compiler cannot build the kernel of atomics: %s: error %d",
                   what, (int)result);
}

/* The code object, to be freed. */
static isthmus_status compile(const struct isthmus_services *s, char **out)
{
    hiprtcProgram program = NULL;
    size_t code_bytes = 0;
    char *code = NULL;
    hiprtcResult result = xg_rtc.hiprtcCreateProgram(&program, amo_source, "isthmus_amo", 0, NULL, NULL);
    if (result != HIPRTC_SUCCESS) return fail_compiler(s, "hiprtcCreateProgram", result);
    result = xg_rtc.hiprtcCompileProgram(program, 0, NULL); /* for the device that is current */
    if (result == HIPRTC_SUCCESS) result = xg_rtc.hiprtcGetCodeSize(program, &code_bytes);
    if (result == HIPRTC_SUCCESS) code = malloc(code_bytes);
    if (code != NULL) result = xg_rtc.hiprtcGetCode(program, code);
    (void)xg_rtc.hiprtcDestroyProgram(&program);
    if (result == HIPRTC_SUCCESS && code != NULL) {
        *out = code;
        return ISTHMUS_OK;
    }
    free(code);
    return fail_compiler(s, "compiling", result);
}

/* With our device current. */
isthmus_status xg_amo_load(const struct isthmus_services *s, struct xg_kernel *kernel)
{
    char *code = NULL;
    isthmus_status status = compile(s, &code);
    if (status != ISTHMUS_OK) return status;
    hipError_t result = xg_hip.hipModuleLoadData(&kernel->module, code);
    free(code);
    if (result == hipSuccess) result = xg_hip.hipModuleGetFunction(&kernel->amo, kernel->module, "isthmus_amo");
    if (result == hipSuccess) return ISTHMUS_OK;
    xg_amo_unload(kernel);
    return s->fail(s->core, xg_status(result), "HIP cannot load the kernel of atomics: %s", xg_result_name(result));
}

void xg_amo_unload(struct xg_kernel *kernel)
{
    if (kernel->module != NULL) (void)xg_hip.hipModuleUnload(kernel->module);
    *kernel = (struct xg_kernel){NULL, NULL};
}

hipError_t xg_amo_launch(const struct xg_kernel *kernel, void *stream, const struct p2p_amo *amo)
{
    struct p2p_amo own = *amo;
    void *parameters[] = {&own.addr,   &own.operand, &own.compare,
                          &own.result, &own.op,      &own.bytes}; /* as amo.hip has them */
    return xg_hip.hipModuleLaunchKernel(kernel->amo, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}
