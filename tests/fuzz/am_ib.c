/* tests/fuzz/am_ib.c: short puts, with signals or without, atomics, calls, replies and queue pairs to connect that
 * arrive from peers, in any order and of any length. Sanitizers see every access outside of the memory that is exposed;
 * only valid messages take effect. */
#include "plugins/ib/ib.h"
#include "tests/fuzz/fuzz.h"

enum { EXPOSED_BYTES = 4096, MOST_NUMBERS = 16, FIRST_WITH_SIGNAL = 11, N_ENDS = 2 };

struct ib_ucp ib_ucp;
void ib_ucp_starves(const char *why) { (void)why; }
void ib_refusal_keep(isthmus_tr *tr, isthmus_status code, const char *text) { (void)tr, (void)code, (void)text; }
void ib_end_lose(struct ib_end *end, ucs_status_t why) { (void)end, (void)why; }
isthmus_status ib_end_fail(const struct ib_end *end, ucs_status_t why)
{
    (void)end, (void)why;
    return ISTHMUS_ERR_IO;
}
bool ib_worker_wait(struct ib_worker *worker, const struct ib_batch *batch, uint64_t timeout_ns)
{
    (void)worker, (void)timeout_ns;
    return batch->n_pending == 0;
}
const char *ib_ucp_variable(const char *name)
{
    (void)name;
    return NULL;
}

static ucp_am_recv_callback_t callbacks[MOST_NUMBERS];
static uint64_t n_answers, n_calls, fetched[N_ENDS];
static struct ib_batch fetching;
static isthmus_path path = {.host_name = "host"};

static const ucp_generic_dt_ops_t *type;

static ucs_status_t create_type(const ucp_generic_dt_ops_t *ops, void *context, ucp_datatype_t *out)
{
    (void)context;
    type = ops;
    *out = UCP_DATATYPE_GENERIC;
    return UCS_OK;
}

static void destroy_type(ucp_datatype_t datatype) { (void)datatype; }

static ucs_status_ptr_t send_message(ucp_ep_h ep, unsigned id, const void *header, size_t header_bytes,
                                     const void *payload, size_t n, const ucp_request_param_t *params)
{
    (void)ep, (void)id, (void)header, (void)params;
    if (header_bytes != 0) abort();
    void *state = type->start_pack(NULL, payload, n);
    size_t length_bytes = type->packed_size(state);
    char *packed = malloc(length_bytes + 1);
    if (packed == NULL || type->pack(state, 0, packed, length_bytes + 1) != length_bytes) abort();
    free(fuzz_copy(packed, length_bytes)); /* all of it is there */
    free(packed);
    type->finish(state);
    n_answers++;
    return NULL;
}

isthmus_status ib_listen(struct ib_worker *worker, unsigned number, ucp_am_recv_callback_t callback)
{
    (void)worker;
    callbacks[number] = callback;
    return ISTHMUS_OK;
}

static const char *no_text(void *core)
{
    (void)core;
    return "no text";
}

static const struct isthmus_services services = {
    .struct_size = sizeof services, .log = fuzz_log, .fail = fuzz_fail, .fail_text = no_text, .n_pes = N_ENDS};

/* ---- an adapter that connects what has an even number ---- */

struct ib_adapter {
    int n_queues;
};
struct ib_queue {
    struct ib_adapter *adapter;
};
static struct ib_adapter adapter;

isthmus_status ib_adapter_open(const struct isthmus_services *s, const struct ib_port *port,
                               const struct ib_queue_settings *settings, struct ib_adapter **out)
{
    (void)s, (void)port, (void)settings;
    *out = &adapter;
    return ISTHMUS_OK;
}

void ib_adapter_close(struct ib_adapter *closed) { (void)closed; }

isthmus_status ib_completions_create(struct ib_adapter *on, uint32_t n_slots, struct ib_completions **out)
{
    (void)on, (void)n_slots;
    *out = NULL;
    return ISTHMUS_OK;
}

void ib_completions_destroy(struct ib_completions *completions) { (void)completions; }
int ib_completions_fd(const struct ib_completions *completions) { return (void)completions, -1; }
void ib_completions_arm(struct ib_completions *completions) { (void)completions; }

uint32_t ib_completions_poll(struct ib_completions *completions, struct ib_completion *list, uint32_t room)
{
    (void)completions, (void)list, (void)room;
    return 0;
}

int ib_queue_post(struct ib_queue *queue, const struct ib_queue_target *target, const struct ib_word_request *request)
{
    (void)queue, (void)target, (void)request;
    return -1;
}

isthmus_status ib_queue_create(struct ib_adapter *on, struct ib_completions *completions, struct ib_queue **out)
{
    (void)completions;
    *out = malloc(sizeof **out);
    if (*out == NULL) abort();
    (*out)->adapter = on;
    on->n_queues++;
    return ISTHMUS_OK;
}

void ib_queue_destroy(struct ib_queue *queue)
{
    if (queue == NULL) return;
    queue->adapter->n_queues--;
    free(queue);
}

void ib_queue_address(const struct ib_queue *queue, struct ib_queue_address *out)
{
    (void)queue;
    *out = (struct ib_queue_address){.number = 1};
}

isthmus_status ib_queue_connect(struct ib_queue *queue, const struct ib_queue_address *peer)
{
    (void)queue;
    return peer->number % 2 == 0 ? ISTHMUS_OK : ISTHMUS_ERR_IO;
}

static void begin(isthmus_tr *tr, struct ib_end *ends, isthmus_lmem *lmem)
{
    struct ib_worker *worker = &tr->workers[0];
    ib_ucp.ucp_am_send_nbx = send_message;
    ib_ucp.ucp_dt_create_generic = create_type;
    ib_ucp.ucp_dt_destroy = destroy_type;
    *tr = (isthmus_tr){.services = &services, .n_workers = 1, .adapter = &adapter};
    worker->tr = path.tr = tr;
    fetching = (struct ib_batch){0};
    pthread_mutex_init(&worker->lock, NULL);
    if (ib_shorts_open(worker) != ISTHMUS_OK || ib_nic_worker_open(worker) != ISTHMUS_OK) abort();
    for (int i = 0; i < N_ENDS; i++) {
        ends[i] = (struct ib_end){.worker = worker, .path = &path};
        if (ib_short_number(&ends[i]) != ISTHMUS_OK || !ib_short_call(&ends[i])) abort();
        const struct ib_atomic add = {ISTHMUS_AMO_ADD, sizeof fetched[i], 1, 0};
        if (!ib_short_fetch(&ends[i], 8, &add, &fetched[i], &fetching, NULL)) abort();
        (void)ib_nic_link(&ends[i]); /* no peer has replied */
        if (ends[i].queue == NULL || ends[i].linking.n_pending != 1) abort();
    }
    worker->numbered[N_ENDS - 1] = NULL; /* a peer that is lost */
    *lmem = (isthmus_lmem){.tr = tr, .addr = aligned_alloc(64, EXPOSED_BYTES), .length_bytes = EXPOSED_BYTES};
    if (lmem->addr == NULL) abort();
    ib_short_expose(lmem);
    n_answers = n_calls = 0;
}

static void add_address(char *at, const isthmus_lmem *lmem)
{
    uint64_t address;
    memcpy(&address, at, sizeof address);
    address += (uint64_t)(uintptr_t)lmem->addr;
    memcpy(at, &address, sizeof address);
}

/* A byte: the low four bits are the number of the kind; 16: addresses in it are counted from the start of what is
 * exposed, 32: they stand behind a call, 64: no reply can be sent, 128: the data is still at the sender. A byte of
 * length, in tens from 128 on, then the message. */
static void arrive(struct ib_worker *worker, const isthmus_lmem *lmem, struct fuzz_input *in)
{
    uint8_t way = fuzz_byte(in);
    uint8_t length = fuzz_byte(in);
    const uint8_t *bytes;
    size_t n = fuzz_bytes(in, length < 128 ? length : (length - 127u) * 10, &bytes),
           at = (way & 32) != 0 ? sizeof(uint64_t) : 0;
    size_t n_addresses = (way & 16) == 0 ? 0 : way % MOST_NUMBERS >= FIRST_WITH_SIGNAL ? 2 : 1;
    char *message = fuzz_copy(bytes, n);
    for (size_t i = 0; i < n_addresses && n >= at + (i + 1) * sizeof(uint64_t); i++)
        add_address(message + at + i * sizeof(uint64_t), lmem);
    ucp_am_recv_callback_t callback = callbacks[way % MOST_NUMBERS];
    const ucp_am_recv_param_t param = {
        .recv_attr = ((way & 64) == 0 ? UCP_AM_RECV_ATTR_FIELD_REPLY_EP : 0) |
                     ((way & 128) != 0 ? UCP_AM_RECV_ATTR_FLAG_RNDV : 0),
    };
    n_calls++;
    if (callback != NULL && callback(worker, NULL, 0, message, n, &param) != UCS_OK) abort();
    free(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static isthmus_tr tr;
    struct ib_end ends[N_ENDS];
    isthmus_lmem lmem;
    struct fuzz_input in = {data, data + size};
    begin(&tr, ends, &lmem);
    while (in.at < in.end) arrive(&tr.workers[0], &lmem, &in);
    if (n_answers > n_calls || ends[0].flush.n_pending > 1 || ends[N_ENDS - 1].flush.n_pending != 1) abort();
    for (int i = 0; i < N_ENDS; i++) ib_short_fetches_fail(&tr.workers[0], &ends[i]);
    if (fetching.n_pending != 0) abort();
    if (ends[0].is_linked && ends[0].linking.n_pending != 0) abort();
    if (ends[N_ENDS - 1].linking.n_pending != 1) abort();
    for (int i = 0; i < N_ENDS; i++) ib_nic_end_close(&ends[i]);
    ib_nic_worker_close(&tr.workers[0]);
    ib_nic_close(&tr);
    if (adapter.n_queues != 0) abort();
    ib_short_hide(&lmem);
    ib_shorts_close(&tr.workers[0]);
    free(lmem.addr);
    return 0;
}

/* A put, a call, a put with a call, the reply to the first call here; an atomic, one that fetches, a reply to
 * each fetch here; puts with a signal: alone, with a call, with a reply, and the signal only; a queue pair to connect,
 * and the reply to one from here. */
size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    static const uint8_t put[] = {3 + 16, 16, 8, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    static const uint8_t call[] = {4, 8, 1, 0, 0, 0, 7, 0, 0, 0};
    static const uint8_t both[] = {5 + 16 + 32, 24, 1, 0, 0, 0, 9, 0, 0, 0, 64, 0, 0,
                                   0,           0,  0, 0, 0, 1, 2, 3, 4, 5, 6,  7, 8};
    static const uint8_t here[] = {6, 8, 0, 0, 0, 0, 1, 0, 0, 0};
    static const uint8_t atomic[] = {7 + 16, 32, 8, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 8, 0, 0,
                                     0,      1,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t fetch[] = {8 + 16 + 32, 40, 1, 0, 0, 0, 7, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0,
                                    0,           2,  0, 0, 0, 1, 0, 0, 0, 0, 0,  0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t value[] = {9, 16, 63, 0, 0, 0, 0, 0, 0, 0, 77, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t refused[] = {10, 8, 62, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t signal[38] = {11 + 16, 36, 8, [10] = 64, [18] = 5, [26] = 1, [34] = 1, 2, 3, 4};
    static const uint8_t signal_and_call[43] = {
        12 + 16 + 32, 41, 1, [6] = 7, [10] = 8, [18] = 64, [26] = 5, [34] = 4, [42] = 1};
    static const uint8_t signal_fetching[42] = {13 + 16 + 32, 40, 1, [6] = 7, [18] = 64, [26] = 5, [34] = 4};
    static const uint8_t link[2 + 220] = {14, 127 + 22, [18] = 2};
    static const uint8_t linked[2 + 220] = {15, 127 + 22, [18] = 2};
    static const struct {
        const uint8_t *bytes;
        size_t n;
    } seeds[] = {{put, sizeof put},
                 {call, sizeof call},
                 {both, sizeof both},
                 {here, sizeof here},
                 {atomic, sizeof atomic},
                 {fetch, sizeof fetch},
                 {value, sizeof value},
                 {refused, sizeof refused},
                 {signal, sizeof signal},
                 {signal_and_call, sizeof signal_and_call},
                 {signal_fetching, sizeof signal_fetching},
                 {link, sizeof link},
                 {linked, sizeof linked}};
    return i < sizeof seeds / sizeof *seeds ? fuzz_put(out, room, seeds[i].bytes, seeds[i].n) : 0;
}
