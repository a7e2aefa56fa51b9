/* tests/doubles/ze/spirv_test.c: spirv_test AMO.spv [AMO.bc]: the kernel of atomics of xelink, executed by an OpenCL
 * platform, whose kernels have the form of Level Zero's: by one that takes SPIR-V, or else by one that takes what the
 * translator of LLVM has made of it (cl_khr_spir), as PoCL does. Every operation in both widths against the same one in
 * C, and the word beside. */
#define CL_TARGET_OPENCL_VERSION 210
#include <CL/cl.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <isthmus/amo_cpu.h>
#include <isthmus/transport.h>

enum { SKIPPED = 77, PLATFORMS_MAX = 8 };

#define CHECK(condition, ...)                          \
    do {                                               \
        if (condition) break;                          \
        printf("line %d: %s: ", __LINE__, #condition); \
        printf(__VA_ARGS__);                           \
        printf("\n");                                  \
        exit(1);                                       \
    } while (0)

static struct {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem words, result; /* two words: the first one is operated on */
} cl;

/* ---- a platform that takes SPIR-V ---- */

static bool says(cl_device_id device, cl_device_info what, const char *word)
{
    char text[4000] = "";
    return clGetDeviceInfo(device, what, sizeof text, text, NULL) == CL_SUCCESS && strstr(text, word) != NULL;
}

static bool find_device(cl_device_info what, const char *word)
{
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint n = 0;
    if (clGetPlatformIDs(PLATFORMS_MAX, platforms, &n) != CL_SUCCESS) return false;
    for (cl_uint i = 0; i < n && i < PLATFORMS_MAX; i++) {
        cl_uint n_devices = 0;
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &cl.device, &n_devices) != CL_SUCCESS) continue;
        if (n_devices > 0 && says(cl.device, what, word)) return true;
    }
    return false;
}

static void *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0, "%s", path);
    *bytes = (size_t)ftell(file);
    void *content = malloc(*bytes);
    rewind(file);
    CHECK(content != NULL && fread(content, 1, *bytes, file) == *bytes, "%s", path);
    fclose(file);
    return content;
}

static void open_program(const char *path, bool is_spirv)
{
    cl_int status;
    char log[2000] = "";
    size_t bytes;
    void *module = read_file(path, &bytes);
    const unsigned char *binary = module;
    cl.program = is_spirv ? clCreateProgramWithIL(cl.context, module, bytes, &status)
                          : clCreateProgramWithBinary(cl.context, 1, &cl.device, &bytes, &binary, NULL, &status);
    CHECK(status == CL_SUCCESS, "%d", status);
    free(module);
    status = clBuildProgram(cl.program, 1, &cl.device, is_spirv ? NULL : "-x spir -spir-std=1.2", NULL, NULL);
    (void)clGetProgramBuildInfo(cl.program, cl.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
    CHECK(status == CL_SUCCESS, "%d: %s", status, log);
}

static void open_kernel(const char *path, bool is_spirv)
{
    cl_int status;
    cl.context = clCreateContext(NULL, 1, &cl.device, NULL, NULL, &status);
    CHECK(status == CL_SUCCESS, "%d", status);
    cl.queue = clCreateCommandQueueWithProperties(cl.context, cl.device, NULL, &status);
    CHECK(status == CL_SUCCESS, "%d", status);
    open_program(path, is_spirv);
    cl.kernel = clCreateKernel(cl.program, "isthmus_amo", &status);
    CHECK(status == CL_SUCCESS, "%d", status);
    cl.words = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, 2 * sizeof(uint64_t), NULL, &status);
    CHECK(status == CL_SUCCESS, "%d", status);
    cl.result = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, sizeof(uint64_t), NULL, &status);
    CHECK(status == CL_SUCCESS, "%d", status);
}

static void close_kernel(void)
{
    clReleaseMemObject(cl.result);
    clReleaseMemObject(cl.words);
    clReleaseKernel(cl.kernel);
    clReleaseProgram(cl.program);
    clReleaseCommandQueue(cl.queue);
    clReleaseContext(cl.context);
}

/* ---- one operation ---- */

struct operation {
    uint32_t op, bytes;
    uint64_t operand, compare;
    bool wants_result;
};

static void launch(const struct operation *o)
{
    const size_t one = 1;
    cl_int status = clSetKernelArg(cl.kernel, 0, sizeof cl.words, &cl.words);
    if (status == CL_SUCCESS) status = clSetKernelArg(cl.kernel, 1, sizeof o->operand, &o->operand);
    if (status == CL_SUCCESS) status = clSetKernelArg(cl.kernel, 2, sizeof o->compare, &o->compare);
    if (status == CL_SUCCESS)
        status = clSetKernelArg(cl.kernel, 3, sizeof cl.result, o->wants_result ? &cl.result : NULL);
    if (status == CL_SUCCESS) status = clSetKernelArg(cl.kernel, 4, sizeof o->op, &o->op);
    if (status == CL_SUCCESS) status = clSetKernelArg(cl.kernel, 5, sizeof o->bytes, &o->bytes);
    if (status == CL_SUCCESS) status = clEnqueueNDRangeKernel(cl.queue, cl.kernel, 1, NULL, &one, &one, 0, NULL, NULL);
    if (status == CL_SUCCESS) status = clFinish(cl.queue);
    CHECK(status == CL_SUCCESS, "operation %u of %u bytes: %d", o->op, o->bytes, status);
}

static void check_operation(const struct operation *o, uint64_t before)
{
    static const uint64_t untouched = 0x1111111122222222;
    uint64_t words[2] = {before, untouched}, expected = before, result = untouched;
    uint64_t old = isthmus_amo_cpu(o->op, &expected, o->operand, o->compare, o->bytes);
    (void)clEnqueueWriteBuffer(cl.queue, cl.words, CL_TRUE, 0, sizeof words, words, 0, NULL, NULL);
    (void)clEnqueueWriteBuffer(cl.queue, cl.result, CL_TRUE, 0, sizeof result, &result, 0, NULL, NULL);
    launch(o);
    (void)clEnqueueReadBuffer(cl.queue, cl.words, CL_TRUE, 0, sizeof words, words, 0, NULL, NULL);
    (void)clEnqueueReadBuffer(cl.queue, cl.result, CL_TRUE, 0, sizeof result, &result, 0, NULL, NULL);
    CHECK(words[0] == expected, "operation %u of %u bytes on %#llx: %#llx, expected %#llx", o->op, o->bytes,
          (unsigned long long)before, (unsigned long long)words[0], (unsigned long long)expected);
    CHECK(words[1] == untouched, "operation %u of %u bytes writes beside", o->op, o->bytes);
    CHECK(result == (o->wants_result ? old : untouched), "operation %u of %u bytes fetches %#llx, expected %#llx",
          o->op, o->bytes, (unsigned long long)result, (unsigned long long)old);
}

/* Numbers with bits in both halves, so that a wrong width shows. */
static void check_all(void)
{
    static const uint64_t before = 0xfedcba98f0f0f0f0, operand = 0x0123456789abcdef;
    for (uint32_t op = 0; op < ISTHMUS_AMO_COUNT; op++) {
        for (uint32_t bytes = 4; bytes <= 8; bytes += 4) {
            for (int wants = 0; wants < 2; wants++) {
                const struct operation differs = {op, bytes, operand, 5, wants != 0};
                const struct operation equals = {op, bytes, operand, before, wants != 0};
                check_operation(&differs, before);
                check_operation(&equals, before);
            }
        }
    }
}

int main(int argc, char **argv)
{
    CHECK(argc >= 2, "usage: spirv_test AMO.spv [AMO.bc]");
    bool takes_spirv = find_device(CL_DEVICE_IL_VERSION, "SPIR-V");
    if (!takes_spirv && (argc < 3 || !find_device(CL_DEVICE_EXTENSIONS, "cl_khr_spir"))) {
        printf("no OpenCL platform that takes SPIR-V, nor one for what llvm-spirv makes of it\n");
        return SKIPPED;
    }
    open_kernel(takes_spirv ? argv[1] : argv[2], takes_spirv);
    check_all();
    close_kernel();
    return 0;
}
