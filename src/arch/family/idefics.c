// SPDX-License-Identifier: Apache-2.0
// IDEFICS, after Flamingo (Laurençon et al. 2023, https://arxiv.org/abs/2306.16527; Alayrac et al. 2022,
// https://arxiv.org/abs/2204.14198): LLaMA, before some of whose layers stands one that looks at pictures, through gates. Which
// pictures each token may see is an input; who sees none gets nothing from there.
//
//   pictures -> CLIP's tower (-> a few latents that look at a picture's states and at themselves) -> memory
//   ids -> tokens -> layers -> norm -> head
//   layer:  x -(+- norm - attention to memory - tanh(gate) -(+)-+- norm - feed-forward - tanh(gate) -(+)-)-
//           -+- norm - attention -(+)-+- norm - feed-forward -(+)-
#include <float.h>
#include <math.h>

#include "arch/block/image.h"

struct idefics {
	int64_t interval;        // every interval-th layer has one that looks at pictures before it
	int64_t further;         // words beyond the vocabulary, in a table of their own
	bool normed, gate_width; // queries and keys of those layers are normed; a gate has a number for each channel
	int64_t latents, depth, heads, head_width; // of what makes a picture's states a few; latents 0: nothing does
	bool latents_normed;                       // its queries and keys are normed
};

static void resolve_latents(struct config *c, struct idefics *o, struct arena *a)
{
	struct config sub;
	config_open_within(&sub, c, "perceiver_config", a);
	o->latents = config_size(&sub, "resampler_n_latents", 64);
	o->depth = config_count(&sub, "resampler_depth", 6);
	o->heads = config_size(&sub, "resampler_n_heads", 16);
	o->head_width = config_size(&sub, "resampler_head_dim", 96);
	o->latents_normed = config_bool(&sub, "qk_layer_norms_perceiver", false);
	if (o->latents < 1 || o->heads < 1 || o->head_width < 1)
		config_fail(&sub, STATUS_BAD_INPUT, "a size of the resampler is 0");
	config_close_within(&sub, c);
	if (!config_bool(c, "use_resampler", false))
		o->latents = 0;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct idefics *o = ARENA_NEW(a, struct idefics);
	s->own = o;
	resolve_transformer(c, s, false);
	resolve_rope(c, s, a);
	o->interval = config_size(c, "cross_layer_interval", 1);
	o->further = config_size(c, "additional_vocab_size", 0);
	o->normed = config_bool(c, "qk_layer_norms", false);
	const char *gate = config_text(c, "alpha_type");
	o->gate_width = text_is(gate, "vector");
	resolve_latents(c, o, a);
	const struct spec *vision =
		resolve_part(c, s, a, "vision", "vision_config", NULL, NULL, (const char *const[]){ "model.", "", NULL });
	if (!vision || !part_is_usual(c, s, "vision") || c->error.status)
		return;
	if (gate && !o->gate_width && !text_is(gate, "float"))
		config_fail(c, STATUS_BAD_INPUT, "alpha_type should be vector or float");
	if (o->interval < 1 || s->layers < 1 || (s->layers - 1) / o->interval >= s->layers / o->interval)
		config_fail(c, STATUS_BAD_INPUT, "%lld layers, of which every %lldth should have one before it",
			(long long)s->layers, (long long)o->interval);
}

static const struct idefics *own(const struct build *b)
{
	return b->s->own;
}

// ---- pictures -----------------------------------------------------------------------------------------------------------

// x [batch, seq, heads * width], each head normed
static graph_value heads_normed(struct build *b, const char *stem, graph_value x, int64_t heads, int64_t width, bool rms)
{
	struct graph *g = b->g;
	x = op_reshape(g, x, 4, (int64_t[]){ 0, 0, heads, width });
	x = rms ? rms_norm(b, stem, x, width) : layer_norm_eps(b, stem, x, 1e-5);
	return op_reshape(g, x, 3, (int64_t[]){ 0, 0, heads * width });
}

// states [pictures, tokens, width] -> [pictures, latents, width]
static graph_value resample(struct build *b, graph_value states, int64_t width)
{
	struct graph *g = b->g;
	const struct idefics *o = own(b);
	int64_t n = o->heads, d = o->head_width;
	graph_value x = each_image(b, op_unsqueeze(g, WEIGHT(b, "latents", "", o->latents, width), 0), states);
	for (b->layer = 0; b->layer < o->depth && !graph_failed(g); b->layer++) {
		graph_enter(g, "latents.%lld", (long long)b->layer);
		graph_value y = layer_norm_eps(b, "latents.attn.norm", x, 1e-5);
		graph_value all =
			op_concat(g, 2, (graph_value[]){ layer_norm_eps(b, "latents.attn.source", states, 1e-5), y }, 1);
		graph_value q = linear(b, "latents.attn.q", y, width, n * d, false),
			    k = linear(b, "latents.attn.k", all, width, n * d, false);
		if (o->latents_normed) {
			q = heads_normed(b, "latents.attn.q_norm", q, n, d, false);
			k = heads_normed(b, "latents.attn.k_norm", k, n, d, false);
		}
		y = op_attention(g,
			&(struct attention){ q, k, linear(b, "latents.attn.v", all, width, n * d, false), .heads = n,
				.scale = (float)(1 / sqrt((double)d)) });
		x = op_add(g, x, linear(b, "latents.attn.o", y, n * d, width, false));
		y = linear(b, "latents.ffn.up", layer_norm_eps(b, "latents.ffn.norm", x, 1e-5), width, 4 * width, false);
		x = op_add(g, x, linear(b, "latents.ffn.down", op_relu(g, y), 4 * width, width, false));
		graph_leave(g);
	}
	return layer_norm_eps(b, "latents.norm", x, 1e-5);
}

// What a picture is to the text.
static int64_t memory_tokens(const struct build *b)
{
	return own(b)->latents ? own(b)->latents : part_of(b->s, "vision")->image_tokens;
}

// What the text looks at: io->memory, memory_bias and memory_rows.
static void see(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *outer = part_enter(b, "vision"), *s = b->s;
	int64_t n = s->image_size, width = s->hidden_size, images = graph_symbol(g, "images"), batch = graph_symbol(g, "batch");
	graph_value pixels = graph_input(g, "pixel_values", DTYPE_F32, 5, (int64_t[]){ batch, images, s->channels, n, n });
	struct body vision = { .pixels = op_reshape(g, pixels, 4, (int64_t[]){ -1, s->channels, n, n }) };
	graph_enter(g, "vision");
	b->s->row->family->body(b, &vision);
	graph_leave(g);
	part_leave(b, outer);
	graph_value x = own(b)->latents ? resample(b, vision.last, width) : vision.last;
	if (graph_failed(g))
		return;
	int64_t tokens = memory_tokens(b);
	graph_value all[] = { op_dim(g, pixels, 0), graph_i64s(g, 2, (int64_t[]){ -1, width }) };
	io->memory = op_reshape_to(g, x, op_concat(g, 2, all, 0)); // [batch, images * tokens, width]
	graph_value mask =
		graph_input(g, "image_attention_mask", DTYPE_I64, 3, (int64_t[]){ batch, graph_symbol(g, "sequence"), images });
	graph_value sees = op_cast(g, op_cast(g, mask, DTYPE_BOOL), DTYPE_F32);
	io->memory_rows = op_reduce_max(g, sees, 2, true); // [batch, seq, 1]
	float *one = GRAPH_TABLE(g, NULL, tokens, 1, float);
	for (int64_t i = 0; one && i < tokens; i++)
		one[i] = 1;
	sees = op_mul(g, op_unsqueeze(g, sees, 3), graph_constant(g, DTYPE_F32, 1, &tokens, one));
	sees = op_reshape(g, sees, 3, (int64_t[]){ 0, 0, -1 }); // [batch, seq, images * tokens]
	io->memory_bias = op_unsqueeze(g, op_scale(g, op_sub(g, graph_f32(g, 1), sees), -FLT_MAX), 1);
}

// ---- text ---------------------------------------------------------------------------------------------------------------

// Rows of two tables, one after the other.
static graph_value embed(struct build *b, graph_value ids)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t rows = s->vocab_size, further = own(b)->further;
	if (!further)
		return embedding(b, "embed.word", ids, rows, s->hidden_size);
	graph_value border = graph_i64(g, rows), zero = graph_i64(g, 0), beyond = op_less_or_equal(g, border, ids);
	graph_value low = embedding(b, "embed.word", op_where(g, beyond, zero, ids), rows, s->hidden_size);
	graph_value at = op_where(g, beyond, op_sub(g, ids, border), zero);
	graph_value high = embedding(b, "embed.further", at, further, s->hidden_size);
	return op_where(g, op_unsqueeze(g, beyond, 2), high, low);
}

// Positions count tokens; those of padding are 1.
static graph_value positions(struct graph *g, graph_value mask)
{
	graph_value one = graph_i64(g, 1), is_padding = op_equal(g, mask, graph_i64(g, 0));
	return op_where(g, is_padding, one, op_sub(g, op_cumsum(g, mask, 1), one));
}

static graph_value gated(struct build *b, const char *stem, graph_value x)
{
	graph_value gate = own(b)->gate_width ? WEIGHT(b, stem, "", 1, 1, b->s->hidden_size) : WEIGHT(b, stem, "", 1);
	return op_mul(b->g, x, op_tanh(b->g, gate));
}

static graph_value look(struct build *b, const struct body *io, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, from = part_of(s, "vision")->hidden_size, n = s->heads, d = h / n;
	graph_value y = rms_norm(b, "looks.attn.norm", x, h), q = linear(b, "looks.attn.q", y, h, h, false),
		    k = linear(b, "looks.attn.k", io->memory, from, h, false);
	if (own(b)->normed) {
		q = heads_normed(b, "looks.attn.q_norm", q, n, d, true);
		k = heads_normed(b, "looks.attn.k_norm", k, n, d, true);
	}
	y = op_attention(g,
		&(struct attention){ q, k, linear(b, "looks.attn.v", io->memory, from, h, false), .bias = io->memory_bias,
			.heads = n, .scale = (float)(1 / sqrt((double)d)) });
	y = op_mul(g, linear(b, "looks.attn.o", y, h, h, false), io->memory_rows);
	x = op_add(g, x, gated(b, "looks.attn.gate", y));
	y = ffn_of(b, "looks.ffn", rms_norm(b, "looks.ffn.norm", x, h), s->ffn_size, false);
	return op_add(g, x, gated(b, "looks.ffn.scale", y));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, interval = own(b)->interval;
	struct body io = { 0 };
	see(b, &io);
	text_tower_inputs(b, &io);
	graph_value x = embed(b, io.ids), cos, sin, bias = mask_causal(b, io.mask, x, 0);
	rope_tables(b, x, positions(g, io.mask), &cos, &sin);
	for (int64_t i = 0; i < s->layers && !graph_failed(g); i++) {
		graph_enter(g, "layers.%lld", (long long)i);
		b->layer = i / interval;
		x = i % interval ? x : look(b, &io, x);
		b->layer = i;
		graph_value y = rms_norm(b, "layers.attn.norm", x, h);
		x = op_add(g, x, self_attention(b, y, bias, cos, sin, false, false, NULL));
		x = op_add(g, x, ffn_of(b, "layers.ffn", rms_norm(b, "layers.ffn.norm", x, h), s->ffn_size, false));
		graph_leave(g);
	}
	io.last = rms_norm(b, "norm", x, h);
	head_build(b, &io);
}

static void say(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t further = own(b)->further;
	graph_value w = WEIGHT(b, s->tied ? "embed.word" : "head.lm.out", "weight", s->vocab_size, s->hidden_size);
	graph_value y = op_linear_output(g, io->last, w, NO_VALUE);
	if (further) {
		w = WEIGHT(b, s->tied ? "embed.further" : "head.lm.further", "weight", further, s->hidden_size);
		y = op_concat(g, 2, (graph_value[]){ y, op_linear_output(g, io->last, w, NO_VALUE) }, 2);
	}
	graph_output(g, "logits", y); // [batch, seq, vocab + further]
}

static void give(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	int64_t tokens = memory_tokens(b), width = part_of(b->s, "vision")->hidden_size;
	head_give_last(b, io);
	graph_output(g, "image_hidden_states", op_reshape(g, io->memory, 4, (int64_t[]){ 0, -1, tokens, width }));
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	input_hint(out, "images", 2);
}

static const struct family_head heads[] = {
	{ &head_conditional, say },
	{ &head_model, give },
	{ 0 },
};

const struct family idefics = {
	.name = "idefics",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
