/* tests/faults/memory_ends.c: memory_ends ROUTINE VICTIM FIRST STAYS FILE, for memory_ends.py: one routine is called
 * while the private memory, mappings and descriptors of PE VICTIM end: at the attempt FIRST, then at each later one,
 * until a call meets no failure. After each call all PEs have the same result, the next block lies at one offset, the
 * collectives are in step and nothing is held that was not. STAYS: every attempt after the one that fails fails too.
 * FILE: the victim keeps there which attempt is next and how many have failed, for when the job ends.
 * Preloaded: tests/doubles/memory. */
#include "tests/faults/memory_ends.h"

#include "tests/pe/check.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>

void (*arm)(long attempt, int stays);
long (*disarm)(void);
static long (*held)(long *n_so_far);
static void (*print_held)(long since);

struct run run;
long source[N], dest[N * MOST_PES], mine[2];
static long all[2 * MOST_PES];

/* What the driver continues with if the job ends now. */
static void note_attempt(void)
{
    char text[80];
    if (run.file < 0) return;
    int length = snprintf(text, sizeof text, "%ld %ld\n%20s", run.attempt + 1, run.failures + 1, "");
    CHECK_EQ(pwrite(run.file, text, (size_t)length, 0), length);
}

static void start_failing(void)
{
    if (pe.me != run.victim) return;
    note_attempt();
    arm(run.attempt, run.stays);
}

static int n_descriptors(void)
{
    DIR *list = opendir("/proc/self/fd");
    int n = 0;
    CHECK(list != NULL);
    while (readdir(list) != NULL) n++;
    closedir(list);
    return n;
}

/* Returns how many attempts have failed, after all PEs have agreed that the results are equal, that the next block lies
 * at one offset and that collectives work. */
static long compare(const struct routine *routine, long result)
{
    void *next = routine->repeats == 0 ? shmem_malloc(64) : NULL; /* else the result lies at an offset */
    CHECK(next != NULL || routine->repeats > 0);
    mine[0] = where(next) ^ ((routine->kind & ALONE) != 0 ? 0 : result * (1L << 32));
    shmem_long_fcollect(SHMEM_TEAM_WORLD, all, mine, 2);
    long failures = 0;
    for (int i = 0; i < pe.n; i++) {
        if (all[2 * i] != all[0])
            check_fail(__FILE__, __LINE__, "%s, attempt %ld: result and next block of PE %d are %#lx, of PE 0 %#lx",
                       routine->name, run.attempt, i, (unsigned long)all[2 * i], (unsigned long)all[0]);
        failures += all[2 * i + 1];
    }
    if (next != NULL) shmem_free(next);
    shmem_barrier_all();
    return failures;
}

static long call_once(const struct routine *routine)
{
    mine[1] = 0;
    shmem_barrier_all();
    if ((routine->kind & ARMS) == 0) start_failing();
    if ((routine->kind & ARMS) != 0 && pe.me == run.victim) note_attempt();
    long result = routine->call();
    if ((routine->kind & ARMS) == 0) run.failures += mine[1] = disarm();
    return result;
}

/* The result of the last call, which meets no failure. */
static void until_none_fails(const struct routine *routine, long first)
{
    for (run.attempt = first;; run.attempt++) {
        long result = call_once(routine);
        long failures = compare(routine, result);
        if (failures == 0) {
            CHECK(result != FAILED);
            return;
        }
        if (result != FAILED && routine->undo != NULL) routine->undo();
        if ((routine->kind & USES_ID) != 0) share_id();
        if (result != FAILED && routine->undo == NULL && routine->repeats > 0) return; /* it has moved in spite of it */
    }
}

static void pass(const struct routine *routine, long first)
{
    made.n = 1;
    if (routine->before != NULL) routine->before();
    for (int i = 0; i < routine->repeats; i++, made.n++) until_none_fails(routine, first);
    if (routine->repeats == 0) {
        until_none_fails(routine, first);
        if (routine->undo != NULL) routine->undo();
    }
    if (routine->after != NULL) routine->after();
    shmem_barrier_all();
}

/* Passes are alike, so that a later one leaves behind what was there before it. Not the second one, if a first long
 * wait has made what stays: a leak grows in each. */
static void loop(const struct routine *routine, long first)
{
    long since, now, before, grown = 0;
    int descriptors, passes = 0;
    if ((routine->kind & COLD) == 0) connect_to_all();
    made.blocks[0] = shmem_malloc(64);
    CHECK(made.blocks[0] != NULL);
    pass(routine, first);
    do {
        before = held(&since);
        descriptors = n_descriptors();
        pass(routine, first);
        source[0] = grown = held(&now) - before;
        CHECK_EQ(shmem_long_max_reduce(SHMEM_TEAM_WORLD, dest, source, 1), 0);
    } while (dest[0] > 0 && ++passes < 3);
    if (grown > 0) {
        print_held(since);
        check_fail(__FILE__, __LINE__, "%s: %ld blocks and mappings are held, %ld were before", routine->name,
                   before + grown, before);
    }
    CHECK_EQ(n_descriptors(), descriptors);
}

static void once(const struct routine *routine, long first)
{
    if ((routine->kind & COLD) == 0) connect_to_all();
    if (routine->before != NULL) routine->before();
    made.n = 1;
    run.attempt = first;
    if ((routine->kind & COLD) == 0) shmem_barrier_all();
    start_failing();
    long result = routine->call != NULL ? routine->call() : 0;
    run.failures += mine[1] = disarm();
    (void)compare(routine, result);
    connect_to_all();
}

static void start(const struct routine *routine)
{
    int provided, failed = 0;
    pe_deadline(PE_DEADLINE_S);
    if (strcmp(routine->name, "init_thread") == 0)
        failed = shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    else
        shmem_init();
    if (failed != 0) exit(1); /* what it returns is also in the message */
    pe_know();
    routines_know_pe();
    CHECK(pe.n <= MOST_PES);
}

static long end(void)
{
    long failures = run.failures;
    shmem_barrier_all();
    return failures;
}

/* NAME ends|far|fails once|often, for the driver. */
static void list(void)
{
    for (size_t i = 0; i < n_routines; i++) {
        int kind = routines[i].kind;
        printf("%s %s %s\n", routines[i].name,
               (kind & MAY_END) != 0 ? "ends"
               : (kind & FAR) != 0   ? "far"
                                     : "fails",
               (kind & ONCE) != 0 ? "once" : "often");
    }
}

int main(int argc, char **argv)
{
    const struct routine *routine = routines;
    const char *rank = getenv(getenv("PMIX_RANK") != NULL ? "PMIX_RANK" : "RANK");
    if (argc == 1) list();
    if (argc < 6 || rank == NULL) return argc != 1;
    while (strcmp(routine->name, argv[1]) != 0)
        if (++routine == routines + n_routines) return 2;
    *(void **)(void *)&arm = dlsym(RTLD_DEFAULT, "memory_arm");
    *(void **)(void *)&disarm = dlsym(RTLD_DEFAULT, "memory_disarm");
    *(void **)(void *)&held = dlsym(RTLD_DEFAULT, "memory_held");
    *(void **)(void *)&print_held = dlsym(RTLD_DEFAULT, "memory_print_held");
    CHECK(arm != NULL && disarm != NULL && held != NULL && print_held != NULL);
    pe.me = atoi(rank);
    run.victim = atoi(argv[2]);
    run.stays = atoi(argv[4]);
    run.file = pe.me == run.victim ? open(argv[5], O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    long first = run.attempt = atol(argv[3]);
    bool is_start = strncmp(routine->name, "init", 4) == 0;
    if (is_start) start_failing();
    start(routine);
    if (is_start) run.failures += disarm();
    if ((routine->kind & ONCE) == 0)
        loop(routine, first);
    else if (strcmp(routine->name, "finalize") == 0)
        connect_to_all();
    else if (is_start)
        connect_to_all();
    else
        once(routine, first);
    long failures = end();
    if (strcmp(routine->name, "finalize") == 0) {
        run.attempt = first;
        start_failing();
    }
    shmem_finalize();
    failures += disarm();
    if (pe.me == run.victim) printf("memory ends: %ld failures, the last at attempt %ld\n", failures, run.attempt - 1);
    return 0;
}
