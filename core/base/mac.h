/* core/base/mac.h: a keyed tag of a message: without the key it can neither be made nor guessed. SipHash-2-4 with a key
 * and a tag of 128 bits (Aumasson and Bernstein, 2012).
 * Neither encryption nor a hash for guessable keys: a key is 128 random bits. */
#ifndef IST_BASE_MAC_H
#define IST_BASE_MAC_H

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IST_KEY_BYTES = 16, IST_TAG_BYTES = 16 };

void ist_mac(const uint8_t key[IST_KEY_BYTES], const void *bytes, size_t n_bytes, uint8_t tag[IST_TAG_BYTES]);

/* Returns true if they are equal, in a time that does not depend on where they differ. */
bool ist_same_bytes(const void *a, const void *b, size_t n_bytes);

isthmus_status ist_random_bytes(void *out, size_t n_bytes);

/* The same in hexadecimal, for public names: the tag of a secret reveals nothing about it. */
enum { IST_TAG_TEXT_BYTES = 2 * IST_TAG_BYTES + 1 };
void ist_mac_text(const uint8_t key[IST_KEY_BYTES], const void *bytes, size_t n_bytes, char out[IST_TAG_TEXT_BYTES]);

/* Parses the text of a key, 32 hexadecimal digits. Returns false if it is anything else. */
bool ist_key_parse(const char *text, uint8_t out[IST_KEY_BYTES]);

#endif
