/* R10: static data keeps its last values after finalize and stays ordinary memory, for fork and exit handlers too. */
#include "check.h"

#include <sys/wait.h>

static long from_left = -1, mine = 5;
static char text[100000];

static void at_exit(void)
{
    if (mine != 6 || text[99999] != 'z') _exit(9);
}

int main(void)
{
    static char source[sizeof text];
    CHECK_EQ(atexit(at_exit), 0);
    pe_begin();
    shmem_long_p(&from_left, pe.me + 100, pe.right);
    shmem_putmem(text, memset(source, 'z', sizeof source), sizeof source, pe.right);
    shmem_finalize();

    CHECK_EQ(from_left, pe.left + 100);
    CHECK_FILLED(text, 'z', sizeof text);
    mine = 6;
    text[0] = 'a';
    pid_t child = fork();
    if (child == 0) {
        text[0] = 'b';
        _exit(from_left == pe.left + 100 && mine == 6 ? 0 : 1);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(text[0], 'a');
    return 0;
}
