/* plugins/common/p2p.h: the engine of the transports between GPUs of one host: nvlink, xelink, xgmi.
 * A PE's device memory is shared with its peers on the host, mapped there, and read and written by their GPUs' copy
 * engines. The platform (CUDA, Level Zero, HIP) is a driver, a table of calls below; the engine above it implements the
 * ABI, once.
 *   p2p_open.c   life, card, reach, which device       p2p_data.c   channels: put, get, order
 *   p2p_mem.c    memory, keys, paths                   p2p_amo.c    atomics
 *   p2p_more.c   extensions: growing.1, memory.1, stream.1, device.1, devices.1
 *   p2p_coll.c   collectives.1 */
#ifndef ISTHMUS_P2P_H
#define ISTHMUS_P2P_H

#include <isthmus/transport.h>

#include <stdbool.h>

enum { P2P_MAX_DEVICES = 16, P2P_UUID_BYTES = 16, P2P_HANDLE_BYTES = 64, P2P_WORDS = 64 };

/* A device of this host, as seen from the one that this PE uses. */
struct p2p_device {
    uint8_t uuid[P2P_UUID_BYTES];
    char name[64], pci[24]; /* as text; and what identifies it: its PCI address, or a number */
    char pci_address[24];   /* "": not known */
    bool is_used;           /* it is that one */
    bool can_access;        /* its memory can be read and written from there */
    bool has_atomics;       /* and its atomic operations reach it */
};

/* Device memory at addresses of this process: its own, or a peer's. `handle` is the driver's. */
struct p2p_memory {
    char *addr;
    uint64_t length_bytes, handle;
    bool owns_addr;  /* the addresses go with the memory */
    bool is_adopted; /* the program's, see adopt() */
};

/* What another process needs to have the same memory: a descriptor, bytes, or both. */
struct p2p_share {
    int fd; /* -1: none. To be closed after share(), unless is_lent */
    bool is_lent;
    uint32_t n_bytes;
    uint8_t bytes[P2P_HANDLE_BYTES];
};

/* One atomic operation on a word of device memory. */
struct p2p_amo {
    void *addr;
    uint64_t operand, compare;
    uint64_t *result;        /* host memory of the driver's for the old value, or NULL */
    struct p2p_batch *batch; /* of further operations that the same kernel executes after this one, or NULL */
    uint32_t op, bytes;
};

/* Operations that the kernel of another one executes: see p2p_amo.c. Host memory of the driver's; the kernel has the
 * layout, too. */
enum { P2P_BATCH = 64 };
struct p2p_batch {
    uint64_t n_posted; /* how many are there; written by the host */
    uint64_t closed;   /* 1: the kernel reads n_posted next, for the last time; written by the kernel, as is */
    uint64_t taken;    /* 1 + how many it executes */
    uint64_t done;     /* 1: the kernel has read all of them */
    struct p2p_batch_entry {
        uint64_t addr, operand, compare;
        uint32_t op, bytes;
    } list[P2P_BATCH];
};
_Static_assert(sizeof(struct p2p_batch) == 32 + 32 * P2P_BATCH, "as the kernel has it");

/* A word of device memory that a stream writes, or holds for until it is at least `value`, by the sign of the
 * distance. */
struct p2p_word {
    void *addr;
    uint64_t value;
    bool is_awaited;
};

/* Parts of a driver that a library or a device may lack although the table has them. */
enum { P2P_GROWING = 1, P2P_STREAMS = 2, P2P_FLUSHES = 4, P2P_PLACES = 8 /* import() takes an addr */ };

struct p2p_gpu;   /* the driver's own: this PE's device, opened */
struct coll_args; /* plugins/common/kernels/coll_args.h */

/* A platform. Functions that can fail have given the text to services->fail(). Any thread calls them; on one stream one
 * at a time, except stream_wait. What has to be current in a thread, a driver makes current and restores. */
struct p2p_driver {
    const char *hardware; /* in words, "NVIDIA GPU" */
    uint32_t kind;        /* ISTHMUS_MEM_ */

    /* -- life -- */
    isthmus_status (*count)(const struct isthmus_services *services,
                            int *n); /* devices, at least one. Loads the driver */
    int (*current)(void);            /* the calling thread's device; -1: none */
    isthmus_status (*open)(const struct isthmus_services *services, int ordinal, struct p2p_gpu **out);
    void (*close)(struct p2p_gpu *gpu);
    int (*survey)(struct p2p_gpu *gpu, struct p2p_device *list, int room); /* all devices; how many */

    uint32_t (*offers)(struct p2p_gpu *gpu); /* P2P_ bits of the available parts; NULL: all parts of the table */

    /* -- memory -- */
    uint64_t (*granule)(struct p2p_gpu *gpu); /* of lengths */
    /* Zeroed memory, at reserved addresses or, addr NULL, at new ones. */
    isthmus_status (*create)(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes, struct p2p_memory *out);
    void (*destroy)(struct p2p_gpu *gpu, struct p2p_memory *memory);
    isthmus_status (*share)(struct p2p_gpu *gpu, const struct p2p_memory *memory, struct p2p_share *out);
    /* At reserved addresses of this process or, addr NULL, at new ones. */
    isthmus_status (*import)(struct p2p_gpu *gpu, const struct p2p_share *share, void *addr, uint64_t length_bytes,
                             struct p2p_memory *out);
    void (*drop)(struct p2p_gpu *gpu, struct p2p_memory *memory); /* memory from import() */
    /* Adopts memory of the program's own, for share(): `out` is the piece that addr is in, from its
     * beginning to behind the last byte at least. UNSUPPORTED: it cannot be shared. NULL: none can. Given back by
     * release(), soon. */
    isthmus_status (*adopt)(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes, struct p2p_memory *out);
    void (*release)(struct p2p_gpu *gpu, struct p2p_memory *memory);
    /* Reserves addresses without memory. NULL: the platform cannot, and create() takes no addr. */
    isthmus_status (*reserve)(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr);
    void (*unreserve)(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes);

    /* -- host memory that the copy engines reach without the driver's help -- */
    isthmus_status (*host_alloc)(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr);
    void (*host_free)(struct p2p_gpu *gpu, void *addr);
    isthmus_status (*pin)(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes); /* NULL: cannot */
    void (*unpin)(struct p2p_gpu *gpu, void *addr);

    /* -- work, in the order of the calls on one stream -- */
    isthmus_status (*stream_open)(struct p2p_gpu *gpu, void **stream);
    void (*stream_close)(struct p2p_gpu *gpu, void *stream); /* idle, or the device has failed */
    isthmus_status (*stream_wait)(struct p2p_gpu *gpu, void *stream);
    isthmus_status (*copy)(struct p2p_gpu *gpu, void *stream, void *dest, const void *source, size_t length_bytes);
    /* A word of 4 or 8 bytes at a multiple of that, by value. NULL: no way that is cheaper than a copy. */
    isthmus_status (*write)(struct p2p_gpu *gpu, void *stream, void *dest, uint64_t value, size_t length_bytes);
    isthmus_status (*amo)(struct p2p_gpu *gpu, void *stream, const struct p2p_amo *amo); /* NULL: no atomics */
    bool takes_batches; /* amo() does; otherwise amo->batch is always NULL */

    /* -- work on streams of the program's own, for the extension stream.1, as is copy() and amo(). NULL: not offered.
     * UNSUPPORTED: not this comparison -- */
    isthmus_status (*wait_until)(struct p2p_gpu *gpu, void *stream, const uint64_t *word, uint32_t compare,
                                 uint64_t value);
    isthmus_status (*words)(struct p2p_gpu *gpu, void *stream, const struct p2p_word *list,
                            uint32_t n); /* P2P_WORDS at most, in one go. NULL: write() and wait_until() do it */
    isthmus_status (*host_function)(struct p2p_gpu *gpu, void *stream, void (*function)(void *), void *argument);
    isthmus_status (*complete)(struct p2p_gpu *gpu); /* all that any stream has */

    /* -- for kernels that make calls, device.1; together or not at all, but for find and call -- */
    isthmus_status (*host_view)(struct p2p_gpu *gpu, void *addr, void **view); /* of memory from host_alloc(), for
                                                                                * kernels */
    isthmus_status (*device_alloc)(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr); /* zeroed; of any length */
    void (*device_free)(struct p2p_gpu *gpu, void *addr);
    isthmus_status (*find)(struct p2p_gpu *gpu, uint32_t code, void *handle, const char *name, void **addr,
                           uint64_t *length_bytes);
    isthmus_status (*call)(struct p2p_gpu *gpu, void (*function)(void *), void *argument);

    /* -- collectives.1: the kernel of common/kernels; NULL: not offered. prepare: once; UNSUPPORTED: no kernel -- */
    isthmus_status (*collective_prepare)(struct p2p_gpu *gpu);
    isthmus_status (*collective_launch)(struct p2p_gpu *gpu, void *stream, uint32_t blocks, uint32_t threads,
                                        const struct coll_args *args);

    /* Makes writes of network adapters into this device's memory visible: memory.1, flush_writes. NULL: they always
     * are. */
    isthmus_status (*flush_writes)(struct p2p_gpu *gpu);

    /* Kind, device and range of an address, see memory.1; `out` holds host memory before. */
    isthmus_status (*place)(struct p2p_gpu *gpu, const void *addr, struct isthmus_mem *out);
};

/* Names the library to load: *name is the value of the variable LIBRARY, or NULL for the platform's own. To load that
 * takes time, at every start of every job, and a driver's nodes in the file system show sooner whether it is there.
 * Returns NO_DEVICE if none of these nodes (up to NULL) exists and LIBRARY is not set. */
isthmus_status p2p_library(const struct isthmus_services *services, const char *hardware, const char *const *nodes,
                           const char **name);

/* Returns true if the variable KEY is set to anything but 0, n, no, f, false or off. */
bool p2p_is_wanted(const struct isthmus_services *services, const char *key);

/* What a plugin's own open() calls. All other slots are these. */
isthmus_status p2p_open(const struct p2p_driver *driver, const struct isthmus_services *services, isthmus_tr **out);
void p2p_close(isthmus_tr *tr);
isthmus_status p2p_describe(isthmus_tr *tr, struct isthmus_traits *out);
isthmus_status p2p_card(isthmus_tr *tr, void *buf, size_t *length_bytes);
isthmus_status p2p_reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out);
int32_t p2p_progress(isthmus_tr *tr);
isthmus_status p2p_arm(isthmus_tr *tr, int32_t *event_fd);
isthmus_status p2p_counters(isthmus_tr *tr, uint64_t *values, const char *const **names, size_t *n);

isthmus_status p2p_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out);
void p2p_path_close(isthmus_path *path);
isthmus_status p2p_mem_alloc(isthmus_tr *tr, uint32_t kind, int32_t device, uint64_t length_bytes,
                             struct isthmus_mem *out);
void p2p_mem_free(isthmus_tr *tr, const struct isthmus_mem *mem);
isthmus_status p2p_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                          isthmus_lmem **out);
isthmus_status p2p_attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias);
void p2p_detach(isthmus_rmem *rmem);
isthmus_status p2p_register_local(isthmus_tr *tr, const struct isthmus_mem *mem, isthmus_lmem **out);
void p2p_unregister_local(isthmus_lmem *lmem);

isthmus_status p2p_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                struct isthmus_data_ops *ops);
void p2p_channel_close(isthmus_chan *chan);

const void *p2p_extension(isthmus_tr *tr, const char *name);

/* The exported table of a transport on this engine: every slot is the engine's, but for probe. */
#define P2P_TRANSPORT(transport_name, its_driver, its_probe)                                        \
    static isthmus_status transport_open(const struct isthmus_services *services, isthmus_tr **out) \
    {                                                                                               \
        return p2p_open(&(its_driver), services, out);                                              \
    }                                                                                               \
    const struct isthmus_transport isthmus_transport_v1 = {                                         \
        .struct_size = sizeof(struct isthmus_transport),                                            \
        .abi_minor = ISTHMUS_ABI_MINOR,                                                             \
        .name = (transport_name),                                                                   \
        .version = PLUGIN_VERSION,                                                                  \
        .scopes = ISTHMUS_SCOPE_DEVICE,                                                             \
        .probe = (its_probe),                                                                       \
        .open = transport_open,                                                                     \
        .close = p2p_close,                                                                         \
        .describe = p2p_describe,                                                                   \
        .card = p2p_card,                                                                           \
        .reach = p2p_reach,                                                                         \
        .path_open = p2p_path_open,                                                                 \
        .path_close = p2p_path_close,                                                               \
        .mem_alloc = p2p_mem_alloc,                                                                 \
        .mem_free = p2p_mem_free,                                                                   \
        .expose = p2p_expose,                                                                       \
        .attach = p2p_attach,                                                                       \
        .detach = p2p_detach,                                                                       \
        .register_local = p2p_register_local,                                                       \
        .unregister_local = p2p_unregister_local,                                                   \
        .channel_open = p2p_channel_open,                                                           \
        .channel_close = p2p_channel_close,                                                         \
        .progress = p2p_progress,                                                                   \
        .arm = p2p_arm,                                                                             \
        .counters = p2p_counters,                                                                   \
        .extension = p2p_extension,                                                                 \
    }

#endif
