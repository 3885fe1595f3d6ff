// SPDX-License-Identifier: Apache-2.0
// "How many cases of this type pass here": run once, then kept in CACHE/conform-results, a sealed file a type (base/sealed.h). A
// file counts for the program, the engine's library, the options and the cases that it was made with, and for no others.
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cache.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/sealed.h"
#include "question/cell.h"
#include "conform/case.h"
#include "run/cell.h"
#include "run/shipped.h"

static const char *file_identity(struct arena *a, const char *path)
{
	struct stat st;

	if (!path || stat(path, &st) < 0)
		return "absent";
	return arena_printf(a, "%llu %lld %lld.%09ld", (unsigned long long)st.st_ino, (long long)st.st_size,
		(long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

static void add_files(struct hash *h, struct arena *a, const char *folder)
{
	struct dirent **entries = NULL;
	const int count = scandir(folder, &entries, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		hash_add_text(h, entries[i]->d_name);
		hash_add_text(h, file_identity(a, arena_printf(a, "%s/%s", folder, entries[i]->d_name)));
		free(entries[i]);
	}
	free(entries);
}

// Of an engine's library and of all that lies beside it: plugins and frontends are files of their own, a provider's in a folder
// that is called after the engine's ("onnxruntime-qnn").
static const char *library_identity(struct arena *a, const char *library)
{
	const char *slash = library ? strrchr(library, '/') : NULL;
	char digest[65];
	struct hash h;

	if (!slash || slash == library)
		return file_identity(a, library);
	const char *folder = arena_printf(a, "%.*s", (int)(slash - library), library), *above = strrchr(folder, '/');
	hash_init(&h);
	hash_add_text(&h, file_identity(a, library));
	add_files(&h, a, folder);
	if (above) {
		const char *parent = arena_printf(a, "%.*s", (int)(above - folder) + 1, folder), *name = above + 1;
		struct dirent **entries = NULL;
		const int count = scandir(parent, &entries, NULL, alphasort);

		for (int i = 0; i < count; i++) {
			const char *of = entries[i]->d_name;

			if (text_starts(of, name) && (of[strlen(name)] == '-' || of[strlen(name)] == '_'))
				add_files(&h, a, arena_printf(a, "%s%s", parent, entries[i]->d_name));
			free(entries[i]);
		}
		free(entries);
	}
	hash_hex(&h, digest);
	return arena_strdup(a, digest);
}

// A type's cases, and the file that keeps what became of them.
struct kept {
	const char *path, *made_from; // NULL: there is no cache for it
	bool known;                   // it is there, and is believed
};

static struct kept place_of(struct arena *a, const struct conform_type *type, const struct target *t)
{
	json_t *cases = json_array(), *facts;
	const char *folder, *key;
	struct kept kept = { 0 };
	char digest[65];

	for (size_t i = 0; i < type->count; i++)
		json_array_append_new(cases,
			json_pack("[s, s]", type->cases[i].name,
				case_digest(digest, type->cases[i].folder, NULL) ? "unreadable" : digest));
	facts = json_pack("{s:s, s:s, s:s?, s:s, s:s?, s:s?, s:s, s:o}", "of", "conform 5", "program",
		file_identity(a, cell_program(a)), "engines", getenv("ASSAY_ENGINE_PATH"), "platform", t->platform->name,
		"device", t->device, "options", t->options, "type", type->model_type, "cases", cases);
	if (!sealed_key(&key, &kept.made_from, a, facts, NULL) && !cache_part(&folder, a, "conform-results", NULL))
		kept.path = arena_printf(a, "%s/%s.json", folder, key);
	return kept;
}

// Did the engine have its say? What ended before that (memory, time, a killed process, a disk that
// is full or fails) is told, and asked again.
static bool has_answer(const struct conform_case *c)
{
	return verdict_ran(c->verdict) || c->verdict == VERDICT_UNSUPPORTED;
}

static void sum_up(struct conform_type *type)
{
	type->passed = type->unanswered = 0;
	for (size_t i = 0; i < type->count; i++) {
		type->passed += type->cases[i].passed;
		type->unanswered += !has_answer(&type->cases[i]);
	}
}

// False when there is none, or when the engine's library has changed since.
static bool read_result(struct conform_type *type, struct arena *a, const char *path)
{
	json_t *json;

	if (!path || sealed_json_read(path, 1 << 24, &json, NULL))
		return false;
	const char *library = json_string_value(json_object_get(json, "library"));
	const json_t *cases = json_object_get(json, "cases");
	bool good = library &&
		text_is(json_string_value(json_object_get(json, "library_identity")), library_identity(a, library)) &&
		json_array_size(cases) == type->count;

	for (size_t i = 0; good && i < type->count; i++) {
		const json_t *c = json_array_get(cases, i), *error = json_object_get(c, "max_abs_error"),
			     *nmse = json_object_get(c, "nmse");
		const char *reason = json_string_value(json_object_get(c, "reason"));

		good = text_is(json_string_value(json_object_get(c, "name")), type->cases[i].name);
		type->cases[i].verdict = verdict_find(json_string_value(json_object_get(c, "verdict")));
		type->cases[i].passed = type->cases[i].verdict == VERDICT_RIGHT;
		type->cases[i].reason = reason ? arena_strdup(a, reason) : NULL;
		type->cases[i].max_abs_error = json_is_number(error) ? json_number_value(error) : (double)NAN;
		type->cases[i].nmse = json_is_number(nmse) ? json_number_value(nmse) : (double)NAN;
	}
	json_decref(json);
	return good;
}

static json_t *real_or_null(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

// A cache that cannot be written only means that the next one runs them again.
static void write_result(
	const struct conform_type *type, struct arena *a, const struct kept *kept, const struct conform_engine *engine)
{
	json_t *cases = json_array(), *json;

	for (size_t i = 0; i < type->count; i++) {
		const struct conform_case *c = &type->cases[i];

		json_array_append_new(cases,
			json_pack("{s:s, s:s, s:s?, s:o, s:o}", "name", c->name, "verdict", verdict_word(c->verdict), "reason",
				c->reason, "max_abs_error", real_or_null(c->max_abs_error), "nmse", real_or_null(c->nmse)));
	}
	json = json_pack("{s:s, s:s?, s:s, s:s, s:o}", "model_type", type->model_type, "engine_version", engine->version,
		"library", engine->library, "library_identity", library_identity(a, engine->library), "cases", cases);
	if (json && kept->path)
		sealed_json_write(kept->path, json, kept->made_from, NULL);
	json_decref(json);
}

// The platform's own options, not those of one cell: the cases are float32 and judged as such.
static enum status plain_target(
	struct target *plain, const struct target *t, const char **folder, struct arena *a, struct error *err)
{
	if (platform_is_software(t->platform))
		return error_set(err, STATUS_UNAVAILABLE, "%s: no engine that computes serves it", t->platform->name);
	if (text_is(t->device, "remote")) // somebody would have to open it for every case
		return error_set(
			err, STATUS_UNAVAILABLE, "%s:remote: a browser that is opened by hand runs one cell", t->platform->name);
	if (conform_check_share(err))
		return STATUS_BAD_INPUT;
	if (!(*folder = conform_folder(a)))
		return error_set(err, STATUS_UNAVAILABLE,
			"no conformance cases were found: PREFIX/share/assay/conform/cases is not there; set ASSAY_SHARE to the "
			"folder with conform/");
	*plain = *t;
	plain->options = t->route->options;
	return STATUS_OK;
}

// The types' cases, from the cache or run, all in one child.
static enum status settle(struct conform_type *types, size_t count, const struct target *t, void (*begin)(void *, size_t),
	void (*each)(void *, const struct conform_case *), void *context, struct arena *a, struct error *err)
{
	struct conform_engine engine = { 0 };
	struct conform_case *run;
	size_t cases = 0, n = 0;
	struct kept *kept = ARENA_ARRAY(a, count + 1, struct kept);
	enum status st;

	for (size_t i = 0; i < count; i++) {
		kept[i] = place_of(a, &types[i], t);
		kept[i].known = read_result(&types[i], a, kept[i].path);
		cases += kept[i].known ? 0 : types[i].count;
	}
	run = ARENA_ARRAY(a, cases + 1, struct conform_case);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; !kept[i].known && k < types[i].count; k++)
			run[n++] = types[i].cases[k];
	if (n && begin)
		begin(context, n);
	if (n &&
		(st = conform_run_told(
			 &(struct conform_asked){ .target = t, .cases = run, .count = n, .each = each, .context = context }, a,
			 &engine, err)))
		return st;
	n = 0;
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; !kept[i].known && k < types[i].count; k++)
			types[i].cases[k] = run[n++];
		sum_up(&types[i]);
		if (!kept[i].known && types[i].count && engine.library && types[i].unanswered == 0)
			write_result(&types[i], a, &kept[i], &engine);
	}
	if (n && !engine.library)
		return error_set(err, STATUS_UNAVAILABLE, "%s: %s", t->platform->name,
			run[0].reason ? run[0].reason : "its engine did not answer");
	return STATUS_OK;
}

// "So many cases agree with transformers" speaks of those whose outputs are known to be transformers': a case that was changed,
// or put there, does not count. `assay conform` runs any.
static struct conform_case *shipped_cases_in(struct arena *a, const char *folder, const char *type, size_t *count)
{
	size_t all, n = 0;
	struct conform_case *cases = conform_cases(a, folder, type, &all);

	for (size_t i = 0; i < all; i++)
		if (shipped_is(cases[i].folder))
			cases[n++] = cases[i];
	*count = n;
	return cases;
}

enum status conform_types(struct conform_type **out, size_t *count, const struct target *t, void (*begin)(void *, size_t),
	void (*each)(void *, const struct conform_case *), void *context, struct arena *a, struct error *err)
{
	struct conform_type *types = ARENA_ARRAY(a, arch_type_count(), struct conform_type);
	struct target plain;
	const char *folder;
	size_t all;
	enum status st = plain_target(&plain, t, &folder, a, err);

	if (st)
		return st;
	const struct conform_case *cases = shipped_cases_in(a, folder, NULL, &all);
	for (size_t i = 0; i < arch_type_count(); i++) {
		types[i] = (struct conform_type){ .model_type = arch_type_name(i),
			.cases = ARENA_ARRAY(a, all + 1, struct conform_case) };
		for (size_t k = 0; k < all; k++)
			if (text_is(cases[k].model_type, types[i].model_type))
				types[i].cases[types[i].count++] = cases[k];
	}
	if ((st = settle(types, arch_type_count(), &plain, begin, each, context, a, err)))
		return st;
	*out = types;
	*count = arch_type_count();
	return STATUS_OK;
}

const char *conform_of_type(const char *model_type, const struct target *t, struct arena *a)
{
	struct conform_type type = { .model_type = model_type };
	struct target plain;
	const char *folder;

	if (plain_target(&plain, t, &folder, a, NULL))
		return NULL;
	type.cases = shipped_cases_in(a, folder, model_type, &type.count);
	if (!type.count || settle(&type, 1, &plain, NULL, NULL, NULL, a, NULL))
		return NULL;
	return type.unanswered == 0
		? arena_printf(a, "%zu/%zu", type.passed, type.count)
		: arena_printf(a, "%zu/%zu (%zu without an answer)", type.passed, type.count, type.unanswered);
}
