// SPDX-License-Identifier: Apache-2.0
// What a run writes: itself, what it found on the machine, a cell before its child starts, and the verdict with everything
// measured. One transaction each; rows are only ever added.
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/text.h"
#include "commit.h"
#include "question/bounds.h"
#include "store/guard.h"
#include "store/objects.h"
#include "store/question.h"
#include "store/run_lock.h"
#include "store/transaction.h"
#include "store/transfer.h"

static enum status exists(
	struct db *d, const char *sql, const struct db_parameter *parameters, size_t count, bool *out, struct error *err)
{
	struct arena a = { 0 };
	struct table t = { 0 };
	enum status status = db_query(d, &a, sql, parameters, count, &t, err);

	*out = t.row_count > 0;
	arena_done(&a);
	return status;
}

static enum status add_event(struct db *d, int64_t run, int64_t cell, const char *kind, const char *verdict, const char *cause,
	int64_t *id, struct error *err)
{
	enum status status = transaction_next_id(d, "event", id, err);

	if (status != STATUS_OK)
		return status;
	const struct db_value row[] = {
		V_INTEGER("id", *id),
		V_INTEGER("run", run),
		V_INTEGER("cell", cell),
		V_TEXT("kind", kind),
		V_TEXT("verdict", verdict),
		V_TEXT("cause", cause),
		V_TIME("happened_at", transaction_now_us()),
	};
	return INSERT_ONE(d, "event", row, err);
}

static enum status add_machine(struct db *d, const struct machine *m, struct error *err)
{
	bool known;
	enum status status =
		exists(d, "SELECT 1 FROM machine WHERE id = ?", &(struct db_parameter){ .text = m->id }, 1, &known, err);

	if (status != STATUS_OK || known)
		return status;
	const struct db_value row[] = {
		V_TEXT("id", m->id),
		V_TEXT("os", m->os),
		V_TEXT("kernel", m->kernel),
		V_TEXT("architecture", m->architecture),
		V_TEXT("cpu_vendor", m->cpu_vendor),
		V_TEXT("cpu_model", m->cpu_model),
		V_INTEGER("sockets", m->sockets),
		V_INTEGER("cores", m->cores),
		V_INTEGER("threads", m->threads),
		V_INTEGER("usable_cpus", m->usable_cpus),
		V_INTEGER("l1d_bytes", m->l1d_bytes),
		V_INTEGER("l2_bytes", m->l2_bytes),
		V_INTEGER("l3_bytes", m->l3_bytes),
		V_TEXT("features", m->features),
		V_TEXT("hypervisor", m->hypervisor),
		V_INTEGER("memory_bytes", m->memory_bytes),
		V_INTEGER("memory_limit_bytes", m->memory_limit_bytes),
		V_TIME("first_seen_at", transaction_now_us()),
	};
	return INSERT_ONE(d, "machine", row, err);
}

// What only an import said of this machine or of an artifact, which may be a stranger's word, gives way to what it is. `sql`: a
// DELETE that names it twice.
static enum status forget_imported(struct db *d, const char *sql, const char *what, struct error *err)
{
	const struct db_parameter id[] = { { .text = what }, { .text = what } };
	struct arena a = { 0 };
	struct table t;
	enum status status = db_query(d, &a, sql, id, 2, &t, err);

	arena_done(&a);
	return status;
}

static const char forget_machine[] =
	"DELETE FROM machine WHERE id = ? AND NOT EXISTS (SELECT 1 FROM run WHERE machine = ? AND origin_id IS NULL)";
static const char forget_artifact[] = // the measurement that is being stored is the first of its own
	"DELETE FROM artifact WHERE key = ? AND (SELECT count(*) FROM measurement m JOIN cell c ON c.id = m.cell"
	" WHERE m.artifact_key = ? AND c.origin_id IS NULL) < 2";

enum status store_begin_run(struct store *s, const struct machine *m, const char *command, struct error *err)
{
	struct process self;
	struct db d = { 0 };
	int64_t id = 0, event;
	enum status status = transaction_begin(s, true, &d, err);

	if (status != STATUS_OK)
		return status;
	process_self(&self);
	const int64_t now = clock_unix_us();
	if (now <= 0 || now > TRANSACTION_LAST_US) // no report would take its rows
		status = error_set(err, STATUS_NOT_ASKED, "this machine's clock shows a time %s: set it first",
			now <= 0 ? "before 1970" : "after the year 9999");
	if (status == STATUS_OK)
		status = forget_imported(&d, forget_machine, m->id, err);
	if (status == STATUS_OK)
		status = add_machine(&d, m, err);
	if (status == STATUS_OK)
		status = transaction_next_id(&d, "run", &id, err);
	if (status == STATUS_OK && id > RUN_MOST)
		status = error_set(err, STATUS_BAD_INPUT, "%s: its last run has the number %lld; assay gives numbers up to %d",
			s->path, (long long)id - 1, RUN_MOST);
	const int64_t started = transaction_now_us();
	if (status == STATUS_OK) {
		const struct db_value row[] = {
			V_INTEGER("id", id),
			V_TEXT("machine", m->id),
			V_TEXT("hostname", m->hostname),
			V_TEXT("program_version", ASSAY_VERSION),
			V_TEXT("program_commit", *ASSAY_COMMIT ? ASSAY_COMMIT : NULL),
			V_TEXT("command", command),
			V_INTEGER("pid", self.pid),
			V_INTEGER("start_ticks", self.start_ticks),
			V_TEXT("boot_id", self.boot_id),
			V_INTEGER("pid_namespace", self.pid_namespace),
			V_INTEGER("memory_available_bytes", m->memory_available_bytes),
			V_TIME("started_at", started),
		};
		status = INSERT_ONE(&d, "run", row, err);
	}
	if (status == STATUS_OK)
		status = add_event(&d, id, ROW_NONE, "run_started", NULL, NULL, &event, err);
	// Before anybody else can read that there is such a run.
	int lock = status == STATUS_OK ? run_lock_take(s->path, id, &self) : -1;
	status = transaction_end(s, &d, status, err);
	if (status != STATUS_OK) {
		if (lock >= 0)
			close(lock);
		return status;
	}
	if (s->lock > 0)
		close(s->lock);
	s->run = id;
	s->run_started_us = started;
	s->lock = lock;
	if (lock < 0 && s->notice != NULL)
		s->notice(s->context,
			"no lock can be had beside the database: whether this run still lives can be told on this machine and "
			"in this container only");
	return STATUS_OK;
}

static enum status need_run(const struct store *s, struct error *err)
{
	return s->run > 0 ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "the store has no run: store_begin_run comes first");
}

enum status store_end_run(struct store *s, struct error *err)
{
	struct db d = { 0 };
	int64_t event;
	enum status status = need_run(s, err);

	if (status == STATUS_OK)
		status = transaction_begin(s, true, &d, err);
	if (status != STATUS_OK)
		return status;
	status = add_event(&d, s->run, ROW_NONE, "run_ended", NULL, NULL, &event, err);
	status = transaction_end(s, &d, status, err);
	if (status == STATUS_OK)
		s->run = 0;
	return status;
}

// What the engine says and what is known of the hardware, as one text.
static const char *all_features(struct arena *a, const json_t *platform)
{
	const json_t *features = json_object_get(platform, "features");
	json_t *facts = json_object_get(platform, "facts"), *both;
	const char *out;

	if (facts == NULL || !json_is_object(features))
		return json_text(a, platform, "features");
	both = json_copy((json_t *)features);
	json_object_set(both, "facts", facts);
	out = json_compact(a, both);
	json_decref(both);
	return out;
}

enum status store_detection(struct store *s, const json_t *platforms, struct error *err)
{
	struct arena a = { 0 };
	struct db d = { 0 };
	struct insert in;
	int64_t id = 0;
	size_t i;
	json_t *p;
	enum status status = need_run(s, err);

	if (status != STATUS_OK || json_array_size(platforms) == 0)
		return status;
	status = transaction_begin(s, true, &d, err);
	if (status != STATUS_OK)
		return status;
	status = transaction_next_id(&d, "platform_detection", &id, err);
	if (status == STATUS_OK) {
		insert_begin(&in, &d, "platform_detection");
		json_array_foreach(platforms, i, p)
		{
			const json_t *features = json_object_get(p, "features"),
				     *device = json_array_get(json_object_get(p, "devices"), 0);
			const char *description = json_text(&a, device, "description");
			const json_t *available = json_object_get(p, "available");
			const struct db_value row[] = {
				V_INTEGER("id", id + (int64_t)i),
				V_INTEGER("run", s->run),
				V_TEXT("platform", json_text(&a, p, "name")),
				V_BOOLEAN("available", json_is_boolean(available) ? json_is_true(available) : -1),
				V_TEXT("reason", json_text(&a, p, "reason")),
				V_TEXT("engine", json_text(&a, p, "engine")),
				V_TEXT("engine_version", json_text(&a, features, "engine_version")),
				V_TEXT("library", json_text(&a, features, "library")),
				V_TEXT("device", description != NULL ? description : json_text(&a, device, "name")),
				V_TEXT("devices", json_text(&a, p, "devices")),
				V_TEXT("features", all_features(&a, p)),
				V_TEXT("facts", json_compact(&a, p)),
				V_TIME("detected_at", transaction_now_us()),
			};
			insert_row(&in, row, sizeof row / sizeof row[0]);
		}
		status = insert_end(&in, err);
	}
	arena_done(&a);
	return transaction_end(s, &d, status, err);
}

enum { EVENTS_A_CELL = 4 }; // at most, with the end of its run

static enum status add_started(
	struct store *s, struct db *d, const struct cell *c, const char *cell_key, int64_t *row, struct error *err)
{
	int64_t id = 0, event;
	enum status status = transaction_next_id(d, "cell", &id, err);

	if (status == STATUS_OK)
		status = guard_room(d, "cell", 1, err);
	if (status == STATUS_OK)
		status = guard_room(d, "event", EVENTS_A_CELL, err);
	if (status == STATUS_OK) {
		struct arena a = { 0 };
		const struct db_value values[] = {
			V_INTEGER("id", id),
			V_INTEGER("run", s->run),
			V_TEXT("cell_key", cell_key),
			V_TEXT("question", question_text(&a, c)),
			V_TEXT("model", name_within(c->model, &a)),
			V_TEXT("path", c->path),
			V_TEXT("revision", c->revision),
			V_TEXT("requested", name_within(c->requested ? c->requested : c->platform, &a)),
			V_TEXT("device", name_within(c->device, &a)),
			V_TEXT("asked_options", c->options),
			V_INTEGER("batch", c->batch),
			V_INTEGER("sequence", c->sequence),
			V_INTEGER("runs", c->runs),
			V_INTEGER("layers", c->layers),
			V_INTEGER("seed", (int64_t)c->seed),
			V_BOOLEAN("synthetic", c->synthetic),
			V_BOOLEAN("static_shapes", c->is_static),
			V_REAL("timeout_s", c->timeout_s),
			V_INTEGER("memory_limit_bytes", c->memory_bytes),
			V_TEXT("golden", c->golden),
			V_INTEGER("attempt", c->attempt > 0 ? c->attempt : 1),
			V_INTEGER("fallback_of", c->attempt > 1 ? c->fallback_of : ROW_NONE),
			V_TEXT("fallback_reason", c->fallback_reason),
			V_TIME("started_at", transaction_now_us()),
		};
		status = INSERT_ONE(d, "cell", values, err);
		arena_done(&a);
	}
	if (status == STATUS_OK)
		status = add_event(d, s->run, id, "started", NULL, NULL, &event, err);
	if (status == STATUS_OK)
		*row = id;
	return status;
}

static enum status start(struct store *s, const struct cell *c, const char *cell_key, bool claims, enum store_cell_state *state,
	int64_t *row, struct error *err)
{
	struct db d = { 0 };
	int64_t id = ROW_NONE;
	enum status status = need_run(s, err);

	if (status == STATUS_OK)
		status = transaction_begin(s, true, &d, err);
	if (status != STATUS_OK)
		return status;
	*state = STORE_NEVER;
	if (claims)
		status = transaction_cell_state(s, &d, cell_key, c->timeout_s, state, &id, err);
	if (status == STATUS_OK && *state == STORE_NEVER)
		status = add_started(s, &d, c, cell_key, &id, err);
	status = transaction_end(s, &d, status, err);
	if (status == STATUS_OK)
		*row = id;
	return status;
}

enum status store_started(struct store *s, const struct cell *c, const char *cell_key, int64_t *row, struct error *err)
{
	enum store_cell_state state;

	return start(s, c, cell_key, false, &state, row, err);
}

enum status store_claim(
	struct store *s, const struct cell *c, const char *cell_key, enum store_cell_state *out, int64_t *row, struct error *err)
{
	return start(s, c, cell_key, true, out, row, err);
}

#define KIND_TEXT DB_TEXT
#define KIND_JSON DB_TEXT
#define KIND_REAL DB_REAL
#define KIND_INTEGER DB_INTEGER
#define KIND_BOOLEAN DB_BOOLEAN
#define X(kind, name, meaning) { #name, KIND_##kind, offsetof(struct row, name) },
static const struct {
	const char *name;
	enum db_kind kind;
	size_t at;
} members[] = { ROW_LIST(X) };
#undef X
enum { MEMBERS = sizeof members / sizeof members[0] };

static struct db_value value_at(size_t i, const struct row *row)
{
	const char *at = (const char *)row + members[i].at;
	struct db_value out = { .column = members[i].name, .kind = members[i].kind };

	if (out.kind == DB_TEXT)
		out.text = *(const char *const *)at;
	else if (out.kind == DB_REAL)
		out.real = *(const double *)at;
	else
		out.integer = out.kind == DB_BOOLEAN ? *(const int *)at : *(const int64_t *)at;
	return out;
}

// The values are no array of this function: 7 KiB, and DuckDB's own frames are deep where a stack is small (ulimit -s).
static void insert_measurement(struct insert *in, const struct cell_result *r, int64_t cell, int64_t event)
{
	struct arena a = { 0 };
	struct db_value *values = ARENA_ARRAY(&a, 2 + MEMBERS, struct db_value);
	struct row *kept = ARENA_NEW(&a, struct row);

	*kept = r->row;
	row_keep_within(kept, &a); // what is beyond is not read again

	values[0] = (struct db_value)V_INTEGER("cell", cell);
	values[1] = (struct db_value)V_INTEGER("event", event);
	for (size_t i = 0; i < MEMBERS; i++) {
		struct db_value *v = &values[2 + i];

		*v = value_at(i, kept);
		if (text_is(v->column, "row"))
			v->integer = cell;
		else if (text_is(v->column, "verdict"))
			v->text = verdict_word(r->verdict); // one truth, whatever the row says
	}
	insert_row(in, values, 2 + MEMBERS);
	arena_done(&a);
}

static enum status add_measurement(struct db *d, const struct cell_result *r, int64_t cell, int64_t event, struct error *err)
{
	struct insert in;

	insert_begin(&in, d, "measurement");
	insert_measurement(&in, r, cell, event);
	return insert_end(&in, err);
}

// A model and an artifact are written when first seen.
static enum status add_model(struct db *d, const struct row *r, struct error *err)
{
	struct arena a = { 0 };
	struct table t = { 0 };
	int64_t id = 0;
	bool known = true;
	const struct db_parameter what[] = {
		{ .text = name_within(r->model, &a) },
		{ .text = r->revision ? r->revision : "" },
		{ .text = r->model_type ? r->model_type : "" },
		{ .text = r->head ? r->head : "" },
	};
	enum status status;

	if (r->model == NULL)
		return STATUS_OK;
	status = db_query(d, &a,
		"SELECT id FROM model WHERE name = ? AND COALESCE(revision, '') = ? AND COALESCE(model_type, '') = ?"
		" AND COALESCE(head, '') = ?",
		what, 4, &t, err);
	if (status == STATUS_OK && t.row_count > 0) {
		id = table_integer(&t, 0, "id");
	} else if (status == STATUS_OK && (status = transaction_next_id(d, "model", &id, err)) == STATUS_OK) {
		const struct db_value values[] = {
			V_INTEGER("id", id),
			V_TEXT("name", name_within(r->model, &a)),
			V_TEXT("revision", r->revision),
			V_TEXT("model_type", r->model_type),
			V_TEXT("architecture", r->architecture),
			V_TEXT("head", r->head),
			V_TIME("first_seen_at", transaction_now_us()),
		};
		status = INSERT_ONE(d, "model", values, err);
	}
	arena_done(&a);
	if (status == STATUS_OK && r->artifact_key != NULL)
		status = forget_imported(d, forget_artifact, r->artifact_key, err);
	if (status == STATUS_OK && r->artifact_key != NULL)
		status = exists(d, "SELECT 1 FROM artifact WHERE key = ?", &(struct db_parameter){ .text = r->artifact_key }, 1,
			&known, err);
	if (status != STATUS_OK || known)
		return status;
	const struct db_value values[] = {
		V_TEXT("key", r->artifact_key),
		V_INTEGER("model", id),
		V_TEXT("form", r->form),
		V_TEXT("weights_dtype", r->weights_dtype),
		V_INTEGER("weights_bytes", r->weights_bytes),
		V_INTEGER("nodes", r->nodes),
		V_TEXT("placed_by", r->placed_by),
		V_TIME("first_seen_at", transaction_now_us()),
	};
	return INSERT_ONE(d, "artifact", values, err);
}

static enum status add_samples(struct db *d, const struct cell_result *r, int64_t cell, int64_t event, struct error *err)
{
	if (guard_room(d, "sample", (int64_t)r->sample_count, err) != STATUS_OK)
		return STATUS_BAD_INPUT;
	struct arena a = { 0 };
	int64_t *numbers = ARENA_ARRAY(&a, r->sample_count, int64_t);

	for (size_t i = 0; i < r->sample_count; i++)
		numbers[i] = (int64_t)i;
	const struct db_column columns[] = {
		{ .name = "cell", .constant = cell },
		{ .name = "event", .constant = event },
		{ .name = "number", .integer = numbers },
		{ .name = "ms", .real = r->sample_ms },
	};
	enum status status = insert_columns(d, "sample", columns, 4, r->sample_count, err);
	arena_done(&a);
	return status;
}

enum status store_finished(struct store *s, const struct cell_result *r, struct error *err)
{
	struct db d = { 0 };
	int64_t cell = r->row.row, event = 0;
	bool known = false;
	enum status status = need_run(s, err);

	if (status == STATUS_OK)
		status = transaction_begin(s, true, &d, err);
	if (status != STATUS_OK)
		return status;
	status = exists(&d, "SELECT 1 FROM cell WHERE id = ?", &(struct db_parameter){ .integer = cell }, 1, &known, err);
	if (status == STATUS_OK && !known)
		status = error_set(err, STATUS_BAD_INPUT, "row %lld was never started", (long long)cell);
	if (status == STATUS_OK)
		status = add_event(&d, s->run, cell, "verdict", verdict_word(r->verdict), r->row.cause, &event, err);
	if (status == STATUS_OK)
		status = add_measurement(&d, r, cell, event, err);
	if (status == STATUS_OK)
		status = add_model(&d, &r->row, err);
	if (status == STATUS_OK && r->sample_count > 0)
		status = add_samples(&d, r, cell, event, err);
	if (status == STATUS_OK && r->placement != NULL)
		status = objects_add(&d, &placement_table, r->placement, cell, event, err);
	if (status == STATUS_OK && r->profile != NULL)
		status = objects_add(&d, &profile_table, r->profile, cell, event, err);
	if (status == STATUS_OK && r->checks != NULL)
		status = objects_add(&d, &check_table, r->checks, cell, event, err);
	return transaction_end(s, &d, status, err);
}

// ---- what other tools measured -------------------------------------------------------------------------------------

// Results come in a table at a time, one appender for all of them: one for each row of each table takes minutes and a gigabyte.
// Result i has the number cell + i, and two events from event + 2 i on.
struct foreign_numbers {
	int64_t run, cell, event;
};

static void foreign_key(const struct foreign_row *f, char key[65])
{
	const struct cell *c = &f->cell;
	struct hash h;

	hash_init(&h);
	hash_add_text(&h, f->result.row.source);
	hash_add_text(&h, c->model);
	hash_add_text(&h, c->platform);
	hash_add_text(&h, c->options);
	hash_add(&h, &c->batch, sizeof c->batch);
	hash_add(&h, &c->sequence, sizeof c->sequence);
	hash_hex(&h, key);
}

static enum status foreign_cells(
	struct db *d, const struct foreign_result *r, const struct foreign_numbers *first, int64_t now, struct error *err)
{
	struct insert in;

	insert_begin(&in, d, "cell");
	for (size_t i = 0; i < r->count; i++) {
		const struct cell *c = &r->rows[i].cell;
		char key[65];
		foreign_key(&r->rows[i], key);
		const struct db_value values[] = {
			V_INTEGER("id", first->cell + (int64_t)i),
			V_INTEGER("run", first->run),
			V_TEXT("cell_key", key),
			V_TEXT("model", c->model),
			V_TEXT("path", c->path),
			V_TEXT("requested", c->platform),
			V_TEXT("device", c->device),
			V_TEXT("asked_options", c->options),
			V_INTEGER("batch", c->batch),
			V_INTEGER("sequence", c->sequence),
			V_BOOLEAN("synthetic", 0),
			V_INTEGER("attempt", 1),
			V_TIME("started_at", now),
			V_INTEGER("origin_id", (int64_t)i + 1),
		};
		insert_row(&in, values, sizeof values / sizeof values[0]);
	}
	return insert_end(&in, err);
}

static enum status foreign_events(
	struct db *d, const struct foreign_result *r, const struct foreign_numbers *first, int64_t now, struct error *err)
{
	struct insert in;

	insert_begin(&in, d, "event");
	for (size_t i = 0; i < 2 * r->count; i++) {
		const struct cell_result *result = &r->rows[i / 2].result;
		bool started = i % 2 == 0;
		const struct db_value values[] = {
			V_INTEGER("id", first->event + (int64_t)i),
			V_INTEGER("run", first->run),
			V_INTEGER("cell", first->cell + (int64_t)i / 2),
			V_TEXT("kind", started ? "started" : "verdict"),
			V_TEXT("verdict", started ? NULL : verdict_word(result->verdict)),
			V_TEXT("cause", started ? NULL : result->row.cause),
			V_TIME("happened_at", now),
		};
		insert_row(&in, values, sizeof values / sizeof values[0]);
	}
	return insert_end(&in, err);
}

static enum status foreign_measurements(
	struct db *d, const struct foreign_result *r, const struct foreign_numbers *first, struct error *err)
{
	struct insert in;

	insert_begin(&in, d, "measurement");
	for (size_t i = 0; i < r->count; i++)
		insert_measurement(&in, &r->rows[i].result, first->cell + (int64_t)i, first->event + 2 * (int64_t)i + 1);
	return insert_end(&in, err);
}

static enum status foreign_samples(
	struct db *d, const struct foreign_result *r, const struct foreign_numbers *first, struct error *err)
{
	enum { AT_ONCE = 1 << 16 };
	struct arena a = { 0 };
	int64_t *cell = ARENA_ARRAY(&a, AT_ONCE, int64_t), *event = ARENA_ARRAY(&a, AT_ONCE, int64_t),
		*number = ARENA_ARRAY(&a, AT_ONCE, int64_t);
	double *ms = ARENA_ARRAY(&a, AT_ONCE, double);
	const struct db_column columns[] = {
		{ .name = "cell", .integer = cell },
		{ .name = "event", .integer = event },
		{ .name = "number", .integer = number },
		{ .name = "ms", .real = ms },
	};
	enum status status = STATUS_OK;
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++) {
		for (size_t k = 0; k < r->rows[i].result.sample_count && status == STATUS_OK; k++) {
			cell[n] = first->cell + (int64_t)i;
			event[n] = first->event + 2 * (int64_t)i + 1;
			number[n] = (int64_t)k;
			ms[n++] = r->rows[i].result.sample_ms[k];
			if (n == AT_ONCE) {
				status = insert_columns(d, "sample", columns, 4, n, err);
				n = 0;
			}
		}
	}
	if (status == STATUS_OK && n > 0)
		status = insert_columns(d, "sample", columns, 4, n, err);
	arena_done(&a);
	return status;
}

static enum status add_foreign(struct db *d, int64_t run, const struct foreign_result *r, struct error *err)
{
	struct foreign_numbers first = { .run = run };
	int64_t now = transaction_now_us();
	enum status status = transaction_next_id(d, "cell", &first.cell, err);

	if (status == STATUS_OK)
		status = transaction_next_id(d, "event", &first.event, err);
	if (status == STATUS_OK)
		status = guard_room(d, "cell", (int64_t)r->count, err);
	if (status == STATUS_OK)
		status = foreign_cells(d, r, &first, now, err);
	if (status == STATUS_OK)
		status = foreign_events(d, r, &first, now, err);
	if (status == STATUS_OK)
		status = foreign_measurements(d, r, &first, err);
	return status == STATUS_OK ? foreign_samples(d, r, &first, err) : status;
}

enum status store_import_foreign(
	struct store *s, const char *path, const struct foreign_result *r, struct store_import *out, struct error *err)
{
	struct machine machine = { .hostname = NULL, .cpu_model = r->machine_cpu };
	struct arena a = { 0 };
	struct db d = { 0 };
	struct hash h;
	char sha[65], *text = NULL;
	size_t nbytes = 0;
	int64_t run = 0, import = 0, event;
	enum status status = file_read(&a, path, FOREIGN_FILE_LIMIT, &text, &nbytes, err);

	*out = (struct store_import){ 0 };
	if (status == STATUS_OK)
		status = transaction_begin(s, true, &d, err);
	if (status != STATUS_OK) {
		arena_done(&a);
		return status;
	}
	hash_init(&h);
	hash_add(&h, text, nbytes);
	hash_hex(&h, sha);
	machine.id = r->machine_cpu != NULL ? arena_printf(&a, "of a file: %s", r->machine_cpu)
					    : arena_printf(&a, "of a file: %.12s", sha);
	// Of this file's own: another database may say that it has them.
	status = exists(&d,
		"SELECT 1 FROM import i JOIN run r ON r.id = i.run AND r.import = i.id AND r.origin_id IS NULL WHERE i.sha256 = "
		"?",
		&(struct db_parameter){ .text = sha }, 1, &out->known, err);
	if (status == STATUS_OK && out->known) {
		arena_done(&a);
		db_close(&d); // rolls back: nothing was written
		return STATUS_OK;
	}
	if (status == STATUS_OK)
		status = add_machine(&d, &machine, err);
	if (status == STATUS_OK)
		status = transaction_next_id(&d, "run", &run, err);
	if (status == STATUS_OK)
		status = transaction_next_id(&d, "import", &import, err);
	if (status == STATUS_OK) {
		const struct db_value row[] = {
			V_INTEGER("id", run),
			V_TEXT("machine", machine.id),
			V_TEXT("program_version", r->version != NULL ? arena_printf(&a, "%s %s", r->tool, r->version) : r->tool),
			V_TEXT("command", arena_printf(&a, "import %s", path)),
			V_INTEGER("pid", 0),
			V_INTEGER("start_ticks", 0),
			V_TEXT("boot_id", sha),
			V_TIME("started_at", transaction_now_us()),
			V_INTEGER("import", import),
		};
		status = INSERT_ONE(&d, "run", row, err);
	}
	if (status == STATUS_OK)
		status = add_event(&d, run, ROW_NONE, "run_started", NULL, NULL, &event, err);
	if (status == STATUS_OK)
		status = add_foreign(&d, run, r, err);
	if (status == STATUS_OK)
		status = add_event(&d, run, ROW_NONE, "run_ended", NULL, NULL, &event, err);
	if (status == STATUS_OK) {
		const struct db_value row[] = {
			V_INTEGER("id", import),
			V_TEXT("path", path),
			V_TEXT("sha256", sha),
			V_TEXT("tool", r->tool),
			V_TEXT("tool_version", r->version),
			V_INTEGER("run", run),
			V_INTEGER("cells", (int64_t)r->count),
			V_TIME("imported_at", transaction_now_us()),
		};
		status = INSERT_ONE(&d, "import", row, err);
	}
	out->cells = (int64_t)r->count;
	arena_done(&a);
	return transaction_end(s, &d, status, err);
}
