/* core/boot/boot_torch.c: a job that torchrun has started, or another launcher that sets RANK, WORLD_SIZE, MASTER_ADDR
 * and MASTER_PORT: the unique id follows from these, so that PE 0 serves at an address that all PEs compute.
 * PyTorch's own store listens at MASTER_PORT, and users number the jobs of a host by neighbouring ports: PE 0 serves at
 * a port well away from it. Jobs of these processes that follow each other use several ports in turn: a PE that begins
 * the next job early finds no server yet, and not that of the job before. */
#include "core/boot/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT_DISTANCE = 1733, PORTS = 8, PORT_STEP = 97, PORT_MAX = 65535 };

static unsigned n_jobs; /* of this process so far */

static isthmus_status choose_address(const char *host, const char *master_port, char *out, size_t room)
{
    char *end;
    long port = strtol(master_port, &end, 10);
    if (end == master_port || *end != '\0' || port < 1 || port > PORT_MAX)
        return ist_fail(ISTHMUS_ERR_INVALID, "MASTER_PORT is '%s'; accepted: a number from 1 to %d", master_port,
                        PORT_MAX);
    long distance = PORT_DISTANCE + (long)(n_jobs % PORTS) * PORT_STEP;
    port += port + distance <= PORT_MAX ? distance : -distance;
    bool has_colon = strchr(host, ':') != NULL; /* an address of IP version 6 */
    int n = snprintf(out, room, has_colon ? "[%s]:%ld" : "%s:%ld", host, port);
    if (n > 0 && (size_t)n < room) return ISTHMUS_OK;
    return ist_fail(ISTHMUS_ERR_INVALID, "MASTER_ADDR is '%.60s…'; accepted: a host name or an address", host);
}

/* torchrun restarts a job that has failed: processes of the old attempt are strangers to the new one. */
static isthmus_status mix_secret(const char *address, struct ist_uid *uid)
{
    char text[600];
    const char *run = getenv("TORCHELASTIC_RUN_ID"), *attempt = getenv("TORCHELASTIC_RESTART_COUNT");
    snprintf(text, sizeof text, "%s\n%.200s\n%.20s", address, run != NULL ? run : "", attempt != NULL ? attempt : "");
    return ist_uid_session_secret(text, uid->secret);
}

isthmus_status ist_boot_torch_open(const struct ist_config *config, const struct ist_launcher *launcher,
                                   ist_boot_lost *lost, ist_boot **out)
{
    char address[300];
    struct ist_boot_request request = {.kind = IST_BOOTSTRAP_UID, .pe = launcher->pe, .n_pes = launcher->n_pes};
    bool is_given = config->uid_session != NULL && config->uid_session[0] != '\0';
    if (request.n_pes == 1) return ist_boot_alone_open(out);
    isthmus_status status = choose_address(getenv("MASTER_ADDR"), getenv("MASTER_PORT"), address, sizeof address);
    if (status == ISTHMUS_OK && is_given)
        status = ist_uid_parse_session(config, "ISTHMUS_UID_SESSION", config->uid_session, &request.uid);
    else if (status == ISTHMUS_OK)
        status = ist_uid_parse_session(config, "MASTER_ADDR with the port of PE 0", address, &request.uid);
    /* MASTER_ADDR may be a name that PE 0's own host resolves to its loopback interface, or a service's address. */
    if (!is_given) request.uid.is_session = 2;
    n_jobs++;
    if (status == ISTHMUS_OK) status = mix_secret(is_given ? config->uid_session : address, &request.uid);
    return status == ISTHMUS_OK ? ist_boot_uid_open(config, &request, lost, out) : status;
}
