/* neighbours_sycl [OPTION...]: a kernel in SYCL that calls Intel SHMEM: each PE's work-group sends a row of numbers to
 * the next PE with a signal, waits for the row of the one before, adds it to its own, and sums up over all PEs.
 *
 * A SYCL compiler takes the kernel as a lambda in this file. Here the program compiles it from source while it runs, so
 * that any C++ compiler builds it; the options are those of that compilation, such as -I for the headers. The kernel
 * then is a module of its own, which isthmus_sycl_bundle_init announces to the library (docs/device.md). */
#include <cstdio>
#include <ishmem.h>
#include <isthmus/device_sycl_module.hpp>
#include <string>
#include <sycl/sycl.hpp>
#include <vector>

namespace experimental = sycl::ext::oneapi::experimental;

enum { ITEMS = 64 };

static const char kernel_source[] = R"(
#include <sycl/sycl.hpp>
#include <ishmem.h>
#include <ishmemx.h>

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
void neighbours(long *row, long *arrived, long *sums, uint64_t *signal)
{
    auto group = sycl::ext::oneapi::this_work_item::get_work_group<1>();
    size_t i = group.get_local_linear_id(), n = group.get_local_linear_range();
    int me = ishmem_my_pe(), next = (me + 1) % ishmem_n_pes();
    row[i] = 1000 * me + (long)i;
    ishmemx_put_signal_work_group(arrived, row, n, signal, 1, ISHMEM_SIGNAL_SET, next, group);
    ishmemx_signal_wait_until_work_group(signal, ISHMEM_CMP_EQ, 1, group);
    ishmemx_quiet_work_group(group);
    row[i] += arrived[i];
    ishmemx_sum_reduce_work_group(sums, row, n, group);
}
)";

static sycl::kernel_bundle<sycl::bundle_state::executable> compile(const sycl::queue &q,
                                                                   const std::vector<std::string> &options)
{
    auto source = experimental::create_kernel_bundle_from_source(q.get_context(), experimental::source_language::sycl,
                                                                 kernel_source);
    return experimental::build(source, experimental::properties{experimental::build_options{options}});
}

int main(int argc, char **argv)
{
    sycl::queue q{sycl::cpu_selector_v};
    auto bundle = compile(q, std::vector<std::string>(argv + 1, argv + argc));
    ishmem_init();
    if (isthmus_sycl_bundle_init(q, bundle) != 0) return 2;
    long *row = (long *)ishmem_calloc(ITEMS, sizeof(long)), *arrived = (long *)ishmem_calloc(ITEMS, sizeof(long));
    long *sums = (long *)ishmem_calloc(ITEMS, sizeof(long));
    uint64_t *signal = (uint64_t *)ishmem_calloc(1, sizeof(uint64_t));
    long n = ishmem_n_pes();

    q.submit([&](sycl::handler &h) {
         h.set_args(row, arrived, sums, signal);
         h.parallel_for(sycl::nd_range<1>{{ITEMS}, {ITEMS}}, bundle.ext_oneapi_get_kernel("neighbours"));
     }).wait();

    int wrong = 0;
    for (long i = 0; i < ITEMS; i++) wrong += sums[i] != 2 * (1000 * n * (n - 1) / 2 + n * i);
    if (wrong != 0) fprintf(stderr, "PE %d: %d sums are wrong\n", ishmem_my_pe(), wrong);
    if (ishmem_my_pe() == 0 && wrong == 0) printf("%ld PEs: the sums are right\n", n);
    ishmem_finalize();
    return wrong != 0;
}
