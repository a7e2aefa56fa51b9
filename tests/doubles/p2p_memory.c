/* tests/doubles/p2p_memory.c: see p2p_test.h. Memory that grows, what is at an address, streams of the program's
 * own. */
#include "tests/doubles/p2p_test.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void case_memory_grows(void)
{
    static struct pe pes[2];
    open_both(pes);
    struct pe *pe = &pes[0];
    const struct isthmus_growing *growing = growing_of(pe);
    if (growing == NULL) skip();
    uint64_t granule = growing->granule(pe->tr, pe->kind, 0);
    CHECK(granule > 0 && (granule & (granule - 1)) == 0, "%llu", (unsigned long long)granule);
    CHECK(growing->granule(pe->tr, ISTHMUS_MEM_HOST, -1) == 0, "host memory does not grow here");
    void *addr = NULL;
    CHECK(growing->reserve(pe->tr, pe->kind, 0, 8 * granule, &addr) == ISTHMUS_OK, "%s", said);
    CHECK(growing->reserve(pe->tr, pe->kind, 0, granule + 1, &addr) == ISTHMUS_ERR_INVALID, "no granule");
    struct isthmus_mem first = {.struct_size = sizeof first}, third = {.struct_size = sizeof third}, again = third;
    CHECK(growing->commit(pe->tr, addr, granule, &first) == ISTHMUS_OK, "%s", said);
    CHECK(growing->commit(pe->tr, (char *)addr + 2 * granule, 2 * granule, &third) == ISTHMUS_OK, "%s", said);
    CHECK(third.addr == (char *)addr + 2 * granule && third.length_bytes == 2 * granule, "at %p", third.addr);
    CHECK(growing->commit(pe->tr, addr, granule, &again) != ISTHMUS_OK, "there is memory already");
    uint64_t value = 5, got = 0;
    char *word = (char *)third.addr + granule;
    CHECK(memory_of(pe)->copy(pe->tr, word, &value, sizeof value) == ISTHMUS_OK, "%s", said);
    CHECK(memory_of(pe)->copy(pe->tr, &got, word, sizeof got) == ISTHMUS_OK && got == 5, "%s", said);
    plugin->mem_free(pe->tr, &third);
    CHECK(growing->commit(pe->tr, third.addr, granule * 2, &third) == ISTHMUS_OK, "%s", said);
    CHECK(memory_of(pe)->copy(pe->tr, &got, word, sizeof got) == ISTHMUS_OK && got == 0, "it is %llu, not cleared",
          (unsigned long long)got);
    plugin->mem_free(pe->tr, &third);
    plugin->mem_free(pe->tr, &first);
    growing->unreserve(pe->tr, addr, 8 * granule);
    close_both(pes);
}

void case_kind_of_address(void)
{
    static struct pe pes[2];
    open_both(pes);
    struct pe *pe = &pes[0];
    int on_stack = 0;
    struct isthmus_mem mem = {.struct_size = sizeof mem}, place = {.struct_size = sizeof place};
    CHECK(plugin->mem_alloc(pe->tr, pe->kind, -1, 3 << 20, &mem) == ISTHMUS_OK, "%s", said);
    CHECK(memory_of(pe)->kind_of(pe->tr, (char *)mem.addr + 100, &place) == ISTHMUS_OK, "%s", said);
    CHECK(place.kind == pe->kind && place.device == 0 && place.addr == mem.addr && place.length_bytes >= 3 << 20,
          "kind %u of device %d, %llu bytes at %p", place.kind, place.device, (unsigned long long)place.length_bytes,
          place.addr);
    CHECK(memory_of(pe)->kind_of(pe->tr, &on_stack, &place) == ISTHMUS_OK, "%s", said);
    CHECK(place.kind == ISTHMUS_MEM_HOST && place.device == -1 && place.length_bytes == 0, "kind %u, %llu bytes",
          place.kind, (unsigned long long)place.length_bytes);
    plugin->mem_free(pe->tr, &mem);
    close_both(pes);
}

void stream_scene_open(struct stream_scene *scene, struct pe pes[2])
{
    char key[256];
    size_t key_bytes = sizeof key;
    void *alias;
    *scene = (struct stream_scene){
        .pes = pes, .theirs.struct_size = sizeof scene->theirs, .mine.struct_size = sizeof scene->mine};
    open_both(pes);
    CHECK(plugin->mem_alloc(pes[0].tr, pes[0].kind, -1, 4096, &scene->theirs) == ISTHMUS_OK, "%s", said);
    CHECK(plugin->mem_alloc(pes[1].tr, pes[1].kind, -1, 4096, &scene->mine) == ISTHMUS_OK, "%s", said);
    CHECK(plugin->expose(pes[0].tr, &scene->theirs, key, &key_bytes, &scene->exposed) == ISTHMUS_OK, "%s", said);
    CHECK(plugin->path_open(pes[1].tr, &pes[0].as_peer, &scene->path) == ISTHMUS_OK, "%s", said);
    CHECK(plugin->attach(scene->path, key, key_bytes, &scene->remote, &alias) == ISTHMUS_OK, "%s", said);
}

void stream_scene_close(struct stream_scene *scene)
{
    plugin->detach(scene->remote);
    plugin->path_close(scene->path);
    plugin->unregister_local(scene->exposed);
    plugin->mem_free(scene->pes[1].tr, &scene->mine);
    plugin->mem_free(scene->pes[0].tr, &scene->theirs);
    close_both(scene->pes);
}

static void note_call(void *argument) { __atomic_store_n((int *)argument, 1, __ATOMIC_RELEASE); }

/* One word that is written, one that already has the value; not every platform writes words. */
static isthmus_status use_words(struct pe *pe, const struct isthmus_stream *stream, const isthmus_rmem *remote,
                                const uint64_t *word)
{
    const struct isthmus_stream_word list[] = {{remote, 24, NULL, 5}, {.word = word, .value = 0}};
    isthmus_status status = stream->words(pe->tr, NULL, list, 2);
    return status == ISTHMUS_ERR_UNSUPPORTED ? ISTHMUS_OK : status;
}

/* All calls in the order of a stream, where there are any. The stream has completed before its memory is freed, also if
 * a call fails. */
isthmus_status use_stream(struct pe *pe, const isthmus_rmem *remote)
{
    static uint64_t from = 9, to;
    static int is_called;
    const struct isthmus_stream *stream = plugin->extension(pe->tr, "stream.1");
    struct isthmus_mem mem = {.struct_size = sizeof mem};
    if (stream == NULL) return ISTHMUS_OK;
    isthmus_status status = plugin->mem_alloc(pe->tr, pe->kind, -1, 4096, &mem);
    if (status != ISTHMUS_OK) return status;
    is_called = 0;
    status = stream->wait_until(pe->tr, NULL, mem.addr, ISTHMUS_COMPARE_EQ, 0);
    if (status == ISTHMUS_OK) status = stream->put(pe->tr, NULL, remote, 8, &from, sizeof from);
    if (status == ISTHMUS_OK) status = stream->get(pe->tr, NULL, remote, 8, &to, sizeof to);
    if (status == ISTHMUS_OK) status = stream->amo(pe->tr, NULL, remote, 0, ISTHMUS_AMO_ADD, 1);
    if (status == ISTHMUS_OK) status = use_words(pe, stream, remote, mem.addr);
    if (status == ISTHMUS_OK) status = stream->host_function(pe->tr, NULL, note_call, &is_called);
    isthmus_status end = stream->complete(pe->tr);
    if (end != ISTHMUS_OK) (void)stream->complete(pe->tr); /* if that call failed, nothing has waited */
    if (status == ISTHMUS_OK) status = end;
    if (status == ISTHMUS_OK && (to != from || !__atomic_load_n(&is_called, __ATOMIC_ACQUIRE)))
        status = pe->services.fail(NULL, ISTHMUS_ERR_IO, "wrong data by a stream");
    plugin->mem_free(pe->tr, &mem);
    return status;
}

/* What kernels need, where they can make calls. */
isthmus_status use_kernels(struct pe *pe)
{
    enum { BYTES = 1000 };
    const struct isthmus_kernels *kernels = plugin->extension(pe->tr, "device.1");
    uint64_t value = 7, back[2] = {9, 9};
    void *words = NULL, *view = NULL, *memory = NULL;
    if (kernels == NULL) return ISTHMUS_OK;
    isthmus_status status = kernels->host_alloc(pe->tr, BYTES, &words, &view);
    if (status == ISTHMUS_OK && (*(uint64_t *)words != 0 || view == NULL))
        status = pe->services.fail(NULL, ISTHMUS_ERR_IO, "wrong memory of the host for kernels");
    if (status == ISTHMUS_OK) status = kernels->device_alloc(pe->tr, BYTES, &memory);
    if (status == ISTHMUS_OK) status = memory_of(pe)->copy(pe->tr, memory, &value, sizeof value);
    if (status == ISTHMUS_OK) status = memory_of(pe)->copy(pe->tr, back, memory, sizeof back);
    if (status == ISTHMUS_OK && (back[0] != 7 || back[1] != 0))
        status = pe->services.fail(NULL, ISTHMUS_ERR_IO, "wrong data in memory for kernels");
    kernels->device_free(pe->tr, memory);
    kernels->host_free(pe->tr, words);
    return status;
}

/* Operations on a stream of the program run in its order, and not before the word that it waits for has arrived. */
static void note_done(void *argument)
{
    struct stream_scene *scene = argument;
    __atomic_store_n(&scene->is_done, 1, __ATOMIC_RELEASE);
}

/* The peer's word is written only when this PE's word has the value, which the host writes. */
static void check_words(const struct stream_scene *scene, const struct isthmus_stream *stream, uint64_t *word)
{
    static const uint64_t go = 9;
    isthmus_tr *tr = scene->pes[1].tr;
    uint64_t there = 0;
    const struct isthmus_stream_word list[] = {{.word = word, .value = go}, {scene->remote, 48, NULL, 77}};
    isthmus_status status = stream->words(tr, NULL, list, 2);
    if (status == ISTHMUS_ERR_UNSUPPORTED) return;
    CHECK(status == ISTHMUS_OK, "%s", said);
    const char *theirs = (const char *)scene->theirs.addr + 48;
    const struct isthmus_memory *memory = memory_of(&scene->pes[0]);
    CHECK(memory->copy(scene->pes[0].tr, &there, theirs, sizeof there) == ISTHMUS_OK, "%s", said);
    CHECK(there == 0, "the word was written before the stream was let go");
    CHECK(memory_of(&scene->pes[1])->copy(tr, word, &go, sizeof go) == ISTHMUS_OK, "%s", said);
    CHECK(stream->complete(tr) == ISTHMUS_OK, "%s", said);
    CHECK(memory->copy(scene->pes[0].tr, &there, theirs, sizeof there) == ISTHMUS_OK, "%s", said);
    CHECK(there == 77, "the word is %llu", (unsigned long long)there);
}

void case_stream_order(void)
{
    static struct pe pes[2];
    static struct stream_scene scene;
    enum { PAYLOAD = 8, BACK = 16, WORDS = 4 }; /* this PE's words: streams take only memory that the device reaches */
    static const uint64_t payload[WORDS] = {11, 12, 13, 14}, go = 5;
    static uint64_t back[WORDS], there[WORDS + 1];
    stream_scene_open(&scene, pes);
    isthmus_tr *tr = pes[1].tr;
    const struct isthmus_stream *stream = plugin->extension(tr, "stream.1");
    if (stream == NULL) skip();
    void *const queue = NULL; /* the platform's default stream */
    uint64_t *const word = scene.mine.addr;
    CHECK(memory_of(&pes[1])->copy(tr, word + PAYLOAD, payload, sizeof payload) == ISTHMUS_OK, "%s", said);
    CHECK(stream->wait_until(tr, queue, word, ISTHMUS_COMPARE_NE, 1) == ISTHMUS_ERR_UNSUPPORTED, "%s", said);
    CHECK(stream->wait_until(tr, queue, word, ISTHMUS_COMPARE_GT, 4) == ISTHMUS_OK, "%s", said);
    CHECK(stream->put(tr, queue, scene.remote, 8, word + PAYLOAD, sizeof payload) == ISTHMUS_OK, "%s", said);
    CHECK(stream->get(tr, queue, scene.remote, 8, word + BACK, sizeof back) == ISTHMUS_OK, "%s", said);
    CHECK(stream->amo(tr, queue, scene.remote, 0, ISTHMUS_AMO_ADD, 3) == ISTHMUS_OK, "%s", said);
    CHECK(stream->amo(tr, queue, scene.remote, 0, ISTHMUS_AMO_FETCH, 3) == ISTHMUS_ERR_UNSUPPORTED, "%s", said);
    CHECK(stream->host_function(tr, queue, note_done, &scene) == ISTHMUS_OK, "%s", said);
    CHECK(memory_of(&pes[0])->copy(pes[0].tr, there, scene.theirs.addr, sizeof there) == ISTHMUS_OK, "%s", said);
    CHECK(there[0] == 0 && there[1] == 0 && !scene.is_done, "the stream has not waited");
    CHECK(memory_of(&pes[1])->copy(tr, word, &go, sizeof go) == ISTHMUS_OK, "%s", said);
    while (!__atomic_load_n(&scene.is_done, __ATOMIC_ACQUIRE)) sched_yield();
    CHECK(memory_of(&pes[1])->copy(tr, back, word + BACK, sizeof back) == ISTHMUS_OK, "%s", said);
    CHECK(memcmp(back, payload, sizeof back) == 0, "the get came before the put");
    CHECK(memory_of(&pes[0])->copy(pes[0].tr, there, scene.theirs.addr, sizeof there) == ISTHMUS_OK, "%s", said);
    check_words(&scene, stream, word);
    CHECK(there[0] == 3 && memcmp(there + 1, payload, sizeof payload) == 0, "the word is %llu",
          (unsigned long long)there[0]);
    stream_scene_close(&scene);
}

/* Reads the word in a child, because the read may fault. Returns true if the read worked. */
static bool can_touch(const void *addr)
{
    int state;
    pid_t child = fork();
    if (child == 0) _exit(*(const volatile char *)addr == 0 ? 0 : 1);
    CHECK(waitpid(child, &state, 0) == child, "no process");
    return WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

void case_host_access(void)
{
    for (int allowed = 0; allowed < 2; allowed++) {
        struct pe pe;
        struct isthmus_mem mem = {.struct_size = sizeof mem};
        setenv("GPU_DOUBLE_HOST_ACCESS", allowed ? "1" : "0", 1);
        gpu_double.reset();
        CHECK(pe_open(&pe, 0) == ISTHMUS_OK, "%s", said);
        CHECK(plugin->mem_alloc(pe.tr, pe.kind, -1, 4096, &mem) == ISTHMUS_OK, "%s", said);
        CHECK(can_touch(mem.addr) == (allowed != 0), "allowed is %d", allowed);
        plugin->mem_free(pe.tr, &mem);
        pe_close(&pe);
    }
}
