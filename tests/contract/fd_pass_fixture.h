/* tests/contract/fd_pass_fixture.h: the surroundings of plugins/common/fd_pass in a transport, for the tests of its two
 * ways. */
#ifndef FD_PASS_FIXTURE_H
#define FD_PASS_FIXTURE_H

#include "plugins/common/fd_pass.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77, NOBODY = 65534, TIMEOUT_S = 20 };

#define CHECK(condition, ...) ((condition) ? (void)0 : fault(__FILE__, __LINE__, #condition, __VA_ARGS__))

static inline _Noreturn void fault(const char *file, int line, const char *condition, const char *fmt, ...)
{
    va_list args;
    fprintf(stderr, "%s:%d: not true: %s: ", file, line, condition);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

/* ---- what a transport would have ---- */

static char last_failure[400];
static int warnings;

static inline void keep_log(void *core, uint32_t level, const char *fmt, ...)
{
    (void)core, (void)fmt;
    if (level == ISTHMUS_LOG_WARN) __atomic_fetch_add(&warnings, 1, __ATOMIC_RELAXED);
}

static inline isthmus_status keep_failure(void *core, isthmus_status code, const char *fmt, ...)
{
    va_list args;
    (void)core;
    va_start(args, fmt);
    vsnprintf(last_failure, sizeof last_failure, fmt, args);
    va_end(args);
    return code;
}

static const char *share; /* as the user has set the variable */

static inline const char *give_config(void *core, const char *key)
{
    (void)core;
    return strcmp(key, "SHARE") == 0 ? share : NULL;
}

static const struct isthmus_services services = {
    .struct_size = sizeof services, .log = keep_log, .fail = keep_failure, .config = give_config};
static const struct isthmus_peer peer = {.struct_size = sizeof peer, .pe = 1, .host_name = "here"};

static inline struct fd_pass_server *open_server(void)
{
    struct fd_pass_server *server = NULL;
    CHECK(fd_pass_server_open(&services, &server) == ISTHMUS_OK, "%s", last_failure);
    return server;
}

/* A descriptor that holds one number. */
static inline int make_fd(uint64_t number)
{
    int fd = memfd_create("offer", MFD_CLOEXEC);
    CHECK(fd >= 0 && pwrite(fd, &number, sizeof number, 0) == (ssize_t)sizeof number, "memfd: %s", strerror(errno));
    return fd;
}

static inline uint32_t offer(struct fd_pass_server *server, uint64_t number)
{
    uint32_t id = 0;
    int fd = make_fd(number);
    CHECK(fd_pass_offer(server, fd, &id) == ISTHMUS_OK, "%s", last_failure);
    close(fd);
    return id;
}

static inline int count_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 1024; fd++) n += dup2(fd, fd) == fd;
    return n;
}

/* Serve until the child has ended; its exit status. */
static inline int serve_until_end_of(struct fd_pass_server *server, pid_t child)
{
    int status = 0;
    struct pollfd fd = {.fd = fd_pass_server_event_fd(server), .events = POLLIN};
    while (waitpid(child, &status, WNOHANG) == 0)
        if (poll(&fd, 1, 10) > 0) fd_pass_serve(server);
    CHECK(WIFEXITED(status), "the client was killed by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static inline isthmus_status fetch(const struct fd_pass_address *address, struct fd_pass_bundle *bundle)
{
    return fd_pass_fetch(&services, &peer, address, TIMEOUT_S, bundle);
}

struct fd_pass_case {
    const char *name;
    void (*run)(void);
};

/* PROGRAM CASE runs it; without, they are listed. */
static inline int run_case(const struct fd_pass_case *cases, size_t n, int argc, char **argv)
{
    for (size_t i = 0; i < n; i++) {
        if (argc == 1) printf("%s\n", cases[i].name);
        if (argc != 2 || strcmp(argv[1], cases[i].name) != 0) continue;
        cases[i].run();
        return EXIT_SUCCESS;
    }
    return argc == 1 ? EXIT_SUCCESS : 2;
}

#endif
