/* isthmus/nvshmem_tile.hpp: NVSHMEM's tile interface for kernels in C++: templates in the namespace nvshmemx, each for
 * a thread, a warp, a warpgroup and a block. nvshmem_device.h includes it; the types are in nvshmem_tensor.hpp.
 *
 * Tensors have one to three dimensions. Those of other PEs are symmetric: their addresses are the calling PE's own.
 * Elements of the source tile at start_coord + i are left out where that is boundary or more in some dimension; with an
 * empty tuple none is. flag is not used. The routines return 0, or nonzero for a team that this PE is not in.
 *
 * Multicast memory (NVLS) is not used: an algorithm that needs it is an error at compile time, which names it. The
 * algorithms of the same kind by loads and stores are ISTHMUS_PUSH_NBI and ISTHMUS_PULL_NBI. With
 * ISTHMUS_TILE_WITHOUT_MULTICAST defined, NVSHMEM's names select those. */
#ifndef ISTHMUS_NVSHMEM_TILE_HPP
#define ISTHMUS_NVSHMEM_TILE_HPP

#include <isthmus/device_tile.h>
#include <isthmus/nvshmem_tensor.hpp>

namespace nvshmemx
{

/* ---- algorithms ---- */

template <tile_coll_algo_t algo> struct isthmus_tile_algorithm {
#ifndef ISTHMUS_TILE_WITHOUT_MULTICAST
    static_assert(algo != NVLS_ONE_SHOT_PUSH_NBI,
                  "NVLS_ONE_SHOT_PUSH_NBI needs multicast memory: use ISTHMUS_PUSH_NBI");
    static_assert(algo != NVLS_ONE_SHOT_PULL_NBI,
                  "NVLS_ONE_SHOT_PULL_NBI needs multicast memory: use ISTHMUS_PULL_NBI");
    static_assert(algo != NVLS_TWO_SHOT_PUSH_NBI,
                  "NVLS_TWO_SHOT_PUSH_NBI needs multicast memory: use ISTHMUS_PUSH_NBI");
    static_assert(algo != NVLS_TWO_SHOT_PULL_NBI,
                  "NVLS_TWO_SHOT_PULL_NBI needs multicast memory: use ISTHMUS_PULL_NBI");
#endif
    /* A pull ends with a barrier of its own, a push with that of tile_collective_wait. */
    static constexpr bool is_pull = algo == ISTHMUS_PULL_NBI || algo == NVLS_ONE_SHOT_PULL_NBI ||
                                    algo == NVLS_TWO_SHOT_PULL_NBI;
};

template <tile_coll_algo_t algo> ISTHMUS_DEVICE int isthmus_tile_end(int32_t team, int status, int scope)
{
    return status == 0 && isthmus_tile_algorithm<algo>::is_pull ? isthmus_dev_barrier_of(team, scope) : status;
}

/* ---- elements ---- */

template <typename T> struct isthmus_tile_number {
    static_assert(!__is_class(T), "tiles are reduced of integers, float, double, half and __nv_bfloat16");
    static constexpr int value = (T)-1 < (T)1 ? ISTHMUS_DEV_SIGNED : ISTHMUS_DEV_UNSIGNED;
};
template <typename T> struct isthmus_tile_number<const T> : isthmus_tile_number<T> {
};
template <> struct isthmus_tile_number<float> {
    static constexpr int value = ISTHMUS_DEV_FLOAT;
};
template <> struct isthmus_tile_number<double> {
    static constexpr int value = ISTHMUS_DEV_FLOAT;
};
template <> struct isthmus_tile_number<__half> {
    static constexpr int value = ISTHMUS_DEV_HALF;
};
template <> struct isthmus_tile_number<__nv_bfloat16> {
    static constexpr int value = ISTHMUS_DEV_BFLOAT;
};

template <typename Source> ISTHMUS_DEVICE struct isthmus_dev_reduce isthmus_tile_how(int op)
{
    typedef typename Source::value_type T;
    struct isthmus_dev_reduce how = {op, isthmus_tile_number<T>::value, sizeof(T)};
    return how;
}

/* ---- the tile of a call ---- */

struct isthmus_tile_numbers {
    ptrdiff_t of[ISTHMUS_TILE_DIMENSIONS];
};

ISTHMUS_DEVICE isthmus_tile_numbers isthmus_tile_all(ptrdiff_t number)
{
    isthmus_tile_numbers all = {{number, number, number}};
    return all;
}

/* An empty tuple, of whatever type, names no numbers; those of missing dimensions are left alone. */
template <typename Tuple> ISTHMUS_DEVICE void isthmus_tile_read(const Tuple &, isthmus_tile_numbers *)
{
    static_assert(__is_empty(Tuple), "coordinates come from nvshmemx::make_shape, or are an empty type");
}

template <typename A> ISTHMUS_DEVICE void isthmus_tile_read(const shape<A> &numbers, isthmus_tile_numbers *out)
{
    out->of[0] = numbers.first;
}

template <typename A, typename B>
ISTHMUS_DEVICE void isthmus_tile_read(const shape<A, B> &numbers, isthmus_tile_numbers *out)
{
    out->of[0] = numbers.first, out->of[1] = numbers.second;
}

template <typename A, typename B, typename C>
ISTHMUS_DEVICE void isthmus_tile_read(const shape<A, B, C> &numbers, isthmus_tile_numbers *out)
{
    out->of[0] = numbers.first, out->of[1] = numbers.second, out->of[2] = numbers.third;
}

template <typename Shape>
ISTHMUS_DEVICE isthmus_tile_numbers isthmus_tile_numbers_of(const Shape &numbers, ptrdiff_t rest)
{
    isthmus_tile_numbers out = isthmus_tile_all(rest);
    isthmus_tile_read(numbers, &out);
    return out;
}

template <typename Source, typename Dest, typename Tuple>
ISTHMUS_DEVICE struct isthmus_dev_tile isthmus_tile_of(const Source &src, const Dest &dst, const Tuple &start_coord,
                                                       const Tuple &boundary)
{
    constexpr size_t size = sizeof(typename Source::value_type);
    static_assert(size == sizeof(typename Dest::value_type), "src and dst have elements of the same size");
    static_assert(size <= 16 && (size & (size - 1)) == 0, "elements have 1, 2, 4, 8 or 16 bytes");
    isthmus_tile_numbers n = isthmus_tile_numbers_of(src.shape(), 1),
                         end = isthmus_tile_all((ptrdiff_t)((size_t)-1 / 2));
    isthmus_tile_numbers to = isthmus_tile_numbers_of(dst.stride(), 1), from = isthmus_tile_numbers_of(src.stride(), 1);
    isthmus_tile_numbers start = isthmus_tile_numbers_of(start_coord, 0);
    isthmus_tile_read(boundary, &end);
    struct isthmus_dev_tile tile = {};
    tile.size = size;
    ISTHMUS_DEVICE_UNROLL
    for (int d = 0; d < ISTHMUS_TILE_DIMENSIONS; d++) {
        ptrdiff_t left = end.of[d] - start.of[d];
        tile.n[d] = (size_t)(left < 0 ? 0 : left < n.of[d] ? left : n.of[d]);
        tile.to[d] = (size_t)to.of[d] * size, tile.from[d] = (size_t)from.of[d] * size;
    }
    return tile;
}

template <typename Tensor> ISTHMUS_DEVICE char *isthmus_tile_data(const Tensor &tensor)
{
    return (char *)(uintptr_t)tensor.data();
}

/* ---- the routines, for any scope ---- */

template <typename Source, typename Dest, typename Tuple>
ISTHMUS_DEVICE int isthmus_tile_put(Source src, Dest dst, Tuple start_coord, Tuple boundary, int pe, int scope)
{
    isthmus_dev_tile_move(isthmus_tile_data(dst), isthmus_tile_data(src),
                          isthmus_tile_of(src, dst, start_coord, boundary), pe, scope, 1);
    return 0;
}

template <typename Source, typename Dest, typename Tuple>
ISTHMUS_DEVICE int isthmus_tile_get(Source src, Dest dst, Tuple start_coord, Tuple boundary, int pe, int scope)
{
    isthmus_dev_tile_move(isthmus_tile_data(dst), isthmus_tile_data(src),
                          isthmus_tile_of(src, dst, start_coord, boundary), pe, scope, 0);
    return 0;
}

template <tile_coll_algo_t algo, typename Source, typename Dest, typename Tuple>
ISTHMUS_DEVICE int isthmus_tile_reduce(int op, int32_t team, Source src, Dest dst, Tuple start_coord, Tuple boundary,
                                       int scope)
{
    int status = isthmus_dev_tile_reduce(team, isthmus_tile_data(dst), isthmus_tile_data(src),
                                         isthmus_tile_of(src, dst, start_coord, boundary), isthmus_tile_how<Source>(op),
                                         scope);
    return isthmus_tile_end<algo>(team, status, scope);
}

template <tile_coll_algo_t algo, typename Source, typename Dest>
ISTHMUS_DEVICE int isthmus_tile_rooted_reduce(int op, int32_t team, Source src, Dest dst, struct isthmus_dev_tile tile,
                                              int root, int scope)
{
    int status = isthmus_dev_tile_rooted_reduce(team, isthmus_tile_data(dst), isthmus_tile_data(src), tile,
                                                isthmus_tile_how<Source>(op), root, scope);
    return isthmus_tile_end<algo>(team, status, scope);
}

/* How far the places of two members are apart in dst, in bytes: along the dimension in which dst is as long as the
 * tiles of all members together. */
template <typename Source, typename Dest>
ISTHMUS_DEVICE size_t isthmus_tile_step(int32_t team, const Source &src, const Dest &dst)
{
    isthmus_tile_numbers one = isthmus_tile_numbers_of(src.shape(), 1), all = isthmus_tile_numbers_of(dst.shape(), 1);
    isthmus_tile_numbers stride = isthmus_tile_numbers_of(dst.stride(), 1);
    int members = isthmus_dev_team_n_pes(team);
    ISTHMUS_DEVICE_UNROLL
    for (int d = ISTHMUS_TILE_DIMENSIONS - 1; d >= 0; d--)
        if (all.of[d] == one.of[d] * members && (members == 1 || one.of[d] > 0))
            return (size_t)(one.of[d] * stride.of[d]) * sizeof(typename Source::value_type);
    if (members > 0) isthmus_dev_misuse(ISTHMUS_CALL_TILE_ALLGATHER, ISTHMUS_MISTAKE_TILE, dst.data(), members);
    return 0;
}

template <tile_coll_algo_t algo, typename Source, typename Dest, typename Tuple>
ISTHMUS_DEVICE int isthmus_tile_allgather(int32_t team, Source src, Dest dst, Tuple start_coord, Tuple boundary,
                                          int scope)
{
    int status = isthmus_dev_tile_allgather(team, isthmus_tile_data(dst), isthmus_tile_data(src),
                                            isthmus_tile_of(src, dst, start_coord, boundary),
                                            isthmus_tile_step(team, src, dst), scope);
    return isthmus_tile_end<algo>(team, status, scope);
}

/* The PEs that do not call it take no part before tile_collective_wait: the algorithm is a push. */
template <tile_coll_algo_t algo, typename Source, typename Dest, typename Tuple>
ISTHMUS_DEVICE int isthmus_tile_broadcast(int32_t team, Source src, Dest dst, Tuple start_coord, Tuple boundary,
                                          int scope)
{
    static_assert(!isthmus_tile_algorithm<algo>::is_pull, "tile_broadcast takes ISTHMUS_PUSH_NBI");
    return isthmus_dev_tile_push(team, isthmus_tile_data(dst), isthmus_tile_data(src),
                                 isthmus_tile_of(src, dst, start_coord, boundary), scope);
}

template <tile_coll_algo_t algo> ISTHMUS_DEVICE int isthmus_tile_wait(int32_t team, int scope)
{
    return isthmus_tile_algorithm<algo>::is_pull ? 0 : isthmus_dev_barrier_of(team, scope);
}

/* ---- NVSHMEM's names ----
 * put, get     A tile to or from the memory of pe; complete after nvshmem_quiet.
 * reduce       Element by element over the src tiles of all PEs of the team, each of which gets the result in dst. dst
 *              may be src. root does not matter.
 * rooted       Only the member root gets the result.
 * allgather    dst is, in one dimension, as long as the tiles of all PEs together, and gets them in the order of the
 *              PEs.
 * broadcast    The tile of the PE that calls, to dst of all PEs of the team; the other PEs only wait.
 * collective_wait   The results of the collectives before are there. By all PEs of the team, by the same group. */

#define ISTHMUS_TILE_TENSORS template <typename src_tensor_t, typename dst_tensor_t, typename tuple_t, tile_algo_t algo>
#define ISTHMUS_TILE_COLLECTIVE \
    template <typename src_tensor_t, typename dst_tensor_t, typename tuple_t, tile_coll_algo_t algo>

#define ISTHMUS_TILE_REDUCE(name, op, suffix, scope)                                                                  \
    ISTHMUS_TILE_COLLECTIVE                                                                                           \
    ISTHMUS_DEVICE int tile_##name##_reduce##suffix(int32_t team, src_tensor_t src, dst_tensor_t dst,                 \
                                                    tuple_t start_coord, tuple_t boundary, uint64_t)                  \
    {                                                                                                                 \
        return isthmus_tile_reduce<algo>(op, team, src, dst, start_coord, boundary, scope);                           \
    }                                                                                                                 \
    ISTHMUS_TILE_COLLECTIVE                                                                                           \
    ISTHMUS_DEVICE int tile_##name##_reduce##suffix(int32_t team, src_tensor_t src, dst_tensor_t dst,                 \
                                                    tuple_t start_coord, tuple_t boundary, int, uint64_t)             \
    {                                                                                                                 \
        return isthmus_tile_reduce<algo>(op, team, src, dst, start_coord, boundary, scope);                           \
    }                                                                                                                 \
    ISTHMUS_TILE_COLLECTIVE                                                                                           \
    ISTHMUS_DEVICE int tile_##name##_rooted_reduce##suffix(int32_t team, src_tensor_t src, dst_tensor_t dst,          \
                                                           tuple_t start_coord, tuple_t boundary, int root, uint64_t) \
    {                                                                                                                 \
        return isthmus_tile_rooted_reduce<algo>(op, team, src, dst, isthmus_tile_of(src, dst, start_coord, boundary), \
                                                root, scope);                                                         \
    }

#define ISTHMUS_TILE_SCOPE(suffix, scope)                                                                            \
    ISTHMUS_TILE_TENSORS                                                                                             \
    ISTHMUS_DEVICE int tile_put##suffix(src_tensor_t src, dst_tensor_t dst, tuple_t start_coord, tuple_t boundary,   \
                                        int pe, uint64_t)                                                            \
    {                                                                                                                \
        return isthmus_tile_put(src, dst, start_coord, boundary, pe, scope);                                         \
    }                                                                                                                \
    ISTHMUS_TILE_TENSORS                                                                                             \
    ISTHMUS_DEVICE int tile_get##suffix(src_tensor_t src, dst_tensor_t dst, tuple_t start_coord, tuple_t boundary,   \
                                        int pe, uint64_t)                                                            \
    {                                                                                                                \
        return isthmus_tile_get(src, dst, start_coord, boundary, pe, scope);                                         \
    }                                                                                                                \
    ISTHMUS_TILE_REDUCE(sum, ISTHMUS_DEV_SUM, suffix, scope)                                                         \
    ISTHMUS_TILE_REDUCE(max, ISTHMUS_DEV_MAX, suffix, scope)                                                         \
    ISTHMUS_TILE_REDUCE(min, ISTHMUS_DEV_MIN, suffix, scope)                                                         \
    ISTHMUS_TILE_COLLECTIVE                                                                                          \
    ISTHMUS_DEVICE int tile_allgather##suffix(int32_t team, src_tensor_t src, dst_tensor_t dst, tuple_t start_coord, \
                                              tuple_t boundary, uint64_t)                                            \
    {                                                                                                                \
        return isthmus_tile_allgather<algo>(team, src, dst, start_coord, boundary, scope);                           \
    }                                                                                                                \
    ISTHMUS_TILE_COLLECTIVE                                                                                          \
    ISTHMUS_DEVICE int tile_broadcast##suffix(int32_t team, src_tensor_t src, dst_tensor_t dst, tuple_t start_coord, \
                                              tuple_t boundary, uint64_t)                                            \
    {                                                                                                                \
        return isthmus_tile_broadcast<algo>(team, src, dst, start_coord, boundary, scope);                           \
    }                                                                                                                \
    template <tile_coll_algo_t algo> ISTHMUS_DEVICE int tile_collective_wait##suffix(int32_t team, uint64_t)         \
    {                                                                                                                \
        return isthmus_tile_wait<algo>(team, scope);                                                                 \
    }

ISTHMUS_TILE_SCOPE(, ISTHMUS_THREAD)
ISTHMUS_TILE_SCOPE(_warp, ISTHMUS_WARP)
ISTHMUS_TILE_SCOPE(_warpgroup, ISTHMUS_WARPGROUP)
ISTHMUS_TILE_SCOPE(_block, ISTHMUS_BLOCK)

#undef ISTHMUS_TILE_SCOPE
#undef ISTHMUS_TILE_REDUCE
#undef ISTHMUS_TILE_COLLECTIVE
#undef ISTHMUS_TILE_TENSORS

} // namespace nvshmemx

#endif
