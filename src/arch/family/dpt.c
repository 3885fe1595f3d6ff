// SPDX-License-Identifier: Apache-2.0
// Dense prediction transformers: depth and classes of every place from the states of a vision transformer (Ranftl et al. 2021,
// https://arxiv.org/abs/2103.13413). The transformer is its own, its own after a convolution network (hybrid), or a backbone.
//
//   pixels -> [class, patches] + positions -> layers -> some states -> neck -> 3x3 - twice the size - 3x3 - relu - 1x1 - relu
//   each state: act(linear(patch and class token side by side)) where the readout is a projection
#include <math.h>

#include "arch/family/dpt.h"

enum { OWN_TRANSFORMER = 1 }; // a head's flag: a backbone is not asked

static const bool *chosen_layers(struct config *c, const struct spec *s, struct arena *a, int64_t skipped, int64_t needed)
{
	int64_t count = 0, found = 0;
	const int64_t *at = config_sizes(c, "backbone_out_indices", a, 0, &count);
	bool *out = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	for (int64_t i = skipped; i < count; i++)
		if (at[i] < s->layers && !out[at[i]])
			out[at[i]] = true, found++;
	if (!c->error.status && found != needed)
		config_fail(c, STATUS_BAD_INPUT, "backbone_out_indices names %lld layers where the neck needs %lld",
			(long long)found, (long long)needed);
	return out;
}

static void resolve_part_of(struct config *c, struct spec *s, struct arena *a, const struct dpt *d)
{
	const char *const hybrid_roots[] = { "dpt.embeddings.backbone.", "embeddings.backbone.", NULL };
	const char *const roots[] = { "backbone.", NULL };
	if (d->hybrid || d->backbone)
		resolve_part(c, s, a, "backbone", "backbone_config", NULL, &head_backbone, d->hybrid ? hybrid_roots : roots);
	const struct spec *p = part_of(s, "backbone");
	if (p && p->out_count != (d->hybrid ? 3 : d->neck.states))
		config_fail(c, STATUS_BAD_INPUT, "the backbone gives %lld maps", (long long)p->out_count);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct dpt *d = ARENA_NEW(a, struct dpt);
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	*d = (struct dpt){ .vit = { .classes = 1 },
		.hybrid = config_bool(c, "is_hybrid", false),
		.projected = config_bool(c, "add_projection", false) };
	d->backbone = !d->hybrid && config_get(c, "backbone_config") && !(head_how(s) & OWN_TRANSFORMER);
	s->own = d;
	resolve_neck(c, a, &d->neck, "neck_hidden_sizes");
	d->neck.batch_norm = config_bool(c, "use_batch_norm_in_fusion_residual", false);
	d->neck.bias = config_bool(c, "use_bias_in_fusion_residual", !d->neck.batch_norm);
	const char *readout = config_text(c, "readout_type");
	static const char *const words[] = { "project", "ignore", "add" };
	while (readout && d->readout <= READOUT_ADD && !text_is(readout, words[d->readout]))
		d->readout++;
	if (d->readout > READOUT_ADD || (d->hybrid && d->readout))
		config_fail(c, STATUS_BAD_INPUT, "readout_type %s cannot be here", readout);
	if (config_text(c, "backbone"))
		config_fail(c, STATUS_UNSUPPORTED, "a backbone whose configuration lies elsewhere is not supported");
	if (c->error.status)
		return;
	int64_t ignored = 0;
	const int64_t *stages = d->hybrid ? config_sizes(c, "neck_ignore_stages", a, 0, &ignored) : NULL;
	if (d->hybrid && stages && (ignored != 2 || stages[0] + stages[1] != 1 || d->neck.states < 3))
		config_fail(c, STATUS_BAD_INPUT, "neck_ignore_stages should be the first two, which are maps already");
	if (s->image_size != s->image_width || s->patch_size != s->patch_width)
		config_fail(c, STATUS_UNSUPPORTED, "pictures and patches should be square");
	resolve_part_of(c, s, a, d);
	if (d->backbone && part_of(s, "backbone"))
		resolve_backbone_image(s, part_of(s, "backbone"));
	bool dense = !s->head || !s->head->bare;
	if (!d->backbone && dense)
		d->chosen = chosen_layers(c, s, a, d->hybrid ? 2 : 0, d->neck.states - (d->hybrid ? 2 : 0));
}

// Without a picture's border: pixels, or what the convolution network makes of them, as patches: [batch, 1 + patches, hidden]
static graph_value embed(struct build *b, graph_value pixels, graph_value from)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, p = ((const struct dpt *)s->own)->hybrid ? 1 : s->patch_size,
		side = s->image_size / s->patch_size;
	graph_enter(g, "embed");
	graph_value x = tokens_of(b,
		conv(b, "embed.patch", from, (struct conv){ .out = h, .kernel = p, .stride = p, .pad = PAD_NONE, .bias = true }));
	x = op_concat(g, 2, (graph_value[]){ each_image(b, WEIGHT(b, "embed.class", "", 1, 1, h), pixels), x }, 1);
	x = op_add(g, x, WEIGHT(b, "embed.position", "", 1, 1 + side * side, h));
	graph_leave(g);
	return x;
}

// The patches of a state with what its class token knows, as a map: [batch, hidden, rows, cols]
static graph_value read_out(struct build *b, graph_value x, graph_value rows, graph_value cols)
{
	struct graph *g = b->g;
	const struct dpt *d = b->s->own;
	graph_value first = op_slice(g, x, 1, 0, 1), patches = op_slice(g, x, 1, 1, INT64_MAX);
	if (graph_failed(g))
		return NO_VALUE;
	int64_t h = value_dim(g, x, 2);
	if (d->readout == READOUT_PROJECT) {
		graph_value beside = op_expand(g, first, op_shape(g, patches));
		graph_value both = op_concat(g, 2, (graph_value[]){ patches, beside }, 2); // [batch, patches, 2*hidden]
		patches = activate(b, b->s->act, linear(b, "neck.readout", both, 2 * h, h, true));
	} else if (d->readout == READOUT_ADD)
		patches = op_add(g, patches, first);
	return map_of_grid(b, patches, rows, cols);
}

graph_value *dpt_maps(struct build *b, graph_value pixels, const graph_value *states)
{
	struct graph *g = b->g;
	const struct dpt *d = b->s->own;
	const struct spec *p = d->backbone ? part_of(b->s, "backbone") : b->s;
	graph_value *maps = ARENA_ARRAY(graph_arena(g), (size_t)d->neck.states, graph_value);
	graph_value rows = op_div(g, op_dim(g, pixels, 2), graph_i64s(g, 1, &p->patch_size)),
		    cols = op_div(g, op_dim(g, pixels, 3), graph_i64s(g, 1, &p->patch_width));
	for (b->layer = 0; b->layer < d->neck.states && !graph_failed(g); b->layer++) {
		graph_value x = states[b->layer];
		bool is_map = value_rank(g, x) == 4;
		maps[b->layer] = is_map ? x : neck_reassemble(b, &d->neck, read_out(b, x, rows, cols));
	}
	return maps;
}

static graph_value neck_of(struct build *b, graph_value pixels, const graph_value *states)
{
	const struct dpt *d = b->s->own;
	return neck_fuse(b, &d->neck, dpt_maps(b, pixels, states), NO_VALUE);
}

// The own transformer: io->last, and the states for the neck as io->states.
static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct dpt *d = s->own;
	int64_t count = 0, found = 0;
	const graph_value *maps = d->hybrid ? backbone_features(b, "backbone", io->pixels, &count) : NULL;
	if (graph_failed(g))
		return;
	graph_value *states = ARENA_ARRAY(graph_arena(g), (size_t)d->neck.states + 1, graph_value);
	if (d->hybrid)
		states[found++] = maps[0], states[found++] = maps[1];
	graph_value x = embed(b, io->pixels, d->hybrid ? maps[count - 1] : io->pixels);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = vit_layer(b, x, NO_VALUE, 0);
		graph_leave(g);
		if (d->chosen && d->chosen[b->layer] && found < d->neck.states)
			states[found++] = x;
	}
	io->states = states;
	io->state_count = found;
	io->last = x;
}

static void build_bare(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_value x = layer_norm(b, "norm", io->last, s->hidden_size);
	graph_output(b->g, "last_hidden_state", x);
	graph_output(b->g, "pooler_output",
		activate(b, s->pooler_act, linear(b, "pooler", first_token(b, x), s->hidden_size, s->pooler_size, true)));
}

static void build_depth(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct dpt *d = b->s->own;
	graph_value x = neck_of(b, io->pixels, io->states);
	if (d->projected)
		x = op_relu(g, conv(b, "head.project", x, (struct conv){ .out = 256, .kernel = 3, .bias = true }));
	x = neck_doubled(b, conv(b, "head.depth.1", x, (struct conv){ .out = d->neck.width / 2, .kernel = 3, .bias = true }));
	x = op_relu(g, conv(b, "head.depth.2", x, (struct conv){ .out = 32, .kernel = 3, .bias = true }));
	x = op_relu(g, conv(b, "head.depth.3", x, (struct conv){ .out = 1, .kernel = 1, .bias = true }));
	graph_output(g, "predicted_depth", op_squeeze(g, x, 1)); // [batch, height, width]
}

static void build_segments(struct build *b, const struct body *io)
{
	const struct dpt *d = b->s->own;
	graph_value x = neck_of(b, io->pixels, io->states);
	x = conv_norm(
		b, "head.classes.1", "head.classes.norm", x, (struct conv){ .out = d->neck.width, .kernel = 3 }, 1e-5, ACT_RELU);
	x = conv(b, "head.classes.2", x, (struct conv){ .out = b->s->labels, .kernel = 1, .bias = true });
	graph_output(b->g, "logits", neck_doubled(b, x)); // [batch, labels, height, width]
}

static void build(struct build *b)
{
	const struct spec *s = b->s;
	const struct dpt *d = s->own;
	int64_t count;
	struct body io = { .pixels = pixel_input(b, s->channels, s->image_size, s->image_width) };
	if (d->backbone) {
		const graph_value *states = backbone_features(b, "backbone", io.pixels, &count);
		io.states = (graph_value *)(uintptr_t)states;
	} else
		body(b, &io);
	if (!graph_failed(b->g))
		head_build(b, &io);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct spec *p = part_of(s, "backbone");
	if (!s->image_size)
		image_hints(out, p->image_size ? p->image_size : 384, p->image_width ? p->image_width : 384);
}

static const struct family_head heads[] = {
	{ &head_model, build_bare, OWN_TRANSFORMER },
	{ &head_depth, build_depth },
	{ &head_segments, build_segments, OWN_TRANSFORMER },
	{ 0 },
};

const struct family dpt = {
	.name = "dpt",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
