/* tests/doubles/sycl/sycl.hpp: as much of SYCL as ishmemx.h uses, for machines without it: queues whose host tasks run
 * on a thread each, after the events they depend on and otherwise in any order. Not a part of what is installed. */
#ifndef TESTS_DOUBLES_SYCL_HPP
#define TESTS_DOUBLES_SYCL_HPP

#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

namespace sycl
{

class event
{
    std::shared_future<void> task_;

  public:
    event() = default;
    explicit event(std::shared_future<void> task) : task_(std::move(task)) {}
    void wait() const
    {
        if (task_.valid()) task_.wait();
    }
};

/* As much of devices and bundles as isthmus/device_sycl_module.hpp needs to compile. */
struct exception : std::exception {
};

struct device {
    bool is_cpu() const { return true; }
};

enum class bundle_state { executable };

template <bundle_state> struct kernel_bundle {
    bool ext_oneapi_has_device_global(const char *) { return false; }
    void *ext_oneapi_get_device_global_address(const char *, const device &) { return nullptr; }
    std::vector<device> get_devices() const { return {}; }
};

class handler
{
    friend class queue;
    std::vector<event> before_;
    std::function<void()> task_;

  public:
    void depends_on(const event &e) { before_.push_back(e); }
    void depends_on(const std::vector<event> &events) { before_.insert(before_.end(), events.begin(), events.end()); }
    void host_task(std::function<void()> task) { task_ = std::move(task); }
};

class queue
{
    struct state {
        std::mutex lock;
        std::vector<event> submitted;
    };
    std::shared_ptr<state> state_ = std::make_shared<state>();

  public:
    template <typename Group> event submit(Group group)
    {
        handler h;
        group(h);
        auto run = [before = std::move(h.before_), task = std::move(h.task_)] {
            for (const event &e : before) e.wait();
            task();
        };
        event done(std::async(std::launch::async, run).share());
        std::lock_guard<std::mutex> guard(state_->lock);
        state_->submitted.push_back(done);
        return done;
    }

    device get_device() const { return {}; }
    event memcpy(void *, const void *, size_t) { return {}; }

    void wait()
    {
        std::vector<event> all;
        {
            std::lock_guard<std::mutex> guard(state_->lock);
            all.swap(state_->submitted);
        }
        for (const event &e : all) e.wait();
    }

    bool operator==(const queue &other) const { return state_ == other.state_; }
};

} // namespace sycl

#endif
