/* tests/fuzz/replay.c: the main() of a target without libFuzzer: TARGET FILE-OR-FOLDER... gives it each file; TARGET
 * --seeds FOLDER writes what the real encoder makes. Needs no clang, so that every test run repeats what was found
 * once. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

static unsigned n_run;

static int run_file(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return EXIT_FAILURE;
    }
    size_t n_bytes = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    uint8_t *copy = fuzz_copy(bytes, n_bytes);
    (void)LLVMFuzzerTestOneInput(copy, n_bytes);
    free(copy);
    n_run++;
    return EXIT_SUCCESS;
}

static int run_folder(const char *path)
{
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort), status = EXIT_SUCCESS;
    for (int i = 0; i < n; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && run_file(file) != EXIT_SUCCESS) status = EXIT_FAILURE;
        free(entries[i]);
    }
    if (n >= 0) free(entries);
    return n >= 0 ? status : EXIT_FAILURE;
}

static int write_seeds(const char *folder)
{
    static uint8_t bytes[FUZZ_SEED_ROOM];
    size_t n_bytes;
    for (unsigned i = 0; (n_bytes = fuzz_seed(i, bytes, sizeof bytes)) > 0; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/seed-%02u", folder, i);
        FILE *file = fopen(path, "wb");
        if (file == NULL || fwrite(bytes, 1, n_bytes, file) != n_bytes || fclose(file) != 0) {
            perror(path);
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct stat about;
    int status = EXIT_SUCCESS;
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) return write_seeds(argv[2]);
    for (int i = 1; i < argc; i++) {
        int one = stat(argv[i], &about) == 0 && S_ISDIR(about.st_mode) ? run_folder(argv[i]) : run_file(argv[i]);
        if (one != EXIT_SUCCESS) status = one;
    }
    fprintf(stderr, "%u inputs\n", n_run);
    return n_run > 0 ? status : EXIT_FAILURE;
}
