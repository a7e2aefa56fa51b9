/* tools/isthmus-perf/svg.c: the picture: bytes per second by size, both logarithmic. See results.h. */
#include "tools/isthmus-perf/options.h"
#include "tools/isthmus-perf/results.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 960, HEIGHT = 540, LEFT = 80, RIGHT = 230, TOP = 50, BOTTOM = 60, LEGEND_STEP = 20 };

static const char *const colours[] = {"#1b7f79", "#c2571a", "#4a5fb0", "#b02a63", "#6b8e23", "#7a4fa3",
                                      "#a67c00", "#2f7fc1", "#8c3b3b", "#555555", "#0f4d4a", "#e69b6d",
                                      "#98a5da", "#e07aa6", "#3d5212", "#c3a6dd", "#5c4500", "#8ec3ea",
                                      "#d98c8c", "#aaaaaa", "#00a36c", "#ff7f50"};
enum { N_COLOURS = sizeof colours / sizeof *colours };

struct picture {
    FILE *out;
    const struct results *results;
    double x_low, x_high; /* log2 of the size */
    double y_low, y_high; /* log10 of bytes per second */
};

static double speed_of(const struct result *result, const struct figure *figure)
{
    return log10(1e9 * (double)result->size_bytes / figure->median_ns);
}

static double x_of(const struct picture *p, double size_log2)
{
    return LEFT + (size_log2 - p->x_low) / (p->x_high - p->x_low) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct picture *p, double speed_log10)
{
    return HEIGHT - BOTTOM - (speed_log10 - p->y_low) / (p->y_high - p->y_low) * (HEIGHT - TOP - BOTTOM);
}

static void write_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else if ((unsigned char)*text >= ' ' && (unsigned char)*text < 0x7f)
            fputc(*text, out);
        else
            fputc('?', out);
    }
}

/* ---- what there is to draw ---- */

static void widen(struct picture *p, const struct result *result, const struct figure *figure)
{
    if (figure->median_ns <= 0) return;
    double y = speed_of(result, figure), x = log2((double)result->size_bytes);
    p->x_low = fmin(p->x_low, x);
    p->x_high = fmax(p->x_high, x);
    p->y_low = fmin(p->y_low, floor(y));
    p->y_high = fmax(p->y_high, ceil(y));
}

/* Whole decades, and at least one step each way. */
static void find_range(struct picture *p)
{
    p->x_low = p->y_low = INFINITY;
    p->x_high = p->y_high = -INFINITY;
    for (size_t i = 0; i < p->results->n; i++) {
        const struct result *result = &p->results->list[i];
        if (result->size_bytes == 0) continue;
        widen(p, result, &result->call);
        widen(p, result, &result->limit);
    }
    if (p->x_low > p->x_high) p->x_low = 3, p->x_high = 4, p->y_low = 6, p->y_high = 7;
    if (p->x_low == p->x_high) p->x_low -= 1, p->x_high += 1;
    if (p->y_low == p->y_high) p->y_high += 1;
}

static bool is_of_one_curve(const struct result *a, const struct result *b)
{
    return strcmp(a->operation, b->operation) == 0 && a->from == b->from && a->to == b->to && b->size_bytes > 0;
}

static bool is_first_of_curve(const struct results *results, size_t index)
{
    if (results->list[index].size_bytes == 0) return false;
    for (size_t i = 0; i < index; i++)
        if (is_of_one_curve(&results->list[index], &results->list[i])) return false;
    return true;
}

/* The operations with a size, in the order of the list: a colour for each. */
static int number_of_operation(const struct results *results, const struct result *result, bool *is_first)
{
    int n = 0;
    for (size_t i = 0; i < results->n; i++) {
        const struct result *other = &results->list[i];
        bool is_new = other->size_bytes > 0;
        for (size_t j = 0; j < i && is_new; j++)
            is_new = results->list[j].size_bytes == 0 || strcmp(results->list[j].operation, other->operation) != 0;
        if (!is_new) continue;
        if (strcmp(other->operation, result->operation) == 0) {
            *is_first = other == result;
            break;
        }
        n++;
    }
    return n;
}

/* ---- the drawing ---- */

static void draw_curve(const struct picture *p, const struct result *first, bool is_limit, const char *colour)
{
    int n_points = 0;
    for (size_t i = 0; i < p->results->n; i++) {
        const struct result *result = &p->results->list[i];
        const struct figure *figure = is_limit ? &result->limit : &result->call;
        if (!is_of_one_curve(first, result) || figure->median_ns <= 0) continue;
        if (n_points++ == 0)
            fprintf(p->out, "<polyline class=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s points=\"",
                    is_limit ? "limit" : "call", colour, is_limit ? "1\" stroke-dasharray=\"5 4\"" : "2\"");
        fprintf(p->out, "%s%.1f,%.1f", n_points > 1 ? " " : "", x_of(p, log2((double)result->size_bytes)),
                y_of(p, speed_of(result, figure)));
    }
    if (n_points > 0) fputs("\"/>\n", p->out);
}

static void draw_curves(const struct picture *p)
{
    for (size_t i = 0; i < p->results->n; i++) {
        const struct result *first = &p->results->list[i];
        bool is_first_of_operation = false;
        if (!is_first_of_curve(p->results, i)) continue;
        int n = number_of_operation(p->results, first, &is_first_of_operation);
        const char *colour = colours[n % N_COLOURS];
        draw_curve(p, first, true, colour);
        draw_curve(p, first, false, colour);
        if (!is_first_of_operation) continue;
        int y = TOP + 10 + LEGEND_STEP * n;
        fprintf(p->out, "<path d=\"M%d %dh24\" stroke=\"%s\" stroke-width=\"2\"/>\n<text x=\"%d\" y=\"%d\">",
                WIDTH - RIGHT + 15, y - 4, colour, WIDTH - RIGHT + 45, y);
        write_text(p->out, first->operation);
        fputs("</text>\n", p->out);
    }
}

static void draw_axes(const struct picture *p)
{
    enum { STEP = 3 }; /* of the size's exponent */
    for (double y = p->y_low; y <= p->y_high; y++)
        fprintf(
            p->out,
            "<path d=\"M%d %.1fH%d\" stroke=\"#dddddd\"/>\n<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
            LEFT, y_of(p, y), WIDTH - RIGHT, LEFT - 8, y_of(p, y) + 4, speed_text((uint64_t)llround(pow(10, y)), 1e9));
    for (double x = ceil(p->x_low); x <= p->x_high; x += STEP)
        fprintf(
            p->out,
            "<path d=\"M%.1f %dv6\" stroke=\"#444444\"/>\n<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
            x_of(p, x), HEIGHT - BOTTOM, x_of(p, x), HEIGHT - BOTTOM + 20, size_text(UINT64_C(1) << (unsigned)x));
    fprintf(p->out, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#444444\"/>\n", LEFT, TOP, HEIGHT - BOTTOM,
            WIDTH - RIGHT);
}

/* The operations without a size, as many as fit into a line. */
static void draw_words(const struct picture *p)
{
    enum { MOST_LETTERS = 140 };
    char text[MOST_LETTERS + 64] = "";
    size_t used = 0;
    for (size_t i = 0; i < p->results->n && used < MOST_LETTERS; i++) {
        const struct result *result = &p->results->list[i];
        if (result->size_bytes > 0) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s", used > 0 ? ", " : "", result->operation,
                                 time_text(result->call.median_ns));
    }
    fprintf(p->out, "<text x=\"%d\" y=\"%d\">", LEFT, HEIGHT - 12);
    write_text(p->out, text);
    fputs("</text>\n", p->out);
}

void results_draw(FILE *out, const struct results *results)
{
    struct picture p = {.out = out, .results = results};
    find_range(&p);
    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n"
        "<text x=\"%d\" y=\"28\" font-size=\"15\">Bytes per second by size, ",
        WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
    write_text(out, results->n > 0 ? results->list[0].memory : "");
    fprintf(out, " memory, %d PEs, PE 0 on ", results->n_pes);
    write_text(out, results->host);
    fputs(results->double_name[0] != '\0' ? " (on a double, no hardware)" : " (dashed: the machine's own)", out);
    fputs("</text>\n", out);
    draw_axes(&p);
    draw_curves(&p);
    draw_words(&p);
    fputs("</svg>\n", out);
}
