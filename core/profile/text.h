/* core/profile/text.h: numbers as people read them. Each returns `out`. */
#ifndef IST_PROFILE_TEXT_H
#define IST_PROFILE_TEXT_H

#include <stdint.h>

enum { IST_PROFILE_NUMBER_BYTES = 24 };

char *ist_profile_text_bytes(char out[IST_PROFILE_NUMBER_BYTES], uint64_t bytes); /* 1.5 MiB */
char *ist_profile_text_ns(char out[IST_PROFILE_NUMBER_BYTES], uint64_t ns);       /* 1.5 ms */

#endif
