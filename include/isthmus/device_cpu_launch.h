/* isthmus/device_cpu_launch.h: the engine of the CPU device: runs a kernel, which is a plain function, as blocks of GPU
 * threads. All of it is in this header, so that a program with kernels needs nothing but a C compiler.
 *
 * Each block has a thread of the processor. Its GPU threads are fibres of that thread: barriers and waits switch from
 * one to the next, so that any number of them makes progress on any number of processors. isthmus_cpu_launch_threads()
 * gives each GPU thread a thread of the processor instead, for tools that watch threads (ThreadSanitizer). */
#ifndef ISTHMUS_DEVICE_CPU_LAUNCH_H
#define ISTHMUS_DEVICE_CPU_LAUNCH_H

#include <isthmus/device.h>
#include <pthread.h>
#include <ucontext.h>

typedef void (*isthmus_cpu_kernel)(void *argument);

enum { ISTHMUS_CPU_STACK_BYTES = 256 << 10 };

struct isthmus_cpu_grid_ {
    isthmus_cpu_kernel kernel;
    void *argument;
    uint32_t blocks, threads;
    uint32_t has_trapped;    /* a thread has stopped the kernel; set atomically */
    uint32_t has_all_blocks; /* behind the gate: 0 when one of them could not be created */
    pthread_mutex_t gate;    /* held while blocks are created */
};

/* Returns the number of the group of this scope that a thread belongs to. */
static inline uint32_t isthmus_cpu_group_(uint32_t rank, int scope)
{
    return scope == ISTHMUS_BLOCK ? 0 : scope == ISTHMUS_WARPGROUP ? rank / 128 : rank / ISTHMUS_WARP_THREADS;
}

/* ---- fibres ---- */

enum isthmus_cpu_state_ { ISTHMUS_CPU_RUNS_, ISTHMUS_CPU_AT_BARRIER_, ISTHMUS_CPU_DONE_ };

struct isthmus_cpu_fibre_ {
    struct isthmus_cpu_thread thread; /* first: isthmus_cpu_thread_v1 points to it */
    struct isthmus_cpu_block_ *block;
    ucontext_t context;
    char *stack;
    enum isthmus_cpu_state_ state;
    int scope; /* of the barrier that it has arrived at */
};

struct isthmus_cpu_block_ {
    struct isthmus_cpu_grid_ *grid;
    pthread_t thread;
    uint32_t index;
    ucontext_t scheduler;
    struct isthmus_cpu_fibre_ *fibres;
};

static inline struct isthmus_cpu_fibre_ *isthmus_cpu_fibre_now_(void)
{
    return (struct isthmus_cpu_fibre_ *)(void *)isthmus_cpu_thread_v1;
}

static inline void isthmus_cpu_switch_(struct isthmus_cpu_fibre_ *fibre)
{
    swapcontext(&fibre->context, &fibre->block->scheduler);
}

/* A block of one thread has no other thread to switch to. */
static void isthmus_cpu_fibre_pause_(void)
{
    struct isthmus_cpu_fibre_ *fibre = isthmus_cpu_fibre_now_();
    if (fibre->block->grid->threads == 1)
        sched_yield();
    else
        isthmus_cpu_switch_(fibre);
}

/* Threads that have ended do not take part. */
static int isthmus_cpu_has_group_arrived_(const struct isthmus_cpu_block_ *block, uint32_t rank, int scope)
{
    uint32_t group = isthmus_cpu_group_(rank, scope);
    for (uint32_t i = 0; i < block->grid->threads; i++) {
        const struct isthmus_cpu_fibre_ *other = &block->fibres[i];
        int is_there = other->state == ISTHMUS_CPU_AT_BARRIER_ && other->scope == scope;
        if (isthmus_cpu_group_(i, scope) == group && other->state != ISTHMUS_CPU_DONE_ && !is_there) return 0;
    }
    return 1;
}

/* Called after a thread has arrived or ended: its groups may be complete now. */
static void isthmus_cpu_release_(struct isthmus_cpu_block_ *block, uint32_t rank, int scope)
{
    uint32_t group = isthmus_cpu_group_(rank, scope);
    if (!isthmus_cpu_has_group_arrived_(block, rank, scope)) return;
    for (uint32_t i = 0; i < block->grid->threads; i++) {
        struct isthmus_cpu_fibre_ *other = &block->fibres[i];
        int is_there = other->state == ISTHMUS_CPU_AT_BARRIER_ && other->scope == scope;
        if (isthmus_cpu_group_(i, scope) == group && is_there) other->state = ISTHMUS_CPU_RUNS_;
    }
}

static void isthmus_cpu_fibre_barrier_(int scope)
{
    struct isthmus_cpu_fibre_ *fibre = isthmus_cpu_fibre_now_();
    if (scope == ISTHMUS_THREAD || fibre->block->grid->threads == 1) return;
    fibre->state = ISTHMUS_CPU_AT_BARRIER_;
    fibre->scope = scope;
    isthmus_cpu_release_(fibre->block, fibre->thread.rank, scope);
    while (fibre->state == ISTHMUS_CPU_AT_BARRIER_) isthmus_cpu_switch_(fibre);
}

static void isthmus_cpu_fibre_end_(struct isthmus_cpu_fibre_ *fibre)
{
    fibre->state = ISTHMUS_CPU_DONE_;
    for (int scope = ISTHMUS_WARP; scope <= ISTHMUS_BLOCK; scope++)
        isthmus_cpu_release_(fibre->block, fibre->thread.rank, scope);
    for (;;) isthmus_cpu_switch_(fibre);
}

static void isthmus_cpu_fibre_trap_(void)
{
    struct isthmus_cpu_fibre_ *fibre = isthmus_cpu_fibre_now_();
    __atomic_store_n(&fibre->block->grid->has_trapped, 1, __ATOMIC_RELAXED);
    isthmus_cpu_fibre_end_(fibre);
}

static void isthmus_cpu_fibre_main_(void)
{
    struct isthmus_cpu_fibre_ *fibre = isthmus_cpu_fibre_now_();
    fibre->block->grid->kernel(fibre->block->grid->argument);
    isthmus_cpu_fibre_end_(fibre);
}

static int isthmus_cpu_fibre_begin_(struct isthmus_cpu_block_ *block, uint32_t rank)
{
    struct isthmus_cpu_fibre_ *fibre = &block->fibres[rank];
    fibre->thread.rank = rank;
    fibre->thread.count = block->grid->threads;
    fibre->thread.block = block->index;
    fibre->thread.blocks = block->grid->blocks;
    fibre->thread.barrier = isthmus_cpu_fibre_barrier_;
    fibre->thread.pause = isthmus_cpu_fibre_pause_;
    fibre->thread.trap = isthmus_cpu_fibre_trap_;
    fibre->thread.is_over = &block->grid->has_trapped;
    fibre->block = block;
    fibre->stack = (char *)malloc(ISTHMUS_CPU_STACK_BYTES);
    if (fibre->stack == NULL || getcontext(&fibre->context) != 0) return -1;
    fibre->context.uc_stack.ss_sp = fibre->stack;
    fibre->context.uc_stack.ss_size = ISTHMUS_CPU_STACK_BYTES;
    fibre->context.uc_link = NULL;
    makecontext(&fibre->context, isthmus_cpu_fibre_main_, 0);
    return 0;
}

/* One turn of every thread that can run. Returns how many there were. A turn in which none has ended or met the others
 * was spent in waits, for what other blocks or PEs do: they may need the processor. */
static uint32_t isthmus_cpu_turn_(struct isthmus_cpu_block_ *block)
{
    uint32_t n_run = 0, n_paused = 0;
    for (uint32_t i = 0; i < block->grid->threads; i++) {
        struct isthmus_cpu_fibre_ *fibre = &block->fibres[i];
        if (fibre->state != ISTHMUS_CPU_RUNS_) continue;
        n_run++;
        isthmus_cpu_thread_v1 = &fibre->thread;
        swapcontext(&block->scheduler, &fibre->context);
        n_paused += fibre->state == ISTHMUS_CPU_RUNS_;
    }
    if (n_run > 0 && n_paused == n_run) sched_yield();
    return n_run;
}

/* Waits until all blocks have been created. Returns 0 if one of them could not be: the others might wait for it for
 * ever. */
static uint32_t isthmus_cpu_pass_gate_(struct isthmus_cpu_grid_ *grid)
{
    pthread_mutex_lock(&grid->gate);
    uint32_t has_all_blocks = grid->has_all_blocks;
    pthread_mutex_unlock(&grid->gate);
    return has_all_blocks;
}

static void *isthmus_cpu_block_run_(void *argument)
{
    struct isthmus_cpu_block_ *block = (struct isthmus_cpu_block_ *)argument;
    if (!isthmus_cpu_pass_gate_(block->grid)) return NULL;
    while (isthmus_cpu_turn_(block) > 0) {}
    isthmus_cpu_thread_v1 = NULL;
    for (uint32_t i = 0; i < block->grid->threads; i++) {
        if (block->fibres[i].state == ISTHMUS_CPU_DONE_) continue;
        if (__atomic_exchange_n(&block->grid->has_trapped, 1, __ATOMIC_RELAXED) == 0)
            fprintf(stderr,
                    "isthmus: thread %u of block %u waits at a barrier that other threads of its group do not "
                    "call; call it in all of them\n",
                    (unsigned)i, (unsigned)block->index);
        break;
    }
    return NULL;
}

static void isthmus_cpu_block_end_(struct isthmus_cpu_block_ *block)
{
    for (uint32_t i = 0; block->fibres != NULL && i < block->grid->threads; i++) free(block->fibres[i].stack);
    free(block->fibres);
}

static int isthmus_cpu_block_begin_(struct isthmus_cpu_block_ *block, struct isthmus_cpu_grid_ *grid, uint32_t index)
{
    block->grid = grid;
    block->index = index;
    block->fibres = (struct isthmus_cpu_fibre_ *)calloc(grid->threads, sizeof *block->fibres);
    if (block->fibres == NULL) return -1;
    for (uint32_t i = 0; i < grid->threads; i++)
        if (isthmus_cpu_fibre_begin_(block, i) != 0) return -1;
    return pthread_create(&block->thread, NULL, isthmus_cpu_block_run_, block) == 0 ? 0 : -1;
}

/* All threads have ended. The library prints why, if it was for a wrong call. */
static int isthmus_cpu_has_trapped_(const struct isthmus_cpu_grid_ *grid)
{
    if (__atomic_load_n(&grid->has_trapped, __ATOMIC_RELAXED) == 0) return 0;
    if (isthmus_device_report_v1 != NULL) (void)isthmus_device_report_v1(NULL);
    return 1;
}

/* Runs the kernel as `blocks` blocks of `threads` threads, and waits until they have ended. All blocks run at once: any
 * may wait for any other. Returns 0; -1 if there was no memory, if a thread stopped the kernel (a wrong call, the end
 * of the job) or if a barrier was not called by all threads of a group. */
static inline int isthmus_cpu_launch(uint32_t blocks, uint32_t threads, isthmus_cpu_kernel kernel, void *argument)
{
    struct isthmus_cpu_grid_ grid = {kernel, argument, blocks, threads, 0, 0, PTHREAD_MUTEX_INITIALIZER};
    struct isthmus_cpu_block_ *list = (struct isthmus_cpu_block_ *)calloc(blocks, sizeof *list);
    uint32_t n = 0;
    int status = list != NULL ? 0 : -1;
    pthread_mutex_lock(&grid.gate);
    while (status == 0 && n < blocks) {
        status = isthmus_cpu_block_begin_(&list[n], &grid, n);
        if (status != 0) isthmus_cpu_block_end_(&list[n]);
        n += status == 0;
    }
    grid.has_all_blocks = status == 0;
    pthread_mutex_unlock(&grid.gate);
    for (uint32_t i = 0; i < n; i++) {
        pthread_join(list[i].thread, NULL);
        isthmus_cpu_block_end_(&list[i]);
    }
    free(list);
    return status != 0 || isthmus_cpu_has_trapped_(&grid) ? -1 : 0;
}

/* ---- a thread of the processor for each GPU thread ---- */

struct isthmus_cpu_meeting_ {
    pthread_mutex_t lock;
    pthread_cond_t complete;
    uint32_t members, arrived, round;
};

struct isthmus_cpu_worker_ {
    struct isthmus_cpu_thread thread; /* first: isthmus_cpu_thread_v1 points to it */
    struct isthmus_cpu_grid_ *grid;
    struct isthmus_cpu_meeting_ *meetings[4]; /* by scope; NULL: of one thread */
    pthread_t id;
};

static inline struct isthmus_cpu_worker_ *isthmus_cpu_worker_now_(void)
{
    return (struct isthmus_cpu_worker_ *)(void *)isthmus_cpu_thread_v1;
}

static void isthmus_cpu_worker_pause_(void) { sched_yield(); }

static void isthmus_cpu_complete_(struct isthmus_cpu_meeting_ *meeting)
{
    meeting->arrived = 0;
    meeting->round++;
    pthread_cond_broadcast(&meeting->complete);
}

static void isthmus_cpu_worker_barrier_(int scope)
{
    struct isthmus_cpu_meeting_ *meeting = isthmus_cpu_worker_now_()->meetings[scope];
    if (meeting == NULL) return;
    pthread_mutex_lock(&meeting->lock);
    uint32_t round = meeting->round;
    if (++meeting->arrived == meeting->members) isthmus_cpu_complete_(meeting);
    while (round == meeting->round) pthread_cond_wait(&meeting->complete, &meeting->lock);
    pthread_mutex_unlock(&meeting->lock);
}

/* Barriers go on without a thread that has ended. */
static void isthmus_cpu_worker_end_(struct isthmus_cpu_worker_ *worker)
{
    for (int scope = ISTHMUS_WARP; scope <= ISTHMUS_BLOCK; scope++) {
        struct isthmus_cpu_meeting_ *meeting = worker->meetings[scope];
        pthread_mutex_lock(&meeting->lock);
        meeting->members--;
        if (meeting->arrived == meeting->members) isthmus_cpu_complete_(meeting);
        pthread_mutex_unlock(&meeting->lock);
    }
}

static void isthmus_cpu_worker_trap_(void)
{
    struct isthmus_cpu_worker_ *worker = isthmus_cpu_worker_now_();
    __atomic_store_n(&worker->grid->has_trapped, 1, __ATOMIC_RELAXED);
    isthmus_cpu_worker_end_(worker);
    pthread_exit(NULL);
}

static void *isthmus_cpu_worker_run_(void *argument)
{
    struct isthmus_cpu_worker_ *worker = (struct isthmus_cpu_worker_ *)argument;
    isthmus_cpu_thread_v1 = &worker->thread;
    worker->grid->kernel(worker->grid->argument);
    isthmus_cpu_worker_end_(worker);
    return NULL;
}

/* The groups of one scope in one block. Returns the number of groups. */
static uint32_t isthmus_cpu_meetings_begin_(struct isthmus_cpu_meeting_ *list, uint32_t threads, int scope)
{
    uint32_t groups = isthmus_cpu_group_(threads - 1, scope) + 1;
    for (uint32_t i = 0; i < groups; i++) {
        pthread_mutex_init(&list[i].lock, NULL);
        pthread_cond_init(&list[i].complete, NULL);
        list[i].members = list[i].arrived = list[i].round = 0;
    }
    for (uint32_t i = 0; i < threads; i++) list[isthmus_cpu_group_(i, scope)].members++;
    return groups;
}

static void isthmus_cpu_worker_begin_(struct isthmus_cpu_worker_ *worker, struct isthmus_cpu_grid_ *grid,
                                      uint32_t block, uint32_t rank)
{
    worker->thread.rank = rank;
    worker->thread.count = grid->threads;
    worker->thread.block = block;
    worker->thread.blocks = grid->blocks;
    worker->thread.barrier = isthmus_cpu_worker_barrier_;
    worker->thread.pause = isthmus_cpu_worker_pause_;
    worker->thread.trap = isthmus_cpu_worker_trap_;
    worker->thread.is_over = &grid->has_trapped;
    worker->grid = grid;
    worker->meetings[ISTHMUS_THREAD] = NULL;
}

/* The same, with threads of the processor; for small numbers. A failure to create them ends the process. */
static inline int isthmus_cpu_launch_threads(uint32_t blocks, uint32_t threads, isthmus_cpu_kernel kernel,
                                             void *argument)
{
    struct isthmus_cpu_grid_ grid = {kernel, argument, blocks, threads, 0, 1, PTHREAD_MUTEX_INITIALIZER};
    uint32_t n = blocks * threads, used = 0;
    struct isthmus_cpu_worker_ *workers = (struct isthmus_cpu_worker_ *)calloc(n, sizeof *workers);
    struct isthmus_cpu_meeting_ *meetings = (struct isthmus_cpu_meeting_ *)calloc(3 * (size_t)n, sizeof *meetings);
    if (workers == NULL || meetings == NULL) abort();
    for (uint32_t block = 0; block < blocks; block++)
        for (int scope = ISTHMUS_WARP; scope <= ISTHMUS_BLOCK; scope++) {
            struct isthmus_cpu_meeting_ *first = meetings + used;
            used += isthmus_cpu_meetings_begin_(first, threads, scope);
            for (uint32_t i = 0; i < threads; i++)
                workers[block * threads + i].meetings[scope] = first + isthmus_cpu_group_(i, scope);
        }
    for (uint32_t i = 0; i < n; i++) {
        isthmus_cpu_worker_begin_(&workers[i], &grid, i / threads, i % threads);
        if (pthread_create(&workers[i].id, NULL, isthmus_cpu_worker_run_, &workers[i]) != 0) abort();
    }
    for (uint32_t i = 0; i < n; i++) pthread_join(workers[i].id, NULL);
    free(meetings);
    free(workers);
    return isthmus_cpu_has_trapped_(&grid) ? -1 : 0;
}

#endif
