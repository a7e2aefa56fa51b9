/* plugins/common/fd_pass_table.c: see fd_pass_table.h. The table as its own PE has it. */
#include "plugins/common/fd_pass_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- where it lies ---- */

isthmus_status fd_pass_table_open(const struct isthmus_services *services, const uint8_t countersign[16],
                                  struct fd_pass_table **out)
{
    struct fd_pass_table *table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED)
        return services->fail(services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a table of descriptors");
    table->magic = FD_PASS_TABLE_MAGIC;
    table->bytes = sizeof *table;
    memcpy(table->countersign, countersign, sizeof table->countersign);
    *out = table;
    return ISTHMUS_OK;
}

void fd_pass_table_close(struct fd_pass_table *table, struct fd_pass_owner *owner)
{
    if (table == NULL) return;
    for (int i = 0; i < FD_PASS_MAX_OFFERS; i++) fd_pass_table_remove(table, table->rows[i].id);
    munmap(table, sizeof *table);
    if (owner->pid != 0) close(owner->table_fd);
    owner->pid = 0;
}

/* ---- the identity of this process ---- */

/* Reads as much of a file in /proc as fits, in one read, and adds a zero. */
static bool read_text(int proc_folder, const char *name, char *text, size_t room)
{
    int fd = openat(proc_folder, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, room - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

bool fd_pass_process_started(int proc_folder, uint64_t *out)
{
    char line[1024];
    unsigned long long started; /* the 22nd field of proc(5) */
    if (!read_text(proc_folder, "stat", line, sizeof line)) return false;
    const char *behind_name = strrchr(line, ')'); /* the name may have spaces and brackets itself */
    if (behind_name == NULL ||
        sscanf(behind_name, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &started) != 1)
        return false;
    *out = started;
    return true;
}

/* Not the folder's owner, which is root where the process may not be traced. */
bool fd_pass_process_user(int proc_folder, uint32_t *out)
{
    char lines[2048];
    if (!read_text(proc_folder, "status", lines, sizeof lines)) return false;
    const char *line = strstr(lines, "\nUid:"); /* a name's line ends are escaped */
    return line != NULL && sscanf(line, "\nUid: %*u %u", out) == 1;
}

bool fd_pass_pid_namespace(uint64_t *out)
{
    struct stat about;
    if (stat("/proc/thread-self/ns/pid", &about) != 0) return false;
    *out = about.st_ino;
    return true;
}

static bool find_own_process(struct fd_pass_owner *owner)
{
    int folder = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool is_found = folder >= 0 && fd_pass_process_started(folder, &owner->started) &&
                    fd_pass_pid_namespace(&owner->pid_namespace);
    if (folder >= 0) close(folder);
    return is_found;
}

/* ---- showing it ---- */

/* The memory behind the table becomes a memfd's: the same bytes at the same addresses. */
static bool move_to(int fd, struct fd_pass_table *table)
{
    if (pwrite(fd, table, sizeof *table, 0) != (ssize_t)sizeof *table) return false;
    if (mmap(table, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) return false;
    return fcntl(fd, F_ADD_SEALS, FD_PASS_TABLE_SEALS | F_SEAL_SEAL) == 0;
}

isthmus_status fd_pass_table_show(const struct isthmus_services *services, struct fd_pass_table *table,
                                  struct fd_pass_owner *out)
{
    struct fd_pass_owner owner = {.pid = getpid()};
    struct stat about;
    if (!find_own_process(&owner))
        return services->fail(
            services->core, ISTHMUS_ERR_UNSUPPORTED,
            "peers cannot take descriptors out of this process: there is no /proc; mount it, or unset ISTHMUS_*_SHARE");
    owner.table_fd = memfd_create("isthmus-offers", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (owner.table_fd < 0 || !move_to(owner.table_fd, table) || fstat(owner.table_fd, &about) != 0) {
        isthmus_status status = services->fail(
            services->core, ISTHMUS_ERR_UNSUPPORTED,
            "peers cannot take descriptors out of this process: memfd_create with seals: %s; unset ISTHMUS_*_SHARE to "
            "use a socket",
            strerror(errno));
        if (owner.table_fd >= 0) close(owner.table_fd);
        return status;
    }
    owner.table_device = about.st_dev;
    owner.table_inode = about.st_ino;
    *out = owner;
    return ISTHMUS_OK;
}

/* ---- rows ---- */

static struct fd_pass_row *find_row(struct fd_pass_table *table, uint32_t id)
{
    for (int i = 0; i < FD_PASS_MAX_OFFERS; i++)
        if (table->rows[i].id == id) return &table->rows[i];
    return NULL;
}

isthmus_status fd_pass_table_add(const struct isthmus_services *services, struct fd_pass_table *table, uint32_t id,
                                 int fd)
{
    struct fd_pass_row *row = find_row(table, 0);
    struct stat about;
    if (row == NULL)
        return services->fail(
            services->core, ISTHMUS_ERR_LIMIT,
            "this PE shares %d pieces of memory already, which is the limit; unregister buffers or allocate fewer, "
            "larger ones",
            FD_PASS_MAX_OFFERS);
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0 || fstat(own, &about) != 0) {
        int error = errno;
        if (own >= 0) close(own);
        return services->fail(services->core, ISTHMUS_ERR_NO_MEMORY, "descriptor %d cannot be shared with peers: %s",
                              fd, strerror(error));
    }
    __atomic_store_n(&row->fd, own, __ATOMIC_RELEASE);
    __atomic_store_n(&row->device, (uint64_t)about.st_dev, __ATOMIC_RELEASE);
    __atomic_store_n(&row->inode, (uint64_t)about.st_ino, __ATOMIC_RELEASE);
    __atomic_store_n(&row->id, id, __ATOMIC_RELEASE);
    return ISTHMUS_OK;
}

void fd_pass_table_remove(struct fd_pass_table *table, uint32_t id)
{
    struct fd_pass_row *row = id != 0 ? find_row(table, id) : NULL;
    if (row == NULL) return;
    __atomic_store_n(&row->id, 0, __ATOMIC_RELEASE);
    close(row->fd);
}

uint32_t fd_pass_table_list(const struct fd_pass_table *table, uint32_t *ids, int *fds)
{
    uint32_t n = 0;
    for (int i = 0; i < FD_PASS_MAX_OFFERS; i++) {
        if (table->rows[i].id == 0) continue;
        ids[n] = table->rows[i].id;
        fds[n++] = table->rows[i].fd;
    }
    return n;
}
