// SPDX-License-Identifier: Apache-2.0
// CLIPSeg (Lüddecke and Ecker 2021, https://arxiv.org/abs/2112.10003): on the towers that compare pictures with texts, a small
// decoder over some layers' states of the picture that says where in it is what a text names.
//
//   states of the last of the layers - linear (* linear of the text + linear of the text) -> layer
//   - (+ linear of the next states) -> .. -> layer - patches as pixels -> logits
//   layer:  x -+- attention -(+)- norm -+- up - relu - down -(+)- norm
//              +--------------+         +---------------------+
#include <math.h>

#include "arch/block/image.h"
#include "arch/family/dual.h"

struct clipseg {
	const int64_t *layers; // [count]: whose states
	int64_t count, condition;
	int64_t width, heads, ffn_size;
	bool three_steps; // from patches to pixels
};

const struct clipseg *clipseg_resolve(struct config *c, const struct spec *s, struct arena *a)
{
	struct clipseg *o = ARENA_NEW(a, struct clipseg);
	const struct spec *tower = part_of(s, "vision");
	o->layers = config_sizes(c, "extract_layers", a, 0, &o->count);
	o->condition = config_size(c, "conditional_layer", 0);
	o->width = config_size(c, "reduce_dim", 64);
	o->heads = config_size(c, "decoder_num_attention_heads", 4);
	o->ffn_size = config_size(c, "decoder_intermediate_size", 2048);
	o->three_steps = config_bool(c, "use_complex_transposed_convolution", false);
	if (c->error.status)
		return o;
	for (int64_t i = 0; i < o->count; i++)
		if (o->layers[i] >= tower->layers_in_config)
			config_fail(c, STATUS_BAD_INPUT, "extract_layers names a layer that is not there");
	if (o->count < 1 || o->count > CONFIG_COUNT_MOST || o->width < 2 || o->heads < 1 || o->width % o->heads ||
		o->ffn_size < 1 || (o->three_steps && tower->patch_size < 4))
		config_fail(c, STATUS_BAD_INPUT, "reduce_dim %lld, decoder_num_attention_heads %lld or extract_layers",
			(long long)o->width, (long long)o->heads);
	return o;
}

static graph_value layer(struct build *b, const struct clipseg *o, graph_value x, double eps)
{
	struct graph *g = b->g;
	int64_t w = o->width;
	graph_value y = op_attention(g,
		&(struct attention){ linear(b, "regions.q", x, w, w, true), linear(b, "regions.k", x, w, w, true),
			linear(b, "regions.v", x, w, w, true), .heads = o->heads,
			.scale = (float)(1 / sqrt((double)(w / o->heads))) });
	x = layer_norm_eps(b, "regions.norm", op_add(g, x, linear(b, "regions.o", y, w, w, true)), eps);
	y = linear(b, "regions.down", op_relu(g, linear(b, "regions.up", x, w, o->ffn_size, true)), o->ffn_size, w, true);
	return layer_norm_eps(b, "regions.ffn.norm", op_add(g, x, y), eps);
}

// Each place becomes kernel by kernel of them: x [batch, in, rows, cols]
static graph_value enlarged(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out, int64_t kernel)
{
	graph_value w = WEIGHT(b, stem, "weight", in, out, kernel, kernel);
	return op_conv_transpose(
		b->g, x, w, WEIGHT(b, stem, "bias", out), 2, (int64_t[]){ kernel, kernel }, (int64_t[]){ 0, 0, 0, 0 }, 1);
}

static graph_value pixels_of(struct build *b, const struct clipseg *o, graph_value map, int64_t patch)
{
	struct graph *g = b->g;
	int64_t w = o->width;
	if (!o->three_steps)
		return enlarged(b, "regions.pixels", map, w, 1, patch);
	b->layer = 0;
	map = op_relu(g, conv(b, "regions.steps", map, (struct conv){ .out = w, .kernel = 3, .bias = true }));
	b->layer = 2;
	map = op_relu(g, enlarged(b, "regions.steps", map, w, w / 2, patch / 4));
	b->layer = 4;
	return enlarged(b, "regions.steps", map, w / 2, 1, patch / 4);
}

void clipseg_regions(struct build *b, const struct clipseg *o, graph_value texts, const struct body *vision)
{
	struct graph *g = b->g;
	const struct spec *tower = part_of(b->s, "vision");
	int64_t from = graph_failed(g) ? 0 : value_dim(g, texts, -1);
	graph_value x = NO_VALUE;
	graph_enter(g, "regions");
	for (b->layer = 0; b->layer < o->count && !graph_failed(g); b->layer++) {
		int64_t state = o->layers[o->count - 1 - b->layer] + 1;
		if (state >= vision->state_count) {
			graph_fail(g, STATUS_UNSUPPORTED, "%s: extract_layers reads layers that were left out", b->c->path);
			break;
		}
		graph_value y = linear(b, "regions.reduce", vision->states[state], tower->hidden_size, o->width, true);
		x = x.id ? op_add(g, y, x) : y;
		if (b->layer == o->condition) {
			graph_value times = op_unsqueeze(g, linear(b, "regions.times", texts, from, o->width, true), 1);
			graph_value plus = op_unsqueeze(g, linear(b, "regions.plus", texts, from, o->width, true), 1);
			x = op_add(g, op_mul(g, times, x), plus);
		}
		x = layer(b, o, x, tower->norm_eps);
	}
	graph_value p = graph_i64s(g, 1, &tower->patch_size), rows = op_div(g, op_dim(g, vision->pixels, 2), p);
	x = map_of_grid(b, op_slice(g, x, 1, 1, INT64_MAX), rows, op_div(g, op_dim(g, vision->pixels, 3), p));
	x = op_squeeze(g, pixels_of(b, o, x, tower->patch_size), 1);
	graph_leave(g);
	graph_output(g, "logits", x); // [batch, height, width]
	graph_output(g, "conditional_embeddings", texts);
}
