/* plugins/ib/rc/rc_qp_none.c: rc_qp.h where the headers of libibverbs are missing: ib_adapter_open fails, and
 * nothing else is called. */
#include "plugins/ib/rc/rc_qp.h"

#ifndef IB_HAVE_VERBS

isthmus_status ib_adapter_open(const struct isthmus_services *services, const struct ib_port *port,
                               const struct ib_queue_settings *settings, struct ib_adapter **out)
{
    (void)port, (void)settings, (void)out;
    return services->fail(services->core, ISTHMUS_ERR_UNSUPPORTED, "ib was built without libibverbs's headers");
}

void ib_adapter_close(struct ib_adapter *adapter) { (void)adapter; }

isthmus_status ib_region_create(struct ib_adapter *adapter, void *addr, uint64_t length_bytes, struct ib_region **out,
                                uint32_t *key)
{
    (void)adapter, (void)addr, (void)length_bytes, (void)out, (void)key;
    return ISTHMUS_ERR_UNSUPPORTED;
}

void ib_region_destroy(struct ib_region *region) { (void)region; }

isthmus_status ib_completions_create(struct ib_adapter *adapter, uint32_t n_slots, struct ib_completions **out)
{
    (void)adapter, (void)n_slots, (void)out;
    return ISTHMUS_ERR_UNSUPPORTED;
}

void ib_completions_destroy(struct ib_completions *completions) { (void)completions; }

int ib_completions_fd(const struct ib_completions *completions)
{
    (void)completions;
    return -1;
}

void ib_completions_arm(struct ib_completions *completions) { (void)completions; }

isthmus_status ib_queue_create(struct ib_adapter *adapter, struct ib_completions *completions, struct ib_queue **out)
{
    (void)adapter, (void)completions, (void)out;
    return ISTHMUS_ERR_UNSUPPORTED;
}

void ib_queue_destroy(struct ib_queue *queue) { (void)queue; }

void ib_queue_address(const struct ib_queue *queue, struct ib_queue_address *out)
{
    (void)queue;
    *out = (struct ib_queue_address){0};
}

isthmus_status ib_queue_connect(struct ib_queue *queue, const struct ib_queue_address *peer)
{
    (void)queue, (void)peer;
    return ISTHMUS_ERR_UNSUPPORTED;
}

int ib_queue_post(struct ib_queue *queue, const struct ib_queue_target *target, const struct ib_word_request *request)
{
    (void)queue, (void)target, (void)request;
    return -1;
}

uint32_t ib_completions_poll(struct ib_completions *completions, struct ib_completion *list, uint32_t room)
{
    (void)completions, (void)list, (void)room;
    return 0;
}

#endif
