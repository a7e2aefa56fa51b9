/* tests/doubles/cuda/cuda_python.c: the calls of CUDA's driver that cuda.core for Python makes, beside those of the
 * plugin and of UCX. */
#include "tests/doubles/cuda/cuda_double.h"

/* No header of Isthmus has it. */
CUresult cuCtxSetCurrent(CUcontext context);

/* Takes the place of the current context; NULL: there is none afterwards. */
CUresult cuCtxSetCurrent(CUcontext context)
{
    CUresult status = CUDA_SUCCESS;
    ENTER();
    (void)cuCtxPopCurrent_v2(NULL);
    if (context != NULL) status = cuCtxPushCurrent_v2(context);
    return status;
}
