/* Starts the PMIx server library, serves its requests, and turns its reports into events for the launcher's loop.
 * Not the protocol and not the store of modex data, which are the library's; on one host it seldom needs the launcher.
 * Read on in job_info.c for the facts that PEs can get, in job.c for the handling of the events. */
#include "server.h"
#include "environment.h"
#include "job_info.h"
#include "publish.h"

#include <pmix.h>
#include <pmix_server.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

static struct {
    pmix_nspace_t job;
    int event_fd;
    pthread_mutex_t lock; /* of the list: the library's thread puts in, the loop takes out */
    struct server_event *first, **last;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &server.first};

static void post(enum server_event_kind kind, const pmix_proc_t *who, int status, const char *message)
{
    struct server_event *event = zeroed_memory(1, sizeof *event);
    *event = (struct server_event){.kind = kind, .pe = (int)who->rank, .status = status};
    if (message) event->message = strdup(message);
    pthread_mutex_lock(&server.lock);
    *server.last = event;
    server.last = &event->next;
    pthread_mutex_unlock(&server.lock);
    eventfd_write(server.event_fd, 1);
}

/* The entries of pmix_server_module_t. All run in the library's thread and must not wait. "Operation succeeded"
 * announces to the library that there will be no call back. */

static pmix_status_t client_connected(const pmix_proc_t *who, void *object, pmix_op_cbfunc_t answer, void *data)
{
    (void)object, (void)answer, (void)data;
    post(SERVER_CONNECTED, who, 0, NULL);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t client_finalized(const pmix_proc_t *who, void *object, pmix_op_cbfunc_t answer, void *data)
{
    (void)object, (void)answer, (void)data;
    post(SERVER_FINALIZED, who, 0, NULL);
    return PMIX_OPERATION_SUCCEEDED;
}

/* A PE can only abort the whole job: a SHMEM job with holes is useless. */
static pmix_status_t client_aborts(const pmix_proc_t *who, void *object, int status, const char message[],
                                   pmix_proc_t procs[], size_t n_procs, pmix_op_cbfunc_t answer, void *data)
{
    (void)object, (void)procs, (void)n_procs, (void)answer, (void)data;
    post(SERVER_ABORTED, who, status, message);
    return PMIX_OPERATION_SUCCEEDED;
}

/* On one host the library completes a fence without this call. The call means that it counts members elsewhere: PEs
 * that it has lost without PMIx_Finalize. The remaining PEs are all in the fence, which can never complete. They stay
 * in it, without a reply, until the launcher has ended the job: an error here would only make each of them print
 * one. */
static pmix_status_t fence(const pmix_proc_t procs[], size_t n_procs, const pmix_info_t info[], size_t n_info,
                           char *contribution, size_t contribution_bytes, pmix_modex_cbfunc_t answer, void *data)
{
    (void)n_procs, (void)info, (void)n_info, (void)contribution, (void)contribution_bytes, (void)answer, (void)data;
    post(SERVER_FENCE_STUCK, &procs[0], 0, NULL);
    return PMIX_SUCCESS;
}

/* Called only for PEs that are not on this host: there are none. For a local PE's data the library itself waits. */
static pmix_status_t fetch_remote_data(const pmix_proc_t *who, const pmix_info_t info[], size_t n_info,
                                       pmix_modex_cbfunc_t answer, void *data)
{
    (void)who, (void)info, (void)n_info, (void)answer, (void)data;
    return PMIX_ERR_NOT_FOUND;
}

static pmix_status_t spawn_job(const pmix_proc_t *who, const pmix_info_t job_info[], size_t n_info,
                               const pmix_app_t apps[], size_t n_apps, pmix_spawn_cbfunc_t answer, void *data)
{
    (void)who, (void)job_info, (void)n_info, (void)apps, (void)n_apps, (void)answer, (void)data;
    return PMIX_ERR_NOT_SUPPORTED;
}

/* PMIx_Connect and PMIx_Disconnect: all PEs are connected as it is, the library has waited for the participants. */
static pmix_status_t connect_pes(const pmix_proc_t procs[], size_t n_procs, const pmix_info_t info[], size_t n_info,
                                 pmix_op_cbfunc_t answer, void *data)
{
    (void)procs, (void)n_procs, (void)info, (void)n_info, (void)answer, (void)data;
    return PMIX_OPERATION_SUCCEEDED;
}

/* The library passes events between local PEs; from outside there are none. */
static pmix_status_t register_events(pmix_status_t *codes, size_t n_codes, const pmix_info_t info[], size_t n_info,
                                     pmix_op_cbfunc_t answer, void *data)
{
    (void)codes, (void)n_codes, (void)info, (void)n_info, (void)answer, (void)data;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t deregister_events(pmix_status_t *codes, size_t n_codes, pmix_op_cbfunc_t answer, void *data)
{
    (void)codes, (void)n_codes, (void)answer, (void)data;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t notify_event(pmix_status_t code, const pmix_proc_t *source, pmix_data_range_t range,
                                  pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t answer, void *data)
{
    (void)code, (void)source, (void)range, (void)info, (void)n_info, (void)answer, (void)data;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_server_module_t module = {
    .client_connected = client_connected,
    .client_finalized = client_finalized,
    .abort = client_aborts,
    .fence_nb = fence,
    .direct_modex = fetch_remote_data,
    .publish = publish_add,
    .lookup = publish_look_up,
    .unpublish = publish_remove,
    .spawn = spawn_job,
    .connect = connect_pes,
    .disconnect = connect_pes,
    .register_events = register_events,
    .deregister_events = deregister_events,
    .notify_event = notify_event,
};

/* The library takes any client that names the job and claims our user for one of its PEs: over TCP the kernel cannot
 * confirm it. So the name cannot be guessed, and only processes of our user can read it in the PEs' environment. */
static void name_job(void)
{
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        report_and_exit("no random numbers for the job's name: getrandom: %m");
    snprintf(server.job, sizeof server.job, "isthmus-run-%d-%016" PRIx64 "%016" PRIx64, (int)getpid(), random[0],
             random[1]);
}

enum launch_status server_start(int n_pes)
{
    name_job();
    server.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server.event_fd < 0) report_and_exit("cannot start the PMIx server: eventfd: %m");

    pmix_status_t status = PMIx_server_init(&module, NULL, 0);
    if (status != PMIX_SUCCESS) {
        report("cannot start the PMIx server: %s%s", PMIx_Error_string(status),
               status == PMIX_ERR_INIT ? " (it needs a network interface that is up; loopback will do)" : "");
        return LAUNCH_FAILED;
    }
    status = job_info_register(server.job, n_pes);
    if (status == PMIX_SUCCESS) return LAUNCH_OK;
    report("the PMIx server does not accept a job of %d PEs: %s", n_pes, PMIx_Error_string(status));
    return LAUNCH_FAILED;
}

char **server_variables(int pe)
{
    char **variables = NULL;
    pmix_proc_t who;
    PMIX_LOAD_PROCID(&who, server.job, (pmix_rank_t)pe);
    PMIx_server_setup_fork(&who, &variables);
    return variables;
}

int server_event_fd(void) { return server.event_fd; }

struct server_event *server_next_event(void)
{
    eventfd_t count;
    eventfd_read(server.event_fd, &count); /* before the list: events posted from here on raise it again */
    pthread_mutex_lock(&server.lock);
    struct server_event *event = server.first;
    if (event) server.first = event->next;
    if (!server.first) server.last = &server.first;
    pthread_mutex_unlock(&server.lock);
    return event;
}

void server_event_destroy(struct server_event *event)
{
    free(event->message);
    free(event);
}
