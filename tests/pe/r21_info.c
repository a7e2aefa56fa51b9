/* R21: the version and the name that the library returns agree with the header; nothing is written past the name's
 * end. */
#include "check.h"

#include <sys/mman.h>

int main(void)
{
    pe_begin();
    int major = -1, minor = -1;
    shmem_info_get_version(&major, &minor);
    CHECK_EQ(major, SHMEM_MAJOR_VERSION);
    CHECK_EQ(minor, SHMEM_MINOR_VERSION);

    /* The buffer ends where a page begins that must not be touched. */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    CHECK_EQ(mprotect(pages + page, page, PROT_NONE), 0);
    char *name = pages + page - SHMEM_MAX_NAME_LEN;
    memset(name, 'x', SHMEM_MAX_NAME_LEN);
    name[-1] = 'g';
    shmem_info_get_name(name);
    CHECK(memchr(name, '\0', SHMEM_MAX_NAME_LEN) != NULL);
    CHECK_EQ(strcmp(name, SHMEM_VENDOR_STRING), 0);
    CHECK_EQ(name[-1], 'g');
    return pe_end();
}
