/* tests/models/fd_pass.pml: plugins/common/fd_pass.c, fd_pass_client.c: PEs fetch one another's descriptors by
 * socket. A program's thread sends a request and waits for the reply, holding the lock of the cold slots; the peer's
 * progress thread replies, also while its program waits for another PE. A PE may close its server at any time when it
 * needs nothing more: a client that sends a request then gets an end of stream, and does not wait.
 * Shown: every request is granted or refused, with all PEs sending at once; only clients that have shown the ticket get
 * descriptors.
 * PLANTED: the progress thread needs the lock that the waiting program holds. */
#define PES 2

mtype = { ticket, wrong_ticket, descriptors, refusal, end_of_stream };

chan to_server[PES] = [PES] of { mtype, byte }; /* what a server's socket has received, and the sender */
chan to_client[PES] = [2] of { mtype };
bool is_open[PES] = true, has_finished[PES], cold_lock[PES];
byte given = 0, shown = 0;

proctype program(byte me)
{
    byte other = 1 - me;
    mtype answer;
    bool is_liar;
    atomic { !cold_lock[me]; cold_lock[me] = true }
    if
    :: is_liar = false
    :: is_liar = true
    fi;
    atomic {
        if
        :: is_open[other] && !is_liar -> to_server[other]!ticket, me; shown++
        :: is_open[other] && is_liar -> to_server[other]!wrong_ticket, me
        :: else -> to_client[me]!end_of_stream
        fi
    }
    to_client[me]?answer;
    assert(!(is_liar && answer == descriptors));
    cold_lock[me] = false;
    has_finished[me] = true
}

proctype progress(byte me)
{
    byte who;
    mtype question;
    do
    :: atomic { nempty(to_server[me]) -> skip }
#ifdef PLANTED
        !cold_lock[me];
#endif
        to_server[me]?question, who;
        if
        :: question == ticket -> atomic { given++; to_client[who]!descriptors }
        :: else -> to_client[who]!refusal
        fi
    :: atomic {
        /* close: the system notifies the clients in the socket's queue */
        has_finished[me] -> is_open[me] = false;
        do
        :: to_server[me]?question, who -> to_client[who]!end_of_stream
        :: empty(to_server[me]) -> break
        od;
        break
       }
    od;
    assert(given <= shown)
}

init {
    byte pe = 0;
    atomic {
        do
        :: pe < PES -> run program(pe); run progress(pe); pe++
        :: else -> break
        od
    }
}
