/* tests/doubles/cuda/abi_test.c: does plugins/nvlink/cuda_api.h match the toolkit's cuda.h? Built where a toolkit is
 * found. */
#include "tests/doubles/cuda/abi_table.h"

#include <stddef.h>
#include <stdio.h>

int main(void)
{
    int wrong = 0;
    for (int i = 0; abi_ours[i].name != NULL; i++) {
        if (abi_ours[i].value == abi_toolkit[i].value) continue;
        printf("%s is %lld here, %lld in cuda.h\n", abi_ours[i].name, abi_ours[i].value, abi_toolkit[i].value);
        wrong++;
    }
    return wrong > 0;
}
