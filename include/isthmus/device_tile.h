/* isthmus/device_tile.h: tiles from kernels: parts of tensors of up to three dimensions, put, fetched, gathered and
 * reduced by plain loops. See device.h. nvshmem_tile.hpp has NVSHMEM's templates on top.
 *
 * All threads of the group call with equal arguments. Tiles are moved as nonblocking puts and gets are: they are
 * complete after a quiet, or after the collective's wait. */
#ifndef ISTHMUS_DEVICE_TILE_H
#define ISTHMUS_DEVICE_TILE_H

#include <isthmus/device_coll.h>

enum { ISTHMUS_TILE_DIMENSIONS = 3 };

/* n elements of `size` bytes (1 to 16, a power of two) along each dimension, of which the first changes fastest.
 * Strides in bytes, in the tensor that is written and in the one that is read. */
struct isthmus_dev_tile {
    size_t n[ISTHMUS_TILE_DIMENSIONS], to[ISTHMUS_TILE_DIMENSIONS], from[ISTHMUS_TILE_DIMENSIONS];
    size_t size;
};

/* ---- the shape of a tile ---- */

ISTHMUS_DEVICE size_t isthmus_dev_tile_count(const struct isthmus_dev_tile *tile)
{
    return tile->n[0] * tile->n[1] * tile->n[2];
}

/* From the first byte to the last one; the tile is not empty. */
ISTHMUS_DEVICE size_t isthmus_dev_tile_span(const struct isthmus_dev_tile *tile, const size_t *stride)
{
    return (tile->n[0] - 1) * stride[0] + (tile->n[1] - 1) * stride[1] + (tile->n[2] - 1) * stride[2] + tile->size;
}

ISTHMUS_DEVICE int isthmus_dev_tile_is_dense(const struct isthmus_dev_tile *tile, int dimension)
{
    return tile->to[dimension] == tile->size && tile->from[dimension] == tile->size;
}

ISTHMUS_DEVICE void isthmus_dev_tile_exchange(size_t *numbers, int dimension)
{
    size_t first = numbers[0];
    numbers[0] = numbers[dimension];
    numbers[dimension] = first;
}

/* Makes a dimension whose elements follow each other in both tensors the first one. */
ISTHMUS_DEVICE void isthmus_dev_tile_sort(struct isthmus_dev_tile *tile)
{
    ISTHMUS_DEVICE_UNROLL
    for (int d = 1; d < ISTHMUS_TILE_DIMENSIONS; d++) {
        if (!isthmus_dev_tile_is_dense(tile, d) || (isthmus_dev_tile_is_dense(tile, 0) && tile->n[0] > 1)) continue;
        isthmus_dev_tile_exchange(tile->n, d);
        isthmus_dev_tile_exchange(tile->to, d);
        isthmus_dev_tile_exchange(tile->from, d);
    }
}

/* Elements that follow each other become fewer and wider ones, as wide as all addresses allow. */
ISTHMUS_DEVICE void isthmus_dev_tile_widen(struct isthmus_dev_tile *tile, const char *to, const char *from)
{
    uint64_t bits = (uint64_t)(uintptr_t)to | (uint64_t)(uintptr_t)from | tile->n[0] * tile->size;
    size_t wide = 16;
    if (!isthmus_dev_tile_is_dense(tile, 0)) return;
    ISTHMUS_DEVICE_UNROLL
    for (int d = 1; d < ISTHMUS_TILE_DIMENSIONS; d++)
        if (tile->n[d] > 1) bits |= tile->to[d] | tile->from[d];
    while ((bits & (wide - 1)) != 0) wide /= 2;
    if (wide <= tile->size) return;
    tile->n[0] = tile->n[0] * tile->size / wide;
    tile->size = tile->to[0] = tile->from[0] = wide;
}

/* Where element i lies, in the tensor with these strides. */
ISTHMUS_DEVICE size_t isthmus_dev_tile_offset(const struct isthmus_dev_tile *tile, const size_t *stride, size_t i)
{
    size_t row = i / tile->n[0];
    return i % tile->n[0] * stride[0] + row % tile->n[1] * stride[1] + row / tile->n[1] * stride[2];
}

/* ---- copies ---- */

ISTHMUS_DEVICE void isthmus_dev_tile_copy(char *to, const char *from, struct isthmus_dev_tile tile, int scope)
{
    isthmus_dev_tile_widen(&tile, to, from);
    for (size_t i = isthmus_dev_rank(scope); i < isthmus_dev_tile_count(&tile); i += isthmus_dev_size(scope))
        isthmus_dev_copy_unit(to + isthmus_dev_tile_offset(&tile, tile.to, i),
                              from + isthmus_dev_tile_offset(&tile, tile.from, i), tile.size);
}

/* One request a row, or one an element where a stride is 0, which strided requests do not have. is_put: `to` is
 * symmetric, else `from`. */
ISTHMUS_DEVICE_COLD_GROUP void isthmus_dev_tile_by_ring(char *to, const char *from, const struct isthmus_dev_tile *tile,
                                                        int pe, int scope, int is_put)
{
    struct isthmus_dev_stride stride = {(ptrdiff_t)(tile->to[0] / tile->size), (ptrdiff_t)(tile->from[0] / tile->size),
                                        tile->n[0], tile->size};
    size_t step = tile->to[0] == 0 || tile->from[0] == 0 ? 1 : tile->n[0];
    for (size_t i = 0; i < isthmus_dev_tile_count(tile); i += step) {
        char *row = to + isthmus_dev_tile_offset(tile, tile->to, i);
        const char *source = from + isthmus_dev_tile_offset(tile, tile->from, i);
        const char *remote = is_put ? row : source, *local = is_put ? source : row;
        if (step == 1 || isthmus_dev_tile_is_dense(tile, 0))
            isthmus_dev_move_by_ring(is_put ? ISTHMUS_REQUEST_PUT : ISTHMUS_REQUEST_GET, remote, local,
                                     step * tile->size, pe, scope, 1);
        else
            isthmus_dev_strided_by_ring(is_put ? ISTHMUS_REQUEST_IPUT : ISTHMUS_REQUEST_IGET, remote, local, &stride,
                                        pe, scope);
    }
}

/* is_put: `to` is symmetric and of `pe`, else `from` is. */
ISTHMUS_DEVICE void isthmus_dev_tile_move(char *to, const char *from, struct isthmus_dev_tile tile, int pe, int scope,
                                          int is_put)
{
    const char *remote = is_put ? to : from;
    int call = is_put ? ISTHMUS_CALL_TILE_PUT : ISTHMUS_CALL_TILE_GET;
    if (isthmus_dev_tile_count(&tile) == 0) {
        isthmus_dev_move_nothing(call, remote, pe, scope);
        return;
    }
    isthmus_dev_tile_sort(&tile);
    int64_t delta = isthmus_dev_delta(call, remote, isthmus_dev_tile_span(&tile, is_put ? tile.to : tile.from), pe);
    if (!ISTHMUS_DEVICE_LIKELY(isthmus_dev_is_direct(delta))) {
        isthmus_dev_tile_by_ring(to, from, &tile, pe, scope, is_put);
        return;
    }
    isthmus_dev_meet(scope);
    isthmus_dev_tile_copy(is_put ? to + delta : to, is_put ? from : from + delta, tile, scope);
    isthmus_dev_meet(scope);
}

/* An address of an empty tile may be any. */
ISTHMUS_DEVICE void isthmus_dev_tile_expect(int call, const struct isthmus_device_team *team, const char *addr,
                                            const struct isthmus_dev_tile *tile, int scope)
{
    if (isthmus_dev_tile_count(tile) > 0) isthmus_dev_expect(call, team, addr, tile->size, scope);
}

/* ---- collectives ----
 * They return 0, or nonzero for a team that this PE is not in. */

/* To all members, by the one that calls. */
ISTHMUS_DEVICE int isthmus_dev_tile_push(int32_t handle, char *to, const char *from, struct isthmus_dev_tile tile,
                                         int scope)
{
    const struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_BROADCAST, handle);
    if (team == NULL) return -1;
    isthmus_dev_tile_expect(ISTHMUS_CALL_BROADCAST, team, to, &tile, scope);
    for (int k = 0; k < team->n; k++)
        isthmus_dev_tile_move(to, from, tile, isthmus_dev_team_to_world(team, isthmus_dev_after(team, k)), scope, 1);
    return 0;
}

/* Every member pushes its tile to its place, `step` bytes after that of the member before. */
ISTHMUS_DEVICE int isthmus_dev_tile_allgather(int32_t handle, char *to, const char *from, struct isthmus_dev_tile tile,
                                              size_t step, int scope)
{
    const struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_TILE_ALLGATHER, handle);
    if (team == NULL) return -1;
    isthmus_dev_tile_expect(ISTHMUS_CALL_TILE_ALLGATHER, team, to, &tile, scope);
    return isthmus_dev_tile_push(handle, to + (size_t)team->me * step, from, tile, scope);
}

/* A member owns a share of the elements, as in isthmus_dev_reduce: it pulls them from all members, combines them, and
 * pushes the results. */
ISTHMUS_DEVICE int isthmus_dev_tile_reduce(int32_t handle, char *to, const char *from, struct isthmus_dev_tile tile,
                                           struct isthmus_dev_reduce how, int scope)
{
    struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_TILE_REDUCE, handle);
    if (team == NULL) return -1;
    isthmus_dev_tile_expect(ISTHMUS_CALL_TILE_REDUCE, team, to, &tile, scope);
    isthmus_dev_tile_expect(ISTHMUS_CALL_TILE_REDUCE, team, from, &tile, scope);
    isthmus_dev_sync_members(team, scope);
    size_t nelems = isthmus_dev_tile_count(&tile), share = (nelems + (size_t)team->n - 1) / (size_t)team->n;
    size_t first = share * (size_t)team->me, end = first + share < nelems ? first + share : nelems;
    for (size_t i = first + isthmus_dev_rank(scope); i < end; i += isthmus_dev_size(scope)) {
        uint64_t result = isthmus_dev_pull(ISTHMUS_CALL_TILE_REDUCE, team,
                                           from + isthmus_dev_tile_offset(&tile, tile.from, i), how);
        for (int k = 0; k < team->n; k++)
            isthmus_dev_p_for(ISTHMUS_CALL_TILE_REDUCE, to + isthmus_dev_tile_offset(&tile, tile.to, i), result,
                              how.size, isthmus_dev_team_to_world(team, k));
    }
    return 0;
}

/* Only `root`, a member's number, gets the result. */
ISTHMUS_DEVICE int isthmus_dev_tile_rooted_reduce(int32_t handle, char *to, const char *from,
                                                  struct isthmus_dev_tile tile, struct isthmus_dev_reduce how, int root,
                                                  int scope)
{
    struct isthmus_device_team *team = isthmus_dev_team(ISTHMUS_CALL_TILE_REDUCE, handle);
    if (team == NULL) return -1;
    isthmus_dev_tile_expect(ISTHMUS_CALL_TILE_REDUCE, team, from, &tile, scope);
    if ((uint32_t)root >= (uint32_t)team->n)
        isthmus_dev_misuse(ISTHMUS_CALL_TILE_REDUCE, ISTHMUS_MISTAKE_ROOT, to, root);
    isthmus_dev_sync_members(team, scope);
    size_t nelems = root == team->me ? isthmus_dev_tile_count(&tile) : 0;
    for (size_t i = isthmus_dev_rank(scope); i < nelems; i += isthmus_dev_size(scope))
        isthmus_dev_store(
            to + isthmus_dev_tile_offset(&tile, tile.to, i),
            isthmus_dev_pull(ISTHMUS_CALL_TILE_REDUCE, team, from + isthmus_dev_tile_offset(&tile, tile.from, i), how),
            how.size);
    return 0;
}

#endif
