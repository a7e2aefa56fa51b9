// transpose_rocshmem: transposes a matrix whose rows are spread over all PEs, with rocSHMEM in a kernel. Work-group b
// transposes the block of columns that belongs to PE b, puts it there with a signal, and waits for the block of PE b.
// hipcc compiles the kernel for a GPU; any other compiler for the processor (docs/device.md).
#ifndef __HIP__
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#define __global__
#endif
#include <rocshmem/rocshmem.hpp>

#include <cstdio>
#include <cstdlib>

using namespace rocshmem;

namespace
{

constexpr int rows = 24; // of each PE; the matrix has rows times PEs of them, and as many columns

struct matrix {
    const long *from;  // [rows][rows * PEs]
    long *packed, *to; // [PEs][rows][rows]
    uint64_t *arrived; // [PEs]
};

__global__ void transpose(matrix m)
{
    int me = rocshmem_my_pe(), n = rocshmem_n_pes(), other = static_cast<int>(isthmus_dev_block_rank());
    long *block = m.packed + other * rows * rows;
    for (unsigned i = isthmus_dev_thread_rank(); i < rows * rows; i += isthmus_dev_thread_count())
        block[i] = m.from[static_cast<int>(i % rows) * rows * n + other * rows + static_cast<int>(i / rows)];
    rocshmem_long_put_signal_wg(m.to + me * rows * rows, block, rows * rows, m.arrived + me, 1, ROCSHMEM_SIGNAL_SET,
                                other);
    if (isthmus_dev_thread_rank() == 0) rocshmem_signal_wait_until(m.arrived + other, ROCSHMEM_CMP_EQ, 1);
}

void run(int blocks, matrix m)
{
#ifdef __HIP__
    transpose<<<dim3(static_cast<unsigned>(blocks)), dim3(64)>>>(m);
    if (hipDeviceSynchronize() != hipSuccess) rocshmem_global_exit(1);
#else
    auto kernel = [](void *argument) { transpose(*static_cast<matrix *>(argument)); };
    if (isthmus_cpu_launch(static_cast<uint32_t>(blocks), 64, kernel, &m) != 0) rocshmem_global_exit(1);
#endif
}

void copy_bytes(void *to, const void *from, size_t bytes)
{
#ifdef __HIP__
    if (hipMemcpy(to, from, bytes, hipMemcpyDefault) != hipSuccess) rocshmem_global_exit(1);
#else
    __builtin_memcpy(to, from, bytes);
#endif
}

template <typename T> T *symmetric(int n)
{
    return static_cast<T *>(rocshmem_malloc(static_cast<size_t>(n) * sizeof(T)));
}

} // namespace

int main()
{
    rocshmem_init();
    int me = rocshmem_my_pe(), n = rocshmem_n_pes(), wrong = 0, size = rows * rows * n;
    size_t bytes = static_cast<size_t>(size) * sizeof(long);
    auto *from = symmetric<long>(size), *packed = symmetric<long>(size), *to = symmetric<long>(size);
    auto *arrived = symmetric<uint64_t>(n);
    auto *numbers = static_cast<long *>(std::calloc(static_cast<size_t>(size), sizeof(long)));

    copy_bytes(arrived, numbers, static_cast<size_t>(n) * sizeof(uint64_t));
    for (int i = 0; i < size; i++) numbers[i] = static_cast<long>(me) * size + i; // row by row over all PEs
    copy_bytes(from, numbers, bytes);
    rocshmem_barrier_all();
    run(n, {from, packed, to, arrived});
    rocshmem_barrier_all();

    copy_bytes(numbers, to, bytes);
    for (int i = 0; i < size; i++) { // block, row of mine, column in the block
        int row = i / (rows * rows) * rows + i % rows, column = me * rows + i / rows % rows;
        wrong += numbers[i] != static_cast<long>(row) * rows * n + column;
    }
    std::printf("PE %d: %d x %d, %d wrong\n", me, rows * n, rows * n, wrong);
    std::free(numbers);
    rocshmem_finalize();
    return wrong != 0;
}
