/* tests/litmus/main.c: litmus SHAPE [ROUNDS], under a launcher: runs one shape of shapes.def; without arguments: lists
 * them. LITMUS_ROUNDS overrides the argument, ISTHMUS_TEST_SEED repeats a run. See engine.h. */
#include "shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAYLOAD(steps) .act = (steps), .outcome = lit_stale, .has_payload = true
#define MP(order_, reader_) PAYLOAD(lit_mp), .order = (order_), .reader = (reader_)
#define WORDS(steps, outcome_, targets_) .act = (steps), .outcome = (outcome_), .targets = (targets_)
#define TWO_WRITES(order_) .order = (order_), .after = lit_fetch_both

static const struct lit_shape shapes[] = {
#define SHAPE(name_, requirement_, n_actors_, n_spare_, verdict_, ...) \
    {.name = (name_), .requirement = #requirement_, .n_actors = (n_actors_), .verdict = (verdict_), __VA_ARGS__},
#include "shapes.def"
};

enum { ROUNDS = 10000 };

int main(int argc, char **argv)
{
    const struct lit_shape *shape = NULL;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (argc == 1) printf("%s\n", shapes[i].name);
        if (argc > 1 && strcmp(argv[1], shapes[i].name) == 0) shape = &shapes[i];
    }
    if (shape == NULL) {
        fprintf(stderr, "usage: litmus [SHAPE [ROUNDS]]; without arguments it lists the shapes\n");
        return argc == 1 ? EXIT_SUCCESS : 2;
    }
    shmem_init();
    int status = lit_run(shape, argc > 2 ? strtoull(argv[2], NULL, 0) : ROUNDS);
    shmem_finalize();
    return status;
}
