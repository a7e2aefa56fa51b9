/* core/boot/pmi_wire.c: see pmi.h: the two protocols, over the socket that a launcher passes to each PE.
 * Requests and replies alternate. PMI-1 sends lines of "name=value" with blanks in between. PMI-2 begins with one such
 * line, which asks for version 2; from then on each message is its length in six characters, then "name=value;" pairs.
 * The names are those of MPICH's "simple" PMI client, which launchers imitate.
 * The program's MPI library may use the same socket before and after this file does: nothing is read that belongs to
 * no reply, and the version is negotiated again, which launchers allow. */
#include "core/boot/pmi.h"

#include "core/boot/uid_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MESSAGE_BYTES = 2048, LENGTH_CHARS = 6, REPLY_MS = 30000 };

/* ---- bytes ---- */

static isthmus_status fail_lost(const struct ist_pmi *pmi, const char *what)
{
    return ist_fail_errno(ISTHMUS_ERR_UNREACHABLE, "the launcher's %s server does not answer to '%s'", pmi->ops->name,
                          what);
}

/* The descriptor is a socket with every launcher; a pipe would do as well. */
static bool send_all(int fd, const char *bytes, size_t n_bytes)
{
    for (size_t done = 0; done < n_bytes;) {
        ssize_t n = send(fd, bytes + done, n_bytes - done, MSG_NOSIGNAL);
        if (n < 0 && errno == ENOTSOCK) n = write(fd, bytes + done, n_bytes - done);
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) done += (size_t)n;
    }
    return true;
}

/* Waits for a byte. Returns false with errno set. deadline_ms -1: waits for ever. */
static bool await_input(int fd, int64_t deadline_ms)
{
    struct pollfd input = {.fd = fd, .events = POLLIN};
    int n;
    do {
        int64_t left_ms = deadline_ms - ist_uid_now_ms();
        n = poll(&input, 1, deadline_ms < 0 ? -1 : left_ms > 0 ? (int)left_ms : 0);
    } while (n < 0 && errno == EINTR);
    if (n == 0) errno = ETIMEDOUT;
    return n > 0;
}

/* Reads n_bytes, or less up to a line end that counts as read (`ends_at_line`). Returns how many, 0 with errno set
 * if the connection is lost or the time is over. A byte at a time where the end is unknown: a start has few replies. */
static size_t receive(int fd, char *out, size_t n_bytes, bool ends_at_line, int64_t deadline_ms)
{
    size_t done = 0;
    while (done < n_bytes) {
        if (!await_input(fd, deadline_ms)) return 0;
        ssize_t n = read(fd, out + done, ends_at_line ? 1 : n_bytes - done);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) {
            if (n == 0) errno = ECONNRESET;
            return 0;
        }
        done += (size_t)n;
        if (ends_at_line && out[done - 1] == '\n') return done;
    }
    return done;
}

static int64_t deadline_of(int timeout_ms) { return timeout_ms < 0 ? -1 : ist_uid_now_ms() + timeout_ms; }

/* ---- messages ---- */

/* Copies the value of "name=" in a message whose pairs end at `separator`. Returns false if it has none, or no room. */
static bool find_value(const char *message, char separator, const char *name, char *out, size_t room)
{
    const char ends[] = {separator, '\n', '\0'};
    size_t n = strlen(name);
    for (const char *at = message; *at != '\0'; at += strspn(at, ends)) {
        size_t length = strcspn(at, ends);
        if (length > n && strncmp(at, name, n) == 0 && at[n] == '=' && length - n - 1 < room) {
            memcpy(out, at + n + 1, length - n - 1);
            out[length - n - 1] = '\0';
            return true;
        }
        at += length;
    }
    return false;
}

/* Of PEs. Returns `missing` for one that is not there, or that no job has. */
static int find_number(const char *message, char separator, const char *name, int missing)
{
    char text[24], *end;
    if (!find_value(message, separator, name, text, sizeof text)) return missing;
    long number = strtol(text, &end, 10);
    return end != text && *end == '\0' && number >= 0 && number <= IST_BOOT_MOST_PES ? (int)number : missing;
}

static isthmus_status fail_reply(const struct ist_pmi *pmi, const char *reply, const char *wanted)
{
    return ist_fail(ISTHMUS_ERR_UNREACHABLE,
                    "the launcher's %s server sent '%.60s' in place of '%s'; use another launcher, or isthmus-run",
                    pmi->ops->name, reply, wanted);
}

/* Checks that the reply is the one to a request, and a success. */
static isthmus_status check_reply(const struct ist_pmi *pmi, const char *reply, char separator, const char *wanted)
{
    char command[64], code[24];
    if (!find_value(reply, separator, "cmd", command, sizeof command) || strcmp(command, wanted) != 0)
        return fail_reply(pmi, reply, wanted);
    if (find_value(reply, separator, "rc", code, sizeof code) && strcmp(code, "0") != 0)
        return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "the launcher's %s server refuses a request: '%.100s'", pmi->ops->name,
                        reply);
    return ISTHMUS_OK;
}

/* Sends a line and receives one; `wanted` is the command of the reply. */
static isthmus_status line_call(struct ist_pmi *pmi, const char *request, const char *wanted, char *reply,
                                int timeout_ms)
{
    if (!send_all(pmi->fd, request, strlen(request))) return fail_lost(pmi, wanted);
    size_t n = receive(pmi->fd, reply, MESSAGE_BYTES - 1, true, deadline_of(timeout_ms));
    if (n == 0) return fail_lost(pmi, wanted);
    reply[n] = '\0';
    return check_reply(pmi, reply, ' ', wanted);
}

static isthmus_status negotiate(struct ist_pmi *pmi, int version, int subversion)
{
    char request[80], reply[MESSAGE_BYTES];
    snprintf(request, sizeof request, "cmd=init pmi_version=%d pmi_subversion=%d\n", version, subversion);
    isthmus_status status = line_call(pmi, request, "response_to_init", reply, REPLY_MS);
    if (status == ISTHMUS_OK && find_number(reply, ' ', "pmi_version", -1) != version)
        return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "the launcher's %s server refuses a request: '%.100s'", pmi->ops->name,
                        reply);
    return status;
}

/* ---- PMI-1 ---- */

static isthmus_status start_1(struct ist_pmi *pmi)
{
    char reply[MESSAGE_BYTES];
    isthmus_status status = negotiate(pmi, 1, 1);
    if (status == ISTHMUS_OK) status = line_call(pmi, "cmd=get_my_kvsname\n", "my_kvsname", reply, REPLY_MS);
    if (status != ISTHMUS_OK) return status;
    if (find_value(reply, ' ', "kvsname", pmi->name, sizeof pmi->name)) return ISTHMUS_OK;
    return fail_reply(pmi, reply, "kvsname");
}

static isthmus_status put_1(struct ist_pmi *pmi, const char *key, const char *value)
{
    char request[MESSAGE_BYTES], reply[MESSAGE_BYTES];
    snprintf(request, sizeof request, "cmd=put kvsname=%s key=%s value=%s\n", pmi->name, key, value);
    return line_call(pmi, request, "put_result", reply, REPLY_MS);
}

static isthmus_status fence_1(struct ist_pmi *pmi)
{
    char reply[MESSAGE_BYTES];
    return line_call(pmi, "cmd=barrier_in\n", "barrier_out", reply, pmi->timeout_ms);
}

static isthmus_status get_1(struct ist_pmi *pmi, const char *key, char value[IST_PMI_VALUE_BYTES])
{
    char request[MESSAGE_BYTES], reply[MESSAGE_BYTES];
    snprintf(request, sizeof request, "cmd=get kvsname=%s key=%s\n", pmi->name, key);
    isthmus_status status = line_call(pmi, request, "get_result", reply, REPLY_MS);
    if (status != ISTHMUS_OK) return status;
    return find_value(reply, ' ', "value", value, IST_PMI_VALUE_BYTES) ? ISTHMUS_OK : fail_reply(pmi, reply, "value");
}

static void disconnect(struct ist_pmi *pmi)
{
    if (pmi->owns_fd) close(pmi->fd);
    pmi->fd = -1;
}

static void finish_1(struct ist_pmi *pmi)
{
    char reply[MESSAGE_BYTES];
    (void)line_call(pmi, "cmd=finalize\n", "finalize_ack", reply, REPLY_MS);
    disconnect(pmi);
}

const struct ist_pmi_ops ist_pmi_wire_1 = {
    .name = "PMI-1",
    .start = start_1,
    .put = put_1,
    .fence = fence_1,
    .get = get_1,
    .finish = finish_1,
};

/* ---- PMI-2 ---- */

/* `request` begins with its command. The reply to CMD is "CMD-response". */
static isthmus_status framed_call(struct ist_pmi *pmi, const char *request, char *reply, int timeout_ms)
{
    char message[MESSAGE_BYTES], wanted[64];
    int command_chars = (int)strcspn(request, ";");
    int n = snprintf(message, sizeof message, "%*zucmd=%s", LENGTH_CHARS, strlen(request) + 4, request);
    snprintf(wanted, sizeof wanted, "%.*s-response", command_chars, request);
    if (!send_all(pmi->fd, message, (size_t)n)) return fail_lost(pmi, wanted);
    int64_t deadline_ms = deadline_of(timeout_ms);
    char length_text[LENGTH_CHARS + 1] = "";
    if (receive(pmi->fd, length_text, LENGTH_CHARS, false, deadline_ms) == 0) return fail_lost(pmi, wanted);
    long length = strtol(length_text, NULL, 10);
    if (length < 1 || length >= MESSAGE_BYTES) return fail_reply(pmi, length_text, "a length");
    if (receive(pmi->fd, reply, (size_t)length, false, deadline_ms) == 0) return fail_lost(pmi, wanted);
    reply[length] = '\0';
    return check_reply(pmi, reply, ';', wanted);
}

static isthmus_status start_2(struct ist_pmi *pmi)
{
    char request[80], reply[MESSAGE_BYTES];
    isthmus_status status = negotiate(pmi, 2, 0);
    if (status != ISTHMUS_OK) return status;
    snprintf(request, sizeof request, "fullinit;pmirank=%d;threaded=FALSE;", pmi->pe);
    status = framed_call(pmi, request, reply, REPLY_MS);
    if (status != ISTHMUS_OK) return status;
    pmi->pe = find_number(reply, ';', "rank", pmi->pe);
    pmi->n_pes = find_number(reply, ';', "size", pmi->n_pes);
    status = framed_call(pmi, "job-getid;", reply, REPLY_MS);
    if (status != ISTHMUS_OK) return status;
    if (find_value(reply, ';', "jobid", pmi->name, sizeof pmi->name)) return ISTHMUS_OK;
    return fail_reply(pmi, reply, "jobid");
}

static isthmus_status put_2(struct ist_pmi *pmi, const char *key, const char *value)
{
    char request[MESSAGE_BYTES - LENGTH_CHARS - 4], reply[MESSAGE_BYTES];
    snprintf(request, sizeof request, "kvs-put;key=%s;value=%s;", key, value);
    return framed_call(pmi, request, reply, REPLY_MS);
}

static isthmus_status fence_2(struct ist_pmi *pmi)
{
    char reply[MESSAGE_BYTES];
    return framed_call(pmi, "kvs-fence;", reply, pmi->timeout_ms);
}

static isthmus_status get_2(struct ist_pmi *pmi, const char *key, char value[IST_PMI_VALUE_BYTES])
{
    char request[MESSAGE_BYTES - LENGTH_CHARS - 4], reply[MESSAGE_BYTES];
    snprintf(request, sizeof request, "kvs-get;jobid=%s;srcid=-1;key=%s;", pmi->name, key);
    isthmus_status status = framed_call(pmi, request, reply, REPLY_MS);
    if (status != ISTHMUS_OK) return status;
    return find_value(reply, ';', "value", value, IST_PMI_VALUE_BYTES) ? ISTHMUS_OK : fail_reply(pmi, reply, "value");
}

static void finish_2(struct ist_pmi *pmi)
{
    char reply[MESSAGE_BYTES];
    (void)framed_call(pmi, "finalize;", reply, REPLY_MS);
    disconnect(pmi);
}

const struct ist_pmi_ops ist_pmi_wire_2 = {
    .name = "PMI-2",
    .start = start_2,
    .put = put_2,
    .fence = fence_2,
    .get = get_2,
    .finish = finish_2,
};

/* ---- the connection ---- */

/* A wrapper of the launcher may have closed the descriptor. The session has one of its own: an MPI library in this
 * process uses the launcher's too and closes it at its end, after which another file may get the number. */
static isthmus_status take_descriptor(struct ist_pmi *pmi, const char *text)
{
    char *end;
    long fd = strtol(text, &end, 10);
    bool is_number = end != text && *end == '\0' && fd >= 0 && fd <= 1 << 20;
    int own = is_number ? fcntl((int)fd, F_DUPFD_CLOEXEC, 3) : -1;
    if (own < 0)
        return ist_fail(ISTHMUS_ERR_UNREACHABLE,
                        "PMI_FD is '%s', but this process has no such open descriptor: a script or program between the "
                        "launcher and this one has closed it; start the program by the launcher itself",
                        text);
    pmi->fd = own;
    pmi->owns_fd = true;
    return ISTHMUS_OK;
}

static isthmus_status connect_port(struct ist_pmi *pmi, const char *text)
{
    char host[256];
    const char *port;
    struct addrinfo *found = NULL, hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    if (!ist_uid_cut_session(text, host, sizeof host, &port))
        return ist_fail(ISTHMUS_ERR_UNREACHABLE, "PMI_PORT is '%s'; accepted: host:port", text);
    int error = getaddrinfo(host, port, &hints, &found);
    if (error != 0)
        return ist_fail(ISTHMUS_ERR_UNREACHABLE, "PMI_PORT is '%s', whose host cannot be resolved: %s", text,
                        gai_strerror(error));
    for (const struct addrinfo *at = found; at != NULL && pmi->fd < 0; at = at->ai_next) {
        int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0) pmi->fd = fd;
        if (fd >= 0 && pmi->fd < 0) close(fd);
    }
    freeaddrinfo(found);
    pmi->owns_fd = pmi->fd >= 0;
    if (pmi->fd >= 0) return ISTHMUS_OK;
    return ist_fail_errno(ISTHMUS_ERR_UNREACHABLE,
                          "PMI_PORT is '%s', and the launcher's server cannot be reached there", text);
}

/* At a port the server has to learn which PE connects. It then sends three lines: size, rank, debug. */
static isthmus_status introduce(struct ist_pmi *pmi, const char *id)
{
    char request[64], reply[MESSAGE_BYTES];
    snprintf(request, sizeof request, "cmd=initack pmiid=%.20s\n", id);
    isthmus_status status = line_call(pmi, request, "initack", reply, REPLY_MS);
    for (int i = 0; i < 3 && status == ISTHMUS_OK; i++) {
        status = line_call(pmi, "", "set", reply, REPLY_MS);
        pmi->n_pes = find_number(reply, ' ', "size", pmi->n_pes);
        pmi->pe = find_number(reply, ' ', "rank", pmi->pe);
    }
    return status;
}

isthmus_status ist_pmi_connect(struct ist_pmi *pmi)
{
    const char *descriptor = getenv("PMI_FD"), *port = getenv("PMI_PORT"), *id = getenv("PMI_ID");
    if (descriptor != NULL && *descriptor != '\0') return take_descriptor(pmi, descriptor);
    isthmus_status status = connect_port(pmi, port);
    return status == ISTHMUS_OK ? introduce(pmi, id) : status;
}
