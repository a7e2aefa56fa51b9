/* isthmus/transport.h: the plugin ABI, version 1. A transport plugin needs nothing else of Isthmus.
 * Not the application interface: programs include shmem.h, nvshmem.h or ishmem.h.
 * Read on in writing-a-transport.md, in share/doc/isthmus of an installation; its example is a complete plugin.
 *
 * A plugin is a shared object that exports exactly one symbol, `isthmus_transport_v1`: a constant table of
 * functions. The core loads the plugin, checks its table, calls reach() for each peer, and issues to it the remote
 * accesses for which it is the best choice. A plugin links with no library of Isthmus.
 *
 * Rules that hold for every slot
 *   Versions   The major version is part of the symbol's name. Everything else grows at the end: check
 *              `struct_size` before you read a struct that the other side made. Slots are never reordered, reused
 *              or given another meaning. Unknown enum values mean "not supported".
 *   Absent     A slot that is NULL, or lies beyond struct_size, is absent. The core then uses the emulation
 *              named at the slot. Slots marked REQUIRED must be there or the plugin is refused.
 *   Errors     0, or a negative ISTHMUS_ERR_ code whose text was given to services->fail(). A plugin never
 *              prints, exits, aborts, installs signal handlers or changes the environment.
 *   Ownership  Buffers of the caller (cards, keys, texts) are borrowed for the call. Objects returned belong
 *              to the plugin until the matching close. File descriptors are borrowed: duplicate those you keep.
 *              An out-parameter is written only on success.
 *   Threads    Cold slots (life, peers, memory, channels): any thread, one at a time per transport (but see
 *              ISTHMUS_TRAIT_PATHS_AT_ONCE), may block.
 *              Data and order slots: one caller per channel at a time, unless the channel was opened with
 *              ISTHMUS_THREAD_SHARED; different channels run at once. progress() may run beside all of them.
 *   Callbacks  A plugin calls nothing in the core except the services.
 */
#ifndef ISTHMUS_TRANSPORT_H
#define ISTHMUS_TRANSPORT_H

#include <isthmus/amo_op.h>
#include <isthmus/collective.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ISTHMUS_ABI_MAJOR 1
#define ISTHMUS_ABI_MINOR 6

/* ---------------------------------------------------------------------------------------------- status -- */

typedef int32_t isthmus_status; /* 0, or one of these; grouped by what the caller can do about it */

enum {
    ISTHMUS_OK = 0,
    ISTHMUS_ERR_AGAIN = -1,       /* nothing was started; call progress and try again. Never logged */
    ISTHMUS_ERR_UNSUPPORTED = -2, /* this transport or machine cannot do it, and never will */
    ISTHMUS_ERR_INVALID = -3,     /* the caller broke the contract; nothing was done */
    ISTHMUS_ERR_NO_MEMORY = -4,   /* memory, address space or descriptors ran out; release some, try again */
    ISTHMUS_ERR_NO_DEVICE = -5,   /* the hardware or its driver is not here */
    ISTHMUS_ERR_PERMISSION = -6,  /* the system or the peer denies access */
    ISTHMUS_ERR_UNREACHABLE = -7, /* there is no path to that peer */
    ISTHMUS_ERR_PEER_LOST = -8,   /* the peer was reachable and is lost; the job cannot continue */
    ISTHMUS_ERR_IO = -9,          /* the fabric or the system failed in a way not named above */
    ISTHMUS_ERR_LIMIT = -10,      /* a given buffer is too small; the size needed has been written */
    ISTHMUS_ERR_VERSION = -11,    /* the other side is of a version that this side cannot read */
    ISTHMUS_ERR_REFUSED = -12     /* the peer, which lives, refused an access: address or key. Since minor version 5 */
};

/* ------------------------------------------------------------------------------------- words and numbers -- */

/* kinds of memory; bitmaps of kinds are 1u << kind. New kinds are added at the end */
enum { ISTHMUS_MEM_HOST = 0, ISTHMUS_MEM_CUDA = 1, ISTHMUS_MEM_ZE = 2, ISTHMUS_MEM_HIP = 3 };

/* domain: the agent that executes atomics on a location. Operations of two agents are not atomic to each other.
 * NIC: the target's network adapter for words of 64 bits. The CPU executes narrower ones: an adapter would write all
 * 64 bits, and a store beside the operand meanwhile would be lost */
enum {
    ISTHMUS_DOMAIN_NONE = 0, /* this transport executes no atomics at that peer; no job starts with it alone */
    ISTHMUS_DOMAIN_CPU = 1,  /* processor instructions on coherent host memory */
    ISTHMUS_DOMAIN_NIC = 2,  /* the target's network adapter */
    ISTHMUS_DOMAIN_GPU = 3   /* the target's GPU */
};

/* visibility: which PEs see an update once remote_commit has returned */
enum {
    ISTHMUS_VISIBLE_OWNER = 0,   /* the PE that owns the memory, after it synchronised with the initiator */
    ISTHMUS_VISIBLE_EVERYONE = 1 /* every PE */
};

/* capabilities: what is guaranteed towards one peer. WAKES, since minor version 5: a peer's write into host memory of
 * this PE (put, atomic, notify) wakes this PE: after arm() its descriptor polls readable, and progress() counts the
 * write. A waiting PE then sleeps; without WAKES it polls its variable. A PE does not know which peer will end its
 * wait, so the bit is the same for all peers but the own PE, and unset if it would be unset for one */
enum {
    ISTHMUS_CAP_ALIAS = 1 << 0,     /* attach() returns an alias: plain loads and stores reach the peer's memory */
    ISTHMUS_CAP_ORDERED = 1 << 1,   /* puts to one peer arrive in the order of the calls: fence is free */
    ISTHMUS_CAP_NO_TARGET = 1 << 2, /* operations complete although the target makes no call and no progress */
    ISTHMUS_CAP_WAKES = 1 << 3      /* writes of peers wake this PE */
};

/* scopes: the peers that a transport serves. The core opens it only if the job may need one of its scopes */
enum {
    ISTHMUS_SCOPE_SELF = 1 << 0,
    ISTHMUS_SCOPE_HOST = 1 << 1,    /* other PEs on this host */
    ISTHMUS_SCOPE_NETWORK = 1 << 2, /* PEs on other hosts */
    ISTHMUS_SCOPE_DEVICE = 1 << 3   /* device memory, in a job that may have any. Since minor version 2 */
};

/* traits: what is true of the transport as a whole.
 * SPARSE          expose() costs nothing per byte and accepts memory that has no pages yet: the core exposes a segment
 *                 once, at its full reserved size
 * ANY_LOCAL       register_local() accepts addr NULL and length 0, for each kind in kinds_local but the host's: the
 *                 registration then serves all operands of that kind that have none of their own. Since minor version 3
 * PATHS_AT_ONCE   path_open() and attach() may run for different peers at once, and beside other cold slots: while one
 *                 waits for a network, threads that use other peers for the first time go on. Since minor version 5 */
enum {
    ISTHMUS_TRAIT_SPARSE = 1 << 0,       /* expose() of a whole segment */
    ISTHMUS_TRAIT_ANY_LOCAL = 1 << 1,    /* one registration for a kind of memory */
    ISTHMUS_TRAIT_PATHS_AT_ONCE = 1 << 2 /* concurrent cold slots */
};

/* how a channel will be called */
enum {
    ISTHMUS_THREAD_ONE = 0,   /* one caller at a time */
    ISTHMUS_THREAD_SHARED = 1 /* any number of callers at a time */
};

/* ctx_options of channel_open; a transport may ignore each of them.
 * NOSTORE  order slots need not order plain stores through an alias
 * PROXY    with ISTHMUS_THREAD_ONE: the channel's one caller polls. Its data slots, poll among them, make all the
 *          progress that the channel's operations need of this PE: progress() leaves the channel alone, so that a
 *          transport can give it a worker of its own that has no lock. What the channel has started goes on only in
 *          calls of its caller. What peers need of this PE still goes by progress(). Since minor version 5 */
enum { ISTHMUS_CHANNEL_NOSTORE = 1 << 0, ISTHMUS_CHANNEL_PROXY = 1 << 1 };

/* operand types of atomics, isthmus/amo_op.h. Signed and unsigned integers, pointers and floating point of one width
 * are one type here: every operation that exists for them is the same on their bits */
enum { ISTHMUS_BITS8 = 0, ISTHMUS_BITS16 = 1, ISTHMUS_BITS32 = 2, ISTHMUS_BITS64 = 3, ISTHMUS_BITS_COUNT = 4 };

/* flags of amo_entry */
enum {
    ISTHMUS_AMO_FETCHING = 1 << 0, /* the function stores the old value in *fetched */
    ISTHMUS_AMO_NBI = 1 << 1       /* may return before the operation is complete; *fetched is valid, and the
                                      operation complete at the source, after local_complete. Never blocks, unless
                                      the function is that without this flag. AGAIN: nothing was started */
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

/* The longest key that expose() may write. Cores up to ABI 1.4 have room for 256 bytes, and pass that in *key_bytes. */
enum { ISTHMUS_KEY_MAX_BYTES = 1024 };

/* ---------------------------------------------------------------------------------- structs of both sides -- */

/* A struct that crosses this interface begins with struct_size: its size where it was made, which may be older or newer
 * than this build. These three helpers are the only code that has to know that, in plugins and in the core. */

/* Nonzero if a struct that the other side made has this field, and the field is neither 0 nor NULL. Evaluates `theirs`
 * several times. */
#define ISTHMUS_HAS(theirs, field)                                                                       \
    ((theirs)->struct_size >= (size_t)((const char *)(&(theirs)->field + 1) - (const char *)(theirs)) && \
     (theirs)->field)

/* Fills a struct of the other side, as far as that has room, with the fields of `value`. The struct keeps its
 * struct_size, which `value` does not have to set; its fields that this build does not know stay as they are. */
static inline void isthmus_write_out(void *theirs, const void *value, size_t value_bytes)
{
    uint32_t room_bytes;
    memcpy(&room_bytes, theirs, sizeof room_bytes);
    size_t n_bytes = room_bytes < value_bytes ? room_bytes : value_bytes;
    if (n_bytes <= sizeof room_bytes) return;
    memcpy((char *)theirs + sizeof room_bytes, (const char *)value + sizeof room_bytes, n_bytes - sizeof room_bytes);
}

/* Copies a struct of the other side, with its struct_size. Fields of `out` that the other side does not have become 0
 * or NULL; those that this build does not know are left out. */
static inline void isthmus_read_in(void *out, size_t out_bytes, const void *theirs)
{
    uint32_t their_bytes;
    memcpy(&their_bytes, theirs, sizeof their_bytes);
    memset(out, 0, out_bytes);
    memcpy(out, theirs, their_bytes < out_bytes ? their_bytes : out_bytes);
}

/* ------------------------------------------------------------------------------------------------ objects -- */

/* The plugin's own objects. The core keeps pointers to them and never dereferences them. */
typedef struct isthmus_tr isthmus_tr;     /* the opened transport */
typedef struct isthmus_path isthmus_path; /* from this PE to one peer */
typedef struct isthmus_chan isthmus_chan; /* this transport's part of one context */
typedef struct isthmus_lmem isthmus_lmem; /* local memory, registered */
typedef struct isthmus_rmem isthmus_rmem; /* a peer's extent, attached */

/* The host on which a PE runs. Equal bytes: the same kernel and the same network namespace, so that shared memory and
 * abstract sockets reach from one to the other. Host names are not used: two containers may share one. */
struct isthmus_host_id {
    uint8_t bytes[24];
};

/* A peer, as the core passes it to reach() and path_open(); borrowed for the call. */
struct isthmus_peer {
    uint32_t struct_size;
    int32_t pe; /* number in the world team */
    const struct isthmus_host_id *host;
    const char *host_name; /* for messages only */
    const void *card;      /* the bytes that the peer's card() wrote */
    size_t card_bytes;

    /* Since minor version 3: check struct_size. */
    uint32_t kind, reserved; /* ISTHMUS_MEM_: the kind of memory for which the core calls reach(); before: any */
};

/* A range of memory of one kind. */
struct isthmus_mem {
    uint32_t struct_size;
    uint32_t kind;  /* ISTHMUS_MEM_ */
    int32_t device; /* ordinal of the device, -1 for host memory */
    int32_t fd;     /* descriptor that maps the memory (memfd, dma-buf), borrowed; -1: there is none */
    void *addr;     /* in this PE */
    uint64_t length_bytes;
    uint64_t fd_offset_bytes; /* of addr, in the object that fd describes */
};

/* A PE of this host, and the NUMA node to whose processors it is bound; -1: to none, or to several. */
struct isthmus_local_pe {
    int32_t pe, numa_node;
};

/* The same, and the device that holds the PE's heap. Since minor version 5. In a list, each entry is struct_size bytes
 * long, which may be more than this build knows: step with isthmus_local_place_at(). */
struct isthmus_local_place {
    uint32_t struct_size;
    int32_t pe, numa_node;
    uint32_t kind;           /* ISTHMUS_MEM_, of the PE's heap on a device; ISTHMUS_MEM_HOST: it has no such heap */
    const char *pci_address; /* of that device, as in /sys/bus/pci/devices: "0000:3b:00.0"; NULL: none, or unknown */
};

static inline const struct isthmus_local_place *isthmus_local_place_at(const struct isthmus_local_place *list,
                                                                       uint32_t index)
{
    return (const struct isthmus_local_place *)(const void *)((const char *)list + (size_t)index * list->struct_size);
}

/* An atomic operation that fetches nothing; see isthmus_memory.amo_list. */
struct isthmus_memory_amo {
    void *addr;
    uint64_t operand, compare;
    uint32_t op, bits; /* ISTHMUS_AMO_, ISTHMUS_BITS_ */
};

/* Core to plugin, at probe and open. Valid until close() has returned; any thread may call any function. */
struct isthmus_services {
    uint32_t struct_size, abi_minor;
    void *core; /* first argument of every call below */

    /* One line, lower case, no full stop, no newline. Below the user's level it costs a comparison. */
    void (*log)(void *core, uint32_t level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

    /* Stores the text of a failure for the core's report, and returns code: `return s->fail(s->core, CODE, ...)`.
     * The function that detects the failure calls this, once; its callers pass the code on. */
    isthmus_status (*fail)(void *core, isthmus_status code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

    /* Returns the value of the variable ISTHMUS_<NAME OF THE TRANSPORT>_<KEY>, or NULL if it is not set. Borrowed until
     * close. Key HCA: if that is not set, the value of ISTHMUS_HCA, which applies to all transports that have adapters.
     * Key ATOMICS: always the value of ISTHMUS_ATOMICS, one for the job: if it is "nic", a transport that can choose
     * the agent of its atomics takes the adapter. Key PULSE_TIMEOUT: always the value of ISTHMUS_PULSE_TIMEOUT, in
     * seconds; 0: the core does not detect PEs that have stopped. Key PLUGIN_PATH: that of ISTHMUS_PLUGIN_PATH. */
    const char *(*config)(void *core, const char *key);

    int32_t my_pe, n_pes;
    const struct isthmus_host_id *host; /* this PE's host */

    /* Since minor version 1: check struct_size. */

    /* Returns the PEs on this host, including this one, in ascending order; borrowed until close. All of them get the
     * same list, so each can compute how they share the host's devices. In open() only; blocks until these PEs have
     * begun to start. */
    isthmus_status (*local_pes)(void *core, const struct isthmus_local_pe **list, uint32_t *n);

    /* "Did you mean": returns the candidate that is nearest to a name that a user gave, or NULL if none is near. */
    const char *(*nearest_name)(void *core, const char *name, const char *const *candidates, size_t n);

    /* Since minor version 2. */

    /* The number of PEs on this host, including this one, from the launcher; 0 at probe. If it is below n_pes, the job
     * has other hosts. */
    int32_t n_local_pes, reserved;

    /* Since minor version 3. For transports that stage device memory of this PE in host memory: the core forwards the
     * call to the transport that allocated the memory. Any thread. UNSUPPORTED: no transport handles that kind of
     * memory, or the one that does cannot do this. */

    /* Copies, as in extension memory.1; one address or both lie in memory of `kind`. */
    isthmus_status (*memory_copy)(void *core, uint32_t kind, void *dest, const void *source, size_t length_bytes);

    /* Executes an atomic operation on that device, as in extension memory.1, but also of 8 and 16 bits. */
    isthmus_status (*memory_amo)(void *core, uint32_t kind, void *addr, uint32_t op, uint32_t bits, uint64_t operand,
                                 uint64_t compare, void *fetched);

    /* Pins host memory for fast copies from and to memory of `kind`, until unpin. Sets *out to NULL if nothing has to
     * be pinned. In cold slots only. */
    isthmus_status (*memory_pin)(void *core, uint32_t kind, void *addr, uint64_t length_bytes, isthmus_lmem **out);
    void (*memory_unpin)(void *core, uint32_t kind, isthmus_lmem *pinned); /* accepts NULL */

    /* Returns the text that this thread last gave to fail(), for the reply to a peer whose request failed here.
     * Borrowed until the next fail() of this thread. */
    const char *(*fail_text)(void *core);

    uint64_t scopes; /* ISTHMUS_SCOPE_, that this job may need; the same on all PEs but for HOST. 0 at probe */

    /* A slot calls this about four times a second while it waits for a reply of a PE, or returns AGAIN for want of it,
     * where that is not what the slot is for: in a cold slot, or until a peer has connected. Reports of a job that
     * hangs then name the wait. Ends the job, and does not return, if a PE of this host has been stopped for longer
     * than ISTHMUS_PULSE_TIMEOUT. Not at probe. */
    void (*still_waits)(void *core);

    /* Since minor version 5. */

    /* local_pes with the devices: returns the PEs on this host, including this one, in ascending order; borrowed until
     * close. All of them get the same list. In open() only; blocks until these PEs have opened their transports with
     * ISTHMUS_SCOPE_DEVICE, which the core opens first. UNSUPPORTED: called by such a transport, or at probe. */
    isthmus_status (*local_places)(void *core, const struct isthmus_local_place **list, uint32_t *n);

    /* Announces that an adapter writes memory of `kind` of this PE past its device's driver (GPUDirect RDMA): into an
     * exposed extent, or into an operand of a get. Such writes and a flag in other memory take different routes, so the
     * flag may become visible first; from now on, waits of this PE that end on the CPU, waits of kernels (device.1) and
     * completed gets flush the writes (flush_writes in extension memory.1). expose() and register_local() call this
     * before they return. Not for memory that is copied by memory_copy. */
    void (*memory_is_direct)(void *core, uint32_t kind);

    /* Returns 0 if a PE of the job has ended or left, as far as the core can detect it, else 1. A slot that waits for a
     * peer over a fabric without connections calls this about four times a second, and returns PEER_LOST after a 0. Any
     * thread. */
    uint32_t (*peer_alive)(void *core, int32_t pe);

    /* Since minor version 6. */

    /* Executes atomic operations that fetch nothing on that device, as amo_list of extension memory.1 does, but also of
     * 8 and 16 bits; by memory_amo, one after the other, where that is absent. Any thread. */
    isthmus_status (*memory_amo_list)(void *core, uint32_t kind, const struct isthmus_memory_amo *list, uint32_t n);
};

/* Plugin to core, once: what this transport supports at all. Bitmaps of kinds are 1u << ISTHMUS_MEM_. */
struct isthmus_traits {
    uint32_t struct_size;
    uint32_t kinds_alloc;     /* mem_alloc can make it */
    uint32_t kinds_expose;    /* expose takes it */
    uint32_t kinds_attach;    /* attach takes a peer's */
    uint32_t kinds_local;     /* the local operand of data slots may lie in it */
    uint32_t card_max_bytes;  /* card() never writes more */
    uint32_t key_max_bytes;   /* expose() never writes more; at most ISTHMUS_KEY_MAX_BYTES */
    uint32_t shared_channels; /* 1: channel_open accepts ISTHMUS_THREAD_SHARED; 0: the core serializes with a lock */
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
    const char *how; /* that memory is reached, as text for isthmus-info; borrowed until close; may be NULL */
};

/* ------------------------------------------------------------------------------------------------ data ---- */

/* One atomic operation on a peer's memory.
 * remote_offset_bytes  from the start of the extent, naturally aligned
 * operand, compare     in the low bits; compare only for COMPARE_SWAP
 * fetched              receives the old value, as wide as the type; NULL unless amo_entry() got FETCHING
 * Without NBI, a fetching function returns when *fetched is valid, any other when the operation is complete at the
 * source; the update itself may happen later, until remote_commit. */
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

    /* The update: an atomic operation that fetches nothing, as a function from amo_entry executes it. The word may lie
     * in another extent than the data, and never lies within the data. */
    const isthmus_rmem *signal;
    uint64_t signal_offset_bytes; /* naturally aligned */
    uint64_t value;
    uint32_t op, reserved; /* ISTHMUS_AMO_SET or ISTHMUS_AMO_ADD */
};

/* Hot. Filled by channel_open; the core completes it and keeps a copy by value.
 * Common to put and get: `length_bytes` is at least 1, the range lies inside the attached extent, `*_mem` is the
 * registration that holds the local buffer (with ISTHMUS_TRAIT_ANY_LOCAL perhaps that of its kind), or NULL if that
 * buffer is unregistered host memory.
 * Errors: AGAIN (only the nbi forms), PEER_LOST, REFUSED, IO. */
struct isthmus_data_ops {
    uint32_t struct_size, reserved;

    /* Returns when `source` may be reused. REQUIRED. */
    isthmus_status (*put)(isthmus_chan *, isthmus_path *, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                          const void *source, const isthmus_lmem *source_mem, size_t length_bytes);

    /* Never blocks; `source` is borrowed until local_complete. AGAIN: nothing was started, but what the call has to
     * come after may have been: calls that are repeated, with progress between them, lead to the end. Absent: put. */
    isthmus_status (*put_nbi)(isthmus_chan *, isthmus_path *, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                              const void *source, const isthmus_lmem *source_mem, size_t length_bytes);

    /* Returns when `dest` holds the data. REQUIRED. */
    isthmus_status (*get)(isthmus_chan *, isthmus_path *, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                          void *dest, const isthmus_lmem *dest_mem, size_t length_bytes);

    /* Never blocks; `dest` holds the data after local_complete. AGAIN: nothing was started. Absent: get. */
    isthmus_status (*get_nbi)(isthmus_chan *, isthmus_path *, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                              void *dest, const isthmus_lmem *dest_mem, size_t length_bytes);

    /* Returns the function for one (ISTHMUS_AMO_, ISTHMUS_BITS, flags), or NULL if there is none. The core calls this
     * once for each, at set-up, and keeps the function. A transport executes in one domain only (struct isthmus_reach):
     * an atomic set is not a plain write, a fetch not a plain read. Where the domain is CPU, the target's CPU executes
     * the operations that have no function.
     * Absent: this transport carries no atomics. */
    isthmus_amo_fn (*amo_entry)(isthmus_chan *, uint32_t op, uint32_t bits, uint32_t flags);

    /* Order. They are for the operations of this channel, whichever threads issued them, towards the PE of `path`, or
     * (NULL) towards all PEs. Those of other channels, and towards other PEs, may be covered as well. They may block
     * and make progress inside.
     * fence           operations issued to a PE before it arrive there before those issued after it. REQUIRED if both
     *                 other slots are there; absent: the core calls the one of them that is there, or nothing
     * local_complete  all earlier operations are complete at the source: buffers reusable, fetched values there. No
     *                 network round trip beyond what those need. Absent: every operation was complete on return
     * remote_commit   all that is locally complete is visible, as isthmus_reach.visibility states. Absent: always
     *                 so */
    isthmus_status (*fence)(isthmus_chan *, isthmus_path *path);
    isthmus_status (*local_complete)(isthmus_chan *, isthmus_path *path);
    isthmus_status (*remote_commit)(isthmus_chan *, isthmus_path *path);

    /* Writes one aligned word after all earlier puts of this channel to that PE: fence and put in one, for a sender
     * that learns from a reply that the word has arrived. `value` is copied before the call returns. remote_commit of
     * all paths does not wait for the word, remote_commit of its path does. Absent: fence and put. */
    isthmus_status (*notify)(isthmus_chan *, isthmus_path *, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                             uint64_t value);

    /* Since minor version 5. A put and a signal: once the update is visible, so is the data of the same call. The call
     * orders no other operation, and a fence orders it as one operation. Without NBI it returns when `source` may
     * be reused. The core calls it only where this transport carries puts and atomics to both extents. AGAIN (with
     * NBI only) and UNSUPPORTED: nothing was started; after UNSUPPORTED, which needs no text, the core executes this
     * call as if the slot were absent, so a transport may decline lengths and memory for which one operation is no
     * cheaper. Absent: put, fence, atomic operation. */
    isthmus_status (*put_signal)(isthmus_chan *, isthmus_path *, const struct isthmus_put_signal *what);

    /* Since minor version 5: a commit without a wait. Both slots are there, or neither.
     * commit_start  begins what local_complete and remote_commit do together, for all operations that the channel has
     *               issued before, towards one PE or (path NULL) all. Never waits for a peer. Writes a ticket, which is
     *               not 0; those of one channel never fall. Orders nothing: operations issued later may overtake.
     *               AGAIN: nothing was started, because other commits of the channel are under way; test their
     *               tickets first. NO_MEMORY: likewise
     * commit_test   OK: that commit is complete, and so are all that the channel began before it towards the same PEs.
     *               AGAIN: it is not. Never waits, and makes progress, so repeated calls alone lead to the end. A
     *               ticket that has once been complete stays so
     * A ticket is tested until it is complete, unless remote_commit of all paths is called: that completes all commits
     * which the channel began before. Other slots may be called meanwhile. Errors of both: PEER_LOST, IO; the ticket is
     * not tested again. One caller of the channel at a time, as for all data slots; with ISTHMUS_THREAD_SHARED any
     * thread may test a ticket.
     * Absent: local_complete and remote_commit, which block. The core then calls them in a thread of their own where
     * nothing may wait. */
    isthmus_status (*commit_start)(isthmus_chan *, isthmus_path *path, uint64_t *ticket);
    isthmus_status (*commit_test)(isthmus_chan *, uint64_t ticket);

    /* Since minor version 5. Makes the progress that operations of this channel need of this PE now; never waits.
     * Returns the number of events handled, or PEER_LOST or IO. A caller that has got AGAIN, and the caller of a
     * channel with ISTHMUS_CHANNEL_PROXY, call it until the operations are complete. One caller as for the other
     * slots. Absent: progress() is enough. */
    int32_t (*poll)(isthmus_chan *);

    /* Since minor version 6: short puts that share messages. Both slots are there, or neither.
     * put_more  as put, but the transport may keep the data back, to send it together with that of later calls; it
     *           never waits for a peer unless a fence came before. `source` may be reused on return. fence,
     *           local_complete and remote_commit cover the put like any other. UNSUPPORTED, which needs no text:
     *           nothing was started; the core calls put or put_nbi, so a transport declines what is cheaper alone.
     *           Never AGAIN
     * post      starts all that put_more has kept back on this channel; so do remote_commit and commit_start, for the
     *           PEs that they cover. Never waits for a peer
     * Absent: the core calls put or put_nbi for each. */
    isthmus_status (*put_more)(isthmus_chan *, isthmus_path *, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                               const void *source, const isthmus_lmem *source_mem, size_t length_bytes);
    isthmus_status (*post)(isthmus_chan *);
};

/* --------------------------------------------------------------------------------------- the transport ---- */

/* The one exported object. Constant; may be read by several processes and threads. */
struct isthmus_transport {
    uint32_t struct_size; /* sizeof(struct isthmus_transport) where the plugin was compiled */
    uint32_t abi_minor;   /* ISTHMUS_ABI_MINOR there; for messages only */
    const char *name;     /* lower case letters and digits, as in ISTHMUS_TRANSPORTS; at most 15 characters */
    const char *version;  /* of the plugin, for messages */
    uint64_t scopes;      /* ISTHMUS_SCOPE_: the peers for which the core opens it */

    /* -- life -- */

    /* Returns OK if this transport can run on this machine. Fast and without side effects: opens no device, starts no
     * thread, makes no connection. On an error, fail() has got the reason in one sentence ("no CUDA driver:
     * libcuda.so.1: cannot open shared object file"). Absent: it can always run. */
    isthmus_status (*probe)(const struct isthmus_services *services);

    /* Opens the transport, ready for card(). `services` stays valid until close. After an error the core does not call
     * close. REQUIRED. */
    isthmus_status (*open)(const struct isthmus_services *services, isthmus_tr **out);

    /* The core has closed all paths, channels and memory before. Cannot fail; waits for no peer. REQUIRED. */
    void (*close)(isthmus_tr *);

    /* States what the transport supports. The core calls it once, right after open. REQUIRED. */
    isthmus_status (*describe)(isthmus_tr *, struct isthmus_traits *out);

    /* -- peers -- */

    /* Writes the bytes that a peer needs to reach this PE. *length_bytes: in, the room; out, the bytes written. The
     * card is position independent; a peer may be of another build. LIMIT: the room is too small, *length_bytes is the
     * size needed. Absent: an empty card. */
    isthmus_status (*card)(isthmus_tr *, void *buf, size_t *length_bytes);

    /* Returns OK if this PE reaches the peer, and writes how well. No communication, no allocation; the same result on
     * every call, and symmetrical: both PEs must compute the same result for each other. UNREACHABLE: fail() has got
     * the reason. The core calls it for the own PE too. REQUIRED. */
    isthmus_status (*reach)(isthmus_tr *, const struct isthmus_peer *peer, struct isthmus_reach *out);

    /* Opens the path to a peer. The core calls it on first use, never at start-up. May wait for the peer's progress
     * thread, not for a call of the peer's program. Errors: PEER_LOST, UNREACHABLE, NO_MEMORY. REQUIRED. */
    isthmus_status (*path_open)(isthmus_tr *, const struct isthmus_peer *peer, isthmus_path **out);

    /* Accepts NULL. The core has detached every extent attached through the path. The peer may be lost. REQUIRED. */
    void (*path_close)(isthmus_path *);

    /* -- memory -- */

    /* Allocates memory of a kind that describe() named in kinds_alloc, for the symmetric heap. The core sets
     * `out->struct_size`, and passes the same struct to mem_free. Absent: kinds_alloc must be 0. */
    isthmus_status (*mem_alloc)(isthmus_tr *, uint32_t kind, int32_t device, uint64_t length_bytes,
                                struct isthmus_mem *out);
    void (*mem_free)(isthmus_tr *, const struct isthmus_mem *);

    /* Makes an extent of this PE's symmetric memory reachable. Writes the key with which peers attach it (*key_bytes:
     * in, the room; out, the bytes written) and returns the registration, which also serves as local operand; the core
     * passes it to unregister_local at the end. May be called while other PEs already attach. Extents of host memory
     * may overlap: each has a key and a registration of its own, and the others stay when one ends. UNSUPPORTED: the
     * kind is not in kinds_expose; never take an unknown kind for host memory. REQUIRED. */
    isthmus_status (*expose)(isthmus_tr *, const struct isthmus_mem *, void *key, size_t *key_bytes,
                             isthmus_lmem **out);

    /* Attaches a peer's extent. `alias`: address for loads and stores by this PE's CPU, or NULL (no error) if the
     * memory cannot be mapped or the CPU cannot access it, which holds for the own PE's extents too. May wait for the
     * peer's progress thread, not for a call of its program. VERSION: this build cannot read the key; NO_MEMORY: no
     * address space or descriptors. On an error neither out-parameter is written. REQUIRED. */
    isthmus_status (*attach)(isthmus_path *, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias);
    void (*detach)(isthmus_rmem *); /* all operations on the extent are committed. Accepts NULL. REQUIRED */

    /* Registers memory that is only a local operand; see ISTHMUS_TRAIT_ANY_LOCAL. Absent: operands need no
     * registration. */
    isthmus_status (*register_local)(isthmus_tr *, const struct isthmus_mem *, isthmus_lmem **out);
    void (*unregister_local)(isthmus_lmem *); /* accepts NULL */

    /* -- channels -- */

    /* Opens this transport's part of a context and fills `ops`, whose struct_size is the room: write no field beyond
     * it. thread_mode: ISTHMUS_THREAD_, ctx_options: ISTHMUS_CHANNEL_. REQUIRED. */
    isthmus_status (*channel_open)(isthmus_tr *, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                   struct isthmus_data_ops *ops);

    /* Accepts NULL. The core has called local_complete and remote_commit before. REQUIRED. */
    void (*channel_close)(isthmus_chan *);

    /* -- progress -- */

    /* Does the CPU's share of operations under way, including those that target this PE. Never blocks. Returns the
     * number of events handled, or a negative code. 0 means that nothing has happened: with ISTHMUS_CAP_WAKES, that no
     * write of a peer has arrived since the last call; a waiting PE then sleeps until a later call returns more than 0.
     * So an access by a peer counts like an operation of this PE; a transport that cannot detect such accesses returns
     * 1 each time after the descriptor was readable. PEER_LOST: returned once for each lost peer that no call of this
     * PE has reported. NO_MEMORY: a peer waits in vain because this PE had no memory for its request; the job ends. The
     * core logs other errors as warnings. Absent: nothing to do. */
    int32_t (*progress)(isthmus_tr *);

    /* Returns the descriptor on which the core's progress thread may sleep: it polls readable when progress() has work.
     * The core calls this before every sleep, after progress(). AGAIN: there is work now, call progress first; or a
     * caller is making progress, call again a little later. The plugin keeps the descriptor. -1: this transport never
     * has work without a call, and the core does not call arm again. A fabric without a descriptor returns that of a
     * timer (timerfd_create), which each call of arm sets anew: it polls readable once progress() is due, at most a
     * thousand times a second. Absent: -1. */
    isthmus_status (*arm)(isthmus_tr *, int32_t *event_fd);

    /* -- more -- */

    /* Returns counters for isthmus-info: *n values, named by *names (both borrowed until close). *n: in, the room in
     * values; out, their number. Absent: none. */
    isthmus_status (*counters)(isthmus_tr *, uint64_t *values, const char *const **names, size_t *n);

    /* Returns an optional group of slots by name and version ("memory.1", "stream.1"), a constant struct that begins
     * with its size, or NULL if the plugin does not have it. Absent: none. */
    const void *(*extension)(isthmus_tr *, const char *name);
};

/* -------------------------------------------------------------------------------------------- extensions -- */

/* The core reads the groups once, right after describe(). A slot that may be absent states what the core does then. A
 * group that lacks any other slot is not used. */

/* A device of this host that a transport uses or could use, as text for users; borrowed until close. */
struct isthmus_device {
    uint32_t struct_size;
    uint32_t is_used; /* by this PE */
    const char *name; /* "mlx5_0:1" */
    const char *what; /* "InfiniBand, 200 Gb/s, active, NUMA node 0" */
    const char *why;  /* why this PE uses it, or not */

    /* Since minor version 6. Of memory on a device that is not used: how the used one accesses it. */
    uint32_t access; /* ISTHMUS_DEVICE_ACCESS_ */
    uint32_t reserved_access;
};

enum {
    ISTHMUS_DEVICE_ACCESS_UNKNOWN = 0, /* or it has no memory; so it is with the used one */
    ISTHMUS_DEVICE_ACCESS_NONE = 1,
    ISTHMUS_DEVICE_ACCESS_DATA = 2, /* not with atomics */
    ISTHMUS_DEVICE_ACCESS_ALL = 3
};

/* Extension "devices.1": the devices that isthmus-info lists. Cold slots, callable while the transport is open. */
struct isthmus_devices {
    uint32_t struct_size, reserved;
    uint32_t (*count)(isthmus_tr *);
    void (*describe)(isthmus_tr *, uint32_t index, struct isthmus_device *out); /* index below count */
};

/* The library of another project that a transport uses; the texts are borrowed until close. */
struct isthmus_library_info {
    uint32_t struct_size, reserved;
    const char *name;    /* "UCX" */
    const char *version; /* "1.13.1", as the library reports it at run time */
    const char *file;    /* from which it was loaded */
};

/* Extension "library.1": the library that isthmus-info names. A cold slot, callable while the transport is open. */
struct isthmus_library {
    uint32_t struct_size, reserved;
    void (*describe)(isthmus_tr *, struct isthmus_library_info *out);
};

/* Extension "growing.1": device memory whose addresses are reserved once, at its largest size, and which gets its pages
 * piece by piece. Cold slots. Absent: the core calls mem_alloc once, for the largest size. */
struct isthmus_growing {
    uint32_t struct_size, reserved;

    /* Reserves addresses for memory of this kind and device; uses no memory. length_bytes: a multiple of the granule.
     * Memory that is committed there later has no other address in this PE. Errors: UNSUPPORTED, memory of this kind
     * cannot grow; NO_MEMORY. */
    isthmus_status (*reserve)(isthmus_tr *, uint32_t kind, int32_t device, uint64_t length_bytes, void **addr);

    /* Commits zeroed memory to a part of a reservation that has none yet; both numbers are multiples of the granule.
     * The struct is as from mem_alloc: the core passes it to expose(), and to mem_free, after which that part can be
     * committed again. */
    isthmus_status (*commit)(isthmus_tr *, void *addr, uint64_t length_bytes, struct isthmus_mem *out);

    /* Releases all addresses of one reserve(). The core has freed the memory committed there before. */
    void (*unreserve)(isthmus_tr *, void *addr, uint64_t length_bytes);

    /* Returns the bytes of the smallest piece, a power of two, or 0 if memory of this kind and device cannot grow. */
    uint64_t (*granule)(isthmus_tr *, uint32_t kind, int32_t device);

    /* Since minor version 5: check struct_size. */

    /* Attaches a peer's extent at `addr`, a multiple of the granule: in a reservation of this PE, where from there to
     * the extent's length nothing is committed or attached. It is as from attach(), without an alias, and `addr` is its
     * device_view(). detach() leaves the addresses reserved: others can be attached there.
     * The core so attaches all pieces of a peer's heap at one distance from its own heap, also those that the heap
     * grows by later: kernels add one number to a symmetric address. UNSUPPORTED, with a text: the extent cannot lie
     * there (one of the own PE, or a part of a larger memory); the core calls attach(). Other errors as of attach().
     * Absent: attach(), and kernels reach a heap that grows through the host. */
    isthmus_status (*attach_at)(isthmus_path *, const void *key, size_t key_bytes, void *addr, isthmus_rmem **out);
};

/* Extension "memory.1": the memory of this PE as a device's driver manages it. Any thread. */
struct isthmus_memory {
    uint32_t struct_size, reserved;

    /* Describes the memory at an address of this PE: kind, device, and the range that was allocated there (addr,
     * length_bytes), `fd` -1. Memory unknown to the driver is host memory, of length 0. UNSUPPORTED, with a text that
     * names it: managed memory, which has no fixed place. The core sets `out->struct_size`. */
    isthmus_status (*kind_of)(isthmus_tr *, const void *addr, struct isthmus_mem *out);

    /* Returns the ordinal of the device that this PE uses for memory of this kind, or -1 if it uses none. */
    int32_t (*device)(isthmus_tr *, uint32_t kind);

    /* Returns the address at which this PE's kernels access an attached extent. UNSUPPORTED: kernels cannot access
     * it. */
    isthmus_status (*device_view)(const isthmus_rmem *, void **addr);

    /* Copies between any two addresses of this PE, host or device. Complete on return: a peer that this PE synchronizes
     * with afterwards sees the data on the device. The ranges do not overlap. */
    isthmus_status (*copy)(isthmus_tr *, void *dest, const void *source, size_t length_bytes);

    /* Since minor version 3: check struct_size. */

    /* Executes an atomic operation on this PE's device, on a naturally aligned word of its memory: all ISTHMUS_AMO_, of
     * 32 and 64 bits (ISTHMUS_BITS_). It and the atomics of data slots are atomic to each other. Complete on return,
     * the old value in *fetched unless that is NULL. Absent: peers without a path to that memory have no atomics on
     * it. */
    isthmus_status (*amo)(isthmus_tr *, void *addr, uint32_t op, uint32_t bits, uint64_t operand, uint64_t compare,
                          void *fetched);

    /* Since minor version 5: check struct_size. */

    /* Returns the PCI address of the device that this PE uses for memory of this kind: domain, bus, device and function
     * in hexadecimal, as in "0000:3b:00.0"; borrowed until close. NULL: none, or unknown. Absent: unknown. */
    const char *(*pci_address)(isthmus_tr *, uint32_t kind);

    /* Makes writes of network adapters into this device's memory, past its driver, visible to the device, to copy() and
     * to other devices that access that memory. Blocks until they are visible; waits for no peer. The core calls it at
     * the end of each wait in a PE whose memory adapters write (memory_is_direct), so it should take no more than a
     * microsecond or two. Absent: such writes become visible in the order in which adapters made them, together with
     * writes to host memory. */
    isthmus_status (*flush_writes)(isthmus_tr *);

    /* Since minor version 6: check struct_size. */

    /* Executes n atomic operations, each as amo() does that fetches nothing, in the order of the list. Complete on
     * return, all of them. After an error any of them may have been executed. For a device where a launch costs more
     * than the operations in it. Absent: the core calls amo() for each. */
    isthmus_status (*amo_list)(isthmus_tr *, const struct isthmus_memory_amo *list, uint32_t n);
};

/* A word of 64 bits that a stream writes, or waits for; see isthmus_stream.words. */
struct isthmus_stream_word {
    const isthmus_rmem *remote; /* the extent of the word to write; NULL: wait for `word` */
    uint64_t offset_bytes;      /* in that extent */
    const uint64_t *word;       /* to wait for, in this PE's device memory */
    uint64_t value;
};

/* Extension "stream.1": operations in the order of a queue of the program's own, on the device that this PE uses.
 * `stream` is the platform's handle (a cudaStream_t; NULL is its default stream). A call enqueues an operation and
 * returns; the device executes operations in the order in which they were enqueued. Errors of a call: UNSUPPORTED,
 * after which the core enqueues a host function instead; IO, NO_MEMORY. The platform reports later failures to callers
 * that synchronize with the stream. Any thread. */
struct isthmus_stream {
    uint32_t struct_size, reserved;

    /* `source` and `dest`: any memory of this PE that the device can access; borrowed until the operation is done. */
    isthmus_status (*put)(isthmus_tr *, void *stream, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                          const void *source, size_t length_bytes);
    isthmus_status (*get)(isthmus_tr *, void *stream, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                          void *dest, size_t length_bytes);

    /* An atomic operation of 64 bits that fetches nothing: ISTHMUS_AMO_SET, ISTHMUS_AMO_ADD and the others. */
    isthmus_status (*amo)(isthmus_tr *, void *stream, const isthmus_rmem *remote, uint64_t remote_offset_bytes,
                          uint32_t op, uint64_t operand);

    /* Blocks the stream until a word of 64 bits in this PE's device memory compares (ISTHMUS_COMPARE_) with value, as
     * unsigned numbers whose difference is below 2^63. */
    isthmus_status (*wait_until)(isthmus_tr *, void *stream, const uint64_t *word, uint32_t compare, uint64_t value);

    /* Enqueues a function that a thread of the platform calls; the function must not call the platform. */
    isthmus_status (*host_function)(isthmus_tr *, void *stream, void (*function)(void *argument), void *argument);

    /* Waits until the device has done all that was enqueued in any queue of this process before. Blocks for as long as
     * the program's queues do. Absent: the core does not wait; the program has to, before its memory is freed. */
    isthmus_status (*complete)(isthmus_tr *);

    /* Since minor version 4: check struct_size. */

    /* Enqueues writes of words and waits for words, in the order of the list and with as few launches as the platform
     * can: a write follows all earlier operations of the stream, a wait ends when word - value, as a signed number, is
     * not negative. Absent: UNSUPPORTED. */
    isthmus_status (*words)(isthmus_tr *, void *stream, const struct isthmus_stream_word *list, uint32_t n);

    /* Returns nonzero if all earlier operations of this channel are known to be done, without a query of the device.
     * Absent: 0. */
    uint32_t (*is_idle)(isthmus_tr *, isthmus_chan *);
};

/* What a handle of isthmus_kernels.find names: code that the program has loaded itself. */
enum {
    ISTHMUS_CODE_MODULE = 0, /* of CUDA: a CUmodule */
    ISTHMUS_CODE_LIBRARY = 1 /* of CUDA: a CUlibrary */
};

/* Extension "device.1": what kernels on this PE's device need to make calls (isthmus/device_state.h): memory for the
 * ring of their requests, and the place of their state. Any thread. A transport with this group has memory.1
 * too, whose copy() the core uses on all addresses from here, and which then does not wait for kernels that run. Since
 * minor version 5. Absent: kernels on this device get no state. */
struct isthmus_kernels {
    uint32_t struct_size, reserved;

    /* Allocates zeroed memory of the host that stays in place, for words that a thread of the host and kernels write to
     * each other while both run. *addr is its address for the host, *view for kernels; both are multiples of 128. A
     * store of 8 aligned bytes by one side is seen whole by the other, and an acquire that sees it what was stored
     * before the release. Errors: NO_MEMORY, IO. */
    isthmus_status (*host_alloc)(isthmus_tr *, uint64_t length_bytes, void **addr, void **view);
    void (*host_free)(isthmus_tr *, void *addr); /* accepts NULL. No kernel uses it any more */

    /* Allocates zeroed memory of the device for kernels alone, at a multiple of 128; it is not symmetric, and no peer
     * reaches it. Errors: NO_MEMORY, IO. */
    isthmus_status (*device_alloc)(isthmus_tr *, uint64_t length_bytes, void **addr);
    void (*device_free)(isthmus_tr *, void *addr); /* accepts NULL. No kernel uses it any more */

    /* Finds a variable of loaded code by its name: writes its address on the device that this PE uses, and its size.
     * `handle` is the platform's, of the sort `code` (ISTHMUS_CODE_). INVALID: the code has no such variable, or the
     * handle names nothing; the text says which. UNSUPPORTED: the platform, or its driver here, has no such sort of
     * handle. Absent: UNSUPPORTED. */
    isthmus_status (*find)(isthmus_tr *, uint32_t code, void *handle, const char *name, void **addr,
                           uint64_t *length_bytes);

    /* Calls a function, in this thread, while this PE's device is the current one of the program's own runtime; what
     * was current before is so again on return. Absent: the core calls the function itself. */
    isthmus_status (*call)(isthmus_tr *, void (*function)(void *argument), void *argument);
};

/* A member, and what this device adds to an address in this PE's memory for the same place in the member's: in the
 * symmetric heap, and in the flags. Both are 0 for this PE. In a list, each entry is member_bytes long, which may be
 * more than this build knows: step with isthmus_collective_member_at(). */
struct isthmus_collective_member {
    int64_t data_delta, flags_delta;
};

/* One collective; borrowed for the call. */
struct isthmus_collective {
    uint32_t struct_size;
    uint32_t what;                   /* ISTHMUS_COLLECTIVE_ */
    int32_t n, me, root;             /* of members; root: of a broadcast */
    uint32_t op, number, size_bytes; /* of a reduction: ISTHMUS_COMBINE_, ISTHMUS_NUMBER_, bytes of an element */
    uint64_t length_bytes;           /* of source; of a block in alltoall and reducescatter */
    void *dest;                      /* in the symmetric heap of the device, like source */
    const void *source;              /* == dest: in place, of reductions and broadcast */
    uint64_t *flags;                 /* the team's, on this PE: flag_words(most) words */
    const struct isthmus_collective_member *members; /* [n] */
    const uint64_t *stop;  /* a word of the host at its address for kernels: not 0: the job ends, and kernels stop */
    uint32_t most;         /* of members of any team, as it was passed to flag_words; the same on all PEs */
    uint32_t member_bytes; /* of an entry of members; since minor version 6, 0 before */
};

static inline const struct isthmus_collective_member *isthmus_collective_member_at(
    const struct isthmus_collective *what, int32_t index)
{
    const char *first = (const char *)what->members;
    size_t step = what->member_bytes != 0 ? what->member_bytes : sizeof(struct isthmus_collective_member);
    return (const struct isthmus_collective_member *)(const void *)(first + (size_t)index * step);
}

/* Extension "collectives.1": a collective in the order of a stream as one kernel, for PEs whose memory this device
 * reaches by loads and stores. Any thread. The core uses it where all members are such PEs and dest and source are in
 * the heap of the device; all members enqueue the same collectives of a team in the same order. Every member gets the
 * same bits of a reduction, each time. The transport has memory.1, stream.1 and device.1, too. Since minor version 5.
 * Absent: the core makes collectives of other operations. */
struct isthmus_collectives {
    uint32_t struct_size, reserved;

    /* Makes the kernel ready for the device, once, before any other call. UNSUPPORTED, with a text: this build or this
     * device has none. After any error the core does not use the group. */
    isthmus_status (*prepare)(isthmus_tr *);

    /* Returns how many words of flags a team of up to `members` members needs, symmetric and zero at first; the kernel
     * alone uses them, and never resets one. */
    uint64_t (*flag_words)(isthmus_tr *, uint32_t members);

    /* Enqueues a collective: one launch, and no host function. A launch may be recorded in the platform's graph and
     * repeated, on all members alike. Errors: IO, NO_MEMORY, as of stream.1. */
    isthmus_status (*enqueue)(isthmus_tr *, void *stream, const struct isthmus_collective *what);

    /* Enqueues a collective in a stream of the transport's own, apart from all other work, and returns a ticket. Those
     * of different teams do not wait for one another. Both absent: the core makes collectives that the host calls of
     * other operations. */
    isthmus_status (*start)(isthmus_tr *, const struct isthmus_collective *what, uint64_t *ticket);

    /* OK, once: it is done on this PE; AGAIN: not yet; others: the device has failed. The caller polls. */
    isthmus_status (*test)(isthmus_tr *, uint64_t ticket);
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
