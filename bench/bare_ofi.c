/* libfabric without a runtime on it, by the interface of bare_net.h: an endpoint (RDM), one completion queue and a
 * window of memory; the reference for transport ofi. ISTHMUS_OFI_PROVIDER names the provider, as for that. Puts are
 * complete when they are delivered; atomics are the provider's own. */
#include "bare_net.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

enum { ADDRESS_ROOM = 256, CONTEXTS = 4096, ENTRIES = 16 };

/* What one PE needs of the other. Symmetric: the other one gets it. */
static struct {
    char address[ADDRESS_ROOM];
    uint64_t window, key;
} card, peer_card;

static struct {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct fid_mr *memory;
    fi_addr_t peer;
    char *window;
    long n_pending;
    unsigned next;
    struct fi_context2 contexts[CONTEXTS];
} bare;

static void require(ssize_t status, const char *what)
{
    if (status >= 0) return;
    fprintf(stderr, "bare libfabric: %s: %s\n", what, fi_strerror((int)-status));
    shmem_global_exit(EXIT_FAILURE);
}

static bool progress(void)
{
    struct fi_cq_entry entries[ENTRIES];
    ssize_t n = fi_cq_read(bare.cq, entries, ENTRIES);
    if (n > 0) {
        bare.n_pending -= (long)n;
        return true;
    }
    if (n != -FI_EAGAIN) require(n, "an operation");
    sched_yield();
    return false;
}

static void wait_below(long n_most)
{
    while (bare.n_pending >= n_most) progress();
}

/* ---- operations ---- */

static void *context(void)
{
    wait_below(CONTEXTS);
    return &bare.contexts[bare.next++ % CONTEXTS];
}

static void access_window(uint64_t offset, void *local, size_t length_bytes, bool is_write)
{
    const struct iovec here = {local, length_bytes};
    const struct fi_rma_iov there = {peer_card.window + offset, length_bytes, peer_card.key};
    const struct fi_msg_rma message = {.msg_iov = &here,
                                       .iov_count = 1,
                                       .addr = bare.peer,
                                       .rma_iov = &there,
                                       .rma_iov_count = 1,
                                       .context = context()};
    ssize_t status;
    while ((status = is_write ? fi_writemsg(bare.ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE)
                              : fi_readmsg(bare.ep, &message, FI_COMPLETION)) == -FI_EAGAIN)
        progress();
    require(status, "a put or get");
    bare.n_pending++;
}

void bare_net_put_nbi(uint64_t offset, const void *source, size_t length_bytes)
{
    access_window(offset, (void *)(uintptr_t)source, length_bytes, true);
}

void bare_net_get_nbi(uint64_t offset, void *dest, size_t length_bytes)
{
    access_window(offset, dest, length_bytes, false);
}

void bare_net_flush(void) { wait_below(1); }

void bare_net_put(uint64_t offset, const void *source, size_t length_bytes)
{
    bare_net_put_nbi(offset, source, length_bytes);
    wait_below(1);
}

void bare_net_get(uint64_t offset, void *dest, size_t length_bytes)
{
    bare_net_get_nbi(offset, dest, length_bytes);
    wait_below(1);
}

uint64_t bare_net_fetch_add(uint64_t offset, uint64_t value)
{
    uint64_t old;
    ssize_t status;
    void *at = context();
    while ((status = fi_fetch_atomic(bare.ep, &value, 1, NULL, &old, NULL, bare.peer, peer_card.window + offset,
                                     peer_card.key, FI_UINT64, FI_SUM, at)) == -FI_EAGAIN)
        progress();
    require(status, "fi_fetch_atomic");
    bare.n_pending++;
    wait_below(1);
    return old;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Naps as bare_ucp.c does. */
void bare_net_wait_at_least(uint64_t offset, uint64_t value)
{
    enum { LOOKS = 32, AWAKE_NS = 1000000, NAP_NS = 100000 };
    const uint64_t *word = (const uint64_t *)(const void *)(bare.window + offset);
    uint64_t busy_ns = now_ns();
    for (unsigned n_idle = 0; __atomic_load_n(word, __ATOMIC_ACQUIRE) < value;) {
        if (progress()) {
            busy_ns = now_ns();
            n_idle = 0;
        } else if (++n_idle % LOOKS == 0 && now_ns() - busy_ns > AWAKE_NS) {
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
        }
    }
}

/* ---- life ---- */

bool bare_net_has_adapter_atomics(void) { return false; }

/* "tcp+ofi_rxm" names tcp;ofi_rxm, as in the library's variable. */
static void choose_provider(void)
{
    const char *name = getenv("ISTHMUS_OFI_PROVIDER");
    struct fi_info *hints = fi_allocinfo();
    if (hints == NULL) require(-FI_ENOMEM, "fi_allocinfo");
    hints->caps = FI_MSG | FI_RMA | FI_ATOMIC;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    char *plus = hints->fabric_attr->prov_name = strdup(name != NULL ? name : "tcp;ofi_rxm");
    while ((plus = strchr(plus, '+')) != NULL) *plus = ';';
    struct fi_info *all = NULL, *info;
    require(fi_getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, &all), "fi_getinfo");
    for (info = all; info->next != NULL && strcmp(info->domain_attr->name, "lo") == 0;) info = info->next;
    bare.info = fi_dupinfo(info);
    fi_freeinfo(all);
    fi_freeinfo(hints);
}

static void open_endpoint(void)
{
    struct fi_av_attr av = {.type = FI_AV_UNSPEC};
    struct fi_cq_attr cq = {.size = 2 * CONTEXTS, .format = FI_CQ_FORMAT_CONTEXT};
    size_t room = ADDRESS_ROOM;
    require(fi_fabric(bare.info->fabric_attr, &bare.fabric, NULL), "fi_fabric");
    require(fi_domain(bare.fabric, bare.info, &bare.domain, NULL), "fi_domain");
    require(fi_av_open(bare.domain, &av, &bare.av, NULL), "fi_av_open");
    require(fi_cq_open(bare.domain, &cq, &bare.cq, NULL), "fi_cq_open");
    require(fi_endpoint(bare.domain, bare.info, &bare.ep, NULL), "fi_endpoint");
    require(fi_ep_bind(bare.ep, &bare.av->fid, 0), "fi_ep_bind");
    require(fi_ep_bind(bare.ep, &bare.cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    require(fi_enable(bare.ep), "fi_enable");
    require(fi_getname(&bare.ep->fid, card.address, &room), "fi_getname");
}

static void open_window(size_t window_bytes)
{
    bool is_virtual = (bare.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    bare.window = calloc(window_bytes, 1);
    if (bare.window == NULL) require(-FI_ENOMEM, "the window");
    require(fi_mr_reg(bare.domain, bare.window, window_bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &bare.memory,
                      NULL),
            "fi_mr_reg");
    card.window = is_virtual ? (uint64_t)(uintptr_t)bare.window : 0;
    card.key = fi_mr_key(bare.memory);
}

void bare_net_open(int peer, size_t window_bytes)
{
    choose_provider();
    open_endpoint();
    open_window(window_bytes);
    shmem_barrier_all();
    shmem_getmem(&peer_card, &card, sizeof card, peer);
    if (fi_av_insert(bare.av, peer_card.address, 1, &bare.peer, 0, NULL) != 1) require(-FI_EINVAL, "fi_av_insert");
    const uint64_t arrived = 1;
    bare_net_put_nbi(0, &arrived, sizeof arrived); /* connects */
    bare_net_wait_at_least(0, arrived);
    bare_net_flush();
    const uint64_t over = 2; /* until both have, each needs the other's progress */
    bare_net_put_nbi(0, &over, sizeof over);
    bare_net_wait_at_least(0, over);
    bare_net_flush();
    shmem_barrier_all();
}

void bare_net_close(void)
{
    shmem_barrier_all();
    require(fi_close(&bare.ep->fid), "fi_close");
    require(fi_close(&bare.memory->fid), "fi_close");
    require(fi_close(&bare.cq->fid), "fi_close");
    require(fi_close(&bare.av->fid), "fi_close");
    require(fi_close(&bare.domain->fid), "fi_close");
    require(fi_close(&bare.fabric->fid), "fi_close");
    fi_freeinfo(bare.info);
    free(bare.window);
}
