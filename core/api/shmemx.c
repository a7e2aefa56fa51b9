/* core/api/shmemx.c: the extensions. See include/shmemx.h.in. */
#include "core/api/public.h"
#include "core/base/fatal.h"
#include "core/heap/heap.h"
#include "core/ops/target.h"
#include "core/topo/topo.h"

#include <time.h>

double shmemx_wtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

char *shmemx_nodename(void)
{
    return (char *)(uintptr_t)ist_host_name(); /* the interface of others has it without const */
}

int shmemx_visibility(void)
{
    ist_require_ctx(&ist_ctx_default, "shmemx_visibility");
    /* Not from this PE's routes alone: those between two other PEs count too. */
    bool is_shared = ist_team_world.is_on_one_host && ist_peers_use_alias() && !ist_registry_has_network();
    return is_shared ? SHMEMX_VISIBILITY_GLOBAL : SHMEMX_VISIBILITY_LOCAL;
}

const char *shmemx_transport_name(int pe)
{
    static const char routine[] = "shmemx_transport_name";
    const struct ist_peer *peer;
    ist_require_ctx(&ist_ctx_default, routine);
    if (pe < 0 || pe >= ist_team_world.n_pes) return NULL;
    isthmus_status status = ist_peer_get(pe, &peer);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    return ist_registry.list[ist_peer_segment(peer, ist_heap.segment)->carrier].name;
}

void shmemx_register_gettid(uint64_t (*gettid_fn)(void)) { (void)gettid_fn; } /* threads are distinguished without it */

/* ---- removed from OpenSHMEM in 1.5; memory is coherent ---- */

void shmem_set_cache_inv(void) {}

void shmem_set_cache_line_inv(void *dest) { (void)dest; }

void shmem_clear_cache_inv(void) {}

void shmem_clear_cache_line_inv(void *dest) { (void)dest; }

void shmem_udcflush(void) {}

void shmem_udcflush_line(void *dest) { (void)dest; }
