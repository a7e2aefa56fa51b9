/* tests/doubles/gpu/stream.c: see gpu.h. A stream is a thread that executes a queue; an event is a position in it. */
#include "gpu.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <isthmus/amo_cpu.h>

struct gpu_event {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t recorded, done; /* set: done == recorded */
};

struct gpu_stream {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct gpu_op *first, **last;
    uint64_t submitted, finished;
    bool is_ending, is_first;
};

static int device_error;

/* Operations of all streams that are not done. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t none_left;
    uint64_t n;
} pending = {.lock = PTHREAD_MUTEX_INITIALIZER, .none_left = PTHREAD_COND_INITIALIZER};

static void count_pending(int change)
{
    pthread_mutex_lock(&pending.lock);
    pending.n += (uint64_t)(int64_t)change;
    if (pending.n == 0) pthread_cond_broadcast(&pending.none_left);
    pthread_mutex_unlock(&pending.lock);
}

void gpu_device_wait(void)
{
    pthread_mutex_lock(&pending.lock);
    while (pending.n > 0) pthread_cond_wait(&pending.none_left, &pending.lock);
    pthread_mutex_unlock(&pending.lock);
}

int gpu_device_error(void) { return __atomic_load_n(&device_error, __ATOMIC_ACQUIRE); }

/* ---- events ---- */

struct gpu_event *gpu_event_create(bool is_set)
{
    struct gpu_event *event = calloc(1, sizeof *event);
    if (event == NULL) abort();
    pthread_mutex_init(&event->lock, NULL);
    pthread_cond_init(&event->changed, NULL);
    event->recorded = is_set ? 0 : 1;
    gpu_count(GPU_EVENT, 1);
    return event;
}

void gpu_event_destroy(struct gpu_event *event)
{
    pthread_mutex_destroy(&event->lock);
    pthread_cond_destroy(&event->changed);
    free(event);
    gpu_count(GPU_EVENT, -1);
}

bool gpu_event_is_set(struct gpu_event *event)
{
    pthread_mutex_lock(&event->lock);
    bool is_set = event->done >= event->recorded;
    pthread_mutex_unlock(&event->lock);
    return is_set;
}

static void reach_turn(struct gpu_event *event, uint64_t turn)
{
    pthread_mutex_lock(&event->lock);
    if (event->done < turn) event->done = turn;
    pthread_cond_broadcast(&event->changed);
    pthread_mutex_unlock(&event->lock);
}

static void wait_turn(struct gpu_event *event, uint64_t turn)
{
    pthread_mutex_lock(&event->lock);
    while (event->done < turn) pthread_cond_wait(&event->changed, &event->lock);
    pthread_mutex_unlock(&event->lock);
}

static uint64_t turn_of(struct gpu_event *event, uint64_t more)
{
    pthread_mutex_lock(&event->lock);
    uint64_t turn = event->recorded += more;
    pthread_mutex_unlock(&event->lock);
    return turn;
}

void gpu_event_wait(struct gpu_event *event) { wait_turn(event, turn_of(event, 0)); }

void gpu_event_clear(struct gpu_event *event)
{
    pthread_mutex_lock(&event->lock);
    if (event->done >= event->recorded) event->recorded = event->done + 1;
    pthread_mutex_unlock(&event->lock);
}

/* ---- room for kernels ---- */

struct launch {
    unsigned blocks;
    bool is_first;
    struct launch *next;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned used;
    struct launch *waiting; /* in the order in which they will begin */
} room = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* What needs no room, copies and writes of words, never waits here. */
static void take_room(unsigned blocks, bool is_first)
{
    unsigned most = gpu_knobs()->blocks;
    struct launch own = {.blocks = blocks, .is_first = is_first}, **at = &room.waiting;
    if (most == 0 || blocks == 0) return;
    pthread_mutex_lock(&room.lock);
    while (*at != NULL && (!is_first || (*at)->is_first)) at = &(*at)->next;
    own.next = *at;
    *at = &own;
    while (room.waiting != &own || room.used + blocks > most) pthread_cond_wait(&room.changed, &room.lock);
    room.waiting = own.next;
    room.used += blocks;
    pthread_cond_broadcast(&room.changed);
    pthread_mutex_unlock(&room.lock);
}

static void give_room(unsigned blocks)
{
    if (gpu_knobs()->blocks == 0 || blocks == 0) return;
    pthread_mutex_lock(&room.lock);
    room.used -= blocks;
    pthread_cond_broadcast(&room.changed);
    pthread_mutex_unlock(&room.lock);
}

int gpu_double_waiting(void)
{
    int n = 0;
    pthread_mutex_lock(&room.lock);
    for (const struct launch *launch = room.waiting; launch != NULL; launch = launch->next) n++;
    pthread_mutex_unlock(&room.lock);
    return n;
}

/* ---- streams ---- */

static void work(const struct gpu_stream *stream, struct gpu_op *op)
{
    int none = 0, code = gpu_device_error();
    if (gpu_knobs()->delay_us > 0) usleep(gpu_knobs()->delay_us);
    if (op->after != NULL) wait_turn(op->after, op->after_turn);
    if (code == 0) code = gpu_enter("operation", gpu_illegal_address);
    if (code == 0) { /* a device that has failed does nothing more */
        take_room(op->blocks, stream->is_first);
        code = op->run(op);
        give_room(op->blocks);
    }
    if (code != 0) __atomic_compare_exchange_n(&device_error, &none, code, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (op->event != NULL) reach_turn(op->event, op->event_turn);
    free(op);
}

static void *stream_main(void *argument)
{
    struct gpu_stream *stream = argument;
    pthread_mutex_lock(&stream->lock);
    for (;;) {
        while (stream->first == NULL && !stream->is_ending) pthread_cond_wait(&stream->changed, &stream->lock);
        struct gpu_op *op = stream->first;
        if (op == NULL) break;
        stream->first = op->next;
        if (stream->first == NULL) stream->last = &stream->first;
        pthread_mutex_unlock(&stream->lock);
        work(stream, op);
        count_pending(-1);
        pthread_mutex_lock(&stream->lock);
        stream->finished++;
        pthread_cond_broadcast(&stream->changed);
    }
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

struct gpu_stream *gpu_stream_create(bool is_first)
{
    struct gpu_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) return NULL;
    stream->last = &stream->first;
    stream->is_first = is_first;
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    sigset_t all, before; /* this thread does not handle the program's signals */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&stream->thread, NULL, stream_main, stream);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        free(stream);
        return NULL;
    }
    gpu_count(GPU_STREAM, 1);
    return stream;
}

static struct gpu_stream *default_stream, *launch_streams[2];

/* A stream of the double's own. */
static struct gpu_stream *create_own(void)
{
    struct gpu_stream *stream = gpu_stream_create(false);
    gpu_count(GPU_STREAM, -1);
    return stream;
}

static void create_default(void) { default_stream = create_own(); }

static void create_launch_streams(void)
{
    for (size_t i = 0; i < sizeof launch_streams / sizeof *launch_streams; i++) launch_streams[i] = create_own();
}

struct gpu_stream *gpu_stream_default(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, create_default);
    return default_stream;
}

void gpu_double_launch(int stream, unsigned blocks, void (*kernel)(void *argument), void *argument)
{
    const struct gpu_op op = {.run = gpu_run_function, .function = kernel, .argument = argument, .blocks = blocks};
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, create_launch_streams);
    if (!gpu_stream_submit(launch_streams[stream], &op)) abort();
}

void gpu_stream_destroy(struct gpu_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->is_ending = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    pthread_join(stream->thread, NULL);
    pthread_mutex_destroy(&stream->lock);
    pthread_cond_destroy(&stream->changed);
    free(stream);
    gpu_count(GPU_STREAM, -1);
}

bool gpu_stream_submit(struct gpu_stream *stream, const struct gpu_op *op)
{
    struct gpu_op *own = malloc(sizeof *own);
    if (own == NULL) return false;
    *own = *op;
    own->next = NULL;
    if (own->event != NULL) own->event_turn = turn_of(own->event, 0);
    if (own->after != NULL) own->after_turn = turn_of(own->after, 0);
    count_pending(1);
    pthread_mutex_lock(&stream->lock);
    *stream->last = own;
    stream->last = &own->next;
    stream->submitted++;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    return true;
}

bool gpu_stream_is_idle(struct gpu_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool is_idle = stream->finished == stream->submitted;
    pthread_mutex_unlock(&stream->lock);
    return is_idle;
}

/* Waits for earlier operations; other threads may continue to submit. */
void gpu_stream_wait(struct gpu_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    uint64_t all = stream->submitted;
    while (stream->finished < all) pthread_cond_wait(&stream->changed, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
}

/* ---- operations ---- */

int gpu_run_copy(struct gpu_op *op)
{
    return gpu_copy(op->dest, op->source, op->length_bytes) ? 0 : gpu_illegal_address;
}

int gpu_run_fill(struct gpu_op *op)
{
    return gpu_fill(op->dest, (uint8_t)op->value, op->length_bytes) ? 0 : gpu_illegal_address;
}

int gpu_run_function(struct gpu_op *op)
{
    op->function(op->argument);
    return 0;
}

int gpu_run_nothing(struct gpu_op *op)
{
    (void)op;
    return 0;
}

const uint8_t gpu_amo_parameter_bytes[GPU_AMO_PARAMETERS] = {8, 8, 8, 8, 4, 4};

int gpu_run_isthmus_amo(struct gpu_op *op)
{
    const uint64_t *p = op->parameters;
    uint32_t amo = (uint32_t)p[4], bytes = (uint32_t)p[5];
    void *word = gpu_word(p[0], bytes);
    if (word == NULL) return gpu_illegal_address;
    uint64_t old = isthmus_amo_cpu(amo, word, p[1], p[2], bytes);
    if (p[3] == 0) return 0;
    uint64_t *result = gpu_word(p[3], sizeof *result);
    if (result == NULL) return gpu_illegal_address;
    __atomic_store_n(result, old, __ATOMIC_RELEASE);
    return 0;
}
