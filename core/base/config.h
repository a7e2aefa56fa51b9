/* core/base/config.h: the settings of the core, from the files isthmus.conf and the environment, read at each init that
 * joins a job: at the first one, and at one after a finalize; not at a nested one.
 * A variable is a row in config.def, its value a field below. Other files call getenv for launchers' variables only.
 * Plugins read theirs through services->config: ISTHMUS_<TRANSPORT>_<KEY>. */
#ifndef IST_BASE_CONFIG_H
#define IST_BASE_CONFIG_H

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct ist_config_file;
struct ist_json;

enum ist_heap_pages { IST_PAGES_DEFAULT, IST_PAGES_HUGE, IST_PAGES_2M, IST_PAGES_1G };
enum ist_bootstrap {
    IST_BOOTSTRAP_AUTO,
    IST_BOOTSTRAP_PMIX,
    IST_BOOTSTRAP_ALONE,
    IST_BOOTSTRAP_UID,
    IST_BOOTSTRAP_PMI1,
    IST_BOOTSTRAP_PMI2,
    IST_BOOTSTRAP_TORCHRUN
};
enum ist_uid_family { IST_UID_FAMILY_INET, IST_UID_FAMILY_INET6 };
/* A kind after HOST is the memory kind that it names: ISTHMUS_MEM_ value plus HOST. */
enum ist_heap_kind { IST_HEAP_AUTO, IST_HEAP_DEVICE, IST_HEAP_HOST };
enum ist_atomics { IST_ATOMICS_AUTO, IST_ATOMICS_CPU, IST_ATOMICS_NIC };
enum ist_proxy_mode { IST_PROXY_AUTO, IST_PROXY_SPIN };
enum ist_abort_action { IST_ABORT_EXIT, IST_ABORT_TRAP, IST_ABORT_BACKTRACE };
enum ist_barrier_choice { IST_BARRIER_AUTO, IST_BARRIER_DISSEMINATION, IST_BARRIER_CENTRAL, IST_BARRIER_HOSTS };

enum ist_face { IST_FACE_SHMEM, IST_FACE_NVSHMEM, IST_FACE_ISHMEM, IST_FACE_ROCSHMEM };

struct ist_config {
    enum ist_face face;            /* the API that was initialised first */
    uint64_t heap_size_bytes;      /* ISTHMUS_HEAP_SIZE; 0: not set, the heap grows up to a share of the machine */
    const char *heap_base;         /* ISTHMUS_HEAP_BASE: same, any, or an address */
    int heap_pages;                /* ISTHMUS_HEAP_PAGES: default huge 2M 1G */
    int heap_kind;                 /* ISTHMUS_HEAP_KIND: auto device host cuda ze hip */
    bool heap_grows;               /* ISTHMUS_HEAP_GROWS: in memory of a device */
    uint64_t heap_step_bytes;      /* ISTHMUS_HEAP_STEP, there */
    uint64_t heap_reserve_bytes;   /* ISTHMUS_HEAP_RESERVE, there */
    int atomics;                   /* ISTHMUS_ATOMICS: auto cpu */
    const char *hca;               /* ISTHMUS_HCA; "": shared out. Text as given, for the transports that read it */
    const char *transports;        /* ISTHMUS_TRANSPORTS; "" : all. Text as given, parsed by core/transport */
    const char *plugin_path;       /* ISTHMUS_PLUGIN_PATH; colon-separated folders searched before the built-in one */
    int bootstrap;                 /* ISTHMUS_BOOTSTRAP: auto pmix alone uid */
    const char *interface;         /* ISTHMUS_INTERFACE; "": any but loopback */
    int uid_family;                /* ISTHMUS_UID_FAMILY: AF_INET AF_INET6 */
    const char *uid_session;       /* ISTHMUS_UID_SESSION: host:port; "": none */
    const char *symmetric_objects; /* ISTHMUS_SYMMETRIC_OBJECTS: comma list of shared objects whose data is symmetric */
    bool static_data;              /* ISTHMUS_STATIC_DATA: the executable's static data is symmetric; default true */
    bool alias;                    /* ISTHMUS_ALIAS: load and store directly where a transport allows; default true */
    bool team_shared_only_self;    /* ISTHMUS_TEAM_SHARED_ONLY_SELF */
    uint64_t teams_max;            /* ISTHMUS_TEAMS_MAX */
    const char *pretend_hosts;     /* ISTHMUS_PRETEND_HOSTS; "": none */
    bool check;                    /* ISTHMUS_CHECK: report costly mistakes */
    const char *profile;           /* ISTHMUS_PROFILE: a file, or trace: and a file; "": none */
    /* ISTHMUS_COLL_: 0 auto, else 1 + the number of the algorithm */
    int broadcast, collect, fcollect, alltoall, reduce, scan;
    int barrier;             /* ISTHMUS_COLL_BARRIER: auto dissemination central hosts */
    uint64_t spin_ns;        /* ISTHMUS_SPIN: nanoseconds a wait spins before it yields; UINT64_MAX: auto */
    uint64_t nap_ns;         /* ISTHMUS_NAP: the longest sleep between two polls of a wait; UINT64_MAX: auto */
    bool device_direct;      /* ISTHMUS_DEVICE_DIRECT: kernels load and store mapped memory; default true */
    int device_proxy;        /* ISTHMUS_DEVICE_PROXY: auto spin */
    uint64_t peer_timeout_s; /* ISTHMUS_PEER_TIMEOUT: seconds to wait for a peer that does not reply */
    /* ISTHMUS_PULSE_TIMEOUT: seconds without a heartbeat after which a PE is lost; 0: never */
    uint64_t pulse_timeout_s;
    uint64_t start_timeout_s; /* ISTHMUS_START_TIMEOUT: seconds for all PEs to synchronize at the start; 0: no bound */
    int abort_action;         /* ISTHMUS_ABORT: exit trap backtrace */
    bool explain;             /* ISTHMUS_EXPLAIN: claim SIGUSR1 if it has no handler */
    int log_level;            /* ISTHMUS_LOG: error warn info debug trace */
    const char *log_filter;   /* ISTHMUS_LOG_FILTER; "": all */
    const char *log_file;     /* ISTHMUS_LOG_FILE; "": stderr */
    uint64_t stack_frames;    /* ISTHMUS_STACK_FRAMES: of a backtrace */
    uint64_t attach_delay_s;  /* ISTHMUS_ATTACH_DELAY: at the first init */
    bool verbose_print;       /* ISTHMUS_VERBOSE_PRINT: of ishmemx_print */
    bool print_version;       /* ISTHMUS_VERSION and the SHMEM_, NVSHMEM_, ISHMEM_ names */
    bool print_info;          /* ISTHMUS_INFO and the SHMEM_, NVSHMEM_, ISHMEM_ names */
    /* For messages: per row of config.def the variable that set it, or FILE:LINE; NULL: default. The array is owned,
     * and NULL in a zeroed struct. */
    const char **set_by;
    struct ist_config_file *files; /* isthmus.conf, of the system and of the user; owned. NULL in a zeroed struct */
    char **for_plugins;            /* values of the rows of IST_PLUGIN_KEY; owned. NULL in a zeroed struct */
};

/* Reads the files isthmus.conf and the environment into *out: the environment wins over the user's file, and that over
 * the system's. `face` is the API that was initialised first: in the environment its names win over those of other
 * faces (our name, the face's, SHMEM_, SMA_, the others'). Returns INVALID for a bad line or value, or for two
 * different values of equal rank; the text names setting, place, value and accepted values of all of them. Fields
 * with a bad value hold their default, so that log and bootstrap still work to report it. *out owns its texts until
 * ist_config_fini, which is called after a failure too. */
isthmus_status ist_config_init(struct ist_config *out, enum ist_face face);
void ist_config_fini(struct ist_config *config); /* frees copied texts; accepts a zeroed struct */

/* Warns, once each, about ISTHMUS_ names and names in files that no row and no loaded plugin has ("did you mean ..."),
 * about variables of the three APIs that are ignored, and about files that cannot be read. `prefixes` are the plugins'
 * names in either case, n of them. */
void ist_config_warn_unknown(const struct ist_config *config, const char *const *prefixes, size_t n);

/* Returns a variable of a plugin by its whole name; NULL if it is not set. The only other function here that reads
 * the environment. */
const char *ist_config_plugin_value(const char *name);

/* Returns what a plugin gets for a key: the value of ISTHMUS_<PLUGIN>_<KEY>, or of the variable that this key means for
 * all plugins (IST_PLUGIN_KEY in config.def) if that is from a stronger place; NULL if it is not set. Borrowed until
 * ist_config_fini. */
const char *ist_config_for_plugin(const struct ist_config *config, const char *plugin, const char *key);

/* Returns ISTHMUS_JOB_SECRET, or NULL if it is not set. It is in no table, so that no output shows it. */
const char *ist_config_job_secret(void);

static inline bool ist_config_has_profile(const struct ist_config *config)
{
    return config->profile != NULL && *config->profile != 0; /* NULL in a zeroed struct */
}

/* For tools: prints every row with its current value and the source of that value, in 80 columns. */
void ist_config_print_table(FILE *out, const struct ist_config *config);
void ist_config_print_files(FILE *out, const struct ist_config *config); /* where settings come from, a line each */
void ist_config_print_set(FILE *out, const struct ist_config *config);   /* only what is set; a line each, or "none" */
void ist_config_print_json(struct ist_json *out, const char *key, const struct ist_config *config); /* an array */
void ist_config_print_markdown(FILE *out); /* the reference page */

/* Writes the variables on which all PEs of a job must agree, a line each: name, value as a user would write it and, if
 * another name set it, that name, with tabs in between. Returns the length of it all, which does not fit if it is not
 * below `room`. */
size_t ist_config_write_agreed(const struct ist_config *config, char *out, size_t room);

/* Parses a size: number, optional fraction, one suffix k m g t (powers of 1024, either case), ignoring what follows the
 * suffix; rounded up. Returns INVALID without text or above 2^62. Public for tests and tools. */
isthmus_status ist_config_parse_size(const char *text, uint64_t *out);

/* ---- "did you mean": the nearest of a list of names (config_value.c) ----
 * Not a spelling checker: for short identifiers of the environment and of transports. */

/* Returns the candidate nearest to `name` by edit distance (transpositions count once), or NULL if none is near: at
 * most a third of the longer of the two names. Ties: the first one. */
const char *ist_names_nearest(const char *name, const char *const *candidates, size_t n);

#endif
