/* tools/isthmus-info/words.c: see words.h. */
#include "tools/isthmus-info/words.h"

struct bit {
    uint64_t mask;
    const char *text, *json;
};

static const struct bit kinds[] = {
    {1u << ISTHMUS_MEM_HOST, "host", "host"},
    {1u << ISTHMUS_MEM_CUDA, "CUDA", "cuda"},
    {1u << ISTHMUS_MEM_ZE, "Level Zero", "ze"},
    {1u << ISTHMUS_MEM_HIP, "HIP", "hip"},
    {0, NULL, NULL},
};

static const struct bit scopes[] = {
    {ISTHMUS_SCOPE_SELF, "own PE", "self"},
    {ISTHMUS_SCOPE_HOST, "same host", "host"},
    {ISTHMUS_SCOPE_NETWORK, "other hosts", "network"},
    {ISTHMUS_SCOPE_DEVICE, "memory of devices", "device"},
    {0, NULL, NULL},
};

static const struct bit caps[] = {
    {ISTHMUS_CAP_ALIAS, "load and store", "alias"},
    {ISTHMUS_CAP_ORDERED, "ordered", "ordered"},
    {ISTHMUS_CAP_NO_TARGET, "without the target's help", "no_target"},
    {ISTHMUS_CAP_WAKES, "wakes the target", "wakes"},
    {0, NULL, NULL},
};

static void bits_text(const struct bit *bits, uint64_t value, char out[WORDS_BYTES])
{
    size_t used = 0;
    snprintf(out, WORDS_BYTES, "none");
    for (; bits->text != NULL && used < WORDS_BYTES; bits++)
        if (value & bits->mask)
            used += (size_t)snprintf(out + used, WORDS_BYTES - used, "%s%s", used > 0 ? ", " : "", bits->text);
}

static void bits_json(struct ist_json *json, const char *key, const struct bit *bits, uint64_t value)
{
    ist_json_begin_array(json, key);
    for (; bits->json != NULL; bits++)
        if (value & bits->mask) ist_json_string(json, NULL, bits->json);
    ist_json_end_array(json);
}

void kinds_text(uint32_t value, char out[WORDS_BYTES]) { bits_text(kinds, value, out); }

void kinds_json(struct ist_json *json, const char *key, uint32_t value) { bits_json(json, key, kinds, value); }

void scopes_text(uint64_t value, char out[WORDS_BYTES]) { bits_text(scopes, value, out); }

void scopes_json(struct ist_json *json, const char *key, uint64_t value) { bits_json(json, key, scopes, value); }

void caps_text(uint64_t value, char out[WORDS_BYTES]) { bits_text(caps, value, out); }

void caps_json(struct ist_json *json, const char *key, uint64_t value) { bits_json(json, key, caps, value); }

const char *domain_name(uint32_t domain)
{
    switch (domain) {
    case ISTHMUS_DOMAIN_NONE: return "none";
    case ISTHMUS_DOMAIN_CPU: return "CPU";
    case ISTHMUS_DOMAIN_NIC: return "NIC";
    case ISTHMUS_DOMAIN_GPU: return "GPU";
    default: return "unknown";
    }
}

const char *visibility_name(uint32_t visibility)
{
    return visibility == ISTHMUS_VISIBLE_EVERYONE ? "everyone" : "owner";
}
