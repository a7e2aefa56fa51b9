/* tests/unit/test_ctx.c: the list of live contexts while several threads create, destroy and walk over them. */
#include "core/ctx/ctx.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static int set_up(void **state)
{
    (void)state;
    ist_ctx_init_default(ISTHMUS_THREAD_SHARED, false);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ist_ctxs_fini();
    return 0;
}

static ist_ctx *create(enum ist_ctx_users users)
{
    ist_ctx *ctx;
    assert_int_equal(ist_ctx_create(&ist_team_world, users, 0, &ctx), ISTHMUS_OK);
    return ctx;
}

/* ---- which contexts a walk visits ---- */

static uint32_t n_visited;

static void count_visit(ist_ctx *ctx)
{
    (void)ctx;
    n_visited++;
}

/* A thread of the library uses it, without a lock: a commit of the program's thread must leave it alone. */
static void a_walk_leaves_out_contexts_of_the_library(void **state)
{
    (void)state;
    ist_ctx *of_library = create(IST_CTX_LIBRARY), *of_program = create(IST_CTX_SERIALIZED);
    n_visited = 0;
    ist_ctx_each(count_visit);
    assert_int_equal(n_visited, 2); /* the default one, and the program's */
    ist_ctx_destroy(of_program);
    ist_ctx_destroy(of_library);
}

/* ---- which contexts a thread may use beside others ---- */

static void *uses_of_another_thread(void *list)
{
    ist_ctx **ctxs = list;
    assert_true(ist_ctx_is_free_to_use(&ist_ctx_default));
    assert_true(ist_ctx_is_free_to_use(ctxs[IST_CTX_SHARED]));
    assert_false(ist_ctx_is_free_to_use(ctxs[IST_CTX_SERIALIZED]));
    assert_false(ist_ctx_is_free_to_use(ctxs[IST_CTX_PRIVATE]));
    return NULL;
}

static void only_the_creator_is_free_to_use_a_private_context(void **state)
{
    pthread_t thread;
    ist_ctx *ctxs[] = {create(IST_CTX_SHARED), create(IST_CTX_SERIALIZED), create(IST_CTX_PRIVATE)};
    (void)state;
    assert_true(ist_ctx_is_free_to_use(ctxs[IST_CTX_SHARED]));
    assert_false(ist_ctx_is_free_to_use(ctxs[IST_CTX_SERIALIZED])); /* only the program knows the thread that uses it */
    assert_true(ist_ctx_is_free_to_use(ctxs[IST_CTX_PRIVATE]));
    assert_int_equal(pthread_create(&thread, NULL, uses_of_another_thread, ctxs), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* A nested init requests threads: contexts created before are shared too, unless their options exclude it. */
static void contexts_created_before_threads_call_are_shared_later(void **state)
{
    (void)state;
    ist_ctx_init_default(ISTHMUS_THREAD_ONE, false);
    ist_ctx *ctxs[] = {create(IST_CTX_SHARED), create(IST_CTX_SERIALIZED), create(IST_CTX_PRIVATE)};
    assert_int_equal(ctxs[IST_CTX_SHARED]->thread_mode, ISTHMUS_THREAD_ONE);
    ist_ctxs_share();
    assert_int_equal(ist_ctx_default.thread_mode, ISTHMUS_THREAD_SHARED);
    assert_int_equal(ctxs[IST_CTX_SHARED]->thread_mode, ISTHMUS_THREAD_SHARED);
    assert_int_equal(ctxs[IST_CTX_SERIALIZED]->thread_mode, ISTHMUS_THREAD_ONE);
    assert_int_equal(ctxs[IST_CTX_PRIVATE]->thread_mode, ISTHMUS_THREAD_ONE);
}

/* ---- a walk that waits for the network ---- */

static struct {
    ist_ctx *held;
    sem_t reached, go_on;
    int n_visited;
} walk;

static void wait_at_held(ist_ctx *ctx)
{
    walk.n_visited++;
    if (ctx != walk.held) return;
    sem_post(&walk.reached);
    sem_wait(&walk.go_on);
}

static void *walk_over_all(void *unused)
{
    ist_ctx_each(wait_at_held);
    return unused;
}

static void *destroy(void *ctx)
{
    ist_ctx_destroy(ctx);
    return NULL;
}

static void contexts_are_created_and_destroyed_while_a_walk_waits(void **state)
{
    pthread_t walker, destroyer;
    ist_ctx *before = create(IST_CTX_SHARED);
    walk.held = create(IST_CTX_SHARED);
    ist_ctx *after = create(IST_CTX_SHARED); /* the newest is visited first */
    (void)state;
    sem_init(&walk.reached, 0, 0);
    sem_init(&walk.go_on, 0, 0);
    assert_int_equal(pthread_create(&walker, NULL, walk_over_all, NULL), 0);
    sem_wait(&walk.reached);
    ist_ctx_destroy(after);
    ist_ctx_destroy(before);
    ist_ctx_destroy(create(IST_CTX_SHARED));
    assert_int_equal(pthread_create(&destroyer, NULL, destroy, walk.held), 0); /* waits for the walk */
    sem_post(&walk.go_on);
    assert_int_equal(pthread_join(walker, NULL), 0);
    assert_int_equal(pthread_join(destroyer, NULL), 0);
    assert_int_equal(walk.n_visited, 3); /* the default context, after, held */
    assert_null(ist_ctx_of_team(&ist_team_world));
}

static void touch(ist_ctx *ctx) { (void)__atomic_fetch_or(&ctx->used, IST_USED_WATCHED, __ATOMIC_RELAXED); }

static void *create_and_destroy(void *unused)
{
    for (int i = 0; i < 2000; i++) ist_ctx_destroy(create(IST_CTX_SHARED));
    return unused;
}

static void walks_and_changes_go_on_at_once(void **state)
{
    pthread_t threads[2];
    (void)state;
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, create_and_destroy, NULL), 0);
    for (int i = 0; i < 2000; i++) ist_ctx_each(touch);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_null(ist_ctx_of_team(&ist_team_world));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_walk_leaves_out_contexts_of_the_library, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_the_creator_is_free_to_use_a_private_context, set_up, tear_down),
        cmocka_unit_test_setup_teardown(contexts_created_before_threads_call_are_shared_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(contexts_are_created_and_destroyed_while_a_walk_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(walks_and_changes_go_on_at_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
