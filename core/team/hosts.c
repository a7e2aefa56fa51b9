/* core/team/hosts.c: see team.h. */
#include "core/team/team.h"

#include "core/topo/topo.h"
#include "core/transport/peer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    ist_boot *boot;
    const char *pretended;
    int *host_of; /* by PE; NULL until first used */
    pthread_mutex_t lock;
} world = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the world ---- */

/* What distinguishes two PEs' hosts: the launcher's numbers of nodes, or else (NULL) the host identity on the PEs'
 * cards. */
static bool are_together(const uint32_t *node_of, int a, int b)
{
    const struct ist_card *card_a, *card_b;
    if (node_of != NULL)
        return node_of[a] == node_of[b] &&
               ist_pretended_host(world.pretended, a) == ist_pretended_host(world.pretended, b);
    return ist_peer_card(a, &card_a) == ISTHMUS_OK && ist_peer_card(b, &card_b) == ISTHMUS_OK &&
           ist_host_id_equal(&card_a->host, &card_b->host);
}

/* Every card is fetched once, so that a missing card is a failure and not another host. */
static isthmus_status fetch_cards(int n_pes)
{
    isthmus_status status = ISTHMUS_OK;
    const struct ist_card *card;
    for (int pe = 0; pe < n_pes && status == ISTHMUS_OK; pe++) status = ist_peer_card(pe, &card);
    return status;
}

/* PEs that are neighbours in number are often on one host, or on the host after: the search begins at the host of the
 * PE before, so that blocks and turns find theirs at once. first_of: the first PE of each host. */
static void number_hosts(const uint32_t *node_of, int n_pes, int *first_of, int *host_of)
{
    int n_hosts = 0;
    bool is_numbered = node_of != NULL && world.pretended[0] == '\0'; /* just so */
    for (int pe = 0; pe < n_pes && is_numbered; pe++) host_of[pe] = (int)node_of[pe];
    for (int pe = 0; pe < n_pes && !is_numbered; pe++) {
        int before = pe > 0 ? host_of[pe - 1] : 0, tried = 0;
        while (tried < n_hosts && !are_together(node_of, first_of[(before + tried) % n_hosts], pe)) tried++;
        host_of[pe] = tried < n_hosts ? (before + tried) % n_hosts : n_hosts;
        if (tried == n_hosts) first_of[n_hosts++] = pe;
    }
}

static isthmus_status find_world(void)
{
    int n_pes = world.boot->n_pes;
    const uint32_t *node_of = ist_boot_nodes(world.boot);
    int *first_of = calloc((size_t)n_pes, sizeof *first_of), *host_of = calloc((size_t)n_pes, sizeof *host_of);
    isthmus_status status = node_of != NULL ? ISTHMUS_OK : fetch_cards(n_pes);
    if (first_of == NULL || host_of == NULL) status = ist_fail_memory("the hosts of %d PEs", n_pes);
    if (status == ISTHMUS_OK) {
        number_hosts(node_of, n_pes, first_of, host_of);
        world.host_of = host_of;
        host_of = NULL;
        ist_boot_forget_nodes(world.boot); /* the numbers show that */
    }
    free(first_of);
    free(host_of);
    return status;
}

isthmus_status ist_hosts_of_world(const int **host_of)
{
    pthread_mutex_lock(&world.lock);
    isthmus_status status = world.host_of != NULL ? ISTHMUS_OK : find_world();
    *host_of = world.host_of;
    pthread_mutex_unlock(&world.lock);
    return status;
}

void ist_hosts_init(ist_boot *boot, const char *pretended)
{
    world.boot = boot;
    world.pretended = pretended;
}

void ist_hosts_fini(void)
{
    free(world.host_of);
    world.host_of = NULL;
    world.boot = NULL;
}

/* ---- a team ---- */

/* Numbers by first member. number_of: by the given number, 0 or the new number plus one. */
static void renumber(struct ist_hosts *hosts, const int *host_of, int n, int *number_of)
{
    for (int pe = 0; pe < n; pe++) {
        int *number = &number_of[host_of[pe]];
        if (*number == 0) *number = ++hosts->n_hosts;
        hosts->host_of[pe] = *number - 1;
    }
}

/* The members host by host, in their order: first[h] counts up while they are filled in, and is put back. */
static void list_members(struct ist_hosts *hosts, int n)
{
    int *first = hosts->first;
    for (int pe = 0; pe < n; pe++) first[hosts->host_of[pe] + 1]++;
    for (int h = 0; h < hosts->n_hosts; h++) first[h + 1] += first[h];
    for (int pe = 0; pe < n; pe++) hosts->members[first[hosts->host_of[pe]]++] = pe;
    for (int h = hosts->n_hosts; h > 0; h--) first[h] = first[h - 1];
    first[0] = 0;
}

static void describe(struct ist_hosts *hosts, int n, int my_pe)
{
    hosts->my_host = hosts->host_of[my_pe];
    while (hosts->members[hosts->first[hosts->my_host] + hosts->my_number] != my_pe) hosts->my_number++;
    hosts->least = n;
    for (int h = 0; h < hosts->n_hosts; h++)
        if (ist_hosts_size(hosts, h) < hosts->least) hosts->least = ist_hosts_size(hosts, h);
    hosts->are_blocks = true;
    for (int i = 0; i < n; i++) hosts->are_blocks = hosts->are_blocks && hosts->members[i] == i;
}

isthmus_status ist_hosts_new(const int *host_of, int n, int n_numbers, int my_pe, struct ist_hosts **out)
{
    size_t size = (size_t)n;
    struct ist_hosts *hosts = calloc(1, sizeof *hosts);
    int *number_of = calloc((size_t)n_numbers, sizeof *number_of);
    if (hosts != NULL) {
        hosts->host_of = calloc(size, sizeof *hosts->host_of);
        hosts->members = calloc(size, sizeof *hosts->members);
        hosts->first = calloc(size + 1, sizeof *hosts->first);
    }
    if (hosts == NULL || number_of == NULL || hosts->host_of == NULL || hosts->members == NULL ||
        hosts->first == NULL) {
        free(number_of);
        ist_hosts_free(hosts);
        return ist_fail_memory("the hosts of %d PEs", n);
    }
    renumber(hosts, host_of, n, number_of);
    free(number_of);
    int *first = realloc(hosts->first,
                         ((size_t)hosts->n_hosts + 1) * sizeof *first); /* most jobs have fewer hosts than PEs */
    if (first != NULL) hosts->first = first;
    list_members(hosts, n);
    describe(hosts, n, my_pe);
    *out = hosts;
    return ISTHMUS_OK;
}

/* A team made for another one: no other PE knows it, and it has no index. */
static isthmus_status new_part(const struct ist_team *team, int *members, int n, struct ist_team_area *area,
                               struct ist_team **out)
{
    for (int i = 0; i < n; i++) members[i] = ist_team_to_world(team, members[i]);
    isthmus_status status = ist_team_new(n, 0, 1, members, out);
    if (status == ISTHMUS_OK) (*out)->area = area;
    return status;
}

static isthmus_status make_parts(const struct ist_team *team, struct ist_hosts *hosts)
{
    int *list = calloc((size_t)team->n_pes, sizeof *list), *mine = hosts->members + hosts->first[hosts->my_host];
    int n_here = ist_hosts_size(hosts, hosts->my_host);
    if (list == NULL) return ist_fail_memory("the hosts of %d PEs", team->n_pes);
    memcpy(list, mine, (size_t)n_here * sizeof *list);
    isthmus_status status = new_part(team, list, n_here, &team->memory->inner, &hosts->inner);
    if (status == ISTHMUS_OK && hosts->my_number < hosts->least) {
        for (int h = 0; h < hosts->n_hosts; h++) list[h] = hosts->members[hosts->first[h] + hosts->my_number];
        status = new_part(team, list, hosts->n_hosts, &team->memory->outer, &hosts->outer);
    }
    free(list);
    return status;
}

isthmus_status ist_hosts_of_team(struct ist_team *team, const struct ist_hosts **out)
{
    const int *host_of_world = NULL;
    struct ist_hosts *hosts = team->hosts;
    isthmus_status status = hosts == NULL ? ist_hosts_of_world(&host_of_world) : ISTHMUS_OK;
    if (hosts == NULL && status == ISTHMUS_OK) {
        int *host_of = calloc((size_t)team->n_pes, sizeof *host_of);
        if (host_of == NULL) return ist_fail_memory("the hosts of %d PEs", team->n_pes);
        for (int pe = 0; pe < team->n_pes; pe++) host_of[pe] = host_of_world[ist_team_to_world(team, pe)];
        status = ist_hosts_new(host_of, team->n_pes, world.boot->n_pes, team->my_pe, &hosts);
        free(host_of);
        if (status == ISTHMUS_OK) status = make_parts(team, hosts);
        if (status != ISTHMUS_OK) ist_hosts_free(hosts);
    }
    if (status == ISTHMUS_OK) *out = team->hosts = hosts;
    return status;
}

static void delete_part(struct ist_team *part)
{
    if (part == NULL) return;
    part->area = NULL; /* it is not in the table */
    ist_team_delete(part);
}

void ist_hosts_free(struct ist_hosts *hosts)
{
    if (hosts == NULL) return;
    delete_part(hosts->inner);
    delete_part(hosts->outer);
    free(hosts->host_of);
    free(hosts->members);
    free(hosts->first);
    free(hosts);
}
