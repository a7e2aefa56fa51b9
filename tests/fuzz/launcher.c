/* tests/fuzz/launcher.c: what PEs send to isthmus-run beside PMIx: their output, in pieces of any length on two
 * streams, of which it makes whole lines with a name before each. The input: pieces, each with its stream and its
 * length. */
#include "tests/fuzz/fuzz.h"
#include "tools/isthmus-run/launch.h"
#include "tools/isthmus-run/output.h"

#include <fcntl.h>
#include <unistd.h>

enum { PES = 2, STREAMS = 2 * PES };

static void print_what_is_there(void)
{
    struct pollfd polled[STREAMS + 1];
    size_t n;
    while (!output_is_complete() && (n = output_poll(polled)) > 0 && poll(polled, n, 0) > 0) output_ready(polled, n);
}

static void start(int nowhere)
{
    static bool is_started;
    if (is_started) return;
    is_started = true;
    output_init(PES);
    dup2(nowhere, STDOUT_FILENO); /* stderr is the fuzzer's: the input does not choose it */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[STREAMS], nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct fuzz_input in = {data, data + size};
    start(nowhere);
    close(nowhere);
    for (int pe = 0; pe < PES; pe++)
        if (!output_open(pe, &ends[2 * pe], &ends[2 * pe + 1])) abort();
    while (in.at < in.end) {
        const uint8_t *bytes;
        int pe = fuzz_byte(&in) % PES;
        size_t n = fuzz_bytes(&in, 1 + 16u * fuzz_byte(&in), &bytes);
        if (write(ends[2 * pe], bytes, n) != (ssize_t)n) abort();
        print_what_is_there();
    }
    for (int pe = 0; pe < PES; pe++) output_started(ends[2 * pe], ends[2 * pe + 1]);
    print_what_is_there();
    if (!output_is_complete()) abort();
    return 0;
}

size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    static const char text[] = "\0\1hello\nand more, \n\1\0x\1\0\n\0\2 which has no end";
    return i == 0 ? fuzz_put(out, room, text, sizeof text - 1) : 0;
}
