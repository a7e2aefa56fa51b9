/* tests/rows/rows.h: a routine as data, and the checks of it.
 * gen_rows.py writes a table of struct row; a check calls a row's routine and compares what it did with a model in
 * plain C. C and C++. */
#ifndef TESTS_ROWS_ROWS_H
#define TESTS_ROWS_ROWS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum row_kind {
    ROW_BYTES,
    ROW_S,
    ROW_U,
    ROW_F16,
    ROW_BF16,
    ROW_F32,
    ROW_F64,
    ROW_F80,
    ROW_C32,
    ROW_C64,
    ROW_CHAR = CHAR_MIN < 0 ? ROW_S : ROW_U /* ARM64's has no sign */
};

struct row_type {
    size_t size;
    enum row_kind kind;
};

/* The arguments that a routine may take, each under the name of its parameter, and what it returned. */
struct row_call {
    void *dest, *fetch;
    const void *source, *value, *cond, *cmp_value, *cmp_values;
    ptrdiff_t dst, sst;
    size_t nelems, bsize, nblocks, *indices;
    uint64_t *sig_addr, signal;
    const int *status;
    int sig_op, pe, cmp, root, set_start, set_log_stride, set_size;
    int queue;                 /* qp_index */
    void *work, *sync;         /* pWrk and pSync */
    void *team, *ctx, *stream; /* where the handles are */

    long long returned;                                    /* of any other type */
    unsigned char result[16] __attribute__((aligned(16))); /* of type T */
};

enum { ROW_CTX = 1, ROW_TEAM = 2, ROW_STREAM = 4, ROW_SET = 8, ROW_RETURNS = 16 };

struct row {
    const char *name;
    void (*call)(struct row_call *);
    const char *check; /* name of a check, and of an operation where it needs one */
    struct row_type type;
    unsigned flags;
};

int rows_main(const struct row *rows, size_t n);

/* ---- the face under test, one file for each ---- */

struct face_team {
    void *handle;
    int n, my_pe, start, stride;
};

enum face_cmp { CMP_EQ, CMP_NE, CMP_GT, CMP_GE, CMP_LT, CMP_LE, FACE_CMPS };

/* What one thread of each PE calls with; the threads of a lane take the same steps, and no other one has its teams,
 * context and stream. Lane 0's first team is the world. */
struct face_lane {
    int number;
    struct face_team team[2]; /* all PEs, and the PEs whose number is odd like this one's */
    void *ctx, *stream;
    size_t n_checks;
};
extern __thread struct face_lane lane;

enum { LANES_MOST = 4 };

struct face {
    void (*init)(bool has_threads);
    void (*fini)(void);
    void (*open)(struct face_lane *opened); /* fills all but the number; collective, by one thread */
    void (*close)(const struct face_lane *closed);
    int (*my_pe)(void);
    int (*n_pes)(void);
    void *(*allocate)(size_t size_bytes); /* symmetric */
    void (*meet)(void);                   /* all threads of this lane */
    void (*complete)(void);               /* all operations of this thread, on context and stream too */
    void (*run)(const struct row *row, struct row_call *call); /* calls the routine; NULL: like any function */
    void (*store)(void *dest, const void *value, size_t size_bytes, int pe); /* 2, 4 or 8 bytes at once */
    size_t sync_longs, work_elements; /* of pSync and pWrk; 0: the face has no active sets */
    long sync_value;
    int cmp[FACE_CMPS], signal_set, signal_add;
};

extern struct face face;

#ifdef __cplusplus
}
#endif

#endif
