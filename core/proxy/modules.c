/* core/proxy/modules.c: see modules.h. */
#include "core/proxy/modules.h"

#include "core/base/atomic.h"
#include "core/base/log.h"

#include <dlfcn.h>
#include <stdlib.h>

static const char state_name[] = "isthmus_device_v1";

static struct ist_module *list;

isthmus_status ist_modules_add(const struct ist_module *module)
{
    struct ist_module *own = malloc(sizeof *own);
    if (own == NULL) return ist_fail_memory("the record of a module");
    *own = *module;
    own->next = list;
    list = own;
    return ISTHMUS_OK;
}

struct ist_module *ist_modules_find(const struct ist_module *like)
{
    struct ist_module *m = list;
    while (m != NULL &&
           (m->fill != like->fill || m->find != like->find || m->handle != like->handle || m->code != like->code))
        m = m->next;
    return m;
}

void ist_modules_remove(struct ist_module *module)
{
    struct ist_module **link = &list;
    while (*link != NULL && *link != module) link = &(*link)->next;
    if (*link != NULL) *link = module->next;
    free(module);
}

bool ist_modules_have(uint32_t kind)
{
    const struct ist_module *m = list;
    while (m != NULL && (m->kind != kind || m->kind_of != NULL)) m = m->next;
    return m != NULL;
}

struct ist_module *ist_modules_unsettled(void)
{
    struct ist_module *m = list;
    while (m != NULL && m->kind_of == NULL) m = m->next;
    return m;
}

bool ist_modules_are_empty(void) { return list == NULL; }

/* ---- the state ---- */

static isthmus_status find_loaded(struct ist_module *m, const struct ist_modules_place *place)
{
    uint64_t bytes = 0;
    void *at = NULL;
    isthmus_status status = place->memory.kernels->find(place->memory.tr, m->code, m->handle, state_name, &at, &bytes);
    if (status != ISTHMUS_OK) return status;
    if (bytes != sizeof(struct isthmus_device_state))
        return ist_fail(ISTHMUS_ERR_INVALID,
                        "%s of that code has %llu bytes; valid: %zu; compile the code with the headers of this version",
                        state_name, (unsigned long long)bytes, sizeof(struct isthmus_device_state));
    m->at = at;
    return ISTHMUS_OK;
}

static void find_registered(void *module)
{
    struct ist_module *m = module;
    m->at = m->find();
}

/* Registered modules are found late: a constructor of a shared object may run before the program's runtime knows its
 * code. */
static isthmus_status find_state(struct ist_module *m, const struct ist_modules_place *place)
{
    if (m->at != NULL) return ISTHMUS_OK;
    if (m->find == NULL) return find_loaded(m, place);
    return place->memory.kernels->call(place->memory.tr, find_registered, m);
}

isthmus_status ist_module_fill(struct ist_module *m, const struct ist_modules_place *place,
                               const struct isthmus_device_state *state)
{
    if (m->kind != place->kind || m->kind_of != NULL) return ISTHMUS_OK;
    if (m->fill != NULL) {
        ist_order_stores(); /* a kernel on a processor may read the tables of this state meanwhile */
        (void)m->fill(state);
        return ISTHMUS_OK;
    }
    isthmus_status status = find_state(m, place);
    if (status != ISTHMUS_OK || m->at == NULL) return status;
    return ist_kernel_copy(&place->memory, m->at, state, sizeof *state);
}

isthmus_status ist_modules_fill(const struct ist_modules_place *place, const struct isthmus_device_state *state,
                                bool with_loaded)
{
    isthmus_status status = ISTHMUS_OK;
    for (struct ist_module *m = list; m != NULL; m = m->next) {
        isthmus_status filled = m->handle == NULL || with_loaded ? ist_module_fill(m, place, state) : ISTHMUS_OK;
        if (status == ISTHMUS_OK) status = filled;
    }
    return status;
}

isthmus_status ist_modules_fill_new(const struct ist_modules_place *place, const struct isthmus_device_state *state)
{
    isthmus_status status = ISTHMUS_OK;
    for (struct ist_module *m = list; m != NULL && status == ISTHMUS_OK; m = m->next)
        if (m->fill == NULL && m->at == NULL) status = ist_module_fill(m, place, state);
    return status;
}

/* ---- the end ---- */

static void warn_unfound(const struct ist_module *m)
{
    Dl_info about;
    void *address;
    *(void *(**)(void))(void *)&address = m->find; /* of a module that is unloaded by now, perhaps */
    bool is_known = dladdr(address, &about) != 0 && about.dli_fname != NULL;
    ist_warn("kernels in %s were never initialised: its runtime has no %s on this PE's device; compile it for that one",
             is_known ? about.dli_fname : "a module", state_name);
}

void ist_modules_warn_unfound(struct ist_module *copies)
{
    for (struct ist_module *m = copies, *next; m != NULL; m = next) {
        next = m->next;
        warn_unfound(m);
        free(m);
    }
}

/* Without memory for the copy there is no warning. */
static void keep_copy(struct ist_module **copies, const struct ist_module *m)
{
    struct ist_module *copy = malloc(sizeof *copy);
    if (copy == NULL) return;
    *copy = *m;
    copy->next = *copies;
    *copies = copy;
}

struct ist_module *ist_modules_end(uint32_t kind)
{
    struct ist_module *unfound = NULL;
    for (struct ist_module *m = list, *next; m != NULL; m = next) {
        next = m->next;
        if (m->kind == kind && m->find != NULL && m->at == NULL) keep_copy(&unfound, m);
        m->at = NULL; /* the next job may use another device */
        if (m->handle == NULL) continue;
        ist_info("code %p, which the program has loaded and initialised, was not finalised", m->handle);
        ist_modules_remove(m);
    }
    return unfound;
}

void ist_modules_forget(const struct isthmus_device_state *state)
{
    for (struct ist_module *m = list, *next; m != NULL; m = next) {
        next = m->next;
        if (m->fill != NULL)
            (void)m->fill(state);
        else
            ist_modules_remove(m);
    }
}
