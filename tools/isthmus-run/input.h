/* The standard input of PE 0.
 * Not that of the others, which is /dev/null.
 * Read on in input.c. */
#ifndef ISTHMUS_RUN_INPUT_H
#define ISTHMUS_RUN_INPUT_H

#include <poll.h>
#include <stdbool.h>

/* *fd: what PE 0 gets as descriptor 0, or -1 for the launcher's own. Close it with input_started() once it runs. */
bool input_open(int *fd);
void input_started(int fd);

/* Fills one entry, or none and returns false. */
bool input_poll(struct pollfd *polled);
void input_ready(void);

/* The launcher was continued (SIGCONT): it may be in the foreground of its terminal again. */
void input_continue(void);

#endif
