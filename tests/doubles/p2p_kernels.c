/* tests/doubles/p2p_kernels.c: see p2p_test.h. What kernels of a program need of a transport: peers' memory at one
 * distance, and atomics that arrive while such kernels fill the device. */
#include "tests/doubles/p2p_test.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory of a peer at addresses of this PE's choice ---- */

enum { PIECES = 3 };

/* Pieces of one granule of the first PE, next to each other; the second PE has them likewise. */
struct place {
    struct pe *owner, *user;
    uint64_t granule;
    char *theirs, *mine;
    struct isthmus_mem pieces[PIECES];
    isthmus_lmem *exposed[PIECES];
    char keys[PIECES][256];
    size_t key_bytes;
    isthmus_path *path;
    isthmus_rmem *remote[PIECES];
};

static isthmus_status place_open(struct place *p)
{
    const struct isthmus_growing *growing = growing_of(p->owner);
    void *theirs = NULL, *mine = NULL;
    p->granule = growing->granule(p->owner->tr, p->owner->kind, -1);
    isthmus_status status = growing->reserve(p->owner->tr, p->owner->kind, -1, PIECES * p->granule, &theirs);
    p->theirs = theirs;
    if (status == ISTHMUS_OK)
        status = growing->reserve(p->user->tr, p->user->kind, -1, (PIECES + 1) * p->granule, &mine);
    p->mine = mine;
    for (int i = 0; i < PIECES && status == ISTHMUS_OK; i++) {
        p->pieces[i].struct_size = sizeof p->pieces[i];
        p->key_bytes = sizeof p->keys[i];
        status = growing->commit(p->owner->tr, p->theirs + (uint64_t)i * p->granule, p->granule, &p->pieces[i]);
        if (status == ISTHMUS_OK)
            status = plugin->expose(p->owner->tr, &p->pieces[i], p->keys[i], &p->key_bytes, &p->exposed[i]);
    }
    if (status == ISTHMUS_OK) status = plugin->path_open(p->user->tr, &p->owner->as_peer, &p->path);
    return status;
}

static isthmus_status place_attach(struct place *p, int i)
{
    return growing_of(p->user)->attach_at(p->path, p->keys[i], p->key_bytes, p->mine + (uint64_t)i * p->granule,
                                          &p->remote[i]);
}

static void place_close(struct place *p)
{
    for (int i = 0; i < PIECES; i++) plugin->detach(p->remote[i]);
    plugin->path_close(p->path);
    for (int i = 0; i < PIECES; i++) {
        plugin->unregister_local(p->exposed[i]);
        if (p->pieces[i].addr != NULL) plugin->mem_free(p->owner->tr, &p->pieces[i]);
    }
    if (p->mine != NULL) growing_of(p->user)->unreserve(p->user->tr, p->mine, (PIECES + 1) * p->granule);
    if (p->theirs != NULL) growing_of(p->owner)->unreserve(p->owner->tr, p->theirs, PIECES * p->granule);
}

isthmus_status use_place(struct pe pes[2])
{
    struct place place = {.owner = &pes[0], .user = &pes[1]};
    if (growing_of(&pes[0]) == NULL || growing_of(&pes[1]) == NULL || growing_of(&pes[1])->attach_at == NULL)
        return ISTHMUS_OK;
    isthmus_status status = place_open(&place);
    for (int i = PIECES - 1; i >= 0 && status == ISTHMUS_OK; i--) status = place_attach(&place, i);
    place_close(&place);
    return status;
}

/* A number that the owner writes at this offset is what the user's device finds at the same offset of its own. */
static void check_word(struct place *p, uint64_t offset, uint64_t value)
{
    uint64_t got = 0;
    CHECK(memory_of(p->owner)->copy(p->owner->tr, p->theirs + offset, &value, sizeof value) == ISTHMUS_OK, "%s", said);
    CHECK(memory_of(p->user)->copy(p->user->tr, &got, p->mine + offset, sizeof got) == ISTHMUS_OK, "%s", said);
    CHECK(got == value, "at %llu the user finds %llu instead of %llu", (unsigned long long)offset,
          (unsigned long long)got, (unsigned long long)value);
}

/* One reservation has pieces of the peer's, in any order, and again after they were detached. */
void case_attached_in_place(void)
{
    static struct pe pes[2];
    static struct place place, own;
    void *view = NULL;
    open_both(pes);
    place = (struct place){.owner = &pes[0], .user = &pes[1]};
    if (growing_of(&pes[1]) == NULL) skip();
    if (growing_of(&pes[1])->attach_at == NULL) skip();
    CHECK(place_open(&place) == ISTHMUS_OK, "%s", said);
    static const int order[PIECES] = {1, 0, 2};
    for (int i = 0; i < PIECES; i++) {
        CHECK(place_attach(&place, order[i]) == ISTHMUS_OK, "%s", said);
        CHECK(memory_of(&pes[1])->device_view(place.remote[order[i]], &view) == ISTHMUS_OK, "%s", said);
        CHECK((char *)view == place.mine + (uint64_t)order[i] * place.granule, "piece %d is at %p", order[i], view);
    }
    for (uint64_t i = 0; i < PIECES; i++) check_word(&place, i * place.granule + 8 * i, 100 + i);
    isthmus_rmem *again = place.remote[1];
    CHECK(place_attach(&place, 1) != ISTHMUS_OK, "there is a piece already");
    plugin->detach(again);
    CHECK(place_attach(&place, 1) == ISTHMUS_OK, "%s", said);
    check_word(&place, place.granule + 64, 9);
    plugin->detach(place.remote[2]);
    place.remote[2] = NULL;
    CHECK(growing_of(&pes[1])->attach_at(place.path, place.keys[2], place.key_bytes,
                                         place.mine + 2 * place.granule + 4096,
                                         &place.remote[2]) == ISTHMUS_ERR_UNSUPPORTED,
          "an address between two granules");
    place_close(&place);
    own = (struct place){.owner = &pes[0], .user = &pes[0]};
    CHECK(place_open(&own) == ISTHMUS_OK, "%s", said);
    CHECK(place_attach(&own, 0) == ISTHMUS_ERR_UNSUPPORTED, "the own memory has its place");
    place_close(&own);
    close_both(pes);
}

/* ---- atomics beside kernels that fill the device ---- */

enum { ROOM = 4, MANY = 100, VERY_MANY = 2000, PATIENCE_S = 20 };

/* A kernel of the program's that waits, as `word` of device memory tells or until the test lets it go. */
struct waiting_kernel {
    struct pe *pe;
    const char *word; /* NULL: only `may_end` */
    uint64_t until, seen;
    int has_begun, may_end, has_ended;
};

static uint64_t value_at(const struct pe *pe, const char *word)
{
    uint64_t value = 0;
    CHECK(memory_of(pe)->copy(pe->tr, &value, word, sizeof value) == ISTHMUS_OK, "%s", said);
    return value;
}

static void run_kernel(void *argument)
{
    struct waiting_kernel *kernel = argument;
    if (kernel->word != NULL) kernel->seen = value_at(kernel->pe, kernel->word);
    __atomic_store_n(&kernel->has_begun, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&kernel->may_end, __ATOMIC_ACQUIRE) &&
           (kernel->word == NULL || value_at(kernel->pe, kernel->word) != kernel->until))
        sched_yield();
    __atomic_store_n(&kernel->has_ended, 1, __ATOMIC_RELEASE);
}

static void wait_for(const int *flag)
{
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE)) sched_yield();
}

static void wait_for_launches(int n)
{
    while (gpu_double.waiting() != n) sched_yield();
}

static void launch(struct waiting_kernel *kernel, int stream, unsigned blocks)
{
    gpu_double.launch(stream, blocks, run_kernel, kernel);
}

struct atomics {
    struct stream_scene *scene;
    struct isthmus_data_ops ops;
    isthmus_chan *chan;
    isthmus_amo_fn add, set;
};

static void atomics_open(struct atomics *a, struct stream_scene *scene)
{
    *a = (struct atomics){.scene = scene, .ops.struct_size = sizeof a->ops};
    CHECK(plugin->channel_open(scene->pes[1].tr, ISTHMUS_THREAD_ONE, 0, &a->chan, &a->ops) == ISTHMUS_OK, "%s", said);
    a->add = a->ops.amo_entry(a->chan, ISTHMUS_AMO_ADD, ISTHMUS_BITS64, ISTHMUS_AMO_NBI);
    a->set = a->ops.amo_entry(a->chan, ISTHMUS_AMO_SET, ISTHMUS_BITS64, 0);
    CHECK(a->add != NULL && a->set != NULL, "no atomics");
}

static void add(const struct atomics *a, uint64_t offset, uint64_t value)
{
    CHECK(a->add(a->chan, a->scene->path, a->scene->remote, offset, value, 0, NULL) == ISTHMUS_OK, "%s", said);
}

static void commit(const struct atomics *a) { CHECK(a->ops.remote_commit(a->chan, NULL) == ISTHMUS_OK, "%s", said); }

/* A kernel as a cooperative launch leaves it: all but one block. It waits for a signal that another PE adds to. */
static void signal_beside_kernel(const struct atomics *a)
{
    const struct stream_scene *scene = a->scene;
    struct waiting_kernel kernel = {.pe = &scene->pes[0], .word = scene->theirs.addr, .until = 5};
    launch(&kernel, 0, ROOM - 1);
    wait_for(&kernel.has_begun);
    add(a, 0, 2);
    add(a, 0, 3);
    commit(a);
    wait_for(&kernel.has_ended);
}

struct visitor {
    const struct stream_scene *scene;
    pthread_t thread;
};

/* An addition from another host, which waits until there is room. */
static void *add_by_memory(void *argument)
{
    const struct stream_scene *scene = ((const struct visitor *)argument)->scene;
    uint64_t old = 0;
    CHECK(memory_of(&scene->pes[0])
                  ->amo(scene->pes[0].tr, (char *)scene->theirs.addr + 72, ISTHMUS_AMO_ADD, ISTHMUS_BITS64, 4, 0,
                        &old) == ISTHMUS_OK,
          "%s", said);
    return NULL;
}

/* A set needs no room: it ends a kernel that has all of it. So does one that comes from another host, by memory.1, also
 * behind an addition that has to wait. */
static void set_without_room(const struct atomics *a)
{
    const struct stream_scene *scene = a->scene;
    struct waiting_kernel kernel = {.pe = &scene->pes[0], .word = (char *)scene->theirs.addr + 8, .until = 7};
    launch(&kernel, 0, ROOM);
    wait_for(&kernel.has_begun);
    CHECK(a->set(a->chan, scene->path, scene->remote, 8, 7, 0, NULL) == ISTHMUS_OK, "%s", said);
    commit(a);
    wait_for(&kernel.has_ended);
    struct waiting_kernel other = {.pe = &scene->pes[0], .word = (char *)scene->theirs.addr + 16, .until = 8};
    launch(&other, 0, ROOM);
    wait_for(&other.has_begun);
    struct visitor visitor = {.scene = scene};
    CHECK(pthread_create(&visitor.thread, NULL, add_by_memory, &visitor) == 0, "no thread");
    wait_for_launches(1);
    CHECK(memory_of(&scene->pes[0])
                  ->amo(scene->pes[0].tr, (char *)scene->theirs.addr + 16, ISTHMUS_AMO_SET, ISTHMUS_BITS64, 8, 0,
                        NULL) == ISTHMUS_OK,
          "%s", said);
    wait_for(&other.has_ended);
    pthread_join(visitor.thread, NULL);
    CHECK(value_at(&scene->pes[0], (char *)scene->theirs.addr + 72) == 4, "the addition is not there");
}

/* An addition that waits for room goes before a kernel of the program's that waits longer for it. */
static void addition_before_kernel(const struct atomics *a)
{
    const struct stream_scene *scene = a->scene;
    struct waiting_kernel first = {.pe = &scene->pes[0]};
    struct waiting_kernel second = {
        .pe = &scene->pes[0], .word = (char *)scene->theirs.addr + 24, .until = 1, .may_end = 1};
    launch(&first, 0, ROOM);
    wait_for(&first.has_begun);
    launch(&second, 1, ROOM);
    wait_for_launches(1);
    add(a, 24, 1);
    wait_for_launches(2);
    __atomic_store_n(&first.may_end, 1, __ATOMIC_RELEASE);
    wait_for(&second.has_ended);
    CHECK(second.seen == 1, "the kernel began before the addition that had the higher priority");
    commit(a);
}

static int uses_of(const char *call)
{
    const char *name;
    int uses = 0;
    for (int i = 0; (name = gpu_double.call(i, &uses)) != NULL; i++)
        if (strcmp(name, call) == 0) return uses;
    return 0;
}

/* Additions that meet a busy device share launches; a word that is put between them parts them. */
static void additions_in_batches(const struct atomics *a)
{
    const struct stream_scene *scene = a->scene;
    struct waiting_kernel kernel = {.pe = &scene->pes[0]};
    const uint64_t one = 1;
    launch(&kernel, 0, ROOM);
    wait_for(&kernel.has_begun);
    int before = uses_of("cuLaunchKernel");
    for (uint64_t i = 0; i < MANY; i++) add(a, 32 + 8 * (i % 2), i);
    int used = uses_of("cuLaunchKernel") - before;
    CHECK(before == 0 || used <= 4, "%d additions took %d launches", MANY, used);
    CHECK(a->ops.put(a->chan, scene->path, scene->remote, 48, &one, NULL, sizeof one) == ISTHMUS_OK, "%s", said);
    add(a, 48, 1);
    add(a, 48, 3);
    for (int i = 0; i < VERY_MANY; i++) add(a, 56, 1); /* none of them waits for room */
    __atomic_store_n(&kernel.may_end, 1, __ATOMIC_RELEASE);
    commit(a);
    uint64_t even = value_at(&scene->pes[0], (char *)scene->theirs.addr + 32);
    uint64_t odd = value_at(&scene->pes[0], (char *)scene->theirs.addr + 40);
    uint64_t ordered = value_at(&scene->pes[0], (char *)scene->theirs.addr + 48);
    CHECK(even == 49 * 50 && odd == 50 * 50, "sums %llu and %llu", (unsigned long long)even, (unsigned long long)odd);
    CHECK(value_at(&scene->pes[0], (char *)scene->theirs.addr + 56) == VERY_MANY, "additions got lost");
    CHECK(ordered == 5, "the put and the additions behind it give %llu", (unsigned long long)ordered);
    wait_for(&kernel.has_ended);
}

/* Additions that come while kernels begin and end: none is executed twice, none gets lost. */
static void additions_meet_kernels(const struct atomics *a)
{
    enum { ADDITIONS = 20000 };
    for (int i = 0; i < ADDITIONS; i++) {
        add(a, 64, 1);
        if (i % 512 == 0) commit(a);
    }
    commit(a);
    uint64_t sum = value_at(&a->scene->pes[0], (char *)a->scene->theirs.addr + 64);
    CHECK(sum == ADDITIONS, "%d additions give %llu", ADDITIONS, (unsigned long long)sum);
}

void case_full_device(void)
{
    static struct pe pes[2];
    static struct stream_scene scene;
    static struct atomics atomics;
    char room[16];
    alarm(PATIENCE_S);
    snprintf(room, sizeof room, "%d", ROOM);
    setenv("GPU_DOUBLE_BLOCKS", room, 1);
    gpu_double.reset();
    stream_scene_open(&scene, pes);
    atomics_open(&atomics, &scene);
    signal_beside_kernel(&atomics);
    set_without_room(&atomics);
    addition_before_kernel(&atomics);
    additions_in_batches(&atomics);
    additions_meet_kernels(&atomics);
    plugin->channel_close(atomics.chan);
    stream_scene_close(&scene);
}
