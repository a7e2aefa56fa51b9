/* tests/doubles/host/host.h: the machine that this process sees. host.c finds it, and each other file replaces the
 * functions of libc that show one side of it. Functions that a file replaces call the next definition, libc's. */
#ifndef HOST_DOUBLE_HOST_H
#define HOST_DOUBLE_HOST_H

#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOST_CPUS = 1024, HOST_KNOBS = 64, HOST_KNOB_BYTES = 128, HOST_SKIPPED = 77 };

/* A line of the machine's file `knobs`: "memory_bytes 17179869184". */
struct host_knob {
    char key[24], value[HOST_KNOB_BYTES];
};

struct host {
    bool is_shown;              /* false: this process is no PE, or no machine is given, and sees the real one */
    char name[64], folder[512]; /* of the machine; the name is also that of the host */
    bool is_apart;              /* it has a boot id of its own, and so is another host to the library */
    int n_knobs;
    struct host_knob knobs[HOST_KNOBS];
    uint64_t memory_bytes;
    int n_present, n_online; /* processors */
    cpu_set_t allowed;
};

/* Never NULL; found at the first call. */
const struct host *host_now(void);

/* Returns the knob after `last` with that key, or the first one if `last` is NULL; NULL: there is none. */
const struct host_knob *host_knob_next(const char *key, const struct host_knob *last);

/* Reads "0-3,8". */
void host_read_list(const char *list, cpu_set_t *out);

/* Returns the path of the file to open for `path`: itself, or the machine's own file, written to `out`. */
const char *host_path(const char *path, char out[PATH_MAX]);

/* Waits as long as the call takes on this machine. Returns 0, or the error number with which it fails there, which is
 * also in errno. `text`: its file or the like, NULL if it has none; `bytes`: its size. */
int host_call(const char *call, const char *text, uint64_t bytes);

/* A mapping: returns 0, or an error number, also in errno, if it needs more huge pages than are free. Takes what asks
 * for huge pages out of the flags. */
int host_huge_map(int fd, uint64_t bytes, int *flags);

/* Reports that the double itself cannot go on, and ends the process. */
void host_give_up(const char *why, const char *text) __attribute__((noreturn));

#define HOST_NEXT(name)            \
    static __typeof__(name) *next; \
    if (next == NULL) *(void **)(void *)&next = dlsym(RTLD_NEXT, #name)

#endif
