/* What a PE does in the tests of isthmus-run: one mode per behaviour, on the bare PMIx client library.
 * Not a test by itself and no user of Isthmus: a fault here is the launcher's, not the runtime's.
 * Read on in launch_test.sh, which names the result of each mode. */
#include <pmix.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static pmix_proc_t me, everybody;
static int n_pes;

static void fail(const char *what, const char *why)
{
    printf("PE %u: %s: %s\n", me.rank, what, why);
    exit(99);
}

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS) fail(what, PMIx_Error_string(status));
}

static long job_number(const pmix_proc_t *who, const char *key)
{
    pmix_value_t *value = NULL;
    check(key, PMIx_Get(who, key, NULL, 0, &value));
    long number = value->type == PMIX_UINT16 ? value->data.uint16 : (long)value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return number;
}

static void join(void)
{
    check("PMIx_Init", PMIx_Init(&me, NULL, 0));
    PMIX_LOAD_PROCID(&everybody, me.nspace, PMIX_RANK_WILDCARD);
    n_pes = (int)job_number(&everybody, PMIX_JOB_SIZE);
}

static void leave(void) { check("PMIx_Finalize", PMIx_Finalize(NULL, 0)); }

static void fence(bool collect)
{
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    check("PMIx_Fence", PMIx_Fence(&everybody, 1, &info, 1));
}

static void publish_number(const char *key, uint32_t number)
{
    pmix_value_t value = {.type = PMIX_UINT32, .data.uint32 = number};
    check("PMIx_Put", PMIx_Put(PMIX_GLOBAL, key, &value));
    check("PMIx_Commit", PMIx_Commit());
}

static uint32_t number_of(uint32_t pe, const char *key)
{
    pmix_proc_t other = everybody;
    other.rank = pe;
    return (uint32_t)job_number(&other, key);
}

/* Line by line, so that the script can wait for a line while the PE continues. */
static void say(const char *text)
{
    printf("%s %u\n", text, me.rank);
    fflush(stdout);
}

static void wait_for_ever(void)
{
    say("waiting");
    for (;;) pause();
}

static void hello(char **arguments)
{
    (void)arguments;
    join();
    long numbers[] = {job_number(&me, PMIX_LOCAL_RANK), job_number(&me, PMIX_NODE_RANK)};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i] != (long)me.rank) fail("local or node rank", "not the rank");
    if (job_number(&everybody, PMIX_LOCAL_SIZE) != n_pes) fail("PMIX_LOCAL_SIZE", "not the size of the job");
    if (job_number(&everybody, PMIX_UNIV_SIZE) != n_pes) fail("PMIX_UNIV_SIZE", "not the size of the job");
    if (job_number(&everybody, PMIX_NUM_NODES) != 1) fail("PMIX_NUM_NODES", "not 1");
    if (job_number(&me, PMIX_NODEID) != 0) fail("PMIX_NODEID", "not 0");
    if (job_number(&me, PMIX_APPNUM) != 0) fail("PMIX_APPNUM", "not 0");
    say("hello");
    leave();
}

static void modex(char **arguments)
{
    (void)arguments;
    join();
    publish_number("probe.number", 1000 + me.rank);
    fence(true);
    for (uint32_t pe = 0; pe < (uint32_t)n_pes; pe++)
        if (number_of(pe, "probe.number") != 1000 + pe) fail("PMIx_Get", "another PE's number is wrong");
    fence(false);
    leave();
}

/* No fence: the server has to hold the request until the other PE has committed its number. */
static void direct_modex(char **arguments)
{
    (void)arguments;
    join();
    publish_number("probe.number", 1000 + me.rank);
    uint32_t next = (me.rank + 1) % (uint32_t)n_pes;
    if (number_of(next, "probe.number") != 1000 + next) fail("PMIx_Get", "the next PE's number is wrong");
    fence(false);
    leave();
}

static void board(char **arguments)
{
    (void)arguments;
    join();
    if (me.rank == 0) {
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, "probe.board", "from PE 0", PMIX_STRING);
        check("PMIx_Publish", PMIx_Publish(&info, 1));
        if (PMIx_Publish(&info, 1) == PMIX_SUCCESS) fail("PMIx_Publish", "took the same key twice");
    }
    fence(false);
    pmix_pdata_t found;
    PMIX_PDATA_CONSTRUCT(&found);
    PMIX_LOAD_KEY(found.key, "probe.board");
    check("PMIx_Lookup", PMIx_Lookup(&found, 1, NULL, 0));
    if (found.value.type != PMIX_STRING || strcmp(found.value.data.string, "from PE 0") || found.proc.rank != 0)
        fail("PMIx_Lookup", "not what PE 0 has published");
    fence(false);
    char *keys[] = {(char *)"probe.board", NULL};
    if (me.rank == 0) check("PMIx_Unpublish", PMIx_Unpublish(keys, NULL, 0));
    fence(false);
    if (PMIx_Lookup(&found, 1, NULL, 0) != PMIX_ERR_NOT_FOUND) fail("PMIx_Lookup", "found what was unpublished");
    leave();
}

/* exit PE STATUS: that PE exits, the others wait for ever. */
static void exit_with(char **arguments)
{
    join();
    if (me.rank == (uint32_t)atoi(arguments[0])) {
        leave();
        exit(atoi(arguments[1]));
    }
    wait_for_ever();
}

/* stubborn PE STATUS: the others ignore SIGTERM. */
static void stubborn(char **arguments)
{
    signal(SIGTERM, SIG_IGN);
    exit_with(arguments);
}

static void kill_self(char **arguments)
{
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    join();
    signal(atoi(arguments[1]), SIG_DFL); /* a sanitizer's runtime handles some */
    if (me.rank == (uint32_t)atoi(arguments[0])) raise(atoi(arguments[1]));
    wait_for_ever();
}

/* kill_in_fence PE: that PE is killed while the others are in a fence with it; the fence fails, and so do they. */
static void kill_in_fence(char **arguments)
{
    join();
    fence(false);
    if (me.rank == (uint32_t)atoi(arguments[0])) raise(SIGKILL);
    fence(false);
    leave();
}

static void abort_job(char **arguments)
{
    join();
    if (me.rank == (uint32_t)atoi(arguments[0])) {
        PMIx_Abort(atoi(arguments[1]), arguments[2], NULL, 0);
        exit(atoi(arguments[1]));
    }
    wait_for_ever();
}

static void wait_connected(char **arguments)
{
    (void)arguments;
    join();
    wait_for_ever();
}

static void wait_plain(char **arguments)
{
    (void)arguments;
    wait_for_ever();
}

/* desert PE: that PE exits without PMIx_Finalize; the others do not need it. */
static void desert(char **arguments)
{
    join();
    if (me.rank == (uint32_t)atoi(arguments[0])) _exit(0);
    leave();
}

/* desert_fence PE now|later: that PE exits while, or before, the others enter a fence. */
static void desert_fence(char **arguments)
{
    join();
    publish_number("probe.pid", (uint32_t)getpid());
    uint32_t deserter = (uint32_t)atoi(arguments[0]);
    pid_t pid = (pid_t)number_of(deserter, "probe.pid");
    fence(false);
    if (me.rank == deserter) _exit(0);
    while (strcmp(arguments[1], "later") == 0 && kill(pid, 0) == 0) sched_yield();
    fence(false);
    leave();
}

/* absent PE: that PE exits with 0 without PMIx_Init; the others need it in a fence. */
static void absent(char **arguments)
{
    const char *rank = getenv("PMIX_RANK");
    if (rank && strcmp(rank, arguments[0]) == 0) _exit(0);
    join();
    fence(false);
    leave();
}

/* lines N: N lines on each of stdout and stderr, in pieces and of many lengths, and a last one without an end. */
static void lines(char **arguments)
{
    int n = atoi(arguments[0]);
    const char *rank = getenv("PMIX_RANK");
    for (int i = 0; i < n; i++) {
        FILE *file = i % 2 ? stdout : stderr;
        fprintf(file, "<line %d of %s ", i, rank);
        for (int k = 0; k < i * 37 % 9000; k++) fputc('a' + k % 26, file);
        fflush(file);
        fprintf(file, ">\n");
        fflush(file);
    }
    fprintf(stdout, "<no end of %s>", rank);
}

static void count_input(char **arguments)
{
    (void)arguments;
    char bytes[4096];
    long n = 0;
    for (ssize_t length; (length = read(0, bytes, sizeof bytes)) > 0;) n += length;
    printf("PE %s read %ld bytes\n", getenv("PMIX_RANK"), n);
}

static void show_variable(char **arguments)
{
    const char *value = getenv(arguments[0]);
    printf("%s\n", value ? value : "(unset)");
}

static void show_cpus(char **arguments)
{
    (void)arguments;
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    size_t first = 0;
    while (!CPU_ISSET(first, &cpus)) first++;
    printf("PE %s runs on %d CPUs from %zu\n", getenv("PMIX_RANK"), CPU_COUNT(&cpus), first);
}

static void show_descriptors(char **arguments)
{
    (void)arguments;
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0) printf("%d ", fd);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    printf("of %llu\n", (unsigned long long)limit.rlim_cur);
}

static volatile sig_atomic_t caught;

static void catch_signal(int signal_number) { caught = signal_number; }

/* catch SIG: prints the signal that it has caught, and exits. */
static void catch_one(char **arguments)
{
    struct sigaction action = {.sa_handler = catch_signal};
    int signal_number = atoi(arguments[0]);
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, signal_number);
    sigaction(signal_number, &action, NULL);
    sigprocmask(SIG_BLOCK, &one, &before); /* the signal may arrive before sigsuspend() is reached */
    join();
    say("waiting");
    while (!caught) sigsuspend(&before);
    say(caught == signal_number ? "caught it" : "caught another signal");
    leave();
}

static const struct mode {
    const char *name;
    int n_arguments;
    void (*run)(char **arguments);
} modes[] = {
    {"hello", 0, hello},
    {"modex", 0, modex},
    {"direct_modex", 0, direct_modex},
    {"board", 0, board},
    {"exit", 2, exit_with},
    {"stubborn", 2, stubborn},
    {"kill_self", 2, kill_self},
    {"kill_in_fence", 1, kill_in_fence},
    {"abort", 3, abort_job},
    {"wait", 0, wait_connected},
    {"wait_plain", 0, wait_plain},
    {"desert", 1, desert},
    {"desert_fence", 2, desert_fence},
    {"absent", 1, absent},
    {"lines", 1, lines},
    {"count_input", 0, count_input},
    {"variable", 1, show_variable},
    {"cpus", 0, show_cpus},
    {"descriptors", 0, show_descriptors},
    {"catch", 1, catch_one},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(argv[1], modes[i].name) || argc - 2 != modes[i].n_arguments) continue;
        modes[i].run(argv + 2);
        return 0;
    }
    fprintf(stderr, "launch_probe: no such mode, or a wrong number of arguments\n");
    return 98;
}
