// SPDX-License-Identifier: Apache-2.0
// SegGPT (Wang et al. 2023, https://arxiv.org/abs/2304.03284): a picture below a prompt and, apart from it, the mask of the
// prompt above a place for the picture's, all painted by one vision transformer; both streams become one after some layers.
//
//   prompt over picture -> patches + positions ------------------+
//                                                                +- layers - mean of both - layers -> states - norm -> pixels
//   prompt's mask over nothing -> patches or mask + positions ---+
#include "arch/block/image.h"
#include "arch/family/vitdet.h"

// spec.own of the family.
struct seggpt {
	int64_t merge, count, width, trained; // trained: grid of the learned positions
	const bool *read;                     // [layers]: is what this layer gives among the states that are read
	bool relative;
};

static void resolve_read(struct config *c, const struct spec *s, struct seggpt *o, struct arena *a)
{
	int64_t count = 0;
	const int64_t *at = config_sizes(c, "intermediate_hidden_state_indices", a, 0, &count);
	bool *read = ARENA_ARRAY(a, (size_t)s->layers + 1, bool), bad = count < 1;
	for (int64_t i = 0; i < count; i++) {
		bad = bad || at[i] >= s->layers || at[i] < o->merge || read[at[i]];
		if (at[i] < s->layers)
			read[at[i]] = true;
	}
	if (!c->error.status && bad)
		config_fail(c, STATUS_BAD_INPUT,
			"intermediate_hidden_state_indices should be layers, merge_index %lld or after it, each once",
			(long long)o->merge);
	o->read = read;
	o->count = count;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct seggpt *o = ARENA_NEW(a, struct seggpt);
	s->own = o;
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	o->merge = config_size(c, "merge_index", 2);
	o->width = s->head == &head_segmentation ? config_size(c, "decoder_hidden_size", 64) : 1;
	o->relative = config_bool(c, "use_relative_position_embeddings", true);
	int64_t trained[2];
	resolve_pair(c, a, "pretrain_image_size", 224, 1, trained);
	if (c->error.status)
		return;
	o->trained = trained[0] / s->patch_size;
	if (s->patch_size != s->patch_width || trained[0] != trained[1] || o->trained < 1 || o->width < 1 || s->channels != 3 ||
		s->image_size % 2 || s->image_size % s->patch_size || s->image_width % s->patch_size)
		config_fail(c, STATUS_BAD_INPUT, "images of %lld by %lld in patches of %lld, pretrain_image_size %lld",
			(long long)s->image_size, (long long)s->image_width, (long long)s->patch_size, (long long)trained[0]);
	else if (s->head == &head_segmentation)
		resolve_read(c, s, o, a);
}

// Pictures one over the other -> [batch, patches, hidden]
static graph_value patches(struct build *b, graph_value above, graph_value below)
{
	struct graph *g = b->g;
	int64_t p = b->s->patch_size;
	graph_value both = op_concat(g, 2, (graph_value[]){ above, below }, 2);
	return tokens_of(b,
		conv(b, "embed.patch", both,
			(struct conv){ .out = b->s->hidden_size, .kernel = p, .stride = p, .pad = PAD_NONE, .bias = true }));
}

static graph_value token(struct build *b, const char *stem)
{
	int64_t h = b->s->hidden_size;
	return op_reshape(b->g, WEIGHT(b, stem, "", 1, 1, 1, h), 3, (int64_t[]){ 1, 1, h });
}

// Both streams, one after the other: [2 * batch, patches, hidden]
static graph_value embed(struct build *b, graph_value pixels, graph_value prompt, graph_value masks)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct seggpt *o = s->own;
	int64_t p = s->patch_size, h = s->hidden_size, rows = s->image_size / p, cols = s->image_width / p, n = rows * cols;
	graph_value table = WEIGHT(b, "embed.position", "", 1, o->trained * o->trained + 1, h);
	graph_value place = grid_positions(b, op_slice(g, table, 1, 1, INT64_MAX), 0, o->trained, o->trained,
		graph_i64s(g, 1, &rows), graph_i64s(g, 1, &cols), "cubic");
	place = op_add(g, place, token(b, "embed.kind"));
	graph_value x = op_add(g, patches(b, prompt, pixels), op_add(g, token(b, "embed.input"), place));
	graph_value known = op_slice(g, patches(b, masks, masks), 1, 0, n / 2);
	graph_value sizes =
		op_concat(g, 2, (graph_value[]){ op_dim(g, pixels, 0), graph_i64s(g, 2, (int64_t[]){ n - n / 2, h }) }, 0);
	graph_value y = op_concat(g, 2, (graph_value[]){ known, op_expand(g, token(b, "embed.mask"), sizes) }, 1);
	y = op_add(g, y, op_add(g, token(b, "embed.prompt"), place));
	return op_concat(g, 2, (graph_value[]){ x, y }, 0);
}

static graph_value layer(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	const struct seggpt *o = s->own;
	int64_t h = s->hidden_size, p = s->patch_size;
	graph_value y = layer_norm(b, "layers.attn.norm", x, h);
	x = op_add(b->g, x, vitdet_attention(b, y, s->image_size / p, s->image_width / p, o->relative));
	return op_add(b->g, x, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", layer_norm(b, "layers.ffn.norm", x, h)));
}

// The mean of both streams
static graph_value merged(struct build *b, graph_value x, graph_value batch)
{
	struct graph *g = b->g;
	graph_value none = graph_i64s(g, 1, (int64_t[]){ 0 }), end = op_add(g, batch, batch);
	x = op_add(g, op_slice_to(g, x, 0, none, batch), op_slice_to(g, x, 0, batch, end));
	return op_scale(g, x, 0.5f);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct seggpt *o = s->own;
	int64_t shape[] = { graph_symbol(g, "batch"), 3, s->image_size / 2, s->image_width };
	graph_value pixels = graph_input(g, "pixel_values", DTYPE_F32, 4, shape),
		    prompt = graph_input(g, "prompt_pixel_values", DTYPE_F32, 4, shape),
		    masks = graph_input(g, "prompt_masks", DTYPE_F32, 4, shape);
	graph_value x = embed(b, pixels, prompt, masks);
	struct body io = { .pixels = pixels };
	io.states = ARENA_ARRAY(graph_arena(g), (size_t)s->layers + 1, graph_value);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x);
		if (b->layer == o->merge) {
			x = merged(b, x, op_dim(g, pixels, 0));
			graph_assume(g, x, 0, shape[0]);
		}
		graph_leave(g);
		if (o->read && o->read[b->layer])
			states_add(&io, layer_norm(b, "norm", x, s->hidden_size));
	}
	io.last = x;
	head_build(b, &io);
}

static void build_bare(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	int64_t p = s->patch_size, sizes[] = { 0, s->image_size / p, s->image_width / p, s->hidden_size };
	graph_output(b->g, "last_hidden_state", op_reshape(b->g, io->last, 4, sizes));
}

static void build_masks(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct seggpt *o = s->own;
	int64_t p = s->patch_size, rows = s->image_size / p, cols = s->image_width / p, w = o->width;
	if (io->state_count != o->count) {
		graph_fail(g, STATUS_UNSUPPORTED, "%s: intermediate_hidden_state_indices reads layers that were left out",
			b->c->path);
		return;
	}
	graph_enter(g, "head");
	graph_value x = op_concat(g, (int)o->count, io->states, 2);
	x = linear(b, "head.pixels", x, o->count * s->hidden_size, p * p * w, true);
	x = op_transpose(g, op_reshape(g, x, 6, (int64_t[]){ 0, rows, cols, p, p, w }), 6, (int[]){ 0, 5, 1, 3, 2, 4 });
	x = op_reshape(g, x, 4, (int64_t[]){ 0, w, rows * p, cols * p });
	x = map_norm(b, "head.norm", conv(b, "head.conv", x, (struct conv){ .out = w, .kernel = 3, .bias = true }), s->norm_eps);
	x = conv(b, "head.out", activate(b, s->act, x), (struct conv){ .out = 3, .kernel = 1, .bias = true });
	graph_leave(g);
	graph_output(g, "pred_masks", x); // [batch, 3, height, width]
}

static const struct family_head heads[] = {
	{ &head_segmentation, build_masks },
	{ &head_model, build_bare },
	{ 0 },
};

const struct family seggpt = {
	.name = "seggpt",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
