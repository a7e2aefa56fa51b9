/* tests/doubles/gpu/knobs.c: see gpu.h. The double's settings from the environment, and the check for leaks at the
 * end. */
#include "gpu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS_MAX = 128, LEAK_STATUS = 86 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gpu_knobs knobs;
static bool is_read, has_trace;
static struct {
    const char *name;
    int uses;
} calls[CALLS_MAX];
static int held[GPU_THINGS];

__attribute__((visibility("default"))) const char isthmus_double[] = "no hardware"; /* for isthmus-perf */

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? atoi(text) : otherwise;
}

static void read_environment(void)
{
    knobs = (struct gpu_knobs){
        .devices = number("GPU_DOUBLE_DEVICES", 1),
        .tiles = number("GPU_DOUBLE_TILES", 0),
        .version = number("GPU_DOUBLE_VERSION", 0),
        .delay_us = (unsigned)number("GPU_DOUBLE_DELAY_US", 0),
        .blocks = (unsigned)number("GPU_DOUBLE_BLOCKS", 0),
        .multiprocessors = (unsigned)number("GPU_DOUBLE_MULTIPROCESSORS", 1),
        .has_peers = number("GPU_DOUBLE_PEERS", 1) != 0,
        .has_peer_atomics = number("GPU_DOUBLE_PEERS", 1) == 1,
        .has_fabric = number("GPU_DOUBLE_FABRIC", 1) != 0,
        .writes_order = number("GPU_DOUBLE_WRITES_ORDER", 100),
        .has_flush = number("GPU_DOUBLE_FLUSH", 1) != 0,
        .has_rdma = number("GPU_DOUBLE_RDMA", 1) != 0,
        .host_access = number("GPU_DOUBLE_HOST_ACCESS", 0) != 0,
    };
    if (knobs.devices > GPU_DEVICES_MAX) knobs.devices = GPU_DEVICES_MAX;
    has_trace = number("GPU_DOUBLE_TRACE", 0) != 0;
    memset(calls, 0, sizeof calls);
    is_read = true;
}

const struct gpu_knobs *gpu_knobs(void)
{
    pthread_mutex_lock(&lock);
    if (!is_read) read_environment();
    pthread_mutex_unlock(&lock);
    return &knobs;
}

void gpu_double_reset(void)
{
    pthread_mutex_lock(&lock);
    read_environment();
    pthread_mutex_unlock(&lock);
}

/* How often the call was made, this time included. Names are constants of the faces. */
static int count_use(const char *call)
{
    for (int i = 0; i < CALLS_MAX; i++) {
        if (calls[i].name == NULL) calls[i].name = call;
        if (calls[i].name == call || strcmp(calls[i].name, call) == 0) return ++calls[i].uses;
    }
    return 0;
}

/* Does one "call:nth[+][:code]" of the list match this use? */
static bool is_meant(const char *item, const char *call, int use, int *code)
{
    size_t n = strlen(call);
    if (strncmp(item, call, n) != 0 || item[n] != ':') return false;
    char *end;
    long nth = strtol(item + n + 1, &end, 10);
    bool goes_on = *end == '+';
    if (goes_on) end++;
    if (*end == ':') *code = atoi(end + 1);
    return use == nth || (goes_on && use > nth);
}

int gpu_enter(const char *call, int code)
{
    (void)gpu_knobs();
    pthread_mutex_lock(&lock);
    int use = count_use(call), result = 0;
    const char *item = getenv("GPU_DOUBLE_FAIL");
    while (item != NULL && *item != '\0' && result == 0) {
        if (is_meant(item, call, use, &code)) result = code;
        item = strchr(item, ',');
        if (item != NULL) item++;
    }
    pthread_mutex_unlock(&lock);
    if (has_trace) fprintf(stderr, "gpu double %d: %s #%d%s\n", (int)getpid(), call, use, result != 0 ? " fails" : "");
    return result;
}

const char *gpu_double_call(int number, int *uses)
{
    if (number >= CALLS_MAX) return NULL;
    pthread_mutex_lock(&lock);
    *uses = calls[number].uses;
    const char *name = calls[number].name;
    pthread_mutex_unlock(&lock);
    return name;
}

void gpu_count(enum gpu_thing thing, int change) { __atomic_add_fetch(&held[thing], change, __ATOMIC_RELAXED); }

int gpu_double_held(char *text, size_t text_bytes)
{
    static const char *const names[GPU_THINGS] = {"memory", "mapping", "reservation", "pinned range",
                                                  "stream", "event",   "context",     "module"};
    int all = 0;
    size_t used = 0;
    for (int i = 0; i < GPU_THINGS; i++) {
        int n = __atomic_load_n(&held[i], __ATOMIC_RELAXED);
        all += n;
        if (n != 0 && text != NULL && used < text_bytes)
            used += (size_t)snprintf(text + used, text_bytes - used, "%s%d x %s", used > 0 ? ", " : "", n, names[i]);
    }
    return all;
}

__attribute__((destructor)) static void say_what_is_left(void)
{
    char text[200];
    if (number("GPU_DOUBLE_LEAKS", 0) == 0 || gpu_double_held(text, sizeof text) == 0) return;
    fprintf(stderr, "gpu double %d: still held at exit: %s\n", (int)getpid(), text);
    _exit(LEAK_STATUS);
}
