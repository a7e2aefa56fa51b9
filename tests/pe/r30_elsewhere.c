/* tests/pe/r30_elsewhere.c: the other translation unit of r30_static_data.c. */
#include "r30_static_data.h"

long r30_elsewhere = 1234, r30_elsewhere_zero;
