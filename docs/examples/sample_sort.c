/* Parallel sample sort of the lines of a text file: sample_sort INPUT OUTPUT.
 * Not a sort(1): the key is the whole line, byte by byte, as in LC_ALL=C sort. OUTPUT may be INPUT.
 * Read on: the phases in sort_file(); hello.c beside this file is the first program to read. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <shmem.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES_PER_PE = 64 };

/* A line without its newline, wherever its bytes are: in the mapped file or in the inbox. */
struct line {
    uint64_t key; /* the first eight bytes, most significant first: settles most comparisons */
    const char *text;
    size_t length_bytes;
};

/* A line named by its place in the file, which every PE has mapped: a sample needs no text. */
struct sample {
    uint64_t offset_bytes, length_bytes;
};

/* The sorted lines that one PE sends to another, and where they lie in the receiver's inbox. */
struct run {
    uint64_t offset_bytes, length_bytes, n_lines;
};

struct job {
    int my_pe, n_pes;
    const char *file; /* the input, mapped; NULL when it is empty */
    size_t file_bytes;
    int output_fd;
    struct line *lines; /* mine: first those of my slice of the file, later those of my inbox */
    size_t n_lines;
    size_t *cuts;         /* lines [cuts[pe], cuts[pe + 1]) go to pe; later: received as run number pe */
    struct run *outgoing; /* one per destination */
    uint64_t output_offset_bytes, output_bytes, largest_part_bytes;
    double phase_start_s, start_s;

    /* Symmetric heap: the same allocations in the same order on every PE. */
    struct sample *samples; /* those of all PEs, a copy on each */
    struct run *incoming;   /* one per source, put there by that source */
    uint64_t *arrived;      /* one per source: the signal that its run is here */
    char *inbox;
};

/* Symmetric static data: each PE has its own copy, and the others reach it. */
static uint64_t all_lines, n_samples; /* the copies on PE 0 count for all */
static uint64_t inbox_bytes;          /* room reserved so far in this PE's inbox */
static long n_failures;

/* --- errors: fail() keeps the text, all_succeeded() prints the first one of the job --- */

static char failure[512];

static bool fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(failure, sizeof failure, format, args);
    va_end(args);
    return false;
}

/* Collective. A step may fail on some PEs only; all of them must stop then, or the rest would wait
 * for ever in the next barrier. */
static bool all_succeeded(const struct job *job, bool mine)
{
    for (int pe = 0; !mine && pe < job->n_pes; pe++) {
        long before = shmem_long_atomic_fetch_add(&n_failures, 1, pe);
        if (pe == 0 && before == 0) fprintf(stderr, "sample_sort: PE %d: %s\n", job->my_pe, failure);
    }
    shmem_barrier_all();
    bool all = shmem_long_atomic_fetch(&n_failures, job->my_pe) == 0;
    shmem_sync_all(); /* no PE counts failures of the next step before all PEs have read the counter */
    return all;
}

/* Private memory. Running out of it is nothing to agree upon: the whole job ends. */
static void *allocate(size_t n, size_t size_bytes)
{
    void *memory = calloc(n ? n : 1, size_bytes);
    if (!memory) {
        fprintf(stderr, "sample_sort: no memory for %zu times %zu bytes\n", n, size_bytes);
        shmem_global_exit(1);
    }
    return memory;
}

/* --- the report, by PE 0 --- */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Collective, so that the clock of PE 0 is valid for all. Returns the seconds of the phase. */
static double phase_end(struct job *job, const char *name, const char *remark)
{
    shmem_sync_all();
    double end_s = now_s(), took_s = end_s - job->phase_start_s;
    job->phase_start_s = end_s;
    if (job->my_pe == 0) {
        printf("  %-9s %9.2f ms   %s\n", name, 1e3 * took_s, remark);
        fflush(stdout);
    }
    return took_s;
}

static void report_total(const struct job *job, double exchange_s)
{
    double total_s = now_s() - job->start_s, megabytes = 1e-6 * (double)job->output_bytes;
    double average = (double)job->output_bytes / job->n_pes;
    if (job->my_pe != 0) return;
    printf("  %-9s %9.2f ms   %.1f MB/s from file to file\n", "total", 1e3 * total_s, megabytes / total_s);
    printf("  heap      %9.1f MB/s through the symmetric heap (%.2f MB in the exchange)\n", megabytes / exchange_s,
           megabytes);
    printf("  imbalance %9.2f      largest part of the output against the average\n",
           average > 0 ? (double)job->largest_part_bytes / average : 1.0);
}

/* --- lines --- */

static struct line make_line(const char *text, size_t length_bytes)
{
    uint64_t key = 0;
    for (size_t i = 0; i < 8; i++) key = key << 8 | (i < length_bytes ? (unsigned char)text[i] : 0);
    return (struct line){key, text, length_bytes};
}

/* Equal lines follow their place in memory, which is their place in the file: no two lines are the
 * same, and so a file of equal lines, too, splits into even parts. */
static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    size_t a_bytes = a->length_bytes, b_bytes = b->length_bytes;
    int order = memcmp(a->text, b->text, a_bytes < b_bytes ? a_bytes : b_bytes);
    if (order == 0) order = (a_bytes > b_bytes) - (a_bytes < b_bytes);
    if (order == 0) order = (a->text > b->text) - (a->text < b->text);
    return order;
}

/* Finds the lines of text[begin, end); begin starts a line and end follows one. Returns how many;
 * stores them unless lines is NULL. The last one may lack its newline. */
static size_t index_lines(const char *text, size_t begin, size_t end, struct line *lines)
{
    size_t n = 0;
    for (size_t at = begin; at < end; n++) {
        const char *newline = memchr(text + at, '\n', end - at);
        size_t stop = newline ? (size_t)(newline - text) : end;
        if (lines) lines[n] = make_line(text + at, stop - at);
        at = stop + 1;
    }
    return n;
}

/* Where the first line starts that does not start before offset_bytes. */
static size_t next_line_start(const struct job *job, size_t offset_bytes)
{
    if (offset_bytes == 0) return 0;
    const char *from = job->file + offset_bytes - 1;
    const char *newline = memchr(from, '\n', job->file_bytes - offset_bytes + 1);
    return newline ? (size_t)(newline - job->file) + 1 : job->file_bytes;
}

/* Writes the lines one after the other, each with its newline. Returns the end of what it wrote. */
static char *pack_lines(const struct line *lines, size_t n, char *to)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(to, lines[i].text, lines[i].length_bytes);
        to += lines[i].length_bytes;
        *to++ = '\n';
    }
    return to;
}

/* --- the phases --- */

/* O_NONBLOCK: a pipe without a partner is refused as well, not waited for. */
static bool map_input(struct job *job, const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) != 0) return fail("cannot read %s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return fail("cannot read %s: not a regular file", path);
    job->file_bytes = (size_t)info.st_size;
    if (job->file_bytes > 0) job->file = mmap(NULL, job->file_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (job->file == MAP_FAILED) return fail("cannot map %s: %s", path, strerror(errno));
    close(fd);
    return true;
}

/* Without O_TRUNC: a job that fails later has not touched the old content. */
static bool open_output(struct job *job, const char *path)
{
    struct stat info;
    job->output_fd = open(path, O_WRONLY | O_CREAT | O_NONBLOCK, 0666);
    if (job->output_fd < 0 || fstat(job->output_fd, &info) != 0)
        return fail("cannot write %s: %s", path, strerror(errno));
    return S_ISREG(info.st_mode) || fail("cannot write %s: not a regular file", path);
}

/* All samples of the job. A PE takes at most one more than its share of the bytes gives. */
static size_t samples_max(const struct job *job) { return (size_t)job->n_pes * (SAMPLES_PER_PE + 1); }

static bool allocate_tables(struct job *job)
{
    size_t n = (size_t)job->n_pes;
    job->cuts = allocate(n + 1, sizeof *job->cuts);
    job->outgoing = allocate(n, sizeof *job->outgoing);
    job->samples = shmem_calloc(samples_max(job), sizeof *job->samples);
    job->incoming = shmem_calloc(n, sizeof *job->incoming);
    job->arrived = shmem_calloc(n, sizeof *job->arrived);
    return (job->samples && job->incoming && job->arrived) ||
           fail("the symmetric heap has no room for the tables of %zu PEs", n);
}

/* My lines are those that start in my slice of the file, my_pe of n_pes equal ones. */
static void take_slice(struct job *job)
{
    size_t me = (size_t)job->my_pe, n = (size_t)job->n_pes;
    size_t begin = next_line_start(job, job->file_bytes * me / n);
    size_t end = next_line_start(job, job->file_bytes * (me + 1) / n);
    job->n_lines = index_lines(job->file, begin, end, NULL);
    job->lines = allocate(job->n_lines, sizeof *job->lines);
    index_lines(job->file, begin, end, job->lines);
    shmem_uint64_atomic_add(&all_lines, job->n_lines, 0);
}

/* One sample in every stride of sorted bytes, not of lines: a long line counts for what it weighs.
 */
static size_t take_samples(const struct job *job, struct sample *samples)
{
    size_t stride_bytes = job->file_bytes / ((size_t)job->n_pes * SAMPLES_PER_PE) + 1;
    size_t n = 0, seen_bytes = 0;
    for (size_t i = 0; i < job->n_lines; i++) {
        const struct line *line = &job->lines[i];
        seen_bytes += line->length_bytes + 1;
        for (; seen_bytes > n * stride_bytes + stride_bytes / 2; n++)
            samples[n] = (struct sample){(uint64_t)(line->text - job->file), line->length_bytes};
    }
    return n;
}

/* Every PE gets the samples of all: each reserves places in the table, and puts its own there. */
static void share_samples(const struct job *job)
{
    struct sample *mine = allocate(samples_max(job), sizeof *mine);
    size_t n = take_samples(job, mine);
    uint64_t place = shmem_uint64_atomic_fetch_add(&n_samples, n, 0);
    for (int pe = 0; pe < job->n_pes; pe++) shmem_putmem(job->samples + place, mine, n * sizeof *mine, pe);
    shmem_barrier_all();
    free(mine);
}

static size_t count_below(const struct line *lines, size_t n, const struct line *bound)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool below = compare_lines(&lines[middle], bound) < 0;
        low = below ? middle + 1 : low;
        high = below ? high : middle;
    }
    return low;
}

/* All PEs sort the same samples, and so they choose the same splitters. */
static void cut_at_splitters(struct job *job)
{
    size_t n = shmem_uint64_g(&n_samples, 0), n_pes = (size_t)job->n_pes;
    struct line *sorted = allocate(n, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = make_line(job->file + job->samples[i].offset_bytes, job->samples[i].length_bytes);
    qsort(sorted, n, sizeof *sorted, compare_lines);
    for (size_t pe = 1; n > 0 && pe < n_pes; pe++)
        job->cuts[pe] = count_below(job->lines, job->n_lines, &sorted[n * pe / n_pes]);
    job->cuts[n_pes] = job->n_lines;
    free(sorted);
}

/* The atomic adds divide the inbox of each PE: afterwards all runs have a place there, none
 * overlaps another, and the counter is the exact size of the inbox. */
static void reserve_room(struct job *job)
{
    for (int pe = 0; pe < job->n_pes; pe++) {
        struct run *run = &job->outgoing[pe];
        run->n_lines = job->cuts[pe + 1] - job->cuts[pe];
        for (size_t i = job->cuts[pe]; i < job->cuts[pe + 1]; i++) run->length_bytes += job->lines[i].length_bytes + 1;
        run->offset_bytes = shmem_uint64_atomic_fetch_add(&inbox_bytes, run->length_bytes, pe);
        shmem_putmem(&job->incoming[job->my_pe], run, sizeof *run, pe);
    }
    shmem_barrier_all();
}

/* Allocation is collective and takes the same size everywhere: that of the largest part. */
static bool allocate_inbox(struct job *job)
{
    for (int pe = 0; pe < job->n_pes; pe++) {
        uint64_t part_bytes = shmem_uint64_g(&inbox_bytes, pe);
        if (pe < job->my_pe) job->output_offset_bytes += part_bytes;
        if (part_bytes > job->largest_part_bytes) job->largest_part_bytes = part_bytes;
        job->output_bytes += part_bytes;
    }
    job->inbox = shmem_malloc(job->largest_part_bytes + 1); /* a size of 0 gives NULL */
    return job->inbox || fail("the symmetric heap has no room for %.2f MB on each PE; raise "
                              "SHMEM_SYMMETRIC_SIZE",
                              1e-6 * (double)job->largest_part_bytes);
}

/* Data and signal in one call: a PE that sees the signal sees the lines, too. Each PE starts with its
 * right neighbour, so that they do not all send to the same PE at a time. */
static void send_runs(struct job *job)
{
    for (int i = 1; i <= job->n_pes; i++) {
        int pe = (job->my_pe + i) % job->n_pes;
        const struct run *run = &job->outgoing[pe];
        char *packed = allocate(run->length_bytes, 1);
        pack_lines(job->lines + job->cuts[pe], run->n_lines, packed);
        shmem_putmem_signal(job->inbox + run->offset_bytes, packed, run->length_bytes, &job->arrived[job->my_pe], 1,
                            SHMEM_SIGNAL_SET, pe);
        free(packed);
    }
    free(job->lines);
}

/* Takes the runs in the order in which they are likely to arrive. */
static void receive_runs(struct job *job)
{
    job->n_lines = 0;
    for (int pe = 0; pe < job->n_pes; pe++) job->n_lines += job->incoming[pe].n_lines;
    job->lines = allocate(job->n_lines, sizeof *job->lines);
    size_t n = 0;
    for (int i = 0; i < job->n_pes; i++) {
        int pe = (job->my_pe + job->n_pes - 1 - i) % job->n_pes;
        const struct run *run = &job->incoming[pe];
        shmem_signal_wait_until(&job->arrived[pe], SHMEM_CMP_EQ, 1);
        job->cuts[i] = n;
        n += index_lines(job->inbox, run->offset_bytes, run->offset_bytes + run->length_bytes, job->lines + n);
    }
    job->cuts[job->n_pes] = n;
}

/* Merges from[begin, middle) and from[middle, end) into to[begin, end). */
static void merge_two(const struct line *from, struct line *to, size_t begin, size_t middle, size_t end)
{
    size_t left = begin, right = middle;
    for (size_t i = begin; i < end; i++) {
        bool take_left = right == end || (left < middle && compare_lines(&from[left], &from[right]) <= 0);
        to[i] = from[take_left ? left++ : right++];
    }
}

/* Merges neighbouring runs in pairs until one run is left. */
static void merge_runs(struct job *job)
{
    struct line *spare = allocate(job->n_lines, sizeof *spare);
    for (size_t n = (size_t)job->n_pes; n > 1; n = (n + 1) / 2) {
        for (size_t i = 0; i < n; i += 2) {
            size_t middle = job->cuts[i + 1], end = i + 2 <= n ? job->cuts[i + 2] : middle;
            merge_two(job->lines, spare, job->cuts[i], middle, end);
            job->cuts[i / 2] = job->cuts[i];
        }
        job->cuts[(n + 1) / 2] = job->n_lines;
        struct line *merged = spare;
        spare = job->lines;
        job->lines = merged;
    }
    free(spare);
}

/* Each PE writes its part at its own place; PE 0 also sets the length of the file. */
static bool write_part(struct job *job, const char *path)
{
    char *part = allocate(inbox_bytes, 1);
    size_t length_bytes = (size_t)(pack_lines(job->lines, job->n_lines, part) - part), done = 0;
    bool ok = job->my_pe != 0 || ftruncate(job->output_fd, (off_t)job->output_bytes) == 0;
    while (ok && done < length_bytes) {
        ssize_t n = pwrite(job->output_fd, part + done, length_bytes - done, (off_t)(job->output_offset_bytes + done));
        ok = n > 0 || (n < 0 && errno == EINTR);
        done += n > 0 ? (size_t)n : 0;
    }
    ok = ok && close(job->output_fd) == 0;
    free(part);
    return ok || fail("cannot write %s: %s", path, strerror(errno));
}

static bool sort_file(struct job *job, const char *input, const char *output)
{
    char remark[96];
    job->start_s = job->phase_start_s = now_s();
    if (!all_succeeded(job, map_input(job, input)) || !all_succeeded(job, open_output(job, output)) ||
        !all_succeeded(job, allocate_tables(job)))
        return false;
    if (job->my_pe == 0)
        printf("sample_sort: %d PEs sort %s, %.2f MB\n", job->n_pes, input, 1e-6 * (double)job->file_bytes);

    take_slice(job);
    shmem_barrier_all();
    snprintf(remark, sizeof remark, "%llu lines, each PE those of its slice",
             (unsigned long long)shmem_uint64_g(&all_lines, 0));
    phase_end(job, "read", remark);

    qsort(job->lines, job->n_lines, sizeof *job->lines, compare_lines);
    phase_end(job, "sort", "each PE its own lines");

    share_samples(job);
    cut_at_splitters(job);
    reserve_room(job);
    if (!all_succeeded(job, allocate_inbox(job))) return false;
    snprintf(remark, sizeof remark, "%llu samples, room for each run reserved by fetch_add",
             (unsigned long long)shmem_uint64_g(&n_samples, 0));
    phase_end(job, "plan", remark);

    send_runs(job);
    receive_runs(job);
    double exchange_s = phase_end(job, "exchange", "each run to its PE by put_signal");

    merge_runs(job);
    phase_end(job, "merge", "the runs that came");

    if (!all_succeeded(job, write_part(job, output))) return false;
    phase_end(job, "write", output);
    report_total(job, exchange_s);
    return true;
}

int main(int argc, char **argv)
{
    shmem_init();
    struct job job = {.my_pe = shmem_my_pe(), .n_pes = shmem_n_pes()};
    bool sorted = argc == 3 && sort_file(&job, argv[1], argv[2]);
    if (argc != 3 && job.my_pe == 0) fprintf(stderr, "usage: sample_sort INPUT OUTPUT\n");
    shmem_finalize(); /* frees the symmetric heap; the system takes the rest */
    return sorted ? 0 : 1;
}
