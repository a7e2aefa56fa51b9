/* plugins/common/p2p_more.c: see p2p.h. The extensions: memory that grows, what is at an address, streams, what
 * kernels need, devices for isthmus-info. */
#include "plugins/common/p2p_priv.h"

#include <string.h>

/* ---- growing.1 ---- */

static uint64_t growing_granule(isthmus_tr *tr, uint32_t kind, int32_t device)
{
    bool is_ours = kind == tr->driver->kind && (device < 0 || device == tr->ordinal);
    return is_ours ? tr->driver->granule(tr->gpu) : 0;
}

static isthmus_status growing_reserve(isthmus_tr *tr, uint32_t kind, int32_t device, uint64_t length_bytes, void **addr)
{
    const struct isthmus_services *s = tr->services;
    isthmus_status status = p2p_check_kind(tr, kind, device);
    if (status != ISTHMUS_OK) return status;
    if (length_bytes == 0 || length_bytes % tr->driver->granule(tr->gpu) != 0)
        return s->fail(s->core, ISTHMUS_ERR_INVALID, "cannot reserve %llu bytes; valid: a multiple of %llu",
                       (unsigned long long)length_bytes, (unsigned long long)tr->driver->granule(tr->gpu));
    return tr->driver->reserve(tr->gpu, length_bytes, addr);
}

static isthmus_status growing_commit(isthmus_tr *tr, void *addr, uint64_t length_bytes, struct isthmus_mem *out)
{
    const struct isthmus_services *s = tr->services;
    uint64_t granule = tr->driver->granule(tr->gpu);
    if (addr == NULL || (uintptr_t)addr % granule != 0 || length_bytes % granule != 0)
        return s->fail(s->core, ISTHMUS_ERR_INVALID, "cannot commit %llu bytes at %p; valid: multiples of %llu",
                       (unsigned long long)length_bytes, addr, (unsigned long long)granule);
    return p2p_allocate(tr, addr, tr->driver->kind, -1, length_bytes, out);
}

static void growing_unreserve(isthmus_tr *tr, void *addr, uint64_t length_bytes)
{
    tr->driver->unreserve(tr->gpu, addr, length_bytes);
}

#define GROWING(at)                                                                                          \
    {                                                                                                        \
        .struct_size = sizeof(struct isthmus_growing), .reserve = growing_reserve, .commit = growing_commit, \
        .unreserve = growing_unreserve, .granule = growing_granule, .attach_at = (at)                        \
    }
static const struct isthmus_growing growing = GROWING(NULL), placed_growing = GROWING(p2p_attach_at);

/* ---- memory.1 ---- */

static isthmus_status memory_kind_of(isthmus_tr *tr, const void *addr, struct isthmus_mem *out)
{
    struct isthmus_mem mem = {.struct_size = out->struct_size,
                              .kind = ISTHMUS_MEM_HOST,
                              .device = -1,
                              .fd = -1,
                              .addr = (void *)(uintptr_t)addr};
    isthmus_status status = tr->driver->place(tr->gpu, addr, &mem);
    if (status == ISTHMUS_OK) isthmus_write_out(out, &mem, sizeof mem);
    return status;
}

static int32_t memory_device(isthmus_tr *tr, uint32_t kind) { return kind == tr->driver->kind ? tr->ordinal : -1; }

static isthmus_status memory_device_view(const isthmus_rmem *remote, void **addr)
{
    *addr = remote->addr;
    return ISTHMUS_OK;
}

static isthmus_status memory_copy(isthmus_tr *tr, void *dest, const void *source, size_t length_bytes)
{
    pthread_mutex_lock(&tr->copies.lock);
    isthmus_status status = tr->driver->copy(tr->gpu, tr->copies.stream, dest, source, length_bytes);
    if (status == ISTHMUS_OK) status = tr->driver->stream_wait(tr->gpu, tr->copies.stream);
    pthread_mutex_unlock(&tr->copies.lock);
    if (status == ISTHMUS_OK) __atomic_add_fetch(&tr->n_copies, 1, __ATOMIC_RELAXED);
    return status;
}

/* With the side's lock. */
static isthmus_status side_ready(isthmus_tr *tr, struct p2p_side *side)
{
    void *room = side->word;
    isthmus_status status = ISTHMUS_OK;
    if (side->stream == NULL) status = tr->driver->stream_open(tr->gpu, &side->stream);
    if (status == ISTHMUS_OK && room == NULL)
        status = tr->driver->host_alloc(tr->gpu, sizeof *side->word + sizeof *side->batch, &room);
    side->word = room;
    if (room != NULL) side->batch = (struct p2p_batch *)(void *)(side->word + 1);
    return status;
}

/* Needs no room for a kernel: where the platform writes no words, it is a copy. */
static isthmus_status submit_set(isthmus_tr *tr, const struct p2p_amo *amo)
{
    if (tr->driver->write != NULL) return p2p_submit_amo(tr, tr->copies.stream, amo);
    memcpy(tr->copies.word, &amo->operand, amo->bytes); /* the low bits: these machines are little endian */
    return tr->driver->copy(tr->gpu, tr->copies.stream, amo->addr, tr->copies.word, amo->bytes);
}

static isthmus_status fail_amo(const isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "this device does not execute this atomic operation");
}

static bool has_amo(const isthmus_tr *tr, uint32_t op, uint32_t bits)
{
    return tr->has_atomics && op < ISTHMUS_AMO_COUNT && (bits == ISTHMUS_BITS32 || bits == ISTHMUS_BITS64);
}

static isthmus_status memory_amo(isthmus_tr *tr, void *addr, uint32_t op, uint32_t bits, uint64_t operand,
                                 uint64_t compare, void *fetched)
{
    if (!has_amo(tr, op, bits)) return fail_amo(tr);
    struct p2p_amo amo = {.addr = addr, .operand = operand, .compare = compare, .op = op, .bytes = 1u << bits};
    bool is_set = op == ISTHMUS_AMO_SET && fetched == NULL;
    struct p2p_side *side = is_set ? &tr->copies : &tr->amos;
    pthread_mutex_lock(&side->lock);
    isthmus_status status = side_ready(tr, side);
    if (fetched != NULL) amo.result = side->word;
    if (status == ISTHMUS_OK) status = is_set ? submit_set(tr, &amo) : p2p_submit_amo(tr, side->stream, &amo);
    if (status == ISTHMUS_OK) status = tr->driver->stream_wait(tr->gpu, side->stream);
    if (status == ISTHMUS_OK && fetched != NULL) memcpy(fetched, side->word, amo.bytes);
    pthread_mutex_unlock(&side->lock);
    if (status == ISTHMUS_OK) __atomic_add_fetch(&tr->n_amos, 1, __ATOMIC_RELAXED);
    return status;
}

static struct p2p_amo amo_of(const struct isthmus_memory_amo *from)
{
    return (struct p2p_amo){.addr = from->addr,
                            .operand = from->operand,
                            .compare = from->compare,
                            .op = from->op,
                            .bytes = 1u << from->bits};
}

/* The next of a list, with the lock of tr->amos: as many as one kernel executes, or one. The kernel reads the batch
 * when it runs, so each launch is waited for. A set goes to the kernel, too: p2p_submit_amo() would lose the batch. */
static isthmus_status run_next(isthmus_tr *tr, const struct isthmus_memory_amo *list, uint32_t n, uint32_t *n_run)
{
    struct p2p_batch *batch = tr->driver->takes_batches ? tr->amos.batch : NULL;
    struct p2p_amo first = amo_of(list);
    uint32_t n_batch = 0;
    if (batch != NULL) {
        n_batch = n - 1 < P2P_BATCH ? n - 1 : P2P_BATCH;
        for (uint32_t i = 0; i < n_batch; i++) {
            const struct p2p_amo amo = amo_of(&list[1 + i]);
            p2p_batch_write(batch, i, &amo);
        }
        batch->closed = batch->taken = batch->done = 0;
        batch->n_posted = n_batch;
        first.batch = n_batch > 0 ? batch : NULL;
    }
    *n_run = 1 + n_batch;
    isthmus_status status = tr->driver->amo(tr->gpu, tr->amos.stream, &first);
    return status == ISTHMUS_OK && batch != NULL ? tr->driver->stream_wait(tr->gpu, tr->amos.stream) : status;
}

static isthmus_status memory_amo_list(isthmus_tr *tr, const struct isthmus_memory_amo *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!has_amo(tr, list[i].op, list[i].bits)) return fail_amo(tr);
    pthread_mutex_lock(&tr->amos.lock);
    isthmus_status status = side_ready(tr, &tr->amos);
    for (uint32_t done = 0, n_run; done < n && status == ISTHMUS_OK; done += n_run)
        status = run_next(tr, &list[done], n - done, &n_run);
    if (status == ISTHMUS_OK && !tr->driver->takes_batches) status = tr->driver->stream_wait(tr->gpu, tr->amos.stream);
    pthread_mutex_unlock(&tr->amos.lock);
    if (status == ISTHMUS_OK) __atomic_add_fetch(&tr->n_amos, n, __ATOMIC_RELAXED);
    return status;
}

static const char *memory_pci_address(isthmus_tr *tr, uint32_t kind)
{
    for (int i = 0; i < tr->n_devices && kind == tr->driver->kind; i++) {
        const struct p2p_device *device = &tr->devices[i];
        if (device->is_used && device->pci_address[0] != '\0') return device->pci_address;
    }
    return NULL;
}

static isthmus_status memory_flush_writes(isthmus_tr *tr) { return tr->driver->flush_writes(tr->gpu); }

#define MEMORY(flush)                                                                                                 \
    {                                                                                                                 \
        .struct_size = sizeof(struct isthmus_memory), .kind_of = memory_kind_of, .device = memory_device,             \
        .device_view = memory_device_view, .copy = memory_copy, .amo = memory_amo, .pci_address = memory_pci_address, \
        .flush_writes = (flush), .amo_list = memory_amo_list                                                          \
    }
static const struct isthmus_memory memory = MEMORY(NULL), flushed_memory = MEMORY(memory_flush_writes);

/* ---- stream.1: the program's own streams; the engine's channels are no part of it ---- */

static isthmus_status stream_put(isthmus_tr *tr, void *stream, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                                 const void *source, size_t length_bytes)
{
    return tr->driver->copy(tr->gpu, stream, remote->addr + remote_offset_bytes, source, length_bytes);
}

static isthmus_status stream_get(isthmus_tr *tr, void *stream, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                                 void *dest, size_t length_bytes)
{
    return tr->driver->copy(tr->gpu, stream, dest, remote->addr + remote_offset_bytes, length_bytes);
}

static isthmus_status stream_amo(isthmus_tr *tr, void *stream, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                                 uint32_t op, uint64_t operand)
{
    const struct isthmus_services *s = tr->services;
    if (op >= ISTHMUS_AMO_COUNT || op == ISTHMUS_AMO_FETCH || op == ISTHMUS_AMO_COMPARE_SWAP)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "a stream does not execute atomic operation %u", op);
    return p2p_submit_amo(
        tr, stream,
        &(struct p2p_amo){.addr = remote->addr + remote_offset_bytes, .operand = operand, .op = op, .bytes = 8});
}

static isthmus_status stream_wait_until(isthmus_tr *tr, void *stream, const uint64_t *word, uint32_t compare,
                                        uint64_t value)
{
    return tr->driver->wait_until(tr->gpu, stream, word, compare, value);
}

static isthmus_status one_by_one(isthmus_tr *tr, void *stream, const struct p2p_word *list, uint32_t n)
{
    isthmus_status status = ISTHMUS_OK;
    for (uint32_t i = 0; i < n && status == ISTHMUS_OK; i++)
        status = list[i].is_awaited
                     ? tr->driver->wait_until(tr->gpu, stream, list[i].addr, ISTHMUS_COMPARE_GE, list[i].value)
                     : tr->driver->write(tr->gpu, stream, list[i].addr, list[i].value, sizeof list[i].value);
    return status;
}

static isthmus_status stream_words(isthmus_tr *tr, void *stream, const struct isthmus_stream_word *list, uint32_t n)
{
    const struct isthmus_services *s = tr->services;
    isthmus_status status = ISTHMUS_OK;
    if (tr->driver->words == NULL && tr->driver->write == NULL)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "streams of this platform cannot write words of memory");
    for (uint32_t done = 0, now; done < n && status == ISTHMUS_OK; done += now) {
        struct p2p_word words[P2P_WORDS];
        now = n - done < P2P_WORDS ? n - done : P2P_WORDS;
        for (uint32_t i = 0; i < now; i++) {
            const struct isthmus_stream_word *from = &list[done + i];
            bool is_awaited = from->remote == NULL;
            void *addr = is_awaited ? (void *)(uintptr_t)from->word : from->remote->addr + from->offset_bytes;
            words[i] = (struct p2p_word){addr, from->value, is_awaited};
        }
        status = tr->driver->words != NULL ? tr->driver->words(tr->gpu, stream, words, now)
                                           : one_by_one(tr, stream, words, now);
    }
    return status;
}

static isthmus_status stream_host_function(isthmus_tr *tr, void *stream, void (*function)(void *argument),
                                           void *argument)
{
    return tr->driver->host_function(tr->gpu, stream, function, argument);
}

static isthmus_status stream_complete(isthmus_tr *tr) { return tr->driver->complete(tr->gpu); }

static const struct isthmus_stream streams = {
    .struct_size = sizeof streams,
    .put = stream_put,
    .get = stream_get,
    .amo = stream_amo,
    .wait_until = stream_wait_until,
    .host_function = stream_host_function,
    .complete = stream_complete,
    .words = stream_words,
    .is_idle = p2p_is_idle,
};

/* ---- device.1 ---- */

static isthmus_status kernels_host_alloc(isthmus_tr *tr, uint64_t length_bytes, void **addr, void **view)
{
    void *memory = NULL;
    isthmus_status status = tr->driver->host_alloc(tr->gpu, length_bytes, &memory);
    if (status != ISTHMUS_OK) return status;
    status = tr->driver->host_view(tr->gpu, memory, view);
    if (status != ISTHMUS_OK) {
        tr->driver->host_free(tr->gpu, memory);
        return status;
    }
    memset(memory, 0, length_bytes);
    *addr = memory;
    return ISTHMUS_OK;
}

static void kernels_host_free(isthmus_tr *tr, void *addr)
{
    if (addr != NULL) tr->driver->host_free(tr->gpu, addr);
}

static isthmus_status kernels_device_alloc(isthmus_tr *tr, uint64_t length_bytes, void **addr)
{
    return tr->driver->device_alloc(tr->gpu, length_bytes, addr);
}

static void kernels_device_free(isthmus_tr *tr, void *addr)
{
    if (addr != NULL) tr->driver->device_free(tr->gpu, addr);
}

static isthmus_status kernels_find(isthmus_tr *tr, uint32_t code, void *handle, const char *name, void **addr,
                                   uint64_t *length_bytes)
{
    const struct isthmus_services *s = tr->services;
    if (tr->driver->find == NULL)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "this platform does not search loaded code for %s", name);
    return tr->driver->find(tr->gpu, code, handle, name, addr, length_bytes);
}

static isthmus_status kernels_call(isthmus_tr *tr, void (*function)(void *argument), void *argument)
{
    if (tr->driver->call != NULL) return tr->driver->call(tr->gpu, function, argument);
    function(argument);
    return ISTHMUS_OK;
}

static const struct isthmus_kernels kernels = {
    .struct_size = sizeof kernels,
    .host_alloc = kernels_host_alloc,
    .host_free = kernels_host_free,
    .device_alloc = kernels_device_alloc,
    .device_free = kernels_device_free,
    .find = kernels_find,
    .call = kernels_call,
};

/* ---- devices.1 ---- */

static uint32_t devices_count(isthmus_tr *tr) { return (uint32_t)tr->n_devices; }

static uint32_t access_to(const struct p2p_device *device)
{
    if (device->is_used) return ISTHMUS_DEVICE_ACCESS_UNKNOWN;
    if (!device->can_access) return ISTHMUS_DEVICE_ACCESS_NONE;
    return device->has_atomics ? ISTHMUS_DEVICE_ACCESS_ALL : ISTHMUS_DEVICE_ACCESS_DATA;
}

static void devices_describe(isthmus_tr *tr, uint32_t index, struct isthmus_device *out)
{
    const struct p2p_device *device = &tr->devices[index];
    const struct isthmus_device text = {
        .is_used = device->is_used,
        .name = device->pci,
        .what = device->name,
        .why = device->is_used        ? "the one that this PE uses"
               : !device->can_access  ? "the one in use does not access its memory"
               : !device->has_atomics ? "another one; it is reached for data, not for atomics"
                                      : "another one; it is reached for data and atomics",
        .access = access_to(device),
    };
    isthmus_write_out(out, &text, sizeof text);
}

static const struct isthmus_devices devices = {
    .struct_size = sizeof devices, .count = devices_count, .describe = devices_describe};

static bool has_part(const isthmus_tr *tr, uint32_t part)
{
    return tr->driver->offers == NULL || (tr->driver->offers(tr->gpu) & part) != 0;
}

const void *p2p_extension(isthmus_tr *tr, const char *name)
{
    const struct p2p_driver *driver = tr->driver;
    bool grows = driver->reserve != NULL && has_part(tr, P2P_GROWING);
    bool has_streams = driver->wait_until != NULL && driver->amo != NULL && has_part(tr, P2P_STREAMS);
    bool is_flushed = driver->flush_writes != NULL && has_part(tr, P2P_FLUSHES);
    if (strcmp(name, "memory.1") == 0) return is_flushed ? &flushed_memory : &memory;
    if (strcmp(name, "growing.1") == 0 && grows) return has_part(tr, P2P_PLACES) ? &placed_growing : &growing;
    if (strcmp(name, "stream.1") == 0) return has_streams ? &streams : NULL;
    if (strcmp(name, "collectives.1") == 0)
        return has_streams && driver->write && driver->collective_launch ? &p2p_collectives : NULL;
    if (strcmp(name, "device.1") == 0) return driver->device_alloc != NULL ? &kernels : NULL;
    return strcmp(name, "devices.1") == 0 ? &devices : NULL;
}
