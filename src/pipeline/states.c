// SPDX-License-Identifier: Apache-2.0
// Tasks whose answer is a model's states: feature-extraction (FeatureExtractionPipeline), sentence-similarity (the modules of
// sentence-transformers, one after the other), and the vectors that retrieval compares.
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "hub/hub.h"
#include "pipeline/states.h"

static enum status states_of(
	struct call *c, struct part *m, const struct encoding *e, const struct tensor **out, struct error *err)
{
	struct tensor *given;
	size_t n;
	enum status st = text_run(m, c->a, e, &given, &n, err);

	if (st)
		return st;
	*out = part_output(given, n, "last_hidden_state", 3, err);
	if (!*out)
		return err->status;
	return (*out)->dim[1] == (int64_t)e->count ? STATUS_OK
						   : error_set(err, STATUS_UNSUPPORTED, "the model gives no state of each token");
}

TASK(feature_extraction)
{
	const char *text;
	struct part *m;
	struct encoding e;
	const struct tensor *states;
	enum status st = part_open(c->p, ".", &m, err);

	if (st || (st = call_text(c, "text", &text, err)) || (st = text_encode(m, c->a, text, NULL, NULL, &e, err)) ||
		(st = states_of(c, m, &e, &states, err)))
		return st;
	out->json = answer_tensor(c, out, "features", states);
	return STATUS_OK;
}

// ---- vectors ------------------------------------------------------------------------------------------------------------------

static double state(const struct tensor *t, size_t place, size_t k)
{
	return (double)((const float *)t->data)[place * (size_t)t->dim[2] + k];
}

static void pool_one(const struct tensor *t, enum pooling how, double *out)
{
	size_t places = (size_t)t->dim[1], width = (size_t)t->dim[2];

	for (size_t k = 0; k < width; k++) {
		double sum = how == POOL_MOST ? -INFINITY : 0, weights = 0;
		for (size_t i = 0; i < places; i++) {
			double weight = how == POOL_FIRST ? i == 0
				: how == POOL_LAST        ? i + 1 == places
				: how == POOL_WEIGHTED    ? (double)i + 1
							  : 1;
			sum = how == POOL_MOST ? fmax(sum, state(t, i, k)) : sum + weight * state(t, i, k);
			weights += weight;
		}
		out[k] = how == POOL_MOST ? sum : how == POOL_SQRT ? sum / sqrt(weights) : sum / weights;
	}
}

static void normalize(double *x, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += x[i] * x[i];
	for (size_t i = 0; i < count; i++)
		x[i] /= fmax(sqrt(sum), 1e-12);
}

enum status vector_of(struct call *c, struct part *m, const char *text, const struct truncation *cut, unsigned how, bool unit,
	struct vector *out, struct error *err)
{
	struct encoding e;
	const struct tensor *states;
	enum status st = text_encode(m, c->a, text, NULL, cut, &e, err);

	if (st || (st = states_of(c, m, &e, &states, err)))
		return st;
	size_t width = (size_t)states->dim[2];
	*out = (struct vector){ ARENA_ARRAY(c->a, width * POOLINGS + 1, double), 0 };
	for (int i = 0; i < POOLINGS; i++)
		if (how & 1u << i) {
			pool_one(states, (enum pooling)i, out->x + out->count);
			out->count += width;
		}
	if (unit)
		normalize(out->x, out->count);
	return STATUS_OK;
}

double vector_dot(const struct vector *a, const struct vector *b)
{
	double sum = 0;

	for (size_t i = 0; i < a->count; i++)
		sum += a->x[i] * b->x[i];
	return sum;
}

// ---- sentence-similarity -----------------------------------------------------------------------------------------------------

enum { MODULES_MOST = 16, WIDTH_MOST = 1 << 16, PROMPT_MOST = 1 << 16, LINES_MOST = 64 };

// A layer behind the pooling.
struct module {
	enum { MODULE_NORMALIZE, MODULE_DENSE } kind;
	const struct weight *weight, *bias; // [out, in], [out] or NULL
	enum { DENSE_IDENTITY, DENSE_TANH, DENSE_RELU, DENSE_SIGMOID, DENSE_GELU } act;
};
struct sentences {
	struct call *c;
	struct part *m;
	unsigned pooling;
	struct module modules[MODULES_MOST];
	size_t count;
	struct truncation cut;
	const char *prompt;
	enum { LIKE_COSINE, LIKE_DOT, LIKE_EUCLIDEAN, LIKE_MANHATTAN } likeness;
};

static bool is_set(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

static enum status read_pooling(struct sentences *s, const char *path, struct error *err)
{
	static const struct {
		const char *key, *word;
		enum pooling how;
	} modes[] = { { "pooling_mode_cls_token", "cls", POOL_FIRST }, { "pooling_mode_max_tokens", "max", POOL_MOST },
		{ "pooling_mode_mean_tokens", "mean", POOL_MEAN },
		{ "pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", POOL_SQRT },
		{ "pooling_mode_weightedmean_tokens", "weightedmean", POOL_WEIGHTED },
		{ "pooling_mode_lasttoken", "lasttoken", POOL_LAST } };
	const json_t *o;
	enum status st = part_json(s->m, arena_printf(s->c->a, "%s/config.json", path), &o, err);

	if (st)
		return st;
	const char *word = json_string_value(json_object_get(o, "pooling_mode"));
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (is_set(o, modes[i].key) || text_is(word, modes[i].word))
			s->pooling |= 1u << modes[i].how;
	if (!s->pooling)
		return error_set(err, STATUS_UNSUPPORTED, "%s: no pooling that is known", path);
	if (json_is_false(json_object_get(o, "include_prompt")) && *s->prompt)
		return error_set(err, STATUS_UNSUPPORTED, "%s: a prompt that is not pooled is not supported yet", path);
	return STATUS_OK;
}

static enum status read_dense(struct sentences *s, const char *path, struct module *out, struct error *err)
{
	static const char *const acts[] = { "Identity", "Tanh", "ReLU", "Sigmoid", "GELU" };
	struct shard *shard = ARENA_NEW(s->m->p->arena, struct shard);
	struct weight *weights;
	const json_t *o;
	size_t count;
	enum status st = part_json(s->m, arena_printf(s->c->a, "%s/config.json", path), &o, err);

	if (st ||
		(st = safetensors_open(s->m->p->arena,
			 arena_printf(s->m->p->arena, "%s/%s/model.safetensors", s->m->folder, path), shard, &weights, &count,
			 err)))
		return st;
	const char *act = json_string_value(json_object_get(o, "activation_function"));
	size_t k = 0;
	const char *dot = act ? strrchr(act, '.') : NULL; // "torch.nn.modules.activation.Tanh"
	while (act && k < 5 && strcmp(dot ? dot + 1 : act, acts[k]))
		k++;
	*out = (struct module){ .kind = MODULE_DENSE, .act = act ? k : DENSE_TANH };
	for (size_t i = 0; i < count; i++)
		if (text_is(weights[i].name, "linear.weight") && weights[i].rank == 2)
			out->weight = &weights[i];
		else if (text_is(weights[i].name, "linear.bias") && weights[i].rank == 1)
			out->bias = &weights[i];
	if (k == 5)
		return error_set(err, STATUS_UNSUPPORTED, "%s: the activation %s is not supported yet", path, act);
	if (!out->weight || out->weight->dim[0] < 1 || out->weight->dim[0] > WIDTH_MOST ||
		(out->bias && out->bias->dim[0] != out->weight->dim[0]))
		return error_set(err, STATUS_BAD_INPUT, "%s: no linear.weight, or a linear.bias of another size", path);
	return STATUS_OK;
}

// A name may stand in another package's folder: its last part counts.
static enum status read_module(struct sentences *s, const json_t *o, struct error *err)
{
	const char *type = json_string_value(json_object_get(o, "type")), *path = json_string_value(json_object_get(o, "path"));

	if (!type || !path || strstr(path, "..") || *path == '/')
		return error_set(err, STATUS_BAD_INPUT, "modules.json: a module without a type or a path");
	const char *name = strrchr(type, '.') ? strrchr(type, '.') + 1 : type;
	if (text_is(name, "Transformer")) {
		enum status st = part_open(s->c->p, *path ? path : ".", &s->m, err);

		return st ? st : parts_known_of(&s->m, 1, err);
	}
	if (!s->m)
		return error_set(err, STATUS_UNSUPPORTED, "modules.json: %s before the Transformer is not supported yet", name);
	if (text_is(name, "Pooling"))
		return read_pooling(s, path, err);
	if (s->count == MODULES_MOST)
		return error_set(err, STATUS_UNSUPPORTED, "modules.json: more than %d modules", MODULES_MOST);
	if (text_is(name, "Normalize")) {
		s->modules[s->count++] = (struct module){ .kind = MODULE_NORMALIZE };
		return STATUS_OK;
	}
	if (text_is(name, "Dense"))
		return read_dense(s, path, &s->modules[s->count++], err);
	return error_set(err, STATUS_UNSUPPORTED, "modules.json: the module %s is not supported yet", name);
}

// prompts of config_sentence_transformers.json by name; the option `prompt` is the text itself.
static enum status read_prompt(struct sentences *s, const json_t *o, struct error *err)
{
	const char *name, *usual = json_string_value(json_object_get(o, "default_prompt_name"));
	enum status st;

	if ((st = option_text(s->c, "prompt_name", usual, &name, err)) ||
		(st = option_text(s->c, "prompt", NULL, &s->prompt, err)))
		return st;
	if (!s->prompt && name && !(s->prompt = json_string_value(json_object_get(json_object_get(o, "prompts"), name))))
		return error_set(err, STATUS_BAD_INPUT, "the model has no prompt called %s", name);
	s->prompt = s->prompt ? s->prompt : "";
	return strlen(s->prompt) <= PROMPT_MOST
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "a prompt of %zu bytes stands before each sentence; at most %d are read",
			  strlen(s->prompt), PROMPT_MOST);
}

static enum status read_file(struct sentences *s, const char *name, json_t **out, struct error *err)
{
	const char *path = arena_printf(s->c->a, "%s/%s", s->c->p->folder, name);

	*out = NULL;
	return file_exists(path) ? json_file(path, PIPELINE_JSON_MOST, out, err) : STATUS_OK;
}

static enum status read_settings(struct sentences *s, struct error *err)
{
	static const char *const words[] = { "cosine", "dot", "euclidean", "manhattan" };
	json_t *o;
	enum status st = read_file(s, "config_sentence_transformers.json", &o, err);

	if (!st && !(st = read_prompt(s, o, err)))
		s->prompt = arena_strdup(s->c->a, s->prompt);
	const char *word = json_string_value(json_object_get(o, "similarity_fn_name"));
	for (int i = 0; i < 4; i++)
		s->likeness = text_is(word, words[i]) ? (unsigned)i : s->likeness;
	json_decref(o);
	return st;
}

static enum status read_modules(struct sentences *s, struct error *err)
{
	json_t *list, *one;
	const json_t *bert;
	size_t i;
	enum status st = read_settings(s, err);

	if (st || (st = read_file(s, "modules.json", &list, err)))
		return st;
	if (!json_array_size(list))
		st = error_set(err, STATUS_BAD_INPUT,
			"sentence-similarity needs modules.json, which is not there or has no modules%s",
			hub_is_download(s->c->p->folder) ? "; `assay fetch MODEL --all` brings all files of a repository" : "");
	if (json_array_size(list) > LINES_MOST)
		st = error_set(err, STATUS_UNSUPPORTED, "modules.json: more than %d modules", LINES_MOST);
	json_array_foreach(list, i, one) if (!st) st = read_module(s, one, err);
	json_decref(list);
	if (!st && !s->pooling)
		st = error_set(err, STATUS_BAD_INPUT, "modules.json has no Transformer with a Pooling behind it");
	if (st || (st = part_json(s->m, "sentence_bert_config.json", &bert, err)))
		return st;
	if (is_set(bert, "do_lower_case"))
		return error_set(err, STATUS_UNSUPPORTED, "sentence_bert_config.json: do_lower_case is not supported yet");
	bool cuts = text_cut(s->m, LONGEST_FIRST, &s->cut);
	int64_t most = json_integer_value(json_object_get(bert, "max_seq_length")), places = s->m->hints.max_sequence;
	if (most > 0)
		s->cut.max_length = (size_t)most;
	else if (places > 0 && (!cuts || (size_t)places < s->cut.max_length))
		s->cut.max_length = (size_t)places;
	return STATUS_OK;
}

static double activated(const struct module *d, double x)
{
	switch (d->act) {
	case DENSE_TANH:
		return tanh(x);
	case DENSE_RELU:
		return fmax(x, 0);
	case DENSE_SIGMOID:
		return scores_sigmoid(x);
	case DENSE_GELU:
		return x * 0.5 * (1 + erf(x / sqrt(2)));
	default:
		return x;
	}
}

static double element(const struct weight *w, size_t i)
{
	const struct tensor t = { .dtype = w->dtype, .data = (void *)(uintptr_t)w->data, .nbytes = w->nbytes };

	return tensor_get(&t, i);
}

static enum status run_dense(struct arena *a, const struct module *d, struct vector *v, struct error *err)
{
	size_t out = (size_t)d->weight->dim[0];
	double *y = ARENA_ARRAY(a, out + 1, double);

	if (d->weight->dim[1] != (int64_t)v->count)
		return error_set(err, STATUS_BAD_INPUT, "a dense module takes %lld numbers, and is given %zu",
			(long long)d->weight->dim[1], v->count);
	for (size_t i = 0; i < out; i++) {
		y[i] = d->bias ? element(d->bias, i) : 0;
		for (size_t k = 0; k < v->count; k++)
			y[i] += element(d->weight, i * v->count + k) * v->x[k];
		y[i] = activated(d, y[i]);
	}
	*v = (struct vector){ y, out };
	return STATUS_OK;
}

static enum status embed(struct sentences *s, const char *sentence, bool unit, struct vector *out, struct error *err)
{
	const char *text = arena_printf(s->c->a, "%s%s", s->prompt, sentence);
	enum status st = vector_of(s->c, s->m, text, s->cut.max_length ? &s->cut : NULL, s->pooling, false, out, err);

	for (size_t i = 0; i < s->count && !st; i++)
		if (s->modules[i].kind == MODULE_DENSE)
			st = run_dense(s->c->a, &s->modules[i], out, err);
		else
			normalize(out->x, out->count);
	if (!st && unit)
		normalize(out->x, out->count);
	return st;
}

static double likeness(const struct sentences *s, const struct vector *a, const struct vector *b)
{
	double squares = 0, sum = 0;

	if (s->likeness == LIKE_DOT)
		return vector_dot(a, b);
	if (s->likeness == LIKE_COSINE)
		return vector_dot(a, b) / fmax(sqrt(vector_dot(a, a)), 1e-12) / fmax(sqrt(vector_dot(b, b)), 1e-12);
	for (size_t i = 0; i < a->count; i++) {
		squares += (a->x[i] - b->x[i]) * (a->x[i] - b->x[i]);
		sum += fabs(a->x[i] - b->x[i]);
	}
	return s->likeness == LIKE_EUCLIDEAN ? -sqrt(squares) : -sum;
}

static struct tensor matrix(struct arena *a, size_t rows, size_t columns)
{
	return (struct tensor){ .dtype = DTYPE_F32,
		.rank = 2,
		.dim = { (int64_t)rows, (int64_t)columns },
		.data = arena_array(a, rows * columns + 1, sizeof(float)),
		.nbytes = rows * columns * sizeof(float) };
}

static void put_rows(struct tensor *t, size_t row, const double *x)
{
	for (int64_t i = 0; i < t->dim[1]; i++)
		((float *)t->data)[(int64_t)row * t->dim[1] + i] = (float)x[i];
}

TASK(sentence_similarity)
{
	struct sentences s = { .c = c };
	const char *const *sentences;
	bool unit;
	size_t count;
	enum status st = read_modules(&s, err);

	if (st || (st = call_texts(c, "sentences", &sentences, &count, err)) ||
		(st = option_bool(c, "normalize_embeddings", false, &unit, err)))
		return st;
	struct vector *v = ARENA_ARRAY(c->a, count, struct vector);
	double *row = ARENA_ARRAY(c->a, count, double);
	for (size_t i = 0; i < count; i++)
		if ((st = embed(&s, sentences[i], unit, &v[i], err)))
			return st;
	struct tensor embeddings = matrix(c->a, count, v[0].count), similarity = matrix(c->a, count, count);
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < count; k++)
			row[k] = likeness(&s, &v[i], &v[k]);
		put_rows(&embeddings, i, v[i].x);
		put_rows(&similarity, i, row);
	}
	json_t *first = answer_tensor(c, out, "embeddings", &embeddings);
	out->json = json_pack("{s:o, s:o}", "embeddings", first, "similarity", answer_tensor(c, out, "similarity", &similarity));
	return STATUS_OK;
}
