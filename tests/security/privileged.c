/* tests/security/privileged.c: what a program takes from its environment, one line each: checked by privileged.sh, with
 * and without more rights than its caller has. */
#include "core/base/process.h"
#include "core/transport/registry.h"

#include <stdio.h>
#include <stdlib.h>

static void print(const char *what, const char *value) { printf("%s=%s\n", what, value != NULL ? value : ""); }

int main(void)
{
    static const char *const below[] = {"UCX_MODULE_DIR", "HWLOC_PLUGINS_PATH", "PMIX_MCA_mca_base_component_path",
                                        "PMIX_RANK"};
    struct ist_config config;
    ist_privileged_clean_environment();
    if (ist_config_init(&config, IST_FACE_SHMEM) != ISTHMUS_OK) return EXIT_FAILURE;
    ist_plugins_load(&config);
    print("searched", ist_registry.searched);
    print("log_file", config.log_file);
    printf("frames=%d\n", (int)config.stack_frames);
    print("timeout", ist_config_plugin_value("ISTHMUS_LOOPBACK_TIMEOUT"));
    print("secret", ist_config_job_secret());
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) print(below[i], getenv(below[i]));
    ist_config_fini(&config);
    return EXIT_SUCCESS;
}
