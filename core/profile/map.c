/* core/profile/map.c: FILE.svg: bytes between PEs, a row for each calling PE and a column for each peer, or for so many
 * PEs that the map has at most IST_PROFILE_BINS_MOST of both. Shades are by the logarithm. */
#include "core/profile/job.h"

#include <errno.h>
#include <string.h>

enum {
    SIDE = 560, /* of the map, about; in the picture's units, as all that follow */
    CELL_MOST = 48,
    LEFT = 70,
    TOP = 84,
    RIGHT = 130,
    BOTTOM = 24,
    LABELS_MOST = 16,
    SHADES = 8 /* of the scale */
};

struct map {
    FILE *out;
    const struct ist_profile_job *job;
    double cell;
    uint64_t least, most; /* of the cells that are not 0 */
};

static uint64_t at(const struct map *map, int row, int column)
{
    return ist_profile_bytes_between(map->job, row, column);
}

static void find_range(struct map *map)
{
    int n = map->job->n_bins;
    for (int i = 0; i < n * n; i++) {
        uint64_t bytes = at(map, i / n, i % n);
        if (bytes == 0) continue;
        if (map->least == 0 || bytes < map->least) map->least = bytes;
        if (bytes > map->most) map->most = bytes;
    }
}

/* The logarithm to base 2, straight between powers of two; and its inverse. */
static double log_of(uint64_t bytes)
{
    int power = 63 - __builtin_clzll(bytes);
    return power + (double)bytes / (double)(UINT64_C(1) << power) - 1;
}

static uint64_t power_of(double log)
{
    int power = (int)log;
    return (uint64_t)((1 + log - power) * (double)(UINT64_C(1) << power) + 0.5);
}

/* 0 for the least, 1 for the most. */
static double share_of(const struct map *map, uint64_t bytes)
{
    if (map->most == map->least) return 1;
    return (log_of(bytes) - log_of(map->least)) / (log_of(map->most) - log_of(map->least));
}

static uint64_t bytes_at(const struct map *map, double share)
{
    return power_of(log_of(map->least) + share * (log_of(map->most) - log_of(map->least)));
}

/* From pale yellow by green to dark blue: of different lightness too, for readers who do not see colours. */
static const char *colour(char out[8], double share)
{
    static const int stops[3][3] = {{0xff, 0xf7, 0xbc}, {0x41, 0xb6, 0xa4}, {0x0c, 0x2c, 0x84}};
    int low = share < 0.5 ? 0 : 1;
    double part = share * 2 - low;
    int rgb[3];
    for (int i = 0; i < 3; i++) rgb[i] = (int)(stops[low][i] + part * (stops[low + 1][i] - stops[low][i]) + 0.5);
    snprintf(out, 8, "#%02x%02x%02x", rgb[0] & 0xff, rgb[1] & 0xff, rgb[2] & 0xff);
    return out;
}

static void write_name(const struct map *map, const char *what, int bin)
{
    int first = bin * map->job->pes_per_bin, last = first + map->job->pes_per_bin - 1;
    if (last >= map->job->n_pes) last = map->job->n_pes - 1;
    fprintf(map->out, first == last ? "%s %d" : "%ss %d to %d", what, first, last);
}

static void write_cells(const struct map *map)
{
    char shade[8], bytes[IST_PROFILE_NUMBER_BYTES];
    for (int row = 0; row < map->job->n_bins; row++)
        for (int column = 0; column < map->job->n_bins; column++) {
            if (at(map, row, column) == 0) continue;
            fprintf(map->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"><title>",
                    LEFT + column * map->cell, TOP + row * map->cell, map->cell, map->cell,
                    colour(shade, share_of(map, at(map, row, column))));
            write_name(map, "PE", row);
            fputs(" with ", map->out);
            write_name(map, "PE", column);
            fprintf(map->out, ": %s</title></rect>\n", ist_profile_text_bytes(bytes, at(map, row, column)));
        }
}

/* A round number of bins from label to label. */
static int label_step(int n_bins)
{
    int step = 1;
    while (n_bins > step * LABELS_MOST) step *= 2;
    return step;
}

static void write_axes(const struct map *map)
{
    double side = map->cell * map->job->n_bins;
    for (int bin = 0; bin < map->job->n_bins; bin += label_step(map->job->n_bins)) {
        double middle = (bin + 0.5) * map->cell;
        int pe = bin * map->job->pes_per_bin;
        fprintf(map->out, "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n", LEFT + middle, TOP - 6, pe);
        fprintf(map->out, "<text x=\"%d\" y=\"%.2f\" text-anchor=\"end\">%d</text>\n", LEFT - 6, TOP + middle + 4, pe);
    }
    fprintf(map->out, "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\">peer</text>\n", LEFT + side / 2, TOP - 24);
    fprintf(map->out, "<text transform=\"translate(%d,%.2f) rotate(-90)\" text-anchor=\"middle\">calling PE</text>\n",
            20, TOP + side / 2);
    fprintf(map->out, "<rect x=\"%d\" y=\"%d\" width=\"%.2f\" height=\"%.2f\" fill=\"none\" stroke=\"#444\"/>\n", LEFT,
            TOP, side, side);
}

/* A line where one host's PEs end, if a bin ends there too. */
static void write_hosts(const struct map *map)
{
    double side = map->cell * map->job->n_bins;
    for (int bin = 1; bin < map->job->n_bins; bin++) {
        int pe = bin * map->job->pes_per_bin;
        if (strcmp(map->job->pes[pe].host, map->job->pes[pe - 1].host) == 0) continue;
        double place = bin * map->cell;
        fprintf(map->out,
                "<path class=\"host\" d=\"M%d %.2fh%.2fM%.2f %dv%.2f\" "
                "stroke=\"#c33\" stroke-width=\"2\" fill=\"none\"/>\n",
                LEFT, TOP + place, side, LEFT + place, TOP, side);
    }
}

static void write_scale(const struct map *map, double x)
{
    char shade[8], bytes[IST_PROFILE_NUMBER_BYTES];
    int n = map->most == map->least ? 1 : SHADES;
    for (int i = 0; i < n; i++) {
        double share = n == 1 ? 1 : (double)i / (n - 1);
        int y = TOP + 18 * (n - 1 - i);
        fprintf(map->out, "<rect x=\"%.2f\" y=\"%d\" width=\"18\" height=\"18\" fill=\"%s\"/>\n", x, y,
                colour(shade, share));
        fprintf(map->out, "<text x=\"%.2f\" y=\"%d\">%s</text>\n", x + 24, y + 13,
                ist_profile_text_bytes(bytes, n == 1 ? map->most : bytes_at(map, share)));
    }
}

static void write_picture(const struct map *map)
{
    const struct ist_profile_job *job = map->job;
    double side = map->cell * job->n_bins, width = LEFT + side + RIGHT, height = TOP + side + BOTTOM;
    if (width < 360) width = 360; /* the title */
    if (height < TOP + 18 * SHADES + BOTTOM) height = TOP + 18 * SHADES + BOTTOM;
    fprintf(map->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    fprintf(map->out, "<text x=\"%d\" y=\"24\" font-size=\"16\">Bytes between %d PEs</text>\n", LEFT, job->n_pes);
    fprintf(map->out, "<text x=\"%d\" y=\"42\" fill=\"#555\">puts, gets and atomics that the calling PE made", LEFT);
    if (job->pes_per_bin > 1) fprintf(map->out, "; %d PEs in a row and column", job->pes_per_bin);
    fputs("</text>\n", map->out);
    write_cells(map);
    write_axes(map);
    write_hosts(map);
    if (map->most > 0) write_scale(map, LEFT + side + 24);
    fputs("</svg>\n", map->out);
}

isthmus_status ist_profile_write_map(const struct ist_profile_job *job)
{
    char file[4096];
    struct map map = {.job = job, .cell = (double)SIDE / job->n_bins};
    if (map.cell > CELL_MOST) map.cell = CELL_MOST;
    if (snprintf(file, sizeof file, "%s.svg", job->file) >= (int)sizeof file)
        return ist_fail(ISTHMUS_ERR_IO, "%s: %s", job->file, strerror(ENAMETOOLONG));
    map.out = fopen(file, "we");
    if (map.out == NULL) return ist_fail(ISTHMUS_ERR_IO, "%s: %s", file, strerror(errno));
    find_range(&map);
    write_picture(&map);
    bool is_written = !ferror(map.out);
    is_written = fclose(map.out) == 0 && is_written;
    return is_written ? ISTHMUS_OK : ist_fail(ISTHMUS_ERR_IO, "%s: %s", file, strerror(errno));
}
