/* tools/isthmus-check-transport/poke.c: while a case hangs: each process reads a byte of each other one, in a thread
 * and by a channel of its own. See contract.h. A target that lets one process wait and serves others makes progress: it
 * has left a request of the first one behind. */
#include "contract.h"

struct poke {
    struct ct_process *p;
    isthmus_chan *chan;
    struct isthmus_data_ops ops;
    int pe;
};

static void *read_byte(void *argument)
{
    const struct poke *poke = argument;
    struct ct_process *p = poke->p;
    uint8_t byte;
    ct_board_poked(poke->pe, CT_POKE_SENT);
    isthmus_status status = poke->ops.get(poke->chan, p->path[poke->pe], p->attached[poke->pe], 0, &byte, NULL, 1);
    if (status == ISTHMUS_OK) ct_board_poked(poke->pe, CT_POKE_SERVED);
    return NULL;
}

/* Not ct_channel_open(): the last call on the board stays that which hangs. */
static void *poke_all(void *argument)
{
    static struct poke pokes[CT_MAX_PROCESSES];
    struct ct_process *p = argument;
    pthread_t thread;
    for (int pe = 0; pe < p->n; pe++) {
        if (pe == p->pe || p->attached[pe] == NULL) continue;
        struct poke *poke = &pokes[pe];
        *poke = (struct poke){.p = p, .ops.struct_size = sizeof poke->ops, .pe = pe};
        if (p->t->channel_open(p->tr, ISTHMUS_THREAD_ONE, 0, &poke->chan, &poke->ops) == ISTHMUS_OK)
            ct_thread_start(&thread, read_byte, poke);
    }
    return NULL;
}

void ct_poke(struct ct_process *p)
{
    pthread_t thread;
    ct_thread_start(&thread, poke_all, p);
}
