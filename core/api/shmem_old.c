/* core/api/shmem_old.c: routines of shmem.h under names from before 1.2, which have no pshmem_ form. */
#include "core/api/all_entries.h"
#include "core/runtime.h"

#include <stdlib.h>

#pragma weak _my_pe /* not in our name space: a program may have them for something else */
#pragma weak _num_pes

/* The end of the program is the finalize; calls after the first do nothing. */
void start_pes(int npes)
{
    (void)npes; /* the launcher has decided */
    if (ist_is_initialised()) return;
    if (ist_init("start_pes", IST_FACE_SHMEM, IST_THREAD_SINGLE) != ISTHMUS_OK) exit(EXIT_FAILURE);
    ist_runtime.finalize_at_exit = true;
}

int _my_pe(void) { return ist_entry_my_pe("_my_pe"); }

int _num_pes(void) { return ist_entry_n_pes("_num_pes"); }

void *shmalloc(size_t size) { return ist_entry_malloc(size, "shmalloc"); }

void *shmemalign(size_t alignment, size_t size) { return ist_entry_align(alignment, size, "shmemalign"); }

void *shrealloc(void *ptr, size_t size) { return ist_realloc(ptr, size, "shrealloc"); }

void shfree(void *ptr) { ist_free(ptr, "shfree"); }
