/* R13: children of PEs that run no handlers of fork() are no PEs: they end as they like, and the job goes on.
 * Usage: r13_child HOW END. HOW: _Fork (which runs the library's part of fork()), clone (the system call). END: exit,
 * _exit, thread_exit. */
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static long word = 5;
static long *block;

static pid_t make_child(const char *how)
{
    pid_t (*own_fork)(void) = (pid_t(*)(void))dlsym(RTLD_DEFAULT, "_Fork");
    if (strcmp(how, "clone") == 0) return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (own_fork == NULL) exit(PE_SKIPPED);
    return own_fork();
}

static void live_as_child(bool is_private, const char *end)
{
    if (is_private) word = block[0] = -1;
    if (strcmp(end, "exit") == 0) exit(0);
    if (strcmp(end, "thread_exit") == 0) pthread_exit(NULL);
    _exit(0);
}

int main(int argc, char **argv)
{
    const bool is_private = strcmp(argv[1], "_Fork") == 0;
    pe_begin();
    block = shmem_calloc(100, sizeof *block);
    CHECK(argc == 3 && block != NULL);
    block[0] = 7;
    shmem_barrier_all();
    for (int i = 0; i < 3; i++) {
        int status = -1;
        const pid_t child = make_child(argv[1]);
        if (child == 0) live_as_child(is_private, argv[2]);
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
    const pid_t child = make_child(argv[1]); /* the session with the launcher lasts until this PE exits */
    if (child == 0) {
        block = &word;
        live_as_child(true, argv[2]);
    }
    CHECK(waitpid(child, NULL, 0) == child);
    CHECK_EQ(word, 5);
    pe_begin();
    shmem_barrier_all();
    return pe_end();
}
