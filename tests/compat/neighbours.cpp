/* What known users of NVSHMEM include and call on the host, in the way that they do: PyTorch's allocator of symmetric
 * memory, XLA's and TVM's communicators, PETSc's star forests, Kokkos Remote Spaces, and NVIDIA's performance programs.
 * It compiles with and without CUDA's headers, with nothing included before them, and runs. */
#include <bootstrap_device_host/nvshmem_uniqueid.h>
#include <device_host/nvshmem_common.cuh>
#include <device_host/nvshmem_types.h>
#include <device_host_transport/nvshmem_constants.h>
#include <host/nvshmem_api.h>
#include <host/nvshmemx_api.h>
#include <non_abi/nvshmemx_error.h>
#include <nvshmem.h>
#include <nvshmemx.h>

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
    nvshmem_free(signals);
    nvshmem_free(data);
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
    REQUIRE(nvshmemx_init_attr(0, nullptr) == 0);
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    REQUIRE(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) == me);
    CUmodule no_module = nullptr;
    REQUIRE(nvshmemx_cumodule_init(no_module) != 0);
    unique_id_as_bytes();
    allocator(me, n);
    communicator(me, n);
    star_forest(me, n);
    remote_view(me, n);
    errors();
    nvshmem_finalize();
    return 0;
}
