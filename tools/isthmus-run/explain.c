/* Reads the PEs' notes, puts each into words, and joins equal ones.
 * Not the words for a note, which a PE uses as well: core/base/note_text.c.
 * Read on in job.c, which calls it. */
#include "explain.h"
#include "children.h"
#include "pe_list.h"

#include "core/base/kernel_waits.h"
#include "core/base/note_page.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The states of a PE: a note each, a wait of a kernel each, and those of kernels that are only counted. */
enum { MOST_LINES = 10, TEXT_BYTES = 256, MOST_STATES = IST_NOTES + ISTHMUS_WAIT_SLOTS + 1 };

/* A waiting thread checks its variable, and notes the value, four times a second. */
static const uint64_t silent_ns = 5000000000; /* on a machine that is busy, not so often */

static int pages_fd = -1;
static const unsigned char *pages;

/* Where one thread of a PE is, or the PE as a whole. */
struct state {
    int pe;
    uint64_t since_ns;      /* 0: not known */
    char text[TEXT_BYTES];  /* the same for all that wait for the same */
    char exact[TEXT_BYTES]; /* with this PE's own values; may differ */
};

/* States with the same text: `n` from `first` on. */
struct group {
    const struct state *first;
    size_t n;
};

void explain_init(int n_pes)
{
    size_t length_bytes = (size_t)n_pes * IST_NOTE_PAGE_BYTES;
    /* Not called ours: a PE keeps its page until it ends, past finalize, which leaves nothing else. */
    pages_fd = memfd_create("launcher notes", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (pages_fd < 0 || ftruncate(pages_fd, (off_t)length_bytes) != 0) return;
    /* A PE has it too, and could otherwise cut it short: reading it would end this process. */
    if (fcntl(pages_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return;
    void *mapped = mmap(NULL, length_bytes, PROT_READ, MAP_SHARED, pages_fd, 0);
    if (mapped != MAP_FAILED) pages = mapped;
}

char *explain_variable(void)
{
    char *variable = NULL;
    if (!pages) return NULL;
    return asprintf(&variable, "ISTHMUS_RUN_NOTES=/proc/%d/fd/%d", (int)getpid(), pages_fd) < 0 ? NULL : variable;
}

static const struct ist_note_page *page_of(int pe)
{
    const struct ist_note_page *page = pages ? (const void *)(pages + (size_t)pe * IST_NOTE_PAGE_BYTES) : NULL;
    /* Acquire: pairs with the release in ist_note_open(). */
    return page && __atomic_load_n(&page->layout, __ATOMIC_ACQUIRE) == IST_NOTE_LAYOUT ? page : NULL;
}

/* ---- one PE ---- */

/* ", process stopped" and the like. */
static void add_process_state(struct ist_text *out, pid_t pid)
{
    char where[64];
    char state = process_state(pid, where, sizeof where);
    switch (state) {
    case 'R': ist_text_add(out, ", process running"); break;
    case 'T': ist_text_add(out, ", process stopped"); break;
    case 't': ist_text_add(out, ", process stopped by a debugger"); break;
    case 'D': ist_text_add(out, ", process inside the system"); break;
    case 'S': ist_text_add(out, ", process sleeping"); break;
    default: ist_text_add(out, ", process ending"); break;
    }
    if ((state == 'S' || state == 'D') && where[0]) {
        ist_text_add(out, " in ");
        ist_text_add(out, where);
    }
}

/* Notes of transports contain only the address of the routine's name in the PE. */
static void fetch_routine(struct ist_note *note, pid_t pid)
{
    struct iovec here = {note->routine, sizeof note->routine - 1};
    struct iovec there = {(void *)(uintptr_t)note->routine_addr, sizeof note->routine - 1};
    if (note->routine_addr == 0) return;
    memset(note->routine, 0, sizeof note->routine);
    if (process_vm_readv(pid, &here, 1, &there, 1, 0) <= 0) snprintf(note->routine, sizeof note->routine, "a call");
}

/* Returns true if there is more to report of a waiting process. */
static bool is_stuck(const struct ist_note *note, pid_t pid)
{
    char where[64], state = process_state(pid, where, sizeof where);
    if (state == 'T' || state == 't') return true;
    return note->routine_addr == 0 && (uint64_t)monotonic_ns() > note->seen_ns + silent_ns;
}

static void tell_note(struct state *state, const struct ist_note *note, pid_t pid)
{
    char executable[32];
    struct ist_text text = ist_text_in(state->text, sizeof state->text);
    struct ist_text exact = ist_text_in(state->exact, sizeof state->exact);
    snprintf(executable, sizeof executable, "/proc/%d/exe", (int)pid);
    ist_note_tell(&text, note, executable, false);
    ist_note_tell(&exact, note, executable, true);
    state->since_ns = note->since_ns;
    if (!is_stuck(note, pid)) return;
    add_process_state(&text, pid);
    add_process_state(&exact, pid);
}

/* ---- its kernels ---- */

/* Through a file, because a driver's memory cannot be read by process_vm_readv(). */
static bool copy_kernel_waits(const struct ist_note_page *page, struct ist_kernel_waits *waits)
{
    char path[32];
    /* Acquire: pairs with the release in ist_note_kernel_waits(). */
    off_t at = (off_t)__atomic_load_n(&page->kernel_waits, __ATOMIC_ACQUIRE);
    if (at == 0) return false;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)page->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool is_read = pread(fd, waits->first, sizeof waits->first, at) == (ssize_t)sizeof waits->first &&
                   pread(fd, waits->second, sizeof waits->second, at) == (ssize_t)sizeof waits->second;
    close(fd);
    /* The PE may have freed them meanwhile. */
    return is_read && (off_t)__atomic_load_n(&page->kernel_waits, __ATOMIC_ACQUIRE) == at;
}

/* Returns how many states there are. */
static size_t tell_kernels(const struct ist_note_page *page, int pe, struct state *states)
{
    struct ist_kernel_waits waits;
    struct ist_kernel_wait wait;
    size_t n = 0;
    if (!copy_kernel_waits(page, &waits)) return 0;
    for (unsigned next = 0; ist_kernel_waits_next(&waits, &next, &wait); n++) {
        states[n] = (struct state){.pe = pe};
        struct ist_text text = ist_text_in(states[n].text, TEXT_BYTES),
                        exact = ist_text_in(states[n].exact, TEXT_BYTES);
        ist_kernel_wait_tell(&text, &wait, false);
        ist_kernel_wait_tell(&exact, &wait, true);
    }
    if (waits.second[ISTHMUS_WAITS_OTHERS] == 0) return n;
    states[n] = (struct state){.pe = pe};
    struct ist_text text = ist_text_in(states[n].text, TEXT_BYTES), exact = ist_text_in(states[n].exact, TEXT_BYTES);
    ist_kernel_waits_tell_others(&text, &waits, false);
    ist_kernel_waits_tell_others(&exact, &waits, true);
    return n + 1;
}

/* No thread of it waits. */
static void tell_phase(struct state *state, const struct ist_note_page *page, const struct pe *pe)
{
    static const char *const phases[] = {"not in shmem_init so far", "in init", "in no call that waits",
                                         "behind shmem_finalize"};
    struct ist_text text = ist_text_in(state->text, sizeof state->text);
    uint32_t phase = page ? __atomic_load_n(&page->phase, __ATOMIC_ACQUIRE) : IST_PHASE_BEFORE;
    if (!pe->running) {
        ist_text_add(&text, WIFSIGNALED(pe->wait_status) || WEXITSTATUS(pe->wait_status) ? "failed" : "ended");
    } else {
        ist_text_add(&text, phases[phase <= IST_PHASE_AFTER ? phase : IST_PHASE_BEFORE]);
        add_process_state(&text, page ? page->pid : pe->pid);
        if (phase == IST_PHASE_INIT) state->since_ns = page->phase_since_ns;
    }
    memcpy(state->exact, state->text, sizeof state->exact);
}

/* At least one state. */
static size_t tell_pe(const struct job *job, int pe, struct state *states)
{
    const struct ist_note_page *page = page_of(pe);
    struct ist_note note;
    size_t n = 0;
    for (int i = 0; page && job->pes[pe].running && i < IST_NOTES; i++) {
        if (!ist_note_read(&page->notes[i], &note)) continue;
        states[n] = (struct state){.pe = pe};
        fetch_routine(&note, page->pid);
        tell_note(&states[n++], &note, page->pid);
    }
    if (page && job->pes[pe].running) n += tell_kernels(page, pe, states + n);
    if (n > 0) return n;
    states[0] = (struct state){.pe = pe};
    tell_phase(&states[0], page, &job->pes[pe]);
    return 1;
}

/* ---- all PEs ---- */

static int by_text(const void *a, const void *b)
{
    const struct state *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : x->pe - y->pe;
}

static int by_size(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    return x->first->pe - y->first->pe;
}

static size_t join(const struct state *states, size_t n_states, struct group *groups)
{
    size_t n = 0;
    for (size_t i = 0; i < n_states; i++) {
        if (i == 0 || strcmp(states[i].text, states[i - 1].text) != 0) groups[n++] = (struct group){&states[i], 0};
        groups[n - 1].n++;
    }
    qsort(groups, n, sizeof *groups, by_size);
    return n;
}

/* " for 12 s", or " for 3.1 s to 12 s". */
static void add_time(struct ist_text *out, const struct group *group)
{
    char longest[32], shortest[32];
    uint64_t now_ns = (uint64_t)monotonic_ns(), first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < group->n; i++) {
        uint64_t since_ns = group->first[i].since_ns;
        if (since_ns == 0 || since_ns > now_ns) return;
        first = since_ns < first ? since_ns : first;
        last = since_ns > last ? since_ns : last;
    }
    struct ist_text text = ist_text_in(longest, sizeof longest);
    ist_text_add_seconds(&text, now_ns - first);
    text = ist_text_in(shortest, sizeof shortest);
    ist_text_add_seconds(&text, now_ns - last);
    ist_text_add(out, " for ");
    if (strcmp(longest, shortest) != 0) {
        ist_text_add(out, shortest);
        ist_text_add(out, " to ");
    }
    ist_text_add(out, longest);
}

static void report_group(const struct group *group)
{
    char line[1024], pes[512];
    struct ist_text out = ist_text_in(line, sizeof line);
    struct pe_list list = pe_list_in(pes, sizeof pes);
    bool are_exact = true;
    for (size_t i = 0; i < group->n; i++) {
        are_exact = are_exact && strcmp(group->first[i].exact, group->first->exact) == 0;
        pe_list_add(&list, group->first[i].pe);
    }
    ist_text_add(&out, pe_list_end(&list));
    ist_text_add(&out, " ");
    ist_text_add(&out, are_exact ? group->first->exact : group->first->text);
    add_time(&out, group);
    report("%s", line);
}

void explain_report(const struct job *job)
{
    size_t n_states = 0;
    struct state *states = zeroed_memory((size_t)job->n_pes * MOST_STATES, sizeof *states);
    for (int pe = 0; pe < job->n_pes; pe++) n_states += tell_pe(job, pe, states + n_states);
    qsort(states, n_states, sizeof *states, by_text);
    struct group *groups = zeroed_memory(n_states, sizeof *groups);
    size_t n = join(states, n_states, groups), n_shown = n <= MOST_LINES ? n : MOST_LINES - 1, n_others = 0;
    for (size_t i = 0; i < n_shown; i++) report_group(&groups[i]);
    for (size_t i = n_shown; i < n; i++) n_others += groups[i].n;
    if (n_others) report("and %zu at %zu other places", n_others, n - n_shown);
    free(groups);
    free(states);
}
