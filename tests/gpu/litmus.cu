/* tests/gpu/litmus.cu: tests/litmus/device.c for a GPU, as one file: ordering shapes whose actors are kernels' threads
 * and blocks. */
#include "../litmus/device_steps.c"

#include "../litmus/device_shapes.c"

#include "../litmus/device.c"
