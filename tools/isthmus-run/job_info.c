/* The facts of a job on one host in PMIx's words: sizes, maps, and the identity of each PE.
 * Not bindings or distances: the launcher knows neither before the PEs run, and they inspect the machine themselves.
 * Read on in server.c, which serves them. */
#include "job_info.h"
#include "launch.h"

#include <pmix_server.h>

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_string(void *list, const char *key, const char *text)
{
    PMIx_Info_list_add(list, key, text, PMIX_STRING);
}

static void add_uint32(void *list, const char *key, uint32_t number)
{
    PMIx_Info_list_add(list, key, &number, PMIX_UINT32);
}

static void add_rank(void *list, const char *key, int pe)
{
    pmix_rank_t rank = (pmix_rank_t)pe;
    PMIx_Info_list_add(list, key, &rank, PMIX_PROC_RANK);
}

/* "0,1,2,..." up to n_pes - 1. */
static char *list_of_pes(int n_pes)
{
    size_t room = (size_t)n_pes * sizeof "4095,";
    char *list = zeroed_memory(1, room), *at = list;
    for (int pe = 0; pe < n_pes; pe++) at += snprintf(at, room - (size_t)(at - list), pe ? ",%d" : "%d", pe);
    return list;
}

/* The maps, in the encoding that the library chooses for them. */
static void add_maps(void *list, const char *host, const char *pes)
{
    char *map = NULL;
    if (PMIx_generate_regex(host, &map) == PMIX_SUCCESS) PMIx_Info_list_add(list, PMIX_NODE_MAP, map, PMIX_REGEX);
    free(map);
    map = NULL;
    if (PMIx_generate_ppn(pes, &map) == PMIX_SUCCESS) PMIx_Info_list_add(list, PMIX_PROC_MAP, map, PMIX_REGEX);
    free(map);
}

static void add_job_facts(void *list, const char *job, int n_pes)
{
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    char *pes = list_of_pes(n_pes);
    uint32_t n = (uint32_t)n_pes;
    add_string(list, PMIX_JOBID, job);
    add_uint32(list, PMIX_SESSION_ID, 0);
    add_uint32(list, PMIX_JOB_SIZE, n);
    add_uint32(list, PMIX_UNIV_SIZE, n);
    add_uint32(list, PMIX_MAX_PROCS, n);
    add_uint32(list, PMIX_JOB_NUM_APPS, 1);
    add_uint32(list, PMIX_NUM_NODES, 1);
    add_rank(list, PMIX_NPROC_OFFSET, 0);
    add_maps(list, host, pes);
    add_uint32(list, PMIX_LOCAL_SIZE, n);
    add_uint32(list, PMIX_NODE_SIZE, n);
    add_string(list, PMIX_LOCAL_PEERS, pes);
    add_rank(list, PMIX_LOCALLDR, 0);
    add_string(list, PMIX_HOSTNAME, host);
    add_uint32(list, PMIX_NODEID, 0);
    add_uint32(list, PMIX_APPNUM, 0);
    add_uint32(list, PMIX_APP_SIZE, n);
    add_rank(list, PMIX_APPLDR, 0);
    free(pes);
}

/* On one host with one program all the numbers of a PE are the same number. */
static void add_pe_facts(void *job_list, int pe)
{
    void *list = PMIx_Info_list_start();
    uint16_t number = (uint16_t)pe;
    add_rank(list, PMIX_RANK, pe); /* first: the library takes the facts behind it for this rank's */
    PMIx_Info_list_add(list, PMIX_LOCAL_RANK, &number, PMIX_UINT16);
    PMIx_Info_list_add(list, PMIX_NODE_RANK, &number, PMIX_UINT16);
    add_rank(list, PMIX_GLOBAL_RANK, pe);
    add_rank(list, PMIX_APP_RANK, pe);
    add_uint32(list, PMIX_APPNUM, 0);
    add_uint32(list, PMIX_NODEID, 0);
    pmix_data_array_t facts;
    if (PMIx_Info_list_convert(list, &facts) == PMIX_SUCCESS) {
        PMIx_Info_list_add(job_list, PMIX_PROC_DATA, &facts, PMIX_DATA_ARRAY);
        PMIX_DATA_ARRAY_DESTRUCT(&facts);
    }
    PMIx_Info_list_release(list);
}

static void client_registered(pmix_status_t status, void *last)
{
    (void)status;
    if (last) sem_post(last);
}

/* The library works off registrations in their order, in its own thread: only the last one is waited for. */
static pmix_status_t register_clients(const pmix_nspace_t job, int n_pes)
{
    pmix_status_t status = PMIX_SUCCESS;
    sem_t last;
    sem_init(&last, 0, 0);
    for (int pe = 0; pe < n_pes && status == PMIX_SUCCESS; pe++) {
        pmix_proc_t who;
        PMIX_LOAD_PROCID(&who, job, (pmix_rank_t)pe);
        status = PMIx_server_register_client(&who, geteuid(), getegid(), NULL, client_registered,
                                             pe == n_pes - 1 ? &last : NULL);
    }
    if (status == PMIX_SUCCESS)
        while (sem_wait(&last) != 0) continue;
    return status;
}

pmix_status_t job_info_register(const pmix_nspace_t job, int n_pes)
{
    void *list = PMIx_Info_list_start();
    pmix_data_array_t facts = {.array = NULL};
    add_job_facts(list, job, n_pes);
    for (int pe = 0; pe < n_pes; pe++) add_pe_facts(list, pe);
    pmix_status_t status = PMIx_Info_list_convert(list, &facts);
    PMIx_Info_list_release(list);
    if (status != PMIX_SUCCESS) return status;

    status = PMIx_server_register_nspace(job, n_pes, facts.array, facts.size, NULL, NULL);
    PMIX_DATA_ARRAY_DESTRUCT(&facts);
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) return status;
    return register_clients(job, n_pes);
}
