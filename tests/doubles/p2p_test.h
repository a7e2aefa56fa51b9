/* tests/doubles/p2p_test.h: what the files of that program share: p2p_test.c has a PE, all that a transport is used
 * for, failures and devices; p2p_memory.c memory and streams; p2p_kernels.c what kernels need; p2p_platform.c the cases
 * of one platform. */
#ifndef TESTS_DOUBLES_P2P_TEST_H
#define TESTS_DOUBLES_P2P_TEST_H

#include <isthmus/transport.h>

#include "tests/doubles/gpu/gpu.h"

#include <pthread.h>
#include <stdio.h>

#define CHECK(condition, ...)                          \
    do {                                               \
        if (condition) break;                          \
        printf("line %d: %s: ", __LINE__, #condition); \
        printf(__VA_ARGS__);                           \
        printf("\n");                                  \
        exit(1);                                       \
    } while (0)

extern const struct isthmus_transport *plugin;
extern struct gpu_double {
    void (*reset)(void);
    int (*held)(char *text, size_t text_bytes);
    const char *(*call)(int number, int *uses);
    void (*launch)(int stream, unsigned blocks, void (*kernel)(void *argument), void *argument);
    int (*waiting)(void);
} gpu_double;
extern char said[400]; /* the last text of a failure */

/* Immediately: streams may be about to start, and the first allocations of a thread would count as leaks. */
_Noreturn void skip(void);

const char *variable(const char *key); /* ISTHMUS_<NAME OF THE TRANSPORT>_<KEY> */
struct isthmus_services services_of(int pe);

/* ---- a PE ---- */

struct pe {
    struct isthmus_services services;
    isthmus_tr *tr;
    uint32_t kind;
    char card[1024];
    struct isthmus_peer as_peer;
    pthread_t thread; /* serves descriptors */
    bool is_serving, is_ending;
};
isthmus_status pe_open(struct pe *pe, int number);
void pe_close(struct pe *pe);
void open_both(struct pe pes[2]);
void close_both(struct pe pes[2]); /* and checks that nothing is left */
const struct isthmus_memory *memory_of(const struct pe *pe);
const struct isthmus_growing *growing_of(const struct pe *pe);

isthmus_status use_all(void); /* all that a transport is used for, once; everything is given back, also on failure */
isthmus_status use_stream(struct pe *pe, const isthmus_rmem *remote); /* a part of it */
isthmus_status use_kernels(struct pe *pe);                            /* another one */
isthmus_status use_place(struct pe pes[2]);                           /* likewise */
void expect_device(int pe_number, int device);
void expect_reach(struct pe pes[2], isthmus_status expected);

/* ---- memory of the first PE, which the second one reaches ---- */

struct stream_scene {
    struct pe *pes;
    isthmus_path *path;
    isthmus_rmem *remote;
    isthmus_lmem *exposed;
    struct isthmus_mem theirs, mine;
    int is_done; /* by the host function, the last in the stream */
};
void stream_scene_open(struct stream_scene *scene, struct pe pes[2]);
void stream_scene_close(struct stream_scene *scene);

void case_faults(void);

/* ---- cases of the other files ---- */

void case_faults_between_two(void);
void case_faults_of_old_hip(void);
void case_memory_grows(void);
void case_attached_in_place(void);
void case_full_device(void);
void case_kind_of_address(void);
void case_stream_order(void);
void case_host_access(void);
void case_old_driver(void);
void case_lacking_call(void);
void case_stub_library(void);
void case_words_by_value(void);
void case_fabric_handles(void);
void case_memory_for_adapters(void);
void case_memory_for_kernels(void);
void case_flush_of_writes(void);
void case_driver_in_folder(void);
void case_tiles(void);
void case_old_hip(void);
void case_refused_pieces(void);
void case_unshared_pieces(void);

#endif
