/* tests/cuda_gates/launch.cpp: the collective launch (isthmus/cuda_launch.h) on a double of the few calls of CUDA's
 * runtime that it makes: how large a grid it takes, and that it leaves room. Needs CUDA's headers, and no GPU. */
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <stdio.h>

/* ---- the double: one kernel, and one device with 4 multiprocessors ---- */

static struct {
    cudaError_t device, launch;
    int is_cooperative, blocks_on_one, registers, shared_bytes;
    int has_ring;
    unsigned launched; /* blocks */
    int n_launches;
} scene;

extern "C" {
cudaError_t CUDARTAPI cudaGetDevice(int *device)
{
    *device = 0;
    return scene.device;
}

cudaError_t CUDARTAPI cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int)
{
    switch (attribute) {
    case cudaDevAttrCooperativeLaunch: *value = scene.is_cooperative; break;
    case cudaDevAttrMultiProcessorCount: *value = 4; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = 65536; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = 32; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 233472; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = 1024; break;
    default: return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaFuncGetAttributes(cudaFuncAttributes *out, const void *)
{
    *out = cudaFuncAttributes();
    out->numRegs = scene.registers;
    out->sharedSizeBytes = (size_t)scene.shared_bytes;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int, size_t)
{
    *blocks = scene.blocks_on_one;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaLaunchCooperativeKernel(const void *, dim3 grid, dim3, void **, size_t, cudaStream_t)
{
    scene.launched = grid.x * grid.y * grid.z;
    scene.n_launches++;
    return scene.launch;
}

const char *CUDARTAPI cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "none" : "an error"; }

/* In place of the library's. */
int isthmus_device_launch_v1(void) { return scene.has_ring; }
}

/* ---- */

static int n_faults;

static void expect(long seen, long expected, int line)
{
    if (seen != expected) fprintf(stderr, "line %d: %ld, expected %ld\n", line, seen, expected);
    n_faults += seen != expected;
}
#define EXPECT(seen, expected) expect((long)(seen), (long)(expected), __LINE__)

/* Blocks of so many threads, of which that many fit on a multiprocessor by the resource that the case is about. */
static int grid_of(int threads, int blocks_on_one, int registers, int shared_bytes)
{
    int grid = -1;
    scene = {};
    scene.is_cooperative = 1;
    scene.blocks_on_one = blocks_on_one;
    scene.registers = registers;
    scene.shared_bytes = shared_bytes;
    EXPECT(nvshmemx_collective_launch_query_gridsize(nullptr, dim3(threads), nullptr, 0, &grid), NVSHMEMX_SUCCESS);
    return grid;
}

static int launch(dim3 grid) { return nvshmemx_collective_launch(nullptr, grid, dim3(128), nullptr, 0, nullptr); }

static void grids_leave_room()
{
    EXPECT(grid_of(128, 1, 32, 0), 4);      /* most of it is empty */
    EXPECT(grid_of(1024, 2, 32, 0), 7);     /* all threads */
    EXPECT(grid_of(256, 2, 128, 0), 7);     /* all registers */
    EXPECT(grid_of(480, 1, 120, 0), 3);     /* all but those of one warp: not one for each part */
    EXPECT(grid_of(512, 1, 64, 0), 4);      /* half of them */
    EXPECT(grid_of(32, 32, 16, 0), 127);    /* all blocks */
    EXPECT(grid_of(128, 1, 32, 232448), 3); /* all shared memory: not even what a block reserves is left */
    EXPECT(grid_of(128, 1, 32, 231424), 4); /* just that */
    EXPECT(grid_of(128, 0, 32, 0), 0);      /* it does not fit at all */
}

static void a_launch_takes_what_the_query_reports()
{
    EXPECT(grid_of(1024, 2, 32, 0), 7);
    scene.has_ring = 1;
    EXPECT(nvshmemx_collective_launch(nullptr, dim3(0, 0, 0), dim3(1024), nullptr, 0, nullptr), NVSHMEMX_SUCCESS);
    EXPECT(scene.launched, 7);
    EXPECT(nvshmemx_collective_launch(nullptr, dim3(8), dim3(1024), nullptr, 0, nullptr),
           NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED);
    EXPECT(scene.n_launches, 1);
    scene.has_ring = 0; /* no other PE needs the room */
    EXPECT(nvshmemx_collective_launch(nullptr, dim3(2, 2, 2), dim3(1024), nullptr, 0, nullptr), NVSHMEMX_SUCCESS);
    EXPECT(scene.launched, 8);
    EXPECT(nvshmemx_collective_launch(nullptr, dim3(9), dim3(1024), nullptr, 0, nullptr),
           NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED);
}

static void wrong_launches_are_refused()
{
    EXPECT(grid_of(128, 2, 32, 0), 8);
    EXPECT(launch(dim3(1, 0, 1)), NVSHMEMX_ERROR_INVALID_VALUE);
    scene.launch = cudaErrorInvalidConfiguration;
    EXPECT(launch(dim3(1)), NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED);
    scene.is_cooperative = 0;
    EXPECT(launch(dim3(1)), NVSHMEMX_ERROR_NOT_SUPPORTED);
    scene.device = cudaErrorNoDevice;
    EXPECT(launch(dim3(1)), NVSHMEMX_ERROR_NOT_SUPPORTED);
    EXPECT(grid_of(128, 0, 32, 0), 0);
    EXPECT(launch(dim3(0, 0, 0)), NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED);
}

int main()
{
    grids_leave_room();
    a_launch_takes_what_the_query_reports();
    wrong_launches_are_refused();
    return n_faults != 0;
}
