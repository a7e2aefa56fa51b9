/* R13: children of PEs that run no handlers of fork() are no PEs: they end as they like, and the job goes on.
 * Usage: r13_child HOW END. HOW: _Fork, clone (which run the library's part of fork()), clone_files (which shares the
 * descriptors), system_call (clone). END: exit, _exit, thread_exit. */
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static long word = 5;
static long *block;

static const char *how, *end;
static bool is_private;

static int live_as_child(void *unused)
{
    (void)unused;
    if (is_private) word = block[0] = -1;
    if (strcmp(end, "exit") == 0) exit(0);
    if (strcmp(end, "thread_exit") == 0) pthread_exit(NULL);
    return 0;
}

static pid_t make_child(void)
{
    static _Alignas(64) char stack[1 << 18]; /* symmetric */
    pid_t (*own_fork)(void) = (pid_t(*)(void))dlsym(RTLD_DEFAULT, "_Fork");
    pid_t child;
    const int flags = strcmp(how, "clone_files") == 0 ? CLONE_FILES | SIGCHLD : SIGCHLD;
    if (strncmp(how, "clone", 5) == 0) return clone(live_as_child, stack + sizeof stack, flags, NULL);
    if (strcmp(how, "_Fork") != 0) {
        child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    } else {
        if (own_fork == NULL) exit(PE_SKIPPED);
        child = own_fork();
    }
    if (child == 0) _exit(live_as_child(NULL));
    return child;
}

int main(int argc, char **argv)
{
    pe_begin();
    block = shmem_calloc(100, sizeof *block);
    CHECK(argc == 3 && block != NULL);
    how = argv[1];
    end = argv[2];
    is_private = strcmp(how, "_Fork") == 0 || strcmp(how, "clone") == 0;
    block[0] = 7;
    shmem_barrier_all();
    for (int i = 0; i < 3; i++) {
        int status = -1;
        const pid_t child = make_child();
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK_EQ(status, 0);
        CHECK_EQ(word, 5);
        CHECK_EQ(block[0], 7);
        shmem_barrier_all();
        CHECK_EQ(shmem_long_g(&word, pe.right), 5);
        CHECK_EQ(shmem_long_g(block, pe.right), 7);
        shmem_barrier_all();
    }
    shmem_free(block);
    (void)pe_end();
    block = &word;
    is_private = true;
    const pid_t child = make_child(); /* the session with the launcher lasts until this PE exits */
    CHECK(waitpid(child, NULL, 0) == child);
    CHECK_EQ(word, 5);
    pe_begin();
    shmem_barrier_all();
    return pe_end();
}
