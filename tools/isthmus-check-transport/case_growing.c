/* tools/isthmus-check-transport/case_growing.c: growing.1: a peer's memory at addresses of this process's choice. */
#include "cases.h"

#include <string.h>

enum { PIECES = 3, PART = 4096, KINDS = 32 };

/* Memory of every process that grows by pieces of one granule, and addresses here for that of each other one. */
struct heap {
    struct ct_process *p;
    const struct isthmus_growing *growing;
    const struct isthmus_memory *memory; /* NULL: the transport does not show where it attaches */
    uint32_t kind;
    uint64_t granule;
    void *reserved[CT_MAX_PROCESSES]; /* of this process: for its own memory */
    char *place[CT_MAX_PROCESSES];    /* the first granule there */
    struct ct_extent pieces[PIECES];
    struct ct_blob keys[PIECES][CT_MAX_PROCESSES];
};

static uint64_t reserved_bytes(const struct heap *heap) { return (PIECES + 1) * heap->granule; }

static void find_groups(struct heap *heap)
{
    struct ct_process *p = heap->p;
    heap->growing = p->t->extension(p->tr, "growing.1");
    if (heap->growing == NULL || !ISTHMUS_HAS(heap->growing, attach_at))
        ct_skip("%s attaches nowhere in particular", p->t->name);
    heap->memory = p->t->extension(p->tr, "memory.1");
    if (heap->memory != NULL && heap->memory->device_view == NULL) heap->memory = NULL;
    for (heap->kind = 0; heap->kind < KINDS; heap->kind++) {
        if ((p->traits.kinds_expose >> heap->kind & 1) == 0) continue;
        heap->granule = heap->growing->granule(p->tr, heap->kind, -1);
        if (heap->granule > 0) return;
    }
    ct_skip("no memory of %s grows here", p->t->name);
}

/* A reservation may begin anywhere. */
static void reserve(struct heap *heap, int pe)
{
    struct ct_process *p = heap->p;
    CT_OK(heap->growing->reserve(p->tr, heap->kind, -1, reserved_bytes(heap), &heap->reserved[pe]));
    char *at = heap->reserved[pe];
    heap->place[pe] = at + (-(uintptr_t)at & (heap->granule - 1));
}

static void make_piece(struct heap *heap, int i)
{
    struct ct_process *p = heap->p;
    struct ct_extent *piece = &heap->pieces[i];
    memset(piece, 0, sizeof *piece);
    piece->p = p;
    piece->mem.struct_size = sizeof piece->mem;
    CT_OK(heap->growing->commit(p->tr, heap->place[p->pe] + (uint64_t)i * heap->granule, heap->granule, &piece->mem));
    piece->base = piece->mem.addr;
    piece->length_bytes = (size_t)heap->granule;
    ct_extent_expose(p, piece);
    ct_exchange(p, piece->key, piece->key_bytes, heap->keys[i]);
}

static void heap_open(struct heap *heap, struct ct_process *p)
{
    heap->p = p;
    ct_open(p);
    find_groups(heap);
    ct_exchange_cards(p);
    for (int pe = 0; pe < p->n; pe++) {
        reserve(heap, pe);
        CT_OK(p->t->path_open(p->tr, &p->peers[pe], &p->path[pe]));
    }
    for (int i = 0; i < PIECES; i++) make_piece(heap, i);
}

static isthmus_status attach_at(struct heap *heap, int i, int pe)
{
    const struct ct_blob *key = &heap->keys[i][pe];
    return heap->growing->attach_at(heap->p->path[pe], key->bytes, key->n_bytes,
                                    heap->place[pe] + (uint64_t)i * heap->granule, &heap->pieces[i].rmem[pe]);
}

/* The own piece has its place already. */
static void attach(struct heap *heap, int i)
{
    struct ct_process *p = heap->p;
    struct ct_extent *piece = &heap->pieces[i];
    void *view = NULL, *alias = NULL;
    for (int pe = 0; pe < p->n; pe++) {
        const struct ct_blob *key = &heap->keys[i][pe];
        if (pe == p->pe) {
            CT_OK(p->t->attach(p->path[pe], key->bytes, key->n_bytes, &piece->rmem[pe], &alias));
            continue;
        }
        CT_OK(attach_at(heap, i, pe));
        if (heap->memory == NULL) continue;
        CT_OK(heap->memory->device_view(piece->rmem[pe], &view));
        char *expected = heap->place[pe] + (uint64_t)i * heap->granule;
        CT_RULE("attach_at", "the extent lies at the address that was passed", view == (void *)expected,
                "device_view gives %p for what was attached at %p", view, (void *)expected);
    }
}

/* Every process writes to both ends of its neighbour's piece, and checks what arrived in its own. */
static void use(struct heap *heap, const struct ct_channel *channel, int i, uint64_t seed)
{
    static uint8_t buffer[PART];
    struct ct_process *p = heap->p;
    struct ct_extent *piece = &heap->pieces[i];
    int next = (p->pe + 1) % p->n, previous = (p->pe + p->n - 1) % p->n;
    struct ct_target at = {p, channel, piece, next};
    const uint64_t ends[] = {0, heap->granule - PART};
    for (int end = 0; end < 2; end++) {
        ct_pattern_fill(buffer, PART, seed + (uint64_t)(p->pe + 16 * end));
        ct_put(&at, ends[end], buffer, PART);
    }
    ct_quiet(p, channel);
    ct_meet(p);
    for (int end = 0; end < 2; end++) {
        size_t wrong = ct_pattern_check(ct_extent_view(piece, ends[end], PART), PART,
                                        seed + (uint64_t)(previous + 16 * end));
        CT_CHECK(wrong == PART, "byte %zu of piece %d is not what process %d has put there", wrong, i, previous);
    }
    ct_meet(p);
}

static void detach(struct heap *heap, int i)
{
    ct_enter("t->detach()");
    for (int pe = 0; pe < heap->p->n; pe++) heap->p->t->detach(heap->pieces[i].rmem[pe]);
}

static void heap_close(struct heap *heap)
{
    struct ct_process *p = heap->p;
    for (int i = 0; i < PIECES; i++) {
        ct_enter("t->unregister_local()");
        p->t->unregister_local(heap->pieces[i].lmem);
        ct_enter("t->mem_free()");
        p->t->mem_free(p->tr, &heap->pieces[i].mem);
    }
    ct_enter("growing->unreserve()");
    for (int pe = 0; pe < p->n; pe++) heap->growing->unreserve(p->tr, heap->reserved[pe], reserved_bytes(heap));
    ct_close(p);
}

/* As a heap that grows: the second piece first, so that it is no matter of the order; one is attached again. */
void ct_case_attach_at(struct ct_process *p)
{
    static struct heap heap;
    struct ct_channel channel;
    heap_open(&heap, p);
    ct_channel_open(p, ISTHMUS_THREAD_ONE, 0, &channel);
    isthmus_rmem *const untouched = heap.pieces[0].rmem[p->pe];
    CT_ERROR(attach_at(&heap, 0, p->pe), CT_CODE(ISTHMUS_ERR_UNSUPPORTED));
    CT_CHECK(heap.pieces[0].rmem[p->pe] == untouched, "attach_at failed and wrote to *out; valid: *out as it was");
    attach(&heap, 1);
    use(&heap, &channel, 1, 1);
    attach(&heap, 0);
    use(&heap, &channel, 0, 100);
    detach(&heap, 1);
    use(&heap, &channel, 0, 200);
    attach(&heap, 2);
    attach(&heap, 1);
    for (int i = 0; i < PIECES; i++) use(&heap, &channel, i, 300 + 100 * (uint64_t)i);
    ct_channel_close(p, &channel);
    ct_meet(p);
    for (int i = 0; i < PIECES; i++) detach(&heap, i);
    ct_meet(p);
    heap_close(&heap);
}
