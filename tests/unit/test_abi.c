/* tests/unit/test_abi.c: core/transport/abi.c: tables without a NULL, whatever a plugin leaves out, and the helpers of
 * isthmus/transport.h for structs of another size. */
#include "core/transport/abi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- structs of another size ---- */

struct three {
    uint32_t struct_size, first;
    const char *second;
    uint32_t third;
};

static void a_field_is_there_if_the_other_side_has_it(void **state)
{
    (void)state;
    struct three s = {.struct_size = sizeof s, .first = 1, .second = "2"};
    assert_true(ISTHMUS_HAS(&s, first));
    assert_true(ISTHMUS_HAS(&s, second));
    assert_false(ISTHMUS_HAS(&s, third)); /* 0 */
    s.third = 3;
    assert_true(ISTHMUS_HAS(&s, third));
    s.struct_size = offsetof(struct three, third) + sizeof s.third - 1;
    assert_false(ISTHMUS_HAS(&s, third));
    assert_true(ISTHMUS_HAS(&s, second));
    s.struct_size = offsetof(struct three, second);
    assert_false(ISTHMUS_HAS(&s, second));
    assert_true(ISTHMUS_HAS(&s, first));
}

static void a_struct_is_written_as_far_as_it_has_room(void **state)
{
    (void)state;
    const struct three value = {.struct_size = 99, .first = 1, .second = "2", .third = 3};
    for (uint32_t size = 0; size <= sizeof value + 8; size++) {
        unsigned char room[sizeof value + 8], before[sizeof room];
        memset(room, 0xee, sizeof room);
        memcpy(room, &size, sizeof size);
        memcpy(before, room, sizeof room);
        isthmus_write_out(room, &value, sizeof value);
        size_t written = size < sizeof value ? size : sizeof value;
        if (written < sizeof size) written = sizeof size;
        assert_memory_equal(room, &size, sizeof size); /* it keeps its own size */
        assert_memory_equal(room + sizeof size, (const char *)&value + sizeof size, written - sizeof size);
        assert_memory_equal(room + written, before + written, sizeof room - written);
    }
}

static void a_struct_is_read_as_far_as_both_sides_know_it(void **state)
{
    (void)state;
    const struct {
        struct three known;
        uint64_t later;
    } theirs = {{sizeof theirs, 1, "2", 3}, 4};
    struct three mine, older = {offsetof(struct three, third), 1, "2", 3};
    isthmus_read_in(&mine, sizeof mine, &theirs);
    assert_memory_equal(&mine, &theirs, sizeof mine);
    isthmus_read_in(&mine, sizeof mine, &older);
    assert_int_equal(mine.first, 1);
    assert_string_equal(mine.second, "2");
    assert_int_equal(mine.third, 0);
}

/* ---- tables ---- */

/* Slots are read as data here: only whether they are set. */
static void assert_no_slot_is_null(const void *table, size_t from_bytes, size_t table_bytes, const char *what)
{
    for (size_t at = from_bytes; at < table_bytes; at += sizeof(void *)) {
        uintptr_t slot;
        memcpy(&slot, (const char *)table + at, sizeof slot);
        if (slot == 0) fail_msg("%s: the slot at byte %zu is NULL", what, at);
    }
}
#define ASSERT_TOTAL(table) assert_no_slot_is_null(table, 2 * sizeof(uint32_t), sizeof *(table), #table)

static isthmus_status open_it(const struct isthmus_services *s, isthmus_tr **out)
{
    (void)s, (void)out;
    return ISTHMUS_OK;
}
static void close_it(isthmus_tr *tr) { (void)tr; }
static isthmus_status describe(isthmus_tr *tr, struct isthmus_traits *out)
{
    (void)tr, (void)out;
    return ISTHMUS_OK;
}
static isthmus_status reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    (void)tr, (void)peer, (void)out;
    return ISTHMUS_OK;
}
static isthmus_status path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out)
{
    (void)tr, (void)peer, (void)out;
    return ISTHMUS_OK;
}
static void path_close(isthmus_path *path) { (void)path; }
static isthmus_status expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                             isthmus_lmem **out)
{
    (void)tr, (void)mem, (void)key, (void)key_bytes, (void)out;
    return ISTHMUS_OK;
}
static isthmus_status attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias)
{
    (void)path, (void)key, (void)key_bytes, (void)out, (void)alias;
    return ISTHMUS_OK;
}
static void detach(isthmus_rmem *remote) { (void)remote; }

static isthmus_status put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const void *source, const isthmus_lmem *mem, size_t length_bytes)
{
    (void)chan, (void)path, (void)remote, (void)offset_bytes, (void)source, (void)mem, (void)length_bytes;
    return ISTHMUS_OK;
}
static isthmus_status get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          void *dest, const isthmus_lmem *mem, size_t length_bytes)
{
    (void)chan, (void)path, (void)remote, (void)offset_bytes, (void)dest, (void)mem, (void)length_bytes;
    return ISTHMUS_OK;
}
static isthmus_status channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                   struct isthmus_data_ops *ops)
{
    const struct isthmus_data_ops least = {.put = put, .get = get};
    (void)tr, (void)thread_mode, (void)ctx_options, (void)out;
    isthmus_write_out(ops, &least, sizeof least);
    return ISTHMUS_OK;
}
static void channel_close(isthmus_chan *chan) { (void)chan; }

/* What the extension slot of the test returns; NULL: no such group. */
struct groups {
    const struct isthmus_memory *memory;
    const struct isthmus_growing *growing;
    const struct isthmus_stream *stream;
    const struct isthmus_kernels *kernels;
    const struct isthmus_collectives *collectives;
    const struct isthmus_devices *devices;
    const struct isthmus_library *library;
};

/* The transport of the test is its groups. */
static const void *extension(isthmus_tr *tr, const char *name)
{
    const struct groups *groups = (const struct groups *)(const void *)tr;
    if (strcmp(name, "memory.1") == 0) return groups->memory;
    if (strcmp(name, "growing.1") == 0) return groups->growing;
    if (strcmp(name, "stream.1") == 0) return groups->stream;
    if (strcmp(name, "device.1") == 0) return groups->kernels;
    if (strcmp(name, "collectives.1") == 0) return groups->collectives;
    if (strcmp(name, "devices.1") == 0) return groups->devices;
    return strcmp(name, "library.1") == 0 ? groups->library : NULL;
}

static const struct isthmus_transport required = {
    .struct_size = sizeof required,
    .name = "test",
    .open = open_it,
    .close = close_it,
    .describe = describe,
    .reach = reach,
    .path_open = path_open,
    .path_close = path_close,
    .expose = expose,
    .attach = attach,
    .detach = detach,
    .channel_open = channel_open,
    .channel_close = channel_close,
};

static void a_table_of_required_slots_becomes_total(void **state)
{
    (void)state;
    struct isthmus_transport table;
    struct ist_channel channel;
    assert_int_equal(ist_abi_complete_transport(&required, &table), ISTHMUS_OK);
    assert_no_slot_is_null(&table, offsetof(struct isthmus_transport, name), sizeof table, "the main table");
    assert_int_equal(ist_abi_channel_open(&table, NULL, ISTHMUS_THREAD_ONE, 0, &channel), ISTHMUS_OK);
    ASSERT_TOTAL(&channel.ops);
    assert_int_equal(channel.ops.notify(NULL, NULL, NULL, 0, 1), ISTHMUS_ERR_UNSUPPORTED);
}

/* ---- commits without a wait ---- */

static struct isthmus_data_ops slots_given;

static isthmus_status channel_open_as_given(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options,
                                            isthmus_chan **out, struct isthmus_data_ops *ops)
{
    (void)tr, (void)thread_mode, (void)ctx_options, (void)out;
    slots_given.put = put;
    slots_given.get = get;
    isthmus_write_out(ops, &slots_given, sizeof slots_given);
    return ISTHMUS_OK;
}

static isthmus_status open_with(struct isthmus_data_ops slots, struct ist_channel *out)
{
    struct isthmus_transport table;
    slots_given = slots;
    assert_int_equal(ist_abi_complete_transport(&required, &table), ISTHMUS_OK);
    table.channel_open = channel_open_as_given;
    return ist_abi_channel_open(&table, NULL, ISTHMUS_THREAD_ONE, ISTHMUS_CHANNEL_PROXY, out);
}

static isthmus_status order(isthmus_chan *chan, isthmus_path *path)
{
    (void)chan, (void)path;
    return ISTHMUS_OK;
}

static isthmus_status commit_start(isthmus_chan *chan, isthmus_path *path, uint64_t *ticket)
{
    (void)chan, (void)path;
    *ticket = 7;
    return ISTHMUS_OK;
}

static isthmus_status commit_test(isthmus_chan *chan, uint64_t ticket)
{
    (void)chan;
    return ticket == 7 ? ISTHMUS_OK : ISTHMUS_ERR_AGAIN;
}

static void a_commit_is_immediate_where_nothing_is_to_be_completed(void **state)
{
    (void)state;
    struct ist_channel channel;
    uint64_t ticket = 0;
    assert_int_equal(open_with((struct isthmus_data_ops){.put = put}, &channel), ISTHMUS_OK);
    assert_true(channel.has_commit);
    assert_int_equal(channel.ops.commit_start(NULL, NULL, &ticket), ISTHMUS_OK);
    assert_int_not_equal(ticket, 0);
    assert_int_equal(channel.ops.commit_test(NULL, ticket), ISTHMUS_OK);
    assert_int_equal(channel.ops.poll(NULL), 0);
}

static void a_commit_of_blocking_halves_is_unsupported(void **state)
{
    (void)state;
    struct ist_channel channel;
    uint64_t ticket = 0;
    for (int half = 0; half < 2; half++) {
        struct isthmus_data_ops slots = {.local_complete = half == 0 ? order : NULL,
                                         .remote_commit = half == 1 ? order : NULL};
        assert_int_equal(open_with(slots, &channel), ISTHMUS_OK);
        assert_false(channel.has_commit);
        ASSERT_TOTAL(&channel.ops);
        assert_int_equal(channel.ops.commit_start(NULL, NULL, &ticket), ISTHMUS_ERR_UNSUPPORTED);
        assert_int_equal(channel.ops.commit_test(NULL, 1), ISTHMUS_ERR_UNSUPPORTED);
        assert_int_equal(ticket, 0);
    }
}

static void a_commit_of_the_transport_is_used(void **state)
{
    (void)state;
    struct ist_channel channel;
    struct isthmus_data_ops slots = {.remote_commit = order, .commit_start = commit_start, .commit_test = commit_test};
    assert_int_equal(open_with(slots, &channel), ISTHMUS_OK);
    assert_true(channel.has_commit);
    assert_true(channel.ops.commit_start == commit_start);
    assert_true(channel.ops.commit_test == commit_test);
}

static void half_a_commit_is_refused(void **state)
{
    (void)state;
    struct ist_channel channel;
    assert_int_equal(open_with((struct isthmus_data_ops){.commit_start = commit_start}, &channel), ISTHMUS_ERR_INVALID);
    assert_non_null(strstr(ist_fail_text(), "'commit_test'"));
    assert_int_equal(open_with((struct isthmus_data_ops){.commit_test = commit_test}, &channel), ISTHMUS_ERR_INVALID);
    assert_non_null(strstr(ist_fail_text(), "'commit_start'"));
}

static isthmus_status put_more(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                               uint64_t remote_offset_bytes, const void *source, const isthmus_lmem *source_mem,
                               size_t length_bytes)
{
    (void)chan, (void)path, (void)remote, (void)remote_offset_bytes, (void)source, (void)source_mem, (void)length_bytes;
    return ISTHMUS_OK;
}

static isthmus_status post(isthmus_chan *chan)
{
    (void)chan;
    return ISTHMUS_OK;
}

static void puts_that_share_messages_are_declined_or_the_transports(void **state)
{
    (void)state;
    struct ist_channel channel;
    assert_int_equal(open_with((struct isthmus_data_ops){.put = put}, &channel), ISTHMUS_OK);
    assert_int_equal(channel.ops.put_more(NULL, NULL, NULL, 0, NULL, NULL, 0), ISTHMUS_ERR_UNSUPPORTED);
    assert_int_equal(channel.ops.post(NULL), ISTHMUS_OK);
    assert_int_equal(open_with((struct isthmus_data_ops){.put_more = put_more, .post = post}, &channel), ISTHMUS_OK);
    assert_true(channel.ops.put_more == put_more);
    assert_true(channel.ops.post == post);
}

static void one_of_put_more_and_post_is_refused(void **state)
{
    (void)state;
    struct ist_channel channel;
    assert_int_equal(open_with((struct isthmus_data_ops){.put_more = put_more}, &channel), ISTHMUS_ERR_INVALID);
    assert_non_null(strstr(ist_fail_text(), "'post'"));
    assert_int_equal(open_with((struct isthmus_data_ops){.post = post}, &channel), ISTHMUS_ERR_INVALID);
    assert_non_null(strstr(ist_fail_text(), "'put_more'"));
}

/* ---- extensions ---- */

static struct ist_extensions complete(struct groups groups)
{
    struct isthmus_transport table;
    struct ist_extensions extensions;
    assert_int_equal(ist_abi_complete_transport(&required, &table), ISTHMUS_OK);
    table.extension = extension;
    memset(&extensions, 0xee, sizeof extensions);
    ist_abi_complete_extensions(&table, (isthmus_tr *)(void *)&groups, &extensions);
    return extensions;
}

static void absent_groups_can_be_called(void **state)
{
    (void)state;
    struct ist_extensions e = complete((struct groups){NULL});
    struct isthmus_mem mem = {.struct_size = sizeof mem, .kind = 77};
    struct isthmus_library_info library = {.struct_size = sizeof library};
    void *addr;
    assert_false(e.has_memory || e.has_flush || e.has_streams || e.has_kernels || e.has_devices);
    ASSERT_TOTAL(&e.memory);
    ASSERT_TOTAL(&e.growing);
    ASSERT_TOTAL(&e.kernels);
    ASSERT_TOTAL(&e.devices);
    ASSERT_TOTAL(&e.library);
    assert_int_equal(e.memory.kind_of(NULL, &mem, &mem), ISTHMUS_OK);
    assert_int_equal(mem.kind, ISTHMUS_MEM_HOST);
    assert_int_equal(mem.length_bytes, 0);
    assert_int_equal(e.memory.device(NULL, ISTHMUS_MEM_CUDA), -1);
    assert_int_equal(e.memory.device_view(NULL, &addr), ISTHMUS_ERR_UNSUPPORTED);
    assert_int_equal(e.memory.copy(NULL, &mem, &mem, 1), ISTHMUS_ERR_UNSUPPORTED);
    assert_null(e.memory.pci_address(NULL, ISTHMUS_MEM_CUDA));
    assert_int_equal(e.memory.flush_writes(NULL), ISTHMUS_OK);
    assert_false(e.has_amo_list);
    assert_int_equal(e.memory.amo_list(NULL, NULL, 2), ISTHMUS_ERR_UNSUPPORTED);
    assert_int_equal(e.growing.granule(NULL, ISTHMUS_MEM_CUDA, 0), 0);
    assert_int_equal(e.growing.reserve(NULL, ISTHMUS_MEM_CUDA, 0, 4096, &addr), ISTHMUS_ERR_UNSUPPORTED);
    assert_int_equal(e.growing.commit(NULL, NULL, 4096, &mem), ISTHMUS_ERR_UNSUPPORTED);
    assert_int_equal(e.kernels.host_alloc(NULL, 8, &addr, &addr), ISTHMUS_ERR_UNSUPPORTED);
    assert_int_equal(e.kernels.device_alloc(NULL, 8, &addr), ISTHMUS_ERR_UNSUPPORTED);
    e.kernels.host_free(NULL, NULL);
    e.kernels.device_free(NULL, NULL);
    assert_false(e.has_attach_at);
    assert_int_equal(e.growing.attach_at(NULL, NULL, 0, &mem, NULL), ISTHMUS_ERR_UNSUPPORTED);
    assert_int_equal(e.devices.count(NULL), 0);
    e.library.describe(NULL, &library);
    assert_null(library.name);
}

static isthmus_status kind_of(isthmus_tr *tr, const void *addr, struct isthmus_mem *out)
{
    (void)tr, (void)addr, (void)out;
    return ISTHMUS_OK;
}
static int32_t device(isthmus_tr *tr, uint32_t kind)
{
    (void)tr;
    return (int32_t)kind;
}
static isthmus_status device_view(const isthmus_rmem *remote, void **addr)
{
    (void)remote, (void)addr;
    return ISTHMUS_OK;
}
static isthmus_status copy(isthmus_tr *tr, void *dest, const void *source, size_t length_bytes)
{
    (void)tr, (void)dest, (void)source, (void)length_bytes;
    return ISTHMUS_OK;
}
static isthmus_status flush_writes(isthmus_tr *tr)
{
    (void)tr;
    return ISTHMUS_OK;
}

static isthmus_status amo_list(isthmus_tr *tr, const struct isthmus_memory_amo *list, uint32_t n)
{
    (void)tr, (void)list, (void)n;
    return ISTHMUS_OK;
}

static void slots_of_later_versions_are_filled_in(void **state)
{
    (void)state;
    struct isthmus_memory first_version = {.struct_size = offsetof(struct isthmus_memory, amo),
                                           .kind_of = kind_of,
                                           .device = device,
                                           .device_view = device_view,
                                           .copy = copy,
                                           .flush_writes = flush_writes, /* this and the next lie behind its size */
                                           .amo_list = amo_list};
    struct ist_extensions e = complete((struct groups){.memory = &first_version});
    assert_true(e.has_memory);
    assert_false(e.has_flush || e.has_amo_list);
    ASSERT_TOTAL(&e.memory);
    assert_int_equal(e.memory.device(NULL, 5), 5);
    assert_int_equal(e.memory.amo(NULL, NULL, ISTHMUS_AMO_ADD, ISTHMUS_BITS64, 1, 0, NULL), ISTHMUS_ERR_UNSUPPORTED);
    first_version.struct_size = sizeof first_version;
    e = complete((struct groups){.memory = &first_version});
    assert_true(e.has_flush);
    assert_true(e.memory.flush_writes == flush_writes);
    assert_true(e.has_amo_list);
    assert_true(e.memory.amo_list == amo_list);
}

static isthmus_status reserve(isthmus_tr *tr, uint32_t kind, int32_t device, uint64_t length_bytes, void **addr)
{
    (void)tr, (void)kind, (void)device, (void)length_bytes, (void)addr;
    return ISTHMUS_OK;
}
static isthmus_status commit(isthmus_tr *tr, void *addr, uint64_t length_bytes, struct isthmus_mem *out)
{
    (void)tr, (void)addr, (void)length_bytes, (void)out;
    return ISTHMUS_OK;
}
static void unreserve(isthmus_tr *tr, void *addr, uint64_t length_bytes) { (void)tr, (void)addr, (void)length_bytes; }
static uint64_t granule(isthmus_tr *tr, uint32_t kind, int32_t device)
{
    (void)tr, (void)kind, (void)device;
    return 4096;
}
static isthmus_status attach_at(isthmus_path *path, const void *key, size_t key_bytes, void *addr, isthmus_rmem **out)
{
    (void)path, (void)key, (void)key_bytes, (void)addr, (void)out;
    return ISTHMUS_OK;
}

static void memory_that_grows_may_have_no_place_at_peers(void **state)
{
    (void)state;
    struct isthmus_growing growing = {.struct_size = offsetof(struct isthmus_growing, attach_at),
                                      .reserve = reserve,
                                      .commit = commit,
                                      .unreserve = unreserve,
                                      .granule = granule,
                                      .attach_at = attach_at}; /* lies behind its size */
    struct ist_extensions e = complete((struct groups){.growing = &growing});
    assert_false(e.has_attach_at);
    ASSERT_TOTAL(&e.growing);
    assert_int_equal(e.growing.granule(NULL, 0, 0), 4096);
    assert_int_equal(e.growing.attach_at(NULL, NULL, 0, NULL, NULL), ISTHMUS_ERR_UNSUPPORTED);
    growing.struct_size = sizeof growing;
    e = complete((struct groups){.growing = &growing});
    assert_true(e.has_attach_at && e.growing.attach_at == attach_at);
}

static isthmus_status stream_put(isthmus_tr *tr, void *stream, const isthmus_rmem *remote, uint64_t offset_bytes,
                                 const void *source, size_t length_bytes)
{
    (void)tr, (void)stream, (void)remote, (void)offset_bytes, (void)source, (void)length_bytes;
    return ISTHMUS_OK;
}
static isthmus_status stream_get(isthmus_tr *tr, void *stream, const isthmus_rmem *remote, uint64_t offset_bytes,
                                 void *dest, size_t length_bytes)
{
    (void)tr, (void)stream, (void)remote, (void)offset_bytes, (void)dest, (void)length_bytes;
    return ISTHMUS_OK;
}
static isthmus_status stream_amo(isthmus_tr *tr, void *stream, const isthmus_rmem *remote, uint64_t offset_bytes,
                                 uint32_t op, uint64_t operand)
{
    (void)tr, (void)stream, (void)remote, (void)offset_bytes, (void)op, (void)operand;
    return ISTHMUS_OK;
}
static isthmus_status wait_until(isthmus_tr *tr, void *stream, const uint64_t *word, uint32_t compare, uint64_t value)
{
    (void)tr, (void)stream, (void)word, (void)compare, (void)value;
    return ISTHMUS_OK;
}
static isthmus_status host_function(isthmus_tr *tr, void *stream, void (*function)(void *argument), void *argument)
{
    (void)tr, (void)stream, (void)function, (void)argument;
    return ISTHMUS_OK;
}

static void streams_without_optional_slots_work(void **state)
{
    (void)state;
    const struct isthmus_stream least = {.struct_size = offsetof(struct isthmus_stream, complete),
                                         .put = stream_put,
                                         .get = stream_get,
                                         .amo = stream_amo,
                                         .wait_until = wait_until,
                                         .host_function = host_function};
    struct ist_extensions e = complete((struct groups){.stream = &least});
    assert_true(e.has_streams);
    ASSERT_TOTAL(&e.stream);
    assert_int_equal(e.stream.complete(NULL), ISTHMUS_OK);
    assert_int_equal(e.stream.words(NULL, NULL, NULL, 0), ISTHMUS_ERR_UNSUPPORTED);
    assert_int_equal(e.stream.is_idle(NULL, NULL), 0);
}

/* Each required slot in turn is missing. */
static void a_group_that_lacks_a_required_slot_is_not_used(void **state)
{
    (void)state;
    const struct isthmus_memory whole = {
        .struct_size = sizeof whole, .kind_of = kind_of, .device = device, .device_view = device_view, .copy = copy};
    const struct isthmus_stream streams = {.struct_size = sizeof streams,
                                           .put = stream_put,
                                           .get = stream_get,
                                           .amo = stream_amo,
                                           .wait_until = wait_until,
                                           .host_function = host_function};
    struct isthmus_memory memory;
    struct isthmus_stream stream;
    const struct groups both = {.memory = &memory, .stream = &stream};
    for (size_t at = 2 * sizeof(uint32_t); at < offsetof(struct isthmus_memory, amo); at += sizeof(void *)) {
        memory = whole;
        memset((char *)&memory + at, 0, sizeof(void *));
        stream = streams;
        struct ist_extensions e = complete(both);
        assert_false(e.has_memory);
        assert_true(e.has_streams);
        ASSERT_TOTAL(&e.memory);
        assert_int_equal(e.memory.device(NULL, 5), -1);
    }
    for (size_t at = 2 * sizeof(uint32_t); at < offsetof(struct isthmus_stream, complete); at += sizeof(void *)) {
        memory = whole;
        stream = streams;
        memset((char *)&stream + at, 0, sizeof(void *));
        struct ist_extensions e = complete(both);
        assert_true(e.has_memory);
        assert_false(e.has_streams);
    }
}

static isthmus_status host_alloc(isthmus_tr *tr, uint64_t length_bytes, void **addr, void **view)
{
    (void)tr, (void)length_bytes, (void)addr, (void)view;
    return ISTHMUS_OK;
}
static isthmus_status device_alloc(isthmus_tr *tr, uint64_t length_bytes, void **addr)
{
    (void)tr, (void)length_bytes, (void)addr;
    return ISTHMUS_OK;
}
static void free_it(isthmus_tr *tr, void *addr) { (void)tr, (void)addr; }
static void note_call(void *argument) { *(bool *)argument = true; }

static void kernels_need_memory_and_perhaps_no_modules(void **state)
{
    (void)state;
    const struct isthmus_kernels least = {.struct_size = sizeof least,
                                          .host_alloc = host_alloc,
                                          .host_free = free_it,
                                          .device_alloc = device_alloc,
                                          .device_free = free_it};
    struct isthmus_kernels kernels = least;
    struct ist_extensions e = complete((struct groups){.kernels = &kernels});
    void *addr;
    uint64_t bytes;
    assert_true(e.has_kernels);
    ASSERT_TOTAL(&e.kernels);
    assert_int_equal(e.kernels.find(NULL, ISTHMUS_CODE_MODULE, NULL, "x", &addr, &bytes), ISTHMUS_ERR_UNSUPPORTED);
    bool is_called = false;
    assert_int_equal(e.kernels.call(NULL, note_call, &is_called), ISTHMUS_OK);
    assert_true(is_called);
    for (size_t at = 2 * sizeof(uint32_t); at < offsetof(struct isthmus_kernels, find); at += sizeof(void *)) {
        kernels = least;
        memset((char *)&kernels + at, 0, sizeof(void *));
        e = complete((struct groups){.kernels = &kernels});
        assert_false(e.has_kernels);
        ASSERT_TOTAL(&e.kernels);
    }
}

static isthmus_status prepare(isthmus_tr *tr)
{
    (void)tr;
    return ISTHMUS_OK;
}
static uint64_t flag_words(isthmus_tr *tr, uint32_t members)
{
    (void)tr;
    return members;
}
static isthmus_status enqueue(isthmus_tr *tr, void *stream, const struct isthmus_collective *what)
{
    (void)tr, (void)stream, (void)what;
    return ISTHMUS_OK;
}
static isthmus_status start_collective(isthmus_tr *tr, const struct isthmus_collective *what, uint64_t *ticket)
{
    (void)tr, (void)what, (void)ticket;
    return ISTHMUS_OK;
}

/* Streams, memory for the word that stops kernels, and the required slots; a start that cannot be tested is none. */
static void collectives_need_streams_and_kernels(void **state)
{
    (void)state;
    const struct isthmus_stream stream = {.struct_size = sizeof stream,
                                          .put = stream_put,
                                          .get = stream_get,
                                          .amo = stream_amo,
                                          .wait_until = wait_until,
                                          .host_function = host_function};
    const struct isthmus_kernels kernels = {.struct_size = sizeof kernels,
                                            .host_alloc = host_alloc,
                                            .host_free = free_it,
                                            .device_alloc = device_alloc,
                                            .device_free = free_it};
    const struct isthmus_collectives least = {.struct_size = sizeof least,
                                              .prepare = prepare,
                                              .flag_words = flag_words,
                                              .enqueue = enqueue,
                                              .start = start_collective};
    struct isthmus_collectives collectives = least;
    struct groups all = {.stream = &stream, .kernels = &kernels, .collectives = &collectives};
    struct ist_extensions e = complete(all);
    assert_true(e.has_collectives);
    assert_null(e.collectives.start);
    e = complete((struct groups){.kernels = &kernels, .collectives = &collectives});
    assert_false(e.has_collectives);
    e = complete((struct groups){.stream = &stream, .collectives = &collectives});
    assert_false(e.has_collectives);
    for (size_t at = 2 * sizeof(uint32_t); at < offsetof(struct isthmus_collectives, start); at += sizeof(void *)) {
        collectives = least;
        memset((char *)&collectives + at, 0, sizeof(void *));
        e = complete(all);
        assert_false(e.has_collectives);
        assert_null(e.collectives.enqueue);
    }
}

static void other_groups_are_whole_or_not_used(void **state)
{
    (void)state;
    const struct isthmus_growing growing = {.struct_size = sizeof growing};
    const struct isthmus_devices devices = {.struct_size = sizeof devices};
    const struct isthmus_library library = {.struct_size = sizeof library};
    struct ist_extensions e = complete((struct groups){.growing = &growing, .devices = &devices, .library = &library});
    assert_false(e.has_devices);
    ASSERT_TOTAL(&e.growing);
    ASSERT_TOTAL(&e.devices);
    ASSERT_TOTAL(&e.library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_is_there_if_the_other_side_has_it),
        cmocka_unit_test(a_struct_is_written_as_far_as_it_has_room),
        cmocka_unit_test(a_struct_is_read_as_far_as_both_sides_know_it),
        cmocka_unit_test(a_table_of_required_slots_becomes_total),
        cmocka_unit_test(a_commit_is_immediate_where_nothing_is_to_be_completed),
        cmocka_unit_test(a_commit_of_blocking_halves_is_unsupported),
        cmocka_unit_test(a_commit_of_the_transport_is_used),
        cmocka_unit_test(half_a_commit_is_refused),
        cmocka_unit_test(puts_that_share_messages_are_declined_or_the_transports),
        cmocka_unit_test(one_of_put_more_and_post_is_refused),
        cmocka_unit_test(absent_groups_can_be_called),
        cmocka_unit_test(slots_of_later_versions_are_filled_in),
        cmocka_unit_test(memory_that_grows_may_have_no_place_at_peers),
        cmocka_unit_test(streams_without_optional_slots_work),
        cmocka_unit_test(a_group_that_lacks_a_required_slot_is_not_used),
        cmocka_unit_test(kernels_need_memory_and_perhaps_no_modules),
        cmocka_unit_test(collectives_need_streams_and_kernels),
        cmocka_unit_test(other_groups_are_whole_or_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
