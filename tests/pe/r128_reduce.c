/* R128: reductions of many sizes, in place and not: integers wrap, results of every type are the same bits on all PEs,
 * and right within the rounding of any order. (Every type and operation: tests/rows.) */
#include "teams.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>

static size_t most; /* elements */
static uint32_t *integers, *integers_dest;
static double *doubles, *doubles_dest;
static float complex *complexes, *complexes_dest;

static uint32_t integer_of(int member, size_t i) { return (uint32_t)(member + 1) * 2654435761u + (uint32_t)i * 40503u; }

static double double_of(int member, size_t i)
{
    uint64_t state = (uint64_t)member << 32 | i;
    return ldexp((double)(int64_t)random_next(&state), -(int)(i % 90)); /* of very different sizes */
}

static float complex complex_of(int member, size_t i)
{
    return (float)double_of(member, 3 * i) * 0x1p-40f +
           (float)double_of(member, 3 * i + 1) * 0x1p-40f * (float complex)I;
}

static void check_same_bits(shmem_team_t team, const void *dest, size_t size_bytes)
{
    unsigned char *theirs = malloc(size_bytes + 1);
    CHECK(theirs != NULL);
    CHECK_EQ(shmem_team_sync(team), 0);
    shmem_getmem(theirs, dest, size_bytes, world_pe(team, 0));
    CHECK_BYTES(dest, theirs, size_bytes);
    CHECK_EQ(shmem_team_sync(team), 0);
    free(theirs);
}

static void reduce_integers(shmem_team_t team, size_t nelems, bool in_place)
{
    int n = shmem_team_n_pes(team), me = shmem_team_my_pe(team);
    uint32_t *dest = in_place ? integers : integers_dest;
    for (int op = 0; op < 3; op++) {
        for (size_t i = 0; i < nelems; i++) integers[i] = integer_of(me, i);
        CHECK_EQ(shmem_team_sync(team), 0);
        CHECK_EQ(op == 0   ? shmem_uint32_sum_reduce(team, dest, integers, nelems)
                 : op == 1 ? shmem_uint32_prod_reduce(team, dest, integers, nelems)
                           : shmem_uint32_min_reduce(team, dest, integers, nelems),
                 0);
        for (size_t i = 0; i < nelems; i++) {
            uint32_t expected = integer_of(0, i);
            for (int member = 1; member < n; member++) {
                uint32_t next = integer_of(member, i);
                expected = op == 0 ? expected + next : op == 1 ? expected * next : expected < next ? expected : next;
            }
            CHECK_EQ(dest[i], expected);
        }
        CHECK_EQ(shmem_team_sync(team), 0);
    }
}

static void reduce_doubles(shmem_team_t team, size_t nelems, bool in_place)
{
    int n = shmem_team_n_pes(team), me = shmem_team_my_pe(team);
    double *dest = in_place ? doubles : doubles_dest;
    for (size_t i = 0; i < nelems; i++) doubles[i] = double_of(me, i);
    CHECK_EQ(shmem_team_sync(team), 0);
    CHECK_EQ(shmem_double_sum_reduce(team, dest, doubles, nelems), 0);
    for (size_t i = 0; i < nelems; i++) {
        double sum = 0, size = 0;
        for (int member = 0; member < n; member++) sum += double_of(member, i), size += fabs(double_of(member, i));
        CHECK(fabs(dest[i] - sum) <= size * n * 0x1p-52);
    }
    check_same_bits(team, dest, nelems * sizeof *dest);
    CHECK_EQ(shmem_double_max_reduce(team, dest, dest, nelems), 0); /* of equal values: unchanged */
    check_same_bits(team, dest, nelems * sizeof *dest);
}

static void reduce_complexes(shmem_team_t team, size_t nelems, bool in_place)
{
    int n = shmem_team_n_pes(team), me = shmem_team_my_pe(team);
    float complex *dest = in_place ? complexes : complexes_dest;
    for (size_t i = 0; i < nelems; i++) complexes[i] = complex_of(me, i);
    CHECK_EQ(shmem_team_sync(team), 0);
    CHECK_EQ(shmem_complexf_sum_reduce(team, dest, complexes, nelems), 0);
    for (size_t i = 0; i < nelems; i++) {
        float complex sum = 0;
        float size = 0;
        for (int member = 0; member < n; member++) sum += complex_of(member, i), size += cabsf(complex_of(member, i));
        CHECK(cabsf(dest[i] - sum) <= size * (float)n * 0x1p-21f);
    }
    check_same_bits(team, dest, nelems * sizeof *dest);
    for (size_t i = 0; i < nelems; i++) complexes[i] = complex_of(me, i);
    CHECK_EQ(shmem_team_sync(team), 0);
    CHECK_EQ(shmem_complexf_prod_reduce(team, dest, complexes, nelems), 0);
    check_same_bits(team, dest, nelems * sizeof *dest);
}

static void reduce_all(shmem_team_t team)
{
    const size_t sizes[] = {0, 1, 7, 100, 4096, most};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int in_place = 0; in_place < 2; in_place++) {
            reduce_integers(team, sizes[i], in_place != 0);
            reduce_doubles(team, sizes[i], in_place != 0);
            reduce_complexes(team, sizes[i], in_place != 0);
        }
}

static void *room(size_t size_bytes)
{
    void *block = shmem_malloc(most * size_bytes);
    CHECK(block != NULL);
    return block;
}

int main(void)
{
    pe_begin();
    most = pe.n <= 2 ? 1000000 : pe.n <= 4 ? 100000 : 10000;
    integers = room(sizeof *integers), integers_dest = room(sizeof *integers);
    doubles = room(sizeof *doubles), doubles_dest = room(sizeof *doubles);
    complexes = room(sizeof *complexes), complexes_dest = room(sizeof *complexes);
    shmem_team_t half = team_of_half();
    reduce_all(SHMEM_TEAM_WORLD);
    reduce_all(half);
    shmem_team_destroy(half);
    return pe_end();
}
