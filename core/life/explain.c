/* core/life/explain.c: a PE of a job that hangs reports what it waits for: its threads write notes (base/note.h), which
 * isthmus-run reads by itself, and which SIGUSR1 prints to stderr.
 * The launcher's summary is tools/isthmus-run/explain.c. The handler is async-signal-safe. */
#include "core/life/life.h"
#include "core/life/life_priv.h"

#include "core/base/clock.h"
#include "core/base/kernel_waits.h"
#include "core/base/note.h"
#include "core/base/note_page.h"
#include "core/runtime.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_handler;

static struct ist_text line_begin(char *line, size_t room)
{
    struct ist_text out = ist_text_in(line, room);
    ist_text_add(&out, "isthmus: ");
    if (ist_runtime.boot != NULL) {
        ist_text_add(&out, "PE ");
        ist_text_add_number(&out, ist_runtime.boot->pe);
        ist_text_add(&out, ": ");
    }
    return out;
}

static void write_line(struct ist_text *out, char *line)
{
    *out->at++ = '\n';                                                    /* line_begin() has left room for it */
    if (write(STDERR_FILENO, line, (size_t)(out->at - line)) < 0) return; /* there is no other output */
}

static void line_end(struct ist_text *out, char *line, uint64_t since_ns)
{
    ist_text_add(out, " for ");
    ist_text_add_seconds(out, ist_clock_ns() - since_ns);
    write_line(out, line);
}

/* When no thread waits. */
static void write_phase(void)
{
    static const char *const phases[] = {"before init", "in init", "in no call that waits", "behind finalize"};
    char line[128];
    struct ist_text out = line_begin(line, sizeof line - 1);
    uint32_t phase = ist_load_acquire(&ist_note_page->phase); /* pairs with the release in ist_note_phase() */
    ist_text_add(&out, phases[phase <= IST_PHASE_AFTER ? phase : IST_PHASE_BEFORE]);
    if (phase == IST_PHASE_RUNNING) {
        ist_text_add(&out, "\n");
        if (write(STDERR_FILENO, line, (size_t)(out.at - line)) < 0) return;
    } else {
        line_end(&out, line, ist_load_relaxed(&ist_note_page->phase_since_ns));
    }
}

static bool write_note(const struct ist_note *noted)
{
    char line[512];
    struct ist_note note;
    if (!ist_note_read(noted, &note)) return false;
    if (note.routine_addr != 0) {
        struct ist_text routine = ist_text_in(note.routine, sizeof note.routine);
        ist_text_add(&routine, (const char *)(uintptr_t)note.routine_addr);
    }
    struct ist_text out = line_begin(line, sizeof line - 1);
    ist_note_tell(&out, &note, "/proc/thread-self/exe", true);
    line_end(&out, line, note.since_ns);
    return true;
}

/* ---- kernels ---- */

static void copy_words(uint64_t *copy, const uint64_t *words)
{
    for (int i = 0; i < IST_KERNEL_WAITS_WORDS; i++)
        copy[i] = ist_load_acquire(words + i); /* pairs with the release in isthmus_dev_note_wait() */
}

/* Finalize waits until the words are copied; it does not wait for what is written to stderr. */
static bool copy_kernel_waits(struct ist_kernel_waits *waits)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_BLOCK, &all, &before) != 0) return false;
    const uint64_t *words = ist_note_enter_kernel_waits();
    if (words != NULL) copy_words(waits->first, words);
    if (words != NULL) copy_words(waits->second, words);
    ist_note_leave_kernel_waits();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return words != NULL;
}

/* Returns true if threads of kernels wait. */
static bool write_kernel_waits(void)
{
    struct ist_kernel_waits waits;
    struct ist_kernel_wait wait;
    char line[512];
    bool is_waiting = false;
    if (!copy_kernel_waits(&waits)) return false;
    for (unsigned next = 0; ist_kernel_waits_next(&waits, &next, &wait); is_waiting = true) {
        struct ist_text out = line_begin(line, sizeof line - 1);
        ist_kernel_wait_tell(&out, &wait, true);
        write_line(&out, line);
    }
    if (waits.second[ISTHMUS_WAITS_OTHERS] == 0) return is_waiting;
    struct ist_text out = line_begin(line, sizeof line - 1);
    ist_kernel_waits_tell_others(&out, &waits, true);
    write_line(&out, line);
    return true;
}

/* The launcher has read the notes itself when it passes the signal on. */
static void explain(int signal_number, siginfo_t *info, void *context)
{
    int saved = errno;
    bool is_waiting = false;
    (void)signal_number, (void)context;
    if (ist_note_page == NULL || (ist_note_page->launcher != 0 && info->si_pid == ist_note_page->launcher)) return;
    for (int i = 0; i < IST_NOTES; i++) is_waiting = write_note(&ist_note_page->notes[i]) || is_waiting;
    is_waiting = write_kernel_waits() || is_waiting;
    if (!is_waiting) write_phase();
    errno = saved;
}

/* Keeps a handler of the program, or its setting to ignore the signal. */
static void claim_signal(void)
{
    struct sigaction now, ours = {.sa_sigaction = explain, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (has_handler || sigaction(SIGUSR1, NULL, &now) != 0 || now.sa_handler != SIG_DFL) return;
    sigemptyset(&ours.sa_mask);
    has_handler = sigaction(SIGUSR1, &ours, NULL) == 0;
}

void ist_explain_begin(const struct ist_config *config)
{
    const char *rank = ist_config_plugin_value("PMIX_RANK");
    ist_note_open(ist_config_plugin_value("ISTHMUS_RUN_NOTES"), rank != NULL ? (unsigned)strtoul(rank, NULL, 10) : 0);
    ist_note_phase(IST_PHASE_INIT);
    if (config->explain) claim_signal();
}

void ist_explain_after_fork(void)
{
    struct sigaction now;
    ist_note_forget();
    if (has_handler && sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_sigaction == explain) signal(SIGUSR1, SIG_DFL);
    has_handler = false;
}
