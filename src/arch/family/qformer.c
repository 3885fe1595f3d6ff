// SPDX-License-Identifier: Apache-2.0
// BLIP (Li et al. 2022, https://arxiv.org/abs/2201.12086): a BERT that looks at a picture. BLIP-2 (Li et al. 2023,
// https://arxiv.org/abs/2301.12597): learned queries ask the picture, what they learn stands in the text; InstructBLIP
// (https://arxiv.org/abs/2305.06500): a text is beside the queries.
//
//   ids -> tokens + positions -> norm -> layers (-> pooler)
//   queries (+ ids -> tokens + positions) -> norm -> layers
//   layer:  x - attention -(+)- norm (- attention to the picture -(+)- norm) - up - act - down -(+)- norm
#include "arch/block/image.h"
#include "arch/family/clip.h"
#include "arch/family/qformer.h"
#include "arch/family/vlm.h"

// spec.own of blip_text and qformer.
struct looking {
	int64_t memory, every; // width of what is looked at, in every so many layers; every 0: in none
	bool causal;
};

static const struct looking *looking_of(const struct build *b)
{
	return b->s->own;
}

int64_t qformer_memory(const struct spec *s)
{
	return ((const struct looking *)s->own)->memory;
}

// x + o(softmax(q k^T) v), keys and values from the picture [batch, places, memory]
static graph_value look(struct build *b, graph_value x, graph_value memory)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, wide = looking_of(b)->memory;
	graph_enter(g, "cross");
	graph_value q = linear(b, "layers.cross.q", x, h, h, true), k = linear(b, "layers.cross.k", memory, wide, h, true),
		    v = linear(b, "layers.cross.v", memory, wide, h, true);
	graph_value y = op_attention(g, &(struct attention){ q, k, v, .heads = s->heads, .scale = (float)s->attention_scale });
	x = layer_norm(b, "layers.cross.norm", op_add(g, linear(b, "layers.cross.o", y, h, h, true), x), h);
	graph_leave(g);
	return x;
}

static graph_value attend(struct build *b, graph_value x, graph_value bias)
{
	graph_value y = self_attention(b, x, bias, NO_VALUE, NO_VALUE, true, true, NULL);
	return layer_norm(b, "layers.attn.norm", op_add(b->g, y, x), b->s->hidden_size);
}

static graph_value feed(struct build *b, const char *stem, graph_value x)
{
	struct arena *a = graph_arena(b->g);
	graph_value y = prenorm_ffn(b, arena_printf(a, "%s.up", stem), arena_printf(a, "%s.down", stem), x);
	return layer_norm(b, arena_printf(a, "%s.norm", stem), op_add(b->g, y, x), b->s->hidden_size);
}

// Tokens and positions, not normed: [batch, seq, hidden]
static graph_value embed_text(struct build *b, graph_value ids)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value table = WEIGHT(b, "embed.position", "weight", s->max_positions, s->hidden_size);
	graph_value at = op_slice_to(g, table, 0, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, ids, 1));
	return op_add(g, embedding(b, "embed.word", ids, s->vocab_size, s->hidden_size), at);
}

// ---- the BERT that looks ----------------------------------------------------------------------------------------------

static void resolve_text(struct config *c, struct spec *s, struct arena *a)
{
	struct looking *l = ARENA_NEW(a, struct looking);
	s->own = l;
	resolve_transformer(c, s, false);
	l->causal = s->head != NULL && !s->head->bare; // the bare model sees both ways, even if it is a decoder
	l->every = config_bool(c, "is_decoder", true);
	l->memory = config_size(c, "encoder_hidden_size", -1);
	if (!c->error.status && l->memory < 1)
		config_fail(c, STATUS_BAD_INPUT, "encoder_hidden_size should be more than 0");
}

static void body_text(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	graph_value x = layer_norm(b, "embed.norm", embed_text(b, io->ids), b->s->hidden_size);
	graph_value bias = looking_of(b)->causal ? mask_causal(b, io->mask, x, 0) : mask_bidirectional(b, io->mask);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = attend(b, x, bias);
		if (looking_of(b)->every)
			x = look(b, x, io->memory);
		x = feed(b, "layers.ffn", x);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
	if (b->s->head && b->s->head->bare)
		io->pooled = op_tanh(g, linear(b, "pooler", first_token(b, x), b->s->hidden_size, b->s->hidden_size, true));
}

static void build_text(struct build *b)
{
	struct graph *g = b->g;
	struct body io = { 0 };
	text_tower_inputs(b, &io);
	if (looking_of(b)->every)
		io.memory = graph_input(g, "encoder_hidden_states", DTYPE_F32, 3,
			(int64_t[]){
				graph_symbol(g, "batch"), graph_symbol(g, "encoder_sequence_length"), looking_of(b)->memory });
	body_text(b, &io);
	head_build(b, &io);
}

static const struct family_head text_heads[] = { { &head_model }, { &head_causal_lm, head_lm }, { 0 } };

const struct family blip_text = {
	.name = "text-looking",
	.architecture = "encoder-only",
	.resolve = resolve_text,
	.build = build_text,
	.body = body_text,
	.heads = text_heads,
	.may_decode = true,
};

// A picture's caption.
static void resolve_blip(struct config *c, struct spec *s, struct arena *a)
{
	struct spec *tower =
		resolve_part(c, s, a, "vision", "vision_config", NULL, NULL, (const char *const[]){ "vision_model.", NULL });
	struct spec *text = resolve_part(
		c, s, a, "text", "text_config", NULL, &head_causal_lm, (const char *const[]){ "text_decoder.", NULL });
	if (!text || !tower || !part_is_usual(c, s, "text") || !part_is_usual(c, s, "vision"))
		return;
	const struct looking *l = text->own;
	text->tied = config_bool(c, "tie_word_embeddings", true);
	if (!l->every || l->memory != tower->hidden_size)
		config_fail(c, STATUS_UNSUPPORTED, "text_config should be a decoder that looks at states of %lld",
			(long long)tower->hidden_size);
}

static void build_blip(struct build *b)
{
	struct graph *g = b->g;
	struct body picture = { 0 }, text = { 0 };
	const struct spec *outer = part_enter(b, "vision");
	vision_tower_inputs(b, &picture, "batch");
	graph_enter(g, "vision");
	b->s->row->family->body(b, &picture);
	graph_leave(g);
	part_leave(b, outer);
	outer = part_enter(b, "text");
	text_tower_inputs(b, &text);
	text.memory = picture.last;
	graph_enter(g, "text");
	b->s->row->family->body(b, &text);
	graph_leave(g);
	head_build(b, &text);
	part_leave(b, outer);
	graph_output(g, "image_embeds", picture.last);
	graph_output(g, "last_hidden_state", picture.last);
}

static const struct family_head blip_heads[] = { { &head_conditional }, { 0 } };

const struct family blip = {
	.name = "captions",
	.architecture = "multimodal",
	.resolve = resolve_blip,
	.build = build_blip,
	.heads = blip_heads,
};

// ---- a picture before the text ----------------------------------------------------------------------------------------------
//
// GIT (Wang et al. 2022, https://arxiv.org/abs/2205.14100): a picture's tokens see each other, a text's see them and those
// before it. With num_image_with_embedding rows have so many pictures, each with a learned vector of its own.

struct preceded {
	int64_t pictures; // 0: one, without a vector
};

static void resolve_git(struct config *c, struct spec *s, struct arena *a)
{
	struct preceded *p = ARENA_NEW(a, struct preceded);
	s->own = p;
	resolve_transformer(c, s, false);
	p->pictures = config_count(c, "num_image_with_embedding", 0);
	resolve_part_fixed(c, s, a, "vision", "vision_config", NULL, NULL,
		(const char *const[]){ "git.image_encoder.", "image_encoder.", NULL });
	part_is_usual(c, s, "vision");
}

// [pictures, channels, size, size] -> [pictures, tokens, width], normed
static graph_value see_git(struct build *b, graph_value pixels)
{
	const struct spec *outer = part_enter(b, "vision");
	struct body io = { .pixels = pixels };
	graph_enter(b->g, "vision");
	b->s->row->family->body(b, &io);
	graph_value x = layer_norm(b, "norm", io.last, b->s->hidden_size);
	graph_leave(b->g);
	part_leave(b, outer);
	return x;
}

static void build_git(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "vision");
	int64_t n = ((const struct preceded *)s->own)->pictures, h = s->hidden_size, wide = tower->hidden_size,
		batch = graph_symbol(g, "batch"), side = tower->image_size;
	struct body io = { 0 };
	text_tower_inputs(b, &io);
	graph_value pixels = graph_input(g, "pixel_values", DTYPE_F32, n ? 5 : 4,
		n ? (int64_t[]){ batch, n, tower->channels, side, side } : (int64_t[]){ batch, tower->channels, side, side });
	graph_value x = see_git(b, n ? op_reshape(g, pixels, 4, (int64_t[]){ -1, tower->channels, side, side }) : pixels);
	if (n) {
		x = op_reshape(g, x, 4, (int64_t[]){ -1, n, tower->image_tokens, wide });
		graph_value *each = ARENA_ARRAY(graph_arena(g), (size_t)n, graph_value);
		for (b->layer = 0; b->layer < n; b->layer++)
			each[b->layer] = WEIGHT(b, "frames", "", 1, 1, wide);
		x = op_add(g, x, op_unsqueeze(g, op_concat(g, (int)n, each, 1), 2));
		x = op_reshape(g, x, 3, (int64_t[]){ -1, n * tower->image_tokens, wide });
	}
	graph_enter(g, "projector");
	x = layer_norm_eps(b, "projector.norm", linear(b, "projector", x, wide, h, true), tower->norm_eps);
	graph_leave(g);
	graph_value text = layer_norm(b, "embed.norm", embed_text(b, io.ids), h), none = graph_i64(g, 0), one = graph_i64(g, 1);
	graph_value zeros = op_mul(g, op_cast(g, op_squeeze(g, op_slice(g, x, 2, 0, 1), 2), DTYPE_I64), none);
	graph_value ones = op_add(g, zeros, one), mask = op_concat(g, 2, (graph_value[]){ ones, io.mask }, 1);
	graph_value blocks = op_concat(g, 2, (graph_value[]){ ones, op_mul(g, io.mask, none) }, 1);
	x = op_concat(g, 2, (graph_value[]){ x, text }, 1);
	graph_value bias = mask_causal_blocks(b, mask, x, 0, blocks);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = feed(b, "layers.ffn", attend(b, x, bias));
		graph_leave(g);
	}
	io.last = x;
	head_build(b, &io);
}

static void give_words(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_value w = WEIGHT(b, s->tied ? "embed.word" : "head.lm.out", "weight", s->vocab_size, s->hidden_size);
	graph_output(b->g, "logits", op_linear_output(b->g, io->last, w, WEIGHT(b, "head.lm.out", "bias", s->vocab_size)));
}

static const struct family_head git_heads[] = { { &head_model, head_give_last }, { &head_causal_lm, give_words }, { 0 } };

const struct family git = {
	.name = "preceded",
	.architecture = "multimodal",
	.resolve = resolve_git,
	.build = build_git,
	.heads = git_heads,
};

// ---- the queries ----------------------------------------------------------------------------------------------------------

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct looking *l = ARENA_NEW(a, struct looking);
	s->own = l;
	resolve_transformer(c, s, false);
	l->every = config_size(c, "cross_attention_frequency", 2);
	l->memory = config_size(c, "encoder_hidden_size", -1);
	if (config_knows(c, "use_qformer_text_input") && config_bool(c, "use_qformer_text_input", false))
		config_fail(c, STATUS_UNSUPPORTED, "use_qformer_text_input is not supported yet");
	if (!c->error.status && (l->every < 1 || l->memory < 1))
		config_fail(c, STATUS_BAD_INPUT, "cross_attention_frequency and encoder_hidden_size should be more than 0");
}

// io->embeds: the queries [batch, queries, hidden]; io->ids and io->mask: the text beside them; io->memory
static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value x = io->embeds, bias = NO_VALUE, count = op_dim(g, x, 1);
	if (TRAITS_OF(s, qformer)->reads) {
		graph_value one = op_cast(g, op_squeeze(g, op_slice(g, x, 2, 0, 1), 2), DTYPE_I64); // [batch, queries]
		one = op_add(g, op_mul(g, one, graph_i64(g, 0)), graph_i64(g, 1));
		bias = mask_bidirectional(b, op_concat(g, 2, (graph_value[]){ one, io->mask }, 1));
		x = op_concat(g, 2, (graph_value[]){ x, embed_text(b, io->ids) }, 1);
	}
	x = layer_norm(b, "embed.norm", x, s->hidden_size);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = attend(b, x, bias);
		graph_value text = NO_VALUE;
		if (TRAITS_OF(s, qformer)->reads) {
			text = feed(b, "layers.text", op_slice_to(g, x, 1, count, op_dim(g, x, 1)));
			x = op_slice_to(g, x, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), count);
		}
		if (b->layer % looking_of(b)->every == 0)
			x = look(b, x, io->memory);
		x = feed(b, "layers.ffn", x);
		x = text.id ? op_concat(g, 2, (graph_value[]){ x, text }, 1) : x;
		graph_leave(g);
	}
	io->last = x; // the queries first
	io->pooled = first_token(b, io->last);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	struct body io = { 0 };
	int64_t batch = graph_symbol(g, "batch");
	io.embeds =
		graph_input(g, "query_embeds", DTYPE_F32, 3, (int64_t[]){ batch, graph_symbol(g, "queries"), b->s->hidden_size });
	io.memory = graph_input(g, "encoder_hidden_states", DTYPE_F32, 3,
		(int64_t[]){ batch, graph_symbol(g, "encoder_sequence_length"), looking_of(b)->memory });
	if (TRAITS_OF(b->s, qformer)->reads) { // the mask begins with the queries, which are all there
		io.ids = graph_input(g, "input_ids", DTYPE_I64, 2, (int64_t[]){ batch, graph_symbol(g, "sequence") });
		io.mask =
			graph_input(g, "attention_mask", DTYPE_I64, 2, (int64_t[]){ batch, graph_symbol(g, "queries_and_text") });
		io.mask = op_slice_to(g, io.mask, 1, op_dim(g, io.embeds, 1), op_dim(g, io.mask, 1));
	}
	body(b, &io);
	head_build(b, &io);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	out->symbols[0] = (struct input_symbol){ "queries", 32 };
	out->symbols[1] = (struct input_symbol){ "queries_and_text", 64 };
	out->symbols[2] = (struct input_symbol){ "sequence", 32 };
}

static const struct family_head heads[] = { { &head_model }, { 0 } };

const struct family qformer = {
	.name = "queries",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.body = body,
	.hints = hints,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(qformer, QFORMER_TRAITS),
};

// ---- what they learn stands in a text -------------------------------------------------------------------------------------

static void resolve_queried(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve(c, s, a, true))
		return;
	struct spec *asks = resolve_part(
		c, s, a, "qformer", "qformer_config", NULL, NULL, (const char *const[]){ "qformer.", "model.qformer.", NULL });
	struct vlm *v = s->own;
	v->looks_last = true;
	v->wide = config_size(c, "num_query_tokens", 32);
	if (!asks || !part_is_usual(c, s, "qformer") || !part_is_usual(c, s, "vision"))
		return;
	if (!config_bool(c, "use_decoder_only_language_model", true))
		config_fail(c, STATUS_UNSUPPORTED, "a language model with an encoder is not supported here yet");
	if (qformer_memory(asks) != part_of(s, "vision")->hidden_size || v->wide < 1)
		config_fail(c, STATUS_BAD_INPUT,
			"qformer_config.encoder_hidden_size should be the tower's width, %lld, and num_query_tokens more than 0",
			(long long)part_of(s, "vision")->hidden_size);
}

// x [all, ..] each row of it `times` times, i64 [1]: [all * times, ..]
static graph_value repeated(struct build *b, graph_value x, graph_value times)
{
	struct graph *g = b->g;
	graph_value all = op_mul(g, op_dim(g, x, 0), times);
	graph_value row = op_range(g, graph_i64(g, 0), op_squeeze(g, all, 0), graph_i64(g, 1));
	return op_gather(g, x, op_div(g, row, times), 0);
}

// pixels [pictures, ..] -> [pictures, queries, text]; times i64 [1]: pictures a row
static graph_value ask(struct build *b, graph_value pixels, graph_value times)
{
	struct graph *g = b->g;
	const struct spec *asks = part_of(b->s, "qformer");
	int64_t n = vlm_of(b->s)->wide, h = asks->hidden_size, pair[] = { graph_symbol(g, "batch"), graph_symbol(g, "question") };
	struct body io = { .memory = vlm_look(b, pixels) };
	io.embeds = each_image(b, WEIGHT(b, "query", "", 1, n, h), pixels);
	if (TRAITS_OF(asks, qformer)->reads) {
		io.ids = graph_input(g, "qformer_input_ids", DTYPE_I64, 2, pair);
		io.mask = graph_input(g, "qformer_attention_mask", DTYPE_I64, 2, pair);
		if (times.id)
			io.ids = repeated(b, io.ids, times), io.mask = repeated(b, io.mask, times);
	}
	const struct spec *outer = part_enter(b, "qformer");
	graph_enter(g, "qformer");
	asks->row->family->body(b, &io);
	graph_leave(g);
	part_leave(b, outer);
	return linear(b, "projector", op_slice(g, io.last, 1, 0, n), h, part_of(b->s, "text")->hidden_size, true);
}

static graph_value see_queried(struct build *b, graph_value ids, struct body *text)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "vision");
	bool frames = TRAITS_OF(s, vlm_queried)->frames;
	int64_t shape[5] = { graph_symbol(g, "batch"), graph_symbol(g, "frames") }, *rest = shape + 1 + frames;
	rest[0] = tower->channels, rest[1] = tower->image_size, rest[2] = tower->image_width;
	(void)text;
	graph_value pixels = graph_input(g, "pixel_values", DTYPE_F32, 4 + frames, shape), times = NO_VALUE;
	if (frames) {
		times = op_dim(g, pixels, 1);
		pixels = op_reshape(g, pixels, 4, (int64_t[]){ -1, rest[0], rest[1], rest[2] });
	}
	graph_value x = op_reshape(g, ask(b, pixels, times), 2, (int64_t[]){ -1, part_of(s, "text")->hidden_size });
	if (!ids.id)
		return x;
	graph_value is_image, number;
	vlm_places(b, ids, &is_image, &number);
	return vlm_merge(b, ids, is_image, number, x);
}

static void build_queried(struct build *b)
{
	vlm_build(b, see_queried);
}

static void hints_queried(const struct spec *s, struct input_hints *out)
{
	out->image_token_id = vlm_of(s)->image_token_id;
	out->image_tokens = vlm_of(s)->wide;
	out->symbols[0] = (struct input_symbol){ "question", 16 };
	out->symbols[1] = (struct input_symbol){ "frames", 1 };
}

static const struct family_head queried_heads[] = { { &head_conditional, NULL, VLM_GENERATES }, { 0 } };

const struct family vlm_queried = {
	.name = "vision-language-queried",
	.architecture = "multimodal",
	.resolve = resolve_queried,
	.build = build_queried,
	.graphs = vlm_graphs,
	.hints = hints_queried,
	.heads = queried_heads,
	.traits = FAMILY_TRAIT_LIST(vlm_queried, VLM_QUERIED_TRAITS),
};
