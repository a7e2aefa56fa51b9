/* tests/fuzz/stage_ib.c: requests of peers to a PE about memory of its device: messages in sequence, some with their
 * data, some whose data arrive later. Sanitizers see every access outside of the memory that is served. */
#include "plugins/ib/am/am_priv.h"
#include "tests/fuzz/fuzz.h"

enum { SERVED_BYTES = 4096, KIND = ISTHMUS_MEM_CUDA, MOST_PENDING = 64, REQUEST_BYTES = 1 << 19 };

struct ib_ucp ib_ucp;
void ib_ucp_note_no_memory(const char *why) { (void)why; }
static char *served;
static ucp_am_recv_callback_t on_request;

/* ---- a UCX that loses nothing, and a core whose device is the host ---- */

static struct {
    ucp_am_recv_data_nbx_callback_t done;
    void *user_data, *into;
    size_t length_bytes;
} pending[MOST_PENDING];
static uint32_t n_pending;

static ucs_status_ptr_t receive(ucp_worker_h worker, void *message, void *into, size_t n,
                                const ucp_request_param_t *params)
{
    (void)worker, (void)message;
    if (n_pending == MOST_PENDING) return UCS_STATUS_PTR(UCS_ERR_CANCELED);
    pending[n_pending].done = params->cb.recv_am;
    pending[n_pending].user_data = params->user_data;
    pending[n_pending].into = into;
    pending[n_pending++].length_bytes = n;
    return (void *)pending;
}

static ucs_status_ptr_t send_reply(ucp_ep_h ep, unsigned id, const void *header, size_t header_bytes,
                                   const void *payload, size_t n, const ucp_request_param_t *params)
{
    (void)ep, (void)id, (void)params;
    free(fuzz_copy(header, header_bytes));
    free(fuzz_copy(payload, n)); /* all of it is there */
    return NULL;
}

static void free_request(void *request) { (void)request; }
static unsigned make_progress(ucp_worker_h worker)
{
    (void)worker;
    if (n_pending == 0) return 0;
    n_pending--;
    memset(pending[n_pending].into, 7, pending[n_pending].length_bytes);
    pending[n_pending].done((void *)pending, UCS_OK, pending[n_pending].length_bytes, pending[n_pending].user_data);
    return 1;
}

static isthmus_status copy(void *core, uint32_t kind, void *dest, const void *source, size_t n)
{
    (void)core;
    if (kind != KIND) abort();
    memmove(dest, source, n);
    return ISTHMUS_OK;
}

static isthmus_status amo(void *core, uint32_t kind, void *addr, uint32_t op, uint32_t bits, uint64_t operand,
                          uint64_t compare, void *fetched)
{
    (void)core, (void)op, (void)operand, (void)compare;
    if (kind != KIND) abort();
    if (fetched != NULL) {
        memset(fetched, 0, sizeof(uint64_t));
        memcpy(fetched, addr, 1u << bits);
    }
    memset(addr, 1, 1u << bits);
    return ISTHMUS_OK;
}

static isthmus_status amo_list(void *core, uint32_t kind, const struct isthmus_memory_amo *list, uint32_t n)
{
    uint64_t old;
    if (n == 0) abort();
    for (uint32_t i = 0; i < n; i++)
        (void)amo(core, kind, list[i].addr, list[i].op, list[i].bits, list[i].operand, list[i].compare, &old);
    return ISTHMUS_OK;
}

static isthmus_status pin(void *core, uint32_t kind, void *addr, size_t n, isthmus_lmem **out)
{
    (void)core, (void)kind, (void)addr, (void)n, (void)out;
    return ISTHMUS_ERR_UNSUPPORTED;
}
static void unpin(void *core, uint32_t kind, isthmus_lmem *lmem) { (void)core, (void)kind, (void)lmem; }
static const char *fail_text(void *core)
{
    (void)core;
    return "no";
}

isthmus_status ib_am_listen(struct ib_worker *worker, unsigned id, ucp_am_recv_callback_t callback)
{
    (void)worker, (void)id;
    on_request = callback;
    return ISTHMUS_OK;
}

/* ---- */

static const struct isthmus_services services = {
    .struct_size = sizeof services,
    .log = fuzz_log,
    .fail = fuzz_fail,
    .fail_text = fail_text,
    .scopes = ISTHMUS_SCOPE_DEVICE,
    .memory_copy = copy,
    .memory_amo = amo,
    .memory_amo_list = amo_list,
    .memory_pin = pin,
    .memory_unpin = unpin,
};

static void begin(isthmus_tr *tr, isthmus_lmem *lmem)
{
    ib_ucp.ucp_am_recv_data_nbx = receive;
    ib_ucp.ucp_am_send_nbx = send_reply;
    ib_ucp.ucp_request_free = free_request;
    ib_ucp.ucp_worker_progress = make_progress;
    served = aligned_alloc(64, SERVED_BYTES);
    *tr = (isthmus_tr){.services = &services, .n_workers = 1};
    tr->workers[0].tr = tr;
    tr->workers[0].gathers_posts = true;
    pthread_mutex_init(&tr->workers[0].lock, NULL);
    *lmem = (isthmus_lmem){.tr = tr, .addr = served, .length_bytes = SERVED_BYTES, .kind = KIND};
    if (served == NULL || ib_stage_open(tr) != ISTHMUS_OK || ib_stage_listen(tr) != ISTHMUS_OK) abort();
    if (ib_stage_add(lmem) != ISTHMUS_OK) abort();
}

/* A byte: 1 the data are here, 2 the address counts from the start of the served memory, 4 a message arrives first,
 * 8 the call of progress that takes the request is its last. Then the head. */
static void request(isthmus_tr *tr, struct fuzz_input *in)
{
    static char far_data[1];
    uint8_t way = fuzz_byte(in);
    const uint8_t *bytes;
    struct ib_device_request header = {0};
    size_t n = fuzz_bytes(in, sizeof header, &bytes);
    memcpy(&header, bytes, n);
    if ((way & 2) != 0) header.address += (uint64_t)(uintptr_t)served;
    if ((way & 4) != 0) (void)make_progress(NULL);
    size_t n_data = (way & 1) != 0 ? fuzz_bytes(in, header.length_bytes, &bytes) : header.length_bytes % REQUEST_BYTES;
    void *data = (way & 1) != 0 ? fuzz_copy(bytes, n_data) : NULL;
    const ucp_am_recv_param_t param = {
        .recv_attr = UCP_AM_RECV_ATTR_FIELD_REPLY_EP | ((way & 1) != 0 ? 0 : UCP_AM_RECV_ATTR_FLAG_RNDV),
    };
    (void)on_request(&tr->workers[0], &header, n, data != NULL ? data : far_data, n_data, &param);
    free(data);
    if ((way & 8) != 0) ib_stage_execute_posts(tr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static isthmus_tr tr;
    isthmus_lmem lmem;
    struct fuzz_input in = {data, data + size};
    begin(&tr, &lmem);
    while (in.at < in.end) request(&tr, &in);
    ib_stage_execute_posts(&tr);
    ib_stage_remove(&lmem);
    ib_stage_close(&tr);
    if (n_pending != 0 || tr.workers[0].n_posts != 0) abort(); /* every message got its end */
    free(served);
    return 0;
}

/* A put here, a put far, a get, an atomic that fetches and one that does not. */
size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    static const struct ib_device_request requests[] = {
        {.id = 1, .opcode = IB_DEVICE_PUT, .kind = KIND, .length_bytes = 16, .address = 8},
        {.id = 2, .opcode = IB_DEVICE_PUT, .kind = KIND, .length_bytes = SERVED_BYTES},
        {.id = 3, .opcode = IB_DEVICE_GET, .kind = KIND, .length_bytes = 100, .address = 3},
        {.id = 4, .opcode = IB_DEVICE_AMO, .kind = KIND, .length_bytes = 8, .address = 64, .bits = ISTHMUS_BITS64},
        {.id = 5, .opcode = IB_DEVICE_POST, .kind = KIND, .length_bytes = 4, .address = 8, .bits = ISTHMUS_BITS32},
    };
    if (i >= sizeof requests / sizeof *requests) return 0;
    out[0] = i == 1 ? 2 : 3;
    size_t used = 1 + fuzz_put(out + 1, room - 1, &requests[i], sizeof requests[i]);
    return i == 0 ? used + fuzz_put(out + used, room - used, "0123456789abcdef", 16) : used;
}
