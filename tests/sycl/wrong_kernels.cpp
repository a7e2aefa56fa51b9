/* tests/sycl/wrong_kernels.cpp: one call of Intel SHMEM in a SYCL kernel, with the PE and the address that the program
 * wrong.cpp passes, which compiles this text while it runs. */
#include <sycl/sycl.hpp>

#include <ishmem.h>
#include <ishmemx.h>

#include "wrong.h"

namespace here = sycl::ext::oneapi::this_work_item;

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>)) void call(wrong *w)
{
    auto group = here::get_work_group<1>();
    long mine[2] = {1, 1};
    switch (w->call) {
    case PUT: ishmem_long_put(w->addr, mine, 1, w->pe); break;
    case PUT_NBI_GROUP: ishmemx_long_put_nbi_work_group(w->addr, w->addr, 1, w->pe, group); break;
    case GET: ishmem_long_get(mine, w->addr, 1, w->pe); break;
    case GET_GROUP: ishmemx_long_get_work_group(w->addr, w->addr, 1, w->pe, group); break;
    case P: ishmem_long_p(w->addr, 1, w->pe); break;
    case G: w->addr[0] = ishmem_long_g(w->addr, w->pe); break;
    case IPUT: ishmem_long_iput(w->addr, mine, 1, 1, 1, w->pe); break;
    case IGET: ishmem_long_iget(mine, w->addr, 1, 1, 1, w->pe); break;
    case IBPUT: ishmemx_long_ibput(w->addr, mine, 1, 1, 1, 1, w->pe); break;
    case IBGET: ishmemx_long_ibget(mine, w->addr, 1, 1, 1, 1, w->pe); break;
    case FETCH_ADD: w->addr[0] = ishmem_long_atomic_fetch_add(w->addr, 1, w->pe); break;
    case PUT_SIGNAL: ishmem_long_put_signal(w->addr, mine, 1, w->signal, 1, ISHMEM_SIGNAL_SET, w->pe); break;
    case PUT_SIGNAL_GROUP:
        ishmemx_long_put_signal_work_group(w->addr, w->addr, 1, w->signal, 1, ISHMEM_SIGNAL_SET, w->pe, group);
        break;
    case SIGNAL_SET: ishmemx_signal_set((uint64_t *)w->addr, 1, w->pe); break;
    default: w->addr[0] = ishmem_ptr(w->addr, w->pe) != nullptr; break;
    }
}
