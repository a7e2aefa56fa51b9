/* core/boot/pmi_library.c: see pmi.h: the launcher's own client library, libpmi2.so or libpmi.so, where the launcher
 * names no socket: Slurm's plain srun, Cray's PALS. Both libraries have the interface of "PMI: A Scalable Parallel
 * Process-Management Interface" (Balaji and others, 2010). They are loaded when they are needed, and stay: they may
 * have threads and handlers of their own. Into the global scope: Slurm's loads plugins that find its symbols there. */
#include "core/boot/pmi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { PMI_OK = 0 };

/* Version 1. */
static int (*init_1)(int *is_spawned), (*get_size)(int *), (*get_rank)(int *);
static int (*get_my_name)(char *name, int room), (*put_value_1)(const char *store, const char *key, const char *value);
static int (*commit)(const char *store), (*barrier)(void);
static int (*get_value_1)(const char *store, const char *key, char *value, int room), (*finalize_1)(void);

/* Version 2. */
static int (*init_2)(int *is_spawned, int *size, int *rank, int *application), (*get_job)(char *job, int room);
static int (*put_value_2)(const char *key, const char *value), (*fence)(void), (*finalize_2)(void);
static int (*get_value_2)(const char *job, int source, const char *key, char *value, int room, int *length);

struct symbol {
    const char *name;
    void *pointer; /* to the function pointer */
};

static const struct symbol symbols_1[] = {
    {"PMI_Init", &init_1},         {"PMI_Get_size", &get_size},
    {"PMI_Get_rank", &get_rank},   {"PMI_KVS_Get_my_name", &get_my_name},
    {"PMI_KVS_Put", &put_value_1}, {"PMI_KVS_Commit", &commit},
    {"PMI_Barrier", &barrier},     {"PMI_KVS_Get", &get_value_1},
    {"PMI_Finalize", &finalize_1},
};

static const struct symbol symbols_2[] = {
    {"PMI2_Init", &init_2},     {"PMI2_Job_GetId", &get_job},   {"PMI2_KVS_Put", &put_value_2},
    {"PMI2_KVS_Fence", &fence}, {"PMI2_KVS_Get", &get_value_2}, {"PMI2_Finalize", &finalize_2},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static isthmus_status load(const char *const names[2], const struct symbol *symbols, size_t n_symbols)
{
    void *library = dlopen(names[0], RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) library = dlopen(names[1], RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "%s cannot be loaded: %s", names[0], dlerror());
    for (size_t i = 0; i < n_symbols; i++) {
        void *function = dlsym(library, symbols[i].name);
        if (function == NULL) return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "%s lacks %s", names[0], symbols[i].name);
        memcpy(symbols[i].pointer, &function, sizeof function); /* ISO C has no such conversion */
    }
    return ISTHMUS_OK;
}

static isthmus_status check(const char *routine, int code)
{
    if (code == PMI_OK) return ISTHMUS_OK;
    return ist_fail(ISTHMUS_ERR_UNREACHABLE, "%s failed with code %d", routine, code);
}

/* ---- version 1 ---- */

static isthmus_status start_1(struct ist_pmi *pmi)
{
    static const char *const names[2] = {"libpmi.so.0", "libpmi.so"};
    int is_spawned;
    isthmus_status status = load(names, symbols_1, COUNT(symbols_1));
    if (status == ISTHMUS_OK) status = check("PMI_Init", init_1(&is_spawned));
    if (status == ISTHMUS_OK) status = check("PMI_Get_size", get_size(&pmi->n_pes));
    if (status == ISTHMUS_OK) status = check("PMI_Get_rank", get_rank(&pmi->pe));
    if (status == ISTHMUS_OK) status = check("PMI_KVS_Get_my_name", get_my_name(pmi->name, sizeof pmi->name));
    return status;
}

static isthmus_status put_1(struct ist_pmi *pmi, const char *key, const char *value)
{
    isthmus_status status = check("PMI_KVS_Put", put_value_1(pmi->name, key, value));
    return status == ISTHMUS_OK ? check("PMI_KVS_Commit", commit(pmi->name)) : status;
}

static isthmus_status fence_1(struct ist_pmi *pmi)
{
    (void)pmi;
    return check("PMI_Barrier", barrier());
}

static isthmus_status get_1(struct ist_pmi *pmi, const char *key, char value[IST_PMI_VALUE_BYTES])
{
    return check("PMI_KVS_Get", get_value_1(pmi->name, key, value, IST_PMI_VALUE_BYTES));
}

static void finish_1(struct ist_pmi *pmi)
{
    (void)pmi;
    (void)finalize_1();
}

const struct ist_pmi_ops ist_pmi_library_1 = {
    .name = "PMI-1",
    .is_library = true,
    .start = start_1,
    .put = put_1,
    .fence = fence_1,
    .get = get_1,
    .finish = finish_1,
};

/* ---- version 2 ---- */

static isthmus_status start_2(struct ist_pmi *pmi)
{
    static const char *const names[2] = {"libpmi2.so.0", "libpmi2.so"};
    int is_spawned, application;
    isthmus_status status = load(names, symbols_2, COUNT(symbols_2));
    if (status == ISTHMUS_OK) status = check("PMI2_Init", init_2(&is_spawned, &pmi->n_pes, &pmi->pe, &application));
    if (status == ISTHMUS_OK) status = check("PMI2_Job_GetId", get_job(pmi->name, sizeof pmi->name));
    return status;
}

static isthmus_status put_2(struct ist_pmi *pmi, const char *key, const char *value)
{
    (void)pmi;
    return check("PMI2_KVS_Put", put_value_2(key, value));
}

static isthmus_status fence_2(struct ist_pmi *pmi)
{
    (void)pmi;
    return check("PMI2_KVS_Fence", fence());
}

static isthmus_status get_2(struct ist_pmi *pmi, const char *key, char value[IST_PMI_VALUE_BYTES])
{
    enum { ANY_PE = -1 };
    int length;
    return check("PMI2_KVS_Get", get_value_2(pmi->name, ANY_PE, key, value, IST_PMI_VALUE_BYTES, &length));
}

static void finish_2(struct ist_pmi *pmi)
{
    (void)pmi;
    (void)finalize_2();
}

const struct ist_pmi_ops ist_pmi_library_2 = {
    .name = "PMI-2",
    .is_library = true,
    .start = start_2,
    .put = put_2,
    .fence = fence_2,
    .get = get_2,
    .finish = finish_2,
};
