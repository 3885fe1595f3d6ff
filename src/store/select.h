// SPDX-License-Identifier: Apache-2.0
// What a person typed as SQL, and which relations of a file may be read, before DuckDB binds any of it: binding already calls
// what it names. The text is parsed by DuckDB and nothing more (json_serialize_sql), and the tree is walked with lists of what is
// allowed: functions and types that compute with values alone, tables, and assay's own views. A view of the file is SQL of its
// author.
#ifndef ASSAY_STORE_SELECT_H
#define ASSAY_STORE_SELECT_H

#include "store/db.h"

enum { SELECT_LENGTH_MOST = 64 << 10 };

// BAD_INPUT with a sentence: not one SELECT, too long or nested too deep, or it names what is not allowed. A parser's error has
// DuckDB's words.
enum status select_look(struct db *d, struct arena *a, const char *sql, struct error *err);
// The same for one relation by its name: a table of the file that computes nothing, or assay's view.
enum status select_look_at_relation(struct db *d, struct arena *a, const char *name, struct error *err);

#endif
