/* tools/isthmus-info/info.h: the sections of the report, each as text and as JSON.
 * A section is called once; `text` ones write to stdout, `json` ones add a member to the open object. */
#ifndef ISTHMUS_INFO_INFO_H
#define ISTHMUS_INFO_INFO_H

#include "core/base/config.h"
#include "core/base/json.h"

/* Version, compiler, libraries; the host that this runs on. */
void build_text(void);
void build_json(struct ist_json *json);
void host_text(void);
void host_json(struct ist_json *json);
void heap_text(const struct ist_config *config); /* where the symmetric heap begins */
void heap_json(struct ist_json *json, const struct ist_config *config);

/* Plugins: loaded and opened by plugins_load, whose failure is kept for the two others. */
isthmus_status plugins_load(const struct ist_config *config);
void plugins_text(void);
void plugins_json(struct ist_json *json);
void plugins_unload(void);

/* An open transport's text about the devices that it uses; NULL: none. */
struct ist_transport;
const struct isthmus_devices *transport_devices(const struct ist_transport *t);

/* hwloc's view. Returns an error if it has none. */
isthmus_status topology_text(void);
isthmus_status topology_json(struct ist_json *json);

/* "7.8 GiB"; borrowed until the next call but three. */
const char *human_bytes(uint64_t bytes);

/* Sentences in lines of 80 columns, each indented; the first one continues at `column`. */
void print_filled(int column, int indent, const char *text);

#endif
