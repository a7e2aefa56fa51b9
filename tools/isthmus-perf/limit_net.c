/* tools/isthmus-perf/limit_net.c: see limit_net.h: batches and connections; the libraries are in driver_*.c. */
#include "tools/isthmus-perf/limit_net.h"
#include "tools/isthmus-perf/bare.h"
#include "tools/isthmus-perf/start.h"

#include <nvshmem.h>
#include <sched.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct net_driver *const drivers[] = {&net_driver_ucp, &net_driver_ofi};
enum { N_DRIVERS = sizeof drivers / sizeof *drivers };

static _Alignas(64) char card[NET_CARD_BYTES]; /* symmetric: peers get it */
static uint64_t n_served;                      /* symmetric: counts the batches of pairs that `from` has ended */
static uint64_t n_arrived, n_released;         /* symmetric: of PE 0 and of each, for batches of all */

static struct {
    const struct net_driver *driver; /* NULL: none is open */
    void **peers;                    /* by PE; NULL: not connected */
    bool was_opened, has_amo;
    const char *refusal;
} net;

const char *limit_net_name(void) { return net.driver->name; }
const char *limit_net_failure(void) { return net.driver != NULL ? net.driver->failure() : NULL; }

/* ---- peers ---- */

/* Connects at the first use; the connection itself is made by the first operation. Returns NULL after a failure. */
static void *peer_of(int pe)
{
    static _Alignas(64) char peer_card[NET_CARD_BYTES];
    if (net.peers[pe] == NULL && net.driver->failure() == NULL) {
        shmem_getmem(peer_card, card, sizeof card, pe);
        net.peers[pe] = net.driver->connect(peer_card);
    }
    return net.driver->failure() == NULL ? net.peers[pe] : NULL;
}

static struct net_access data_of(const struct place *place, uint64_t offset, const void *local)
{
    return (struct net_access){NET_DATA, offset, (void *)(uintptr_t)local, place->size_bytes};
}

/* ---- batches of a pair ---- */

static void batch_put(const struct place *place, long reps)
{
    const struct net_access access = data_of(place, 0, place->source);
    void *peer = peer_of(place->to);
    for (long i = 0; i < reps && peer != NULL; i++) {
        net.driver->put(peer, &access);
        net.driver->flush();
    }
}

static void batch_put_nbi(const struct place *place, long reps)
{
    const struct net_access access = data_of(place, 0, place->source);
    void *peer = peer_of(place->to);
    for (long i = 0; i < reps && peer != NULL; i++) net.driver->put(peer, &access);
    net.driver->flush();
}

static void batch_get(const struct place *place, long reps)
{
    const struct net_access access = data_of(place, 0, place->source);
    void *peer = peer_of(place->to);
    for (long i = 0; i < reps && peer != NULL; i++) {
        net.driver->get(peer, &access);
        net.driver->wait();
    }
}

static void batch_get_nbi(const struct place *place, long reps)
{
    const struct net_access access = data_of(place, 0, place->source);
    void *peer = peer_of(place->to);
    for (long i = 0; i < reps && peer != NULL; i++) net.driver->get(peer, &access);
    net.driver->wait();
}

static void batch_fetch_add(const struct place *place, long reps)
{
    void *peer = peer_of(place->to);
    for (long i = 0; i < reps && peer != NULL; i++) {
        net.driver->amo(peer, NET_FETCH_ADD, 0, 1, 0);
        net.driver->wait();
    }
}

static void batch_add(const struct place *place, long reps)
{
    void *peer = peer_of(place->to);
    for (long i = 0; i < reps && peer != NULL; i++) net.driver->amo(peer, NET_ADD, 0, 1, 0);
    net.driver->flush();
}

static void batch_compare_swap(const struct place *place, long reps)
{
    void *peer = peer_of(place->to);
    for (long i = 0; i < reps && peer != NULL; i++) {
        net.driver->amo(peer, NET_COMPARE_SWAP, 0, (uint64_t)i + 1, (uint64_t)i);
        net.driver->wait();
    }
}

/* ---- batches of all PEs ---- */

static uint64_t *flag_of(const struct place *place, int round) { return &place->flags[round * FLAG_STRIDE]; }
static int partner_of(const struct place *place, int round)
{
    return (int)((place->my_pe + (1L << round)) % place->n_pes);
}

/* By its address where it is mapped here. The word that is sent is used again two turns later: then the partner has had
 * it, as this PE could not have come so far without it. */
static void put_flag(const struct place *place, int round, uint64_t turn)
{
    int pe = partner_of(place, round);
    uint64_t *own = &place->flags[FLAG_SOURCES + 2 * round + (int)(turn % 2)];
    uint64_t *mapped = shmem_ptr(flag_of(place, round), pe);
    void *peer = mapped == NULL ? peer_of(pe) : NULL;
    const struct net_access access = {NET_FLAGS, (uint64_t)(round * FLAG_STRIDE) * sizeof *own, own, sizeof *own};
    *own = turn;
    if (mapped != NULL)
        __atomic_store_n(mapped, turn, __ATOMIC_RELEASE);
    else if (peer != NULL)
        net.driver->put(peer, &access);
}

/* After a failure of this PE by the measured library: the others wait for its flags. */
static void put_flags_again(const struct place *place, uint64_t turn)
{
    for (int round = 0; 1L << round < place->n_pes; round++)
        shmem_uint64_p(flag_of(place, round), turn, partner_of(place, round));
    shmem_quiet();
}

/* As bare.c does it on one host: acquire pairs with the partner's release, or with the put's arrival. */
static void synchronize(const struct place *place)
{
    const uint64_t turn = bare_next_turn();
    for (int round = 0; 1L << round < place->n_pes && net.driver->failure() == NULL; round++) {
        put_flag(place, round, turn);
        while (__atomic_load_n(flag_of(place, round), __ATOMIC_ACQUIRE) < turn && net.driver->failure() == NULL)
            net.driver->progress();
    }
    if (net.driver->failure() != NULL) put_flags_again(place, turn);
}

static void batch_flags(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) synchronize(place);
    net.driver->flush();
}

/* Sends a block to another PE, by its address where it is mapped here. A block that devices of one host copy between
 * them crosses no network, and is left out. */
static void send_block(const struct place *place, int pe, uint64_t offset)
{
    if (place->is_stand_in && nvshmem_ptr(place->stream_flags, pe) != NULL) return;
    char *mapped = shmem_ptr(place->dest, pe);
    void *peer = mapped == NULL ? peer_of(pe) : NULL;
    const struct net_access access = data_of(place, offset, place->whole_source);
    if (mapped != NULL)
        memcpy(mapped + offset, place->whole_source, place->size_bytes);
    else if (peer != NULL)
        net.driver->put(peer, &access);
}

/* Blocks and flags may overtake one another: the measurement reads no block. At the end all have arrived. */
static void batch_send_one(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) {
        synchronize(place);
        send_block(place, (place->my_pe + 1) % place->n_pes, 0);
    }
    net.driver->flush();
}

static void send_others(const struct place *place)
{
    for (int step = 1; step < place->n_pes; step++)
        send_block(place, (place->my_pe + step) % place->n_pes, (uint64_t)place->my_pe * place->size_bytes);
}

static void batch_send_others(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) {
        synchronize(place);
        send_others(place);
    }
    net.driver->flush();
}

static void batch_send_others_alone(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) send_others(place);
    net.driver->flush();
}

/* No PE waits for another: the root of a broadcast is ahead of the others. */
static void batch_send_alone(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) send_block(place, (place->my_pe + 1) % place->n_pes, 0);
    net.driver->flush();
}

perf_batch *limit_net_batch(enum transfer what)
{
    static perf_batch *const batches[N_TRANSFERS] = {
        [TRANSFER_PUT] = batch_put,
        [TRANSFER_GET] = batch_get,
        [TRANSFER_PUT_NBI] = batch_put_nbi,
        [TRANSFER_GET_NBI] = batch_get_nbi,
        [TRANSFER_PUT_SIGNAL] = batch_put,
        [TRANSFER_FETCH_ADD] = batch_fetch_add,
        [TRANSFER_ADD] = batch_add,
        [TRANSFER_COMPARE_SWAP] = batch_compare_swap,
        [TRANSFER_FLAGS] = batch_flags,
        [TRANSFER_BLOCK_ALONE] = batch_send_alone,
        [TRANSFER_BLOCK] = batch_send_one,
        [TRANSFER_BLOCKS] = batch_send_others,
        [TRANSFER_STREAM_SIGNAL] = batch_put_nbi,
        [TRANSFER_STREAM_FLAGS] = batch_flags,
        [TRANSFER_STREAM_BLOCK] = batch_send_alone,
        [TRANSFER_STREAM_BLOCKS] = batch_send_others_alone,
    };
    bool is_amo = what == TRANSFER_FETCH_ADD || what == TRANSFER_ADD || what == TRANSFER_COMPARE_SWAP;
    return is_amo && !net.has_amo ? NULL : batches[what];
}

/* ---- progress for others ---- */

static void progress_until(const uint64_t *word, uint64_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) net.driver->progress();
}

/* Acquire: pairs with the put of limit_net_end_serving, which another thread of this process may execute. */
void limit_net_serve(void)
{
    static uint64_t n_ended;
    progress_until(&n_served, ++n_ended);
}

void limit_net_end_serving(int to)
{
    shmem_uint64_atomic_inc(&n_served, to);
    shmem_quiet();
}

/* PE 0 counts, by the library, whose operations another thread may execute while this one makes progress. */
void limit_net_serve_all(void)
{
    static uint64_t turn;
    int n_pes = shmem_n_pes();
    turn++;
    shmem_uint64_atomic_inc(&n_arrived, 0);
    if (shmem_my_pe() == 0) {
        progress_until(&n_arrived, turn * (uint64_t)n_pes);
        for (int pe = 0; pe < n_pes; pe++) shmem_uint64_atomic_inc(&n_released, pe);
        shmem_quiet();
    }
    progress_until(&n_released, turn);
}

/* ---- set-up ---- */

static const struct net_driver *driver_of(const char *transport)
{
    for (int i = 0; i < N_DRIVERS && transport != NULL; i++)
        if (strcmp(drivers[i]->transport, transport) == 0) return drivers[i];
    return NULL;
}

bool limit_net_knows(const char *transport) { return driver_of(transport) != NULL; }

static const char *open_driver(const char *transport, const struct net_buffer *buffers, int n)
{
    const struct net_driver *driver = driver_of(transport);
    if (driver == NULL) return "no bare one is built in for this transport";
    net.peers = calloc((size_t)shmem_n_pes(), sizeof *net.peers);
    if (net.peers == NULL) return "no memory";
    net.driver = driver;
    if (!driver->open(buffers, n) || !driver->write_card(card)) return driver->failure();
    return NULL;
}

const char *limit_net_open(const char *transport, const struct net_buffer *buffers, int n)
{
    if (net.was_opened) return net.refusal;
    net.was_opened = true;
    net.refusal = open_driver(transport, buffers, n);
    if (!start_on_all(net.refusal == NULL) && net.refusal == NULL)
        net.refusal = "another PE has nothing to compare with";
    net.has_amo = start_on_all(net.refusal == NULL && net.driver->has_amo());
    return net.refusal;
}

/* A connection that is closed waits for its other end: all make progress until all have closed theirs. */
void limit_net_close(void)
{
    if (!net.was_opened) return;
    bool is_open = start_on_all(net.refusal == NULL);
    for (int pe = 0; pe < shmem_n_pes() && is_open; pe++)
        if (net.peers[pe] != NULL) net.driver->disconnect(net.peers[pe]);
    if (is_open) limit_net_serve_all();
    if (net.driver != NULL) net.driver->close();
    free(net.peers);
}
