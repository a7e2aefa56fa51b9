/* tests/sycl/wrong.cpp: kernels in SYCL that call wrongly: wrong.cpp SOURCE MISTAKE OPTIONS..., the options of the
 * compiler of SOURCE (wrong_kernels.cpp).
 *     pe, negative_pe, address  PE i makes call i with this mistake, on as many PEs as there are calls. A fault stops
 *                               the kernel, which must have stored nothing
 *     before_init, after_finalize  every PE makes the call P
 *     fault                     PE 0 makes the call P with the address: how the job ends
 * Each PE prints what it will call; sycl.py compares the lines of the kernels with that. Exit status 77: there is no
 * processor for SYCL. */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <ishmem.h>
#include <ishmemx.h>
#include <isthmus/device_sycl_module.hpp>

#include "bundle.hpp"
#include "wrong.h"

static const char *const names[] = {
#define CALL_NAME(id, name) name,
    WRONG_CALLS(CALL_NAME)
#undef CALL_NAME
};
enum { N_CALLS = sizeof names / sizeof names[0], UNTOUCHED = 4711 };

static int me, n_pes;
static std::vector<long *> words; /* of all PEs: two, UNTOUCHED */
static long *n_stopped;           /* PE 0's */

static struct sigaction of_the_headers;

/* The fault of a kernel, whose process cannot go on. The others shall come as far, too, before the job ends. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    bool is_trap = info->si_addr == (void *)(uintptr_t)ISTHMUS_SYCL_TRAP_ADDRESS;
    of_the_headers.sa_sigaction(number, info, context);
    for (const long *word : words) is_trap = is_trap && word[0] == UNTOUCHED && word[1] == UNTOUCHED;
    char line[64];
    int length = snprintf(line, sizeof line, "PE %d: stopped%s\n", me, is_trap ? ", and nothing is stored" : "");
    if (write(STDOUT_FILENO, line, (size_t)length) != length) _exit(3);
    __atomic_add_fetch(n_stopped, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(n_stopped, __ATOMIC_RELAXED) < n_pes) sched_yield();
    _exit(0);
}

static void make_words()
{
    me = ishmem_my_pe(), n_pes = ishmem_n_pes();
    long *word = (long *)ishmem_calloc(3, sizeof(long));
    word[0] = word[1] = UNTOUCHED;
    for (int pe = 0; pe < n_pes; pe++) words.push_back((long *)ishmem_ptr(word, pe));
    n_stopped = words[0] + 2;
    ishmem_barrier_all();
}

static void launch(sycl::queue &q, bundle_t &bundle, const wrong &what)
{
    wrong *w = sycl::malloc_host<wrong>(1, q);
    *w = what;
    printf("PE %d calls %s at %p on PE %d\n", me, names[w->call],
           w->call == PUT_SIGNAL_GROUP ? (void *)w->signal : (void *)w->addr, w->pe);
    fflush(stdout);
    sycl::kernel kernel = bundle.ext_oneapi_get_kernel("call");
    q.submit([&](sycl::handler &h) {
         h.set_args(w);
         h.parallel_for(sycl::nd_range<1>{{4}, {4}}, kernel);
     }).wait_and_throw();
    printf("PE %d: the kernel has ended\n", me);
}

/* What the mistake makes of the call: of a group's put with signal it is the signal's address that is wrong. */
static wrong make_wrong(const std::string &mistake, int call, long *elsewhere)
{
    wrong w = {call, me == 0, words[(size_t)me], (uint64_t *)(words[(size_t)me] + 1)};
    if (mistake == "pe")
        w.pe = n_pes;
    else if (mistake == "negative_pe")
        w.pe = -1;
    else if (call == PUT_SIGNAL_GROUP)
        w.signal = (uint64_t *)elsewhere;
    else
        w.addr = elsewhere;
    /* The routine looks at the signal first. */
    if (call == PUT_SIGNAL && w.pe != (me == 0)) w.addr = (long *)w.signal;
    return w;
}

static void run(sycl::queue &q, bundle_t &bundle, const std::string &mistake)
{
    long *elsewhere = sycl::malloc_host<long>(2, q);
    if (isthmus_sycl_bundle_init(q, bundle) != 0) exit(1);
    if (mistake == "before_init") launch(q, bundle, {P, 0, elsewhere, nullptr});
    ishmem_init();
    make_words();
    if (mistake == "after_finalize") {
        ishmem_finalize();
        launch(q, bundle, {P, 0, elsewhere, nullptr});
    } else if (mistake == "fault") {
        if (me == 0) launch(q, bundle, make_wrong(mistake, P, elsewhere));
        ishmem_barrier_all();
    } else {
        struct sigaction action = {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO;
        if (n_pes != N_CALLS || sigaction(SIGSEGV, &action, &of_the_headers) != 0) exit(1);
        launch(q, bundle, make_wrong(mistake, me, elsewhere));
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    try {
        sycl::queue q{sycl::cpu_selector_v};
        bundle_t bundle = compile(q, argv[1], std::vector<std::string>(argv + 3, argv + argc));
        run(q, bundle, argv[2]);
    } catch (const sycl::exception &error) {
        fprintf(stderr, "skipped: no processor for SYCL: %s\n", error.what());
        return 77;
    }
    return 0;
}
