/* tools/isthmus-check-transport/contract.h: the interface for cases of the contract suite.
 * The suite drives one plugin through isthmus/transport.h alone, as a core would; it knows nothing of our core and
 * nothing of any plugin. It requires what the header promises, no more.
 *
 * A case is one function that runs in each of its processes at once. They share nothing but what they exchange. A check
 * that fails is a finding and ends the case: the slot, the rule of the contract, and what was seen.
 *   host.c       loads the plugin, gives it services, makes its tables total
 *   processes.c  forks, exchanges, watches over processes that end or hang
 *   finding.c    the finding of a process at its end, where its parent reads it
 *   world.c      the usual steps: open, synchronize, expose, attach, channels
 *   slots.c      the data slots, and every way to write a word
 *   cases.def    the list; case_*.c are the cases by subject */
#ifndef CONTRACT_H
#define CONTRACT_H

#include <isthmus/transport.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CT_MAX_PROCESSES = 8,
    CT_BLOB_ROOM = 16384,
    CT_KEY_ROOM = ISTHMUS_KEY_MAX_BYTES,
    CT_MAX_FINDINGS = CT_MAX_PROCESSES + 1
};

/* ---- processes.c: one of the processes of a case, and what it sends to the others ---- */

struct ct_process;
typedef void ct_case_fn(struct ct_process *p);

struct ct_case {
    const char *name;
    int n;           /* number of processes */
    bool takes_more; /* may run with more than n */
    const char *slot;
    ct_case_fn *run;
    const char *rule; /* of the contract */
};

extern const struct ct_case ct_cases[];
extern const size_t ct_n_cases;

enum ct_result { CT_PASSED, CT_FAILED, CT_SKIPPED };

/* What is wrong, or why a case was skipped (`seen` only). */
struct ct_finding {
    int process; /* -1: no single process */
    char slot[24];
    char rule[240];
    char seen[900];
    char where[160]; /* file and line in this suite */
};

struct ct_report {
    enum ct_result result;
    int n_processes;
    double seconds;
    char why_skipped[900];
    int n_findings;
    struct ct_finding findings[CT_MAX_FINDINGS];
    char printed[2000]; /* by the plugin or a sanitizer; a finding, too */
};

/* Runs a case in its processes, on the PEs of the job: as many as it has, or n_processes where it takes more (0: one on
 * each PE, if that is more). When a process sends nothing for patience_s seconds, that is a finding, and the case
 * ends. */
struct job;
void ct_run_case(const struct ct_case *c, const char *plugin, const struct job *job, int n_processes, int patience_s,
                 struct ct_report *out);

/* Bytes from every process to every process; also a barrier of all. n_bytes of a process that has ended: CT_GONE. */
struct ct_blob {
    uint32_t n_bytes;
    uint8_t bytes[CT_BLOB_ROOM];
};
enum { CT_GONE = UINT32_MAX };
void ct_exchange(struct ct_process *p, const void *bytes, size_t n_bytes, struct ct_blob all[CT_MAX_PROCESSES]);
void ct_meet(struct ct_process *p);

/* The same barrier in parts: between them a process does something until the others have arrived, too. */
void ct_arrive(struct ct_process *p);
bool ct_all_have_arrived(struct ct_process *p, int within_ms);
void ct_leave_meeting(struct ct_process *p);

_Noreturn void ct_leave(struct ct_process *p); /* end at once, as when killed, and without a finding */
_Noreturn void ct_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- finding.c ---- */

/* The place of a check, and its subject; slot and rule NULL: those of the case. */
struct ct_check {
    const char *file;
    int line;
    const char *slot, *rule, *condition;
};
_Noreturn void ct_fault(const struct ct_check *check, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define CT_THIS_CHECK(slot, rule, text) (&(const struct ct_check){__FILE__, __LINE__, slot, rule, text})

/* Always evaluated, once. The text states what was seen, and what was expected where the rule does not. */
#define CT_RULE(slot, rule, condition, ...) \
    ((condition) ? (void)0 : ct_fault(CT_THIS_CHECK(slot, rule, #condition), __VA_ARGS__))
#define CT_CHECK(condition, ...) CT_RULE(NULL, NULL, condition, __VA_ARGS__)

/* What the check needs of the machine; no fault of the plugin's. */
#define CT_NEED(condition, ...) CT_RULE("none", "this machine has what the check needs", condition, __VA_ARGS__)

/* The call worked; else the plugin's own text. Its slot is in the call's text. */
#define CT_OK(status) CT_OK_OF(NULL, status)
#define CT_OK_OF(slot, status) \
    (ct_enter(#status), ct_expect_ok(CT_THIS_CHECK(slot, "works where nothing is wrong", #status), (status)))

/* The call failed with one of these codes (a bitmap of CT_CODE), and its text went to fail(). */
#define CT_CODE(code) (1u << -(code))
#define CT_ERROR(status, codes) \
    (ct_forget_failure(), ct_enter(#status), ct_expect_error(CT_THIS_CHECK(NULL, NULL, #status), (status), (codes)))
void ct_expect_ok(const struct ct_check *check, isthmus_status status);
void ct_expect_error(const struct ct_check *check, isthmus_status status, uint32_t codes);
const char *ct_status_name(isthmus_status status);

/* Records the call that this process makes now, for a report if it crashes or never returns. */
void ct_enter(const char *call);

/* One place for the finding of each process, in memory that the parent shares. */
struct ct_board {
    struct ct_finding findings[CT_MAX_PROCESSES];
    int turn[CT_MAX_PROCESSES]; /* of its finding, from 1 on; 0: it has none */
    int n_findings;
    const char *call[CT_MAX_PROCESSES];                /* a constant of the program that they all are */
    bool has_ended[CT_MAX_PROCESSES];                  /* the parent's entry */
    bool is_poking;                                    /* likewise */
    uint8_t pokes[CT_MAX_PROCESSES][CT_MAX_PROCESSES]; /* CT_POKE_, of the first to the second */
};
struct ct_board *ct_board_create(void); /* NULL: no memory */
void ct_board_destroy(struct ct_board *board);
void ct_board_join(struct ct_board *board, const struct ct_case *c, int process); /* in a process, once */
bool ct_board_has_ended(int process);                                             /* another one of the case */
bool ct_board_is_poking(void);                                                    /* the case hangs: ct_poke() */
enum { CT_POKE_SENT = 1, CT_POKE_SERVED };
void ct_board_poked(int process, int how);                      /* another one of the case, by this one */
void ct_slot_of(const char *call, char *out, size_t out_bytes); /* "p->t->reach(...)": "reach"; empty: unknown */

/* ---- poke.c ---- */

/* Starts threads for the processes with an extent that is attached here. Returns at once. */
void ct_poke(struct ct_process *p);

/* ---- host.c: the plugin ---- */

struct ct_plugin {
    const char *path;
    void *library;
    struct isthmus_transport given; /* as exported; what lies beyond its struct_size is zero */
    struct isthmus_transport t;     /* completed: no slot is NULL */
};

void ct_plugin_load(const char *path, struct ct_plugin *out); /* a finding if it is no plugin */
void ct_make_services(struct ct_process *p, struct isthmus_services *out);
bool ct_on_one_host(const struct ct_process *p, int pe, int other);
void ct_forget_failure(void); /* of this thread */
const char *ct_failure_text(void);

/* ---- world.c: the usual steps ---- */

/* A piece of this process's memory, exposed, and its counterparts at all processes, attached. */
struct ct_extent {
    struct ct_process *p;
    char *base; /* of host memory; a device's is an address only, see ct_extent_view */
    size_t length_bytes;
    struct isthmus_mem mem;
    void *mapping; /* the extent may be a part of it */
    size_t mapping_bytes;
    uint8_t *copy; /* of device memory, for this process to read; NULL: none so far */
    isthmus_lmem *lmem;
    uint8_t key[CT_KEY_ROOM];
    size_t key_bytes;
    isthmus_rmem *rmem[CT_MAX_PROCESSES];
    char *alias[CT_MAX_PROCESSES];
};

struct ct_channel {
    isthmus_chan *chan;
    struct isthmus_data_ops ops; /* completed, but for slots of optional operations */
    bool is_proxy;               /* opened with ISTHMUS_CHANNEL_PROXY */
};

struct ct_process {
    int pe, n;
    int to_parent; /* socket */
    struct ct_plugin plugin;
    const struct isthmus_transport *t;                    /* &plugin.t */
    struct isthmus_host_id host, hosts[CT_MAX_PROCESSES]; /* its own, and those of all */
    struct isthmus_local_pe local_pes[CT_MAX_PROCESSES];
    struct ct_longer_place {
        struct isthmus_local_place place;
        uint64_t newer[2]; /* entries of a list are longer than a plugin knows */
    } places[CT_MAX_PROCESSES];
    struct isthmus_services services;
    isthmus_tr *tr;
    struct isthmus_traits traits;
    struct ct_blob cards[CT_MAX_PROCESSES];
    struct isthmus_peer peers[CT_MAX_PROCESSES];
    struct isthmus_reach reach[CT_MAX_PROCESSES];
    isthmus_path *path[CT_MAX_PROCESSES];
    isthmus_rmem *attached[CT_MAX_PROCESSES]; /* of the extent attached last; NULL: it is detached */
    struct ct_channel look;                   /* to this process's own device memory; opened when it is needed */
    struct {
        bool is_running;
        int stop_fd;
        int kick_fd; /* readable: call progress again and again, whatever the transport's descriptor shows */
        pthread_t thread;
        pthread_mutex_t lock; /* one caller of progress at a time */
    } progress;
    pthread_mutex_t cold; /* one caller of the cold slots at a time, for cases with threads */
};

/* Opens, describes and starts the progress thread; and the reverse. */
void ct_open(struct ct_process *p);
void ct_close(struct ct_process *p);

/* Exchanges cards and queries the reach of each process. Skips the case when the transport does not reach the
 * others. */
void ct_exchange_cards(struct ct_process *p);
void ct_write_card(struct ct_process *p, struct ct_blob *out);
void ct_describe_peer(struct ct_process *p, int pe, const void *card, size_t card_bytes, struct isthmus_peer *out);

/* Sleeps on the transport's descriptor, as the core's thread does. After ct_progress_stop this process makes no
 * progress. */
void ct_progress_start(struct ct_process *p);
void ct_progress_stop(struct ct_process *p);
int32_t ct_progress(struct ct_process *p); /* from any thread */

void ct_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

/* Zeroed memory of the kind that the transport exposes: host memory behind a memfd if it does, else what mem_alloc
 * makes; `offset_bytes` into a larger mapping. */
void ct_extent_make(struct ct_process *p, struct ct_extent *out, size_t length_bytes, size_t offset_bytes);
void ct_extent_make_host(struct ct_process *p, struct ct_extent *out, size_t length_bytes, size_t offset_bytes);
bool ct_extent_try_host(struct ct_process *p, struct ct_extent *out, size_t length_bytes,
                        size_t offset_bytes); /* false: errno */
bool ct_extent_is_host(const struct ct_extent *extent);

/* What this process finds in its own extent: host memory itself, or what a get from this process itself returns of a
 * device's; until the next call. And how it writes there. The extent is attached; not for several threads. */
const uint8_t *ct_extent_view(struct ct_extent *extent, uint64_t offset_bytes, size_t length_bytes);
void ct_extent_write(struct ct_extent *extent, uint64_t offset_bytes, const void *bytes, size_t length_bytes);
void ct_extent_fill(struct ct_extent *extent, uint8_t value);
uint64_t ct_extent_load(struct ct_extent *extent, uint64_t offset_bytes); /* a word; acquire */
void ct_extent_expose(struct ct_process *p, struct ct_extent *extent);
void ct_extent_attach(struct ct_process *p, struct ct_extent *extent); /* exchanges keys; opens paths */
void ct_extent_detach(struct ct_process *p, struct ct_extent *extent);
void ct_extent_close(struct ct_process *p, struct ct_extent *extent);
void ct_extent_free(struct ct_extent *extent); /* one that was not exposed */

/* All of it, for cases about data: every process is attached to every extent. A barrier ends ct_begin, and encloses the
 * detach of ct_end. */
void ct_begin(struct ct_process *p, struct ct_extent *extent, size_t length_bytes, struct ct_channel *channel);
void ct_end(struct ct_process *p, struct ct_extent *extent, struct ct_channel *channel);

void ct_channel_open(struct ct_process *p, uint32_t thread_mode, uint64_t options, struct ct_channel *out);
void ct_channel_close(struct ct_process *p, struct ct_channel *channel); /* quiet first, as the contract requires */

/* Where an operation goes. */
struct ct_target {
    struct ct_process *p;
    const struct ct_channel *channel;
    const struct ct_extent *extent;
    int pe;
};

/* ---- slots.c: the data slots; nbi forms are retried while they return AGAIN ---- */

void ct_put(const struct ct_target *at, uint64_t offset_bytes, const void *source, size_t length_bytes);
void ct_get(const struct ct_target *at, uint64_t offset_bytes, void *dest, size_t length_bytes);
void ct_put_nbi(const struct ct_target *at, uint64_t offset_bytes, const void *source, size_t length_bytes);
void ct_get_nbi(const struct ct_target *at, uint64_t offset_bytes, void *dest, size_t length_bytes);
void ct_quiet(struct ct_process *p, const struct ct_channel *channel);

/* An atomic operation. Both return false if the transport has no such function. */
struct ct_amo {
    uint32_t op, bits, flags;
    uint64_t operand, compare;
};
bool ct_has_amo(const struct ct_channel *channel, uint32_t op, uint32_t bits, uint32_t flags);
bool ct_amo(const struct ct_target *at, uint64_t offset_bytes, const struct ct_amo *amo, void *fetched);

void ct_fence(const struct ct_channel *channel, isthmus_path *path);

/* A put, and where its signal goes. A call that the transport declines is made in two parts. */
struct ct_put_signal {
    const struct ct_target *to, *signal_to;
    uint64_t offset_bytes, signal_offset_bytes;
    const void *source;
    size_t length_bytes;
    uint32_t op, flags;
    uint64_t value;
};
void ct_put_signal(const struct ct_put_signal *what);

/* Of at most this many bytes, which are overwritten at once; what the transport declines is put by itself. */
enum { CT_MOST_MORE_BYTES = 400 };
void ct_put_more(const struct ct_target *at, uint64_t offset_bytes, const void *source, size_t length_bytes);
void ct_post(const struct ct_channel *channel);

/* Every way to write a word of 64 bits. False: the transport has no such slot. A put_signal writes the word `beside`,
 * too. After CT_MOST_WORDS nonblocking operations the caller calls local_complete. */
enum {
    CT_BY_PUT,
    CT_BY_PUT_NBI,
    CT_BY_SET,
    CT_BY_SWAP_NBI,
    CT_BY_SIGNAL,
    CT_BY_SIGNAL_NBI,
    CT_BY_SIGNAL_DATA,
    CT_BY_NOTIFY,
    CT_BY_PUT_MORE,
    CT_WAYS
};
enum { CT_MOST_WORDS = 1024 };
struct ct_word {
    struct ct_target at;
    uint64_t offset_bytes, beside_bytes;
};
bool ct_write_word(const struct ct_word *w, int way, uint64_t value);
const char *ct_way_name(int way);
const char *ct_way_slot(int way);

/* ---- pattern.c: bytes that show their origin ---- */

uint64_t ct_random(uint64_t *state);
uint8_t ct_pattern_byte(uint64_t seed, size_t i);
void ct_pattern_fill(void *bytes, size_t n_bytes, uint64_t seed);
size_t ct_pattern_check(const void *bytes, size_t n_bytes,
                        uint64_t seed); /* index of the first wrong one, or n_bytes */
void ct_set_seed(uint64_t seed);
uint64_t ct_seed(void); /* of this run, from ISTHMUS_TEST_SEED or new; printed when a case fails */

#endif
