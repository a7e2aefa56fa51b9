/* tests/doubles/sycl/sycl.hpp: as much of SYCL as the headers and their tests use, declared only: the texts compile
 * with any compiler and without SYCL, and nothing runs; tests/sycl has what runs. With -D__SYCL_DEVICE_ONLY__=1 and
 * -DSYCL_LANGUAGE_VERSION=202012L they compile as for a device. Not a part of what is installed. */
#ifndef TESTS_DOUBLES_SYCL_HPP
#define TESTS_DOUBLES_SYCL_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

namespace sycl
{

enum class memory_order { relaxed, acquire, release, acq_rel, seq_cst };
enum class memory_scope { work_item, sub_group, work_group, device, system };

namespace access
{
enum class address_space { generic_space };
}

template <typename T, memory_order, memory_scope, access::address_space> struct atomic_ref {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "SYCL has atomics of 4 and 8 bytes");
    explicit atomic_ref(T &);
    T load(memory_order = memory_order::relaxed) const;
    void store(T, memory_order = memory_order::relaxed) const;
    T exchange(T, memory_order = memory_order::relaxed) const;
    bool compare_exchange_strong(T &, T, memory_order = memory_order::relaxed) const;
    bool compare_exchange_weak(T &, T, memory_order = memory_order::relaxed) const;
    T fetch_add(T, memory_order = memory_order::relaxed) const;
    T fetch_and(T, memory_order = memory_order::relaxed) const;
    T fetch_or(T, memory_order = memory_order::relaxed) const;
    T fetch_xor(T, memory_order = memory_order::relaxed) const;
};

void atomic_fence(memory_order, memory_scope);

template <int Dimensions> struct range {
    size_t size() const;
};

template <int Dimensions> struct group {
    bool leader() const;
};

struct sub_group {
    bool leader() const;
    size_t get_local_linear_id() const;
    size_t get_local_linear_range() const;
};

template <int Dimensions> struct nd_item {
    size_t get_local_linear_id() const;
    size_t get_group_linear_id() const;
    range<Dimensions> get_local_range() const;
    range<Dimensions> get_group_range() const;
    group<Dimensions> get_group() const;
};

namespace info
{
enum class event_command_status { submitted, running, complete };

namespace event
{
struct command_execution_status {
};
} // namespace event
} // namespace info

struct event {
    void wait() const;
    template <typename Param> info::event_command_status get_info() const;
};

struct handler {
    void depends_on(const event &);
    void depends_on(const std::vector<event> &);
    void host_task(std::function<void()>);
};

enum class backend { ext_oneapi_level_zero };

struct device {
    device();
    bool is_cpu() const;
    bool is_gpu() const;
    backend get_backend() const;
};

namespace property::queue
{
struct in_order {
};
} // namespace property::queue

struct queue {
    queue();
    explicit queue(property::queue::in_order);
    template <typename Group> event submit(Group group) /* so that the group and its task compile */
    {
        handler h;
        group(h);
        return event();
    }
    event memcpy(void *, const void *, size_t);
    void wait();
    device get_device() const;
    bool operator==(const queue &) const;
};

enum class bundle_state { executable };

template <bundle_state> struct kernel_bundle {
    bool ext_oneapi_has_device_global(const char *);
    void *ext_oneapi_get_device_global_address(const char *, const device &);
    std::vector<device> get_devices() const;
};

template <typename Group> void group_barrier(Group);
template <typename T> struct plus {
};
template <typename Group, typename T> T reduce_over_group(Group, T, plus<T>);

namespace ext::oneapi
{

namespace this_work_item
{
template <int Dimensions> nd_item<Dimensions> get_nd_item();
sub_group get_sub_group();
} // namespace this_work_item

namespace experimental
{
template <typename T> struct device_global {
    T &get();
};

template <typename Format, typename... Arguments> int printf(const Format *, Arguments...);
} // namespace experimental

} // namespace ext::oneapi

} // namespace sycl

#endif
