/* core/proxy/modules.h: the modules of device code in this process, and how each gets its state. Not the state itself:
 * device.h. The caller has a lock around all calls but one.
 * A module for processors, or in SYCL, copies the state itself. Of one for a GPU that the program's compiler has
 * registered, the program's own runtime finds the address; of code that the program has loaded itself, the transport
 * does. */
#ifndef IST_PROXY_MODULES_H
#define IST_PROXY_MODULES_H

#include "core/proxy/kernel_memory.h"

#include <isthmus/device_state.h>
#include <stdbool.h>

struct ist_module {
    struct ist_module *next;
    uint32_t kind;                                         /* ISTHMUS_MEM_, of the memory where its kernels run */
    uint32_t (*kind_of)(void);                             /* not NULL: tells the kind, which is not known so far */
    int (*fill)(const struct isthmus_device_state *state); /* of modules that copy it */
    void *(*find)(void);                                   /* of a GPU, registered */
    void *handle;                                          /* of a GPU, loaded by the program */
    uint32_t code;                                         /* ISTHMUS_CODE_, of the handle */
    void *at;                                              /* of a GPU: its state; NULL: not found so far */
};

/* Takes a copy, except of `next`. NO_MEMORY. */
isthmus_status ist_modules_add(const struct ist_module *module);
struct ist_module *ist_modules_find(const struct ist_module *like); /* by fill, find, or code and handle; or NULL */
void ist_modules_remove(struct ist_module *module);

bool ist_modules_have(uint32_t kind); /* one of this kind */
bool ist_modules_are_empty(void);
struct ist_module *ist_modules_unsettled(void); /* one whose kind is not known so far; NULL: there is none */

/* Where kernels run now. */
struct ist_modules_place {
    uint32_t kind;
    struct ist_kernel_memory memory;
};

/* Writes the state into a module of that kind: leaves others alone, and those whose state is not found yet. */
isthmus_status ist_module_fill(struct ist_module *module, const struct ist_modules_place *place,
                               const struct isthmus_device_state *state);

/* Into all of that kind; `with_loaded` false: not into code that the program has loaded, and may have unloaded. */
isthmus_status ist_modules_fill(const struct ist_modules_place *place, const struct isthmus_device_state *state,
                                bool with_loaded);

/* Into modules whose state was not found before, and is now. */
isthmus_status ist_modules_fill_new(const struct ist_modules_place *place, const struct isthmus_device_state *state);

/* The job ends: forgets code that the program has loaded. Returns copies of the modules of this kind whose state was
 * never found. */
struct ist_module *ist_modules_end(uint32_t kind);

/* Warns of these by the name of their file, and frees the copies. Without the lock: the loader, which gives the name,
 * has a lock of its own while constructors announce modules. Accepts NULL. */
void ist_modules_warn_unfound(struct ist_module *copies);

/* In a child after fork, where no device can be called: forgets all but those of processors, and fills these. */
void ist_modules_forget(const struct isthmus_device_state *state);

#endif
