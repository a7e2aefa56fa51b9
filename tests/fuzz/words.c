/* tests/fuzz/words.c: values of variables that have a form of their own: places, lists, patterns, keys. The first byte
 * selects one. */
#include "core/base/config.h"
#include "core/base/log.h"
#include "core/base/mac.h"
#include "core/boot/uid.h"
#include "core/topo/topo.h"
#include "core/transport/registry.h"
#include "tests/fuzz/fuzz.h"

enum { SESSION, TRANSPORTS, PARTS, HOSTS, KEY, SIZE, KINDS };

static void read_transports(const char *text)
{
    static const char *const names[] = {"loopback", "ib", "nvlink"};
    ist_registry.n = 3;
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        ist_registry.list[i] = (struct ist_transport){.rank = UINT32_MAX};
        snprintf(ist_registry.list[i].name, sizeof ist_registry.list[i].name, "%s", names[i]);
    }
    (void)ist_select_transports(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char host[128];
    const char *port = NULL;
    uint8_t key[IST_KEY_BYTES];
    uint64_t n_bytes;
    struct isthmus_host_id id = {.bytes = {0}};
    if (size == 0) return 0;
    char *text = fuzz_text(data + 1, size - 1);
    switch (data[0] % KINDS) {
    case SESSION:
        if (ist_uid_cut_session(text, host, sizeof host, &port) && (*host == '\0' || *port == '\0')) abort();
        break;
    case TRANSPORTS: read_transports(text); break;
    case PARTS: (void)ist_log_filter(text); break;
    case HOSTS:
        for (int pe = 0; pe < 5; pe++) ist_host_id_pretend(&id, text, pe);
        break;
    case KEY: (void)ist_key_parse(text, key); break;
    default: (void)ist_config_parse_size(text, &n_bytes); break;
    }
    free(text);
    return 0;
}

size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    static const char *const texts[KINDS] = {
        "[2001:db8::1]:4711", "^loopback,ib", "^INIT,P2P", "0011", "00112233445566778899aabbccddeeff", "1.5g"};
    if (i >= KINDS) return 0;
    out[0] = (uint8_t)i;
    return 1 + fuzz_put(out + 1, room - 1, texts[i], strlen(texts[i]));
}
