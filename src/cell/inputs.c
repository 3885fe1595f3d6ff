// SPDX-License-Identifier: Apache-2.0
// Inputs for a graph. Synthetic ones are drawn from a stream of their own for each name, so that the same question gives the
// same numbers on every engine, in whatever order an engine declares its inputs.
#include "cell/inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/text.h"
#include "cell/guess.h"
#include "checkpoint/checkpoint.h"
#include "onnx/flow.h"

#define INPUT_LIMIT ((size_t)8 << 30) // of one tensor: a wrong --batch is told, not tried

enum { SEQUENCE_USUAL = 128, PADDING_LEAST = 8 };

enum role {
	ROLE_IDS,
	ROLE_MASK,
	ROLE_PLACES, // of parts of a picture, a mask
	ROLE_TYPE_IDS,
	ROLE_POSITIONS,
	ROLE_NUMBERS,
	ROLE_INTEGERS,
	ROLE_SIZES,
	ROLE_GRIDS,
	ROLE_BOXES,
	ROLE_STATE,
	ROLE_VOICE,
	ROLE_VOICE_NUMBERS,
	ROLE_RATE, // of a user's .onnx, like the one below
	ROLE_SCALE
};

bool inputs_is_float(enum dtype t)
{
	return t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16 || t == DTYPE_F64;
}

// What an input of this name is; a name that begins with '*' is the end of names, and the first row that fits counts. A new kind
// of input is a row here, and what it looks like a case in `number`.
static const struct known_input {
	const char *name;
	enum role role;
} known_inputs[] = {
	{ "*type_ids", ROLE_TYPE_IDS },
	{ "*position_ids", ROLE_POSITIONS },
	{ "cache_position", ROLE_POSITIONS },
	{ "global_attention_mask", ROLE_TYPE_IDS }, // none is
	{ "image_embeds_position_mask", ROLE_PLACES },
	{ "*mask", ROLE_MASK },
	{ "is_longer", ROLE_MASK },
	{ "inputs", ROLE_IDS }, // Perceiver's
	{ "input_shape_ids", ROLE_INTEGERS },
	{ "input_pronunciation_ids", ROLE_INTEGERS },
	{ "trajectories", ROLE_IDS },
	{ "image_sizes", ROLE_SIZES },
	{ "spatial_shapes", ROLE_SIZES },
	{ "image_grid_thw", ROLE_GRIDS },
	{ "grid_thw", ROLE_GRIDS },
	{ "img_shapes", ROLE_GRIDS },
	{ "*merge_sizes", ROLE_SCALE },
	{ "classes_structure", ROLE_SCALE }, // one class a picture
	{ "aspect_ratio_ids", ROLE_SCALE },  // one tile
	{ "bbox", ROLE_BOXES },
	{ "speaker_id", ROLE_VOICE },
	{ "speaker_ids", ROLE_VOICE },
	{ "lang_ids", ROLE_VOICE },
	{ "speaker_embedding", ROLE_VOICE_NUMBERS },
};

static enum role role_of(const struct tensor_type *t)
{
	if (flow_input(t->name) == FLOW_STATE)
		return ROLE_STATE;
	for (size_t i = 0; i < sizeof known_inputs / sizeof *known_inputs; i++) {
		const struct known_input *k = &known_inputs[i];

		if (*k->name == '*' ? text_ends(t->name, k->name + 1) : text_is(t->name, k->name))
			return k->role;
	}
	if (inputs_is_float(t->dtype))
		return ROLE_NUMBERS;
	return text_ends(t->name, "ids") ? ROLE_IDS : ROLE_INTEGERS;
}

// The same, and what only graphs have that assay did not build.
static enum role role_in(const struct tensor_type *t, const struct input_hints *hints)
{
	const bool as_given = hints && hints->tables;

	return as_given && guess_is_state(t)    ? ROLE_STATE
		: as_given && guess_is_rate(t)  ? ROLE_RATE
		: as_given && guess_is_scale(t) ? ROLE_SCALE
						: role_of(t);
}

// ---- shapes -------------------------------------------------------------------------------------------------------------

int64_t inputs_symbol(const char *name, const struct input_hints *hints, const struct input_shape *shape)
{
	if (shape->image_size > 0 && (text_is(name, "height") || text_is(name, "width")))
		return shape->image_size;
	for (size_t i = 0; hints && i < sizeof hints->symbols / sizeof *hints->symbols && hints->symbols[i].name; i++)
		if (text_is(hints->symbols[i].name, name))
			return hints->symbols[i].number * (hints->symbols[i].each ? shape->batch : 1);
	if (text_is(name, "batch") || text_is(name, "image_batch") || text_is(name, "audio_batch"))
		return shape->batch;
	if (text_is(name, "samples"))
		return 16000;
	if (text_starts(name, "past_") && strstr(name, "sequence") && !strstr(name, "encoder"))
		return shape->past;
	if (text_starts(name, "total_") && strstr(name, "sequence"))
		return shape->past + shape->sequence;
	return strstr(name, "sequence") ? shape->sequence : -1;
}

enum status inputs_shape(
	struct input_shape *out, const struct input_hints *hints, int64_t batch, int64_t sequence, struct error *err)
{
	int64_t most = hints->max_sequence;
	struct input_shape shape = { .batch = batch > 0 ? batch : 1,
		.sequence = sequence > 0 ? sequence : SEQUENCE_USUAL + hints->image_tokens };

	if (most > 0 && sequence > most)
		return error_set(err, STATUS_UNSUPPORTED, "a sequence of %lld tokens: this model takes at most %lld",
			(long long)sequence, (long long)most);
	if (most > 0 && shape.sequence > most)
		shape.sequence = most;
	*out = shape;
	return STATUS_OK;
}

// How surely the first dimension of a tensor "in.NAME" is the batch.
static int batch_rank(const char *name)
{
	if (text_ends(name, "ids"))
		return 3;
	return text_ends(name, "mask") || text_starts(name, "in.pixel_values") || text_starts(name, "in.input_") ? 2 : 1;
}

static bool is_one_of(const char *symbol, const char *const *names, size_t count)
{
	for (size_t i = 0; symbol && i < count; i++)
		if (!strcasecmp(symbol, names[i]))
			return true;
	return false;
}

bool inputs_names_batch(const char *symbol, int axis)
{
	static const char *const names[] = { "batch", "batch_size", "batchsize", "batch size", "image_batch", "audio_batch" };
	static const char *const first[] = { "bs", "N", "b" }; // elsewhere a number of points, of boxes, ...

	return is_one_of(symbol, names, sizeof names / sizeof *names) ||
		(axis == 0 && is_one_of(symbol, first, sizeof first / sizeof *first));
}

bool inputs_names_length(const char *symbol)
{
	static const char *const parts[] = { "time", "seq", "length", "frame", "token", "point", "step", "num_" };

	for (size_t i = 0; symbol && i < sizeof parts / sizeof *parts; i++)
		if (strcasestr(symbol, parts[i]))
			return true;
	return false;
}

// A name that an exporter made up, or none: "unk__7" of tf2onnx, "s0" of torch.export, "input_dynamic_axes_1" of torch.onnx,
// "x_dim_0" and "dynamic_axis_0" of others. It says nothing.
static bool says_nothing(const char *symbol)
{
	size_t n = symbol ? strlen(symbol) : 0, digits = 0;

	while (digits < n && symbol[n - 1 - digits] >= '0' && symbol[n - 1 - digits] <= '9')
		digits++;
	return n == 0 || text_is(symbol, "?") || text_is(symbol, "None") ||
		(digits > 0 &&
			(n == digits || (n == digits + 1 && strchr("sud", *symbol)) || text_starts(symbol, "unk_") ||
				strcasestr(symbol, "dynamic") || strcasestr(symbol, "dim")));
}

int64_t inputs_batch(const struct tensor_type *types, const struct tensor *built, size_t count, int64_t asked)
{
	bool all = count > 0 && asked > 1;

	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < types[i].rank && k < built[i].rank; k++)
			if (inputs_names_batch(types[i].symbol[k], k))
				return built[i].dim[k];
	for (size_t i = 0; i < count; i++)
		all &= built[i].rank > 0 && built[i].dim[0] == asked && says_nothing(types[i].symbol[0]);
	return all ? asked : -1;
}

bool inputs_batch_leaves(const struct tensor_type *outputs, size_t count, int64_t batch)
{
	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < outputs[i].rank; k++)
			if (outputs[i].dim[k] < 0 || (k == 0 && batch > 1 && outputs[i].dim[k] == batch))
				return true;
	return false;
}

enum status inputs_check_asked(const struct tensor_type *types, size_t count, int64_t batch, int64_t sequence, struct error *err)
{
	const struct tensor_type *fixed = NULL, *ids = NULL;
	bool takes_batch = batch <= 1, takes_sequence = sequence <= 0;
	char shape[128];

	for (size_t i = 0; i < count; i++) {
		const struct tensor_type *t = &types[i];

		for (int k = 0; k < t->rank; k++)
			takes_batch |= (t->dim[k] < 0 && (k == 0 || inputs_names_batch(t->symbol[k], k))) ||
				(k == 0 && t->dim[k] == batch);
		if (t->rank > 0 && !fixed)
			fixed = t;
		if (t->rank != 2 || !text_ends(t->name, "ids"))
			continue;
		takes_sequence |= t->dim[1] < 0 || t->dim[1] == sequence;
		ids = ids ? ids : t;
	}
	if (!takes_batch && fixed)
		return error_set(err, STATUS_UNSUPPORTED,
			"--batch %lld cannot be asked of it: the model's inputs have a fixed batch of %lld (%s is %s)",
			(long long)batch, (long long)fixed->dim[0], fixed->name,
			tensor_shape_text(fixed->rank, fixed->dim, shape, sizeof shape));
	if (!takes_sequence && ids)
		return error_set(err, STATUS_UNSUPPORTED,
			"--seq %lld cannot be asked of it: the model's inputs have a fixed length of %lld (%s is %s)",
			(long long)sequence, (long long)ids->dim[1], ids->name,
			tensor_shape_text(ids->rank, ids->dim, shape, sizeof shape));
	return STATUS_OK;
}

static const struct weight *find(const struct weight *tensors, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (text_starts(tensors[i].name, "in.") && text_is(tensors[i].name + 3, name))
			return &tensors[i];
	return NULL;
}

enum status inputs_file_shape(struct input_shape *out, const char *path, struct error *err)
{
	int best = 0;
	struct arena a = { 0 };
	struct shard shard;
	struct weight *tensors;
	size_t count;
	enum status st = safetensors_open(&a, path, &shard, &tensors, &count, err);

	for (size_t i = 0; !st && i < count; i++) {
		int rank = batch_rank(tensors[i].name);

		if (!text_starts(tensors[i].name, "in.") || tensors[i].rank < 1)
			continue;
		if (rank > best) {
			best = rank;
			out->batch = tensors[i].dim[0];
		}
		if (text_ends(tensors[i].name, "ids") && tensors[i].rank == 2)
			out->sequence = tensors[i].dim[1];
	}
	arena_done(&a);
	return st;
}

uint64_t inputs_file_nbytes(const char *path)
{
	struct arena a = { 0 };
	struct shard shard;
	struct weight *tensors;
	size_t count;
	uint64_t sum = 0;

	if (!safetensors_open(&a, path, &shard, &tensors, &count, NULL))
		for (size_t i = 0; i < count; i++)
			sum += text_starts(tensors[i].name, "in.") ? tensors[i].nbytes : 0; // no two overlap: at most the file
	arena_done(&a);
	return sum;
}

enum status inputs_file_symbols(struct arena *a, const struct tensor_type *types, size_t count, const char *path,
	struct input_symbol **out, size_t *n, struct error *err)
{
	struct arena passing = { 0 };
	struct shard shard;
	struct weight *tensors;
	size_t tensor_count_in_file, kept = 0;
	enum status st = safetensors_open(&passing, path, &shard, &tensors, &tensor_count_in_file, err);

	struct input_symbol *all = ARENA_ARRAY(a, count * TENSOR_MAX_RANK + 1, struct input_symbol);
	for (size_t i = 0; i < count && !st; i++) {
		const struct weight *w = find(tensors, tensor_count_in_file, types[i].name);

		for (int k = 0; w && w->rank == types[i].rank && k < w->rank; k++) {
			size_t at = 0;

			if (!types[i].symbol[k])
				continue;
			while (at < kept && !text_is(all[at].name, types[i].symbol[k]))
				at++;
			if (at == kept)
				all[kept++] = (struct input_symbol){ arena_strdup(a, types[i].symbol[k]), 0 };
			if (w->dim[k] > all[at].number)
				all[at].number = w->dim[k];
		}
	}
	arena_done(&passing);
	*out = all;
	*n = kept;
	return st;
}

void inputs_bind(struct graph *g, const struct input_hints *hints, const struct input_shape *shape)
{
	static const char *const usual[] = { "batch", "image_batch", "audio_batch", "sequence", "encoder_sequence",
		"decoder_sequence", "past_sequence_length", "total_sequence_length", "samples" };

	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		graph_bind(g, usual[i], inputs_symbol(usual[i], hints, shape));
	for (size_t i = 0; hints && i < sizeof hints->symbols / sizeof *hints->symbols && hints->symbols[i].name; i++)
		graph_bind(g, hints->symbols[i].name, inputs_symbol(hints->symbols[i].name, hints, shape));
	inputs_bind_image(g, shape);
}

void inputs_bind_image(struct graph *g, const struct input_shape *shape)
{
	if (shape->image_size <= 0)
		return;
	graph_bind(g, "height", shape->image_size);
	graph_bind(g, "width", shape->image_size);
}

// A picture, or what stands for one in a network of diffusion.
static bool is_image(const struct tensor_type *t)
{
	static const char *const latents[] = { "sample", "latent_sample", "hidden_states" };
	bool is = text_starts(t->name, "pixel_values");

	for (size_t i = 0; i < sizeof latents / sizeof *latents; i++)
		is |= text_is(t->name, latents[i]);
	return is && t->rank >= 4;
}

enum status inputs_check_image(const struct tensor_type *types, size_t count, const struct input_hints *hints,
	const struct input_shape *shape, struct error *err)
{
	const long long n = shape->image_size;

	for (int i = 0; i < 2 && hints->max_image > 0 && !shape->file; i++) {
		const long long side = inputs_symbol(i ? "width" : "height", hints, shape);
		if (side > hints->max_image)
			return error_set(err, STATUS_UNSUPPORTED,
				"latents of %s %lld: this model takes at most %lld, which is %s of its configuration",
				i ? "width" : "height", side, (long long)hints->max_image, hints->max_image_why);
	}
	if (n <= 0)
		return STATUS_OK;
	for (size_t i = 0; i < count; i++) {
		const struct tensor_type *t = &types[i];

		if (!is_image(t))
			continue;
		const long long height = t->dim[t->rank - 2], width = t->dim[t->rank - 1];
		if (height == n && width == n)
			return STATUS_OK;
		return error_set(err, STATUS_UNSUPPORTED,
			"images of %lld by %lld: this model takes %lld by %lld and no other; its learned positions are made for "
			"them",
			n, n, height, width);
	}
	return error_set(err, STATUS_UNSUPPORTED, "images of %lld by %lld: this model takes no images", n, n);
}

// The keys and values of an encoder's states, as optimum and transformers.js name them.
static bool is_encoder_cache(const char *name)
{
	return flow_input(name) == FLOW_CACHE && strstr(name, ".encoder.");
}

// Is this dimension how many states of an encoder there are?
static bool counts_states(const struct tensor_type *t, int axis)
{
	return is_encoder_cache(t->name)
		? axis == 2
		: (text_is(t->name, "encoder_attention_mask") || text_is(t->name, "encoder_hidden_states")) && axis == 1;
}

// As the first of them declares that does; 0: all leave it open.
static int64_t declared_states(const struct tensor_type *types, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (int axis = 0; axis < types[i].rank; axis++)
			if (counts_states(&types[i], axis) && types[i].dim[axis] > 0)
				return types[i].dim[axis];
	return 0;
}

// The first dimension whose name says that it is the batch; -1: none.
static int batch_axis(const struct tensor_type *t)
{
	for (int k = 0; k < t->rank; k++)
		if (inputs_names_batch(t->symbol[k], k))
			return k;
	return -1;
}

// Dimension `axis` of a declared type. Engines tell no symbols' names, only that a dimension is open: the first one is then the
// batch; the second is the sequence of tokens [batch, sequence] or of embeddings [batch, sequence, hidden].
static int64_t decide(const struct tensor_type *t, int axis, const struct input_hints *hints, const struct input_shape *shape)
{
	int64_t named = t->symbol[axis] ? inputs_symbol(t->symbol[axis], hints, shape) : -1;

	if (t->dim[axis] >= 0)
		return t->dim[axis];
	if (shape->encoder > 0 && counts_states(t, axis))
		return shape->encoder;
	if (named >= 0)
		return named;
	if (axis == 2 && flow_input(t->name) == FLOW_CACHE)
		return is_encoder_cache(t->name) ? shape->sequence : shape->past;
	bool is_length = axis == 0 && inputs_names_length(t->symbol[0]);
	if (axis == batch_axis(t) || (axis == 0 && batch_axis(t) < 0 && !is_length))
		return shape->batch;
	if (is_length && t->rank > 3)
		return 1;                            // frames of a film: as many as the usual text has tokens would be too much
	if ((axis != 1 && axis != 0) || t->rank > 3) // the first one where the batch is another: [sequence, batch, ..]
		return -1;
	if (text_is(t->name, "input_values"))
		return inputs_symbol("samples", hints, shape);
	return text_is(t->name, "attention_mask") ? shape->past + shape->sequence : shape->sequence;
}

static enum status shape_of(const struct tensor_type *t, const struct input_hints *hints, const struct input_shape *shape,
	struct tensor *out, struct error *err)
{
	char text[128];
	size_t count;

	*out = (struct tensor){ .name = t->name, .dtype = t->dtype, .rank = t->rank };
	for (int axis = 0; axis < t->rank; axis++) {
		out->dim[axis] = decide(t, axis, hints, shape);
		if (out->dim[axis] < 0)
			return error_set(err, STATUS_UNSUPPORTED,
				"input %s is %s: no size is known for dimension %d; --shape %s:N,N,... says it", t->name,
				tensor_shape_text(t->rank, t->dim, text, sizeof text), axis, t->name);
	}
	if (!dtype_size(t->dtype))
		return error_set(err, STATUS_UNSUPPORTED, "input %s has an element type that assay cannot fill", t->name);
	if (!tensor_count(out->rank, out->dim, &count) || count > INPUT_LIMIT / dtype_size(t->dtype))
		return error_set(err, STATUS_BAD_INPUT, "input %s would be %s, more than 8 GiB", t->name,
			tensor_shape_text(out->rank, out->dim, text, sizeof text));
	out->nbytes = count * dtype_size(t->dtype);
	return STATUS_OK;
}

static void store_integer(enum dtype t, void *data, size_t i, int64_t n)
{
	switch (dtype_size(t)) {
	case 8:
		((int64_t *)data)[i] = n;
		break;
	case 4:
		((int32_t *)data)[i] = (int32_t)n;
		break;
	case 2:
		((int16_t *)data)[i] = (int16_t)n;
		break;
	default:
		((int8_t *)data)[i] = (int8_t)n;
	}
}

// Of a number from an option: what no integer holds becomes the nearest that 32 bits hold.
static int64_t whole(double x)
{
	return x >= INT32_MAX ? INT32_MAX : x <= INT32_MIN ? INT32_MIN : isnan(x) ? 0 : (int64_t)x;
}

static void store_float(enum dtype t, void *data, size_t i, float x)
{
	switch (t) {
	case DTYPE_F64:
		((double *)data)[i] = (double)x;
		break;
	case DTYPE_F16:
		((uint16_t *)data)[i] = f16_of_f32(x);
		break;
	case DTYPE_BF16:
		((uint16_t *)data)[i] = bf16_of_f32(x);
		break;
	default:
		((float *)data)[i] = x;
	}
}

void inputs_store(const struct tensor *t, size_t i, double x)
{
	if (inputs_is_float(t->dtype))
		store_float(t->dtype, t->data, i, (float)x);
	else
		store_integer(t->dtype, t->data, i, t->dtype == DTYPE_BOOL ? x > 0 || x < 0 : whole(x));
}

// What random tokens may not be: each of these means something.
static bool is_special(int64_t id, const struct input_hints *h)
{
	return id == h->pad_token_id || (h->image_tokens > 0 && id == h->image_token_id) ||
		(h->ends_with_eos && id == h->eos_token_id);
}

// Rows of the table that this input of a user's .onnx indexes; 0: not found.
static int64_t table_rows(const struct input_hints *hints, const char *name)
{
	for (size_t i = 0; hints && i < hints->table_count; i++)
		if (text_is(hints->tables[i].name, name))
			return hints->tables[i].rows;
	return 0;
}

static bool is_image_place(const struct input_hints *hints, size_t at)
{
	return hints->image_tokens > 0 && at >= 1 && at <= (size_t)hints->image_tokens;
}

// Token `at` of a row of `width`; `rows` as table_rows says.
static int64_t token(const struct input_hints *hints, int64_t rows, bool is_prompt, size_t at, size_t width, uint64_t random)
{
	// Without a known vocabulary 0 and 1 are the only ids that any table has.
	int64_t vocab = rows > 0                 ? rows
		: hints && hints->vocab_size > 0 ? hints->vocab_size
						 : 2,
		n = (int64_t)(random % (uint64_t)vocab);

	if (rows > 0 || !hints || hints->vocab_size <= 1)
		return n;
	if (is_prompt && hints->image_token_id >= 0 && is_image_place(hints, at))
		return hints->image_token_id;
	if (is_prompt && hints->ends_with_eos && at + 1 == width)
		return hints->eos_token_id;
	for (int64_t tries = 0; tries < 4 && is_special(n, hints); tries++)
		n = (n + 1) % vocab;
	return n;
}

static int64_t box_edge(size_t i, uint64_t random)
{
	return (int64_t)(random % 499) + (i % 4 < 2 ? 0 : 500);
}

struct filling {
	enum role role;
	const struct input_hints *hints; // may be NULL
	const struct input_shape *shape;
	int64_t rows; // as table_rows says
	size_t width; // of a row: the last dimension
	bool is_prompt;
};

// Number i of an input that is not ROLE_NUMBERS.
static int64_t number(const struct filling *f, size_t i, uint64_t random)
{
	switch (f->role) {
	case ROLE_IDS:
		return token(f->hints, f->rows, f->is_prompt, i % f->width, f->width, random);
	case ROLE_INTEGERS:
		return (int64_t)(f->rows > 0 ? random % (uint64_t)f->rows : random & 1);
	case ROLE_POSITIONS:
		return (int64_t)(i % f->width) + f->shape->past;
	case ROLE_SIZES:
		return f->hints ? f->hints->image_size[i % 2] : 0;
	case ROLE_GRIDS:
		return f->hints ? f->hints->image_grid[i % 3] : 0;
	case ROLE_BOXES:
		return box_edge(i, random);
	case ROLE_RATE:
		return GUESS_RATE;
	case ROLE_MASK:
	case ROLE_SCALE:
		return 1;
	case ROLE_PLACES:
		return !f->hints || is_image_place(f->hints, i % f->width);
	case ROLE_VOICE: // of many the first; in the place of what a file lacks, nobody's
		return f->hints ? 0 : -1;
	case ROLE_NUMBERS:
	case ROLE_VOICE_NUMBERS:
	case ROLE_TYPE_IDS:
	case ROLE_STATE:
		break;
	}
	return 0;
}

static void fill(
	struct tensor *t, enum role role, const struct input_hints *hints, const struct input_shape *shape, uint64_t seed)
{
	const uint64_t stream = fnv1a64_text(t->name) ^ splitmix64(seed, 0);
	const size_t count = t->nbytes / dtype_size(t->dtype);
	const struct filling f = { role, hints, shape, table_rows(hints, t->name), t->rank ? (size_t)t->dim[t->rank - 1] : 1,
		text_is(t->name, "input_ids") };

	for (size_t i = 0; i < count; i++) {
		const uint64_t z = splitmix64(stream, i);

		if (role == ROLE_NUMBERS || (role == ROLE_VOICE_NUMBERS && hints))
			store_float(t->dtype, t->data, i, (float)splitmix64_unit(z));
		else if (inputs_is_float(t->dtype)) // a mask may be declared as floats
			store_float(t->dtype, t->data, i, (float)number(&f, i, z));
		else
			store_integer(t->dtype, t->data, i, number(&f, i, z));
	}
}

static enum status no_memory(const struct tensor *t, struct error *err)
{
	return error_set(err, STATUS_NO_MEMORY, "not enough memory for the %zu bytes of input %s", t->nbytes, t->name);
}

// All that hold the states of an encoder hold as many.
static enum status check_states(const struct tensor_type *types, const struct tensor *in, size_t count, struct error *err)
{
	const struct tensor *first = NULL;
	int64_t states = 0;

	for (size_t i = 0; i < count; i++)
		for (int axis = 0; axis < in[i].rank; axis++) {
			if (!counts_states(&types[i], axis))
				continue;
			if (first && in[i].dim[axis] != states)
				return error_set(err, STATUS_UNSUPPORTED,
					"inputs %s and %s are of %lld and %lld states of an encoder: what they would mean "
					"together is not "
					"known; give inputs in a file (--golden), or their shapes (--shape)",
					first->name, in[i].name, (long long)states, (long long)in[i].dim[axis]);
			first = &in[i];
			states = in[i].dim[axis];
		}
	return STATUS_OK;
}

enum status inputs_synthetic(struct arena *a, const struct tensor_type *types, size_t count, const struct input_hints *hints,
	const struct input_shape *asked, uint64_t seed, struct tensor *out, struct error *err)
{
	struct input_shape of_states = *asked;
	const struct input_shape *shape = &of_states;
	enum status st = STATUS_OK;

	if (of_states.encoder <= 0)
		of_states.encoder = declared_states(types, count);
	for (size_t i = 0; i < count; i++) {
		if ((st = shape_of(&types[i], hints, shape, &out[i], err)))
			return st;
		if (hints && hints->image_tokens > 0 && text_is(types[i].name, "input_ids") &&
			out[i].dim[out[i].rank - 1] <= hints->image_tokens)
			return error_set(err, STATUS_UNSUPPORTED,
				"a sequence of %lld tokens: the %lld that stand for an image do not fit in behind the first one",
				(long long)out[i].dim[out[i].rank - 1], (long long)hints->image_tokens);
	}
	if ((st = check_states(types, out, count, err)))
		return st;
	for (size_t i = 0; i < count; i++) {
		if (!(out[i].data = arena_try(a, out[i].nbytes)))
			return no_memory(&out[i], err);
		fill(&out[i], role_in(&types[i], hints), hints, shape, seed);
	}
	return STATUS_OK;
}

// input_ids and attention_mask where both are integers of one shape [batch, seq] that is not empty.
static bool find_text(const struct tensor *in, size_t count, const struct tensor **ids, const struct tensor **mask)
{
	*ids = *mask = NULL;
	for (size_t i = 0; i < count; i++) {
		if (in[i].rank != 2 || inputs_is_float(in[i].dtype) || !in[i].nbytes)
			continue;
		if (text_is(in[i].name, "input_ids"))
			*ids = &in[i];
		if (text_is(in[i].name, "attention_mask"))
			*mask = &in[i];
	}
	return *ids && *mask && (*ids)->dim[0] == (*mask)->dim[0] && (*ids)->dim[1] == (*mask)->dim[1];
}

// The row's tokens from `length` on become padding.
static void pad_row(
	const struct tensor *ids, const struct tensor *mask, const struct input_hints *hints, size_t row, size_t length)
{
	const size_t width = (size_t)ids->dim[1], begin = row * width;
	bool has_pad = hints->pad_token_id >= 0 && hints->pad_token_id < hints->vocab_size;
	int64_t pad = has_pad ? hints->pad_token_id : (int64_t)tensor_get(ids, begin);

	for (size_t at = length; at < width; at++) {
		store_integer(ids->dtype, ids->data, begin + at, pad);
		store_integer(mask->dtype, mask->data, begin + at, 0);
	}
	if (hints->ends_with_eos)
		store_integer(ids->dtype, ids->data, begin + length - 1, hints->eos_token_id);
}

void inputs_pad(const struct tensor *in, size_t count, const struct input_hints *hints, uint64_t seed)
{
	const struct tensor *ids, *mask;

	if (!find_text(in, count, &ids, &mask))
		return;
	const size_t batch = (size_t)ids->dim[0], width = (size_t)ids->dim[1],
		     image = hints->image_tokens > 0 ? (size_t)hints->image_tokens + 1 : 0;
	const size_t text = width > image ? width - image : 0,
		     most = text / 4 + (size_t)(splitmix64(seed, fnv1a64("padding", 7)) % 3);

	for (size_t row = 0; row < batch && text >= PADDING_LEAST; row++)
		pad_row(ids, mask, hints, row, width - (batch == 1 ? most : most * row / (batch - 1)));
}

double inputs_padding(const struct tensor *in, size_t count)
{
	const struct tensor *ids, *mask;
	size_t padded = 0;

	if (!find_text(in, count, &ids, &mask))
		return (double)NAN;
	const size_t places = (size_t)(mask->dim[0] * mask->dim[1]);
	for (size_t i = 0; i < places; i++)
		padded += !(tensor_get(mask, i) > 0);
	return (double)padded / (double)places;
}

int64_t inputs_positions(const struct input_hints *hints)
{
	int64_t least = 0;

	for (size_t i = 0; i < hints->table_count; i++) {
		const struct tensor_type type = { .name = hints->tables[i].name, .dtype = DTYPE_I64 };

		if (role_of(&type) == ROLE_POSITIONS && hints->tables[i].rows > 0 && (!least || hints->tables[i].rows < least))
			least = hints->tables[i].rows;
	}
	return least;
}

const char *inputs_note(struct arena *a, const struct tensor_type *types, size_t count, const struct input_hints *hints)
{
	struct text t = { 0 };
	const char *note = NULL;

	for (size_t i = 0; i < count && hints->tables; i++) {
		enum role role = role_in(&types[i], hints);
		int64_t rows = table_rows(hints, types[i].name);

		if ((role != ROLE_IDS && role != ROLE_INTEGERS) || types[i].dtype == DTYPE_BOOL)
			continue;
		text_addf(&t, "%s%s: ", t.length ? "; " : "", types[i].name);
		if (rows > 0)
			text_addf(&t, "below %lld, the rows of the table that it indexes", (long long)rows);
		else
			text_addf(&t, "0 and 1, vocabulary not found");
	}
	if (t.length)
		note = arena_strdup(a, text_get(&t));
	text_done(&t);
	return note;
}

static double read_number(const struct weight *w, size_t i)
{
	struct tensor t = { .dtype = w->dtype, .rank = w->rank, .data = (void *)(uintptr_t)w->data, .nbytes = w->nbytes };

	return tensor_get(&t, i);
}

// May the file leave this input out?
static bool has_neutral(const struct tensor_type *t, const struct weight *tensors, size_t count)
{
	enum role role = role_of(t);
	const struct weight *uses = find(tensors, count, "use_cache_branch");

	if (is_encoder_cache(t->name))
		return uses && uses->nbytes && !(read_number(uses, 0) > 0);
	return role == ROLE_MASK || role == ROLE_TYPE_IDS || role == ROLE_POSITIONS || role == ROLE_STATE || role == ROLE_VOICE ||
		role == ROLE_VOICE_NUMBERS || flow_input(t->name) == FLOW_CACHE;
}

// As the graph declares it: the file may hold int32 ids for an int64 input, or the other way round, or whole timesteps for f32.
enum status inputs_take(struct arena *a, const struct tensor_type *type, const struct weight *w, const char *path,
	struct tensor *out, struct error *err)
{
	char found[128], wanted[128];
	size_t count = 1;
	bool fits = w->rank == type->rank;

	for (int k = 0; fits && k < type->rank; k++)
		fits = type->dim[k] < 0 || type->dim[k] == w->dim[k];
	if (!fits || !tensor_count(w->rank, w->dim, &count))
		return error_set(err, STATUS_BAD_INPUT, "%s: %s is %s, the graph takes %s", path, w->name,
			tensor_shape_text(w->rank, w->dim, found, sizeof found),
			tensor_shape_text(type->rank, type->dim, wanted, sizeof wanted));
	if ((!inputs_is_float(type->dtype) && inputs_is_float(w->dtype)) || !dtype_size(type->dtype))
		return error_set(err, STATUS_BAD_INPUT, "%s: %s is %s, the graph takes %s", path, w->name, dtype_word(w->dtype),
			dtype_word(type->dtype));
	*out = (struct tensor){
		.name = type->name, .dtype = type->dtype, .rank = w->rank, .nbytes = count * dtype_size(type->dtype)
	};
	memcpy(out->dim, w->dim, sizeof out->dim);
	if (!(out->data = arena_try(a, out->nbytes)))
		return no_memory(out, err);
	if (type->dtype == w->dtype)
		memcpy(out->data, w->data, out->nbytes);
	for (size_t i = 0; i < count && type->dtype != w->dtype; i++)
		if (inputs_is_float(type->dtype))
			store_float(type->dtype, out->data, i, (float)read_number(w, i));
		else
			store_integer(type->dtype, out->data, i, (int64_t)read_number(w, i));
	for (size_t i = 0; i < count && type->dtype == DTYPE_BOOL; i++) // engines make different things of others
		if (((const uint8_t *)out->data)[i] > 1)
			return error_set(
				err, STATUS_BAD_INPUT, "%s: %s has a truth value that is neither 0 nor 1", path, w->name);
	return STATUS_OK;
}

// A tensor of any size may hold nothing, when a dimension is 0: a mask of the others would take what no file had to hold.
static enum status check_filled(const struct weight *w, const char *path, struct error *err)
{
	char text[128];

	return w->nbytes ? STATUS_OK
			 : error_set(err, STATUS_BAD_INPUT, "%s: %s is %s, which holds nothing", path, w->name,
				   tensor_shape_text(w->rank, w->dim, text, sizeof text));
}

// How the row says what a role's neutral value is.
static const char *neutral_word(enum role role)
{
	return role == ROLE_MASK                              ? "1"
		: role == ROLE_TYPE_IDS || role == ROLE_STATE ? "0"
		: role == ROLE_POSITIONS                      ? "0, 1, 2, ..."
		: role == ROLE_VOICE_NUMBERS                  ? "0"
		: role == ROLE_VOICE                          ? "-1"
							      : NULL;
}

// Are these [batch, sequence], or [batch, sequence, words] beside a mask of the tokens?
static bool by_token(const struct weight *ids, const struct tensor_type *types, size_t count)
{
	for (size_t i = 0; ids->rank == 3 && i < count; i++)
		if (text_is(types[i].name, "attention_mask"))
			return types[i].rank == 2;
	return ids->rank == 2;
}

enum status inputs_file(struct arena *a, const struct tensor_type *types, size_t count, const char *path, struct tensor *out,
	const char **lacks, struct error *err)
{
	struct shard shard;
	struct weight *tensors;
	size_t there;
	enum status st = safetensors_open(a, path, &shard, &tensors, &there, err);

	return st ? st : inputs_of(a, types, count, tensors, there, path, out, lacks, err);
}

// Of tokens or frames, [batch, sequence]
static bool is_mask_of_rows(const char *name)
{
	return text_is(name, "attention_mask") || text_is(name, "padding_mask");
}

// Numbers that mean nothing, whatever a graph makes of them: engines need not agree on it.
static enum status check_meaning(const struct weight *w, const char *path, struct error *err)
{
	const char *name = w->name + strlen("in.");
	const bool is_mask = is_mask_of_rows(name) && w->rank == 2, is_ids = text_is(name, "input_ids");

	for (size_t i = 0; (is_mask || is_ids) && !inputs_is_float(w->dtype) && i < w->nbytes / dtype_size(w->dtype); i++) {
		double x = read_number(w, i);

		if (is_mask ? x > 1 || x < 0 : x < 0)
			return error_set(err, STATUS_BAD_INPUT, "%s: %s holds %.15g, and %s", path, w->name, x,
				is_mask ? "a mask means something by 0 and 1 only" : "no token has a number below 0");
	}
	return STATUS_OK;
}

enum status inputs_of(struct arena *a, const struct tensor_type *types, size_t count, const struct weight *tensors, size_t there,
	const char *path, struct tensor *out, const char **lacks, struct error *err)
{
	const char *names = NULL;
	struct input_shape shape = { .batch = 1, .sequence = 1 };
	enum status st;

	const struct weight *ids = find(tensors, there, "input_ids");
	if (ids && by_token(ids, types, count)) { // neutral values get the shape of the ids
		if ((st = check_filled(ids, path, err)))
			return st;
		shape = (struct input_shape){ .batch = ids->dim[0], .sequence = ids->dim[1] };
	}
	for (size_t i = 0; i < count; i++) {
		const struct weight *w = find(tensors, there, types[i].name);
		enum role role = role_of(&types[i]);

		if (w) {
			st = inputs_take(a, &types[i], w, path, &out[i], err);
			st = st ? st : check_meaning(w, path, err);
		} else if (has_neutral(&types[i], tensors, there)) {
			struct tensor_type type = types[i];
			const struct weight *pixels =
				text_starts(type.name, "pixel_") && type.rank == 3 ? find(tensors, there, "pixel_values") : NULL;
			const struct weight *sound = text_is(type.name, "attention_mask") || text_is(type.name, "padding_mask")
				? find(tensors, there, "input_values")
				: NULL;
			const bool is_samples = sound != NULL; // [batch, samples], or [batch, channels, samples]

			if (neutral_word(role))
				names = arena_join(a, names, ", ", arena_printf(a, "%s (%s)", type.name, neutral_word(role)));
			if (pixels && pixels->rank > 2) { // [batch, height, width] beside [batch, channels, height, width]
				type.dim[0] = pixels->dim[0];
				type.dim[1] = pixels->dim[pixels->rank - 2];
				type.dim[2] = pixels->dim[pixels->rank - 1];
			}
			if (!sound && is_mask_of_rows(type.name) && !ids)
				sound = find(tensors, there, "input_features");
			if (sound && sound->rank > 1 && type.rank == 2) { // else [batch, frames] beside [batch, frames, bins]
				type.dim[0] = sound->dim[0];
				type.dim[1] = sound->dim[is_samples ? sound->rank - 1 : 1];
			}
			if (is_encoder_cache(type.name) && type.rank > 2 && type.dim[2] < 0)
				type.dim[2] = 0;
			st = pixels ? check_filled(pixels, path, err) : sound ? check_filled(sound, path, err) : STATUS_OK;
			if (!st)
				st = shape_of(&type, NULL, &shape, &out[i], err);
			if (!st && !(out[i].data = arena_try(a, out[i].nbytes)))
				st = no_memory(&out[i], err);
			if (!st)
				fill(&out[i], role, NULL, &shape, 0);
		} else {
			st = error_set(
				err, STATUS_BAD_INPUT, "%s has no tensor in.%s, which the graph takes", path, types[i].name);
		}
		if (st)
			return st;
	}
	if (lacks)
		*lacks = names;
	return STATUS_OK;
}

enum status inputs_all_taken(
	const struct tensor_type *types, size_t count, const struct weight *tensors, size_t there, struct error *err)
{
	static const char *const main_names[] = { "input_ids", "pixel_values", "input_values", "input_features" };

	for (size_t k = 0; k < sizeof main_names / sizeof *main_names; k++) {
		size_t i = 0;

		while (i < count && !text_is(types[i].name, main_names[k]))
			i++;
		if (i == count && find(tensors, there, main_names[k]))
			return error_set(err, STATUS_BAD_INPUT, "--input: the model takes no %s, which %s comes to",
				main_names[k],
				k == 0           ? "a text"
					: k == 1 ? "a picture"
						 : "a sound");
	}
	return STATUS_OK;
}

static int by_name(const void *a, const void *b)
{
	const struct tensor *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

void inputs_hash(const struct tensor *in, size_t count, char out[65])
{
	const struct tensor **sorted = calloc(count ? count : 1, sizeof *sorted);
	struct hash h;

	if (!sorted)
		abort();
	for (size_t i = 0; i < count; i++)
		sorted[i] = &in[i];
	qsort(sorted, count, sizeof *sorted, by_name); // engines declare inputs in different orders
	hash_init(&h);
	for (size_t i = 0; i < count; i++) {
		hash_add_text(&h, sorted[i]->name);
		hash_add_text(&h, dtype_word(sorted[i]->dtype));
		hash_add(&h, &sorted[i]->rank, sizeof sorted[i]->rank);
		hash_add(&h, sorted[i]->dim, (size_t)sorted[i]->rank * sizeof sorted[i]->dim[0]);
		hash_add(&h, sorted[i]->data, sorted[i]->nbytes);
	}
	hash_hex(&h, out);
	free(sorted);
}
