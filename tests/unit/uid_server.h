/* tests/unit/uid_server.h: a server of a unique id in this process, and a PE that joins it. */
#ifndef TESTS_UNIT_UID_SERVER_H
#define TESTS_UNIT_UID_SERVER_H

#include "core/boot/boot.h"
#include "core/boot/uid_wire.h"
#include "core/topo/topo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* How long to wait for what arrives as soon as the machine is not busy. */
enum { PATIENCE_S = 20, PATIENCE_MS = PATIENCE_S * 1000 };

static const struct isthmus_host_id elsewhere = {.bytes = "elsewhere"}; /* so that the id's addresses are used */

static inline struct ist_uid make_id(void)
{
    struct ist_uid uid = {.format = IST_UID_FORMAT, .host = elsewhere, .n_addresses = 1};
    uid.addresses[0] = (struct ist_uid_address){.family = 4, .bytes = {127, 0, 0, 1}};
    assert_int_equal(ist_random_bytes(uid.secret, sizeof uid.secret), ISTHMUS_OK);
    return uid;
}

static inline struct ist_uid serve(uint64_t timeout_s)
{
    struct ist_uid uid = make_id();
    struct ist_uid_patience patience = {.reply_s = timeout_s, .start_s = timeout_s};
    if (ist_uid_server_start(&uid, &patience) != ISTHMUS_OK) fail_msg("%s", ist_fail_text());
    return uid;
}

static inline void not_lost(const char *why, int exit_code)
{
    (void)why, (void)exit_code;
    abort();
}

static inline isthmus_status join(const struct ist_uid *uid)
{
    struct ist_config config = {.peer_timeout_s = PATIENCE_S, .start_timeout_s = PATIENCE_S, .pretend_hosts = ""};
    struct ist_boot_request request = {.kind = IST_BOOTSTRAP_UID, .uid = *uid, .pe = 0, .n_pes = 1};
    ist_boot *boot = NULL;
    isthmus_status status = ist_boot_open(&config, &request, not_lost, &boot);
    if (status == ISTHMUS_OK) ist_boot_close(boot);
    return status;
}

#endif
