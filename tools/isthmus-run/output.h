/* The PEs' output with --tag-output: whole lines, each with the PE that wrote it.
 * Without the option nothing here is used; the PEs then write to the launcher's own descriptors.
 * Read on in output.c. */
#ifndef ISTHMUS_RUN_OUTPUT_H
#define ISTHMUS_RUN_OUTPUT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

void output_init(int n_pes);

/* Opens the pipes of one PE; *out and *err are its ends. Close them with output_started() once it runs. */
bool output_open(int pe, int *out, int *err);
void output_started(int out, int err);

/* Adds the descriptors to wait for to `polled`, which has room for 2 entries per PE; returns how many. */
size_t output_poll(struct pollfd *polled);
/* Reads and prints what poll() has found; the entries are those of the last output_poll(). */
void output_ready(const struct pollfd *polled, size_t n_polled);

/* True when all pipes have been read to their end and all of it has been printed. */
bool output_is_complete(void);

#endif
