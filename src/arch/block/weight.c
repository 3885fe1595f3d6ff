// SPDX-License-Identifier: Apache-2.0
// From a family's word for a weight to the tensor in the file: names by dialect, older suffixes, shapes checked, 16-bit
// weights cast. Also the small layers that are little more than their weights.
#include <string.h>

#include "arch/block/block.h"
#include "arch/plan.h"

static const char *stem_in_file(const struct build *b, const char *stem)
{
	for (const struct weight_name *n = b->s->row->dialect->weights; n->canonical; n++)
		if (text_is(n->canonical, stem))
			return n->file;
	return NULL;
}

// "@encoder.layer.#.x" + "weight" -> "bert.encoder.layer.3.x.weight", after `root`
static const char *file_name(const struct build *b, const char *root, const char *pattern, const char *suffix)
{
	const int64_t numbers[][3] = { { b->layer }, { b->stage, b->layer }, { b->stage, b->layer, b->item } };
	int hashes = 0, used = 0;
	for (const char *p = pattern; *p; p++)
		hashes += *p == '#';
	struct text name = { 0 };
	text_add(&name, root);
	for (const char *p = pattern; *p; p++)
		if (*p == '@')
			text_add(&name, b->s->prefix);
		else if (*p == '$')
			text_add(&name, b->item_name ? b->item_name : "");
		else if (*p == '*')
			text_addf(&name, "%lld", (long long)b->item);
		else if (*p == '#' && hashes <= 3)
			text_addf(&name, "%lld", (long long)numbers[hashes - 1][used++]);
		else
			text_add_bytes(&name, p, 1);
	if (suffix[0])
		text_addf(&name, ".%s", suffix);
	const char *kept = arena_strdup(graph_arena(b->g), text_get(&name));
	text_done(&name);
	return kept;
}

// The tensor under its name or, in files made by older programs, under "gamma" and "beta". What lies outside the base model
// may lie outside a part's place in the file too (lm_head beside model.language_model).
static const struct weight *find_as(const struct build *b, const char *pattern, const char *suffix, const char **name)
{
	*name = file_name(b, b->s->root, pattern, suffix);
	const struct weight *w = checkpoint_find(b->c, *name);
	const char *older = text_is(suffix, "weight") ? "gamma" : text_is(suffix, "bias") ? "beta" : NULL;
	if (!w && older)
		w = checkpoint_find(b->c, file_name(b, b->s->root, pattern, older));
	if (!w && b->s->prefix[0] && pattern[0] == '@') // some classes have a part of the base model outside of it
		w = checkpoint_find(b->c, file_name(b, b->s->root, pattern + 1, suffix));
	if (!w && b->s->root[0] && pattern[0] != '@')
		w = checkpoint_find(b->c, file_name(b, "", pattern, suffix));
	return w;
}

// The dialect names no such tensor: what is missing is ours, not the model's and not an engine's.
static void not_built(const struct build *b, const char *stem)
{
	graph_fail(b->g, STATUS_UNSUPPORTED, "the head %s of type %s is not built yet: its dialect %s names no tensor for %s",
		b->s->head ? b->s->head->name : "of a part", b->s->row->model_type, b->s->row->dialect->name, stem);
}

// A dialect may have several words for a stem: the first is a new file's.
static const struct weight *find(const struct build *b, const char *stem, const char *suffix, const char **name)
{
	const struct weight *w = NULL;
	const char *first = stem_in_file(b, stem), *other;
	if (!first) {
		not_built(b, stem);
		return NULL;
	}
	w = find_as(b, first, suffix, name);
	for (const struct weight_name *n = b->s->row->dialect->weights; !w && n->canonical; n++)
		if (n->file != first && text_is(n->canonical, stem))
			w = find_as(b, n->file, suffix, &other);
	return w;
}

bool weight_named(const struct build *b, const char *stem)
{
	return stem_in_file(b, stem) != NULL;
}

bool weight_exists(const struct build *b, const char *stem, const char *suffix)
{
	const char *name = "";
	return b->plan || find(b, stem, suffix, &name);
}

bool weights_differ(const struct build *b, const char *stem, const char *other, const char *suffix)
{
	const char *name = "";
	const struct weight *w = weight_named(b, stem) ? find(b, stem, suffix, &name) : NULL,
			    *x = weight_named(b, other) ? find(b, other, suffix, &name) : NULL;

	if (b->plan || !w || !x || w == x || !w->data || !x->data)
		return false;
	return w->dtype != x->dtype || w->nbytes != x->nbytes || memcmp(w->data, x->data, w->nbytes) != 0;
}

// "; unread with that shape: NAME, .." for a message; "" where there are none, or so many that they say nothing.
static const char *unread_alike(const struct build *b, int rank, const int64_t *dim)
{
	enum { FEW = 3 };
	const char *names = "";
	size_t count = 0;
	for (size_t i = 0; i < b->c->weight_count && count <= FEW; i++) {
		const struct weight *w = &b->c->weights[i];
		if (b->read[i] || w->rank != rank || (rank && memcmp(w->dim, dim, (size_t)rank * sizeof *dim)))
			continue;
		names = arena_printf(
			graph_arena(b->g), "%s%s%.128s", names, count++ ? ", " : "; unread with that shape: ", w->name);
	}
	return count <= FEW ? names : "";
}

static bool is_kind(enum dtype t, bool integers)
{
	if (integers)
		return t == DTYPE_I64 || t == DTYPE_I32;
	return t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16 || t == DTYPE_F64;
}

// As stored, not cast.
static graph_value stored_as(struct build *b, const char *stem, const char *suffix, int rank, const int64_t *dim, bool integers)
{
	struct graph *g = b->g;
	if (graph_failed(g))
		return NO_VALUE;
	const char *name = "";
	const struct weight *w = b->plan ? NULL : find(b, stem, suffix, &name);
	char wanted[128], found[128];
	if (b->plan) {
		const char *pattern = stem_in_file(b, stem);
		if (!pattern) {
			not_built(b, stem);
			return NO_VALUE;
		}
		name = file_name(b, b->s->root, pattern, suffix);
		plan_add(b->plan, name, rank, dim, b->gain);
		return graph_external(g, name, DTYPE_F32, rank, dim, "plan", 0, 0);
	}
	if (!w) {
		graph_fail(g, STATUS_BAD_INPUT, "%s: the tensor %s%s is missing%s", b->c->path, name,
			tensor_shape_text(rank, dim, wanted, sizeof wanted), unread_alike(b, rank, dim));
		return NO_VALUE;
	}
	if (w->rank != rank || (rank && memcmp(w->dim, dim, (size_t)rank * sizeof *dim))) {
		graph_fail(g, STATUS_BAD_INPUT, "%s: %s: expected %s, found %s", w->shard->path, w->name,
			tensor_shape_text(rank, dim, wanted, sizeof wanted),
			tensor_shape_text(w->rank, w->dim, found, sizeof found));
		return NO_VALUE;
	}
	if (!is_kind(w->dtype, integers)) {
		graph_fail(g, STATUS_UNSUPPORTED, "%s: %s: weights of type %s are not supported yet", w->shard->path, w->name,
			dtype_word(w->dtype));
		return NO_VALUE;
	}
	b->read[w - b->c->weights] = true;
	return graph_external(g, w->name, w->dtype, rank, dim, w->shard->location, w->offset, w->nbytes);
}

static graph_value stored(struct build *b, const char *stem, const char *suffix, int rank, const int64_t *dim)
{
	return stored_as(b, stem, suffix, rank, dim, false);
}

graph_value weight_integers(struct build *b, const char *stem, int rank, const int64_t *dim)
{
	const char *name = "";
	const struct weight *w = b->plan || graph_failed(b->g) ? NULL : find(b, stem, "", &name);
	return op_cast(b->g, stored_as(b, stem, "", rank, dim, !w || !is_kind(w->dtype, false)), DTYPE_I64);
}

graph_value weight(struct build *b, const char *stem, const char *suffix, int rank, const int64_t *dim)
{
	return op_cast(b->g, stored(b, stem, suffix, rank, dim), DTYPE_F32);
}

graph_value weights_of_heads(struct build *b, const char *stem, int64_t heads, int64_t width)
{
	struct graph *g = b->g;
	graph_value *rows = GRAPH_TABLE(g, NULL, heads + 1, 1, graph_value);
	if (!rows)
		return NO_VALUE;
	for (b->item = 0; b->item < heads && !graph_failed(b->g); b->item++)
		rows[b->item] = op_reshape(g, WEIGHT(b, stem, "weight", width), 2, (int64_t[]){ 1, width });
	return op_concat(g, (int)heads, rows, 0);
}

int64_t weight_rows(const struct build *b, const char *stem, const char *suffix, int64_t usual)
{
	const char *name = "";
	const struct weight *w = b->plan || graph_failed(b->g) ? NULL : find(b, stem, suffix, &name);
	return w && w->rank > 0 ? w->dim[0] : usual;
}

graph_value weight_item(struct build *b, const char *stem, int rank, const int64_t *dim)
{
	return weight_item_of(b, stem, rank, dim, false);
}

graph_value weight_item_of(struct build *b, const char *stem, int rank, const int64_t *dim, bool flat)
{
	struct graph *g = b->g;
	const int64_t rows[] = { dim[0] * dim[1], rank > 2 ? dim[2] : 0 };
	const char *name = "";
	const struct weight *w = b->plan ? NULL : find(b, stem, "", &name);
	// The first checks the whole; each graph_external of a name that is taken would look through all values.
	if ((b->item == 0 || (!b->plan && !w)) && !stored(b, stem, "", flat ? rank - 1 : rank, flat ? rows : dim).id)
		return NO_VALUE;
	if (graph_failed(g) || rank < 2)
		return NO_VALUE;
	if (!w)
		return graph_external(g,
			arena_printf(graph_arena(g), "%s.%lld.%lld", stem, (long long)b->layer, (long long)b->item), DTYPE_F32,
			rank - 1, dim + 1, "plan", 0, 0);
	uint64_t each = w->nbytes / (uint64_t)dim[0];
	graph_value part = graph_external(g, arena_printf(graph_arena(g), "%s.%lld", w->name, (long long)b->item), w->dtype,
		rank - 1, dim + 1, w->shard->location, w->offset + (uint64_t)b->item * each, each);
	return op_cast(g, part, DTYPE_F32);
}

graph_value embedding(struct build *b, const char *stem, graph_value ids, int64_t rows, int64_t width)
{
	graph_value table = stored(b, stem, "weight", 2, (int64_t[]){ rows, width });
	return op_cast(b->g, op_gather(b->g, table, ids, 0), DTYPE_F32); // only the rows that were read are cast
}

graph_value linear(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out, bool bias)
{
	if (b->s->traits.transposed_weights && text_starts(stem, "layers.")) {
		graph_value w = WEIGHT(b, stem, "weight", in, out);
		return op_linear_in_out(b->g, x, w, bias ? WEIGHT(b, stem, "bias", out) : NO_VALUE);
	}
	graph_value w = WEIGHT(b, stem, "weight", out, in);
	return op_linear(b->g, x, w, bias ? WEIGHT(b, stem, "bias", out) : NO_VALUE);
}

graph_value adapter_of(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out)
{
	struct arena *a = graph_arena(b->g);
	int64_t rank = b->s->adapter_rank;
	x = linear(b, arena_printf(a, "%s.adapter_a", stem), x, in, rank, false);
	return linear(b, arena_printf(a, "%s.adapter_b", stem), x, rank, out, false);
}

graph_value layer_norm(struct build *b, const char *stem, graph_value x, int64_t width)
{
	graph_value w = WEIGHT(b, stem, "weight", width);
	return op_layer_norm(b->g, x, w, WEIGHT(b, stem, "bias", width), (float)b->s->norm_eps);
}

graph_value rms_norm(struct build *b, const char *stem, graph_value x, int64_t width)
{
	graph_value w = WEIGHT(b, stem, "weight", width);
	if (b->s->traits.norm_plus_one)
		w = op_add(b->g, w, graph_f32(b->g, 1));
	return op_rms_norm(b->g, x, w, (float)b->s->norm_eps);
}

graph_value leaky_relu(struct graph *g, graph_value x, double slope)
{
	return op_max(g, x, op_scale(g, x, (float)slope));
}

graph_value elu(struct graph *g, graph_value x)
{
	graph_value below = op_exp(g, op_min(g, x, graph_f32(g, 0)));
	return op_add(g, op_relu(g, x), op_sub(g, below, graph_f32(g, 1)));
}

graph_value activate(struct build *b, enum activation act, graph_value x)
{
	switch (act) {
	case ACT_GELU:
		return op_gelu(b->g, x);
	case ACT_GELU_TANH:
		return op_gelu_tanh(b->g, x);
	case ACT_RELU:
		return op_relu(b->g, x);
	case ACT_SILU:
		return op_silu(b->g, x);
	case ACT_RELU2: {
		graph_value r = op_relu(b->g, x);
		return op_mul(b->g, r, r);
	}
	case ACT_TANH:
		return op_tanh(b->g, x);
	case ACT_SIGMOID:
		return op_sigmoid(b->g, x);
	case ACT_MISH:
		return op_mul(b->g, x, op_tanh(b->g, op_softplus(b->g, x)));
	case ACT_LEAKY_RELU:
		return leaky_relu(b->g, x, 0.01);
	case ACT_RELU6:
		return op_min(b->g, op_relu(b->g, x), graph_f32(b->g, 6));
	case ACT_XIELU:
		graph_fail(b->g, STATUS_UNSUPPORTED, "the activation xielu is built in feed-forward layers only");
		break;
	case ACT_QUICK_GELU:
		return op_mul(b->g, x, op_sigmoid(b->g, op_scale(b->g, x, 1.702f)));
	case ACT_HARD_SWISH: {
		graph_value gate = op_min(b->g, op_relu(b->g, op_add(b->g, x, graph_f32(b->g, 3))), graph_f32(b->g, 6));
		return op_mul(b->g, x, op_scale(b->g, gate, 1.0f / 6));
	}
	case ACT_GELU_10:
		return op_max(b->g, op_min(b->g, op_gelu(b->g, x), graph_f32(b->g, 10)), graph_f32(b->g, -10));
	case ACT_LAPLACE: {
		graph_value away = op_scale(b->g, op_sub(b->g, x, graph_f32(b->g, 0.707107f)), 1 / (0.282095f * 1.41421356f));
		return op_scale(b->g, op_add(b->g, op_erf(b->g, away), graph_f32(b->g, 1)), 0.5f);
	}
	case ACT_SQRT_SOFTPLUS:
		return op_sqrt(b->g, op_softplus(b->g, x));
	case ACT_NONE:
		break;
	}
	return x;
}

graph_value positions_from_pad(struct build *b, graph_value ids)
{
	struct graph *g = b->g;
	graph_value pad = graph_i64(g, b->s->pad_token_id);
	graph_value is_token = op_cast(g, op_not(g, op_equal(g, ids, pad)), DTYPE_I64);
	return op_add(g, op_mul(g, op_cumsum(g, is_token, 1), is_token), pad);
}

graph_value first_token(struct build *b, graph_value hidden)
{
	return op_squeeze(b->g, op_slice(b->g, hidden, 1, 0, 1), 1);
}
