/* core/boot/uid_wire.c: see uid_wire.h. For blocking sockets; the server has its own functions, which never block. */
#include "core/boot/uid_wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

int64_t ist_uid_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Removes n bytes from the front of the parts. */
static void advance(struct msghdr *message, size_t n)
{
    while (message->msg_iovlen > 0 && n >= message->msg_iov->iov_len) {
        n -= message->msg_iov->iov_len;
        message->msg_iov++;
        message->msg_iovlen--;
    }
    if (message->msg_iovlen == 0) return;
    message->msg_iov->iov_base = (char *)message->msg_iov->iov_base + n;
    message->msg_iov->iov_len -= n;
}

bool ist_uid_send(int fd, const struct ist_uid_head *head, const char *key, const void *value)
{
    struct iovec parts[] = {
        {(void *)(uintptr_t)head, sizeof *head},
        {(void *)(uintptr_t)key, head->key_bytes},
        {(void *)(uintptr_t)value, head->value_bytes},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
    while (message.msg_iovlen > 0) {
        ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) return false;
        if (n >= 0) advance(&message, (size_t)n);
    }
    return true;
}

static bool wait_readable(int fd, int64_t deadline_ms)
{
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int64_t left_ms = deadline_ms < 0 ? -1 : deadline_ms - ist_uid_now_ms();
        if (deadline_ms >= 0 && left_ms < 0) left_ms = 0;
        int n = poll(&ready, 1, (int)left_ms);
        if (n > 0) return true;
        if (n == 0) errno = ETIMEDOUT;
        if (n == 0 || errno != EINTR) return false;
    }
}

static bool receive_bytes(int fd, int64_t deadline_ms, void *out, size_t n_bytes)
{
    for (char *at = out, *end = at + n_bytes; at < end;) {
        if (deadline_ms >= 0 && !wait_readable(fd, deadline_ms)) return false;
        ssize_t n = recv(fd, at, (size_t)(end - at), 0);
        if (n == 0) errno = ECONNRESET;
        if (n == 0 || (n < 0 && errno != EINTR)) return false;
        if (n > 0) at += n;
    }
    return true;
}

bool ist_uid_receive_head(int fd, int64_t deadline_ms, uint32_t max_bytes, struct ist_uid_head *head)
{
    if (!receive_bytes(fd, deadline_ms, head, sizeof *head)) return false;
    errno = EPROTO;
    return head->key_bytes == 0 && head->value_bytes <= max_bytes;
}

bool ist_uid_receive_value(int fd, int64_t deadline_ms, const struct ist_uid_head *head, char *out)
{
    char dropped[512];
    if (out != NULL) {
        out[head->value_bytes] = '\0';
        return receive_bytes(fd, deadline_ms, out, head->value_bytes);
    }
    for (size_t left = head->value_bytes, n; left > 0; left -= n) {
        n = left < sizeof dropped ? left : sizeof dropped;
        if (!receive_bytes(fd, deadline_ms, dropped, n)) return false;
    }
    return true;
}

bool ist_uid_receive(int fd, int64_t deadline_ms, uint32_t max_bytes, struct ist_uid_head *head, char *out)
{
    return ist_uid_receive_head(fd, deadline_ms, max_bytes, head) && ist_uid_receive_value(fd, deadline_ms, head, out);
}

/* ---- welcomes: malloc'ed, or copied to an aligned place ---- */

const struct ist_uid_run *ist_uid_welcome_runs(const void *value)
{
    return (const struct ist_uid_run *)((const struct ist_uid_welcome *)value + 1);
}

const struct ist_uid_neighbour *ist_uid_welcome_neighbours(const void *value)
{
    const struct ist_uid_welcome *welcome = value;
    return (const struct ist_uid_neighbour *)(ist_uid_welcome_runs(value) + welcome->n_runs);
}

/* Returns the host of a PE, or -1 if the runs are not those of n_pes PEs, or do not number hosts in the order of their
 * first PEs. */
static int host_in_runs(const struct ist_uid_run *runs, int n_runs, int pe, int n_pes)
{
    int32_t first = 0, n_hosts = 0, host = -1;
    for (int i = 0; i < n_runs; i++) {
        if (runs[i].n_pes < 1 || runs[i].n_pes > n_pes - first || runs[i].host < 0 || runs[i].host > n_hosts) return -1;
        n_hosts += runs[i].host == n_hosts;
        if (pe >= first && pe < first + runs[i].n_pes) host = runs[i].host;
        first += runs[i].n_pes;
    }
    return first == n_pes ? host : -1;
}

static bool are_neighbours(const struct ist_uid_welcome *welcome, int pe, int n_pes, int n_there)
{
    const struct ist_uid_neighbour *neighbours = ist_uid_welcome_neighbours(welcome);
    bool has_me = false;
    int32_t before = -1;
    for (int i = 0; i < welcome->n_neighbours; i++) {
        if (neighbours[i].pe <= before || neighbours[i].pe >= n_pes) return false;
        has_me = has_me || neighbours[i].pe == pe;
        before = neighbours[i].pe;
    }
    return has_me && welcome->n_neighbours == n_there;
}

bool ist_uid_welcome_check(const void *value, size_t value_bytes, int pe, int n_pes)
{
    const struct ist_uid_welcome *welcome = value;
    if (value_bytes < sizeof *welcome || welcome->n_runs < 1 || welcome->n_runs > n_pes || welcome->n_neighbours < 1 ||
        welcome->n_neighbours > n_pes)
        return false;
    if (value_bytes != sizeof *welcome + (size_t)welcome->n_runs * sizeof(struct ist_uid_run) +
                           (size_t)welcome->n_neighbours * sizeof(struct ist_uid_neighbour))
        return false;
    const struct ist_uid_run *runs = ist_uid_welcome_runs(value);
    int host = host_in_runs(runs, welcome->n_runs, pe, n_pes), n_there = 0;
    for (int i = 0; i < welcome->n_runs && host >= 0; i++) n_there += runs[i].host == host ? runs[i].n_pes : 0;
    return host >= 0 && are_neighbours(welcome, pe, n_pes, n_there);
}
