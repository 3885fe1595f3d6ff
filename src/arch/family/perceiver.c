// SPDX-License-Identifier: Apache-2.0
// Idefics2 (Laurencon et al. 2024, https://arxiv.org/abs/2405.02246): however many patches a picture has, a few learned latents
// look at them (Perceiver, Jaegle et al. 2021, https://arxiv.org/abs/2103.03206) and become its tokens.
//
//   patches -> gated feed-forward -> context
//   layer:  latents -+- norm - attention to context and latents, normed -(+)-+- norm - gated feed-forward -(+)-
//                    +---------------------------------------------------+  +-------------------------------+
#include <math.h>

#include "arch/family/vlm.h"

// ---- the resampler: a part of its own -------------------------------------------------------------------------------------

static void resolve_resampler(struct config *c, struct spec *s, struct arena *a)
{
	(void)a;
	resolve_refusals(c, s);
	s->hidden_size = config_size(c, "hidden_size", -1);
	s->layers = s->layers_in_config = config_count(c, "resampler_depth", -1);
	s->heads = config_size(c, "resampler_n_heads", -1);
	s->kv_heads = config_size(c, "num_key_value_heads", 4);
	s->head_width = config_size(c, "resampler_head_dim", -1);
	s->image_tokens = config_size(c, "resampler_n_latents", -1);
	s->norm_eps = config_real(c, "rms_norm_eps", 1e-6);
	s->act = config_activation(c, "hidden_act", ACT_SILU);
	if (!c->error.status &&
		(s->hidden_size < 1 || s->layers < 1 || s->heads < 1 || s->kv_heads < 1 || s->heads % s->kv_heads ||
			s->head_width < 1 || s->image_tokens < 1))
		config_fail(c, STATUS_BAD_INPUT, "the resampler's sizes do not go together");
	s->attention_scale = 1 / sqrt((double)(s->head_width > 0 ? s->head_width : 1));
}

// io->memory [pictures, patches, hidden] -> io->last [pictures, latents, hidden]
static void body_resampler(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, width = s->heads * s->head_width, kv_width = s->kv_heads * s->head_width;
	graph_value shape = op_concat(
		g, 2, (graph_value[]){ op_dim(g, io->memory, 0), graph_i64s(g, 2, (int64_t[]){ s->image_tokens, h }) }, 0);
	graph_value x = op_expand(g, WEIGHT(b, "latents", "", s->image_tokens, h), shape);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_value y = rms_norm(b, "layers.attn.norm", x, h),
			    context = rms_norm(b, "layers.attn.context", io->memory, h);
		graph_value seen = op_concat(g, 2, (graph_value[]){ context, y }, 1); // [pictures, patches + latents, hidden]
		graph_value q = linear(b, "layers.attn.q", y, h, width, false),
			    k = linear(b, "layers.attn.k", seen, h, kv_width, false),
			    v = linear(b, "layers.attn.v", seen, h, kv_width, false);
		y = op_attention(g,
			&(struct attention){
				q, k, v, .heads = s->heads, .kv_heads = s->kv_heads, .scale = (float)s->attention_scale });
		x = op_add(g, x, linear(b, "layers.attn.o", y, width, h, false));
		x = op_add(g, x, ffn_of(b, "layers.ffn", rms_norm(b, "layers.ffn.norm", x, h), 4 * h, false));
		graph_leave(g);
	}
	io->last = rms_norm(b, "norm", x, h);
}

static void build_resampler(struct build *b)
{
	struct body io = { 0 };
	int64_t shape[] = { graph_symbol(b->g, "batch"), graph_symbol(b->g, "patches"), b->s->hidden_size };
	io.memory = graph_input(b->g, "context", DTYPE_F32, 3, shape);
	body_resampler(b, &io);
	head_build(b, &io);
}

const struct family resampler = {
	.name = "resampler",
	.architecture = "vision",
	.resolve = resolve_resampler,
	.build = build_resampler,
	.body = body_resampler,
};

// ---- the whole model ------------------------------------------------------------------------------------------------------

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve_parts(c, s, a, false, (const char *const[]){ "model.text_model.", "text_model.", NULL },
		    (const char *const[]){ "model.vision_model.", "vision_model.", NULL }))
		return;
	struct vlm *v = s->own;
	const struct spec *text = part_of(s, "text");
	struct spec *latents = resolve_part(c, s, a, "resampler", "perceiver_config", NULL, NULL,
		(const char *const[]){ "model.connector.perceiver_resampler.", "connector.perceiver_resampler.", NULL });
	if (!latents)
		return;
	v->looks_last = true;
	s->act = text->act;
	if (latents->hidden_size != text->hidden_size) { // an older file, which does not speak of it
		latents->hidden_size = text->hidden_size;
		latents->norm_eps = text->norm_eps;
	}
}

// x [pictures, patches, width] -> [pictures, latents, text]
static graph_value join(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *text = part_of(b->s, "text");
	int64_t in = vlm_vision_width(b->s), wide = text->ffn_size;
	graph_enter(g, "projector");
	graph_value gate = activate(b, b->s->act, linear(b, "projector.gate", x, in, wide, false));
	x = op_mul(g, gate, linear(b, "projector.up", x, in, wide, false));
	struct body io = { .memory = linear(b, "projector.down", x, wide, text->hidden_size, false) };
	graph_leave(g);
	const struct spec *outer = part_enter(b, "resampler");
	graph_enter(g, "resampler");
	b->s->row->family->body(b, &io);
	graph_leave(g);
	part_leave(b, outer);
	return io.last;
}

static graph_value see(struct build *b, graph_value ids, struct body *text)
{
	(void)text;
	return vlm_see_rows(b, ids, true, part_of(b->s, "resampler")->image_tokens, join);
}

static void build(struct build *b)
{
	vlm_build(b, see);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	out->image_token_id = vlm_of(s)->image_token_id;
	out->image_tokens = part_of(s, "resampler")->image_tokens;
	out->symbols[2] = (struct input_symbol){ "images", 1, false };
}

const struct family vlm_perceived = {
	.name = "vision-language-perceived",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.graphs = vlm_graphs,
	.hints = hints,
	.heads = vlm_heads,
};
