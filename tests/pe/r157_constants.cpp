/* The same as C++. */
#include "r157_constants.c"
