// SPDX-License-Identifier: Apache-2.0
// MaskFormer (Cheng et al. 2021, https://arxiv.org/abs/2107.06278): DETR's queries, each of which becomes a class and a mask.
//
//   pixels -> backbone's maps -> feature pyramid, from the coarsest on -> 3x3 conv -> map of pixels
//   coarsest map (- 1x1 conv) + sines -> memory;  queries -> layers, each looks at the memory -> norm -> class; MLP * map -> mask
#include "arch/block/detect.h"

enum { GROUPS = 32 };

struct maskformer {
	int64_t width, mask_width, queries; // of the pyramid; of the map that masks are made of
	bool normed_each;                   // the last norm stands after every layer, too
};

// The transformer's own object: DETR's words, most of which are about its encoder and its losses.
static void resolve_decoder(struct config *c, struct spec *s, struct maskformer *o, struct arena *a)
{
	struct config sub;
	config_open_within(&sub, c, "decoder_config", a);
	s->hidden_size = config_size(&sub, "d_model", 256);
	s->layers = s->layers_in_config = config_count(&sub, "decoder_layers", 6);
	s->heads = s->kv_heads = config_size(&sub, "decoder_attention_heads", 8);
	s->ffn_size = config_size(&sub, "decoder_ffn_dim", 2048);
	s->act = config_activation(&sub, "activation_function", ACT_RELU);
	o->queries = config_size(&sub, "num_queries", 100);
	o->normed_each = config_bool(&sub, "auxiliary_loss", false);
	config_close_within(&sub, c);
}

static struct spec *resolve_encoder(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const roots[] = { "model.pixel_level_module.encoder.", "pixel_level_module.encoder.", NULL };
	const char *type = json_string_value(json_object_get(config_get(c, "backbone_config"), "model_type"));
	if (config_knows(c, "backbone") && config_text(c, "backbone"))
		config_fail(c, STATUS_UNSUPPORTED, "backbone: one whose configuration lies elsewhere is not supported");
	// The backbone that the row names is taken for another one, whose configuration has the same words.
	if (type && text_is(type, part_type(s->row, "replaced")))
		return resolve_part_fixed(
			c, s, a, "backbone", "backbone_config", part_type(s->row, "backbone"), &head_backbone, roots);
	return resolve_part(c, s, a, "backbone", "backbone_config", NULL, &head_backbone, roots);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct maskformer *o = ARENA_NEW(a, struct maskformer);
	s->own = o;
	resolve_decoder(c, s, o, a);
	s->norm_eps = 1e-5;
	o->width = config_size(c, "fpn_feature_size", 256);
	o->mask_width = config_size(c, "mask_feature_size", 256);
	if (config_bool(c, "use_auxiliary_loss", false))
		config_fail(c, STATUS_UNSUPPORTED, "use_auxiliary_loss: true is not supported yet");
	struct spec *backbone = resolve_encoder(c, s, a);
	if (!backbone || c->error.status)
		return;
	s->channels = backbone->channels;
	resolve_backbone_image(s, backbone);
	if (o->width < GROUPS || o->width % GROUPS || o->mask_width < 1 || s->hidden_size < 4 || s->hidden_size % 4 ||
		s->heads < 1 || s->hidden_size % s->heads || s->ffn_size < 1 || o->queries < 1 || s->layers < 1 ||
		backbone->out_count < 2)
		config_fail(c, STATUS_BAD_INPUT, "d_model %lld with %lld heads, fpn_feature_size %lld, %lld maps of the backbone",
			(long long)s->hidden_size, (long long)s->heads, (long long)o->width, (long long)backbone->out_count);
}

static graph_value grouped(struct build *b, const char *stem, graph_value x)
{
	int64_t w = ((const struct maskformer *)b->s->own)->width;
	return op_group_norm(b->g, x, GROUPS, WEIGHT(b, stem, "weight", w), WEIGHT(b, stem, "bias", w), 1e-5f);
}

// maps [count], the finest first -> [batch, mask_width, height, width] of the finest
static graph_value pyramid(struct build *b, const graph_value *maps, int64_t count)
{
	struct graph *g = b->g;
	const struct maskformer *o = b->s->own;
	const struct conv wide = { .out = o->width, .kernel = 3 }, lateral = { .out = o->width, .kernel = 1 };
	graph_value x = op_relu(g, grouped(b, "fpn.stem.norm", conv(b, "fpn.stem", maps[count - 1], wide)));
	for (b->layer = 0; b->layer < count - 1 && !graph_failed(g); b->layer++) {
		graph_value left = grouped(b, "fpn.left.norm", conv(b, "fpn.left", maps[count - 2 - b->layer], lateral));
		x = op_add(g, resized_like(b, x, left, "nearest"), left);
		x = op_relu(g, grouped(b, "fpn.block.norm", conv(b, "fpn.block", x, wide)));
	}
	return conv(b, "fpn.out", x, (struct conv){ .out = o->mask_width, .kernel = 3, .bias = true });
}

static graph_value layer(struct build *b, graph_value x, graph_value query, graph_value memory, graph_value placed)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value y = op_add(g, x, query);
	x = op_add(g, x, detect_attention(b, "layers.attn", y, y, x, NO_VALUE, s->heads));
	x = layer_norm(b, "layers.attn.norm", x, h);
	y = detect_attention(b, "layers.cross", op_add(g, x, query), placed, memory, NO_VALUE, s->heads);
	x = layer_norm(b, "layers.cross.norm", op_add(g, x, y), h);
	x = layer_norm(b, "layers.ffn.norm", op_add(g, x, detect_ffn(b, "layers.ffn", x, s->ffn_size)), h);
	return ((const struct maskformer *)s->own)->normed_each ? layer_norm(b, "norm", x, h) : x;
}

static graph_value decode(struct build *b, graph_value map)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct maskformer *o = s->own;
	int64_t h = s->hidden_size;
	if (!graph_failed(g) && value_dim(g, map, 1) != h)
		map = conv(b, "project", map, (struct conv){ .out = h, .kernel = 1, .bias = true });
	graph_value memory = tokens_of(b, map),
		    placed = op_add(g, memory, detect_places(b, op_dim(g, map, 2), op_dim(g, map, 3), h));
	graph_value query = detect_queries(b, "queries", o->queries, h), x = detect_zeros(b, map, o->queries, h);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, query, memory, placed);
		graph_leave(g);
	}
	return layer_norm(b, "norm", x, h); // [batch, queries, hidden]
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t count;
	graph_value input = pixel_input(b, s->channels, s->image_size, s->image_width);
	const graph_value *maps = backbone_features(b, "backbone", input, &count);
	if (graph_failed(g))
		return;
	struct detected found = { .map = pyramid(b, maps, count), .memory = maps[count - 1] };
	struct body io = { .pixels = input, .last = decode(b, maps[count - 1]), .own = &found };
	head_build(b, &io);
}

static void build_bare(struct build *b, const struct body *io)
{
	const struct detected *found = io->own;
	graph_output(b->g, "encoder_last_hidden_state", found->memory);
	graph_output(b->g, "pixel_decoder_last_hidden_state", found->map);
	graph_output(b->g, "transformer_decoder_last_hidden_state", io->last);
}

static void build_masks(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct maskformer *o = s->own;
	const struct detected *found = io->own;
	graph_value flat = op_reshape(g, found->map, 3, (int64_t[]){ 0, 0, -1 });
	graph_value masks = op_matmul(g, detect_mlp(b, "masks", io->last, 3, s->hidden_size, o->mask_width), flat);
	graph_output(g, "class_queries_logits", linear(b, "head.classes", io->last, s->hidden_size, s->labels + 1, true));
	graph_output(g, "masks_queries_logits", map_of(b, op_transpose(g, masks, 3, (int[]){ 0, 2, 1 }), found->map));
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 384, 384);
}

static const struct family_head heads[] = {
	{ &head_segmentation, build_masks },
	{ &head_model, build_bare },
	{ 0 },
};

const struct family maskformer = {
	.name = "maskformer",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
