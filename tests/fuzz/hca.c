/* tests/fuzz/hca.c: the user's choice of adapters and addresses: ISTHMUS_HCA and the variables of RoCE, against ports
 * of two kinds. The input is four lines. */
#include "plugins/ib/ib_hca.h"
#include "tests/fuzz/fuzz.h"

static char *lines[4]; /* HCA, ADDR_FAMILY, ADDR_RANGE, ROCE_VERSION_NUM */

static const char *config_of(void *core, const char *key)
{
    static const char *const keys[] = {"HCA", "ADDR_FAMILY", "ADDR_RANGE", "ROCE_VERSION_NUM"};
    (void)core;
    for (int i = 1; i < 4; i++)
        if (strcmp(key, keys[i]) == 0 && lines[i][0] != '\0') return lines[i];
    return NULL;
}

static const struct isthmus_services services = {
    .struct_size = sizeof services, .log = fuzz_log, .fail = fuzz_fail, .config = config_of};

static void make_ports(struct ib_ports *out)
{
    *out = (struct ib_ports){.n = 4};
    for (uint32_t i = 0; i < out->n; i++) {
        struct ib_port *port = &out->list[i];
        snprintf(port->adapter, sizeof port->adapter, "mlx5_%u", i / 2);
        snprintf(port->name, sizeof port->name, "mlx5_%u:%u", i / 2, i % 2 + 1);
        port->number = i % 2 + 1;
        port->link = i < 2 ? IB_LINK_INFINIBAND : IB_LINK_ETHERNET;
        port->is_active = i != 1;
        port->rate_mbit_per_s = 100000;
        port->n_gids = 2;
        port->gids[1] = (struct ib_gid){.raw = {0xfd}, .index = 3, .type = IB_GID_ROCE_2, .is_ipv4 = i == 2};
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ib_ports ports;
    struct ib_selection selection;
    uint32_t distances[5 * IB_MAX_PORTS] = {0}, shares[5];
    int32_t index;
    char *text = fuzz_text(data, size), *rest = text;
    for (int i = 0; i < 4; i++) lines[i] = rest != NULL ? strsep(&rest, "\n") : text + size;
    make_ports(&ports);
    if (ib_select(&services, &ports, lines[0], &selection) == ISTHMUS_OK && selection.n > 0) {
        ib_share(&selection, distances, 5, shares);
        for (int pe = 0; pe < 5; pe++)
            if (shares[pe] >= selection.n || selection.ports[shares[pe]] >= ports.n) abort();
    }
    for (uint32_t i = 0; i < ports.n; i++) (void)ib_gid_choose(&services, &ports.list[i], &index);
    free(text);
    return 0;
}

size_t fuzz_seed(unsigned i, uint8_t *out, size_t room)
{
    static const char *const texts[] = {"mlx5_0:1:2,mlx5_1\nAF_INET\n10.1.0.0/16\n2", "^mlx5\nAF_INET6\nfd00::/8\n1",
                                        "round_robin\n"};
    return i < sizeof texts / sizeof *texts ? fuzz_put(out, room, texts[i], strlen(texts[i])) : 0;
}
