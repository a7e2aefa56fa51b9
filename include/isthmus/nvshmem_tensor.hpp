/* isthmus/nvshmem_tensor.hpp: the types of NVSHMEM's tile interface, for host and device: algorithms, and, from C++14
 * on, shapes, strides, layouts and tensors. The routines are in nvshmem_tile.hpp. */
#ifndef ISTHMUS_NVSHMEM_TENSOR_HPP
#define ISTHMUS_NVSHMEM_TENSOR_HPP

#include <isthmus/cuda_types.h>
#include <isthmus/integers.h>

namespace nvshmemx
{
/* Those with NVLS need multicast memory, which is not used: an error at compile time (nvshmem_tile.hpp). */
enum tile_coll_algo_t {
    NVLS_ONE_SHOT_PUSH_NBI = 0,
    NVLS_ONE_SHOT_PULL_NBI = 1,
    NVLS_TWO_SHOT_PUSH_NBI = 2,
    NVLS_TWO_SHOT_PULL_NBI = 3,
    ISTHMUS_PUSH_NBI = 64, /* by loads and stores, or requests to the host */
    ISTHMUS_PULL_NBI = 65
};
enum tile_algo_t { PEER_PUSH_NBI = 0, PEER_PULL_NBI = 0, REMOTE_PUSH_NBI = 1, REMOTE_PULL_NBI = 1 };
typedef tile_algo_t tile_rma_algo_t;
} // namespace nvshmemx

#if __cplusplus >= 201402L

/* A number that is part of the type. */
template <int N> struct ConstInt {
    static constexpr int value = N;
    ISTHMUS_HOST_DEVICE constexpr operator int() const { return N; }
};

namespace nvshmemx
{

/* Up to three numbers, each an integer type or a ConstInt. The members are public: `auto [rows, columns] = shape`. */
template <typename... Numbers> struct shape {
    static_assert(sizeof...(Numbers) <= 3, "a tile has at most three dimensions");
};

template <> struct shape<> {
};

template <typename A> struct shape<A> {
    A first;
    shape() = default;
    ISTHMUS_HOST_DEVICE constexpr shape(A a) : first(a) {}
};

template <typename A, typename B> struct shape<A, B> {
    A first;
    B second;
    shape() = default;
    ISTHMUS_HOST_DEVICE constexpr shape(A a, B b) : first(a), second(b) {}
};

template <typename A, typename B, typename C> struct shape<A, B, C> {
    A first;
    B second;
    C third;
    shape() = default;
    ISTHMUS_HOST_DEVICE constexpr shape(A a, B b, C c) : first(a), second(b), third(c) {}
};

/* Distances in elements, at least 0, from one element to the next along each dimension. */
template <typename... Numbers> using stride = shape<Numbers...>;

template <typename... Numbers> ISTHMUS_HOST_DEVICE constexpr shape<Numbers...> make_shape(Numbers... numbers)
{
    return shape<Numbers...>(numbers...);
}

template <typename... Numbers> ISTHMUS_HOST_DEVICE constexpr stride<Numbers...> make_stride(Numbers... numbers)
{
    return stride<Numbers...>(numbers...);
}

/* ---- entry I of a shape ---- */

template <int I> struct isthmus_entry;

template <> struct isthmus_entry<0> {
    template <typename Shape> ISTHMUS_HOST_DEVICE static constexpr auto of(const Shape &numbers)
    {
        return numbers.first;
    }
};

template <> struct isthmus_entry<1> {
    template <typename Shape> ISTHMUS_HOST_DEVICE static constexpr auto of(const Shape &numbers)
    {
        return numbers.second;
    }
};

template <> struct isthmus_entry<2> {
    template <typename Shape> ISTHMUS_HOST_DEVICE static constexpr auto of(const Shape &numbers)
    {
        return numbers.third;
    }
};

template <int I, typename... Numbers> ISTHMUS_HOST_DEVICE constexpr auto get(const shape<Numbers...> &numbers)
{
    static_assert(I >= 0 && I < (int)sizeof...(Numbers), "no such dimension");
    return isthmus_entry<I>::of(numbers);
}

/* ---- layouts and tensors ---- */

template <typename Shape, typename Stride> class Layout
{
    Shape shape_;
    Stride stride_;

  public:
    Layout() = default;
    ISTHMUS_HOST_DEVICE constexpr Layout(Shape numbers, Stride distances) : shape_(numbers), stride_(distances) {}
    ISTHMUS_HOST_DEVICE constexpr Shape shape() const { return shape_; }
    ISTHMUS_HOST_DEVICE constexpr Stride stride() const { return stride_; }
};

template <typename Shape, typename Stride>
ISTHMUS_HOST_DEVICE constexpr Layout<Shape, Stride> make_layout(Shape numbers, Stride distances)
{
    return Layout<Shape, Stride>(numbers, distances);
}

/* Elements at an address, which the tensor does not own. */
template <typename T, typename TensorLayout> class Tensor
{
    T *data_;
    TensorLayout layout_;

  public:
    using value_type = T;
    using layout_type = TensorLayout;
    Tensor() = default;
    ISTHMUS_HOST_DEVICE constexpr Tensor(T *data, TensorLayout layout) : data_(data), layout_(layout) {}
    ISTHMUS_HOST_DEVICE constexpr T *data() const { return data_; }
    ISTHMUS_HOST_DEVICE constexpr TensorLayout layout() const { return layout_; }
    ISTHMUS_HOST_DEVICE constexpr auto shape() const { return layout_.shape(); }
    ISTHMUS_HOST_DEVICE constexpr auto stride() const { return layout_.stride(); }
};

} // namespace nvshmemx

#endif

#endif
