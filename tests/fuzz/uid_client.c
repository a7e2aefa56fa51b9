/* tests/fuzz/uid_client.c: what a PE reads of the server of a unique id, and of the id itself. The first byte selects
 * one: frames, as they arrive over a socket, a welcome, or the bytes that the program hands over. */
#include "core/boot/uid_wire.h"
#include "tests/fuzz/fuzz.h"

#include <sys/socket.h>
#include <unistd.h>

enum { FRAMES, WELCOME, ID, KINDS, PES = 100, ROOM = 1 << 16 };

static void read_frames(const uint8_t *bytes, size_t n_bytes)
{
    struct ist_uid_head head;
    static char value[ROOM + 1];
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
    if (send(ends[0], bytes, n_bytes, MSG_DONTWAIT) < 0) n_bytes = 0;
    close(ends[0]);
    while (ist_uid_receive(ends[1], -1, ROOM, &head, value))
        if (head.value_bytes > ROOM || value[head.value_bytes] != '\0') abort();
    close(ends[1]);
}

static void read_welcome(const uint8_t *bytes, size_t n_bytes)
{
    if (!ist_uid_welcome_check(bytes, n_bytes, 5, PES)) return;
    const struct ist_uid_welcome *welcome = (const void *)bytes;
    const struct ist_uid_neighbour *neighbours = ist_uid_welcome_neighbours(bytes);
    int n_pes = 0;
    for (int i = 0; i < welcome->n_runs; i++) n_pes += ist_uid_welcome_runs(bytes)[i].n_pes;
    if (n_pes != PES) abort();
    for (int i = 0; i < welcome->n_neighbours; i++)
        if (neighbours[i].pe < 0 || neighbours[i].pe >= PES) abort();
}

static void read_id(const uint8_t *bytes, size_t n_bytes)
{
    struct ist_uid uid;
    struct sockaddr_storage address;
    char place[80], name[IST_UID_NAME_BYTES];
    if (n_bytes != sizeof uid) return;
    memcpy(&uid, bytes, sizeof uid);
    if (!ist_uid_check(&uid)) return;
    for (unsigned i = 0; i < uid.n_addresses; i++) (void)ist_uid_sockaddr(&uid, i, &address);
    ist_uid_describe(&uid, place, sizeof place);
    ist_uid_name(&uid, name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    uint8_t *bytes = fuzz_copy(data + 1, size - 1);
    switch (data[0] % KINDS) {
    case FRAMES: read_frames(bytes, size - 1); break;
    case WELCOME: read_welcome(bytes, size - 1); break;
    default: read_id(bytes, size - 1); break;
    }
    free(bytes);
    return 0;
}

size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    const struct {
        struct ist_uid_welcome head;
        struct ist_uid_run runs[3];
        struct ist_uid_neighbour neighbours[2];
    } welcome = {{3, 2}, {{0, 5}, {1, 2}, {0, 93}}, {{5, 17, 1}, {6, 18, 2}}};
    const struct ist_uid_head frames[] = {{.type = IST_UID_ALL_HERE}, {.type = IST_UID_BYE}};
    struct ist_uid uid = {.format = IST_UID_FORMAT, .n_addresses = 2, .addresses = {{.family = 4}, {.family = 6}}};
    out[0] = (uint8_t)i;
    switch (i) {
    case FRAMES: return 1 + fuzz_put(out + 1, room - 1, frames, sizeof frames);
    case WELCOME: return 1 + fuzz_put(out + 1, room - 1, &welcome, sizeof welcome);
    case ID: return 1 + fuzz_put(out + 1, room - 1, &uid, sizeof uid);
    default: return 0;
    }
}
