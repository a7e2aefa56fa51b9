/* tests/fuzz/uid_server.c: a server of a unique id, by what arrives on its connections. The first byte selects whether
 * it is the root or a leader, with a connection to the root. Then an input is a row of steps: a stranger connects,
 * sends bytes, shows the secret as a PE, a leader or an orphan does, or disconnects; and the deadline passes. No socket
 * is behind the connections. */
#include "core/boot/uid_server_priv.h"
#include "tests/fuzz/fuzz.h"

#include <sys/epoll.h>

enum { MOST_STEPS = 200, MOST_CONNECTIONS = 6, LONGEST_PIECE = 255, STEPS = 6, MOST_PES = 6 };
enum step { CONNECT, SEND, SEND_FRAME, PROVE, GO, LATE };

/* Counted from the newest; NULL: there is none. */
static struct ist_uid_connection *connection_at(const struct ist_uid_server *server, unsigned index)
{
    struct ist_uid_connection *at = server->connections;
    for (unsigned i = 0; at != NULL && i < index % MOST_CONNECTIONS; i++) at = at->next;
    return at;
}

static unsigned count(const struct ist_uid_server *server)
{
    unsigned n = 0;
    for (const struct ist_uid_connection *at = server->connections; at != NULL; at = at->next) n++;
    return n;
}

static void send_bytes(struct ist_uid_server *server, struct ist_uid_connection *connection, const void *bytes,
                       size_t n)
{
    if (!connection->is_closed && !ist_uid_take(server, connection, bytes, n))
        ist_uid_serve(server, connection, EPOLLIN); /* there is no socket: this closes it */
}

/* A frame as the real client makes it, of any type and with any numbers. */
static void send_frame(struct ist_uid_server *server, struct ist_uid_connection *connection, struct fuzz_input *in)
{
    struct ist_uid_head head = {
        .type = fuzz_byte(in) % (IST_UID_FRAME_TYPES + 1u), .id = fuzz_byte(in), .pe = (int8_t)fuzz_byte(in)};
    const uint8_t *key, *value;
    size_t key_bytes = fuzz_bytes(in, fuzz_byte(in) % 32, &key), value_bytes = fuzz_bytes(in, fuzz_byte(in), &value);
    head.code = fuzz_byte(in);
    head.key_bytes = (uint32_t)key_bytes;
    head.value_bytes = (uint32_t)value_bytes;
    send_bytes(server, connection, &head, sizeof head);
    send_bytes(server, connection, key, key_bytes);
    send_bytes(server, connection, value, value_bytes);
}

static void prove(struct ist_uid_server *server, struct ist_uid_connection *connection, struct fuzz_input *in)
{
    struct ist_uid_head head = {.type = IST_UID_HELLO, .value_bytes = sizeof(struct ist_uid_hello)};
    struct ist_uid_hello hello = {.pe = (int8_t)fuzz_byte(in), .n_pes = (int8_t)fuzz_byte(in), .pid = fuzz_byte(in)};
    hello.host.bytes[0] = fuzz_byte(in);
    hello.role = hello.host.bytes[0] / 64;
    memset(hello.host_name, 'x', sizeof hello.host_name); /* without an end */
    ist_uid_tag_hello(&server->uid, &connection->challenge, &hello, hello.tag);
    send_bytes(server, connection, &head, sizeof head);
    send_bytes(server, connection, &hello, sizeof hello);
}

static void do_step(struct ist_uid_server *server, struct fuzz_input *in)
{
    enum step step = fuzz_byte(in) % STEPS;
    struct ist_uid_connection *connection = step <= CONNECT || step == LATE ? NULL
                                                                            : connection_at(server, fuzz_byte(in));
    const uint8_t *bytes;
    if (step == CONNECT && count(server) < MOST_CONNECTIONS) (void)ist_uid_connect(server, -1);
    if (step == LATE) ist_uid_job_late(server);
    if (connection == NULL) return;
    if (step == SEND) {
        size_t n = fuzz_bytes(in, fuzz_byte(in) % (LONGEST_PIECE + 1u), &bytes);
        send_bytes(server, connection, bytes, n);
    }
    if (step == SEND_FRAME) send_frame(server, connection, in);
    if (step == PROVE) prove(server, connection, in);
    if (step == GO) ist_uid_serve(server, connection, EPOLLIN);
}

/* As ist_uid_leader_start() does. */
static void make_leader(struct ist_uid_server *server)
{
    server->is_leader = true;
    server->job.n_pes = MOST_PES;
    server->job.server_pe = 1;
    server->job.members = calloc(MOST_PES, sizeof *server->job.members);
    if (server->job.members == NULL || ist_uid_connect_root(server, -1) == NULL) abort();
}

static bool is_over(const struct ist_uid_server *server)
{
    return server->is_leader ? ist_uid_leader_is_over(server) : ist_uid_job_is_over(server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ist_uid_server server = {
        .uid = {.secret = "known to all PE"}, .patience = {3600, 3600}, .listener = -1, .events = -1};
    struct fuzz_input in = {data, data + size};
    server.job.deadline_ms = server.job.server_pe = -1;
    if (fuzz_byte(&in) % 2 == 1) make_leader(&server);
    for (int i = 0; i < MOST_STEPS && in.at < in.end && !is_over(&server); i++) {
        do_step(&server, &in);
        ist_uid_sweep(&server);
    }
    ist_uid_connections_fini(&server);
    ist_uid_store_fini(&server.store);
    ist_uid_job_fini(&server.job);
    return 0;
}

/* ---- seeds: rows of steps ---- */

size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    static const uint8_t one_pe[] = {0,
                                     CONNECT,
                                     PROVE,
                                     0,
                                     0,
                                     1,
                                     7,
                                     1,
                                     SEND_FRAME,
                                     0,
                                     IST_UID_PUT,
                                     0,
                                     0,
                                     1,
                                     'k',
                                     2,
                                     'v',
                                     'w',
                                     0,
                                     SEND_FRAME,
                                     0,
                                     IST_UID_GET,
                                     9,
                                     0,
                                     1,
                                     'k',
                                     0,
                                     0,
                                     SEND_FRAME,
                                     0,
                                     IST_UID_ARRIVE,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     SEND_FRAME,
                                     0,
                                     IST_UID_LEAVE,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     GO,
                                     0};
    static const uint8_t two_pes[] = {0,
                                      CONNECT,
                                      PROVE,
                                      0,
                                      0,
                                      2,
                                      7,
                                      1,
                                      CONNECT,
                                      PROVE,
                                      0,
                                      1,
                                      2,
                                      8,
                                      1,
                                      SEND_FRAME,
                                      0,
                                      IST_UID_GET,
                                      1,
                                      0,
                                      1,
                                      'k',
                                      0,
                                      0,
                                      SEND_FRAME,
                                      1,
                                      IST_UID_PUT,
                                      0,
                                      0,
                                      1,
                                      'k',
                                      1,
                                      'v',
                                      0,
                                      SEND_FRAME,
                                      0,
                                      IST_UID_ARRIVE,
                                      0,
                                      0,
                                      0,
                                      0,
                                      0,
                                      SEND_FRAME,
                                      1,
                                      IST_UID_ABORT,
                                      0,
                                      0,
                                      0,
                                      0,
                                      3};
    static const uint8_t troubles[] = {0, CONNECT, PROVE, 0,       0,    3,       7,     1, CONNECT, PROVE, 0,
                                       0, 3,       8,     1,       LATE, CONNECT, PROVE, 0, 2,       4,     9,
                                       2, GO,      1,     CONNECT, SEND, 0,       3,     1, 2,       3};
    /* A leader: two PEs join, one requests a value that the other has not put, the root requests it too, then replies
     * to another. */
    static const uint8_t leader[] = {
        1,           CONNECT,     PROVE, 0,        1,   MOST_PES, 7,          1,          CONNECT,
        PROVE,       0,           2,     MOST_PES, 8,   1,        SEND_FRAME, 0,          IST_UID_GET,
        1,           1,           1,     'k',      0,   0,        SEND_FRAME, 2,          IST_UID_GET,
        0,           1,           1,     'k',      0,   0,        SEND_FRAME, 1,          IST_UID_PUT,
        0,           0,           1,     'k',      1,   'v',      0,          SEND_FRAME, 1,
        IST_UID_GET, 1,           4,     1,        'k', 0,        0,          SEND_FRAME, 2,
        IST_UID_PUT, 0,           4,     1,        'k', 1,        'v',        0,          SEND_FRAME,
        2,           IST_UID_END, 1,     4,        0,   1,        'x',        0};
    static const uint8_t leaders[] = {0, CONNECT,      PROVE, 0, 1, 3,   7, 64, SEND_FRAME,
                                      0, IST_UID_GET,  1,     1, 1, 'k', 0, 0,  SEND_FRAME,
                                      0, IST_UID_LOST, 0,     1, 0, 0,   0};
    static const struct {
        const uint8_t *bytes;
        size_t n_bytes;
    } seeds[] = {{one_pe, sizeof one_pe},
                 {two_pes, sizeof two_pes},
                 {troubles, sizeof troubles},
                 {leader, sizeof leader},
                 {leaders, sizeof leaders}};
    return i < sizeof seeds / sizeof *seeds ? fuzz_put(out, room, seeds[i].bytes, seeds[i].n_bytes) : 0;
}
