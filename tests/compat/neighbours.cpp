/* What known users of NVSHMEM include and call on the host, in the way that they do: PyTorch's allocator of symmetric
 * memory, XLA's and TVM's communicators, PETSc's star forests, Kokkos Remote Spaces, DeepEP, and NVIDIA's performance
 * programs. It compiles with and without CUDA's headers, with nothing included before them, and runs. */
#include <bootstrap_device_host/nvshmem_uniqueid.h>
#include <device_host/nvshmem_common.cuh>
#include <device_host/nvshmem_types.h>
#include <device_host_transport/nvshmem_constants.h>
#include <host/nvshmem_api.h>
#include <host/nvshmemx_api.h>
#include <non_abi/nvshmemx_error.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <type_traits>
#include <vector>

#define REQUIRE(condition) NVSHMEMI_NZ_EXIT(!(condition), "not so: %s", #condition)

/* A unique id travels as bytes; attributes are left uninitialised but for what the routine sets. Here the launcher has
 * started the job already, so that only the filled structures are compared. */
static void unique_id_as_bytes()
{
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    static_assert(sizeof id.internal == UNIQUEID_PADDING, "the bytes of an id");
    std::vector<unsigned char> bytes(sizeof id);
    memcpy(bytes.data(), &id, sizeof id);
    nvshmemx_init_attr_t attr;
    REQUIRE(nvshmemx_set_attr_uniqueid_args(1, 2, &id, &attr) == 0);
    REQUIRE(attr.args.uid_args.myrank == 1 && attr.args.uid_args.nranks == 2 && attr.args.uid_args.id == &id);
}

/* TVM hands an id on as a version and a list of integers, and asks in which state the library is before it announces a
 * module. PETSc sets nothing but the communicator. */
static void unique_id_as_integers()
{
    nvshmemx_uniqueid_t id, other;
    REQUIRE(nvshmemx_get_uniqueid(&id) == 0);
    std::vector<int64_t> integers = {id.version};
    for (int i = 0; i < UNIQUEID_PADDING; i++) integers.push_back(static_cast<int64_t>(id.internal[i]));
    other.version = static_cast<int>(integers[0]);
    for (size_t i = 0; i < UNIQUEID_PADDING; i++) other.internal[i] = static_cast<char>(integers[i + 1]);
    REQUIRE(memcmp(&id, &other, sizeof id) == 0);
    const int status = nvshmemx_init_status();
    REQUIRE(status == NVSHMEM_STATUS_IS_INITIALIZED || status == NVSHMEM_STATUS_LIMITED_MPG ||
            status == NVSHMEM_STATUS_FULL_MPG);
    int communicator = 0;
    nvshmemx_init_attr_t attr;
    attr.mpi_comm = &communicator;
    REQUIRE(attr.mpi_comm == &communicator && NVSHMEMX_INIT_WITH_MPI_COMM != NVSHMEMX_INIT_WITH_UNIQUEID);
}

/* PyTorch finds out by a weak symbol whether the library is there, in a namespace of its own. */
namespace extension
{
extern "C" void nvshmem_init() __attribute__((weak));
static bool is_available() { return nvshmem_init != nullptr; }
} // namespace extension

/* An allocator: one collective block, the addresses of peers in it, a team of the PEs of one host. */
static void allocator(int me, int n)
{
    void *block = nvshmem_malloc(1 << 16);
    REQUIRE(block != nullptr);
    std::vector<void *> of_peers;
    for (int pe = 0; pe < n; pe++) of_peers.push_back(nvshmem_ptr(block, pe));
    REQUIRE(of_peers[static_cast<size_t>(me)] == block);
    REQUIRE(nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, block) == nullptr);
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    nvshmem_team_config_t config;
    REQUIRE(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n, &config, 0, &team) == 0);
    REQUIRE(nvshmem_team_n_pes(team) == n);
    REQUIRE(nvshmem_team_translate_pe(team, me, NVSHMEM_TEAM_WORLD) == me);
    nvshmem_team_destroy(team);
    nvshmem_free(block);
}

/* A communicator: every operation in a stream of the program's. */
static void communicator(int me, int n)
{
    const cudaStream_t stream = nullptr;
    float *values = static_cast<float *>(nvshmem_calloc(4, sizeof(float)));
    values[0] = static_cast<float>(me);
    REQUIRE(nvshmemx_float_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, &values[1], &values[0], 1, stream) == 0);
    REQUIRE(nvshmemx_float_broadcast_on_stream(NVSHMEM_TEAM_WORLD, &values[2], &values[0], 1, n - 1, stream) == 0);
    nvshmemx_float_put_nbi_on_stream(&values[3], &values[0], 1, (me + 1) % n, stream);
    nvshmemx_quiet_on_stream(stream);
    nvshmemx_barrier_all_on_stream(stream);
    REQUIRE(values[1] == static_cast<float>(n * (n - 1) / 2) && values[2] == static_cast<float>(n - 1));
    REQUIRE(values[3] == static_cast<float>((me + n - 1) % n));
    nvshmem_free(values);
}

/* XLA reduces over the PEs of a node, by every operation and for every type that it has. */
template <typename T, typename Reduce> static void reduce_over_node(Reduce reduce, T each, T expected)
{
    T *values = static_cast<T *>(nvshmem_calloc(2, sizeof(T)));
    values[0] = each;
    REQUIRE(reduce(NVSHMEMX_TEAM_NODE, values + 1, values, 1, nullptr) == 0);
    REQUIRE(nvshmemx_barrier_on_stream(NVSHMEMX_TEAM_NODE, nullptr) == 0);
    REQUIRE(values[1] == expected);
    nvshmem_free(values);
}

#define REDUCE_OVER_NODE(TYPENAME, TYPE, n)                                                         \
    do {                                                                                            \
        reduce_over_node<TYPE>(nvshmemx_##TYPENAME##_sum_reduce_on_stream, TYPE(3), TYPE(3 * (n))); \
        reduce_over_node<TYPE>(nvshmemx_##TYPENAME##_min_reduce_on_stream, TYPE(3), TYPE(3));       \
        reduce_over_node<TYPE>(nvshmemx_##TYPENAME##_max_reduce_on_stream, TYPE(3), TYPE(3));       \
        reduce_over_node<TYPE>(nvshmemx_##TYPENAME##_prod_reduce_on_stream, TYPE(1), TYPE(1));      \
    } while (0)

static void reductions()
{
    const int n = nvshmem_team_n_pes(NVSHMEMX_TEAM_NODE);
    REDUCE_OVER_NODE(double, double, n);
    REDUCE_OVER_NODE(float, float, n);
    REDUCE_OVER_NODE(int32, int32_t, n);
    REDUCE_OVER_NODE(int64, int64_t, n);
    REDUCE_OVER_NODE(uint32, uint32_t, n);
    REDUCE_OVER_NODE(uint64, uint64_t, n);
    REQUIRE(nvshmemx_half_sum_reduce_on_stream(NVSHMEMX_TEAM_NODE, nullptr, nullptr, 0, nullptr) == 0);
    REQUIRE(nvshmemx_bfloat16_prod_reduce_on_stream(NVSHMEMX_TEAM_NODE, nullptr, nullptr, 0, nullptr) == 0);
}

/* PyTorch's tensors are bytes: a broadcast in place, an exchange with all, puts and gets by a peer's address here. */
static void tensors(int me, int n)
{
    const cudaStream_t stream = nullptr;
    const size_t room = static_cast<size_t>(n);
    char *all = static_cast<char *>(nvshmem_calloc(2 * room + 2, 1));
    for (size_t i = 0; i < room; i++) all[i] = static_cast<char>(10 * me + static_cast<int>(i));
    nvshmemx_alltoallmem_on_stream(NVSHMEM_TEAM_WORLD, all + room, all, 1, stream);
    nvshmemx_broadcastmem_on_stream(NVSHMEM_TEAM_WORLD, all, all, 1, n - 1, stream);
    nvshmemx_putmem_on_stream(all + 2 * room, all + room, 1, (me + 1) % n, stream);
    nvshmemx_barrier_all_on_stream(stream);
    nvshmemx_getmem_on_stream(all + 2 * room + 1, all + 2 * room, 1, (me + 1) % n, stream);
    for (int i = 0; i < n; i++) REQUIRE(all[room + static_cast<size_t>(i)] == 10 * i + me);
    REQUIRE(all[0] == 10 * (n - 1) && all[2 * room + 1] == me);
    nvshmem_free(all);
}

/* A scatter of vectors: data and signal in one call, waits for all neighbours at once, credits back. */
static void star_forest(int me, int n)
{
    const cudaStream_t stream = nullptr;
    const int right = (me + 1) % n;
    double *data = static_cast<double *>(nvshmem_calloc(2, sizeof(double)));
    uint64_t *signals = static_cast<uint64_t *>(nvshmem_calloc(2, sizeof(uint64_t)));
    data[0] = me + 0.5;
    nvshmemx_putmem_signal_nbi_on_stream(&data[1], &data[0], sizeof(double), &signals[0], 1, NVSHMEM_SIGNAL_SET, right,
                                         stream);
    nvshmemx_signal_op_on_stream(&signals[1], 1, NVSHMEM_SIGNAL_SET, right, stream);
    nvshmemx_uint64_wait_until_all_on_stream(signals, 2, nullptr, NVSHMEM_CMP_EQ, 1, stream);
    nvshmemx_quiet_on_stream(stream);
    nvshmem_barrier_all();
    REQUIRE(data[1] == (me + n - 1) % n + 0.5);
    nvshmemx_getmem_nbi_on_stream(&data[0], &data[1], sizeof(double), right, stream);
    nvshmemx_quiet_on_stream(stream);
    nvshmem_barrier_all(); /* the right PE has what this one read */
    REQUIRE(data[0] == me + 0.5);
    nvshmemx_putmem_nbi_on_stream(&data[1], &data[0], sizeof(double), me, stream);
    nvshmemx_quiet_on_stream(stream);
    REQUIRE(data[1] == me + 0.5);
    nvshmem_free(signals);
    nvshmem_free(data);
}

/* Kokkos Remote Spaces has an operator for each routine, and one set of them for each type. */
#define OF_TYPE(TYPENAME, TYPE)                                                                     \
    static void move_one(TYPE *at, TYPE value, int pe)                                              \
    {                                                                                               \
        TYPE block[2] = {0, 0};                                                                     \
        nvshmem_##TYPENAME##_p(at, value, pe);                                                      \
        nvshmem_##TYPENAME##_put(at + 1, &value, 1, pe);                                            \
        nvshmem_quiet();                                                                            \
        nvshmem_##TYPENAME##_get(block, at, 2, pe);                                                 \
        REQUIRE(block[0] == value && block[1] == value && nvshmem_##TYPENAME##_g(at, pe) == value); \
    }
#define OF_SETTABLE_TYPE(TYPENAME, TYPE)                             \
    static void exchange_one(TYPE *at, TYPE value, int pe)           \
    {                                                                \
        nvshmem_##TYPENAME##_atomic_set(at, value, pe);              \
        REQUIRE(nvshmem_##TYPENAME##_atomic_fetch(at, pe) == value); \
    }
#define OF_INTEGER(TYPENAME, TYPE)                                                            \
    OF_SETTABLE_TYPE(TYPENAME, TYPE)                                                          \
    static void count_one(TYPE *at, TYPE value, int pe)                                       \
    {                                                                                         \
        exchange_one(at, value, pe);                                                          \
        nvshmem_##TYPENAME##_atomic_add(at, 1, pe);                                           \
        REQUIRE(nvshmem_##TYPENAME##_atomic_fetch_add(at, 1, pe) == value + 1);               \
        REQUIRE(nvshmem_##TYPENAME##_atomic_compare_swap(at, value + 2, 5, pe) == value + 2); \
        REQUIRE(nvshmem_##TYPENAME##_atomic_swap(at, value, pe) == 5);                        \
    }
OF_TYPE(char, char)
OF_TYPE(uchar, unsigned char)
OF_TYPE(short, short)
OF_TYPE(ushort, unsigned short)
OF_TYPE(int, int)
OF_TYPE(uint, unsigned)
OF_TYPE(long, long)
OF_TYPE(ulong, unsigned long)
OF_TYPE(longlong, long long)
OF_TYPE(ulonglong, unsigned long long)
OF_TYPE(float, float)
OF_TYPE(double, double)
OF_INTEGER(int, int)
OF_INTEGER(uint, unsigned)
OF_INTEGER(long, long)
OF_INTEGER(ulong, unsigned long)
OF_INTEGER(longlong, long long)
OF_INTEGER(ulonglong, unsigned long long)
OF_SETTABLE_TYPE(float, float)
OF_SETTABLE_TYPE(double, double)

/* Each PE uses the words of its right neighbour alone. */
template <typename T> static void move_and_count(int right)
{
    T *at = static_cast<T *>(nvshmem_calloc(2, sizeof(T)));
    move_one(at, T(7), right);
    if constexpr (std::is_integral_v<T> && sizeof(T) >= 4) count_one(at, T(8), right);
    if constexpr (std::is_floating_point_v<T>) exchange_one(at, T(8), right);
    nvshmem_free(at);
}

static void remote_elements(int right)
{
    move_and_count<char>(right), move_and_count<unsigned char>(right);
    move_and_count<short>(right), move_and_count<unsigned short>(right);
    move_and_count<int>(right), move_and_count<unsigned>(right);
    move_and_count<long>(right), move_and_count<unsigned long>(right);
    move_and_count<long long>(right), move_and_count<unsigned long long>(right);
    move_and_count<float>(right), move_and_count<double>(right);
}

/* A view of remote memory: single elements and blocks by type, atomics. */
static void remote_view(int me, int n)
{
    long *view = static_cast<long *>(nvshmem_align(64, 4 * sizeof(long)));
    const int right = (me + 1) % n;
    view[0] = 10 + me, view[1] = view[2] = 0;
    nvshmem_barrier_all();
    nvshmem_long_p(&view[1], me, right);
    REQUIRE(nvshmem_long_g(&view[0], right) == 10 + right);
    nvshmem_long_atomic_add(&view[2], 1, 0);
    nvshmem_quiet();
    nvshmem_barrier_all();
    REQUIRE(view[1] == (me + n - 1) % n && (me != 0 || view[2] == n));
    nvshmem_free(view);
}

/* DeepEP refuses to run with another library than that of its headers. */
#if !defined(NVSHMEM_VENDOR_MAJOR_VERSION) || !defined(NVSHMEM_VENDOR_MINOR_VERSION) || \
    !defined(NVSHMEM_VENDOR_PATCH_VERSION)
#error "the version of the headers is missing"
#endif
static void versions()
{
    int major = 0, minor = 0, patch = -1;
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    REQUIRE(major == NVSHMEM_VENDOR_MAJOR_VERSION && minor == NVSHMEM_VENDOR_MINOR_VERSION);
    REQUIRE(patch == NVSHMEM_VENDOR_PATCH_VERSION);
}

/* Macros by which programs leave: through a label, or by a status. */
static int leave_by_label(int *data)
{
    int status = 0;
    NVSHMEMI_NULL_ERROR_JMP(data, status, NVSHMEMX_ERROR_OUT_OF_MEMORY, out, "no data");
    NVSHMEMI_NZ_ERROR_JMP(*data, NVSHMEMX_ERROR_INTERNAL, out, "%d elements", *data);
    NVSHMEMI_EQ_ERROR_JMP(*data, 1, NVSHMEMX_ERROR_INTERNAL, out, "not reached");
    NVSHMEMI_NE_ERROR_JMP(*data, 0, NVSHMEMX_ERROR_INTERNAL, out, "not reached");
    NVSHMEMI_CHECK_ERROR_JMP(*data > 0, status, NVSHMEMX_ERROR_INTERNAL, out, "not reached");
    NVSHMEMI_NZ_ERROR_RET(status, NVSHMEMX_ERROR_INTERNAL, "not reached");
    NVSHMEMI_ERROR_RET(status, NVSHMEMX_ERROR_SYMMETRY, "the end");
out:
    return status;
}

static void errors()
{
    int none = 0;
    REQUIRE(leave_by_label(nullptr) == NVSHMEMX_ERROR_OUT_OF_MEMORY);
    REQUIRE(leave_by_label(&none) == NVSHMEMX_ERROR_SYMMETRY);
    NVSHMEMI_ERROR_PRINT("a line with its place: %s", strerror(ENOENT));
    NVSHMEMI_WARN_PRINT("%d warnings", 1);
}

int main()
{
    REQUIRE(extension::is_available());
    REQUIRE(nvshmemx_init_attr(0, nullptr) == 0);
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    REQUIRE(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) == me);
    CUmodule no_module = nullptr;
    REQUIRE(nvshmemx_cumodule_init(no_module) != 0);
    unique_id_as_bytes();
    unique_id_as_integers();
    allocator(me, n);
    communicator(me, n);
    reductions();
    tensors(me, n);
    star_forest(me, n);
    remote_view(me, n);
    remote_elements((me + 1) % n);
    errors();
    versions();
    nvshmem_finalize();
    return 0;
}
