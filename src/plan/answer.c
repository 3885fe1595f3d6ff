// SPDX-License-Identifier: Apache-2.0
// answer.h. The platform that judges is the one that judges the cells of the first platform, unless a part runs there: then the
// unoptimised processor. It makes the whole pipeline's answer from the same words, in the same precision.
#include "plan/answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact/identity.h"
#include "artifact/writes.h"
#include "base/cache.h"
#include "base/claim.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cell/scratch.h"
#include "conform/answers.h"
#include "hub/hub.h"
#include "onnx/precision.h"
#include "plan/given.h"
#include "plan/plan.h"
#include "preprocess/decode.h"
#include "preprocess/encode.h"
#include "preprocess/resample.h"
#include "store/store.h"

enum { THUMBNAIL_SIDE = 128, THUMBNAIL_MOST = 64 << 10, ANSWER_MOST = 256 << 10 };

struct answering {
	const struct answer_asked *q;
	struct arena *a;
	struct store store;
	struct cell cell;
	const char *key, *files;        // files: column input_files; NULL: none
	struct model_file *model_files; // model_tree
	size_t model_file_count;
	bool has_files;     // they are known
	const char *folder; // SHA-256 over those that are no weights; NULL: not known
	const char *kept;   // a folder with what the answers hold beside their JSON; below it "asked" and "reference"; NULL
	double began_ms;
	const char *started_at;
	int64_t row;
	bool has_begun;
	struct error err; // of the store, in `begin`
};

static const char *compact(struct arena *a, const json_t *x)
{
	char *text = x ? json_dumps(x, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) : NULL;
	const char *out = arena_strdup(a, text);

	free(text);
	return out;
}

static const char *hex_of(struct arena *a, const char *text)
{
	char *out = arena_alloc(a, 65);
	struct hash h;

	hash_init(&h);
	hash_add_text(&h, text);
	hash_hex(&h, out);
	return out;
}

// ---- the question ---------------------------------------------------------------------------------------------------------

// Of one model as cells of it have it; of a folder of several, over the names and identities of all. NULL: not known, or more
// than a pipeline has.
static const char *identity_of(const struct answering *x)
{
	enum { MODELS_MOST = 64 };
	static const char config[] = "/config.json";
	size_t models = 0;
	const char *folder = x->q->pipeline.folder, *all;
	struct digest_watch watch = { .progress = x->q->reading, .context = x->q->context };
	char *own = arena_alloc(x->a, 65);

	if (!x->has_files || model_identity(own, folder, x->q->reading ? &watch : NULL, NULL))
		return NULL;
	all = own;
	for (size_t i = 0; i < x->model_file_count; i++) {
		const char *name = x->model_files[i].name;
		char part[65];

		if (!text_ends(name, config))
			continue;
		name = arena_strndup(x->a, name, strlen(name) - strlen(config));
		if (++models > MODELS_MOST ||
			model_identity(part, arena_printf(x->a, "%s/%s", folder, name), x->q->reading ? &watch : NULL, NULL))
			return NULL;
		all = arena_printf(x->a, "%s %s %s", all, name, part);
	}
	return !models ? own : hex_of(x->a, all);
}

// Of the files that a pipeline may read beside weights, which are the identity's: tokenizers, schedulers, passages. Over their
// names and contents; none is read that leads out of the folder, or that is larger than any reader takes. NULL: not known, or
// more than a pipeline has.
static const char *files_of(const struct answering *x)
{
	enum { READ_MOST = 128 << 20, ALL_MOST = 512 << 20 };
	int64_t all = 0;
	struct hash h;
	char hex[65];

	hash_init(&h);
	for (size_t i = 0; i < x->model_file_count; i++) {
		const struct model_file *f = &x->model_files[i];

		if (model_is_weights(f->name))
			continue;
		hash_add_text(&h, f->name);
		const int64_t nbytes = file_bytes(f->path);
		if (!model_has_inside(x->q->pipeline.folder, f->path))
			hash_add_text(&h, "outside");
		else if (nbytes > READ_MOST)
			hash_add_text(&h, "too large");
		else if ((all += nbytes) > ALL_MOST || file_digest(hex, f->path, NULL, NULL))
			return NULL;
		else
			hash_add_text(&h, hex);
	}
	hash_hex(&h, hex);
	return x->has_files ? arena_strdup(x->a, hex) : NULL;
}

// The options of a target over those of its route; NULL: none.
static const char *own_options(const struct target *t)
{
	const size_t n = t->route->options ? strlen(t->route->options) : 0;
	const char *own = t->options ? t->options + n : "";

	own += n && *own == ',';
	return *own ? own : NULL;
}

// "unet=webgpu:native,vae=cpu:threads=2", as --on takes it; NULL: all of it runs on one platform.
static const char *parts_of(struct arena *a, const struct target *t)
{
	const char *out = NULL;

	for (size_t i = 0; i < t->part_count; i++) {
		const struct target *own = t->parts[i].target;
		const char *more = arena_join(a, own->chosen ? own->device : NULL, ",", own_options(own));

		out = arena_join(a, out, ",",
			arena_printf(a, "%s=%s%s%s", t->parts[i].name, own->platform->name, more ? ":" : "", more ? more : ""));
	}
	return out;
}

// The words, the options, what the files among the words hold, and what the folder's do.
static const char *asked_text(struct answering *x)
{
	const struct pipeline_asked *p = &x->q->pipeline;
	const json_t *typed = x->q->typed ? x->q->typed : p->words, *word;
	json_t *files = json_array(), *digests = json_array(), *all;
	size_t i;

	json_array_foreach(p->words, i, word)
	{
		const char *path = json_string_value(word);
		enum medium medium;

		if (path && file_exists(path) && !file_is_dir(path))
			given_add_file(files, x->a, path, &medium, NULL); // one that cannot be read is the child's to tell
		if (!json_equal(word, json_array_get(typed, i)))          // standard input has no name
			json_object_set(json_array_get(files, json_array_size(files) - 1), "file", json_array_get(typed, i));
	}
	x->files = json_array_size(files) ? compact(x->a, files) : NULL;
	json_array_foreach(files, i, word) json_array_append(digests, json_object_get(word, "sha256"));
	json_decref(files);
	all = json_pack("{s:O, s:O?, s:o, s:s*}", "words", typed, "options", p->options, "files", digests, "model_files",
		!x->q->db           ? NULL
			: x->folder ? x->folder
				    : digest_unknown(x->a));
	const char *out = compact(x->a, all);
	json_decref(all);
	return out;
}

static void set_key(struct answering *x)
{
	struct text key = { 0 };

	text_addf(&key, "pipeline 1 %s %s %s %s", x->cell.identity ? x->cell.identity : digest_unknown(x->a), x->cell.platform,
		x->cell.device ? x->cell.device : "", x->cell.options ? x->cell.options : "");
	text_addf(&key, " %s %s %s %s", x->cell.pipeline ? x->cell.pipeline : "",
		x->cell.pipeline_parts ? x->cell.pipeline_parts : "", x->cell.pipeline_asked,
		x->cell.precision ? x->cell.precision : "");
	x->key = hex_of(x->a, text_get(&key));
	text_done(&key);
}

// The task that was found, or that has the name which was typed; translation_en_to_fr says more than its task's name does.
static void set_task(struct answering *x, const char *task)
{
	if (!task || (x->cell.pipeline && text_starts(x->cell.pipeline, "translation_")))
		return;
	x->cell.pipeline = arena_strdup(x->a, task);
	set_key(x);
}

static void set_cell(struct answering *x)
{
	const struct pipeline_asked *p = &x->q->pipeline;
	const struct target *t = p->target;
	struct hub_model hub = { 0 };

	if (x->q->db) {
		x->has_files = model_tree(p->folder, x->a, &x->model_files, &x->model_file_count);
	}
	x->cell = (struct cell){ .model = plan_model_name(x->a, x->q->model),
		.path = p->folder,
		.platform = t->platform->name,
		.device = t->device,
		.options = t->options,
		.identity = x->q->db ? identity_of(x) : NULL };
	x->folder = x->q->db ? files_of(x) : NULL;
	if (!hub_find(&hub, x->a, x->q->model, NULL))
		x->cell.revision = hub.revision;
	x->cell.task = "pipeline";
	x->cell.pipeline = p->task;
	x->cell.pipeline_parts = parts_of(x->a, t);
	x->cell.pipeline_asked = asked_text(x);
	x->cell.precision = p->precision;
	x->cell.seed = json_integer_value(json_object_get(p->options, "seed"));
	x->cell.timeout_s = p->timeout_s;
	x->cell.memory_bytes = p->memory_bytes;
	set_key(x);
}

// ---- the store ------------------------------------------------------------------------------------------------------------

static enum status open_store(struct answering *x, struct error *err)
{
	x->store.notice = x->q->notice;
	x->store.context = x->q->context;
	if (!x->q->db)
		return STATUS_OK;
	enum status st = store_open(&x->store, x->q->db, false, err);
	x->store.keeps_open = st == STATUS_OK; // until the child goes on
	return st;
}

static enum status begin_row(struct answering *x, struct error *err)
{
	struct machine machine;
	enum status st;

	machine_detect(&machine, x->a);
	if (!(st = store_begin_run(&x->store, &machine, x->q->command, err)))
		st = store_started(&x->store, &x->cell, x->key, &x->row, err);
	store_let_go(&x->store);
	return st;
}

// Before the child answers; false: the database did not take it.
static bool begin(void *context, const char *task)
{
	struct answering *x = context;
	const double now = clock_ms();

	x->has_begun = true;
	set_task(x, task);
	x->started_at = arena_strdup(x->a, clock_utc((char[32]){ 0 }));
	enum status st = x->q->db ? begin_row(x, &x->err) : STATUS_OK;
	x->began_ms += clock_ms() - now; // what the database took is not the pipeline's
	return st == STATUS_OK;
}

// ---- the verdict ----------------------------------------------------------------------------------------------------------

static bool is_null(const struct target *t)
{
	return text_is(t->route->engine, "null");
}

// Parts of the null engine beside others: nothing computes what that would have answered.
static bool is_part_null(const struct target *t)
{
	for (size_t i = 0; i < t->part_count; i++)
		if (is_null(t) != is_null(t->parts[i].target))
			return true;
	return false;
}

// The platform of a reference's text has a part of the pipeline.
static bool has_part_on(const struct target *t, const char *text)
{
	const size_t n = strcspn(text, ":");

	for (size_t i = 0; i < t->part_count; i++)
		if (!strncmp(t->parts[i].target->platform->name, text, n) && !t->parts[i].target->platform->name[n])
			return true;
	return false;
}

static void set_verdict(struct cell_result *r, enum verdict v, const char *cause)
{
	r->verdict = v;
	r->row.verdict = verdict_word(v);
	r->row.cause = cause;
}

// How far a reduced precision may move the answer of a whole pipeline is not known: only within a bound is anything said, and
// what lies close may turn, a label or a token too.
static enum status unbounded(struct answering *x, enum dtype computes, struct error *err)
{
	const char *asked = x->q->pipeline.precision, *first = arena_strdup(x->a, err->text);
	const bool reduced = precision_is_reduced(precision_find(asked)),
		   widened = computes == DTYPE_F16 || computes == DTYPE_BF16;

	if (err->status != STATUS_FAILED || !(reduced || widened))
		return err->status;
	return error_set(err, STATUS_UNSUPPORTED,
		"%s; beyond the bound of %s, and for %s through a whole pipeline none is known: the measures say how far", first,
		widened ? arena_printf(x->a, "one model in %s", dtype_word(computes)) : "float32",
		reduced ? asked : dtype_word(computes));
}

static struct answer_kept kept_of(struct answering *x, const struct pipeline_told *told, const char *folder, size_t i)
{
	const json_t *one = json_array_get(told->answers, i);

	return (struct answer_kept){ json_object_get(one, "answer"), arena_printf(x->a, "%s/%s/%zu", x->kept, folder, i),
		(size_t)json_integer_value(json_object_get(one, "prompt_tokens")) };
}

static enum status compare_all(struct answering *x, const struct pipeline_told *told, const struct pipeline_told *reference,
	struct cell_result *r, struct error *err)
{
	const enum dtype computes = told->row.compute_dtype ? dtype_find(told->row.compute_dtype) : DTYPE_F32;
	struct answer_likeness sum;
	enum status st = STATUS_OK;

	answers_begin(&sum);
	if (json_array_size(told->answers) != json_array_size(reference->answers))
		st = error_set(err, STATUS_FAILED, "%zu answers, and %zu of the reference", json_array_size(told->answers),
			json_array_size(reference->answers));
	for (size_t i = 0; i < json_array_size(told->answers); i++) {
		const struct answer_kept got = kept_of(x, told, "asked", i), want = kept_of(x, reference, "reference", i);
		struct error why = { 0 };
		enum status one = want.answer ? answers_compare(&got, &want, x->cell.pipeline, computes, &sum, x->a, &why) : st;

		if (one == STATUS_FAILED && want.answer)
			one = unbounded(x, computes, &why);
		if (one && !st)
			st = error_set(err, one, "%s%s",
				json_array_size(told->answers) > 1 ? arena_printf(x->a, "input %zu: ", i + 1) : "", why.text);
	}
	json_t *measures = answers_json(&sum);
	r->row.answer_measures = compact(x->a, measures);
	json_decref(measures);
	r->row.bound = answers_bound(x->a, x->cell.pipeline, computes);
	r->row.max_abs_error = sum.max_abs_error;
	r->row.nmse = sum.nmse;
	r->row.cosine = sum.cosine;
	if (!st && sum.empty && (size_t)sum.empty == json_array_size(told->answers)) // a threshold that nothing reaches, say
		st = error_set(err, STATUS_UNSUPPORTED, "nothing was found, by neither: there is nothing to compare");
	return st;
}

// False: that platform gave no answer, and *why says why.
static bool judge_by(struct answering *x, const char *text, const struct pipeline_told *told, struct cell_result *r,
	const char **why, enum status *failed)
{
	struct pipeline_asked ask = x->q->pipeline;
	struct pipeline_told reference = { 0 };
	struct error err = { 0 };
	struct target t;
	enum status st = plan_pipeline_target(&t, x->a, text, &err);
	const char *name = st ? text : cell_judge_word(x->a, &t);

	ask.target = &t;
	ask.task = x->cell.pipeline;
	ask.save = ask.output = NULL;
	ask.keep = arena_printf(x->a, "%s/reference", x->kept);
	ask.memory_bytes = 0;
	if (x->q->judging)
		x->q->judging(x->q->context, name);
	// As of cells: the null engine judges what it serves itself, and nothing else.
	if (!st && is_null(&t) && !is_null(x->q->pipeline.target))
		st = error_set(&err, STATUS_UNAVAILABLE, "the null engine stands in for it, and computes nothing");
	if (!st)
		st = pipeline_ask(&ask, &reference, x->a, &err);
	if (!st) {
		r->row.reference = ask.precision ? arena_printf(x->a, "%s, %s too", name, ask.precision) : name;
		st = compare_all(x, told, &reference, r, &err);
		if (!st)
			set_verdict(r, VERDICT_RIGHT, NULL);
		else
			set_verdict(r, st == STATUS_FAILED ? VERDICT_WRONG : VERDICT_UNJUDGED, arena_strdup(x->a, err.text));
		st = STATUS_OK;
	} else if (reference.verdict == VERDICT_INTERRUPTED) {
		set_verdict(r, VERDICT_INTERRUPTED, "stopped from outside while the reference was asked");
		st = STATUS_OK;
	}
	*failed = st;
	*why = st ? arena_printf(x->a, "%s gave no answer to hold it against: %s", name, err.text) : NULL;
	pipeline_told_done(&reference);
	return !st;
}

static void judge(struct answering *x, const struct pipeline_told *told, struct cell_result *r)
{
	static const char unoptimised[] = "cpu:optimisation=none";
	const struct target *t = x->q->pipeline.target;
	const char *first = t->platform->reference, *why = NULL, *again;
	enum status failed;

	if (is_part_null(t)) {
		set_verdict(r, VERDICT_UNJUDGED,
			"the null engine, which computes nothing, ran some of the parts: there is no answer to hold against "
			"another");
		return;
	}
	if (x->q->no_reference) {
		set_verdict(r, VERDICT_UNJUDGED, "no reference was wanted (--no-reference): the answer was held against nothing");
		return;
	}
	if (!first || has_part_on(t, first))
		first = unoptimised;
	if (judge_by(x, first, told, r, &why, &failed))
		return;
	if ((failed == STATUS_UNAVAILABLE || failed == STATUS_UNSUPPORTED) && !text_is(first, unoptimised)) {
		if (judge_by(x, unoptimised, told, r, &again, &failed))
			return;
		why = arena_join(x->a, why, "; ", again);
	}
	set_verdict(r, VERDICT_UNJUDGED, why);
}

// As a cell: where a platform took no node at all of a graph, what is right is no answer of it.
static void check_placement(struct answering *x, const struct pipeline_told *told, struct cell_result *r)
{
	if (!told->took_none || r->verdict == VERDICT_WRONG || r->verdict == VERDICT_INTERRUPTED)
		return;
	set_verdict(r, VERDICT_FELL_BACK,
		arena_printf(x->a, "%s took none of the nodes of one of the graphs%s%s", told->took_none,
			r->verdict == VERDICT_UNJUDGED ? "; " : "", r->verdict == VERDICT_UNJUDGED ? r->row.cause : ""));
	r->row.actual = NULL;
}

// ---- the answer in the row --------------------------------------------------------------------------------------------------

static json_t *digest_json(const char *path)
{
	char hex[65];

	return file_digest(hex, path, NULL, NULL) ? json_null() : json_string(hex);
}

static json_t *kept_answer(struct answering *x, const json_t *told, size_t i)
{
	const char *folder = arena_printf(x->a, "%s/asked/%zu", x->kept, i), *name,
		   *sound = arena_printf(x->a, "%s/audio.wav", folder);
	json_t *out = json_pack("{s:O}", "answer", json_object_get(told, "answer")),
	       *pictures = json_deep_copy(json_object_get(told, "pictures"));
	struct stat is;
	json_t *one;

	json_object_foreach(pictures, name, one)
		json_object_set_new(one, "sha256", digest_json(arena_printf(x->a, "%s/%s", folder, name)));
	if (json_object_size(pictures))
		json_object_set(out, "pictures", pictures);
	json_decref(pictures);
	if (!stat(sound, &is))
		json_object_set_new(
			out, "sound", json_pack("{s:I, s:o}", "bytes", (json_int_t)is.st_size, "sha256", digest_json(sound)));
	return out;
}

static const char *answers_text(struct answering *x, const struct pipeline_told *told)
{
	json_t *all = json_array();
	const json_t *one;
	size_t i;

	json_array_foreach(told->answers, i, one) json_array_append_new(all, kept_answer(x, one, i));
	const char *text = compact(x->a, all);
	json_decref(all);
	if (text && strlen(text) > ANSWER_MOST)
		text = arena_printf(x->a, "[{\"bytes\":%zu,\"sha256\":\"%s\"}]", strlen(text), hex_of(x->a, text));
	return text;
}

static const char *first_picture(const json_t *answer)
{
	const char *name;
	json_t *one;

	json_object_foreach(json_object_get(answer, "pictures"), name, one) return name;
	return NULL;
}

// PNG, in base64; NULL: there is no picture, or none can be made.
static const char *thumbnail(struct answering *x, const struct pipeline_told *told)
{
	const char *name = first_picture(json_array_get(told->answers, 0)), *to = arena_printf(x->a, "%s/thumbnail.png", x->kept);
	struct picture whole, small;
	struct text text = { 0 };
	size_t nbytes;
	char *data;

	if (!name || picture_open(&whole, x->a, arena_printf(x->a, "%s/asked/0/%s", x->kept, name), NULL))
		return NULL;
	const int side = whole.width > whole.height ? whole.width : whole.height,
		  most = side > THUMBNAIL_SIDE ? THUMBNAIL_SIDE : side;
	const int width = (int)fmax(1, round((double)whole.width * most / side)),
		  height = (int)fmax(1, round((double)whole.height * most / side));
	if (picture_resize(&small, x->a, &whole, height, width, FILTER_BICUBIC, LIBRARY_PILLOW, NULL) ||
		picture_save(&small, to, NULL) || file_read(x->a, to, THUMBNAIL_MOST, &data, &nbytes, NULL))
		return NULL;
	text_add_base64(&text, data, nbytes);
	const char *out = arena_strdup(x->a, text_get(&text));
	text_done(&text);
	return out;
}

static void fill_row(struct answering *x, const struct pipeline_told *told, struct cell_result *r)
{
	struct row *row = &r->row;

	*row = told->row;
	row_set_asked(row, &x->cell.question);
	row->row = x->row;
	row->model = x->cell.model;
	row->revision = x->cell.revision;
	row->requested = row->tried = x->cell.platform;
	row->device = row->device ? row->device : x->cell.device;
	row->attempt = row->attempts = 1;
	row->cell_key = x->key;
	row->model_sha256 = x->cell.identity;
	row->inputs_hash = hex_of(x->a, x->cell.pipeline_asked);
	row->input_files = x->files;
	row->started_at = x->started_at;
}

// The platform that was asked for; where none of the graphs was on it (each part has its own), theirs.
static const char *actual_of(const struct answering *x, const struct pipeline_told *told)
{
	const json_t *graphs = json_object_get(json_object_get(told->facts, "placement"), "graphs"), *g;
	const char *out = NULL, *before = NULL;
	size_t i;

	json_array_foreach(graphs, i, g)
	{
		const char *platform = json_string_value(json_object_get(g, "platform"));

		if (text_is(platform, x->cell.platform))
			return x->cell.platform;
		if (!text_is(platform, before))
			out = arena_join(x->a, out, "+", before = arena_strdup(x->a, platform));
	}
	return out ? out : x->cell.platform;
}

static void judge_answer(struct answering *x, const struct pipeline_told *told, struct cell_result *r)
{
	r->row.wall_ms = clock_ms() - x->began_ms;
	r->row.actual = actual_of(x, told);
	if (x->q->db) {
		r->row.answer = answers_text(x, told);
		r->row.answer_picture = thumbnail(x, told);
	}
	if (x->q->answered)
		x->q->answered(x->q->context, told);
	judge(x, told, r);
	check_placement(x, told, r);
}

// ---- all of it ------------------------------------------------------------------------------------------------------------

static enum status keep_folder(struct answering *x, struct error *err)
{
	const char *folder;
	enum status st;

	if (!x->q->db && x->q->no_reference)
		return STATUS_OK;
	st = cache_part(&folder, x->a, "conform", err);
	scratch_sweep();
	if (!st)
		st = file_mkdirs_private(x->kept = arena_printf(x->a, "%s/answer.%s.part", folder, claim_token()), err);
	return st;
}

static enum status ask(struct answering *x, struct answered *out, struct error *err)
{
	struct pipeline_asked p = x->q->pipeline;
	enum status st;

	p.keep = x->kept ? arena_printf(x->a, "%s/asked", x->kept) : NULL;
	p.begin = begin;
	p.begin_context = x;
	x->began_ms = clock_ms();
	st = pipeline_ask(&p, &out->told, x->a, err);
	if (x->err.status)
		return error_set(err, x->err.status, "%s", x->err.text);
	// A word or an option that makes no sense is no question.
	if (!x->has_begun && (st == STATUS_BAD_INPUT || !begin(x, json_string_value(json_object_get(out->told.task, "task")))))
		return x->err.status ? error_set(err, x->err.status, "%s", x->err.text) : st;
	out->has_result = true;
	fill_row(x, &out->told, &out->result);
	if (!st) {
		judge_answer(x, &out->told, &out->result);
		return STATUS_OK;
	}
	out->result.row.wall_ms = clock_ms() - x->began_ms;
	const enum verdict v = out->told.verdict != VERDICT_RIGHT ? out->told.verdict : verdict_of_status(st);
	if (v == VERDICT_UNAVAILABLE && !p.target->part_count) // else it may be another part's platform
		error_set(err, st, "%s", detect_with_cause(x->a, p.target->platform, arena_strdup(x->a, err->text)));
	set_verdict(&out->result, v, arena_strdup(x->a, err->text));
	return st;
}

// It was read again and again, by a second platform too: of which contents the answer is is not known.
static void say_changed(struct answered *out)
{
	set_verdict(&out->result, VERDICT_NOT_ASKED,
		"the model's files were changed while it answered: of which of their contents the answer is is not known");
	out->result.row.model_sha256 = NULL;
}

static void end_store(struct answering *x, struct answered *out)
{
	if (x->q->db && out->has_result)
		out->store = store_finished(&x->store, &out->result, &out->store_error);
	if (x->store.run > 0 && !out->store)
		out->store = store_end_run(&x->store, &out->store_error);
	store_close(&x->store);
}

enum status answer_ask(const struct answer_asked *q, struct answered *out, struct arena *a, struct error *err)
{
	struct answering x = { .q = q, .a = a, .row = ROW_NONE };
	enum status st;

	*out = (struct answered){ 0 };
	row_init(&out->result.row);
	const int writes = writes_watch(a, q->pipeline.folder);
	writes_add_folder(writes, q->pipeline.folder);
	set_cell(&x);
	if (!(st = keep_folder(&x, err)) && !(st = open_store(&x, err)))
		st = ask(&x, out, err);
	if (writes_seen(writes) && out->has_result)
		say_changed(out);
	end_store(&x, out);
	if (x.kept)
		file_remove_tree(x.kept, NULL);
	return st;
}

json_t *answered_json(const struct answered *x, const char *on, const char *precision)
{
	const struct row *r = &x->result.row;
	json_t *out = pipeline_told_json(&x->told, on, precision);

	json_object_update_new(out,
		json_pack("{s:o, s:s?, s:s?, s:s?, s:o}", "row",
			r->row == ROW_NONE ? json_null() : json_integer((json_int_t)r->row), "verdict",
			x->has_result ? verdict_word(x->result.verdict) : NULL, "cause", r->cause, "reference", r->reference,
			"measures", r->answer_measures ? json_parse(r->answer_measures) : json_null()));
	return out;
}
