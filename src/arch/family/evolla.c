// SPDX-License-Identifier: Apache-2.0
// Evolla (Zhou et al. 2025, https://www.biorxiv.org/content/10.1101/2025.01.05.630192): LLaMA, after some of whose layers stands
// one that looks at a protein, through gates. The protein's structure-aware letters go through SaProt, which is ESM-2's encoder,
// and become a few latents that look at its states and at themselves.
//
//   letters -> encoder -> latents -> linear - norm -> memory
//   ids -> tokens -> layers -> norm -> head
//   layer:  x -+- norm - attention -(+)-+- norm - feed-forward -(+)-
//           -(+- norm - attention to memory - tanh(gate) -(+)-+- norm - feed-forward - tanh(gate) -(+)-)
#include <float.h>
#include <math.h>

#include "arch/block/image.h"

struct evolla {
	int64_t interval;                                // every interval-th layer looks at the protein
	int64_t latents, depth, heads, head_width, wide; // of what makes the protein's states a few; wide: of its feed-forwards
	int64_t look_wide;                               // of the feed-forwards after looking
	bool bias;                                       // of what a look gives
};

static const struct evolla *own(const struct build *b)
{
	return b->s->own;
}

// The protein's keys over the class's own, which are not those of the encoder's type.
static void resolve_protein(struct config *c, struct spec *s, struct arena *a)
{
	static const char key[] = "protein_encoder_config";
	const json_t *given = c->given, *part = json_object_get(given, key);
	json_t *all = json_deep_copy(json_object_get(c->defaults, key)), *whole = json_copy((json_t *)given);
	all = all ? all : json_object();
	if (json_is_object(part))
		json_object_update(all, (json_t *)part);
	if (!part || json_is_object(part) || json_is_null(part))
		json_object_set(whole, key, all);
	c->given = whole;
	resolve_part_sees_all(c, key);
	resolve_part_fixed(c, s, a, "protein", key, NULL, NULL,
		(const char *const[]){ "model.protein_encoder.model.", "protein_encoder.model.", NULL });
	c->given = given;
	json_decref(whole);
	json_decref(all);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct evolla *o = ARENA_NEW(a, struct evolla);
	s->own = o;
	resolve_transformer(c, s, false);
	resolve_rope(c, s, a);
	resolve_protein(c, s, a);
	const struct spec *protein = part_of(s, "protein");
	if (c->error.status || !protein)
		return;
	int64_t looks = config_count(c, "aligner_num_add_layers", 8), times = config_size(c, "resampler_ff_mult", 4),
		look_times = config_size(c, "aligner_ffn_mult", 4);
	*o = (struct evolla){ .interval = looks > 0 && s->layers > looks ? s->layers / looks : 1,
		.latents = config_size(c, "resampler_num_latents", 64),
		.depth = config_count(c, "resampler_depth", 6),
		.heads = config_size(c, "resampler_heads", 8),
		.head_width = config_size(c, "resampler_dim_head", 64),
		.wide = protein->hidden_size * times,
		.look_wide = s->hidden_size * look_times,
		.bias = config_bool(c, "aligner_enable_bias", true) };
	s->traits.qkv_bias = s->traits.out_bias = config_bool(c, "attention_bias", false);
	s->traits.ffn_bias = config_bool(c, "mlp_bias", false);
	if (looks < 1 || o->latents < 1 || o->heads < 1 || o->head_width < 1 || o->wide < 1 || o->look_wide < 1 ||
		s->hidden_size % s->heads)
		config_fail(c, STATUS_BAD_INPUT,
			"the sizes of the resampler, or of the layers that look at the protein, do not go "
			"together");
}

// ---- the protein --------------------------------------------------------------------------------------------------------

static graph_value feed(struct build *b, const char *stem, graph_value x, int64_t width, int64_t wide)
{
	struct arena *a = graph_arena(b->g);
	graph_value y = layer_norm_eps(b, arena_printf(a, "%s.norm", stem), x, 1e-5);
	y = op_gelu(b->g, linear(b, arena_printf(a, "%s.up", stem), y, width, wide, false));
	return linear(b, arena_printf(a, "%s.down", stem), y, wide, width, false);
}

// states [batch, letters, width], mask i64 [batch, letters] -> [batch, latents, hidden]
static graph_value resample(struct build *b, graph_value states, graph_value mask)
{
	struct graph *g = b->g;
	const struct evolla *o = own(b);
	int64_t n = o->heads, d = o->head_width, width = part_of(b->s, "protein")->hidden_size;
	graph_value x = each_image(b, op_unsqueeze(g, WEIGHT(b, "latents", "", o->latents, width), 0), states);
	graph_value rows[] = { op_dim(g, states, 0), graph_i64s(g, 1, &o->latents) };
	graph_value seen[] = { mask, op_expand(g, graph_i64(g, 1), op_concat(g, 2, rows, 0)) };
	graph_value bias = op_where(g, op_cast(g, op_concat(g, 2, seen, 1), DTYPE_BOOL), graph_f32(g, 0), graph_f32(g, -FLT_MAX));
	bias = op_expand(g, op_unsqueeze(g, op_unsqueeze(g, bias, 1), 1), graph_i64s(g, 4, (int64_t[]){ 1, 1, o->latents, 1 }));
	for (b->layer = 0; b->layer < o->depth && !graph_failed(g); b->layer++) {
		graph_enter(g, "latents.%lld", (long long)b->layer);
		graph_value y = layer_norm_eps(b, "latents.attn.norm", x, 1e-5);
		graph_value all[] = { layer_norm_eps(b, "latents.attn.source", states, 1e-5), y };
		graph_value kv = linear(b, "latents.attn.kv", op_concat(g, 2, all, 1), width, 2 * n * d, false);
		y = op_attention(g,
			&(struct attention){ linear(b, "latents.attn.q", y, width, n * d, false), op_slice(g, kv, 2, 0, n * d),
				op_slice(g, kv, 2, n * d, 2 * n * d), .bias = bias, .heads = n,
				.scale = (float)(1 / sqrt((double)d)) });
		x = op_add(g, linear(b, "latents.attn.o", y, n * d, width, false), x);
		x = op_add(g, feed(b, "latents.ffn", x, width, o->wide), x);
		graph_leave(g);
	}
	return layer_norm_eps(b, "latents.norm", linear(b, "latents.project", x, width, b->s->hidden_size, true), 1e-5);
}

static graph_value see(struct build *b)
{
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "letters") };
	struct body io = { .ids = graph_input(g, "protein_input_ids", DTYPE_I64, 2, shape),
		.mask = graph_input(g, "protein_attention_mask", DTYPE_I64, 2, shape) };
	const struct spec *outer = part_enter(b, "protein");
	graph_enter(g, "protein");
	b->s->row->family->body(b, &io);
	graph_leave(g);
	part_leave(b, outer);
	return resample(b, io.last, io.mask);
}

// ---- text ---------------------------------------------------------------------------------------------------------------

static graph_value gated(struct build *b, const char *stem, graph_value x)
{
	return op_mul(b->g, x, op_tanh(b->g, WEIGHT(b, stem, "", 1)));
}

// rows [batch, 1, seq, latents]: of padding all is masked. The scores are scaled by the number of heads, not by their width.
static graph_value look(struct build *b, graph_value memory, graph_value rows, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value y = op_rms_norm(g, x, WEIGHT(b, "looks.attn.norm", "weight", h), 1e-6f);
	y = op_attention(g,
		&(struct attention){ linear(b, "looks.attn.q", y, h, h, true), linear(b, "looks.attn.k", memory, h, h, true),
			linear(b, "looks.attn.v", memory, h, h, true), .bias = rows, .heads = s->heads,
			.scale = (float)(1 / sqrt((double)s->heads)) });
	y = linear(b, "looks.attn.o", y, h, h, own(b)->bias);
	x = op_add(g, x, gated(b, "looks.attn.gate", y));
	return op_add(g, x, gated(b, "looks.ffn.gate", feed(b, "looks.ffn", x, h, own(b)->look_wide)));
}

static graph_value layer(struct build *b, graph_value x, const struct attention_extras *e)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value y = rms_norm(b, "layers.attn.norm", x, h);
	x = op_add(g, x, self_attention_with(b, y, e, s->traits.qkv_bias, s->traits.out_bias, NULL));
	y = rms_norm(b, "layers.ffn.norm", x, h);
	return op_add(g, x, ffn_of(b, "layers.ffn", y, s->ffn_size, s->traits.ffn_bias));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	struct body io = { 0 };
	graph_value memory = see(b);
	text_tower_inputs(b, &io);
	graph_value x = embedding(b, "embed.word", io.ids, s->vocab_size, s->hidden_size);
	graph_value is = op_cast(g, op_unsqueeze(g, op_unsqueeze(g, io.mask, 1), 3), DTYPE_BOOL);
	graph_value rows = op_where(g, is, graph_f32(g, 0), graph_f32(g, -FLT_MAX));
	rows = op_expand(g, rows, graph_i64s(g, 4, (int64_t[]){ 1, 1, 1, own(b)->latents }));
	struct attention_extras e = { .bias = mask_causal(b, io.mask, x, 0) };
	rope_tables(b, x, NO_VALUE, &e.cos, &e.sin);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, &e);
		if ((b->layer + 1) % own(b)->interval == 0)
			x = look(b, memory, rows, x);
		graph_leave(g);
	}
	io.last = rms_norm(b, "norm", x, s->hidden_size);
	head_build(b, &io);
}

static void say(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_value w = WEIGHT(b, "head.lm.out", "weight", s->vocab_size, s->hidden_size); // whatever tie_word_embeddings says
	graph_output(b->g, "logits", op_linear_output(b->g, io->last, w, NO_VALUE));       // [batch, seq, vocab]
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const int64_t letters = part_of(s, "protein")->vocab_size;
	out->vocab_size = letters < out->vocab_size ? letters : out->vocab_size; // made-up ids are of either table
	input_hint(out, "letters", 16);
}

static const struct family_head heads[] = {
	{ &head_conditional, say },
	{ &head_model, head_give_last },
	{ 0 },
};

const struct family evolla = {
	.name = "evolla",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
