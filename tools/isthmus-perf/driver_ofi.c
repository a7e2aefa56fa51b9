/* tools/isthmus-perf/driver_ofi.c: libfabric, which transport ofi uses: an endpoint without connections, one queue of
 * completions. The provider and its domain are chosen by the transport's own files, so that both use the same adapter;
 * atomics are the provider's. See limit_net.h. */
#include "tools/isthmus-perf/limit_net.h"

#ifdef PERF_WITH_OFI

#include "plugins/ofi/ofi.h"
#include "tools/isthmus-perf/facts.h"

#include <dlfcn.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum { ADDRESS_ROOM = 512, CONTEXTS = 4096, ENTRIES = 16 };

struct card {
    char address[ADDRESS_ROOM];
    uint64_t addr[NET_REGIONS], key[NET_REGIONS];
};
_Static_assert(sizeof(struct card) <= NET_CARD_BYTES, "a card has room");

struct peer {
    struct peer *next; /* of all */
    fi_addr_t addr;
    uint64_t base[NET_REGIONS], key[NET_REGIONS];
    bool is_written; /* since the last flush */
};

/* libfabric has an operation's context until it reports the completion. */
struct context {
    struct fi_context2 context; /* first: libfabric returns its address */
    struct context *next;       /* free */
};

static struct {
    struct isthmus_tr choice; /* of a provider: info, and what it needs */
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct net_buffer buffers[NET_BUFFERS_MOST];
    struct fid_mr *memory[NET_BUFFERS_MOST];
    int n_buffers;
    struct context contexts[CONTEXTS], *free;
    struct peer *peers;
    long n_pending;
    uint64_t operand, compare, fetched; /* of the atomic under way; and what reads of a flush return */
    bool has_amo, has_failed;
    char reason[NET_REASON_BYTES];
} ofi;

/* Returns true if it is no error; else keeps the first reason. */
static bool is_ok(ssize_t error, const char *call)
{
    if (error >= 0) return true;
    if (!ofi.has_failed) snprintf(ofi.reason, sizeof ofi.reason, "%s: %s", call, ofi_library_error(error));
    ofi.has_failed = true;
    return false;
}

static const char *failure(void) { return ofi.has_failed ? ofi.reason : NULL; }

/* ---- completions ---- */

static void release(void *done)
{
    struct context *context = done;
    context->next = ofi.free;
    ofi.free = context;
    ofi.n_pending--;
}

static bool progress(void)
{
    struct fi_cq_entry entries[ENTRIES];
    struct fi_cq_err_entry error = {.err = 0};
    ssize_t n = fi_cq_read(ofi.cq, entries, ENTRIES);
    for (ssize_t i = 0; i < n; i++) release(entries[i].op_context);
    if (n > 0) return true;
    if (n == -FI_EAVAIL && fi_cq_readerr(ofi.cq, &error, 0) > 0) {
        (void)is_ok(-error.err, "an operation");
        if (error.op_context != NULL) release(error.op_context);
    } else if (n != -FI_EAGAIN) {
        (void)is_ok(n, "fi_cq_read");
    }
    sched_yield();
    return false;
}

static struct context *take_context(void)
{
    while (ofi.free == NULL && !ofi.has_failed) progress();
    struct context *context = ofi.free;
    if (context == NULL) return NULL;
    ofi.free = context->next;
    ofi.n_pending++;
    return context;
}

static void wait_all(void)
{
    while (ofi.n_pending > 0 && !ofi.has_failed) progress();
}

/* ---- operations ---- */

/* The descriptor of the registration that has this address, where the provider needs one. */
static void *desc_of(const void *local)
{
    for (int i = 0; i < ofi.n_buffers && ofi.choice.needs_local_mr; i++)
        if ((uintptr_t)local - (uintptr_t)ofi.buffers[i].addr < ofi.buffers[i].n_bytes && ofi.memory[i] != NULL)
            return fi_mr_desc(ofi.memory[i]);
    return NULL;
}

/* One that the provider takes as a whole. */
static void access_piece(const struct peer *peer, const struct net_access *a, bool is_write)
{
    const struct iovec here = {a->local, a->n_bytes};
    const struct fi_rma_iov there = {peer->base[a->region] + a->offset, a->n_bytes, peer->key[a->region]};
    const uint64_t complete = ofi.choice.needs_flush ? FI_TRANSMIT_COMPLETE : FI_DELIVERY_COMPLETE;
    void *desc = desc_of(a->local);
    struct context *context = take_context();
    if (context == NULL) return;
    const struct fi_msg_rma message = {.msg_iov = &here,
                                       .desc = &desc,
                                       .iov_count = 1,
                                       .addr = peer->addr,
                                       .rma_iov = &there,
                                       .rma_iov_count = 1,
                                       .context = &context->context};
    ssize_t status;
    do {
        status = is_write ? fi_writemsg(ofi.ep, &message, FI_COMPLETION | complete)
                          : fi_readmsg(ofi.ep, &message, FI_COMPLETION);
        if (status == -FI_EAGAIN) progress();
    } while (status == -FI_EAGAIN && !ofi.has_failed);
    if (status != 0) release(context);
    (void)is_ok(status, is_write ? "fi_writemsg" : "fi_readmsg");
}

static void access_memory(const struct peer *peer, const struct net_access *a, bool is_write)
{
    struct net_access piece = *a;
    for (size_t done = 0; done < a->n_bytes && !ofi.has_failed; done += piece.n_bytes) {
        piece.offset = a->offset + done;
        piece.local = (char *)a->local + done;
        piece.n_bytes = a->n_bytes - done < ofi.choice.access_bytes ? a->n_bytes - done : ofi.choice.access_bytes;
        access_piece(peer, &piece, is_write);
    }
}

static void put(void *to, const struct net_access *a)
{
    struct peer *peer = to;
    peer->is_written = true;
    access_memory(peer, a, true);
}

static void get(void *from, const struct net_access *a) { access_memory(from, a, false); }

/* Where writes are complete before they are delivered, a read behind them shows that they are. */
static void flush(void)
{
    wait_all();
    for (struct peer *peer = ofi.peers; peer != NULL && ofi.choice.needs_flush; peer = peer->next) {
        if (peer->is_written) get(peer, &(struct net_access){NET_FLAGS, 0, &ofi.fetched, sizeof ofi.fetched});
        peer->is_written = false;
    }
    wait_all();
}

static ssize_t start_amo(const struct peer *peer, enum net_amo what, uint64_t to, struct context *context)
{
    const uint64_t key = peer->key[NET_DATA];
    void *desc = desc_of(&ofi.operand);
    if (what == NET_ADD)
        return fi_atomic(ofi.ep, &ofi.operand, 1, desc, peer->addr, to, key, FI_UINT64, FI_SUM, &context->context);
    if (what == NET_FETCH_ADD)
        return fi_fetch_atomic(ofi.ep, &ofi.operand, 1, desc, &ofi.fetched, desc, peer->addr, to, key, FI_UINT64,
                               FI_SUM, &context->context);
    return fi_compare_atomic(ofi.ep, &ofi.operand, 1, desc, &ofi.compare, desc, &ofi.fetched, desc, peer->addr, to, key,
                             FI_UINT64, FI_CSWAP, &context->context);
}

static void amo(void *at, enum net_amo what, uint64_t offset, uint64_t operand, uint64_t compare)
{
    const struct peer *peer = at;
    ssize_t status;
    struct context *context = take_context();
    if (context == NULL) return;
    ofi.operand = operand;
    ofi.compare = compare;
    do {
        status = start_amo(peer, what, peer->base[NET_DATA] + offset, context);
        if (status == -FI_EAGAIN) progress();
    } while (status == -FI_EAGAIN && !ofi.has_failed);
    if (status != 0) release(context);
    (void)is_ok(status, "an atomic operation");
}

static bool find_amo(void)
{
    size_t n = 0;
    return (ofi.choice.info->caps & FI_ATOMIC) != 0 && fi_atomicvalid(ofi.ep, FI_UINT64, FI_SUM, &n) == 0 &&
           fi_fetch_atomicvalid(ofi.ep, FI_UINT64, FI_SUM, &n) == 0 &&
           fi_compare_atomicvalid(ofi.ep, FI_UINT64, FI_CSWAP, &n) == 0;
}

static bool has_amo(void) { return ofi.has_amo; }

/* ---- the provider, which the transport's files choose: they get the services that they use ---- */

static void log_nothing(void *core, uint32_t level, const char *format, ...) { (void)core, (void)level, (void)format; }

static isthmus_status keep_text(void *core, isthmus_status code, const char *format, ...)
{
    va_list args;
    (void)core;
    va_start(args, format);
    if (!ofi.has_failed) vsnprintf(ofi.reason, sizeof ofi.reason, format, args);
    va_end(args);
    ofi.has_failed = true;
    return code;
}

/* Atomics are to be the provider's, where it has them. */
static const char *setting_of(void *core, const char *key)
{
    char name[64];
    (void)core;
    if (strcmp(key, "ATOMICS") == 0) return "nic";
    snprintf(name, sizeof name, "ISTHMUS_OFI_%s", key);
    return getenv(name);
}

/* As the library gives it to transports, from what PEs publish of themselves. */
static isthmus_status list_places(void *core, const struct isthmus_local_place **list, uint32_t *n)
{
    static struct isthmus_local_place *places;
    (void)core;
    *n = (uint32_t)shmem_team_n_pes(SHMEMX_TEAM_NODE);
    if (places == NULL) places = calloc(*n, sizeof *places);
    if (places == NULL) return keep_text(NULL, ISTHMUS_ERR_NO_MEMORY, "no memory for the places of PEs");
    for (uint32_t i = 0; i < *n; i++) {
        int pe = shmem_team_translate_pe(SHMEMX_TEAM_NODE, (int)i, SHMEM_TEAM_WORLD);
        places[i] = (struct isthmus_local_place){.struct_size = sizeof places[i], .pe = pe, .kind = ISTHMUS_MEM_HOST};
        places[i].numa_node = facts_bound_node_of(pe);
    }
    *list = places;
    return ISTHMUS_OK;
}

static bool choose_provider(void)
{
    static struct isthmus_services services = {.struct_size = sizeof services,
                                               .log = log_nothing,
                                               .fail = keep_text,
                                               .config = setting_of,
                                               .local_places = list_places};
    const char *file = getenv("ISTHMUS_OFI_LIBRARY");
    void *library = dlopen(file != NULL && file[0] != '\0' ? file : "libfabric.so.1",
                           RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (library == NULL) {
        snprintf(ofi.reason, sizeof ofi.reason, "no libfabric in this process: transport ofi is not in use");
        ofi.has_failed = true;
        return false;
    }
    services.my_pe = shmem_my_pe();
    services.n_pes = shmem_n_pes();
    ofi.choice.services = &services;
    if (ofi_library_load(&services) != ISTHMUS_OK || ofi_provider_choose(&ofi.choice) != ISTHMUS_OK) return false;
    if (!ofi.choice.has_rma) snprintf(ofi.reason, sizeof ofi.reason, "the provider of libfabric has messages alone");
    ofi.has_failed = !ofi.choice.has_rma;
    return ofi.choice.has_rma;
}

/* ---- set-up ---- */

static bool open_endpoint(void)
{
    struct fi_av_attr av = {.type = FI_AV_UNSPEC};
    struct fi_cq_attr cq = {.size = 2 * CONTEXTS, .format = FI_CQ_FORMAT_CONTEXT};
    struct fi_info *info = ofi.choice.info;
    bool is_open = is_ok(ofi_library.fi_fabric(info->fabric_attr, &ofi.fabric, NULL), "fi_fabric") &&
                   is_ok(fi_domain(ofi.fabric, info, &ofi.domain, NULL), "fi_domain") &&
                   is_ok(fi_av_open(ofi.domain, &av, &ofi.av, NULL), "fi_av_open") &&
                   is_ok(fi_cq_open(ofi.domain, &cq, &ofi.cq, NULL), "fi_cq_open") &&
                   is_ok(fi_endpoint(ofi.domain, info, &ofi.ep, NULL), "fi_endpoint") &&
                   is_ok(fi_ep_bind(ofi.ep, &ofi.av->fid, 0), "fi_ep_bind") &&
                   is_ok(fi_ep_bind(ofi.ep, &ofi.cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind") &&
                   is_ok(fi_enable(ofi.ep), "fi_enable");
    for (int i = 0; i < CONTEXTS; i++) ofi.contexts[i].next = i + 1 < CONTEXTS ? &ofi.contexts[i + 1] : NULL;
    ofi.free = ofi.contexts;
    ofi.has_amo = is_open && find_amo();
    return is_open;
}

/* Keys of the program's choice are numbers from 1 on. */
static bool map(int i)
{
    uint64_t access = FI_READ | FI_WRITE | (i < NET_REGIONS ? FI_REMOTE_READ | FI_REMOTE_WRITE : 0);
    if (ofi.buffers[i].addr == NULL || (i >= NET_REGIONS && !ofi.choice.needs_local_mr)) return true;
    if (!is_ok(fi_mr_reg(ofi.domain, ofi.buffers[i].addr, ofi.buffers[i].n_bytes, access, 0, (uint64_t)i + 1, 0,
                         &ofi.memory[i], NULL),
               "fi_mr_reg"))
        return false;
    if ((ofi.choice.info->domain_attr->mr_mode & FI_MR_ENDPOINT) == 0) return true;
    return is_ok(fi_mr_bind(ofi.memory[i], &ofi.ep->fid, 0), "fi_mr_bind") &&
           is_ok(fi_mr_enable(ofi.memory[i]), "fi_mr_enable");
}

/* One buffer more: the operands of atomics. */
static bool open_driver(const struct net_buffer *buffers, int n)
{
    bool is_open = choose_provider() && open_endpoint();
    ofi.n_buffers = n + 1;
    memcpy(ofi.buffers, buffers, (size_t)n * sizeof *buffers);
    ofi.buffers[n] = (struct net_buffer){(char *)&ofi.operand, 3 * sizeof ofi.operand};
    for (int i = 0; i < ofi.n_buffers && is_open; i++) is_open = map(i);
    return is_open;
}

static void close_object(struct fid *fid)
{
    if (fid != NULL) (void)fi_close(fid);
}

static void close_driver(void)
{
    for (int i = 0; i < NET_BUFFERS_MOST; i++) close_object(ofi.memory[i] != NULL ? &ofi.memory[i]->fid : NULL);
    close_object(ofi.ep != NULL ? &ofi.ep->fid : NULL);
    close_object(ofi.cq != NULL ? &ofi.cq->fid : NULL);
    close_object(ofi.av != NULL ? &ofi.av->fid : NULL);
    close_object(ofi.domain != NULL ? &ofi.domain->fid : NULL);
    close_object(ofi.fabric != NULL ? &ofi.fabric->fid : NULL);
    if (ofi.choice.info != NULL) ofi_library.fi_freeinfo(ofi.choice.info);
}

/* ---- peers ---- */

static bool write_card(void *out)
{
    struct card *card = out;
    size_t room = ADDRESS_ROOM;
    bool is_virtual = (ofi.choice.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    for (int i = 0; i < NET_REGIONS; i++) {
        if (ofi.memory[i] == NULL) continue;
        card->addr[i] = is_virtual ? (uint64_t)(uintptr_t)ofi.buffers[i].addr : 0;
        card->key[i] = fi_mr_key(ofi.memory[i]);
    }
    return is_ok(fi_getname(&ofi.ep->fid, card->address, &room), "fi_getname");
}

static void *connect_to(const void *text)
{
    const struct card *card = text;
    struct peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL || fi_av_insert(ofi.av, card->address, 1, &peer->addr, 0, NULL) != 1) {
        (void)is_ok(peer == NULL ? -FI_ENOMEM : -FI_EINVAL, "fi_av_insert");
        free(peer);
        return NULL;
    }
    memcpy(peer->base, card->addr, sizeof peer->base);
    memcpy(peer->key, card->key, sizeof peer->key);
    peer->next = ofi.peers;
    ofi.peers = peer;
    return peer;
}

/* All at once: limit_net.c disconnects from each. */
static void disconnect(void *peer)
{
    ofi.peers = NULL;
    free(peer);
}

const struct net_driver net_driver_ofi = {
    .transport = "ofi",
    .name = "bare libfabric",
    .open = open_driver,
    .close = close_driver,
    .write_card = write_card,
    .connect = connect_to,
    .disconnect = disconnect,
    .put = put,
    .get = get,
    .amo = amo,
    .has_amo = has_amo,
    .progress = progress,
    .wait = wait_all,
    .flush = flush,
    .failure = failure,
};

#else

static const char *failure(void) { return "this isthmus-perf was built without libfabric's headers"; }
static bool open_driver(const struct net_buffer *buffers, int n) { return (void)buffers, (void)n, false; }
static void close_driver(void) {}

const struct net_driver net_driver_ofi = {
    .transport = "ofi", .open = open_driver, .close = close_driver, .failure = failure};

#endif
