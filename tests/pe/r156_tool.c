/* R156: a tool that counts calls of some routines and passes them on to the library by their pshmem_ names.
 * Linked before the library, as an archive or a shared object, or loaded before it. */
#include <pshmem.h>
#include <string.h>

#include "r156_tool.h"

#undef shmem_wait_until

enum {
#define ROUTINE(returns, name, parameters, arguments) COUNT_##name,
#define VOID_ROUTINE(name, parameters, arguments) COUNT_##name,
    TOOL_LIST N_COUNTED
#undef ROUTINE
#undef VOID_ROUTINE
};
_Static_assert(N_COUNTED == TOOL_ROUTINES, "the list has grown");

static int counts[N_COUNTED];

static const char *const names[] = {
#define ROUTINE(returns, name, parameters, arguments) #name,
#define VOID_ROUTINE(name, parameters, arguments) #name,
    TOOL_LIST
#undef ROUTINE
#undef VOID_ROUTINE
};

#define ROUTINE(returns, name, parameters, arguments) \
    returns name parameters                           \
    {                                                 \
        counts[COUNT_##name]++;                       \
        return p##name arguments;                     \
    }
#define VOID_ROUTINE(name, parameters, arguments) \
    void name parameters                          \
    {                                             \
        counts[COUNT_##name]++;                   \
        p##name arguments;                        \
    }
TOOL_LIST

tool_count_fn tool_count;

int tool_count(const char *routine)
{
    for (int i = 0; i < N_COUNTED; i++)
        if (strcmp(names[i], routine) == 0) return counts[i];
    return -1;
}
