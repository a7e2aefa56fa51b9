/* tests/unit/test_liveness.c: which datagrams on the life of PEs are accepted. A stranger that sees every datagram,
 * and so knows all but the keys, cannot end a PE, nor keep a silent one alive by what it has recorded.
 * Not the loss of PEs: tests/hosts. */
#include "core/life/life.h"
#include "core/life/life_priv.h"
#include "core/life/liveness_wire.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 20000, PULSE_TIMEOUT_S = 3600 };

/* PE 0 is another process, with heartbeats; this one plays PE 1, which has read PE 0's card. */
static pid_t pe_0;
static struct ist_liveness_address address_0;
static struct ist_liveness_socket mine;
static int lost_fd; /* readable once PE 1 counts as lost to PE 0 */

static int start(void **state)
{
    (void)state;
    int address[2], lost[2];
    assert_int_equal(pipe(address), 0);
    assert_int_equal(pipe(lost), 0);
    pe_0 = fork();
    if (pe_0 == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        static const struct ist_boot_ops no_launcher;
        static const struct ist_config config = {.pulse_timeout_s = PULSE_TIMEOUT_S};
        static ist_boot boot = {.ops = &no_launcher, .pe = 0, .n_pes = 2, .n_local = 1};
        if (ist_liveness_open(&boot, &config) != ISTHMUS_OK) _exit(99);
        struct ist_blob card = ist_liveness_card();
        (void)!write(address[1], card.bytes, card.length_bytes);
        while (!ist_liveness_has_lost(1)) (void)poll(NULL, 0, 1);
        (void)!write(lost[1], "", 1);
        for (;;) pause();
    }
    close(lost[1]);
    lost_fd = lost[0];
    assert_int_equal(read(address[0], &address_0, sizeof address_0), (int)sizeof address_0);
    close(address[0]);
    close(address[1]);
    return ist_liveness_socket_open(NULL, &mine);
}

static int stop(void **state)
{
    (void)state;
    kill(pe_0, SIGKILL);
    waitpid(pe_0, NULL, 0);
    ist_liveness_socket_close(&mine);
    close(lost_fd);
    return 0;
}

static struct ist_liveness_datagram make(uint32_t kind, uint64_t number)
{
    struct ist_liveness_datagram d = {.kind = kind,
                                      .to_token = address_0.token,
                                      .from_pe = 1,
                                      .reporter = kind == IST_LIVENESS_END ? 1 : INT32_MAX,
                                      .pace = 1,
                                      .from_host = "there",
                                      .number = number};
    ist_liveness_sign(&mine.address, address_0.key, &d);
    return d;
}

static void send_to_0(const struct ist_liveness_datagram *d)
{
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = address_0.port};
    to.sin6_addr.s6_addr[10] = to.sin6_addr.s6_addr[11] = 0xff;
    to.sin6_addr.s6_addr[12] = 127;
    to.sin6_addr.s6_addr[15] = 1;
    ist_liveness_send(&mine, &to, d);
}

/* Sends a request and returns the first reply. */
static struct ist_liveness_datagram request_by(const struct ist_liveness_datagram *sent)
{
    struct sockaddr_in6 from;
    struct ist_liveness_datagram reply;
    struct pollfd fd = {.fd = mine.fd, .events = POLLIN};
    send_to_0(sent);
    assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
    assert_true(ist_liveness_receive(&mine, &from, &reply));
    assert_true(ist_liveness_is_signed(&reply, address_0.key));
    return reply;
}

static struct ist_liveness_datagram request(uint64_t number)
{
    struct ist_liveness_datagram sent = make(IST_LIVENESS_REQUEST, number);
    return request_by(&sent);
}

static void member_is_answered_and_believed(void **state)
{
    (void)state;
    int status;
    assert_int_equal(request(1).kind, IST_LIVENESS_REPLY);
    struct ist_liveness_datagram end = make(IST_LIVENESS_END, 2);
    send_to_0(&end);
    assert_int_equal(waitpid(pe_0, &status, 0), pe_0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
}

static void member_that_leaves_is_lost(void **state)
{
    (void)state;
    char byte;
    struct pollfd fd = {.fd = lost_fd, .events = POLLIN};
    assert_int_equal(request(1).kind, IST_LIVENESS_REPLY);
    assert_int_equal(poll(&fd, 1, 0), 0);
    struct ist_liveness_datagram bye = make(IST_LIVENESS_BYE, 2);
    send_to_0(&bye);
    assert_int_equal(read(lost_fd, &byte, 1), 1);
}

static void stranger_cannot_end_the_job(void **state)
{
    (void)state;
    const struct ist_liveness_datagram genuine = make(IST_LIVENESS_END, 1);
    for (size_t bit = 0; bit < 8 * sizeof genuine; bit++) {
        struct ist_liveness_datagram forged = genuine;
        ((uint8_t *)&forged)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        send_to_0(&forged);
        if (bit % 64 == 63)
            assert_int_equal(request(2 + bit).kind, IST_LIVENESS_REPLY); /* also: its queue is empty again */
    }
    assert_int_equal(request(10000).kind, IST_LIVENESS_REPLY);
}

/* PE 0 replies in the order of the requests, and with is_close to a close neighbour: the first reply is not to what was
 * recorded. */
static void recorded_datagrams_are_of_no_use(void **state)
{
    (void)state;
    struct ist_liveness_datagram recorded = make(IST_LIVENESS_REQUEST, 5), fresh = make(IST_LIVENESS_REQUEST, 6);
    fresh.is_close = 1;
    ist_liveness_sign(&mine.address, address_0.key, &fresh);
    assert_int_equal(request(5).is_close, 0);
    for (int i = 0; i < 3; i++) send_to_0(&recorded);
    assert_int_equal(request_by(&fresh).is_close, 1);
}

static void other_lengths_are_none_of_ours(void **state)
{
    (void)state;
    struct ist_liveness_datagram d = make(IST_LIVENESS_REQUEST, 1), out;
    struct ist_liveness_address address;
    char longer[sizeof d + 1] = {0};
    memcpy(longer, &d, sizeof d);
    for (size_t n = 0; n <= sizeof longer; n++)
        assert_int_equal(ist_liveness_datagram_read(&address_0, longer, n, &out), n == sizeof d);
    memset(d.from_host, 'x', sizeof d.from_host);
    assert_false(ist_liveness_datagram_read(&address_0, &d, sizeof d, &out));
    address = address_0;
    assert_true(ist_liveness_address_read(&address, sizeof address, &address));
    assert_false(ist_liveness_address_read(&address, sizeof address - 1, &address));
    address.n_addresses = IST_LIVENESS_MAX_ADDRESSES + 1;
    assert_false(ist_liveness_address_read(&address, sizeof address, &(struct ist_liveness_address){.port = 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stranger_cannot_end_the_job, start, stop),
        cmocka_unit_test_setup_teardown(recorded_datagrams_are_of_no_use, start, stop),
        cmocka_unit_test_setup_teardown(member_is_answered_and_believed, start, stop),
        cmocka_unit_test_setup_teardown(member_that_leaves_is_lost, start, stop),
        cmocka_unit_test_setup_teardown(other_lengths_are_none_of_ours, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
