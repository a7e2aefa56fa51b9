/* R60, R65, R92: an addition to a word of a device is a kernel, which waits for room on a full device: of this PE,
 * where it reaches the other one's memory, or of PE 0, to which the network brings it. The call does not wait for
 * that. A word that is set, which needs no kernel, behind a fence behind such an addition, or before one, is set in
 * this order, in each way to set it. Functions that the double of CUDA's driver (tests/doubles/cuda, whose file is
 * the argument) runs stand for kernels; GPU_DOUBLE_BLOCKS is how many blocks it has room for. */
#include "device.h"

#include <dlfcn.h>
#include <sched.h>

enum { ADDED = 5, SET = 1000, ROUNDS = 18 };

static struct {
    void (*launch)(int stream, unsigned blocks, void (*kernel)(void *argument), void *argument);
    int (*waiting)(void);
} device;

static bool find(const char *file)
{
    void *driver = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    if (driver == NULL) return false;
    *(void **)&device.launch = dlsym(driver, "gpu_double_launch");
    *(void **)&device.waiting = dlsym(driver, "gpu_double_waiting");
    return device.launch != NULL && device.waiting != NULL;
}

/* ---- the kernel that fills the device ---- */

static int is_released, has_ended;
static bool makes_room; /* when the library's kernel waits: a fence does, too, and on PE 0 it serves others */

static void hold(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&is_released, __ATOMIC_ACQUIRE) && (!makes_room || device.waiting() == 0)) sched_yield();
    __atomic_store_n(&has_ended, 1, __ATOMIC_RELEASE);
}

static void fill(unsigned blocks, bool has_fence)
{
    is_released = has_ended = 0;
    makes_room = has_fence || pe.me == 0;
    device.launch(0, blocks, hold, NULL);
}

static void release(void)
{
    __atomic_store_n(&is_released, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&has_ended, __ATOMIC_ACQUIRE)) sched_yield();
}

/* ---- ways to set a word, and to add to it ---- */

static uint64_t *words, *data; /* one for each PE, in PE 0's memory */

static void set_by_p(uint64_t value) { shmem_uint64_p(&words[pe.me], value, 0); }
static void set_by_atomic(uint64_t value) { shmem_uint64_atomic_set(&words[pe.me], value, 0); }

static void set_by_signal(uint64_t value)
{
    uint64_t source = value;
    shmem_putmem_signal(&data[pe.me], &source, sizeof source, &words[pe.me], value, SHMEM_SIGNAL_SET, 0);
}

static void add_by_atomic(void) { shmem_uint64_atomic_add(&words[pe.me], ADDED, 0); }

static void add_by_signal(void)
{
    uint64_t source = ADDED;
    shmem_putmem_signal(&data[pe.me], &source, sizeof source, &words[pe.me], ADDED, SHMEM_SIGNAL_ADD, 0);
}

static void (*const setters[])(uint64_t value) = {set_by_p, set_by_atomic, set_by_signal};
static void (*const adders[])(void) = {add_by_atomic, add_by_signal};

enum what { ADD, ADD_AND_SET, SET_AND_ADD, N_WHATS };

/* Returns what the word is afterwards; on PE 0 without an effect. */
static uint64_t change(int round, uint64_t before)
{
    enum what what = round % N_WHATS;
    void (*set)(uint64_t) = setters[round / N_WHATS % 3];
    void (*add)(void) = adders[round / N_WHATS % 2];
    uint64_t value = SET * (uint64_t)(round + 1);
    if (pe.me > 0 && what == SET_AND_ADD) set(value);
    if (pe.me > 0 && what == SET_AND_ADD) shmem_fence();
    if (pe.me > 0) add();
    if (pe.me > 0 && what == ADD_AND_SET) shmem_fence();
    if (pe.me > 0 && what == ADD_AND_SET) set(value);
    return what == ADD ? before + ADDED : what == ADD_AND_SET ? value : value + ADDED;
}

int main(int argc, char **argv)
{
    const char *room = getenv("GPU_DOUBLE_BLOCKS");
    pe_begin();
    CHECK(argc > 1 && find(argv[1]) && room != NULL && pe.n > 1);
    words = shmem_calloc((size_t)pe.n, sizeof *words);
    data = shmem_calloc((size_t)pe.n, sizeof *data);
    CHECK(words != NULL && data != NULL);
    (void)shmem_uint64_atomic_fetch(&words[pe.me], 0); /* from here on all are connected */
    shmem_barrier_all();
    uint64_t expected = 0;
    for (int round = 0; round < ROUNDS; round++) {
        fill((unsigned)atoi(room), round % N_WHATS != ADD);
        shmem_barrier_all();
        expected = change(round, expected);
        if (pe.me > 0) release();
        shmem_barrier_all(); /* completes them */
        if (pe.me == 0) release();
        for (int from = 1; from < pe.n && pe.me == 0; from++) expect_in_heap(&words[from], &expected, sizeof expected);
        shmem_barrier_all();
    }
    shmem_finalize();
    return 0;
}
