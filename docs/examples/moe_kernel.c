/* moe_kernel [TOKENS [WIDTH [LAYERS]]]: a mixture of experts, spread over the PEs. A router has chosen two experts for
 * each token; every layer is one kernel, which sends the tokens to their experts, computes, and gathers the results:
 *
 *   dispatch  a block sends to each of its experts the tokens that chose it, then their count as a signal;
 *   experts   wait for the tokens of one PE at a time, compute, and send each result back to where its token is;
 *   combine   a token's new value is the sum of its two results, by their weights.
 *
 * All numbers have few binary digits, so that no sum is rounded: each PE compares its tokens with a plain computation,
 * bit by bit. One text for CUDA and for the CPU device: kernel.h. */
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 64, BLOCKS = 4, EXPERTS = 4 /* on each PE */, CHOICES = 2 };

/* A count signal: the layer, so that it grows from layer to layer, above the number of tokens. */
#define COUNT_OF(layer, n) ((uint64_t)(layer) << 32 | (uint64_t)(n))

/* What a kernel is launched with. All memory is symmetric; "by PE" is by the number of the sending one. */
struct moe {
    float *token;        /* [tokens][width] of this PE, at the beginning of the layer and at its end */
    const int *expert;   /* [tokens][CHOICES]: numbers of experts; expert e is on PE e / EXPERTS */
    const float *weight; /* [tokens][CHOICES] */
    float *inbox;        /* [EXPERTS][PE][tokens][width]: tokens for the experts of this PE */
    int *origin;         /* [EXPERTS][PE][tokens]: token * CHOICES + choice of each */
    uint64_t *count;     /* [EXPERTS][PE]: how many, once all of them are there */
    float *result;       /* [tokens][CHOICES][width]: what the experts have sent back */
    uint64_t *returned;  /* [expert]: the last layer of which all results are there */
    int *served;         /* [EXPERTS]: tokens so far; for the test */
    int tokens, width, layer;
};

ON_BOTH float of_expert(int expert, float x, int i) { return (float)(expert % 3 - 1) * x + (float)(i % 5); }

/* ---- the kernel ---- */

/* By all threads of a block. */
ON_DEVICE void send_tokens(const struct moe *m, int expert)
{
    int me = nvshmem_my_pe(), pe = expert / EXPERTS, lane = (expert % EXPERTS) * nvshmem_n_pes() + me, n = 0;
    for (int i = 0; i < m->tokens * CHOICES; i++) {
        if (m->expert[i] != expert) continue;
        size_t place = (size_t)lane * (size_t)m->tokens + (size_t)n++;
        nvshmemx_float_put_nbi_block(m->inbox + place * (size_t)m->width,
                                     m->token + (size_t)(i / CHOICES) * (size_t)m->width, (size_t)m->width, pe);
        if (isthmus_dev_thread_rank() == 0) nvshmem_int_p(m->origin + place, i, pe);
    }
    isthmus_dev_barrier(ISTHMUS_BLOCK);
    if (isthmus_dev_thread_rank() != 0) return;
    nvshmem_quiet(); /* a fence would not do: it does not order what is nonblocking */
    nvshmemx_signal_op(&m->count[lane], COUNT_OF(m->layer, n), NVSHMEM_SIGNAL_SET, pe);
}

/* Returns how many tokens of PE `pe` have come to the expert, when they are there. */
ON_DEVICE int await_tokens(const struct moe *m, int lane)
{
    if (isthmus_dev_thread_rank() == 0)
        (void)nvshmem_signal_wait_until(&m->count[lane], NVSHMEM_CMP_GE, COUNT_OF(m->layer, 0));
    isthmus_dev_barrier(ISTHMUS_BLOCK); /* shows the others what this thread has waited for */
    return (int)(m->count[lane] & UINT32_MAX);
}

/* The tokens of one PE for one expert, in place, and back. */
ON_DEVICE void serve(const struct moe *m, int local_expert, int pe)
{
    int me = nvshmem_my_pe(), expert = me * EXPERTS + local_expert, lane = local_expert * nvshmem_n_pes() + pe;
    int n = await_tokens(m, lane);
    for (int k = 0; k < n; k++) {
        size_t place = (size_t)lane * (size_t)m->tokens + (size_t)k;
        float *x = m->inbox + place * (size_t)m->width;
        for (int i = (int)isthmus_dev_thread_rank(); i < m->width; i += (int)isthmus_dev_thread_count())
            x[i] = of_expert(expert, x[i], i);
        nvshmemx_float_put_nbi_block(m->result + (size_t)m->origin[place] * (size_t)m->width, x, (size_t)m->width, pe);
    }
    isthmus_dev_barrier(ISTHMUS_BLOCK);
    if (isthmus_dev_thread_rank() != 0) return;
    nvshmem_quiet();
    nvshmemx_signal_op(&m->returned[expert], (uint64_t)m->layer, NVSHMEM_SIGNAL_SET, pe);
    (void)nvshmem_int_atomic_fetch_add(&m->served[local_expert], n, me);
}

ON_DEVICE void await_results(const struct moe *m)
{
    for (int e = 0; isthmus_dev_thread_rank() == 0 && e < EXPERTS * nvshmem_n_pes(); e++)
        (void)nvshmem_signal_wait_until(&m->returned[e], NVSHMEM_CMP_GE, (uint64_t)m->layer);
    isthmus_dev_barrier(ISTHMUS_BLOCK);
}

ON_DEVICE void combine(const struct moe *m, int t)
{
    for (int i = (int)isthmus_dev_thread_rank(); i < m->width; i += (int)isthmus_dev_thread_count()) {
        float sum = 0;
        for (int k = 0; k < CHOICES; k++)
            sum += m->weight[t * CHOICES + k] * m->result[(size_t)(t * CHOICES + k) * (size_t)m->width + (size_t)i];
        m->token[(size_t)t * (size_t)m->width + (size_t)i] = sum;
    }
}

/* The next layer may put into an expert's inbox at once: all results of this layer are back, so that it has been read.
 * The PE's own experts are served by other blocks of this kernel, which run at once. */
KERNEL(moe_layer, struct moe, m)
{
    int n_pes = nvshmem_n_pes(), n_lanes = EXPERTS * n_pes, block = (int)isthmus_dev_block_rank();
    for (int e = block; e < EXPERTS * n_pes; e += BLOCKS) send_tokens(m, e);
    for (int lane = block; lane < n_lanes; lane += BLOCKS) serve(m, lane / n_pes, lane % n_pes);
    await_results(m);
    for (int t = block; t < m->tokens; t += BLOCKS) combine(m, t);
}

/* ---- the host ---- */

struct routing {
    int *expert;
    float *weight;
};

static void *room(size_t elements, size_t bytes, void *(*allocate)(size_t, size_t))
{
    void *memory = allocate(elements, bytes);
    if (memory == NULL) {
        fprintf(stderr, "moe_kernel: no room for %zu elements\n", elements);
        nvshmem_global_exit(2);
    }
    return memory;
}

/* What a trained router would do: most tokens prefer the first experts. The choices of a token differ. */
static struct routing route(int pe, int tokens, int n_experts)
{
    struct routing r = {(int *)room((size_t)tokens * CHOICES, sizeof(int), calloc),
                        (float *)room((size_t)tokens * CHOICES, sizeof(float), calloc)};
    for (int t = 0; t < tokens; t++) {
        unsigned dice = (unsigned)(pe * tokens + t) * 2654435761u >> 8;
        int first = (int)(dice % (unsigned)n_experts * (dice >> 12 & 7) / 7);
        r.expert[t * CHOICES] = first;
        r.expert[t * CHOICES + 1] = (first + 1 + (int)(dice >> 4) % (n_experts - 1)) % n_experts;
        r.weight[t * CHOICES] = 0.75f;
        r.weight[t * CHOICES + 1] = 0.25f;
    }
    return r;
}

static float first_value(int pe, int t, int i) { return (float)((pe + 3 * t + i) % 17 * 4); }

/* One element of one token, layer by layer. Its values pass no other element. */
static float expected_value(const struct routing *r, int t, int i, float x, int layers)
{
    for (int layer = 0; layer < layers; layer++) {
        float sum = 0;
        for (int k = 0; k < CHOICES; k++)
            sum += r->weight[t * CHOICES + k] * of_expert(r->expert[t * CHOICES + k], x, i);
        x = sum;
    }
    return x;
}

static int count_wrong_tokens(const struct moe *m, const struct routing *r, const float *got)
{
    int wrong = 0, me = nvshmem_my_pe();
    for (int t = 0; t < m->tokens; t++)
        for (int i = 0; i < m->width; i++) {
            float expected = expected_value(r, t, i, first_value(me, t, i), m->layer);
            wrong += got[(size_t)t * (size_t)m->width + (size_t)i] != expected;
        }
    return wrong;
}

/* How many tokens each expert of this PE has had, from all PEs. Returns the number of wrong counts. */
static int count_wrong_experts(const struct moe *m, const int *served, int *most)
{
    int wrong = 0, n_pes = nvshmem_n_pes(), expected[EXPERTS] = {0};
    for (int pe = 0; pe < n_pes; pe++) {
        struct routing r = route(pe, m->tokens, EXPERTS * n_pes);
        for (int i = 0; i < m->tokens * CHOICES; i++)
            if (r.expert[i] / EXPERTS == nvshmem_my_pe()) expected[r.expert[i] % EXPERTS] += m->layer;
        free(r.expert);
        free(r.weight);
    }
    for (int e = 0; e < EXPERTS; e++) {
        wrong += served[e] != expected[e];
        if (expected[e] > *most) *most = expected[e];
    }
    return wrong;
}

static struct moe allocate(const struct routing *r, int tokens, int width)
{
    struct moe m;
    size_t choices = (size_t)tokens * CHOICES, n_pes = (size_t)nvshmem_n_pes(), lanes = EXPERTS * n_pes;
    memset(&m, 0, sizeof m);
    int *expert = (int *)room(choices, sizeof(int), nvshmem_calloc);
    float *weight = (float *)room(choices, sizeof(float), nvshmem_calloc);
    copy_bytes(expert, r->expert, choices * sizeof(int));
    copy_bytes(weight, r->weight, choices * sizeof(float));
    m.expert = expert;
    m.weight = weight;
    m.tokens = tokens;
    m.width = width;
    m.token = (float *)room((size_t)tokens * (size_t)width, sizeof(float), nvshmem_calloc);
    m.inbox = (float *)room(lanes * (size_t)tokens * (size_t)width, sizeof(float), nvshmem_calloc);
    m.origin = (int *)room(lanes * (size_t)tokens, sizeof(int), nvshmem_calloc);
    m.count = (uint64_t *)room(lanes, sizeof(uint64_t), nvshmem_calloc);
    m.result = (float *)room(choices * (size_t)width, sizeof(float), nvshmem_calloc);
    m.returned = (uint64_t *)room(EXPERTS * n_pes, sizeof(uint64_t), nvshmem_calloc);
    m.served = (int *)room(EXPERTS, sizeof(int), nvshmem_calloc);
    return m;
}

static void fill_tokens(const struct moe *m, float *values)
{
    for (int t = 0; t < m->tokens; t++)
        for (int i = 0; i < m->width; i++)
            values[(size_t)t * (size_t)m->width + (size_t)i] = first_value(nvshmem_my_pe(), t, i);
    copy_bytes(m->token, values, (size_t)m->tokens * (size_t)m->width * sizeof(float));
}

static int check(const struct moe *m, const struct routing *r, float *values, int *most)
{
    int served[EXPERTS];
    copy_bytes(values, m->token, (size_t)m->tokens * (size_t)m->width * sizeof(float));
    copy_bytes(served, m->served, sizeof served);
    return count_wrong_tokens(m, r, values) + count_wrong_experts(m, served, most);
}

static int number(int argc, char **argv, int i, int preset) { return argc > i ? atoi(argv[i]) : preset; }

int main(int argc, char **argv)
{
    int tokens = number(argc, argv, 1, 128), width = number(argc, argv, 2, 1024), layers = number(argc, argv, 3, 3);
    nvshmem_init();
    if (tokens < 1 || width < 1 || layers < 1 || layers > 8) {
        fprintf(stderr, "moe_kernel: at least 1 token for each PE, a width of 1, and 1 to 8 layers\n");
        nvshmem_global_exit(2);
    }
    struct routing r = route(nvshmem_my_pe(), tokens, EXPERTS * nvshmem_n_pes());
    struct moe m = allocate(&r, tokens, width);
    float *values = (float *)room((size_t)tokens * (size_t)width, sizeof(float), calloc);
    int status = 0, most = 0;
    fill_tokens(&m, values);
    nvshmem_barrier_all();
    while (status == 0 && m.layer < layers) {
        m.layer++;
        status = run_kernel(BLOCKS, THREADS, moe_layer, &m);
    }
    int wrong = status == 0 ? check(&m, &r, values, &most) : 1;
    if (wrong != 0) fprintf(stderr, "PE %d: %d values are wrong\n", nvshmem_my_pe(), wrong);
    nvshmem_barrier_all();
    if (nvshmem_my_pe() == 0 && wrong == 0)
        printf("%d layers, %d tokens of %d floats on each of %d PEs, %d experts: as computed by one; "
               "up to %d for an expert\n",
               layers, tokens, width, nvshmem_n_pes(), EXPERTS * nvshmem_n_pes(), most);
    free(values);
    free(r.expert);
    free(r.weight);
    nvshmem_finalize();
    return wrong != 0;
}
