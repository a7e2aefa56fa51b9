/* tools/isthmus-check-transport/job.c: see job.h. The process that the launcher has started joins the job by the
 * bootstrap of the library, which may start threads. The checker is a child of it, forked before. */
#include "job.h"

#include "core/base/config.h"
#include "core/base/log.h"
#include "core/base/mac.h"
#include "core/base/status.h"
#include "core/boot/launcher.h"
#include "core/topo/topo.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATUS_FAILED = 1 };

static int fail(const char *what)
{
    fprintf(stderr, "isthmus-check-transport: %s: %s\n", what, ist_fail_text());
    return STATUS_FAILED;
}

static void end_with_job(const char *why, int exit_code)
{
    if (why != NULL) fprintf(stderr, "isthmus-check-transport: the job has ended: %s\n", why);
    _exit(exit_code != 0 ? exit_code : STATUS_FAILED);
}

/* ---- the place of this PE ---- */

static isthmus_status make_place(const struct ist_config *config, struct job_place *out, int *listener)
{
    *out = (struct job_place){.uid = {.format = IST_UID_FORMAT}};
    isthmus_status status = ist_random_bytes(out->uid.secret, sizeof out->uid.secret);
    if (status == ISTHMUS_OK) status = ist_host_id_read(&out->uid.host);
    if (status == ISTHMUS_OK) status = ist_uid_find_addresses(config, &out->uid);
    if (status == ISTHMUS_OK) status = ist_uid_listen(&out->uid, listener);
    out->host = out->uid.host;
    return status;
}

static isthmus_status get_place(ist_boot *boot, int pe, struct job_place *out)
{
    void *value = NULL;
    size_t value_bytes = 0;
    isthmus_status status = boot->ops->get(boot, pe, "check-place", &value, &value_bytes);
    if (status == ISTHMUS_OK && value_bytes != sizeof *out)
        status = ist_fail(ISTHMUS_ERR_VERSION, "the isthmus-check-transport of PE %d is of another version", pe);
    if (status == ISTHMUS_OK) memcpy(out, value, sizeof *out);
    free(value);
    return status;
}

static isthmus_status meet(ist_boot *boot, const struct ist_config *config, struct job_place *own, struct job *out)
{
    out->pe = boot->pe;
    out->n_pes = boot->n_pes < CT_MAX_PROCESSES ? boot->n_pes : CT_MAX_PROCESSES;
    ist_host_id_pretend(&own->host, config->pretend_hosts, boot->pe);
    isthmus_status status = boot->ops->put(boot, "check-place", own, sizeof *own);
    if (status == ISTHMUS_OK) status = boot->ops->exchange(boot);
    for (int pe = 0; pe < out->n_pes && status == ISTHMUS_OK; pe++) status = get_place(boot, pe, &out->places[pe]);
    return status;
}

/* ---- the checker, and the process that is a PE ---- */

static _Noreturn void be_checker(int from_pe, int listener, job_check *check, const void *argument, const char *plugin)
{
    static struct job job;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(from_pe, &job, sizeof job) != (ssize_t)sizeof job) _exit(STATUS_FAILED);
    close(from_pe);
    if (job.pe > 0) job_serve(&job, listener, plugin);
    close(listener);
    exit(check(&job, argument));
}

/* PE 0 is done when its checker has ended, the others when PE 0 is. */
static int be_pe(ist_boot *boot, const struct job *job, pid_t checker, int to_checker)
{
    int status = 0;
    if (write(to_checker, job, sizeof *job) != (ssize_t)sizeof *job) return STATUS_FAILED;
    if (job->pe == 0 && waitpid(checker, &status, 0) != checker) return STATUS_FAILED;
    if (boot->ops->exchange(boot) != ISTHMUS_OK) return fail("cannot meet the other PEs at the end");
    if (job->pe > 0) {
        kill(checker, SIGKILL);
        (void)waitpid(checker, NULL, 0);
        return 0;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_FAILED;
}

static int join(const struct ist_config *config, struct job_place *own, pid_t checker, int to_checker)
{
    static struct job job;
    const struct ist_boot_request request = {.kind = IST_BOOTSTRAP_AUTO};
    ist_boot *boot = NULL;
    int result = STATUS_FAILED;
    isthmus_status status = ist_boot_open(config, &request, end_with_job, &boot);
    if (status == ISTHMUS_OK) status = meet(boot, config, own, &job);
    if (status == ISTHMUS_OK)
        result = be_pe(boot, &job, checker, to_checker);
    else
        (void)fail("cannot join the job");
    ist_boot_close(boot);
    ist_boot_leave();
    return result;
}

int job_run(job_check *check, const void *argument, const char *plugin)
{
    struct ist_config config;
    struct ist_launcher launcher;
    struct job_place own;
    int listener = -1, pipe_fds[2];
    if (ist_config_init(&config, IST_FACE_SHMEM) != ISTHMUS_OK) return fail("cannot read the settings");
    ist_launcher_find(config.bootstrap, &launcher);
    if (config.bootstrap == IST_BOOTSTRAP_ALONE || launcher.kind == IST_LAUNCHER_NONE || launcher.n_pes == 1) {
        static struct job alone = {.n_pes = 1};
        isthmus_status status = ist_host_id_read(&alone.places[0].host);
        ist_config_fini(&config);
        return status != ISTHMUS_OK ? fail("cannot identify this host") : check(&alone, argument);
    }
    if (make_place(&config, &own, &listener) != ISTHMUS_OK) return fail("cannot join the job");
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) return STATUS_FAILED;
    pid_t checker = fork();
    if (checker == 0) {
        close(pipe_fds[1]);
        be_checker(pipe_fds[0], listener, check, argument, plugin);
    }
    close(pipe_fds[0]);
    close(listener);
    int result = checker > 0 ? join(&config, &own, checker, pipe_fds[1]) : STATUS_FAILED;
    ist_config_fini(&config);
    return result;
}
