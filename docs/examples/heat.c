/* heat [CELLS [STEPS]]: a square plate whose edges are held at fixed temperatures, on a grid of PEs with a team for
 * each row and each column of it (Jacobi iteration). Every step each PE puts the edges of its tile into its neighbours'
 * halos, with a signal; every ten steps the largest change is reduced, first in the rows and then in the columns. At
 * the end each PE compares its tile with a computation of the whole plate. */
#include <shmem.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum side { WEST, EAST, NORTH, SOUTH, SIDES };

/* One PE's tile: width x height cells with a halo of one cell around; `now` and `next` are symmetric. */
static struct tile {
    int width, height;
    double *now, *next;
} tile;

/* Edges as they arrive, one buffer for even steps and one for odd ones, and how many have arrived. */
static double *halo[2][SIDES];
static uint64_t arrived[SIDES];

/* The grid of PEs: this one's place, and its neighbours' numbers in the world, -1 at the edge of the plate. */
static struct grid {
    int columns, rows, column, row, neighbour[SIDES];
    shmem_team_t my_row, my_column;
} grid;

static double change_here, change_in_row, change_of_all; /* symmetric, because they are static */

static void *symmetric(size_t size_bytes)
{
    void *memory = shmem_calloc(1, size_bytes);
    if (memory == NULL) {
        fprintf(stderr, "heat: no room for %zu bytes\n", size_bytes);
        shmem_global_exit(1);
    }
    return memory;
}

/* ---- the plate ---- */

/* What the ring around the plate is held at; the cells begin at 0. */
static double temperature_at(int x, int y, int cells)
{
    if (y < 0) return 100;
    if (x < 0) return 50.0 * (y + 1) / cells;
    return 0;
}

static double average(const double *centre, int stride)
{
    return 0.25 * (centre[-1] + centre[1] + centre[-stride] + centre[stride]);
}

static double step_over(double *next, const double *now, int width, int height)
{
    int stride = width + 2;
    double largest = 0;
    for (int y = 1; y <= height; y++)
        for (int x = 1; x <= width; x++) {
            int at = y * stride + x;
            next[at] = average(&now[at], stride);
            largest = fmax(largest, fabs(next[at] - now[at]));
        }
    return largest;
}

/* Fills the ring around width x height cells, whose first one is at (x0, y0) of the plate, where it is the plate's
 * edge. */
static void hold_edges(double *cells_of_tile, int width, int height, int x0, int y0, int cells)
{
    for (int y = -1; y <= height; y++)
        for (int x = -1; x <= width; x++) {
            int px = x0 + x, py = y0 + y;
            if (px < 0 || py < 0 || px >= cells || py >= cells)
                cells_of_tile[(y + 1) * (width + 2) + x + 1] = temperature_at(px, py, cells);
        }
}

/* ---- the grid of PEs ---- */

static void make_grid(void)
{
    int n = shmem_n_pes(), me = shmem_my_pe();
    grid.columns = 1;
    for (int columns = 1; columns * columns <= n; columns++)
        if (n % columns == 0) grid.columns = columns;
    grid.rows = n / grid.columns;
    if (shmem_team_split_2d(SHMEM_TEAM_WORLD, grid.columns, NULL, 0, &grid.my_row, NULL, 0, &grid.my_column) != 0)
        shmem_global_exit(1);
    grid.column = shmem_team_my_pe(grid.my_row);
    grid.row = shmem_team_my_pe(grid.my_column);
    grid.neighbour[WEST] = grid.column > 0 ? me - 1 : -1;
    grid.neighbour[EAST] = grid.column + 1 < grid.columns ? me + 1 : -1;
    grid.neighbour[NORTH] = grid.row > 0 ? me - grid.columns : -1;
    grid.neighbour[SOUTH] = grid.row + 1 < grid.rows ? me + grid.columns : -1;
}

static void make_tile(int cells)
{
    tile.width = cells / grid.columns, tile.height = cells / grid.rows;
    size_t bytes = (size_t)(tile.width + 2) * (size_t)(tile.height + 2) * sizeof(double);
    tile.now = symmetric(bytes), tile.next = symmetric(bytes);
    for (int parity = 0; parity < 2; parity++)
        for (int side = 0; side < SIDES; side++)
            halo[parity][side] = symmetric((size_t)(side < NORTH ? tile.height : tile.width) * sizeof(double));
    hold_edges(tile.now, tile.width, tile.height, grid.column * tile.width, grid.row * tile.height, cells);
    memcpy(tile.next, tile.now, bytes);
}

/* ---- a step ---- */

/* The cell of the tile where its edge on that side begins, and the distance to the next one; with halo, of the halo. */
static double *edge_begin(int side, int in_halo, int *stride)
{
    int row = tile.width + 2;
    *stride = side < NORTH ? row : 1;
    switch (side) {
    case WEST: return tile.now + row + (in_halo ? 0 : 1);
    case EAST: return tile.now + row + tile.width + in_halo;
    case NORTH: return tile.now + (in_halo ? 0 : row) + 1;
    default: return tile.now + (tile.height + in_halo) * row + 1;
    }
}

static int edge_length(int side) { return side < NORTH ? tile.height : tile.width; }

/* My western edge is the eastern halo of my western neighbour. */
static int opposite(int side) { return side ^ 1; }

static void send_edges(int step)
{
    static double *packed;
    int most = tile.width > tile.height ? tile.width : tile.height;
    if (packed == NULL) packed = malloc((size_t)most * sizeof *packed);
    for (int side = 0; side < SIDES; side++) {
        int stride, length = edge_length(side);
        const double *edge = edge_begin(side, 0, &stride);
        if (grid.neighbour[side] < 0) continue;
        for (int i = 0; i < length; i++) packed[i] = edge[i * stride];
        shmem_double_put_signal(halo[step % 2][opposite(side)], packed, (size_t)length, &arrived[opposite(side)], 1,
                                SHMEM_SIGNAL_ADD, grid.neighbour[side]);
    }
}

/* A neighbour is at most one step ahead: it needs this PE's edge for the next one. So two buffers are enough. */
static void receive_edges(int step)
{
    for (int side = 0; side < SIDES; side++) {
        int stride, length = edge_length(side);
        double *edge = edge_begin(side, 1, &stride);
        if (grid.neighbour[side] < 0) continue;
        shmem_signal_wait_until(&arrived[side], SHMEM_CMP_GE, (uint64_t)step + 1);
        for (int i = 0; i < length; i++) edge[i * stride] = halo[step % 2][side][i];
    }
}

static double largest_change(double here)
{
    change_here = here;
    shmem_double_max_reduce(grid.my_row, &change_in_row, &change_here, 1);
    shmem_double_max_reduce(grid.my_column, &change_of_all, &change_in_row, 1);
    return change_of_all;
}

static double run(int steps)
{
    double change = 0;
    for (int step = 0; step < steps; step++) {
        send_edges(step);
        receive_edges(step);
        double here = step_over(tile.next, tile.now, tile.width, tile.height);
        double *now = tile.now;
        tile.now = tile.next, tile.next = now;
        if (step % 10 == 9 || step == steps - 1) change = largest_change(here);
    }
    return change;
}

/* ---- the check ---- */

static int differs_from_serial(int cells, int steps)
{
    size_t bytes = (size_t)(cells + 2) * (size_t)(cells + 2) * sizeof(double);
    double *now = calloc(1, bytes), *next = calloc(1, bytes);
    if (now == NULL || next == NULL) return 1;
    hold_edges(now, cells, cells, 0, 0, cells);
    memcpy(next, now, bytes);
    for (int step = 0; step < steps; step++) {
        step_over(next, now, cells, cells);
        double *swapped = now;
        now = next, next = swapped;
    }
    int differing = 0, x0 = grid.column * tile.width, y0 = grid.row * tile.height;
    for (int y = 1; y <= tile.height; y++)
        for (int x = 1; x <= tile.width; x++)
            differing += tile.now[y * (tile.width + 2) + x] != now[(y0 + y) * (cells + 2) + x0 + x];
    free(now);
    free(next);
    return differing;
}

int main(int argc, char **argv)
{
    static int differing, differing_of_all;
    int wanted = argc > 1 ? atoi(argv[1]) : 60, steps = argc > 2 ? atoi(argv[2]) : 200;
    shmem_init();
    make_grid();
    int unit = grid.columns * grid.rows, cells = (wanted + unit - 1) / unit * unit; /* equal tiles */
    make_tile(cells);
    shmem_barrier_all();
    double change = run(steps);
    differing = differs_from_serial(cells, steps);
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &differing_of_all, &differing, 1);
    if (shmem_my_pe() == 0)
        printf("%d x %d cells on %d x %d PEs, %d steps, last change %g: %s\n", cells, cells, grid.columns, grid.rows,
               steps, change, differing_of_all == 0 ? "as computed alone" : "WRONG");
    shmem_team_destroy(grid.my_row);
    shmem_team_destroy(grid.my_column);
    shmem_finalize();
    return differing_of_all != 0;
}
