/* tools/isthmus-check-transport/finding.c: how a process with a finding ends, and its entry on the board.
 * See contract.h. */
#include "contract.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    struct ct_board *board;
    const struct ct_case *c;
    int process;
    int has_ended; /* only the first thread with a finding reports */
} self;

struct ct_board *ct_board_create(void)
{
    void *at = mmap(NULL, sizeof(struct ct_board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return at != MAP_FAILED ? at : NULL;
}

void ct_board_destroy(struct ct_board *board)
{
    if (board != NULL) munmap(board, sizeof *board);
}

void ct_board_join(struct ct_board *board, const struct ct_case *c, int process)
{
    self.board = board;
    self.c = c;
    self.process = process;
}

bool ct_board_has_ended(int process) { return __atomic_load_n(&self.board->has_ended[process], __ATOMIC_RELAXED); }

bool ct_board_is_poking(void) { return __atomic_load_n(&self.board->is_poking, __ATOMIC_RELAXED); }

void ct_board_poked(int process, int how)
{
    __atomic_store_n(&self.board->pokes[self.process][process], (uint8_t)how, __ATOMIC_RELAXED);
}

void ct_enter(const char *call) { __atomic_store_n(&self.board->call[self.process], call, __ATOMIC_RELAXED); }

void ct_slot_of(const char *call, char *out, size_t out_bytes)
{
    const char *end = strchr(call, '(');
    const char *begin = end;
    out[0] = '\0';
    if (end == NULL) return;
    while (begin > call && (begin[-1] == '_' || (begin[-1] >= 'a' && begin[-1] <= 'z'))) begin--;
    bool is_member = begin > call && (begin[-1] == '.' || begin[-1] == '>');
    if (is_member) snprintf(out, out_bytes, "%.*s", (int)(end - begin), begin);
}

/* Not exit(): other threads may be inside the plugin. */
static _Noreturn void end(const struct ct_finding *finding)
{
    if (__atomic_exchange_n(&self.has_ended, 1, __ATOMIC_ACQ_REL) != 0)
        for (;;) pause(); /* another thread ends the process */
    self.board->findings[self.process] = *finding;
    self.board->turn[self.process] = __atomic_add_fetch(&self.board->n_findings, 1, __ATOMIC_RELAXED);
    _exit(EXIT_FAILURE);
}

_Noreturn void ct_fault(const struct ct_check *check, const char *fmt, ...)
{
    struct ct_finding f = {.process = self.process};
    const char *slash = strrchr(check->file, '/');
    va_list args;
    ct_slot_of(check->slot == NULL ? check->condition : "", f.slot, sizeof f.slot);
    if (f.slot[0] == '\0') snprintf(f.slot, sizeof f.slot, "%s", check->slot != NULL ? check->slot : self.c->slot);
    snprintf(f.rule, sizeof f.rule, "%s", check->rule != NULL ? check->rule : self.c->rule);
    snprintf(f.where, sizeof f.where, "%s:%d: not true: %s", slash != NULL ? slash + 1 : check->file, check->line,
             check->condition);
    va_start(args, fmt);
    vsnprintf(f.seen, sizeof f.seen, fmt, args);
    va_end(args);
    end(&f);
}

/* A finding without a rule: no fault; the case does not apply here. */
_Noreturn void ct_skip(const char *fmt, ...)
{
    struct ct_finding f = {.process = self.process};
    va_list args;
    va_start(args, fmt);
    vsnprintf(f.seen, sizeof f.seen, fmt, args);
    va_end(args);
    end(&f);
}

/* The parent needs a moment to see that a process has ended. */
static bool all_live(void)
{
    enum { TRIES = 20, TRY_MS = 10 };
    bool has_ended = false;
    for (int try = 0; try < TRIES && !has_ended; try++) {
        for (int i = 0; i < CT_MAX_PROCESSES; i++) has_ended = has_ended || ct_board_has_ended(i);
        if (!has_ended) (void)poll(NULL, 0, TRY_MS);
    }
    return !has_ended;
}

void ct_expect_ok(const struct ct_check *check, isthmus_status status)
{
    static const char rule[] = "PEER_LOST is for a peer that has ended; a peer that refuses an access is REFUSED";
    struct ct_check false_loss = *check;
    false_loss.rule = rule;
    if (status == ISTHMUS_ERR_PEER_LOST && all_live())
        ct_fault(&false_loss, "PEER_LOST, while all processes live: %s", ct_failure_text());
    if (status != ISTHMUS_OK)
        ct_fault(check, "%s (%d): %s", ct_status_name(status), status,
                 ct_failure_text()[0] != '\0' ? ct_failure_text() : "without a text");
}

/* "PEER_LOST or UNREACHABLE" */
static void name_codes(uint32_t codes, char *out, size_t out_bytes)
{
    size_t length = 0;
    out[0] = '\0';
    for (int code = 0; code <= -ISTHMUS_ERR_REFUSED && length < out_bytes; code++)
        if ((codes >> code & 1) != 0)
            length += (size_t)snprintf(out + length, out_bytes - length, "%s%s", length > 0 ? " or " : "",
                                       ct_status_name(-code));
}

void ct_expect_error(const struct ct_check *check, isthmus_status status, uint32_t codes)
{
    char names[160];
    name_codes(codes, names, sizeof names);
    if (status == ISTHMUS_OK) ct_fault(check, "it returned OK, expected %s", names);
    if (status > 0 || status < ISTHMUS_ERR_REFUSED) ct_fault(check, "%d, which is no error code", status);
    if ((codes >> -status & 1) == 0)
        ct_fault(check, "%s, expected %s; its text: %s", ct_status_name(status), names, ct_failure_text());
    if (ct_failure_text()[0] == '\0')
        ct_fault(check, "%s without a text: services->fail() was not called", ct_status_name(status));
}
