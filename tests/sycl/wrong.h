/* tests/sycl/wrong.h: the calls that wrong_kernels.cpp makes, and wrong.cpp chooses from. */
#ifndef TESTS_SYCL_WRONG_H
#define TESTS_SYCL_WRONG_H

#include <cstdint>

/* X(the call in wrong_kernels.cpp, the name in the line about it) */
#define WRONG_CALLS(X)                \
    X(PUT, "put")                     \
    X(PUT_NBI_GROUP, "put")           \
    X(GET, "get")                     \
    X(GET_GROUP, "get")               \
    X(P, "p")                         \
    X(G, "g")                         \
    X(IPUT, "iput")                   \
    X(IGET, "iget")                   \
    X(IBPUT, "ibput")                 \
    X(IBGET, "ibget")                 \
    X(FETCH_ADD, "atomic")            \
    X(PUT_SIGNAL, "put_signal")       \
    X(PUT_SIGNAL_GROUP, "put_signal") \
    X(SIGNAL_SET, "atomic")           \
    X(PTR, "ptr")

enum wrong_call {
#define WRONG_CALL(id, name) id,
    WRONG_CALLS(WRONG_CALL)
#undef WRONG_CALL
};

/* addr, signal: what the call updates at `pe`. */
struct wrong {
    int call, pe;
    long *addr;
    uint64_t *signal;
};

#endif
