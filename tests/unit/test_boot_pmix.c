/* tests/unit/test_boot_pmix.c: the requests of the bootstrap to a PMIx server, with a client library made here in place
 * of the real one: how often, how large a job may be, what it does about a server that misreads the greeting of an
 * older client, and about one that is slow to have what a PE has put. */
#include "core/boot/boot.h"

#include <pmix.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the double ---- */

static struct {
    uint32_t n_pes;
    int (*node_of)(int pe);
    unsigned n_hostnames; /* look-ups of a node's name */
    char buffer_type[40]; /* in the environment, as PMIx_Init has seen it */
    const char *version;  /* of the library */
    int n_timeouts;       /* of requests for a card, before it is there */
    int n_not_founds;
    const char *local_peers;
} pmix = {.version = "OpenPMIx 4.2.2"};

pmix_status_t PMIx_Init(pmix_proc_t *proc, pmix_info_t info[], size_t n_info)
{
    (void)info, (void)n_info;
    const char *type = getenv("PMIX_BFROP_BUFFER_TYPE");
    snprintf(pmix.buffer_type, sizeof pmix.buffer_type, "%s", type != NULL ? type : "");
    PMIX_PROC_CONSTRUCT(proc);
    return PMIX_SUCCESS;
}

const char *PMIx_Get_version(void) { return pmix.version; }
pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t n_info)
{
    (void)info, (void)n_info;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Register_event_handler(pmix_status_t codes[], size_t n_codes, pmix_info_t info[], size_t n_info,
                                          pmix_notification_fn_t handler, pmix_hdlr_reg_cbfunc_t registered, void *data)
{
    (void)codes, (void)n_codes, (void)info, (void)n_info, (void)handler, (void)registered, (void)data;
    return PMIX_SUCCESS;
}

static pmix_status_t get_card(pmix_value_t **value)
{
    *value = NULL;
    if (pmix.n_timeouts-- > 0) return PMIX_ERR_TIMEOUT;
    if (pmix.n_not_founds-- > 0) return PMIX_ERR_NOT_FOUND;
    *value = calloc(1, sizeof **value);
    (*value)->type = PMIX_BYTE_OBJECT;
    (*value)->data.bo.bytes = strdup("king");
    (*value)->data.bo.size = 4;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Get(const pmix_proc_t *proc, const char key[], const pmix_info_t info[], size_t n_info,
                       pmix_value_t **value)
{
    char text[32] = "0";
    (void)info, (void)n_info;
    if (strcmp(key, "card") == 0) return get_card(value);
    *value = calloc(1, sizeof **value);
    if (strcmp(key, PMIX_JOB_SIZE) == 0) {
        (*value)->type = PMIX_UINT32;
        (*value)->data.uint32 = pmix.n_pes;
        return PMIX_SUCCESS;
    }
    if (strcmp(key, PMIX_HOSTNAME) == 0) {
        pmix.n_hostnames++;
        snprintf(text, sizeof text, "node%d", pmix.node_of((int)proc->rank));
    }
    if (strcmp(key, PMIX_LOCAL_PEERS) == 0 && pmix.local_peers != NULL)
        snprintf(text, sizeof text, "%s", pmix.local_peers);
    (*value)->type = PMIX_STRING;
    (*value)->data.string = strdup(text);
    return PMIX_SUCCESS;
}

/* ---- tests ---- */

static void not_lost(const char *why, int exit_code)
{
    (void)why, (void)exit_code;
    abort();
}

static isthmus_status open_job(uint32_t n_pes, ist_boot **out)
{
    struct ist_config config = {.bootstrap = IST_BOOTSTRAP_PMIX, .pretend_hosts = "", .start_timeout_s = 1};
    struct ist_boot_request request = {.kind = IST_BOOTSTRAP_AUTO};
    setenv("PMIX_NAMESPACE", "job", 1);
    setenv("PMIX_RANK", "0", 1);
    pmix.n_pes = n_pes;
    *out = NULL;
    return ist_boot_open(&config, &request, not_lost, out);
}

static void largest_job_opens(void **state)
{
    (void)state;
    ist_boot *boot;
    assert_int_equal(open_job(IST_BOOT_MOST_PES, &boot), ISTHMUS_OK);
    assert_int_equal(boot->n_pes, IST_BOOT_MOST_PES);
    ist_boot_close(boot);
}

static void larger_job_is_refused(void **state)
{
    (void)state;
    ist_boot *boot;
    assert_int_equal(open_job(IST_BOOT_MOST_PES + 1, &boot), ISTHMUS_ERR_LIMIT);
    assert_non_null(strstr(ist_fail_text(), "the job has 1048577 PEs, but at most 1048576"));
    assert_null(boot);
}

static void larger_job_of_a_unique_id_is_refused(void **state)
{
    (void)state;
    struct ist_config config = {.pretend_hosts = "", .start_timeout_s = 1};
    struct ist_boot_request request = {.kind = IST_BOOTSTRAP_UID, .n_pes = IST_BOOT_MOST_PES + 1};
    ist_boot *boot = NULL;
    request.uid = (struct ist_uid){.format = IST_UID_FORMAT, .n_addresses = 1};
    request.uid.addresses[0] = (struct ist_uid_address){.family = 4, .bytes = {127, 0, 0, 1}};
    assert_int_equal(ist_boot_open(&config, &request, not_lost, &boot), ISTHMUS_ERR_LIMIT);
}

enum { PES = 6000, ON_A_NODE = 3 };
static int in_blocks(int pe) { return 7 * (pe / ON_A_NODE); }
static int in_turn(int pe) { return 5000 - pe % (PES / ON_A_NODE); }

/* A name is requested once for each PE, and nodes are numbered in the order of their first PEs, however many there
 * are. */
static void nodes_are_numbered(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        ist_boot *boot;
        pmix.node_of = turn == 0 ? in_blocks : in_turn;
        pmix.n_hostnames = 0;
        assert_int_equal(open_job(PES, &boot), ISTHMUS_OK);
        const uint32_t *node_of = ist_boot_nodes(boot);
        assert_non_null(node_of);
        for (int pe = 0; pe < PES; pe++)
            assert_int_equal(node_of[pe], turn == 0 ? pe / ON_A_NODE : pe % (PES / ON_A_NODE));
        assert_int_equal(pmix.n_hostnames, PES);
        ist_boot_close(boot);
    }
}

/* Teams search the list, and its first entry is the host's first PE. */
static void local_peers_are_sorted(void **state)
{
    static const int sorted[] = {0, 1, 2, 9, 10};
    (void)state;
    ist_boot *boot;
    pmix.local_peers = "10,2,0,9,1";
    assert_int_equal(open_job(12, &boot), ISTHMUS_OK);
    assert_int_equal(boot->n_local, 5);
    assert_memory_equal(boot->local_pes, sorted, sizeof sorted);
    ist_boot_close(boot);
    pmix.local_peers = NULL;
}

static void init_session(const char *server, const char *library)
{
    ist_boot *boot;
    ist_boot_pmix_leave();
    setenv("PMIX_VERSION", server, 1);
    setenv("PMIX_BFROP_BUFFER_TYPE", "PMIX_BFROP_BUFFER_NON_DESC", 1);
    pmix.version = library;
    assert_int_equal(open_job(1, &boot), ISTHMUS_OK);
    ist_boot_close(boot);
    assert_string_equal(getenv("PMIX_BFROP_BUFFER_TYPE"),
                        "PMIX_BFROP_BUFFER_NON_DESC"); /* for the program's children */
}

static void newer_server_gets_described_buffers(void **state)
{
    (void)state;
    init_session("5.0.11rc1", "OpenPMIx 4.2.2rc2, repo rev: v4.2.2rc2");
    assert_string_equal(pmix.buffer_type, "PMIX_BFROP_BUFFER_FULLY_DESC");
    init_session("5.0.11rc1", "OpenPMIx 5.0.3");
    assert_string_equal(pmix.buffer_type, "PMIX_BFROP_BUFFER_NON_DESC");
    init_session("4.2.2rc2", "OpenPMIx 4.2.2rc2, repo rev: v4.2.2rc2");
    assert_string_equal(pmix.buffer_type, "PMIX_BFROP_BUFFER_NON_DESC");
}

/* As seen with Open MPI 4.1 on two busy processors. */
static void slow_server_is_asked_again(void **state)
{
    (void)state;
    ist_boot *boot;
    void *card;
    size_t n_bytes;
    assert_int_equal(open_job(2, &boot), ISTHMUS_OK);
    pmix.n_timeouts = 3;
    pmix.n_not_founds = 2;
    assert_int_equal(boot->ops->get(boot, 1, "card", &card, &n_bytes), ISTHMUS_OK);
    assert_int_equal(n_bytes, 4);
    assert_memory_equal(card, "king", 4);
    free(card);
    pmix.n_timeouts = 1000000; /* more than it waits for */
    assert_int_equal(boot->ops->get(boot, 1, "card", &card, &n_bytes), ISTHMUS_ERR_UNREACHABLE);
    assert_non_null(strstr(ist_fail_text(), "cannot get the card of PE 1 from the launcher: PMIx_Get"));
    ist_boot_close(boot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest_job_opens),
        cmocka_unit_test(larger_job_is_refused),
        cmocka_unit_test(larger_job_of_a_unique_id_is_refused),
        cmocka_unit_test(nodes_are_numbered),
        cmocka_unit_test(local_peers_are_sorted),
        cmocka_unit_test(newer_server_gets_described_buffers),
        cmocka_unit_test(slow_server_is_asked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
