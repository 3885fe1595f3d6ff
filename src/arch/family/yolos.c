// SPDX-License-Identifier: Apache-2.0
// YOLOS: a vision transformer whose last tokens find objects (Fang et al. 2021, https://arxiv.org/abs/2106.00666).
//
//   pixels -> [class, patches, detection tokens] + positions -> layers (+ positions of their own between them) -> norm
//   -> detection tokens -> 3 linear layers: classes; 3 linear layers: boxes
#include "arch/block/detect.h"
#include "arch/block/vit.h"

// spec.own of the family.
struct yolos {
	int64_t tokens;
	bool middle;
};

// [1, 1 + patches + tokens, hidden], learned on the configuration's grid: resized to the image's.
static graph_value placed(struct build *b, graph_value table, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct yolos *y = s->own;
	int64_t rows = s->image_size / s->patch_size, cols = s->image_width / s->patch_width, patches = 1 + rows * cols;
	graph_value to_rows = op_div(g, op_dim(g, pixels, 2), graph_i64s(g, 1, &s->patch_size)),
		    to_cols = op_div(g, op_dim(g, pixels, 3), graph_i64s(g, 1, &s->patch_width));
	graph_value grid = grid_positions(b, op_slice(g, table, 1, 0, patches), 1, rows, cols, to_rows, to_cols, "cubic");
	return op_concat(g, 2, (graph_value[]){ grid, op_slice(g, table, 1, patches, patches + y->tokens) }, 1);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct yolos *y = ARENA_NEW(a, struct yolos);
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	*y = (struct yolos){ .tokens = config_size(c, "num_detection_tokens", 100),
		.middle = config_bool(c, "use_mid_position_embeddings", true) };
	s->own = y;
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct yolos *y = s->own;
	int64_t h = s->hidden_size, count = 1 + (s->image_size / s->patch_size) * (s->image_width / s->patch_width) + y->tokens;
	graph_value pixels = pixel_input(b, s->channels, 0, 0);
	graph_enter(g, "embed");
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, s->patch_size, s->patch_width);
	const int64_t stride[] = { s->patch_size, s->patch_width }, none[4] = { 0 }, one[] = { 1, 1 };
	graph_value patches = tokens_of(b, op_conv(g, pixels, w, WEIGHT(b, "embed.patch", "bias", h), stride, none, one, 1));
	graph_value tokens[] = { each_image(b, WEIGHT(b, "embed.class", "", 1, 1, h), pixels), patches,
		each_image(b, WEIGHT(b, "embed.detection", "", 1, y->tokens, h), pixels) };
	graph_value x = op_add(g, op_concat(g, 3, tokens, 1), placed(b, WEIGHT(b, "embed.position", "", 1, count, h), pixels));
	graph_leave(g);
	graph_value middle = y->middle && s->layers_in_config > 1
		? WEIGHT(b, "layers.position", "", s->layers_in_config - 1, 1, count, h)
		: NO_VALUE;
	for (b->layer = 0; b->layer < s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = vit_layer(b, x, NO_VALUE, 0);
		if (middle.id && b->layer < s->layers_in_config - 1)
			x = op_add(g, x, placed(b, op_squeeze(g, op_slice(g, middle, 0, b->layer, b->layer + 1), 0), pixels));
		graph_leave(g);
	}
	x = layer_norm(b, "norm", x, h);
	head_build(b, &(struct body){ .last = x });
}

static void build_bare(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_output(g, "last_hidden_state", io->last);
	if (weight_exists(b, "pooler", "weight"))
		graph_output(g, "pooler_output", op_tanh(g, linear(b, "pooler", first_token(b, io->last), h, h, true)));
}

static void build_objects(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct yolos *y = s->own;
	int64_t h = s->hidden_size;
	graph_value found = op_slice(g, io->last, 1, -y->tokens, INT64_MAX); // [batch, tokens, hidden]
	graph_output(g, "logits", detect_mlp(b, "head.classes", found, 3, h, s->labels + 1));
	graph_output(g, "pred_boxes", op_sigmoid(g, detect_mlp(b, "head.boxes", found, 3, h, 4)));
	graph_output(g, "last_hidden_state", io->last);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	image_hints(out, s->image_size, s->image_width);
}

static const struct family_head heads[] = {
	{ &head_model, build_bare },
	{ &head_objects, build_objects },
	{ 0 },
};

const struct family yolos = {
	.name = "yolos",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
