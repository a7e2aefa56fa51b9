/* tests/unit/test_requests.c: the ring of kernels' requests, both sides: kernels on the CPU device, a thread as the
 * host. What the library does with requests is not here. Run with threads instead of fibres too, for ThreadSanitizer,
 * and with planted mistakes (tests/cpu_device/planted.py). */
#define ISTHMUS_DEVICE_CPU
#include "core/base/atomic.h"
#include "core/proxy/batch.h"

#include <isthmus/device_cpu_launch.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEST_BLOCKS = 3, TEST_THREADS = 4, N_ACTORS = TEST_BLOCKS * TEST_THREADS };

/* Fibres are unknown to ThreadSanitizer. */
static int launch(uint32_t blocks, uint32_t threads, isthmus_cpu_kernel kernel, void *argument)
{
#ifdef __SANITIZE_THREAD__
    return isthmus_cpu_launch_threads(blocks, threads, kernel, argument);
#else
    return isthmus_cpu_launch(blocks, threads, kernel, argument);
#endif
}

static uint32_t actor(void) { return isthmus_dev_block_rank() * TEST_THREADS + isthmus_dev_thread_rank(); }

/* ---- the host ---- */

static struct {
    struct ist_requests requests;
    pthread_t thread;
    uint64_t stop, must_end;
    void (*serve)(const struct isthmus_request *request, uint64_t ticket);
} host;

static void *serve(void *unused)
{
    struct isthmus_request request;
    (void)unused;
    while (!ist_load_acquire(&host.must_end)) {
        if (!ist_requests_take(&host.requests, &request)) {
            sched_yield();
            continue;
        }
        host.serve(&request, host.requests.next - 1);
        ist_requests_consume(&host.requests);
    }
    return NULL;
}

static void open_ring(uint32_t log2_n)
{
    const struct ist_kernel_memory of_processors = {.kernels = NULL};
    assert_int_equal(ist_requests_init(&host.requests, log2_n, &of_processors), ISTHMUS_OK);
    host.stop = host.must_end = 0;
    isthmus_device_v1 = (struct isthmus_device_state){
        .struct_size = sizeof isthmus_device_v1, .me = 0, .n = 1, .ring = &host.requests.ring, .stop = &host.stop};
}

static void start_host(void (*serve_one)(const struct isthmus_request *, uint64_t))
{
    host.serve = serve_one;
    assert_int_equal(pthread_create(&host.thread, NULL, serve, NULL), 0);
}

static void await_host(void)
{
    const struct isthmus_ring *ring = &host.requests.ring;
    while (ist_load_acquire(ring->consumed) != ist_load_relaxed(ring->tail)) sched_yield();
}

static void close_ring(void)
{
    ist_store_release(&host.must_end, 1);
    pthread_join(host.thread, NULL);
    ist_requests_fini(&host.requests);
    memset(&isthmus_device_v1, 0, sizeof isthmus_device_v1);
}

/* ---- a request on the wire ---- */

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static struct isthmus_request random_request(void)
{
    uint64_t kinds = random_bits();
    return (struct isthmus_request){(uint32_t)random_bits(), (uint8_t)kinds,         (uint8_t)(kinds >> 8),
                                    (uint8_t)(kinds >> 16),  (uint8_t)(kinds >> 24), random_bits(),
                                    random_bits(),           random_bits(),          random_bits(),
                                    random_bits(),           random_bits()};
}

static void write_wire(const struct isthmus_request *request, uint64_t turn, uint64_t *wire)
{
    uint32_t tag = isthmus_wire_tag(turn);
    for (int i = 0; i < ISTHMUS_REQUEST_WORDS; i++) wire[i] = isthmus_wire_word(request, i, tag);
    wire[ISTHMUS_REQUEST_WORDS] = isthmus_wire_last_word(request, tag);
}

static void a_request_arrives_as_it_was_written(void **state)
{
    (void)state;
    for (uint64_t turn = 0; turn < 1000; turn++) {
        struct isthmus_request in = random_request(), out;
        uint64_t wire[ISTHMUS_WIRE_WORDS];
        memset(&out, 0, sizeof out);
        write_wire(&in, turn, wire);
        assert_int_equal(isthmus_wire_read(wire, isthmus_wire_tag(turn), &out), 1);
        assert_memory_equal(&in, &out, sizeof in);
    }
}

/* Any set of its words may have arrived, while the others are those of the turn before, or were never written. */
static void a_request_is_read_only_when_all_of_it_has_arrived(void **state)
{
    (void)state;
    for (uint64_t turn = 0; turn < 600; turn++) {
        struct isthmus_request before = random_request(), now = random_request(), out;
        uint64_t old[ISTHMUS_WIRE_WORDS] = {0}, new[ISTHMUS_WIRE_WORDS], wire[ISTHMUS_WIRE_WORDS];
        if (turn > 0) write_wire(&before, turn - 1, old);
        write_wire(&now, turn, new);
        for (unsigned arrived = 0; arrived < 255; arrived++) {
            for (int i = 0; i < ISTHMUS_WIRE_WORDS; i++) wire[i] = (arrived >> i & 1) != 0 ? new[i] : old[i];
            assert_int_equal(isthmus_wire_read(wire, isthmus_wire_tag(turn), &out), 0);
        }
        assert_int_equal(isthmus_wire_read(old, isthmus_wire_tag(turn), &out), 0);
    }
}

/* ---- every request arrives once ---- */

enum { PER_ACTOR = 300 };
static uint64_t arrived[N_ACTORS], out_of_order;

static void count(const struct isthmus_request *request, uint64_t ticket)
{
    (void)ticket;
    if (request->op != ISTHMUS_REQUEST_P || request->pe >= N_ACTORS || request->extra != ~request->value) abort();
    out_of_order += request->value != arrived[request->pe];
    arrived[request->pe]++;
}

static void post_many(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < PER_ACTOR; i++) {
        struct isthmus_request request = {actor(), ISTHMUS_REQUEST_P, 0, 64, 0, i * i, 0, 8, 0, i, ~i};
        (void)isthmus_dev_post(&request);
    }
    isthmus_dev_barrier(ISTHMUS_BLOCK);
}

static uint64_t n_arrived(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < N_ACTORS; i++) sum += arrived[i];
    return sum;
}

/* Tags repeat after 255 turns, which is 510 requests in a ring of two. */
static void requests_of_a_thread_arrive_once_and_in_order(void **state)
{
    (void)state;
    for (uint32_t log2_n = 0; log2_n <= 6; log2_n += 2) {
        memset(arrived, 0, sizeof arrived);
        out_of_order = 0;
        open_ring(log2_n);
        start_host(count);
        assert_int_equal(launch(TEST_BLOCKS, TEST_THREADS, post_many, NULL), 0);
        await_host();
        close_ring();
        assert_int_equal(n_arrived(), (uint64_t)N_ACTORS * PER_ACTOR);
        assert_int_equal(out_of_order, 0);
    }
}

/* ---- the data that a request names ---- */

struct payload {
    uint64_t words[16];
};
static struct payload payloads[N_ACTORS];

static void sum_payload(const struct isthmus_request *request, uint64_t ticket)
{
    const struct payload *payload = (const struct payload *)(uintptr_t)request->local;
    uint64_t sum = 0;
    for (int i = 0; i < 16; i++) sum += payload->words[i];
    ist_requests_reply(&host.requests, ticket, sum);
}

static uint64_t wrong_sums;

static void put_payloads(void *unused)
{
    (void)unused;
    struct payload *mine = &payloads[actor()];
    for (uint64_t i = 0; i < PER_ACTOR; i++) {
        for (uint64_t k = 0; k < 16; k++) mine->words[k] = i + k;
        struct isthmus_request request = isthmus_dev_request_of(ISTHMUS_REQUEST_PUT, NULL, mine, sizeof *mine, 0);
        isthmus_dev_fence();
        if (isthmus_dev_request(&request) != 16 * i + 120) __atomic_fetch_add(&wrong_sums, 1, __ATOMIC_RELAXED);
    }
}

static void submit_payloads(void *unused)
{
    (void)unused;
    struct payload *shared = &payloads[isthmus_dev_block_rank()];
    for (uint64_t i = 0; i < 100; i++) {
        for (uint64_t k = isthmus_dev_thread_rank(); k < 16; k += TEST_THREADS) shared->words[k] = i + k;
        struct isthmus_request request = isthmus_dev_request_of(ISTHMUS_REQUEST_PUT, NULL, shared, sizeof *shared, 0);
        isthmus_dev_submit(&request, ISTHMUS_BLOCK, 0);
    }
}

static void the_host_reads_the_data_that_a_request_names(void **state)
{
    (void)state;
    wrong_sums = 0;
    open_ring(2);
    start_host(sum_payload);
    assert_int_equal(launch(TEST_BLOCKS, TEST_THREADS, put_payloads, NULL), 0);
    assert_int_equal(launch(TEST_BLOCKS, TEST_THREADS, submit_payloads, NULL), 0);
    close_ring();
    assert_int_equal(wrong_sums, 0);
}

/* ---- replies ---- */

static void answer(const struct isthmus_request *request, uint64_t ticket)
{
    if ((request->flags & ISTHMUS_REQUEST_REPLY) != 0)
        ist_requests_reply(&host.requests, ticket, 3 * request->value + request->pe);
}

static uint64_t wrong_replies;

/* Some threads wait, others do not: a slot whose reply is still to be read is wanted by both. */
static void ask_many(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < PER_ACTOR; i++) {
        struct isthmus_request request = {actor(), ISTHMUS_REQUEST_G, 0, 64, 0, 0, 0, 8, 0, i, 0};
        if ((actor() + i) % 3 == 0)
            (void)isthmus_dev_post(&request);
        else if (isthmus_dev_request(&request) != 3 * i + actor())
            __atomic_fetch_add(&wrong_replies, 1, __ATOMIC_RELAXED);
    }
}

static void a_reply_reaches_the_thread_that_waits_for_it(void **state)
{
    (void)state;
    for (uint32_t log2_n = 0; log2_n <= 4; log2_n += 2) {
        wrong_replies = 0;
        open_ring(log2_n);
        start_host(answer);
        assert_int_equal(launch(TEST_BLOCKS, TEST_THREADS, ask_many, NULL), 0);
        close_ring();
        assert_int_equal(wrong_replies, 0);
    }
}

static uint64_t first_ticket;
static int has_posted, was_early;

/* The first thread posts; the second one gives it the slot when it waits for it. */
static void post_into_the_slot(void *unused)
{
    (void)unused;
    struct isthmus_request request = {0, ISTHMUS_REQUEST_P, 0, 64, 0, 0, 0, 8, 0, 2, 0};
    if (isthmus_dev_thread_rank() == 0) {
        (void)isthmus_dev_post(&request);
        __atomic_store_n(&has_posted, 1, __ATOMIC_RELAXED);
    } else {
        while (ist_load_relaxed(host.requests.ring.tail) != 2) isthmus_dev_pause();
        was_early = __atomic_load_n(&has_posted, __ATOMIC_RELAXED);
        isthmus_dev_give_slot(first_ticket);
    }
}

/* The thread of the first request has not read its reply: the host may not get the next request of that slot. */
static void a_slot_is_not_used_again_before_its_reply_was_read(void **state)
{
    (void)state;
    open_ring(0);
    struct isthmus_request request = {0, ISTHMUS_REQUEST_G, 0, 64, ISTHMUS_REQUEST_REPLY, 0, 0, 8, 0, 1, 0}, out;
    first_ticket = isthmus_dev_write(&request);
    assert_true(ist_requests_take(&host.requests, &out));
    ist_requests_reply(&host.requests, first_ticket, 5);
    ist_requests_consume(&host.requests);
    assert_int_equal(isthmus_dev_load_turn(host.requests.ring.turns), 0);
    assert_int_equal(launch(1, 2, post_into_the_slot, NULL), 0);
    assert_int_equal(was_early, 0);
    assert_int_equal(isthmus_dev_load_turn(host.requests.ring.turns), 2);
    assert_true(ist_requests_take(&host.requests, &out));
    assert_int_equal(out.value, 2);
    start_host(answer);
    close_ring();
}

/* ---- what the host has stored for a kernel ---- */

/* The destination of a get is stored plainly, and then the reply, or the completion of a quiet. */
static void fetch_words(const struct isthmus_request *request, uint64_t ticket)
{
    if (request->op == ISTHMUS_REQUEST_QUIET) ist_requests_quieted(&host.requests, ticket + 1);
    if (request->op != ISTHMUS_REQUEST_GET) return;
    uint64_t *to = ((struct payload *)(uintptr_t)request->local)->words;
    for (uint64_t i = 0; i < 16; i++) to[i] = request->value + i;
    if ((request->flags & ISTHMUS_REQUEST_REPLY) != 0) ist_requests_reply(&host.requests, ticket, 0);
}

static void get_words(void *with_quiet)
{
    struct payload *mine = &payloads[actor()];
    for (uint64_t i = 0; i < 100; i++) {
        struct isthmus_request request = isthmus_dev_request_of(ISTHMUS_REQUEST_GET, NULL, mine, sizeof *mine, 0);
        request.value = i;
        isthmus_dev_fence(); /* what was read before is read before it is overwritten */
        if (with_quiet != NULL) {
            (void)isthmus_dev_post(&request);
            isthmus_dev_ring_quiet();
        } else {
            (void)isthmus_dev_request(&request);
        }
        for (uint64_t k = 0; k < 16; k++)
            if (mine->words[k] != i + k) __atomic_fetch_add(&wrong_sums, 1, __ATOMIC_RELAXED);
    }
}

static void a_kernel_reads_what_the_host_has_stored(void **state)
{
    (void)state;
    wrong_sums = 0;
    for (int with_quiet = 0; with_quiet < 2; with_quiet++) {
        open_ring(2);
        start_host(fetch_words);
        assert_int_equal(launch(TEST_BLOCKS, TEST_THREADS, get_words, with_quiet != 0 ? &wrong_sums : NULL), 0);
        close_ring();
    }
    assert_int_equal(wrong_sums, 0);
}

/* ---- a ring that is full ---- */

static uint64_t n_posted;

static void post_five(void *unused)
{
    (void)unused;
    for (int i = 0; i < 5; i++) {
        struct isthmus_request request = {0, ISTHMUS_REQUEST_P, 0, 64, 0, 0, 0, 8, 0, (uint64_t)i, ~(uint64_t)i};
        (void)isthmus_dev_post(&request);
        __atomic_store_n(&n_posted, (uint64_t)i + 1, __ATOMIC_RELEASE);
    }
}

static void *launch_five(void *unused)
{
    (void)unused;
    return launch(1, 1, post_five, NULL) == 0 ? &n_posted : NULL;
}

static void a_full_ring_holds_its_kernels(void **state)
{
    pthread_t kernel;
    void *result;
    (void)state;
    memset(arrived, 0, sizeof arrived);
    n_posted = 0;
    open_ring(2);
    assert_int_equal(pthread_create(&kernel, NULL, launch_five, NULL), 0);
    while (ist_load_relaxed(host.requests.ring.tail) < 5) sched_yield();
    assert_int_equal(ist_load_acquire(&n_posted), 4);
    start_host(count);
    pthread_join(kernel, &result);
    await_host();
    close_ring();
    assert_ptr_equal(result, &n_posted);
    assert_int_equal(arrived[0], 5);
}

/* ---- what has arrived, for the host's quiet ---- */

static void write_slot(uint64_t ticket)
{
    const struct isthmus_ring *ring = &host.requests.ring;
    struct isthmus_request request = random_request();
    uint64_t mask = (UINT64_C(1) << ring->log2_n) - 1;
    write_wire(&request, ticket >> ring->log2_n, ring->slots + ISTHMUS_WIRE_WORDS * (ticket & mask));
}

static void requests_behind_one_that_is_being_written_count(void **state)
{
    struct isthmus_request out;
    (void)state;
    open_ring(2);
    assert_int_equal(ist_requests_posted(&host.requests), 0);
    for (uint64_t turn = 0; turn < 600; turn++) { /* tags repeat */
        const uint64_t first = 4 * turn;
        write_slot(first + 2);
        assert_int_equal(ist_requests_posted(&host.requests), first + 3);
        write_slot(first);
        assert_true(ist_requests_take(&host.requests, &out));
        assert_int_equal(ist_requests_posted(&host.requests), first + 3);
        ist_requests_consume(&host.requests);
        assert_int_equal(ist_requests_posted(&host.requests), first + 3);
        write_slot(first + 1);
        write_slot(first + 3);
        assert_int_equal(ist_requests_posted(&host.requests), first + 4);
        for (int i = 1; i < 4; i++) assert_true(ist_requests_take(&host.requests, &out));
        ist_requests_consume(&host.requests);
        assert_int_equal(ist_requests_posted(&host.requests), first + 4);
    }
    start_host(answer);
    close_ring();
}

/* ---- quiet and fence ---- */

/* The host has started the requests below `started`, and has completed those below `completed`: at a quiet only. */
static uint64_t completed[N_ACTORS], started[N_ACTORS], n_quiets, n_fences, early;

static void complete_late(const struct isthmus_request *request, uint64_t ticket)
{
    if (request->op == ISTHMUS_REQUEST_P) started[request->pe]++;
    if (request->op == ISTHMUS_REQUEST_FENCE) n_fences++;
    if (request->op != ISTHMUS_REQUEST_QUIET) return;
    for (int i = 0; i < N_ACTORS; i++) __atomic_store_n(&completed[i], started[i], __ATOMIC_RELAXED);
    n_quiets++;
    ist_requests_quieted(&host.requests, ticket + 1);
}

static void put_and_quiet(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < 200; i++) {
        struct isthmus_request request = {actor(), ISTHMUS_REQUEST_P, 0, 64, 0, 0, 0, 8, 0, i, ~i};
        (void)isthmus_dev_post(&request);
        isthmus_dev_ring_quiet();
        if (__atomic_load_n(&completed[actor()], __ATOMIC_RELAXED) != i + 1)
            __atomic_fetch_add(&early, 1, __ATOMIC_RELAXED);
    }
}

static void a_quiet_waits_for_all_earlier_requests(void **state)
{
    (void)state;
    memset(started, 0, sizeof started);
    memset(completed, 0, sizeof completed);
    early = n_quiets = 0;
    open_ring(4);
    start_host(complete_late);
    assert_int_equal(launch(TEST_BLOCKS, TEST_THREADS, put_and_quiet, NULL), 0);
    close_ring();
    assert_int_equal(early, 0);
    assert_true(n_quiets <= (uint64_t)N_ACTORS * 200);
}

static void quiet_and_fence_of_nothing_make_no_request(void **state)
{
    (void)state;
    struct isthmus_request request = {0, ISTHMUS_REQUEST_P, 0, 64, 0, 0, 0, 8, 0, 0, 0};
    n_quiets = n_fences = 0;
    open_ring(4);
    start_host(complete_late);
    isthmus_dev_ring_quiet();
    isthmus_dev_ring_fence();
    assert_int_equal(*host.requests.ring.tail, 0);
    (void)isthmus_dev_post(&request);
    isthmus_dev_ring_fence();
    isthmus_dev_ring_quiet();
    isthmus_dev_ring_quiet();
    isthmus_dev_ring_fence();
    assert_int_equal(*host.requests.ring.tail, 3);
    close_ring();
    assert_int_equal(n_fences, 1);
    assert_int_equal(n_quiets, 1);
}

/* ---- the end of the job ---- */

static void wait_for_a_reply(void *unused)
{
    (void)unused;
    struct isthmus_request request = {0, ISTHMUS_REQUEST_G, 0, 64, 0, 0, 0, 8, 0, 0, 0};
    (void)isthmus_dev_request(&request);
}

static void *stop_soon(void *unused)
{
    (void)unused;
    while (ist_load_relaxed(host.requests.ring.tail) == 0) sched_yield();
    ist_store_release(&host.stop, 1);
    return NULL;
}

static void a_kernel_that_waits_stops_when_the_job_ends(void **state)
{
    pthread_t stopper;
    (void)state;
    open_ring(2);
    assert_int_equal(pthread_create(&stopper, NULL, stop_soon, NULL), 0);
    assert_int_equal(launch(2, 3, wait_for_a_reply, NULL), -1);
    pthread_join(stopper, NULL);
    start_host(answer);
    close_ring();
}

/* ---- the engine ---- */

static uint64_t marks[64], wrong_marks;

/* Every thread sees what the others have stored before the barrier, of a warp and of a block. */
static void meet_often(void *unused)
{
    (void)unused;
    uint32_t me = isthmus_dev_thread_rank(), n = isthmus_dev_thread_count();
    for (uint64_t i = 1; i <= 50; i++) {
        int scope = i % 2 == 0 ? ISTHMUS_BLOCK : ISTHMUS_WARP;
        uint32_t first = me - isthmus_dev_rank(scope), size = isthmus_dev_size(scope);
        marks[me] = i;
        isthmus_dev_barrier(scope);
        for (uint32_t k = first; k < first + size; k++)
            if (marks[k] != i) __atomic_fetch_add(&wrong_marks, 1, __ATOMIC_RELAXED);
        isthmus_dev_barrier(ISTHMUS_BLOCK);
    }
    if (me < n / 2) return;
    isthmus_dev_barrier(ISTHMUS_BLOCK); /* the others have ended */
}

static void threads_meet_at_barriers(void **state)
{
    (void)state;
    wrong_marks = 0;
    assert_int_equal(launch(1, 40, meet_often, NULL), 0); /* the second warp has 8 threads */
    assert_int_equal(wrong_marks, 0);
}

static void leave_one_out(void *unused)
{
    (void)unused;
    if (isthmus_dev_thread_rank() > 0) isthmus_dev_barrier(ISTHMUS_BLOCK);
    if (isthmus_dev_thread_rank() == 0) isthmus_dev_barrier(ISTHMUS_WARP);
}

/* Not with threads of the processor, which would wait for ever. */
static void a_barrier_that_not_all_threads_call_is_reported(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip();
#endif
    assert_int_equal(isthmus_cpu_launch(1, 3, leave_one_out, NULL), -1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_arrives_as_it_was_written),
        cmocka_unit_test(a_request_is_read_only_when_all_of_it_has_arrived),
        cmocka_unit_test(requests_of_a_thread_arrive_once_and_in_order),
        cmocka_unit_test(the_host_reads_the_data_that_a_request_names),
        cmocka_unit_test(a_reply_reaches_the_thread_that_waits_for_it),
        cmocka_unit_test(a_slot_is_not_used_again_before_its_reply_was_read),
        cmocka_unit_test(a_kernel_reads_what_the_host_has_stored),
        cmocka_unit_test(a_full_ring_holds_its_kernels),
        cmocka_unit_test(requests_behind_one_that_is_being_written_count),
        cmocka_unit_test(a_quiet_waits_for_all_earlier_requests),
        cmocka_unit_test(quiet_and_fence_of_nothing_make_no_request),
        cmocka_unit_test(a_kernel_that_waits_stops_when_the_job_ends),
        cmocka_unit_test(threads_meet_at_barriers),
        cmocka_unit_test(a_barrier_that_not_all_threads_call_is_reported),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
