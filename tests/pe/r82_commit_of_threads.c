/* R82: a thread's team_remote_commit leaves alone the contexts that other threads are using without a lock, and commits
 * what may be committed: the default context, contexts that threads share, and private ones of the calling thread. With
 * the argument "held" the transport hook has to delay: a nonblocking put stays where it is until the next call for its
 * context, which shows the contexts that were committed. */
#include "check.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

enum { WORDS = 40, WORKERS = 2, CALLERS_CONTEXTS = 3 };

static uint64_t by_worker[WORKERS][WORDS], by_caller[CALLERS_CONTEXTS][WORDS];
static const long options[WORKERS] = {SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED};
static int is_over;

/* A context without a lock, in use all the time. */
static void *work(void *argument)
{
    int number = (int)(intptr_t)argument;
    uint64_t seen[WORDS];
    shmem_ctx_t ctx;
    CHECK_EQ(shmem_ctx_create(options[number], &ctx), 0);
    for (uint64_t round = 1; !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE); round++) {
        uint64_t source[WORDS];
        for (int i = 0; i < WORDS; i++) source[i] = round;
        shmem_ctx_uint64_put_nbi(ctx, by_worker[number], source, WORDS, pe.right);
        shmem_ctx_quiet(ctx);
        shmem_ctx_uint64_get(ctx, seen, by_worker[number], WORDS, pe.right);
        CHECK_BYTES(seen, source, sizeof seen);
    }
    shmem_ctx_destroy(ctx);
    return NULL;
}

static void commit_while_others_work(const shmem_ctx_t *ctxs)
{
    pthread_t threads[WORKERS];
    for (intptr_t i = 0; i < WORKERS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(150); round++) {
        for (int c = 0; c < CALLERS_CONTEXTS; c++)
            for (int i = 0; i < WORDS; i++) shmem_ctx_uint64_p(ctxs[c], &by_caller[c][i], round, pe.right);
        shmem_team_remote_commit(SHMEM_TEAM_WORLD);
        for (int c = 0; c < CALLERS_CONTEXTS; c++)
            for (int i = 0; i < WORDS; i++) CHECK_EQ(by_caller[c][i], round);
        shmem_sync_all();
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < WORKERS; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

/* ---- which contexts a call commits ---- */

static uint64_t one = 1;
static sem_t has_put, may_end;

static void *put_and_wait(void *argument)
{
    int number = (int)(intptr_t)argument;
    shmem_ctx_t ctx;
    CHECK_EQ(shmem_ctx_create(options[number], &ctx), 0);
    shmem_ctx_uint64_put_nbi(ctx, by_worker[number], &one, 1, pe.right);
    sem_post(&has_put);
    sem_wait(&may_end);
    shmem_ctx_destroy(ctx);
    return NULL;
}

static void commit_beside_puts_that_are_held(const shmem_ctx_t *ctxs)
{
    pthread_t threads[WORKERS];
    sem_init(&has_put, 0, 0);
    sem_init(&may_end, 0, 0);
    for (intptr_t i = 0; i < WORKERS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, put_and_wait, (void *)i), 0);
    for (int i = 0; i < WORKERS; i++) sem_wait(&has_put);
    for (int c = 0; c < CALLERS_CONTEXTS; c++) shmem_ctx_uint64_put_nbi(ctxs[c], by_caller[c], &one, 1, pe.right);
    shmem_team_remote_commit(SHMEM_TEAM_WORLD);
    for (int c = 0; c < CALLERS_CONTEXTS; c++) CHECK_EQ(by_caller[c][0], 1);
    for (int i = 0; i < WORKERS; i++) CHECK_EQ(by_worker[i][0], 0);
    shmem_sync_all();
    for (int i = 0; i < WORKERS; i++) sem_post(&may_end);
    for (int i = 0; i < WORKERS; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    shmem_barrier_all();
    for (int i = 0; i < WORKERS; i++) CHECK_EQ(by_worker[i][0], 1);
}

int main(int argc, char **argv)
{
    bool is_held = argc > 1 && strcmp(argv[1], "held") == 0;
    shmem_ctx_t ctxs[CALLERS_CONTEXTS] = {SHMEM_CTX_DEFAULT};
    pe_begin_threads();
    CHECK_EQ(shmem_ctx_create(0, &ctxs[1]), 0);
    CHECK_EQ(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctxs[2]), 0);
    if (is_held)
        commit_beside_puts_that_are_held(ctxs);
    else
        commit_while_others_work(ctxs);
    for (int c = 1; c < CALLERS_CONTEXTS; c++) shmem_ctx_destroy(ctxs[c]);
    return pe_end();
}
