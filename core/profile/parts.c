/* core/profile/parts.c: the report of a job that has left its PEs' parts: it ended without shmem_finalize, or could not
 * write the report. For isthmus-info. */
#include "core/profile/job.h"

#include "core/base/log.h"
#include "core/base/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PES_MOST = 1 << 20 };

struct part {
    const struct ist_profile_record *records; /* the file, mapped; NULL: there is none */
    size_t n, bytes;
};

struct first {
    int pe;
    uint64_t job;
};

/* IO: it cannot be read, other than because there is none. */
static isthmus_status map_part(const char *file, int pe, struct part *out)
{
    char name[4096];
    struct stat found;
    *out = (struct part){NULL, 0, 0};
    snprintf(name, sizeof name, "%s.pe%d", file, pe);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return ISTHMUS_OK;
    if (fd < 0) return ist_fail(ISTHMUS_ERR_IO, "%s: %s", name, strerror(errno));
    void *records = fstat(fd, &found) == 0 && found.st_size > 0
                        ? mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                        : MAP_FAILED;
    close(fd);
    if (records == MAP_FAILED) return ist_fail(ISTHMUS_ERR_IO, "%s: %s", name, strerror(errno));
    *out = (struct part){records, (size_t)found.st_size / sizeof *out->records, (size_t)found.st_size};
    if (out->n > 0 && out->records->kind == IST_PROFILE_HEAD) {
        uint64_t n = out->records->head.n_records;
        if (n > 0 && n < out->n) out->n = (size_t)n;
    }
    return ISTHMUS_OK;
}

static void unmap_part(const struct part *part)
{
    if (part->records != NULL) munmap((void *)(uintptr_t)part->records, part->bytes);
}

/* Returns the lowest PE that has left a part, or -1 if there is none. */
static int find_part(const char *file)
{
    const char *slash = strrchr(file, '/'), *base = slash != NULL ? slash + 1 : file;
    char folder[4096] = ".";
    int pe = -1;
    if (slash != NULL) snprintf(folder, sizeof folder, "%.*s", (int)(slash - file) + 1, file);
    DIR *list = opendir(folder);
    for (struct dirent *entry; list != NULL && pe != 0 && (entry = readdir(list)) != NULL;) {
        int found;
        size_t length = strlen(base);
        bool is_part = strncmp(entry->d_name, base, length) == 0 && strncmp(entry->d_name + length, ".pe", 3) == 0;
        is_part = is_part && sscanf(entry->d_name + length + 3, "%d", &found) == 1 && found >= 0;
        if (is_part && (pe < 0 || found < pe)) pe = found;
    }
    if (list != NULL) closedir(list);
    return pe;
}

/* The part of PE 0, or of the lowest PE that has left one, has the number and the size of the job. */
static isthmus_status open_job(struct ist_profile_job *job, const char *file, struct first *out)
{
    struct part part = {NULL, 0, 0};
    int pe = find_part(file);
    isthmus_status status = pe >= 0 ? map_part(file, pe, &part) : ISTHMUS_OK;
    if (status != ISTHMUS_OK) return status;
    if (part.records == NULL)
        return ist_fail(ISTHMUS_ERR_IO, "there is no %s.pe0, nor any other part; name the file as ISTHMUS_PROFILE did",
                        file);
    const struct ist_profile_head *head = &part.records->head;
    *out = (struct first){pe, head->job};
    if (ist_profile_is_part(part.records, part.n) && head->n_pes > 0 && head->n_pes <= PES_MOST)
        status = ist_profile_job_open(job, file, head->is_trace != 0, head->n_pes);
    else
        status = ist_fail(ISTHMUS_ERR_INVALID, "a part of the profile is damaged");
    unmap_part(&part);
    return status;
}

static isthmus_status add_part(struct ist_profile_job *job, const struct first *first, int pe)
{
    struct part part;
    isthmus_status status = map_part(job->file, pe, &part);
    if (status != ISTHMUS_OK || part.records == NULL) return status;
    if (ist_profile_is_part(part.records, part.n) && part.records->head.job != first->job)
        ist_warn("%s: the part of PE %d is left out: it is of another job than that of PE %d", job->file, pe,
                 first->pe);
    else
        status = ist_profile_job_add(job, part.records, part.n);
    unmap_part(&part);
    return status;
}

isthmus_status ist_profile_report_parts(const char *file)
{
    struct ist_profile_job job = {.out = NULL};
    struct first first = {.pe = -1};
    isthmus_status status = open_job(&job, file, &first);
    for (int pe = 0; pe < job.n_pes && status == ISTHMUS_OK; pe++) status = add_part(&job, &first, pe);
    if (status == ISTHMUS_OK) status = ist_profile_job_close(&job);
    if (status == ISTHMUS_OK) ist_profile_print_summary(stdout, &job);
    ist_profile_job_free(&job);
    return status;
}
