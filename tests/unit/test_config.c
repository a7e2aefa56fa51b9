/* tests/unit/test_config.c: from the environment to fields: every row, every other name, who wins, what is refused.
 * Environments are written as "NAME=value|NAME=value". */
#include "core/base/config_priv.h"
#include "core/base/log.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)

static struct ist_config config;

static int clear(void **state)
{
    (void)state;
    clearenv();
    return 0;
}

static int release(void **state)
{
    (void)state;
    ist_config_fini(&config);
    return 0;
}

/* "A=1|B=2": only these are set. */
static void set_environment(const char *assignments)
{
    char text[512], *rest = text;
    clearenv();
    snprintf(text, sizeof text, "%s", assignments);
    for (char *one; (one = strsep(&rest, "|")) != NULL;) {
        char *value = strchr(one, '=');
        if (value == NULL) continue;
        *value = '\0';
        setenv(one, value + 1, 1);
    }
}

static isthmus_status read_as(enum ist_face face, const char *assignments)
{
    ist_config_fini(&config);
    set_environment(assignments);
    return ist_config_init(&config, face);
}

static void read_ok(const char *assignments)
{
    if (read_as(IST_FACE_SHMEM, assignments) != ISTHMUS_OK) fail_msg("%s: %s", assignments, ist_fail_text());
}

static void assert_refused(const char *assignments, const char *text)
{
    assert_int_equal(read_as(IST_FACE_SHMEM, assignments), ISTHMUS_ERR_INVALID);
    if (strstr(ist_fail_text(), text) == NULL)
        fail_msg("%s: expected \"%s\", seen \"%s\"", assignments, text, ist_fail_text());
}

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
    static const int boots[] = {IST_BOOTSTRAP_AUTO, IST_BOOTSTRAP_PMIX, IST_BOOTSTRAP_ALONE, IST_BOOTSTRAP_PMIX};
    static const int barriers[] = {IST_BARRIER_AUTO, IST_BARRIER_DISSEMINATION, IST_BARRIER_CENTRAL};
    static const int aborts[] = {IST_ABORT_EXIT, IST_ABORT_TRAP, IST_ABORT_BACKTRACE};
    static const int levels[] = {ISTHMUS_LOG_ERROR, ISTHMUS_LOG_WARN, ISTHMUS_LOG_INFO, ISTHMUS_LOG_DEBUG,
                                 ISTHMUS_LOG_TRACE};
    assert_words("ISTHMUS_HEAP_PAGES", "default huge 2M 1G 1g", &config.heap_pages, pages, "4k");
    assert_words("ISTHMUS_BOOTSTRAP", "auto pmix alone PMIx", &config.bootstrap, boots, "mpi");
    assert_words("ISTHMUS_COLL_BARRIER", "auto dissemination CENTRAL", &config.barrier, barriers, "centra");
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

/* ---- other names ---- */

#define WANT(field, value) \
    static bool field##_is_##value(void) { return config.field == value; }
enum { heap_1m = 1 << 20, yes = 1, no = 0 };
WANT(heap_size_bytes, heap_1m)
WANT(heap_pages, IST_PAGES_DEFAULT)
WANT(heap_pages, IST_PAGES_HUGE)
WANT(heap_pages, IST_PAGES_2M)
WANT(heap_pages, IST_PAGES_1G)
WANT(log_level, ISTHMUS_LOG_ERROR)
WANT(log_level, ISTHMUS_LOG_WARN)
WANT(log_level, ISTHMUS_LOG_INFO)
WANT(log_level, ISTHMUS_LOG_DEBUG)
WANT(log_level, ISTHMUS_LOG_TRACE)
WANT(abort_action, IST_ABORT_EXIT)
WANT(abort_action, IST_ABORT_TRAP)
WANT(abort_action, IST_ABORT_BACKTRACE)
WANT(barrier, IST_BARRIER_AUTO)
WANT(barrier, IST_BARRIER_DISSEMINATION)
WANT(barrier, IST_BARRIER_CENTRAL)
WANT(bootstrap, IST_BOOTSTRAP_AUTO)
WANT(bootstrap, IST_BOOTSTRAP_PMIX)
WANT(bootstrap, IST_BOOTSTRAP_UID)
WANT(uid_family, IST_UID_FAMILY_INET)
WANT(heap_kind, IST_HEAP_AUTO)
WANT(heap_kind, IST_HEAP_HOST)
WANT(heap_kind, IST_HEAP_DEVICE)
WANT(atomics, IST_ATOMICS_CPU)
WANT(check, yes)
WANT(verbose_print, yes)
WANT(uid_family, IST_UID_FAMILY_INET6)
WANT(team_shared_only_self, yes)
WANT(print_version, yes)
WANT(print_version, no)
WANT(print_info, yes)
static bool log_file_is_f(void) { return strcmp(config.log_file, "f") == 0; }
static bool broadcast_is_auto(void) { return config.broadcast == 0; }
static bool broadcast_is_tree(void) { return config.broadcast == 1; }
static bool fcollect_is_auto(void) { return config.fcollect == 0; }
static bool fcollect_is_ring(void) { return config.fcollect == 3; }
static bool reduce_is_auto(void) { return config.reduce == 0; }
static bool reduce_is_doubling(void) { return config.reduce == 1; }
static bool scan_is_doubling(void) { return config.scan == 1; }
static bool hca_is_f(void) { return strcmp(config.hca, "f") == 0; }
static bool log_filter_is_f(void) { return strcmp(config.log_filter, "f") == 0; }
static bool attach_delay_s_is_seven(void) { return config.attach_delay_s == 7; }
static bool stack_frames_is_seven(void) { return config.stack_frames == 7; }
static bool transports_is_all(void) { return config.transports[0] == '\0'; }
static bool transports_is_f(void) { return strcmp(config.transports, "f") == 0; }
static bool transports_leave_out_ib(void) { return strcmp(config.transports, "^ib") == 0; }
static bool transports_leave_out_three(void) { return strcmp(config.transports, "^nvlink,ib,xelink") == 0; }
static bool uid_interface_is_f(void) { return strcmp(config.uid_interface, "f") == 0; }
static bool uid_session_is_f(void) { return strcmp(config.uid_session, "f") == 0; }

static const struct alias_case {
    const char *environment;
    bool (*holds)(void);
} alias_cases[] = {
    {"SHMEM_SYMMETRIC_SIZE=1m", heap_size_bytes_is_heap_1m},
    {"SMA_SYMMETRIC_SIZE=1m", heap_size_bytes_is_heap_1m},
    {"NVSHMEM_SYMMETRIC_SIZE=1m", heap_size_bytes_is_heap_1m},
    {"ISHMEM_SYMMETRIC_SIZE=1m", heap_size_bytes_is_heap_1m},
    {"SHMEM_SYMMETRIC_HEAP_USE_HUGE_PAGES=1", heap_pages_is_IST_PAGES_HUGE},
    {"SHMEM_SYMMETRIC_HEAP_USE_HUGE_PAGES=0", heap_pages_is_IST_PAGES_DEFAULT},
    {"SHMEM_SYMMETRIC_HEAP_PAGE_SIZE=2m", heap_pages_is_IST_PAGES_2M},
    {"SHMEM_SYMMETRIC_HEAP_PAGE_SIZE=2097152", heap_pages_is_IST_PAGES_2M},
    {"SHMEM_SYMMETRIC_HEAP_PAGE_SIZE=1G", heap_pages_is_IST_PAGES_1G},
    {"SHMEM_SYMMETRIC_HEAP_USE_HUGE_PAGES=1|SHMEM_SYMMETRIC_HEAP_PAGE_SIZE=1G", heap_pages_is_IST_PAGES_1G},
    {"SHMEM_DEBUG=", log_level_is_ISTHMUS_LOG_DEBUG},
    {"SHMEM_DEBUG=yes", log_level_is_ISTHMUS_LOG_DEBUG},
    {"SHMEM_DEBUG=0", log_level_is_ISTHMUS_LOG_WARN},
    {"SMA_DEBUG=1", log_level_is_ISTHMUS_LOG_DEBUG},
    {"SHMEM_LOGGING=on", log_level_is_ISTHMUS_LOG_DEBUG},
    {"SHMEM_LOGGING=1|SHMEM_DEBUG=1", log_level_is_ISTHMUS_LOG_DEBUG},
    {"NVSHMEM_DEBUG=VERSION", log_level_is_ISTHMUS_LOG_ERROR},
    {"NVSHMEM_DEBUG=WARN", log_level_is_ISTHMUS_LOG_WARN},
    {"NVSHMEM_DEBUG=info", log_level_is_ISTHMUS_LOG_INFO},
    {"NVSHMEM_DEBUG=ABORT", log_level_is_ISTHMUS_LOG_ERROR},
    {"NVSHMEM_DEBUG=TRACE", log_level_is_ISTHMUS_LOG_TRACE},
    {"NVSHMEM_DEBUG=", log_level_is_ISTHMUS_LOG_WARN},
    {"ISHMEM_DEBUG=true", log_level_is_ISTHMUS_LOG_DEBUG},
    {"ISHMEM_DEBUG=false", log_level_is_ISTHMUS_LOG_WARN},
    {"SHMEM_LOGGING_FILE=f", log_file_is_f},
    {"NVSHMEM_DEBUG_FILE=f", log_file_is_f},
    {"SHMEM_TRAP_ON_ABORT=1", abort_action_is_IST_ABORT_TRAP},
    {"SHMEM_TRAP_ON_ABORT=n", abort_action_is_IST_ABORT_EXIT},
    {"SHMEM_BACKTRACE=gdb", abort_action_is_IST_ABORT_BACKTRACE},
    {"SHMEM_BACKTRACE=", abort_action_is_IST_ABORT_EXIT},
    {"SHMEM_BACKTRACE=auto|SHMEM_TRAP_ON_ABORT=1", abort_action_is_IST_ABORT_TRAP},
    {"SHMEM_BARRIER_ALGORITHM=auto", barrier_is_IST_BARRIER_AUTO},
    {"SHMEM_BARRIER_ALGORITHM=dissem", barrier_is_IST_BARRIER_DISSEMINATION},
    {"SHMEM_BARRIER_ALGORITHM=linear", barrier_is_IST_BARRIER_CENTRAL},
    {"SHMEM_BARRIER_ALGORITHM=tree", barrier_is_IST_BARRIER_AUTO},
    {"SHMEM_BARRIER_ALGORITHM=recdbl", barrier_is_IST_BARRIER_AUTO},
    {"SHMEM_BARRIER_ALGORITHM=ring", barrier_is_IST_BARRIER_AUTO},
    {"SHMEM_TEAM_SHARED_ONLY_SELF=1", team_shared_only_self_is_yes},
    {"ISHMEM_TEAM_SHARED_ONLY_SELF=1", team_shared_only_self_is_yes},
    {"NVSHMEM_BOOTSTRAP=PMI", bootstrap_is_IST_BOOTSTRAP_PMIX},
    {"NVSHMEM_BOOTSTRAP=mpi", bootstrap_is_IST_BOOTSTRAP_PMIX},
    {"NVSHMEM_BOOTSTRAP=SHMEM", bootstrap_is_IST_BOOTSTRAP_AUTO},
    {"NVSHMEM_BOOTSTRAP=plugin", bootstrap_is_IST_BOOTSTRAP_AUTO},
    {"NVSHMEM_BOOTSTRAP=UID", bootstrap_is_IST_BOOTSTRAP_UID},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=f", uid_interface_is_f},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_FAMILY=AF_INET", uid_family_is_IST_UID_FAMILY_INET},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_FAMILY=AF_INET6", uid_family_is_IST_UID_FAMILY_INET6},
    {"NVSHMEM_BOOTSTRAP_UID_SESSION_ID=f", uid_session_is_f},
    {"NVSHMEM_BOOTSTRAP_PMI=PMIX", bootstrap_is_IST_BOOTSTRAP_PMIX},
    {"NVSHMEM_BOOTSTRAP_PMI=PMI-2", bootstrap_is_IST_BOOTSTRAP_AUTO},
    {"NVSHMEM_BOOTSTRAP_PMI=PMIX|NVSHMEM_BOOTSTRAP=SHMEM", bootstrap_is_IST_BOOTSTRAP_AUTO},
    {"ISHMEM_RUNTIME=OpenSHMEM", bootstrap_is_IST_BOOTSTRAP_AUTO},
    {"ISHMEM_RUNTIME=MPI", bootstrap_is_IST_BOOTSTRAP_AUTO},
    {"SHMEM_BCAST_ALGORITHM=tree", broadcast_is_tree},
    {"SHMEM_BCAST_ALGORITHM=ring", broadcast_is_auto},
    {"SHMEM_FCOLLECT_ALGORITHM=ring", fcollect_is_ring},
    {"SHMEM_FCOLLECT_ALGORITHM=recdbl", fcollect_is_auto},
    {"SHMEM_REDUCE_ALGORITHM=recdbl", reduce_is_doubling},
    {"SHMEM_REDUCE_ALGORITHM=tree", reduce_is_auto},
    {"SHMEM_SCAN_ALGORITHM=recdbl", scan_is_doubling},
    {"NVSHMEM_HEAP_KIND=SYSMEM", heap_kind_is_IST_HEAP_HOST},
    {"NVSHMEM_HEAP_KIND=VIDMEM", heap_kind_is_IST_HEAP_DEVICE},
    {"ISHMEM_ENABLE_ACCESSIBLE_HOST_HEAP=1", heap_kind_is_IST_HEAP_HOST},
    {"ISHMEM_ENABLE_ACCESSIBLE_HOST_HEAP=0", heap_kind_is_IST_HEAP_AUTO},
    {"NVSHMEM_ENABLE_ERROR_CHECKS=1", check_is_yes},
    {"NVSHMEM_DISABLE_IB_NATIVE_ATOMICS=1", atomics_is_IST_ATOMICS_CPU},
    {"NVSHMEM_HCA_LIST=f", hca_is_f},
    {"NVSHMEM_HCA_PE_MAPPING=f", hca_is_f},
    {"NVSHMEM_HCA_PREFIX=f", hca_is_f},
    {"NVSHMEM_HCA_PREFIX=g|NVSHMEM_HCA_LIST=f", hca_is_f},
    {"NVSHMEM_ENABLE_NIC_PE_MAPPING=1|NVSHMEM_HCA_LIST=f", hca_is_f},
    {"NVSHMEM_DEBUG_SUBSYS=f", log_filter_is_f},
    {"NVSHMEM_DEBUG_ATTACH_DELAY=7", attach_delay_s_is_seven},
    {"ISHMEM_STACK_PRINT_LIMIT=7", stack_frames_is_seven},
    {"ISHMEM_ENABLE_VERBOSE_PRINT=1", verbose_print_is_yes},
    {"NVSHMEM_REMOTE_TRANSPORT=ibrc", transports_is_all},
    {"NVSHMEM_REMOTE_TRANSPORT=none", transports_leave_out_ib},
    {"NVSHMEM_DISABLE_P2P=1|NVSHMEM_REMOTE_TRANSPORT=none|ISHMEM_ENABLE_GPU_IPC=0", transports_leave_out_three},
    {"NVSHMEM_DISABLE_P2P=0|ISHMEM_ENABLE_GPU_IPC=1", transports_is_all},
    {"NVSHMEM_DISABLE_P2P=1|ISTHMUS_TRANSPORTS=f", transports_is_f},
    {"SHMEM_VERSION=any", print_version_is_yes},
    {"SMA_VERSION=", print_version_is_yes},
    {"NVSHMEM_VERSION=1", print_version_is_yes},
    {"ISHMEM_VERSION=1", print_version_is_yes},
    {"SHMEM_VERSION=0|SMA_VERSION=1", print_version_is_no},
    {"SHMEM_INFO=1", print_info_is_yes},
    {"SMA_INFO=1", print_info_is_yes},
    {"NVSHMEM_INFO=1", print_info_is_yes},
    {"NVSHMEM_INFO_HIDDEN=1", print_info_is_yes},
    {"ISHMEM_INFO=1", print_info_is_yes},
};
#define N_ALIAS_CASES (sizeof alias_cases / sizeof *alias_cases)

static void other_names_set_our_variables(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ALIAS_CASES; i++) {
        read_ok(alias_cases[i].environment);
        if (!alias_cases[i].holds()) fail_msg("%s is not what it should be", alias_cases[i].environment);
    }
}

static void every_other_name_has_a_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < ist_n_aliases; i++) {
        size_t length = strlen(ist_aliases[i].name), j = 0;
        while (j < N_ALIAS_CASES && (strncmp(alias_cases[j].environment, ist_aliases[i].name, length) != 0 ||
                                     alias_cases[j].environment[length] != '='))
            j++;
        if (j == N_ALIAS_CASES) fail_msg("no case for %s", ist_aliases[i].name);
    }
}

static void bad_values_of_other_names_are_refused(void **state)
{
    (void)state;
    assert_refused("NVSHMEM_DEBUG=LOUD", "NVSHMEM_DEBUG is 'LOUD'; accepted: one of VERSION WARN INFO ABORT TRACE");
    assert_refused("ISHMEM_RUNTIME=PVM", "ISHMEM_RUNTIME is 'PVM'; accepted: one of OPENSHMEM MPI PMI");
    assert_refused("SHMEM_SYMMETRIC_HEAP_PAGE_SIZE=64k", "accepted: one of 2M 2048k 2097152 1G");
    assert_refused("SHMEM_BARRIER_ALGORITHM=dissemination", "accepted: one of auto dissem linear tree recdbl ring");
    assert_refused("NVSHMEM_REMOTE_TRANSPORT=libfabric", "accepted: one of ibrc ucx ibdevx none");
    assert_refused("NVSHMEM_BOOTSTRAP==", "NVSHMEM_BOOTSTRAP is '='");
    assert_refused("NVSHMEM_BOOTSTRAP=PMI=pmix", "NVSHMEM_BOOTSTRAP is 'PMI=pmix'");
}

/* ---- who wins ---- */

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
    char path[] = "/tmp/isthmus-test-config.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    set_environment(environment);
    ist_log_open(ISTHMUS_LOG_WARN, path);
    ist_config_warn_unknown(prefixes, n);
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
    ist_config_warn_unknown(NULL, 0);
}

static void ignored_names_are_reported_with_the_reason(void **state)
{
    (void)state;
    assert_string_equal(warnings_of("SHMEM_BOUNCE_SIZE=2048", NULL, 0),
                        "isthmus: warning: environment variable SHMEM_BOUNCE_SIZE has no effect: there are no bounce "
                        "buffers\n");
    assert_string_equal(warnings_of("NVSHMEM_BOOTSTRAP=plugin", NULL, 0),
                        "isthmus: warning: environment variable NVSHMEM_BOOTSTRAP has no effect: there is no 'plugin' "
                        "here\n");
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
#define CONFIG_TEST(name) cmocka_unit_test_setup_teardown(name, clear, release)
    const struct CMUnitTest tests[] = {
        CONFIG_TEST(a_bad_heap_size_names_variable_value_and_what_is_accepted),
        CONFIG_TEST(a_quoted_value_is_short_and_printable),
        CONFIG_TEST(defaults_hold_in_an_empty_environment),
        CONFIG_TEST(texts_are_taken_as_they_are_and_copied),
        CONFIG_TEST(words_are_read_in_any_case),
        CONFIG_TEST(booleans_are_read),
        CONFIG_TEST(spin_is_auto_or_a_time),
        CONFIG_TEST(peer_timeout_is_whole_seconds),
        CONFIG_TEST(other_names_set_our_variables),
        CONFIG_TEST(every_other_name_has_a_case),
        CONFIG_TEST(bad_values_of_other_names_are_refused),
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
