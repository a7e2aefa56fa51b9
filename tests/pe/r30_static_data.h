/* tests/pe/r30_static_data.h: variables of another translation unit. */
#ifndef TESTS_PE_R30_STATIC_DATA_H
#define TESTS_PE_R30_STATIC_DATA_H

extern long r30_elsewhere, r30_elsewhere_zero;

#endif
