/* core/heap/symmetric_data.c: see static_data.h. */
#include "core/heap/static_data.h"

#include "core/base/log.h"
#include "core/transport/route.h"
#include "core/transport/segment.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

/* The executable and those that are named. */
enum { MAX_OBJECTS = 1 + IST_CARD_MAX_SEGMENTS - IST_SEGMENT_OBJECTS };

static struct {
    struct ist_static_data data;
    char *name; /* for messages */
} objects[MAX_OBJECTS];
static uint32_t n_objects;

static isthmus_status add_object(const char *file)
{
    if (n_objects == MAX_OBJECTS)
        return ist_fail(
            ISTHMUS_ERR_LIMIT,
            "ISTHMUS_SYMMETRIC_OBJECTS names more than %d objects, which is the limit; name only those whose "
            "variables peers use",
            MAX_OBJECTS - 1);
    isthmus_status status = ist_static_data_init(&objects[n_objects].data, file);
    if (status != ISTHMUS_OK) return status;
    char *name;
    if (file == NULL)
        name = strdup("static data");
    else if (asprintf(&name, "static data of %s", file) < 0)
        name = NULL;
    objects[n_objects++].name = name;
    return name != NULL ? ISTHMUS_OK : ist_fail_memory("the names of symmetric objects");
}

isthmus_status ist_symmetric_data_init(const struct ist_config *config)
{
    if (!config->static_data) return ISTHMUS_OK;
    isthmus_status status = add_object(NULL);
    char *list = config->symmetric_objects != NULL ? strdup(config->symmetric_objects) : NULL, *rest = list;
    for (char *file; status == ISTHMUS_OK && rest != NULL && (file = strsep(&rest, ", ")) != NULL;)
        if (file[0] != '\0') status = add_object(file);
    free(list);
    return status;
}

static void report_left_out(const char *name, const struct ist_static_data *data)
{
    if (data->left_out.length_bytes > 0)
        ist_info("%s at %p: %u ranges are left out, because the program has protected or mapped them before init", name,
                 (void *)data->base, data->left_out.length_bytes / IST_SPAN_BYTES);
}

isthmus_status ist_symmetric_data_expose(void)
{
    for (uint32_t i = 0; i < n_objects; i++) {
        const struct ist_static_data *data = &objects[i].data;
        struct isthmus_mem mem = {
            .struct_size = sizeof mem,
            .kind = ISTHMUS_MEM_HOST,
            .device = -1,
            .fd = data->fd,
            .addr = data->base,
            .length_bytes = data->base != NULL ? data->length_bytes : 0,
        };
        if (i == 0) ist_window_set_statics(mem.addr, mem.length_bytes);
        uint32_t id = i == 0 ? IST_SEGMENT_STATIC : IST_SEGMENT_OBJECTS + i - 1;
        isthmus_status status = ist_segment_expose(id, objects[i].name, &mem, mem.length_bytes);
        if (status != ISTHMUS_OK) return status;
        ist_segments.list[id].layout = data->layout;
        ist_segment_leave_out(id, data->left_out);
        report_left_out(objects[i].name, data);
    }
    return ISTHMUS_OK;
}

struct range {
    uintptr_t addr;
    size_t length_bytes;
};

/* The executable comes first; its segments that are loaded and not writable are checked. */
static int find_constant(struct dl_phdr_info *info, size_t info_bytes, void *data)
{
    const struct range *range = data;
    (void)info_bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t offset = range->addr - (info->dlpi_addr + segment->p_vaddr);
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) == 0 && offset < segment->p_memsz &&
            range->length_bytes <= segment->p_memsz - offset)
            return 1;
    }
    return -1; /* ends the iteration: other objects are not checked */
}

/* Constants lie in no segment: symmetric memory is recognised without the loader's lock and list. */
bool ist_symmetric_data_is_constant(const void *addr, size_t length_bytes)
{
    struct range range = {(uintptr_t)addr, length_bytes};
    if (ist_segment_of(addr, 1) >= 0) return false;
    return n_objects > 0 && dl_iterate_phdr(find_constant, &range) == 1;
}

void ist_symmetric_data_fini(void)
{
    while (n_objects > 0) {
        n_objects--;
        ist_static_data_fini(&objects[n_objects].data);
        free(objects[n_objects].name);
        memset(&objects[n_objects], 0, sizeof objects[n_objects]);
    }
}
