// SPDX-License-Identifier: Apache-2.0
// Attention of the encoders that have their own: half of the heads' width from a convolution whose kernel each token makes
// (ConvBERT: Jiang et al. 2020, https://arxiv.org/abs/2008.02496), and distances as vectors added to keys and values (NEZHA: Wei
// et al. 2019, https://arxiv.org/abs/1909.00204).
#include "arch/family/encoder.h"

#include <math.h>

// x [batch, seq, in] by groups of channels, each with a matrix of its own in a weight [groups, in/groups, out/groups]
graph_value encoder_grouped_linear(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out, int64_t groups)
{
	struct graph *g = b->g;
	graph_value w = WEIGHT(b, stem, "weight", groups, in / groups, out / groups);
	x = op_reshape(g, x, 5, (int64_t[]){ 0, 0, groups, 1, in / groups });
	x = op_reshape(g, op_matmul(g, x, w), 3, (int64_t[]){ 0, 0, out });
	return op_add(g, x, WEIGHT(b, stem, "bias", out));
}

//   x -+- q --------------+- softmax(q k^T * scale + bias) v -----------------------------+
//      +- k, v -----------+                                                               +- o
//      +- convolution -(*)- linear - softmax: a kernel for each token and head -(over)----+
//      |               q                                                        |
//      +- linear ---------------------------------------------------------------+
graph_value encoder_span_attention(struct build *b, graph_value x, graph_value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = s->hidden_size, width = s->heads * s->head_width, kernel = ((const struct encoder *)s->own)->kernel, one = 1;
	int64_t pad[] = { kernel / 2, kernel / 2 }, none[] = { 0, 0 };
	graph_value q = linear(b, "layers.attn.q", x, n, width, true);
	graph_value k = linear(b, "layers.attn.k", x, n, width, true), v = linear(b, "layers.attn.v", x, n, width, true);
	graph_value seen = op_attention(g,
		&(struct attention){
			q, k, v, .bias = bias, .heads = s->heads, .scale = (float)s->attention_scale }); // [batch, seq, width]

	graph_value y = op_conv(g, op_transpose(g, x, 3, (int[]){ 0, 2, 1 }),
		WEIGHT(b, "layers.conv.each", "weight", n, 1, kernel), NO_VALUE, &one, pad, &one, n);
	y = op_conv(g, y, WEIGHT(b, "layers.conv.mix", "weight", width, n, 1), NO_VALUE, &one, none, &one, 1);
	y = op_transpose(g, op_add(g, y, WEIGHT(b, "layers.conv", "bias", width, 1)), 3, (int[]){ 0, 2, 1 });
	graph_value kernels = linear(b, "layers.conv.kernel", op_mul(g, y, q), width, s->heads * kernel, true);
	kernels = op_softmax(g, op_reshape(g, kernels, 4, (int64_t[]){ 0, 0, s->heads, kernel }), 3);
	graph_value near =
		op_reshape(g, linear(b, "layers.conv.value", x, n, width, true), 4, (int64_t[]){ 0, 0, s->heads, s->head_width });
	near = op_pad(g, near, 1, kernel / 2, kernel / 2);
	graph_value length = op_dim(g, x, 1), sum = NO_VALUE;
	for (int64_t i = 0; i < kernel && !graph_failed(g); i++) {
		graph_value begin = graph_i64s(g, 1, (int64_t[]){ i });
		graph_value part = op_slice_to(g, near, 1, begin, op_add(g, length, begin));
		graph_assume(g, part, 1, value_dim(g, x, 1));
		part = op_mul(g, part, op_slice(g, kernels, 3, i, i + 1)); // [batch, seq, heads, head_width]
		sum = sum.id ? op_add(g, sum, part) : part;
	}
	sum = op_reshape(g, sum, 3, (int64_t[]){ 0, 0, width });
	return linear(b, "layers.attn.o", op_concat(g, 2, (graph_value[]){ seen, sum }, 2), 2 * width, n, true);
}

// Sines and cosines of each distance from -farthest to farthest: [2 farthest + 1, width]
static graph_value waves_of_distance(struct build *b, int64_t farthest, int64_t width)
{
	int64_t rows = 2 * farthest + 1;
	float *table = GRAPH_TABLE(b->g, NULL, rows, width, float);
	for (int64_t i = 0; table && i < rows; i++)
		for (int64_t k = 0; k < width; k++) {
			float slow = expf((float)(k / 2 * 2) * (float)(-log(10000.0) / (double)width)), angle = (float)i * slow;
			table[i * width + k] = k % 2 ? cosf(angle) : sinf(angle);
		}
	return graph_constant(b->g, DTYPE_F32, 2, (int64_t[]){ rows, width }, table);
}

// softmax(q (k + d)^T * scale + bias) (v + d), d [query, key, head_width] by the distance of key from query
graph_value encoder_distance_attention(struct build *b, graph_value x, graph_value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = s->hidden_size, most = ((const struct encoder *)s->own)->farthest;
	graph_value side[3];
	static const char *const stems[] = { "layers.attn.q", "layers.attn.k", "layers.attn.v" };
	for (int i = 0; i < 3; i++) {
		side[i] = op_reshape(g, linear(b, stems[i], x, n, n, true), 4, (int64_t[]){ 0, 0, s->heads, s->head_width });
		side[i] = op_transpose(g, side[i], 4, i == 1 ? (int[]){ 0, 2, 3, 1 } : (int[]){ 0, 2, 1, 3 });
	}
	graph_value at = places_of(g, x);
	graph_value far = op_sub(g, op_unsqueeze(g, at, 0), op_unsqueeze(g, at, 1));
	far = op_max(g, op_min(g, far, graph_i64(g, most)), graph_i64(g, -most));
	graph_value d = op_gather(
		g, waves_of_distance(b, most, s->head_width), op_add(g, far, graph_i64(g, most)), 0); // [seq, seq, head_width]
	graph_value swapped = op_transpose(g, side[0], 4, (int[]){ 2, 0, 1, 3 });           // [seq, batch, heads, head_width]
	graph_value across = op_unsqueeze(g, op_transpose(g, d, 3, (int[]){ 0, 2, 1 }), 1); // [seq, 1, head_width, seq]
	graph_value scores = op_add(
		g, op_matmul(g, side[0], side[1]), op_transpose(g, op_matmul(g, swapped, across), 4, (int[]){ 1, 2, 0, 3 }));
	graph_value p =
		op_softmax(g, op_add(g, op_scale(g, scores, (float)s->attention_scale), bias), 3); // [batch, heads, seq, seq]
	graph_value more = op_matmul(
		g, op_transpose(g, p, 4, (int[]){ 2, 0, 1, 3 }), op_unsqueeze(g, d, 1)); // [seq, batch, heads, head_width]
	graph_value y = op_add(g, op_transpose(g, op_matmul(g, p, side[2]), 4, (int[]){ 0, 2, 1, 3 }),
		op_transpose(g, more, 4, (int[]){ 1, 0, 2, 3 }));
	return linear(b, "layers.attn.o", op_reshape(g, y, 3, (int64_t[]){ 0, 0, n }), n, n, true);
}

static graph_value split(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	return op_transpose(b->g, op_reshape(b->g, x, 4, (int64_t[]){ 0, 0, s->heads, s->head_width }), 4, (int[]){ 0, 2, 1, 3 });
}

// YOSO (Zeng et al. 2021, https://arxiv.org/abs/2111.09714): a token reads as much of another's value as their hashes of so many
// bits are likely to be equal, (1 - angle / pi)^bits, and what it has read is made of length 1. Padding is read too. A
// convolution along the text may stand beside it, over the values of tokens.
graph_value encoder_hashed_attention(struct build *b, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	int64_t n = s->hidden_size, kernel = e->value_kernel, ones[] = { 1, 1 }, pad[] = { kernel / 2, 0, kernel / 2, 0 };
	graph_value q = unit_length(b, split(b, linear(b, "layers.attn.q", x, n, n, true))),
		    k = unit_length(b, split(b, linear(b, "layers.attn.k", x, n, n, true))),
		    v = split(b, linear(b, "layers.attn.v", x, n, n, true)); // [batch, heads, seq, width]
	graph_value angle = op_acos(g, op_matmul(g, q, op_transpose(g, k, 4, (int[]){ 0, 1, 3, 2 })));
	graph_value alike = op_sub(g, graph_f32(g, 1), op_scale(g, angle, (float)(1 / M_PI)));
	alike = op_pow(g, alike, graph_f32(g, (float)e->hash_bits));
	graph_value y = unit_length(b, op_matmul(g, alike, v));
	if (kernel) {
		graph_value is_token = op_unsqueeze(g, op_unsqueeze(g, op_cast(g, mask, DTYPE_F32), 1), 3);
		y = op_add(g, y,
			op_conv(g, op_mul(g, v, is_token), WEIGHT(b, "layers.attn.near", "weight", s->heads, 1, kernel, 1),
				NO_VALUE, ones, pad, ones, s->heads));
	}
	y = op_reshape(g, op_transpose(g, y, 4, (int[]){ 0, 2, 1, 3 }), 3, (int64_t[]){ 0, 0, n });
	return linear(b, "layers.attn.o", y, n, n, true);
}

// Attention, and a convolution along the text over the values of each head (Nystromformer: Xiong et al. 2021,
// https://arxiv.org/abs/2102.03902, where the landmarks are all tokens)
graph_value encoder_convolved_attention(struct build *b, graph_value x, graph_value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = s->hidden_size, kernel = ((const struct encoder *)s->own)->value_kernel, ones[] = { 1, 1 },
		pad[] = { kernel / 2, 0, kernel / 2, 0 };
	graph_value q = linear(b, "layers.attn.q", x, n, n, true), k = linear(b, "layers.attn.k", x, n, n, true),
		    v = linear(b, "layers.attn.v", x, n, n, true);
	graph_value y = op_attention(g,
		&(struct attention){
			q, k, v, .bias = bias, .heads = s->heads, .scale = (float)s->attention_scale }); // [batch, seq, hidden]
	graph_value near = op_reshape(g, v, 4, (int64_t[]){ 0, 0, s->heads, s->head_width });
	near = op_transpose(g, near, 4, (int[]){ 0, 2, 1, 3 }); // [batch, heads, seq, width]
	near = op_conv(
		g, near, WEIGHT(b, "layers.attn.near", "weight", s->heads, 1, kernel, 1), NO_VALUE, ones, pad, ones, s->heads);
	near = op_reshape(g, op_transpose(g, near, 4, (int[]){ 0, 2, 1, 3 }), 3, (int64_t[]){ 0, 0, n });
	return linear(b, "layers.attn.o", op_add(g, y, near), n, n, true);
}

// [batch, tokens, heads * head_width] -> [batch, heads, tokens, head_width]
static graph_value by_head(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	x = op_reshape(b->g, x, 4, (int64_t[]){ 0, 0, s->heads, s->head_width });
	return op_transpose(b->g, x, 4, (int[]){ 0, 2, 1, 3 });
}

// From scores before the scale: softmax(scores * scale + bias) v - o
static graph_value attend(struct build *b, graph_value scores, graph_value bias, graph_value v)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = s->hidden_size;
	graph_value p = op_softmax(g, op_add(g, op_scale(g, scores, (float)s->attention_scale), bias), 3);
	graph_value y = op_transpose(g, op_matmul(g, p, v), 4, (int[]){ 0, 2, 1, 3 });
	return linear(b, "layers.attn.o", op_reshape(g, y, 3, (int64_t[]){ 0, 0, n }), n, n, true);
}

// Queries meet what lies between two tokens besides the keys (BROS: Hong et al. 2021, https://arxiv.org/abs/2108.04539).
graph_value encoder_pair_attention(struct build *b, graph_value x, graph_value bias, graph_value between)
{
	struct graph *g = b->g;
	int64_t n = b->s->hidden_size;
	graph_value q = by_head(b, linear(b, "layers.attn.q", x, n, n, true)),
		    k = by_head(b, linear(b, "layers.attn.k", x, n, n, true)),
		    v = by_head(b, linear(b, "layers.attn.v", x, n, n, true));
	graph_value scores = op_matmul(g, q, op_transpose(g, k, 4, (int[]){ 0, 1, 3, 2 }));
	graph_value across = op_transpose(g, between, 4, (int[]){ 0, 1, 3, 2 });              // [batch, query, width, key]
	graph_value met = op_matmul(g, op_transpose(g, q, 4, (int[]){ 0, 2, 1, 3 }), across); // [batch, query, heads, key]
	return attend(b, op_add(g, scores, op_transpose(g, met, 4, (int[]){ 0, 2, 1, 3 })), bias, v);
}

// How far the corners of each token's box are from those of each other's: sines and cosines of eight distances, mapped.
// boxes f32 [batch, seq, 4]: x0 y0 x1 y1
graph_value encoder_box_pairs(struct build *b, graph_value boxes)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	static const int corner[] = { 0, 1, 2, 1, 2, 3, 0, 3 };
	static const char *const stems[] = { "embed.box_x", "embed.box_y" };
	int64_t wide = s->hidden_size / 4, half = wide / e->sides / 2;
	graph_value parts[8], frequencies[2];
	float *usual = GRAPH_TABLE(g, NULL, half + 1, 1, float);
	for (int64_t i = 0; usual && i < half; i++)
		usual[i] = (float)pow(10000, -(double)i / (double)half);
	for (int i = 0; i < 2; i++) // transformers reads them from the file
		frequencies[i] = !b->plan && weight_exists(b, stems[i], "inv_freq")
			? WEIGHT(b, stems[i], "inv_freq", half)
			: graph_constant(g, DTYPE_F32, 1, &half, usual);
	boxes = op_scale(g, boxes, (float)e->box_scale);
	for (int i = 0; i < 8; i++) {
		graph_value side = op_slice(g, boxes, 2, corner[i], corner[i] + 1);               // [batch, seq, 1]
		graph_value away = op_sub(g, op_unsqueeze(g, side, 1), op_unsqueeze(g, side, 2)); // [batch, query, key, 1]
		graph_value angle = op_mul(g, away, frequencies[i % 2]);
		parts[i] = op_concat(g, 2, (graph_value[]){ op_sin(g, angle), op_cos(g, angle) }, 3);
	}
	return linear(b, "embed.box_project", op_concat(g, 8, parts, 3), wide, s->head_width, false);
}

// Words and entities, each with queries of their own for words and for entities (LUKE: Yamada et al. 2020,
// https://arxiv.org/abs/2010.01057). words [1]: how many of x [batch, words + entities, hidden] are words
graph_value encoder_entity_attention(struct build *b, graph_value x, graph_value bias, graph_value words)
{
	struct graph *g = b->g;
	int64_t n = b->s->hidden_size;
	graph_value zero = graph_i64s(g, 1, (int64_t[]){ 0 }), all = op_dim(g, x, 1);
	graph_value word = op_slice_to(g, x, 1, zero, words), entity = op_slice_to(g, x, 1, words, all);
	graph_value k = by_head(b, linear(b, "layers.attn.k", x, n, n, true)),
		    v = by_head(b, linear(b, "layers.attn.v", x, n, n, true));
	static const char *const stems[] = { "layers.attn.q", "layers.attn.q_word_entity", "layers.attn.q_entity_word",
		"layers.attn.q_entity_entity" };
	graph_value part[2];
	for (int to = 0; to < 2; to++) {
		graph_value from[] = { linear(b, stems[to], word, n, n, true), linear(b, stems[2 + to], entity, n, n, true) };
		graph_value key = op_slice_to(g, k, 2, to ? words : zero, to ? all : words);
		part[to] = op_matmul(g, by_head(b, op_concat(g, 2, from, 1)), op_transpose(g, key, 4, (int[]){ 0, 1, 3, 2 }));
	}
	return attend(b, op_concat(g, 2, part, 3), bias, v);
}
