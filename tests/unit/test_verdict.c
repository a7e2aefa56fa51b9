/* tests/unit/test_verdict.c: one PE of a job reports, and no stranger can make all of them silent by taking the name
 * first. */
#include "core/life/life_priv.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOBODY = 65534 };

static char job[40];
static bool hides_users;

/* In place of the C library's: a system that does not report the user of a socket. */
int getsockopt(int fd, int level, int option, void *value, socklen_t *length)
{
    if (hides_users && level == SOL_SOCKET && option == SO_PEERCRED) {
        errno = ENOPROTOOPT;
        return -1;
    }
    return (int)syscall(SYS_getsockopt, fd, level, option, value, length);
}

static int new_job(void **state)
{
    static int n;
    (void)state;
    snprintf(job, sizeof job, "test-%d-%d", (int)getpid(), n++);
    ist_verdict_begin(job, IST_ABORT_EXIT, 0);
    return 0;
}

/* A child that has done `hold` and lives on. */
static pid_t start_holder(void (*hold)(const struct sockaddr_un *), uid_t user)
{
    int ready[2];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char byte;
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "isthmus-report-%u-%s", (unsigned)geteuid(), job);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (user != geteuid() && (setgid(user) != 0 || setuid(user) != 0)) _exit(1);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* after setuid, which clears it */
        hold(&address);
        (void)!write(ready[1], "r", 1);
        for (;;) pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void end_holder(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void claim(const struct sockaddr_un *address)
{
    (void)address;
    if (!ist_verdict_claim()) _exit(1);
}

static void squat(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) != 0 || listen(fd, 1) != 0) _exit(1);
}

static void squat_silently(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) != 0) _exit(1);
}

static void one_pe_speaks(void **state)
{
    (void)state;
    pid_t other = start_holder(claim, geteuid());
    assert_false(ist_verdict_claim());
    assert_false(ist_verdict_claim());
    end_holder(other);
    assert_true(ist_verdict_claim());
}

static void other_user_cannot_silence_the_job(void **state)
{
    (void)state;
    if (geteuid() != 0) skip(); /* only root can become another user */
    pid_t other = start_holder(squat, NOBODY);
    assert_true(ist_verdict_claim());
    end_holder(other);
}

static void one_that_does_not_listen_cannot_either(void **state)
{
    (void)state;
    pid_t other = start_holder(squat_silently, geteuid());
    assert_true(ist_verdict_claim());
    end_holder(other);
}

/* The name alone proves nothing: other users may know it. */
static void without_users_the_name_does_not_count(void **state)
{
    (void)state;
    pid_t other = start_holder(squat, geteuid());
    assert_false(ist_verdict_claim());
    hides_users = true;
    bool reports = ist_verdict_claim();
    hides_users = false;
    assert_true(reports);
    end_holder(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_pe_speaks, new_job),
        cmocka_unit_test_setup(other_user_cannot_silence_the_job, new_job),
        cmocka_unit_test_setup(one_that_does_not_listen_cannot_either, new_job),
        cmocka_unit_test_setup(without_users_the_name_does_not_count, new_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
