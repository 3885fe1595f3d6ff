// SPDX-License-Identifier: Apache-2.0
// asked.h: three options about the inputs of a user's .onnx file, parsed alike by the parent, which refuses what makes no sense,
// and by the child, which knows the graph.
#include "cell/asked.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "cell/inputs.h"
#include "checkpoint/npy.h"
#include "preprocess/medium.h"

enum { VALUES_MOST = 1024, DIM_MOST = 1 << 30 };

// ---- the texts ----------------------------------------------------------------------------------------------------------

// How many values a text can have; each ends at a separator.
static size_t values(const char *text, const char *separators)
{
	size_t n = text && *text ? 1 : 0;

	for (; n && *text; text++)
		n += strchr(separators, *text) != NULL;
	return n;
}

// A name may have colons itself ("serving_default_x:0"): the last one parts it from its numbers.
static enum status parse_shape(struct asked_shape *out, struct arena *a, const char *word, struct error *err)
{
	const char *colon = strrchr(word, ':');

	if (!colon || colon == word)
		return error_set(err, STATUS_BAD_INPUT, "--shape %s: wants INPUT:N,N,...", word);
	*out = (struct asked_shape){ .input = arena_strndup(a, word, (size_t)(colon - word)) };
	for (const char *at = colon + 1; *at;) {
		const size_t n = strcspn(at, ",");

		if (out->rank == TENSOR_MAX_RANK)
			return error_set(
				err, STATUS_BAD_INPUT, "--shape %s: at most %d dimensions are taken", word, TENSOR_MAX_RANK);
		if (!text_to_int(arena_strndup(a, at, n), 0, DIM_MOST, &out->dim[out->rank]))
			return error_set(err, STATUS_BAD_INPUT, "--shape %s: dimension %d is no number from 0 to %d", word,
				out->rank, DIM_MOST);
		out->rank++;
		at += n + (at[n] == ',');
	}
	return STATUS_OK;
}

static enum status parse_dim(struct asked_dim *out, struct arena *a, const char *word, struct error *err)
{
	const char *equals = strrchr(word, '=');

	if (!equals || equals == word || !text_to_int(equals + 1, 0, DIM_MOST, &out->number))
		return error_set(err, STATUS_BAD_INPUT, "--dim %s: wants NAME=N, a number from 0 to %d", word, DIM_MOST);
	out->symbol = arena_strndup(a, word, (size_t)(equals - word));
	return STATUS_OK;
}

static enum status parse_input(struct asked_input *out, struct arena *a, const char *word, struct error *err)
{
	static const char random[] = "random:";
	const char *equals = strchr(word, '='), *what = equals ? equals + 1 : "", *comma;

	if (!equals || equals == word || !*what)
		return error_set(err, STATUS_BAD_INPUT,
			"--input %s: wants INPUT=FILE.npy, INPUT=FILE.safetensors, INPUT=random:LOW,HIGH, INPUT=ones or "
			"INPUT=zeros",
			word);
	*out = (struct asked_input){ .input = arena_strndup(a, word, (size_t)(equals - word)) };
	if (text_is(what, "ones") || text_is(what, "zeros")) {
		out->fill = text_is(what, "ones") ? ASKED_ONES : ASKED_ZEROS;
	} else if (text_starts(what, random)) {
		out->fill = ASKED_RANDOM;
		what += strlen(random);
		if (!(comma = strchr(what, ',')) ||
			!text_to_double(arena_strndup(a, what, (size_t)(comma - what)), -1e30, 1e30, &out->low) ||
			!text_to_double(comma + 1, -1e30, 1e30, &out->high) || !(out->low < out->high))
			return error_set(
				err, STATUS_BAD_INPUT, "--input %s: random wants LOW,HIGH, the lower number first", word);
	} else if (text_ends(what, ".npy") || text_ends(what, ".safetensors")) {
		out->path = what;
	} else {
		return error_set(
			err, STATUS_BAD_INPUT, "--input %s: a file is read when its name ends in .npy or .safetensors", word);
	}
	return STATUS_OK;
}

// The next value of a text; NULL at the end.
static const char *next_value(const char **text, const char *separators, struct arena *a)
{
	const size_t n = strcspn(*text, separators);
	const char *word = arena_strndup(a, *text, n);

	if (!**text)
		return NULL;
	*text += n + ((*text)[n] != 0);
	return word;
}

static const char of_file[] = "file:", of_text[] = "text:";

// %25, %3B and %0A in a text, which ";" ends and one line holds.
static const char *without_escapes(struct arena *a, const char *text)
{
	static const struct {
		const char *escape;
		char is;
	} all[] = { { "%25", '%' }, { "%3B", ';' }, { "%0A", '\n' } };
	char *out = arena_strdup(a, text), *to = out;

	for (const char *at = text; *at;) {
		size_t i = 0;

		while (i < sizeof all / sizeof *all && !text_starts(at, all[i].escape))
			i++;
		*to++ = i < sizeof all / sizeof *all ? all[i].is : *at;
		at += i < sizeof all / sizeof *all ? 3 : 1;
	}
	*to = 0;
	return out;
}

static const char *with_escapes(struct arena *a, const char *text)
{
	struct text t = { 0 };

	for (; *text; text++) {
		const char one[] = { *text, 0 };

		text_add(&t, *text == '%' ? "%25" : *text == ';' ? "%3B" : *text == '\n' ? "%0A" : one);
	}
	const char *out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

// INPUT=WHAT: without blanks, but for the path of a file.
static bool is_assignment(const char *word)
{
	const size_t n = strcspn(word, "= \t\n");

	return n > 0 && word[n] == '=' &&
		(!strpbrk(word + n, " \t\n") || text_ends(word, ".npy") || text_ends(word, ".safetensors"));
}

static bool is_file(const char *word)
{
	return file_exists(word) && !file_is_dir(word);
}

const char *asked_typed(struct arena *a, const char *value)
{
	const char *rest = value, *word, *out = NULL;
	bool known = true;

	while (known && (word = next_value(&rest, ";", a))) {
		const bool as_it_is = text_starts(word, of_file) || text_starts(word, of_text) || is_assignment(word);

		known = as_it_is || is_file(word);
		out = arena_join(a, out, ";", as_it_is ? word : arena_printf(a, "%s%s", of_file, word));
	}
	if (known && out)
		return out;
	if (medium_names_file(a, value) && !strchr(value, ';'))
		return arena_printf(a, "%s%s", of_file, value);
	return arena_printf(a, "%s%s", of_text, with_escapes(a, text_starts(value, of_text) ? value + strlen(of_text) : value));
}

static void parse_thing(struct asked_inputs *out, struct arena *a, const char *word)
{
	const bool is = text_starts(word, of_file);

	out->things[out->thing_count++] =
		(struct asked_thing){ is, is ? word + strlen(of_file) : without_escapes(a, word + strlen(of_text)) };
}

// One input or dimension has one answer. The same one twice is none too many.
static enum status check_repeats(const struct asked_inputs *x, struct error *err)
{
	for (size_t i = 0; i < x->shape_count; i++)
		for (size_t k = 0; k < i; k++)
			if (text_is(x->shapes[i].input, x->shapes[k].input) &&
				(x->shapes[i].rank != x->shapes[k].rank ||
					memcmp(x->shapes[i].dim, x->shapes[k].dim, sizeof x->shapes[i].dim)))
				return error_set(
					err, STATUS_BAD_INPUT, "--shape %s: two shapes are asked for", x->shapes[i].input);
	for (size_t i = 0; i < x->dim_count; i++)
		for (size_t k = 0; k < i; k++)
			if (text_is(x->dims[i].symbol, x->dims[k].symbol) && x->dims[i].number != x->dims[k].number)
				return error_set(err, STATUS_BAD_INPUT, "--dim %s: both %lld and %lld are asked for",
					x->dims[i].symbol, (long long)x->dims[k].number, (long long)x->dims[i].number);
	for (size_t i = 0; i < x->input_count; i++)
		for (size_t k = 0; k < i; k++)
			if (text_is(x->inputs[i].input, x->inputs[k].input))
				return error_set(err, STATUS_BAD_INPUT, "--input %s: asked for twice", x->inputs[i].input);
	return STATUS_OK;
}

enum status asked_parse(struct asked_inputs *out, struct arena *a, const struct question *q, struct error *err)
{
	const char *shapes = q->shapes ? q->shapes : "", *dims = q->dims ? q->dims : "", *inputs = q->inputs ? q->inputs : "",
		   *word;
	const size_t shape_most = values(shapes, ";"), dim_most = values(dims, ";,"), input_most = values(inputs, ";");
	enum status st = STATUS_OK;

	*out = (struct asked_inputs){ 0 };
	if (shape_most > VALUES_MOST || dim_most > VALUES_MOST || input_most > VALUES_MOST)
		return error_set(err, STATUS_BAD_INPUT, "--shape, --dim and --input: at most %d values are taken", VALUES_MOST);
	out->shapes = ARENA_ARRAY(a, shape_most + 1, struct asked_shape);
	out->dims = ARENA_ARRAY(a, dim_most + 1, struct asked_dim);
	out->inputs = ARENA_ARRAY(a, input_most + 1, struct asked_input);
	while (!st && (word = next_value(&shapes, ";", a)))
		st = parse_shape(&out->shapes[out->shape_count++], a, word, err);
	while (!st && (word = next_value(&dims, ";,", a)))
		st = parse_dim(&out->dims[out->dim_count++], a, word, err);
	out->things = ARENA_ARRAY(a, input_most + 1, struct asked_thing);
	while (!st && (word = next_value(&inputs, ";", a)))
		if (text_starts(word, of_file) || text_starts(word, of_text))
			parse_thing(out, a, word);
		else
			st = parse_input(&out->inputs[out->input_count++], a, word, err);
	return st ? st : check_repeats(out, err);
}

// ---- files --------------------------------------------------------------------------------------------------------------

// The tensor for an input: an array that is alone in its file, or in.NAME or NAME of several.
static enum status open_file(struct arena *a, const struct asked_input *x, struct weight *out, struct error *err)
{
	const char *prefixed = arena_printf(a, "in.%s", x->input);
	struct weight *tensors;
	struct shard shard;
	size_t count;
	enum status st;

	if (text_ends(x->path, ".npy")) {
		st = npy_open(a, x->path, out, err);
		out->name = x->input;
		return st;
	}
	if ((st = safetensors_open(a, x->path, &shard, &tensors, &count, err)))
		return st;
	for (int plain = 0; plain < 2; plain++)
		for (size_t i = 0; i < count; i++)
			if (text_is(tensors[i].name, plain ? x->input : prefixed)) {
				*out = tensors[i];
				return STATUS_OK;
			}
	return error_set(err, STATUS_BAD_INPUT, "%s has no tensor %s or %s", x->path, prefixed, x->input);
}

static enum status check_thing(const char *path, struct error *err)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return error_errno(err, "--input %s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, STATUS_BAD_INPUT, "--input %s: no regular file; an input is a text or a file", path);
	return STATUS_OK;
}

// A file by its whole path: a question that is asked again from another folder is the same one.
static const char *absolute(struct arena *a, const char *path)
{
	char folder[4096];

	return *path != '/' && getcwd(folder, sizeof folder) && !strchr(folder, ';') ? arena_printf(a, "%s/%s", folder, path)
										     : path;
}

static enum status check_word(
	const char **word, const struct asked_input *x, struct arena *a, struct arena *passing, struct error *err)
{
	struct weight ignored;

	if (text_starts(*word, of_file)) {
		const char *path = *word + strlen(of_file);

		*word = arena_printf(a, "%s%s", of_file, absolute(a, path));
		return check_thing(path, err);
	}
	if (text_starts(*word, of_text) || !x->path)
		return STATUS_OK;
	if (!file_exists(x->path))
		return error_set(err, STATUS_BAD_INPUT, "--input %s: no such file", *word);
	*word = arena_printf(a, "%s=%s", x->input, absolute(a, x->path));
	return open_file(passing, x, &ignored, err);
}

enum status asked_check(struct question *q, struct arena *a, struct error *err)
{
	struct asked_inputs asked;
	struct arena passing = { 0 };
	const char *rest = q->inputs ? q->inputs : "", *word, *all = NULL;
	size_t i = 0; // of asked.inputs
	enum status st = asked_parse(&asked, a, q, err);

	while (!st && (word = next_value(&rest, ";", a)) != NULL) {
		const bool is_thing = text_starts(word, of_file) || text_starts(word, of_text);

		st = check_word(&word, is_thing ? NULL : &asked.inputs[i++], a, &passing, err);
		all = arena_join(a, all, ";", word);
	}
	arena_done(&passing);
	if (!st)
		q->inputs = all;
	return st;
}

const char *asked_digests(struct arena *a, const struct question *q)
{
	struct asked_inputs asked;
	const char *out = NULL;

	if (!q->inputs || asked_parse(&asked, a, q, NULL))
		return "";
	for (size_t i = 0; i < asked.input_count; i++)
		if (asked.inputs[i].path)
			out = arena_join(a, out, "\n", file_digest_key(a, asked.inputs[i].path));
	for (size_t i = 0; i < asked.thing_count; i++)
		if (asked.things[i].is_file)
			out = arena_join(a, out, "\n", file_digest_key(a, asked.things[i].value));
	return out ? out : "";
}

bool asked_has_files(const struct question *q)
{
	struct arena a = { 0 };
	struct asked_inputs asked;
	bool any = false;

	if (q->inputs && !asked_parse(&asked, &a, q, NULL)) {
		any = asked.thing_count > 0;
		for (size_t i = 0; i < asked.input_count && !any; i++)
			any = asked.inputs[i].path != NULL;
	}
	arena_done(&a);
	return any;
}

bool asked_has_things(const struct question *q)
{
	struct arena a = { 0 };
	struct asked_inputs asked;
	const bool any = q->inputs && !asked_parse(&asked, &a, q, NULL) && asked.thing_count > 0;

	arena_done(&a);
	return any;
}

uint64_t asked_nbytes(const struct question *q)
{
	struct arena a = { 0 };
	struct asked_inputs asked;
	struct weight w;
	uint64_t sum = 0;

	if (q->inputs && !asked_parse(&asked, &a, q, NULL))
		for (size_t i = 0; i < asked.input_count; i++)
			if (asked.inputs[i].path && !open_file(&a, &asked.inputs[i], &w, NULL))
				sum += w.nbytes; // mapped files: no sum of their sizes overflows
	arena_done(&a);
	return sum;
}

// ---- shapes -------------------------------------------------------------------------------------------------------------

static size_t find(const struct tensor_type *types, size_t count, const char *name)
{
	size_t i = 0;

	while (i < count && !text_is(types[i].name, name))
		i++;
	return i;
}

static const char *names_of(const struct tensor_type *types, size_t count, struct arena *a)
{
	enum { NAMED = 12 };
	const char *out = NULL;

	for (size_t i = 0; i < count && i < NAMED; i++)
		out = arena_join(a, out, ", ", arena_printf(a, "%.60s", types[i].name));
	return out ? arena_printf(a, "%s%s", out, count > NAMED ? ", ..." : "") : "none";
}

static enum status take_shape(struct tensor_type *t, const char *option, int rank, const int64_t *dim, struct error *err)
{
	char wanted[128], given[128];
	bool fits = rank == t->rank;

	for (int k = 0; fits && k < rank; k++)
		fits = t->dim[k] < 0 || t->dim[k] == dim[k];
	if (!fits)
		return error_set(err, STATUS_UNSUPPORTED, "%s %s: asks for %s, and the file has %s", option, t->name,
			tensor_shape_text(rank, dim, wanted, sizeof wanted),
			tensor_shape_text(t->rank, t->dim, given, sizeof given));
	memcpy(t->dim, dim, (size_t)rank * sizeof *dim);
	return STATUS_OK;
}

static enum status find_input(size_t *at, const struct tensor_type *types, size_t count, const char *option, const char *name,
	struct arena *a, struct error *err)
{
	*at = find(types, count, name);
	return *at < count ? STATUS_OK
			   : error_set(err, STATUS_UNSUPPORTED, "%s %s: the file has no such input; it has %s", option, name,
				     names_of(types, count, a));
}

// A name that stands in a list, and the list itself.
struct names {
	const char **items;
	size_t count;
};

static const char *name_at(size_t i, const void *table)
{
	const struct names *n = table;

	return i < n->count ? n->items[i] : NULL;
}

static void add_name(struct names *n, const char *name)
{
	for (size_t i = 0; i < n->count; i++)
		if (text_is(n->items[i], name))
			return;
	n->items[n->count++] = name;
}

static struct names symbols_of(const struct tensor_type *types, size_t count, struct arena *a)
{
	struct names out = { ARENA_ARRAY(a, count * TENSOR_MAX_RANK + 1, const char *), 0 };

	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < types[i].rank; k++)
			if (types[i].symbol[k] && *types[i].symbol[k])
				add_name(&out, types[i].symbol[k]);
	return out;
}

static const char *list_of(const struct names *n, struct arena *a)
{
	enum { NAMED = 24 };
	const char *out = NULL;

	for (size_t i = 0; i < n->count && i < NAMED; i++)
		out = arena_join(a, out, ", ", arena_printf(a, "%.60s", n->items[i]));
	return out ? arena_printf(a, "%s%s", out, n->count > NAMED ? ", ..." : "") : "none";
}

static enum status check_name(
	const struct names *n, const char *option, const char *what, const char *name, struct arena *a, struct error *err)
{
	const char *near;

	for (size_t i = 0; i < n->count; i++)
		if (text_is(n->items[i], name))
			return STATUS_OK;
	near = text_nearest(name, name_at, n);
	return error_set(err, STATUS_BAD_INPUT, "%s %s: %s%s%s%s; it has %s", option, name, what, near ? "; did you mean " : "",
		near ? near : "", near ? "?" : "", list_of(n, a));
}

enum status asked_names(
	const struct asked_inputs *asked, const struct tensor_type *types, size_t count, struct arena *a, struct error *err)
{
	static const char no_input[] = "the file has no such input", no_dim[] = "the file has no open dimension of this name";
	const struct names symbols = symbols_of(types, count, a);
	struct names inputs = { ARENA_ARRAY(a, count + 1, const char *), 0 };
	enum status st = STATUS_OK;

	for (size_t i = 0; i < count; i++)
		add_name(&inputs, types[i].name);
	for (size_t i = 0; i < asked->dim_count && !st; i++)
		st = check_name(&symbols, "--dim", no_dim, asked->dims[i].symbol, a, err);
	for (size_t i = 0; i < asked->shape_count && !st; i++)
		st = check_name(&inputs, "--shape", no_input, asked->shapes[i].input, a, err);
	for (size_t i = 0; i < asked->input_count && !st; i++)
		st = check_name(&inputs, "--input", no_input, asked->inputs[i].input, a, err);
	return st;
}

static enum status take_dim(
	const struct asked_dim *d, struct tensor_type *types, size_t count, struct arena *a, struct error *err)
{
	bool found = false;

	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < types[i].rank; k++) {
			const char *symbol = types[i].symbol[k];

			if (text_is(symbol, d->symbol)) {
				found = true;
				if (types[i].dim[k] >= 0 && types[i].dim[k] != d->number)
					return error_set(err, STATUS_UNSUPPORTED, "--dim %s=%lld: it is %lld in %.60s", d->symbol,
						(long long)d->number, (long long)types[i].dim[k], types[i].name);
				types[i].dim[k] = d->number;
			}
		}
	const struct names all = symbols_of(types, count, a);
	return found ? STATUS_OK
		     : error_set(err, STATUS_UNSUPPORTED, "--dim %s: no dimension of its inputs has this name; named are %s",
			       d->symbol, list_of(&all, a));
}

// A name of a dimension stands for one number in all inputs.
static enum status check_symbols(
	const struct tensor_type *types, size_t count, const struct tensor_type *before, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < types[i].rank; k++)
			for (size_t j = 0; j <= i && types[i].symbol[k] && *types[i].symbol[k]; j++)
				for (int n = 0; n < types[j].rank; n++)
					if (text_is(types[i].symbol[k], types[j].symbol[n]) && before[i].dim[k] < 0 &&
						before[j].dim[n] < 0 && types[i].dim[k] >= 0 && types[j].dim[n] >= 0 &&
						types[i].dim[k] != types[j].dim[n])
						return error_set(err, STATUS_UNSUPPORTED,
							"the dimension %.60s is asked to be %lld in %.60s and %lld in %.60s: the "
							"file has one name for both",
							types[i].symbol[k], (long long)types[j].dim[n], types[j].name,
							(long long)types[i].dim[k], types[i].name);
	return STATUS_OK;
}

// What one dimension of a name has become, all have.
static void spread(struct tensor_type *types, size_t count, const struct tensor_type *before)
{
	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < types[i].rank; k++) {
			const char *symbol = types[i].symbol[k];

			if (before[i].dim[k] >= 0 || types[i].dim[k] < 0 || !symbol || !*symbol)
				continue;
			for (size_t j = 0; j < count; j++)
				for (int n = 0; n < types[j].rank; n++)
					if (types[j].dim[n] < 0 && text_is(types[j].symbol[n], symbol))
						types[j].dim[n] = types[i].dim[k];
		}
}

enum status asked_apply(
	const struct asked_inputs *asked, struct tensor_type *types, size_t count, struct arena *a, struct error *err)
{
	struct tensor_type *before = ARENA_ARRAY(a, count + 1, struct tensor_type);
	enum status st = STATUS_OK;
	size_t at;

	if (!asked->shape_count && !asked->dim_count && !asked->input_count)
		return STATUS_OK;
	if (count)
		memcpy(before, types, count * sizeof *types);
	for (size_t i = 0; i < asked->shape_count && !st; i++) {
		const struct asked_shape *s = &asked->shapes[i];

		if (!(st = find_input(&at, types, count, "--shape", s->input, a, err)))
			st = take_shape(&types[at], "--shape", s->rank, s->dim, err);
	}
	for (size_t i = 0; i < asked->dim_count && !st; i++)
		st = take_dim(&asked->dims[i], types, count, a, err);
	for (size_t i = 0; i < asked->input_count && !st; i++) {
		struct weight w;

		if (!(st = find_input(&at, types, count, "--input", asked->inputs[i].input, a, err)) && asked->inputs[i].path &&
			!(st = open_file(a, &asked->inputs[i], &w, err)))
			st = take_shape(&types[at], "--input", w.rank, w.dim, err);
	}
	if (!st)
		st = check_symbols(types, count, before, err);
	if (!st)
		spread(types, count, before);
	return st;
}

// ---- numbers ------------------------------------------------------------------------------------------------------------

static double random_number(const struct asked_input *x, bool whole, uint64_t z)
{
	const double n = x->low + (x->high - x->low) * ((double)(z >> 11) * 0x1p-53);

	return whole ? floor(n) : n;
}

// What engines make of a NaN or an infinity differs from one to the next and is no fault of either.
static enum status check_finite(const struct asked_input *x, const struct tensor *t, struct error *err)
{
	for (size_t i = 0; inputs_is_float(t->dtype) && i < t->nbytes / dtype_size(t->dtype); i++)
		if (!isfinite(tensor_get(t, i)))
			return error_set(err, STATUS_UNSUPPORTED,
				"--input %s: number %zu of %s is %s as %s: engines need not agree on it, so that nothing could "
				"be judged",
				x->input, i + 1, x->path, isnan(tensor_get(t, i)) ? "NaN" : "infinite", dtype_word(t->dtype));
	return STATUS_OK;
}

enum status asked_fill(const struct asked_inputs *asked, struct arena *a, const struct tensor_type *types, struct tensor *made,
	size_t count, uint64_t seed, struct error *err)
{
	enum status st = STATUS_OK;

	for (size_t i = 0; i < asked->input_count && !st; i++) {
		const struct asked_input *x = &asked->inputs[i];
		const size_t at = find(types, count, x->input);
		struct weight w;

		if (at == count)
			continue;
		if (x->path) {
			if (!(st = open_file(a, x, &w, err)))
				st = inputs_take(a, &types[at], &w, x->path, &made[at], err);
			if (!st)
				st = check_finite(x, &made[at], err);
			continue;
		}
		struct tensor *t = &made[at];
		const bool whole = !inputs_is_float(t->dtype);
		const uint64_t stream = fnv1a64_text(t->name) ^ splitmix64(seed, 1);

		for (size_t k = 0; k < t->nbytes / dtype_size(t->dtype); k++)
			inputs_store(t, k,
				x->fill == ASKED_ONES            ? 1
					: x->fill == ASKED_ZEROS ? 0
								 : random_number(x, whole, splitmix64(stream, k)));
	}
	return st;
}
