/* differential [--seed S] [--epochs N] [--threads T]: random steps on all PEs, compared with a model. The seed, also
 * from ISTHMUS_TEST_SEED, is printed; the same seed with the same number of PEs gives the same run. */
#include "differential.h"

enum { STEPS_MAX = 120, DRAWS = 30 };

int my_pe, n_pes;
unsigned char *memory;
unsigned char model[PES_MAX][MEMORY_BYTES];
uint64_t common;

static _Alignas(SLOT_BYTES) unsigned char static_memory[MEMORY_BYTES];
static const struct step_kind *const all_steps[] = {rma_steps, amo_steps, team_steps, collective_steps, sync_steps};
static int epoch, step_number;

void mismatch(const struct step *step, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    check_fail(__FILE__, __LINE__, "epoch %d, step %d (%s of PE %d with PE %d): %s", epoch, step_number,
               step != NULL ? step->kind->name : "end", step != NULL ? step->actor : -1,
               step != NULL ? step->target : -1, text);
}

void compare_value(const struct step *step, const char *what, uint64_t seen, uint64_t expected)
{
    if (seen != expected) mismatch(step, "%s is 0x%" PRIx64 ", expected 0x%" PRIx64, what, seen, expected);
}

/* ---- drawing and doing steps ---- */

static const struct step_kind *any_kind(void)
{
    size_t total = 0, drawn;
    for (size_t list = 0; list < sizeof all_steps / sizeof *all_steps; list++)
        for (const struct step_kind *kind = all_steps[list]; kind->name != NULL; kind++) total += kind->weight;
    drawn = pick(total);
    for (size_t list = 0;; list++)
        for (const struct step_kind *kind = all_steps[list]; kind->name != NULL; kind++) {
            if (drawn < kind->weight) return kind;
            drawn -= kind->weight;
        }
}

/* Only its actor runs a step of one PE; the steps of teams determine their members themselves. */
static bool is_of_one_pe(const struct step_kind *kind)
{
    for (const struct step_kind *k = rma_steps; k->name != NULL; k++)
        if (k == kind) return true;
    for (const struct step_kind *k = amo_steps; k->name != NULL; k++)
        if (k == kind) return true;
    return false;
}

static void do_step(void)
{
    struct step step;
    for (int draw = 0; draw < DRAWS; draw++) {
        step = (struct step){.kind = any_kind(), .actor = (int)pick((size_t)n_pes)};
        if (!step.kind->plan(&step)) continue;
        if (!is_of_one_pe(step.kind) || takes_part_alone(&step)) step.kind->run(&step);
        if (step.kind->apply != NULL) step.kind->apply(&step);
        return;
    }
}

/* ---- memory ---- */

static void fill_anew(void)
{
    for (int i = 0; i < n_pes; i++)
        for (size_t k = 0; k < MEMORY_BYTES; k += 8) {
            uint64_t value = random_next(&common);
            memcpy(model[i] + k, &value, 8);
        }
    memcpy(memory, model[my_pe], MEMORY_BYTES);
}

/* Static or from the heap; moved, grown, or new. */
static void change_memory(void)
{
    bool was_static = memory == static_memory;
    switch (pick(4)) {
    case 0:
        if (!was_static) shmem_free(memory);
        memory = static_memory;
        fill_anew();
        break;
    case 1:
        if (!was_static) shmem_free(memory);
        memory = shmem_align(SLOT_BYTES << pick(6), MEMORY_BYTES);
        fill_anew();
        break;
    case 2:
        if (was_static) return;
        memory = shmem_realloc(memory, MEMORY_BYTES * (1 + pick(20)));
        break;
    default: fill_anew();
    }
    CHECK(memory != NULL);
}

static void run_epoch(void)
{
    size_t steps = 1 + pick(STEPS_MAX);
    claims_clear();
    if (chance(8)) change_memory();
    shmem_barrier_all();
    for (step_number = 0; (size_t)step_number < steps; step_number++) do_step();
    complete_all();
    shmem_barrier_all();
    for (size_t i = 0; i < MEMORY_BYTES; i++)
        if (memory[i] != model[my_pe][i])
            mismatch(NULL, "byte %zu of memory is 0x%02x, expected 0x%02x", i, memory[i], model[my_pe][i]);
    if (my_pe == 0 && lock_counter != lock_expected)
        mismatch(NULL, "the lock let %ld through, expected %ld", lock_counter, lock_expected);
    shmem_sync_all();
}

int main(int argc, char **argv)
{
    int epochs = 700, threads = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0) setenv("ISTHMUS_TEST_SEED", argv[i + 1], 1);
        if (strcmp(argv[i], "--epochs") == 0) epochs = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--threads") == 0) threads = atoi(argv[i + 1]);
    }
    if (threads > 1)
        pe_begin_threads();
    else
        pe_begin();
    my_pe = pe.me, n_pes = pe.n;
    if (n_pes > PES_MAX) pe_skip("the model is made for 8 PEs");
    pe_seed();
    if (my_pe == 0) printf("seed %" PRIu64 "\n", pe.seed), fflush(stdout);
    common = pe.seed;
    memory = static_memory;
    fill_anew();
    start_teams();
    start_lanes(threads - 1);
    for (epoch = 0; epoch < epochs; epoch++) run_epoch();
    end_lanes();
    end_teams();
    return pe_end();
}
