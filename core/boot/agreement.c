/* core/boot/agreement.c: see card.h. A line for each setting and fact: its name, its value and, if a variable of
 * another name set it, that name; with tabs in between. */
#include "core/boot/card.h"

#include <stdio.h>
#include <string.h>

/* ---- writing ---- */

static size_t write_fact(const struct ist_fact *fact, char *out, size_t room)
{
    int n = snprintf(out, room, "%s\t%s\n", fact->subject, fact->value);
    return n > 0 ? (size_t)n : 0;
}

isthmus_status ist_agreement_write(const struct ist_config *config, const struct ist_fact *facts, size_t n_facts,
                                   char out[IST_AGREEMENT_BYTES])
{
    /* First, because builds of other versions may have other settings. */
    static const struct ist_fact version = {"the version of Isthmus", ISTHMUS_VERSION};
    const size_t room = IST_AGREEMENT_BYTES;
    size_t used = write_fact(&version, out, room);
    used += ist_config_write_agreed(config, out + used, room - used);
    for (size_t i = 0; i < n_facts && used < room; i++) used += write_fact(&facts[i], out + used, room - used);
    if (used < room) return ISTHMUS_OK;
    return ist_fail(ISTHMUS_ERR_LIMIT,
                    "the settings that must be equal on all PEs take more than %d bytes; shorten ISTHMUS_TRANSPORTS or "
                    "ISTHMUS_PRETEND_HOSTS",
                    IST_AGREEMENT_BYTES);
}

/* ---- comparing ---- */

/* A part of a text, which ends elsewhere. */
struct part {
    const char *at;
    size_t length;
};

struct line {
    struct part name, value, set_by; /* set_by: the other name that set it; empty: none */
};

static struct part take_part(const char **text)
{
    struct part part = {*text, strcspn(*text, "\t\n")};
    *text += part.length;
    if (**text == '\t') ++*text;
    return part;
}

static struct line take_line(const char **text)
{
    struct line line;
    line.name = take_part(text);
    line.value = take_part(text);
    line.set_by = take_part(text);
    *text += strcspn(*text, "\n");
    if (**text == '\n') ++*text;
    return line;
}

static bool is_equal(struct part a, struct part b) { return a.length == b.length && memcmp(a.at, b.at, a.length) == 0; }

enum { VALUE_BYTES = 100, SETTING_BYTES = VALUE_BYTES + 80 };

/* Writes "'2g' (set by SHMEM_SYMMETRIC_SIZE)", or "not set". */
static const char *print_value(const struct line *line, char out[SETTING_BYTES])
{
    bool is_cut = line->value.length > VALUE_BYTES;
    int shown = is_cut ? VALUE_BYTES - 3 : (int)line->value.length;
    int used = shown > 0 ? snprintf(out, SETTING_BYTES, "'%.*s%s'", shown, line->value.at, is_cut ? "..." : "")
                         : snprintf(out, SETTING_BYTES, "not set");
    if (line->set_by.length > 0)
        snprintf(out + used, SETTING_BYTES - (size_t)used, " (set by %.*s)", (int)line->set_by.length, line->set_by.at);
    return out;
}

/* Puts what kept a PE from opening a transport in front of the failure text, which follows from it. */
static void add_reason(const struct ist_card *card)
{
    if (card->failure_text == NULL || card->failure_text[0] == '\0') return;
    (void)ist_fail(ISTHMUS_ERR_INVALID, "PE %d on %s cannot open %s; so %s", card->pe, card->host_name,
                   card->failure_text, ist_fail_text());
}

isthmus_status ist_agreement_check(const struct ist_card *mine, const struct ist_card *theirs)
{
    const char *my_text = mine->agreement, *their_text = theirs->agreement;
    char my_setting[SETTING_BYTES], their_setting[SETTING_BYTES];
    while (*my_text != '\0' || *their_text != '\0') {
        const struct line my_line = take_line(&my_text), their_line = take_line(&their_text);
        if (!is_equal(my_line.name, their_line.name))
            return ist_fail(ISTHMUS_ERR_INVALID,
                            "PE %d and PE %d on %s are of different builds of Isthmus; use one build on all hosts",
                            mine->pe, theirs->pe, theirs->host_name);
        if (is_equal(my_line.value, their_line.value)) continue;
        (void)ist_fail(ISTHMUS_ERR_INVALID, "%.*s is %s on PE %d, and %s on PE %d on %s; all PEs need the same",
                       (int)my_line.name.length, my_line.name.at, print_value(&my_line, my_setting), mine->pe,
                       print_value(&their_line, their_setting), theirs->pe, theirs->host_name);
        if (is_equal(my_line.name, (struct part){IST_FACT_TRANSPORTS, strlen(IST_FACT_TRANSPORTS)})) {
            add_reason(mine);
            add_reason(theirs);
        }
        return ISTHMUS_ERR_INVALID;
    }
    return ISTHMUS_OK;
}
