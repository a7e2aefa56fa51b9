/* tests/unit/test_config.c: from the environment to fields: every row, precedence, what is refused.
 * Environments are written as "NAME=value|NAME=value". */
#include "config_environment.h"

/* ---- every row ---- */

static void a_bad_heap_size_names_variable_value_and_what_is_accepted(void **state)
{
    (void)state;
    assert_refused("ISTHMUS_HEAP_SIZE=abc", "ISTHMUS_HEAP_SIZE is 'abc'; accepted: a number above 0 with an optional "
                                            "fraction and one of the suffixes k m g t, for example 512m");
    assert_refused("SMA_SYMMETRIC_SIZE=1x", "SMA_SYMMETRIC_SIZE is '1x'; accepted: a number above 0");
    assert_refused("ISTHMUS_HEAP_SIZE=0", "ISTHMUS_HEAP_SIZE is '0'; accepted: a number above 0");
    assert_refused("ISTHMUS_HEAP_SIZE=0.0g", "accepted: a number above 0");
    assert_int_equal(config.heap_size_bytes, 0);
}

static void a_quoted_value_is_short_and_printable(void **state)
{
    (void)state;
    static char endless[100000];
    memset(endless, '\033', sizeof endless - 1);
    setenv("ISTHMUS_HEAP_SIZE", endless, 1);
    assert_int_equal(ist_config_init(&config, IST_FACE_SHMEM), ISTHMUS_ERR_INVALID);
    assert_null(strchr(ist_fail_text(), '\033'));
    assert_non_null(strstr(ist_fail_text(), "...'; accepted: "));
}

static void defaults_hold_in_an_empty_environment(void **state)
{
    (void)state;
    read_ok("");
    assert_int_equal(config.heap_size_bytes, 0);
    assert_int_equal(config.heap_pages, IST_PAGES_DEFAULT);
    assert_string_equal(config.transports, "");
    assert_string_equal(config.plugin_path, "");
    assert_int_equal(config.bootstrap, IST_BOOTSTRAP_AUTO);
    assert_string_equal(config.symmetric_objects, "");
    assert_true(config.static_data);
    assert_true(config.alias);
    assert_false(config.team_shared_only_self);
    assert_int_equal(config.barrier, IST_BARRIER_AUTO);
    assert_int_equal(config.spin_ns, UINT64_MAX);
    assert_int_equal(config.peer_timeout_s, 30);
    assert_int_equal(config.abort_action, IST_ABORT_EXIT);
    assert_int_equal(config.log_level, ISTHMUS_LOG_WARN);
    assert_string_equal(config.log_file, "");
    assert_false(config.print_version);
    assert_false(config.print_info);
}

static void texts_are_taken_as_they_are_and_copied(void **state)
{
    (void)state;
    read_ok(
        "ISTHMUS_TRANSPORTS=^a, b|ISTHMUS_PLUGIN_PATH=/x:/y|ISTHMUS_SYMMETRIC_OBJECTS=liba.so|ISTHMUS_LOG_FILE=l-%p");
    clearenv();
    assert_string_equal(config.transports, "^a, b");
    assert_string_equal(config.plugin_path, "/x:/y");
    assert_string_equal(config.symmetric_objects, "liba.so");
    assert_string_equal(config.log_file, "l-%p");
    read_ok("ISTHMUS_TRANSPORTS=");
    assert_string_equal(config.transports, "");
}

/* A row's words stand for the enumerators in order; any case. */
static void assert_words(const char *name, const char *words, const int *field, const int *expected, const char *bad)
{
    const char *word;
    size_t length;
    for (size_t i = 0; (length = ist_word(words, i, &word)) != 0; i++) {
        char assignment[128];
        snprintf(assignment, sizeof assignment, "%s=%.*s", name, (int)length, word);
        read_ok(assignment);
        assert_int_equal(*field, expected[i]);
    }
    char assignment[128], message[128];
    snprintf(assignment, sizeof assignment, "%s=%s", name, bad);
    snprintf(message, sizeof message, "%s is '%s'; accepted: one of ", name, bad);
    assert_refused(assignment, message);
}

static void words_are_read_in_any_case(void **state)
{
    (void)state;
    static const int pages[] = {IST_PAGES_DEFAULT, IST_PAGES_HUGE, IST_PAGES_2M, IST_PAGES_1G, IST_PAGES_1G};
    static const int boots[] = {IST_BOOTSTRAP_AUTO, IST_BOOTSTRAP_PMIX,     IST_BOOTSTRAP_ALONE, IST_BOOTSTRAP_PMI1,
                                IST_BOOTSTRAP_PMI2, IST_BOOTSTRAP_TORCHRUN, IST_BOOTSTRAP_PMIX};
    static const int barriers[] = {IST_BARRIER_AUTO, IST_BARRIER_DISSEMINATION, IST_BARRIER_CENTRAL, IST_BARRIER_HOSTS};
    static const int aborts[] = {IST_ABORT_EXIT, IST_ABORT_TRAP, IST_ABORT_BACKTRACE};
    static const int levels[] = {ISTHMUS_LOG_ERROR, ISTHMUS_LOG_WARN, ISTHMUS_LOG_INFO, ISTHMUS_LOG_DEBUG,
                                 ISTHMUS_LOG_TRACE};
    assert_words("ISTHMUS_HEAP_PAGES", "default huge 2M 1G 1g", &config.heap_pages, pages, "4k");
    assert_words("ISTHMUS_BOOTSTRAP", "auto pmix alone pmi1 pmi2 torchrun PMIx", &config.bootstrap, boots, "mpi");
    assert_words("ISTHMUS_COLL_BARRIER", "auto dissemination CENTRAL hosts", &config.barrier, barriers, "centra");
    assert_words("ISTHMUS_ABORT", "exit trap backtrace", &config.abort_action, aborts, "trap ");
    assert_words("ISTHMUS_LOG", "error Warn INFO debug trace", &config.log_level, levels, "");
    assert_words("ISTHMUS_LOG", "error", &config.log_level, levels, "error warn");
    assert_words("ISTHMUS_LOG", "error", &config.log_level, levels, "infoo");
}

static void booleans_are_read(void **state)
{
    (void)state;
    read_ok("ISTHMUS_STATIC_DATA=0|ISTHMUS_ALIAS=No|ISTHMUS_TEAM_SHARED_ONLY_SELF=|ISTHMUS_VERSION=1|ISTHMUS_INFO=x");
    assert_false(config.static_data);
    assert_false(config.alias);
    assert_true(config.team_shared_only_self);
    assert_true(config.print_version);
    assert_true(config.print_info);
}

static void spin_is_auto_or_a_time(void **state)
{
    (void)state;
    static const struct {
        const char *assignment;
        uint64_t ns;
    } good[] = {{"ISTHMUS_SPIN=auto", UINT64_MAX}, {"ISTHMUS_SPIN=AUTO", UINT64_MAX}, {"ISTHMUS_SPIN=0", 0},
                {"ISTHMUS_SPIN=250", 250},         {"ISTHMUS_SPIN=250ns", 250},       {"ISTHMUS_SPIN=20us", 20000},
                {"ISTHMUS_SPIN=1.5US", 1500},      {"ISTHMUS_SPIN=2ms", 2000000},     {"ISTHMUS_SPIN=0.1ns", 1}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        read_ok(good[i].assignment);
        assert_int_equal(config.spin_ns, good[i].ns);
    }
    static const char *const bad[] = {
        "", "-1", "1s", "1 us", "1usx", "us", "autos", "5000000000000ms", "18446744073709551615"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char assignment[64];
        snprintf(assignment, sizeof assignment, "ISTHMUS_SPIN=%s", bad[i]);
        assert_refused(assignment, "accepted: auto, or a time in nanoseconds with an optional suffix ns us ms");
        assert_int_equal(config.spin_ns, UINT64_MAX);
    }
}

static void peer_timeout_is_whole_seconds(void **state)
{
    (void)state;
    read_ok("ISTHMUS_PEER_TIMEOUT=5");
    assert_int_equal(config.peer_timeout_s, 5);
    read_ok("ISTHMUS_PEER_TIMEOUT=86400s");
    assert_int_equal(config.peer_timeout_s, 86400);
    static const char *const bad[] = {"", "0", "-1", "1.5", "5.", "1m", "86401", "forever", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char assignment[64];
        snprintf(assignment, sizeof assignment, "ISTHMUS_PEER_TIMEOUT=%s", bad[i]);
        assert_refused(assignment, "accepted: a whole number of seconds, 1 to 86400");
        assert_int_equal(config.peer_timeout_s, 30);
    }
}

/* ---- precedence ---- */

static void assert_heap(enum ist_face face, const char *environment, uint64_t bytes)
{
    if (read_as(face, environment) != ISTHMUS_OK) fail_msg("%s: %s", environment, ist_fail_text());
    if (config.heap_size_bytes != bytes)
        fail_msg("%s: expected %llu, seen %llu", environment, (unsigned long long)bytes,
                 (unsigned long long)config.heap_size_bytes);
}

static void our_name_then_the_face_then_shmem_then_sma(void **state)
{
    (void)state;
#define ALL "SMA_SYMMETRIC_SIZE=1|SHMEM_SYMMETRIC_SIZE=2|NVSHMEM_SYMMETRIC_SIZE=3|ISHMEM_SYMMETRIC_SIZE=4"
    assert_heap(IST_FACE_SHMEM, ALL "|ISTHMUS_HEAP_SIZE=5", 5);
    assert_heap(IST_FACE_SHMEM, ALL, 2);
    assert_heap(IST_FACE_NVSHMEM, ALL, 3);
    assert_heap(IST_FACE_ISHMEM, ALL, 4);
    assert_heap(IST_FACE_NVSHMEM, "SMA_SYMMETRIC_SIZE=1|SHMEM_SYMMETRIC_SIZE=2|ISHMEM_SYMMETRIC_SIZE=4", 2);
    assert_heap(IST_FACE_NVSHMEM, "SMA_SYMMETRIC_SIZE=1|ISHMEM_SYMMETRIC_SIZE=4", 1);
    assert_heap(IST_FACE_NVSHMEM, "ISHMEM_SYMMETRIC_SIZE=4", 4);
}

static void a_bad_value_that_does_not_count_is_not_looked_at(void **state)
{
    (void)state;
    assert_heap(IST_FACE_SHMEM, "ISTHMUS_HEAP_SIZE=5|SHMEM_SYMMETRIC_SIZE=abc", 5);
    assert_heap(IST_FACE_SHMEM, "SHMEM_SYMMETRIC_SIZE=2|SMA_SYMMETRIC_SIZE=abc", 2);
    assert_refused("ISTHMUS_HEAP_SIZE=abc|SHMEM_SYMMETRIC_SIZE=5", "ISTHMUS_HEAP_SIZE is 'abc'");
}

static void two_values_of_equal_rank_are_an_error_that_names_both(void **state)
{
    (void)state;
    assert_refused("NVSHMEM_SYMMETRIC_SIZE=1g|ISHMEM_SYMMETRIC_SIZE=2g",
                   "NVSHMEM_SYMMETRIC_SIZE is '1g' and ISHMEM_SYMMETRIC_SIZE is '2g', which contradict each other; "
                   "unset one, or set ISTHMUS_HEAP_SIZE");
    assert_int_equal(config.heap_size_bytes, 0);
    assert_heap(IST_FACE_SHMEM, "NVSHMEM_SYMMETRIC_SIZE=1g|ISHMEM_SYMMETRIC_SIZE=1024M", GIB);
    assert_refused("NVSHMEM_SYMMETRIC_SIZE=1g|ISHMEM_SYMMETRIC_SIZE=abc", "ISHMEM_SYMMETRIC_SIZE is 'abc'");
    assert_refused("NVSHMEM_SYMMETRIC_SIZE=abc|ISHMEM_SYMMETRIC_SIZE=1g", "NVSHMEM_SYMMETRIC_SIZE is 'abc'");
    assert_heap(IST_FACE_SHMEM, "NVSHMEM_SYMMETRIC_SIZE=1g|ISHMEM_SYMMETRIC_SIZE=2g|SMA_SYMMETRIC_SIZE=7", 7);
    assert_refused("NVSHMEM_DEBUG=INFO|ISHMEM_DEBUG=1", "NVSHMEM_DEBUG is 'INFO' and ISHMEM_DEBUG is '1'");
}

static void all_bad_values_are_reported_and_the_good_ones_hold(void **state)
{
    (void)state;
    assert_refused("ISTHMUS_HEAP_SIZE=abc|ISTHMUS_LOG=debug|ISTHMUS_PEER_TIMEOUT=never|ISTHMUS_TRANSPORTS=x",
                   "ISTHMUS_HEAP_SIZE is 'abc'");
    assert_non_null(strstr(ist_fail_text(), "; ISTHMUS_PEER_TIMEOUT is 'never'; accepted: "));
    assert_int_equal(config.log_level, ISTHMUS_LOG_DEBUG);
    assert_string_equal(config.transports, "x");
    assert_int_equal(config.peer_timeout_s, 30);
}

static void fini_takes_zeroed_and_finished_structs(void **state)
{
    (void)state;
    struct ist_config zero = {0};
    ist_config_fini(&zero);
    ist_config_fini(&zero);
    ist_config_fini(NULL);
}

/* ---- warnings ---- */

static const char *warnings_of(const char *environment, const char *const *prefixes, size_t n)
{
    static char seen[8192];
    char path[] = "/tmp/unit-config.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    set_environment(environment);
    ist_log_open(ISTHMUS_LOG_WARN, path);
    ist_config_warn_unknown(&config, prefixes, n);
    ist_log_close();
    ssize_t got = read(fd, seen, sizeof seen - 1);
    assert_true(got >= 0);
    seen[got] = '\0';
    close(fd);
    unlink(path);
    return seen;
}

static void unknown_names_get_a_suggestion(void **state)
{
    (void)state;
    static const char *const prefixes[] = {"loopback", "IB"};
    assert_string_equal(warnings_of("ISTHMUS_HEAPSIZE=1g|ISTHMUS_LOOPBACK_COPY=1|ISTHMUS_JOB_SECRET=x|ISTHMUS_LOG=info|"
                                    "ISTHMUS_IB_QPS=3|HOME=/",
                                    prefixes, 2),
                        "isthmus: warning: unknown environment variable ISTHMUS_HEAPSIZE; did you mean "
                        "ISTHMUS_HEAP_SIZE?\n");
    assert_string_equal(
        warnings_of("ISTHMUS_IBX=3", prefixes, 2),
        "isthmus: warning: unknown environment variable ISTHMUS_IBX; isthmus-info --env lists those that "
        "exist\n");
    assert_non_null(strstr(warnings_of("ISTHMUS_TRANSPORT=x", NULL, 0), "did you mean ISTHMUS_TRANSPORTS?"));
    assert_non_null(strstr(warnings_of("ISTHMUS_LOOPBACK_COPY=1", NULL, 0), "unknown environment variable"));
    assert_non_null(strstr(warnings_of("ISTHMUS_=1", prefixes, 2), "unknown environment variable ISTHMUS_;"));
    assert_null(strstr(warnings_of("ISTHMUS_FOO=1", NULL, 0), "did you mean")); /* no three-letter guess: ISTHMUS_LOG */
    assert_string_equal(warnings_of("", NULL, 0), "");
}

static void endless_names_are_cut(void **state)
{
    (void)state;
    static char endless[20000];
    memcpy(endless, "ISTHMUS_", 8);
    memset(endless + 8, 'X', sizeof endless - 9);
    clearenv();
    setenv(endless, "1", 1);
    ist_log_open(ISTHMUS_LOG_ERROR, NULL);
    ist_config_warn_unknown(&config, NULL, 0);
}

static void ignored_names_are_reported_with_the_reason(void **state)
{
    (void)state;
    assert_string_equal(warnings_of("SHMEM_BOUNCE_SIZE=2048", NULL, 0),
                        "isthmus: warning: environment variable SHMEM_BOUNCE_SIZE has no effect: there are no bounce "
                        "buffers\n");
    assert_string_equal(warnings_of("NVSHMEM_BOOTSTRAP=plugin", NULL, 0),
                        "isthmus: warning: environment variable NVSHMEM_BOOTSTRAP has no effect: this library has no "
                        "'plugin'\n");
    assert_string_equal(warnings_of("NVSHMEM_BOOTSTRAP=PMI|SHMEM_TEAMS_MAX=3|SHMEM_UNHEARD_OF=1", NULL, 0), "");
    for (size_t i = 0; i < ist_n_ignored_names; i++) {
        char assignment[128];
        snprintf(assignment, sizeof assignment, "%s=1", ist_ignored_names[i].name);
        assert_non_null(strstr(warnings_of(assignment, NULL, 0), ist_ignored_names[i].reason));
    }
}

static void no_name_stands_in_two_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ist_n_aliases; i++) {
        for (size_t j = i + 1; j < ist_n_aliases; j++)
            assert_string_not_equal(ist_aliases[i].name, ist_aliases[j].name);
        for (size_t j = 0; j < ist_n_ignored_names; j++)
            assert_string_not_equal(ist_aliases[i].name, ist_ignored_names[j].name);
    }
}

static void a_plugin_variable_is_found_by_its_whole_name(void **state)
{
    (void)state;
    set_environment("ISTHMUS_LOOPBACK_COPY=wide");
    assert_string_equal(ist_config_plugin_value("ISTHMUS_LOOPBACK_COPY"), "wide");
    assert_null(ist_config_plugin_value("ISTHMUS_LOOPBACK_COP"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFIG_TEST(a_bad_heap_size_names_variable_value_and_what_is_accepted),
        CONFIG_TEST(a_quoted_value_is_short_and_printable),
        CONFIG_TEST(defaults_hold_in_an_empty_environment),
        CONFIG_TEST(texts_are_taken_as_they_are_and_copied),
        CONFIG_TEST(words_are_read_in_any_case),
        CONFIG_TEST(booleans_are_read),
        CONFIG_TEST(spin_is_auto_or_a_time),
        CONFIG_TEST(peer_timeout_is_whole_seconds),
        CONFIG_TEST(our_name_then_the_face_then_shmem_then_sma),
        CONFIG_TEST(a_bad_value_that_does_not_count_is_not_looked_at),
        CONFIG_TEST(two_values_of_equal_rank_are_an_error_that_names_both),
        CONFIG_TEST(all_bad_values_are_reported_and_the_good_ones_hold),
        CONFIG_TEST(fini_takes_zeroed_and_finished_structs),
        CONFIG_TEST(unknown_names_get_a_suggestion),
        CONFIG_TEST(endless_names_are_cut),
        CONFIG_TEST(ignored_names_are_reported_with_the_reason),
        CONFIG_TEST(no_name_stands_in_two_rows),
        CONFIG_TEST(a_plugin_variable_is_found_by_its_whole_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
