/* tests/fuzz/key_loopback.c: keys of the transport loopback, as attach() takes them from a card. The peer is this PE
 * itself, so that no socket is needed for the rest of the way. */
#include "plugins/loopback/loopback.h"
#include "tests/fuzz/fuzz.h"

static const struct isthmus_services services = {
    .struct_size = sizeof services, .log = fuzz_log, .fail = fuzz_fail, .config = fuzz_config};
static char memory[4096];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static isthmus_tr tr;
    tr.services = &services;
    tr.exposed[0] = (struct isthmus_lmem){.tr = &tr, .id = 1, .addr = memory, .length_bytes = sizeof memory};
    isthmus_path path = {.tr = &tr, .is_self = 1};
    isthmus_rmem *rmem = NULL;
    void *alias = NULL;
    if (lb_attach(&path, data, size, &rmem, &alias) != ISTHMUS_OK) return 0;
    if (alias != memory || rmem->length_bytes > sizeof memory) abort();
    lb_detach(rmem);
    return 0;
}

size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    static isthmus_tr tr;
    isthmus_lmem *lmem = NULL;
    const struct isthmus_mem mem = {.struct_size = sizeof mem,
                                    .kind = ISTHMUS_MEM_HOST,
                                    .fd = 0,
                                    .addr = memory,
                                    .length_bytes = sizeof memory >> i};
    size_t n_bytes = room;
    if (i > 3) return 0;
    tr.services = &services;
    tr.expose_limit_bytes = UINT64_MAX;
    if (tr.server == NULL && fd_pass_server_open(&services, &tr.server) != ISTHMUS_OK) abort();
    if (lb_expose(&tr, &mem, out, &n_bytes, &lmem) != ISTHMUS_OK) abort();
    return n_bytes;
}
