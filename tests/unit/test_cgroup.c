/* Unit tests of core/topo/cgroup.c: limits in trees of files as the versions of control groups lay them out. */
#include "core/topo/topo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char root[64];

static void write_file(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *at = strchr(path + strlen(root) + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void set_own(const char *groups) { write_file("/proc/thread-self/cgroup", groups); }

static int set_up(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/isthmus-cgroup.XXXXXX");
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command); /* NOLINT(cert-env33-c): a folder of this test */
}

static void no_group_is_no_limit(void **state)
{
    (void)state;
    assert_true(ist_cgroup_memory_bytes(root) == UINT64_MAX);
    set_own("0::/\n");
    assert_true(ist_cgroup_memory_bytes(root) == UINT64_MAX);
    assert_true(ist_cgroup_cpu_percent(root) == UINT64_MAX);
}

static void v2_has_the_least_of_all_ancestors(void **state)
{
    (void)state;
    set_own("0::/slurm/job_7/step_0\n");
    write_file("/sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
    write_file("/sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "300000 100000\n");
    write_file("/sys/fs/cgroup/slurm/job_7/memory.max", "1048576\n");
    write_file("/sys/fs/cgroup/slurm/memory.max", "2097152\n");
    write_file("/sys/fs/cgroup/slurm/cpu.max", "50000 100000\n");
    write_file("/sys/fs/cgroup/slurm/job_7/cpu.max", "max 100000\n");
    assert_true(ist_cgroup_memory_bytes(root) == 1048576);
    assert_true(ist_cgroup_cpu_percent(root) == 50);
}

static void a_path_that_does_not_exist_has_the_root(void **state)
{
    (void)state;
    set_own("0::/../docker/0123\n");
    write_file("/sys/fs/cgroup/memory.max", "4096000\n");
    write_file("/sys/fs/cgroup/cpu.max", "150000 100000\n");
    assert_true(ist_cgroup_memory_bytes(root) == 4096000);
    assert_true(ist_cgroup_cpu_percent(root) == 150);
}

static void v1_follows_its_own_lines(void **state)
{
    (void)state;
    set_own("5:cpuset:/other\n4:cpu,cpuacct:/box/in\n3:memory:/slurm/job_7/step_0\n2:memory_other:/wrong\n"
            "1:name=systemd:/user\n");
    write_file("/sys/fs/cgroup/memory/slurm/job_7/step_0/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("/sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", "1048576\n");
    write_file("/sys/fs/cgroup/memory/wrong/memory.limit_in_bytes", "4096\n");
    write_file("/sys/fs/cgroup/cpu/box/in/cpu.cfs_quota_us", "-1\n");
    write_file("/sys/fs/cgroup/cpu/box/in/cpu.cfs_period_us", "100000\n");
    assert_true(ist_cgroup_memory_bytes(root) == 1048576);
    assert_true(ist_cgroup_cpu_percent(root) == UINT64_MAX);
    write_file("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "200000\n");
    write_file("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
    assert_true(ist_cgroup_cpu_percent(root) == 200);
}

static void both_versions_at_once(void **state)
{
    (void)state;
    set_own("3:memory:/job\n0::/job\n");
    write_file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2097152\n");
    assert_true(ist_cgroup_memory_bytes(root) == 2097152);
    write_file("/sys/fs/cgroup/unified/job/memory.max", "1048576\n");
    write_file("/sys/fs/cgroup/unified/cpu.max", "100000 100000\n");
    assert_true(ist_cgroup_memory_bytes(root) == 2097152); /* its controller is one of version 1 */
    assert_true(ist_cgroup_cpu_percent(root) == 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_group_is_no_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(v2_has_the_least_of_all_ancestors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_path_that_does_not_exist_has_the_root, set_up, tear_down),
        cmocka_unit_test_setup_teardown(v1_follows_its_own_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(both_versions_at_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
