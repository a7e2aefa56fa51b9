/* plugins/common/fd_pass_take.c: see fd_pass_table.h. Taking the descriptors that a peer shows out of its process.
 * Numbers of processes and descriptors are reused: each step compares what it finds with what the peer has published,
 * the process and the table with its card, an offer with the table. */
#include "plugins/common/fd_pass_table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static isthmus_status refuse(char *why, isthmus_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static isthmus_status refuse(char *why, isthmus_status status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, FD_PASS_WHY_BYTES, fmt, args);
    va_end(args);
    return status;
}

/* Describes errno of one of the two system calls. */
static isthmus_status refuse_call(char *why, const char *call)
{
    switch (errno) {
    case ESRCH:
    case EBADF: return refuse(why, ISTHMUS_ERR_PEER_LOST, "%s: %s", call, strerror(errno));
    case EPERM:
    case EACCES:
        return refuse(why, ISTHMUS_ERR_PERMISSION,
                      "%s: %s (this process may not trace the peer; with ISTHMUS_*_SHARE=socket it need not)", call,
                      strerror(errno));
    case ENOSYS:
        return refuse(why, ISTHMUS_ERR_UNSUPPORTED,
                      "%s: not in this kernel or sandbox; needs Linux 5.6, or ISTHMUS_*_SHARE=socket", call);
    case EMFILE:
    case ENFILE: return refuse(why, ISTHMUS_ERR_NO_MEMORY, "%s: %s", call, strerror(errno));
    default: return refuse(why, ISTHMUS_ERR_IO, "%s: %s", call, strerror(errno));
    }
}

/* ---- the process ---- */

/* Returns OK if the process with that number now is the one on the card. One that took the peer's number started
 * later. */
static isthmus_status check_process(const struct fd_pass_owner *owner, char *why)
{
    char path[32];
    uint64_t started = 0;
    uint32_t user = 0;
    snprintf(path, sizeof path, "/proc/%d", (int)owner->pid);
    int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return refuse(why, ISTHMUS_ERR_PEER_LOST, "%s: %s", path, strerror(errno));
    bool is_there = fd_pass_process_started(folder, &started) && fd_pass_process_user(folder, &user);
    close(folder);
    if (!is_there || started != owner->started)
        return refuse(why, ISTHMUS_ERR_PEER_LOST, "process %d has ended, and its number belongs to another process",
                      (int)owner->pid);
    if (user != geteuid())
        return refuse(why, ISTHMUS_ERR_PERMISSION, "process %d belongs to user %u; all PEs need one user",
                      (int)owner->pid, user);
    return ISTHMUS_OK;
}

static isthmus_status open_process(const struct fd_pass_owner *owner, int *pidfd, char *why)
{
    uint64_t here = 0;
    if (owner->pid <= 0)
        return refuse(why, ISTHMUS_ERR_UNREACHABLE,
                      "the peer does not offer it, because its ISTHMUS_*_SHARE is socket");
    if (!fd_pass_pid_namespace(&here) || here != owner->pid_namespace)
        return refuse(why, ISTHMUS_ERR_UNREACHABLE,
                      "the peer's processes are not visible from this PID namespace; start the containers in one");
    int fd = (int)syscall(SYS_pidfd_open, owner->pid, 0);
    if (fd < 0) return refuse_call(why, "pidfd_open");
    /* A process that passes the check had started before the card was written, so fd is of no other either. */
    isthmus_status status = check_process(owner, why);
    if (status != ISTHMUS_OK)
        close(fd);
    else
        *pidfd = fd;
    return status;
}

/* ---- its table ---- */

static bool is_inode(int fd, uint64_t device, uint64_t inode)
{
    struct stat about;
    return fstat(fd, &about) == 0 && about.st_dev == device && about.st_ino == inode;
}

static isthmus_status refuse_build(const struct fd_pass_owner *owner, char *why)
{
    return refuse(why, ISTHMUS_ERR_VERSION,
                  "the table of descriptors of process %d is of another build of Isthmus; use one build on all PEs",
                  (int)owner->pid);
}

static isthmus_status map_table(int fd, const struct fd_pass_address *address, const struct fd_pass_table **out,
                                char *why)
{
    const struct fd_pass_owner *owner = &address->owner;
    const struct fd_pass_table *table;
    struct stat about;
    int seals = fcntl(fd, F_GET_SEALS);
    if (!is_inode(fd, owner->table_device, owner->table_inode))
        return refuse(why, ISTHMUS_ERR_PEER_LOST, "descriptor %d of process %d is no longer its table of descriptors",
                      owner->table_fd, (int)owner->pid);
    if (seals < 0 || (seals & FD_PASS_TABLE_SEALS) != FD_PASS_TABLE_SEALS || fstat(fd, &about) != 0)
        return refuse(why, ISTHMUS_ERR_PERMISSION, "the table of descriptors of process %d is damaged",
                      (int)owner->pid);
    if ((size_t)about.st_size != sizeof *table) return refuse_build(owner, why);
    table = mmap(NULL, sizeof *table, PROT_READ, MAP_SHARED, fd, 0);
    if (table == MAP_FAILED)
        return refuse(why, ISTHMUS_ERR_NO_MEMORY, "mmap of the peer's table of descriptors: %s", strerror(errno));
    bool is_of_build = table->magic == FD_PASS_TABLE_MAGIC && table->bytes == sizeof *table;
    if (is_of_build && memcmp(table->countersign, address->countersign, sizeof table->countersign) == 0) {
        *out = table;
        return ISTHMUS_OK;
    }
    munmap((void *)(uintptr_t)table, sizeof *table);
    if (!is_of_build) return refuse_build(owner, why);
    return refuse(why, ISTHMUS_ERR_PERMISSION, "the table of descriptors of process %d is of another job",
                  (int)owner->pid);
}

static isthmus_status take(int pidfd, int number, int *fd, char *why)
{
    *fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
    return *fd < 0 ? refuse_call(why, "pidfd_getfd") : ISTHMUS_OK;
}

static isthmus_status open_table(const struct fd_pass_address *address, int pidfd, const struct fd_pass_table **out,
                                 char *why)
{
    int fd;
    isthmus_status status = take(pidfd, address->owner.table_fd, &fd, why);
    if (status != ISTHMUS_OK) return status;
    status = map_table(fd, address, out, why);
    close(fd);
    return status;
}

/* ---- its offers ---- */

/* Offers withdrawn meanwhile do not count. An inode alone identifies nothing: files of devices share theirs. */
static isthmus_status take_offer(int pidfd, const struct fd_pass_row *row, struct fd_pass_bundle *bundle, char *why)
{
    int fd;
    uint32_t id = __atomic_load_n(&row->id, __ATOMIC_ACQUIRE);
    if (id == 0) return ISTHMUS_OK;
    int number = __atomic_load_n(&row->fd, __ATOMIC_ACQUIRE);
    uint64_t device = __atomic_load_n(&row->device, __ATOMIC_ACQUIRE);
    uint64_t inode = __atomic_load_n(&row->inode, __ATOMIC_ACQUIRE);
    isthmus_status status = take(pidfd, number, &fd, why);
    bool is_offered = __atomic_load_n(&row->id, __ATOMIC_ACQUIRE) == id;
    if (status == ISTHMUS_OK && is_offered && is_inode(fd, device, inode)) {
        bundle->ids[bundle->n] = id;
        bundle->fds[bundle->n++] = fd;
        return ISTHMUS_OK;
    }
    if (status == ISTHMUS_OK) {
        close(fd);
        status = refuse(why, ISTHMUS_ERR_PERMISSION, "the peer has closed descriptor %d, which it offered", number);
    }
    return is_offered ? status : ISTHMUS_OK;
}

/* ---- all of it ---- */

struct shown {
    int pidfd;
    const struct fd_pass_table *table;
};

static void shown_close(struct shown *shown)
{
    if (shown->table != NULL) munmap((void *)(uintptr_t)shown->table, sizeof *shown->table);
    if (shown->pidfd >= 0) close(shown->pidfd);
}

static isthmus_status shown_open(const struct fd_pass_address *address, struct shown *out, char *why)
{
    *out = (struct shown){.pidfd = -1};
    isthmus_status status = open_process(&address->owner, &out->pidfd, why);
    if (status == ISTHMUS_OK) status = open_table(address, out->pidfd, &out->table, why);
    if (status != ISTHMUS_OK) shown_close(out);
    return status;
}

isthmus_status fd_pass_table_fetch(const struct fd_pass_address *address, struct fd_pass_bundle *out, char *why)
{
    struct shown shown;
    struct fd_pass_bundle bundle = {.n = 0};
    isthmus_status status = shown_open(address, &shown, why);
    if (status != ISTHMUS_OK) return status;
    for (int i = 0; i < FD_PASS_MAX_OFFERS && status == ISTHMUS_OK; i++)
        status = take_offer(shown.pidfd, &shown.table->rows[i], &bundle, why);
    shown_close(&shown);
    if (status == ISTHMUS_OK)
        *out = bundle;
    else
        fd_pass_bundle_close(&bundle);
    return status;
}

isthmus_status fd_pass_table_try(const struct fd_pass_address *address, char *why)
{
    struct shown shown;
    isthmus_status status = shown_open(address, &shown, why);
    if (status == ISTHMUS_OK) shown_close(&shown);
    return status;
}
