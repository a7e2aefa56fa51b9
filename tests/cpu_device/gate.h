/* tests/cpu_device/gate.h: what quiet.c and its transport (gate.c) share. The address is in the variable GATE. */
#ifndef TESTS_CPU_DEVICE_GATE_H
#define TESTS_CPU_DEVICE_GATE_H

#include <stdint.h>

struct gate {
    uint64_t is_awaited; /* the completion of a put of GATED has begun */
    uint64_t is_open;    /* it may end */
};

#define GATED UINT64_C(0x6761746564) /* a put of this value completes only when the gate is open */

#endif
