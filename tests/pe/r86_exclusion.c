/* R86: atomics of one datatype on one location exclude each other, from all PEs and in all forms: sums are exact, and
 * every value that fetch_inc gives is given once. */
#include "check.h"

static uint64_t total, tickets;

/* n additions of 1, by each form in turn. */
static void add_up(uint64_t *word, int n, int home)
{
    static uint64_t old[64];
    for (int i = 0; i < n; i++) {
        pe_collide((uint64_t)i);
        switch (i % 6) {
        case 0: shmem_uint64_atomic_inc(word, home); break;
        case 1: shmem_uint64_atomic_add(word, 1, home); break;
        case 2: (void)shmem_uint64_atomic_fetch_add(word, 1, home); break;
        case 3: shmem_uint64_atomic_fetch_inc_nbi(&old[i % 64], word, home); break;
        case 4: shmem_uint64_atomic_fetch_add_nbi(&old[i % 64], word, 1, home); break;
        default:
            for (uint64_t seen = shmem_uint64_atomic_fetch(word, home), found;; seen = found)
                if ((found = shmem_uint64_atomic_compare_swap(word, seen, seen + 1, home)) == seen) break;
        }
    }
    shmem_quiet();
}

int main(void)
{
    pe_begin();
    int n = pe_contended_rounds(), home = pe.n - 1, most = pe_part_of(300000);
    unsigned char *taken = shmem_calloc((size_t)most, 1);
    CHECK(taken != NULL);
    uint64_t *heap_word = shmem_calloc(1, sizeof *heap_word);
    shmem_barrier_all();
    add_up(&total, n, home);
    add_up(heap_word, n, home);
    shmem_barrier_all();
    if (pe.me == home) {
        CHECK_EQ(total, (uint64_t)n * (uint64_t)pe.n);
        CHECK_EQ(*heap_word, (uint64_t)n * (uint64_t)pe.n);
    }

    /* Each ticket is one byte of PE 0, which its holder counts up. */
    int per_pe = most / pe.n;
    uint64_t last = 0;
    for (int i = 0; i < per_pe; i++) {
        uint64_t ticket = shmem_uint64_atomic_fetch_inc(&tickets, home);
        CHECK(ticket < (uint64_t)most && (i == 0 || ticket > last));
        last = ticket;
        shmem_uchar_p(&taken[ticket], (unsigned char)(shmem_uchar_g(&taken[ticket], 0) + 1), 0);
    }
    shmem_barrier_all();
    if (pe.me == 0) CHECK_FILLED(taken, 1, (size_t)(per_pe * pe.n));
    return pe_end();
}
