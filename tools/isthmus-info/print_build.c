/* tools/isthmus-info/print_build.c: what was built with what, and the host that it runs on. */
#include "tools/isthmus-info/info.h"

#include "core/boot/launcher.h"
#include "core/heap/heap.h"
#include "core/topo/topo.h"

#include <hwloc.h>
#include <pmix.h>
#include <string.h>
#include <sys/utsname.h>

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* "OpenPMIx 4.2.2 (PMIx Standard: ...)": what is loaded, up to the first comma or parenthesis. */
static void pmix_version(char *out, size_t room)
{
    const char *text = PMIx_Get_version();
    snprintf(out, room, "%.*s", (int)strcspn(text, ",("), text);
    for (size_t length = strlen(out); length > 0 && out[length - 1] == ' ';) out[--length] = '\0';
}

static void hwloc_version(char *out, size_t room)
{
    unsigned api = hwloc_get_api_version();
    snprintf(out, room, "%u.%u", api >> 16, api >> 8 & 0xff);
}

/* Which variables made it the launcher, or what is missing. */
static const char *why_launcher(const struct ist_launcher *launcher)
{
    if (launcher->kind != IST_LAUNCHER_NONE) return launcher->evidence;
    return "neither PMIX_NAMESPACE nor PMI_FD, PMI_PORT, SLURM_STEP_NUM_TASKS or WORLD_SIZE is set; "
           "a program runs as one PE";
}

static void launcher_json(struct ist_json *json)
{
    struct ist_launcher launcher;
    ist_launcher_find(IST_BOOTSTRAP_AUTO, &launcher);
    ist_json_begin_object(json, "launcher");
    ist_json_string(json, "name", launcher.name);
    ist_json_string(json, "found_by", why_launcher(&launcher));
    if (launcher.pe >= 0) ist_json_number(json, "pe", (uint64_t)launcher.pe);
    if (launcher.n_pes >= 0) ist_json_number(json, "n_pes", (uint64_t)launcher.n_pes);
    ist_json_end_object(json);
}

void build_text(void)
{
    char pmix[64], hwloc[32];
    pmix_version(pmix, sizeof pmix);
    hwloc_version(hwloc, sizeof hwloc);
    printf("Isthmus %s\n", ISTHMUS_VERSION);
    printf("  build       %s, %s%s%s\n", BUILD_TYPE[0] != '\0' ? BUILD_TYPE : "no build type", COMPILER,
           BUILD_FLAGS[0] != '\0' ? ", " : "", BUILD_FLAGS);
    printf("  plugin ABI  %d.%d\n", ISTHMUS_ABI_MAJOR, ISTHMUS_ABI_MINOR);
    printf("  PMIx        %s (built with %ld.%ld.%ld)\n", pmix, PMIX_VERSION_MAJOR, PMIX_VERSION_MINOR,
           PMIX_VERSION_RELEASE);
    printf("  hwloc       API %s (built with %s)\n", hwloc, HWLOC_VERSION);
    struct ist_launcher launcher;
    ist_launcher_find(IST_BOOTSTRAP_AUTO, &launcher);
    char text[256];
    snprintf(text, sizeof text, "%s: %s", launcher.name, why_launcher(&launcher));
    printf("  launcher    ");
    print_filled(14, 14, text);
}

void build_json(struct ist_json *json)
{
    char text[64];
    ist_json_string(json, "version", ISTHMUS_VERSION);
    ist_json_begin_object(json, "build");
    ist_json_string(json, "type", BUILD_TYPE);
    ist_json_string(json, "compiler", COMPILER);
    ist_json_string(json, "flags", BUILD_FLAGS);
    ist_json_number(json, "abi_major", ISTHMUS_ABI_MAJOR);
    ist_json_number(json, "abi_minor", ISTHMUS_ABI_MINOR);
    pmix_version(text, sizeof text);
    ist_json_string(json, "pmix", text);
    hwloc_version(text, sizeof text);
    ist_json_string(json, "hwloc_api", text);
    ist_json_string(json, "hwloc_built_with", HWLOC_VERSION);
    ist_json_end_object(json);
    launcher_json(json);
}

/* The boot id as the kernel writes it, then the network namespace. "": it cannot be read. */
enum { IDENTITY_BYTES = 64 };
static void identity(char out[IDENTITY_BYTES])
{
    struct isthmus_host_id id;
    uint64_t inode;
    size_t used = 0;
    *out = '\0';
    if (ist_host_id_read(&id) != ISTHMUS_OK) return;
    for (size_t i = 0; i < 16; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        used += (size_t)snprintf(out + used, IDENTITY_BYTES - used, "%s%02x", dash ? "-" : "", id.bytes[i]);
    }
    memcpy(&inode, id.bytes + 16, sizeof inode);
    snprintf(out + used, IDENTITY_BYTES - used, " net %llu", (unsigned long long)inode);
}

void host_text(void)
{
    char id[IDENTITY_BYTES];
    struct utsname kernel;
    identity(id);
    printf("Host %s\n", ist_host_name());
    printf("  identity    %s\n", id[0] != '\0' ? id : ist_fail_text());
    if (uname(&kernel) == 0) printf("  kernel      %s %s, %s\n", kernel.sysname, kernel.release, kernel.machine);
    printf("  processors  %d on line\n", ist_topo_cpus());
    printf("  memory      %s\n", human_bytes(ist_topo_memory_bytes()));
}

void host_json(struct ist_json *json)
{
    char id[IDENTITY_BYTES];
    struct utsname kernel;
    identity(id);
    ist_json_begin_object(json, "host");
    ist_json_string(json, "name", ist_host_name());
    ist_json_string(json, "identity", id[0] != '\0' ? id : NULL);
    if (uname(&kernel) == 0) ist_json_string(json, "kernel", kernel.release);
    ist_json_number(json, "processors", (uint64_t)ist_topo_cpus());
    ist_json_number(json, "memory_bytes", ist_topo_memory_bytes());
    ist_json_end_object(json);
}

void heap_text(const struct ist_config *config)
{
    char text[300];
    ist_heap_describe_base(config, text, sizeof text);
    printf("  heap        begins at %s\n", text);
}

void heap_json(struct ist_json *json, const struct ist_config *config)
{
    char text[300];
    ist_heap_describe_base(config, text, sizeof text);
    ist_json_string(json, "heap_base", text);
}
