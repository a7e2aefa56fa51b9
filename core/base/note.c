/* core/base/note.c: see note.h. */
#include "core/base/note.h"

#include "core/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local struct ist_collective ist_collective_now;
_Thread_local const char *ist_sync_now;
_Thread_local struct ist_note *ist_note_mine;
_Thread_local struct ist_quick_call ist_quick_call_now;
struct ist_note_page *ist_note_page;

/* ---- the page ---- */

/* Maps the launcher's file and returns this PE's page; NULL if there is none. */
static struct ist_note_page *map_shared(const char *pages_file, unsigned index)
{
    struct stat found;
    void *page = MAP_FAILED;
    if (pages_file == NULL) return NULL;
    int fd = open(pages_file, O_RDWR | O_CLOEXEC);
    if (fd < 0) return NULL;
    off_t offset = (off_t)index * IST_NOTE_PAGE_BYTES;
    if (fstat(fd, &found) == 0 && found.st_size >= offset + IST_NOTE_PAGE_BYTES)
        page = mmap(NULL, IST_NOTE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    close(fd);
    return page != MAP_FAILED ? page : NULL;
}

/* A PE may be a script that starts one program after another, or a launcher whose own PEs have the same numbers: a page
 * belongs to one living process. */
static bool claim(struct ist_note_page *page)
{
    int32_t owner = ist_load_relaxed(&page->pid), me = (int32_t)getpid();
    if (owner != 0 && owner != me && (kill(owner, 0) == 0 || errno != ESRCH)) return false;
    if (!__atomic_compare_exchange_n(&page->pid, &owner, me, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return false;
    memset(page->notes, 0, sizeof page->notes);
    ist_store_relaxed(&page->kernel_waits, 0);
    return true;
}

static struct ist_note_page *map_private(void)
{
    void *page = mmap(NULL, IST_NOTE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page != MAP_FAILED ? page : NULL;
}

void ist_note_open(const char *pages_file, unsigned index)
{
    if (ist_note_page != NULL) return;
    struct ist_note_page *page = map_shared(pages_file, index);
    if (page != NULL && !claim(page)) {
        munmap(page, IST_NOTE_PAGE_BYTES);
        page = NULL;
    }
    if (page == NULL) page = map_private();
    if (page == NULL) return; /* no notes then */
    ist_store_relaxed(&page->pid, (int32_t)getpid());
    if (pages_file != NULL) (void)sscanf(pages_file, "/proc/%d/", &page->launcher); /* otherwise it stays 0 */
    ist_store_release(&page->layout, IST_NOTE_LAYOUT); /* pairs with the acquire of the launcher */
    ist_note_page = page;
}

void ist_note_phase(enum ist_phase phase)
{
    if (ist_note_page == NULL) return;
    ist_store_relaxed(&ist_note_page->phase_since_ns, ist_clock_ns());
    ist_store_release(&ist_note_page->phase, phase); /* pairs with the acquire of the process that explains */
}

/* ---- where kernels describe their waits ---- */

/* Threads of this process that read the words. The change of the address and this count are sequentially consistent: a
 * reader that the count does not show yet finds the new address. */
static uint32_t n_readers;

/* A reader never waits, so this wait ends also if one interrupts it, in a signal handler of this thread. */
void ist_note_kernel_waits(const uint64_t *words)
{
    if (ist_note_page == NULL) return;
    __atomic_store_n(&ist_note_page->kernel_waits, (uint64_t)(uintptr_t)words, __ATOMIC_SEQ_CST);
    while (words == NULL && __atomic_load_n(&n_readers, __ATOMIC_SEQ_CST) != 0) sched_yield();
}

const uint64_t *ist_note_enter_kernel_waits(void)
{
    (void)__atomic_fetch_add(&n_readers, 1, __ATOMIC_SEQ_CST);
    if (ist_note_page == NULL) return NULL;
    return (const uint64_t *)(uintptr_t)__atomic_load_n(&ist_note_page->kernel_waits, __ATOMIC_SEQ_CST);
}

void ist_note_leave_kernel_waits(void)
{
    (void)__atomic_fetch_sub(&n_readers, 1, __ATOMIC_RELEASE); /* pairs with the load in ist_note_kernel_waits() */
}

void ist_note_forget(void)
{
    ist_note_page = NULL;
    ist_note_mine = NULL;
    ist_store_relaxed(&n_readers, 0); /* threads that read are the parent's */
}

/* ---- notes ---- */

static bool is_gone(int32_t thread) { return syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH; }

/* Threads end without a call: the note of a thread that has ended is free again. */
struct ist_note *ist_note_take(void)
{
    int saved = errno;
    int32_t me = (int32_t)syscall(SYS_gettid);
    for (int i = 0; ist_note_page != NULL && ist_note_mine == NULL && i < IST_NOTES; i++) {
        struct ist_note *note = &ist_note_page->notes[i];
        int32_t owner = ist_load_relaxed(&note->thread);
        if (owner != 0 && owner != me && !is_gone(owner)) continue;
        if (!__atomic_compare_exchange_n(&note->thread, &owner, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        /* Acquire: pairs with the end of the last change of a thread that has ended, or was cancelled during one. */
        uint32_t version = ist_load_acquire(&note->version);
        if (version % 2 != 0) ist_note_end_change(note);
        ist_store_relaxed(&note->kind, IST_NOTE_NONE);
        note->comparison = 0;
        ist_note_mine = note;
    }
    errno = saved;
    return ist_note_mine;
}

void ist_note_set_routine(struct ist_note *note, const char *routine)
{
    note->routine_addr = 0;
    snprintf(note->routine, sizeof note->routine, "%s", routine != NULL ? routine : "a wait");
}
