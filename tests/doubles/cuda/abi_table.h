/* tests/doubles/cuda/abi_table.h: rows of the two tables that abi_test.c compares. */
#ifndef ISTHMUS_CUDA_ABI_TABLE_H
#define ISTHMUS_CUDA_ABI_TABLE_H

struct abi_row {
    const char *name; /* NULL: the end */
    long long value;
};
extern const struct abi_row abi_ours[], abi_toolkit[];

#endif
