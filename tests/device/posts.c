/* R86, R92, R143: atomics that fetch nothing, of all other PEs, on one PE's device while a kernel fills it: their
 * results are exact, and those that have arrived meanwhile share launches.
 * The double of CUDA's driver (tests/doubles/cuda), whose file is the argument, runs a function that stands for the
 * kernel, and counts the launches. GPU_DOUBLE_BLOCKS is how many blocks it has room for. Hosts are pretended: a count
 * in shared memory, past the library, ends the kernel. */
#include "device.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 10, WAYS = 6, SHARE = 8 }; /* a launch has at least so many operations, on average */

static struct words {
    uint64_t sum, ones, zeros, parity, set[8][ROUNDS];
    uint32_t count;
} * words;

static struct {
    void (*launch)(int stream, unsigned blocks, void (*kernel)(void *argument), void *argument);
    int (*waiting)(void);
    const char *(*call)(int number, int *uses);
} device;

static bool find(const char *file)
{
    void *driver = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    if (driver == NULL) return false;
    *(void **)&device.launch = dlsym(driver, "gpu_double_launch");
    *(void **)&device.waiting = dlsym(driver, "gpu_double_waiting");
    *(void **)&device.call = dlsym(driver, "gpu_double_call");
    return device.launch != NULL && device.waiting != NULL && device.call != NULL;
}

static int count_launches(void)
{
    const char *name;
    for (int number = 0, uses; (name = device.call(number, &uses)) != NULL; number++)
        if (strcmp(name, "cuLaunchKernel") == 0) return uses;
    return 0;
}

static struct shared {
    int is_full;  /* the kernel runs */
    int n_posted; /* PEs that have posted all that is theirs */
} * shared;

/* The same memory in all PEs: a file of PE 0, which the others open by the number that it has there. */
static void share(void)
{
    static int opened[2]; /* by PE 0: the process, and its descriptor */
    char path[64];
    if (pe.me == 0) {
        opened[0] = (int)getpid();
        opened[1] = memfd_create("posts", MFD_CLOEXEC);
        CHECK(opened[1] >= 0 && ftruncate(opened[1], sizeof *shared) == 0);
    }
    shmem_barrier_all();
    snprintf(path, sizeof path, "/proc/%d/fd/%d", shmem_int_g(&opened[0], 0), shmem_int_g(&opened[1], 0));
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(shared != MAP_FAILED);
    close(fd);
}

/* Until the first of the library's kernels waits for room, and all others have been sent. */
static void hold(void *argument)
{
    int *has_ended = argument;
    __atomic_store_n(&shared->is_full, 1, __ATOMIC_RELEASE);
    while (device.waiting() == 0 || __atomic_load_n(&shared->n_posted, __ATOMIC_ACQUIRE) < pe.n - 1) sched_yield();
    __atomic_store_n(has_ended, 1, __ATOMIC_RELEASE);
}

static uint64_t bit(int round, int from) { return UINT64_C(1) << (from * ROUNDS + round) % 64; }

/* Fewer than a PE has under way at a time: none waits for a reply. */
static void post_all(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        shmem_uint64_atomic_add(&words->sum, (uint64_t)(i + 1), 0);
        shmem_uint32_atomic_inc(&words->count, 0);
        shmem_uint64_atomic_or(&words->ones, bit(i, pe.me), 0);
        shmem_uint64_atomic_and(&words->zeros, ~bit(i, pe.me), 0);
        shmem_uint64_atomic_xor(&words->parity, (uint64_t)(pe.me * 1000 + i), 0);
        shmem_uint64_atomic_set(&words->set[pe.me][i], bit(i, pe.me), 0);
    }
}

static void check_results(void)
{
    struct words expected = {.zeros = ~UINT64_C(0)};
    for (int from = 1; from < pe.n; from++)
        for (int i = 0; i < ROUNDS; i++) {
            expected.sum += (uint64_t)(i + 1);
            expected.count++;
            expected.ones |= bit(i, from);
            expected.zeros &= ~bit(i, from);
            expected.parity ^= (uint64_t)(from * 1000 + i);
            expected.set[from][i] = bit(i, from);
        }
    expect_in_heap(words, &expected, sizeof expected);
}

int main(int argc, char **argv)
{
    const char *room = getenv("GPU_DOUBLE_BLOCKS");
    pe_begin();
    CHECK(argc > 1 && find(argv[1]) && room != NULL && pe.n > 1 && pe.n <= 8);
    words = shmem_malloc(sizeof *words);
    CHECK(words != NULL);
    const struct words first = {.zeros = ~UINT64_C(0)};
    to_heap(words, &first, sizeof first);
    share();
    (void)shmem_uint64_atomic_fetch(&words->sum, 0); /* from here on all are connected */
    shmem_barrier_all();
    int n_before = count_launches(), has_ended = 0;
    if (pe.me == 0) {
        device.launch(0, (unsigned)atoi(room), hold, &has_ended);
        while (!__atomic_load_n(&has_ended, __ATOMIC_ACQUIRE)) sched_yield();
    } else {
        while (!__atomic_load_n(&shared->is_full, __ATOMIC_ACQUIRE)) sched_yield();
        post_all();
        __atomic_add_fetch(&shared->n_posted, 1, __ATOMIC_RELEASE);
    }
    shmem_barrier_all();
    int n_launches = count_launches() - n_before;
    if (pe.me == 0) {
        check_results();
        int n_posts = (pe.n - 1) * ROUNDS * WAYS;
        if (n_launches > n_posts / SHARE)
            check_fail(__FILE__, __LINE__, "%d launches for %d operations, expected at most %d", n_launches, n_posts,
                       n_posts / SHARE);
    }
    shmem_finalize();
    return 0;
}
