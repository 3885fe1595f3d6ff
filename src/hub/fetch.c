// SPDX-License-Identifier: Apache-2.0
// fetch.h: what is asked of the Hub, in which order, and what its refusals mean. Nothing is written before fetch_run.
#include "hub/fetch.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "hub/fetch_inside.h"
#include "hub/inside.h"

enum { LIST_LIMIT = 16 << 20 };

enum status fetch_refused(const struct fetch *f, const struct fetch_file *file, const struct http_answer *x, struct error *err)
{
	const char *code = x->error_code, *message = x->error_message[0] ? x->error_message : "no reason given";
	bool token = http_has_token(f->inside->http);

	if (x->other[0])
		return error_set(err, STATUS_FAILED, "%s%s%s redirects to %s, which answers %ld: %s", file ? file->name : "",
			file ? ": " : "", f->endpoint, x->other, x->status, message);
	if (!strcmp(code, "GatedRepo"))
		return token ? error_set(err, STATUS_FAILED,
				       "is gated, and this token's account has no access to it yet: ask for it at %s/%s",
				       f->endpoint, f->model)
			     : error_set(err, STATUS_FAILED,
				       "is gated: agree to its conditions at %s/%s, then set HF_TOKEN to a token of "
				       "that account",
				       f->endpoint, f->model);
	if (x->status == 401 && token && strcasestr(message, "credentials"))
		return error_set(err, STATUS_FAILED,
			"%s refuses the token (%s): HF_TOKEN, or the file that holds it, is out of date", f->endpoint, message);
	if (!strcmp(code, "RevisionNotFound"))
		return error_set(err, STATUS_BAD_INPUT, "%s has no revision \"%s\" of it", f->endpoint, f->revision);
	if (!strcmp(code, "EntryNotFound") && file)
		return error_set(err, STATUS_BAD_INPUT, "%s has no file %s in its commit %s", f->endpoint, file->name, f->commit);
	if (!strcmp(code, "RepoNotFound") || x->status == 401 || (x->status == 404 && !file))
		return error_set(err, STATUS_BAD_INPUT, "%s has no such model, or it is private%s", f->endpoint,
			token ? " and this token does not open it" : "; for a private one set HF_TOKEN");
	if (x->status == 403)
		return error_set(err, STATUS_FAILED, "%s forbids access: %s%s", f->endpoint, message,
			token ? "; may this token read it?" : "; set HF_TOKEN");
	return error_set(err, STATUS_FAILED, "%s%s%s answers %ld: %s", file ? file->name : "", file ? ": " : "", f->endpoint,
		x->status, message);
}

// ---- the list ----------------------------------------------------------------------------------------------------

static enum status list(struct fetch_listing *out, struct fetch *f, struct error *err)
{
	struct arena *a = f->inside->arena;
	struct http_answer x;
	char *text;
	size_t nbytes;
	const char *url = arena_printf(
		a, "%s/api/models/%s/revision/%s?blobs=true", f->inside->url, f->model, http_quote(a, f->revision, false));
	enum status s = http_text(f->inside->http, a, url, LIST_LIMIT, &text, &nbytes, &x, err);
	if (s)
		return s;
	if (x.status / 100 != 2)
		return fetch_refused(f, NULL, &x, err);
	if ((s = fetch_list_parse(out, a, text, nbytes, err))) {
		error_prefix(err, "%s", url);
		return s;
	}
	return STATUS_OK;
}

static void choose(struct fetch *f, const struct fetch_listing *l, const struct fetch_file *file)
{
	bool *chosen = &f->inside->chosen[file - l->files];

	if (!*chosen)
		f->files[f->count++] = *file;
	*chosen = true;
}

// An index and the files it names.
static enum status choose_shards(
	struct fetch *f, const struct fetch_listing *l, const struct fetch_file *index, struct error *err)
{
	struct arena *a = f->inside->arena;
	struct http_answer x;
	char *text;
	size_t nbytes, count;
	const struct fetch_file **shards;
	const char *url = arena_printf(a, "%s/%s/resolve/%s/%s", f->inside->url, f->model, f->commit, index->name);
	enum status s = http_text(f->inside->http, a, url, HUB_INDEX_LIMIT, &text, &nbytes, &x, err);
	if (s)
		return s;
	if (x.status / 100 != 2)
		return fetch_refused(f, index, &x, err);
	if ((s = fetch_index_parse(&shards, &count, a, l, index->name, text, nbytes, err)))
		return s;
	choose(f, l, index);
	for (size_t i = 0; i < count; i++)
		choose(f, l, shards[i]);
	return STATUS_OK;
}

bool fetch_is_weights(const char *name)
{
	static const char *const ends[] = { ".safetensors", ".bin", ".h5", ".msgpack", ".gguf", ".pt", ".pth", ".ckpt", ".onnx" };
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (text_ends(name, ends[i]))
			return true;
	return false;
}

static enum status no_weights(const struct fetch_listing *l, struct error *err)
{
	struct text others = { 0 };
	size_t n = 0;
	for (size_t i = 0; i < l->count; i++)
		if (fetch_is_weights(l->files[i].name) && n++ < 4)
			text_addf(&others, "%s%s", n > 1 ? ", " : " (but ", l->files[i].name);
	if (n)
		text_add(&others, n > 4 ? ", ...)" : ")");
	error_set(err, STATUS_BAD_INPUT,
		"it has neither model.safetensors nor pytorch_model.bin, in one file or with an index%s; "
		"--include names files to fetch",
		text_get(&others));
	text_done(&others);
	return STATUS_BAD_INPUT;
}

static enum status choose_weights(struct fetch *f, const struct fetch_listing *l, struct error *err)
{
	static const char *const forms[] = { "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
		"pytorch_model.bin.index.json", "diffusion_pytorch_model.safetensors",
		"diffusion_pytorch_model.safetensors.index.json" };
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		const struct fetch_file *file = fetch_list_find(l, forms[i]);
		if (file && text_ends(forms[i], ".json"))
			return choose_shards(f, l, file, err);
		if (file) {
			choose(f, l, file);
			return STATUS_OK;
		}
	}
	return no_weights(l, err);
}

static enum status choose_model(struct fetch *f, const struct fetch_listing *l, enum fetch_want want, struct error *err)
{
	const struct fetch_file *config = fetch_list_find(l, "config.json");
	if (!config)
		return error_set(err, STATUS_BAD_INPUT,
			"it has no config.json, so it is no model of transformers; --all or --include fetch "
			"what it has");
	choose(f, l, config);
	for (size_t i = 0; i < l->count && want == FETCH_MODEL; i++)
		if (fetch_is_small_file(l->files[i].name))
			choose(f, l, &l->files[i]);
	return want == FETCH_MODEL ? choose_weights(f, l, err) : STATUS_OK;
}

static enum status choose_files(struct fetch *f, const struct fetch_listing *l, const struct fetch_options *o, struct error *err)
{
	f->files = ARENA_ARRAY(f->inside->arena, l->count + 1, struct fetch_file);
	f->inside->chosen = ARENA_ARRAY(f->inside->arena, l->count + 1, bool);
	if (o->want == FETCH_CONFIG || o->want == FETCH_MODEL)
		return choose_model(f, l, o->want, err);
	for (size_t i = 0; i < l->count; i++) {
		bool wanted = o->want == FETCH_ALL;
		for (size_t k = 0; k < o->include_count && !wanted; k++)
			wanted = !fnmatch(o->include[k], l->files[i].name, 0);
		if (wanted)
			choose(f, l, &l->files[i]);
	}
	return f->count ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "none of its %zu files is called like that", l->count);
}

static void note_absent(struct fetch *f, const struct fetch_listing *l)
{
	const char **absent = ARENA_ARRAY(f->inside->arena, 32, const char *);
	size_t n = 0;
	for (const char *const *p = fetch_small_files; *p && n < 31; p++)
		if (!fetch_list_find(l, *p))
			absent[n++] = *p;
	f->inside->absent = absent;
}

// ---- plan and run ------------------------------------------------------------------------------------------------

static enum status survey(struct fetch *f, struct error *err)
{
	if (f->count > FETCH_FILES_MOST)
		return error_set(err, STATUS_BAD_INPUT,
			"%zu of its files are wanted, and at most %d of a model are fetched; --include names fewer", f->count,
			FETCH_FILES_MOST);
	for (size_t i = 0; i < f->count; i++) {
		struct fetch_file *file = &f->files[i];
		enum status s;
		if (file->size < 0 && (s = fetch_file_head(f, file, err)))
			return s;
		fetch_file_look(f, file);
		uint64_t size = file->size > 0 ? (uint64_t)file->size : 0;
		if (f->total_bytes > UINT64_MAX / 2 - size)
			return error_set(err, STATUS_BAD_INPUT, "the sizes of its files are more than any disk holds");
		f->total_bytes += size;
		f->here_bytes += file->here ? size : 0;
		f->partial_bytes += file->here ? 0 : file->partial;
	}
	return STATUS_OK;
}

enum status fetch_plan(struct fetch **out, struct arena *a, const char *model, const char *revision,
	const struct fetch_options *options, const struct fetch_watch *watch, struct error *err)
{
	static const struct fetch_watch nobody;
	struct fetch *f = ARENA_NEW(a, struct fetch);
	struct fetch_inside *in = f->inside = ARENA_NEW(a, struct fetch_inside);
	struct fetch_listing l;
	const char *token;
	enum status s;

	if (!fetch_name_is_good(model))
		return error_set(
			err, STATUS_BAD_INPUT, "%s cannot be the name of a model on the Hub; it should be like ORG/NAME", model);
	if (revision && !fetch_path_is_safe(revision))
		return error_set(err, STATUS_BAD_INPUT, "%s: \"%s\" cannot be a revision", model, revision);
	if (fetch_is_offline())
		return error_set(err, STATUS_UNAVAILABLE, "%s: HF_HUB_OFFLINE is set, so the Hub is not asked", model);
	in->arena = a;
	in->watch = watch ? watch : &nobody;
	in->cache = hub_cache_dir(a);
	in->repository = hub_cache_folder(a, model);
	f->model = arena_strdup(a, model);
	f->revision = arena_strdup(a, revision ? revision : "main");
	f->endpoint = fetch_endpoint(a);
	in->url = fetch_endpoint_url(a);
	if ((s = fetch_token(&token, a, err)) || (s = http_open(&in->http, a, in->url, token, in->watch, err)))
		return s;
	if ((s = list(&l, f, err))) {
		error_prefix(err, "%s", model);
		return s;
	}
	f->commit = l.commit;
	f->listed = l.count;
	f->folder = arena_printf(a, "%s/snapshots/%s", in->repository, f->commit);
	note_absent(f, &l);
	if ((s = choose_files(f, &l, options, err)) || (s = survey(f, err))) {
		error_prefix(err, "%s", model);
		return s;
	}
	*out = f;
	return STATUS_OK;
}

// Which commit the revision is, for readers of the cache; written last, so that it never names a snapshot that is half here
// while an older one is whole.
static enum status write_ref(const struct fetch *f, struct error *err)
{
	struct arena *a = f->inside->arena;
	char *old;
	size_t nbytes;
	if (!strcmp(f->revision, f->commit))
		return STATUS_OK;
	const char *path = arena_printf(a, "%s/refs/%s", f->inside->repository, f->revision);
	if (!file_read(a, path, 256, &old, &nbytes, NULL) && !strcmp(old, f->commit))
		return STATUS_OK;
	enum status s = fetch_folder(f, arena_strndup(a, path, (size_t)(strrchr(path, '/') - path)), err);
	return s ? s : file_put(path, f->commit, strlen(f->commit), err);
}

// For programs that make back-ups: this folder can be had again.
static enum status write_tag(const struct fetch *f, struct error *err)
{
	static const char tag[] = "Signature: 8a477f597d28d172789f06886806bc55\n# A cache, so that back-ups can leave it out.\n";
	const char *path = arena_printf(f->inside->arena, "%s/CACHEDIR.TAG", f->inside->cache);
	return file_exists(path) ? STATUS_OK : file_put(path, tag, sizeof tag - 1, err);
}

static enum status write_absent(const struct fetch *f, struct error *err)
{
	struct arena *a = f->inside->arena;
	const char *folder = arena_printf(a, "%s/.no_exist/%s", f->inside->repository, f->commit);
	enum status s = f->inside->absent[0] ? fetch_folder(f, folder, err) : STATUS_OK;
	for (const char *const *p = f->inside->absent; *p && !s; p++) {
		const char *path = arena_printf(a, "%s/%s", folder, *p);
		if (!file_exists(path))
			s = file_put(path, "", 0, err);
	}
	return s;
}

static int by_folded_name(const void *a, const void *b)
{
	const struct fetch_file *const *x = a, *const *y = b;
	return strcasecmp((*x)->name, (*y)->name);
}

// Where a file system takes capital letters for small ones, two names that differ in nothing else are one file: the last one's
// bytes under the first one's name.
static enum status check_names(const struct fetch *f, struct error *err)
{
	struct arena *a = f->inside->arena;
	const struct fetch_file **sorted = ARENA_ARRAY(a, f->count + 1, const struct fetch_file *);
	for (size_t i = 0; i < f->count; i++)
		sorted[i] = &f->files[i];
	if (f->count)
		qsort(sorted, f->count, sizeof *sorted, by_folded_name);
	for (size_t i = 1; i < f->count; i++) {
		const char *name = sorted[i]->name, *other = sorted[i - 1]->name,
			   *path = arena_printf(a, "%s/%s", f->folder, name);
		struct stat x, y;
		if (strcasecmp(name, other) || lstat(path, &x) || lstat(arena_printf(a, "%s/%s", f->folder, other), &y) ||
			x.st_dev != y.st_dev || x.st_ino != y.st_ino)
			continue;
		unlink(path);
		return error_set(err, STATUS_FAILED,
			"%s: %s and %s are one file here: this file system does not tell capital letters from small ones; let "
			"HF_HUB_CACHE name a folder of another",
			f->model, other, name);
	}
	return STATUS_OK;
}

enum status fetch_run(struct fetch *f, struct error *err)
{
	enum { SPARE = 64 << 20 }; // for whatever else writes meanwhile
	uint64_t left = f->total_bytes - f->here_bytes - f->partial_bytes, available = file_free_bytes(f->inside->cache);
	enum status s;

	if (left && left + SPARE > available)
		return error_set(err, STATUS_NO_SPACE,
			"%s: %.1f MiB are to be fetched, and %.1f MiB are free where the Hub's cache is (%s); free "
			"some, or let HF_HUB_CACHE name another disk",
			f->model, (double)left / 1048576, (double)available / 1048576, f->inside->cache);
	http_budget(f->inside->http, fetch_time_s(left));
	for (size_t i = 0; i < f->count; i++)
		if ((s = fetch_file_bring(f, i, err))) {
			error_prefix(err, "%s", f->model);
			return s;
		}
	if ((s = check_names(f, err)) || (s = write_ref(f, err)) || (s = write_tag(f, err)))
		return s;
	return write_absent(f, err);
}
