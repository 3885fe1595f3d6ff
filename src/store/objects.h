// SPDX-License-Identifier: Apache-2.0
// What comes as an array of JSON objects and is kept as rows of a table, an object a row in its order: where nodes ran, a
// profile's nodes, how outputs were judged. One list of columns a table, used both ways. Inside src/store.
#ifndef ASSAY_STORE_OBJECTS_H
#define ASSAY_STORE_OBJECTS_H

#include "store/db.h"

struct object_table;
extern const struct object_table placement_table, profile_table, check_table;

// The objects that an event of a cell brought, as the table's rows.
enum status objects_add(
	struct db *d, const struct object_table *t, const json_t *objects, int64_t cell, int64_t event, struct error *err);
// Those of the cell's last event that brought any, as they were given, with null for what is absent. Owned by the caller.
enum status objects_read(struct db *d, const struct object_table *t, int64_t cell, json_t **out, struct error *err);

// A value as compact JSON text; of a key: a string as it is, NULL when absent.
const char *json_compact(struct arena *a, const json_t *v);
const char *json_text(struct arena *a, const json_t *object, const char *key);

#endif
