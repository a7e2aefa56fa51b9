/* The run of a program's rows. With ROWS_THREADS so many threads of each PE run all of them, each in an order
 * of its own, which ISTHMUS_TEST_SEED repeats. */
#include "check_rows.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct row_world world;
__thread struct face_lane lane;

struct lane_run {
    struct face_lane lane;
    struct item *items;
    size_t n, *order;
    pthread_t thread;
};

static void run_part(const struct lane_run *run, size_t part)
{
    for (size_t i = 0; i < run->n; i++) item_run(&run->items[run->order[i]], part);
    face.complete();
    face.meet();
}

static void *run_lane(void *argument)
{
    struct lane_run *run = argument;
    lane = run->lane;
    for (size_t part = 0; part < 3; part++) run_part(run, part);
    run->lane.n_checks = lane.n_checks;
    return NULL;
}

/* The same on all PEs. With one lane the rows are in their order. */
static void order_make(struct lane_run *run, uint64_t seed, bool is_shuffled)
{
    run->order = memory(calloc(run->n, sizeof *run->order));
    for (size_t i = 0; i < run->n; i++) {
        size_t at = is_shuffled ? random_of(seed + (uint64_t)run->lane.number, i) % (i + 1) : i;
        run->order[i] = run->order[at];
        run->order[at] = i;
    }
}

static int lanes_wanted(void)
{
    const char *wanted = getenv("ROWS_THREADS");
    int n = wanted != NULL ? atoi(wanted) : 1;
    if (n < 1 || n > LANES_MOST) fail("ROWS_THREADS is %s; valid: 1 to %d", wanted, LANES_MOST);
    return n;
}

/* Collective. PE 0 chooses, unless ISTHMUS_TEST_SEED does; the library's own yields follow it too. */
static uint64_t seed_agree(void)
{
    const char *wanted = getenv("ISTHMUS_TEST_SEED");
    uint64_t seed = (uint64_t)time(NULL) << 20 | (uint64_t)getpid();
    uint64_t *word = memory(face.allocate(sizeof *word));
    char text[24];
    if (wanted != NULL) seed = strtoull(wanted, NULL, 0);
    for (int pe = 0; world.me == 0 && pe < world.n; pe++) face.store(word, &seed, sizeof seed, pe);
    face.complete();
    face.meet();
    snprintf(text, sizeof text, "%" PRIu64, *word);
    setenv("ISTHMUS_TEST_SEED", text, 1);
    if (world.me == 0) printf("ISTHMUS_TEST_SEED=%s\n", text);
    return *word;
}

static void lanes_open(struct lane_run *runs, int n_lanes, const struct row *rows, size_t n)
{
    for (int i = 0; i < n_lanes; i++) {
        runs[i] = (struct lane_run){.lane.number = i, .n = n};
        face.open(&runs[i].lane);
        if (i == 0) lane = runs[0].lane;
        runs[i].items = items_make(rows, n, i);
    }
    uint64_t seed = n_lanes > 1 ? seed_agree() : 0;
    for (int i = 0; i < n_lanes; i++) order_make(&runs[i], seed, n_lanes > 1);
}

static void lanes_close(struct lane_run *runs, int n_lanes)
{
    for (int i = 0; i < n_lanes; i++) {
        face.close(&runs[i].lane);
        free(runs[i].items[0].image);
        free(runs[i].items);
        free(runs[i].order);
    }
}

int rows_main(const struct row *rows, size_t n)
{
    struct lane_run runs[LANES_MOST];
    int n_lanes = lanes_wanted();
    size_t n_checks = 0;
    signal(SIGALRM, item_out_of_time);
    alarm(100);
    face.init(n_lanes > 1);
    world.me = face.my_pe();
    world.n = face.n_pes();
    world.right = (world.me + 1) % world.n;
    world.left = (world.me + world.n - 1) % world.n;
    lanes_open(runs, n_lanes, rows, n);
    for (int i = 1; i < n_lanes; i++)
        if (pthread_create(&runs[i].thread, NULL, run_lane, &runs[i]) != 0) fail("no thread");
    run_lane(&runs[0]);
    for (int i = 1; i < n_lanes; i++) pthread_join(runs[i].thread, NULL);
    for (int i = 0; i < n_lanes; i++) n_checks += runs[i].lane.n_checks;
    if (world.me == 0) printf("%zu routines called by %d threads, %zu checks\n", n, n_lanes, n_checks);
    lanes_close(runs, n_lanes);
    face.fini();
    return 0;
}
