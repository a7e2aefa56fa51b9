/* tests/unit/test_agreement.c: core/boot/agreement.c: what all PEs of a job need alike, and the sentence about the
 * first difference. */
#include "config_environment.h"

#include "core/boot/card.h"

static const struct ist_fact facts[] = {{"the list of open transports", "loopback"}};

static char texts[2][IST_AGREEMENT_BYTES];
static const struct ist_card mine = {.pe = 3, .host_name = "node7", .agreement = texts[0]};
static const struct ist_card first = {.pe = 0, .host_name = "node1", .agreement = texts[1]};

static void write_with(const char *environment, const struct ist_fact *fact, char out[IST_AGREEMENT_BYTES])
{
    read_ok(environment);
    assert_int_equal(ist_agreement_write(&config, fact, 1, out), ISTHMUS_OK);
}

static void assert_agree(const char *environment, const char *environment_of_first)
{
    write_with(environment, facts, texts[0]);
    write_with(environment_of_first, facts, texts[1]);
    if (ist_agreement_check(&mine, &first) != ISTHMUS_OK) fail_msg("%s", ist_fail_text());
}

static void assert_differ(const char *environment, const char *environment_of_first, const char *text)
{
    write_with(environment, facts, texts[0]);
    write_with(environment_of_first, facts, texts[1]);
    assert_int_equal(ist_agreement_check(&mine, &first), ISTHMUS_ERR_INVALID);
    assert_string_equal(ist_fail_text(), text);
}

/* ---- each setting ---- */

static const struct {
    enum ist_var_row row;
    const char *mine, *printed; /* as this PE sets it, and as the message has it */
    const char *first, *first_printed;
} cases[] = {
    {IST_ROW_heap_size_bytes, "1024k", "1m", "2g", "2g"},
    {IST_ROW_heap_base, "any", "any", "0x300000000000", "0x300000000000"},
    {IST_ROW_heap_kind, "Host", "host", "cuda", "cuda"},
    {IST_ROW_heap_grows, "0", "false", "yes", "true"},
    {IST_ROW_heap_step_bytes, "32m", "32m", "64m", "64m"},
    {IST_ROW_atomics, "nic", "nic", "cpu", "cpu"},
    {IST_ROW_transports, "loopback", "loopback", "^ib", "^ib"},
    {IST_ROW_static_data, "n", "false", "1", "true"},
    {IST_ROW_alias, "off", "false", "", "true"},
    {IST_ROW_device_direct, "false", "false", "", "true"},
    {IST_ROW_team_shared_only_self, "1", "true", "0", "false"},
    {IST_ROW_teams_max, "64", "64", "1024", "1k"},
    {IST_ROW_pretend_hosts, "0011", "0011", "01", "01"},
    {IST_ROW_check, "true", "true", "false", "false"},
    {IST_ROW_profile, "a.json", "a.json", "trace:a.json", "trace:a.json"},
    {IST_ROW_barrier, "central", "central", "DISSEMINATION", "dissemination"},
    {IST_ROW_broadcast, "tree", "tree", "pull", "pull"},
    {IST_ROW_fcollect, "ring", "ring", "direct", "direct"},
    {IST_ROW_collect, "hosts", "hosts", "auto", "auto"},
    {IST_ROW_alltoall, "pairwise", "pairwise", "auto", "auto"},
    {IST_ROW_reduce, "owner", "owner", "doubling", "doubling"},
    {IST_ROW_scan, "doubling", "doubling", "owner", "owner"},
};

static void each_setting_of_the_job_is_named_with_both_values_and_both_pes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = ist_vars[cases[i].row].name;
        char own[64], of_first[64], text[256];
        snprintf(own, sizeof own, "%s=%s", name, cases[i].mine);
        snprintf(of_first, sizeof of_first, "%s=%s", name, cases[i].first);
        snprintf(text, sizeof text, "%s is '%s' on PE 3, and '%s' on PE 0 on node1; all PEs need the same", name,
                 cases[i].printed, cases[i].first_printed);
        assert_differ(own, of_first, text);
        assert_agree(own, own);
    }
}

static void every_row_of_the_job_has_a_case_and_no_other_row_is_compared(void **state)
{
    (void)state;
    write_with("", facts, texts[0]);
    for (size_t row = 0; row < IST_N_VARS; row++) {
        size_t i = 0;
        char line[64];
        while (i < sizeof cases / sizeof *cases && cases[i].row != row) i++;
        bool has_case = i < sizeof cases / sizeof *cases;
        snprintf(line, sizeof line, "\n%s\t", ist_vars[row].name);
        if (has_case != (ist_vars[row].of == IST_OF_JOB)) fail_msg("%s: not as in config.def", ist_vars[row].name);
        if (has_case != (strstr(texts[0], line) != NULL)) fail_msg("%s: compared or not", ist_vars[row].name);
    }
}

static void the_first_of_several_differences_is_named(void **state)
{
    (void)state;
    assert_differ("ISTHMUS_COLL_SCAN=owner|ISTHMUS_CHECK=1", "",
                  "ISTHMUS_CHECK is 'true' on PE 3, and 'false' on PE 0 on node1; all PEs need the same");
}

static void another_name_that_set_it_is_named_too(void **state)
{
    (void)state;
    assert_differ("SHMEM_SYMMETRIC_SIZE=2g", "",
                  "ISTHMUS_HEAP_SIZE is '2g' (set by SHMEM_SYMMETRIC_SIZE) on PE 3, and not set on PE 0 on node1; "
                  "all PEs need the same");
    assert_differ("ISTHMUS_HEAP_SIZE=1g", "SMA_SYMMETRIC_SIZE=2g",
                  "ISTHMUS_HEAP_SIZE is '1g' on PE 3, and '2g' (set by SMA_SYMMETRIC_SIZE) on PE 0 on node1; "
                  "all PEs need the same");
    assert_agree("SHMEM_SYMMETRIC_SIZE=2048m", "ISTHMUS_HEAP_SIZE=2g");
}

/* ---- texts ---- */

static void long_values_are_compared_whole_and_cut_in_the_message(void **state)
{
    (void)state;
    char own[400] = "ISTHMUS_PRETEND_HOSTS=", of_first[400];
    memset(own + strlen(own), '0', 300);
    memcpy(of_first, own, sizeof own);
    own[strlen(own) - 1] = '1';
    write_with(own, facts, texts[0]);
    write_with(of_first, facts, texts[1]);
    assert_int_equal(ist_agreement_check(&mine, &first), ISTHMUS_ERR_INVALID);
    assert_non_null(strstr(ist_fail_text(), "0000...' on PE 3, and '0000"));
    assert_true(strlen(ist_fail_text()) < 400);
}

static void control_characters_do_not_cut_a_value(void **state)
{
    (void)state;
    assert_differ("ISTHMUS_TRANSPORTS=a\tb\nc", "ISTHMUS_TRANSPORTS=a",
                  "ISTHMUS_TRANSPORTS is 'a b c' on PE 3, and 'a' on PE 0 on node1; all PEs need the same");
}

static void what_does_not_fit_is_an_error(void **state)
{
    (void)state;
    static char endless[2 * IST_AGREEMENT_BYTES];
    memset(endless, '0', sizeof endless - 1);
    setenv("ISTHMUS_PRETEND_HOSTS", endless, 1);
    assert_int_equal(ist_config_init(&config, IST_FACE_SHMEM), ISTHMUS_OK);
    assert_int_equal(ist_agreement_write(&config, facts, 1, texts[0]), ISTHMUS_ERR_LIMIT);
    assert_non_null(strstr(ist_fail_text(), "ISTHMUS_PRETEND_HOSTS"));
}

/* ---- what is no setting ---- */

static void facts_are_compared_behind_the_settings(void **state)
{
    (void)state;
    static const struct ist_fact other = {"the list of open transports", "ib loopback"};
    write_with("", &other, texts[0]);
    write_with("", facts, texts[1]);
    assert_int_equal(ist_agreement_check(&mine, &first), ISTHMUS_ERR_INVALID);
    assert_string_equal(ist_fail_text(), "the list of open transports is 'ib loopback' on PE 3, and 'loopback' on PE 0 "
                                         "on node1; all PEs need the same");
    write_with("ISTHMUS_TRANSPORTS=ib,loopback", &other, texts[0]);
    assert_int_equal(ist_agreement_check(&mine, &first), ISTHMUS_ERR_INVALID);
    assert_ptr_equal(strstr(ist_fail_text(), "ISTHMUS_TRANSPORTS is"), ist_fail_text());
}

static void another_version_is_named_before_its_settings(void **state)
{
    (void)state;
    write_with("", facts, texts[0]);
    snprintf(texts[1], sizeof texts[1], "the version of Isthmus\t99.1\nISTHMUS_OF_LATER\t1\n");
    assert_int_equal(ist_agreement_check(&mine, &first), ISTHMUS_ERR_INVALID);
    assert_ptr_equal(strstr(ist_fail_text(), "the version of Isthmus is '"), ist_fail_text());
    assert_non_null(strstr(ist_fail_text(), "' on PE 3, and '99.1' on PE 0 on node1"));
}

static void texts_of_other_builds_do_no_harm(void **state)
{
    (void)state;
    static const char other[] = "PE 3 and PE 0 on node1 are of different builds of Isthmus; use one build on all hosts";
    write_with("", facts, texts[0]);
    const size_t length = strlen(texts[0]);
    for (size_t cut = 0; cut < length; cut++) { /* at the end of a line, or inside one */
        memcpy(texts[1], texts[0], cut);
        texts[1][cut] = '\0';
        isthmus_status status = ist_agreement_check(&mine, &first);
        if (cut + 1 < length) assert_int_equal(status, ISTHMUS_ERR_INVALID);
        if (cut == 0) assert_string_equal(ist_fail_text(), other);
    }
    snprintf(texts[1], sizeof texts[1], "Isthmus version 0.0;ISTHMUS_HEAP_SIZE 7;transports");
    assert_int_equal(ist_agreement_check(&mine, &first), ISTHMUS_ERR_INVALID);
    assert_string_equal(ist_fail_text(), other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFIG_TEST(each_setting_of_the_job_is_named_with_both_values_and_both_pes),
        CONFIG_TEST(every_row_of_the_job_has_a_case_and_no_other_row_is_compared),
        CONFIG_TEST(the_first_of_several_differences_is_named),
        CONFIG_TEST(another_name_that_set_it_is_named_too),
        CONFIG_TEST(long_values_are_compared_whole_and_cut_in_the_message),
        CONFIG_TEST(control_characters_do_not_cut_a_value),
        CONFIG_TEST(what_does_not_fit_is_an_error),
        CONFIG_TEST(facts_are_compared_behind_the_settings),
        CONFIG_TEST(another_version_is_named_before_its_settings),
        CONFIG_TEST(texts_of_other_builds_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
