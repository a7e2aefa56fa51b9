/* tools/isthmus-info/options.h: the command line. */
#ifndef ISTHMUS_INFO_OPTIONS_H
#define ISTHMUS_INFO_OPTIONS_H

#include <stdbool.h>

struct options {
    bool routes, doctor, env, env_markdown, topology, json, help, version;
    const char *profile; /* the file of --profile; NULL: not given */
};

/* Returns false if it has printed an error to stderr; the exit status is then 2. */
bool options_parse(int argc, char **argv, struct options *out);
void options_print_help(void);

#endif
