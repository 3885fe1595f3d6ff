// SPDX-License-Identifier: Apache-2.0
// plan.h: models resolved or refused, synthetic weights, cells, and one cell run to its row.
// What it does not do: measure (measure/), decide what a graph looks like (arch/, platform/), print.
#include "plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan/against.h"
#include "plan/given.h"
#include "artifact/artifact.h"
#include "artifact/identity.h"
#include "backend/outline.h"
#include "base/cache.h"
#include "base/claim.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/pages.h"
#include "base/hash.h"
#include "cell/asked.h"
#include "cell/data.h"
#include "checkpoint/adapter.h"
#include "conform/conform.h"
#include "run/cell.h"
#include "run/reference.h"
#include "onnx/precision.h"

static const double default_timeout_s = 600;
enum { MARKED_MOST = 100 };
static const uint64_t gib = 1024u * 1024u * 1024u;

double plan_timeout_s(const struct question *q)
{
	return q->timeout_s > 0 ? q->timeout_s : default_timeout_s;
}

// False: the variable is there, and no such number.
static bool given_cache_limit(double *limit)
{
	const char *asked = getenv("ASSAY_CACHE_LIMIT");
	*limit = 20;
	return !asked || text_to_double(asked, 0, 1e6, limit);
}

enum status plan_check_cache_limit(struct error *err)
{
	double limit;
	return given_cache_limit(&limit)
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "ASSAY_CACHE_LIMIT=%s: a number of GiB from 0 to 1000000 is wanted",
			  getenv("ASSAY_CACHE_LIMIT"));
}

uint64_t plan_cache_limit(void)
{
	double limit;
	given_cache_limit(&limit);
	return (uint64_t)(limit * (double)gib);
}

void plan_say_gone(struct error *why, const char *path)
{
	if (path && why->status != STATUS_INTERRUPTED && !file_exists(path))
		error_set(why, STATUS_NOT_ASKED, "%s is gone; it was there when this command looked for it", path);
}

static enum status refuse(struct plan_model *m, struct arena *a, const struct error *why)
{
	struct error said = *why;

	plan_say_gone(&said, m->hub.path);
	m->refused = said.status == STATUS_OK ? STATUS_FAILED : said.status;
	m->cause = arena_strdup(a, said.text);
	return STATUS_OK;
}

// Of a configuration: what names a model whose weights are synthetic, wherever they lie at the moment.
static const char *hash_config(struct arena *a, const json_t *config)
{
	struct hash h;
	char *hex = arena_alloc(a, 65);
	char *text = json_dumps(config, JSON_COMPACT | JSON_SORT_KEYS);
	if (!text)
		return NULL;
	hash_init(&h);
	hash_add_text(&h, text);
	hash_hex(&h, hex);
	free(text);
	return hex;
}

enum status plan_checkpoint(struct checkpoint *out, const struct hub_model *hub, struct error *err)
{
	switch (hub->kind) {
	case HUB_PUBLISHED:
		return checkpoint_open_config(out, hub->name, hub->config, hub->config_size, err);
	case HUB_ONNX_FILE:
		return error_set(
			err, STATUS_BAD_INPUT, "%s: an .onnx file, not a checkpoint; `assay run` can measure it", hub->asked);
	case HUB_FOLDER:
	case HUB_CACHED:
		break;
	}
	return checkpoint_open(out, hub->path, err);
}

static struct synth_options synth_options(const struct question *q)
{
	return (struct synth_options){ .seed = q->seed, .layers = q->layers };
}

// "417.6 MiB would be written to FOLDER", or nothing where the size cannot be known.
static const char *size_offer(struct arena *a, uint64_t nbytes)
{
	if (nbytes == 0)
		return "";
	return arena_printf(a, " (%.1f MiB, kept under %s)", (double)nbytes / 1048576.0, cache_dir(a));
}

static enum status resolve(
	struct plan_model *m, struct arena *a, const struct checkpoint *c, const struct question *q, struct error *err)
{
	struct error why = { 0 };
	struct spec *spec;

	m->config_hash = hash_config(a, c->config);
	m->model_type = arena_strdup(a, json_string_value(json_object_get(c->config, "model_type")));
	bool has_weights = c->weight_count > 0;
	for (size_t i = 0; i < c->weight_count; i++)
		m->weight_bytes += c->weights[i].nbytes;
	for (size_t i = 0; i < c->shard_count; i++)
		m->synthetic = m->synthetic || c->shards[i].synthetic;
	m->makes_weights = !has_weights;
	m->synthetic = m->synthetic || !has_weights;
	if (arch_resolve(&spec, a, c, &why) != STATUS_OK)
		return refuse(m, a, &why);
	m->model_type = arch_model_type(spec);
	m->architecture = arch_architecture(spec);
	m->head = arch_head(spec);
	m->takes_images = arch_takes_images(spec);
	m->takes_tokens = arch_takes_tokens(spec);
	if (q->layers > 0 && !arch_shorten(spec, q->layers))
		return error_set(err, STATUS_BAD_INPUT, "--layers %lld: %s has %lld", (long long)q->layers, m->model,
			(long long)arch_layers(spec));
	m->shortened = arch_shortened_to(spec) > 0;
	if (has_weights) {
		m->path = m->hub.path;
		return STATUS_OK;
	}
	m->synthetic_bytes = synth_nbytes(spec, DTYPE_NONE);
	if (!q->synthetic)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: only its configuration is here, not its weights; add --synthetic to run it with random weights%s, "
			"or name a folder that holds them",
			m->model, size_offer(a, m->synthetic_bytes));
	return STATUS_OK;
}

// Does a file of weights carry the mark of synthetic ones?
static bool is_marked(const char *path)
{
	struct arena a = { 0 };
	struct shard shard = { 0 };
	struct weight *weights;
	size_t count;
	struct error ignored = { 0 }; // not a safetensors file

	bool marked = text_ends(path, ".safetensors") &&
		safetensors_open(&a, path, &shard, &weights, &count, &ignored) == STATUS_OK && shard.synthetic;
	arena_done(&a);
	return marked;
}

// Of a user's .onnx file: how many bytes, and are they those that assay made up? What cannot be read is the engine's to refuse.
// What assay writes names a handful of files; of a graph that names thousands none is opened.
static void look_into(struct plan_model *m)
{
	struct arena passing = { 0 };
	struct outline_weights weights;
	struct error ignored = { 0 };
	struct model_file *files;
	const uint8_t *map;
	size_t nbytes, count;

	if (file_map(&passing, m->path, &map, &nbytes, &ignored) == STATUS_OK &&
		outline_weights(&weights, map, nbytes, &ignored) == STATUS_OK) {
		m->weight_bytes = weights.nbytes;
		m->shortened = weights.layers > 0;
		model_files(m->path, &passing, &files, &count);
		for (size_t i = 0; i < count && count <= MARKED_MOST; i++)
			m->synthetic = m->synthetic || (files[i].path && is_marked(files[i].path));
	}
	arena_done(&passing);
}

// A name that the file has not is a typing mistake, told before anything is a row. What cannot be read is the engine's to refuse.
static enum status check_names(const struct plan_model *m, struct arena *a, const struct question *q, struct error *err)
{
	struct asked_inputs asked;
	struct arena passing = { 0 };
	struct outline outline;
	struct error why = { 0 };
	const unsigned lost = pages_lost();
	const uint8_t *map;
	size_t nbytes;
	enum status s = STATUS_OK;

	if ((q->shapes || q->dims || q->inputs) && !asked_parse(&asked, a, q, &why) &&
		!file_map(&passing, m->path, &map, &nbytes, &why) && !outline_read(&outline, &passing, map, nbytes, &why) &&
		pages_lost() == lost && (s = asked_names(&asked, outline.inputs, outline.input_count, &passing, err)))
		error_prefix(err, "%s", m->model);
	arena_done(&passing);
	return s;
}

// INPUT=WHAT, shapes and dimensions have the names of an .onnx file; inputs of files and texts are of either kind of model.
static enum status check_inputs(const struct plan_model *m, struct arena *a, const struct question *q, struct error *err)
{
	struct asked_inputs asked;
	enum status s = asked_parse(&asked, a, q, err);

	if (s != STATUS_OK)
		return s;
	if (m->hub.kind != HUB_ONNX_FILE && (q->shapes || q->dims || asked.input_count))
		return error_set(err, STATUS_BAD_INPUT,
			"%s: --shape, --dim and --input INPUT=.. are about .onnx files; the shapes of a model that assay builds "
			"are --batch, --seq and --image-size, its inputs --input FILE, --input TEXT and --golden",
			m->model);
	if (asked.thing_count && (q->shapes || q->dims || asked.input_count))
		return error_set(err, STATUS_BAD_INPUT,
			"--input FILE and --input TEXT have shapes of their own: --shape, --dim and INPUT=.. do not go with "
			"them");
	if (asked.thing_count && !m->hub.path)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: --input wants the model's own processor or tokenizer, and only its configuration is here", m->model);
	return STATUS_OK;
}

// Targets that the model cannot be asked about are told before anything is a row: labels without a number or a class, the words
// of a sound where it labels no frames.
static enum status check_targets(const struct plan_model *m, const struct question *q, const json_t *config, struct error *err)
{
	struct arena passing = { 0 };
	struct data_set set;
	enum status s = STATUS_OK;

	if (q->data && !m->refused && !(s = data_list(&set, &passing, q->data, err))) {
		const int64_t classes = text_ends(m->head, "-classification") ? data_classes(config) : 0;

		if (!text_is(m->head, "ctc") && !data_dictates(m->model_type) && data_has(&set, "transcript"))
			s = error_set(err, STATUS_BAD_INPUT,
				"--data %s: a transcript is judged of models that label the frames of a sound (CTC) and of "
				"Whisper, and this one is %s with the head %s",
				q->data, m->model_type, m->head);
		else
			s = data_check_labels(&set, config, classes, err);
		if (s)
			error_prefix(err, "%s", m->model);
	}
	arena_done(&passing);
	return s;
}

// The inputs that files and texts come to.
static enum status make_given(
	struct plan_model *m, struct arena *a, const struct question *q, const json_t *config, struct error *err)
{
	struct asked_inputs asked;
	struct given given;
	enum status s = asked_parse(&asked, a, q, err);

	if (s != STATUS_OK || !asked.thing_count || m->refused)
		return s;
	s = q->new_tokens > 0 && m->hub.kind != HUB_ONNX_FILE ? given_prompt(&given, a, m->hub.path, &asked, err)
							      : given_make(&given, a, m->hub.path, config, &asked, err);
	if (s != STATUS_OK)
		return error_prefix(err, "%s", m->model);
	m->given_tokens = given.tokens;
	m->given = given.path;
	m->given_files = given.files;
	return STATUS_OK;
}

const char *plan_model_name(struct arena *a, const char *model)
{
	char *given = arena_strdup(a, model), *out = arena_strdup(a, model);
	size_t n = 0, skipped;

	if (!file_exists(model))
		return given;
	while (text_starts(model, "./") && model[skipped = 1 + strspn(model + 1, "/")])
		model += skipped;
	for (; *model; model++)
		if (*model != '/' || (model[1] != '/' && (model[1] || !n)))
			out[n++] = *model;
	out[n] = '\0';
	return *out == '-' ? given : out; // no option
}

// An adapter without its base is as little here as a model of an unknown name.
static enum status check_base(const struct plan_model *m, struct arena *a, struct error *err)
{
	const char *base;
	struct error why = { 0 };

	if (!m->hub.path || !adapter_is(m->hub.path) || adapter_base(&base, a, m->hub.path, &why) != STATUS_BAD_INPUT)
		return STATUS_OK;
	return error_set(err, STATUS_BAD_INPUT, "%s", why.text);
}

static enum status check_golden(const char *path, struct error *err)
{
	struct arena passing = { 0 };
	struct reference golden;
	enum status s = reference_read_golden(&golden, path, &passing, err);

	arena_done(&passing);
	return s;
}

enum status plan_model(struct plan_model *out, struct arena *a, const char *model, const struct question *q, struct error *err)
{
	struct plan_model m = {
		.model = plan_model_name(a, model), .layers = q->layers, .takes_images = true, .takes_tokens = true
	};
	struct error why = { 0 };
	struct checkpoint c;

	claim_token(); // from here on this process uses the cache
	if (q->golden && q->layers > 0)
		return error_set(err, STATUS_BAD_INPUT, "--golden and --layers: golden outputs are those of the whole model");
	if (q->golden && (q->batch > 1 || q->sequence > 0 || q->image_size > 0))
		return error_set(err, STATUS_BAD_INPUT,
			"--golden has the shapes of the file: no batch, length or size of images can be asked for");
	// One that cannot be read is the caller's mistake, told before anything is a row.
	enum status s = q->golden ? check_golden(q->golden, err) : STATUS_OK;
	if (s != STATUS_OK)
		return s;
	s = hub_find(&m.hub, a, model, err);
	if (s != STATUS_OK)
		return s;
	if ((s = check_inputs(&m, a, q, err)) != STATUS_OK || (s = check_base(&m, a, err)) != STATUS_OK)
		return s;
	if (m.hub.kind == HUB_ONNX_FILE) {
		if (q->layers > 0)
			return error_set(
				err, STATUS_BAD_INPUT, "%s: --layers cuts models that assay builds, not an .onnx file", model);
		if (model_check_places(m.hub.path, &why) != STATUS_OK) {
			refuse(&m, a, &why);
		} else {
			m.path = m.hub.path;
			look_into(&m);
			if ((s = check_names(&m, a, q, err)) != STATUS_OK || (s = make_given(&m, a, q, NULL, err)) != STATUS_OK)
				return s;
		}
	} else if (plan_checkpoint(&c, &m.hub, &why) != STATUS_OK) {
		refuse(&m, a, &why);
	} else {
		s = resolve(&m, a, &c, q, err);
		if (s == STATUS_OK)
			s = check_targets(&m, q, c.config, err);
		if (s == STATUS_OK)
			s = make_given(&m, a, q, c.config, err);
		checkpoint_close(&c);
		if (s != STATUS_OK)
			return s;
	}
	*out = m;
	return STATUS_OK;
}

enum status plan_identify(struct plan_model *m, struct arena *a, int (*progress)(void *context, uint64_t done, uint64_t total),
	void *context, struct error *err)
{
	struct digest_watch watch = { .progress = progress, .context = context };
	char *identity = arena_alloc(a, 65), *fingerprint = arena_alloc(a, 65);
	enum status s;

	if (m->makes_weights || !m->hub.path)
		return STATUS_OK;
	model_fingerprint(fingerprint, m->hub.path);
	if (m->identity && text_is(fingerprint, m->fingerprint))
		return STATUS_OK;
	if (!m->refused && (s = model_identity(identity, m->hub.path, &watch, err))) {
		m->identity = digest_unknown(a); // what it was before says nothing of it now
		m->fingerprint = NULL;
		return s;
	}
	m->identity = m->refused ? fingerprint : identity;
	m->fingerprint = fingerprint;
	return STATUS_OK;
}

enum status plan_identify_or_refuse(struct plan_model *m, struct arena *a,
	int (*progress)(void *context, uint64_t done, uint64_t total), void *context, struct error *err)
{
	struct error why = { 0 };
	enum status s = plan_identify(m, a, progress, context, &why);

	if (s == STATUS_INTERRUPTED)
		return error_set(err, s, "%s", why.text);
	if (s) {
		m->path = NULL;
		refuse(m, a, &why);
	}
	return STATUS_OK;
}

enum status plan_weights(struct plan_model *m, struct arena *a, const struct target *t, const struct question *q,
	uint64_t cache_limit, int (*progress)(void *context, uint64_t done, uint64_t total), void *context, struct error *err)
{
	struct synth_options options = synth_options(q);
	struct graph_form form = t->platform->forms[0];
	struct error why = { 0 };
	struct checkpoint c;
	uint64_t removed;

	if (m->refused)
		return STATUS_OK;
	if (m->path || !m->makes_weights) {
		cache_trim(
			cache_limit, &removed, NULL); // of what earlier cells left; a cache that is only readable is good enough
		return STATUS_OK;
	}
	options.progress = progress;
	options.context = context;
	options.generates = q->new_tokens > 0;
	options.form = m->unwritten ? &form : NULL;
	if (m->unwritten && precision_parse(&form.precise, q->precision, &why) != STATUS_OK)
		return refuse(m, a, &why);
	form.precise.by_engine = platform_precision(t->route, form.precise.precision)->quantises;
	if (plan_checkpoint(&c, &m->hub, &why) != STATUS_OK)
		return refuse(m, a, &why);
	enum status s = synth_cached(&m->path, a, &c, &options, &why);
	if (s == STATUS_NO_SPACE && cache_trim(0, &removed, NULL) == STATUS_OK && removed > 0) {
		why = (struct error){ 0 };
		s = synth_cached(&m->path, a, &c, &options, &why);
	}
	checkpoint_close(&c);
	if (s != STATUS_OK) {
		m->path = NULL;
		return refuse(m, a, &why);
	}
	// Those that are in use, these among them, stay.
	return cache_trim(cache_limit, &removed, err);
}

void plan_cell(struct cell *out, const struct plan_model *m, const struct target *t, const struct question *q)
{
	*out = (struct cell){
		.model = m->model,
		.path = m->path,
		.revision = m->hub.revision,
		.platform = t->platform->name,
		.device = t->device,
		.options = t->options,
		.shortened = m->shortened,
		.identity = m->identity,
		.fingerprint = m->fingerprint,
		.question = *q,
	};
	out->unwritten = m->unwritten;
	out->given = m->given;
	out->given_files = m->given_files;
	if (!m->shortened) // as many as it has: the whole model
		out->layers = 0;
	out->batch = q->batch > 0 ? q->batch : 1;
	out->timeout_s = plan_timeout_s(q);
	out->synthetic = m->synthetic;
	out->task = q->new_tokens > 0 ? "generate" : NULL;
	if (q->new_tokens > 0 && m->given)
		out->sequence = out->prompt_tokens = m->given_tokens;
}

// What lies there may be another damaged model the next time.
static const char *refused_identity(const struct plan_model *m, struct arena *a)
{
	struct plan_model copy = *m;

	return m->refused && !plan_identify(&copy, a, NULL, NULL, NULL) && copy.identity ? copy.identity : "";
}

const char *plan_key(const struct plan_model *m, const struct cell *c, struct arena *a)
{
	struct hash h;
	char *hex = arena_alloc(a, 65);

	if (m->path && !m->makes_weights)
		return cell_key(c, a);
	hash_init(&h);
	hash_add_text(&h, "plan 3");
	hash_add_text(&h, m->config_hash ? m->config_hash : m->model);
	hash_add_text(&h, refused_identity(m, a));
	hash_add_text(&h, c->golden ? file_digest_key(a, c->golden) : "");
	if (c->inputs)
		hash_add_text(&h, asked_digests(a, &c->question));
	if (c->given)
		hash_add_text(&h, file_digest_key(a, c->given));
	if (c->data)
		hash_add_text(&h, data_digest(a, c->data, c->path));
	hash_add_text(&h, arena_printf(a, "%s|%s|%s", c->platform, c->device ? c->device : "", c->options ? c->options : ""));
	question_hash(&h, &c->question);
	hash_hex(&h, hex);
	return hex;
}

void plan_try_cell(struct cell *c, const struct plan_try *t)
{
	if (!t)
		return;
	c->requested = t->requested;
	c->attempt = t->number;
	c->fallback_of = t->number > 1 ? t->fallback_of : 0;
	c->fallback_reason = t->reason;
}

const char *plan_try_key(const struct plan_model *m, const struct cell *c, const struct plan_try *t, struct arena *a)
{
	const char *own = plan_key(m, c, a);
	struct hash h;

	if (t->number == 1)
		return own;
	char *hex = arena_alloc(a, 65);
	hash_init(&h);
	hash_add_text(&h, arena_printf(a, "try %lld of %s", (long long)t->number, t->first_key));
	hash_add_text(&h, own);
	hash_hex(&h, hex);
	return hex;
}

// Of "PLATFORM:DEVICE"; NULL: there is none of that name.
static const struct platform *platform_of(const char *text)
{
	char name[32];

	snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
	return platform_named(name);
}

// A comma separates platforms, and also what belongs to one: "openvino:HETERO:GPU", "CPU", "precision=f16". An option has its "="
// before any colon; a word in upper case is a device of `before` unless that has none and the word is a platform.
static bool is_continuation(const char *before, const char *word)
{
	return word[strcspn(word, ":=")] == '=' ||
		(word[0] >= 'A' && word[0] <= 'Z' && (strchr(before, ':') || !platform_of(word)));
}

// "all": the eight platforms, without their parts.
static const char *const *with_all(struct arena *a, const char *const *words, size_t *count)
{
	const char **out = ARENA_ARRAY(a, *count * platform_count(), const char *);
	size_t n = 0;

	for (size_t i = 0; i < *count; i++) {
		if (!text_is(words[i], "all")) {
			out[n++] = words[i];
			continue;
		}
		for (size_t k = 0; k < platform_count(); k++)
			if (!(platform_get(k)->flags & PLATFORM_EXTRA))
				out[n++] = platform_get(k)->name;
	}
	*count = n;
	return out;
}

// Has the platform that `text` begins with, on any of its routes, an option that is called as `word` begins?
static bool is_option_of(const char *text, const char *word, size_t length)
{
	const struct platform *p = platform_of(text);

	for (const struct route *r = p ? p->routes : NULL; r && r->engine; r++)
		if (backend_has_option(route_backend(r), route_provider(r), word, length))
			return true;
	return false;
}

// PART=PLATFORM is no option of a platform.
static enum status check_continuation(const char *text, const char *word, struct error *err)
{
	const size_t length = strcspn(word, "=:");
	const char *value = word[length] == '=' ? word + length + 1 : "";

	return platform_of(value) && !is_option_of(text, word, length)
		? error_set(err, STATUS_BAD_INPUT, "--on: %s: only a whole pipeline has parts (`assay pipeline`)", word)
		: STATUS_OK;
}

enum status plan_targets(struct target **out, size_t *count, struct arena *a, const char *const *words, size_t word_count,
	const char *options, struct error *err)
{
	static const char *const cpu = "cpu";
	if (word_count == 0) {
		words = &cpu;
		word_count = 1;
	}
	words = with_all(a, words, &word_count);
	struct target *targets = ARENA_ARRAY(a, word_count, struct target);
	size_t n = 0;
	for (size_t i = 0; i < word_count; n++) {
		const char *text = words[i];
		enum status s = STATUS_OK;
		for (i++; i < word_count && is_continuation(text, words[i]) && !s; i++) {
			s = check_continuation(text, words[i], err);
			text = arena_printf(a, "%s%s%s", text, strchr(text, ':') ? "," : ":", words[i]);
		}
		if (s || (s = platform_target(&targets[n], a, text, err)))
			return s;
		const char *own = targets[n].options;
		const struct route *r = targets[n].route;
		if ((s = backend_check_options(route_backend(r), route_provider(r), options, err)) != STATUS_OK)
			return s;
		targets[n].user_options = options;
		if (options && *options)
			targets[n].options = own && *own ? arena_printf(a, "%s,%s", own, options) : options;
	}
	*out = targets;
	*count = n;
	return STATUS_OK;
}

// ---- of a pipeline ------------------------------------------------------------------------------------------------------

// The end of the words of the platform that words[at] names: the next one names a part.
static size_t platform_end(const char *const *words, size_t at, size_t count)
{
	size_t i = at + 1;

	for (; i < count; i++) {
		const size_t length = strcspn(words[i], "=:");

		if (words[i][length] == '=' && !is_option_of(words[at], words[i], length))
			break;
	}
	return i;
}

static enum status one_target(struct target *out, struct arena *a, const char *const *words, size_t count, struct error *err)
{
	struct target *targets;
	size_t n;
	enum status st = plan_targets(&targets, &n, a, words, count, NULL, err);

	if (st)
		return st;
	if (n != 1)
		return error_set(err, STATUS_BAD_INPUT,
			"--on: one platform, and others by the part that runs there, as in cpu,unet=openvino");
	*out = targets[0];
	return STATUS_OK;
}

// `before`: the platform that the word might be an option of.
static enum status check_part(const struct target *t, const char *word, const char *before, struct error *err)
{
	const size_t length = strcspn(word, "=");
	const char *value = word + length + 1;
	struct arena a = { 0 };
	const char *name = arena_strndup(&a, value, strcspn(value, ":"));
	enum status st = STATUS_OK;

	if (!length || !*value)
		st = error_set(err, STATUS_BAD_INPUT, "--on: %s: PART=PLATFORM has both", word);
	else if (!platform_named(name) && !platform_elsewhere(name))
		st = error_set(err, STATUS_BAD_INPUT,
			"--on: %s is no option of %s, and no PART=PLATFORM: no platform is called \"%s\"", word, before, name);
	for (size_t i = 0; i < t->part_count && !st; i++)
		if (!strncmp(t->parts[i].name, word, length) && !t->parts[i].name[length])
			st = error_set(err, STATUS_BAD_INPUT, "--on: the part %s is there twice", t->parts[i].name);
	arena_done(&a);
	return st;
}

// Between commas; of none cpu.
static const char **words_in(struct arena *a, const char *text, size_t *count)
{
	const char **words = ARENA_ARRAY(a, strlen(text) + 1, const char *);

	*count = 0;
	for (; *text; text += *text == ',') {
		const size_t length = strcspn(text, ",");

		if (length)
			words[(*count)++] = arena_strndup(a, text, length);
		text += length;
	}
	return words;
}

enum status plan_pipeline_target(struct target *out, struct arena *a, const char *on, struct error *err)
{
	size_t count;
	const char **words = words_in(a, on ? on : "", &count), *before = "cpu";
	struct target_part *parts = ARENA_ARRAY(a, count + 1, struct target_part);
	const bool is_part = count && words[0][strcspn(words[0], "=:")] == '=';
	size_t at = is_part || !count ? 0 : platform_end(words, 0, count);
	enum status st = one_target(out, a, words, at, err);

	out->parts = parts;
	before = at ? words[0] : before;
	for (size_t end; at < count && !st; at = end) {
		const char *word = words[at];

		if ((st = check_part(out, word, before, err)))
			return st;
		words[at] = before = word + strcspn(word, "=") + 1;
		end = platform_end(words, at, count);
		parts[out->part_count].name = arena_strndup(a, word, strcspn(word, "="));
		parts[out->part_count].target = ARENA_NEW(a, struct target);
		st = one_target(parts[out->part_count++].target, a, words + at, end - at, err);
	}
	return st;
}

// The options that were asked for, over those of the route that serves the target now.
static const char *options_over(struct arena *a, const struct target *t, const struct route *r)
{
	const char *own = t->options;
	size_t n = t->route->options ? strlen(t->route->options) : 0;

	if (own && n)
		own = own[n] == ',' ? own + n + 1 : NULL;
	if (!r->options)
		return own;
	return own ? arena_printf(a, "%s,%s", r->options, own) : r->options;
}

void plan_choose(struct target *targets, size_t count, const json_t *platforms, struct arena *a)
{
	for (size_t i = 0; i < count; i++) {
		struct target *t = &targets[i];
		const json_t *p;
		size_t k;

		json_array_foreach(platforms, k, p)
		{
			const json_t *devices = json_object_get(p, "devices"), *d;
			const char *device = NULL;
			size_t n;

			if (t->chosen || !text_is(json_string_value(json_object_get(p, "name")), t->platform->name))
				continue;
			// With devices, too: of an engine after one that died as it was asked, and is not passed over.
			if (!json_array_size(devices) || json_is_string(json_object_get(p, "verdict"))) {
				t->absent = arena_strdup(a, json_string_value(json_object_get(p, "reason")));
				t->absent_verdict = verdict_find(json_string_value(json_object_get(p, "verdict")));
				if (t->absent_verdict == VERDICT_COUNT)
					t->absent_verdict = VERDICT_UNAVAILABLE;
				continue;
			}
			// The first route's default where it is here, else the first device there is.
			json_array_foreach(devices, n, d)
			{
				const char *name = json_string_value(json_object_get(d, "name"));
				if (json_is_true(json_object_get(d, "compiles_only"))) // taken only when it is asked for by name
					continue;
				if (!device || text_is(name, t->platform->routes[0].device))
					device = name;
			}
			if (!device) {
				t->absent = "only devices that a graph can be compiled for, which are asked for by name";
				t->absent_verdict = VERDICT_UNAVAILABLE;
				continue;
			}
			const struct route *r = platform_route(t->platform, device);
			t->options = options_over(a, t, r);
			t->route = r;
			t->device = arena_strdup(a, device);
		}
	}
}

// The row of a cell that was refused before a child was started.
static void refused_row(const struct cell *c, enum verdict refused, const char *cause, struct arena *a, struct cell_result *out)
{
	out->verdict = refused;
	out->row.cause = cause;
	out->row.device = c->device;
	out->row.batch = c->batch;
	row_set_asked(&out->row, &c->question);
	if (c->sequence > 0)
		out->row.sequence = c->sequence;
	out->row.attempts = 0;
	out->row.started_at = arena_strdup(a, clock_utc((char[32]){ 0 }));
}

static const char *less_json(struct arena *a, const struct plan_memory *memory)
{
	json_t *all = json_array();

	for (size_t i = 0; i < memory->less_count; i++) {
		const struct plan_less *l = &memory->less[i];

		json_array_append_new(all,
			json_pack("{s:s?, s:o, s:I}", "precision", l->precision, "layers",
				l->layers > 0 ? json_integer((json_int_t)l->layers) : json_null(), "bytes",
				(json_int_t)l->needed_bytes));
	}
	char *text = json_dumps(all, JSON_COMPACT);
	const char *out = arena_strdup(a, text);

	free(text);
	json_decref(all);
	return out;
}

// What the plan knows better than the child, or the child never got to say.
static void fill_row(struct row *r, const struct plan_model *m, const struct cell *c, enum verdict v, const char *key)
{
	r->model = m->model;
	r->requested = c->requested ? c->requested : c->platform;
	r->tried = c->platform;
	r->attempt = c->attempt > 0 ? c->attempt : 1;
	r->fallback_of = c->attempt > 1 ? c->fallback_of : ROW_NONE;
	if (c->fallback_reason) // else what the child said of what its platform left
		r->fallback_reason = c->fallback_reason;
	r->revision = m->hub.revision;
	r->verdict = verdict_word(v);
	r->cell_key = key;
	if (!r->model_type)
		r->model_type = m->model_type;
	if (!r->architecture)
		r->architecture = m->architecture;
	if (!r->head)
		r->head = m->head;
	r->weights = m->refused && m->makes_weights ? NULL : cell_weights_word(c); // then there are none
	r->shortened = m->shortened;
	if (c->layers > 0)
		r->layers = c->layers;
}

// What the fallback costs: its time over the last one of the platform that was asked for.
static enum status hold_against(struct row *r, struct store *store, struct arena *a, struct error *err)
{
	struct store_measured last;
	enum status s = store_last_measured(store, a, r, &last, err);

	if (s == STATUS_OK && last.row != ROW_NONE) {
		r->fallback_factor = r->latency_ms / last.latency_ms;
		r->fallback_against = last.row;
	}
	return s;
}

enum status plan_begin(
	struct plan_task *task, const struct plan_asked *asked, struct store *store, struct arena *a, struct error *err)
{
	*task = (struct plan_task){ .asked = *asked, .row = ROW_NONE };
	plan_cell(&task->cell, asked->model, asked->target, asked->question);
	plan_try_cell(&task->cell, asked->try);
	task->key = asked->try ? asked->try->key : plan_key(asked->model, &task->cell, a);
	task->cell.key = task->key;
	task->cell.second_bytes = asked->memory ? (int64_t)asked->memory->anonymous_bytes : 0;
	if (!store)
		return STATUS_OK;
	return asked->resumes ? store_claim(store, &task->cell, task->key, &task->found, &task->row, err)
			      : store_started(store, &task->cell, task->key, &task->row, err);
}

enum status plan_measure(
	const struct plan_task *task, const struct cell_watch *watch, struct arena *a, struct cell_result *out, struct error *err)
{
	const struct plan_model *m = task->asked.model;
	const struct target *t = task->asked.target;
	const struct plan_memory *memory = task->asked.memory;
	const struct cell *c = &task->cell;
	struct cell planned = *c; // with the time that planning took
	enum status s = STATUS_OK;

	if (memory)
		planned.planned_s = memory->took_ms / 1000;
	*out = (struct cell_result){ 0 };
	row_init(&out->row);
	if (m->refused)
		refused_row(c, verdict_of_status(m->refused), m->cause, a, out);
	else if (t->absent)
		refused_row(c, t->absent_verdict, t->absent, a, out);
	else if (memory && memory->refused)
		refused_row(c, memory->refused_as, memory->refused, a, out);
	else
		s = cell_run(&planned, watch, a, out, err);
	if (s != STATUS_OK)
		return s;
	fill_row(&out->row, m, c, out->verdict, task->key);
	if (out->verdict == VERDICT_UNAVAILABLE && t->chosen) // detection, which would have said so, was not asked
		out->row.cause = detect_with_cause(a, t->platform, out->row.cause);
	if (out->verdict == VERDICT_UNAVAILABLE && !out->row.hint && !platform_is_software(t->platform))
		out->row.hint = arena_printf(a,
			"`assay doctor %s%s%s` walks what it needs and names the package that brings what is missing",
			c->platform, t->chosen && t->device ? ":" : "", t->chosen && t->device ? t->device : "");
	if (m->refused == STATUS_UNSUPPORTED && m->config_hash && !out->row.hint)
		out->row.hint = arena_printf(a,
			"`assay inspect %s` says which type it is most like, and which of its keys and tensors are not that "
			"type's",
			m->model);
	if (memory && memory->less_count > 0 && out->verdict == VERDICT_NO_MEMORY)
		out->row.would_fit = less_json(a, memory);
	if (memory && memory->fitted) {
		out->row.fitted = memory->fitted;
		out->row.fit_asked_precision = memory->asked_precision;
		out->row.fit_asked_layers = memory->asked_layers;
	}
	if (memory && memory->predicted_bytes > 0)
		out->row.predicted_mib = (double)memory->predicted_bytes / 1048576.0;
	out->row.row = task->row;
	// On an emulated device the cases of a type would take longer than the cell.
	bool ran = verdict_ran(out->verdict) && !row_took_none(&out->row) && out->row.emulated != 1;
	if (ran && !task->asked.question->no_conform && !out->row.type_conformance && m->model_type)
		out->row.type_conformance = conform_of_type(m->model_type, t, a);
	return STATUS_OK;
}

enum status plan_finish(
	const struct plan_task *task, struct store *store, struct arena *a, struct cell_result *out, struct error *err)
{
	enum status s = STATUS_OK;

	if (store && task->cell.attempt > 1 && !isnan(out->row.latency_ms))
		s = hold_against(&out->row, store, a, err);
	if (s == STATUS_OK && store && precision_is_reduced(precision_find(out->row.precision)) && !isnan(out->row.latency_ms))
		s = against_float32(out, store, a, err);
	return s == STATUS_OK && store ? store_finished(store, out, err) : s;
}

enum status plan_run(const struct plan_asked *asked, struct store *store, const struct cell_watch *watch, struct arena *a,
	struct cell_result *out, struct error *err)
{
	struct plan_task task;
	enum status s = plan_begin(&task, asked, store, a, err);

	if (s == STATUS_OK)
		s = plan_measure(&task, watch, a, out, err);
	return s == STATUS_OK ? plan_finish(&task, store, a, out, err) : s;
}

json_t *plan_json(const struct cell_result *r)
{
	json_t *out = row_to_json(&r->row);
	json_t *samples = json_array();
	for (size_t i = 0; i < r->sample_count; i++)
		json_array_append_new(samples, json_real(r->sample_ms[i]));
	json_object_set_new(out, "samples_ms", samples);
	json_object_set(out, "checks", r->checks ? r->checks : json_null());
	return out;
}
