/* tests/unit/test_profile_job.c: the report of a job too large for a test: parts of 600 PEs on two hosts, added up. */
#include "core/profile/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { N_PES = 600, N_HOST = 300, N_MANY = 10000, N_THREADS = 2, PUT_BYTES = 1000, N_RECORDS = 4 + 3 * N_THREADS };

static char folder[] = "/tmp/profile_job.XXXXXX";
static char file[64], picture[80];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(file, sizeof file, "%s/report", folder);
    snprintf(picture, sizeof picture, "%s.svg", file);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(file);
    (void)unlink(picture);
    return rmdir(folder);
}

static struct ist_profile_record text(enum ist_profile_kind kind, unsigned index, const char *value)
{
    struct ist_profile_record record = {.kind = (uint8_t)kind, .index = (uint16_t)index};
    snprintf(record.text, sizeof record.text, "%s", value);
    return record;
}

/* Each thread of a PE has put PUT_BYTES to the next PE; PE 7 a hundred times as much. The number of the routine differs
 * from PE to PE, as it does where PEs call routines in different order. */
static void fill(struct ist_profile_record part[N_RECORDS], int pe)
{
    uint64_t bytes = pe == 7 ? 100 * PUT_BYTES : PUT_BYTES;
    unsigned number = (unsigned)pe % 50;
    part[0] = (struct ist_profile_record){
        .kind = IST_PROFILE_HEAD,
        .pe = pe,
        .head = {.n_records = N_RECORDS, .wall_ns = 2000, .n_pes = N_PES, .layout = IST_PROFILE_LAYOUT}};
    part[1] = text(IST_PROFILE_HOST, 0, pe < N_HOST ? "first & <host>" : "second");
    part[2] = text(IST_PROFILE_TRANSPORT, 1, "carrier");
    for (int i = 0; i < N_THREADS; i++) {
        part[3 + 3 * i] = (struct ist_profile_record){.kind = IST_PROFILE_ROUTINE,
                                                      .index = (uint16_t)number,
                                                      .pe = i,
                                                      .calls = {1, bytes, 500, (uint64_t)(500 + pe), 100}};
        part[4 + 3 * i] = (struct ist_profile_record){.kind = IST_PROFILE_LINK,
                                                      .index = 1,
                                                      .pe = (pe + 1) % N_PES,
                                                      .traffic = {.n_puts = 1, .put_bytes = bytes, .n_flags = 3}};
        part[5 + 3 * i] = (struct ist_profile_record){
            .kind = IST_PROFILE_LINK_CALLS, .index = 1, .pe = (pe + 1) % N_PES, .calls = {1, bytes, 400, 400, 0}};
    }
    part[N_RECORDS - 1] = text(IST_PROFILE_NAME, number, "shmem_putmem");
}

static char *content(const char *path)
{
    FILE *in = fopen(path, "re");
    assert_non_null(in);
    char *all = calloc(1, 1 << 22);
    assert_non_null(all);
    assert_true(fread(all, 1, (1 << 22) - 1, in) > 0);
    fclose(in);
    return all;
}

static int times(const char *in, const char *what)
{
    int n = 0;
    for (const char *at = in; (at = strstr(at, what)) != NULL; at++) n++;
    return n;
}

static void add_all(struct ist_profile_job *job)
{
    struct ist_profile_record part[N_RECORDS];
    assert_int_equal(ist_profile_job_open(job, file, false, N_PES), ISTHMUS_OK);
    for (int pe = 0; pe < N_PES; pe++) {
        fill(part, pe);
        assert_int_equal(ist_profile_job_add(job, part, N_RECORDS), ISTHMUS_OK);
    }
    assert_int_equal(ist_profile_job_close(job), ISTHMUS_OK);
}

static void sums_are_those_of_all_threads_and_pes(void **state)
{
    (void)state;
    struct ist_profile_job job;
    add_all(&job);
    const uint64_t bytes = (uint64_t)N_THREADS * PUT_BYTES * (N_PES - 1 + 100);
    assert_int_equal(job.n_routines, 1);
    assert_string_equal(job.routines[0].name, "shmem_putmem");
    assert_int_equal(job.routines[0].n_pes, N_PES);
    assert_int_equal(job.routines[0].calls.n, N_PES * N_THREADS);
    assert_int_equal(job.routines[0].calls.bytes, bytes);
    assert_int_equal(job.routines[0].calls.longest_ns, 500 + N_PES - 1);
    assert_int_equal(job.n_ways, 1);
    assert_int_equal(job.ways[0].all.traffic.put_bytes, bytes);
    assert_int_equal(job.ways[0].all.traffic.n_flags, 3 * N_PES * N_THREADS);
    assert_int_equal(job.ways[0].all.n_calls, N_PES * N_THREADS);
    assert_int_equal(job.ways[0].all.ns, 400 * N_PES * N_THREADS);
    assert_int_equal(job.top[0].pe, 7);
    assert_int_equal(job.top[0].peer, 8);
    assert_int_equal(job.top[0].bytes, 100 * PUT_BYTES * N_THREADS);
    assert_int_equal(job.top[1].bytes, PUT_BYTES * N_THREADS);
    char *json = content(file);
    assert_int_equal(times(json, "\"pes_per_pair\": 5"), 1);
    assert_int_equal(times(json, "\"peer\": "), 2 * 120); /* one PE of five has its next one in another bin */
    assert_int_equal(times(json, "\"host\": \"first & <host>\""), N_HOST);
    free(json);
    ist_profile_job_free(&job);
}

static void many_pes_share_rows_of_the_map(void **state)
{
    (void)state;
    struct ist_profile_job job;
    add_all(&job);
    assert_int_equal(job.pes_per_bin, 5);
    assert_int_equal(job.n_bins, 120);
    char *svg = content(picture);
    assert_int_equal(times(svg, "<title>"), 2 * 120); /* four PEs of five have their next one in the same row */
    assert_int_equal(times(svg, "PEs 5 to 9 with PEs 5 to 9"), 1);
    assert_int_equal(times(svg, "class=\"host\""), 1);
    assert_int_equal(times(svg, "; 5 PEs in a row and column"), 1);
    free(svg);
    ist_profile_job_free(&job);
}

/* With each row of the map, once, by both ways: the links of 10,000 PEs that all talk to all are as many cells. */
static void fill_all_to_all(struct ist_profile_record *part, int pe)
{
    static const char *const ways[] = {"carrier", "other"};
    memset(part, 0, (3 + 2 * IST_PROFILE_BINS_MOST) * sizeof *part);
    part[0] = (struct ist_profile_record){
        .kind = IST_PROFILE_HEAD, .pe = pe, .head = {.wall_ns = 1, .n_pes = N_MANY, .layout = IST_PROFILE_LAYOUT}};
    for (unsigned way = 0; way < 2; way++) part[1 + way] = text(IST_PROFILE_TRANSPORT, way, ways[way]);
    for (int i = 0; i < 2 * IST_PROFILE_BINS_MOST; i++) {
        int peer = i / 2 * (N_MANY / IST_PROFILE_BINS_MOST + 1);
        part[3 + i] = (struct ist_profile_record){.kind = IST_PROFILE_LINK,
                                                  .index = (uint16_t)(i % 2),
                                                  .pe = peer < N_MANY ? peer : pe,
                                                  .traffic = {.n_puts = 1, .put_bytes = (uint64_t)PUT_BYTES}};
    }
}

static long size_of(const char *path)
{
    FILE *in = fopen(path, "re");
    assert_non_null(in);
    assert_int_equal(fseek(in, 0, SEEK_END), 0);
    long bytes = ftell(in);
    fclose(in);
    return bytes;
}

static void the_size_of_the_files_is_bounded(void **state)
{
    (void)state;
    static struct ist_profile_record part[3 + 2 * IST_PROFILE_BINS_MOST];
    struct ist_profile_job job;
    uint64_t bytes = 0;
    assert_int_equal(ist_profile_job_open(&job, file, false, N_MANY), ISTHMUS_OK);
    for (int pe = 0; pe < N_MANY; pe++) {
        fill_all_to_all(part, pe);
        assert_int_equal(ist_profile_job_add(&job, part, sizeof part / sizeof *part), ISTHMUS_OK);
    }
    assert_int_equal(ist_profile_job_close(&job), ISTHMUS_OK);
    assert_in_range(job.n_bins, IST_PROFILE_BINS_MOST / 2, IST_PROFILE_BINS_MOST);
    for (int i = 0; i < job.n_bins * job.n_bins; i++)
        bytes += ist_profile_bytes_between(&job, i / job.n_bins, i % job.n_bins);
    assert_int_equal(bytes, UINT64_C(2) * N_MANY * IST_PROFILE_BINS_MOST * PUT_BYTES);
    assert_in_range(size_of(file), 1, 16 << 20);
    assert_in_range(size_of(picture), 1, 4 << 20);
    ist_profile_job_free(&job);
}

static void the_summary_counts_hosts(void **state)
{
    (void)state;
    struct ist_profile_job job;
    char summary[4096] = "";
    add_all(&job);
    FILE *out = fmemopen(summary, sizeof summary, "w");
    assert_non_null(out);
    ist_profile_print_summary(out, &job);
    fclose(out);
    assert_non_null(
        strstr(summary, "600 PEs on 2 hosts, 2.00 us; 25.0 % of the threads' time in the library, of which 20.0 %"));
    assert_non_null(strstr(summary, "most bytes: PE 7 with PE 8 195 KiB"));
    ist_profile_job_free(&job);
}

static void other_records_are_refused(void **state)
{
    (void)state;
    struct ist_profile_job job;
    struct ist_profile_record part[N_RECORDS];
    assert_int_equal(ist_profile_job_open(&job, file, false, N_PES), ISTHMUS_OK);
    fill(part, 0);
    part[0].head.layout++;
    assert_int_equal(ist_profile_job_add(&job, part, N_RECORDS), ISTHMUS_ERR_INVALID);
    fill(part, N_PES);
    assert_int_equal(ist_profile_job_add(&job, part, N_RECORDS), ISTHMUS_ERR_INVALID);
    ist_profile_job_free(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_all_threads_and_pes),
        cmocka_unit_test(many_pes_share_rows_of_the_map),
        cmocka_unit_test(the_size_of_the_files_is_bounded),
        cmocka_unit_test(the_summary_counts_hosts),
        cmocka_unit_test(other_records_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
