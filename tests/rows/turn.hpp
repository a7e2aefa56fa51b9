/* tests/rows/turn.hpp: one call of a form in a queue of SYCL (..._on_queue). It depends on a task of another queue,
 * which ends only after the call has been submitted: so a form that drops the events it is given is over too early.
 * With ROWS_QUEUE=in_order in the environment the queue of the calls is in order, and otherwise it is not. A task
 * occupies a thread of SYCL's until it ends: only with SYCL_QUEUE_THREAD_POOL_SIZE=2, or more, could a call overtake.
 */
#ifndef TESTS_ROWS_TURN_HPP
#define TESTS_ROWS_TURN_HPP

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <sycl/sycl.hpp>

class turn
{
    std::atomic<bool> is_submitted_{false}, is_before_over_{false};
    sycl::event before_;

    static sycl::queue make()
    {
        const char *kind = std::getenv("ROWS_QUEUE");
        bool is_in_order = kind != nullptr && std::strcmp(kind, "in_order") == 0;
        return is_in_order ? sycl::queue{sycl::property::queue::in_order{}} : sycl::queue{};
    }

    static sycl::queue &others()
    {
        static sycl::queue queue;
        return queue;
    }

    static bool is_over(const sycl::event &event)
    {
        return event.get_info<sycl::info::event::command_execution_status>() ==
               sycl::info::event_command_status::complete;
    }

    static void fail()
    {
        std::fprintf(stderr, "a call in a queue is over before the event that it depends on\n");
        std::abort();
    }

  public:
    turn()
    {
        before_ = others().submit([this](sycl::handler &h) {
            h.host_task([this] {
                while (!is_submitted_) sched_yield();
                is_before_over_ = true;
            });
        });
    }

    static sycl::queue &queue()
    {
        static sycl::queue queue = make();
        return queue;
    }

    const sycl::event &before() const { return before_; }

    void wait(sycl::event call)
    {
        for (int i = 0; i < 10; i++, sched_yield())
            if (is_over(call)) fail();
        is_submitted_ = true;
        call.wait();
        if (!is_before_over_) fail();
        before_.wait();
    }
};

#endif
