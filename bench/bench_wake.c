/* How late a waiting PE notices the end of its wait: a put 20 ms later, in wait_until beside a loop of loads; and a
 * barrier that one PE enters late, from that moment on. PE 0 measures; the clock is one that both PEs read, so that
 * their hosts have to be namespaces of one machine. The value is the median, the worst stands behind it.
 * Not about how long the operations themselves take.
 * Read on: tests/hosts/roce.table runs this where a put is an RDMA write. */
#include "bench.h"

#include <string.h>
#include <time.h>

enum { ROUNDS = 60, PUT_LATER_US = 20000 };

static long flag;
static double came_ns; /* at PE 0: when PE 1 put the flag, or entered the barrier */

static void sleep_us(long us)
{
    struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static void loop_of_loads(long value)
{
    while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) != value) {}
}

static void wait_until(long value) { shmem_long_wait_until(&flag, SHMEM_CMP_EQ, value); }

/* PE 1 puts into the flag of PE 0 after that time; returns how late PE 0 has noticed. */
static double wake(const struct bench_target *target, void (*wait)(long value), long later_us)
{
    static long value;
    double now_ns = 0;
    value++;
    shmem_barrier_all();
    if (target->my_pe == 0) {
        wait(value);
        now_ns = bench_now_ns();
    } else if (target->my_pe == 1) {
        sleep_us(later_us);
        double put_ns = bench_now_ns();
        shmem_long_p(&flag, value, 0);
        shmem_quiet();
        shmem_double_p(&came_ns, put_ns, 0);
    }
    shmem_barrier_all();
    return now_ns - came_ns;
}

static double late_barrier(const struct bench_target *target, long later_us)
{
    shmem_barrier_all();
    if (target->my_pe == 1) sleep_us(later_us);
    double entered_ns = bench_now_ns();
    shmem_barrier_all();
    double left_ns = bench_now_ns();
    if (target->my_pe == 1) shmem_double_p(&came_ns, entered_ns, 0);
    shmem_barrier_all();
    return left_ns - came_ns;
}

struct late {
    double values_ns[ROUNDS];
};

static double median_us(struct late *late) { return bench_median(late->values_ns, ROUNDS) / 1000; }

static double worst_us(const struct late *late)
{
    double worst = 0;
    for (int i = 0; i < ROUNDS; i++) worst = late->values_ns[i] > worst ? late->values_ns[i] : worst;
    return worst / 1000;
}

static void print(const char *what, struct late *late, struct late *reference)
{
    printf("row\t%s, median\t%.4g\t%.4g\t-\t-\tus\n", what, median_us(late), median_us(reference));
    printf("row\t%s, worst\t%.4g\t%.4g\t-\t-\tus\n", what, worst_us(late), worst_us(reference));
}

/* In turn, so that other load of the machine affects both alike. */
static void measure_wakes(const struct bench_target *target)
{
    static struct late waits, loads;
    for (int i = 0; i < ROUNDS; i++) {
        waits.values_ns[i] = wake(target, wait_until, PUT_LATER_US + 37 * i);
        loads.values_ns[i] = wake(target, loop_of_loads, PUT_LATER_US + 37 * i);
    }
    if (target->my_pe == 0) print("wake-up after a put 20 ms later, beside a loop of loads", &waits, &loads);
}

static void measure_barriers(const struct bench_target *target)
{
    static const long skews_us[] = {200, 2000, 20000};
    static struct late late, together;
    for (size_t s = 0; s < sizeof skews_us / sizeof *skews_us; s++) {
        char what[100];
        for (int i = 0; i < ROUNDS; i++) {
            late.values_ns[i] = late_barrier(target, skews_us[s]);
            together.values_ns[i] = late_barrier(target, 0);
        }
        snprintf(what, sizeof what, "barrier to which a PE comes %.3g ms late, beside one without",
                 (double)skews_us[s] / 1000);
        if (target->my_pe == 0) print(what, &late, &together);
    }
}

int main(int argc, char **argv)
{
    struct bench_target target = bench_open_anywhere(argc, argv, sizeof(long));
    measure_wakes(&target);
    measure_barriers(&target);
    return bench_close(&target);
}
