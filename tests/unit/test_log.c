/* tests/unit/test_log.c: what reaches the log file, as whole lines. */
#include "core/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/unit-log.XXXXXX";
static char path[64];
static char seen[1 << 20];

static const char *read_file(const char *name)
{
    int fd = open(name, O_RDONLY);
    assert_true(fd >= 0);
    size_t used = 0;
    for (ssize_t got; (got = read(fd, seen + used, sizeof seen - 1 - used)) > 0;) used += (size_t)got;
    seen[used] = '\0';
    close(fd);
    return seen;
}

static int open_log(void **state)
{
    (void)state;
    unlink(path);
    ist_log_set_pe(-1);
    ist_log_open(ISTHMUS_LOG_TRACE, path);
    return 0;
}

static int close_log(void **state)
{
    (void)state;
    ist_log_close();
    unlink(path);
    return 0;
}

static void lines_carry_pe_and_level(void **state)
{
    (void)state;
    ist_error("no %s", "device");
    ist_log_set_pe(3);
    ist_error("pe is %d", 9);
    ist_warn("w");
    ist_info("i");
    ist_debug("d");
    ist_log(ISTHMUS_LOG_TRACE, "t");
    ist_log_write(99, "beyond");
    assert_string_equal(read_file(path), "isthmus: no device\n"
                                         "isthmus: PE 3: pe is 9\n"
                                         "isthmus: PE 3: warning: w\n"
                                         "isthmus: PE 3: info: i\n"
                                         "isthmus: PE 3: debug: d\n"
                                         "isthmus: PE 3: trace: t\n"
                                         "isthmus: PE 3: trace: beyond\n");
}

static int evaluated;
static int count_evaluation(void) { return ++evaluated; }

static void levels_above_the_threshold_cost_nothing(void **state)
{
    (void)state;
    ist_log_open(ISTHMUS_LOG_WARN, path);
    evaluated = 0;
    ist_info("%d", count_evaluation());
    ist_debug("%d", count_evaluation());
    assert_int_equal(evaluated, 0);
    ist_warn("%d", count_evaluation());
    assert_string_equal(read_file(path), "isthmus: warning: 1\n");
    ist_log_open(ISTHMUS_LOG_ERROR, path);
    ist_warn("%d", count_evaluation());
    ist_error("%d", count_evaluation());
    assert_string_equal(read_file(path), "isthmus: warning: 1\nisthmus: 2\n");
}

static void a_long_text_is_cut_to_one_line(void **state)
{
    (void)state;
    static char longer[10000];
    memset(longer, 'x', sizeof longer - 1);
    ist_info("%s", longer);
    const char *text = read_file(path);
    size_t length = strlen(text);
    assert_in_range(length, 1000, 4096); /* PIPE_BUF: the write is atomic */
    assert_ptr_equal(strchr(text, '\n'), text + length - 1);
    assert_string_equal(text + length - 5, "x...\n");
}

/* Each length around the end of the buffer: no byte lost, none too many. */
static void texts_near_the_limit_are_whole_or_cut(void **state)
{
    (void)state;
    static char longer[3000];
    memset(longer, 'x', sizeof longer - 1);
    for (int length = 2000; length < 2060; length++) {
        open_log(NULL);
        ist_error("%.*s", length, longer);
        const char *text = read_file(path);
        size_t line = strlen(text), whole = strlen("isthmus: \n") + (size_t)length;
        bool cut = strcmp(text + line - 4, "...\n") == 0;
        assert_true(cut ? line == 2047 && whole > 2047 : line == whole);
    }
}

static void control_characters_do_not_break_the_line(void **state)
{
    (void)state;
    ist_error("a\nb\033[31mc\td\177\xc3\xa9");
    assert_string_equal(read_file(path), "isthmus: a b [31mc d \xc3\xa9\n");
}

static void errno_survives(void **state)
{
    (void)state;
    errno = EPIPE;
    ist_info("x");
    assert_int_equal(errno, EPIPE);
}

static void names_expand_host_and_process(void **state)
{
    (void)state;
    char pattern[128], name[256], host[128];
    snprintf(pattern, sizeof pattern, "%s/%%h-%%p-%%%%-%%q%%", folder);
    assert_int_equal(gethostname(host, sizeof host), 0);
    snprintf(name, sizeof name, "%s/%s-%ld-%%-%%q%%", folder, host, (long)getpid());
    ist_log_open(ISTHMUS_LOG_INFO, pattern);
    ist_info("here");
    assert_string_equal(read_file(name), "isthmus: info: here\n");
    unlink(name);
}

static void append_to_what_is_there(void **state)
{
    (void)state;
    ist_error("one");
    ist_log_close();
    ist_log_open(ISTHMUS_LOG_INFO, path);
    ist_error("two");
    assert_string_equal(read_file(path), "isthmus: one\nisthmus: two\n");
}

/* Runs the body with stderr in the file. */
static void with_stderr_in_file(void (*body)(void))
{
    int saved = dup(STDERR_FILENO), fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDERR_FILENO);
    body();
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(fd);
}

static void open_impossible_files(void)
{
    static char endless[8192];
    ist_log_open(ISTHMUS_LOG_WARN, "/nonexistent/folder/log");
    ist_error("still heard");
    memset(endless, 'x', sizeof endless - 1);
    ist_log_open(ISTHMUS_LOG_WARN, endless);
    ist_log_open(ISTHMUS_LOG_WARN, "");
    ist_log_open(ISTHMUS_LOG_WARN, NULL);
    ist_error("and now");
}

static void a_file_that_cannot_be_opened_leaves_stderr(void **state)
{
    (void)state;
    with_stderr_in_file(open_impossible_files);
    const char *text = read_file(path);
    assert_non_null(strstr(
        text,
        "isthmus: warning: cannot open the log file '/nonexistent/folder/log' (ISTHMUS_LOG_FILE): No such file or "
        "directory; logging to stderr\nisthmus: still heard\n"));
    assert_non_null(strstr(text, "File name too long"));
    assert_non_null(strstr(text, "isthmus: and now\n"));
}

static void others_cannot_read_the_file(void **state)
{
    (void)state;
    struct stat about;
    mode_t before = umask(0);
    unlink(path);
    ist_log_open(ISTHMUS_LOG_WARN, path);
    umask(before);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
}

enum { N_THREADS = 4, N_LINES = 500 };

static void *log_lines(void *tag)
{
    for (int i = 0; i < N_LINES; i++) ist_info("%s %d end", (const char *)tag, i);
    return NULL;
}

/* Each line whole, each there once, from several threads and from a child of fork. */
static void lines_of_threads_and_children_stay_whole(void **state)
{
    (void)state;
    static char tags[N_THREADS][8] = {"t0", "t1", "t2", "t3"};
    pthread_t threads[N_THREADS];
    pid_t child = fork();
    if (child == 0) {
        log_lines("child");
        _exit(0);
    }
    for (int i = 0; i < N_THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, log_lines, tags[i]), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);

    read_file(path);
    int n = 0;
    char *rest = seen;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0'; n++) {
        char tag[8];
        int number, end = 0;
        assert_int_equal(sscanf(line, "isthmus: info: %7s %d end%n", tag, &number, &end), 2);
        assert_int_equal(end, strlen(line));
    }
    assert_int_equal(n, (N_THREADS + 1) * N_LINES);
}

/* ---- areas ---- */

static bool logs(const char *filter, const char *file)
{
    assert_int_equal(ist_log_filter(filter), ISTHMUS_OK);
    bool wants = ist_log_wants(ISTHMUS_LOG_INFO, file);
    assert_true(ist_log_wants(ISTHMUS_LOG_WARN, file));
    assert_int_equal(ist_log_filter(NULL), ISTHMUS_OK);
    return wants;
}

/* Each folder of core/ is an area of its own, and no other file is in it. */
static void each_folder_is_an_area(void **state)
{
    (void)state;
    DIR *core = opendir(ISTHMUS_CORE);
    int n = 0;
    assert_non_null(core);
    for (struct dirent *entry; (entry = readdir(core)) != NULL;) {
        char file[512], others[512];
        if (strchr(entry->d_name, '.') != NULL) continue; /* a file */
        snprintf(file, sizeof file, "/home/core/transport/isthmus/core/%s/log.c", entry->d_name);
        snprintf(others, sizeof others, "^%s", entry->d_name);
        assert_true(logs(entry->d_name, file));
        assert_false(logs(entry->d_name, "/home/core/runtime.c"));
        assert_false(logs("core", file));
        assert_false(logs(others, file));
        assert_true(logs(others, "core/runtime.c"));
        assert_int_equal(ist_log_filter("nothing"), ISTHMUS_ERR_INVALID);
        assert_non_null(strstr(ist_fail_text(), entry->d_name));
        n++;
    }
    closedir(core);
    assert_true(n >= 16);
}

static void groups_are_several_areas(void **state)
{
    (void)state;
    static const struct {
        const char *filter, *file;
        bool logs;
    } cases[] = {
        {"INIT", "core/life/life.c", true},          {"INIT", "core/runtime.c", true},
        {"init", "core/check/blocks.c", false},      {"INIT", "core/stream/stream.c", false},
        {"p2p", "core/stream/stream.c", true},       {"UTIL", "core/check/blocks.c", true},
        {"coll", "core/team/team.c", true},          {"team", "core/coll/coll.c", false},
        {"^MEM", "core/memory/malloc.c", false},     {"^MEM,life", "core/life/life.c", false},
        {"ALL", "core/life/life.c", true},           {"^ALL", "core/life/life.c", false},
        {"core", "tools/isthmus-info/main.c", true}, {"life", "main.c", false},
        {"boot,life", "core/life/life.c", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(logs(cases[i].filter, cases[i].file), cases[i].logs);
}

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/log", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, open_log, close_log)
    const struct CMUnitTest tests[] = {
        LOG_TEST(lines_carry_pe_and_level),
        LOG_TEST(levels_above_the_threshold_cost_nothing),
        LOG_TEST(a_long_text_is_cut_to_one_line),
        LOG_TEST(texts_near_the_limit_are_whole_or_cut),
        LOG_TEST(control_characters_do_not_break_the_line),
        LOG_TEST(errno_survives),
        LOG_TEST(names_expand_host_and_process),
        LOG_TEST(append_to_what_is_there),
        LOG_TEST(a_file_that_cannot_be_opened_leaves_stderr),
        LOG_TEST(others_cannot_read_the_file),
        LOG_TEST(lines_of_threads_and_children_stay_whole),
        LOG_TEST(each_folder_is_an_area),
        LOG_TEST(groups_are_several_areas),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
