/* tests/fuzz/am_ib.c: active messages of peers, in any order and of any length: short puts, with signals or without,
 * flushes, atomics, replies, and queue pairs to connect. Sanitizers see every access outside of the memory that is
 * exposed; only valid messages take effect. */
#include "plugins/ib/am/am.h"
#include "plugins/ib/rc/rc.h"
#include "tests/fuzz/fuzz.h"

enum { EXPOSED_BYTES = 4096, MOST_IDS = 16, FIRST_WITH_SIGNAL = 11, LAST_WITH_SIGNAL = 13, N_EPS = 2 };
enum { GATHERED = MOST_IDS, GATHERED_BYTES = 24 }; /* an id; a put of 8 bytes in such a message */

struct ib_ucp ib_ucp;
void ib_ucp_note_no_memory(const char *why) { (void)why; }
void ib_refusal_keep(isthmus_tr *tr, isthmus_status code, const char *text) { (void)tr, (void)code, (void)text; }
void ib_ep_lose(struct ib_ep *ep, ucs_status_t why) { (void)ep, (void)why; }
isthmus_status ib_ep_fail(const struct ib_ep *ep, ucs_status_t why)
{
    (void)ep, (void)why;
    return ISTHMUS_ERR_IO;
}
isthmus_status ib_ep_wait_for_reply(struct ib_ep *ep, const struct ib_batch *batch, enum ib_wait wait)
{
    (void)ep, (void)wait;
    return batch->n_pending == 0 ? ISTHMUS_OK : ISTHMUS_ERR_UNREACHABLE;
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
isthmus_status ib_ucp_code(ucs_status_t status)
{
    (void)status;
    return ISTHMUS_ERR_IO;
}

/* ---- what only the slots of channels call ---- */

isthmus_status ib_target_find_slow(isthmus_chan *chan, isthmus_path *to, const isthmus_rmem *remote,
                                   enum ib_op_class class, enum ib_wait wait, struct ib_target *out)
{
    (void)chan, (void)to, (void)remote, (void)class, (void)wait, (void)out;
    abort();
}
isthmus_status ib_ep_order_slow(struct ib_ep *ep, enum ib_op_class class, enum ib_wait wait)
{
    (void)ep, (void)class, (void)wait;
    abort();
}
isthmus_status ib_ep_wait_for_room(struct ib_ep *ep, enum ib_wait wait)
{
    (void)ep, (void)wait;
    abort();
}
int ib_worker_progress(struct ib_worker *worker)
{
    (void)worker;
    abort();
}
isthmus_status ib_put_by_ucx(const struct ib_target *at, const void *source, const isthmus_lmem *source_mem,
                             size_t length_bytes, struct ib_batch *batch, enum ib_wait wait)
{
    (void)at, (void)source, (void)source_mem, (void)length_bytes, (void)batch, (void)wait;
    abort();
}

/* ---- a UCX that keeps the handlers, and sends to nowhere ---- */

static ucp_am_recv_callback_t callbacks[MOST_IDS + 1];
static uint64_t n_replies, n_calls, fetched[N_EPS];
static struct ib_batch fetches;
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
    (void)ep, (void)id, (void)header;
    if (header_bytes != 0) abort();
    n_replies++;
    if (params->datatype == ucp_dt_make_contig(1)) {
        free(fuzz_copy(payload, n)); /* all of it is there */
        return NULL;
    }
    if (params->datatype != UCP_DATATYPE_GENERIC || n != 1) abort();
    void *state = type->start_pack(NULL, payload, n);
    size_t length_bytes = type->packed_size(state);
    char *packed = malloc(length_bytes + 1);
    if (packed == NULL || type->pack(state, 0, packed, length_bytes + 1) != length_bytes) abort();
    free(fuzz_copy(packed, length_bytes)); /* all of it is there */
    free(packed);
    type->finish(state);
    return NULL;
}

static ucs_status_t set_handler(ucp_worker_h worker, const ucp_am_handler_param_t *params)
{
    (void)worker;
    callbacks[params->id] = params->cb;
    return UCS_OK;
}

static const char *no_text(void *core)
{
    (void)core;
    return "no text";
}

static const struct isthmus_services services = {
    .struct_size = sizeof services, .log = fuzz_log, .fail = fuzz_fail, .fail_text = no_text, .n_pes = N_EPS};

/* ---- an adapter that connects what has an even number ---- */

struct ib_adapter {
    int n_qps;
};
struct ib_qp {
    struct ib_adapter *adapter;
};
static struct ib_adapter adapter;

isthmus_status ib_adapter_open(const struct isthmus_services *s, const struct ib_port *port,
                               const struct ib_qp_settings *settings, struct ib_adapter **out)
{
    (void)s, (void)port, (void)settings;
    *out = &adapter;
    return ISTHMUS_OK;
}

void ib_adapter_close(struct ib_adapter *closed) { (void)closed; }

isthmus_status ib_cq_create(struct ib_adapter *on, uint32_t n_slots, struct ib_cq **out)
{
    (void)on, (void)n_slots;
    *out = NULL;
    return ISTHMUS_OK;
}

void ib_cq_destroy(struct ib_cq *cq) { (void)cq; }
int ib_cq_fd(const struct ib_cq *cq) { return (void)cq, -1; }
void ib_cq_arm(struct ib_cq *cq) { (void)cq; }

uint32_t ib_cq_poll(struct ib_cq *cq, struct ib_wc *list, uint32_t room)
{
    (void)cq, (void)list, (void)room;
    return 0;
}

int ib_qp_post(struct ib_qp *qp, const struct ib_qp_target *target, const struct ib_word_op *request)
{
    (void)qp, (void)target, (void)request;
    return -1;
}

isthmus_status ib_qp_create(struct ib_adapter *on, struct ib_cq *cq, struct ib_qp **out)
{
    (void)cq;
    *out = malloc(sizeof **out);
    if (*out == NULL) abort();
    (*out)->adapter = on;
    on->n_qps++;
    return ISTHMUS_OK;
}

void ib_qp_destroy(struct ib_qp *qp)
{
    if (qp == NULL) return;
    qp->adapter->n_qps--;
    free(qp);
}

void ib_qp_address(const struct ib_qp *qp, struct ib_qp_address *out)
{
    (void)qp;
    *out = (struct ib_qp_address){.qp_num = 1};
}

isthmus_status ib_qp_connect(struct ib_qp *qp, const struct ib_qp_address *peer)
{
    (void)qp;
    return peer->qp_num % 2 == 0 ? ISTHMUS_OK : ISTHMUS_ERR_IO;
}

bool ib_qp_has_masked(const struct ib_qp *qp) { return (void)qp, true; }

void ib_qp_describe(const struct ib_qp *qp, char out[IB_QP_TEXT_BYTES])
{
    (void)qp;
    out[0] = '\0';
}

static void begin(isthmus_tr *tr, bool is_tcp, struct ib_ep *eps, isthmus_lmem *lmem)
{
    struct ib_worker *worker = &tr->workers[0];
    ib_ucp.ucp_am_send_nbx = send_message;
    ib_ucp.ucp_dt_create_generic = create_type;
    ib_ucp.ucp_dt_destroy = destroy_type;
    ib_ucp.ucp_worker_set_am_recv_handler = set_handler;
    *tr = (isthmus_tr){.services = &services, .n_workers = 1, .adapter = &adapter, .wakes = is_tcp};
    worker->tr = path.tr = tr;
    fetches = (struct ib_batch){0};
    pthread_mutex_init(&worker->lock, NULL);
    if (ib_am_open(worker) != ISTHMUS_OK || ib_rc_worker_open(worker) != ISTHMUS_OK) abort();
    for (int i = 0; i < N_EPS; i++) {
        eps[i] = (struct ib_ep){.worker = worker, .path = &path};
        if (ib_ep_add_id(&eps[i]) != ISTHMUS_OK || !ib_am_flush(&eps[i])) abort();
        const struct ib_amo add = {ISTHMUS_AMO_ADD, sizeof fetched[i], 1, 0};
        if (!ib_am_fetch(&eps[i], 8, &add, &fetched[i], &fetches, NULL)) abort();
        (void)ib_rc_connect(&eps[i], IB_WAIT); /* no peer has replied */
        if (eps[i].qp == NULL || eps[i].qp_connecting.n_pending != 1) abort();
    }
    worker->eps_by_id[N_EPS - 1] = NULL; /* a peer that is lost */
    *lmem = (isthmus_lmem){.tr = tr, .addr = aligned_alloc(64, EXPOSED_BYTES), .length_bytes = EXPOSED_BYTES};
    if (lmem->addr == NULL) abort();
    ib_am_expose(lmem);
    n_replies = n_calls = 0;
}

static void add_address(char *at, const isthmus_lmem *lmem)
{
    uint64_t address;
    memcpy(&address, at, sizeof address);
    address += (uint64_t)(uintptr_t)lmem->addr;
    memcpy(at, &address, sizeof address);
}

/* A byte: the low four bits are the id, 0 that of gathered puts; 16: addresses in it are counted from the start of the
 * exposed memory, 32: they stand behind a request id, or in the second of two gathered puts of 8 bytes, 64: no reply
 * can be sent, 128: the data is still at the sender. A byte of length, in tens from 128 on, then the message. */
static void arrive(struct ib_worker *worker, const isthmus_lmem *lmem, struct fuzz_input *in)
{
    uint8_t way = fuzz_byte(in);
    uint8_t length = fuzz_byte(in);
    const uint8_t *bytes;
    size_t id = way % MOST_IDS != 0 ? way % MOST_IDS : GATHERED;
    size_t n = fuzz_bytes(in, length < 128 ? length : (length - 127u) * 10, &bytes);
    size_t at = (way & 32) == 0 ? 0 : id == GATHERED ? GATHERED_BYTES : sizeof(uint64_t);
    size_t n_addresses = (way & 16) == 0 ? 0 : id >= FIRST_WITH_SIGNAL && id <= LAST_WITH_SIGNAL ? 2 : 1;
    if (id == GATHERED) at += 2 * sizeof(uint64_t);
    char *message = fuzz_copy(bytes, n);
    for (size_t i = 0; i < n_addresses && n >= at + (i + 1) * sizeof(uint64_t); i++)
        add_address(message + at + i * sizeof(uint64_t), lmem);
    ucp_am_recv_callback_t callback = callbacks[id];
    const ucp_am_recv_param_t param = {
        .recv_attr = ((way & 64) == 0 ? UCP_AM_RECV_ATTR_FIELD_REPLY_EP : 0) |
                     ((way & 128) != 0 ? UCP_AM_RECV_ATTR_FLAG_RNDV : 0),
    };
    n_calls++;
    if (callback != NULL && callback(worker, NULL, 0, message, n, &param) != UCS_OK) abort();
    free(message);
}

static void receive_all(const uint8_t *data, size_t size, bool is_tcp)
{
    static isthmus_tr tr;
    struct ib_ep eps[N_EPS];
    isthmus_lmem lmem;
    struct fuzz_input in = {data, data + size};
    begin(&tr, is_tcp, eps, &lmem);
    while (in.at < in.end) arrive(&tr.workers[0], &lmem, &in);
    if (n_replies > n_calls || eps[0].flush.n_pending > 1 || eps[N_EPS - 1].flush.n_pending != 1) abort();
    for (int i = 0; i < N_EPS; i++) ib_am_fetches_fail(&tr.workers[0], &eps[i]);
    if (fetches.n_pending != 0) abort();
    if (eps[0].is_qp_connected && eps[0].qp_connecting.n_pending != 0) abort();
    if (eps[N_EPS - 1].qp_connecting.n_pending != 1) abort();
    for (int i = 0; i < N_EPS; i++) ib_rc_ep_close(&eps[i]);
    ib_rc_worker_close(&tr.workers[0]);
    ib_rc_close(&tr);
    if (adapter.n_qps != 0) abort();
    ib_am_hide(&lmem);
    ib_am_close(&tr.workers[0]);
    free(lmem.addr);
}

/* Over TCP messages are packed by a datatype of the plugin, and else sent as their bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    receive_all(data, size, true);
    receive_all(data, size, false);
    return 0;
}

/* A put, a flush, a put with a flush, the reply to the first flush from here; an atomic, one that fetches, a reply to
 * each fetch from here; puts with a signal: alone, with a flush, with a reply, and the signal only; a queue pair to
 * connect, and the reply to one from here; gathered puts: one, two, and one of two in half a message. */
size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    static const uint8_t put[] = {3 + 16, 16, 8, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    static const uint8_t flush[] = {4, 8, 1, 0, 0, 0, 7, 0, 0, 0};
    static const uint8_t put_flush[] = {5 + 16 + 32, 24, 1, 0, 0, 0, 9, 0, 0, 0, 64, 0, 0,
                                        0,           0,  0, 0, 0, 1, 2, 3, 4, 5, 6,  7, 8};
    static const uint8_t flush_reply[] = {6, 8, 0, 0, 0, 0, 1, 0, 0, 0};
    static const uint8_t atomic[] = {7 + 16, 32, 8, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 8, 0, 0,
                                     0,      1,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t fetch[] = {8 + 16 + 32, 40, 1, 0, 0, 0, 7, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0,
                                    0,           2,  0, 0, 0, 1, 0, 0, 0, 0, 0,  0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t fetch_reply[] = {9, 16, 63, 0, 0, 0, 0, 0, 0, 0, 77, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t refusal[] = {10, 8, 62, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t signal[38] = {11 + 16, 36, 8, [10] = 64, [18] = 5, [26] = 1, [34] = 1, 2, 3, 4};
    static const uint8_t signal_flush[43] = {
        12 + 16 + 32, 41, 1, [6] = 7, [10] = 8, [18] = 64, [26] = 5, [34] = 4, [42] = 1};
    static const uint8_t signal_fetch[42] = {13 + 16 + 32, 40, 1, [6] = 7, [18] = 64, [26] = 5, [34] = 4};
    static const uint8_t puts[34] = {16, 32, 1, [10] = 8, [18] = 8, [26] = 1, 2, 3, 4, 5, 6, 7, 8};
    static const uint8_t puts_of_two[58] = {16 + 32, 56, 2, [10] = 8, [34] = 8, [42] = 16, [50] = 1,
                                            2,       3,  4, 5,        6,        7,         8};
    static const uint8_t puts_cut[30] = {16, 28, 2, [10] = 3, [18] = 8, [26] = 1, 2, 3, 4};
    static const uint8_t qp_request[2 + 220] = {14, 127 + 22, [18] = 2};
    static const uint8_t qp_reply[2 + 220] = {15, 127 + 22, [18] = 2};
    static const struct {
        const uint8_t *bytes;
        size_t n;
    } seeds[] = {{put, sizeof put},
                 {flush, sizeof flush},
                 {put_flush, sizeof put_flush},
                 {flush_reply, sizeof flush_reply},
                 {atomic, sizeof atomic},
                 {fetch, sizeof fetch},
                 {fetch_reply, sizeof fetch_reply},
                 {refusal, sizeof refusal},
                 {signal, sizeof signal},
                 {signal_flush, sizeof signal_flush},
                 {signal_fetch, sizeof signal_fetch},
                 {puts, sizeof puts},
                 {puts_of_two, sizeof puts_of_two},
                 {puts_cut, sizeof puts_cut},
                 {qp_request, sizeof qp_request},
                 {qp_reply, sizeof qp_reply}};
    return i < sizeof seeds / sizeof *seeds ? fuzz_put(out, room, seeds[i].bytes, seeds[i].n) : 0;
}
