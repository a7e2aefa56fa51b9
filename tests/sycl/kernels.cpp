/* tests/sycl/kernels.cpp: Intel SHMEM's routines in SYCL kernels, by work-items, sub-groups and work-groups, against
 * what plain loops expect. The program host.cpp compiles this text while it runs, and starts each kernel on all PEs
 * with one work-group of ITEMS work-items. Which way the operations go is set from outside. */
#include <sycl/sycl.hpp>

#include <ishmem.h>
#include <ishmemx.h>

#include "memory.h"

#define KERNEL extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>)) void
#define CHECK_EQ(seen, expected) check(m, (long)(seen), (long)(expected), __LINE__)

namespace here = sycl::ext::oneapi::this_work_item;
using group_t = sycl::group<1>;

static void check(memory *m, long seen, long expected, int line)
{
    if (seen == expected) return;
    sycl::atomic_ref<uint32_t, sycl::memory_order::relaxed, sycl::memory_scope::device> n(m->n_faults);
    if (n.fetch_add(1) > 0) return;
    m->line = line, m->seen = seen, m->expected = expected;
}

/* ---- the caller: every work-item, each sub-group, or the work-group ----
 * Each caller has a slice of the memory. The forms of the routines differ by caller, their arguments do not. */

struct by_item {
    static int slice() { return (int)here::get_work_group<1>().get_local_linear_id(); }
    static int rank() { return 0; }
    static int size() { return 1; }
    static void meet() {}
};

struct by_sub_group {
    static sycl::sub_group group() { return here::get_sub_group(); }
    static int slice() { return (int)group().get_group_linear_id(); }
    static int rank() { return (int)group().get_local_linear_id(); }
    static int size() { return (int)group().get_local_linear_range(); }
    static void meet() { sycl::group_barrier(group()); }
};

struct by_group {
    static group_t group() { return here::get_work_group<1>(); }
    static int slice() { return 0; }
    static int rank() { return (int)group().get_local_linear_id(); }
    static int size() { return ITEMS; }
    static void meet() { sycl::group_barrier(group()); }
};

template <typename Caller> constexpr bool is_item = std::is_same<Caller, by_item>::value;

/* All work-items of all PEs. */
static void everybody() { ishmemx_barrier_all_work_group(here::get_work_group<1>()); }

static long value_of(int pe, int slice, long i, int round)
{
    return 1000000L * (pe + 1) + 10000 * slice + 100 * round + i;
}

template <typename Caller> static void write_source(memory *m, int round)
{
    for (int i = Caller::rank(); i < SLICE; i += Caller::size()) {
        long at = Caller::slice() * SLICE + i;
        m->source[at] = value_of(m->me, Caller::slice(), i, round);
        m->dest[at] = m->back[at] = -1;
    }
    Caller::meet();
}

/* n elements, `step` apart, are those of `pe` from its source on, `source_step` apart. */
template <typename Caller>
static void check_slice(memory *m, const long *at, int pe, int n, int step, int source_step, int round, int line)
{
    Caller::meet();
    for (int i = Caller::rank(); i < n; i += Caller::size())
        check(m, at[i * step], value_of(pe, Caller::slice(), i * source_step, round), line);
    Caller::meet();
}
#define CHECK_SLICE(at, pe, n, step, source_step, round) \
    check_slice<Caller>(m, at, pe, n, step, source_step, round, __LINE__)

/* ---- put and get ---- */

template <typename Caller> static void quiet()
{
    if constexpr (is_item<Caller>)
        ishmem_quiet();
    else
        ishmemx_quiet_work_group(Caller::group());
}

/* n: some bytes in 8, so that every form moves the same. */
template <typename Caller> static void put_by_form(memory *m, long *dest, const long *source, size_t n, int form)
{
    if constexpr (is_item<Caller>) switch (form) {
        case 0: ishmem_long_put(dest, source, n, m->right); break;
        case 1: ishmem_put(dest, source, n, m->right); break;
        case 2: ishmem_put64(dest, source, n, m->right); break;
        case 3: ishmem_putmem(dest, source, n * sizeof(long), m->right); break;
        case 4: ishmem_long_put_nbi(dest, source, n, m->right); break;
        case 5: ishmem_put8_nbi(dest, source, n * sizeof(long), m->right); break;
        default: ishmem_putmem_nbi(dest, source, n * sizeof(long), m->right); break;
        }
    else
        switch (form) {
        case 0: ishmemx_long_put_work_group(dest, source, n, m->right, Caller::group()); break;
        case 1: ishmemx_put_work_group(dest, source, n, m->right, Caller::group()); break;
        case 2: ishmemx_put64_work_group(dest, source, n, m->right, Caller::group()); break;
        case 3: ishmemx_putmem_work_group(dest, source, n * sizeof(long), m->right, Caller::group()); break;
        case 4: ishmemx_long_put_nbi_work_group(dest, source, n, m->right, Caller::group()); break;
        case 5: ishmemx_put8_nbi_work_group(dest, source, n * sizeof(long), m->right, Caller::group()); break;
        default: ishmemx_putmem_nbi_work_group(dest, source, n * sizeof(long), m->right, Caller::group()); break;
        }
}

template <typename Caller> static void get_by_form(memory *m, long *dest, const long *source, size_t n, int form)
{
    if constexpr (is_item<Caller>) switch (form) {
        case 0: ishmem_long_get(dest, source, n, m->right); break;
        case 1: ishmem_get(dest, source, n, m->right); break;
        case 2: ishmem_get16(dest, source, n * 4, m->right); break;
        case 3: ishmem_getmem(dest, source, n * sizeof(long), m->right); break;
        default: ishmem_get_nbi(dest, source, n, m->right); break;
        }
    else
        switch (form) {
        case 0: ishmemx_long_get_work_group(dest, source, n, m->right, Caller::group()); break;
        case 1: ishmemx_get_work_group(dest, source, n, m->right, Caller::group()); break;
        case 2: ishmemx_get16_work_group(dest, source, n * 4, m->right, Caller::group()); break;
        case 3: ishmemx_getmem_work_group(dest, source, n * sizeof(long), m->right, Caller::group()); break;
        default: ishmemx_get_nbi_work_group(dest, source, n, m->right, Caller::group()); break;
        }
}

template <typename Caller> static void copies(memory *m)
{
    long at = Caller::slice() * SLICE;
    for (int form = 0; form < 7; form++) {
        int n = 1 + 9 * form;
        write_source<Caller>(m, form);
        everybody();
        put_by_form<Caller>(m, m->dest + at, m->source + at, (size_t)n, form);
        quiet<Caller>();
        everybody();
        CHECK_SLICE(m->dest + at, m->left, n, 1, 1, form);
        get_by_form<Caller>(m, m->back + at, m->source + at, (size_t)n, form);
        quiet<Caller>();
        CHECK_SLICE(m->back + at, m->right, n, 1, 1, form);
        everybody();
    }
}

KERNEL copies_by_item(memory *m) { copies<by_item>(m); }
KERNEL copies_by_group(memory *m) { copies<by_group>(m); }
#ifndef WITHOUT_SUB_GROUPS
KERNEL copies_by_sub_group(memory *m) { copies<by_sub_group>(m); }
#endif

template <typename Caller> static void strided(memory *m)
{
    long at = Caller::slice() * SLICE, *dest = m->dest + at, *source = m->source + at, *back = m->back + at;
    write_source<Caller>(m, 0);
    everybody();
    if constexpr (is_item<Caller>) {
        ishmem_long_iput(dest, source, 3, 2, 20, m->right);
        ishmem_iget64(back, source, 1, 4, 11, m->right);
    } else {
        ishmemx_iput_work_group(dest, source, 3, 2, 20, m->right, Caller::group());
        ishmemx_iget64_work_group(back, source, 1, 4, 11, m->right, Caller::group());
    }
    quiet<Caller>();
    everybody();
    CHECK_SLICE(dest, m->left, 20, 3, 2, 0);
    CHECK_SLICE(back, m->right, 11, 1, 4, 0);
    write_source<Caller>(m, 1);
    everybody();
    if constexpr (is_item<Caller>) {
        ishmemx_ibput(dest, source, 4, 6, 2, 8, m->right);
        ishmemx_long_ibget(back, source, 4, 6, 2, 8, m->right);
    } else {
        ishmemx_long_ibput_work_group(dest, source, 4, 6, 2, 8, m->right, Caller::group());
        ishmemx_ibget_work_group(back, source, 4, 6, 2, 8, m->right, Caller::group());
    }
    quiet<Caller>();
    everybody();
    CHECK_SLICE(dest, m->left, 8, 4, 6, 1);
    CHECK_SLICE(back, m->right, 8, 4, 6, 1);
    everybody();
}

KERNEL strided_by_item(memory *m) { strided<by_item>(m); }
KERNEL strided_by_group(memory *m) { strided<by_group>(m); }

template <typename T> static void element(memory *m, T value, T theirs)
{
    T *word = (T *)(m->dest + by_item::slice() * SLICE);
    ishmem_p(word, value, m->right);
    ishmem_quiet();
    everybody();
    CHECK_EQ(*word == theirs, 1);
    CHECK_EQ(ishmem_g(word, m->right) == value, 1);
    everybody();
}

KERNEL elements(memory *m)
{
    element<char>(m, (char)(m->me + 1), (char)(m->left + 1));
    element<short>(m, (short)(-1000 - m->me), (short)(-1000 - m->left));
    element<float>(m, 1.5f + (float)m->me, 1.5f + (float)m->left);
    element<double>(m, -2.5 - m->me, -2.5 - m->left);
    element<uint64_t>(m, UINT64_C(0x0123456789abcdef) + (uint64_t)m->me,
                      UINT64_C(0x0123456789abcdef) + (uint64_t)m->left);
}

/* ---- atomics: all work-items of all PEs on words of PE 0 ---- */

KERNEL atomics(memory *m)
{
    int *narrow = (int *)(m->words + 3);
    signed char *bytes = (signed char *)(m->words + 4);
    unsigned long *bits = (unsigned long *)(m->words + 5), bit = 1ul << by_item::slice();
    long calls = (long)m->n * ITEMS;
    for (int i = 0; i < 4; i++) {
        ishmem_long_atomic_inc(&m->words[0], 0);
        (void)ishmem_atomic_fetch_add(&m->words[0], 2L, 0);
        long seen = ishmem_long_atomic_fetch(&m->words[1], 0), expected;
        do {
            expected = seen;
            seen = ishmem_atomic_compare_swap(&m->words[1], expected, expected + 1, 0);
        } while (seen != expected);
        ishmem_int_atomic_add(narrow, -1, 0);
        (void)ishmem_int_atomic_fetch_inc(narrow + 1, 0);
    }
    ishmem_schar_atomic_add(bytes + by_item::slice() % 4, 1, 0);
    ishmem_ulong_atomic_or(bits, bit, 0);
    unsigned long old = ~0ul;
    ishmem_ulong_atomic_fetch_xor_nbi(&old, bits + 1, bit, 0);
    ishmem_quiet();
    CHECK_EQ(old >> 32, 0);
    everybody();
    CHECK_EQ(ishmem_g(&m->words[0], 0), 12 * calls);
    CHECK_EQ(ishmem_g(&m->words[1], 0), 4 * calls);
    CHECK_EQ(ishmem_g(narrow, 0), -4 * calls);
    CHECK_EQ(ishmem_g(narrow + 1, 0), 4 * calls);
    CHECK_EQ(ishmem_g(bytes + 3, 0), calls / 4);
    CHECK_EQ(ishmem_g(bytes + 4, 0), 0);
    CHECK_EQ(ishmem_g(bits, 0), 0xffffffffl);
    CHECK_EQ(ishmem_g(bits + 1, 0), m->n % 2 == 1 ? 0xffffffffl : 0);
    float *real = (float *)(m->dest + by_item::slice());
    ishmem_atomic_set(real, 1.5f + (float)m->me, m->right);
    ishmem_quiet();
    everybody();
    CHECK_EQ(ishmem_float_atomic_swap(real, 9.0f, m->me) == 1.5f + (float)m->left, 1);
    CHECK_EQ(ishmem_float_atomic_fetch(real, m->me), 9);
}

/* ---- signals ---- */

template <typename Caller> static void signals(memory *m)
{
    long at = Caller::slice() * SLICE, *dest = m->dest + at, *source = m->source + at;
    uint64_t *signal = m->signals + Caller::slice(), seen;
    for (int round = 0; round < 6; round++) {
        int n = 3 + 10 * round, op = round % 2 == 0 ? ISHMEM_SIGNAL_SET : ISHMEM_SIGNAL_ADD;
        uint64_t value = op == ISHMEM_SIGNAL_SET ? (uint64_t)round + 1 : 1;
        write_source<Caller>(m, round);
        everybody();
        if constexpr (is_item<Caller>) {
            if (round < 3)
                ishmem_put_signal(dest, source, (size_t)n, signal, value, op, m->right);
            else
                ishmem_long_put_signal_nbi(dest, source, (size_t)n, signal, value, op, m->right);
            seen = ishmem_signal_wait_until(signal, ISHMEM_CMP_GE, (uint64_t)round + 1);
        } else {
            if (round < 3)
                ishmemx_long_put_signal_work_group(dest, source, (size_t)n, signal, value, op, m->right,
                                                   Caller::group());
            else
                ishmemx_putmem_signal_nbi_work_group(dest, source, 8 * (size_t)n, signal, value, op, m->right,
                                                     Caller::group());
            seen = ishmemx_signal_wait_until_work_group(signal, ISHMEM_CMP_GE, (uint64_t)round + 1, Caller::group());
        }
        CHECK_EQ(seen, round + 1);
        CHECK_SLICE(dest, m->left, n, 1, 1, round);
        quiet<Caller>();
        everybody();
    }
    if (Caller::rank() == 0) {
        ishmemx_signal_add(signal, 4, m->right);
        CHECK_EQ(ishmem_signal_wait_until(signal, ISHMEM_CMP_GT, 6), 10);
        CHECK_EQ(ishmem_signal_fetch(signal), 10);
    }
    everybody();
    if (Caller::rank() == 0) ishmemx_signal_set(signal, 0, m->right);
    quiet<Caller>();
    everybody();
}

KERNEL signals_by_item(memory *m) { signals<by_item>(m); }
KERNEL signals_by_group(memory *m) { signals<by_group>(m); }
#ifndef WITHOUT_SUB_GROUPS
KERNEL signals_by_sub_group(memory *m) { signals<by_sub_group>(m); }
#endif

/* ---- waits and tests: the left PE sets the variables one after the other ---- */

KERNEL waits_by_item(memory *m)
{
    long *ivars = m->dest, expected[4] = {11, 12, 13, 14};
    int status[4] = {0, 1, 0, 0};
    size_t indices[4];
    if (by_group::rank() < 8) ivars[by_group::rank()] = 0;
    everybody();
    if (by_group::rank() == 0) {
        CHECK_EQ(ishmem_long_test(ivars, ISHMEM_CMP_EQ, 11), 0);
        CHECK_EQ(ishmem_test_any(ivars, 4, status, ISHMEM_CMP_NE, 0L), SIZE_MAX);
    }
    everybody();
    if (by_group::rank() == 0) {
        ishmem_long_p(ivars + 2, 13, m->right);
        CHECK_EQ(ishmem_wait_until_any(ivars, 4, status, ISHMEM_CMP_GT, 0L) % 4 != 1, 1); /* 2, or a later one */
        CHECK_EQ(ishmem_long_test_some(ivars, 4, indices, status, ISHMEM_CMP_EQ, 13), 1);
        CHECK_EQ(indices[0], 2);
        ishmem_fence();
        ishmem_p(ivars + 0, 11L, m->right);
        ishmem_p(ivars + 3, 14L, m->right);
        ishmem_wait_until_all_vector(ivars, 4, status, ISHMEM_CMP_EQ, expected);
        CHECK_EQ(ishmem_long_test_all(ivars, 4, status, ISHMEM_CMP_GE, 11), 1);
        CHECK_EQ(ishmem_long_wait_until_some_vector(ivars, 4, indices, status, ISHMEM_CMP_LE, expected), 3);
        ishmem_wait_until(ivars + 3, ISHMEM_CMP_NE, 0L);
        CHECK_EQ(ishmem_test_all_vector(ivars, 4, nullptr, ISHMEM_CMP_EQ, expected), 0);
    }
    everybody();
}

KERNEL waits_by_group(memory *m)
{
    long *ivars = m->dest;
    size_t *indices = (size_t *)m->back;
    group_t g = by_group::group();
    if (g.get_local_linear_id() < 8) ivars[g.get_local_linear_id()] = 0;
    everybody();
    CHECK_EQ(ishmemx_long_test_work_group(ivars, ISHMEM_CMP_EQ, 11, g), 0);
    everybody();
    if (g.leader()) ishmem_long_p(ivars + 5, 13, m->right);
    CHECK_EQ(ishmemx_wait_until_any_work_group(ivars, 8, nullptr, ISHMEM_CMP_LT, 14L, g) < 8, 1);
    ishmemx_wait_until_work_group(ivars + 5, ISHMEM_CMP_EQ, 13L, g);
    CHECK_EQ(ishmemx_long_wait_until_some_work_group(ivars, 8, indices, nullptr, ISHMEM_CMP_EQ, 13, g), 1);
    CHECK_EQ(indices[0], 5);
    CHECK_EQ(ishmemx_test_all_work_group(ivars, 8, nullptr, ISHMEM_CMP_EQ, 13L, g), 0);
    everybody();
}

/* ---- order: data, then a fence or a quiet, then a flag ---- */

template <typename Caller> static void order(memory *m)
{
    long at = Caller::slice() * SLICE, *flag = m->back + at;
    for (int round = 1; round <= 6; round++) {
        write_source<Caller>(m, round);
        everybody();
        put_by_form<Caller>(m, m->dest + at, m->source + at, 40, 4);
        if (round % 2 == 0)
            quiet<Caller>();
        else if constexpr (is_item<Caller>)
            ishmem_fence();
        else
            ishmemx_fence_work_group(Caller::group());
        if (Caller::rank() == 0) {
            ishmem_p(flag, (long)round, m->right);
            ishmem_long_wait_until(flag, ISHMEM_CMP_EQ, round);
        }
        CHECK_SLICE(m->dest + at, m->left, 40, 1, 1, round);
        quiet<Caller>();
        everybody();
    }
}

KERNEL order_by_item(memory *m) { order<by_item>(m); }
KERNEL order_by_group(memory *m) { order<by_group>(m); }

/* ---- how many requests a call makes: one, or none where the PE's memory is reached directly ---- */

static uint64_t requests()
{
    const isthmus_ring *ring = isthmus_device_v1.ring;
    return ring != nullptr ? isthmus_dev_load_device(ring->tail) : 0;
}

KERNEL counts(memory *m)
{
    group_t g = by_group::group();
    uint64_t expected = isthmus_device_v1.ring != nullptr && m->right != m->me ? 1 : 0;
    everybody();
    uint64_t first = requests();
    sycl::group_barrier(g);
    ishmemx_putmem_work_group(m->dest, m->source, 4096, m->right, g);
    sycl::group_barrier(g);
    uint64_t second = requests();
    CHECK_EQ(second - first, expected);
    sycl::group_barrier(g);
    if (g.leader()) (void)ishmem_long_atomic_fetch_add(m->words, 1, m->right);
    sycl::group_barrier(g);
    uint64_t third = requests();
    CHECK_EQ(third - second, expected);
    sycl::group_barrier(g);
    if (g.leader()) ishmem_long_atomic_add(m->words, 1, m->right);
    sycl::group_barrier(g);
    CHECK_EQ(requests() - third, expected);
    everybody();
}

/* ---- PEs, addresses, the rest ---- */

KERNEL queries(memory *m)
{
    char name[ISHMEM_MAX_NAME_LEN];
    int major, minor;
    CHECK_EQ(ishmem_my_pe(), m->me);
    CHECK_EQ(ishmem_n_pes(), m->n);
    CHECK_EQ(ishmem_team_my_pe(m->team), m->team_me);
    CHECK_EQ(ishmem_team_n_pes(m->team), m->team_me < 0 ? -1 : m->team_n);
    if (m->team_me >= 0)
        CHECK_EQ(ishmem_team_translate_pe(m->team, m->team_n - 1, ISHMEM_TEAM_WORLD), 2 * (m->team_n - 1));
    long *mine = (long *)ishmem_ptr(m->dest, m->me), *theirs = (long *)ishmem_ptr(m->dest, m->right);
    CHECK_EQ(mine == nullptr || mine == m->dest, 1);
    m->dest[by_item::slice()] = 7 * m->me;
    everybody();
    if (theirs != nullptr) CHECK_EQ(theirs[by_item::slice()], 7 * m->right);
    ishmem_info_get_version(&major, &minor);
    ishmem_info_get_name(name);
    CHECK_EQ(major, ISHMEM_MAJOR_VERSION);
    CHECK_EQ(name[0], 'I');
    ishmemx_debug_test();
    if (by_item::slice() == 0) {
        ishmemx_nop();
        ishmemx_nop_no_r();
        ishmemx_timestamp(ishmemx_ts_handle(m->clock));
        unsigned long first = *m->clock;
        ishmemx_timestamp_nbi(ishmemx_ts_handle(m->clock));
        ishmem_quiet();
        CHECK_EQ(*m->clock >= first, 1);
    }
    everybody();
}

/* ---- collectives ---- */

struct place {
    int team, me, n;
    bool is_world; /* call the forms without a team */
};

template <typename Caller> static void sync(const place &p)
{
    if constexpr (is_item<Caller>)
        (void)ishmem_team_sync(p.team);
    else
        ishmemx_team_sync_work_group(p.team, Caller::group());
}

template <typename Caller> static void fill(memory *m, const place &p, long factor)
{
    sync<Caller>(p); /* all have looked at what is there */
    for (int i = Caller::rank(); i < NELEMS * p.n; i += Caller::size()) {
        m->in[i] = factor * (p.me + 1) + i;
        m->out[i] = -1;
    }
    Caller::meet();
    sync<Caller>(p);
}

/* CALL(name, arguments): by that caller, with or without a team. */
#define CALL(name, ...)                                                                            \
    [&] {                                                                                          \
        if constexpr (is_item<Caller>)                                                             \
            return p.is_world ? ishmem_##name(__VA_ARGS__) : ishmem_##name(p.team, __VA_ARGS__);   \
        else                                                                                       \
            return p.is_world ? ishmemx_##name##_work_group(__VA_ARGS__, Caller::group())          \
                              : ishmemx_##name##_work_group(p.team, __VA_ARGS__, Caller::group()); \
    }()

#define CHECK_OUT(i, expected) CHECK_EQ(m->out[i], expected)

template <typename Caller> static void moves(memory *m, const place &p)
{
    int root = p.n - 1;
    fill<Caller>(m, p, 1000);
    CHECK_EQ(CALL(long_broadcast, m->out, m->in, NELEMS, root), 0);
    for (int i = 0; i < NELEMS; i++) CHECK_OUT(i, 1000 * (root + 1) + i);
    fill<Caller>(m, p, 2000);
    CHECK_EQ(CALL(fcollect, m->out, m->in, NELEMS), 0);
    for (int i = 0; i < NELEMS * p.n; i++) CHECK_OUT(i, 2000 * (i / NELEMS + 1) + i % NELEMS);
    fill<Caller>(m, p, 3000);
    CHECK_EQ(CALL(alltoallmem, m->out, m->in, NELEMS * sizeof(long)), 0);
    for (int i = 0; i < NELEMS * p.n; i++) CHECK_OUT(i, 3000 * (i / NELEMS + 1) + p.me * NELEMS + i % NELEMS);
    fill<Caller>(m, p, 4000);
    CHECK_EQ(CALL(long_collect, m->out, m->in, (size_t)p.me), 0); /* member i has i elements */
    for (int pe = 0, at = 0; pe < p.n; pe++)
        for (int i = 0; i < pe; i++, at++) CHECK_OUT(at, 4000 * (pe + 1) + i);
}

template <typename Caller> static void reductions(memory *m, const place &p)
{
    long sum = (long)p.n * (p.n + 1) / 2;
    fill<Caller>(m, p, 10);
    CHECK_EQ(CALL(sum_reduce, m->out, m->in, NELEMS), 0);
    for (int i = 0; i < NELEMS; i++) CHECK_OUT(i, 10 * sum + p.n * i);
    fill<Caller>(m, p, -10);
    CHECK_EQ(CALL(long_max_reduce, m->out, m->in, NELEMS), 0);
    for (int i = 0; i < NELEMS; i++) CHECK_OUT(i, -10 + i);
    fill<Caller>(m, p, 1L << 20);
    CHECK_EQ(CALL(size_or_reduce, (size_t *)m->out, (const size_t *)m->in, 1), 0);
    for (long i = 0, all = 0; i < 1; i++) {
        for (int pe = 0; pe < p.n; pe++) all |= (long)(pe + 1) << 20;
        CHECK_OUT(i, all);
    }
    fill<Caller>(m, p, 10);
    for (int i = Caller::rank(); i < 2 * NELEMS; i += Caller::size()) ((float *)m->in)[i] = 0.5f * (float)(i + p.me);
    Caller::meet();
    CHECK_EQ(CALL(float_sum_reduce, (float *)m->out, (const float *)m->in, 2 * NELEMS), 0);
    for (int i = 0; i < 2 * NELEMS; i++) CHECK_EQ(2 * ((float *)m->out)[i], p.n * i + sum - p.n);
}

template <typename Caller> static void collectives(memory *m)
{
    place world = {ISHMEM_TEAM_WORLD, m->me, m->n, true}, even = {m->team, m->team_me, m->team_n, false};
    for (const place &p : {world, even}) {
        if (p.me < 0) continue;
        moves<Caller>(m, p);
        reductions<Caller>(m, p);
    }
}

/* By one work-item of the group. */
KERNEL collectives_by_item(memory *m)
{
    place world = {ISHMEM_TEAM_WORLD, m->me, m->n, true};
    if (by_group::rank() == 0) {
        using Caller = by_item;
        collectives<by_item>(m);
        const place &p = world;
        fill<by_item>(m, p, 10);
        CHECK_EQ(ishmem_sum_inscan(m->out, m->in, NELEMS), 0);
        for (int i = 0; i < NELEMS; i++) CHECK_OUT(i, 10L * (p.me + 1) * (p.me + 2) / 2 + (p.me + 1) * i);
        fill<by_item>(m, p, 10);
        CHECK_EQ(ishmem_long_sum_exscan(ISHMEM_TEAM_WORLD, m->in, m->in, NELEMS), 0);
        for (int i = 0; i < NELEMS; i++) CHECK_EQ(m->in[i], 10L * p.me * (p.me + 1) / 2 + p.me * i);
        CHECK_EQ(ishmem_long_sum_reduce(ISHMEM_TEAM_INVALID, m->out, m->in, 1) != 0, 1);
        ishmem_barrier_all();
        ishmem_sync_all();
    }
    sycl::group_barrier(by_group::group());
}

KERNEL collectives_by_group(memory *m)
{
    collectives<by_group>(m);
    ishmemx_sync_all_work_group(by_group::group());
}
