/* Two pipes per PE, a line buffer for each, and one batch of finished lines on its way to stdout or stderr.
 * Not a queue: while the batch cannot be written, no pipe is read, and the PEs wait as they would for a slow terminal.
 * Read on in loop.c, which polls. */
#include "output.h"
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    READ_BYTES = 64 * 1024,
    LONGEST_LINE_BYTES = 1024 * 1024, /* longer ones are cut here, so that one PE cannot take all memory */
    SAFE_WRITE_BYTES = 4096,          /* the bytes that a pipe takes without blocking once poll() reports it writable */
};

struct buffer {
    char *bytes;
    size_t length, room;
};

struct stream {
    int fd; /* -1: closed */
    int pe;
    int destination;    /* 1 or 2 */
    struct buffer line; /* read, but its newline has not arrived yet */
};

static struct {
    struct stream *streams; /* two per PE: stdout, stderr */
    size_t n_streams;
    struct buffer batch; /* lines for one destination, tagged */
    size_t batch_sent;
    int batch_destination;
    size_t *polled; /* index of the stream behind each entry of the last output_poll() */
    size_t first;   /* where the next round begins, so that a PE that writes much keeps no other waiting */
} output;

static void append(struct buffer *buffer, const char *bytes, size_t length)
{
    if (buffer->length + length > buffer->room) {
        buffer->room = 2 * (buffer->length + length);
        buffer->bytes = realloc(buffer->bytes, buffer->room);
        if (!buffer->bytes) report_and_exit("no memory for %zu bytes of output", buffer->room);
    }
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
}

void output_init(int n_pes)
{
    output.n_streams = 2 * (size_t)n_pes;
    output.streams = zeroed_memory(output.n_streams, sizeof *output.streams);
    output.polled = zeroed_memory(output.n_streams, sizeof *output.polled);
    for (size_t i = 0; i < output.n_streams; i++)
        output.streams[i] = (struct stream){.fd = -1, .pe = (int)(i / 2), .destination = i % 2 ? 2 : 1};
}

bool output_open(int pe, int *out, int *err)
{
    int ends[2][2];
    if (pipe2(ends[0], O_CLOEXEC) != 0) goto err_report;
    if (pipe2(ends[1], O_CLOEXEC) != 0) goto err_close_out;
    for (int i = 0; i < 2; i++) {
        output.streams[2 * pe + i].fd = ends[i][0];
        fcntl(ends[i][0], F_SETFL, O_NONBLOCK); /* of our end only: the two ends of a pipe are separate files */
    }
    *out = ends[0][1];
    *err = ends[1][1];
    return true;

err_close_out:
    close(ends[0][0]);
    close(ends[0][1]);
err_report:
    report("cannot open the output pipes of PE %d: %m", pe);
    return false;
}

void output_started(int out, int err)
{
    close(out);
    close(err);
}

static bool batch_is_pending(void) { return output.batch_sent < output.batch.length; }

static void close_stream(struct stream *stream)
{
    close(stream->fd);
    stream->fd = -1;
}

/* This destination has no reader: drops its output and closes its pipes, so that the PEs get the usual SIGPIPE. */
static void lose_destination(int destination)
{
    output.batch.length = output.batch_sent = 0;
    for (size_t i = 0; i < output.n_streams; i++)
        if (output.streams[i].destination == destination && output.streams[i].fd >= 0) close_stream(&output.streams[i]);
}

/* Writes as much of the batch as the destination takes now. The descriptor is shared with others, so it must stay in
 * the mode it is in: poll() and small pieces instead of O_NONBLOCK. */
static void send_batch(void)
{
    while (batch_is_pending()) {
        struct pollfd destination = {.fd = output.batch_destination, .events = POLLOUT};
        if (poll(&destination, 1, 0) <= 0) return;
        size_t length = output.batch.length - output.batch_sent;
        if (length > SAFE_WRITE_BYTES) length = SAFE_WRITE_BYTES;
        ssize_t written = write(destination.fd, output.batch.bytes + output.batch_sent, length);
        if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (written < 0) {
            if (errno != EPIPE) report("cannot write the output of the PEs: %m");
            lose_destination(destination.fd);
            return;
        }
        output.batch_sent += (size_t)written;
    }
    output.batch.length = output.batch_sent = 0;
}

static void add_tagged_line(const struct stream *stream, const char *line, size_t length)
{
    char tag[32];
    int tag_length = snprintf(tag, sizeof tag, "[PE %d] ", stream->pe);
    output.batch_destination = stream->destination;
    append(&output.batch, tag, (size_t)tag_length);
    append(&output.batch, line, length);
    append(&output.batch, "\n", 1);
}

/* Moves the finished lines of the stream to the batch; at the stream's end, or if it is too long, also the rest. */
static void add_lines(struct stream *stream, bool is_end)
{
    if (stream->line.length == 0) return;
    char *at = stream->line.bytes, *end = at + stream->line.length, *newline;
    while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
        add_tagged_line(stream, at, (size_t)(newline - at));
        at = newline + 1;
    }
    size_t rest = (size_t)(end - at);
    if (rest && (is_end || rest >= LONGEST_LINE_BYTES)) {
        add_tagged_line(stream, at, rest);
        rest = 0;
    }
    if (rest) memmove(stream->line.bytes, at, rest);
    stream->line.length = rest;
}

static void read_stream(struct stream *stream)
{
    static char bytes[READ_BYTES];
    ssize_t length = read(stream->fd, bytes, sizeof bytes);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (length > 0)
        append(&stream->line, bytes, (size_t)length);
    else
        close_stream(stream);
    add_lines(stream, length <= 0);
    send_batch();
}

size_t output_poll(struct pollfd *polled)
{
    size_t n = 0;
    if (batch_is_pending()) {
        polled[n++] = (struct pollfd){.fd = output.batch_destination, .events = POLLOUT};
        return n;
    }
    for (size_t k = 0; k < output.n_streams; k++) {
        size_t i = (output.first + k) % output.n_streams;
        if (output.streams[i].fd < 0) continue;
        output.polled[n] = i;
        polled[n++] = (struct pollfd){.fd = output.streams[i].fd, .events = POLLIN};
    }
    return n;
}

void output_ready(const struct pollfd *polled, size_t n_polled)
{
    if (batch_is_pending()) {
        send_batch();
        return;
    }
    for (size_t k = 0; k < n_polled && !batch_is_pending(); k++) {
        struct stream *stream = &output.streams[output.polled[k]];
        if (!polled[k].revents || stream->fd < 0) continue; /* closed meanwhile: its destination was lost */
        read_stream(stream);
        output.first = output.polled[k] + 1;
    }
}

bool output_is_complete(void)
{
    for (size_t i = 0; i < output.n_streams; i++)
        if (output.streams[i].fd >= 0) return false;
    return !batch_is_pending();
}
