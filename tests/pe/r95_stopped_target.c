/* R95, with ISTHMUS_ATOMICS=nic (tests/hosts/roce.table): the adapter executes atomics of 64 bits on a PE whose process
 * is stopped, all threads of it. Two PEs on one host that reach each other by the adapter only. */
#include "check.h"

static uint64_t word;
static long target_pid; /* on PE 0, of PE 1 */

/* The third field of the file: after the name, which is in parentheses. */
static char state_of(long pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "re");
    CHECK(file != NULL && fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    const char *name_end = strrchr(text, ')');
    CHECK(name_end != NULL && name_end[1] == ' ');
    return name_end[2];
}

static void stop(long pid)
{
    CHECK_EQ(kill((pid_t)pid, SIGSTOP), 0);
    while (state_of(pid) != 'T') {}
}

static void update(void)
{
    CHECK_EQ(shmem_uint64_atomic_fetch_add(&word, 5, 1), 1);
    CHECK_EQ(shmem_uint64_atomic_compare_swap(&word, 6, 0x30, 1), 6);
    CHECK_EQ(shmem_uint64_atomic_fetch_or(&word, 1, 1), 0x30);
    CHECK_EQ(shmem_uint64_atomic_fetch_and(&word, 0x11, 1), 0x31);
    CHECK_EQ(shmem_uint64_atomic_fetch_xor(&word, 0x100, 1), 0x11);
    CHECK_EQ(shmem_uint64_atomic_swap(&word, 7, 1), 0x111);
    shmem_uint64_atomic_add(&word, 1, 1);
    shmem_quiet();
    CHECK_EQ(shmem_uint64_atomic_fetch(&word, 1), 8);
    shmem_uint64_atomic_set(&word, 9, 1);
    shmem_quiet();
}

int main(void)
{
    const char *atomics = getenv("ISTHMUS_ATOMICS");
    pe_begin();
    if (pe.n != 2 || atomics == NULL || strcmp(atomics, "nic") != 0)
        pe_skip("it takes two PEs and ISTHMUS_ATOMICS=nic");
    if (pe.me == 1) shmem_long_p(&target_pid, (long)getpid(), 0);
    if (pe.me == 0) shmem_uint64_atomic_inc(&word, 1); /* the first atomic connects */
    shmem_barrier_all();
    if (pe.me == 0) {
        stop(target_pid);
        update();
        CHECK_EQ(kill((pid_t)target_pid, SIGCONT), 0);
    }
    shmem_barrier_all();
    if (pe.me == 1) CHECK_EQ(word, 9);
    return pe_end();
}
