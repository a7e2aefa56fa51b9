/* tests/doubles/p2p_test.c: p2p_test PLUGIN.so DOUBLE.so CASE: a transport between GPUs on the double of its driver;
 * with - for the double, on a real one (cases that need nothing of the double: all_calls, memory_grows,
 * attached_in_place, kind_of_address, stream_order). What the contract suite cannot test: the choice of a device, the
 * error of a machine without one, memory that grows, what is at an address, and that no failure of the driver is a
 * crash, a hang or a leak. Two PEs live in one process. */
#include "tests/doubles/p2p_test.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE_BYTES = 100000, SKIPPED = 77, PATIENCE_S = 20 };

_Noreturn void skip(void)
{
    fflush(NULL);
    _exit(SKIPPED);
}

const struct isthmus_transport *plugin;
struct gpu_double gpu_double;
char said[400];

/* ---- services ---- */

static void service_log(void *core, uint32_t level, const char *fmt, ...) { (void)core, (void)level, (void)fmt; }

static isthmus_status service_fail(void *core, isthmus_status code, const char *fmt, ...)
{
    va_list args;
    (void)core;
    va_start(args, fmt);
    vsnprintf(said, sizeof said, fmt, args);
    va_end(args);
    return code;
}

/* ISTHMUS_<NAME OF THE TRANSPORT>_<KEY> */
const char *variable(const char *key)
{
    static _Thread_local char name[80];
    snprintf(name, sizeof name, "ISTHMUS_%s_%s", plugin->name, key);
    for (char *c = name; *c != '\0'; c++) *c = (char)toupper((unsigned char)*c);
    return name;
}

static const char *service_config(void *core, const char *key)
{
    (void)core;
    return getenv(variable(key));
}

static isthmus_status service_local_pes(void *core, const struct isthmus_local_pe **list, uint32_t *n)
{
    static const struct isthmus_local_pe both[] = {{0, -1}, {1, -1}};
    (void)core;
    *list = both;
    *n = 2;
    return ISTHMUS_OK;
}

static const struct isthmus_host_id host = {{1, 2, 3}};

struct isthmus_services services_of(int pe)
{
    return (struct isthmus_services){
        .struct_size = sizeof(struct isthmus_services),
        .abi_minor = ISTHMUS_ABI_MINOR,
        .log = service_log,
        .fail = service_fail,
        .config = service_config,
        .my_pe = pe,
        .n_pes = 2,
        .host = &host,
        .local_pes = service_local_pes,
    };
}

/* ---- a PE ---- */

static void *serve(void *argument)
{
    struct pe *pe = argument;
    while (!__atomic_load_n(&pe->is_ending, __ATOMIC_ACQUIRE)) {
        (void)plugin->progress(pe->tr);
        usleep(200); /* only to leave the processor to other threads, not for order */
    }
    return NULL;
}

isthmus_status pe_open(struct pe *pe, int number)
{
    struct isthmus_traits traits = {.struct_size = sizeof traits};
    size_t card_bytes = sizeof pe->card;
    memset(pe, 0, sizeof *pe);
    pe->services = services_of(number);
    isthmus_status status = plugin->open(&pe->services, &pe->tr);
    if (status != ISTHMUS_OK) return status;
    (void)plugin->describe(pe->tr, &traits);
    while ((traits.kinds_alloc >> pe->kind & 1) == 0) pe->kind++;
    (void)plugin->card(pe->tr, pe->card, &card_bytes);
    pe->as_peer = (struct isthmus_peer){.struct_size = sizeof pe->as_peer,
                                        .pe = number,
                                        .host = &host,
                                        .host_name = "here",
                                        .card = pe->card,
                                        .card_bytes = card_bytes};
    pe->is_serving = pthread_create(&pe->thread, NULL, serve, pe) == 0;
    return ISTHMUS_OK;
}

void pe_close(struct pe *pe)
{
    if (pe->tr == NULL) return;
    __atomic_store_n(&pe->is_ending, true, __ATOMIC_RELEASE);
    if (pe->is_serving) pthread_join(pe->thread, NULL);
    plugin->close(pe->tr);
    pe->tr = NULL;
}

void open_both(struct pe pes[2])
{
    for (int i = 0; i < 2; i++) CHECK(pe_open(&pes[i], i) == ISTHMUS_OK, "%s", said);
}

void close_both(struct pe pes[2])
{
    char text[200] = "";
    for (int i = 0; i < 2; i++) pe_close(&pes[i]);
    CHECK(gpu_double.held(text, sizeof text) == 0, "left: %s", text);
}

const struct isthmus_memory *memory_of(const struct pe *pe) { return plugin->extension(pe->tr, "memory.1"); }
const struct isthmus_growing *growing_of(const struct pe *pe) { return plugin->extension(pe->tr, "growing.1"); }

/* ---- all that a transport is used for, once; everything is given back, also on failure ---- */

static isthmus_status move_data(struct pe *pe, isthmus_path *path, const isthmus_rmem *remote, isthmus_chan *chan,
                                const struct isthmus_data_ops *ops)
{
    static char from[LARGE_BYTES], to[LARGE_BYTES];
    uint64_t fetched = 0;
    memset(from, 7, sizeof from);
    isthmus_status status = ops->put(chan, path, remote, 8, from, NULL, 8);
    if (status == ISTHMUS_OK) status = ops->put(chan, path, remote, 16, from, NULL, LARGE_BYTES - 16);
    if (status == ISTHMUS_OK) status = ops->put_nbi(chan, path, remote, 16, from, NULL, 100);
    if (status == ISTHMUS_OK) status = ops->fence(chan, path);
    if (status == ISTHMUS_OK) status = ops->local_complete(chan, NULL);
    if (status == ISTHMUS_OK) status = ops->remote_commit(chan, NULL);
    if (status == ISTHMUS_OK) status = ops->get(chan, path, remote, 8, to, NULL, LARGE_BYTES - 8);
    if (status == ISTHMUS_OK && memcmp(from, to, LARGE_BYTES - 8) != 0)
        status = pe->services.fail(NULL, ISTHMUS_ERR_IO, "wrong data");
    isthmus_amo_fn add = ops->amo_entry(chan, ISTHMUS_AMO_ADD, ISTHMUS_BITS64, 0);
    isthmus_amo_fn fetch = ops->amo_entry(chan, ISTHMUS_AMO_ADD, ISTHMUS_BITS64, ISTHMUS_AMO_FETCHING);
    if (add == NULL) return status;
    if (status == ISTHMUS_OK) status = add(chan, path, remote, 0, 5, 0, NULL);
    if (status == ISTHMUS_OK) status = fetch(chan, path, remote, 0, 1, 0, &fetched);
    if (status == ISTHMUS_OK && fetched != 5) status = pe->services.fail(NULL, ISTHMUS_ERR_IO, "wrong value");
    return status;
}

static isthmus_status use_channel(struct pe *pe, isthmus_path *path, const isthmus_rmem *remote)
{
    struct isthmus_data_ops ops = {.struct_size = sizeof ops};
    isthmus_chan *chan = NULL;
    isthmus_status status = plugin->channel_open(pe->tr, ISTHMUS_THREAD_ONE, 0, &chan, &ops);
    if (status != ISTHMUS_OK) return status;
    status = move_data(pe, path, remote, chan, &ops);
    plugin->channel_close(chan);
    return status;
}

static isthmus_status attach_and_use(struct pe *pe, struct pe *owner, const void *key, size_t key_bytes)
{
    struct isthmus_reach reach = {.struct_size = sizeof reach};
    isthmus_path *path = NULL;
    isthmus_rmem *remote = NULL;
    void *alias = &alias;
    isthmus_status status = plugin->reach(pe->tr, &owner->as_peer, &reach);
    if (status == ISTHMUS_OK) status = plugin->path_open(pe->tr, &owner->as_peer, &path);
    if (status == ISTHMUS_OK) status = plugin->attach(path, key, key_bytes, &remote, &alias);
    if (status == ISTHMUS_OK) {
        CHECK(alias == NULL, "a CPU cannot touch it");
        status = use_channel(pe, path, remote);
        if (status == ISTHMUS_OK) status = use_stream(pe, remote);
    }
    plugin->detach(remote);
    plugin->path_close(path);
    return status;
}

static isthmus_status expose_and_use(struct pe pes[2], const struct isthmus_mem *mem)
{
    char key[256];
    size_t key_bytes = sizeof key;
    isthmus_lmem *exposed = NULL;
    isthmus_status status = plugin->expose(pes[0].tr, mem, key, &key_bytes, &exposed);
    if (status == ISTHMUS_OK) status = attach_and_use(&pes[1], &pes[0], key, key_bytes);
    plugin->unregister_local(exposed);
    return status;
}

static isthmus_status register_buffer(struct pe *pe)
{
    static char buffer[4096];
    struct isthmus_mem mem = {sizeof mem, ISTHMUS_MEM_HOST, -1, -1, buffer, sizeof buffer, 0};
    isthmus_lmem *registered = NULL;
    isthmus_status status = plugin->register_local(pe->tr, &mem, &registered);
    plugin->unregister_local(registered);
    return status;
}

static isthmus_status grow(struct pe *pe)
{
    const struct isthmus_growing *growing = growing_of(pe);
    void *addr = NULL;
    if (growing == NULL) return ISTHMUS_OK;
    uint64_t granule = growing->granule(pe->tr, pe->kind, -1);
    isthmus_status status = growing->reserve(pe->tr, pe->kind, -1, 4 * granule, &addr);
    if (status != ISTHMUS_OK) return status;
    struct isthmus_mem mem = {.struct_size = sizeof mem};
    status = growing->commit(pe->tr, (char *)addr + granule, granule, &mem);
    if (status == ISTHMUS_OK) plugin->mem_free(pe->tr, &mem);
    growing->unreserve(pe->tr, addr, 4 * granule);
    return status;
}

isthmus_status use_all(void)
{
    static struct pe pes[2];
    struct isthmus_mem mem = {.struct_size = sizeof mem}, place = {.struct_size = sizeof place};
    isthmus_status status = pe_open(&pes[0], 0);
    if (status == ISTHMUS_OK) status = pe_open(&pes[1], 1);
    if (status == ISTHMUS_OK) status = register_buffer(&pes[0]);
    if (status == ISTHMUS_OK) status = grow(&pes[0]);
    if (status == ISTHMUS_OK) status = use_kernels(&pes[0]);
    if (status == ISTHMUS_OK) status = plugin->mem_alloc(pes[0].tr, pes[0].kind, -1, LARGE_BYTES, &mem);
    if (status == ISTHMUS_OK) {
        status = memory_of(&pes[0])->kind_of(pes[0].tr, mem.addr, &place);
        if (status == ISTHMUS_OK) status = expose_and_use(pes, &mem);
        if (status == ISTHMUS_OK) status = use_place(pes);
        plugin->mem_free(pes[0].tr, &mem);
    }
    pe_close(&pes[1]);
    pe_close(&pes[0]);
    return status;
}

/* ---- every call of the driver fails, each of its uses in turn ---- */

/* A failed release is not repeated, and a device that has failed refuses everything: then objects may be left, but
 * nothing crashes or hangs. */
static bool may_leave(const char *call)
{
    static const char *const words[] = {"Free",       "Release", "Unmap", "Unload",   "Destroy",
                                        "Unregister", "Pop",     "Close", "operation"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(call, words[i]) != NULL) return true;
    return false;
}

/* In a process of its own, whose exit status is 0 if all is well. */
static void run_fault(const char *call, int nth)
{
    char knob[120], text[200] = "";
    snprintf(knob, sizeof knob, "%s:%d", call, nth);
    setenv("GPU_DOUBLE_FAIL", knob, 1);
    gpu_double.reset();
    alarm(PATIENCE_S);
    said[0] = '\0';
    isthmus_status status = use_all();
    CHECK(status == ISTHMUS_OK || said[0] != '\0', "%s fails, and nothing says why (%d)", knob, status);
    CHECK(status != ISTHMUS_OK || strcmp(call, "operation") != 0, "%s fails, and nobody notices", knob);
    CHECK(strncmp(said, "wrong", 5) != 0, "%s fails, and there is %s", knob, said);
    CHECK(may_leave(call) || gpu_double.held(text, sizeof text) == 0, "%s fails, and this is left: %s", knob, text);
    fflush(stdout);
    _exit(0);
}

static int try_fault(const char *call, int nth)
{
    int state;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) run_fault(call, nth);
    CHECK(child > 0 && waitpid(child, &state, 0) == child, "no process");
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return 0;
    printf("%s fails at its use %d: %s %d\n", call, nth, WIFSIGNALED(state) ? "ended by signal" : "status",
           WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state));
    return 1;
}

/* The names and counts come from a run in which nothing fails, in a process of its own: drivers do not survive a
 * fork. */
static void print_calls(int to)
{
    isthmus_status status = use_all();
    const char *name;
    int uses;
    for (int i = 0; (name = gpu_double.call(i, &uses)) != NULL; i++) dprintf(to, "%s %d\n", name, uses);
    if (status != ISTHMUS_OK) printf("where nothing fails: %s\n", said);
    fflush(stdout);
    _exit(status == ISTHMUS_OK && gpu_double.held(NULL, 0) == 0 ? 0 : 1);
}

void case_faults(void)
{
    char name[80];
    int ends[2], uses, wrong = 0, tried = 0, state;
    CHECK(pipe(ends) == 0, "no pipe");
    pid_t child = fork();
    if (child == 0) print_calls(ends[1]);
    close(ends[1]);
    FILE *list = fdopen(ends[0], "r");
    while (fscanf(list, "%79s %d", name, &uses) == 2) {
        for (int nth = 1; nth <= uses; nth++, tried++) wrong += try_fault(name, nth);
    }
    fclose(list);
    CHECK(waitpid(child, &state, 0) == child && state == 0, "the run without failures has failed");
    CHECK(tried > 20, "%d failures were tried", tried);
    CHECK(wrong == 0, "%d of %d failures end badly", wrong, tried);
}

/* All calls once, and what they move is right. */
static void case_all_calls(void)
{
    struct pe pe;
    if (pe_open(&pe, 0) == ISTHMUS_ERR_NO_DEVICE) {
        printf("%s\n", said);
        skip();
    }
    pe_close(&pe);
    CHECK(use_all() == ISTHMUS_OK, "%s", said);
}

/* ---- which device ---- */

static void case_no_device(void)
{
    struct pe pe;
    setenv("GPU_DOUBLE_DEVICES", "0", 1);
    gpu_double.reset();
    CHECK(pe_open(&pe, 0) == ISTHMUS_ERR_NO_DEVICE && said[0] != '\0', "%s", said);
    printf("%s\n", said);
}

static void case_no_library(void)
{
    struct isthmus_services services = services_of(0);
    setenv(variable("LIBRARY"), "/nowhere/libgpu.so", 1);
    CHECK(plugin->probe(&services) == ISTHMUS_ERR_NO_DEVICE, "%s", said);
    CHECK(strstr(said, "/nowhere/libgpu.so") != NULL, "it says: %s", said);
}

void expect_device(int pe_number, int device)
{
    struct pe pe;
    CHECK(pe_open(&pe, pe_number) == ISTHMUS_OK, "%s", said);
    int got = memory_of(&pe)->device(pe.tr, pe.kind);
    CHECK(got == device, "PE %d uses device %d, expected %d", pe_number, got, device);
    pe_close(&pe);
}

static void case_devices_in_turn(void)
{
    setenv("GPU_DOUBLE_DEVICES", "2", 1);
    gpu_double.reset();
    expect_device(0, 0);
    expect_device(1, 1);
    setenv("GPU_DOUBLE_DEVICES", "1", 1);
    gpu_double.reset();
    expect_device(1, 0);
}

static void case_device_by_name(void)
{
    struct pe pe;
    setenv("GPU_DOUBLE_DEVICES", "3", 1);
    gpu_double.reset();
    setenv(variable("DEVICE"), "2", 1);
    expect_device(0, 2);
    setenv(variable("DEVICE"), "3", 1);
    CHECK(pe_open(&pe, 0) == ISTHMUS_ERR_INVALID && strstr(said, "valid: 0 to 2") != NULL, "%s", said);
}

/* The doubles' devices are on buses from 0x40 (CUDA), 0x50 (Level Zero) and 0x60 (HIP) on. */
static void case_pci_address(void)
{
    struct pe pe;
    char expected[24];
    setenv("GPU_DOUBLE_DEVICES", "3", 1);
    gpu_double.reset();
    setenv(variable("DEVICE"), "2", 1);
    CHECK(pe_open(&pe, 0) == ISTHMUS_OK, "%s", said);
    const struct isthmus_memory *memory = memory_of(&pe);
    const char *address = memory->pci_address(pe.tr, pe.kind);
    snprintf(expected, sizeof expected, "0000:%02x:00.0", 0x30 + 0x10 * pe.kind + 2);
    CHECK(address != NULL && strcmp(address, expected) == 0, "%s instead of %s", address, expected);
    CHECK(memory->pci_address(pe.tr, ISTHMUS_MEM_HOST) == NULL, "the host has an address");
    pe_close(&pe);
}

void expect_reach(struct pe pes[2], isthmus_status expected)
{
    for (int i = 0; i < 2; i++) {
        struct isthmus_reach reach = {.struct_size = sizeof reach};
        isthmus_status status = plugin->reach(pes[i].tr, &pes[1 - i].as_peer, &reach);
        CHECK(status == expected, "PE %d: %d %s", i, status, said);
    }
}

static void case_peers_unchecked(void)
{
    static struct pe pes[2];
    setenv("GPU_DOUBLE_DEVICES", "2", 1);
    setenv("GPU_DOUBLE_PEERS", "0", 1);
    setenv(variable("BYPASS_ACCESSIBILITY_CHECK"), "1", 1);
    gpu_double.reset();
    open_both(pes);
    expect_reach(pes, ISTHMUS_OK);
    close_both(pes);
}

static void case_peers_reach(void)
{
    static struct pe pes[2];
    setenv("GPU_DOUBLE_DEVICES", "2", 1);
    gpu_double.reset();
    open_both(pes);
    expect_reach(pes, ISTHMUS_OK);
    close_both(pes);
    setenv("GPU_DOUBLE_PEERS", "0", 1);
    gpu_double.reset();
    open_both(pes);
    expect_reach(pes, ISTHMUS_ERR_UNREACHABLE);
    close_both(pes);
}

/* ---- main ---- */

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"all_calls", case_all_calls},
    {"faults", case_faults},
    {"faults_between_two", case_faults_between_two},
    {"faults_of_old_hip", case_faults_of_old_hip},
    {"no_device", case_no_device},
    {"no_library", case_no_library},
    {"devices_in_turn", case_devices_in_turn},
    {"device_by_name", case_device_by_name},
    {"pci_address", case_pci_address},
    {"peers_reach", case_peers_reach},
    {"memory_grows", case_memory_grows},
    {"attached_in_place", case_attached_in_place},
    {"full_device", case_full_device},
    {"kind_of_address", case_kind_of_address},
    {"host_access", case_host_access},
    {"stream_order", case_stream_order},
    {"old_driver", case_old_driver},
    {"lacking_call", case_lacking_call},
    {"stub_library", case_stub_library},
    {"words_by_value", case_words_by_value},
    {"fabric_handles", case_fabric_handles},
    {"memory_for_kernels", case_memory_for_kernels},
    {"memory_for_adapters", case_memory_for_adapters},
    {"flush_of_writes", case_flush_of_writes},
    {"driver_in_folder", case_driver_in_folder},
    {"peers_unchecked", case_peers_unchecked},
    {"tiles", case_tiles},
    {"old_hip", case_old_hip},
    {"refused_pieces", case_refused_pieces},
    {"unshared_pieces", case_unshared_pieces},
};

/* A real driver does not report what is held. */
static int nothing_held(char *text, size_t text_bytes)
{
    (void)text, (void)text_bytes;
    return 0;
}

static void load(const char *plugin_path, const char *double_path)
{
    void *library = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL, "%s", dlerror());
    plugin = dlsym(library, "isthmus_transport_v1");
    CHECK(plugin != NULL, "no transport in %s", plugin_path);
    gpu_double.held = nothing_held;
    if (strcmp(double_path, "-") == 0) return;
    void *driver = dlopen(double_path, RTLD_NOW | RTLD_LOCAL);
    CHECK(driver != NULL, "%s", dlerror());
    *(void **)(void *)&gpu_double.reset = dlsym(driver, "gpu_double_reset");
    *(void **)(void *)&gpu_double.held = dlsym(driver, "gpu_double_held");
    *(void **)(void *)&gpu_double.call = dlsym(driver, "gpu_double_call");
    *(void **)(void *)&gpu_double.launch = dlsym(driver, "gpu_double_launch");
    *(void **)(void *)&gpu_double.waiting = dlsym(driver, "gpu_double_waiting");
}

int main(int argc, char **argv)
{
    CHECK(argc == 4, "usage: p2p_test PLUGIN.so DOUBLE.so CASE");
    load(argv[1], argv[2]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, argv[3]) != 0) continue;
        cases[i].run();
        return 0;
    }
    CHECK(false, "no case %s", argv[3]);
}
