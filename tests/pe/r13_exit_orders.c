/* R13: ends of a PE that begin elsewhere than in main. exit_orders MODE:
 *   finalize_after   exit handlers that call finalize, registered after init
 *   finalize_before  the same, registered before init
 *   handlers         handlers registered before and after init, of a program that leaves without finalize: all of
 *                    them run, in the reverse order, and the later one may still communicate
 *   constructor      init in a static constructor, finalize in a destructor
 *   thread_exits     all PEs: a second thread calls exit(0) while the first one waits for a variable
 *   thread_fails     the last PE: a second thread calls exit(5) while the first one, and all other PEs, are in a
 *                    barrier
 *   fork             children that end in all ways, while their parents communicate
 *   fork_exec        children that become other programs, one of them a PE of a job of its own
 *   exec             the PE becomes another program after finalize */
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static long cell = -1;
static const char *mode = "";

static int is_mode(const char *name) { return strcmp(mode, name) == 0; }

static void say(const char *what)
{
    if (pe.me == 0) printf("%s\n", what);
}

/* ---- in the reverse order ---- */

static void finalize_at_exit(void)
{
    say("a handler finalizes");
    shmem_finalize();
}
static void earlier_handler(void) { say("the earlier handler"); }
static void later_handler(void)
{
    say("the later handler");
    shmem_long_p(&cell, pe.me, pe.right);
    shmem_barrier_all();
    CHECK_EQ(cell, pe.left);
}

/* ---- before and after main ---- */

/* The environment is available already, the command line not yet. */
__attribute__((constructor)) static void init_early(void)
{
    const char *name = getenv("TEST_MODE");
    if (name == NULL || strcmp(name, "constructor") != 0) return;
    pe_begin();
    say("init in a constructor");
}
__attribute__((destructor)) static void finalize_late(void)
{
    const char *name = getenv("TEST_MODE");
    if (name == NULL || strcmp(name, "constructor") != 0) return;
    shmem_finalize(); /* with transports that have destructors themselves, the PE has left by now */
}

/* ---- threads ---- */

static void *exit_with(void *status) { exit((int)(intptr_t)status); }

static void start_exiting_thread(int status)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, exit_with, (void *)(intptr_t)status), 0);
}

/* ---- processes ---- */

static void operate(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        shmem_long_p(&cell, i, pe.right);
        shmem_barrier_all();
        CHECK_EQ(cell, i);
        shmem_barrier_all();
    }
}

static pid_t child(void (*run)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        run();
        _exit(0);
    }
    return pid;
}

static void join(pid_t pid, int status)
{
    int found = -1;
    CHECK_EQ(waitpid(pid, &found, 0), pid);
    CHECK_EQ(found, status);
}

static void end_at_once(void) {}
static void end_by_exit(void) { exit(0); }
static void end_by_signal(void) { raise(SIGKILL); }
static void end_by_finalize(void) { shmem_finalize(); }
static void write_private(void) { cell = 77; }
static void become_true(void) { execlp("true", "true", NULL); }
static void become_pe(void)
{
    setenv("ISTHMUS_BOOTSTRAP", "alone", 1);
    execl("/proc/self/exe", "exit_orders", "alone", NULL);
}

static void fork_all(void)
{
    void (*const ends[])(void) = {end_at_once, end_by_exit, end_by_finalize, write_private};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        pid_t pid = child(ends[i]);
        operate(20);
        join(pid, 0);
    }
    pid_t pid = child(end_by_signal);
    operate(20);
    join(pid, SIGKILL);
}

static void fork_and_exec(void)
{
    pid_t program = child(become_true), job = child(become_pe);
    operate(20);
    join(program, 0);
    join(job, 0);
}

int main(int argc, char **argv)
{
    const char *early = getenv("TEST_MODE");
    mode = argc > 1 ? argv[1] : early != NULL ? early : "handlers";
    if (is_mode("constructor")) {
        operate(20);
        return 0;
    }
    if (is_mode("finalize_before")) atexit(finalize_at_exit);
    if (is_mode("handlers")) atexit(earlier_handler);
    pe_begin();
    operate(2);
    if (is_mode("finalize_after")) atexit(finalize_at_exit);
    if (is_mode("handlers")) atexit(later_handler);
    if (is_mode("thread_exits")) {
        start_exiting_thread(0);
        shmem_long_wait_until(&cell, SHMEM_CMP_EQ, 1000);
    }
    if (is_mode("thread_fails")) {
        if (pe.me == pe.n - 1) start_exiting_thread(5);
        for (;;) shmem_barrier_all();
    }
    if (is_mode("fork")) fork_all();
    if (is_mode("fork_exec")) fork_and_exec();
    if (is_mode("fork") || is_mode("fork_exec") || is_mode("alone")) shmem_finalize();
    if (is_mode("exec")) {
        shmem_finalize();
        execlp("true", "true", NULL);
    }
    return 0;
}
