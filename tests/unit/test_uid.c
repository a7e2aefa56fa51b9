/* tests/unit/test_uid.c: which processes join a job of a unique id, and which do not: strangers that know the server's
 * place and not the secret, that repeat what they have seen, send nothing or connect in numbers; and servers that are
 * not what they seem.
 * Not what the job does once its PEs have joined: tests/pe/r17_*. */
#include "uid_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int connect_to(const struct ist_uid *uid)
{
    struct sockaddr_storage address;
    socklen_t length = ist_uid_sockaddr(uid, 0, &address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, length) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* The type of the next frame, its value copied; 0: the connection has ended. */
static uint32_t next_frame(int fd, void *out, size_t room)
{
    struct ist_uid_head head;
    char value[1024];
    if (!ist_uid_receive(fd, ist_uid_now_ms() + PATIENCE_MS, sizeof value - 1, &head, value)) {
        if (errno == ETIMEDOUT) fail_msg("neither a frame nor an end within %d ms", PATIENCE_MS);
        return 0;
    }
    memcpy(out, value, head.value_bytes < room ? head.value_bytes : room);
    return head.type;
}

static struct ist_uid_challenge take_challenge(int fd)
{
    struct ist_uid_challenge challenge;
    assert_int_equal(next_frame(fd, &challenge, sizeof challenge), IST_UID_CHALLENGE);
    return challenge;
}

static struct ist_uid_hello make_hello(const struct ist_uid *uid, const struct ist_uid_challenge *challenge)
{
    struct ist_uid_hello hello = {.nonce = {1}, .pe = 0, .n_pes = 1, .pid = 1, .host_name = "here"};
    ist_uid_tag_hello(uid, challenge, &hello, hello.tag);
    return hello;
}

static uint32_t say_hello(int fd, const struct ist_uid_hello *hello)
{
    struct ist_uid_head head = {.type = IST_UID_HELLO, .value_bytes = sizeof *hello};
    char answer[64];
    assert_true(ist_uid_send(fd, &head, NULL, hello));
    return next_frame(fd, answer, sizeof answer);
}

/* ---- the server's side ---- */

/* A client with the secret is accepted, so that the refusals below are due to its lack. */
static void member_gets_in(void **state)
{
    (void)state;
    struct ist_uid uid = serve(PATIENCE_S);
    int fd = connect_to(&uid);
    struct ist_uid_challenge challenge = take_challenge(fd);
    struct ist_uid_hello hello = make_hello(&uid, &challenge);
    assert_int_equal(say_hello(fd, &hello), IST_UID_PROOF);
    close(fd);
}

static void every_bit_of_the_hello_counts(void **state)
{
    (void)state;
    struct ist_uid uid = serve(PATIENCE_S);
    for (size_t bit = 0; bit < 8 * sizeof(struct ist_uid_hello); bit += 7) {
        char more[64];
        int fd = connect_to(&uid);
        struct ist_uid_challenge challenge = take_challenge(fd);
        struct ist_uid_hello hello = make_hello(&uid, &challenge);
        ((uint8_t *)&hello)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(say_hello(fd, &hello), IST_UID_STRANGER);
        assert_int_equal(next_frame(fd, more, sizeof more), 0);
        close(fd);
    }
}

static void recorded_hello_is_of_no_use(void **state)
{
    (void)state;
    struct ist_uid uid = serve(PATIENCE_S);
    int heard = connect_to(&uid), replayed = connect_to(&uid);
    struct ist_uid_challenge challenge = take_challenge(heard);
    struct ist_uid_hello hello = make_hello(&uid, &challenge);
    (void)take_challenge(replayed);
    assert_int_equal(say_hello(replayed, &hello), IST_UID_STRANGER);
    close(replayed);
    close(heard);
}

/* For example a put: a client that has not shown the secret may send hello and nothing else. */
static void stranger_says_hello_only(void **state)
{
    (void)state;
    struct ist_uid uid = serve(PATIENCE_S);
    for (uint32_t type = 0; type < 16; type++) {
        char answer[64];
        struct ist_uid_head head = {.type = type, .value_bytes = type == IST_UID_HELLO ? 1u << 30 : 0};
        int fd = connect_to(&uid);
        (void)take_challenge(fd);
        assert_int_equal(send(fd, &head, sizeof head, MSG_NOSIGNAL), (int)sizeof head);
        assert_int_equal(next_frame(fd, answer, sizeof answer), 0);
        close(fd);
    }
}

static void silent_stranger_is_dropped(void **state)
{
    (void)state;
    char more[64];
    struct ist_uid uid = serve(1);
    int fd = connect_to(&uid);
    (void)take_challenge(fd);
    assert_int_equal(next_frame(fd, more, sizeof more), 0);
    close(fd);
}

/* More strangers than the serving process has descriptors for: a member is accepted all the same. The server's time-out
 * for each of them is long, so that none of them times out. */
static void flood_keeps_no_peer_out(void **state)
{
    enum { DESCRIPTORS = 64, STRANGERS = 300 };
    (void)state;
    int place[2];
    struct ist_uid uid;
    assert_int_equal(pipe(place), 0);
    pid_t server = fork();
    if (server == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct rlimit few = {DESCRIPTORS, DESCRIPTORS};
        if (setrlimit(RLIMIT_NOFILE, &few) != 0) _exit(1);
        uid = serve(3600);
        (void)!write(place[1], &uid, sizeof uid);
        for (;;) pause();
    }
    assert_int_equal(read(place[0], &uid, sizeof uid), (int)sizeof uid);
    int strangers[STRANGERS];
    for (int i = 0; i < STRANGERS; i++) assert_true((strangers[i] = connect_to(&uid)) >= 0);
    int fd = connect_to(&uid);
    struct ist_uid_challenge challenge = take_challenge(fd);
    struct ist_uid_hello hello = make_hello(&uid, &challenge);
    assert_int_equal(say_hello(fd, &hello), IST_UID_PROOF);
    close(fd);
    for (int i = 0; i < STRANGERS; i++) close(strangers[i]);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
}

/* ---- the PE's side ---- */

/* A listener in place of the server: it sends what it is given, and keeps what it receives in the pipe that it
 * returns. */
static int pose(struct ist_uid *uid, const void *says, size_t n_bytes)
{
    struct sockaddr_storage address;
    int heard[2], listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t length = ist_uid_sockaddr(uid, 0, &address);
    assert_int_equal(pipe(heard), 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length) | listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    memcpy(uid->port, &((struct sockaddr_in *)&address)->sin_port, sizeof uid->port);
    if (fork() == 0) {
        char bytes[4096];
        ssize_t n;
        int fd = accept(listener, NULL, NULL);
        close(listener);
        (void)!send(fd, says, n_bytes, MSG_NOSIGNAL);
        while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0) (void)!write(heard[1], bytes, (size_t)n);
        _exit(0);
    }
    close(listener);
    close(heard[1]);
    return heard[0];
}

static void read_heard(int heard, char *out, size_t room, size_t *n_bytes)
{
    ssize_t n;
    *n_bytes = 0;
    while ((n = read(heard, out + *n_bytes, room - *n_bytes)) > 0) *n_bytes += (size_t)n;
    close(heard);
    waitpid(-1, NULL, 0);
}

/* It sends a challenge as the real server does, and a false proof. */
static void server_without_the_secret_is_refused(void **state)
{
    (void)state;
    struct {
        struct ist_uid_head challenge_head;
        struct ist_uid_challenge challenge;
        struct ist_uid_head proof_head;
        uint8_t proof[IST_TAG_BYTES];
    } says = {.challenge_head = {.type = IST_UID_CHALLENGE, .value_bytes = sizeof says.challenge},
              .challenge = {.protocol = IST_UID_PROTOCOL},
              .proof_head = {.type = IST_UID_PROOF, .value_bytes = sizeof says.proof}};
    char heard_bytes[4096];
    size_t n_heard;
    struct ist_uid uid = make_id();
    int heard = pose(&uid, &says, sizeof says);
    assert_int_equal(join(&uid), ISTHMUS_ERR_PERMISSION);
    assert_non_null(strstr(ist_fail_text(), "does not prove the secret"));
    read_heard(heard, heard_bytes, sizeof heard_bytes, &n_heard);
    assert_int_equal(n_heard, sizeof(struct ist_uid_head) + sizeof(struct ist_uid_hello));
    assert_null(memmem(heard_bytes, n_heard, uid.secret, sizeof uid.secret));
}

/* Nothing that arrives before the proof is trusted, printed, or allocated for. */
static void unproved_words_are_not_repeated(void **state)
{
    (void)state;
    static const uint32_t types[] = {IST_UID_WELCOME, IST_UID_REFUSED, IST_UID_END, IST_UID_CHALLENGE, IST_UID_VALUE};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct {
            struct ist_uid_head head;
            char text[8];
        } says = {.head = {.type = types[i], .id = 1, .value_bytes = sizeof says.text}, .text = "\33[2Jboo"};
        char heard_bytes[64];
        size_t n_heard;
        struct ist_uid uid = make_id();
        int heard = pose(&uid, &says, sizeof says);
        assert_int_not_equal(join(&uid), ISTHMUS_OK);
        assert_null(strstr(ist_fail_text(), "boo"));
        read_heard(heard, heard_bytes, sizeof heard_bytes, &n_heard);
        assert_int_equal(n_heard, 0);
    }
}

static void real_server_is_taken(void **state)
{
    (void)state;
    struct ist_uid uid = serve(PATIENCE_S);
    if (join(&uid) != ISTHMUS_OK) fail_msg("%s", ist_fail_text());
}

/* ---- what every process can read ---- */

static void name_of_the_job_is_not_of_the_secret(void **state)
{
    (void)state;
    char name[IST_UID_NAME_BYTES], same[IST_UID_NAME_BYTES], digits[2 * IST_UID_SECRET_BYTES + 1];
    struct ist_uid uid = make_id();
    ist_uid_name(&uid, name);
    ist_uid_name(&uid, same);
    assert_string_equal(name, same);
    for (int i = 0; i < IST_UID_SECRET_BYTES; i++) snprintf(digits + 2 * i, 3, "%02x", uid.secret[i]);
    for (size_t i = 0; i + 8 <= 2 * IST_UID_SECRET_BYTES; i++) assert_null(memmem(name, strlen(name), digits + i, 8));
}

/* Two jobs may be given the same bytes by mistake, and each is to report that. */
static void damaged_id_names_no_job(void **state)
{
    (void)state;
    char name[IST_BOOT_JOB_BYTES];
    struct ist_boot_request request = {.kind = IST_BOOTSTRAP_UID, .uid = make_id(), .pe = 0, .n_pes = 1};
    ist_boot_announced_job(&request, name);
    assert_string_not_equal(name, "");
    memset(&request.uid, 0x5a, sizeof request.uid);
    ist_boot_announced_job(&request, name);
    assert_string_equal(name, "");
}

static void session_takes_the_secret_of_the_job(void **state)
{
    (void)state;
    struct ist_config config = {.uid_session = "127.0.0.1:4711"};
    struct ist_uid open_to_all, mine, others;
    unsetenv("ISTHMUS_JOB_SECRET");
    assert_int_equal(ist_uid_create(&config, &open_to_all), ISTHMUS_OK);
    setenv("ISTHMUS_JOB_SECRET", "00112233445566778899aabbccddeeff", 1);
    assert_int_equal(ist_uid_create(&config, &mine), ISTHMUS_OK);
    setenv("ISTHMUS_JOB_SECRET", "00112233445566778899aabbccddeefe", 1);
    assert_int_equal(ist_uid_create(&config, &others), ISTHMUS_OK);
    assert_memory_not_equal(mine.secret, open_to_all.secret, sizeof mine.secret);
    assert_memory_not_equal(mine.secret, others.secret, sizeof mine.secret);
    setenv("ISTHMUS_JOB_SECRET", "too short", 1);
    assert_int_equal(ist_uid_create(&config, &others), ISTHMUS_ERR_INVALID);
    unsetenv("ISTHMUS_JOB_SECRET");
}

/* ---- welcomes ---- */

struct made_welcome {
    struct ist_uid_welcome head;
    struct ist_uid_run runs[3];
    struct ist_uid_neighbour neighbours[3];
};

/* To PE 2 of 4 PEs on two hosts: 0, 2 and 3 on one, 1 on the other. */
static const struct made_welcome good = {{3, 3}, {{0, 1}, {1, 1}, {0, 2}}, {{0, 8, 1}, {2, 9, 1}, {3, 7, 1}}};

static bool is_good(struct made_welcome welcome) { return ist_uid_welcome_check(&welcome, sizeof welcome, 2, 4); }

static void welcome_is_checked(void **state)
{
    (void)state;
    struct made_welcome w = good;
    assert_true(is_good(good));
    for (size_t n = 0; n < sizeof good; n++) assert_false(ist_uid_welcome_check(&good, n, 2, 4));
    assert_false(ist_uid_welcome_check(&good, sizeof good, 1, 4)); /* it is not to that PE */
    assert_false(ist_uid_welcome_check(&good, sizeof good, 2, 5));
    w.neighbours[1].pe = 0;
    assert_false(is_good(w));
    w = good, w.neighbours[0].pe = -1;
    assert_false(is_good(w));
    w = good, w.neighbours[2].pe = 4;
    assert_false(is_good(w));
    w = good, w.neighbours[1].pe = 1; /* another host's */
    assert_false(is_good(w));
    w = good, w.runs[1].host = 0; /* four PEs there, three neighbours */
    assert_false(is_good(w));
    w = good, w.runs[0].host = 1; /* hosts are numbered by their first PEs */
    assert_false(is_good(w));
    w = good, w.runs[2].n_pes = 3;
    assert_false(is_good(w));
    w = good, w.runs[2].n_pes = 0;
    assert_false(is_good(w));
    w = good, w.runs[1].n_pes = INT32_MAX;
    assert_false(is_good(w));
    w = good, w.head.n_runs = -1;
    assert_false(is_good(w));
    w = good, w.head.n_neighbours = 0;
    assert_false(is_good(w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(member_gets_in),
        cmocka_unit_test(every_bit_of_the_hello_counts),
        cmocka_unit_test(recorded_hello_is_of_no_use),
        cmocka_unit_test(stranger_says_hello_only),
        cmocka_unit_test(silent_stranger_is_dropped),
        cmocka_unit_test(flood_keeps_no_peer_out),
        cmocka_unit_test(server_without_the_secret_is_refused),
        cmocka_unit_test(unproved_words_are_not_repeated),
        cmocka_unit_test(real_server_is_taken),
        cmocka_unit_test(name_of_the_job_is_not_of_the_secret),
        cmocka_unit_test(damaged_id_names_no_job),
        cmocka_unit_test(session_takes_the_secret_of_the_job),
        cmocka_unit_test(welcome_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
