/* core/proxy/kernel_report.c: see kernel_report.h. */
#include "core/proxy/kernel_report.h"

#include "core/base/atomic.h"
#include "core/base/fatal.h"
#include "core/base/kernel_waits.h"
#include "core/base/note.h"
#include "core/team/team.h"

#include <isthmus/device_state.h>
#include <stdio.h>

/* The words of waits follow those of the report, and the words that count the waiters the one of the reporters. */
static struct {
    struct ist_kernel_memory memory;
    uint64_t *words; /* NULL: no kernel has a state */
    void *words_view, *reporters;
} report;

enum { WORDS = ISTHMUS_REPORT_WORDS + IST_KERNEL_WAITS_WORDS, COUNTERS = 1 + 1 + ISTHMUS_WAIT_SLOTS };

isthmus_status ist_kernel_report_open(const struct ist_kernel_memory *memory, uint64_t heap, uint64_t heap_bytes)
{
    void *words = NULL;
    report.memory = *memory;
    isthmus_status status = ist_kernel_words_alloc(memory, WORDS * sizeof(uint64_t), &words, &report.words_view);
    if (status == ISTHMUS_OK) status = ist_kernel_table_alloc(memory, COUNTERS * sizeof(uint64_t), &report.reporters);
    ist_store_release(&report.words, (uint64_t *)words); /* pairs with the acquire in ist_kernel_report_read() */
    if (status != ISTHMUS_OK) {
        ist_kernel_report_close();
        return status;
    }
    uint64_t *waits = report.words + ISTHMUS_REPORT_WORDS;
    waits[ISTHMUS_WAITS_HEAP] = heap;
    waits[ISTHMUS_WAITS_HEAP_BYTES] = heap_bytes;
    ist_note_kernel_waits(waits);
    return ISTHMUS_OK;
}

void ist_kernel_report_close(void)
{
    void *words = report.words;
    ist_note_kernel_waits(NULL);
    ist_store_release(&report.words, (uint64_t *)NULL);
    if (words != NULL) ist_kernel_words_free(&report.memory, words);
    if (report.reporters != NULL) ist_kernel_table_free(&report.memory, report.reporters);
    ist_kernel_report_forget();
}

void ist_kernel_report_forget(void)
{
    ist_store_release(&report.words, (uint64_t *)NULL);
    report.words_view = report.reporters = NULL;
}

uint64_t *ist_kernel_report_words(void) { return report.words_view; }

uint64_t *ist_kernel_report_reporters(void) { return report.reporters; }

uint64_t *ist_kernel_report_waits(void) { return (uint64_t *)report.words_view + ISTHMUS_REPORT_WORDS; }

uint64_t *ist_kernel_report_waiters(void) { return (uint64_t *)report.reporters + 1; }

/* ---- its text ---- */

const char *ist_kernel_report_call(uint32_t call)
{
#define CALL_NAME(id, name) [ISTHMUS_CALL_##id] = (name),
    static const char *const names[] = {ISTHMUS_DEVICE_CALLS(CALL_NAME)};
#undef CALL_NAME
    bool is_known = call < sizeof names / sizeof names[0] && names[call] != NULL;
    return is_known ? names[call] : "call"; /* of a later version's headers */
}

/* A call that takes no PE has -1 there. */
static void print_no_state(unsigned long long address, long long pe, char *out, size_t room)
{
    if (pe == -1 && address == 0)
        snprintf(out, room,
                 "called before init, after finalize, or in a module that was not initialised; valid: between init and "
                 "finalize");
    else
        snprintf(out, room,
                 "called before init, after finalize, or in a module that was not initialised, with address %#llx and "
                 "PE %lld; valid: between init and finalize",
                 address, pe);
}

static void print_mistake(uint32_t mistake, unsigned long long address, long long value, char *out, size_t room)
{
    switch (mistake) {
    case ISTHMUS_MISTAKE_PE:
        snprintf(out, room, "pe is %lld for address %#llx; valid: 0 to %d", value, address, ist_team_world.n_pes - 1);
        break;
    case ISTHMUS_MISTAKE_ADDRESS:
        snprintf(out, room,
                 "address %#llx for PE %lld is not symmetric; valid: the symmetric heap, static data where it is "
                 "symmetric, and registered buffers, with all bytes of the call",
                 address, value);
        break;
    case ISTHMUS_MISTAKE_COMPARISON: snprintf(out, room, "cmp is %lld; valid: a constant ..._CMP_...", value); break;
    case ISTHMUS_MISTAKE_SIGNAL_OP:
        snprintf(out, room, "sig_op is %lld; valid: SIGNAL_SET and SIGNAL_ADD", value);
        break;
    case ISTHMUS_MISTAKE_ROOT:
        snprintf(out, room, "the root is %lld; valid: the number of a member of the team", value);
        break;
    case ISTHMUS_MISTAKE_TILE:
        snprintf(out, room,
                 "dst at %#llx is in no dimension %lld times as long as src; valid: room for the tiles of "
                 "all PEs of the team in one dimension",
                 address, value);
        break;
    case ISTHMUS_MISTAKE_STATE: print_no_state(address, value, out, room); break;
    case ISTHMUS_MISTAKE_WARPGROUP:
        snprintf(out, room, "the block has %lld threads; valid for calls of a warpgroup here: those of one warpgroup",
                 value);
        break;
    default:
        snprintf(out, room,
                 "mistake %u, which this version of the library does not know; link the version whose "
                 "headers the kernel was compiled with",
                 mistake);
    }
}

/* "a kernel's p", "pe is 2 for address 0x7f0000000000; valid: 0 to 1; in thread 3 of block 0, solver.c". */
static void print_report(const uint64_t *words, struct ist_kernel_report *out)
{
    char mistake[256];
    uint64_t call = ist_load_relaxed(words + ISTHMUS_REPORT_CALL);
    uint64_t thread = ist_load_relaxed(words + ISTHMUS_REPORT_THREAD);
    const char *source = (const char *)(uintptr_t)ist_load_relaxed(words + ISTHMUS_REPORT_SOURCE);
    long long value = (long long)ist_load_relaxed(words + ISTHMUS_REPORT_VALUE);
    print_mistake((uint32_t)(call >> 32), ist_load_relaxed(words + ISTHMUS_REPORT_ADDRESS), value, mistake,
                  sizeof mistake);
    snprintf(out->routine, sizeof out->routine, "a kernel's %s", ist_kernel_report_call((uint32_t)call));
    snprintf(out->text, sizeof out->text, "%s; in thread %u of block %u%s%s", mistake, (uint32_t)thread,
             (uint32_t)(thread >> 32), source != NULL ? ", " : "", source != NULL ? source : "");
}

/* The one place that knows that a report may be no mistake. */
void ist_kernel_report_judge(const uint64_t *words, struct ist_kernel_report *out)
{
    if (ist_load_relaxed(words + ISTHMUS_REPORT_CALL) >> 32 == ISTHMUS_MISTAKE_EXIT)
        ist_end_job((int)ist_load_relaxed(words + ISTHMUS_REPORT_VALUE));
    print_report(words, out);
}

bool ist_kernel_report_read(struct ist_kernel_report *out)
{
    const uint64_t *words = ist_load_acquire(&report.words);
    /* Acquire: pairs with the release in isthmus_dev_write_report(). */
    if (words == NULL || ist_load_acquire(words + ISTHMUS_REPORT_VALID) == 0) return false;
    ist_kernel_report_judge(words, out);
    return true;
}

bool ist_kernel_report_take(struct ist_kernel_report *out)
{
    if (!ist_kernel_report_read(out)) return false;
    ist_store_relaxed(report.words + ISTHMUS_REPORT_VALID, 0);
    ist_store_release((uint64_t *)report.reporters, 0); /* pairs with the fence in isthmus_dev_write_report() */
    return true;
}
