/* core/sync/awaited.c: what a wait of the program is for, as a note. See spin.h. */
#include "core/sync/spin.h"

#include "core/base/note.h"
#include "core/sync/wait.h"
#include "core/transport/segment.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/auxv.h>

/* Returns the offset from the executable's load address, 0 if the address lies elsewhere. */
static uint64_t offset_in_executable(const void *addr)
{
    Dl_info of_addr, of_program;
    bool is_known = dladdr(addr, &of_addr) != 0 && dladdr((const void *)getauxval(AT_ENTRY), &of_program) != 0;
    if (!is_known || of_addr.dli_fbase != of_program.dli_fbase) return 0;
    return (uint64_t)((uintptr_t)addr - (uintptr_t)of_addr.dli_fbase);
}

static void note_place(struct ist_note *note, const void *addr)
{
    int id = ist_segment_of(addr, 1);
    note->executable_offset = offset_in_executable(addr);
    if (id < 0)
        snprintf(note->place, sizeof note->place, "%p", addr);
    else
        snprintf(note->place, sizeof note->place, "%s+%#zx", ist_segments.list[id].name,
                 (size_t)((uintptr_t)addr - (uintptr_t)ist_segments.list[id].mem.addr));
}

static void note_variable(struct ist_note *note, const struct ist_awaited *awaited)
{
    ist_store_relaxed(&note->kind, awaited->behind >= 0 ? IST_NOTE_LOCK : IST_NOTE_VARIABLE);
    note->comparison = (uint8_t)awaited->cmp;
    note->size_bytes = (uint8_t)awaited->size;
    note->is_signed = awaited->is_signed;
    note->wanted = awaited->value;
    note->seen = ist_wait_read(awaited->ivar, awaited->size);
    note->pe = awaited->behind;
}

static void note_variables(struct ist_note *note, const struct ist_awaited *awaited)
{
    ist_store_relaxed(&note->kind, IST_NOTE_VARIABLES);
    note->quantity = (uint8_t)awaited->quantity;
    note->comparison = awaited->set->is_vector ? IST_CMP_COUNT : (uint8_t)awaited->set->cmp;
    note->size_bytes = (uint8_t)awaited->set->size;
    note->is_signed = awaited->set->is_signed;
    note->wanted = ist_wait_load(awaited->set->values, awaited->set->size);
    note->n_variables = awaited->set->nelems;
    note->seen = ist_set_count(awaited->set);
}

static void note_begin(struct ist_note *note, const struct ist_awaited *awaited, uint64_t since_ns)
{
    note->since_ns = since_ns;
    note->pe = -1;
    note->collective = 0;
    if (awaited != NULL) {
        ist_note_set_routine(note, awaited->routine);
        bool is_lock = awaited->behind >= 0; /* which is reported as the whole variable that the program knows */
        note_place(note,
                   is_lock ? (const char *)awaited->ivar - (uintptr_t)awaited->ivar % sizeof(long) : awaited->ivar);
        return;
    }
    ist_store_relaxed(&note->kind, IST_NOTE_COLLECTIVE);
    ist_note_set_routine(note, ist_collective_now.routine);
    note->collective = ist_collective_now.number;
    note->team = ist_collective_now.team;
}

void ist_awaited_note(const struct ist_awaited *awaited, uint64_t since_ns, uint64_t now_ns)
{
    struct ist_note *note = ist_note_mine != NULL ? ist_note_mine : ist_note_take();
    if (note == NULL) return;
    ist_note_begin_change(note);
    note->seen_ns = now_ns;
    if (since_ns != 0) note_begin(note, awaited, since_ns);
    if (awaited != NULL && awaited->set != NULL)
        note_variables(note, awaited);
    else if (awaited != NULL)
        note_variable(note, awaited);
    ist_note_end_change(note);
}
