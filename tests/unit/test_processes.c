/* Unit tests of core/life/processes.c: a PE of this host has ended when its process has, reaped or not. */
#include "core/life/life_priv.h"

#include "core/base/process.h"
#include "core/runtime.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_killed_process_has_ended)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
