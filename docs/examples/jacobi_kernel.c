/* jacobi_kernel [COLUMNS [ROWS [STEPS]]]: a plate whose upper edge is hot, in strips of ROWS rows, one for each PE
 * (Jacobi iteration). All steps run in one kernel: it computes the strip, puts its first and last row into the
 * neighbours' halos with a signal, and waits for theirs; the host only starts it. At the end each PE compares its
 * strip with a computation of the whole plate.
 *
 * The kernel has one block of 64 threads. One text for CUDA and for the CPU device: kernel.h. */
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 64, ABOVE = 0, BELOW = 1 };

/* One PE's strip. grid[0] and grid[1] are symmetric: the current step and the next one, each with a halo row above and
 * below and a fixed column at either side. */
struct strip {
    float *grid[2];
    uint64_t *arrived;                      /* [2]: steps for which the halo row above, below has arrived */
    int columns, rows, steps, above, below; /* above, below: the neighbours' numbers, -1: the plate's edge */
};

/* ---- the kernel ---- */

ON_BOTH float average(const float *at, int width) { return 0.25f * (at[-1] + at[1] + at[-width] + at[width]); }

/* Row i of the strip, by all threads of the block. */
ON_DEVICE void compute_row(const struct strip *s, const float *now, float *next, int i)
{
    int width = s->columns + 2;
    for (int x = 1 + (int)isthmus_dev_thread_rank(); x <= s->columns; x += (int)isthmus_dev_thread_count())
        next[i * width + x] = average(now + i * width + x, width);
}

ON_DEVICE void put_row(const struct strip *s, float *halo, const float *row, int side, uint64_t step, int pe)
{
    if (pe < 0) return;
    nvshmemx_float_put_signal_nbi_block(halo, row, (size_t)s->columns + 2, &s->arrived[side], step, NVSHMEM_SIGNAL_SET,
                                        pe);
}

/* One thread waits, the barrier shows the others that it has. */
ON_DEVICE void await_halos(const struct strip *s, uint64_t step)
{
    if (isthmus_dev_thread_rank() == 0 && s->above >= 0)
        nvshmem_signal_wait_until(&s->arrived[ABOVE], NVSHMEM_CMP_GE, step);
    if (isthmus_dev_thread_rank() == 0 && s->below >= 0)
        nvshmem_signal_wait_until(&s->arrived[BELOW], NVSHMEM_CMP_GE, step);
    isthmus_dev_barrier(ISTHMUS_BLOCK);
}

/* The outer rows first: they travel while the inner ones are computed. A neighbour that has got this step's row has
 * read its halo of the step before, so its halo of the other grid may be written in the next step. */
KERNEL(jacobi, struct strip, s)
{
    int width = s->columns + 2;
    for (int step = 0; step < s->steps; step++) {
        const float *now = s->grid[step % 2];
        float *next = s->grid[(step + 1) % 2];
        await_halos(s, (uint64_t)step);
        compute_row(s, now, next, 1);
        compute_row(s, now, next, s->rows);
        put_row(s, next + (s->rows + 1) * width, next + width, BELOW, (uint64_t)step + 1, s->above);
        put_row(s, next, next + s->rows * width, ABOVE, (uint64_t)step + 1, s->below);
        for (int i = 2; i < s->rows; i++) compute_row(s, now, next, i);
        nvshmem_quiet(); /* the rows that were put may change again in the step after the next */
        isthmus_dev_barrier(ISTHMUS_BLOCK);
    }
}

/* ---- the host ---- */

/* The row above the plate. */
static void heat_edge(float *row, int columns)
{
    for (int x = 0; x < columns + 2; x++) row[x] = 100;
}

static float *zeroed(size_t cells)
{
    float *memory = (float *)calloc(cells, sizeof *memory);
    if (memory == NULL) exit(2);
    return memory;
}

/* Both grids begin alike. */
static void heat_strip(const struct strip *s)
{
    float *row = zeroed((size_t)s->columns + 2);
    heat_edge(row, s->columns);
    for (int i = 0; s->above < 0 && i < 2; i++) copy_bytes(s->grid[i], row, ((size_t)s->columns + 2) * sizeof *row);
    free(row);
}

/* The whole plate, in plain loops. */
static float *expected_plate(int columns, int rows, int steps)
{
    int width = columns + 2;
    size_t cells = (size_t)width * ((size_t)rows + 2);
    float *now = zeroed(cells), *next = zeroed(cells);
    heat_edge(now, columns);
    heat_edge(next, columns);
    for (int step = 0; step < steps; step++) {
        for (int i = 1; i <= rows; i++)
            for (int x = 1; x <= columns; x++) next[i * width + x] = average(now + i * width + x, width);
        float *swap = now;
        now = next;
        next = swap;
    }
    free(next);
    return now;
}

static int count_wrong(const struct strip *s, int me, int n_pes)
{
    int wrong = 0, width = s->columns + 2;
    size_t cells = (size_t)width * ((size_t)s->rows + 2);
    float *plate = expected_plate(s->columns, s->rows * n_pes, s->steps), *mine = zeroed(cells);
    const float *there = plate + me * s->rows * width;
    copy_bytes(mine, s->grid[s->steps % 2], cells * sizeof *mine);
    for (int i = 1; i <= s->rows; i++)
        for (int x = 1; x <= s->columns; x++) wrong += mine[i * width + x] != there[i * width + x];
    free(mine);
    free(plate);
    return wrong;
}

static int number(int argc, char **argv, int i, int preset) { return argc > i ? atoi(argv[i]) : preset; }

int main(int argc, char **argv)
{
    nvshmem_init();
    int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    struct strip s = {{NULL, NULL},
                      NULL,
                      number(argc, argv, 1, 100),
                      number(argc, argv, 2, 20),
                      number(argc, argv, 3, 200),
                      me - 1,
                      me + 1 < n_pes ? me + 1 : -1};
    size_t cells = (size_t)(s.columns + 2) * (size_t)(s.rows + 2);
    if (s.columns < 1 || s.rows < 2 || s.steps < 1) {
        fprintf(stderr, "jacobi_kernel: at least 1 column, 2 rows for each PE and 1 step\n");
        nvshmem_global_exit(2);
    }
    s.grid[0] = (float *)nvshmem_calloc(cells, sizeof(float));
    s.grid[1] = (float *)nvshmem_calloc(cells, sizeof(float));
    s.arrived = (uint64_t *)nvshmem_calloc(2, sizeof *s.arrived);
    heat_strip(&s);
    nvshmem_barrier_all();
    int wrong = run_kernel(1, THREADS, jacobi, &s) == 0 ? 0 : 1;
    if (wrong == 0) wrong = count_wrong(&s, me, n_pes);
    if (wrong != 0) fprintf(stderr, "PE %d: %d cells are wrong\n", me, wrong);
    nvshmem_barrier_all();
    if (me == 0 && wrong == 0)
        printf("%d steps on %d x %d cells, %d PEs: as computed by one\n", s.steps, s.columns, s.rows * n_pes, n_pes);
    nvshmem_finalize();
    return wrong != 0;
}
