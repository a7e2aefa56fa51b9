/* tests/unit/ib_test.h: what the tests of the transport ib share: a core that keeps the text of a failure and has at
 * most one variable set, and a folder with made-up files of the system. */
#ifndef TESTS_UNIT_IB_TEST_H
#define TESTS_UNIT_IB_TEST_H

#include <isthmus/transport.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { PATH_ROOM = 400 };

/* ---- a core ---- */

static char failed[512];                     /* the text of the last failure */
static const char *set_variable, *set_value; /* NULL: none is set */

static inline isthmus_status keep_failure(void *core, isthmus_status code, const char *fmt, ...)
{
    va_list args;
    (void)core;
    va_start(args, fmt);
    vsnprintf(failed, sizeof failed, fmt, args);
    va_end(args);
    return code;
}

static inline const char *config(void *core, const char *key)
{
    (void)core;
    return set_variable != NULL && strcmp(key, set_variable) == 0 ? set_value : NULL;
}

/* ---- a folder, for the setup and the teardown of a group of tests ---- */

static char folder[] = "/tmp/unit-ib-XXXXXX";

static inline int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* Makes the folders of a path below that folder. */
static inline void make_folders(const char *path)
{
    char part[PATH_ROOM];
    for (const char *c = path + strlen(folder); *c != '\0'; c++) {
        if (c[1] != '/' && c[1] != '\0') continue;
        snprintf(part, sizeof part, "%.*s", (int)(c + 1 - path), path);
        (void)mkdir(part, 0700);
    }
}

static inline void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

#endif
