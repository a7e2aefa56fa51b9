/* locked.c: how many locked instructions set_lock and clear_lock take in one thread of a PE that has the lock in its
 * cache: those are what a lock costs there. Each PE runs under a parent that executes the two in single steps.
 * Usage: isthmus-run -n 2 locked MOST [multiple]. Prints the count of PE 0; exit status 1 if it is above MOST,
 * 77 where processes may not be traced. */
#include "../pe/check.h"

#include <shmem.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77 };

static long lock;

static void mark(void) { __asm__ volatile("int3" ::: "memory"); } /* the parent counts from here to the next mark */

static int run_pe(int level)
{
    int provided;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) return SKIPPED;
    CHECK_EQ(shmem_init_thread(level, &provided), 0);
    for (int i = 0; shmem_my_pe() == 0 && i < 5; i++) {
        if (i == 4) mark();
        shmem_set_lock(&lock);
        shmem_clear_lock(&lock);
        if (i == 4) mark();
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}

/* Prefixes come before the opcode; xchg with memory is locked without one, and mfence costs as much. */
static bool is_locked(const unsigned char *code)
{
    bool has_lock = false;
    while (*code == 0xf0 || *code == 0x66 || *code == 0xf2 || *code == 0xf3 || *code == 0x2e || *code == 0x64)
        has_lock |= *code++ == 0xf0;
    if ((*code & 0xf0) == 0x40) code++;
    const bool is_xchg = (*code == 0x86 || *code == 0x87) && code[1] >> 6 != 3;
    return has_lock || is_xchg || memcmp(code, "\x0f\xae\xf0", 3) == 0;
}

/* Adds the instruction that comes next. Returns false if that is the second mark. */
static bool count_next(pid_t pe, int *n_locked)
{
    struct user_regs_struct registers;
    unsigned char code[2 * sizeof(long)];
    CHECK_EQ(ptrace(PTRACE_GETREGS, pe, NULL, &registers), 0);
    for (size_t i = 0; i < sizeof code; i += sizeof(long)) {
        errno = 0;
        const long word = ptrace(PTRACE_PEEKTEXT, pe, (void *)(registers.rip + i), NULL);
        CHECK_EQ(errno, 0);
        memcpy(code + i, &word, sizeof word);
    }
    *n_locked += is_locked(code);
    return code[0] != 0xcc;
}

static int trace(pid_t pe, int most)
{
    int status, n_locked = 0, n_marks = 0, signal = 0;
    while (CHECK_EQ(waitpid(pe, &status, 0), pe), WIFSTOPPED(status)) {
        const bool is_trap = WSTOPSIG(status) == SIGTRAP;
        if (is_trap && (n_marks != 1 || !count_next(pe, &n_locked))) n_marks++;
        signal = is_trap ? 0 : WSTOPSIG(status);
        CHECK_EQ(ptrace(n_marks == 1 ? PTRACE_SINGLESTEP : PTRACE_CONT, pe, NULL, (void *)(long)signal), 0);
    }
    if (n_marks > 0) printf("%d locked instructions, %d allowed\n", n_locked, most);
    return WIFEXITED(status) && n_locked <= most ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    const int most = argc > 1 ? atoi(argv[1]) : 0; /* NOLINT(cert-err34-c): of CMakeLists.txt */
    const pid_t pe = fork();
    CHECK(pe >= 0);
    return pe == 0 ? run_pe(argc > 2 ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE) : trace(pe, most);
}
