/* The same as C++. */
#include "r158_faces.c"
