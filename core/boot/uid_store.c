/* core/boot/uid_store.c: values under keys, and look-ups of them, in each server of a unique id. See uid_server_priv.h.
 * The server of the PE that puts a value keeps it. Other servers keep copies of values looked up through them, the
 * newest ones within a bound, so that the PEs of a host together fetch a value about once. */
#include "core/boot/uid_server_priv.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 64, COPIES_BYTES = 1 << 20 };

static struct ist_uid_head head_for(uint32_t type, int pe, const char *key, uint32_t value_bytes)
{
    return (struct ist_uid_head){
        .type = type, .pe = pe, .key_bytes = (uint32_t)strlen(key), .value_bytes = value_bytes};
}

/* ---- the table ---- */

static size_t hash(int pe, const char *key)
{
    uint64_t sum = 14695981039346656037u ^ (uint32_t)pe; /* FNV-1a; all PEs that put know the secret */
    for (; *key != '\0'; key++) sum = (sum ^ (uint8_t)*key) * 1099511628211u;
    return (size_t)(sum ^ sum >> 32);
}

static struct ist_uid_entry **bucket_of(const struct ist_uid_store *store, int pe, const char *key)
{
    return &store->buckets[hash(pe, key) & (store->n_buckets - 1)];
}

static struct ist_uid_entry *find(const struct ist_uid_store *store, int pe, const char *key)
{
    struct ist_uid_entry *entry = store->n_buckets > 0 ? *bucket_of(store, pe, key) : NULL;
    while (entry != NULL && (entry->pe != pe || strcmp(entry->key, key) != 0)) entry = entry->next;
    return entry;
}

static bool grow(struct ist_uid_store *store)
{
    struct ist_uid_store bigger = {.n_buckets = store->n_buckets > 0 ? 2 * store->n_buckets : FIRST_BUCKETS};
    bigger.buckets = calloc(bigger.n_buckets, sizeof(struct ist_uid_entry *));
    if (bigger.buckets == NULL) return store->n_buckets > 0;
    for (size_t i = 0; i < store->n_buckets; i++) {
        while (store->buckets[i] != NULL) {
            struct ist_uid_entry *entry = store->buckets[i], **to = bucket_of(&bigger, entry->pe, entry->key);
            store->buckets[i] = entry->next;
            entry->next = *to;
            *to = entry;
        }
    }
    free(store->buckets);
    store->buckets = bigger.buckets;
    store->n_buckets = bigger.n_buckets;
    return true;
}

/* Returns NULL if memory is short. */
static struct ist_uid_entry *find_or_add(struct ist_uid_store *store, int pe, const char *key)
{
    struct ist_uid_entry *entry = find(store, pe, key);
    if (entry != NULL) return entry;
    if (store->n_entries >= store->n_buckets && !grow(store)) return NULL;
    entry = calloc(1, sizeof *entry);
    if (entry == NULL) return NULL;
    entry->pe = pe;
    strncpy(entry->key, key, sizeof entry->key - 1);
    struct ist_uid_entry **at = bucket_of(store, pe, key);
    entry->next = *at;
    *at = entry;
    store->n_entries++;
    return entry;
}

/* ---- copies: a queue from the oldest to the newest ---- */

static size_t footprint(const struct ist_uid_entry *entry) { return sizeof *entry + entry->value_bytes; }

static void join_copies(struct ist_uid_store *store, struct ist_uid_entry *entry)
{
    entry->link_of = store->oldest_copy != NULL ? store->newest_copy : &store->oldest_copy;
    entry->newer = NULL;
    *entry->link_of = entry;
    store->newest_copy = &entry->newer;
    store->copied_bytes += footprint(entry);
}

static void leave_copies(struct ist_uid_store *store, struct ist_uid_entry *entry)
{
    *entry->link_of = entry->newer;
    if (entry->newer != NULL)
        entry->newer->link_of = entry->link_of;
    else
        store->newest_copy = entry->link_of;
    store->copied_bytes -= footprint(entry);
}

/* ---- values ---- */

static void drop_value(struct ist_uid_store *store, struct ist_uid_entry *entry)
{
    if (!entry->has_value) return;
    if (entry->is_copy) leave_copies(store, entry);
    free(entry->value);
    entry->value = NULL;
    entry->has_value = entry->is_copy = entry->is_shared = false;
}

/* Called when no look-up waits for the entry. */
static void drop_entry(struct ist_uid_store *store, struct ist_uid_entry *entry)
{
    struct ist_uid_entry **at = bucket_of(store, entry->pe, entry->key);
    drop_value(store, entry);
    while (*at != entry) at = &(*at)->next;
    *at = entry->next;
    store->n_entries--;
    free(entry);
}

static void answer(struct ist_uid_server *server, struct ist_uid_connection *connection, uint32_t id,
                   struct ist_uid_entry *entry)
{
    struct ist_uid_head head = {.type = IST_UID_VALUE, .id = id, .value_bytes = entry->value_bytes};
    if (connection->link == IST_UID_FROM_PE) {
        ist_uid_queue(server, connection, &head, NULL, entry->value);
        return;
    }
    entry->is_shared = true;
    head = head_for(IST_UID_PUT, entry->pe, entry->key, entry->value_bytes);
    ist_uid_queue(server, connection, &head, entry->key, entry->value);
}

static void answer_waiters(struct ist_uid_server *server, struct ist_uid_entry *entry)
{
    while (entry->waiters != NULL) {
        struct ist_uid_waiter *waiter = entry->waiters;
        entry->waiters = waiter->next;
        waiter->connection->n_awaited--;
        answer(server, waiter->connection, waiter->id, entry);
        free(waiter);
    }
}

/* Makes copies elsewhere stale: a leader sends FORGET to the root, the root to all leaders. */
static void spread_forget(struct ist_uid_server *server, int pe, const char *key,
                          const struct ist_uid_connection *source)
{
    struct ist_uid_head head = head_for(IST_UID_FORGET, pe, key, 0);
    for (struct ist_uid_connection *at = server->connections; at != NULL; at = at->next)
        if ((at->link == IST_UID_FROM_LEADER || at->link == IST_UID_FROM_ROOT) && at != source && !at->is_closed)
            ist_uid_queue(server, at, &head, key, NULL);
}

void ist_uid_put(struct ist_uid_server *server, int pe, const char *key, const void *value, uint32_t value_bytes,
                 bool is_copy)
{
    struct ist_uid_store *store = &server->store;
    struct ist_uid_entry *entry = find_or_add(store, pe, key);
    void *bytes = malloc(value_bytes + 1u);
    if (entry == NULL || bytes == NULL) {
        free(bytes);
        ist_uid_no_memory(server, value_bytes);
        return;
    }
    if (entry->has_value && entry->is_shared && !is_copy) spread_forget(server, pe, key, NULL);
    drop_value(store, entry);
    if (value_bytes > 0) memcpy(bytes, value, value_bytes);
    entry->value = bytes;
    entry->value_bytes = value_bytes;
    entry->has_value = true;
    entry->is_copy = is_copy;
    answer_waiters(server, entry);
    if (is_copy) join_copies(store, entry);
    while (store->copied_bytes > COPIES_BYTES && store->oldest_copy != NULL) drop_entry(store, store->oldest_copy);
}

void ist_uid_get(struct ist_uid_server *server, struct ist_uid_connection *connection, const struct ist_uid_head *head,
                 const char *key, struct ist_uid_connection *from)
{
    struct ist_uid_entry *entry = find_or_add(&server->store, head->pe, key);
    if (entry != NULL && entry->has_value) {
        answer(server, connection, head->id, entry);
        return;
    }
    struct ist_uid_waiter *waiter = entry != NULL ? calloc(1, sizeof *waiter) : NULL;
    if (waiter == NULL) {
        ist_uid_no_memory(server, sizeof *entry);
        return;
    }
    struct ist_uid_head ask = head_for(IST_UID_GET, head->pe, key, 0);
    if (from != NULL && entry->waiters == NULL) ist_uid_queue(server, from, &ask, key, NULL);
    *waiter = (struct ist_uid_waiter){.connection = connection, .id = head->id, .next = entry->waiters};
    entry->waiters = waiter;
    connection->n_awaited++;
}

void ist_uid_remove(struct ist_uid_server *server, int pe, const char *key, const struct ist_uid_connection *source)
{
    struct ist_uid_entry *entry = find(&server->store, pe, key);
    bool is_copy = entry != NULL && entry->is_copy;
    if (source != NULL || (entry != NULL && entry->is_shared && !is_copy)) spread_forget(server, pe, key, source);
    if (entry == NULL) return;
    drop_value(&server->store, entry);
    if (entry->waiters == NULL) drop_entry(&server->store, entry);
}

static void remove_waiters(struct ist_uid_entry *entry, const struct ist_uid_connection *connection)
{
    for (struct ist_uid_waiter **at = &entry->waiters; *at != NULL;) {
        struct ist_uid_waiter *waiter = *at;
        if (waiter->connection != connection) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        free(waiter);
    }
}

void ist_uid_stop_waiting(struct ist_uid_server *server, struct ist_uid_connection *connection)
{
    for (size_t i = 0; connection->n_awaited > 0 && i < server->store.n_buckets; i++)
        for (struct ist_uid_entry *entry = server->store.buckets[i]; entry != NULL; entry = entry->next)
            remove_waiters(entry, connection);
    connection->n_awaited = 0;
}

void ist_uid_store_fini(struct ist_uid_store *store)
{
    for (size_t i = 0; i < store->n_buckets; i++) {
        while (store->buckets[i] != NULL) {
            struct ist_uid_entry *entry = store->buckets[i];
            store->buckets[i] = entry->next;
            while (entry->waiters != NULL) {
                struct ist_uid_waiter *waiter = entry->waiters;
                entry->waiters = waiter->next;
                free(waiter);
            }
            free(entry->value);
            free(entry);
        }
    }
    free(store->buckets);
    memset(store, 0, sizeof *store);
}
