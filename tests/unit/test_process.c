/* Unit tests of core/base/process.c: the length of a process's table of descriptors; a main thread that has ended. */
#include "core/base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int table_length(void)
{
    char text[4096];
    if (ist_process_file(getpid(), "status", text, sizeof text) < 0) return -1;
    const char *line = strstr(text, "FDSize:");
    return line != NULL ? atoi(line + strlen("FDSize:")) : -1;
}

/* ---- what the system reports about another process ---- */

static void *end_main_first(void *main_thread)
{
    pthread_join(*(pthread_t *)main_thread, NULL);
    pause();
    return NULL;
}

static void a_process_lives_when_its_main_thread_has_ended(void **state)
{
    (void)state;
    struct ist_process process = {.state = 0};
    pid_t child = fork();
    if (child == 0) {
        static pthread_t main_thread, other;
        main_thread = pthread_self();
        if (pthread_create(&other, NULL, end_main_first, &main_thread) != 0) _exit(1);
        pthread_exit(NULL);
    }
    while (ist_process_read(child, &process) && !process.has_lost_main_thread && process.state != 'Z')
        (void)poll(NULL, 0, 1);
    assert_true(process.has_lost_main_thread);
    assert_int_equal(process.state, 'S');
    assert_false(process.is_exiting);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static int lowest_free_descriptor(void)
{
    int free_one = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(free_one);
    return free_one;
}

/* In a process of its own, because a table never becomes shorter. Returns its length there. */
static int length_with_limit(rlim_t n_files)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit;
        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = n_files;
        int before = lowest_free_descriptor();
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(254);
        ist_descriptors_make_room();
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || lowest_free_descriptor() != before) _exit(253);
        _exit(table_length() / 64);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) * 64;
}

static void the_table_has_room_up_to_the_limit(void **state)
{
    struct rlimit limit;
    (void)state;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < 5000) skip();
    assert_int_equal(length_with_limit(5000), 4096);
    assert_int_equal(length_with_limit(1024), 1024);
    assert_int_equal(length_with_limit(700), 1024); /* the kernel's next size */
}

static void without_free_descriptors_it_stays_as_it_is(void **state)
{
    (void)state;
    int length = length_with_limit((rlim_t)lowest_free_descriptor() + 1); /* one is free */
    assert_int_equal(length_with_limit((rlim_t)lowest_free_descriptor()), length);
    assert_int_equal(length_with_limit(0), length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table_has_room_up_to_the_limit),
                                       cmocka_unit_test(without_free_descriptors_it_stays_as_it_is),
                                       cmocka_unit_test(a_process_lives_when_its_main_thread_has_ended)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
