/* tests/unit/test_ib_rc_word.c: atomics of 64 bits made of fetch and add, and compare and swap, on a double of an
 * adapter: it has only these two, and masked ones if it is told so; it executes one request at a time, and excludes no
 * other agent. */
#include "plugins/ib/rc/rc_word.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { THREADS = 4, ROUNDS = 20000 };

struct adapter {
    pthread_mutex_t busy;
    uint64_t word[3]; /* the second one is updated */
    uint32_t n_requests, n_swaps_that_fail, fails_after;
    bool has_masked;
};

/* As the adapter's manual describes it: a carry goes from bit to bit, unless the mask has the bit that it leaves. */
static uint64_t add_masked(uint64_t a, uint64_t b, uint64_t mask)
{
    uint64_t sum = 0;
    for (unsigned bit = 0, carry = 0; bit < 64; bit++) {
        unsigned ones = (unsigned)(a >> bit & 1) + (unsigned)(b >> bit & 1) + carry;
        sum |= (uint64_t)(ones & 1) << bit;
        carry = (mask >> bit & 1) != 0 ? 0 : ones >> 1;
    }
    return sum;
}

/* Another PE writes between the fetch and the swap, as often as the test sets. */
static uint64_t execute_now(struct adapter *adapter, const struct ib_word_op *request)
{
    uint64_t old = adapter->word[1];
    if (request->op == IB_FETCH_ADD) {
        adapter->word[1] = old + request->operand;
        return old;
    }
    if (request->op != IB_COMPARE_SWAP) {
        assert_true(adapter->has_masked);
        adapter->word[1] = request->op == IB_MASKED_ADD ? add_masked(old, request->operand, request->mask)
                                                        : (old & ~request->mask) | (request->operand & request->mask);
        return old;
    }
    if (adapter->n_swaps_that_fail > 0) {
        adapter->n_swaps_that_fail--;
        old = ++adapter->word[1];
    }
    if (old == request->compare) adapter->word[1] = request->operand;
    return old;
}

static isthmus_status execute(void *arg, const struct ib_word_op *request, uint64_t *old)
{
    struct adapter *adapter = arg;
    isthmus_status status = ISTHMUS_OK;
    pthread_mutex_lock(&adapter->busy);
    if (adapter->fails_after > 0 && adapter->n_requests >= adapter->fails_after)
        status = ISTHMUS_ERR_PEER_LOST;
    else
        *old = execute_now(adapter, request);
    adapter->n_requests++;
    pthread_mutex_unlock(&adapter->busy);
    return status;
}

static struct adapter adapter_with(uint64_t value)
{
    return (struct adapter){.busy = PTHREAD_MUTEX_INITIALIZER, .word = {UINT64_MAX, value, UINT64_MAX}};
}

static uint64_t update(struct adapter *adapter, uint32_t op, uint64_t operand, uint64_t compare)
{
    uint64_t old = 0;
    const struct ib_word word = {execute, adapter, adapter->has_masked};
    assert_int_equal(ib_word_update(&word, op, operand, compare, &old), ISTHMUS_OK);
    assert_true(adapter->word[0] == UINT64_MAX && adapter->word[2] == UINT64_MAX);
    return old;
}

static const uint64_t before = 0xf0f0123456789abcu, operand = 0x8000ffff00000001u;

/* op, compare; the word afterwards, and the number of requests, which are round trips. */
static const struct row {
    uint32_t op, n_requests;
    uint64_t compare, after;
} rows[] = {
    {ISTHMUS_AMO_FETCH, 1, 0, before},
    {ISTHMUS_AMO_ADD, 1, 0, before + operand},
    {ISTHMUS_AMO_COMPARE_SWAP, 1, before, operand},
    {ISTHMUS_AMO_COMPARE_SWAP, 1, before + 1, before},
    {ISTHMUS_AMO_SET, 2, 0, operand},
    {ISTHMUS_AMO_SWAP, 2, 0, operand},
    {ISTHMUS_AMO_AND, 2, 0, before &operand},
    {ISTHMUS_AMO_OR, 2, 0, before | operand},
    {ISTHMUS_AMO_XOR, 2, 0, before ^ operand},
};

static void each_operation_gives_its_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct adapter adapter = adapter_with(before);
        assert_true(update(&adapter, rows[i].op, operand, rows[i].compare) == before);
        assert_true(adapter.word[1] == rows[i].after);
        assert_int_equal(adapter.n_requests, rows[i].n_requests);
    }
}

static void masked_operations_take_one_request(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct adapter adapter = adapter_with(before);
        adapter.has_masked = true;
        assert_true(update(&adapter, rows[i].op, operand, rows[i].compare) == before);
        assert_true(adapter.word[1] == rows[i].after);
        assert_int_equal(adapter.n_requests, 1);
    }
}

/* The old value that such an operation returns and uses is that of the successful swap. */
static void others_that_come_between_are_kept(void **state)
{
    (void)state;
    struct adapter adapter = adapter_with(before);
    adapter.n_swaps_that_fail = 3;
    assert_true(update(&adapter, ISTHMUS_AMO_XOR, operand, 0) == before + 3);
    assert_true(adapter.word[1] == ((before + 3) ^ operand));
    assert_int_equal(adapter.n_requests, 1 + 4);
}

static void nothing_is_written_that_is_there(void **state)
{
    (void)state;
    struct adapter adapter = adapter_with(before);
    assert_true(update(&adapter, ISTHMUS_AMO_OR, before & operand, 0) == before);
    assert_int_equal(adapter.n_requests, 1);
}

static void failures_end_the_loop(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 3; n++) {
        struct adapter adapter = adapter_with(before);
        const struct ib_word word = {execute, &adapter, false};
        uint64_t old;
        adapter.fails_after = n;
        adapter.n_swaps_that_fail = UINT32_MAX;
        assert_int_equal(ib_word_update(&word, ISTHMUS_AMO_SWAP, operand, 0, &old), ISTHMUS_ERR_PEER_LOST);
        assert_int_equal(adapter.n_requests, n + 1);
    }
}

static void only_what_one_request_does_is_single(void **state)
{
    (void)state;
    struct ib_word_op request;
    for (uint32_t op = 0; op < ISTHMUS_AMO_COUNT; op++) {
        bool is_single = op == ISTHMUS_AMO_FETCH || op == ISTHMUS_AMO_ADD || op == ISTHMUS_AMO_COMPARE_SWAP;
        assert_int_equal(ib_word_is_single(op, operand, 0, false, &request), is_single);
        assert_true(ib_word_is_single(op, operand, 0, true, &request));
    }
}

/* Each thread toggles a bit of its own, and all count in the upper half: a lost update shows in either. */
struct toggler {
    pthread_t thread;
    struct adapter *adapter;
    uint64_t bit;
};

static void *toggle(void *arg)
{
    const struct toggler *toggler = arg;
    const struct ib_word word = {execute, toggler->adapter, false};
    uint64_t old, last = 0;
    for (int i = 0; i < ROUNDS; i++) {
        bool is_ok = ib_word_update(&word, ISTHMUS_AMO_XOR, toggler->bit, 0, &old) == ISTHMUS_OK;
        if (!is_ok || (old & toggler->bit) != last) return arg;
        last ^= toggler->bit;
        if (ib_word_update(&word, ISTHMUS_AMO_ADD, UINT64_C(1) << 32, 0, &old) != ISTHMUS_OK) return arg;
    }
    return NULL;
}

static void threads_lose_no_update(void **state)
{
    (void)state;
    struct adapter adapter = adapter_with(0);
    struct toggler togglers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        togglers[i] = (struct toggler){.adapter = &adapter, .bit = UINT64_C(1) << i};
        assert_int_equal(pthread_create(&togglers[i].thread, NULL, toggle, &togglers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(togglers[i].thread, &failed);
        assert_null(failed);
    }
    assert_true(adapter.word[1] == (uint64_t)THREADS * ROUNDS << 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_gives_its_value),       cmocka_unit_test(others_that_come_between_are_kept),
        cmocka_unit_test(nothing_is_written_that_is_there),     cmocka_unit_test(failures_end_the_loop),
        cmocka_unit_test(only_what_one_request_does_is_single), cmocka_unit_test(threads_lose_no_update),
        cmocka_unit_test(masked_operations_take_one_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
