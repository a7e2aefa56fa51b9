/* core/life/siblings.c: the other PEs of this host, by the launcher's list of children. See life_priv.h. */
#include "core/life/life_priv.h"

#include "core/base/config.h"
#include "core/base/process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENVIRONMENT_BYTES = 1 << 18, CHILDREN_BYTES = 1 << 14 };

/* Returns the value of a variable in this environment; NULL if it has none. */
static const char *value_of(const char *environment, int length, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = environment; at < environment + length; at += strlen(at) + 1)
        if (strncmp(at, name, n) == 0 && at[n] == '=') return at + n + 1;
    return NULL;
}

/* Returns the PE of this job that the process is; -1 if it is none. */
static int pe_of(int32_t pid)
{
    const char *job = ist_config_plugin_value("PMIX_NAMESPACE");
    char *environment = job != NULL ? malloc(ENVIRONMENT_BYTES) : NULL;
    if (environment == NULL) return -1;
    int n = ist_process_file(pid, "environ", environment, ENVIRONMENT_BYTES);
    const char *its_job = value_of(environment, n, "PMIX_NAMESPACE"), *rank = value_of(environment, n, "PMIX_RANK");
    int pe = its_job != NULL && rank != NULL && strcmp(its_job, job) == 0 ? atoi(rank) : -1;
    free(environment);
    return pe;
}

bool ist_sibling_is(int pe, int32_t pid) { return pe >= 0 && pe_of(pid) == pe; }

/* Calls visit(pid, arg) for each child of the launcher until it returns true. */
static void each_child(bool (*visit)(int32_t pid, void *arg), void *arg)
{
    char name[64], *children = malloc(CHILDREN_BYTES), *end;
    int32_t launcher = (int32_t)getppid();
    bool is_over = false;
    snprintf(name, sizeof name, "/proc/%d/task", (int)launcher);
    DIR *threads = children != NULL ? opendir(name) : NULL;
    for (const struct dirent *thread; threads != NULL && !is_over && (thread = readdir(threads)) != NULL;) {
        snprintf(name, sizeof name, "task/%.20s/children", thread->d_name);
        if (thread->d_name[0] == '.' || ist_process_file(launcher, name, children, CHILDREN_BYTES) <= 0) continue;
        char *at = children;
        for (long pid; !is_over && (pid = strtol(at, &end, 10)) > 0 && end != at; at = end)
            is_over = visit((int32_t)pid, arg);
    }
    if (threads != NULL) closedir(threads);
    free(children);
}

struct wanted {
    int pe;
    int32_t pid;
};

static bool is_wanted(int32_t pid, void *arg)
{
    struct wanted *wanted = arg;
    if (!ist_sibling_is(wanted->pe, pid)) return false;
    wanted->pid = pid;
    return true;
}

int32_t ist_sibling_find(int pe)
{
    struct wanted wanted = {.pe = pe};
    each_child(is_wanted, &wanted);
    return wanted.pid;
}

/* Returns the distance from this process's number to another, modulo 2^32. */
static uint32_t distance_of(int32_t pid) { return (uint32_t)pid - (uint32_t)getpid(); }

static bool is_nearer(int32_t pid, void *arg)
{
    struct wanted *nearest = arg;
    if (pid == (int32_t)getpid()) return false;
    if (nearest->pe >= 0 && distance_of(pid) >= distance_of(nearest->pid)) return false;
    int pe = pe_of(pid);
    if (pe >= 0) *nearest = (struct wanted){pe, pid};
    return false;
}

int ist_sibling_next(int32_t *pid)
{
    struct wanted nearest = {.pe = -1};
    each_child(is_nearer, &nearest);
    *pid = nearest.pid;
    return nearest.pe;
}

bool ist_siblings_are_suspended(void)
{
    struct ist_process launcher;
    return ist_process_read(getppid(), &launcher) && launcher.state == 'T';
}
