/* R27: heap blocks are ordinary memory for their PE. */
#include "check.h"

int main(void)
{
    pe_begin();
    for (size_t bytes = 1; bytes <= (size_t)1 << 22; bytes = bytes * 3 + 1) {
        unsigned char *block = shmem_malloc(bytes);
        CHECK(block != NULL);
        memset(block, 0xa5, bytes);
        CHECK_FILLED(block, 0xa5, bytes);
        for (size_t i = 0; i < bytes; i++) block[i] = (unsigned char)(i * 7);
        for (size_t i = 0; i < bytes; i++)
            if (block[i] != (unsigned char)(i * 7)) check_fail(__FILE__, __LINE__, "byte %zu of %zu differs", i, bytes);
        shmem_free(block);
    }
    return pe_end();
}
