/* tools/isthmus-check-transport/case_kernels.c: the extension device.1: memory for kernels, and code that a program has
 * loaded. The host's side of it: no kernel runs. */
#include "cases.h"

#include <pthread.h>
#include <string.h>

enum { BYTES = 1000, ALIGN = 128, ROUNDS = 3, DIRT = 0x5a };

struct user {
    struct ct_process *p;
    const struct isthmus_kernels *kernels;
    const struct isthmus_memory *memory;
};

static bool is_aligned(const void *addr) { return (uintptr_t)addr % ALIGN == 0; }

static bool is_filled(const char *bytes, char with)
{
    for (int i = 0; i < BYTES; i++)
        if (bytes[i] != with) return false;
    return true;
}

/* Freed memory is dirty: what comes next may be the same. */
static void use_words(const struct user *u)
{
    void *addr[2] = {NULL}, *view[2] = {NULL};
    for (int i = 0; i < 2; i++) {
        CT_OK(u->kernels->host_alloc(u->p->tr, BYTES, &addr[i], &view[i]));
        CT_CHECK(is_aligned(addr[i]) && is_aligned(view[i]), "%p, for kernels %p, is no multiple of %d", addr[i],
                 view[i], ALIGN);
        CT_CHECK(is_filled(addr[i], 0), "not all of %d bytes are 0", BYTES);
        memset(addr[i], DIRT + i, BYTES);
    }
    CT_CHECK(is_filled(addr[0], DIRT), "%p and %p overlap", addr[0], addr[1]);
    for (int i = 0; i < 2; i++) u->kernels->host_free(u->p->tr, addr[i]);
}

static void use_device_memory(const struct user *u)
{
    static const char dirt[BYTES] = {DIRT};
    char back[BYTES];
    void *addr = NULL;
    CT_OK(u->kernels->device_alloc(u->p->tr, BYTES, &addr));
    CT_RULE("device_alloc", NULL, is_aligned(addr), "%p is no multiple of %d", addr, ALIGN);
    CT_OK(u->memory->copy(u->p->tr, back, addr, sizeof back));
    CT_RULE("device_alloc", NULL, is_filled(back, 0), "not all of %d bytes are 0", BYTES);
    CT_OK(u->memory->copy(u->p->tr, addr, dirt, sizeof dirt));
    CT_OK(u->memory->copy(u->p->tr, back, addr, sizeof back));
    CT_RULE("copy", NULL, memcmp(back, dirt, sizeof back) == 0,
            "what copy has written into memory of device_alloc, copy does not read back");
    u->kernels->device_free(u->p->tr, addr);
}

static void *use_memory(void *argument)
{
    const struct user *u = argument;
    for (int i = 0; i < ROUNDS; i++) {
        use_words(u);
        use_device_memory(u);
    }
    u->kernels->host_free(u->p->tr, NULL);
    u->kernels->device_free(u->p->tr, NULL);
    return NULL;
}

static struct user open_user(struct ct_process *p)
{
    struct user u = {.p = p};
    ct_open(p);
    u.kernels = p->t->extension(p->tr, "device.1");
    if (u.kernels == NULL) ct_skip("%s has nothing for kernels", p->t->name);
    u.memory = p->t->extension(p->tr, "memory.1");
    CT_CHECK(u.memory != NULL && ISTHMUS_HAS(u.memory, copy), "device.1 is there, but not copy of memory.1");
    return u;
}

void ct_case_kernel_memory(struct ct_process *p)
{
    pthread_t thread;
    struct user u = open_user(p);
    (void)use_memory(&u);
    ct_thread_start(&thread, use_memory, &u);
    pthread_join(thread, NULL);
    ct_close(p);
}

static void count_call(void *argument) { ++*(int *)argument; }

void ct_case_kernel_code(struct ct_process *p)
{
    int n_calls = 0;
    char unwritten;
    void *addr = &unwritten;
    uint64_t bytes = 7;
    struct user u = open_user(p);
    for (uint32_t code = 0; ISTHMUS_HAS(u.kernels, find) && code <= ISTHMUS_CODE_LIBRARY + 1; code++) {
        isthmus_status status = u.kernels->find(p->tr, code, NULL, "isthmus_device_v1", &addr, &bytes);
        CT_CHECK(status == ISTHMUS_ERR_INVALID || status == ISTHMUS_ERR_UNSUPPORTED,
                 "find returned %s for code %u that is not there; valid: INVALID and UNSUPPORTED",
                 ct_status_name(status), code);
        CT_CHECK(addr == &unwritten && bytes == 7,
                 "find failed and wrote to *addr or *length_bytes; valid: both as they were");
    }
    if (ISTHMUS_HAS(u.kernels, call)) CT_OK(u.kernels->call(p->tr, count_call, &n_calls));
    CT_RULE("call", NULL, n_calls == (ISTHMUS_HAS(u.kernels, call) ? 1 : 0),
            "the function was called %d times, expected %d", n_calls, ISTHMUS_HAS(u.kernels, call) ? 1 : 0);
    ct_close(p);
}
