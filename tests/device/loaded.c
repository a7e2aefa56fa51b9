/* tests/device/loaded.c: code for a GPU from real compilers, which a program loads itself, on the double of CUDA's
 * driver: nvshmemx_cumodule_init fills the state of that code, and of no other. No kernel runs.
 *     loaded IMAGE...; files of PTX or of cubins. Without one, exit status 77. */
#define ISTHMUS_NO_CUDA_HEADERS /* plugins/nvlink/cuda_api.h has the types of the driver */
#include "tests/cpu_device/on_double.h"

#include <nvshmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { IMAGES_MAX = 8 };
static struct image {
    const char *path;
    CUmodule module;
    struct isthmus_device_state *state;
} images[IMAGES_MAX];

static void fail(const char *what, const char *path)
{
    fprintf(stderr, "%s: %s\n", path, what);
    nvshmem_global_exit(1);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail("cannot be opened", path);
    fseek(file, 0, SEEK_END);
    size_t bytes = (size_t)ftell(file);
    char *text = calloc(1, bytes + 1);
    rewind(file);
    if (text == NULL || fread(text, 1, bytes, file) != bytes) fail("cannot be read", path);
    fclose(file);
    return text;
}

static void load(struct image *image, const char *path)
{
    CUdeviceptr at = 0;
    size_t bytes = 0;
    char *text = read_file(path);
    image->path = path;
    if (on_double()->load(&image->module, text) != CUDA_SUCCESS) fail("the driver does not take it", path);
    if (on_double()->get_global(&at, &bytes, image->module, "isthmus_device_v1") != CUDA_SUCCESS)
        fail("it has no isthmus_device_v1", path);
    if (bytes != sizeof *image->state) fail("its isthmus_device_v1 has another size", path);
    image->state = (struct isthmus_device_state *)(uintptr_t)at;
    free(text);
}

static bool is_filled(const struct image *image)
{
    return memcmp(image->state, on_double_state(), sizeof *image->state) == 0;
}

static bool is_empty(const struct image *image)
{
    static const struct isthmus_device_state none;
    return memcmp(image->state, &none, sizeof none) == 0;
}

int main(int argc, char **argv)
{
    CUcontext context;
    int n = argc - 1 < IMAGES_MAX ? argc - 1 : IMAGES_MAX;
    nvshmem_init();
    if (on_double()->retain(&context, 0) != CUDA_SUCCESS || on_double()->push(context) != CUDA_SUCCESS)
        fail("there is no context", "the double");
    for (int i = 0; i < n; i++) load(&images[i], argv[i + 1]);
    for (int i = 0; i < n; i++) {
        if (!is_empty(&images[i])) fail("its state is filled before init", images[i].path);
        if (nvshmemx_cumodule_init(images[i].module) != NVSHMEMX_SUCCESS) fail("init fails", images[i].path);
        if (!is_filled(&images[i])) fail("its state is not that of the PE", images[i].path);
    }
    for (int i = 0; i < n; i++) {
        if (nvshmemx_cumodule_finalize(images[i].module) != NVSHMEMX_SUCCESS) fail("finalize fails", images[i].path);
        if (!is_empty(&images[i])) fail("its state is not emptied", images[i].path);
        for (int later = i + 1; later < n; later++)
            if (!is_filled(&images[later])) fail("its state went with another one's", images[later].path);
        if (on_double()->unload(images[i].module) != CUDA_SUCCESS) fail("it cannot be unloaded", images[i].path);
        printf("PE %d: %s: initialised\n", nvshmem_my_pe(), strrchr(images[i].path, '/') + 1);
    }
    nvshmem_finalize();
    return n > 0 ? 0 : 77;
}
