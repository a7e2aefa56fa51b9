/* core/team/team.c: the table of teams, the predefined ones, and translation between numberings. See team.h. */
#include "core/team/team.h"

#include "core/base/fatal.h"
#include "core/heap/heap.h"
#include "core/team/internal_area.h"
#include "core/transport/choose.h"
#include "core/transport/memory.h"
#include "core/transport/peer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct ist_team ist_team_world;
struct ist_team **ist_team_table;
uint32_t ist_team_limit;
static void (*on_change)(const struct ist_team *team, int index);

static struct {
    const ist_boot *boot;
    bool shared_only_self;
    bool is_for_processors; /* the program's API, and not kernels */
    bool host_is_aliased;
    unsigned char *places; /* by index: enum ist_team_place */
    uint32_t n_changes;
    pthread_mutex_t lock;
} teams = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- PEs that share memory ---- */

/* Out: whether this PE reaches that PE's host memory by load and store. The transports answer, so that no connection is
 * made. */
static isthmus_status shares_memory(int pe, bool *out)
{
    static struct ist_choice choice; /* large; the caller holds the lock, or is alone */
    const struct ist_card *card;
    *out = false;
    if (!ist_peers_use_alias()) return ISTHMUS_OK;
    isthmus_status status = ist_peer_card(pe, &card);
    if (status != ISTHMUS_OK) return status;
    ist_choose(card, ISTHMUS_MEM_HOST, &choice);
    *out = choice.carrier != IST_NO_TRANSPORT && (choice.offers[choice.carrier].reach.caps & ISTHMUS_CAP_ALIAS) != 0;
    return ISTHMUS_OK;
}

/* Out: whether the users of this PE's heap (kernels, if it lies on a device) load and store in that PE's heap. */
static isthmus_status shares_heap(int pe, bool *out)
{
    static struct ist_choice choice;
    const struct ist_card *card;
    *out = pe == teams.boot->pe;
    if (*out || teams.shared_only_self) return ISTHMUS_OK;
    if (ist_heap.segment == IST_SEGMENT_HEAP) return shares_memory(pe, out);
    if (teams.is_for_processors) return ISTHMUS_OK;
    isthmus_status status = ist_peer_card(pe, &card);
    if (status != ISTHMUS_OK) return status;
    ist_choose(card, ist_device_heap.kind, &choice);
    *out = choice.carrier != IST_NO_TRANSPORT && ist_registry.list[choice.carrier].extensions.has_memory;
    return ISTHMUS_OK;
}

/* Out: whether all PEs of this host load and store in all of each other's memory. All have the same transports open, so
 * one answer holds for all of them; a PE that cannot tell would synchronise in another way than its peers. */
static isthmus_status is_host_aliased(const ist_boot *boot, bool *out)
{
    int neighbour = boot->local_pes[boot->n_local > 1 && boot->local_pes[0] == boot->pe];
    *out = boot->n_local == 1;
    if (*out || !ist_peers_use_alias()) return ISTHMUS_OK;
    if (ist_segments_have_extents()) return ISTHMUS_OK; /* memory that grows is mapped on first use only */
    return shares_memory(neighbour, out);
}

/* ---- the table ---- */

struct ist_team_memory *ist_team_memory_of(int index) { return &ist_internal_area()->teams[index]; }

/* On one host the rest is never used, and stays what it is: without pages. */
static void clear_memory(int index, bool is_on_one_host)
{
    struct ist_team_memory *memory = ist_team_memory_of(index);
    memset(memory, 0, is_on_one_host ? offsetof(struct ist_team_memory, inner) : sizeof *memory);
}

void ist_team_clear_memory(const struct ist_team *team, int index) { clear_memory(index, team->is_on_one_host); }

void ist_teams_place_memory(const ist_boot *boot)
{
    bool is_on_one_host = boot->n_local == boot->n_pes;
    if (boot->n_pes == 1) return;
    memset(ist_internal_area(), 0, offsetof(struct ist_internal_area, lobby));
    for (int index = 0; index < IST_TEAMS_PREDEFINED; index++)
        clear_memory(index, is_on_one_host || index == IST_TEAM_SHARED || index == IST_TEAM_NODE);
}

int ist_team_free_index(int from)
{
    int found = -1;
    pthread_mutex_lock(&teams.lock);
    for (uint32_t i = (uint32_t)from; i < ist_team_limit && found < 0; i++)
        if (teams.places[i] != IST_TEAM_LIVE) found = (int)i;
    pthread_mutex_unlock(&teams.lock);
    return found;
}

static void set_place(int index, enum ist_team_place place)
{
    pthread_mutex_lock(&teams.lock);
    if (place == IST_TEAM_LIVE || teams.places[index] == IST_TEAM_LIVE)
        ist_store_relaxed(&teams.n_changes, teams.n_changes + 1);
    teams.places[index] = (unsigned char)place;
    pthread_mutex_unlock(&teams.lock);
}

/* The limits of PEs may differ: what is past this PE's counts as live. */
enum ist_team_place ist_team_reserve(int index)
{
    if ((uint32_t)index >= ist_team_limit) return IST_TEAM_LIVE;
    pthread_mutex_lock(&teams.lock);
    enum ist_team_place before = teams.places[index];
    if (before == IST_TEAM_FREE) teams.places[index] = IST_TEAM_RESERVED;
    pthread_mutex_unlock(&teams.lock);
    return before;
}

void ist_team_unreserve(int index) { set_place(index, IST_TEAM_FREE); }

uint32_t ist_team_changes(void) { return ist_load_relaxed(&teams.n_changes); }

/* All accesses to `on_change` here, and to the table in what registers, deletes and lists, are sequentially consistent:
 * either the reader of the table finds a new team there, or announce() finds fn. Likewise a team that is deleted leaves
 * the table before announce(): either the reader does not find it, or announce() finds fn, which waits for the reader.
 */
void ist_team_announce(void (*fn)(const struct ist_team *team, int index))
{
    __atomic_store_n(&on_change, fn, __ATOMIC_SEQ_CST);
}

static void announce(const struct ist_team *team, int index)
{
    void (*fn)(const struct ist_team *, int) = __atomic_load_n(&on_change, __ATOMIC_SEQ_CST);
    if (fn != NULL) fn(team, index);
}

void ist_team_register(struct ist_team *team, int index)
{
    set_place(index, IST_TEAM_LIVE);
    team->index = index;
    team->memory = ist_team_memory_of(index);
    team->area = &team->memory->whole;
    __atomic_store_n(&ist_team_table[index], team, __ATOMIC_SEQ_CST);
    announce(team, index);
}

void ist_team_delete(struct ist_team *team)
{
    if (team->area != NULL) {
        __atomic_store_n(&ist_team_table[team->index], NULL, __ATOMIC_SEQ_CST);
        announce(NULL, team->index); /* returns when no listing that found the team still reads it */
        ist_team_unreserve(team->index);
    }
    ist_hosts_free(team->hosts);
    team->hosts = NULL;
    if (team == &ist_team_world) return;
    free((void *)(uintptr_t)team->list);
    free(team);
}

bool ist_team_is_local(int pe)
{
    int low = 0, high = teams.boot->n_local; /* local_pes ascend */
    while (low < high) {
        int middle = (low + high) / 2;
        if (teams.boot->local_pes[middle] < pe)
            low = middle + 1;
        else
            high = middle;
    }
    return low < teams.boot->n_local && teams.boot->local_pes[low] == pe;
}

static bool are_all_local(const struct ist_team *team)
{
    if (teams.boot->n_local == teams.boot->n_pes) return true;
    for (int pe = 0; pe < team->n_pes; pe++)
        if (!ist_team_is_local(ist_team_to_world(team, pe))) return false;
    return true;
}

/* A list that is a progression needs no list. */
static bool is_strided(const int *list, int n)
{
    for (int i = 2; i < n; i++)
        if (list[i] - list[i - 1] != list[1] - list[0]) return false;
    return true;
}

isthmus_status ist_team_new(int n, int start, int stride, const int *list, struct ist_team **out)
{
    int *copy = NULL;
    struct ist_team *team = calloc(1, sizeof *team);
    if (list != NULL && is_strided(list, n)) {
        start = list[0];
        stride = n > 1 ? list[1] - list[0] : 1;
        list = NULL;
    }
    if (list != NULL && (copy = malloc((size_t)n * sizeof *copy)) != NULL) memcpy(copy, list, (size_t)n * sizeof *copy);
    if (team == NULL || (list != NULL && copy == NULL)) {
        free(team);
        free(copy);
        return ist_fail_memory("a team of %d PEs", n);
    }
    *team = (struct ist_team){.n_pes = n, .start = start, .stride = stride, .list = copy};
    team->my_pe = ist_team_from_world(team, teams.boot->pe);
    team->is_on_one_host = are_all_local(team);
    team->is_aliased = team->is_on_one_host && teams.host_is_aliased;
    team->meets_in_streams = ist_team_world.meets_in_streams;
    team->has_kernels = ist_team_world.has_kernels;
    *out = team;
    return ISTHMUS_OK;
}

/* ---- the predefined teams ---- */

isthmus_status ist_teams_init(ist_boot *boot, const struct ist_config *config)
{
    teams.boot = boot;
    ist_hosts_init(boot, config->pretend_hosts);
    teams.shared_only_self = config->team_shared_only_self;
    teams.is_for_processors = config->face == IST_FACE_SHMEM;
    isthmus_status status = is_host_aliased(boot, &teams.host_is_aliased);
    if (status != ISTHMUS_OK) return status;
    ist_team_limit = (uint32_t)ist_teams_max(config);
    ist_team_table = calloc(ist_team_limit, sizeof *ist_team_table);
    teams.places = calloc(ist_team_limit, sizeof *teams.places);
    if (ist_team_table == NULL || teams.places == NULL) return ist_fail_memory("%u teams", ist_team_limit);
    ist_team_world = (struct ist_team){
        .n_pes = boot->n_pes,
        .my_pe = boot->pe,
        .stride = 1,
        .is_on_one_host = boot->n_local == boot->n_pes,
    };
    ist_team_world.is_aliased = ist_team_world.is_on_one_host && teams.host_is_aliased;
    for (int i = 0; i < IST_TEAMS_PREDEFINED; i++) teams.places[i] = IST_TEAM_LIVE;
    ist_team_register(&ist_team_world, IST_TEAM_WORLD);
    return ISTHMUS_OK;
}

void ist_teams_fini(void)
{
    for (uint32_t i = 0; ist_team_table != NULL && i < ist_team_limit; i++)
        if (ist_team_table[i] != NULL) ist_team_delete(ist_team_table[i]);
    ist_hosts_fini();
    free(ist_team_table);
    free(teams.places);
    ist_team_table = NULL;
    teams.places = NULL;
    ist_team_limit = 0;
    ist_team_world = (struct ist_team){.n_pes = 0};
}

static isthmus_status list_shared(int *list, int *n)
{
    isthmus_status status = ISTHMUS_OK;
    for (int i = 0; i < teams.boot->n_local && status == ISTHMUS_OK; i++) {
        bool shares;
        status = shares_heap(teams.boot->local_pes[i], &shares);
        if (status == ISTHMUS_OK && shares) list[(*n)++] = teams.boot->local_pes[i];
    }
    return status;
}

static isthmus_status list_node(int *list, int *n)
{
    *n = teams.boot->n_local;
    memcpy(list, teams.boot->local_pes, (size_t)*n * sizeof *list);
    return ISTHMUS_OK;
}

/* One PE of each host: that which has as many PEs of its host before it as this PE has. */
static isthmus_status list_same_mype_node(int *list, int *n)
{
    const ist_boot *boot = teams.boot;
    const int *host_of = NULL;
    int rank = 0;
    while (boot->local_pes[rank] != boot->pe) rank++;
    if (boot->n_local == boot->n_pes) {
        list[(*n)++] = boot->pe;
        return ISTHMUS_OK;
    }
    isthmus_status status = ist_hosts_of_world(&host_of);
    if (status != ISTHMUS_OK) return status;
    int *n_before = calloc((size_t)boot->n_pes, sizeof *n_before); /* by host */
    if (n_before == NULL) return ist_fail_memory("the ranks of %d PEs on their hosts", boot->n_pes);
    for (int pe = 0; pe < boot->n_pes; pe++)
        if (n_before[host_of[pe]]++ == rank) list[(*n)++] = pe;
    free(n_before);
    return ISTHMUS_OK;
}

/* Its PEs, and with them the collectives that follow, must not depend on which PE has memory. */
static struct ist_team *make_predefined(long index)
{
    static isthmus_status (*const listers[])(int *, int *) = {
        [IST_TEAM_SHARED] = list_shared,
        [IST_TEAM_NODE] = list_node,
        [IST_TEAM_SAME_MYPE_NODE] = list_same_mype_node,
    };
    struct ist_team *team = NULL;
    int n = 0, *list = malloc((size_t)teams.boot->n_pes * sizeof *list);
    isthmus_status status = list != NULL ? listers[index](list, &n)
                                         : ist_fail_memory("a list of %d PEs", teams.boot->n_pes);
    if (status == ISTHMUS_OK) status = ist_team_new(n, 0, 1, list, &team);
    if (status != ISTHMUS_OK) ist_die("the first use of a predefined team", status);
    free(list);
    return team;
}

struct ist_team *ist_team_late(long index)
{
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    if (index < IST_TEAM_SHARED || index >= IST_TEAMS_PREDEFINED || ist_team_table == NULL) return NULL;
    pthread_mutex_lock(&making);
    if (ist_team_table[index] == NULL) ist_team_register(make_predefined(index), (int)index);
    pthread_mutex_unlock(&making);
    return ist_team_table[index];
}

int ist_team_from_world(const struct ist_team *team, int world_pe)
{
    if (team->list == NULL) {
        int distance = world_pe - team->start;
        int pe = team->stride != 0 ? distance / team->stride : 0;
        return pe >= 0 && pe < team->n_pes && pe * team->stride == distance ? pe : -1;
    }
    for (int pe = 0; pe < team->n_pes; pe++)
        if (team->list[pe] == world_pe) return pe;
    return -1;
}
