/* tests/doubles/p2p_platform.c: see p2p_test.h. Cases of one platform only. */
#include "tests/doubles/cuda/code.h"
#include "tests/doubles/cuda/load.h"
#include "tests/doubles/p2p_test.h"

#include <stdlib.h>
#include <string.h>

/* ---- CUDA only ---- */

void case_old_driver(void)
{
    struct isthmus_services services = services_of(0);
    setenv("GPU_DOUBLE_VERSION", "11020", 1);
    gpu_double.reset();
    CHECK(plugin->probe(&services) == ISTHMUS_ERR_NO_DEVICE, "%s", said);
    CHECK(strstr(said, "CUDA 11.2;") != NULL && strstr(said, "CUDA 11.7 ") != NULL, "it says: %s", said);
}

/* The library named on the command line lacks one call. */
void case_lacking_call(void)
{
    struct isthmus_services services = services_of(0);
    CHECK(plugin->probe(&services) == ISTHMUS_ERR_NO_DEVICE, "%s", said);
    CHECK(strstr(said, "lacks cuMemSetAccess") != NULL, "it says: %s", said);
}

/* It is the stub library that the toolkit has for linking. */
void case_stub_library(void)
{
    struct isthmus_services services = services_of(0);
    CHECK(plugin->probe(&services) == ISTHMUS_ERR_NO_DEVICE, "%s", said);
    CHECK(strstr(said, "stub") != NULL, "it says: %s", said);
}

static int uses_of(const char *call)
{
    const char *name;
    int uses = 0;
    for (int i = 0; (name = gpu_double.call(i, &uses)) != NULL; i++)
        if (strcmp(name, call) == 0) return uses;
    return 0;
}

/* One put or put_nbi of so many bytes at that offset; how many copies it took. The source is overwritten before it
 * returns. */
static int copies_of_put(struct stream_scene *scene, isthmus_chan *chan, const struct isthmus_data_ops *ops,
                         uint64_t offset, size_t bytes, bool is_nbi)
{
    static uint64_t back[2];
    uint64_t source[2] = {0x1122334455667788, 9}, expected[2] = {0};
    int before = uses_of("cuMemcpyAsync");
    memcpy(expected, source, bytes);
    isthmus_status status = (is_nbi ? ops->put_nbi : ops->put)(chan, scene->path, scene->remote, offset, source, NULL,
                                                               bytes);
    CHECK(status == ISTHMUS_OK, "%s", said);
    int copies = uses_of("cuMemcpyAsync") - before;
    if (is_nbi && copies > 0) CHECK(ops->local_complete(chan, NULL) == ISTHMUS_OK, "%s", said);
    memset(source, 0, sizeof source);
    memset(back, 0, sizeof back);
    CHECK(ops->get(chan, scene->path, scene->remote, offset, back, NULL, bytes) == ISTHMUS_OK, "%s", said);
    CHECK(memcmp(back, expected, sizeof back) == 0, "%zu bytes at %d: %llx", bytes, (int)offset,
          (unsigned long long)back[0]);
    return copies;
}

/* Words at their own alignment go by value, everything else by a copy. */
void case_words_by_value(void)
{
    static struct pe pes[2];
    static struct stream_scene scene;
    struct isthmus_data_ops ops = {.struct_size = sizeof ops};
    isthmus_chan *chan = NULL;
    stream_scene_open(&scene, pes);
    CHECK(plugin->channel_open(pes[1].tr, ISTHMUS_THREAD_ONE, 0, &chan, &ops) == ISTHMUS_OK, "%s", said);
    for (int is_nbi = 0; is_nbi < 2; is_nbi++) {
        CHECK(copies_of_put(&scene, chan, &ops, 8, 8, is_nbi != 0) == 0, "8 bytes are copied");
        CHECK(copies_of_put(&scene, chan, &ops, 20, 4, is_nbi != 0) == 0, "4 bytes are copied");
        CHECK(copies_of_put(&scene, chan, &ops, 36, 8, is_nbi != 0) == 1, "8 bytes lie across a boundary");
        CHECK(copies_of_put(&scene, chan, &ops, 42, 4, is_nbi != 0) == 1, "4 bytes lie across a boundary");
        CHECK(copies_of_put(&scene, chan, &ops, 64, 2, is_nbi != 0) == 1, "2 bytes are no word");
        CHECK(copies_of_put(&scene, chan, &ops, 80, 16, is_nbi != 0) == 1, "16 bytes are no word");
    }
    plugin->channel_close(chan);
    stream_scene_close(&scene);
}

/* Memory is shared by bytes in the key: no descriptor is taken from the peer. */
void case_fabric_handles(void)
{
    struct pe pe;
    setenv(variable("CUMEM_HANDLE_TYPE"), "fabric", 1);
    CHECK(use_all() == ISTHMUS_OK, "%s", said);
    setenv("GPU_DOUBLE_FAIL", "cuMemCreate:1:800", 1);
    gpu_double.reset();
    CHECK(pe_open(&pe, 0) == ISTHMUS_ERR_NO_DEVICE && strstr(said, "800") != NULL && strstr(said, "IMEX") != NULL, "%s",
          said);
    unsetenv("GPU_DOUBLE_FAIL");
    setenv("GPU_DOUBLE_FABRIC", "0", 1);
    gpu_double.reset();
    CHECK(pe_open(&pe, 0) == ISTHMUS_ERR_NO_DEVICE && strstr(said, "fabric") != NULL, "%s", said);
    setenv(variable("CUMEM_HANDLE_TYPE"), "fabrics", 1);
    CHECK(pe_open(&pe, 0) == ISTHMUS_ERR_INVALID && strstr(said, "valid: FILE_DESCRIPTOR, FABRIC") != NULL, "%s", said);
}

static bool is_for_adapters(const struct cuda_api *driver, struct pe *pe)
{
    struct isthmus_mem mem = {.struct_size = sizeof mem};
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop;
    CHECK(pe_open(pe, 0) == ISTHMUS_OK, "%s", said);
    CHECK(plugin->mem_alloc(pe->tr, pe->kind, -1, 1 << 20, &mem) == ISTHMUS_OK, "%s", said);
    CHECK(driver->cuMemRetainAllocationHandle(&handle, mem.addr) == CUDA_SUCCESS, "no memory at %p", mem.addr);
    CHECK(driver->cuMemGetAllocationPropertiesFromHandle(&prop, handle) == CUDA_SUCCESS, "no properties");
    CHECK(driver->cuMemRelease(handle) == CUDA_SUCCESS, "it is not held");
    plugin->mem_free(pe->tr, &mem);
    pe_close(pe);
    return prop.allocFlags.gpuDirectRDMACapable != 0;
}

/* Network adapters register such memory if it was made for that. A device may not support it, and not every driver
 * knows the attribute. */
void case_memory_for_adapters(void)
{
    struct pe pe;
    struct cuda_api driver;
    CHECK(cuda_load(dlopen(getenv(variable("LIBRARY")), RTLD_NOW), &driver), "no driver");
    CHECK(is_for_adapters(&driver, &pe), "adapters cannot register it");
    setenv("GPU_DOUBLE_RDMA", "0", 1);
    gpu_double.reset();
    CHECK(!is_for_adapters(&driver, &pe), "this device has no such memory");
}

static void *flush(void *argument)
{
    const struct pe *pe = argument;
    CHECK(memory_of(pe)->flush_writes(pe->tr) == ISTHMUS_OK, "%s", said);
    return NULL;
}

/* Whether it is offered, with these knobs; if so, it works in a thread that has no context. */
static bool is_flushed(const char *devices, const char *peers, const char *order)
{
    struct pe pe;
    pthread_t thread;
    setenv("GPU_DOUBLE_DEVICES", devices, 1);
    setenv("GPU_DOUBLE_PEERS", peers, 1);
    setenv("GPU_DOUBLE_WRITES_ORDER", order, 1);
    gpu_double.reset();
    CHECK(pe_open(&pe, 0) == ISTHMUS_OK, "%s", said);
    bool is_offered = memory_of(&pe)->flush_writes != NULL;
    if (is_offered) {
        CHECK(pthread_create(&thread, NULL, flush, &pe) == 0 && pthread_join(thread, NULL) == 0, "no thread");
        CHECK(uses_of("cuFlushGPUDirectRDMAWrites") == 1, "the driver was not called once");
    }
    pe_close(&pe);
    return is_offered;
}

/* Writes of adapters are flushed unless the driver orders them: for this device, and for the others where they reach
 * its memory. */
void case_flush_of_writes(void)
{
    struct pe pe;
    struct cuda_api driver;
    CHECK(is_flushed("1", "1", "0"), "nothing orders the writes");
    CHECK(!is_flushed("1", "1", "100"), "this device sees them in order");
    CHECK(is_flushed("2", "1", "100"), "the other device does not");
    CHECK(!is_flushed("2", "1", "200"), "all devices do");
    CHECK(!is_flushed("2", "0", "100"), "the other device does not reach the memory");
    setenv("GPU_DOUBLE_FLUSH", "0", 1);
    CHECK(!is_flushed("1", "1", "0"), "this driver flushes nothing for a processor");
    CHECK(cuda_load(dlopen(getenv(variable("LIBRARY")), RTLD_NOW), &driver), "no driver");
    CHECK(!is_for_adapters(&driver, &pe), "adapters may write what cannot be flushed");
}

/* ---- loaded code, and its variables ---- */

static void expect_found(const struct pe *pe, const struct isthmus_kernels *kernels, uint32_t code, void *handle)
{
    uint64_t bytes = 0, value = 11, back = 0;
    void *at = NULL;
    isthmus_status status = kernels->find(pe->tr, code, handle, "isthmus_device_v1", &at, &bytes);
    CHECK(status == ISTHMUS_OK && bytes == 128, "%s; %llu bytes", said, (unsigned long long)bytes);
    CHECK(memory_of(pe)->copy(pe->tr, at, &value, sizeof value) == ISTHMUS_OK, "%s", said);
    CHECK(memory_of(pe)->copy(pe->tr, &back, at, sizeof back) == ISTHMUS_OK && back == value, "%s", said);
}

static void expect_not_found(const struct pe *pe, const struct isthmus_kernels *kernels, uint32_t code, void *handle,
                             const char *why)
{
    uint64_t bytes = 0;
    void *at = NULL;
    isthmus_status status = kernels->find(pe->tr, code, handle, "isthmus_device_v1", &at, &bytes);
    CHECK(status == (code > ISTHMUS_CODE_LIBRARY ? ISTHMUS_ERR_UNSUPPORTED : ISTHMUS_ERR_INVALID), "%d", status);
    CHECK(strstr(said, why) != NULL && at == NULL, "it says: %s", said);
}

static void load_code(void *out)
{
    struct cuda_api driver;
    CHECK(cuda_load(dlopen(getenv(variable("LIBRARY")), RTLD_NOW), &driver), "no driver");
    CHECK(driver.cuModuleLoadData(out, code_with_state) == CUDA_SUCCESS, "no context is current");
}

/* The program's context is current where it loads code, and in no other thread. */
void case_memory_for_kernels(void)
{
    struct pe pe;
    struct cuda_api driver;
    CUcontext context;
    CUmodule module, other, third = NULL;
    void *library = dlopen(getenv(variable("LIBRARY")), RTLD_NOW);
    CHECK(cuda_load(library, &driver), "no driver");
    CHECK(pe_open(&pe, 0) == ISTHMUS_OK && use_kernels(&pe) == ISTHMUS_OK, "%s", said);
    const struct isthmus_kernels *kernels = plugin->extension(pe.tr, "device.1");
    CHECK(driver.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS, "no context");
    CHECK(driver.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS, "no context");
    CHECK(driver.cuModuleLoadData(&module, code_with_state) == CUDA_SUCCESS, "no module");
    CHECK(driver.cuModuleLoadData(&other, code_without_state) == CUDA_SUCCESS, "no module");
    CUlibrary code = code_library_load(library, code_with_state);
    CHECK(driver.cuCtxPopCurrent_v2(&context) == CUDA_SUCCESS, "no context");
    expect_found(&pe, kernels, ISTHMUS_CODE_MODULE, module);
    expect_found(&pe, kernels, ISTHMUS_CODE_LIBRARY, code);
    expect_not_found(&pe, kernels, ISTHMUS_CODE_MODULE, other, "has no variable isthmus_device_v1; compile it");
    expect_not_found(&pe, kernels, ISTHMUS_CODE_MODULE, code, "is no module of CUDA");
    expect_not_found(&pe, kernels, ISTHMUS_CODE_LIBRARY, module, "is no library of CUDA");
    expect_not_found(&pe, kernels, ISTHMUS_CODE_LIBRARY, NULL, "the handle is NULL; valid: one of loaded code");
    expect_not_found(&pe, kernels, 7, module, "valid: 0 (module), 1 (library)");
    CHECK(kernels->call(pe.tr, load_code, &third) == ISTHMUS_OK, "%s", said);
    CHECK(driver.cuModuleLoadData(&third, code_with_state) == CUDA_ERROR_INVALID_CONTEXT, "a context is left");
    expect_found(&pe, kernels, ISTHMUS_CODE_MODULE, third);
    CHECK(driver.cuModuleUnload(third) == CUDA_SUCCESS, "no unload");
    code_library_unload(library, code);
    CHECK(driver.cuModuleUnload(module) == CUDA_SUCCESS && driver.cuModuleUnload(other) == CUDA_SUCCESS, "no unload");
    CHECK(driver.cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS, "no context");
    pe_close(&pe);
    char left[200];
    CHECK(gpu_double.held(left, sizeof left) == 0, "this is left: %s", left);
}

/* CUDA_PATH is a folder, which holds the double under the driver's name. */
void case_driver_in_folder(void)
{
    struct isthmus_services services = services_of(0);
    char folder[400];
    snprintf(folder, sizeof folder, "%s", getenv(variable("LIBRARY")));
    *strrchr(folder, '/') = '\0';
    setenv(variable("LIBRARY"), "", 1);
    setenv(variable("CUDA_PATH"), folder, 1);
    CHECK(plugin->probe(&services) == ISTHMUS_OK, "%s", said);
    setenv(variable("CUDA_PATH"), "/nowhere", 1);
    CHECK(plugin->probe(&services) == ISTHMUS_ERR_NO_DEVICE && strstr(said, "/nowhere/libcuda.so.1") != NULL, "%s",
          said);
}

/* ---- Level Zero only: two GPUs of two tiles each are four devices ---- */

void case_tiles(void)
{
    static struct pe pes[2];
    struct pe pe;
    setenv("GPU_DOUBLE_DEVICES", "4", 1);
    setenv("GPU_DOUBLE_TILES", "2", 1);
    gpu_double.reset();
    expect_device(0, 0);
    expect_device(1, 1);
    open_both(pes);
    expect_reach(pes, ISTHMUS_OK);
    close_both(pes);
    CHECK(use_all() == ISTHMUS_OK, "%s", said);
    setenv(variable("DEVICE"), "3", 1);
    expect_device(0, 3);
    setenv(variable("DEVICE"), "4", 1);
    CHECK(pe_open(&pe, 0) == ISTHMUS_ERR_INVALID && strstr(said, "valid: 0 to 3") != NULL, "%s", said);
}

/* ---- HIP only: without virtual memory, or on a device that has none uncached, memory does not grow, and all else
 * works ---- */

static void expect_no_growth(void)
{
    struct pe pe;
    gpu_double.reset();
    CHECK(pe_open(&pe, 0) == ISTHMUS_OK, "%s", said);
    CHECK(growing_of(&pe) == NULL, "there is nothing that it could grow by");
    pe_close(&pe);
    CHECK(use_all() == ISTHMUS_OK, "%s", said);
}

void case_old_hip(void)
{
    setenv("GPU_DOUBLE_VERSION", "60342131", 1);
    expect_no_growth();
}

/* Now other calls of the drivers fail: those that query a link, or change devices. */
void case_faults_between_two(void)
{
    setenv("GPU_DOUBLE_DEVICES", "2", 1);
    case_faults();
}

/* Memory that is shared by handles of bytes. */
void case_faults_of_old_hip(void)
{
    setenv("GPU_DOUBLE_VERSION", "60342131", 1);
    case_faults();
}

void case_refused_pieces(void)
{
    setenv("GPU_DOUBLE_FAIL", "hipMemCreate:1+:1", 1);
    expect_no_growth();
}

/* It is tried when the device is opened. */
void case_unshared_pieces(void)
{
    setenv("GPU_DOUBLE_FAIL", "zeMemGetIpcHandle:1", 1);
    expect_no_growth();
}
