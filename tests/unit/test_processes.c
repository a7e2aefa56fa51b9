/* Unit tests of core/life/processes.c: a PE of this host has ended when its process has, reaped or not. */
#include "core/life/life_priv.h"

#include "core/base/process.h"
#include "core/runtime.h"

#include <errno.h>
#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static struct ist_boot_process place_of(pid_t pid)
{
    struct ist_process process;
    assert_true(ist_process_read(pid, &process));
    return (struct ist_boot_process){.pid = pid, .started = process.started};
}

static void a_killed_process_has_ended(void **state)
{
    (void)state;
    siginfo_t info;
    pid_t pe_3 = fork();
    if (pe_3 == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
    }
    int local_pes[] = {2, 3};
    struct ist_boot_process processes[] = {place_of(getpid()), place_of(pe_3)};
    ist_boot boot = {.pe = 2, .n_pes = 5, .n_local = 2, .local_pes = local_pes, .local_processes = processes};
    ist_runtime.boot = &boot;
    for (int pe = -1; pe <= 5; pe++) assert_false(ist_processes_has_ended(pe));
    kill(pe_3, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pe_3, &info, WEXITED | WNOWAIT), 0);
    assert_true(ist_processes_has_ended(3));
    assert_int_equal(waitpid(pe_3, NULL, 0), pe_3);
    assert_true(ist_processes_has_ended(3));
    assert_false(ist_processes_has_ended(2)); /* this one */
    assert_false(ist_processes_has_ended(4)); /* on another host */
    ist_processes_forget();
    ist_runtime.boot = NULL;
}

/* Returns a child that sleeps, with this process number, or any if it is 0; -1 with errno set if there is none. */
static pid_t start_child(pid_t number)
{
    struct clone_args how = {.exit_signal = SIGCHLD,
                             .set_tid = number != 0 ? (uint64_t)(uintptr_t)&number : 0,
                             .set_tid_size = number != 0 ? 1 : 0};
    pid_t pid = (pid_t)syscall(SYS_clone3, &how, sizeof how);
    if (pid != 0) return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The start time of a process that starts now differs. */
static void await_later_start(uint32_t started)
{
    struct timespec now;
    do clock_gettime(CLOCK_BOOTTIME, &now);
    while ((uint32_t)((uint64_t)now.tv_sec * 100 + (uint64_t)now.tv_nsec / 10000000) <= started + 1);
}

/* Another process with its number, here a stopped one, is not the PE, and must not be killed for it. */
static void a_process_with_its_number_is_another(void **state)
{
    (void)state;
    pid_t pe_3 = start_child(0);
    assert_true(pe_3 > 0);
    int local_pes[] = {2, 3};
    struct ist_boot_process processes[] = {place_of(getpid()), place_of(pe_3)};
    ist_boot boot = {.pe = 2, .n_pes = 5, .n_local = 2, .local_pes = local_pes, .local_processes = processes};
    ist_runtime.boot = &boot;
    assert_false(ist_processes_has_ended(3));
    end_child(pe_3);
    await_later_start(processes[1].started);
    pid_t other = start_child(pe_3);
    if (other < 0 && (errno == EPERM || errno == EEXIST)) skip(); /* no right to choose numbers, or it is taken */
    assert_int_equal(other, pe_3);
    kill(other, SIGSTOP);
    bool has_ended = ist_processes_has_ended(3);
    end_child(other);
    assert_true(has_ended);
    ist_processes_forget();
    ist_runtime.boot = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_killed_process_has_ended),
                                       cmocka_unit_test(a_process_with_its_number_is_another)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
