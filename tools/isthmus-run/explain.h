/* What the PEs wait for, reported on SIGUSR1 and when time is up.
 * The PEs note it in memory that they share with the launcher (core/base/note_page.h), so none has to reply: a PE that
 * is stopped, or that has a handler of its own for every signal, is reported too.
 * Read on in explain.c. */
#ifndef ISTHMUS_RUN_EXPLAIN_H
#define ISTHMUS_RUN_EXPLAIN_H

#include "job.h"

/* Makes the pages. Without them (no descriptors left, say) a job runs all the same. */
void explain_init(int n_pes);

/* "ISTHMUS_RUN_NOTES=...", allocated, for the PEs' environment; NULL: there are no pages. */
char *explain_variable(void);

/* A line for each place where PEs are, the rarest first; some ten lines for any number of PEs. */
void explain_report(const struct job *job);

#endif
