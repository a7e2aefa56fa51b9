// histogram_ishmem [SAMPLES]: a histogram whose bins are spread over all PEs, with the host calls of Intel SHMEM: every
// PE draws samples and counts each one in the bin's owner's memory with an atomic. Compares with counts that each PE
// keeps alone, summed.
#include <ishmem.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace
{

constexpr int bins = 1000;

template <typename T> T *symmetric(size_t n)
{
    void *memory = ishmem_calloc(n, sizeof(T));
    if (memory == nullptr) {
        std::fprintf(stderr, "histogram: no room for %zu bytes\n", n * sizeof(T));
        std::abort();
    }
    return static_cast<T *>(memory);
}

// Bin b is number b / n of PE b % n.
void count(uint64_t *my_bins, uint64_t *alone, long samples, int me, int n)
{
    std::mt19937_64 random(static_cast<unsigned>(me) + 1);
    std::binomial_distribution<int> bin(bins - 1, 0.3);
    for (long i = 0; i < samples; i++) {
        int b = bin(random);
        ishmem_atomic_add(&my_bins[b / n], uint64_t{1}, b % n);
        alone[b]++;
    }
}

} // namespace

int main(int argc, char **argv)
{
    long samples = argc > 1 ? std::atol(argv[1]) : 20000;
    ishmem_init();
    int me = ishmem_my_pe(), n = ishmem_n_pes(), bins_of_each = (bins + n - 1) / n;
    auto *my_bins = symmetric<uint64_t>(static_cast<size_t>(bins_of_each));
    auto *alone = symmetric<uint64_t>(bins), *sums = symmetric<uint64_t>(bins);
    auto *differing = symmetric<int>(2);

    ishmem_barrier_all();
    count(my_bins, alone, samples, me, n);
    ishmem_barrier_all();
    ishmem_sum_reduce(sums, alone, bins); // all PEs: no team
    for (int b = me; b < bins; b += n) differing[0] += my_bins[b / n] != sums[b];
    ishmem_sum_reduce(ISHMEM_TEAM_WORLD, &differing[1], &differing[0], 1);

    bool wrong = differing[1] != 0;
    if (me == 0)
        std::printf("%ld samples in %d bins on %d PEs: %s\n", samples * n, bins, n,
                    wrong ? "WRONG" : "every bin is right");
    ishmem_free(differing);
    ishmem_free(sums);
    ishmem_free(alone);
    ishmem_free(my_bins);
    ishmem_finalize();
    return wrong;
}
