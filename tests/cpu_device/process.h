/* tests/cpu_device/process.h: what this process has: threads, and files that it has loaded. */
#ifndef TESTS_CPU_DEVICE_PROCESS_H
#define TESTS_CPU_DEVICE_PROCESS_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* Returns the number of threads that have a name. */
static inline int count_threads(const char *name)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;
    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        char path[300], is[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL) continue;
        if (fgets(is, sizeof is, file) != NULL) is[strcspn(is, "\n")] = '\0';
        n += strcmp(is, name) == 0;
        fclose(file);
    }
    if (tasks != NULL) closedir(tasks);
    return n;
}

/* Returns whether a file is loaded whose path has this text in it. */
static inline int is_loaded(const char *text)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) found |= strstr(line, text) != NULL;
    if (maps != NULL) fclose(maps);
    return found;
}

#endif
