/* isthmus/device_sycl_module.hpp: the host's side of kernels in SYCL: how the state of this PE comes to them. Not what
 * kernels call (ishmem_device.hpp).
 *
 * A program that a SYCL compiler compiles needs no call: ishmem.h includes this header, and ishmem_init fills the state
 * of the program's kernels for the default device in its default context. Kernels in another context, and those that
 * the program compiles from source while it runs, are announced by one of these calls, before or after ishmem_init:
 *
 *   isthmus_sycl_queue_init(q)            the program's own kernels, in the context of q and on its device
 *   isthmus_sycl_bundle_init(q, bundle)   the kernels of a bundle of state executable, on the device of q
 *
 * Not collective. They return 0, or a negative ISTHMUS_ERR_ code: UNSUPPORTED if the library has no state for kernels
 * on that device, which is a processor, or a GPU by Level Zero in whose memory the symmetric heap is. ishmem_finalize
 * clears the state again. isthmus_sycl_bundle_finalize(bundle) forgets a bundle, whose kernels have ended: before the
 * last copy of it is destroyed, unless ishmem_finalize has been called. On a GPU, announce kernels before ishmem_init:
 * the heap then is one that they reach directly. */
#ifndef ISTHMUS_DEVICE_SYCL_MODULE_HPP
#define ISTHMUS_DEVICE_SYCL_MODULE_HPP

#include <sycl/sycl.hpp>

#ifdef __SYCL_DEVICE_ONLY__

/* For the program's code of the host, which the compiler reads for the device too. */
int isthmus_sycl_queue_init(const sycl::queue &q);
int isthmus_sycl_bundle_init(const sycl::queue &q, sycl::kernel_bundle<sycl::bundle_state::executable> bundle);
void isthmus_sycl_bundle_finalize(sycl::kernel_bundle<sycl::bundle_state::executable> bundle);

#else

#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <isthmus/device_state.h>
#include <isthmus/device_sycl.hpp>
#include <isthmus/transport.h>
#include <list>
#include <mutex>
#include <unistd.h>

/* ---- wrong calls on processors ----
 * A kernel that calls wrongly ends by a fault of its process, after which no report is read and no output is flushed.
 * So a handler does both, for faults at the kernels' address alone; then what was installed before takes place. */

inline struct sigaction isthmus_sycl_action_before_;

inline void isthmus_sycl_on_fault_(int, siginfo_t *info, void *)
{
    static uint32_t n_threads;
    static thread_local bool has_printed;
    if (info->si_code <= 0 || info->si_addr != (void *)(uintptr_t)ISTHMUS_SYCL_TRAP_ADDRESS) {
        (void)sigaction(SIGSEGV, &isthmus_sycl_action_before_, nullptr); /* a fault comes again */
        if (info->si_code <= 0) (void)raise(SIGSEGV);
        return;
    }
    if (has_printed) { /* the handlers before have come back to this one */
        (void)signal(SIGSEGV, SIG_DFL);
        return;
    }
    while (__atomic_fetch_add(&n_threads, 1, __ATOMIC_RELAXED) != 0) pause(); /* the first one ends the process */
    has_printed = true;
    (void)isthmus_device_report_v1(nullptr); /* this thread is in a kernel, and has no lock */
    fflush(stdout);
    (void)sigaction(SIGSEGV, &isthmus_sycl_action_before_, nullptr);
}

inline void isthmus_sycl_handle_faults_(void)
{
    static const int status = [] {
        struct sigaction action = {};
        action.sa_sigaction = isthmus_sycl_on_fault_;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        return sigaction(SIGSEGV, &action, &isthmus_sycl_action_before_);
    }();
    (void)status;
}

/* ---- modules ---- */

/* One module: kernels with a state of their own. */
struct isthmus_sycl_module_ {
    void *address; /* of a bundle's state on the device; NULL: the program's own, by its name */
    std::function<void(const struct isthmus_device_state *)> copy;
};

/* Those whose memory is of one kind. SYCL does not survive a fork: in a child there is nothing to fill. */
struct isthmus_sycl_modules_ {
    std::mutex lock;
    std::list<isthmus_sycl_module_> list;
    pid_t owner = getpid();
};

template <uint32_t Kind> inline isthmus_sycl_modules_ &isthmus_sycl_modules_of_(void)
{
    static isthmus_sycl_modules_ modules;
    return modules;
}

/* What the library calls. */
template <uint32_t Kind> inline int isthmus_sycl_fill_(const struct isthmus_device_state *state)
{
    isthmus_sycl_modules_ &modules = isthmus_sycl_modules_of_<Kind>();
    if (modules.owner != getpid()) return 0;
    std::lock_guard<std::mutex> guard(modules.lock);
    try {
        for (const isthmus_sycl_module_ &module : modules.list) module.copy(state);
    } catch (const std::exception &error) {
        fprintf(stderr, "isthmus: the state of kernels in SYCL cannot be written: %s\n", error.what());
        return ISTHMUS_ERR_IO;
    }
    return 0;
}

template <uint32_t Kind> inline void isthmus_sycl_remove_(const void *address)
{
    isthmus_sycl_modules_ &modules = isthmus_sycl_modules_of_<Kind>();
    std::lock_guard<std::mutex> guard(modules.lock);
    modules.list.remove_if([address](const isthmus_sycl_module_ &module) { return module.address == address; });
}

/* The library fills all modules when the function is registered: the new one among them. */
template <uint32_t Kind> inline int isthmus_sycl_add_(const isthmus_sycl_module_ &module)
{
    isthmus_sycl_modules_ &modules = isthmus_sycl_modules_of_<Kind>();
    std::list<isthmus_sycl_module_>::iterator added;
    {
        std::lock_guard<std::mutex> guard(modules.lock);
        added = modules.list.insert(modules.list.end(), module);
    }
    isthmus_device_unregister_v1(isthmus_sycl_fill_<Kind>);
    int status = isthmus_device_register_v1(Kind, isthmus_sycl_fill_<Kind>);
    if (status != 0) {
        std::lock_guard<std::mutex> guard(modules.lock);
        modules.list.erase(added); /* this one alone: the address of the program's own is the same for all queues */
    }
    return status;
}

enum : uint32_t { ISTHMUS_SYCL_NO_KIND = UINT32_MAX };

/* The ISTHMUS_MEM_ kind of the memory in which kernels on the device reach a symmetric heap. A GPU that SYCL drives by
 * another backend than Level Zero has no access to memory of that. */
inline uint32_t isthmus_sycl_kind_of_(const sycl::device &device)
{
    if (device.is_cpu()) return ISTHMUS_MEM_HOST;
    bool is_ze = device.is_gpu() && device.get_backend() == sycl::backend::ext_oneapi_level_zero;
    return is_ze ? (uint32_t)ISTHMUS_MEM_ZE : (uint32_t)ISTHMUS_SYCL_NO_KIND;
}

inline int isthmus_sycl_add_as_(uint32_t kind, const isthmus_sycl_module_ &module)
{
    switch (kind) {
    case ISTHMUS_MEM_HOST: isthmus_sycl_handle_faults_(); return isthmus_sycl_add_<ISTHMUS_MEM_HOST>(module);
    case ISTHMUS_MEM_ZE: return isthmus_sycl_add_<ISTHMUS_MEM_ZE>(module);
    default: return ISTHMUS_ERR_UNSUPPORTED;
    }
}

/* Kernels that call no routine have no state. */
inline int isthmus_sycl_add_bundle_(uint32_t kind, const sycl::queue &q,
                                    sycl::kernel_bundle<sycl::bundle_state::executable> bundle)
{
    static const char name[] = "isthmus_sycl_state_v1";
    if (!bundle.ext_oneapi_has_device_global(name)) return 0;
    void *address = bundle.ext_oneapi_get_device_global_address(name, q.get_device());
    return isthmus_sycl_add_as_(kind, {address, [q, address](const struct isthmus_device_state *state) {
                                           sycl::queue(q).memcpy(address, state, sizeof *state).wait();
                                       }});
}

inline int isthmus_sycl_bundle_init(const sycl::queue &q, sycl::kernel_bundle<sycl::bundle_state::executable> bundle)
{
    return isthmus_sycl_add_bundle_(isthmus_sycl_kind_of_(q.get_device()), q, bundle);
}

inline void isthmus_sycl_bundle_finalize(sycl::kernel_bundle<sycl::bundle_state::executable> bundle)
{
    static const char name[] = "isthmus_sycl_state_v1";
    if (!bundle.ext_oneapi_has_device_global(name)) return;
    for (const sycl::device &device : bundle.get_devices()) {
        const void *address = bundle.ext_oneapi_get_device_global_address(name, device);
        isthmus_sycl_remove_<ISTHMUS_MEM_HOST>(address);
        isthmus_sycl_remove_<ISTHMUS_MEM_ZE>(address);
    }
}

#ifdef SYCL_LANGUAGE_VERSION

inline int isthmus_sycl_queue_init(const sycl::queue &q)
{
    return isthmus_sycl_add_as_(isthmus_sycl_kind_of_(q.get_device()),
                                {nullptr, [q](const struct isthmus_device_state *state) {
                                     sycl::queue(q).memcpy(isthmus_sycl_state_v1, state).wait();
                                 }});
}

/* The program's own kernels on the default device, which SYCL chooses at init: the program, or its user, may select
 * another one before. */
inline uint32_t isthmus_sycl_program_kind_(void)
{
    try {
        return isthmus_sycl_kind_of_(sycl::device());
    } catch (const std::exception &) {
        return ISTHMUS_SYCL_NO_KIND; /* there is none */
    }
}

inline int isthmus_sycl_program_fill_(const struct isthmus_device_state *state)
{
    static const pid_t owner = getpid();
    if (owner != getpid()) return 0;
    try {
        sycl::queue().memcpy(isthmus_sycl_state_v1, state).wait();
    } catch (const std::exception &error) {
        fprintf(stderr, "isthmus: the state of kernels in SYCL cannot be written: %s\n", error.what());
        return ISTHMUS_ERR_IO;
    }
    return 0;
}

inline const int isthmus_sycl_program_ = [] {
    isthmus_sycl_handle_faults_();
    return isthmus_device_register_later_v1(isthmus_sycl_program_kind_, isthmus_sycl_program_fill_);
}();

#endif

#endif

#endif
