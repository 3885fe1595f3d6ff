// SPDX-License-Identifier: Apache-2.0
// Text-visual prompting: when in a film what a text says happens (Zhang et al. 2023, https://arxiv.org/abs/2303.04995). A film is
// a number of frames, around each of which a learned frame is laid; their grids of features become one, their mean.
//
//   frames (+ learned frames) -> backbone -> 3x3 conv - max pool - relu -> mean + row + column -> norm -+
//   text -> words + positions -> norm ------------------------------------------------------------------+
//   [learned tokens, text, grid] -> BERT's layers -> first token: dense - tanh -> begin and end, as shares of the film
#include "arch/block/image.h"

enum { PROMPT = 10 };

struct tvp {
	int64_t frames, margin; // margin: how wide a learned frame is; 0: there is none
	int64_t rows, cols;     // that there are positions for
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct tvp *o = ARENA_NEW(a, struct tvp);
	s->own = o;
	resolve_transformer(c, s, false);
	const char *kind = config_text(c, "visual_prompter_type"), *how = config_text(c, "visual_prompter_apply");
	int64_t size = config_size(c, "max_img_size", 448), margin = config_size(c, "visual_prompt_size", 96);
	bool removed = text_is(how, "remove"); // the class multiplies by a mask of ones
	o->frames = config_count(c, "num_frames", 48);
	o->margin = removed ? 0 : margin;
	o->rows = config_size(c, "max_grid_row_position_embeddings", 100);
	o->cols = config_size(c, "max_grid_col_position_embeddings", 100);
	if (config_text(c, "backbone"))
		config_fail(c, STATUS_UNSUPPORTED, "a backbone whose configuration lies elsewhere is not supported");
	if (kind && !text_is(kind, "framepad"))
		config_fail(c, STATUS_UNSUPPORTED, "visual_prompter_type %s is not supported", kind);
	if (how && !removed && !text_is(how, "replace") && !text_is(how, "add"))
		config_fail(c, STATUS_BAD_INPUT, "visual_prompter_apply should be add, replace or remove");
	struct spec *backbone = resolve_part(c, s, a, "backbone", "backbone_config", NULL, &head_backbone,
		(const char *const[]){ "model.vision_model.backbone.", "vision_model.backbone.", NULL });
	if (!backbone || c->error.status)
		return;
	s->channels = backbone->channels;
	resolve_backbone_image(s, backbone);
	if (o->frames < 1 || size < 1 || (s->image_size && s->image_size != size) || (o->margin && 2 * o->margin >= size) ||
		(o->margin && s->channels != 3) || s->type_vocab_size < 1 || o->rows < 1 || o->cols < 1)
		config_fail(c, STATUS_BAD_INPUT, "%lld frames of %lld by %lld, %lld channels, visual_prompt_size %lld",
			(long long)o->frames, (long long)size, (long long)size, (long long)s->channels, (long long)margin);
	s->image_size = s->image_width = size;
}

static const struct tvp *own(const struct build *b)
{
	return b->s->own;
}

// pixels [batch, frames, 3, size, size] + learned frames
static graph_value framed(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	int64_t n = own(b)->frames, margin = own(b)->margin, size = b->s->image_size, between = size - 2 * margin;
	if (!margin)
		return pixels;
	graph_value left = WEIGHT(b, "frame.left", "", 1, n, 3, between, margin),
		    right = WEIGHT(b, "frame.right", "", 1, n, 3, between, margin);
	graph_value middle = op_concat(g, 2, (graph_value[]){ op_pad(g, left, 4, 0, between), right }, 4);
	graph_value up = WEIGHT(b, "frame.up", "", 1, n, 3, margin, size),
		    down = WEIGHT(b, "frame.down", "", 1, n, 3, margin, size);
	return op_add(g, pixels, op_concat(g, 3, (graph_value[]){ up, middle, down }, 3));
}

// The first `count` rows of a table of learned positions.
static graph_value positions(struct build *b, const char *stem, int64_t rows, int64_t count)
{
	if (count > rows)
		graph_fail(b->g, STATUS_BAD_INPUT, "%s: a grid of %lld rows or columns, of which %lld have positions", b->c->path,
			(long long)count, (long long)rows);
	return op_slice(b->g, WEIGHT(b, stem, "weight", rows, b->s->hidden_size), 0, 0, count);
}

// [batch, places, hidden]
static graph_value embed_film(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t count, h = s->hidden_size, flat[] = { -1, s->channels, s->image_size, s->image_size };
	const graph_value *maps = backbone_features(b, "backbone", op_reshape(g, framed(b, pixels), 4, flat), &count);
	if (graph_failed(g))
		return NO_VALUE;
	graph_value x = conv(b, "grid", maps[0], (struct conv){ .out = h, .kernel = 3 });
	static const int64_t two[] = { 2, 2 }, none[4] = { 0 };
	x = op_relu(g, op_max_pool(g, x, 2, two, two, none, false)); // [batch * frames, hidden, rows, cols]
	if (graph_failed(g))
		return NO_VALUE;
	int64_t rows = value_dim(g, x, 2), cols = value_dim(g, x, 3);
	graph_value each[] = { op_dim(g, pixels, 0), graph_i64s(g, 4, (int64_t[]){ -1, h, rows, cols }) };
	x = op_reduce_mean(g, op_reshape_to(g, x, op_concat(g, 2, each, 0)), 1, false);
	graph_value row = op_unsqueeze(g, positions(b, "grid.rows", own(b)->rows, rows), 1),
		    col = op_unsqueeze(g, positions(b, "grid.columns", own(b)->cols, cols), 0);
	x = op_add(g, tokens_of(b, x), op_reshape(g, op_add(g, row, col), 3, (int64_t[]){ 1, rows * cols, h }));
	return layer_norm(b, "grid.norm", op_add(g, x, WEIGHT(b, "grid.type", "weight", 1, h)), h);
}

static graph_value embed_text(struct build *b, graph_value ids)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value x = embedding(b, "embed.word", ids, s->vocab_size, h);
	x = op_add(g, x, op_gather(g, WEIGHT(b, "embed.position", "weight", s->max_positions, h), places_of(g, ids), 0));
	x = op_add(g, x, op_slice(g, WEIGHT(b, "embed.type", "weight", s->type_vocab_size, h), 0, 0, 1));
	return layer_norm(b, "embed.norm", x, h);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, n = s->image_size, batch = graph_symbol(g, "batch");
	int64_t frames = own(b)->margin ? own(b)->frames : graph_symbol(g, "frames");
	graph_value film = graph_input(g, "pixel_values", DTYPE_F32, 5, (int64_t[]){ batch, frames, s->channels, n, n });
	struct body io = { 0 };
	text_tower_inputs(b, &io);
	graph_value grid = embed_film(b, film), text = embed_text(b, io.ids), prompt = WEIGHT(b, "prompt", "", 1, PROMPT, h);
	graph_value x = op_concat(g, 3, (graph_value[]){ each_image(b, prompt, text), text, grid }, 1);
	if (graph_failed(g))
		return;
	graph_value bias = op_pad(g, mask_bidirectional(b, io.mask), 3, PROMPT, value_dim(g, grid, 1)); // only text has padding
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_value y = self_attention(b, x, bias, NO_VALUE, NO_VALUE, true, true, NULL);
		x = layer_norm(b, "layers.attn.norm", op_add(g, x, y), h);
		y = prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", x);
		x = layer_norm(b, "layers.ffn.norm", op_add(g, x, y), h);
		graph_leave(g);
	}
	io.last = x;
	io.pooled = op_tanh(g, linear(b, "pooler", first_token(b, x), h, h, true));
	head_build(b, &io);
}

static void tell_when(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value x = op_relu(g, linear(b, "head.when.1", io->pooled, h, 2 * h, true));
	graph_output(g, "logits", op_sigmoid(g, linear(b, "head.when.2", x, 2 * h, 2, true))); // [batch, 2]
}

static void hints(const struct spec *s, struct input_hints *out)
{
	input_hint(out, "frames", ((const struct tvp *)s->own)->frames);
}

static const struct family_head heads[] = {
	{ &head_grounding, tell_when },
	{ &head_model, head_give_states },
	{ 0 },
};

const struct family tvp = {
	.name = "tvp",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
