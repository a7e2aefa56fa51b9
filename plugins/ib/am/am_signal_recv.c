/* plugins/ib/am/am_signal_recv.c: the message of a put with a signal. The receiver writes the data, then updates the
 * signal by an atomic instruction, both in one callback: a thread that sees the update sees the data. Here are the
 * layout of the message and its receiver; am_signal.c has its sender. */
#include "plugins/ib/am/am_priv.h"

#include <isthmus/amo_cpu.h>
#include <isthmus/inline.h>
#include <string.h>

size_t ib_message_fill_signal(struct ib_message *message, uint64_t address, const struct ib_signal *signal,
                              const void *bytes, size_t length_bytes)
{
    message->address = address;
    memcpy(message->data, signal, sizeof *signal);
    memcpy(message->data + sizeof *signal, bytes, length_bytes);
    return sizeof *signal + length_bytes;
}

/* ---- the receiver: it trusts nothing in a message ---- */

/* Returns false if the message is refused: then neither part of it is executed, and the log has a line. */
static bool execute(const struct ib_worker *worker, const char *message, size_t message_bytes)
{
    const struct isthmus_services *s = worker->tr->services;
    struct ib_signal signal = {0};
    uint64_t address = 0;
    size_t head_bytes = sizeof address + sizeof signal, data_bytes = message_bytes - head_bytes;
    if (message_bytes >= head_bytes) {
        memcpy(&address, message, sizeof address);
        memcpy(&signal, message + sizeof address, sizeof signal);
    }
    bool has_place = signal.address != 0 && signal.address % sizeof signal.value == 0 &&
                     (signal.op == ISTHMUS_AMO_SET || signal.op == ISTHMUS_AMO_ADD) && data_bytes <= IB_SHORT_BYTES &&
                     ib_short_is_exposed(worker->tr, signal.address, sizeof signal.value) &&
                     (data_bytes == 0 || ib_short_is_exposed(worker->tr, address, data_bytes));
    if (!has_place) {
        s->log(s->core, ISTHMUS_LOG_WARN,
               "a put of %zu bytes to 0x%llx with a signal (%u) at 0x%llx, where peers may not write, is dropped",
               message_bytes, (unsigned long long)address, signal.op, (unsigned long long)signal.address);
        return false;
    }
    if (data_bytes > 0) ib_short_write(address, message + head_bytes, data_bytes);
    isthmus_order_stores_();
    (void)isthmus_amo_cpu(signal.op, (void *)(uintptr_t)signal.address, signal.value, 0, sizeof signal.value);
    return true;
}

static ucs_status_t on_signal(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                              const ucp_am_recv_param_t *param)
{
    (void)header;
    if (ib_message_is_here(param, header_bytes)) (void)execute(arg, data, length_bytes);
    return UCS_OK;
}

static ucs_status_t on_signal_and_call(void *arg, const void *header, size_t header_bytes, void *data,
                                       size_t length_bytes, const ucp_am_recv_param_t *param)
{
    struct ib_ticket ticket;
    (void)header;
    if (!ib_message_is_here(param, header_bytes) || length_bytes < sizeof ticket) return UCS_OK;
    memcpy(&ticket, data, sizeof ticket);
    (void)execute(arg, (const char *)data + sizeof ticket, length_bytes - sizeof ticket);
    ib_short_answer(arg, &ticket, param);
    return UCS_OK;
}

static ucs_status_t on_signal_fetching(void *arg, const void *header, size_t header_bytes, void *data,
                                       size_t length_bytes, const ucp_am_recv_param_t *param)
{
    struct ib_worker *worker = arg;
    struct ib_ticket ticket;
    (void)header;
    if (!ib_message_is_here(param, header_bytes) || length_bytes < sizeof ticket ||
        (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) == 0)
        return UCS_OK;
    struct ib_message *message = ib_message_get_extra(worker);
    if (message == NULL) return UCS_OK;
    memcpy(&message->ticket, data, sizeof ticket);
    message->address = 0; /* the value that an atomic would have fetched */
    bool is_done = execute(worker, (const char *)data + sizeof ticket, length_bytes - sizeof ticket);
    ib_message_answer(worker, param->reply_ep, is_done ? IB_MESSAGE_FETCHED : IB_MESSAGE_REFUSED, message, 0);
    return UCS_OK;
}

isthmus_status ib_signals_listen(struct ib_worker *worker)
{
    isthmus_status status = ib_listen(worker, IB_MESSAGE_SIGNAL, on_signal);
    if (status == ISTHMUS_OK) status = ib_listen(worker, IB_MESSAGE_SIGNAL_AND_CALL, on_signal_and_call);
    return status == ISTHMUS_OK ? ib_listen(worker, IB_MESSAGE_SIGNAL_FETCHING, on_signal_fetching) : status;
}
