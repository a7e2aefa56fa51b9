/* isthmus/transport.h: the plugin ABI, version 1. All that a transport plugin needs to know of Isthmus.
 * Not the application interface: programs include shmem.h, nvshmem.h or ishmem.h.
 * Read on in docs/writing-a-transport.md; the smallest complete plugin is plugins/loopback.
 *
 * A plugin is a shared object that exports exactly one symbol, `isthmus_transport_v1`: a constant table of
 * functions. The core loads it, checks it, asks it which peers it can reach, and sends it the remote accesses
 * for which it is the best choice. It links against nothing of ours.
 *
 * Rules that hold for every slot
 *   Versions   The major version is part of the symbol's name. Everything else grows at the end: who reads a
 *              struct that the other side made looks at `struct_size` first. Slots are never reordered, reused
 *              or given another meaning. Unknown enum values mean "not supported".
 *   Absent     A slot that is NULL, or lies beyond struct_size, is absent. The core then uses the emulation
 *              named at the slot. Slots marked REQUIRED must be there or the plugin is refused.
 *   Errors     0, or a negative ISTHMUS_ERR_ code whose text was given to services->fail(). A plugin never
 *              prints, exits, aborts, installs signal handlers or changes the environment.
 *   Ownership  Buffers of the caller (cards, keys, texts) are borrowed for the call. Objects handed out belong
 *              to the plugin until the matching close. File descriptors are borrowed: duplicate what you keep.
 *              An out-parameter is written only on success.
 *   Threads    Cold slots (life, peers, memory, channels): any thread, one at a time per transport (but see
 *              ISTHMUS_TRAIT_PATHS_AT_ONCE), may block.
 *              Data and order slots: one caller per channel at a time, unless the channel was opened with
 *              ISTHMUS_THREAD_SHARED; different channels run at once. progress() may run beside all of them.
 *   Callbacks  None into the core, except the services.
 */
#ifndef ISTHMUS_TRANSPORT_H
#define ISTHMUS_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ISTHMUS_ABI_MAJOR 1
#define ISTHMUS_ABI_MINOR 5

/* ---------------------------------------------------------------------------------------------- status -- */

typedef int32_t isthmus_status; /* 0, or one of these; grouped by what the caller can do about it */

enum {
    ISTHMUS_OK = 0,
    ISTHMUS_ERR_AGAIN = -1,       /* nothing was started; call progress and try again. Never logged */
    ISTHMUS_ERR_UNSUPPORTED = -2, /* this transport or machine cannot do it, and never will */
    ISTHMUS_ERR_INVALID = -3,     /* the caller broke the contract; nothing was done */
    ISTHMUS_ERR_NO_MEMORY = -4,   /* memory, address space or descriptors ran out; release some, try again */
    ISTHMUS_ERR_NO_DEVICE = -5,   /* the hardware or its driver is not here */
    ISTHMUS_ERR_PERMISSION = -6,  /* the system, or the peer, refuses us */
    ISTHMUS_ERR_UNREACHABLE = -7, /* there is no path to that peer */
    ISTHMUS_ERR_PEER_LOST = -8,   /* the peer was there and is gone; the job cannot go on */
    ISTHMUS_ERR_IO = -9,          /* the fabric or the system failed in a way not named above */
    ISTHMUS_ERR_LIMIT = -10,      /* a given buffer is too small; the size needed has been written */
    ISTHMUS_ERR_VERSION = -11     /* the other side is of a version that we cannot read */
};

/* ------------------------------------------------------------------------------------- words and numbers -- */

/* kinds of memory; bitmaps of kinds are 1u << kind. New kinds are added at the end */
enum { ISTHMUS_MEM_HOST = 0, ISTHMUS_MEM_CUDA = 1, ISTHMUS_MEM_ZE = 2, ISTHMUS_MEM_HIP = 3 };

/* domain: the agent that executes atomics on a location. Two agents do not exclude one another */
enum {
    ISTHMUS_DOMAIN_NONE = 0, /* this transport executes no atomics at that peer */
    ISTHMUS_DOMAIN_CPU = 1,  /* processor instructions on coherent host memory */
    ISTHMUS_DOMAIN_NIC =
        2, /* the target's network adapter for words of 64 bits. Narrower ones stay with the CPU: an adapter
              would write all 64, and a store beside the operand meanwhile would be lost */
    ISTHMUS_DOMAIN_GPU = 3 /* the target's GPU */
};

/* visibility: who sees an update once remote_commit has returned */
enum {
    ISTHMUS_VISIBLE_OWNER = 0,   /* the PE that owns the memory, after it synchronised with the initiator */
    ISTHMUS_VISIBLE_EVERYONE = 1 /* every PE */
};

/* capabilities: what is guaranteed towards one peer */
enum {
    ISTHMUS_CAP_ALIAS = 1 << 0,     /* attach() hands out an alias: plain loads and stores reach the peer's memory */
    ISTHMUS_CAP_ORDERED = 1 << 1,   /* puts to one peer arrive in the order of the calls: fence is free */
    ISTHMUS_CAP_NO_TARGET = 1 << 2, /* operations complete although the target makes no call and no progress */
    ISTHMUS_CAP_WAKES =
        1
        << 3 /* what peers write into host memory of this PE (puts, atomics, notify) wakes it: after arm() its
                descriptor polls readable, and progress() counts what it brought. A PE that waits then sleeps, else it
                looks at its variable again and again. A PE does not know which peer ends its wait: the answer is the same
                for all peers but the own PE, and no if it would be no for one. Since minor version 5 */
};

/* scopes: which peers a transport may be of use for. A job that needs none of them leaves it unopened */
enum {
    ISTHMUS_SCOPE_SELF = 1 << 0,
    ISTHMUS_SCOPE_HOST = 1 << 1,    /* other PEs on this host */
    ISTHMUS_SCOPE_NETWORK = 1 << 2, /* PEs on other hosts */
    ISTHMUS_SCOPE_DEVICE = 1 << 3   /* memory of devices, where a job may have any: since minor version 2 */
};

/* traits: what is true of the transport as a whole */
enum {
    ISTHMUS_TRAIT_SPARSE = 1 << 0, /* expose() costs nothing per byte and takes memory that has no pages yet: the
                                     core exposes a segment once, at its full reserved size */
    ISTHMUS_TRAIT_ANY_LOCAL =
        1 << 1, /* register_local() takes addr NULL and length 0, of each kind in kinds_local but the
                  host's: for all operands of that kind that nobody registers. Since minor version 3 */
    ISTHMUS_TRAIT_PATHS_AT_ONCE =
        1
        << 2 /* path_open() and attach() may be called for different peers at once, and beside other cold slots: where they
                wait for a network, threads that use other peers for the first time do not. Since minor version 5 */
};

/* how a channel will be called */
enum {
    ISTHMUS_THREAD_ONE = 0,   /* one caller at a time */
    ISTHMUS_THREAD_SHARED = 1 /* any number of callers at a time */
};

/* ctx_options of channel_open */
enum {
    ISTHMUS_CHANNEL_NOSTORE = 1 << 0 /* order slots need not order plain stores through an alias */
};

/* atomic operations */
enum {
    ISTHMUS_AMO_FETCH = 0,
    ISTHMUS_AMO_SET = 1,
    ISTHMUS_AMO_SWAP = 2,
    ISTHMUS_AMO_COMPARE_SWAP = 3,
    ISTHMUS_AMO_ADD = 4,
    ISTHMUS_AMO_AND = 5,
    ISTHMUS_AMO_OR = 6,
    ISTHMUS_AMO_XOR = 7,
    ISTHMUS_AMO_COUNT = 8
};

/* operand types of atomics. Signed and unsigned integers, pointers and floating point of one width are one
 * type here: every operation that exists for them is the same on their bits */
enum { ISTHMUS_BITS8 = 0, ISTHMUS_BITS16 = 1, ISTHMUS_BITS32 = 2, ISTHMUS_BITS64 = 3, ISTHMUS_BITS_COUNT = 4 };

/* flags of amo_entry */
enum {
    ISTHMUS_AMO_FETCHING = 1 << 0, /* the old value is wanted in *fetched */
    ISTHMUS_AMO_NBI = 1 << 1       /* may return before the operation is complete; *fetched is valid, and the
                                      operation complete at the source, after local_complete */
};

/* comparisons, as in `wait until word > value` */
enum {
    ISTHMUS_COMPARE_EQ = 0,
    ISTHMUS_COMPARE_NE = 1,
    ISTHMUS_COMPARE_GT = 2,
    ISTHMUS_COMPARE_GE = 3,
    ISTHMUS_COMPARE_LT = 4,
    ISTHMUS_COMPARE_LE = 5
};

/* log levels */
enum {
    ISTHMUS_LOG_ERROR = 0,
    ISTHMUS_LOG_WARN = 1,
    ISTHMUS_LOG_INFO = 2,
    ISTHMUS_LOG_DEBUG = 3,
    ISTHMUS_LOG_TRACE = 4
};

/* The longest key that expose() may write. Cores up to ABI 1.4 had room for 256 bytes only, and say so through *key_bytes. */
enum { ISTHMUS_KEY_MAX_BYTES = 1024 };

/* ------------------------------------------------------------------------------------------------ objects -- */

/* The plugin's own objects. The core keeps pointers to them and never looks inside. */
typedef struct isthmus_tr isthmus_tr;     /* the opened transport */
typedef struct isthmus_path isthmus_path; /* from this PE to one peer */
typedef struct isthmus_chan isthmus_chan; /* this transport's part of one context */
typedef struct isthmus_lmem isthmus_lmem; /* local memory, registered */
typedef struct isthmus_rmem isthmus_rmem; /* a peer's extent, attached */

/* Which host a PE runs on. Equal bytes: the same kernel and the same network namespace, so that shared memory and
 * abstract sockets reach from one to the other. Host names are not used: two containers may share one. */
struct isthmus_host_id {
    uint8_t bytes[24];
};

/* What the core knows of a peer when it asks about it; borrowed for the call. */
struct isthmus_peer {
    uint32_t struct_size;
    int32_t pe; /* number in the world team */
    const struct isthmus_host_id *host;
    const char *host_name; /* for messages only */
    const void *card;      /* what the peer's card() wrote */
    size_t card_bytes;

    /* Since minor version 3: look at struct_size. */
    uint32_t kind, reserved; /* of memory, ISTHMUS_MEM_, that reach() is asked about; before: of any */
};

/* A range of memory of one kind. */
struct isthmus_mem {
    uint32_t struct_size;
    uint32_t kind;  /* ISTHMUS_MEM_ */
    int32_t device; /* ordinal of the device, -1 for host memory */
    int32_t fd;     /* descriptor that maps the memory (memfd, dma-buf), borrowed; -1: there is none */
    void *addr;     /* in this PE */
    uint64_t length_bytes;
    uint64_t fd_offset_bytes; /* where addr lies in what fd describes */
};

/* A PE of this host, and the NUMA node to whose processors it is bound; -1: to none, or to several. */
struct isthmus_local_pe {
    int32_t pe, numa_node;
};

/* The same, and the device that holds the PE's heap. Since minor version 5. In a list, each entry is struct_size bytes long, which may
 * be more than this build knows: step with isthmus_local_place_at(). */
struct isthmus_local_place {
    uint32_t struct_size;
    int32_t pe, numa_node;
    uint32_t kind; /* of memory, ISTHMUS_MEM_, that the PE's heap on a device lies in; the host's: it has none */
    const char *pci_address; /* of that device, as in /sys/bus/pci/devices: "0000:3b:00.0"; NULL: none, or not known */
};

static inline const struct isthmus_local_place *isthmus_local_place_at(const struct isthmus_local_place *list,
                                                                       uint32_t index)
{
    return (const struct isthmus_local_place *)(const void *)((const char *)list + (size_t)index * list->struct_size);
}

/* Core to plugin, at probe and open. Valid until close() has returned; every function from any thread. */
struct isthmus_services {
    uint32_t struct_size, abi_minor;
    void *core; /* first argument of every call below */

    /* One line, lower case, no full stop, no newline. Below the user's level it costs a comparison. */
    void (*log)(void *core, uint32_t level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

    /* Keep the text of a failure for whoever reports it, and return code: `return s->fail(s->core, CODE, ...)`.
     * The first place that knows the cause calls this, once; everyone above passes the code on. */
    isthmus_status (*fail)(void *core, isthmus_status code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

    /* Value of the variable ISTHMUS_<NAME OF THE TRANSPORT>_<KEY>, or NULL when it is not set. Borrowed until close. For the
     * key HCA, when that is not set: of ISTHMUS_HCA, which speaks to all transports that have adapters. For the key ATOMICS always
     * that of ISTHMUS_ATOMICS, one for the job: a transport that has several agents to choose from takes the adapter if it is
     * "nic". */
    const char *(*config)(void *core, const char *key);

    int32_t my_pe, n_pes;
    const struct isthmus_host_id *host; /* this PE's host */

    /* Since minor version 1: look at struct_size. */

    /* The PEs on this host, this one among them, ascending; borrowed until close. All of them get the same list, so that each
     * can compute how all share what the host has. In open() only; waits until these PEs have begun to start. */
    isthmus_status (*local_pes)(void *core, const struct isthmus_local_pe **list, uint32_t *n);

    /* "Did you mean": the one of the candidates that is nearest to a name that a user gave, or NULL when none is. */
    const char *(*nearest_name)(void *core, const char *name, const char *const *candidates, size_t n);

    /* Since minor version 2. */

    /* How many PEs are on this host, this one among them, as the launcher says; 0: at probe. Fewer than n_pes: there are
     * other hosts. */
    int32_t n_local_pes, reserved;

    /* Since minor version 3. Memory of a device of this PE, which the transport that allocated it knows how to handle: for others
     * that carry it by way of host memory. Any thread. UNSUPPORTED: nobody knows that kind, or can do that with it. */

    /* Copy, as in extension memory.1: one address or both in memory of `kind`. */
    isthmus_status (*memory_copy)(void *core, uint32_t kind, void *dest, const void *source, size_t length_bytes);

    /* An atomic operation by that device, as in extension memory.1, and of 8 and 16 bits too. */
    isthmus_status (*memory_amo)(void *core, uint32_t kind, void *addr, uint32_t op, uint32_t bits, uint64_t operand,
                                 uint64_t compare, void *fetched);

    /* Make copies between memory of `kind` and this host memory quick, until unpin. `*out` NULL: nothing was to be done. In cold
     * slots only. */
    isthmus_status (*memory_pin)(void *core, uint32_t kind, void *addr, uint64_t length_bytes, isthmus_lmem **out);
    void (*memory_unpin)(void *core, uint32_t kind, isthmus_lmem *pinned); /* takes NULL */

    /* What was given to fail() last in this thread, to be told to a peer whose operation this PE serves. Borrowed until the next. */
    const char *(*fail_text)(void *core);

    uint64_t scopes; /* ISTHMUS_SCOPE_: what this job may need; the same on all PEs but for HOST. 0: at probe */

    /* To be called some four times a second in a cold slot that waits for an answer of a PE of this host. Ends the job, and does
     * not return, when one has been stopped for longer than ISTHMUS_PULSE_TIMEOUT. Not at probe. */
    void (*still_waits)(void *core);

    /* Since minor version 5. */

    /* local_pes with the devices: the PEs on this host, this one among them, ascending; borrowed until close. All of them get the same
     * list. In open() only; waits until these PEs have opened their transports with ISTHMUS_SCOPE_DEVICE, which are opened first.
     * UNSUPPORTED: called by one of those, or at probe. */
    isthmus_status (*local_places)(void *core, const struct isthmus_local_place **list, uint32_t *n);

    /* An adapter writes memory of `kind` of this PE past its device's driver (GPUDirect RDMA): into an exposed
     * extent, or into an operand of a get. Such writes and a flag in other memory go different ways, so that the flag may be seen first;
     * waits of this PE that end on the CPU, and completed gets, therefore flush the writes from now on (flush_writes in
     * extension memory.1). Called from expose() and register_local() before they return. Not for memory that goes by memory_copy. */
    void (*memory_is_direct)(void *core, uint32_t kind);
};

/* Plugin to core, once: what this transport can do at all. Bitmaps of kinds are 1u << ISTHMUS_MEM_. */
struct isthmus_traits {
    uint32_t struct_size;
    uint32_t kinds_alloc;     /* mem_alloc can make it */
    uint32_t kinds_expose;    /* expose takes it */
    uint32_t kinds_attach;    /* attach takes a peer's */
    uint32_t kinds_local;     /* the local operand of data slots may lie in it */
    uint32_t card_max_bytes;  /* card() never writes more */
    uint32_t key_max_bytes;   /* expose() never writes more; at most ISTHMUS_KEY_MAX_BYTES */
    uint32_t shared_channels; /* 1: channel_open takes ISTHMUS_THREAD_SHARED; 0: the core puts a lock around */
    uint64_t traits;          /* ISTHMUS_TRAIT_ */
};

/* Plugin to core: what this transport offers towards one peer. */
struct isthmus_reach {
    uint32_t struct_size;
    uint32_t latency_ns;            /* of an 8-byte put, as a guess that orders the transports */
    uint64_t bandwidth_bytes_per_s; /* of a large put, likewise */
    uint64_t caps;                  /* ISTHMUS_CAP_ */
    uint32_t atomics_domain;        /* ISTHMUS_DOMAIN_ in which amo_entry's functions execute at that peer */
    uint32_t visibility;            /* ISTHMUS_VISIBLE_ */

    /* Since minor version 3. */
    const char *how; /* that memory is reached, in words for isthmus-info; borrowed until close. NULL: nothing to say */
};

/* ------------------------------------------------------------------------------------------------ data ---- */

/* One atomic operation on a peer's memory.
 * remote_offset_bytes  from the start of the extent, naturally aligned
 * operand, compare     in the low bits; compare only for COMPARE_SWAP
 * fetched              where the old value goes, as wide as the type; NULL unless asked with FETCHING
 * Without NBI the call returns when *fetched is valid, and for operations that fetch nothing when the source side
 * is done; the update itself may be later, until remote_commit. */
typedef isthmus_status (*isthmus_amo_fn)(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                         uint64_t remote_offset_bytes, uint64_t operand, uint64_t compare,
                                         void *fetched);

/* flags of put_signal */
enum {
    ISTHMUS_PUT_SIGNAL_NBI = 1 << 0 /* never blocks; `source` is borrowed until local_complete */
};

/* One put and one atomic update of a word of 64 bits, its signal, in the memory of the same PE. Since minor version
 * 5; the core sets struct_size. */
struct isthmus_put_signal {
    uint32_t struct_size;
    uint32_t flags; /* ISTHMUS_PUT_SIGNAL_; an unknown one is UNSUPPORTED */

    /* The put, as in the slot of that name. */
    const isthmus_rmem *remote;
    uint64_t remote_offset_bytes;
    const void *source;
    const isthmus_lmem *source_mem;
    uint64_t length_bytes;

    /* The update: an atomic operation that fetches nothing, as a function of amo_entry does it. The word may lie in
     * another extent than the data, and lies outside of them. */
    const isthmus_rmem *signal;
    uint64_t signal_offset_bytes; /* naturally aligned */
    uint64_t value;
    uint32_t op, reserved; /* ISTHMUS_AMO_SET or ISTHMUS_AMO_ADD */
};

/* Hot. Filled by channel_open; the core completes it and keeps a copy by value.
 * Common to put and get: `length_bytes` is at least 1, the range lies inside the attached extent, `*_mem` is the
 * registration that holds the local buffer (with ISTHMUS_TRAIT_ANY_LOCAL perhaps the one of its kind), or NULL when that buffer
 * is plain host memory nobody registered.
 * Errors: AGAIN (only the nbi forms), PEER_LOST, IO. */
struct isthmus_data_ops {
    uint32_t struct_size, reserved;

    /* Returns when `source` may be reused. REQUIRED. */
    isthmus_status (*put)(isthmus_chan *, isthmus_path *, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                          const void *source, const isthmus_lmem *source_mem, size_t length_bytes);

    /* Never blocks; `source` is borrowed until local_complete. AGAIN: nothing was started. Absent: put. */
    isthmus_status (*put_nbi)(isthmus_chan *, isthmus_path *, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                              const void *source, const isthmus_lmem *source_mem, size_t length_bytes);

    /* Returns when `dest` holds the data. REQUIRED. */
    isthmus_status (*get)(isthmus_chan *, isthmus_path *, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                          void *dest, const isthmus_lmem *dest_mem, size_t length_bytes);

    /* Never blocks; `dest` holds the data after local_complete. Absent: get. */
    isthmus_status (*get_nbi)(isthmus_chan *, isthmus_path *, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                              void *dest, const isthmus_lmem *dest_mem, size_t length_bytes);

    /* The function for one (ISTHMUS_AMO_, ISTHMUS_BITS, flags), or NULL: not here. Asked once, at set-up; the core
     * keeps the answer. A transport executes in one domain only (struct isthmus_reach): an atomic set is not a plain
     * write, a fetch not a plain read. Missing functions are served by the target's CPU where the domain is CPU.
     * Absent: this transport carries no atomics. */
    isthmus_amo_fn (*amo_entry)(isthmus_chan *, uint32_t op, uint32_t bits, uint32_t flags);

    /* Order. `path` NULL: all paths of the channel. They may block and make progress inside.
     * fence           what was issued before to a PE arrives there before what is issued after. REQUIRED when both
     *                 of the others are there; absent: the one of them that is there, or nothing
     * local_complete  all earlier operations are complete at the source: buffers reusable, fetched values there. No
     *                 network round trip beyond what those need. Absent: every operation was complete on return
     * remote_commit   all that is locally complete is visible, as struct isthmus_reach says. Absent: it always is */
    isthmus_status (*fence)(isthmus_chan *, isthmus_path *path);
    isthmus_status (*local_complete)(isthmus_chan *, isthmus_path *path);
    isthmus_status (*remote_commit)(isthmus_chan *, isthmus_path *path);

    /* Write one aligned word after whatever this channel has put there before: fence and put in one, for senders that
     * learn from an answer that it has come. `value` is taken before the call returns. remote_commit of all paths does not
     * wait for it, remote_commit of its path does. Absent: fence and put. */
    isthmus_status (*notify)(isthmus_chan *, isthmus_path *, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                             uint64_t value);

    /* Since minor version 5. A put and a signal: whoever sees the update sees the data of the same call. No other
     * operation is ordered by it, and a fence orders it as one operation. Without NBI it returns when `source` may
     * be reused. The core calls it only where this transport carries puts and atomics to both extents. AGAIN (with
     * NBI only) and UNSUPPORTED: nothing was started; after UNSUPPORTED, which needs no text, the core does this one
     * as if the slot were absent, so a transport may decline lengths and memory for which one operation is no
     * cheaper. Absent: put, fence, atomic operation. */
    isthmus_status (*put_signal)(isthmus_chan *, isthmus_path *, const struct isthmus_put_signal *what);
};

/* --------------------------------------------------------------------------------------- the transport ---- */

/* The one exported object. Constant; may be read by several processes and threads. */
struct isthmus_transport {
    uint32_t struct_size; /* sizeof(struct isthmus_transport) where the plugin was compiled */
    uint32_t abi_minor;   /* ISTHMUS_ABI_MINOR there; for messages only */
    const char *name;     /* lower case letters and digits, as in ISTHMUS_TRANSPORTS; at most 15 characters */
    const char *version;  /* of the plugin, for messages */
    uint64_t scopes;      /* ISTHMUS_SCOPE_: for which peers it is worth opening */

    /* -- life -- */

    /* May I run on this machine? Quick, without side effects: no device opened, no thread, no connection. Not OK:
     * fail() has said why in one sentence ("no CUDA driver: libcuda.so.1: cannot open shared object file").
     * Absent: always. */
    isthmus_status (*probe)(const struct isthmus_services *services);

    /* Make ready for card(). `services` stays valid until close. After an error close is not called. REQUIRED. */
    isthmus_status (*open)(const struct isthmus_services *services, isthmus_tr **out);

    /* All paths, channels and memory are closed before. Cannot fail; waits for no peer. REQUIRED. */
    void (*close)(isthmus_tr *);

    /* What can you do? Called once, right after open. REQUIRED. */
    isthmus_status (*describe)(isthmus_tr *, struct isthmus_traits *out);

    /* -- peers -- */

    /* Write what a peer needs to reach this PE. In: *length_bytes is the room; out: what was written. Position
     * independent bytes; peers may be of another build. LIMIT: too small, *length_bytes says how much it takes.
     * Absent: an empty card. */
    isthmus_status (*card)(isthmus_tr *, void *buf, size_t *length_bytes);

    /* Can I reach this peer, and how well? No communication, no allocation; the same answer on every call, and
     * symmetrical: both PEs must come to the same conclusion about each other. UNREACHABLE: fail() has said why.
     * The own PE is asked about too. REQUIRED. */
    isthmus_status (*reach)(isthmus_tr *, const struct isthmus_peer *peer, struct isthmus_reach *out);

    /* Open the path to a peer: on first use, never at start-up. May block for the peer's progress thread, not for its
     * calls. PEER_LOST, UNREACHABLE, NO_MEMORY. REQUIRED. */
    isthmus_status (*path_open)(isthmus_tr *, const struct isthmus_peer *peer, isthmus_path **out);

    /* Takes NULL. Everything attached through it is detached before. The peer may be gone. REQUIRED. */
    void (*path_close)(isthmus_path *);

    /* -- memory -- */

    /* Make memory of a kind that describe() named in kinds_alloc, for the symmetric heap. `out->struct_size` is set by
     * the caller. mem_free gets the same struct back. Absent: kinds_alloc must be 0. */
    isthmus_status (*mem_alloc)(isthmus_tr *, uint32_t kind, int32_t device, uint64_t length_bytes,
                                struct isthmus_mem *out);
    void (*mem_free)(isthmus_tr *, const struct isthmus_mem *);

    /* Make an extent of this PE's symmetric memory reachable. Writes the key that peers need to attach it (in:
     * *key_bytes is the room; out: what was written) and hands out the registration, which also serves as local
     * operand; the core gives it to unregister_local at the end. May be called while other PEs already attach.
     * UNSUPPORTED for a kind that is not in kinds_expose: a kind one does not know is never taken for host memory.
     * REQUIRED. */
    isthmus_status (*expose)(isthmus_tr *, const struct isthmus_mem *, void *key, size_t *key_bytes,
                             isthmus_lmem **out);

    /* Attach a peer's extent. `alias`: address for loads and stores by this PE's CPU, NULL if the memory cannot be mapped
     * or the CPU cannot touch it, the own PE's too (no error). May block for the peer's progress thread, not for its calls. VERSION: the key comes from a build
     * we cannot read; NO_MEMORY: no address space or descriptors. On an error neither out-parameter is touched.
     * REQUIRED. */
    isthmus_status (*attach)(isthmus_path *, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias);
    void (*detach)(isthmus_rmem *); /* takes NULL. REQUIRED */

    /* Register memory that is only ever a local operand; see ISTHMUS_TRAIT_ANY_LOCAL. Absent: needs none. */
    isthmus_status (*register_local)(isthmus_tr *, const struct isthmus_mem *, isthmus_lmem **out);
    void (*unregister_local)(isthmus_lmem *); /* takes NULL */

    /* -- channels -- */

    /* Open this transport's part of a context and fill `ops`, whose struct_size says how much room there is: write no
     * field beyond it. thread_mode: ISTHMUS_THREAD_, ctx_options: ISTHMUS_CHANNEL_. REQUIRED. */
    isthmus_status (*channel_open)(isthmus_tr *, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                   struct isthmus_data_ops *ops);

    /* Takes NULL. The core has called local_complete and remote_commit before. REQUIRED. */
    void (*channel_close)(isthmus_chan *);

    /* -- progress -- */

    /* Do what a CPU has to do for operations under way, those that target this PE too. Never blocks. Returns how many
     * events were handled, or a negative code. 0 means that nothing has happened: with ISTHMUS_CAP_WAKES, that no peer's
     * write has come since the last call; a PE that waits goes to sleep then, and only a later call that returns more wakes
     * it. So a peer's access counts like an operation of this PE's own; a transport that cannot tell returns 1 after each
     * time that the descriptor was readable. PEER_LOST: said once, of a peer that is gone without a call of this PE
     * having told so. NO_MEMORY: a peer waits in vain for something that this PE had no memory for; the job ends. Others are
     * warned of. Absent: nothing to do. */
    int32_t (*progress)(isthmus_tr *);

    /* Hand out the descriptor on which the core's progress thread may sleep: it polls readable when progress() has work.
     * Called before every sleep, after progress(). AGAIN: there is work now, call progress first; or a caller is making
     * progress, ask a little later. The descriptor stays the plugin's; -1: nothing ever happens here without a call, and it
     * is not asked again. Absent: -1. */
    isthmus_status (*arm)(isthmus_tr *, int32_t *event_fd);

    /* -- more -- */

    /* Counters for isthmus-info: *n values, named by *names (both borrowed until close). In: *n is the room in values.
     * Absent: none. */
    isthmus_status (*counters)(isthmus_tr *, uint64_t *values, const char *const **names, size_t *n);

    /* Optional groups of slots, by name and version ("strided.1", "stream.1"): a pointer to a constant struct that
     * begins with its size; NULL: not here. Absent: none. */
    const void *(*extension)(isthmus_tr *, const char *name);
};

/* -------------------------------------------------------------------------------------------- extensions -- */

/* Something on this host that a transport works through, in words for people; the texts are borrowed until close. */
struct isthmus_device {
    uint32_t struct_size;
    uint32_t is_used; /* by this PE */
    const char *name; /* "mlx5_0:1" */
    const char *what; /* "InfiniBand, 200 Gb/s, active, NUMA node 0" */
    const char *why;  /* why this PE uses it, or not */
};

/* Extension "devices.1": what isthmus-info shows. Cold slots, callable while the transport is open. */
struct isthmus_devices {
    uint32_t struct_size, reserved;
    uint32_t (*count)(isthmus_tr *);
    void (*describe)(isthmus_tr *, uint32_t index, struct isthmus_device *out); /* index below count */
};

/* The library of another project that a transport works through; the texts are borrowed until close. */
struct isthmus_library_info {
    uint32_t struct_size, reserved;
    const char *name;    /* "UCX" */
    const char *version; /* "1.13.1", as the library reports it at run time */
    const char *file;    /* that it was loaded from */
};

/* Extension "library.1": what isthmus-info shows. A cold slot, callable while the transport is open. */
struct isthmus_library {
    uint32_t struct_size, reserved;
    void (*describe)(isthmus_tr *, struct isthmus_library_info *out);
};

/* Extension "growing.1": memory of a device whose addresses are taken once, at the size that it may reach, and which gets
 * its pages piece by piece. Cold slots. Absent: the core calls mem_alloc once, for all of it. */
struct isthmus_growing {
    uint32_t struct_size, reserved;

    /* Take addresses of this kind and device; no memory is used. length_bytes: a multiple of the granule. The memory that
     * is put there later is in this PE only at these addresses. UNSUPPORTED: not of this kind; NO_MEMORY. */
    isthmus_status (*reserve)(isthmus_tr *, uint32_t kind, int32_t device, uint64_t length_bytes, void **addr);

    /* Put zeroed memory under a part of what was reserved, where there is none yet: both numbers multiples of the granule.
     * The struct is as from mem_alloc, goes to expose(), and back with mem_free, after which memory can be put there again. */
    isthmus_status (*commit)(isthmus_tr *, void *addr, uint64_t length_bytes, struct isthmus_mem *out);

    /* Give the addresses back, all that one reserve() has taken. What was put there is freed before. */
    void (*unreserve)(isthmus_tr *, void *addr, uint64_t length_bytes);

    /* Bytes of the smallest piece, a power of two; 0: nothing grows for this kind and device. */
    uint64_t (*granule)(isthmus_tr *, uint32_t kind, int32_t device);
};

/* Extension "memory.1": the memory of this PE as a device's driver knows it. Any thread. */
struct isthmus_memory {
    uint32_t struct_size, reserved;

    /* What is at an address of this PE: kind, device, and the range that was allocated there (addr, length_bytes), `fd` -1.
     * Memory that the driver does not know is host memory, of length 0. UNSUPPORTED, and the text names it: managed memory,
     * which has no one place. `out->struct_size` is set by the caller. */
    isthmus_status (*kind_of)(isthmus_tr *, const void *addr, struct isthmus_mem *out);

    /* The ordinal of the device that this PE uses for memory of this kind; -1: none. */
    int32_t (*device)(isthmus_tr *, uint32_t kind);

    /* The address at which this PE's kernels reach what was attached. UNSUPPORTED: they cannot. */
    isthmus_status (*device_view)(const isthmus_rmem *, void **addr);

    /* Copy between any two addresses of this PE, host or device; complete on return, also what was copied to the device is
     * seen by peers that are told afterwards. The ranges do not overlap. */
    isthmus_status (*copy)(isthmus_tr *, void *dest, const void *source, size_t length_bytes);

    /* Since minor version 3: look at struct_size. */

    /* An atomic operation of this PE's device on a word of its memory, naturally aligned: all ISTHMUS_AMO_, of 32 and 64 bits
     * (ISTHMUS_BITS_). It and those of data slots exclude one another. Complete on return, the old value in *fetched unless that
     * is NULL. Absent: peers without a path to that memory have no atomics on it. */
    isthmus_status (*amo)(isthmus_tr *, void *addr, uint32_t op, uint32_t bits, uint64_t operand, uint64_t compare,
                          void *fetched);

    /* Since minor version 5: look at struct_size. */

    /* The PCI address of the device that this PE uses for memory of this kind: domain, bus, device and function in hexadecimal, as in
     * "0000:3b:00.0"; borrowed until close. NULL: it has none, or it is not known. Absent: not known. */
    const char *(*pci_address)(isthmus_tr *, uint32_t kind);

    /* Make what network adapters have written into this device's memory, past its driver, visible to the device, to copy() and to
     * other devices that reach that memory. Blocks until it is; waits for no peer. Called once for each wait that ends in a PE whose
     * memory is written so (memory_is_direct): it should take no more than a microsecond or two. Absent: such writes are visible
     * in the order in which adapters made them, together with writes to host memory. */
    isthmus_status (*flush_writes)(isthmus_tr *);
};

/* A word of 64 bits that a stream writes, or waits for; see isthmus_stream.words. */
struct isthmus_stream_word {
    const isthmus_rmem *remote; /* where it is written; NULL: it is waited for */
    uint64_t offset_bytes;      /* there */
    const uint64_t *word;       /* that is waited for, in this PE's device memory */
    uint64_t value;
};

/* Extension "stream.1": operations in the order of a queue of the program's own, on the device that this PE uses. `stream` is
 * the platform's handle (a cudaStream_t; NULL is its default stream). A call puts something into the queue and returns; it
 * happens after what was put there before, and before what is put there afterwards. Errors of calls: UNSUPPORTED, where the
 * core has a host function do it; IO, NO_MEMORY. What fails later, the platform tells who waits for the stream. Any thread. */
struct isthmus_stream {
    uint32_t struct_size, reserved;

    /* `source` and `dest`: any memory of this PE that the device reaches; borrowed until the stream has passed. */
    isthmus_status (*put)(isthmus_tr *, void *stream, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                          const void *source, size_t length_bytes);
    isthmus_status (*get)(isthmus_tr *, void *stream, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                          void *dest, size_t length_bytes);

    /* An atomic operation of 64 bits that fetches nothing: ISTHMUS_AMO_SET, ISTHMUS_AMO_ADD and the others. */
    isthmus_status (*amo)(isthmus_tr *, void *stream, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                          uint32_t op, uint64_t operand);

    /* Hold the stream until a word of 64 bits in this PE's device memory compares (ISTHMUS_COMPARE_) with value, as unsigned
     * numbers whose difference is below 2^63. */
    isthmus_status (*wait_until)(isthmus_tr *, void *stream, const uint64_t *word, uint32_t compare, uint64_t value);

    /* Have a thread of the platform's call this; it must not call the platform. */
    isthmus_status (*host_function)(isthmus_tr *, void *stream, void (*function)(void *argument), void *argument);

    /* Wait until the device has done all that was put into any queue of this process before. Blocks for as long as the
     * program's queues do. Absent: nobody waits, and the program has to, before its memory is freed. */
    isthmus_status (*complete)(isthmus_tr *);

    /* Since minor version 4: look at struct_size. Both may be NULL. */

    /* Write words and wait for words, in the order of the list and as few launches as the platform can: a word is written behind
     * all that the stream has done before, and waited for until word - value, as a signed number, is not negative. */
    isthmus_status (*words)(isthmus_tr *, void *stream, const struct isthmus_stream_word *list, uint32_t n);

    /* Is all done that was given to this channel before the call, as far as is known without asking the device? */
    uint32_t (*is_idle)(isthmus_tr *, isthmus_chan *);
};

#ifndef ISTHMUS_PLUGIN_EXPORT
#define ISTHMUS_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

/* What a plugin defines. */
extern ISTHMUS_PLUGIN_EXPORT const struct isthmus_transport isthmus_transport_v1;

#ifdef __cplusplus
}
#endif
#endif
