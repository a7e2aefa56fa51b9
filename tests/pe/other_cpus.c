/* tests/pe/other_cpus.c: a library to preload: PE 0 sees 1,000 processors, the others one, as PEs in different
 * containers may. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dlfcn.h>

__attribute__((visibility("default"))) long sysconf(int name)
{
    const char *rank = getenv("PMIX_RANK");
    if (name == _SC_NPROCESSORS_ONLN && rank != NULL) return strcmp(rank, "0") == 0 ? 1000 : 1;
    long (*next)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    return next(name);
}
