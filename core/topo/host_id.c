/* core/topo/host_id.c: see topo.h.
 * The kernel's boot id distinguishes machines (and reboots), the inode of the network namespace distinguishes
 * containers. */
#include "core/topo/topo.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char BOOT_ID[] = "/proc/sys/kernel/random/boot_id";
static const char NET_NS[] = "/proc/thread-self/ns/net";

/* Converts "01234567-89ab-..." to 16 bytes; dashes and the newline are skipped. */
static bool parse_hex(const char *text, size_t length, uint8_t *out, size_t out_bytes)
{
    size_t digits = 0;
    memset(out, 0, out_bytes);
    for (size_t i = 0; i < length && digits < 2 * out_bytes; i++) {
        char c = text[i];
        int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (value < 0) continue;
        out[digits / 2] = (uint8_t)(out[digits / 2] << 4 | value);
        digits++;
    }
    return digits == 2 * out_bytes;
}

isthmus_status ist_host_id_read(struct isthmus_host_id *out)
{
    char text[64];
    int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return ist_fail_errno(ISTHMUS_ERR_IO, "cannot identify this host: open %s", BOOT_ID);
    ssize_t got = read(fd, text, sizeof text);
    close(fd);
    struct isthmus_host_id id;
    if (got <= 0 || !parse_hex(text, (size_t)got, id.bytes, 16))
        return ist_fail(ISTHMUS_ERR_IO, "cannot identify this host: %s contains no boot id; mount the kernel's /proc",
                        BOOT_ID);

    struct stat ns;
    if (stat(NET_NS, &ns) != 0) return ist_fail_errno(ISTHMUS_ERR_IO, "cannot identify this host: stat %s", NET_NS);
    uint64_t inode = (uint64_t)ns.st_ino;
    memcpy(id.bytes + 16, &inode, sizeof inode);
    *out = id;
    return ISTHMUS_OK;
}

bool ist_host_id_equal(const struct isthmus_host_id *a, const struct isthmus_host_id *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

char ist_pretended_host(const char *pattern, int pe)
{
    size_t length = strlen(pattern);
    return length > 0 ? pattern[(size_t)pe % length] : '\0';
}

/* Changes the last byte, which no inode number reaches. */
void ist_host_id_pretend(struct isthmus_host_id *id, const char *pattern, int pe)
{
    id->bytes[sizeof id->bytes - 1] ^= (uint8_t)ist_pretended_host(pattern, pe);
}

static char host_name[65];

static void read_host_name(void)
{
    if (gethostname(host_name, sizeof host_name - 1) != 0) memcpy(host_name, "unknown", sizeof "unknown");
}

const char *ist_host_name(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_host_name);
    return host_name;
}
