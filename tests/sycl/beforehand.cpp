/* tests/sycl/beforehand.cpp: a program for a SYCL compiler that compiles beforehand, with a kernel as a lambda. It is
 * not run, for there is no such compiler here: sycl.py compiles its device's side by the compiler of the runtime
 * library, and its host's side by the system's. */
#include <ishmem.h>
#include <ishmemx.h>
#include <sycl/sycl.hpp>

int main()
{
    ishmem_init();
    sycl::queue q, other;
    (void)isthmus_sycl_queue_init(other);
    int next = (ishmem_my_pe() + 1) % ishmem_n_pes();
    long *row = (long *)ishmem_calloc(64, sizeof(long)), *arrived = (long *)ishmem_calloc(64, sizeof(long));
    uint64_t *signal = (uint64_t *)ishmem_calloc(1, sizeof(uint64_t));
    q.parallel_for(sycl::nd_range<1>{{64}, {64}}, [=](sycl::nd_item<1> item) {
         auto group = item.get_group();
         ishmemx_long_put_signal_work_group(arrived, row, 64, signal, 1, ISHMEM_SIGNAL_SET, next, group);
         ishmemx_signal_wait_until_work_group(signal, ISHMEM_CMP_EQ, 1, group);
     }).wait();
    ishmem_finalize();
    return 0;
}
