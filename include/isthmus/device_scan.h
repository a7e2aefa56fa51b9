/* isthmus/device_scan.h: the collectives from kernels in which a member's place depends on those before it: collect,
 * and sums up to a member. See device.h, and device_coll.h for the rules. */
#ifndef ISTHMUS_DEVICE_SCAN_H
#define ISTHMUS_DEVICE_SCAN_H

#include <isthmus/device_coll.h>

/* ---- collect ---- */

/* Each member passes to the next one where that one's block begins, and how many synchronisations it has counted: a
 * chain of as many steps as there are members, each of which pushes to as many. All threads of a group read the place
 * where the leader has waited for it; the next collect changes it after the barrier of this one. */
ISTHMUS_DEVICE uint64_t isthmus_dev_offset(const struct isthmus_device_team *team, size_t bytes, int scope)
{
    uint64_t sequence = isthmus_dev_load_device(&team->sequence) + 1, *place = team->flags + ISTHMUS_DEVICE_OFFSET;
    if (isthmus_dev_is_leader(scope) && team->me > 0) {
        isthmus_dev_await_flag(team, team->me - 1, ISTHMUS_DEVICE_OFFSET + 1, sequence);
        isthmus_dev_flush_writes();
    }
    isthmus_dev_meet(scope);
    uint64_t offset = team->me > 0 ? isthmus_dev_load(place, 8) : 0;
    if (isthmus_dev_is_leader(scope) && team->me + 1 < team->n) {
        isthmus_dev_p(place, offset + bytes, 8, isthmus_dev_team_to_world(team, team->me + 1));
        isthmus_dev_order(ISTHMUS_THREAD);
        isthmus_dev_set_flag(team, team->me + 1, ISTHMUS_DEVICE_OFFSET + 1, sequence);
    }
    return offset;
}

ISTHMUS_DEVICE int isthmus_dev_collect(int32_t handle, void *dest, const void *source, size_t bytes, int scope)
{
    struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_COLLECT, handle);
    if (team == NULL) return -1;
    isthmus_dev_expect(ISTHMUS_CALL_COLLECT, team, dest, bytes, scope);
    uint64_t offset = isthmus_dev_offset(team, bytes, scope);
    for (int k = 0; k < team->n; k++)
        isthmus_dev_push(ISTHMUS_CALL_COLLECT, team, isthmus_dev_after(team, k), (char *)dest + offset,
                         (const char *)source, bytes, scope);
    return isthmus_dev_barrier_members(team, scope);
}

/* ---- scans ---- */

/* What a member stores: the combination of the first n members' elements. */
ISTHMUS_DEVICE uint64_t isthmus_dev_scanned(const struct isthmus_device_team *team, int n, const char *source,
                                            struct isthmus_dev_reduce how)
{
    return n > 0 ? isthmus_dev_pull_first(ISTHMUS_CALL_SCAN, team, n, source, how) : 0;
}

/* In place, results replace what other members still have to read: as isthmus_dev_reducescatter_in_place(). */
ISTHMUS_DEVICE void isthmus_dev_scan_in_place(struct isthmus_device_team *team, int n_sources, char *buffer,
                                              size_t nelems, struct isthmus_dev_reduce how, int scope)
{
    uint64_t results[ISTHMUS_DEV_STEP];
    for (size_t i = 0; i < nelems; i += ISTHMUS_DEV_STEP) {
        char *at = buffer + i * how.size;
        size_t n = isthmus_dev_is_leader(scope) ? nelems - i : 0;
        if (n > ISTHMUS_DEV_STEP) n = ISTHMUS_DEV_STEP;
        for (size_t k = 0; k < n; k++) results[k] = isthmus_dev_scanned(team, n_sources, at + k * how.size, how);
        isthmus_dev_sync_members(team, scope);
        for (size_t k = 0; k < n; k++) isthmus_dev_store(at + k * how.size, results[k], how.size);
    }
}

/* Sums over the members up to this one, itself included if is_inclusive; 0 over none. */
ISTHMUS_DEVICE int isthmus_dev_scan(int32_t handle, void *dest, const void *source, size_t nelems,
                                    struct isthmus_dev_reduce how, int is_inclusive, int scope)
{
    struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_SCAN, handle);
    if (team == NULL) return -1;
    isthmus_dev_expect(ISTHMUS_CALL_SCAN, team, source, nelems * how.size, scope);
    int n_sources = team->me + (is_inclusive != 0);
    isthmus_dev_sync_members(team, scope);
    if (dest == source) isthmus_dev_scan_in_place(team, n_sources, (char *)dest, nelems, how, scope);
    for (size_t i = isthmus_dev_rank(scope); dest != source && i < nelems; i += isthmus_dev_size(scope))
        isthmus_dev_store((char *)dest + i * how.size,
                          isthmus_dev_scanned(team, n_sources, (const char *)source + i * how.size, how), how.size);
    return isthmus_dev_barrier_members(team, scope);
}

#endif
