/* core/heap/heap_base.c: see heap.h: where the heap lies in the PE's addresses.
 * Programs send each other pointers into the heap, which works if it begins at one address on all PEs. Each PE takes
 * the same fixed address, without communication: far from where Linux puts executables (0x55...), libraries and stacks
 * (0x7f...), and from the shadow memory of AddressSanitizer. If something else lies there on a PE, that PE's heap goes
 * where the system has room. */
#include "core/heap/heap.h"

#include "core/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static const uint64_t usual_base = (uint64_t)0x20 << 40; /* 0x200000000000 */

/* Of ThreadSanitizer's runtime, which has its shadow at that address, and ends a process that maps memory there. */
extern void __tsan_init(void) __attribute__((weak)); /* NOLINT(bugprone-reserved-identifier): its name */

static uint64_t round_up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

/* Returns where the program's part is to begin; 0: anywhere. */
static isthmus_status read_setting(const char *text, uint64_t *base)
{
    char *end;
    *base = __tsan_init == NULL ? usual_base : 0;
    if (text == NULL || *text == '\0' || strcmp(text, "same") == 0) return ISTHMUS_OK;
    *base = 0;
    if (strcmp(text, "any") == 0) return ISTHMUS_OK;
    *base = strtoull(text, &end, 0);
    if (end != text && *end == '\0' && *base != 0 && *base % IST_HEAP_MAX_ALIGN_BYTES == 0) return ISTHMUS_OK;
    return ist_fail(ISTHMUS_ERR_INVALID,
                    "ISTHMUS_HEAP_BASE is '%s'; accepted: same, any, or an address that is a multiple of 1 GiB, for "
                    "example 0x300000000000",
                    text);
}

static bool is_an_address(const char *text)
{
    return text != NULL && *text != '\0' && strcmp(text, "same") != 0 && strcmp(text, "any") != 0;
}

/* Returns NULL, with errno set, if something else lies there. Kernels before 4.17 take the address as a wish. */
static char *reserve_at(uint64_t address, uint64_t bytes)
{
    char *wanted = (char *)(uintptr_t)address;
    char *room = mmap(wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
                      0);
    if (room == wanted) return room;
    if (room == MAP_FAILED) return NULL;
    munmap(room, bytes);
    errno = EEXIST;
    return NULL;
}

static isthmus_status fail_to_reserve(uint64_t bytes)
{
    int error = errno;
    char why[96] = "";
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(why, sizeof why, "; this process may have %" PRIu64 " bytes of them (ulimit -v)",
                 (uint64_t)limit.rlim_cur);
    errno = error;
    return ist_fail_errno(
        ISTHMUS_ERR_NO_MEMORY,
        "cannot reserve %" PRIu64 " bytes of addresses for the symmetric heap (ISTHMUS_HEAP_SIZE)%s: mmap", bytes, why);
}

/* Reserves too much, and gives the ends back. */
static isthmus_status reserve_anywhere(uint64_t internal_bytes, uint64_t bytes, char **out)
{
    uint64_t slack = IST_HEAP_MAX_ALIGN_BYTES + internal_bytes;
    char *room = mmap(NULL, bytes + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return fail_to_reserve(bytes + slack);
    uint64_t user = round_up((uint64_t)(uintptr_t)room + internal_bytes, IST_HEAP_MAX_ALIGN_BYTES);
    char *base = room + (user - internal_bytes - (uint64_t)(uintptr_t)room);
    if (base > room) munmap(room, (size_t)(base - room));
    size_t tail = (size_t)(room + bytes + slack - (base + bytes));
    if (tail > 0) munmap(base + bytes, tail);
    *out = base;
    return ISTHMUS_OK;
}

isthmus_status ist_heap_reserve(const struct ist_config *config, uint64_t internal_bytes, uint64_t bytes, char **out)
{
    uint64_t user;
    isthmus_status status = read_setting(config->heap_base, &user);
    if (status != ISTHMUS_OK) return status;
    if (user == 0) return reserve_anywhere(internal_bytes, bytes, out);
    if (user <= internal_bytes)
        return ist_fail(ISTHMUS_ERR_INVALID, "ISTHMUS_HEAP_BASE is '%s'; accepted: an address above %#" PRIx64,
                        config->heap_base, internal_bytes);
    *out = reserve_at(user - internal_bytes, bytes);
    if (*out != NULL) return ISTHMUS_OK;
    if (is_an_address(config->heap_base))
        return ist_fail_errno(
            ISTHMUS_ERR_NO_MEMORY,
            errno == EEXIST ? "ISTHMUS_HEAP_BASE is '%s', but %" PRIu64
                              " bytes of addresses are not free there; choose another address, or same, or any: mmap"
                            : "ISTHMUS_HEAP_BASE is '%s', but %" PRIu64
                              " bytes cannot be reserved there; choose another address, or same, or any: mmap",
            config->heap_base, bytes);
    int error = errno;
    status = reserve_anywhere(internal_bytes, bytes, out);
    if (status == ISTHMUS_OK)
        ist_info("the symmetric heap begins at %p on this PE, and not at 0x%" PRIx64
                 " as asked for: that range cannot be reserved here (%s)",
                 (void *)(*out + internal_bytes), user, strerror(error));
    return status;
}

void ist_heap_describe_base(const struct ist_config *config, char *out, size_t room)
{
    uint64_t user;
    if (read_setting(config->heap_base, &user) != ISTHMUS_OK) {
        snprintf(out, room, "%s", ist_fail_text());
    } else if (user == 0) {
        snprintf(out, room, "any address, by ISTHMUS_HEAP_BASE");
    } else {
        char *probe = reserve_at(user, IST_HEAP_MAX_ALIGN_BYTES);
        if (probe != NULL) munmap(probe, IST_HEAP_MAX_ALIGN_BYTES);
        snprintf(out, room, "0x%" PRIx64 "%s", user,
                 probe != NULL ? " on all PEs"
                 : is_an_address(config->heap_base)
                     ? ", which is not free here: a job does not start"
                     : " on other PEs, and elsewhere on this one, where that range is not free");
    }
}
