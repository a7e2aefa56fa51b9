/* core/base/kernel_waits.c: what kernels have written about their waits, as text; note.c: until when it may be read. */
#include "core/base/kernel_waits.h"
#include "core/base/note.h"
#include "core/sync/wait.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { HEAP = 0x7f0000, HEAP_BYTES = 0x1000 };

static struct ist_kernel_waits waits;

static uint64_t what_of(uint32_t routine, uint32_t relations, uint32_t n)
{
    return (uint64_t)n << 32 | 1u << 24 | 4u << 16 | relations << 8 | routine;
}

/* In both copies. */
static void write_slot(unsigned slot, uint64_t what, uint64_t address, uint64_t thread)
{
    const uint64_t words[ISTHMUS_WAIT_WORDS] = {1, what, address, 5, (uint32_t)-3, thread, 1000 + thread, 2};
    size_t at = ISTHMUS_WAITS_SLOTS + slot * (size_t)ISTHMUS_WAIT_WORDS;
    memcpy(waits.first + at, words, sizeof words);
    memcpy(waits.second + at, words, sizeof words);
}

static int begin(void **state)
{
    (void)state;
    memset(&waits, 0, sizeof waits);
    waits.second[ISTHMUS_WAITS_HEAP] = HEAP;
    waits.second[ISTHMUS_WAITS_HEAP_BYTES] = HEAP_BYTES;
    return 0;
}

/* The text of the wait with this number; "" if there are fewer. */
static const char *told(unsigned number, bool with_seen)
{
    static char text[256];
    struct ist_text out = ist_text_in(text, sizeof text);
    struct ist_kernel_wait wait;
    unsigned next = 0;
    for (unsigned i = 0; i <= number; i++)
        if (!ist_kernel_waits_next(&waits, &next, &wait)) return text;
    ist_kernel_wait_tell(&out, &wait, with_seen);
    return text;
}

static void threads_that_wait_for_the_same_are_one(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ISTHMUS_WAIT_SLOTS; i++)
        write_slot(i, what_of(ISTHMUS_WAIT_SIGNAL, 6, 1), HEAP + 0x40 + 8 * (i % 2), i);
    assert_string_equal(told(0, true), "in a kernel's signal_wait_until: the symmetric heap+0x40 >= 5, is -3; "
                                       "thread 30 of block 0 and 15 others, after 1030 polls");
    assert_string_equal(told(1, false), "in a kernel's signal_wait_until: the symmetric heap+0x48 >= 5");
    assert_string_equal(told(2, true), "");
}

static void comparisons_are_those_of_the_host(void **state)
{
    static const char *const signs[] = {"", "< 5", "== 5", "<= 5", "> 5", "!= 5", ">= 5", ""};
    (void)state;
    for (unsigned relations = 0; relations < 8; relations++) {
        write_slot(0, what_of(ISTHMUS_WAIT_UNTIL, relations, 1), HEAP - 8, 0);
        const char *text = told(0, false), *place = "in a kernel's wait_until: 0x7efff8";
        assert_memory_equal(text, place, strlen(place));
        assert_string_equal(text + strlen(place) + (*signs[relations] != '\0'), signs[relations]);
    }
    assert_int_equal(IST_CMP_EQ, 0); /* the numbers that kernel_waits.c has */
    assert_int_equal(IST_CMP_NE, 1);
    assert_int_equal(IST_CMP_GT, 2);
    assert_int_equal(IST_CMP_GE, 3);
    assert_int_equal(IST_CMP_LT, 4);
    assert_int_equal(IST_CMP_LE, 5);
}

static void collectives_name_the_pe(void **state)
{
    (void)state;
    write_slot(7, what_of(ISTHMUS_WAIT_MEMBER, 0, 3), HEAP, (uint64_t)1 << 32 | 4);
    assert_string_equal(told(0, true), "in a kernel's barrier or sync (collective 5 of team 3): awaits PE 2; "
                                       "thread 4 of block 1, after 1004 polls");
}

/* A later version's headers, or damage. */
static void unknown_routines_have_a_text(void **state)
{
    (void)state;
    write_slot(0, what_of(99, 2, 1), HEAP, 0);
    assert_string_equal(told(0, false), "in a kernel's wait: the symmetric heap+0x0 == 5");
}

/* The thread of a slot ends its wait, and another one takes it, while the words are copied. */
static void a_slot_that_changes_is_left_out(void **state)
{
    static const int changing[] = {ISTHMUS_WAIT_VALID, ISTHMUS_WAIT_WHAT,   ISTHMUS_WAIT_ADDRESS,
                                   ISTHMUS_WAIT_VALUE, ISTHMUS_WAIT_THREAD, ISTHMUS_WAIT_PE};
    (void)state;
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++) {
        write_slot(0, what_of(ISTHMUS_WAIT_UNTIL, 2, 1), HEAP, 0);
        waits.first[ISTHMUS_WAITS_SLOTS + changing[i]]++;
        assert_string_equal(told(0, true), "");
    }
    write_slot(0, what_of(ISTHMUS_WAIT_UNTIL, 2, 1), HEAP, 0);
    waits.first[ISTHMUS_WAITS_SLOTS + ISTHMUS_WAIT_POLLS]++;
    assert_string_not_equal(told(0, true), "");
}

static void the_others_are_counted(void **state)
{
    char text[64];
    struct ist_text out = ist_text_in(text, sizeof text);
    (void)state;
    waits.second[ISTHMUS_WAITS_OTHERS] = 99968;
    ist_kernel_waits_tell_others(&out, &waits, true);
    assert_string_equal(text, "in kernels: 99968 more threads wait");
}

/* ---- the words are freed when no thread reads them ---- */

static int handled, closed; /* by the thread that closes */
static const void *seen_in_handler;

static void read_in_handler(int signal_number)
{
    (void)signal_number;
    seen_in_handler = ist_note_enter_kernel_waits(); /* no assertion here: it would jump to another thread's stack */
    ist_note_leave_kernel_waits();
    ist_store_release(&handled, 1);
}

static void *close_words(void *unused)
{
    ist_note_kernel_waits(NULL);
    ist_store_release(&closed, 1);
    return unused;
}

static void wait_for(const int *word)
{
    while (ist_load_acquire(word) == 0) sched_yield();
}

/* Begins to read, and starts a thread that closes. */
static pthread_t close_beside_reader(void)
{
    static uint64_t words[IST_KERNEL_WAITS_WORDS];
    pthread_t closer;
    closed = handled = 0;
    ist_note_kernel_waits(words);
    assert_ptr_equal(ist_note_enter_kernel_waits(), words);
    assert_int_equal(pthread_create(&closer, NULL, close_words, NULL), 0);
    while (ist_load_acquire(&ist_note_page->kernel_waits) != 0) sched_yield();
    return closer;
}

static void the_close_waits_for_readers(void **state)
{
    enum { TURNS = 1000 };
    (void)state;
    pthread_t closer = close_beside_reader();
    for (int i = 0; i < TURNS; i++) {
        sched_yield();
        assert_int_equal(ist_load_acquire(&closed), 0);
    }
    ist_note_leave_kernel_waits();
    assert_int_equal(pthread_join(closer, NULL), 0);
    assert_int_equal(closed, 1);
}

static void a_handler_may_interrupt_the_close(void **state)
{
    (void)state;
    seen_in_handler = &handled;
    signal(SIGUSR1, read_in_handler);
    pthread_t closer = close_beside_reader();
    assert_int_equal(pthread_kill(closer, SIGUSR1), 0);
    wait_for(&handled);
    assert_null(seen_in_handler);
    assert_int_equal(ist_load_acquire(&closed), 0); /* the handler has not taken the other reader's place */
    ist_note_leave_kernel_waits();
    assert_int_equal(pthread_join(closer, NULL), 0);
}

/* The reader is a thread of the parent: the close in a child would wait for ever. */
static void a_child_has_no_readers(void **state)
{
    enum { SECONDS = 20 };
    int status;
    (void)state;
    pthread_t closer = close_beside_reader();
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        ist_note_forget();
        ist_note_open(NULL, 0);
        ist_note_kernel_waits(NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ist_note_leave_kernel_waits();
    assert_int_equal(pthread_join(closer, NULL), 0);
}

int main(void)
{
    ist_note_open(NULL, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(threads_that_wait_for_the_same_are_one, begin),
        cmocka_unit_test_setup(comparisons_are_those_of_the_host, begin),
        cmocka_unit_test_setup(collectives_name_the_pe, begin),
        cmocka_unit_test_setup(unknown_routines_have_a_text, begin),
        cmocka_unit_test_setup(a_slot_that_changes_is_left_out, begin),
        cmocka_unit_test_setup(the_others_are_counted, begin),
        cmocka_unit_test(the_close_waits_for_readers),
        cmocka_unit_test(a_handler_may_interrupt_the_close),
        cmocka_unit_test(a_child_has_no_readers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
