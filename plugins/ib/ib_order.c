/* plugins/ib/ib_order.c: see ib_order.h. */
#include "plugins/ib/ib.h"
#include "plugins/ib/ib_text.h"

#include <strings.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

static isthmus_status read_request(const struct isthmus_services *services, enum ib_ordered *out)
{
    static const char *const names[] = {[IB_ORDERED_AUTO] = "auto", [IB_ORDERED_YES] = "yes", [IB_ORDERED_NO] = "no"};
    const struct isthmus_services *s = services;
    const char *text = s->config(s->core, "ORDERED");
    *out = IB_ORDERED_AUTO;
    if (text == NULL || *text == '\0') return ISTHMUS_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcasecmp(text, names[i]) != 0) continue;
        *out = (enum ib_ordered)i;
        return ISTHMUS_OK;
    }
    return s->fail(s->core, ISTHMUS_ERR_INVALID, "ISTHMUS_IB_ORDERED is '%s'; valid: auto, yes, no", text);
}

/* Where the user or UCX chooses among the ports, it may be any of those that are up. */
static const char *find_unordered(const struct ib_net *net)
{
    for (uint32_t i = 0; i < net->ports.n; i++) {
        const struct ib_port *port = &net->ports.list[i];
        if (port->is_active && !port->is_ordered && (net->mine < 0 || ib_net_has(net, i))) return port->name;
    }
    return NULL;
}

/* AMD's processors; UCX has them in mind with `auto`. */
static bool prefers_relaxed_processor(void)
{
#ifdef __x86_64__
    unsigned a, b = 0, c = 0, d = 0;
    return __get_cpuid(0, &a, &b, &c, &d) != 0 && b == signature_AMD_ebx && c == signature_AMD_ecx &&
           d == signature_AMD_edx;
#else
    return false;
#endif
}

static bool is_relaxed_setting(const char *text)
{
    static const char *const no[] = {"n", "no", "off", "0"};
    if (text == NULL || strcasecmp(text, "auto") == 0) return prefers_relaxed_processor();
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (strcasecmp(text, no[i]) == 0) return false;
    return true;
}

/* Soft-RoCE writes by a processor. */
static bool is_relaxed(const struct ib_net *net)
{
    for (uint32_t i = 0; i < net->ports.n; i++)
        if (net->ports.list[i].is_active && !net->ports.list[i].is_software)
            return is_relaxed_setting(ib_ucp_variable("UCX_IB_PCI_RELAXED_ORDERING"));
    return false;
}

static void describe(struct ib_order *order)
{
    struct ib_text how = {.start = order->how, .room = sizeof order->how};
    if (order->request == IB_ORDERED_NO)
        ib_text_add(&how, "a fence flushes the peer, as ISTHMUS_IB_ORDERED has it");
    else if (order->unordered != NULL && order->request == IB_ORDERED_YES)
        ib_text_add(&how, "writes by %s count as ordered, as ISTHMUS_IB_ORDERED has it", order->unordered);
    else if (order->unordered != NULL)
        ib_text_add(&how, "a fence flushes the peer%s: %s is not known to place writes in order (ISTHMUS_IB_ORDERED)",
                    ib_ucp_is_at_least(1, IB_FENCED_SINCE_MINOR) ? " unless UCX has a fence there" : "",
                    order->unordered);
}

isthmus_status ib_order_open(isthmus_tr *tr)
{
    struct ib_order *order = &tr->order;
    order->unordered = find_unordered(tr->net);
    order->is_relaxed = is_relaxed(tr->net);
    isthmus_status status = read_request(tr->services, &order->request);
    if (status == ISTHMUS_OK) describe(order);
    return status;
}

bool ib_order_is_kept(const struct ib_order *order, bool is_fenced)
{
    if (order->request != IB_ORDERED_AUTO) return order->request == IB_ORDERED_YES;
    return order->unordered == NULL || is_fenced;
}
