/* core/check/finding.c: see check_priv.h. */
#include "core/check/check_priv.h"

#include "core/base/fatal.h"
#include "core/base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MAX_SAID = 256, MAX_SITES = 1024, SITE_BYTES = 112 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The findings that have been reported. */
static struct said {
    enum ist_finding kind;
    const char *routine; /* a literal of the entry point */
    const void *caller;
    uint64_t again;
} said[MAX_SAID];
static uint32_t n_said;
static uint64_t unsaid; /* more kinds and sites than there is room for */

static struct site {
    const void *caller;
    char text[SITE_BYTES];
} sites[MAX_SITES];

/* Returns true if this is the first of its kind from that call site. */
static bool is_new(enum ist_finding kind, const char *routine, const void *caller)
{
    for (uint32_t i = 0; i < n_said; i++)
        if (said[i].kind == kind && said[i].caller == caller && strcmp(said[i].routine, routine) == 0) {
            said[i].again++;
            return false;
        }
    if (n_said == MAX_SAID) {
        unsaid++;
        return false;
    }
    said[n_said++] = (struct said){.kind = kind, .routine = routine, .caller = caller};
    return true;
}

static const char *site_of(const void *caller)
{
    struct site *site = &sites[(uintptr_t)caller * UINT64_C(0x9e3779b97f4a7c15) >> 54];
    if (caller == NULL) return "";
    if (site->caller != caller) {
        site->caller = caller;
        ist_call_site_of(caller, site->text, sizeof site->text);
    }
    return site->text;
}

const char *ist_finding_site(const void *caller)
{
    static _Thread_local char text[SITE_BYTES];
    pthread_mutex_lock(&lock);
    snprintf(text, sizeof text, "%s", site_of(caller));
    pthread_mutex_unlock(&lock);
    if (text[0] == ';') text[0] = ',';
    return text;
}

static const char *word_for(enum ist_finding kind) { return kind == IST_FINDING_LEAK ? "leak" : "check"; }

void ist_finding(enum ist_finding kind, const char *routine, const void *caller, const char *fmt, ...)
{
    char text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    pthread_mutex_lock(&lock);
    if (is_new(kind, routine, caller)) ist_error("%s: %s: %s%s", word_for(kind), routine, text, site_of(caller));
    pthread_mutex_unlock(&lock);
}

void ist_findings_end(void)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < n_said; i++)
        if (said[i].again > 0)
            ist_error("%s: %s: the same %llu times more%s", word_for(said[i].kind), said[i].routine,
                      (unsigned long long)said[i].again, site_of(said[i].caller));
    if (unsaid > 0)
        ist_error("check: %llu further findings were not kept; correct the first ones and run again",
                  (unsigned long long)unsaid);
    n_said = 0;
    unsaid = 0;
    pthread_mutex_unlock(&lock);
}
