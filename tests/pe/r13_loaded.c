/* R13: a program that does not use Isthmus loads a library that does. loaded LIBRARY MODE:
 *   whole      the library is loaded, initialised, finalised and unloaded
 *   twice      it is loaded and unloaded twice
 *   left       it is still initialised when the program ends
 *   in_handler it ends in an exit handler of the program, registered before it was loaded */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;

static int call(const char *name)
{
    int (*fn)(void) = NULL;
    void *symbol = dlsym(library, name);
    if (symbol == NULL) return 1;
    memcpy(&fn, &symbol, sizeof fn);
    return fn();
}

static void load(const char *path)
{
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) return;
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
}

static void end_library(void)
{
    if (call("loaded_end") != 0) _Exit(1);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "", *mode = argc > 2 ? argv[2] : "whole";
    int failures = 0, is_handled = strcmp(mode, "in_handler") == 0;
    if (is_handled) atexit(end_library);
    for (int lives = strcmp(mode, "twice") == 0 ? 2 : 1; lives > 0; lives--) {
        load(path);
        failures += call("loaded_begin") + call("loaded_work");
        if (strcmp(mode, "left") == 0 || is_handled) break;
        failures += call("loaded_end");
        dlclose(library);
    }
    return failures;
}
