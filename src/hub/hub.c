// SPDX-License-Identifier: Apache-2.0
// Which model is meant. The cache's layout is cache.c's; the published configurations are generated into the program.
#include "hub/hub.h"

#include <ctype.h>
#include <dirent.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/text.h"
#include "hub/fetch_inside.h"
#include "hub/inside.h"

extern const struct hub_published hub_published_rows[];
extern const size_t hub_published_rows_count;
extern const struct hub_published hub_published_list[]; // one: the file MODELS
extern const size_t hub_published_list_count;

size_t hub_published_count(void)
{
	return hub_published_rows_count;
}

// The next line of MODELS that is about a model or ends the key set; NULL after the last.
static const char *next_line(struct arena *a, size_t *at)
{
	const struct hub_published *list = &hub_published_list[0];

	while (*at < list->config_size) {
		const char *begin = list->config + *at, *end = memchr(begin, '\n', list->config_size - *at);
		const size_t n = end ? (size_t)(end - begin) : list->config_size - *at;

		*at += n + 1;
		if (n && *begin != '#')
			return arena_strndup(a, begin, n);
	}
	return NULL;
}

size_t hub_key_count(void)
{
	struct arena a = { 0 };
	const char *line;
	size_t at = 0, n = 0;

	while ((line = next_line(&a, &at)) && *line != '-')
		n++;
	arena_done(&a);
	return n;
}

struct hub_provenance hub_provenance(struct arena *a, const char *name)
{
	const size_t length = strlen(name);
	const char *line;
	size_t at = 0;

	while ((line = next_line(a, &at))) {
		const char *licence = line + length + 1, *tab;

		if (!strncmp(line, name, length) && line[length] == '\t' && (tab = strchr(licence, '\t')))
			return (struct hub_provenance){ arena_strndup(a, licence, (size_t)(tab - licence)), tab + 1 };
	}
	return (struct hub_provenance){ "not known", "not known" };
}

const struct hub_published *hub_published_get(size_t i)
{
	return &hub_published_rows[i];
}

static const char *short_name(const char *name)
{
	const char *slash = strrchr(name, '/');
	return slash ? slash + 1 : name;
}

static const struct hub_published *find_published(const char *name)
{
	for (size_t i = 0; i < hub_published_rows_count; i++)
		if (!strcmp(hub_published_rows[i].name, name) ||
			(!strchr(name, '/') && !strcmp(short_name(hub_published_rows[i].name), name)))
			return &hub_published_rows[i];
	return NULL;
}

const char *hub_full_name(const char *asked)
{
	const struct hub_published *p = find_published(asked);
	return p ? p->name : asked;
}

// Edit distance without regard to case; rows of the usual table, names cut at 128.
static size_t distance(const char *a, const char *b)
{
	size_t row[129], n = strnlen(b, 128);
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; a[i] && i < 128; i++) {
		size_t diagonal = row[0];
		row[0] = i + 1;
		for (size_t j = 0; j < n; j++) {
			size_t above = row[j + 1],
			       best = diagonal + (tolower((unsigned char)a[i]) != tolower((unsigned char)b[j]));
			if (above + 1 < best)
				best = above + 1;
			if (row[j] + 1 < best)
				best = row[j] + 1;
			row[j + 1] = best;
			diagonal = above;
		}
	}
	return row[n];
}

enum { SUGGESTIONS = 3 };

struct suggestion {
	const char *name;
	size_t distance;
};

// Letters before the first digit or mark: "gpt" of "gpt2-medium".
static size_t stem(const char *name)
{
	size_t n = 0;

	while (isalpha((unsigned char)name[n]))
		n++;
	return n;
}

// Of the same kind by its own word ("bert" and "bert-base-uncased"), or near enough to be a slip of the fingers.
static bool is_like(const char *asked, const char *compared, size_t distance)
{
	const char *model = short_name(asked), *known = short_name(compared);
	const size_t n = stem(model), word = strcspn(model, "-_.");

	return (n > 2 && n == stem(known) && !strncasecmp(model, known, n)) ||
		(word == strcspn(known, "-_.") && !strncasecmp(model, known, word)) || distance <= strlen(asked) / 3;
}

static void suggest(struct suggestion *best, const char *asked, const char *name)
{
	const char *compared = strchr(asked, '/') ? name : short_name(name);
	size_t d = distance(asked, compared);

	if (!is_like(asked, compared, d))
		return;
	// A family's name alone means none of its models more than another: the key set stands first in the list.
	const size_t word = strcspn(compared, "-_.");
	if (strlen(asked) == word && !strncasecmp(asked, compared, word))
		d = 0;
	for (int i = 0; i < SUGGESTIONS; i++)
		if (best[i].name && !strcmp(best[i].name, name))
			return;
	for (int i = 0; i < SUGGESTIONS; i++)
		if (!best[i].name || d < best[i].distance) {
			memmove(best + i + 1, best + i, (size_t)(SUGGESTIONS - 1 - i) * sizeof *best);
			best[i] = (struct suggestion){ name, d };
			return;
		}
}

// Of a folder of several models, as diffusers saves it.
static const char *models_in(struct arena *a, const char *folder)
{
	static const char *const names[] = { "unet", "transformer", "vae", "text_encoder" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (file_exists(arena_printf(a, "%s/%s/config.json", folder, names[i])))
			return arena_printf(a,
				"; it is a pipeline of several models (model_index.json), which `assay pipeline %s TEXT` asks; "
				"each of them is a model, such as `%s/%s`",
				folder, folder, names[i]);
	return arena_printf(
		a, "; it is a pipeline of several models (model_index.json), which `assay pipeline %s TEXT` asks", folder);
}

// A folder without config.json may be one of graphs, as `assay build` and exporters write it: "; name FOLDER/model.onnx to
// run that file"; or of several GGUF files, or a whole pipeline's; else "". In `a`.
static const char *graphs_in(struct arena *a, const char *folder)
{
	static const char *const names[] = { "model.onnx", "onnx/model.onnx", "decoder_model_merged.onnx", "decoder_model.onnx" };
	const char *only = NULL;
	size_t count = 0, gguf_count = 0, length = strlen(folder);
	struct dirent *entry;
	DIR *dir;

	while (length > 1 && folder[length - 1] == '/')
		length--;
	folder = arena_strndup(a, folder, length);
	if (file_exists(arena_printf(a, "%s/model_index.json", folder)))
		return models_in(a, folder);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (file_exists(arena_printf(a, "%s/%s", folder, names[i])))
			return arena_printf(a, "; `%s/%s` names the graph in it", folder, names[i]);
	if (!(dir = opendir(folder)))
		return "";
	while ((entry = readdir(dir)) != NULL) {
		if (text_ends(entry->d_name, ".onnx") && !count++)
			only = arena_strdup(a, entry->d_name);
		gguf_count += text_ends(entry->d_name, ".gguf");
	}
	closedir(dir);
	return count == 1    ? arena_printf(a, "; `%s/%s` names the graph in it", folder, only)
		: count      ? arena_printf(a, "; it has %zu .onnx files, each to be named as `%s/FILE.onnx`", count, folder)
		: gguf_count ? arena_printf(a, "; it has %zu .gguf files, each to be named as `%s/FILE.gguf`", gguf_count, folder)
			     : "";
}

static enum status unknown(struct arena *a, const char *asked, const struct hub_names *cached, struct error *err)
{
	struct suggestion best[SUGGESTIONS] = { 0 };
	for (size_t i = 0; i < hub_published_rows_count; i++)
		suggest(best, asked, hub_published_rows[i].name);
	for (size_t i = 0; i < cached->count; i++)
		suggest(best, asked, cached->at[i]);
	struct text names = { 0 };
	for (int i = 0; i < SUGGESTIONS && best[i].name; i++)
		text_addf(&names, "%s%s", i ? ", " : "; the nearest known names are ", best[i].name);
	error_set(err, STATUS_BAD_INPUT, "%s: %s, no model of this name in the Hub's cache and no known configuration%s%s%s",
		asked, file_is_dir(asked) ? "the folder of that name has no config.json" : "no such folder", text_get(&names),
		fetch_is_offline() ? "; the Hub was not asked, because this is offline" : "", graphs_in(a, asked));
	text_done(&names);
	return STATUS_BAD_INPUT;
}

const char *hub_gguf(struct arena *a, const char *folder)
{
	const char *only = NULL;
	size_t count = 0;
	struct dirent *entry;
	DIR *dir = hub_has_weights(folder) ? NULL : opendir(folder);

	while (dir && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' && text_ends(entry->d_name, ".gguf") && !count++)
			only = arena_strdup(a, entry->d_name);
	if (dir)
		closedir(dir);
	return count == 1 ? arena_printf(a, "%s%s%s", folder, text_ends(folder, "/") ? "" : "/", only) : NULL;
}

bool hub_is_model(const char *folder)
{
	struct arena passing = { 0 };
	bool is = file_exists(arena_printf(&passing, "%s/config.json", folder)) ||
		file_exists(arena_printf(&passing, "%s/adapter_config.json", folder));

	arena_done(&passing);
	return is;
}

static enum status no_model(struct arena *a, const char *asked, const char *folder, struct error *err)
{
	return error_set(err, STATUS_BAD_INPUT, "%s: has no config.json, so it is not the folder of a model%s", asked,
		graphs_in(a, folder));
}

// Something on disk. OK with *known false when there is nothing at that path.
static enum status find_path(struct hub_model *out, struct arena *a, const char *asked, bool *known, struct error *err)
{
	*known = true;
	*out = (struct hub_model){ .asked = arena_strdup(a, asked), .name = arena_strdup(a, asked) };
	const char *gguf = file_is_dir(asked)                     ? hub_gguf(a, asked)
		: text_ends(asked, ".gguf") && file_exists(asked) ? out->name
								  : NULL;
	if (gguf) {
		out->kind = HUB_FOLDER;
		out->path = gguf;
		out->has_weights = true;
		return STATUS_OK;
	}
	if (file_is_dir(asked)) {
		// "bert-base-uncased" beside an unrelated folder of that name means the model; a path with a slash means the
		// path.
		if (!hub_is_model(asked)) {
			*known = strchr(asked, '/');
			return *known ? no_model(a, asked, asked, err) : STATUS_OK;
		}
		out->kind = HUB_FOLDER;
		out->path = out->name;
		out->has_weights = hub_has_weights(asked);
		return STATUS_OK;
	}
	const enum status reached = file_reach(asked, err);
	if (reached)
		return reached;
	if (file_exists(asked)) {
		if (!text_ends(asked, ".onnx"))
			return error_set(err, STATUS_BAD_INPUT,
				"%s: a file that is neither .onnx nor .gguf; name the folder with config.json instead", asked);
		out->kind = HUB_ONNX_FILE;
		out->path = out->name;
		out->has_weights = true;
		return STATUS_OK;
	}
	if (*asked == '/' || text_starts(asked, "./") || text_starts(asked, "../") || text_ends(asked, ".onnx") ||
		text_ends(asked, ".gguf"))
		return error_set(err, STATUS_BAD_INPUT, "%s: there is no such file or folder", asked);
	*known = false;
	return STATUS_OK;
}

// The one cached model with this short name; several are an error that lists them.
static enum status cached_by_short_name(const char **out, const struct hub_names *cached, const char *name, struct error *err)
{
	struct text all = { 0 };
	size_t count = 0;
	for (size_t i = 0; i < cached->count && !strchr(name, '/'); i++)
		if (!strcmp(short_name(cached->at[i]), name)) {
			text_addf(&all, "%s%s", count++ ? ", " : "", cached->at[i]);
			*out = cached->at[i];
		}
	enum status s = STATUS_OK;
	if (count > 1)
		s = error_set(
			err, STATUS_BAD_INPUT, "%s: several models of this name are in the cache: %s", name, text_get(&all));
	text_done(&all);
	return s;
}

bool hub_remote_name(const char **name, const char **revision, struct arena *a, const char *asked)
{
	struct hub_model m;
	struct hub_names cached;
	bool known;
	if (!*asked || find_path(&m, a, asked, &known, NULL) || known)
		return false;
	const char *at = strrchr(asked, '@'), *found = NULL;
	const char *plain = at ? arena_strndup(a, asked, (size_t)(at - asked)) : arena_strdup(a, asked);
	const struct hub_published *published = find_published(plain);
	if (!fetch_name_is_good(plain) || (at && !fetch_path_is_safe(at + 1)))
		return false;
	hub_cache_names(&cached, a);
	if (!published && cached_by_short_name(&found, &cached, plain, NULL))
		return false;
	*name = published ? published->name : found ? found : plain;
	*revision = at ? arena_strdup(a, at + 1) : NULL;
	return true;
}

// A model, or in the cache a pipeline of several models.
static enum status find_any(struct hub_model *out, struct arena *a, const char *asked, struct error *err)
{
	struct hub_model m;
	bool known;
	enum status s;
	if (!*asked)
		return error_set(err, STATUS_BAD_INPUT, "no model was named");
	if ((s = find_path(&m, a, asked, &known, err)))
		return s;
	if (known) {
		*out = m;
		return STATUS_OK;
	}
	const char *at = strrchr(asked, '@');
	const char *name = at ? arena_strndup(a, asked, (size_t)(at - asked)) : asked,
		   *revision = at ? arena_strdup(a, at + 1) : NULL;
	const struct hub_published *published = find_published(name);
	struct hub_names cached;
	struct error why = { 0 };
	hub_cache_names(&cached, a);

	// An exact name, the full name of a published short one, any cached model with this short name.
	const char *tries[3] = { name, published ? published->name : NULL, NULL };
	if (!published && (s = cached_by_short_name(&tries[2], &cached, name, err)))
		return s;
	for (int i = 0; i < 3; i++) {
		if (!tries[i] || (s = hub_cache_snapshot(&m.path, &m.revision, a, tries[i], revision, &why)) || !m.path)
			continue;
		m.kind = HUB_CACHED;
		m.name = arena_strdup(a, tries[i]);
		m.has_weights = hub_has_weights(m.path);
		*out = m;
		return STATUS_OK;
	}
	if (published && !revision) {
		m.kind = HUB_PUBLISHED;
		m.path = m.revision = NULL;
		m.name = published->name;
		m.config = published->config;
		m.config_size = published->config_size;
		*out = m;
		return STATUS_OK;
	}
	if (why.status)
		return error_set(err, STATUS_BAD_INPUT, "%s", why.text);
	if (published)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: revision \"%s\" is not in the Hub's cache; without @%s the published configuration is used", name,
			revision, revision);
	return unknown(a, name, &cached, err);
}

enum status hub_find(struct hub_model *out, struct arena *a, const char *asked, struct error *err)
{
	enum status s = find_any(out, a, asked, err);

	return s || out->kind != HUB_CACHED || hub_is_model(out->path) ? s : no_model(a, asked, out->path, err);
}

enum status hub_folder(const char **folder, struct arena *a, const char *asked, const char *what, struct error *err)
{
	struct hub_model m;
	enum status s;

	*folder = asked;
	if (file_is_dir(asked))
		return STATUS_OK;
	if ((s = find_any(&m, a, asked, err)))
		return s;
	if (m.kind != HUB_FOLDER && m.kind != HUB_CACHED)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: no folder with %s is here; `assay fetch %s` brings it, with --all every file", asked, what,
			m.kind == HUB_PUBLISHED ? m.name : "MODEL");
	*folder = m.path;
	return STATUS_OK;
}
