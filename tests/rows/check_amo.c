/* Atomics: each on one word of the right neighbour, which no other PE accesses, twice, against arithmetic in plain
 * C. */
#include "check_rows.h"
#include "values.h"

#include <string.h>

static bool op_is(const struct item *item, const char *name) { return strcmp(item->op, name) == 0; }

static bool op_fetches(const struct item *item)
{
    return strstr(item->op, "fetch") != NULL || strstr(item->op, "swap") != NULL;
}

/* The word of PE `pe` as it begins; the operand and condition that PE uses in its first or second call. */
static struct number number_of(const struct item *item, int pe, uint64_t which)
{
    unsigned char element[16];
    elements_fill(item->row->type, element, 1, seed_of(item, pe) + which);
    return number_get(item->row->type, element);
}

enum { WORD = GUARD_BYTES, BEGIN = 0, OPERAND = 1 /* and 2 */ };

/* What the word is after a call with `operand`. */
static struct number result_of(const struct item *item, struct number old, struct number operand, bool condition_holds)
{
    struct row_type type = item->row->type;
    const char *name = strncmp(item->op, "fetch_", 6) == 0 ? item->op + 6 : item->op;
    if (op_is(item, "fetch")) return old;
    if (op_is(item, "set") || op_is(item, "swap")) return operand;
    if (op_is(item, "compare_swap")) return condition_holds ? operand : old;
    if (strcmp(name, "inc") == 0) return number_combine(type, "sum", old, (struct number){.bits = 1, .real = 1});
    return number_combine(type, strcmp(name, "add") == 0 ? "sum" : name, old, operand);
}

static void prepare(struct item *item)
{
    number_put(item->row->type, item->dest + WORD, number_of(item, world.me, BEGIN));
}

/* One call on the word of the right neighbour, which holds `old`; returns what it holds then. */
static struct number act_once(struct item *item, struct number old, uint64_t turn)
{
    struct row_type type = item->row->type;
    struct number operand = number_of(item, world.me, OPERAND + turn);
    _Alignas(16) unsigned char value[16], condition[16], fetched[16], expected[16];
    struct row_call c = call_to(item, world.right);
    bool condition_holds = turn == 0;
    number_put(type, value, operand);
    number_put(type, condition, old);
    if (!condition_holds) condition[0] ^= 1;
    c.dest = item->dest + WORD, c.source = item->dest + WORD;
    c.value = value, c.cond = condition, c.fetch = fetched;
    call(item, &c);
    face.complete(); /* the fetched value of a nonblocking call; the order of two sets */
    if (op_fetches(item)) {
        bool is_nonblocking = strncmp(item->row->check, "amo_nbi", 7) == 0;
        number_put(type, expected, old);
        CHECK_THAT(number_equal(type, is_nonblocking ? fetched : c.result, expected),
                   "call %d fetched another value than the word had", (int)turn + 1);
    }
    return result_of(item, old, operand, condition_holds);
}

static void act(struct item *item)
{
    struct number word = number_of(item, world.right, BEGIN);
    /* as wide as the type, like a value that was in memory */
    for (uint64_t turn = 0; turn < 2; turn++) {
        unsigned char element[16];
        number_put(item->row->type, element, act_once(item, word, turn));
        word = number_get(item->row->type, element);
    }
}

static void verify(struct item *item)
{
    unsigned char element[16];
    struct row_type type = item->row->type;
    struct number word = number_of(item, world.me, BEGIN);
    for (uint64_t turn = 0; turn < 2; turn++) {
        word = result_of(item, word, number_of(item, world.left, OPERAND + turn), turn == 0);
        number_put(type, element, word);
        word = number_get(type, element);
    }
    image_clear(item);
    image_elements(item, WORD, 1, element);
    image_compare(item);
}

const struct check amo_checks[] = {
    {"amo", prepare, act, verify, NULL},
    {"amo_nbi", prepare, act, verify, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
