/* tests/static_data/test_writers.c: static data moves there and back while other threads write to it, and no write is
 * lost; signals for faults of the program arrive as without the move. */
#include "core/heap/static_data.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE_LONGS = 512, N_PAGES = 1024, N_THREADS = 2, ROUNDS = 12 }; /* 4 MiB: a move takes a while */

static volatile long words[N_PAGES][PAGE_LONGS];
static bool is_stopping;

struct writer {
    long count, n_lost;
    long last[N_PAGES];
    pthread_t thread;
    int column;
};

static void *write_words(void *of)
{
    struct writer *writer = of;
    while (!__atomic_load_n(&is_stopping, __ATOMIC_RELAXED)) {
        const int page = (int)(writer->count % N_PAGES * 61 % N_PAGES);
        writer->n_lost += words[page][writer->column] != writer->last[page];
        words[page][writer->column] = writer->last[page] = writer->count + 1;
        __atomic_store_n(&writer->count, writer->count + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static struct writer *start_writers(void)
{
    const size_t n_bytes = N_THREADS * sizeof(struct writer);
    struct writer *writers = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(writers, MAP_FAILED);
    memset((void *)(uintptr_t)words, 0, sizeof words);
    __atomic_store_n(&is_stopping, false, __ATOMIC_RELAXED);
    for (int i = 0; i < N_THREADS; i++) {
        writers[i].column = i;
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_words, &writers[i]), 0);
        while (__atomic_load_n(&writers[i].count, __ATOMIC_RELAXED) == 0)
            usleep(100); /* until then it blocks signals */
    }
    return writers;
}

static void stop_writers(struct writer *writers)
{
    __atomic_store_n(&is_stopping, true, __ATOMIC_RELAXED);
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
        assert_int_equal(writers[i].n_lost, 0);
        for (int page = 0; page < N_PAGES; page++) assert_int_equal(words[page][i], writers[i].last[page]);
    }
    munmap(writers, N_THREADS * sizeof *writers);
}

static void move_there_and_back(void)
{
    struct ist_static_data moved = {0};
    if (ist_static_data_init(&moved, NULL) != ISTHMUS_OK) fail_msg("%s", ist_fail_text());
    ist_static_data_fini(&moved);
}

static void threads_lose_no_write(void **state)
{
    (void)state;
    struct writer *writers = start_writers();
    for (int round = 0; round < ROUNDS; round++) move_there_and_back();
    stop_writers(writers);
}

/* ---- faults of the program ---- */

static sigjmp_buf before_fault;
static void *volatile fault_at;

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    fault_at = info->si_addr;
    siglongjmp(before_fault, 1);
}

static void assert_faults(volatile char *at)
{
    fault_at = NULL;
    if (sigsetjmp(before_fault, 1) == 0) *at = 1;
    assert_ptr_equal(fault_at, (char *)(uintptr_t)at);
}

static void faults_of_the_program_arrive(void **state)
{
    (void)state;
    char *elsewhere = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile char *inside = (volatile char *)&words[N_PAGES / 2];
    struct sigaction own = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    inside += -(uintptr_t)inside % 4096;
    assert_int_equal(sigaction(SIGSEGV, &own, NULL), 0);
    struct writer *writers = start_writers();
    move_there_and_back();
    stop_writers(writers);
    assert_faults(elsewhere);
    assert_int_equal(mprotect((void *)(uintptr_t)inside, 4096, PROT_READ), 0);
    for (int i = 0; i < 3; i++) assert_faults(inside);
    assert_int_equal(mprotect((void *)(uintptr_t)inside, 4096, PROT_READ | PROT_WRITE), 0);
    own.sa_handler = SIG_DFL;
    own.sa_flags = 0;
    assert_int_equal(sigaction(SIGSEGV, &own, NULL), 0);
    munmap(elsewhere, 4096);
}

/* ---- a handler above the library's ---- */

static struct sigaction below_mine;
static int n_mine, n_lowest;

static void lowest(int number, siginfo_t *info, void *context)
{
    n_lowest++;
    on_fault(number, info, context);
}

static void pass_on_below(int number, siginfo_t *info, void *context)
{
    if (++n_mine > 10) _exit(3); /* the handlers call one another */
    below_mine.sa_sigaction(number, info, context);
}

static void move_with_writers(void)
{
    struct writer *writers = start_writers();
    move_there_and_back();
    stop_writers(writers);
}

/* Another library's handler, installed between two moves, passes faults on to the one that it found. The next move
 * needs a handler above it. */
static void a_fault_passes_each_handler_once(void **state)
{
    (void)state;
    volatile char *inside = (volatile char *)&words[N_PAGES / 2];
    char *elsewhere = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction own = {.sa_sigaction = lowest, .sa_flags = SA_SIGINFO};
    inside += -(uintptr_t)inside % 4096;
    assert_int_equal(sigaction(SIGSEGV, &own, NULL), 0);
    move_with_writers();
    own.sa_sigaction = pass_on_below;
    assert_int_equal(sigaction(SIGSEGV, &own, &below_mine), 0);
    move_with_writers();
    n_mine = n_lowest = 0;
    assert_faults(elsewhere);
    assert_int_equal(mprotect((void *)(uintptr_t)inside, 4096, PROT_READ), 0);
    assert_faults(inside);
    assert_faults(inside);
    assert_int_equal(mprotect((void *)(uintptr_t)inside, 4096, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(n_mine, 3);
    assert_int_equal(n_lowest, 3);
    own.sa_handler = SIG_DFL;
    own.sa_flags = 0;
    assert_int_equal(sigaction(SIGSEGV, &own, NULL), 0);
    munmap(elsewhere, 4096);
}

/* A thread that cannot take the signal would be killed by it. */
static void a_thread_that_blocks_the_signal_lives(void **state)
{
    (void)state;
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    __atomic_store_n(&is_stopping, false, __ATOMIC_RELAXED);
    static struct writer writer;
    memset((void *)(uintptr_t)words, 0, sizeof words);
    assert_int_equal(pthread_create(&writer.thread, NULL, write_words, &writer), 0);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    for (int round = 0; round < 3; round++) move_there_and_back();
    __atomic_store_n(&is_stopping, true, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(writer.thread, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_lose_no_write),
        cmocka_unit_test(faults_of_the_program_arrive),
        cmocka_unit_test(a_fault_passes_each_handler_once),
        cmocka_unit_test(a_thread_that_blocks_the_signal_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
