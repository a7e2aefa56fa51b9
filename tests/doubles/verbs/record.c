/* tests/doubles/verbs/record.c: what this process has sent. A program finds verbs_double_count by dlsym; at the end a
 * line for each kind of packet goes into the file VERBS_DOUBLE_RECORD.<process>. */
#include "tests/doubles/verbs/verbs_double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 256 };

static const char *const names[] = {[WRITE] = "write",
                                    [SEND] = "send",
                                    [READ] = "read",
                                    [FETCH_ADD] = "fetch_add",
                                    [SWAP] = "swap",
                                    [MASKED_ADD] = "masked_add",
                                    [MASKED_SWAP] = "masked_swap",
                                    [DATAGRAM] = "datagram"};

static struct row {
    uint16_t kind, pkey;
    uint8_t traffic_class, sl, adapter, gid_kind;
    uint64_t n;
} rows[MOST];
static int n_rows;

void record(const struct frame *frame)
{
    int i = 0;
    for (; i < n_rows; i++)
        if (rows[i].kind == frame->kind && rows[i].pkey == frame->pkey && rows[i].sl == frame->sl &&
            rows[i].traffic_class == frame->traffic_class && rows[i].adapter == frame->adapter)
            break;
    if (i == MOST) return;
    if (i == n_rows)
        rows[n_rows++] = (struct row){.kind = frame->kind,
                                      .pkey = frame->pkey,
                                      .traffic_class = frame->traffic_class,
                                      .sl = frame->sl,
                                      .adapter = frame->adapter};
    rows[i].n++;
}

/* How many frames of that name this process has sent; NULL: of all. Each holds 64 KiB at most. */
unsigned long verbs_double_count(const char *name);
unsigned long verbs_double_count(const char *name)
{
    unsigned long n = 0;
    pthread_mutex_lock(&verbs_lock);
    for (int i = 0; i < n_rows; i++)
        if (name == NULL || strcmp(names[rows[i].kind], name) == 0) n += rows[i].n;
    pthread_mutex_unlock(&verbs_lock);
    return n;
}

__attribute__((destructor)) static void write_record(void)
{
    char path[256];
    const char *given = getenv("VERBS_DOUBLE_RECORD");
    if (given == NULL || n_rows == 0) return;
    snprintf(path, sizeof path, "%s.%d", given, (int)getpid());
    FILE *file = fopen(path, "w");
    if (file == NULL) return;
    for (int i = 0; i < n_rows; i++)
        fprintf(file, "%s pkey %#06x class %u level %u adapter %u: %llu\n", names[rows[i].kind], rows[i].pkey,
                rows[i].traffic_class, rows[i].sl, rows[i].adapter, (unsigned long long)rows[i].n);
    fclose(file);
}
