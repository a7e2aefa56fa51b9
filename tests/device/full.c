/* R92, R144: a kernel that fills the device, but for one block, waits for what other PEs add to a signal; one that
 * fills all of it waits for what another PE sets. PE 0 makes no call of the library meanwhile. Functions that the
 * double of CUDA's driver (tests/doubles/cuda, whose file is the argument) runs stand for kernels; GPU_DOUBLE_BLOCKS is
 * how many blocks it has room for. */
#include "device.h"

#include <dlfcn.h>
#include <sched.h>

enum { PAYLOAD = 1000 };

static struct {
    void (*launch)(int stream, unsigned blocks, void (*kernel)(void *argument), void *argument);
    void *(*word)(uint64_t addr, size_t length_bytes);
} device;

static bool find(const char *file)
{
    void *driver = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    if (driver == NULL) return false;
    *(void **)&device.launch = dlsym(driver, "gpu_double_launch");
    *(void **)&device.word = dlsym(driver, "gpu_word");
    return device.launch != NULL && device.word != NULL;
}

struct kernel {
    const uint64_t *word;
    uint64_t until;
    int has_ended;
};

static void wait_for_word(void *argument)
{
    struct kernel *kernel = argument;
    const uint64_t *word = device.word((uint64_t)(uintptr_t)kernel->word, sizeof *word);
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != kernel->until) sched_yield();
    __atomic_store_n(&kernel->has_ended, 1, __ATOMIC_RELEASE);
}

static void run(struct kernel *kernel, unsigned blocks)
{
    device.launch(0, blocks, wait_for_word, kernel);
    while (!__atomic_load_n(&kernel->has_ended, __ATOMIC_ACQUIRE)) sched_yield();
}

/* Every other PE adds 1 without and 10 with data. */
static void additions(uint64_t *signal, char *data, unsigned room)
{
    char bytes[PAYLOAD];
    struct kernel kernel = {.word = signal, .until = 11 * (uint64_t)(pe.n - 1)};
    make_pattern(bytes, sizeof bytes, pe.me);
    if (pe.me == 0) {
        run(&kernel, room - 1);
    } else {
        shmem_uint64_atomic_add(signal, 1, 0);
        shmem_putmem_signal(data + (size_t)pe.me * PAYLOAD, bytes, sizeof bytes, signal, 10, SHMEM_SIGNAL_ADD, 0);
        shmem_quiet();
    }
    shmem_barrier_all();
    for (int from = 1; from < pe.n && pe.me == 0; from++) {
        make_pattern(bytes, sizeof bytes, from);
        expect_in_heap(data + (size_t)from * PAYLOAD, bytes, sizeof bytes);
    }
}

/* What needs no room: a p, an atomic set, a signal that is set. */
static void sets(uint64_t *words, unsigned room)
{
    for (int i = 0; i < 3; i++) {
        struct kernel kernel = {.word = &words[i], .until = 5 + (uint64_t)i};
        if (pe.me == 0) {
            run(&kernel, room);
        } else if (pe.me == 1) {
            if (i == 0) shmem_uint64_p(&words[i], 5, 0);
            if (i == 1) shmem_uint64_atomic_set(&words[i], 6, 0);
            if (i == 2) shmem_putmem_signal(&words[3], &words[4], 8, &words[i], 7, SHMEM_SIGNAL_SET, 0);
            shmem_quiet();
        }
        shmem_barrier_all();
    }
}

int main(int argc, char **argv)
{
    const char *text = getenv("GPU_DOUBLE_BLOCKS");
    pe_begin();
    CHECK(argc > 1 && find(argv[1]) && text != NULL && pe.n > 1);
    unsigned room = (unsigned)atoi(text);
    uint64_t *words = shmem_calloc(16, sizeof *words);
    char *data = shmem_malloc((size_t)pe.n * PAYLOAD);
    CHECK(words != NULL && data != NULL);
    additions(words, data, room);
    sets(words + 8, room);
    shmem_finalize();
    return 0;
}
