/* tests/unit/test_config_file.c: isthmus.conf of the system and of the user: what they set, which place wins, and what
 * is reported of lines that set nothing. */
#include "config_environment.h"

#include "core/base/json.h"

#include <errno.h>
#include <sys/stat.h>

static char folder[] = "/tmp/unit-config-file.XXXXXX", system_file[64], user_file[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(system_file, sizeof system_file, "%s/system.conf", folder);
    snprintf(user_file, sizeof user_file, "%s/isthmus.conf", folder);
    ist_config_system_file = system_file;
    return 0;
}

static int remove_files(void **state)
{
    unlink(system_file);
    if (unlink(user_file) != 0) rmdir(user_file);
    return release(state);
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void write_bytes(const char *path, const char *bytes, size_t n)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(out);
}

/* NULL: there is no such file. */
static void write_files(const char *of_system, const char *of_user)
{
    unlink(system_file);
    unlink(user_file);
    if (of_system != NULL) write_bytes(system_file, of_system, strlen(of_system));
    if (of_user != NULL) write_bytes(user_file, of_user, strlen(of_user));
}

static isthmus_status read_beside(const char *assignments)
{
    ist_config_fini(&config);
    set_environment(assignments);
    setenv("XDG_CONFIG_HOME", folder, 1);
    return ist_config_init(&config, IST_FACE_SHMEM);
}

static void read_ok_beside(const char *assignments)
{
    if (read_beside(assignments) != ISTHMUS_OK) fail_msg("%s", ist_fail_text());
}

static const char *set_by(enum ist_var_row row) { return config.set_by[row]; }

static void assert_place(enum ist_var_row row, const char *file, int line, enum ist_config_source source)
{
    char place[160];
    snprintf(place, sizeof place, "%s:%d", file, line);
    assert_string_equal(set_by(row), place);
    assert_int_equal(ist_config_source(&config, set_by(row)), source);
}

/* ---- what is set, and by which place ---- */

static void the_environment_wins_over_the_user_and_the_user_over_the_system(void **state)
{
    (void)state;
    write_files("ISTHMUS_SPIN=1us\nISTHMUS_NAP=1us\nISTHMUS_PEER_TIMEOUT=1\nISTHMUS_STACK_FRAMES=1\n",
                "ISTHMUS_NAP=2us\nISTHMUS_PEER_TIMEOUT=2");
    read_ok_beside("ISTHMUS_PEER_TIMEOUT=3");
    assert_int_equal(config.spin_ns, 1000);
    assert_place(IST_ROW_spin_ns, system_file, 1, IST_SOURCE_SYSTEM);
    assert_int_equal(config.nap_ns, 2000);
    assert_place(IST_ROW_nap_ns, user_file, 1, IST_SOURCE_USER);
    assert_int_equal(config.peer_timeout_s, 3);
    assert_string_equal(set_by(IST_ROW_peer_timeout_s), "ISTHMUS_PEER_TIMEOUT");
    assert_int_equal(ist_config_source(&config, set_by(IST_ROW_peer_timeout_s)), IST_SOURCE_ENVIRONMENT);
    assert_int_equal(config.stack_frames, 1);
    assert_place(IST_ROW_stack_frames, system_file, 4, IST_SOURCE_SYSTEM);
    assert_int_equal(ist_config_source(&config, set_by(IST_ROW_alias)), IST_SOURCE_DEFAULT);
}

static void any_name_in_the_environment_wins_over_files(void **state)
{
    (void)state;
    write_files("ISTHMUS_HEAP_SIZE=1m\nISTHMUS_TRANSPORTS=ib\n", "ISTHMUS_HEAP_SIZE=2m\n");
    read_ok_beside("SMA_SYMMETRIC_SIZE=3m|NVSHMEM_REMOTE_TRANSPORT=none");
    assert_int_equal(config.heap_size_bytes, 3 << 20);
    assert_string_equal(set_by(IST_ROW_heap_size_bytes), "SMA_SYMMETRIC_SIZE");
    assert_int_equal(config.transports[0], '^');
}

static void lines_have_blanks_comments_and_values_to_their_end(void **state)
{
    (void)state;
    write_files(
        "# a comment = none\r\n\n \t\n  ISTHMUS_TRANSPORTS \t=  ^a, b # c \r\nISTHMUS_LOG_FILE=x=y\nISTHMUS_HCA=\n",
        NULL);
    read_ok_beside("");
    assert_string_equal(config.transports, "^a, b # c");
    assert_place(IST_ROW_transports, system_file, 4, IST_SOURCE_SYSTEM);
    assert_string_equal(config.log_file, "x=y");
    assert_string_equal(config.hca, "");
    assert_place(IST_ROW_hca, system_file, 6, IST_SOURCE_SYSTEM);
}

static void the_users_file_is_in_the_folder_of_the_environment(void **state)
{
    (void)state;
    char home[64], config_folder[80], file[96];
    snprintf(home, sizeof home, "%s/home", folder);
    snprintf(config_folder, sizeof config_folder, "%s/.config", home);
    snprintf(file, sizeof file, "%s/isthmus.conf", config_folder);
    assert_int_equal(mkdir(home, 0700) | mkdir(config_folder, 0700), 0);
    write_bytes(file, "ISTHMUS_SPIN=7\n", 15);
    write_files(NULL, "ISTHMUS_SPIN=8\n");
    ist_config_fini(&config);
    clearenv();
    assert_int_equal(ist_config_init(&config, IST_FACE_SHMEM), ISTHMUS_OK);
    assert_null(config.files[IST_CONFIG_FILE_USER].path);
    ist_config_fini(&config);
    setenv("HOME", home, 1);
    assert_int_equal(ist_config_init(&config, IST_FACE_SHMEM), ISTHMUS_OK);
    assert_place(IST_ROW_spin_ns, file, 1, IST_SOURCE_USER);
    ist_config_fini(&config);
    setenv("XDG_CONFIG_HOME", "relative", 1); /* which its specification excludes */
    assert_int_equal(ist_config_init(&config, IST_FACE_SHMEM), ISTHMUS_OK);
    assert_int_equal(config.spin_ns, 7);
    ist_config_fini(&config);
    setenv("XDG_CONFIG_HOME", folder, 1);
    assert_int_equal(ist_config_init(&config, IST_FACE_SHMEM), ISTHMUS_OK);
    assert_int_equal(config.spin_ns, 8);
    assert_int_equal(unlink(file) | rmdir(config_folder) | rmdir(home), 0);
}

static void plugins_read_the_files_too(void **state)
{
    (void)state;
    write_files("ISTHMUS_IB_HCA=a\nISTHMUS_IB_OTHER=b\nISTHMUS_LOOPBACK_X=1\n", "ISTHMUS_LOOPBACK_X=2\n");
    read_ok_beside("");
    assert_string_equal(ist_config_for_plugin(&config, "ib", "OTHER"), "b");
    assert_string_equal(ist_config_for_plugin(&config, "ib", "HCA"), "a");
    assert_string_equal(ist_config_for_plugin(&config, "loopback", "X"), "2");
    assert_null(ist_config_for_plugin(&config, "loopback", "Y"));
    read_ok_beside("ISTHMUS_HCA=c|ISTHMUS_LOOPBACK_X=3");
    assert_string_equal(ist_config_for_plugin(&config, "ib", "HCA"), "c");
    assert_string_equal(ist_config_for_plugin(&config, "loopback", "X"), "3");
    read_ok_beside("ISTHMUS_HCA=c|ISTHMUS_IB_HCA=d");
    assert_string_equal(ist_config_for_plugin(&config, "ib", "HCA"), "d");
}

/* ---- what is refused ---- */

static void assert_refused_in(const char *of_system, const char *of_user, const char *format, const char *file)
{
    char expected[512];
    snprintf(expected, sizeof expected, format, file);
    write_files(of_system, of_user);
    assert_int_equal(read_beside(""), ISTHMUS_ERR_INVALID);
    if (strstr(ist_fail_text(), expected) == NULL) fail_msg("expected \"%s\", seen \"%s\"", expected, ist_fail_text());
}

static void a_bad_line_or_value_names_file_line_and_what_is_accepted(void **state)
{
    (void)state;
    const char *const line = "is 'ISTHMUS_SPIN 300ns'; accepted: NAME=VALUE, a comment after #, or an empty line";
    char expected[160];
    snprintf(expected, sizeof expected, "%%s:2 %s", line);
    assert_refused_in("#\n ISTHMUS_SPIN 300ns \nISTHMUS_NAP=1us\n", NULL, expected, system_file);
    assert_int_equal(config.nap_ns, 1000);
    assert_refused_in("=5\n", NULL, "%s:1 is '=5'; accepted: NAME=VALUE", system_file);
    assert_refused_in(NULL, "\nISTHMUS_SPIN=300nz\n",
                      "ISTHMUS_SPIN is '300nz' in %s:2; accepted: auto, or a time in nanoseconds", user_file);
    assert_int_equal(config.spin_ns, UINT64_MAX);
    assert_refused_in(NULL, "ISTHMUS_LOG=inf\n", "ISTHMUS_LOG is 'inf' in %s:1; accepted: one of error warn",
                      user_file);
    assert_refused_in("ISTHMUS_HEAP_SIZE=x\ny\n", NULL, "; ISTHMUS_HEAP_SIZE is 'x' in %s:1; accepted", system_file);
    assert_non_null(strstr(ist_fail_text(), "system.conf:2 is 'y'; accepted"));
}

static void a_bad_value_that_does_not_count_does_no_harm(void **state)
{
    (void)state;
    write_files("ISTHMUS_SPIN=x\nISTHMUS_NAP=x\n", "ISTHMUS_SPIN=1us\n");
    read_ok_beside("ISTHMUS_NAP=2us");
    assert_int_equal(config.spin_ns, 1000);
}

static void two_values_in_one_file_are_an_error(void **state)
{
    (void)state;
    assert_refused_in("ISTHMUS_SPIN=1\n\nISTHMUS_SPIN=2\n", NULL,
                      "ISTHMUS_SPIN is '1' in %s:1 and '2' in line 3, which contradict each other; keep one line",
                      system_file);
    write_files("ISTHMUS_SPIN=1\nISTHMUS_SPIN=1\n", NULL);
    read_ok_beside("");
    assert_place(IST_ROW_spin_ns, system_file, 1, IST_SOURCE_SYSTEM);
}

static void bytes_that_are_no_text_stay_in_their_line(void **state)
{
    (void)state;
    static const char bytes[] = "ISTHMUS_SPIN=1\0x\033\nISTHMUS_NAP=1us\n";
    write_files(NULL, NULL);
    write_bytes(system_file, bytes, sizeof bytes - 1);
    assert_int_equal(read_beside(""), ISTHMUS_ERR_INVALID);
    assert_non_null(strstr(ist_fail_text(), "ISTHMUS_SPIN is '1 x ' in "));
    assert_int_equal(config.nap_ns, 1000);
}

/* ---- warnings ---- */

static const char *warnings(void)
{
    static const char *const prefixes[] = {"loopback", "IB"};
    static char seen[4096], path[96];
    snprintf(path, sizeof path, "%s/log", folder);
    ist_log_open(ISTHMUS_LOG_WARN, path);
    ist_config_warn_unknown(&config, prefixes, 2);
    ist_log_close();
    FILE *in = fopen(path, "r");
    size_t n = in != NULL ? fread(seen, 1, sizeof seen - 1, in) : 0;
    seen[n] = '\0';
    if (in != NULL) fclose(in);
    unlink(path);
    return seen;
}

static void assert_warned(const char *format, const char *file)
{
    char expected[256];
    snprintf(expected, sizeof expected, format, file);
    if (strcmp(warnings(), expected) != 0) fail_msg("expected \"%s\", seen \"%s\"", expected, warnings());
}

static void unknown_settings_get_a_suggestion(void **state)
{
    (void)state;
    write_files("ISTHMUS_HEAPSIZE=1g\nISTHMUS_LOOPBACK_COPY=1\nISTHMUS_SPIN=1\n", NULL);
    read_ok_beside("");
    assert_warned("isthmus: warning: unknown setting ISTHMUS_HEAPSIZE in %s:1; did you mean ISTHMUS_HEAP_SIZE?\n",
                  system_file);
    write_files(NULL, "SHMEM_SYMMETRIC_SIZE=1g\n");
    read_ok_beside("");
    assert_int_equal(config.heap_size_bytes, 0);
    assert_warned("isthmus: warning: unknown setting SHMEM_SYMMETRIC_SIZE in %s:1; did you mean ISTHMUS_HEAP_SIZE?\n",
                  user_file);
    write_files("spin=1\n", NULL);
    read_ok_beside("");
    assert_warned("isthmus: warning: unknown setting spin in %s:1; did you mean ISTHMUS_SPIN?\n", system_file);
    write_files(NULL, "loopback_copy=1\n");
    read_ok_beside("");
    assert_warned(
        "isthmus: warning: unknown setting loopback_copy in %s:1; isthmus-info --env lists those that exist\n",
        user_file);
}

static void a_secret_is_not_taken_from_a_file(void **state)
{
    (void)state;
    write_files(NULL, "ISTHMUS_JOB_SECRET=00112233445566778899aabbccddeeff\n");
    read_ok_beside("");
    assert_null(ist_config_job_secret());
    assert_non_null(strstr(warnings(), "unknown setting ISTHMUS_JOB_SECRET in "));
}

static void a_file_that_cannot_be_read_is_reported_and_has_no_effect(void **state)
{
    (void)state;
    write_files(NULL, NULL);
    assert_int_equal(mkdir(user_file, 0700), 0);
    read_ok_beside("");
    assert_warned("isthmus: warning: cannot read %s, which has no effect: Is a directory\n", user_file);
    rmdir(user_file);
    assert_int_equal(mkfifo(user_file, 0600), 0);
    read_ok_beside("");
    assert_warned("isthmus: warning: cannot read %s, which has no effect: Invalid argument\n", user_file);
    unlink(user_file);
    read_ok_beside("");
    assert_string_equal(warnings(), "");
}

/* ---- what is printed ---- */

static char printed[1 << 16];

static void places_are_printed(void **state)
{
    (void)state;
    char expected[512];
    write_files("ISTHMUS_SPIN=1us\n", NULL);
    read_ok_beside("");
    FILE *out = fmemopen(printed, sizeof printed, "w");
    ist_config_print_files(out, &config);
    ist_config_print_set(out, &config);
    struct ist_json json = {.out = out};
    ist_config_print_json(&json, NULL, &config);
    fclose(out);
    snprintf(
        expected, sizeof expected,
        "settings from, each stronger than the one before:\n  system       %s\n  user         %s (does not exist)\n"
        "  environment\n\n  ISTHMUS_SPIN = 1us (set by %s:1)\n",
        system_file, user_file, system_file);
    assert_memory_equal(printed, expected, strlen(expected));
    snprintf(expected, sizeof expected,
             "\"set_by\": \"%s:1\",\n    \"default\": \"auto\",\n    \"source\": \"system\",\n", system_file);
    assert_non_null(strstr(printed, expected));
    assert_non_null(strstr(printed, "\"set_by\": null,\n    \"default\": null,\n    \"source\": \"default\",\n"));
}

int main(void)
{
#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, clear, remove_files)
    const struct CMUnitTest tests[] = {
        FILE_TEST(the_environment_wins_over_the_user_and_the_user_over_the_system),
        FILE_TEST(any_name_in_the_environment_wins_over_files),
        FILE_TEST(lines_have_blanks_comments_and_values_to_their_end),
        FILE_TEST(the_users_file_is_in_the_folder_of_the_environment),
        FILE_TEST(plugins_read_the_files_too),
        FILE_TEST(a_bad_line_or_value_names_file_line_and_what_is_accepted),
        FILE_TEST(a_bad_value_that_does_not_count_does_no_harm),
        FILE_TEST(two_values_in_one_file_are_an_error),
        FILE_TEST(bytes_that_are_no_text_stay_in_their_line),
        FILE_TEST(unknown_settings_get_a_suggestion),
        FILE_TEST(a_secret_is_not_taken_from_a_file),
        FILE_TEST(a_file_that_cannot_be_read_is_reported_and_has_no_effect),
        FILE_TEST(places_are_printed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
