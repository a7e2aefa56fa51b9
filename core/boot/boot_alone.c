/* core/boot/boot_alone.c: a job of one PE, without a launcher.
 * Values are stored, so that the PE can be a peer of itself like any other. */
#include "core/boot/boot.h"

#include <stdlib.h>
#include <string.h>

struct kept {
    struct kept *next;
    char *key;
    void *value;
    size_t value_bytes;
};

struct alone {
    ist_boot base;
    int own_pe;
    struct kept *kept;
};

static void kept_free(struct kept *kept)
{
    free(kept->key);
    free(kept->value);
    free(kept);
}

static isthmus_status alone_put(ist_boot *boot, const char *key, const void *value, size_t value_bytes)
{
    struct alone *alone = (struct alone *)boot;
    struct kept *kept = calloc(1, sizeof *kept);
    if (kept == NULL) goto err_memory;
    kept->key = strdup(key);
    kept->value = malloc(value_bytes + 1);
    if (kept->key == NULL || kept->value == NULL) goto err_free;
    memcpy(kept->value, value, value_bytes);
    kept->value_bytes = value_bytes;
    kept->next = alone->kept;
    alone->kept = kept;
    return ISTHMUS_OK;

err_free:
    kept_free(kept);
err_memory:
    return ist_fail_memory("%zu bytes under %s", value_bytes, key);
}

static isthmus_status alone_exchange(ist_boot *boot)
{
    (void)boot;
    return ISTHMUS_OK;
}

static isthmus_status alone_get(ist_boot *boot, int pe, const char *key, void **out, size_t *out_bytes)
{
    struct alone *alone = (struct alone *)boot;
    for (struct kept *kept = alone->kept; kept != NULL && pe == 0; kept = kept->next) {
        if (strcmp(kept->key, key) != 0) continue;
        void *copy = malloc(kept->value_bytes + 1);
        if (copy == NULL) return ist_fail_memory("%s", key);
        memcpy(copy, kept->value, kept->value_bytes);
        *out = copy;
        *out_bytes = kept->value_bytes;
        return ISTHMUS_OK;
    }
    return ist_fail(ISTHMUS_ERR_UNREACHABLE, "PE %d has not published the key '%s'", pe, key);
}

static isthmus_status alone_remove(ist_boot *boot, const char *key)
{
    struct kept **at = &((struct alone *)boot)->kept;
    while (*at != NULL && strcmp((*at)->key, key) != 0) at = &(*at)->next;
    if (*at == NULL) return ISTHMUS_OK;
    struct kept *found = *at;
    *at = found->next;
    kept_free(found);
    return ISTHMUS_OK;
}

static void alone_abort(ist_boot *boot, int exit_code)
{
    (void)boot;
    (void)exit_code;
}

static void alone_close(ist_boot *boot)
{
    struct alone *alone = (struct alone *)boot;
    while (alone->kept != NULL) {
        struct kept *next = alone->kept->next;
        kept_free(alone->kept);
        alone->kept = next;
    }
    free(alone);
}

static const struct ist_boot_ops alone_ops = {
    .name = "alone",
    .put = alone_put,
    .exchange = alone_exchange,
    .get = alone_get,
    .remove = alone_remove,
    .abort = alone_abort,
    .close = alone_close,
};

isthmus_status ist_boot_alone_open(ist_boot **out)
{
    struct alone *alone = calloc(1, sizeof *alone);
    if (alone == NULL) return ist_fail_memory("the start of a single PE");
    alone->base = (ist_boot){.ops = &alone_ops, .pe = 0, .n_pes = 1, .n_local = 1, .local_pes = &alone->own_pe};
    *out = &alone->base;
    return ISTHMUS_OK;
}
