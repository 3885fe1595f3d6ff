// SPDX-License-Identifier: Apache-2.0
// SAM 2's vision tower (Ravi et al. 2024, https://arxiv.org/abs/2408.00714): Hiera (Ryali et al. 2023,
// https://arxiv.org/abs/2306.00989) with windows, whose positions are a learned map resized to the picture plus a learned window
// repeated over it (Bolya et al. 2023, https://arxiv.org/abs/2311.05613), and a pyramid over its stages. A stage begins with
// queries that are the maxima of neighbours, so its map is smaller. States are [batch, rows, cols, width].
//
//   pixels -> patches + positions -> layers -> states of the stages -> 1x1, the coarser ones added -> maps
//   layer:  x -+- norm - (windows -) attention (- back) --+(+)-+- norm - up - act - down -(+)-
//              +--(or, where it widens: norm - linear - max)-+   +--------------------------+
#include <math.h>

#include "arch/block/image.h"

struct hiera_det {
	int64_t stages, pooled_stages;
	const int64_t *blocks, *widths, *heads, *windows; // [stages]
	const bool *global;                               // [layers]: has it no windows
	int64_t kernel[2], step[2], pad[2], query[2], background[2];
	int64_t rows, cols; // of patches
	double ratio;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct hiera_det *o = ARENA_NEW(a, struct hiera_det);
	int64_t size[2];
	s->own = o;
	const int64_t *blocks = config_sizes(c, "blocks_per_stage", a, 0, &o->stages);
	if (!c->error.status && (!blocks || o->stages < 1 || o->stages > 16))
		config_fail(c, STATUS_BAD_INPUT, "blocks_per_stage should be a list of at most 16 numbers");
	if (c->error.status)
		return;
	o->blocks = blocks;
	o->widths = resolve_stages(c, "embed_dim_per_stage", a, o->stages, 1);
	o->heads = resolve_stages(c, "num_attention_heads_per_stage", a, o->stages, 1);
	o->windows = resolve_stages(c, "window_size_per_stage", a, o->stages, 0);
	o->pooled_stages = config_size(c, "num_query_pool_stages", 3);
	o->ratio = config_real(c, "mlp_ratio", 4);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-6);
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	s->channels = config_size(c, "num_channels", 3);
	int64_t first = config_size(c, "hidden_size", -1), count = 0;
	resolve_pair(c, a, "image_size", 1024, 1, size);
	resolve_pair(c, a, "patch_kernel_size", 7, 1, o->kernel);
	resolve_pair(c, a, "patch_stride", 4, 1, o->step);
	resolve_pair(c, a, "patch_padding", 3, 0, o->pad);
	resolve_pair(c, a, "query_stride", 2, 1, o->query);
	resolve_pair(c, a, "window_positional_embedding_background_size", 7, 1, o->background);
	const int64_t *global = config_sizes(c, "global_attention_blocks", a, 0, &count);
	for (int64_t i = 0; i < o->stages; i++)
		s->layers += blocks[i] > 0 && blocks[i] <= CONFIG_COUNT_MOST ? blocks[i] : CONFIG_COUNT_MOST + 1;
	if (c->error.status)
		return;
	s->image_size = size[0], s->image_width = size[1];
	s->layers_in_config = s->layers;
	o->rows = (size[0] + 2 * o->pad[0] - o->kernel[0]) / o->step[0] + 1;
	o->cols = (size[1] + 2 * o->pad[1] - o->kernel[1]) / o->step[1] + 1;
	s->hidden_size = o->widths[o->stages - 1];
	int64_t window = o->windows[0];
	if (s->layers > CONFIG_COUNT_MOST || first != o->widths[0] || o->rows < 1 || o->cols < 1 || window < 1 ||
		o->rows % window || o->cols % window || s->channels < 1)
		config_fail(c, STATUS_BAD_INPUT, "windows of %lld over %lld by %lld patches, or a first width of %lld",
			(long long)window, (long long)o->rows, (long long)o->cols, (long long)first);
	for (int64_t i = 0; i < o->stages && !c->error.status; i++)
		if (o->widths[i] % o->heads[i])
			config_fail(c, STATUS_BAD_INPUT, "%lld heads over %lld", (long long)o->heads[i], (long long)o->widths[i]);
	if (c->error.status)
		return;
	bool *is_global = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	for (int64_t i = 0; i < count; i++)
		if (global[i] < s->layers)
			is_global[global[i]] = true;
	o->global = is_global;
}

struct place { // of a layer
	int64_t in, out, heads, window, rows, cols;
	bool pools;
};

// x [batch, rows, cols, width]: the greatest of neighbours
static graph_value pooled(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct hiera_det *o = b->s->own;
	x = op_transpose(g, x, 4, (int[]){ 0, 3, 1, 2 });
	x = op_max_pool(g, x, 2, o->query, o->query, (int64_t[]){ 0, 0, 0, 0 }, false);
	return op_transpose(g, x, 4, (int[]){ 0, 2, 3, 1 });
}

// x [batch, rows, cols, in] -> [batch, rows, cols, out], or fewer of both where it pools
static graph_value attention(struct build *b, graph_value x, const struct place *p, int64_t rows, int64_t cols)
{
	struct graph *g = b->g;
	const struct hiera_det *o = b->s->own;
	int64_t d = p->out;
	graph_value qkv =
		linear(b, "layers.attn.qkv", op_reshape(g, x, 3, (int64_t[]){ -1, rows * cols, p->in }), p->in, 3 * d, true);
	graph_value q = op_slice(g, qkv, 2, 0, d);
	if (p->pools) {
		q = pooled(b, op_reshape(g, q, 4, (int64_t[]){ 0, rows, cols, d }));
		rows /= o->query[0], cols /= o->query[1];
		q = op_reshape(g, q, 3, (int64_t[]){ 0, rows * cols, d });
	}
	graph_value y = op_attention(g,
		&(struct attention){ q, op_slice(g, qkv, 2, d, 2 * d), op_slice(g, qkv, 2, 2 * d, 3 * d), .heads = p->heads,
			.scale = (float)(1 / sqrt((double)(d / p->heads))) });
	return op_reshape(g, linear(b, "layers.attn.o", y, d, d, true), 4, (int64_t[]){ 0, rows, cols, d });
}

// The same within windows; zeros fill up the last ones.
static graph_value in_windows(struct build *b, graph_value x, const struct place *p)
{
	struct graph *g = b->g;
	const struct hiera_det *o = b->s->own;
	int64_t w = p->window, down = (p->rows + w - 1) / w, right = (p->cols + w - 1) / w, after[2] = { w, w }, rows = p->rows,
		cols = p->cols;
	graph_value y = op_pad(g, op_pad(g, x, 1, 0, down * w - rows), 2, 0, right * w - cols);
	y = op_transpose(g, op_reshape(g, y, 6, (int64_t[]){ 0, down, w, right, w, p->in }), 6, (int[]){ 0, 1, 3, 2, 4, 5 });
	y = attention(b, op_reshape(g, y, 4, (int64_t[]){ -1, w, w, p->in }), p, w, w);
	if (p->pools) { // windows are cut by the first number alone
		rows /= o->query[0], cols /= o->query[1];
		after[0] /= o->query[0], after[1] /= o->query[1];
		if (after[0] < 1 || after[0] != after[1] || (rows + after[0] - 1) / after[0] != down ||
			(cols + after[1] - 1) / after[1] != right) {
			graph_fail(g, STATUS_BAD_INPUT,
				"%s: windows of %lld over %lld by %lld cannot be put together again after they are pooled",
				b->c->path, (long long)w, (long long)p->rows, (long long)p->cols);
			return NO_VALUE;
		}
	}
	graph_value sizes = graph_i64s(g, 5, (int64_t[]){ down, right, after[0], after[1], p->out });
	y = op_reshape_to(g, y, op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), sizes }, 0));
	y = op_reshape(g, op_transpose(g, y, 6, (int[]){ 0, 1, 3, 2, 4, 5 }), 4,
		(int64_t[]){ 0, down * after[0], right * after[1], p->out });
	return op_slice(g, op_slice(g, y, 1, 0, rows), 2, 0, cols);
}

static graph_value layer(struct build *b, graph_value x, const struct place *p)
{
	struct graph *g = b->g;
	const struct hiera_det *o = b->s->own;
	int64_t inner = (int64_t)((double)p->out * o->ratio);
	graph_value y = layer_norm(b, "layers.attn.norm", x, p->in);
	if (p->in != p->out) {
		x = linear(b, "layers.project", y, p->in, p->out, true);
		x = p->pools ? pooled(b, x) : x;
	}
	x = op_add(g, x, p->window ? in_windows(b, y, p) : attention(b, y, p, p->rows, p->cols));
	y = linear(b, "layers.ffn.up", layer_norm(b, "layers.ffn.norm", x, p->out), p->out, inner, true);
	return op_add(g, x, linear(b, "layers.ffn.down", activate(b, b->s->act, y), inner, p->out, true));
}

static graph_value embed(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct hiera_det *o = s->own;
	int64_t h = o->widths[0], n = o->windows[0], down = o->rows / n, right = o->cols / n;
	int64_t pads[] = { o->pad[0], o->pad[1], o->pad[0], o->pad[1] }, one[] = { 1, 1 };
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, o->kernel[0], o->kernel[1]);
	graph_value x = op_conv(g, pixels, w, WEIGHT(b, "embed.patch", "bias", h), o->step, pads, one, 1);
	graph_value table = WEIGHT(b, "embed.position", "", 1, h, o->background[0], o->background[1]);
	table = op_resize(g, table, graph_i64s(g, 4, (int64_t[]){ 1, h, o->rows, o->cols }), "cubic");
	graph_value window = op_reshape(g, WEIGHT(b, "embed.window", "", 1, h, n, n), 5, (int64_t[]){ h, 1, n, 1, n });
	window = op_expand(g, window, graph_i64s(g, 5, (int64_t[]){ h, down, n, right, n }));
	x = op_add(g, x, op_add(g, table, op_reshape(g, window, 4, (int64_t[]){ 1, h, o->rows, o->cols })));
	return op_transpose(g, x, 4, (int[]){ 0, 2, 3, 1 });
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct hiera_det *o = s->own;
	struct place p = { .in = o->widths[0], .rows = o->rows, .cols = o->cols };
	int64_t index = 0;
	if (graph_failed(g))
		return;
	if (value_dim(g, io->pixels, 2) != s->image_size || value_dim(g, io->pixels, 3) != s->image_width) {
		graph_fail(g, STATUS_UNSUPPORTED, "%s: images other than %lld by %lld are not supported yet", b->c->path,
			(long long)s->image_size, (long long)s->image_width);
		return;
	}
	graph_value x = embed(b, io->pixels);
	io->states = ARENA_ARRAY(graph_arena(g), (size_t)o->stages, graph_value);
	io->state_count = 0;
	for (int64_t stage = 0; stage < o->stages && !graph_failed(g); stage++) {
		p.out = o->widths[stage], p.heads = o->heads[stage];
		for (int64_t i = 0; i < o->blocks[stage] && !graph_failed(g); i++, index++) {
			bool begins = stage && !i;
			p.window = o->global[index] ? 0 : o->windows[begins ? stage - 1 : stage];
			p.pools = begins && stage <= o->pooled_stages;
			if (p.pools && p.in == p.out) // what is added to it is not pooled
				graph_fail(g, STATUS_BAD_INPUT, "%s: a stage is pooled and no wider than the one before",
					b->c->path);
			graph_enter(g, "layers.%lld", (long long)index);
			b->layer = index;
			x = layer(b, x, &p);
			graph_leave(g);
			if (p.pools)
				p.rows /= o->query[0], p.cols /= o->query[1];
			p.in = p.out;
		}
		states_add(io, x);
	}
	io->last = x;
}

static const struct family_head heads[] = { { &head_model, head_give_last }, { 0 } };

const struct family hiera_det = {
	.name = "hiera-det",
	.architecture = "vision",
	.resolve = resolve,
	.build = picture_build,
	.body = body,
	.heads = heads,
};

// ---- with a pyramid -----------------------------------------------------------------------------------------------------

struct pyramid {
	int64_t levels, given; // of the backbone's stages, the finest first; how many maps are given
	int64_t width, kernel, step, pad;
	bool top_down[16]; // [levels]: is the coarser one added
};

static void resolve_pyramid(struct config *c, struct spec *s, struct arena *a)
{
	struct pyramid *o = ARENA_NEW(a, struct pyramid);
	int64_t channels = 0, count = 0;
	s->own = o;
	const struct spec *backbone =
		resolve_part(c, s, a, "backbone", "backbone_config", NULL, NULL, (const char *const[]){ "backbone.", NULL });
	const int64_t *widths = config_sizes(c, "backbone_channel_list", a, 0, &channels),
		      *added = config_sizes(c, "fpn_top_down_levels", a, 0, &count);
	o->width = config_size(c, "fpn_hidden_size", 256);
	o->kernel = config_size(c, "fpn_kernel_size", 1);
	o->step = config_size(c, "fpn_stride", 1);
	o->pad = config_size(c, "fpn_padding", 0);
	o->given = config_size(c, "num_feature_levels", 3);
	if (!backbone || !part_is_usual(c, s, "backbone"))
		return;
	const struct hiera_det *h = backbone->own;
	o->levels = h->stages;
	s->hidden_size = backbone->hidden_size;
	s->image_size = backbone->image_size, s->image_width = backbone->image_width;
	s->channels = backbone->channels;
	bool fits = channels == o->levels;
	for (int64_t i = 0; fits && i < channels; i++)
		fits = widths[i] == h->widths[channels - 1 - i];
	if (!fits || o->width < 1 || o->kernel < 1 || o->step < 1 || o->given < 1 || o->given > o->levels)
		config_fail(c, STATUS_BAD_INPUT, "backbone_channel_list or num_feature_levels is not for these stages");
	for (int64_t i = 0; i < count && !c->error.status; i++)
		if (added[i] < o->levels)
			o->top_down[added[i]] = true;
}

static void pyramid_body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct pyramid *o = b->s->own;
	const struct spec *outer = part_enter(b, "backbone");
	struct body from = { .pixels = io->pixels };
	b->s->row->family->body(b, &from);
	part_leave(b, outer);
	io->last = from.last;
	io->states = ARENA_ARRAY(graph_arena(g), (size_t)o->levels, graph_value);
	io->state_count = o->given;
	graph_value x = NO_VALUE;
	for (int64_t i = o->levels - 1; i >= 0 && !graph_failed(g); i--) {
		b->layer = o->levels - 1 - i;
		graph_value y = op_transpose(g, from.states[i], 4, (int[]){ 0, 3, 1, 2 });
		y = conv(b, "neck", y,
			(struct conv){ .out = o->width,
				.kernel = o->kernel,
				.stride = o->step,
				.pad = o->pad ? o->pad : PAD_NONE,
				.bias = true });
		if (x.id && o->top_down[i]) {
			int64_t rows = value_dim(g, x, 2), cols = value_dim(g, x, 3);
			graph_value sizes = graph_i64s(g, 3, (int64_t[]){ o->width, 2 * rows, 2 * cols });
			sizes = op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), sizes }, 0);
			y = op_add(g, y, op_resize(g, x, sizes, "nearest"));
		}
		io->states[i] = x = y;
	}
}

static void build_pyramid(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, b->s->image_size, b->s->image_width) };
	pyramid_body(b, &io);
	head_build(b, &io);
}

const struct family hiera_pyramid = {
	.name = "hiera-pyramid",
	.architecture = "vision",
	.resolve = resolve_pyramid,
	.build = build_pyramid,
	.body = pyramid_body,
	.heads = heads,
};
