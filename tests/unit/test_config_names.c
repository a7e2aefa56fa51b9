/* tests/unit/test_config_names.c: names of the three interfaces and of SOS: what each does, and that all of the
 * specifications' list are known and treated as it states. */
#include "config_environment.h"

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
WANT(bootstrap, IST_BOOTSTRAP_PMI1)
WANT(bootstrap, IST_BOOTSTRAP_PMI2)
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
static bool heap_grows_is_no(void) { return !config.heap_grows; }
static bool heap_grows_is_yes(void) { return config.heap_grows; }
static bool heap_step_is_512m(void) { return config.heap_step_bytes == (uint64_t)512 << 20; }
static bool heap_reserve_is_1g(void) { return config.heap_reserve_bytes == (uint64_t)1 << 30; }
static bool log_file_is_f(void) { return strcmp(config.log_file, "f") == 0; }
static bool broadcast_is_auto(void) { return config.broadcast == 0; }
static bool broadcast_is_tree(void) { return config.broadcast == 1; }
static bool collect_is_direct(void) { return config.collect == 1; }
static bool collect_is_tree(void) { return config.collect == 2; }
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
static bool transports_leave_out_fabrics(void) { return strcmp(config.transports, "^ib,ofi") == 0; }
static bool transports_leave_out_four(void) { return strcmp(config.transports, "^nvlink,ib,ofi,xelink") == 0; }
static bool interface_is_f(void) { return strcmp(config.interface, "f") == 0; }
static bool uid_session_is_f(void) { return strcmp(config.uid_session, "f") == 0; }

static const struct alias_case {
    const char *environment;
    bool (*holds)(void);
} alias_cases[] = {
    {"SHMEM_SYMMETRIC_SIZE=1m", heap_size_bytes_is_heap_1m},
    {"SHMEM_SYMMETRIC_HEAP_SIZE=1m", heap_size_bytes_is_heap_1m},
    {"SMA_SYMMETRIC_SIZE=1m", heap_size_bytes_is_heap_1m},
    {"NVSHMEM_SYMMETRIC_SIZE=1m", heap_size_bytes_is_heap_1m},
    {"ISHMEM_SYMMETRIC_SIZE=1m", heap_size_bytes_is_heap_1m},
    {"ROCSHMEM_HEAP_SIZE=1m", heap_size_bytes_is_heap_1m},
    {"ROC_SHMEM_HEAP_SIZE=1m", heap_size_bytes_is_heap_1m},
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
    {"NVSHMEM_BOOTSTRAP=PMI", bootstrap_is_IST_BOOTSTRAP_AUTO},
    {"NVSHMEM_BOOTSTRAP=mpi", bootstrap_is_IST_BOOTSTRAP_AUTO},
    {"NVSHMEM_BOOTSTRAP=SHMEM", bootstrap_is_IST_BOOTSTRAP_AUTO},
    {"NVSHMEM_BOOTSTRAP=plugin", bootstrap_is_IST_BOOTSTRAP_AUTO},
    {"NVSHMEM_BOOTSTRAP=UID", bootstrap_is_IST_BOOTSTRAP_UID},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=f", interface_is_f},
    {"ROCSHMEM_BOOTSTRAP_SOCKET_IFNAME=f", interface_is_f},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_FAMILY=AF_INET", uid_family_is_IST_UID_FAMILY_INET},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_FAMILY=AF_INET6", uid_family_is_IST_UID_FAMILY_INET6},
    {"NVSHMEM_BOOTSTRAP_UID_SESSION_ID=f", uid_session_is_f},
    {"NVSHMEM_BOOTSTRAP_PMI=PMIX", bootstrap_is_IST_BOOTSTRAP_PMIX},
    {"NVSHMEM_BOOTSTRAP_PMI=PMI", bootstrap_is_IST_BOOTSTRAP_PMI1},
    {"NVSHMEM_BOOTSTRAP_PMI=PMI-2", bootstrap_is_IST_BOOTSTRAP_PMI2},
    {"NVSHMEM_BOOTSTRAP_PMI=PMIX|NVSHMEM_BOOTSTRAP=SHMEM", bootstrap_is_IST_BOOTSTRAP_AUTO},
    {"ISHMEM_RUNTIME=OpenSHMEM", bootstrap_is_IST_BOOTSTRAP_AUTO},
    {"ISHMEM_RUNTIME=MPI", bootstrap_is_IST_BOOTSTRAP_AUTO},
    {"SHMEM_BCAST_ALGORITHM=tree", broadcast_is_tree},
    {"SHMEM_BCAST_ALGORITHM=ring", broadcast_is_auto},
    {"SHMEM_COLLECT_ALGORITHM=linear", collect_is_direct},
    {"SHMEM_COLLECT_ALGORITHM=tree", collect_is_tree},
    {"SHMEM_FCOLLECT_ALGORITHM=ring", fcollect_is_ring},
    {"SHMEM_FCOLLECT_ALGORITHM=recdbl", fcollect_is_auto},
    {"SHMEM_REDUCE_ALGORITHM=recdbl", reduce_is_doubling},
    {"SHMEM_REDUCE_ALGORITHM=tree", reduce_is_auto},
    {"SHMEM_SCAN_ALGORITHM=recdbl", scan_is_doubling},
    {"NVSHMEM_HEAP_KIND=SYSMEM", heap_kind_is_IST_HEAP_HOST},
    {"NVSHMEM_HEAP_KIND=VIDMEM", heap_kind_is_IST_HEAP_DEVICE},
    {"ISHMEM_ENABLE_ACCESSIBLE_HOST_HEAP=1", heap_kind_is_IST_HEAP_HOST},
    {"ISHMEM_ENABLE_ACCESSIBLE_HOST_HEAP=0", heap_kind_is_IST_HEAP_AUTO},
    {"NVSHMEM_DISABLE_CUDA_VMM=1", heap_grows_is_no},
    {"NVSHMEM_DISABLE_CUDA_VMM=0", heap_grows_is_yes},
    {"NVSHMEM_CUMEM_GRANULARITY=512m", heap_step_is_512m},
    {"NVSHMEM_MAX_MEMORY_PER_GPU=1g", heap_reserve_is_1g},
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
    {"NVSHMEM_REMOTE_TRANSPORT=libfabric", transports_is_all},
    {"NVSHMEM_REMOTE_TRANSPORT=none", transports_leave_out_fabrics},
    {"NVSHMEM_DISABLE_P2P=1|NVSHMEM_REMOTE_TRANSPORT=none|ISHMEM_ENABLE_GPU_IPC=0", transports_leave_out_four},
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
    assert_refused("NVSHMEM_REMOTE_TRANSPORT=rdma", "accepted: one of ibrc ucx ibdevx libfabric none");
    assert_refused("NVSHMEM_BOOTSTRAP==", "NVSHMEM_BOOTSTRAP is '='");
    assert_refused("NVSHMEM_BOOTSTRAP=PMI=pmix", "NVSHMEM_BOOTSTRAP is 'PMI=pmix'");
}

/* ---- the specifications' list ---- */

static bool is_alias(const char *name)
{
    for (size_t i = 0; i < ist_n_aliases; i++)
        if (strcmp(ist_aliases[i].name, name) == 0) return true;
    for (size_t i = 0; i < ist_n_exclusions; i++)
        if (strcmp(ist_exclusions[i].name, name) == 0) return true;
    for (size_t i = 0; i < ist_n_plugin_aliases; i++)
        if (strcmp(ist_plugin_aliases[i].name, name) == 0) return true;
    return false;
}

static bool is_in(const struct ist_ignored *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0) return true;
    return false;
}

enum { HONOUR, ALIAS, WARN, SILENT, SYSTEM };
static const struct row {
    const char *name;
    int wanted;
} rows[] = {
#define ROW(name, wanted) {name, wanted},
#include "environment_rows.def"
};

/* Some variables that the list ignores have values with a meaning here, and others that cause a warning. */
static bool is_as_wanted(const struct row *row)
{
    bool alias = is_alias(row->name), silent = is_in(ist_silent_names, ist_n_silent_names, row->name);
    bool ignored = is_in(ist_ignored_names, ist_n_ignored_names, row->name);
    if (alias + silent + ignored != (row->wanted != SYSTEM)) return false;
    switch (row->wanted) {
    case HONOUR: return alias;
    case ALIAS: return alias || ignored;
    case WARN: return ignored || alias;
    case SILENT: return silent;
    default: return true;
    }
}

static void every_variable_of_the_specifications_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!is_as_wanted(&rows[i])) fail_msg("%s is not treated as it should be", rows[i].name);
}

static void plugins_read_other_names_too(void **state)
{
    (void)state;
    set_environment("NVSHMEM_IB_GID_INDEX=3|ISTHMUS_IB_SL=1|NVSHMEM_IB_SL=2");
    assert_string_equal(ist_config_plugin_value("ISTHMUS_IB_GID_INDEX"), "3");
    assert_string_equal(ist_config_plugin_value("ISTHMUS_IB_SL"), "1");
    assert_null(ist_config_plugin_value("ISTHMUS_IB_TRAFFIC_CLASS"));
    set_environment("NVSHMEM_LIBFABRIC_PROVIDER=cxi|SHMEM_OFI_DOMAIN=cxi0");
    assert_string_equal(ist_config_plugin_value("ISTHMUS_OFI_PROVIDER"), "cxi");
    assert_string_equal(ist_config_plugin_value("ISTHMUS_OFI_DOMAIN"), "cxi0");
    set_environment("SHMEM_OFI_PROVIDER=tcp;ofi_rxm");
    assert_string_equal(ist_config_plugin_value("ISTHMUS_OFI_PROVIDER"), "tcp;ofi_rxm");
}

/* HCA: the transport's own variable first. Others: one for the job, whatever the transport's own variable is. */
static void plugins_share_some_keys(void **state)
{
    (void)state;
    read_ok("ISTHMUS_HCA=all|ISTHMUS_IB_HCA=own|ISTHMUS_ATOMICS=cpu|ISTHMUS_IB_ATOMICS=nic|ISTHMUS_IB_SL=7");
    assert_string_equal(ist_config_for_plugin(&config, "ib", "HCA"), "own");
    assert_string_equal(ist_config_for_plugin(&config, "tcp", "HCA"), "all");
    assert_string_equal(ist_config_for_plugin(&config, "ib", "ATOMICS"), "cpu");
    assert_string_equal(ist_config_for_plugin(&config, "ib", "SL"), "7");
    assert_null(ist_config_for_plugin(&config, "tcp", "SL"));
    read_ok("ISTHMUS_ATOMICS=NIC");
    assert_string_equal(ist_config_for_plugin(&config, "ib", "ATOMICS"), "nic");
    assert_string_equal(ist_config_for_plugin(&config, "ib", "HCA"), "");
    assert_string_equal(ist_config_for_plugin(&config, "hook", "PLUGIN_PATH"), "");
    read_ok("ISTHMUS_PLUGIN_PATH=/a:/b|ISTHMUS_HOOK_PLUGIN_PATH=/c");
    assert_string_equal(ist_config_for_plugin(&config, "hook", "PLUGIN_PATH"), "/a:/b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFIG_TEST(other_names_set_our_variables),         CONFIG_TEST(every_other_name_has_a_case),
        CONFIG_TEST(bad_values_of_other_names_are_refused), CONFIG_TEST(every_variable_of_the_specifications_is_known),
        CONFIG_TEST(plugins_read_other_names_too),          CONFIG_TEST(plugins_share_some_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
