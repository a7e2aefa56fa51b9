/* core/profile/text.c: see text.h. */
#include "core/profile/text.h"

#include <stdio.h>

/* Three digits at least: 9.87, 98.7, 987. */
static char *scaled(char *out, double value, const char *unit)
{
    int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(out, IST_PROFILE_NUMBER_BYTES, "%.*f %s", decimals, value, unit);
    return out;
}

char *ist_profile_text_bytes(char out[IST_PROFILE_NUMBER_BYTES], uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes / 1024;
    unsigned unit = 0;
    if (bytes < 1024) {
        snprintf(out, IST_PROFILE_NUMBER_BYTES, "%u B", (unsigned)bytes);
        return out;
    }
    for (; value >= 1000 && unit + 1 < sizeof units / sizeof *units; unit++) value /= 1024;
    return scaled(out, value, units[unit]);
}

char *ist_profile_text_ns(char out[IST_PROFILE_NUMBER_BYTES], uint64_t ns)
{
    static const char *const units[] = {"us", "ms", "s"};
    double value = (double)ns / 1000;
    unsigned unit = 0;
    if (ns < 1000) {
        snprintf(out, IST_PROFILE_NUMBER_BYTES, "%u ns", (unsigned)ns);
        return out;
    }
    for (; value >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++) value /= 1000;
    return scaled(out, value, units[unit]);
}
