/* plugins/hook/hook_plan.c: the variables, and the decisions that follow from them. See hook.h. */
#include "plugins/hook/hook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const call_names[HOOK_CALLS] = {
    [HOOK_OPEN] = "open",
    [HOOK_PATH_OPEN] = "path_open",
    [HOOK_EXPOSE] = "expose",
    [HOOK_ATTACH] = "attach",
    [HOOK_REGISTER_LOCAL] = "register_local",
    [HOOK_CHANNEL_OPEN] = "channel_open",
    [HOOK_PUT] = "put",
    [HOOK_GET] = "get",
    [HOOK_AMO] = "amo",
    [HOOK_FENCE] = "fence",
    [HOOK_LOCAL_COMPLETE] = "local_complete",
    [HOOK_REMOTE_COMMIT] = "remote_commit",
    [HOOK_COMMIT_START] = "commit_start",
    [HOOK_COMMIT_TEST] = "commit_test",
};

static const struct {
    const char *name;
    isthmus_status code;
} codes[] = {{"IO", ISTHMUS_ERR_IO},
             {"PEER_LOST", ISTHMUS_ERR_PEER_LOST},
             {"NO_MEMORY", ISTHMUS_ERR_NO_MEMORY},
             {"UNREACHABLE", ISTHMUS_ERR_UNREACHABLE},
             {"PERMISSION", ISTHMUS_ERR_PERMISSION}};

/* ---- the variables ---- */

static isthmus_status invalid(const struct isthmus_services *s, const char *key, const char *value, const char *valid)
{
    return s->fail(s->core, ISTHMUS_ERR_INVALID, "ISTHMUS_HOOK_%s is '%s'; valid: %s", key, value, valid);
}

/* If the variable is unset, *out does not change. */
static isthmus_status read_number(const struct isthmus_services *s, const char *key, uint64_t most, uint64_t *out)
{
    char *end, valid[60];
    const char *text = s->config(s->core, key);
    if (text == NULL) return ISTHMUS_OK;
    uint64_t value = strtoull(text, &end, 10);
    snprintf(valid, sizeof valid, "a number from 0 to %llu", (unsigned long long)most);
    if (end == text || *end != '\0' || *text == '-' || value > most) return invalid(s, key, text, valid);
    *out = value;
    return ISTHMUS_OK;
}

/* CALL:N, or CALL:N:CODE */
static isthmus_status read_failure(const struct isthmus_services *s, struct hook_plan *plan)
{
    static const char valid[] = "CALL:N or CALL:N:CODE (docs/transports/hook.md)";
    const char *text = s->config(s->core, "FAIL");
    char name[24], code[24] = "IO", rest;
    unsigned long long n;
    if (text == NULL) return ISTHMUS_OK;
    int fields = sscanf(text, "%23[a-z_]:%llu:%23[A-Z_]%c", name, &n, code, &rest);
    if (fields < 2 || fields > 3 || n == 0) return invalid(s, "FAIL", text, valid);
    plan->fail_at = n;
    plan->fail_code = ISTHMUS_OK;
    for (uint32_t i = 0; i < HOOK_CALLS; i++)
        if (strcmp(name, call_names[i]) == 0) plan->fail_call = i;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(code, codes[i].name) == 0) plan->fail_code = codes[i].code;
    return plan->fail_call == HOOK_CALLS || plan->fail_code == ISTHMUS_OK ? invalid(s, "FAIL", text, valid)
                                                                          : ISTHMUS_OK;
}

/* PE or PE:N */
static isthmus_status read_loss(const struct isthmus_services *s, struct hook_plan *plan)
{
    const char *text = s->config(s->core, "LOSE");
    int pe;
    unsigned long long n = 0;
    char rest;
    if (text == NULL) return ISTHMUS_OK;
    int fields = sscanf(text, "%d:%llu%c", &pe, &n, &rest);
    if (fields < 1 || fields > 2 || pe < 0 || pe >= s->n_pes)
        return invalid(s, "LOSE", text, "PE or PE:N, a PE of this job and the number of operations that work");
    plan->lost_pe = pe;
    plan->lost_from = n;
    return ISTHMUS_OK;
}

isthmus_status hook_plan_read(const struct isthmus_services *services, struct hook_plan *out)
{
    uint64_t delay = 0, reorder = 0, no_atomics = 0, nic_atomics = 0, no_commit = 0, without_pe = UINT64_MAX, seed = 1,
             pe = UINT64_MAX;
    *out = (struct hook_plan){.services = services, .fail_call = HOOK_CALLS, .lost_pe = -1};
    isthmus_status status = read_number(services, "DELAY", HOOK_MAX_HELD, &delay);
    if (status == ISTHMUS_OK) status = read_number(services, "REORDER", 1, &reorder);
    if (status == ISTHMUS_OK) status = read_number(services, "NO_ATOMICS", 1, &no_atomics);
    if (status == ISTHMUS_OK) status = read_number(services, "NO_ATOMICS_PE", UINT32_MAX, &without_pe);
    if (status == ISTHMUS_OK) status = read_number(services, "NIC_ATOMICS", 1, &nic_atomics);
    if (status == ISTHMUS_OK) status = read_number(services, "NO_COMMIT", 1, &no_commit);
    if (status == ISTHMUS_OK) status = read_number(services, "SEED", UINT64_MAX, &seed);
    if (status == ISTHMUS_OK) status = read_number(services, "AGAIN", UINT64_MAX, &out->again_every);
    if (status == ISTHMUS_OK) status = read_number(services, "PE", UINT32_MAX, &pe);
    if (status == ISTHMUS_OK) status = read_failure(services, out);
    if (status == ISTHMUS_OK) status = read_loss(services, out);
    out->is_for_me = pe == UINT64_MAX || pe == (uint64_t)services->my_pe;
    if (out->lost_pe == services->my_pe) out->lost_pe = -1; /* no PE is lost to itself */
    out->reorders = reorder != 0;
    out->leaves_atomics = no_atomics != 0;
    out->is_adapter = nic_atomics != 0;
    out->leaves_commits = no_commit != 0;
    out->without_atomics_pe = without_pe;
    out->delay_calls = (uint32_t)(delay == 0 && reorder != 0 ? 8 : delay);
    out->random = seed * 0x9e3779b97f4a7c15u + (uint64_t)services->my_pe + 1;
    return status;
}

/* ---- decisions, for calls of several threads ---- */

bool hook_plan_leaves_atomics(const struct hook_plan *plan, int32_t pe)
{
    uint64_t without = plan->without_atomics_pe;
    return plan->leaves_atomics || without == (uint64_t)pe || without == (uint64_t)plan->services->my_pe;
}

static uint64_t count(uint64_t *what) { return __atomic_add_fetch(what, 1, __ATOMIC_RELAXED); }

isthmus_status hook_plan_call(struct hook_plan *plan, enum hook_call call)
{
    uint64_t n = count(&plan->calls[call]);
    if (!plan->is_for_me || plan->fail_call != call || n != plan->fail_at) return ISTHMUS_OK;
    count(&plan->n_failed);
    return plan->services->fail(plan->services->core, plan->fail_code, "%s call %llu fails, as ISTHMUS_HOOK_FAIL sets",
                                call_names[call], (unsigned long long)n);
}

static isthmus_status say_lost(struct hook_plan *plan)
{
    return plan->services->fail(plan->services->core, ISTHMUS_ERR_PEER_LOST, "PE %d is lost, as ISTHMUS_HOOK_LOSE sets",
                                plan->lost_pe);
}

isthmus_status hook_plan_operation(struct hook_plan *plan, enum hook_call call, int32_t pe)
{
    if (plan->is_for_me && pe == plan->lost_pe && count(&plan->towards_lost) > plan->lost_from) return say_lost(plan);
    return hook_plan_call(plan, call);
}

isthmus_status hook_plan_loss(struct hook_plan *plan)
{
    bool is_lost = plan->is_for_me && plan->lost_pe >= 0 &&
                   __atomic_load_n(&plan->towards_lost, __ATOMIC_RELAXED) > plan->lost_from;
    if (!is_lost || plan->has_told_loss) return ISTHMUS_OK;
    plan->has_told_loss = true;
    return say_lost(plan);
}

bool hook_plan_says_again(struct hook_plan *plan)
{
    if (!plan->is_for_me || plan->again_every == 0) return false;
    if (count(&plan->nonblocking) % plan->again_every != 0) return false;
    count(&plan->n_again);
    return true;
}

uint32_t hook_plan_choose(struct hook_plan *plan, uint32_t n)
{
    if (!plan->reorders) return 0;
    uint64_t r = __atomic_add_fetch(&plan->random, 0x9e3779b97f4a7c15u, __ATOMIC_RELAXED);
    r = (r ^ r >> 31) * 0x94d049bb133111ebu;
    return (uint32_t)((r ^ r >> 29) % n);
}
