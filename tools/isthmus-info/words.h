/* tools/isthmus-info/words.h: what the numbers and bits of isthmus/transport.h are called here. */
#ifndef ISTHMUS_INFO_WORDS_H
#define ISTHMUS_INFO_WORDS_H

#include "core/base/json.h"

#include <isthmus/transport.h>

enum { WORDS_BYTES = 160 };

/* "host, CUDA" for a bitmap of memory kinds; "none" for 0. */
void kinds_text(uint32_t kinds, char out[WORDS_BYTES]);
void kinds_json(struct ist_json *json, const char *key, uint32_t kinds);

/* "self, same host": ISTHMUS_SCOPE_ bits. */
void scopes_text(uint64_t scopes, char out[WORDS_BYTES]);
void scopes_json(struct ist_json *json, const char *key, uint64_t scopes);

/* "load and store, ordered": ISTHMUS_CAP_ bits. */
void caps_text(uint64_t caps, char out[WORDS_BYTES]);
void caps_json(struct ist_json *json, const char *key, uint64_t caps);

const char *domain_name(uint32_t domain);         /* "CPU" */
const char *visibility_name(uint32_t visibility); /* "everyone" */

#endif
