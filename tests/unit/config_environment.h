/* tests/unit/config_environment.h: what the tests of the configuration share: environments written as
 * "NAME=value|NAME=value", and the results of reading them. */
#ifndef TESTS_UNIT_CONFIG_ENVIRONMENT_H
#define TESTS_UNIT_CONFIG_ENVIRONMENT_H

#include "core/base/config_priv.h"
#include "core/base/log.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)

static struct ist_config config;

static inline int clear(void **state)
{
    (void)state;
    clearenv();
    return 0;
}

static inline int release(void **state)
{
    (void)state;
    ist_config_fini(&config);
    return 0;
}

/* "A=1|B=2": only these are set. */
static inline void set_environment(const char *assignments)
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

static inline isthmus_status read_as(enum ist_face face, const char *assignments)
{
    ist_config_fini(&config);
    set_environment(assignments);
    return ist_config_init(&config, face);
}

static inline void read_ok(const char *assignments)
{
    if (read_as(IST_FACE_SHMEM, assignments) != ISTHMUS_OK) fail_msg("%s: %s", assignments, ist_fail_text());
}

static inline void assert_refused(const char *assignments, const char *text)
{
    assert_int_equal(read_as(IST_FACE_SHMEM, assignments), ISTHMUS_ERR_INVALID);
    if (strstr(ist_fail_text(), text) == NULL)
        fail_msg("%s: expected \"%s\", seen \"%s\"", assignments, text, ist_fail_text());
}

#define CONFIG_TEST(name) cmocka_unit_test_setup_teardown(name, clear, release)

#endif
