/* isthmus/device_report.h: how a kernel ends for a wrong call of the program: it leaves a report in memory of the host,
 * and stops. The library reads it, and has the texts. A kernel without a state prints by itself. See device.h. */
#ifndef ISTHMUS_DEVICE_REPORT_H
#define ISTHMUS_DEVICE_REPORT_H

#include <isthmus/device_state.h>

/* Included by device_group.h behind the dialect. */
#ifdef ISTHMUS_DEVICE_GROUP_H

#ifndef ISTHMUS_DEVICE_SOURCE /* the host does not read strings of a GPU */
#define ISTHMUS_DEVICE_SOURCE NULL
#endif

ISTHMUS_DEVICE void isthmus_dev_write_report(uint64_t *report, int call, int mistake, const void *addr, int value)
{
    isthmus_dev_fence(); /* on processors: what is written now comes after the end of the report before */
    isthmus_dev_store(report + ISTHMUS_REPORT_CALL, (uint64_t)mistake << 32 | (uint32_t)call, 8);
    isthmus_dev_store(report + ISTHMUS_REPORT_ADDRESS, (uint64_t)(uintptr_t)addr, 8);
    isthmus_dev_store(report + ISTHMUS_REPORT_VALUE, (uint64_t)(int64_t)value, 8);
    isthmus_dev_store(report + ISTHMUS_REPORT_THREAD,
                      (uint64_t)isthmus_dev_block_rank() << 32 | isthmus_dev_thread_rank(), 8);
    isthmus_dev_store(report + ISTHMUS_REPORT_SOURCE, (uint64_t)(uintptr_t)ISTHMUS_DEVICE_SOURCE, 8);
    isthmus_dev_store_release(report + ISTHMUS_REPORT_VALID,
                              1); /* pairs with the acquire in ist_kernel_report_read() */
    isthmus_dev_fence();          /* all of it has arrived before the trap, which may discard what is under way */
}

/* Another thread writes the report. A trap of this one could stop that one before. */
ISTHMUS_DEVICE void isthmus_dev_await_report(const uint64_t *report)
{
    enum { TURNS = 1 << 14 }; /* some milliseconds: on processors a report may be read, and cleared, in between */
    for (int i = 0; i < TURNS && isthmus_dev_load(report + ISTHMUS_REPORT_VALID, 8) == 0; i++) {
        if (isthmus_dev_is_over()) return;
        isthmus_dev_pause();
    }
}

/* Ends the kernel: `call` was wrong (ISTHMUS_CALL_, ISTHMUS_MISTAKE_). */
ISTHMUS_DEVICE_COLD void isthmus_dev_misuse(int call, int mistake, const void *addr, int value)
{
    uint64_t *report = isthmus_device_v1.report;
    if (report == NULL)
        isthmus_dev_print_uninitialised(call, addr, value);
    else if (isthmus_dev_add_device(isthmus_device_v1.reporters, 1) == 0)
        isthmus_dev_write_report(report, call, mistake, addr, value);
    else
        isthmus_dev_await_report(report);
    isthmus_dev_trap();
}

/* Whether the library has initialised this module and is not finalized. */
ISTHMUS_DEVICE int isthmus_dev_has_state(void) { return isthmus_device_v1.n > 0; }

/* For calls that take no PE: without a state every PE is out of range, and calls that take one end there. */
ISTHMUS_DEVICE void isthmus_dev_check_state(int call)
{
    if (!ISTHMUS_DEVICE_LIKELY(isthmus_dev_has_state())) isthmus_dev_misuse(call, ISTHMUS_MISTAKE_STATE, NULL, -1);
}

#endif

#endif
