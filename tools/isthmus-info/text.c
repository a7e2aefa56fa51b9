/* tools/isthmus-info/text.c: numbers and sentences for people. */
#include "tools/isthmus-info/info.h"

#include <string.h>

enum { COLUMNS = 80 };

const char *human_bytes(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    static char texts[4][24];
    static unsigned turn;
    char *text = texts[turn++ % 4];
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    bool is_whole = value == (double)(uint64_t)value;
    snprintf(text, sizeof texts[0], is_whole ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

void print_filled(int column, int indent, const char *text)
{
    bool is_empty = true; /* nothing on this line yet */
    for (const char *word = text; *word != '\0';) {
        size_t length = strcspn(word, " \n");
        if (length > 0) {
            if (!is_empty && column + 1 + (int)length > COLUMNS) {
                printf("\n%*s", indent, "");
                column = indent;
                is_empty = true;
            }
            column += printf("%s%.*s", is_empty ? "" : " ", (int)length, word);
            is_empty = false;
        }
        word += length;
        word += *word != '\0';
    }
    putchar('\n');
}
