/* tests/security/without_sockets.c: without_sockets PROGRAM ARGS...: runs it in a sandbox that refuses sockets by which
 * descriptors can be passed, and allows all others, such as the connection of Isthmus to its launcher. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SKIPPED = 77, TYPE_MASK = 0xf };

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, skip)

int main(int argc, char **argv)
{
    struct sock_filter program[] = {
        LOAD(nr),
        UNLESS(SYS_socket, 6),
        LOAD(args[0]),
        UNLESS(AF_UNIX, 4),
        LOAD(args[1]),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TYPE_MASK),
        UNLESS(SOCK_SEQPACKET, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
    if (argc < 2) return 2;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        fprintf(stderr, "skipped: no filters of system calls: %s\n", strerror(errno));
        return SKIPPED;
    }
    execv(argv[1], argv + 1);
    fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
    return 2;
}
