/* tests/contract/fd_pass_table_test.c: fd_pass_table_test CASE: which processes get descriptors from a PE by the table
 * that it publishes, and which do not. By socket: fd_pass_test.c. */
#include "plugins/common/fd_pass_table.h"
#include "tests/contract/fd_pass_fixture.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* ---- helpers ---- */

static struct fd_pass_server *open_server_that_shares(const char *word)
{
    share = word;
    return open_server();
}

/* Where the server's own rows are; read only. */
static const struct fd_pass_table *table_of(const struct fd_pass_server *server)
{
    int fd = fd_pass_server_address(server)->owner.table_fd;
    void *table = mmap(NULL, sizeof(struct fd_pass_table), PROT_READ, MAP_SHARED, fd, 0);
    CHECK(table != MAP_FAILED, "mmap: %s", strerror(errno));
    return table;
}

static void expect(const struct fd_pass_address *address, isthmus_status expected, const char *words)
{
    struct fd_pass_bundle bundle = {.n = 0};
    int before = count_descriptors();
    isthmus_status status = fetch(address, &bundle);
    CHECK(status == expected && bundle.n == 0, "status %d, expected %d: %s", status, expected, last_failure);
    CHECK(strstr(last_failure, words) != NULL, "the message is '%s', without '%s'", last_failure, words);
    CHECK(count_descriptors() == before, "%d descriptors after, %d before", count_descriptors(), before);
}

/* One descriptor arrives, and its file holds the number. */
static void expect_number(const struct fd_pass_address *address, uint64_t number)
{
    struct fd_pass_bundle bundle = {.n = 0};
    uint64_t got = 0;
    CHECK(fetch(address, &bundle) == ISTHMUS_OK, "%s", last_failure);
    CHECK(bundle.n == 1, "%u descriptors came, 1 is on offer", bundle.n);
    CHECK(pread(bundle.fds[0], &got, sizeof got, 0) == (ssize_t)sizeof got && got == number, "it is the wrong one");
    fd_pass_bundle_close(&bundle);
}

/* From here on that system call does `action` (SECCOMP_RET_), if its argument `which` is `value`. */
static void filter_call(int number, unsigned which, uint32_t value, uint32_t action)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offsetof(struct seccomp_data, args) + 8 * which)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0) return;
    fprintf(stderr, "skipped: no filters of system calls: %s\n", strerror(errno));
    exit(SKIPPED);
}

static uint32_t fails_with(int error) { return SECCOMP_RET_ERRNO | (uint32_t)error; }

static void need_root(void)
{
    if (geteuid() == 0) return;
    fprintf(stderr, "skipped: only root can become another user\n");
    exit(SKIPPED);
}

/* A server in a process of its own, of that user, which runs until it is killed. */
static pid_t start_server(uid_t user, struct fd_pass_address *address)
{
    int ready[2];
    CHECK(pipe(ready) == 0, "pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        CHECK(user == geteuid() || (setgid(user) == 0 && setuid(user) == 0), "setuid: %s", strerror(errno));
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* which another user takes away */
        struct fd_pass_server *server = open_server_that_shares("pidfd");
        (void)offer(server, 7);
        (void)!write(ready[1], fd_pass_server_address(server), sizeof *address);
        while (pause() != 0) {}
    }
    close(ready[1]);
    CHECK(read(ready[0], address, sizeof *address) == (ssize_t)sizeof *address, "the server did not start");
    close(ready[0]);
    return child;
}

static void end_server(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* ---- accepted ---- */

static void gives_all_offers(void)
{
    struct fd_pass_server *server = open_server_that_shares("pidfd");
    uint32_t ids[3];
    for (unsigned i = 0; i < 3; i++) ids[i] = offer(server, 100 + i);
    fd_pass_withdraw(server, ids[1]);
    pid_t child = fork(); /* no process serves */
    if (child == 0) {
        struct fd_pass_bundle bundle = {.n = 0};
        CHECK(fetch(fd_pass_server_address(server), &bundle) == ISTHMUS_OK, "%s", last_failure);
        CHECK(bundle.n == 2, "%u descriptors came, 2 are on offer", bundle.n);
        for (uint32_t i = 0; i < bundle.n; i++) {
            uint64_t number = 0;
            CHECK(pread(bundle.fds[i], &number, sizeof number, 0) == (ssize_t)sizeof number, "%s", strerror(errno));
            CHECK(bundle.ids[i] == (number == 100 ? ids[0] : ids[2]), "number %u is the wrong one", bundle.ids[i]);
        }
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the client failed");
    fd_pass_server_close(server);
}

static void gives_later_offers(void)
{
    struct fd_pass_server *server = open_server_that_shares("pidfd");
    struct fd_pass_client client;
    CHECK(fd_pass_client_open(&services, &peer, fd_pass_server_address(server), 1, &client) == ISTHMUS_OK, "%s",
          last_failure);
    for (uint64_t i = 0; i < 5; i++) {
        int fd;
        uint64_t number = 0;
        uint32_t id = offer(server, i);
        CHECK(fd_pass_client_take(&client, id, &fd) == ISTHMUS_OK, "%s", last_failure);
        CHECK(pread(fd, &number, sizeof number, 0) == (ssize_t)sizeof number && number == i, "it is the wrong one");
        close(fd);
    }
    int fd;
    CHECK(fd_pass_client_take(&client, 77, &fd) == ISTHMUS_ERR_INVALID, "number 77 was never on offer");
    fd_pass_client_close(&client);
    fd_pass_server_close(server);
}

/* A descriptor with the number of its offer, of a file that all offers share: only the offer's number distinguishes
 * them. */
static uint32_t offer_at(struct fd_pass_server *server, int file, uint32_t expected_id)
{
    char path[32];
    uint32_t id = 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && lseek(fd, (off_t)expected_id, SEEK_SET) == (off_t)expected_id, "%s", strerror(errno));
    CHECK(fd_pass_offer(server, fd, &id) == ISTHMUS_OK && id == expected_id, "number %u: %s", id, last_failure);
    close(fd);
    return id;
}

/* Offers are made and withdrawn while a peer takes them: it never gets one under the number of another. */
static void withdrawn_meanwhile(void)
{
    enum { CLIENT_TURNS = 6000, AT_ONCE = 16 };
    struct fd_pass_server *server = open_server_that_shares("pidfd");
    int file = make_fd(0), status = 0;
    pid_t child = fork();
    if (child == 0) {
        for (int turn = 0; turn < CLIENT_TURNS; turn++) {
            struct fd_pass_bundle bundle = {.n = 0};
            CHECK(fetch(fd_pass_server_address(server), &bundle) == ISTHMUS_OK, "%s", last_failure);
            for (uint32_t i = 0; i < bundle.n; i++)
                CHECK(lseek(bundle.fds[i], 0, SEEK_CUR) == (off_t)bundle.ids[i], "offer %u is another", bundle.ids[i]);
            fd_pass_bundle_close(&bundle);
        }
        _exit(0);
    }
    for (uint32_t id = 1; waitpid(child, &status, WNOHANG) == 0; id++) {
        if (id > AT_ONCE) fd_pass_withdraw(server, id - AT_ONCE);
        (void)offer_at(server, file, id);
    }
    CHECK(status == 0, "the client failed");
    close(file);
    fd_pass_server_close(server);
}

/* ---- refused ---- */

static void table_of_the_card_only(void)
{
    struct fd_pass_server *server = open_server_that_shares("pidfd");
    (void)offer(server, 1);
    struct fd_pass_address address = *fd_pass_server_address(server);
    address.owner.table_inode++;
    expect(&address, ISTHMUS_ERR_PEER_LOST, "is no longer its table");
    address = *fd_pass_server_address(server);
    address.owner.table_device++;
    expect(&address, ISTHMUS_ERR_PEER_LOST, "is no longer its table");
    address = *fd_pass_server_address(server);
    address.owner.table_fd = 1023;
    expect(&address, ISTHMUS_ERR_PEER_LOST, "pidfd_getfd: Bad file descriptor");

    struct stat about; /* a forged card still needs a table that only its PE writes */
    int fd = make_fd(1);
    CHECK(ftruncate(fd, sizeof(struct fd_pass_table)) == 0 && fstat(fd, &about) == 0, "%s", strerror(errno));
    address.owner.table_fd = fd;
    address.owner.table_inode = about.st_ino;
    expect(&address, ISTHMUS_ERR_PERMISSION, "is damaged");
    fd_pass_server_close(server);
}

/* The file that shows a table, with the seals of a real one; `claimed`: the size that the table itself names. */
static void show_by_hand(struct fd_pass_address *address, size_t bytes, size_t claimed)
{
    struct fd_pass_table table = {.magic = FD_PASS_TABLE_MAGIC, .bytes = (uint32_t)claimed};
    struct stat about;
    memcpy(table.countersign, address->countersign, sizeof table.countersign);
    int fd = memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(pwrite(fd, &table, sizeof table, 0) == (ssize_t)sizeof table && ftruncate(fd, (off_t)bytes) == 0 &&
              fcntl(fd, F_ADD_SEALS, FD_PASS_TABLE_SEALS) == 0 && fstat(fd, &about) == 0,
          "memfd: %s", strerror(errno));
    address->owner.table_fd = fd;
    address->owner.table_inode = about.st_ino;
}

/* Its rows may be others, or mean another thing: none of them is read. */
static void table_of_another_build(void)
{
    enum { BYTES = sizeof(struct fd_pass_table), ROW_BYTES = sizeof(struct fd_pass_row) };
    static const size_t sizes[][2] = {
        {BYTES - ROW_BYTES, BYTES - ROW_BYTES}, {BYTES + ROW_BYTES, BYTES + ROW_BYTES}, {16, BYTES}, {BYTES, 1}};
    struct fd_pass_server *server = open_server_that_shares("pidfd");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct fd_pass_address address = *fd_pass_server_address(server);
        show_by_hand(&address, sizes[i][0], sizes[i][1]);
        expect(&address, ISTHMUS_ERR_VERSION, "is of another build of Isthmus; use one build on all PEs");
        close(address.owner.table_fd);
    }
    fd_pass_server_close(server);
}

static void process_of_the_card_only(void)
{
    struct fd_pass_server *server = open_server_that_shares("pidfd");
    (void)offer(server, 1);
    struct fd_pass_address address = *fd_pass_server_address(server);
    address.owner.started++;
    expect(&address, ISTHMUS_ERR_PEER_LOST, "belongs to another process");
    address = *fd_pass_server_address(server);
    address.owner.pid_namespace++;
    expect(&address, ISTHMUS_ERR_UNREACHABLE, "are not visible from this PID namespace");
    fd_pass_server_close(server);
}

static void countersign_is_demanded(void)
{
    struct fd_pass_server *server = open_server_that_shares("pidfd");
    (void)offer(server, 1);
    for (size_t bit = 0; bit < 128; bit += 9) {
        struct fd_pass_address address = *fd_pass_server_address(server);
        address.countersign[bit / 8] ^= (uint8_t)(1u << bit % 8);
        expect(&address, ISTHMUS_ERR_PERMISSION, "is of another job");
    }
    expect_number(fd_pass_server_address(server), 1);
    fd_pass_server_close(server);
}

/* The program has closed it, and the number now belongs to another file. */
static void offer_of_the_table_only(void)
{
    struct fd_pass_server *server = open_server_that_shares("pidfd");
    (void)offer(server, 1);
    const struct fd_pass_table *table = table_of(server);
    int number = table->rows[0].fd, other = make_fd(2);
    close(number);
    pid_t child = fork(); /* a child, so that its descriptors do not take that number in this process */
    if (child == 0) {
        expect(fd_pass_server_address(server), ISTHMUS_ERR_PEER_LOST, "pidfd_getfd: Bad file descriptor");
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the client failed");
    CHECK(dup2(other, number) == number, "dup2: %s", strerror(errno));
    expect(fd_pass_server_address(server), ISTHMUS_ERR_PERMISSION, "the peer has closed descriptor");
    fd_pass_server_close(server);
}

static void ended_process_is_lost(void)
{
    struct fd_pass_address address;
    siginfo_t end;
    share = "pidfd";
    pid_t child = start_server(geteuid(), &address);
    expect_number(&address, 7);
    kill(child, SIGKILL);
    CHECK(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT) == 0, "waitid: %s", strerror(errno));
    expect(&address, ISTHMUS_ERR_PEER_LOST, "has ended"); /* its number is still there */
    waitpid(child, NULL, 0);
    expect(&address, ISTHMUS_ERR_PEER_LOST, "pidfd_open: No such process");
    share = "auto";
    expect(&address, ISTHMUS_ERR_PEER_LOST, "by socket: Connection refused; by pidfd_getfd: pidfd_open");
}

/* Root may trace every process, and /proc shows a process that may not be traced as root's. */
static void other_user_is_refused(void)
{
    need_root();
    struct fd_pass_address address;
    pid_t child = start_server(NOBODY, &address);
    share = "pidfd";
    expect(&address, ISTHMUS_ERR_PERMISSION, "belongs to user 65534");
    end_server(child);
}

/* A process that has changed its user may not be traced by that user. */
static void untraceable_process_refuses(void)
{
    need_root();
    struct fd_pass_address address;
    pid_t server = start_server(NOBODY, &address), client = fork();
    if (client == 0) {
        CHECK(setgid(NOBODY) == 0 && setuid(NOBODY) == 0, "setuid: %s", strerror(errno));
        share = "pidfd";
        expect(&address, ISTHMUS_ERR_PERMISSION,
               "pidfd_getfd: Operation not permitted (this process may not trace the peer");
        _exit(0);
    }
    int status;
    CHECK(waitpid(client, &status, 0) == client && status == 0, "the client failed");
    end_server(server);
}

/* ---- choice of the way ---- */

/* The socket is tried first: pidfd_getfd would kill the client here. */
static void socket_comes_first(void)
{
    struct fd_pass_server *server = open_server_that_shares("auto");
    (void)offer(server, 5);
    pid_t child = fork();
    if (child == 0) {
        filter_call(SYS_pidfd_getfd, 2, 0, SECCOMP_RET_KILL_PROCESS);
        expect_number(fd_pass_server_address(server), 5);
        _exit(0);
    }
    int status = serve_until_end_of(server, child);
    CHECK(status == 0 || status == SKIPPED, "the client failed");
    fd_pass_server_close(server);
    if (status != 0) exit(status);
}

/* A refusal by the peer is final: no other way is tried. */
static void refusal_is_final(void)
{
    struct fd_pass_server *server = open_server_that_shares("auto");
    (void)offer(server, 5);
    pid_t child = fork();
    if (child == 0) {
        struct fd_pass_address address = *fd_pass_server_address(server);
        address.ticket[3] ^= 1;
        expect(&address, ISTHMUS_ERR_PERMISSION, "refuses to share its memory");
        _exit(0);
    }
    CHECK(serve_until_end_of(server, child) == 0, "the client failed");
    fd_pass_server_close(server);
}

/* A busy peer is waited for; no other way is tried. */
static void busy_peer_is_waited_for(void)
{
    enum { NAME_BYTES = sizeof(sa_family_t) + 1 + sizeof "isthmus-" - 1 + 32 };
    struct fd_pass_server *server = open_server_that_shares("auto");
    (void)offer(server, 5);
    filter_call(SYS_connect, 2, NAME_BYTES, fails_with(EAGAIN));
    expect(fd_pass_server_address(server), ISTHMUS_ERR_UNREACHABLE, "does not answer");
    fd_pass_server_close(server);
}

static void stands_in_for_the_socket(void)
{
    struct fd_pass_server *server = open_server_that_shares("auto");
    struct fd_pass_address address = *fd_pass_server_address(server);
    (void)offer(server, 5);
    address.name[0] ^= 1; /* no process listens there */
    expect_number(&address, 5);
    share = "socket";
    expect(&address, ISTHMUS_ERR_PEER_LOST, "connecting failed: Connection refused");
    fd_pass_server_close(server);
}

static void needs_no_sockets(void)
{
    filter_call(SYS_socket, 0, AF_UNIX, fails_with(EAFNOSUPPORT));
    struct fd_pass_server *server = NULL;
    share = "socket";
    CHECK(fd_pass_server_open(&services, &server) == ISTHMUS_ERR_UNSUPPORTED, "%s", last_failure);
    server = open_server_that_shares("auto");
    (void)offer(server, 5);
    expect_number(fd_pass_server_address(server), 5);
    CHECK(fd_pass_serve(server) == 0, "nobody asked");
    fd_pass_server_close(server);
}

static void no_system_call_is_named(void)
{
    struct fd_pass_server *server = open_server_that_shares("auto");
    struct fd_pass_address address = *fd_pass_server_address(server);
    address.name[0] ^= 1;
    filter_call(SYS_pidfd_getfd, 2, 0, fails_with(ENOSYS));
    expect(&address, ISTHMUS_ERR_UNSUPPORTED,
           "by socket: Connection refused; by pidfd_getfd: pidfd_getfd: not in this kernel or sandbox");
    filter_call(SYS_pidfd_open, 1, 0, fails_with(ENOSYS));
    expect(&address, ISTHMUS_ERR_UNSUPPORTED, "pidfd_open: not in this kernel or sandbox");
    fd_pass_server_close(server);
}

static void shows_nothing_unasked(void)
{
    struct fd_pass_server *server = open_server_that_shares("socket");
    (void)offer(server, 5);
    CHECK(fd_pass_server_address(server)->owner.pid == 0, "process %d is shown",
          fd_pass_server_address(server)->owner.pid);
    share = "pidfd";
    expect(fd_pass_server_address(server), ISTHMUS_ERR_UNREACHABLE, "the peer does not offer it");
    fd_pass_server_close(server);
}

/* Does a server that shares so let all of the user's processes trace it? */
static bool opens_itself(const char *word)
{
    pid_t child = fork();
    int status;
    if (child == 0) {
        filter_call(SYS_prctl, 0, PR_SET_PTRACER, SECCOMP_RET_KILL_PROCESS);
        (void)open_server_that_shares(word);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) exit(SKIPPED);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

static void opens_itself_when_told(void)
{
    CHECK(!opens_itself("auto"), "it does unasked");
    CHECK(!opens_itself("socket"), "it does unasked");
    CHECK(opens_itself("pidfd"), "it does not, where Yama asks for it");
}

static void unknown_word_is_an_error(void)
{
    struct fd_pass_server *server = NULL;
    int before = count_descriptors();
    share = "pidfs";
    CHECK(fd_pass_server_open(&services, &server) == ISTHMUS_ERR_INVALID, "'pidfs' was taken");
    CHECK(strstr(last_failure, "'pidfs'; valid: auto, socket, pidfd") != NULL, "the message is '%s'", last_failure);
    CHECK(count_descriptors() == before, "%d descriptors after, %d before", count_descriptors(), before);
}

static void leaves_nothing_open(void)
{
    static const char *const words[] = {"auto", "socket", "pidfd"};
    for (int i = 0; i < 3; i++) {
        int before = count_descriptors();
        struct fd_pass_server *server = open_server_that_shares(words[i]);
        struct fd_pass_bundle bundle = {.n = 0};
        (void)offer(server, 5);
        if (i == 2) CHECK(fetch(fd_pass_server_address(server), &bundle) == ISTHMUS_OK, "%s", last_failure);
        fd_pass_bundle_close(&bundle);
        fd_pass_server_close(server);
        CHECK(count_descriptors() == before, "%s: %d descriptors after, %d before", words[i], count_descriptors(),
              before);
    }
}

static const struct fd_pass_case cases[] = {
    {"gives_all_offers", gives_all_offers},
    {"gives_later_offers", gives_later_offers},
    {"withdrawn_meanwhile", withdrawn_meanwhile},
    {"table_of_the_card_only", table_of_the_card_only},
    {"table_of_another_build", table_of_another_build},
    {"process_of_the_card_only", process_of_the_card_only},
    {"countersign_is_demanded", countersign_is_demanded},
    {"offer_of_the_table_only", offer_of_the_table_only},
    {"ended_process_is_lost", ended_process_is_lost},
    {"other_user_is_refused", other_user_is_refused},
    {"untraceable_process_refuses", untraceable_process_refuses},
    {"socket_comes_first", socket_comes_first},
    {"refusal_is_final", refusal_is_final},
    {"busy_peer_is_waited_for", busy_peer_is_waited_for},
    {"stands_in_for_the_socket", stands_in_for_the_socket},
    {"needs_no_sockets", needs_no_sockets},
    {"no_system_call_is_named", no_system_call_is_named},
    {"shows_nothing_unasked", shows_nothing_unasked},
    {"opens_itself_when_told", opens_itself_when_told},
    {"unknown_word_is_an_error", unknown_word_is_an_error},
    {"leaves_nothing_open", leaves_nothing_open},
};

int main(int argc, char **argv) { return run_case(cases, sizeof cases / sizeof *cases, argc, argv); }
