/* tests/doubles/host/seen.c: prints what libc shows of the machine, a line for each side of it. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_file(const char *path)
{
    char text[4096] = "";
    FILE *file = fopen(path, "re");
    size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    text[n] = '\0';
    for (char *c = text; (c = strchr(c, '\n')) != NULL;) *c = c[1] == '\0' ? '\0' : ';';
    printf("%s %s\n", path, file != NULL ? text : "none");
    if (file != NULL) fclose(file);
}

int main(int argc, char **argv)
{
    cpu_set_t allowed;
    char name[64];
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    gethostname(name, sizeof name);
    printf("name %s\n", name);
    printf("memory %llu\n", (unsigned long long)sysconf(_SC_PHYS_PAGES) * (unsigned long long)sysconf(_SC_PAGESIZE));
    printf("online %ld\n", sysconf(_SC_NPROCESSORS_ONLN));
    printf("allowed %d\n", CPU_COUNT(&allowed));
    for (int i = 1; i < argc; i++) print_file(argv[i]);
    return 0;
}
