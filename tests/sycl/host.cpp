/* tests/sycl/host.cpp: runs kernels in SYCL that are compiled from source while the program runs: host.cpp SOURCE
 * OPTIONS..., the options of that compiler. The kernels that SOURCE has, of those below, on all PEs, one after
 * the other, on the processor. Exit status 77: there is no such device. With SYCL_TESTS_ZE they have the state that the
 * library makes for kernels of an Intel GPU, on the double of whose driver the processor reaches the memory; with
 * SYCL_TESTS_DIRECT no thread of the host may serve them. */
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <ishmem.h>
#include <ishmemx.h>
#include <isthmus/device_sycl_module.hpp>
#include <sycl/sycl.hpp>

#include "bundle.hpp"
#include "memory.h"

static const char *const names[] = {
    "copies_by_item",

    "copies_by_group",  "copies_by_sub_group", "signals_by_sub_group",
    "strided_by_item",  "strided_by_group",    "elements",
    "atomics",          "signals_by_item",

    "signals_by_group", "waits_by_item",       "waits_by_group",
    "order_by_item",    "order_by_group",      "counts",
    "queries",          "collectives_by_item", "collectives_by_group",

};

template <typename T> static T *symmetric(size_t n)
{
    T *memory = (T *)ishmem_calloc(n, sizeof(T));
    if (memory == nullptr) exit(1);
    return memory;
}

static memory *make_memory(sycl::queue &q)
{
    memory *m = sycl::malloc_host<memory>(1, q);
    *m = {};
    m->me = ishmem_my_pe(), m->n = ishmem_n_pes();
    m->right = (m->me + 1) % m->n, m->left = (m->me + m->n - 1) % m->n;
    m->source = symmetric<long>(ITEMS * SLICE), m->dest = symmetric<long>(ITEMS * SLICE);
    m->back = symmetric<long>(ITEMS * SLICE), m->signals = symmetric<uint64_t>(ITEMS), m->words = symmetric<long>(8);
    m->in = symmetric<long>(NELEMS * (size_t)m->n), m->out = symmetric<long>(NELEMS * (size_t)m->n);
    m->clock = sycl::malloc_host<unsigned long>(1, q);
    *m->clock = 0;
    m->team_n = (m->n + 1) / 2;
    if (ishmem_team_split_strided(ISHMEM_TEAM_WORLD, 0, 2, m->team_n, nullptr, 0, &m->team) != 0) exit(1);
    m->team_me = ishmem_team_my_pe(m->team);
    return m;
}

static int announce(const sycl::queue &q, const bundle_t &bundle)
{
    bool is_ze = getenv("SYCL_TESTS_ZE") != nullptr;
    return is_ze ? isthmus_sycl_add_bundle_(ISTHMUS_MEM_ZE, q, bundle) : isthmus_sycl_bundle_init(q, bundle);
}

/* Returns the number of faults. */
static uint32_t run(sycl::queue &q, bundle_t &bundle, const char *name, memory *m)
{
    m->n_faults = 0;
    for (int i = 0; i < 8; i++) m->words[i] = 0;
    ishmem_barrier_all();
    sycl::kernel kernel = bundle.ext_oneapi_get_kernel(name);
    q.submit([&](sycl::handler &h) {
         h.set_args(m);
         h.parallel_for(sycl::nd_range<1>{{ITEMS}, {ITEMS}}, kernel);
     }).wait_and_throw();
    ishmem_barrier_all();
    if (m->n_faults > 0)
        fprintf(stderr, "PE %d: %s: %u faults, the first in line %d: %ld, expected %ld\n", m->me, name, m->n_faults,
                m->line, m->seen, m->expected);
    return m->n_faults;
}

int main(int argc, char **argv)
{
    uint32_t n_faults = 0;
    if (argc < 2) return 2;
    try {
        sycl::queue q{sycl::cpu_selector_v};
        bundle_t bundle = compile(q, argv[1], std::vector<std::string>(argv + 2, argv + argc));
        if (announce(q, bundle) != 0) return 1;
        ishmem_init();
        memory *m = make_memory(q);
        for (const char *name : names)
            if (bundle.ext_oneapi_has_kernel(name)) n_faults += run(q, bundle, name, m);
        if (getenv("SYCL_TESTS_DIRECT") != nullptr && *m->clock != 0) {
            fprintf(stderr, "PE %d: a thread of the host serves kernels, which should reach all PEs directly\n", m->me);
            n_faults++;
        }
        if (m->me == 0 && n_faults == 0)
            printf("SYCL kernels on %d PEs%s\n", m->n, *m->clock != 0 ? ", with a thread of the host" : "");
        ishmem_finalize();
    } catch (const sycl::exception &error) {
        fprintf(stderr, "skipped: no processor for SYCL: %s\n", error.what());
        return 77;
    }
    return n_faults != 0;
}
