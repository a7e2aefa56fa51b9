/* tests/unit/test_uid_leader.c: the leader of a host in a job of a unique id: what its PEs put and get through it, and
 * the report when one of them or the leader itself ends. Which processes join the job: test_uid.c. */
#include "uid_server.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the PEs of a job on two hosts, which are one here, share with the test. */
struct shared {
    struct ist_uid uids[3]; /* each PE's own */
    int n_released;         /* PEs below this number join the job */
    int n_met;              /* PEs that have started */
    int n_told, n_reports;  /* PEs that were ended, and those that were to report why */
    char why[200];
};
static struct shared *shared;

static void note_end(const char *why, int exit_code)
{
    if (why != NULL) {
        snprintf(shared->why, sizeof shared->why, "%s", why);
        __atomic_fetch_add(&shared->n_reports, 1, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&shared->n_told, 1, __ATOMIC_RELEASE); /* pairs with the acquire in await_told */
    _exit(exit_code);
}

static void release(int n)
{
    __atomic_store_n(&shared->n_released, n, __ATOMIC_RELEASE); /* pairs with the acquire in fork_pe */
}

/* A process that is PE `pe` of three, once it is released. `body` returns its status. */
static pid_t fork_pe(int pe, int (*body)(ist_boot *boot))
{
    pid_t pid = fork();
    if (pid != 0) return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (__atomic_load_n(&shared->n_released, __ATOMIC_ACQUIRE) <= pe) usleep(1000);
    struct ist_config config = {.peer_timeout_s = PATIENCE_S, .start_timeout_s = PATIENCE_S, .pretend_hosts = ""};
    struct ist_boot_request request = {.kind = IST_BOOTSTRAP_UID, .uid = shared->uids[pe], .pe = pe, .n_pes = 3};
    ist_boot *boot = NULL;
    ist_boot_forget();
    if (ist_boot_open(&config, &request, note_end, &boot) != ISTHMUS_OK) {
        fprintf(stderr, "PE %d: %s\n", pe, ist_fail_text());
        _exit(1);
    }
    _exit(body(boot));
}

/* A leader listens. */
static void await_gate(const struct ist_uid *uid)
{
    struct isthmus_host_id here;
    char name[IST_UID_GATE_BYTES];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_int_equal(ist_host_id_read(&here), ISTHMUS_OK);
    ist_uid_gate_name(uid, &here, name);
    memcpy(address.sun_path + 1, name, strlen(name));
    for (int64_t deadline_ms = ist_uid_now_ms() + PATIENCE_MS;;) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int failure = connect(fd, (struct sockaddr *)&address,
                              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)));
        close(fd);
        if (failure == 0) return;
        if (ist_uid_now_ms() > deadline_ms) fail_msg("no leader within %d ms", PATIENCE_MS);
        usleep(1000);
    }
}

/* PE 0 leads its host; the root is in this process. PEs are forked before the root has a thread: a child inherits the
 * locks that AddressSanitizer holds while a thread starts, and none of its own threads would start then. */
static void start_leader(pid_t pids[3], int (*body)(ist_boot *))
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    for (int pe = 0; pe < 3; pe++) pids[pe] = fork_pe(pe, body);
    shared->uids[0] = shared->uids[1] = shared->uids[2] = serve(PATIENCE_S);
    release(1);
    await_gate(&shared->uids[0]);
}

/* PEs 1 and 2 follow it. */
static void start_led_job(pid_t pids[3], int (*body)(ist_boot *))
{
    start_leader(pids, body);
    release(3);
}

static int status_of(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int leader_dies(ist_boot *boot)
{
    if (boot->n_local != 3 || boot->ops->exchange(boot) != ISTHMUS_OK) return 2;
    if (boot->pe == 0) raise(SIGKILL);
    for (;;) pause();
}

/* All PEs behind it end, and one reports which PE it was and how it ended. */
static void leader_is_lost(void **state)
{
    (void)state;
    pid_t pids[3];
    char wanted[80];
    start_led_job(pids, leader_dies);
    for (int pe = 1; pe < 3; pe++) assert_int_equal(WEXITSTATUS(status_of(pids[pe])), EXIT_FAILURE);
    assert_int_equal(WTERMSIG(status_of(pids[0])), SIGKILL);
    snprintf(wanted, sizeof wanted, "PE 0 (process %d on ", (int)pids[0]);
    assert_int_equal(shared->n_told, 2);
    assert_int_equal(shared->n_reports, 1);
    if (strstr(shared->why, wanted) == NULL) fail_msg("%s", shared->why);
    munmap(shared, sizeof *shared);
}

static int stays(ist_boot *boot)
{
    if (boot->ops->exchange(boot) != ISTHMUS_OK) return 2;
    __atomic_fetch_add(&shared->n_met, 1, __ATOMIC_RELEASE); /* pairs with the acquire below */
    for (;;) pause();
}

/* The process of the root waits until the PEs behind a lost leader know the reason: else they would report the root's
 * end. */
static void root_awaits_pes_of_lost_leader(void **state)
{
    enum { HELD_MS = 300 };
    (void)state;
    pid_t pids[3];
    start_led_job(pids, stays);
    for (int64_t deadline_ms = ist_uid_now_ms() + PATIENCE_MS; __atomic_load_n(&shared->n_met, __ATOMIC_ACQUIRE) < 3;) {
        if (ist_uid_now_ms() > deadline_ms) fail_msg("no three PEs within %d ms", PATIENCE_MS);
        usleep(1000);
    }
    for (int pe = 1; pe < 3; pe++) {
        int status = 0;
        assert_int_equal(kill(pids[pe], SIGSTOP), 0);
        assert_int_equal(waitpid(pids[pe], &status, WUNTRACED), pids[pe]);
        assert_true(WIFSTOPPED(status));
    }
    assert_int_equal(kill(pids[0], SIGKILL), 0);
    assert_int_equal(WTERMSIG(status_of(pids[0])), SIGKILL);
    int64_t since_ms = ist_uid_now_ms();
    ist_uid_servers_wait(HELD_MS);
    assert_true(ist_uid_now_ms() - since_ms >= HELD_MS - 1); /* two clocks */
    for (int pe = 1; pe < 3; pe++) assert_int_equal(kill(pids[pe], SIGCONT), 0);
    for (int pe = 1; pe < 3; pe++) assert_int_equal(WEXITSTATUS(status_of(pids[pe])), EXIT_FAILURE);
    assert_int_equal(shared->n_reports, 1);
    assert_non_null(strstr(shared->why, "PE 0 (process "));
    munmap(shared, sizeof *shared);
}

static bool is_slow; /* the server's thread, after each frame that it sends */

int epoll_ctl(int events, int operation, int fd, struct epoll_event *event)
{
    enum { SLOW_US = 50000 };
    if (is_slow && operation == EPOLL_CTL_MOD) usleep(SLOW_US);
    return (int)syscall(SYS_epoll_ctl, events, operation, fd, event);
}

static struct ist_uid_seat seat_of(const struct ist_uid *uid, int pe)
{
    struct ist_uid_seat seat = {.uid = *uid, .pe = pe, .n_pes = 3, .patience = {PATIENCE_S, PATIENCE_S}};
    assert_int_equal(ist_host_id_read(&seat.here), ISTHMUS_OK);
    return seat;
}

/* The job fails with the first PE, which has its reply before the server's thread has handled all of the frame: this
 * process waits for the two PEs that do not know of it. */
static void root_awaits_pes_after_first_reply(void **state)
{
    enum { HELD_MS = 300 };
    (void)state;
    struct ist_uid uid = serve(PATIENCE_S);
    is_slow = true;
    for (int pe = 0; pe < 3; pe++) {
        struct ist_uid_seat seat = seat_of(&uid, pe);
        ist_uid_give_up(&seat);
        int64_t since_ms = ist_uid_now_ms();
        if (pe == 0) ist_uid_servers_wait(HELD_MS);
        if (pe == 0) assert_true(ist_uid_now_ms() - since_ms >= HELD_MS - 1); /* two clocks */
    }
    is_slow = false;
    ist_uid_servers_wait(PATIENCE_MS);
}

static int member_dies(ist_boot *boot)
{
    if (boot->ops->exchange(boot) != ISTHMUS_OK) return 2;
    if (boot->pe == 1) raise(SIGKILL);
    for (;;) pause();
}

static void pe_behind_leader_is_lost(void **state)
{
    (void)state;
    pid_t pids[3];
    start_led_job(pids, member_dies);
    for (int pe = 0; pe < 3; pe += 2) assert_int_equal(WEXITSTATUS(status_of(pids[pe])), EXIT_FAILURE);
    assert_int_equal(WTERMSIG(status_of(pids[1])), SIGKILL);
    assert_int_equal(shared->n_reports, 1);
    assert_non_null(strstr(shared->why, "PE 1 (process "));
    munmap(shared, sizeof *shared);
}

static bool has_value(ist_boot *boot, int pe, const char *key, const char *wanted)
{
    void *value = NULL;
    size_t n_bytes = 0;
    bool is_same = boot->ops->get(boot, pe, key, &value, &n_bytes) == ISTHMUS_OK && n_bytes == strlen(wanted) &&
                   memcmp(value, wanted, n_bytes) == 0;
    free(value);
    return is_same;
}

static bool puts_for_all(ist_boot *boot, const char *key, const char *value)
{
    return boot->ops->put(boot, key, value, strlen(value)) == ISTHMUS_OK && boot->ops->exchange(boot) == ISTHMUS_OK;
}

/* Values through leader and root, replaced and removed. */
static int put_and_get(ist_boot *boot)
{
    enum { BIG = 400 << 10 }; /* more of them than a server keeps copies of */
    char *big = malloc(BIG);
    uint32_t node_of[3];
    memset(big, 'b', BIG);
    bool is_good = boot->ops->nodes(boot, node_of) && node_of[0] == 0 && node_of[1] == 0 && node_of[2] == 0;
    for (int turn = 0; turn < 4 && is_good; turn++) {
        char mine[32], theirs[32];
        snprintf(mine, sizeof mine, "%d of %d", turn, boot->pe);
        is_good = puts_for_all(boot, "key", mine);
        for (int pe = 0; pe < 3 && is_good; pe++) {
            snprintf(theirs, sizeof theirs, "%d of %d", turn, pe);
            is_good = has_value(boot, pe, "key", theirs) && has_value(boot, pe, "key", theirs);
        }
        is_good = is_good && boot->ops->put(boot, "big", big, BIG) == ISTHMUS_OK;
        for (int pe = 0; pe < 3 && is_good; pe++) {
            void *value = NULL;
            size_t n_bytes = 0;
            is_good = boot->ops->get(boot, pe, "big", &value, &n_bytes) == ISTHMUS_OK && n_bytes == BIG;
            free(value);
        }
        is_good = is_good && boot->ops->exchange(boot) == ISTHMUS_OK; /* all have got them */
        if (is_good && turn == 2) is_good = boot->ops->remove(boot, "key") == ISTHMUS_OK;
    }
    free(big);
    ist_boot_close(boot);
    return is_good ? 0 : 3;
}

static void values_are_replaced(void **state)
{
    (void)state;
    pid_t pids[3];
    start_led_job(pids, put_and_get);
    for (int pe = 0; pe < 3; pe++) assert_int_equal(status_of(pids[pe]), 0);
    munmap(shared, sizeof *shared);
}

/* The same with PE 2 at the root itself, so that copies are on both sides. */
static void values_are_replaced_between_hosts(void **state)
{
    (void)state;
    pid_t pids[3];
    start_leader(pids, put_and_get);
    assert_int_equal(ist_host_id_read(&shared->uids[2].host), ISTHMUS_OK);
    release(3);
    for (int pe = 0; pe < 3; pe++) assert_int_equal(status_of(pids[pe]), 0);
    munmap(shared, sizeof *shared);
}

/* A stranger at the leader's address: the PE connects to the root. */
static void leader_without_the_secret_is_passed_by(void **state)
{
    (void)state;
    struct isthmus_host_id here;
    char name[IST_UID_GATE_BYTES];
    struct ist_uid uid = serve(PATIENCE_S);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_int_equal(ist_host_id_read(&here), ISTHMUS_OK);
    ist_uid_gate_name(&uid, &here, name);
    memcpy(address.sun_path + 1, name, strlen(name));
    int impostor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    assert_int_equal(bind(impostor, (struct sockaddr *)&address, length) | listen(impostor, 1), 0);
    pid_t pid = fork();
    if (pid == 0) {
        static const char junk[256] = "Isthmus";
        int fd = accept(impostor, NULL, NULL);
        (void)!send(fd, junk, sizeof junk, MSG_NOSIGNAL);
        for (char byte; recv(fd, &byte, 1, 0) > 0;) {}
        _exit(0);
    }
    if (join(&uid) != ISTHMUS_OK) fail_msg("%s", ist_fail_text());
    close(impostor);
    assert_int_equal(status_of(pid), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_awaits_pes_of_lost_leader), /* these first: no other server is in the process */
        cmocka_unit_test(root_awaits_pes_after_first_reply), cmocka_unit_test(leader_is_lost),
        cmocka_unit_test(pe_behind_leader_is_lost),          cmocka_unit_test(values_are_replaced),
        cmocka_unit_test(values_are_replaced_between_hosts), cmocka_unit_test(leader_without_the_secret_is_passed_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
