/* core/boot/boot_pmi.c: a job whose launcher has PMI-1 or PMI-2. PE 0 makes a unique id and puts it into the launcher's
 * key-value store; one fence, and each PE gets it. From then on the job is like any other with a unique id.
 * The store takes no part in what follows: it has no way to get a value that is put later without another fence of all
 * PEs, its values are short, and launchers copy all of them to each host. One value of 248 characters for a job costs
 * the same with 10,000 PEs as with two. */
#include "core/boot/launcher.h"
#include "core/boot/pmi.h"

#include "core/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The connection lasts from the first init to the end of the process: launchers take a PE for finished after that. */
static struct {
    bool is_open;
    unsigned n_jobs; /* joined through it: each has a key of its own */
    struct ist_pmi pmi;
} session;

/* PE 0 could not make an id. */
static const char no_id[] = "-";

/* ---- the connection ---- */

static isthmus_status start_with(const struct ist_pmi_ops *ops, const struct ist_launcher *launcher)
{
    struct ist_pmi *pmi = &session.pmi;
    pmi->ops = ops;
    isthmus_status status = ops->start(pmi);
    if (status == ISTHMUS_OK && launcher->n_pes > 1 && pmi->n_pes != launcher->n_pes)
        return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "%s, but its %s %s reports a job of %d", launcher->evidence, ops->name,
                        ops->is_library ? "library" : "server", pmi->n_pes);
    return status;
}

/* Tries the versions that the launcher may have. The reason of the first one is reported. */
static isthmus_status start_any(const struct ist_config *config, const struct ist_launcher *launcher)
{
    static const struct ist_pmi_ops *const wire[] = {&ist_pmi_wire_1, &ist_pmi_wire_2};
    static const struct ist_pmi_ops *const library[] = {&ist_pmi_library_1, &ist_pmi_library_2};
    const struct ist_pmi_ops *const *list = launcher->kind == IST_LAUNCHER_PMI ? wire : library;
    char first_reason[300] = "";
    isthmus_status status = ISTHMUS_ERR_UNSUPPORTED;
    for (int i = 0; i < 2 && status == ISTHMUS_ERR_UNSUPPORTED; i++) {
        if (config->bootstrap == IST_BOOTSTRAP_PMI1 && i != 0) break;
        if (config->bootstrap == IST_BOOTSTRAP_PMI2 && i != 1) continue;
        status = start_with(list[i], launcher);
        /* A library is a last attempt: whatever fails there, another one may help. */
        if (launcher->kind == IST_LAUNCHER_SEVERAL && status != ISTHMUS_OK) status = ISTHMUS_ERR_UNSUPPORTED;
        if (first_reason[0] == '\0' && status != ISTHMUS_OK)
            snprintf(first_reason, sizeof first_reason, "%s", ist_fail_text());
    }
    return status == ISTHMUS_OK ? status : ist_fail(status, "%s", first_reason);
}

static isthmus_status open_session(const struct ist_config *config, const struct ist_launcher *launcher)
{
    struct ist_pmi *pmi = &session.pmi;
    if (session.is_open) return ISTHMUS_OK;
    *pmi = (struct ist_pmi){.pe = launcher->pe, .n_pes = launcher->n_pes, .fd = -1};
    isthmus_status status = launcher->kind == IST_LAUNCHER_PMI ? ist_pmi_connect(pmi) : ISTHMUS_OK;
    if (status == ISTHMUS_OK) status = start_any(config, launcher);
    if (status == ISTHMUS_OK && (pmi->n_pes < 1 || pmi->pe < 0 || pmi->pe >= pmi->n_pes))
        status = ist_fail(ISTHMUS_ERR_UNREACHABLE,
                          "the launcher's %s reports PE %d of %d; valid: 0 to one less; use another launcher",
                          pmi->ops->name, pmi->pe, pmi->n_pes);
    session.is_open = status == ISTHMUS_OK;
    if (!session.is_open && pmi->owns_fd) close(pmi->fd);
    return status;
}

/* ---- the id as text ---- */

static void write_id(const struct ist_uid *uid, char out[IST_PMI_VALUE_BYTES])
{
    _Static_assert(2 * sizeof *uid + 1 <= IST_PMI_VALUE_BYTES, "an id fits into a value");
    const uint8_t *bytes = (const uint8_t *)uid;
    for (size_t i = 0; i < sizeof *uid; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static bool read_id(const char *text, struct ist_uid *out)
{
    uint8_t *bytes = (uint8_t *)out;
    if (strlen(text) != 2 * sizeof *out) return false;
    for (size_t i = 0; i < sizeof *out; i++) {
        char digits[3] = {text[2 * i], text[2 * i + 1], '\0'}, *end;
        bytes[i] = (uint8_t)strtoul(digits, &end, 16);
        if (*end != '\0') return false;
    }
    return true;
}

/* ---- joining ---- */

/* If PE 0 cannot make an id it puts an invalid value, so that the other PEs fail too. */
static isthmus_status share_id(const struct ist_config *config, const char *key, struct ist_uid *uid)
{
    struct ist_pmi *pmi = &session.pmi;
    char value[IST_PMI_VALUE_BYTES] = "", reason[300] = "";
    isthmus_status created = pmi->pe == 0 ? ist_uid_create(config, uid) : ISTHMUS_OK, status = ISTHMUS_OK;
    if (created != ISTHMUS_OK) snprintf(reason, sizeof reason, "%s", ist_fail_text());
    if (pmi->pe == 0) {
        if (created == ISTHMUS_OK) write_id(uid, value);
        status = pmi->ops->put(pmi, key, created == ISTHMUS_OK ? value : no_id);
    }
    if (status != ISTHMUS_OK && created == ISTHMUS_OK) {
        created = status;
        snprintf(reason, sizeof reason, "%s", ist_fail_text());
    }
    status = pmi->ops->fence(pmi); /* after a failure too: the others wait in it */
    if (created != ISTHMUS_OK) return ist_fail(created, "%s", reason);
    if (status == ISTHMUS_OK && pmi->pe != 0) status = pmi->ops->get(pmi, key, value);
    if (status != ISTHMUS_OK || pmi->pe == 0) return status;
    if (strcmp(value, no_id) == 0)
        return ist_fail(ISTHMUS_ERR_UNREACHABLE,
                        "PE 0 could not make a unique id for the job; its own message has the reason");
    return read_id(value, uid) ? ISTHMUS_OK
                               : ist_fail(ISTHMUS_ERR_VERSION,
                                          "the launcher's %s has '%.20s…' of %zu characters as the unique id; use one "
                                          "version of Isthmus on all PEs",
                                          pmi->ops->name, value, strlen(value));
}

isthmus_status ist_boot_pmi_open(const struct ist_config *config, const struct ist_launcher *launcher,
                                 ist_boot_lost *lost, ist_boot **out)
{
    char key[32];
    struct ist_pmi *pmi = &session.pmi;
    isthmus_status status = open_session(config, launcher);
    if (status != ISTHMUS_OK) return status;
    if (pmi->n_pes == 1) return ist_boot_alone_open(out);
    struct ist_boot_request request = {.kind = IST_BOOTSTRAP_UID, .pe = pmi->pe, .n_pes = pmi->n_pes};
    pmi->timeout_ms = config->start_timeout_s > 0 ? (int)config->start_timeout_s * 1000 : -1;
    snprintf(key, sizeof key, "isthmus-uid-%u", session.n_jobs++);
    status = share_id(config, key, &request.uid);
    if (status != ISTHMUS_OK) return status;
    ist_info("the unique id of the job came through %s%s", pmi->ops->name, pmi->ops->is_library ? "'s library" : "");
    return ist_boot_uid_open(config, &request, lost, out);
}

void ist_boot_pmi_leave(void)
{
    if (!session.is_open) return;
    session.is_open = false;
    session.pmi.ops->finish(&session.pmi);
}

/* The launcher has one connection for a PE, and that is the parent's. */
void ist_boot_pmi_forget(void)
{
    if (session.is_open && session.pmi.owns_fd) close(session.pmi.fd);
    session.is_open = false;
}
