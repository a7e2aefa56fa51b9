/* core/base/note_text.c, note.c, symbol.c: notes that threads write, as text. */
#include "core/base/note.h"
#include "core/base/note_page.h"
#include "core/sync/wait.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static long named_variable[4] = {1}; /* in .data */

static const char *told(const struct ist_note *note, bool with_seen)
{
    static char text[256];
    struct ist_text out = ist_text_in(text, sizeof text);
    ist_note_tell(&out, note, "/proc/self/exe", with_seen);
    return text;
}

static const char *seconds(uint64_t ns)
{
    static char text[32];
    struct ist_text out = ist_text_in(text, sizeof text);
    ist_text_add_seconds(&out, ns);
    return text;
}

static void words_for_times(void **state)
{
    (void)state;
    const uint64_t s = 1000000000;
    assert_string_equal(seconds(0), "0.0 s");
    assert_string_equal(seconds(s * 99 / 10), "9.9 s");
    assert_string_equal(seconds(12 * s), "12 s");
    assert_string_equal(seconds(180 * s), "3 min");
    assert_string_equal(seconds(7200 * s), "2 h");
}

static void text_ends_with_its_room(void **state)
{
    char room[8];
    (void)state;
    struct ist_text out = ist_text_in(room, sizeof room);
    ist_text_add(&out, "abcdefghij");
    ist_text_add_hex(&out, 5);
    assert_string_equal(room, "abcdefg");
}

static void values_have_their_width_and_sign(void **state)
{
    (void)state;
    struct ist_note note = {.kind = IST_NOTE_VARIABLE,
                            .routine = "shmem_int_wait_until",
                            .place = "static data+0x8",
                            .comparison = IST_CMP_LT,
                            .size_bytes = 4,
                            .is_signed = 1,
                            .wanted = (uint32_t)-5,
                            .pe = -1};
    assert_string_equal(told(&note, true), "in shmem_int_wait_until: static data+0x8 < -5, is 0");
    note.is_signed = 0;
    assert_string_equal(told(&note, false), "in shmem_int_wait_until: static data+0x8 < 4294967291");
    note.size_bytes = 8, note.is_signed = 1, note.wanted = UINT64_C(1) << 63;
    assert_string_equal(told(&note, false), "in shmem_int_wait_until: static data+0x8 < -9223372036854775808");
}

static void collectives_have_numbers(void **state)
{
    (void)state;
    struct ist_note note = {.kind = IST_NOTE_COLLECTIVE, .routine = "shmem_barrier_all", .collective = 41, .pe = -1};
    assert_string_equal(told(&note, true), "in shmem_barrier_all (collective 41)");
    note.team = 5;
    assert_string_equal(told(&note, true), "in shmem_barrier_all (collective 41 of team 5)");
}

static void variables_have_names(void **state)
{
    (void)state;
    struct ist_awaited awaited = {
        "shmem_long_wait_until", &named_variable[2], 7, 8, IST_CMP_EQ, true, -1, NULL, IST_ALL_OF};
    ist_awaited_note(&awaited, 1000, 2000);
    struct ist_note note;
    assert_non_null(ist_note_mine);
    assert_true(ist_note_read(ist_note_mine, &note));
    assert_non_null(strstr(told(&note, true), "shmem_long_wait_until: named_variable+0x10 (0x"));
    assert_int_equal(note.since_ns, 1000);
    named_variable[2] = 3;
    ist_awaited_note(&awaited, 0, 3000); /* the value changes, the start of the wait does not */
    assert_true(ist_note_read(ist_note_mine, &note));
    assert_int_equal(note.since_ns, 1000);
    assert_int_equal(note.seen, 3);
    ist_note_over();
    assert_false(ist_note_read(ist_note_mine, &note));
}

static void *write_note(void *unused)
{
    ist_note_call(IST_NOTE_TRANSPORT, "shmem_quiet", 3);
    return ist_note_mine != NULL ? ist_note_mine : unused;
}

/* More threads than notes, one after the other: the notes of those that have ended are free again. */
static void notes_of_dead_threads_are_free(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * IST_NOTES; i++) {
        pthread_t thread;
        void *note = NULL;
        assert_int_equal(pthread_create(&thread, NULL, write_note, NULL), 0);
        assert_int_equal(pthread_join(thread, &note), 0);
        assert_non_null(note);
    }
}

static void a_page_is_of_one_process(void **state)
{
    char path[64];
    (void)state;
    int fd = memfd_create("notes", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, 2L * IST_NOTE_PAGE_BYTES), 0);
    struct ist_note_page *pages = mmap(NULL, 2L * IST_NOTE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct ist_note_page *second = (void *)((char *)pages + IST_NOTE_PAGE_BYTES), *own = ist_note_page;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);

    ist_note_page = NULL;
    ist_note_open(path, 1);
    assert_int_equal(second->pid, getpid());
    assert_int_equal(second->launcher, getpid());
    ist_note_page = NULL;
    pages->pid = getppid(); /* another process, which is alive */
    ist_note_open(path, 0);
    assert_int_equal(pages->pid, getppid());
    assert_non_null(ist_note_page);
    ist_note_page = NULL;
    ist_note_open(path, 2); /* behind the end */
    assert_non_null(ist_note_page);
    assert_int_equal(ist_note_page->pid, getpid());
    ist_note_page = own;
}

int main(void)
{
    ist_note_open(NULL, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_for_times),
        cmocka_unit_test(text_ends_with_its_room),
        cmocka_unit_test(values_have_their_width_and_sign),
        cmocka_unit_test(collectives_have_numbers),
        cmocka_unit_test(variables_have_names),
        cmocka_unit_test(notes_of_dead_threads_are_free),
        cmocka_unit_test(a_page_is_of_one_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
