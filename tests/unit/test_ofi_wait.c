/* tests/unit/test_ofi_wait.c: a wait for a peer whose end libfabric does not report ends when the core reports it. The
 * rest of the plugin is replaced. */
#include "plugins/ofi/ofi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static uint32_t n_polls, n_pings, n_queries, alive_until;
static isthmus_tr *waiting; /* its lock is free while the core is queried */

static uint32_t peer_alive(void *core, int32_t pe)
{
    assert_null(core);
    assert_int_equal(pe, 3);
    assert_int_equal(pthread_mutex_trylock(&waiting->lock), 0);
    waiting->unacked = NULL; /* another thread's progress has read the acknowledgement */
    assert_int_equal(pthread_mutex_unlock(&waiting->lock), 0);
    return ++n_queries < alive_until;
}

int32_t ofi_poll(isthmus_tr *tr)
{
    (void)tr;
    n_polls++;
    return 0;
}

isthmus_status ofi_timer_set(isthmus_tr *tr, long in_ns)
{
    (void)tr, (void)in_ns;
    return ISTHMUS_OK;
}

void ofi_kick(isthmus_tr *tr) { (void)tr; }
void ofi_ping(isthmus_path *path) { n_pings += !path->is_lost; }
bool ofi_path_has_ended(const isthmus_path *path) { return path->pid_fd >= 0; }

void ofi_path_lose(isthmus_path *path, const char *why)
{
    path->is_lost = true;
    snprintf(path->why_lost, sizeof path->why_lost, "%s", why);
}

isthmus_status ofi_path_lost(isthmus_path *path) { return path->is_lost ? ISTHMUS_ERR_PEER_LOST : ISTHMUS_OK; }

/* Waits until the path is lost; not for ever. */
static void wait_for(isthmus_path *path, struct isthmus_services *services)
{
    static struct fid_cq queue;
    static struct ofi_op accesses[OFI_ACCESSES];
    static struct ofi_call calls[OFI_CALLS];
    isthmus_tr tr = {.services = services,
                     .event_fd = -1,
                     .timer_fd = -1,
                     .cq = &queue,
                     .kick_fd = -1,
                     .accesses = accesses,
                     .calls = calls,
                     .lock = PTHREAD_MUTEX_INITIALIZER};
    struct ofi_wait wait = {.tr = &tr};
    isthmus_path *paths[] = {path}, other = {.tr = &tr, .pe = 5, .is_lost = true, .pid_fd = -1};
    path->tr = waiting = &tr;
    path->next_unacked = &other;
    tr.unacked = path;
    tr.paths = paths;
    tr.n_paths = 1;
    for (int i = 0; i < 100; i++) accesses[i] = (struct ofi_op){.is_used = true, .path = path};
    n_polls = n_pings = n_queries = 0;
    ofi_lock(&tr);
    while (!path->is_lost && n_pings < 10) ofi_wait_step(&wait);
    ofi_wait_end(&wait);
    ofi_unlock(&tr);
}

/* A hundred accesses to one peer are one query. */
static void the_core_reports_the_end(void **state)
{
    (void)state;
    isthmus_path path = {.pe = 3, .pid_fd = -1};
    struct isthmus_services services = {.struct_size = sizeof services, .peer_alive = peer_alive};
    alive_until = 3;
    wait_for(&path, &services);
    assert_string_equal(path.why_lost, "it has ended, or left the job");
    assert_int_equal(n_queries, 3);
    assert_int_equal(n_pings, 2);
}

static void an_older_core_does_not(void **state)
{
    (void)state;
    isthmus_path path = {.pe = 3, .pid_fd = 0};
    struct isthmus_services services = {.struct_size = offsetof(struct isthmus_services, peer_alive),
                                        .peer_alive = peer_alive};
    wait_for(&path, &services);
    assert_string_equal(path.why_lost, "its process has ended");
    assert_int_equal(n_queries, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_core_reports_the_end),
        cmocka_unit_test(an_older_core_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
