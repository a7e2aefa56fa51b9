/* Passes the terminal's input on to PE 0. Anything but a terminal is handed to PE 0 as it is, and nothing here runs.
 * Not a copy of all input: a PE is in a process group of its own, which the terminal takes for a background job, so
 * that only the launcher may read from it.
 * Read on in loop.c, which polls. */
#include "input.h"
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static struct {
    int pe;             /* write end of the pipe to PE 0, or -1 */
    bool is_background; /* the terminal belongs to another process group until SIGCONT */
    char bytes[4096];   /* read, but not yet taken by the pipe */
    size_t length, sent;
} input = {.pe = -1};

bool input_open(int *fd)
{
    int ends[2];
    *fd = -1;
    if (!isatty(STDIN_FILENO)) return true;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        report("cannot open the input pipe of PE 0: %m");
        return false;
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    input.pe = ends[1];
    *fd = ends[0];
    return true;
}

void input_started(int fd)
{
    if (fd >= 0) close(fd);
}

bool input_poll(struct pollfd *polled)
{
    if (input.pe < 0) return false;
    if (input.sent < input.length)
        *polled = (struct pollfd){.fd = input.pe, .events = POLLOUT};
    else if (!input.is_background)
        *polled = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    else
        return false;
    return true;
}

static void close_input(void)
{
    close(input.pe);
    input.pe = -1;
}

static void send_bytes(void)
{
    ssize_t written = write(input.pe, input.bytes + input.sent, input.length - input.sent);
    if (written >= 0)
        input.sent += (size_t)written;
    else if (errno != EAGAIN && errno != EINTR)
        close_input(); /* PE 0 has ended, or does not read */
}

void input_ready(void)
{
    if (input.sent < input.length) {
        send_bytes();
        return;
    }
    ssize_t length = read(STDIN_FILENO, input.bytes, sizeof input.bytes);
    if (length > 0) {
        input.length = (size_t)length;
        input.sent = 0;
        send_bytes();
    } else if (length < 0 && errno == EIO) {
        input.is_background = true; /* SIGTTIN is ignored, so this is how the terminal refuses */
    } else if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_input();
    }
}

void input_continue(void) { input.is_background = false; }
