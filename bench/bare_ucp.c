/* See bare_net.h. */
#include "bare_net.h"

#include <sched.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucp/api/ucp.h>

enum { ADDRESS_ROOM = 2048, KEY_ROOM = 512 };

/* What one PE needs to know of the other. Symmetric: the other one gets it. */
static struct {
    size_t address_bytes, key_bytes;
    uint64_t window;
    char address[ADDRESS_ROOM], key[KEY_ROOM];
} card, peer_card;

static struct {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    ucp_ep_h ep;
    ucp_mem_h memory;
    ucp_rkey_h key;
    char *window;
    long n_pending;
} bare;

static void require(ucs_status_t status, const char *what)
{
    if (status == UCS_OK) return;
    fprintf(stderr, "bare UCP: %s: %s\n", what, ucs_status_string(status));
    shmem_global_exit(EXIT_FAILURE);
}

static bool progress(void)
{
    if (ucp_worker_progress(bare.worker) > 0) return true;
    sched_yield();
    return false;
}

/* ---- requests ---- */

static void on_done(void *request, ucs_status_t status, void *unused)
{
    (void)unused;
    require(status, "an operation");
    bare.n_pending--;
    ucp_request_free(request);
}

static const ucp_request_param_t counted = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK, .cb.send = on_done};
static const ucp_request_param_t plain = {.op_attr_mask = 0};

static void count(ucs_status_ptr_t request)
{
    if (UCS_PTR_IS_ERR(request)) require(UCS_PTR_STATUS(request), "an operation");
    if (request != NULL) bare.n_pending++;
}

static void wait_for(ucs_status_ptr_t request)
{
    if (request == NULL) return;
    require(UCS_PTR_IS_ERR(request) ? UCS_PTR_STATUS(request) : UCS_OK, "an operation");
    ucs_status_t status;
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) progress();
    ucp_request_free(request);
    require(status, "an operation");
}

/* ---- operations ---- */

static uint64_t remote(uint64_t offset) { return peer_card.window + offset; }

void bare_net_put_nbi(uint64_t offset, const void *source, size_t length_bytes)
{
    count(ucp_put_nbx(bare.ep, source, length_bytes, remote(offset), bare.key, &counted));
}

void bare_net_get_nbi(uint64_t offset, void *dest, size_t length_bytes)
{
    count(ucp_get_nbx(bare.ep, dest, length_bytes, remote(offset), bare.key, &counted));
}

void bare_net_flush(void)
{
    while (bare.n_pending > 0) progress();
    wait_for(ucp_ep_flush_nbx(bare.ep, &plain));
}

void bare_net_put(uint64_t offset, const void *source, size_t length_bytes)
{
    wait_for(ucp_put_nbx(bare.ep, source, length_bytes, remote(offset), bare.key, &plain));
}

void bare_net_get(uint64_t offset, void *dest, size_t length_bytes)
{
    wait_for(ucp_get_nbx(bare.ep, dest, length_bytes, remote(offset), bare.key, &plain));
}

uint64_t bare_net_fetch_add(uint64_t offset, uint64_t value)
{
    uint64_t old;
    const ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER,
        .datatype = ucp_dt_make_contig(sizeof old),
        .reply_buffer = &old,
    };
    wait_for(ucp_atomic_op_nbx(bare.ep, UCP_ATOMIC_OP_ADD, &value, 1, remote(offset), bare.key, &params));
    return old;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* As the library's waits over an adapter pass their time: a target that polls for ever would take the processor from
 * the PE that measures, where they share one, and only on this side of the comparison. */
static void nap(uint64_t idle_ns)
{
    enum { AWAKE_NS = 1000000, NAP_SHARE = 8, NAP_LEAST_NS = 50000, NAP_MOST_NS = 1000000 };
    if (idle_ns < AWAKE_NS) return;
    uint64_t nap_ns = idle_ns / NAP_SHARE;
    if (nap_ns < NAP_LEAST_NS) nap_ns = NAP_LEAST_NS;
    if (nap_ns > NAP_MOST_NS) nap_ns = NAP_MOST_NS;
    nanosleep(&(struct timespec){.tv_nsec = (long)nap_ns}, NULL);
}

void bare_net_wait_at_least(uint64_t offset, uint64_t value)
{
    enum { LOOKS = 32 }; /* between two of the clock */
    const uint64_t *word = (const uint64_t *)(const void *)(bare.window + offset);
    uint64_t busy_ns = now_ns();
    for (unsigned n_idle = 0; __atomic_load_n(word, __ATOMIC_ACQUIRE) < value;) {
        if (progress()) {
            busy_ns = now_ns();
            n_idle = 0;
        } else if (++n_idle >= LOOKS) {
            nap(now_ns() - busy_ns);
        }
    }
}

/* ---- life ---- */

bool bare_net_has_adapter_atomics(void)
{
    const char *home = getenv("ISTHMUS_ATOMICS");
    return home != NULL && strcmp(home, "nic") == 0;
}

static void open_worker(void)
{
    ucp_config_t *config;
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features = UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64,
    };
    const ucp_worker_params_t worker_params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE,
    };
    require(ucp_config_read(NULL, NULL, &config), "ucp_config_read");
    /* While the library is measured, no process polls this worker: an unanswered probe would end the endpoint. */
    (void)ucp_config_modify(config, "KEEPALIVE_INTERVAL", "inf");
    if (bare_net_has_adapter_atomics()) (void)ucp_config_modify(config, "ATOMIC_MODE", "device");
    require(ucp_init(&params, config, &bare.context), "ucp_init");
    ucp_config_release(config);
    require(ucp_worker_create(bare.context, &worker_params, &bare.worker), "ucp_worker_create");
}

static void open_window(size_t window_bytes)
{
    bare.window = calloc(window_bytes, 1);
    const ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address = bare.window,
        .length = window_bytes,
    };
    if (bare.window == NULL) require(UCS_ERR_NO_MEMORY, "the window");
    require(ucp_mem_map(bare.context, &params, &bare.memory), "ucp_mem_map");
}

static void write_card(void)
{
    void *key;
    require(ucp_worker_get_address(bare.worker, &bare.address, &card.address_bytes), "ucp_worker_get_address");
    require(ucp_rkey_pack(bare.context, bare.memory, &key, &card.key_bytes), "ucp_rkey_pack");
    if (card.address_bytes > ADDRESS_ROOM || card.key_bytes > KEY_ROOM) require(UCS_ERR_EXCEEDS_LIMIT, "the card");
    memcpy(card.address, bare.address, card.address_bytes);
    memcpy(card.key, key, card.key_bytes);
    card.window = (uint64_t)(uintptr_t)bare.window;
    ucp_rkey_buffer_release(key);
}

void bare_net_open(int peer, size_t window_bytes)
{
    open_worker();
    open_window(window_bytes);
    write_card();
    shmem_barrier_all();
    shmem_getmem(&peer_card, &card, sizeof card, peer);
    const ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
        .address = (const ucp_address_t *)(const void *)peer_card.address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
    };
    require(ucp_ep_create(bare.worker, &params, &bare.ep), "ucp_ep_create");
    require(ucp_ep_rkey_unpack(bare.ep, peer_card.key, &bare.key), "ucp_ep_rkey_unpack");
    const uint64_t arrived = 1;
    bare_net_put(0, &arrived, sizeof arrived); /* connects; afterwards neither needs the other's progress */
    bare_net_wait_at_least(0, arrived);
    shmem_barrier_all();
}

void bare_net_close(void)
{
    const ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    shmem_barrier_all();
    ucp_rkey_destroy(bare.key);
    wait_for(ucp_ep_close_nbx(bare.ep, &force));
    shmem_barrier_all();
    ucp_worker_release_address(bare.worker, bare.address);
    ucp_mem_unmap(bare.context, bare.memory);
    ucp_worker_destroy(bare.worker);
    ucp_cleanup(bare.context);
    free(bare.window);
}
