/* tests/fuzz/p2p.c: cards and keys of the transports between GPUs, as reach() and attach() take them. The first byte
 * selects one, and the owner of the key. The driver is a double that has no device: it imports whatever the engine
 * passes. */
#include "plugins/common/p2p_priv.h"
#include "tests/fuzz/fuzz.h"

static char device_memory[4096];

static isthmus_status import(struct p2p_gpu *gpu, const struct p2p_share *share, void *addr, uint64_t length_bytes,
                             struct p2p_memory *out)
{
    (void)gpu, (void)addr;
    if (share->n_bytes > sizeof share->bytes) abort();
    *out = (struct p2p_memory){.addr = device_memory, .length_bytes = length_bytes};
    return length_bytes <= sizeof device_memory ? ISTHMUS_OK : ISTHMUS_ERR_NO_MEMORY;
}

static isthmus_status share(struct p2p_gpu *gpu, const struct p2p_memory *memory, struct p2p_share *out)
{
    (void)gpu, (void)memory;
    *out = (struct p2p_share){.fd = -1, .n_bytes = 8, .bytes = "handle"};
    return ISTHMUS_OK;
}

static void drop(struct p2p_gpu *gpu, struct p2p_memory *memory) { (void)gpu, (void)memory; }

static const struct isthmus_host_id host = {.bytes = "here"};
static const struct isthmus_services services = {.struct_size = sizeof services,
                                                 .log = fuzz_log,
                                                 .fail = fuzz_fail,
                                                 .config = fuzz_config,
                                                 .host = &host,
                                                 .my_pe = 0};
static const struct p2p_driver driver = {
    .hardware = "GPU", .kind = ISTHMUS_MEM_CUDA, .import = import, .share = share, .drop = drop};

static isthmus_tr *transport(void)
{
    static struct p2p_allocation allocation = {.memory = {.addr = device_memory, .length_bytes = sizeof device_memory}};
    static isthmus_tr tr;
    if (tr.server != NULL) return &tr;
    tr = (isthmus_tr){.driver = &driver, .services = &services, .n_devices = 2, .allocations = &allocation};
    for (int i = 0; i < tr.n_devices; i++)
        tr.devices[i] = (struct p2p_device){.uuid = {(uint8_t)i}, .is_used = i == 0, .can_access = true};
    if (fd_pass_server_open(&services, &tr.server) != ISTHMUS_OK) abort();
    return &tr;
}

static void read_card(const uint8_t *bytes, size_t n_bytes)
{
    struct isthmus_reach reach = {.struct_size = sizeof reach};
    const struct isthmus_peer peer = {
        .struct_size = sizeof peer, .pe = 1, .host = &host, .host_name = "here", .card = bytes, .card_bytes = n_bytes};
    (void)p2p_reach(transport(), &peer, &reach);
}

static void read_key(const uint8_t *bytes, size_t n_bytes, bool is_self)
{
    isthmus_path path = {.tr = transport(), .pe = is_self ? 0 : 1, .is_self = is_self};
    isthmus_rmem *rmem = NULL;
    void *alias;
    /* A descriptor would be fetched from an absent peer: that fails, and costs a connection. */
    if (p2p_attach(&path, bytes, n_bytes, &rmem, &alias) != ISTHMUS_OK) return;
    if (rmem->addr < device_memory || rmem->addr + rmem->length_bytes > device_memory + sizeof device_memory) abort();
    p2p_detach(rmem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    uint8_t *bytes = fuzz_copy(data + 1, size - 1);
    if ((data[0] & 1) == 0)
        read_card(bytes, size - 1);
    else
        read_key(bytes, size - 1, (data[0] & 2) != 0);
    free(bytes);
    return 0;
}

size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    isthmus_lmem *lmem = NULL;
    const struct isthmus_mem mem = {.struct_size = sizeof mem,
                                    .kind = ISTHMUS_MEM_CUDA,
                                    .fd = -1,
                                    .addr = device_memory + 1024,
                                    .length_bytes = 1024};
    size_t n_bytes = room - 1;
    if (i > 1) return 0;
    out[0] = (uint8_t)i;
    isthmus_status status = i == 0 ? p2p_card(transport(), out + 1, &n_bytes)
                                   : p2p_expose(transport(), &mem, out + 1, &n_bytes, &lmem);
    if (status != ISTHMUS_OK) abort();
    return n_bytes + 1;
}
