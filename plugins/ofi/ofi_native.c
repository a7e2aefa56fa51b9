/* plugins/ofi/ofi_native.c: whether this host has an adapter that libfabric serves best, or the user has named a
 * provider. Elsewhere this transport stays closed: to list the providers takes libfabric most of a second, which a job
 * over InfiniBand or TCP would pay at its start for nothing. */
#include "ofi.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Adapters among those of the InfiniBand class, by the name of their driver. */
static const char *const drivers[] = {"efa", "hfi1"};

static bool is_native(const char *folder, const char *device)
{
    char path[2 * PATH_MAX], target[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/device/driver", folder, device);
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n <= 0) return false;
    target[n] = '\0';
    const char *name = strrchr(target, '/');
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers && name != NULL; i++)
        if (strcmp(name + 1, drivers[i]) == 0) return true;
    return false;
}

static bool has_device(const char *sysfs, const char *class, bool is_any)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/class/%s", sysfs, class);
    DIR *list = opendir(folder);
    bool found = false;
    if (list == NULL) return false;
    for (struct dirent *entry; !found && (entry = readdir(list)) != NULL;)
        found = entry->d_name[0] != '.' && (is_any || is_native(folder, entry->d_name));
    closedir(list);
    return found;
}

isthmus_status ofi_probe(const struct isthmus_services *s)
{
    const char *provider = s->config(s->core, "PROVIDER"), *sysfs = s->config(s->core, "SYSFS");
    if (provider != NULL && provider[0] != '\0') return ISTHMUS_OK;
    if (sysfs == NULL || sysfs[0] == '\0') sysfs = "/sys";
    if (has_device(sysfs, "cxi", true) || has_device(sysfs, "infiniband", false)) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE,
                   "no adapter of Slingshot, EFA or Omni-Path is here; for another network set ISTHMUS_OFI_PROVIDER to "
                   "a provider of libfabric's, such as tcp+ofi_rxm");
}
