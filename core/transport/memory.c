/* core/transport/memory.c: see memory.h. */
#include "core/transport/memory.h"

#include "core/transport/route.h"

#include <isthmus/amo_cpu.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static struct ist_memory_keeper keepers[IST_MEM_KINDS];

/* The transports to query about an operand, and the registrations for operands that the program has not registered.
 * Written at start. */
static struct {
    struct {
        const struct isthmus_memory *memory;
        isthmus_tr *handle;
    } knowers[IST_MAX_TRANSPORTS];
    uint32_t n_knowers;
    isthmus_lmem *any[IST_MAX_TRANSPORTS][IST_MEM_KINDS];
} operands;

/* Returns why the transport does not manage memory of this kind; NULL if it does. */
static const char *why_no_keeper(const struct ist_transport *t, uint32_t kind)
{
    uint32_t bit = 1u << kind, needed = t->traits.kinds_alloc & t->traits.kinds_local;
    if (t->state != IST_TRANSPORT_OPEN) return t->why;
    if ((needed & bit) == 0) return "it does not allocate memory of this kind";
    if (!t->extensions.has_memory) return "it allocates memory of this kind and cannot copy it (extension memory.1)";
    return t->extensions.memory.device(t->handle, kind) < 0 ? "this PE has no device of this kind" : NULL;
}

/* Written once, before the PE has memory of that kind to copy. */
const struct ist_memory_keeper *ist_memory_ask(uint32_t kind)
{
    struct ist_memory_keeper *keeper = &keepers[kind];
    for (uint32_t i = 0; keeper->memory == NULL && i < ist_registry.n; i++) {
        struct ist_transport *t = &ist_registry.list[i];
        if (why_no_keeper(t, kind) == NULL)
            *keeper = (struct ist_memory_keeper){t, &t->extensions.memory, &t->extensions.growing,
                                                 &t->extensions.kernels};
    }
    return keeper->memory != NULL ? keeper : NULL;
}

const char *ist_memory_pci_address(uint32_t kind)
{
    const struct ist_memory_keeper *keeper = ist_memory_ask(kind);
    return keeper != NULL ? keeper->memory->pci_address(keeper->transport->handle, kind) : NULL;
}

void ist_memory_forget(void)
{
    for (uint32_t i = 0; i < ist_registry.n; i++)
        for (uint32_t kind = 0; kind < IST_MEM_KINDS; kind++)
            if (operands.any[i][kind] != NULL) ist_cold_unregister(&ist_registry.list[i], operands.any[i][kind]);
    ist_flush_forget();
    memset(&operands, 0, sizeof operands);
    memset(keepers, 0, sizeof keepers);
}

const char *ist_memory_kind_name(uint32_t kind)
{
    static const char *const names[IST_MEM_KINDS] = {"host", "cuda", "ze", "hip"};
    return kind < IST_MEM_KINDS ? names[kind] : "unknown";
}

void ist_memory_why_not(uint32_t kind, char *out, size_t room)
{
    size_t used = 0;
    snprintf(out, room, "there is no transport plugin");
    for (uint32_t i = 0; i < ist_registry.n && used < room; i++) {
        const char *why = why_no_keeper(&ist_registry.list[i], kind);
        used += (size_t)snprintf(out + used, room - used, "%s%s: %s", i > 0 ? "; " : "", ist_registry.list[i].name,
                                 why != NULL ? why : "it does");
    }
}

isthmus_status ist_memory_at(const void *addr, struct isthmus_mem *out)
{
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        const struct ist_transport *t = &ist_registry.list[i];
        struct isthmus_mem found = {.struct_size = sizeof found, .device = -1, .fd = -1};
        if (t->state != IST_TRANSPORT_OPEN) continue;
        isthmus_status status = t->extensions.memory.kind_of(t->handle, addr, &found);
        if (status != ISTHMUS_OK) return status;
        if (found.kind == ISTHMUS_MEM_HOST) continue;
        *out = found;
        return ISTHMUS_OK;
    }
    *out = (struct isthmus_mem){.struct_size = sizeof *out, .kind = ISTHMUS_MEM_HOST, .device = -1, .fd = -1};
    return ISTHMUS_OK;
}

/* ---- local operands that the program has not registered ---- */

static bool has_kept_device(const struct ist_transport *t)
{
    for (uint32_t kind = ISTHMUS_MEM_HOST + 1; kind < IST_MEM_KINDS; kind++)
        if (t->extensions.memory.device(t->handle, kind) >= 0 && ist_memory_ask(kind) != NULL) return true;
    return false;
}

static void note_knower(const struct ist_transport *t)
{
    bool may_know = t->state == IST_TRANSPORT_OPEN && (t->services.scopes & ISTHMUS_SCOPE_DEVICE) != 0;
    if (!may_know || !has_kept_device(t)) return;
    operands.knowers[operands.n_knowers].memory = &t->extensions.memory;
    operands.knowers[operands.n_knowers++].handle = t->handle;
}

static isthmus_status register_any(uint32_t transport, uint32_t kind)
{
    struct ist_transport *t = &ist_registry.list[transport];
    const struct isthmus_mem mem = {.struct_size = sizeof mem, .kind = kind, .device = -1, .fd = -1};
    bool takes_any = t->state == IST_TRANSPORT_OPEN && (t->traits.traits & ISTHMUS_TRAIT_ANY_LOCAL) != 0;
    if (!takes_any || (t->traits.kinds_local >> kind & 1) == 0) return ISTHMUS_OK;
    return ist_cold_register(t, &mem, &operands.any[transport][kind]);
}

isthmus_status ist_memory_expect_operands(void)
{
    isthmus_status status = ISTHMUS_OK;
    for (uint32_t i = 0; i < ist_registry.n; i++) note_knower(&ist_registry.list[i]);
    if (operands.n_knowers == 0) return ISTHMUS_OK;
    ist_expect_device_memory();
    for (uint32_t kind = ISTHMUS_MEM_HOST + 1; kind < IST_MEM_KINDS; kind++)
        for (uint32_t i = 0; i < ist_registry.n && status == ISTHMUS_OK && keepers[kind].memory != NULL; i++)
            status = register_any(i, kind);
    return status;
}

uint32_t ist_memory_kind_at(const void *addr)
{
    for (uint32_t i = 0; i < operands.n_knowers; i++) {
        struct isthmus_mem found = {.struct_size = sizeof found, .kind = ISTHMUS_MEM_HOST, .device = -1, .fd = -1};
        isthmus_status status = operands.knowers[i].memory->kind_of(operands.knowers[i].handle, addr, &found);
        if (status == ISTHMUS_OK && found.kind != ISTHMUS_MEM_HOST && found.kind < IST_MEM_KINDS) return found.kind;
    }
    return ISTHMUS_MEM_HOST;
}

const isthmus_lmem *ist_memory_any(uint32_t transport, uint32_t kind) { return operands.any[transport][kind]; }

isthmus_status ist_memory_copy(uint32_t kind, void *dest, const void *source, size_t length_bytes)
{
    const struct ist_memory_keeper *keeper = &keepers[kind];
    if (keeper->memory == NULL)
        return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "no transport copies memory of kind %s", ist_memory_kind_name(kind));
    return keeper->memory->copy(keeper->transport->handle, dest, source, length_bytes);
}

/* ---- for transports that do not support the kind ---- */

static isthmus_status fail_unknown(uint32_t kind, const char *what)
{
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "no transport %s memory of kind %s", what, ist_memory_kind_name(kind));
}

static isthmus_status service_copy(void *core, uint32_t kind, void *dest, const void *source, size_t length_bytes)
{
    (void)core;
    return kind < IST_MEM_KINDS ? ist_memory_copy(kind, dest, source, length_bytes) : fail_unknown(kind, "copies");
}

/* For 8 and 16 bits: a compare and swap of the surrounding word, until no other update intervenes. */
static isthmus_status amo_narrow(const struct ist_memory_keeper *keeper, void *addr, uint32_t op, uint32_t bits,
                                 uint64_t operand, uint64_t compare, void *fetched)
{
    isthmus_tr *tr = keeper->transport->handle;
    size_t size_bytes = (size_t)1 << bits, inside = (uintptr_t)addr % sizeof(uint32_t);
    void *word = (char *)addr - inside;
    uint32_t seen = 0, found = 0;
    isthmus_status status = keeper->memory->amo(tr, word, ISTHMUS_AMO_FETCH, ISTHMUS_BITS32, 0, 0, &found);
    do {
        seen = found;
        uint32_t changed = seen;
        uint64_t old = isthmus_amo_cpu(op, (char *)&changed + inside, operand, compare, size_bytes);
        if (fetched != NULL) memcpy(fetched, &old, size_bytes);
        if (status != ISTHMUS_OK || changed == seen) return status; /* the fetch was atomic: nothing to write */
        status = keeper->memory->amo(tr, word, ISTHMUS_AMO_COMPARE_SWAP, ISTHMUS_BITS32, changed, seen, &found);
    } while (status == ISTHMUS_OK && found != seen);
    return status;
}

static isthmus_status service_amo(void *core, uint32_t kind, void *addr, uint32_t op, uint32_t bits, uint64_t operand,
                                  uint64_t compare, void *fetched)
{
    (void)core;
    const struct ist_memory_keeper *keeper = kind < IST_MEM_KINDS ? &keepers[kind] : NULL;
    if (keeper == NULL || keeper->transport == NULL) return fail_unknown(kind, "executes atomics on");
    ist_flush_writes(); /* a kernel or a stream that waits for this word must see what the peer has put before it */
    if (bits < ISTHMUS_BITS32) return amo_narrow(keeper, addr, op, bits, operand, compare, fetched);
    return keeper->memory->amo(keeper->transport->handle, addr, op, bits, operand, compare, fetched);
}

/* The operations at the beginning of the list that the transport executes at once. */
static uint32_t count_at_once(const struct ist_memory_keeper *keeper, const struct isthmus_memory_amo *list, uint32_t n)
{
    uint32_t i = 0;
    while (keeper->transport->extensions.has_amo_list && i < n && list[i].bits >= ISTHMUS_BITS32) i++;
    return i;
}

static isthmus_status service_amo_list(void *core, uint32_t kind, const struct isthmus_memory_amo *list, uint32_t n)
{
    const struct ist_memory_keeper *keeper = kind < IST_MEM_KINDS ? &keepers[kind] : NULL;
    isthmus_status status = ISTHMUS_OK;
    if (keeper == NULL || keeper->transport == NULL) return fail_unknown(kind, "executes atomics on");
    for (uint32_t done = 0, now; done < n && status == ISTHMUS_OK; done += now) {
        const struct isthmus_memory_amo *next = &list[done];
        now = count_at_once(keeper, next, n - done);
        if (now > 1) {
            ist_flush_writes(); /* as for one of them */
            status = keeper->memory->amo_list(keeper->transport->handle, next, now);
        } else {
            status = service_amo(core, kind, next->addr, next->op, next->bits, next->operand, next->compare, NULL);
            now = 1;
        }
    }
    return status;
}

static isthmus_status service_pin(void *core, uint32_t kind, void *addr, uint64_t length_bytes, isthmus_lmem **out)
{
    (void)core;
    struct ist_transport *t = kind < IST_MEM_KINDS ? keepers[kind].transport : NULL;
    if (t == NULL) return fail_unknown(kind, "keeps");
    const struct isthmus_mem mem = {
        .struct_size = sizeof mem, .device = -1, .fd = -1, .addr = addr, .length_bytes = length_bytes};
    return ist_cold_register(t, &mem, out);
}

static void service_unpin(void *core, uint32_t kind, isthmus_lmem *pinned)
{
    (void)core;
    if (pinned != NULL) ist_cold_unregister(keepers[kind].transport, pinned);
}

static void service_is_direct(void *core, uint32_t kind) { ist_flush_expect(core, kind); }

static const char *service_fail_text(void *core)
{
    (void)core;
    return ist_fail_text();
}

void ist_memory_serve(struct isthmus_services *services)
{
    services->memory_copy = service_copy;
    services->memory_amo = service_amo;
    services->memory_amo_list = service_amo_list;
    services->memory_pin = service_pin;
    services->memory_unpin = service_unpin;
    services->fail_text = service_fail_text;
    services->memory_is_direct = service_is_direct;
}
