/* tools/isthmus-check-transport/options.h: what the user requested on the command line. */
#ifndef CHECK_TRANSPORT_OPTIONS_H
#define CHECK_TRANSPORT_OPTIONS_H

#include "contract.h"

struct options {
    char *plugin;    /* its absolute path; owned */
    int n_pes;       /* 0: what each case has */
    int patience_s;  /* for one step of a case */
    int soak_s;      /* repeat for as long; 0: once */
    bool wants_json; /* one document at the end instead of lines as it goes */
    bool wants_list;
    bool has_named_cases;
    bool is_wanted[256]; /* by index in ct_cases */
};

enum options_result { OPTIONS_OK, OPTIONS_ANSWERED, OPTIONS_WRONG };

/* OPTIONS_WRONG: one line has been printed. OPTIONS_ANSWERED: --help or --version. */
enum options_result options_parse(int argc, char **argv, struct options *out);
void options_fini(struct options *options);

#endif
