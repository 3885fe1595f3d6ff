// SPDX-License-Identifier: Apache-2.0
// The U-Nets that denoise latents or pictures (Ho et al. 2020, https://arxiv.org/abs/2006.11239; by text: Rombach et al. 2022,
// https://arxiv.org/abs/2112.10752; with sizes and a pooled text: Podell et al. 2023, https://arxiv.org/abs/2307.01952), and the
// half of one that steers another by a picture (ControlNet: Zhang et al. 2023, https://arxiv.org/abs/2302.05543).
//
//   sample - 3x3 -+- (residual - attention).. - half -+- .. - residual - attention - residual --+- .. - norm - act - 3x3 ->
//                 |                                   |                                        |
//                 +-----------------------------------+----- concatenated, from the last ------+ (residual - attention).. - twice
//   time = two layers (sines of timestep) (+ two layers (pooled text, sines of sizes)), into each residual block
//   attention: norm - 1x1 - (self - text - gated feed-forward).. - 1x1 -(+)-, or among places alone
//
//   in:  sample [batch, channels, height, width], timestep f32 [batch], encoder_hidden_states [batch, sequence, width];
//        text_embeds [batch, width], time_ids [batch, 6]; timestep_cond [batch, width]; controlnet_cond [batch, channels, ..]
//   out: out_sample [batch, channels, height, width]; of a ControlNet down.N and mid, which model_controlled.onnx of a U-Net adds
//        to its skips and its middle: down_block_additional_residuals.N, mid_block_additional_residual
#include "arch/block/diffusion.h"

#include <math.h>

enum { ADDED_SIZES = 6 }; // time_ids of one picture

struct level {
	int64_t width, layers, heads, depth; // depth: transformer blocks an attention
	bool attends;
};

struct unet {
	struct residual how;
	struct level *down, *up, middle; // [levels] each; up from the smallest map to the largest
	int64_t levels, in, out, time, cross, in_kernel, out_kernel, shift;
	int64_t middle_groups; // of the norm before attention among places in the middle
	bool cosine_first, centred, one_sided, by_text, linear_ends, has_middle;
	int64_t added_width, added_in; // sines of each of time_ids; what its layers take; 0: there are none
	int64_t time_condition;        // width of timestep_cond; 0: there is none
	int64_t condition;             // channels of the picture that steers
	const int64_t *condition_widths;
	int64_t condition_count;
	bool backward;   // its channels come in the order blue, green, red
	int64_t size[2]; // height and width that it was trained on
};

// ---- resolve --------------------------------------------------------------------------------------------------------------

// A key that must be absent, null, false or this.
static void only(struct config *c, const char *key, const char *word)
{
	const json_t *v = config_get(c, key);

	if (v && !json_is_false(v) && !(word && text_is(json_string_value(v), word)))
		config_fail(c, STATUS_UNSUPPORTED, "%s other than %s is not supported yet", key, word ? word : "none");
}

static void one(struct config *c, const char *key)
{
	double v = config_real(c, key, 1);

	if (v != 1 && !c->error.status)
		config_fail(c, STATUS_UNSUPPORTED, "%s %g is not supported yet, only 1", key, v);
}

// One number for all levels, or one for each.
static const int64_t *by_level(struct config *c, const char *key, struct arena *a, int64_t levels, int64_t usual)
{
	int64_t count = 0;
	const int64_t *list = config_sizes(c, key, a, levels, &count);
	int64_t *all = ARENA_ARRAY(a, (size_t)levels + 1, int64_t);

	if (list && count != levels)
		config_fail(c, STATUS_BAD_INPUT, "%s should have a number for each of %lld blocks", key, (long long)levels);
	for (int64_t i = 0; i < levels; i++) {
		all[i] = list && count == levels ? list[i] : usual;
		if (all[i] < 0 || all[i] > CONFIG_COUNT_MOST * 16)
			config_fail(c, STATUS_BAD_INPUT, "%s has %lld", key, (long long)all[i]);
	}
	return all;
}

// Of each block whether it attends: `plain` does not, `attends` does; another is refused.
static void kinds(struct config *c, const char *key, const char *plain, const char *attends, struct level *level, int64_t levels)
{
	const json_t *list = config_get(c, key);

	if (json_array_size(list) != (size_t)levels)
		config_fail(c, STATUS_BAD_INPUT, "%s should name %lld blocks", key, (long long)levels);
	for (int64_t i = 0; i < levels && !c->error.status; i++) {
		const char *kind = json_string_value(json_array_get(list, (size_t)i));
		level[i].attends = text_is(kind, attends);
		if (!level[i].attends && !text_is(kind, plain))
			config_fail(c, STATUS_UNSUPPORTED, "%s: the block %.64s is not supported yet", key, kind ? kind : "?");
	}
}

static void resolve_time(struct config *c, struct unet *u)
{
	only(c, "time_embedding_type", "positional");
	only(c, "class_embed_type", NULL);
	only(c, "num_class_embeds", NULL);
	u->time = config_size(c, "time_embedding_dim", 0);
	u->cosine_first = config_bool(c, "flip_sin_to_cos", true);
	u->shift = config_size(c, "freq_shift", 0);
	const char *norm = config_text(c, "resnet_time_scale_shift");
	u->how.scale_shift = text_is(norm, "scale_shift");
	if (norm && !u->how.scale_shift && !text_is(norm, "default"))
		config_fail(c, STATUS_UNSUPPORTED, "resnet_time_scale_shift %.64s is not supported yet", norm);
}

static struct unet *resolve_levels(struct config *c, struct spec *s, struct arena *a)
{
	struct unet *u = s->own = ARENA_NEW(a, struct unet);
	int64_t count = 0;
	const int64_t *width = config_sizes(c, "block_out_channels", a, 0, &count);

	*u = (struct unet){ .in = config_size(c, "in_channels", 4), .in_kernel = 3, .out_kernel = 3, .has_middle = true };
	if (!c->error.status && (!width || count > CONFIG_COUNT_MOST / 16))
		config_fail(c, STATUS_BAD_INPUT, "block_out_channels should have a number for each block, at most %d",
			CONFIG_COUNT_MOST / 16);
	if (c->error.status)
		return NULL;
	u->levels = count;
	u->down = ARENA_ARRAY(a, (size_t)count, struct level);
	u->up = ARENA_ARRAY(a, (size_t)count, struct level);
	const int64_t *layers = by_level(c, "layers_per_block", a, count, 2);
	for (int64_t i = 0; i < count; i++) {
		u->down[i] = (struct level){ .width = width[i], .layers = layers[i] };
		if (width[i] < 1 || layers[i] < 1 || layers[i] > CONFIG_COUNT_MOST)
			config_fail(c, STATUS_BAD_INPUT, "block %lld: %lld layers of %lld channels", (long long)i,
				(long long)layers[i], (long long)width[i]);
	}
	u->how = (struct residual){ .groups = config_size(c, "norm_num_groups", 32),
		.eps = config_real(c, "norm_eps", 1e-5),
		.act = config_activation(c, "act_fn", ACT_SILU) };
	one(c, "mid_block_scale_factor");
	resolve_sample_size(c, a, u->size, 64); // latents of a picture of 512 by 512
	u->one_sided = config_size(c, "downsample_padding", 1) == 0;
	resolve_time(c, u);
	if (!u->time)
		u->time = 4 * width[0];
	s->hidden_size = width[0];
	return c->error.status ? NULL : u;
}

// What goes up mirrors what goes down, with a layer more.
static void mirror(struct unet *u)
{
	for (int64_t i = 0; i < u->levels; i++) {
		bool attends = u->up[i].attends;
		u->up[i] = u->down[u->levels - 1 - i];
		u->up[i].layers++;
		u->up[i].attends = attends;
	}
	u->middle = u->down[u->levels - 1];
	u->middle.attends = true;
}

static void resolve_added(struct config *c, struct unet *u)
{
	const char *kind = config_text(c, "addition_embed_type");
	int64_t width = config_size(c, "addition_time_embed_dim", 0),
		in = config_size(c, "projection_class_embeddings_input_dim", 0);

	if (!kind)
		return;
	if (!text_is(kind, "text_time"))
		config_fail(c, STATUS_UNSUPPORTED, "addition_embed_type %.64s is not supported yet", kind);
	u->added_width = width, u->added_in = in;
	if (width < 2 || in < 1)
		config_fail(
			c, STATUS_BAD_INPUT, "text_time wants addition_time_embed_dim and projection_class_embeddings_input_dim");
	else if (in <= ADDED_SIZES * width)
		config_fail(c, STATUS_BAD_INPUT,
			"addition_time_embed_dim, %lld numbers for each of %d sizes, leaves none for the pooled text of "
			"projection_class_embeddings_input_dim, which is %lld",
			(long long)width, ADDED_SIZES, (long long)in);
}

// Of what reads a text. In these classes attention_head_dim is the number of heads.
static struct unet *resolve_by_text(struct config *c, struct spec *s, struct arena *a)
{
	struct unet *u = resolve_levels(c, s, a);

	if (!u)
		return NULL;
	int64_t levels = u->levels, count = 0;
	const char *key = config_get(c, "num_attention_heads") ? "num_attention_heads" : "attention_head_dim";
	const int64_t *heads = by_level(c, key, a, levels, 8), *depth = by_level(c, "transformer_layers_per_block", a, levels, 1);
	const int64_t *cross = config_sizes(c, "cross_attention_dim", a, levels, &count);
	for (int64_t i = 0; i < levels; i++) {
		u->down[i].heads = heads[i], u->down[i].depth = depth[i];
		if (heads[i] < 1 || depth[i] > CONFIG_COUNT_MOST || !cross || count != levels || cross[i] != cross[0])
			config_fail(c, cross && count == levels ? STATUS_UNSUPPORTED : STATUS_BAD_INPUT,
				"block %lld: %lld heads, %lld transformer blocks, a text of a width of its own, or of none",
				(long long)i, (long long)heads[i], (long long)depth[i]);
	}
	u->by_text = true;
	u->cross = cross ? cross[0] : 0;
	u->linear_ends = config_bool(c, "use_linear_projection", false);
	kinds(c, "down_block_types", "DownBlock2D", "CrossAttnDownBlock2D", u->down, levels);
	only(c, "mid_block_type", "UNetMidBlock2DCrossAttn");
	u->has_middle = config_get(c, "mid_block_type") != NULL;
	only(c, "only_cross_attention", NULL);
	only(c, "encoder_hid_dim", NULL);
	only(c, "encoder_hid_dim_type", NULL);
	resolve_added(c, u);
	return u;
}

static void resolve_unet(struct config *c, struct spec *s, struct arena *a)
{
	struct unet *u = resolve_by_text(c, s, a);

	if (!u)
		return;
	u->out = config_size(c, "out_channels", 4);
	u->centred = config_bool(c, "center_input_sample", false);
	u->in_kernel = config_size(c, "conv_in_kernel", 3);
	u->out_kernel = config_size(c, "conv_out_kernel", 3);
	u->time_condition = config_size(c, "time_cond_proj_dim", 0);
	kinds(c, "up_block_types", "UpBlock2D", "CrossAttnUpBlock2D", u->up, u->levels);
	one(c, "resnet_out_scale_factor");
	only(c, "reverse_transformer_layers_per_block", NULL);
	only(c, "dual_cross_attention", NULL);
	only(c, "resnet_skip_time_act", NULL);
	only(c, "time_embedding_act_fn", NULL);
	only(c, "timestep_post_act", NULL);
	only(c, "attention_type", "default");
	only(c, "class_embeddings_concat", NULL);
	only(c, "mid_block_only_cross_attention", NULL);
	only(c, "cross_attention_norm", NULL);
	if (u->out < 1 || u->in_kernel < 1 || u->in_kernel > 64 || u->out_kernel < 1 || u->out_kernel > 64)
		config_fail(c, STATUS_BAD_INPUT, "%lld channels come out, kernels of %lld and %lld", (long long)u->out,
			(long long)u->in_kernel, (long long)u->out_kernel);
	mirror(u);
}

static void resolve_controlnet(struct config *c, struct spec *s, struct arena *a)
{
	struct unet *u = resolve_by_text(c, s, a);

	if (!u)
		return;
	u->condition = config_size(c, "conditioning_channels", 3);
	u->condition_widths = config_sizes(c, "conditioning_embedding_out_channels", a, 0, &u->condition_count);
	const char *order = config_text(c, "controlnet_conditioning_channel_order");
	u->backward = text_is(order, "bgr");
	if (order && !u->backward && !text_is(order, "rgb"))
		config_fail(c, STATUS_BAD_INPUT, "controlnet_conditioning_channel_order %.64s is neither rgb nor bgr", order);
	if (u->backward && u->condition != 3)
		config_fail(c, STATUS_UNSUPPORTED, "bgr with %lld channels is not supported", (long long)u->condition);
	only(c, "global_pool_conditions", NULL);
	if (!c->error.status && (u->condition < 1 || u->condition_count < 1 || u->condition_count > CONFIG_COUNT_MOST))
		config_fail(c, STATUS_BAD_INPUT, "conditioning_embedding_out_channels should have a number for each convolution");
	mirror(u);
}

// Without a text. In this class attention_head_dim is the width of a head.
static void resolve_plain(struct config *c, struct spec *s, struct arena *a)
{
	struct unet *u = resolve_levels(c, s, a);

	if (!u)
		return;
	int64_t width = config_size(c, "attention_head_dim", 0);
	for (int64_t i = 0; i < u->levels; i++)
		u->down[i].heads = width ? u->down[i].width / width : 1;
	u->out = config_size(c, "out_channels", 3);
	u->centred = config_bool(c, "center_input_sample", false);
	u->middle_groups = config_size(c, "attn_norm_num_groups", 0);
	kinds(c, "down_block_types", "DownBlock2D", "AttnDownBlock2D", u->down, u->levels);
	kinds(c, "up_block_types", "UpBlock2D", "AttnUpBlock2D", u->up, u->levels);
	only(c, "downsample_type", "conv");
	only(c, "upsample_type", "conv");
	only(c, "mid_block_type", "UNetMidBlock2D");
	u->has_middle = config_get(c, "mid_block_type") != NULL;
	mirror(u);
	u->middle.attends = config_bool(c, "add_attention", true);
	if (u->middle.attends && u->how.scale_shift && !u->middle_groups) // the class has no norm there then
		config_fail(c, STATUS_UNSUPPORTED, "scale_shift without attn_norm_num_groups is not supported yet");
}

// ---- build ----------------------------------------------------------------------------------------------------------------

// What every block reads.
struct steering {
	graph_value time; // [batch, u->time], activated
	graph_value text; // [batch, sequence, cross]; NO_VALUE: there is none
};

// x [batch, places, w] + attention to `to`, [batch, n, in]
static graph_value attend(
	struct build *b, const char *norm, const char *stem, graph_value x, graph_value to, int64_t in, int64_t heads)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	int64_t w = value_dim(g, x, -1);
	graph_value y = layer_norm_eps(b, norm, x, 1e-5), k = to.id ? to : y;

	y = op_attention(g,
		&(struct attention){ linear(b, arena_printf(a, "%s.q", stem), y, w, w, false),
			linear(b, arena_printf(a, "%s.k", stem), k, in, w, false),
			linear(b, arena_printf(a, "%s.v", stem), k, in, w, false), .heads = heads,
			.scale = (float)(1 / sqrt((double)w / (double)heads)) });
	return op_add(g, x, linear(b, arena_printf(a, "%s.o", stem), y, w, w, true));
}

static graph_value read_text(struct build *b, const struct level *level, graph_value x, graph_value text)
{
	struct graph *g = b->g;
	const struct unet *u = b->s->own;
	int64_t w = level->width;
	if (graph_failed(g) || w % level->heads) {
		graph_fail(g, STATUS_BAD_INPUT, "%lld channels cannot have %lld heads (attention_head_dim)", (long long)w,
			(long long)level->heads);
		return NO_VALUE;
	}
	struct conv point = { .out = w, .kernel = 1, .bias = true };
	graph_enter(g, "attn");
	graph_value y = group_norm(b, "text.norm", x, u->how.groups, 1e-6);
	y = u->linear_ends ? linear(b, "text.in", tokens_of(b, y), w, w, true) : tokens_of(b, conv(b, "text.in", y, point));
	for (b->item = 0; b->item < level->depth && !graph_failed(g); b->item++) {
		y = attend(b, "text.norm.1", "text.self", y, NO_VALUE, w, level->heads);
		y = attend(b, "text.norm.2", "text.cross", y, text, u->cross, level->heads);
		graph_value z = linear(b, "text.ffn.up", layer_norm_eps(b, "text.norm.3", y, 1e-5), w, 8 * w, true);
		z = op_mul(g, op_slice(g, z, 2, 0, 4 * w), op_gelu(g, op_slice(g, z, 2, 4 * w, 8 * w)));
		y = op_add(g, y, linear(b, "text.ffn.down", z, 4 * w, w, true));
	}
	y = u->linear_ends ? map_of(b, linear(b, "text.out", y, w, w, true), x) : conv(b, "text.out", map_of(b, y, x), point);
	y = op_add(g, x, y);
	graph_leave(g);
	return y;
}

static graph_value attention(struct build *b, const struct level *level, graph_value x, const struct steering *by)
{
	const struct unet *u = b->s->own;
	struct residual how = u->how;

	if (u->by_text)
		return read_text(b, level, x, by->text);
	if (level == &u->middle && u->middle_groups)
		how.groups = u->middle_groups;
	return places_attention(b, &how, x, level->heads);
}

static graph_value layer(struct build *b, const struct level *level, graph_value x, const struct steering *by)
{
	const struct unet *u = b->s->own;
	x = residual_block(b, &u->how, x, level->width, by->time, u->time);
	return level->attends ? attention(b, level, x, by) : x;
}

// The inputs beside the sample, and what they come to.
static void steer(struct build *b, struct steering *by)
{
	struct graph *g = b->g;
	const struct unet *u = b->s->own;
	int64_t batch = graph_symbol(g, "batch"), first = u->down[0].width, more = u->added_in - ADDED_SIZES * u->added_width;
	graph_value sines =
		timestep_embedding(b, graph_input(g, "timestep", DTYPE_F32, 1, &batch), first, u->cosine_first, u->shift);

	if (u->by_text)
		by->text = graph_input(
			g, "encoder_hidden_states", DTYPE_F32, 3, (int64_t[]){ batch, graph_symbol(g, "sequence"), u->cross });
	if (u->time_condition) {
		graph_value given = graph_input(g, "timestep_cond", DTYPE_F32, 2, (int64_t[]){ batch, u->time_condition });
		sines = op_add(g, sines, linear(b, "time.condition", given, u->time_condition, first, false));
	}
	graph_value time = timestep_layers(b, "time", sines, first, u->time, u->how.act);
	if (u->added_in && !graph_failed(g)) {
		graph_value text = graph_input(g, "text_embeds", DTYPE_F32, 2, (int64_t[]){ batch, more });
		graph_value sizes = graph_input(g, "time_ids", DTYPE_F32, 2, (int64_t[]){ batch, ADDED_SIZES });
		sizes = timestep_embedding(
			b, op_reshape(g, sizes, 1, (int64_t[]){ -1 }), u->added_width, u->cosine_first, u->shift);
		sizes = op_reshape(g, sizes, 2, (int64_t[]){ -1, ADDED_SIZES * u->added_width });
		text = op_concat(g, 2, (graph_value[]){ text, sizes }, 1);
		time = op_add(g, time, timestep_layers(b, "added", text, u->added_in, u->time, u->how.act));
	}
	by->time = activate(b, u->how.act, time);
}

// Down and through the middle; skips: what comes in and what each layer gives, [*count].
static graph_value descend(struct build *b, graph_value x, const struct steering *by, graph_value *skips, int64_t *count)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	const struct unet *u = b->s->own;

	skips[(*count)++] = x;
	for (int64_t i = 0; i < u->levels && !graph_failed(g); i++) {
		const struct level *level = &u->down[i];
		b->item_name = arena_printf(a, "down_blocks.%lld", (long long)i);
		graph_enter(g, "%s", b->item_name);
		for (b->layer = 0; b->layer < level->layers && !graph_failed(g); b->layer++)
			skips[(*count)++] = x = layer(b, level, x, by);
		if (i + 1 < u->levels)
			skips[(*count)++] = x = map_halved(b, x, u->one_sided);
		graph_leave(g);
	}
	if (!u->has_middle)
		return x;
	b->item_name = "mid_block";
	b->layer = 0;
	graph_enter(g, "mid_block");
	x = layer(b, &u->middle, x, by);
	b->layer = 1;
	x = residual_block(b, &u->how, x, u->middle.width, by->time, u->time);
	graph_leave(g);
	return x;
}

static graph_value ascend(struct build *b, graph_value x, const struct steering *by, const graph_value *skips, int64_t count)
{
	struct graph *g = b->g;
	const struct unet *u = b->s->own;

	for (int64_t i = 0; i < u->levels && !graph_failed(g); i++) {
		const struct level *level = &u->up[i];
		b->item_name = arena_printf(graph_arena(g), "up_blocks.%lld", (long long)i);
		graph_enter(g, "%s", b->item_name);
		for (b->layer = 0; b->layer < level->layers && !graph_failed(g); b->layer++) {
			if (count < 1) {
				graph_fail(g, STATUS_BAD_INPUT, "up_blocks.%lld has more layers than went down", (long long)i);
				return NO_VALUE;
			}
			x = layer(b, level, op_concat(g, 2, (graph_value[]){ x, skips[--count] }, 1), by);
		}
		if (i + 1 < u->levels && count > 0)
			x = map_enlarged(b, x, skips[count - 1]);
		graph_leave(g);
	}
	return x;
}

static graph_value *skip_table(struct build *b)
{
	const struct unet *u = b->s->own;
	int64_t most = 1 + u->levels;

	for (int64_t i = 0; i < u->levels; i++)
		most += u->down[i].layers;
	return GRAPH_TABLE(b->g, NULL, most, 1, graph_value);
}

static const struct arch_graph controlled_graph = { .file = "model_controlled.onnx", .by_name = true };
static const struct arch_graph *const graphs[] = { &controlled_graph, NULL };

// x [batch, channels, height, width] + what a ControlNet gives for it
static graph_value controlled(struct build *b, const char *name, graph_value x)
{
	struct graph *g = b->g;
	const char *height = arena_printf(graph_arena(g), "%s.height", name),
		   *width = arena_printf(graph_arena(g), "%s.width", name);

	return op_add(g, x, map_input(b, name, value_dim(g, x, 1), height, width));
}

static void build_unet(struct build *b)
{
	struct graph *g = b->g;
	const struct unet *u = b->s->own;
	graph_value *skips = skip_table(b), x = map_input(b, "sample", u->in, "height", "width");
	struct steering by = { 0 };
	int64_t count = 0;

	graph_enter(g, "embed");
	steer(b, &by);
	graph_leave(g);
	if (!skips || graph_failed(g))
		return;
	if (u->centred)
		x = op_sub(g, op_scale(g, x, 2), graph_f32(g, 1));
	x = conv(b, "in", x, (struct conv){ .out = u->down[0].width, .kernel = u->in_kernel, .bias = true });
	x = descend(b, x, &by, skips, &count);
	if (b->which == &controlled_graph) {
		for (int64_t i = 0; i < count && !graph_failed(g); i++)
			skips[i] = controlled(
				b, arena_printf(graph_arena(g), "down_block_additional_residuals.%lld", (long long)i), skips[i]);
		x = controlled(b, "mid_block_additional_residual", x);
	}
	x = ascend(b, x, &by, skips, count);
	x = activate(b, u->how.act, group_norm(b, "out.norm", x, u->how.groups, u->how.eps));
	graph_output(g, "out_sample", conv(b, "out", x, (struct conv){ .out = u->out, .kernel = u->out_kernel, .bias = true }));
}

// The picture that steers, eight times as high and wide as the map: convolutions, every second one halves.
static graph_value condition(struct build *b)
{
	struct graph *g = b->g;
	const struct unet *u = b->s->own;
	const int64_t *w = u->condition_widths;
	graph_value x = map_input(b, "controlnet_cond", u->condition, "control_height", "control_width");

	if (u->backward) { // not one Gather: OpenVINO takes that for preprocessing and renames the input
		graph_value blue = op_slice(g, x, 1, 0, 1), green = op_slice(g, x, 1, 1, 2), red = op_slice(g, x, 1, 2, 3);
		x = op_concat(g, 3, (graph_value[]){ red, green, blue }, 1);
	}
	x = op_silu(g, conv(b, "condition.in", x, (struct conv){ .out = w[0], .kernel = 3, .bias = true }));
	b->layer = 0;
	for (int64_t i = 0; i + 1 < u->condition_count && !graph_failed(g); i++, b->layer++) {
		x = op_silu(g, conv(b, "condition.block", x, (struct conv){ .out = w[i], .kernel = 3, .bias = true }));
		b->layer++;
		x = op_silu(g,
			conv(b, "condition.block", x,
				(struct conv){ .out = w[i + 1], .kernel = 3, .stride = 2, .pad = 1, .bias = true }));
	}
	return conv(b, "condition.out", x, (struct conv){ .out = u->down[0].width, .kernel = 3, .bias = true });
}

static void build_controlnet(struct build *b)
{
	struct graph *g = b->g;
	const struct unet *u = b->s->own;
	graph_value *skips = skip_table(b), x = map_input(b, "sample", u->in, "height", "width");
	struct steering by = { 0 };
	int64_t count = 0;

	graph_enter(g, "embed");
	steer(b, &by);
	graph_leave(g);
	if (!skips || graph_failed(g))
		return;
	x = conv(b, "in", x, (struct conv){ .out = u->down[0].width, .kernel = 3, .bias = true });
	x = descend(b, op_add(g, x, condition(b)), &by, skips, &count);
	for (b->layer = 0; b->layer < count && !graph_failed(g); b->layer++) {
		int64_t w = value_dim(g, skips[b->layer], 1);
		graph_output(g, arena_printf(graph_arena(g), "down.%lld", (long long)b->layer),
			conv(b, "control", skips[b->layer], (struct conv){ .out = w, .kernel = 1, .bias = true }));
	}
	graph_output(g, "mid", conv(b, "control.middle", x, (struct conv){ .out = u->middle.width, .kernel = 1, .bias = true }));
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct unet *u = s->own;
	int64_t height = u->size[0], width = u->size[1];
	int64_t times = (int64_t)1 << (u->condition_count > 1 && u->condition_count < 16 ? u->condition_count - 1 : 0);

	image_hints(out, height, width);
	if (!u->condition)
		return;
	input_hint(out, "control_height", times * height);
	input_hint(out, "control_width", times * width);
}

static const struct family_head heads[] = { { &head_model, NULL }, { 0 } };

const struct family unet = {
	.name = "unet",
	.architecture = "diffusion",
	.resolve = resolve_unet,
	.build = build_unet,
	.heads = heads,
	.graphs = graphs,
	.hints = hints,
};

const struct family controlnet = {
	.name = "controlnet",
	.architecture = "diffusion",
	.resolve = resolve_controlnet,
	.build = build_controlnet,
	.heads = heads,
	.hints = hints,
};

const struct family unet_plain = {
	.name = "unet_plain",
	.architecture = "diffusion",
	.resolve = resolve_plain,
	.build = build_unet,
	.heads = heads,
	.hints = hints,
};
