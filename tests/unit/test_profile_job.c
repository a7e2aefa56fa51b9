/* tests/unit/test_profile_job.c: the report of a job too large for a test: parts of 600 PEs on two hosts, added up. */
#include "core/profile/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { N_PES = 600, N_HOST = 300, N_THREADS = 2, PUT_BYTES = 1000, N_RECORDS = 4 + 2 * N_THREADS };

static char folder[] = "/tmp/isthmus_profile_job.XXXXXX";
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
        part[3 + 2 * i] = (struct ist_profile_record){.kind = IST_PROFILE_ROUTINE,
                                                      .index = (uint16_t)number,
                                                      .pe = i,
                                                      .calls = {1, bytes, 500, (uint64_t)(500 + pe), 100}};
        part[4 + 2 * i] = (struct ist_profile_record){.kind = IST_PROFILE_LINK,
                                                      .index = 1,
                                                      .pe = (pe + 1) % N_PES,
                                                      .traffic = {.n_puts = 1, .put_bytes = bytes, .n_flags = 3}};
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
    assert_int_equal(job.ways[0].traffic.put_bytes, bytes);
    assert_int_equal(job.ways[0].traffic.n_flags, 3 * N_PES * N_THREADS);
    assert_int_equal(job.top[0].pe, 7);
    assert_int_equal(job.top[0].peer, 8);
    assert_int_equal(job.top[0].bytes, 100 * PUT_BYTES * N_THREADS);
    assert_int_equal(job.top[1].bytes, PUT_BYTES * N_THREADS);
    char *json = content(file);
    assert_int_equal(times(json, "\"peer\": "), N_PES); /* threads are added up, and pairs without bytes left out */
    assert_int_equal(times(json, "\"host\": \"first & <host>\""), N_HOST);
    free(json);
    ist_profile_job_free(&job);
}

static void many_pes_share_rows_of_the_map(void **state)
{
    (void)state;
    struct ist_profile_job job;
    add_all(&job);
    assert_int_equal(job.pes_per_bin, 3);
    assert_int_equal(job.n_bins, 200);
    char *svg = content(picture);
    assert_int_equal(times(svg, "<title>"), 2 * 200); /* two PEs of three have their next one in the same row */
    assert_int_equal(times(svg, "PEs 6 to 8 with PEs 6 to 8"), 1);
    assert_int_equal(times(svg, "class=\"host\""), 1);
    assert_int_equal(times(svg, "; 3 PEs in a row and column"), 1);
    free(svg);
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
        cmocka_unit_test(the_summary_counts_hosts),
        cmocka_unit_test(other_records_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
