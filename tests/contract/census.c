/* tests/contract/census.c: see cases.h. The kernel's view: /proc/self. */
#include "cases.h"

#include <dirent.h>
#include <stdio.h>

static int entries_of(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    CT_CHECK(dir != NULL, "%s cannot be read", folder);
    while (readdir(dir) != NULL) n++;
    closedir(dir);
    return n;
}

static int lines_of(const char *path)
{
    int n = 0;
    FILE *file = fopen(path, "r");
    CT_CHECK(file != NULL, "%s cannot be read", path);
    for (int c; (c = fgetc(file)) != EOF;) n += c == '\n';
    fclose(file);
    return n;
}

struct ct_census ct_census_take(void)
{
    return (struct ct_census){
        .descriptors = entries_of("/proc/self/fd"),
        .mappings = lines_of("/proc/self/maps"),
        .threads = entries_of("/proc/self/task"),
    };
}

void ct_census_compare(const struct ct_census *before, int slack_mappings, const char *after_what)
{
    struct ct_census now = ct_census_take();
    CT_CHECK(now.descriptors == before->descriptors, "%d descriptors after %s, %d before", now.descriptors, after_what,
             before->descriptors);
    CT_CHECK(now.threads == before->threads, "%d threads after %s, %d before", now.threads, after_what,
             before->threads);
    CT_CHECK(now.mappings <= before->mappings + slack_mappings, "%d mappings after %s, %d before", now.mappings,
             after_what, before->mappings);
}
