/* core/heap/static_guard.c: blocks other threads that write to static data while it is copied and moved. See
 * static_data_priv.h.
 * The pages are made read-only, so that such a write faults; the handler of SIGSEGV waits until the shared pages are in
 * place, and returns to it. The handler stays when the move is over: a thread may have faulted and not arrived in it.
 * It passes all other faults on to the handler before it, and is taken back when the library is unloaded.
 * If another handler has been installed above it until the next move, one more has to be above that one. The other
 * handler may pass faults on as well, to the one that it found: so each of these handlers is a function of its own,
 * with its own handler before it, and none is called twice for a fault. */
#include "core/base/log.h"
#include "core/heap/static_data_priv.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCKED_TRIES = 20, BLOCKED_PAUSE_MS = 1, N_HANDLERS = 4 };

/* In a program that links this code statically these lie in pages that are moved: written before they are read-only. */
static struct {
    uintptr_t start, end; /* of the image that is, or was last, moved */
    uint32_t is_on;       /* a futex */
    uint32_t n_moves;
    int n_installed;
    struct sigaction before[N_HANDLERS];
} guard;

/* The last write that faulted although no move was under way, and the number of moves then: it is tried once more, and
 * then is a fault of the program, for all handlers. */
static _Thread_local uintptr_t last_fault;
static _Thread_local uint32_t last_fault_moves;

/* ---- the handler ---- */

/* Waits for the move that blocks the write. Returns false if the fault has another reason. */
static bool has_waited(const siginfo_t *info)
{
    const uintptr_t at = (uintptr_t)info->si_addr;
    const uint32_t on = 1;
    if (info->si_code != SEGV_ACCERR || at < __atomic_load_n(&guard.start, __ATOMIC_RELAXED) ||
        at >= __atomic_load_n(&guard.end, __ATOMIC_RELAXED))
        return false;
    if (__atomic_load_n(&guard.is_on, __ATOMIC_ACQUIRE) == on) { /* acquire: pairs with ist_static_guard_end() */
        syscall(SYS_futex, &guard.is_on, FUTEX_WAIT_PRIVATE, on, NULL);
        return true;
    }
    const uint32_t n_moves = __atomic_load_n(&guard.n_moves, __ATOMIC_RELAXED);
    const bool is_new = last_fault != at || last_fault_moves != n_moves;
    last_fault = at;
    last_fault_moves = n_moves;
    return is_new;
}

static void pass_on(const struct sigaction *before, int number, siginfo_t *info, void *context)
{
    if ((before->sa_flags & SA_SIGINFO) != 0) {
        before->sa_sigaction(number, info, context);
    } else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
        before->sa_handler(number);
    } else if (before->sa_handler == SIG_DFL ||
               info->si_code > 0) { /* a fault occurs again; a sent signal is sent again */
        (void)sigaction(number, before, NULL);
        if (info->si_code <= 0) (void)raise(number);
    }
}

static void handle(int handler, int number, siginfo_t *info, void *context)
{
    const int error = errno;
    if (!has_waited(info)) pass_on(&guard.before[handler], number, info, context);
    errno = error;
}

static void on_fault_0(int number, siginfo_t *info, void *context) { handle(0, number, info, context); }
static void on_fault_1(int number, siginfo_t *info, void *context) { handle(1, number, info, context); }
static void on_fault_2(int number, siginfo_t *info, void *context) { handle(2, number, info, context); }
static void on_fault_3(int number, siginfo_t *info, void *context) { handle(3, number, info, context); }

static void (*const handlers[N_HANDLERS])(int, siginfo_t *, void *) = {on_fault_0, on_fault_1, on_fault_2, on_fault_3};

/* Returns the number of this handler; -1: it is another one. */
static int number_of(const struct sigaction *action)
{
    for (int i = 0; i < N_HANDLERS && (action->sa_flags & SA_SIGINFO) != 0; i++)
        if (action->sa_sigaction == handlers[i]) return i;
    return -1;
}

/* Above that many others, the newest handler takes this place too. */
static bool install(void)
{
    struct sigaction now;
    if (sigaction(SIGSEGV, NULL, &now) != 0) return false;
    if (number_of(&now) >= 0) return true;
    if (guard.n_installed < N_HANDLERS) guard.n_installed++;
    guard.before[guard.n_installed - 1] = now;
    now.sa_flags = SA_SIGINFO | SA_ONSTACK | (now.sa_flags & (SA_NODEFER | SA_RESTART));
    now.sa_sigaction = handlers[guard.n_installed - 1];
    return sigaction(SIGSEGV, &now, NULL) == 0;
}

/* Handlers below another one than these stay. */
__attribute__((destructor)) static void uninstall(void)
{
    struct sigaction now;
    const int number = sigaction(SIGSEGV, NULL, &now) == 0 ? number_of(&now) : -1;
    if (number >= 0) (void)sigaction(SIGSEGV, &guard.before[number], NULL);
}

/* ---- the threads ---- */

static bool is_alone(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink <= 3; /* ".", ".." and this thread */
}

struct blocker { /* a thread that blocks SIGSEGV, or one that cannot be asked */
    char name[32], number[16];
    int error; /* errno of the access to /proc that failed; 0: none */
};

/* A main thread that has ended stays in the list until the process ends. */
static bool blocks_faults(const char *thread, struct blocker *out)
{
    char path[64], line[128], state = 'Z';
    uint64_t blocked = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.16s/status", thread);
    snprintf(out->number, sizeof out->number, "%.15s", thread);
    FILE *file = fopen(path, "re");
    if (file == NULL && errno != ENOENT) { /* not the end of this thread */
        out->error = errno;
        return true;
    }
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "Name: %31[^\n]", out->name);
        (void)sscanf(line, "State: %c", &state);
        if (sscanf(line, "SigBlk: %" SCNx64, &blocked) == 1) break;
    }
    if (file != NULL) fclose(file);
    return state != 'Z' && state != 'X' && (blocked >> (SIGSEGV - 1) & 1) != 0;
}

static bool can_all_wait_now(struct blocker *out)
{
    const long own = syscall(SYS_gettid);
    bool can = true;
    DIR *tasks = opendir("/proc/self/task");
    *out = (struct blocker){.error = tasks == NULL ? errno : 0};
    if (tasks == NULL) return false;
    for (const struct dirent *task; can && (task = readdir(tasks)) != NULL;)
        if (task->d_name[0] != '.' && strtol(task->d_name, NULL, 10) != own) can = !blocks_faults(task->d_name, out);
    closedir(tasks);
    return can;
}

/* The kernel kills a thread whose fault it cannot deliver. A thread that begins, ends or forks blocks all signals for a
 * moment. */
static bool can_all_wait(struct blocker *out)
{
    bool can = can_all_wait_now(out);
    for (int tries = 0; !can && tries < BLOCKED_TRIES; tries++) {
        (void)poll(NULL, 0, BLOCKED_PAUSE_MS);
        can = can_all_wait_now(out);
    }
    return can;
}

/* ---- a move ---- */

static void protect(const struct ist_static_image *image, int without)
{
    for (uint32_t i = 0; i < image->n_parts; i++) {
        const struct ist_static_part *part = &image->parts[i];
        if (part->is_moved) syscall(SYS_mprotect, part->start, part->length_bytes, part->prot & ~without);
    }
}

/* ThreadSanitizer has such a thread in every process that has two others: no news for a program under test. */
extern void __tsan_init(void) __attribute__((weak));

/* Without descriptors a process cannot read it, and has, or will have, a message of its own about that. */
static void warn(const struct blocker *blocker)
{
    static bool has_warned;
    if (blocker->error != 0) {
        ist_info("writes of other threads to global variables are not stopped while these are moved: cannot read "
                 "/proc/self/task: %s",
                 strerror(blocker->error));
        return;
    }
    if (has_warned || __tsan_init != NULL) return;
    has_warned = true;
    ist_warn("thread %s (%s) blocks SIGSEGV, so that what other threads write to global variables while these are "
             "moved, in init or finalize, may be lost; let it leave SIGSEGV unblocked, or set ISTHMUS_STATIC_DATA=0 if "
             "no PE accesses global variables of another",
             blocker->name, blocker->number);
}

void ist_static_guard_begin(const struct ist_static_image *image)
{
    struct blocker blocker;
    if (is_alone()) return;
    if (!can_all_wait(&blocker)) {
        warn(&blocker);
        return;
    }
    if (!install()) return;
    __atomic_store_n(&guard.start, (uintptr_t)image->base, __ATOMIC_RELAXED);
    __atomic_store_n(&guard.end, (uintptr_t)image->base + image->length_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&guard.n_moves, guard.n_moves + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&guard.is_on, 1, __ATOMIC_RELEASE);
    protect(image, PROT_WRITE);
}

void ist_static_guard_end(const struct ist_static_image *image)
{
    protect(image, 0); /* the parts that were not moved */
    if (!guard.is_on) return;
    __atomic_store_n(&guard.is_on, 0, __ATOMIC_RELEASE); /* pairs with the handler, which then retries a write once */
    syscall(SYS_futex, &guard.is_on, FUTEX_WAKE_PRIVATE, INT_MAX);
}
