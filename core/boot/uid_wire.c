/* core/boot/uid_wire.c: see uid_wire.h. For blocking sockets; the server has its own, that never blocks. */
#include "core/boot/uid_wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
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

/* Take n bytes off the front of the parts. */
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

bool ist_uid_receive(int fd, int64_t deadline_ms, uint32_t max_bytes, struct ist_uid_head *head, void **value)
{
    if (!receive_bytes(fd, deadline_ms, head, sizeof *head)) return false;
    errno = EPROTO;
    if (head->key_bytes != 0 || head->value_bytes > max_bytes) return false;
    char *bytes = malloc((size_t)head->value_bytes + 1);
    if (bytes == NULL) return false;
    if (!receive_bytes(fd, deadline_ms, bytes, head->value_bytes)) {
        free(bytes);
        return false;
    }
    bytes[head->value_bytes] = '\0';
    *value = bytes;
    return true;
}

bool ist_uid_welcome_check(const void *value, size_t value_bytes, int pe, int n_pes)
{
    bool has_me = false;
    int32_t before = -1;
    struct ist_uid_neighbour neighbour;
    if (value_bytes % sizeof neighbour != 0) return false;
    for (size_t at = 0; at < value_bytes; at += sizeof neighbour) {
        memcpy(&neighbour, (const char *)value + at, sizeof neighbour);
        if (neighbour.pe <= before || neighbour.pe >= n_pes) return false;
        has_me = has_me || neighbour.pe == pe;
        before = neighbour.pe;
    }
    return has_me;
}
