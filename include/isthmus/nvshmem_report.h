/* isthmus/nvshmem_report.h: macros by which programs for NVSHMEM report a failure and leave: NVSHMEM's headers define
 * them, and its examples and performance programs use them. Each prints one line, with the place, to the error output
 * (WARN: to the output). `label` and `status` are the program's own. nvshmemx.h includes this header. */
#ifndef ISTHMUS_NVSHMEM_REPORT_H
#define ISTHMUS_NVSHMEM_REPORT_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ISTHMUS_PRINT_LINE_(...)                        \
    do {                                                \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
        fprintf(stderr, __VA_ARGS__);                   \
        fprintf(stderr, "\n");                          \
    } while (0)

/* If `failed`: a line, and then `leave`, statements. */
#define ISTHMUS_PRINT_IF_(failed, leave, ...)  \
    do {                                       \
        if (__builtin_expect(!!(failed), 0)) { \
            ISTHMUS_PRINT_LINE_(__VA_ARGS__);  \
            leave;                             \
        }                                      \
    } while (0)

#define ISTHMUS_GO_(status, error, label) \
    status = (error);                     \
    goto label
#define ISTHMUS_RETURN_(status, error) \
    status = (error);                  \
    return status

/* ---- print ---- */
#define NVSHMEMI_ERROR_PRINT(...) ISTHMUS_PRINT_LINE_(__VA_ARGS__)
#define NVSHMEMI_WARN_PRINT(...)      \
    do {                              \
        printf("WARN: " __VA_ARGS__); \
        printf("\n");                 \
    } while (0)

/* ---- print, and exit with -1 ---- */
#define NVSHMEMI_ERROR_EXIT(...) ISTHMUS_PRINT_IF_(1, exit(-1), __VA_ARGS__)
#define NVSHMEMI_NZ_EXIT(status, ...) ISTHMUS_PRINT_IF_((status) != 0, exit(-1), __VA_ARGS__)
#define NVSHMEMI_NZ_SYSCHECK_EXIT(sys_status, ...) ISTHMUS_PRINT_IF_((sys_status) != 0, exit(-1), __VA_ARGS__)

/* ---- print, set status to err and go to label: always, or if a condition holds ---- */
#define NVSHMEMI_ERROR_JMP(status, err, label, ...) ISTHMUS_PRINT_IF_(1, ISTHMUS_GO_(status, err, label), __VA_ARGS__)
#define NVSHMEMI_NULL_ERROR_JMP(var, status, err, label, ...) \
    ISTHMUS_PRINT_IF_((var) == NULL, ISTHMUS_GO_(status, err, label), __VA_ARGS__)
#define NVSHMEMI_EQ_ERROR_JMP(status, expected, err, label, ...) \
    ISTHMUS_PRINT_IF_((status) == (expected), ISTHMUS_GO_(status, err, label), __VA_ARGS__)
#define NVSHMEMI_NE_ERROR_JMP(status, expected, err, label, ...) \
    ISTHMUS_PRINT_IF_((status) != (expected), ISTHMUS_GO_(status, err, label), __VA_ARGS__)
#define NVSHMEMI_NZ_ERROR_JMP(status, err, label, ...) \
    ISTHMUS_PRINT_IF_((status) != 0, ISTHMUS_GO_(status, err, label), __VA_ARGS__)
#define NVSHMEMI_CHECK_ERROR_JMP(statement, status, err, label, ...) \
    ISTHMUS_PRINT_IF_(statement, ISTHMUS_GO_(status, err, label), __VA_ARGS__)

/* ---- print, set status to err and return it ---- */
#define NVSHMEMI_ERROR_RET(status, err, ...) ISTHMUS_PRINT_IF_(1, ISTHMUS_RETURN_(status, err), __VA_ARGS__)
#define NVSHMEMI_NULL_ERROR_RET(var, status, err, ...) \
    ISTHMUS_PRINT_IF_((var) == NULL, ISTHMUS_RETURN_(status, err), __VA_ARGS__)
#define NVSHMEMI_NZ_ERROR_RET(status, err, ...) \
    ISTHMUS_PRINT_IF_((status) != 0, ISTHMUS_RETURN_(status, err), __VA_ARGS__)
#define NVSHMEMI_NE_ERROR_RET(status, expected, err, ...) \
    ISTHMUS_PRINT_IF_((status) != (expected), ISTHMUS_RETURN_(status, err), __VA_ARGS__)

#endif
