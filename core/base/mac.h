/* core/base/mac.h: a keyed tag of a message: who does not know the key can neither make nor guess it. SipHash-2-4 with 128 bits of
 * key and of tag (Aumasson and Bernstein, 2012).
 * Not encryption, and not a hash for keys that somebody could try out: a key is 128 random bits. */
#ifndef IST_BASE_MAC_H
#define IST_BASE_MAC_H

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IST_KEY_BYTES = 16, IST_TAG_BYTES = 16 };

void ist_mac(const uint8_t key[IST_KEY_BYTES], const void *bytes, size_t n_bytes, uint8_t tag[IST_TAG_BYTES]);

/* Are they equal? In a time that says nothing about where they differ. */
bool ist_same_bytes(const void *a, const void *b, size_t n_bytes);

isthmus_status ist_random_bytes(void *out, size_t n_bytes);

/* The same in hexadecimal, for names that everybody may see: the tag of a secret says nothing about it. */
enum { IST_TAG_TEXT_BYTES = 2 * IST_TAG_BYTES + 1 };
void ist_mac_text(const uint8_t key[IST_KEY_BYTES], const void *bytes, size_t n_bytes, char out[IST_TAG_TEXT_BYTES]);

/* Texts for keys: 32 hexadecimal digits. false: it is something else. */
bool ist_key_parse(const char *text, uint8_t out[IST_KEY_BYTES]);

#endif
