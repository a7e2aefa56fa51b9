/* tests/abi/plugins/major_two.c: a plugin of the next major version of the ABI: another symbol, a table that this core
 * cannot read. */
#include <stdint.h>

struct table_of_the_future {
    uint64_t unknown[4];
};

extern __attribute__((visibility("default"))) const struct table_of_the_future isthmus_transport_v2;
const struct table_of_the_future isthmus_transport_v2 = {{2, 0, 0, 0}};
