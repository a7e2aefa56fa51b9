/* tests/fuzz/fuzz.h: the interface of a fuzz target: the function that libFuzzer calls, and seeds that the real encoder
 * has made. A target calls the real parser and nothing else; it reads the parser's result so that a sanitizer sees bad
 * pointers.
 * Run by ./dev fuzz; replay.c runs the kept inputs (corpus/) in the tests. Read on: docs/security.md. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <isthmus/transport.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); /* the name is libFuzzer's */

/* Writes seed number i to `out`. Returns its bytes, or 0 after the last. */
size_t fuzz_seed(unsigned i, uint8_t *out, size_t room);

enum { FUZZ_SEED_ROOM = 64 << 10 };

/* ---- for parsers of plugins ---- */

static inline isthmus_status fuzz_fail(void *core, isthmus_status code, const char *fmt, ...)
{
    char text[512];
    va_list args;
    (void)core;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args); /* reads the arguments, as the core would */
    va_end(args);
    return code;
}

static inline const char *fuzz_config(void *core, const char *key) { return (void)core, (void)key, NULL; }
static inline void fuzz_log(void *core, uint32_t level, const char *fmt, ...) { (void)core, (void)level, (void)fmt; }

/* ---- inputs that are taken in pieces ---- */

struct fuzz_input {
    const uint8_t *at, *end;
};

static inline uint8_t fuzz_byte(struct fuzz_input *in) { return in->at < in->end ? *in->at++ : 0; }

/* Takes at most n bytes. Returns how many there are. */
static inline size_t fuzz_bytes(struct fuzz_input *in, size_t n, const uint8_t **out)
{
    size_t left = (size_t)(in->end - in->at), taken = n < left ? n : left;
    *out = in->at;
    in->at += taken;
    return taken;
}

/* A copy that is exactly as large, malloc'ed: sanitizers report a read beyond it. */
static inline void *fuzz_copy(const void *bytes, size_t n_bytes)
{
    void *copy = malloc(n_bytes > 0 ? n_bytes : 1);
    if (copy == NULL) abort();
    return n_bytes > 0 ? memcpy(copy, bytes, n_bytes) : copy;
}

static inline char *fuzz_text(const void *bytes, size_t n_bytes)
{
    char *text = malloc(n_bytes + 1);
    if (text == NULL) abort();
    if (n_bytes > 0) memcpy(text, bytes, n_bytes);
    text[n_bytes] = '\0';
    return text;
}

/* A text as a seed. */
static inline size_t fuzz_put(uint8_t *out, size_t room, const void *bytes, size_t n_bytes)
{
    if (n_bytes > room) abort();
    memcpy(out, bytes, n_bytes);
    return n_bytes;
}

#endif
