/* tests/contract/fd_pass_test.c: fd_pass_test CASE: which processes get the descriptors of plugins/common/fd_pass by
 * socket, and which do not. By the table: fd_pass_table_test.c. Not the transports that use it: those have the contract
 * suite. */
#include "plugins/common/fd_pass_wire.h"
#include "tests/contract/fd_pass_fixture.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

enum { SILENT_CLIENTS = 5 };

/* ---- cases ---- */

static void gives_all_offers(void)
{
    struct fd_pass_server *server = open_server();
    uint32_t ids[3];
    for (unsigned i = 0; i < 3; i++) ids[i] = offer(server, 100 + i);
    fd_pass_withdraw(server, ids[1]);
    pid_t child = fork();
    if (child == 0) {
        struct fd_pass_bundle bundle = {.n = 0};
        CHECK(fetch(fd_pass_server_address(server), &bundle) == ISTHMUS_OK, "%s", last_failure);
        CHECK(bundle.n == 2, "%u descriptors came, 2 are on offer", bundle.n);
        for (uint32_t i = 0; i < bundle.n; i++) {
            uint64_t number = 0;
            CHECK(pread(bundle.fds[i], &number, sizeof number, 0) == (ssize_t)sizeof number, "%s", strerror(errno));
            CHECK(bundle.ids[i] == (number == 100 ? ids[0] : ids[2]), "number %u is the wrong one", bundle.ids[i]);
        }
        fd_pass_bundle_close(&bundle);
        _exit(0);
    }
    CHECK(serve_until_end_of(server, child) == 0, "the client failed");
    fd_pass_server_close(server);
}

static void refuses_wrong_ticket(void)
{
    enum { TICKET_BITS = 8 * sizeof((struct fd_pass_address *)0)->ticket };
    struct fd_pass_server *server = open_server();
    (void)offer(server, 1);
    pid_t child = fork();
    if (child == 0) {
        for (size_t bit = 0; bit < TICKET_BITS; bit += 9) { /* each byte, and each place in one */
            struct fd_pass_address address = *fd_pass_server_address(server);
            struct fd_pass_bundle bundle = {.n = 0};
            address.ticket[bit / 8] ^= (uint8_t)(1u << bit % 8);
            isthmus_status status = fetch(&address, &bundle);
            CHECK(status == ISTHMUS_ERR_PERMISSION, "status %d: %s", status, last_failure);
            CHECK(bundle.n == 0, "%u descriptors came", bundle.n);
        }
        _exit(0);
    }
    CHECK(serve_until_end_of(server, child) == 0, "the client failed");
    CHECK(warnings == 1, "%d warnings were logged, expected 1 for all that the client asks", warnings);
    fd_pass_server_close(server);
}

/* As any process on the host can read it in /proc/net/unix. */
static socklen_t public_name(const struct fd_pass_address *address, struct sockaddr_un *out)
{
    char name[64] = "isthmus-";
    for (size_t i = 0; i < sizeof address->name; i++)
        snprintf(name + 8 + 2 * i, sizeof name - 8 - 2 * i, "%02x", address->name[i]);
    size_t length = strlen(name);
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path + 1, name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

/* A raw connection that sends `n` invalid bytes, or none. */
static int connect_by_hand(const struct fd_pass_address *address, size_t n)
{
    struct sockaddr_un to;
    char nonsense[256];
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    socklen_t to_length = public_name(address, &to);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&to, to_length) == 0, "connect: %s", strerror(errno));
    memset(nonsense, 0x77, sizeof nonsense);
    if (n > 0) CHECK(send(fd, nonsense, n, MSG_NOSIGNAL) == (ssize_t)n, "send: %s", strerror(errno));
    return fd;
}

/* The child has another user; it knows name and ticket, as if it had read the card, and does not check which process
 * serves. */
static void refuses_other_user(void)
{
    if (geteuid() != 0) {
        fprintf(stderr, "skipped: only root can become another user\n");
        exit(SKIPPED);
    }
    struct fd_pass_server *server = open_server();
    (void)offer(server, 1);
    pid_t child = fork();
    if (child == 0) {
        struct fd_pass_request request;
        char answer[sizeof(struct fd_pass_reply)];
        CHECK(setgid(NOBODY) == 0 && setuid(NOBODY) == 0, "setuid: %s", strerror(errno));
        fd_pass_request_write(fd_pass_server_address(server), &request);
        int fd = connect_by_hand(fd_pass_server_address(server), 0);
        (void)send(fd, &request, sizeof request, MSG_NOSIGNAL);
        ssize_t got = recv(fd, answer, sizeof answer, 0);
        CHECK(got <= 0, "%zd bytes of answer came", got);
        _exit(0);
    }
    CHECK(serve_until_end_of(server, child) == 0, "the client failed");
    CHECK(warnings == 1, "%d warnings were logged, expected 1", warnings);
    fd_pass_server_close(server);
}

static void refuses_nonsense(void)
{
    struct fd_pass_server *server = open_server();
    (void)offer(server, 1);
    for (size_t n = 1; n < 256; n += 5) {
        char answer[64];
        int fd = connect_by_hand(fd_pass_server_address(server), n);
        struct pollfd events = {.fd = fd_pass_server_event_fd(server), .events = POLLIN};
        while (poll(&events, 1, 0) > 0) fd_pass_serve(server);
        ssize_t got = recv(fd, answer, sizeof answer, 0);
        CHECK(got <= 0, "%zu bytes of nonsense got %zd bytes of answer", n, got);
        close(fd);
    }
    fd_pass_server_close(server);
}

/* Clients that connect and send nothing do not block other clients. */
static void silent_client_blocks_nobody(void)
{
    struct fd_pass_server *server = open_server();
    (void)offer(server, 7);
    int silent[SILENT_CLIENTS];
    for (int i = 0; i < SILENT_CLIENTS; i++) silent[i] = connect_by_hand(fd_pass_server_address(server), 0);
    pid_t child = fork();
    if (child == 0) {
        struct fd_pass_bundle bundle = {.n = 0};
        CHECK(fetch(fd_pass_server_address(server), &bundle) == ISTHMUS_OK, "%s", last_failure);
        CHECK(bundle.n == 1, "%u descriptors came", bundle.n);
        _exit(0);
    }
    CHECK(serve_until_end_of(server, child) == 0, "the client failed");
    for (int i = 0; i < SILENT_CLIENTS; i++) close(silent[i]);
    struct pollfd events = {.fd = fd_pass_server_event_fd(server), .events = POLLIN};
    while (poll(&events, 1, 0) > 0) fd_pass_serve(server); /* closed connections: nothing stays in the set */
    fd_pass_server_close(server);
}

static void closed_server_is_lost(void)
{
    struct fd_pass_server *server = open_server();
    struct fd_pass_address address = *fd_pass_server_address(server);
    struct fd_pass_bundle bundle = {.n = 0};
    fd_pass_server_close(server);
    isthmus_status status = fetch(&address, &bundle);
    CHECK(status == ISTHMUS_ERR_PEER_LOST, "status %d: %s", status, last_failure);
}

/* The server closes after the client has connected and sent its request. */
static void server_that_ends_is_lost(void)
{
    int ready[2];
    CHECK(pipe(ready) == 0, "pipe: %s", strerror(errno));
    struct fd_pass_server *server = open_server();
    struct fd_pass_address address = *fd_pass_server_address(server);
    pid_t child = fork();
    if (child == 0) {
        struct pollfd fd = {.fd = fd_pass_server_event_fd(server), .events = POLLIN};
        close(ready[0]);
        (void)!write(ready[1], "r", 1);
        (void)poll(&fd, 1, 1000 * TIMEOUT_S);
        _exit(0); /* without serving; this was the last holder of the socket */
    }
    fd_pass_server_close(server);
    char byte;
    CHECK(read(ready[0], &byte, 1) == 1, "the child did not start");
    struct fd_pass_bundle bundle = {.n = 0};
    isthmus_status status = fetch(&address, &bundle);
    CHECK(status == ISTHMUS_ERR_PEER_LOST || status == ISTHMUS_ERR_PERMISSION, "status %d: %s", status, last_failure);
    waitpid(child, NULL, 0);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- another process behind the name of a server that has ended ---- */

struct impostor {
    pid_t pid;
    int ready; /* readable: it listens */
    int heard; /* what clients have sent to it */
};

/* Takes the name, and replies to one client with a descriptor and the given countersign. */
static void pose(const struct fd_pass_address *address, const uint8_t countersign[16], int ready, int heard)
{
    struct sockaddr_un at;
    socklen_t length = public_name(address, &at);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), offer_fd = make_fd(666);
    CHECK(bind(listener, (struct sockaddr *)&at, length) == 0 && listen(listener, 1) == 0, "%s", strerror(errno));
    (void)!write(ready, "r", 1);
    int client = accept(listener, NULL, NULL);
    char request[64];
    ssize_t n = recv(client, request, sizeof request, 0);
    (void)!write(heard, request, n > 0 ? (size_t)n : 0);
    struct fd_pass_address claimed = *address;
    struct fd_pass_reply reply;
    memcpy(claimed.countersign, countersign, sizeof claimed.countersign);
    fd_pass_reply_write(&claimed, &reply);
    reply.n = reply.ids[0] = 1;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))}};
    memcpy(CMSG_DATA(&control.header), &offer_fd, sizeof offer_fd);
    struct iovec part = {&reply, sizeof reply};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    (void)sendmsg(client, &message, MSG_NOSIGNAL);
}

static struct impostor start_impostor(const struct fd_pass_address *address, const uint8_t countersign[16], uid_t user)
{
    int ready[2], heard[2];
    CHECK(pipe(ready) == 0 && pipe(heard) == 0, "pipe: %s", strerror(errno));
    struct impostor impostor = {.pid = fork(), .ready = ready[0], .heard = heard[0]};
    if (impostor.pid == 0) {
        CHECK(user == geteuid() || (setgid(user) == 0 && setuid(user) == 0), "setuid: %s", strerror(errno));
        pose(address, countersign, ready[1], heard[1]);
        _exit(0);
    }
    close(ready[1]);
    close(heard[1]);
    char byte;
    CHECK(read(impostor.ready, &byte, 1) == 1, "the impostor did not start");
    return impostor;
}

/* The number of bytes that it has received. */
static size_t end_impostor(const struct impostor *impostor)
{
    char bytes[64];
    ssize_t n = read(impostor->heard, bytes, sizeof bytes);
    kill(impostor->pid, SIGKILL);
    waitpid(impostor->pid, NULL, 0);
    return n > 0 ? (size_t)n : 0;
}

/* Another user has obtained the countersign: its descriptors are not taken, and it does not learn the ticket. */
static void other_user_cannot_pose(void)
{
    if (geteuid() != 0) {
        fprintf(stderr, "skipped: only root can become another user\n");
        exit(SKIPPED);
    }
    struct fd_pass_server *server = open_server();
    struct fd_pass_address address = *fd_pass_server_address(server);
    struct fd_pass_bundle bundle = {.n = 0};
    fd_pass_server_close(server);
    struct impostor impostor = start_impostor(&address, address.countersign, NOBODY);
    isthmus_status status = fetch(&address, &bundle);
    CHECK(status == ISTHMUS_ERR_PERMISSION && bundle.n == 0, "status %d, %u descriptors", status, bundle.n);
    CHECK(strstr(last_failure, "of user 65534") != NULL, "the message is '%s'", last_failure);
    size_t n_heard = end_impostor(&impostor);
    CHECK(n_heard == 0, "the impostor was shown %zu bytes", n_heard);
}

static void countersign_is_demanded(void)
{
    for (size_t bit = 0; bit < 128; bit += 9) {
        struct fd_pass_server *server = open_server();
        struct fd_pass_address address = *fd_pass_server_address(server), guessed = address;
        struct fd_pass_bundle bundle = {.n = 0};
        fd_pass_server_close(server);
        guessed.countersign[bit / 8] ^= (uint8_t)(1u << bit % 8);
        struct impostor impostor = start_impostor(&address, guessed.countersign, geteuid());
        int before = count_descriptors();
        isthmus_status status = fetch(&address, &bundle);
        CHECK(status == ISTHMUS_ERR_PERMISSION && bundle.n == 0, "status %d: %s", status, last_failure);
        CHECK(count_descriptors() == before, "%d descriptors after, %d before", count_descriptors(), before);
        (void)end_impostor(&impostor);
    }
}

/* Without a server the client gives up after its time-out, and not before. */
static void stopped_server_times_out(void)
{
    struct fd_pass_server *server = open_server();
    struct fd_pass_bundle bundle = {.n = 0};
    double begin_s = now_s();
    isthmus_status status = fd_pass_fetch(&services, &peer, fd_pass_server_address(server), 1, &bundle);
    double took_s = now_s() - begin_s;
    CHECK(status == ISTHMUS_ERR_UNREACHABLE, "status %d: %s", status, last_failure);
    CHECK(took_s > 0.9 && took_s < TIMEOUT_S, "it took %.1f s, the time-out is 1 s", took_s);
    fd_pass_server_close(server);
}

static int *n_signals; /* in memory that the processes share */

static void count_signal(int number)
{
    (void)number;
    __atomic_fetch_add(n_signals, 1, __ATOMIC_RELEASE);
}

static void share_count(void)
{
    n_signals = mmap(NULL, sizeof *n_signals, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(n_signals != MAP_FAILED, "mmap: %s", strerror(errno));
}

static int count_so_far(void) { return __atomic_load_n(n_signals, __ATOMIC_ACQUIRE); }

/* Leaves its status to be waited for. */
static bool has_ended(pid_t child)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

/* Every millisecond, until the end of the process. */
static void start_signals(void)
{
    const struct itimerval often = {{0, 1000}, {0, 1000}};
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0, "%s", strerror(errno));
}

/* The program's signals end no exchange: the client has had some while it waits, when the server replies. */
static void signals_interrupt_nothing(void)
{
    enum { MANY = 20 };
    struct fd_pass_server *server = open_server();
    (void)offer(server, 1);
    share_count();
    pid_t child = fork();
    if (child == 0) {
        struct fd_pass_bundle bundle = {.n = 0};
        start_signals();
        CHECK(fetch(fd_pass_server_address(server), &bundle) == ISTHMUS_OK, "%s", last_failure);
        CHECK(bundle.n == 1, "%u descriptors came", bundle.n);
        _exit(0);
    }
    struct pollfd events = {.fd = fd_pass_server_event_fd(server), .events = POLLIN};
    CHECK(poll(&events, 1, -1) == 1, "poll: %s", strerror(errno)); /* the client has connected */
    for (const int before = count_so_far(); count_so_far() < before + MANY && !has_ended(child);) sched_yield();
    CHECK(serve_until_end_of(server, child) == 0, "the client failed");
    fd_pass_server_close(server);
}

/* Nor do they make it wait for longer. */
static void signals_delay_no_time_out(void)
{
    struct fd_pass_server *server = open_server();
    struct fd_pass_bundle bundle = {.n = 0};
    share_count();
    start_signals();
    isthmus_status status = fd_pass_fetch(&services, &peer, fd_pass_server_address(server), 1, &bundle);
    CHECK(status == ISTHMUS_ERR_UNREACHABLE, "status %d: %s", status, last_failure);
    CHECK(count_so_far() > 0, "no signal came");
    fd_pass_server_close(server);
}

static void limits_offers(void)
{
    struct fd_pass_server *server = open_server();
    int before = count_descriptors(), fd = make_fd(1);
    uint32_t id = 0, first = 0;
    for (int i = 0; i < FD_PASS_MAX_OFFERS; i++) {
        CHECK(fd_pass_offer(server, fd, &id) == ISTHMUS_OK, "offer %d: %s", i, last_failure);
        if (i == 0) first = id;
    }
    CHECK(fd_pass_offer(server, fd, &id) == ISTHMUS_ERR_LIMIT, "more than %d offers were taken", FD_PASS_MAX_OFFERS);
    fd_pass_withdraw(server, first);
    fd_pass_withdraw(server, first);
    CHECK(fd_pass_offer(server, fd, &id) == ISTHMUS_OK, "a place that became free is not used: %s", last_failure);
    CHECK(id != first, "the number %u was given twice", id);
    close(fd);
    fd_pass_server_close(server);
    CHECK(count_descriptors() <= before, "%d descriptors after, %d before", count_descriptors(), before);
}

/* Clients one after the other, of a process that cannot open a file any more. */
static void server_without_descriptors(void)
{
    struct fd_pass_server *server = open_server();
    (void)offer(server, 7);
    pid_t children[3];
    for (int i = 0; i < 3; i++) {
        struct fd_pass_bundle bundle = {.n = 0};
        children[i] = fork();
        if (children[i] > 0) continue;
        CHECK(fetch(fd_pass_server_address(server), &bundle) == ISTHMUS_OK, "%s", last_failure);
        _exit(bundle.n == 1 ? 0 : 1);
    }
    struct rlimit few = {64, 64};
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit: %s", strerror(errno));
    while (dup(STDERR_FILENO) >= 0) {}
    for (int i = 0; i < 3; i++) CHECK(serve_until_end_of(server, children[i]) == 0, "client %d failed", i);
    fd_pass_server_close(server);
}

static bool has_no_memory; /* the system, to report what arrives at another descriptor */

int epoll_ctl(int events, int operation, int fd, struct epoll_event *event)
{
    if (!has_no_memory || operation != EPOLL_CTL_ADD) return (int)syscall(SYS_epoll_ctl, events, operation, fd, event);
    errno = ENOMEM;
    return -1;
}

static void unwatched_client_is_served(void)
{
    struct fd_pass_server *server = open_server();
    (void)offer(server, 7);
    has_no_memory = true;
    pid_t child = fork();
    if (child == 0) {
        struct fd_pass_bundle bundle = {.n = 0};
        CHECK(fetch(fd_pass_server_address(server), &bundle) == ISTHMUS_OK, "%s", last_failure);
        _exit(bundle.n == 1 ? 0 : 1);
    }
    CHECK(serve_until_end_of(server, child) == 0, "the client failed");
    fd_pass_server_close(server);
}

/* At its limit of open files the client gets an error that names the limit, and no part of a bundle. */
static void client_without_descriptors(void)
{
    struct fd_pass_server *server = open_server();
    for (unsigned i = 0; i < 8; i++) (void)offer(server, i);
    pid_t child = fork();
    if (child == 0) {
        struct fd_pass_bundle bundle = {.n = 0};
        int before = count_descriptors();
        struct rlimit few = {(rlim_t)before + 4, (rlim_t)before + 4};
        CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit: %s", strerror(errno));
        isthmus_status status = fetch(fd_pass_server_address(server), &bundle);
        CHECK(status == ISTHMUS_ERR_NO_MEMORY, "status %d: %s", status, last_failure);
        CHECK(count_descriptors() == before, "%d descriptors after, %d before", count_descriptors(), before);
        _exit(0);
    }
    CHECK(serve_until_end_of(server, child) == 0, "the client failed");
    fd_pass_server_close(server);
}

/* Many clients at once, each served. */
static void many_clients(void)
{
    enum { CLIENTS = 40 };
    struct fd_pass_server *server = open_server();
    (void)offer(server, 7);
    pid_t children[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        children[i] = fork();
        if (children[i] != 0) continue;
        struct fd_pass_bundle bundle = {.n = 0};
        CHECK(fetch(fd_pass_server_address(server), &bundle) == ISTHMUS_OK, "%s", last_failure);
        _exit(bundle.n == 1 ? 0 : 1);
    }
    for (int i = 0; i < CLIENTS; i++) CHECK(serve_until_end_of(server, children[i]) == 0, "client %d failed", i);
    fd_pass_server_close(server);
}

static const struct fd_pass_case cases[] = {
    {"gives_all_offers", gives_all_offers},
    {"refuses_other_user", refuses_other_user},
    {"refuses_wrong_ticket", refuses_wrong_ticket},
    {"refuses_nonsense", refuses_nonsense},
    {"silent_client_blocks_nobody", silent_client_blocks_nobody},
    {"closed_server_is_lost", closed_server_is_lost},
    {"server_that_ends_is_lost", server_that_ends_is_lost},
    {"other_user_cannot_pose", other_user_cannot_pose},
    {"countersign_is_demanded", countersign_is_demanded},
    {"stopped_server_times_out", stopped_server_times_out},
    {"limits_offers", limits_offers},
    {"server_without_descriptors", server_without_descriptors},
    {"unwatched_client_is_served", unwatched_client_is_served},
    {"client_without_descriptors", client_without_descriptors},
    {"many_clients", many_clients},
    {"signals_interrupt_nothing", signals_interrupt_nothing},
    {"signals_delay_no_time_out", signals_delay_no_time_out},
};

int main(int argc, char **argv) { return run_case(cases, sizeof cases / sizeof *cases, argc, argv); }
