/* tools/isthmus-perf/main.c: isthmus-perf: from the command line to the table. */
#include "tools/isthmus-perf/measure.h"
#include "tools/isthmus-perf/start.h"

#include <errno.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

struct run {
    struct options options;
    struct results results;
    int my_pe, n_pes;
    int n_done, n_all;             /* figures */
    const struct operation *shown; /* in the last line of progress */
    bool failed;
    FILE *json, *svg; /* of PE 0 */
};

/* ---- progress ---- */

/* PE 0 only. */
static void show_progress(struct run *run, const struct operation *operation, int from, int to, uint64_t size_bytes)
{
    FILE *out = stderr;
    char pair[48] = "";
    if (run->my_pe != 0 || run->options.progress == PROGRESS_NONE) return;
    if (!operation->is_together) snprintf(pair, sizeof pair, ", PE %d to %d", from, to);
    if (run->options.progress == PROGRESS_PLACE)
        fprintf(out, "\033[K%d of %d: %s%s%s%s\r", run->n_done + 1, run->n_all, operation->name,
                size_bytes > 0 ? " of " : "", size_bytes > 0 ? size_text(size_bytes) : "", pair);
    else if (operation != run->shown)
        fprintf(out, "%d of %d: %s%s\n", run->n_done + 1, run->n_all, operation->name, pair);
    run->shown = operation;
}

static void end_progress(const struct run *run)
{
    if (run->my_pe == 0 && run->options.progress == PROGRESS_PLACE) fputs("\033[K", stderr);
}

/* ---- the figures ---- */

static void measure_one(struct run *run, const struct operation *operation, int from, int to, uint64_t size_bytes)
{
    struct result result;
    show_progress(run, operation, from, to, size_bytes);
    measure(operation, from, to, size_bytes, &result);
    run->n_done++;
    if (run->my_pe != 0 || results_add(&run->results, &result)) return;
    if (!run->failed) fprintf(stderr, "isthmus-perf: no memory for %d figures\n", run->n_done);
    run->failed = true;
}

typedef void visit(struct run *run, const struct operation *operation, int from, int to, uint64_t size_bytes);

static void count_one(struct run *run, const struct operation *operation, int from, int to, uint64_t size_bytes)
{
    (void)operation, (void)from, (void)to, (void)size_bytes;
    run->n_all++;
}

static void visit_sizes(struct run *run, visit *each, const struct operation *operation, int from, int to)
{
    if (!operation->is_sized) return each(run, operation, from, to, 0);
    for (int i = 0; i < run->options.n_sizes; i++)
        if (measure_has_room(operation, run->options.sizes[i])) each(run, operation, from, to, run->options.sizes[i]);
}

static void visit_pairs(struct run *run, visit *each, const struct operation *operation)
{
    const struct options *options = &run->options;
    if (operation->is_together || !options->is_all_pairs)
        return visit_sizes(run, each, operation, operation->is_together ? 0 : options->from, options->to);
    for (int from = 0; from < run->n_pes; from++)
        for (int to = 0; to < run->n_pes; to++)
            if (from != to) visit_sizes(run, each, operation, from, to);
}

static void visit_all(struct run *run, visit *each)
{
    for (int i = 0; i < n_operations; i++)
        if ((run->options.operations & UINT64_C(1) << i) != 0 && measure_can(&operations[i]))
            visit_pairs(run, each, &operations[i]);
}

/* ---- the report ---- */

/* The transport between the pair; collectives have none of their own. Nothing if the run has figures of no pair. */
static void print_pair(const struct results *results)
{
    for (size_t i = 0; i < results->n; i++) {
        const struct result *result = &results->list[i];
        if (result->to < 0) continue;
        printf("PE %d to PE %d by transport %s\n", result->from, result->to, result->transport);
        return;
    }
}

static void print_head(const struct run *run)
{
    const struct options *options = &run->options;
    printf("isthmus-perf %s: %d PEs, PE 0 on %s; %s memory%s\n", ISTHMUS_VERSION, run->n_pes, run->results.host,
           memory_names[options->memory],
           options->memory == MEMORY_MIXED ? ": this side on the host, the other on a device" : "");
    if (run->results.double_name[0] != '\0')
        printf("%s stands for hardware in tests: no figure below is one of a device or a network\n",
               run->results.double_name);
    if (!options->is_all_pairs) print_pair(&run->results);
    printf("median of up to %d batches; +-: the range of 4/5 of them; speed: of one size; limit: the same\n"
           "work without the library, in turn with it%s\n\n",
           options->repeat, options->is_all_pairs ? "; matrices: rows are PEs that call, columns their peers" : "");
}

static bool is_wanted(const struct run *run, int operation)
{
    return (run->options.operations & UINT64_C(1) << operation) != 0;
}

static void print_left_out(const struct run *run)
{
    int n_on_stream = 0;
    for (int i = 0; i < n_operations; i++) {
        if (is_wanted(run, i) && !measure_can(&operations[i])) n_on_stream++;
        if (!is_wanted(run, i) || !measure_can(&operations[i]) || !operations[i].is_sized) continue;
        for (int size = 0; size < run->options.n_sizes; size++)
            if (!measure_has_room(&operations[i], run->options.sizes[size]))
                printf("left out: %s of %s: %d blocks of it take too much memory\n", operations[i].name,
                       size_text(run->options.sizes[size]), run->n_pes);
    }
    if (n_on_stream > 0)
        printf("left out: %d on streams, which need a heap in a GPU's memory (--memory device)\n", n_on_stream);
}

static void print_report(const struct run *run)
{
    print_head(run);
    print_table(&run->results, !run->options.is_all_pairs);
    if (run->options.is_all_pairs) print_matrices(&run->results);
    print_left_out(run);
}

/* ---- the files ---- */

/* Before the measurements, so that none is lost. Returns false after a message. */
static bool open_file(const char *path, FILE **out)
{
    if (path == NULL) return true;
    *out = fopen(path, "we");
    if (*out == NULL) fprintf(stderr, "isthmus-perf: cannot write %s: %s\n", path, strerror(errno));
    return *out != NULL;
}

static bool open_files(struct run *run)
{
    if (run->my_pe != 0) return true;
    return open_file(run->options.json, &run->json) && open_file(run->options.svg, &run->svg);
}

static void close_file(struct run *run, FILE *file, const char *path)
{
    if (file == NULL) return;
    bool is_written = ferror(file) == 0;
    if (fclose(file) == 0 && is_written) return;
    fprintf(stderr, "isthmus-perf: cannot write %s: %s\n", path, strerror(errno));
    run->failed = true;
}

static void write_files(struct run *run)
{
    if (run->json != NULL) results_write(run->json, &run->results);
    if (run->svg != NULL) results_draw(run->svg, &run->results);
    close_file(run, run->json, run->options.json);
    close_file(run, run->svg, run->options.svg);
}

/* ---- as one PE of a job ---- */

static bool is_ready(struct run *run)
{
    enum memory memory = run->options.memory;
    bool has_buffers = measure_open(&run->options);
    bool is_there = start_on_all(memory == MEMORY_HOST || measure_is_on_device());
    run->failed = !has_buffers || !is_there;
    if (run->failed && run->my_pe == 0 && !has_buffers)
        fprintf(stderr, "isthmus-perf: a PE has too little memory for its buffers; name smaller --sizes\n");
    else if (run->failed && run->my_pe == 0)
        fprintf(
            stderr,
            "isthmus-perf: --memory is %s, but no transport here has memory of a device: the heap lies on the host; "
            "isthmus-info --doctor names what is missing\n",
            memory_names[memory]);
    return !run->failed;
}

static void run_all(struct run *run)
{
    snprintf(run->results.double_name, sizeof run->results.double_name, "%s", measure_double());
    visit_all(run, count_one);
    visit_all(run, measure_one);
    end_progress(run);
    if (run->my_pe != 0) return;
    print_report(run);
    write_files(run);
}

static int run_as_pe(int argc, char **argv, struct run *run)
{
    start_choose_memory(&run->options);
    shmem_init();
    run->my_pe = shmem_my_pe();
    run->results.n_pes = run->n_pes = shmem_n_pes();
    snprintf(run->results.host, sizeof run->results.host, "%s", shmemx_nodename());
    snprintf(run->results.version, sizeof run->results.version, "%s", ISTHMUS_VERSION);
    start_check_job(argc, argv, &run->options);
    bool is_refused = run->options.refusal[0] != '\0';
    if (is_refused && run->my_pe == 0) fprintf(stderr, "isthmus-perf: %s\n", run->options.refusal);
    if (!is_refused && !start_on_all(open_files(run)))
        run->failed = true;
    else if (!is_refused && is_ready(run))
        run_all(run);
    if (!is_refused) measure_close();
    (void)fflush(stdout); /* finish() reports a failure */
    shmem_finalize();
    results_free(&run->results);
    return is_refused ? EXIT_USAGE : run->failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run_without_job(const struct options *options)
{
    if (options->compare != NULL) return compare_files(options->compare, options->compare_with);
    if (options->help)
        options_print_help();
    else
        printf("isthmus-perf %s\n", ISTHMUS_VERSION);
    return EXIT_SUCCESS;
}

static int finish(int status)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0) return status;
    perror("isthmus-perf: stdout");
    return status == EXIT_SUCCESS ? EXIT_FAILURE : status;
}

int main(int argc, char **argv)
{
    static struct run run;
    struct options *options = &run.options;
    options_parse(argc, argv, options);
    int launcher_pe = start_launcher_pe();
    bool is_alone = launcher_pe < 0, is_refused = options->refusal[0] != '\0';
    if (!is_refused && (options->help || options->version || options->compare != NULL))
        return launcher_pe > 0 ? EXIT_SUCCESS : finish(run_without_job(options));
    if (!is_alone) return finish(run_as_pe(argc, argv, &run));
    if (!is_refused) {
        start_under_launcher(argv);
        return EXIT_FAILURE;
    }
    fprintf(stderr, "isthmus-perf: %s\n", options->refusal);
    return EXIT_USAGE;
}
