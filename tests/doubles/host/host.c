/* tests/doubles/host/host.c: which machine this process sees. See host.h.
 *
 * HOST_DOUBLE is a list of machines, "usual,half": PE r sees number r of it, and the list repeats. The PE's number is
 * the launcher's; a process without one, such as the launcher, sees the real machine. The machines are made by
 * machines.py into the folder `machines` beside this library. With HOST_DOUBLE_APART each machine is a host of its
 * own: PEs that see one machine share memory, the others reach each other through a network. */
#include "tests/doubles/host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct host host;

/* Without libc's open and fopen, which files.c replaces. */
static bool read_file(const char *path, char *out, size_t room)
{
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t got = read((int)fd, out, room - 1);
    close((int)fd);
    out[got > 0 ? got : 0] = '\0';
    return got > 0;
}

void host_give_up(const char *why, const char *text)
{
    fprintf(stderr, "host double: %s: %s\n", why, text);
    _exit(2);
}

/* ---- which one ---- */

static const char *rank_of_launcher(void)
{
    static const char *const names[] = {"HOST_DOUBLE_PE", "PMIX_RANK",    "OMPI_COMM_WORLD_RANK",
                                        "PMI_RANK",       "SLURM_PROCID", "RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]) != NULL) return getenv(names[i]);
    return NULL;
}

/* Writes entry `pe` of the list, which repeats. */
static void choose(const char *list, int pe, char *out, size_t room)
{
    int n = 1;
    for (const char *c = list; *c != '\0'; c++) n += *c == ',';
    for (int skipped = pe % n; skipped > 0; skipped--) list = strchr(list, ',') + 1;
    snprintf(out, room, "%.*s", (int)strcspn(list, ","), list);
}

/* ---- what it is like ---- */

void host_read_list(const char *list, cpu_set_t *out)
{
    CPU_ZERO(out);
    unsigned first, last;
    for (int used; *list != '\0'; list += *list == ',') {
        used = 0;
        if (sscanf(list, "%u%n", &first, &used) != 1) host_give_up("no list of processors", list);
        list += used;
        last = first;
        if (*list == '-' && sscanf(list, "-%u%n", &last, &used) == 1) list += used;
        for (; first <= last && first < HOST_CPUS; first++) CPU_SET(first, out);
    }
}

static uint64_t number_of(const char *key)
{
    const struct host_knob *knob = host_knob_next(key, NULL);
    if (knob == NULL) host_give_up("the machine has no such knob", key);
    return strtoull(knob->value, NULL, 10);
}

static void read_knobs(void)
{
    static char text[HOST_KNOBS * sizeof(struct host_knob)];
    char path[600], *rest = NULL;
    snprintf(path, sizeof path, "%s/knobs", host.folder);
    if (!read_file(path, text, sizeof text)) host_give_up("there is no such machine", path);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        struct host_knob *knob = &host.knobs[host.n_knobs];
        if (host.n_knobs == HOST_KNOBS || sscanf(line, "%23s %127[^\n]", knob->key, knob->value) != 2)
            host_give_up("a knob that cannot be read, or one too many", line);
        host.n_knobs++;
    }
}

static void find(void)
{
    const char *list = getenv("HOST_DOUBLE"), *rank = rank_of_launcher();
    Dl_info library;
    if (list == NULL || rank == NULL) return;
    if (dladdr(&host, &library) == 0) host_give_up("the folder of this library is unknown", list);
    choose(list, atoi(rank), host.name, sizeof host.name);
    int length = (int)(strrchr(library.dli_fname, '/') - library.dli_fname);
    snprintf(host.folder, sizeof host.folder, "%.*s/machines/%s", length, library.dli_fname, host.name);
    host.is_apart = getenv("HOST_DOUBLE_APART") != NULL;
    read_knobs();
    host.memory_bytes = number_of("memory_bytes");
    host.n_present = (int)number_of("present");
    host.n_online = (int)number_of("online");
    host_read_list(host_knob_next("allowed", NULL)->value, &host.allowed);
    host.is_shown = true;
}

const struct host_knob *host_knob_next(const char *key, const struct host_knob *last)
{
    for (int i = last == NULL ? 0 : (int)(last - host.knobs) + 1; i < host.n_knobs; i++)
        if (strcmp(host.knobs[i].key, key) == 0) return &host.knobs[i];
    return NULL;
}

const struct host *host_now(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return &host;
}
