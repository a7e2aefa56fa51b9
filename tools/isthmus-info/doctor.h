/* tools/isthmus-info/doctor.h: what the transports require of this host: each requirement, whether it is met, what
 * shows that, and the remedy. The checks are doctor_host.c, doctor_network.c and doctor_devices.c; doctor.c keeps
 * the results and prints them; doctor_job.c compares the hosts of a job. The checks need neither root nor a launcher
 * nor a GPU, and change nothing. */
#ifndef ISTHMUS_INFO_DOCTOR_H
#define ISTHMUS_INFO_DOCTOR_H

#include "core/base/config.h"
#include "core/base/json.h"
#include "tools/isthmus-info/routes.h"

enum verdict {
    VERDICT_PASS,
    VERDICT_DEGRADED, /* jobs run, but slower, or with a limit that larger ones reach */
    VERDICT_FAIL,     /* jobs that need it do not run */
};

/* Adds a result. `area`: the transport that requires it, or "host"; `name`: what is required. Both are literals. The
 * format is the evidence: the values that were read, and where. */
void doctor_pass(const char *area, const char *name, const char *evidence, ...) __attribute__((format(printf, 3, 4)));

/* `remedy`: a command or a setting. */
void doctor_fault(enum verdict verdict, const char *area, const char *name, const char *remedy, const char *evidence,
                  ...) __attribute__((format(printf, 5, 6)));

/* The checks; after plugins_load. */
void doctor_host(const struct ist_config *config);
void doctor_network(void);
void doctor_devices(void);

/* Of a job: each PE publishes the facts of its host before the routes are gathered, and PE 0 adds the results of
 * comparing them. */
void doctor_publish(void);
void doctor_compare_hosts(const struct routes *routes);

/* The names of the requirements that are not met, as a list: "memlock fail, links degraded"; "none". */
void doctor_faults(char *out, size_t room);

/* Returns false if a requirement failed. */
bool doctor_is_well(void);

void doctor_text(void);
void doctor_json(struct ist_json *json);

/* The first line of a file, without its end; "" and false if it cannot be read. */
bool doctor_read_line(const char *path, char *out, size_t room);

/* Returns false if the file holds no number; "max" is UINT64_MAX. */
bool doctor_read_number(const char *path, uint64_t *out);

#endif
