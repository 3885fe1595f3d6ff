// SPDX-License-Identifier: Apache-2.0
// Language models that hear: what Whisper's encoder makes of a spectrogram stands in the text where its tokens are (Qwen2-Audio,
// Chu et al. 2024, https://arxiv.org/abs/2407.10759; Audio Flamingo 3, https://arxiv.org/abs/2507.08128; Voxtral,
// https://arxiv.org/abs/2507.13264).
//
//   mel [sounds, bins, frames] -> encoder (-> several states side by side) -> linear (- act - linear) -> features
//   ids -> token embedding -> where a token is the audio token: features, those of padded frames left out -> text -> head
#include "arch/block/sound.h"
#include "arch/family/block_conformer.h"
#include "arch/family/qformer.h"
#include "arch/family/vlm.h"
#include "arch/family/whisper.h"

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const text_roots[] = { "language_model.", "model.language_model.", NULL },
				 *const audio_roots[] = { "audio_tower.", "model.audio_tower.", NULL };
	const struct vlm_sound_traits *t = TRAITS_OF(s, vlm_sound);
	if (!c->checkpoint->weight_count)
		s->prefix = ""; // a new file has each part's place first
	if (!vlm_resolve_text(c, s, a, false, text_roots))
		return;
	struct vlm *v = s->own;
	struct spec *text = part_of(s, "text"), *tower = resolve_part(c, s, a, "audio", "audio_config", NULL, NULL, audio_roots);
	text->tied = text->tied && t->may_tie;
	v->bias = config_knows(c, "projector_bias") ? config_bool(c, "projector_bias", true) : t->wide_projector;
	s->act = config_activation(c, "projector_hidden_act", ACT_GELU);
	if (!tower || !part_is_usual(c, s, "audio") || c->error.status)
		return;
	v->downsample = t->grouped_states ? tower->ffn_size / tower->hidden_size : 1;
	if (v->downsample < 1 || (t->grouped_states && tower->ffn_size % tower->hidden_size))
		config_fail(c, STATUS_UNSUPPORTED, "audio_config: features of %lld, made of states of %lld",
			(long long)tower->ffn_size, (long long)tower->hidden_size);
}

// [sounds, states, width] -> [sounds, features, text]
static graph_value project(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct vlm *v = vlm_of(s);
	int64_t in = part_of(s, "audio")->hidden_size * v->downsample, out = part_of(s, "text")->hidden_size;
	int64_t inner = TRAITS_OF(s, vlm_sound)->wide_projector ? 2 * out : out;
	graph_enter(g, "projector");
	if (v->downsample > 1)
		x = op_reshape(g, x, 3, (int64_t[]){ 0, -1, in });
	if (weight_named(b, "projector"))
		x = linear(b, "projector", x, in, out, true);
	else
		x = linear(b, "projector.2", activate(b, s->act, linear(b, "projector.1", x, in, inner, v->bias)), inner, out,
			v->bias);
	graph_leave(g);
	return x;
}

// Which row of the features the number-th is that has a frame: of `has` bool [rows], i64 like number.
static graph_value row_of(struct build *b, graph_value has, graph_value number)
{
	struct graph *g = b->g;
	graph_value one = op_cast(g, has, DTYPE_I64), seen = op_cumsum(g, one, 0); // [rows]
	graph_value before = op_less_or_equal(g, seen, op_unsqueeze(g, number, -1));
	graph_value row = op_reduce_sum(g, op_cast(g, before, DTYPE_I64), -1, false);
	return op_min(g, row, op_sub(g, op_dim(g, has, 0), graph_i64(g, 1)));
}

static graph_value hear(struct build *b, graph_value ids, struct body *text)
{
	struct graph *g = b->g;
	const struct spec *outer = part_enter(b, "audio");
	int how = TRAITS_OF(outer, vlm_sound)->frames_mask;
	struct body io = { 0 };
	(void)text;
	graph_enter(g, "audio");
	whisper_inputs(b, &io, "audio_batch",
		how == SOUND_FEATURES_MASK            ? "input_features_mask"
			: how == SOUND_ATTENTION_MASK ? "feature_attention_mask"
						      : NULL);
	graph_value mask = io.mask;
	b->s->row->family->body(b, &io);
	graph_leave(g);
	part_leave(b, outer);
	graph_value x = project(b, io.last); // [sounds, features, text]
	if (!ids.id)
		return x;
	graph_value is_audio, number, rows = op_reshape(g, x, 2, (int64_t[]){ -1, part_of(outer, "text")->hidden_size });
	vlm_places(b, ids, &is_audio, &number);
	graph_value count = op_dim(g, rows, 0), all = NO_VALUE;
	if (mask.id) { // a feature counts where all of its states have frames
		int64_t n = vlm_of(outer)->downsample > 1 ? vlm_of(outer)->downsample : 2;
		graph_value lengths = whisper_lengths(b, mask, n);
		graph_value has = op_reshape(g, sound_frames(b, x, lengths, 1), 1, (int64_t[]){ -1 });
		count = op_reduce_sum(g, op_cast(g, has, DTYPE_I64), 0, true);
		all = row_of(b, has, op_range(g, graph_i64(g, 0), op_squeeze(g, op_dim(g, has, 0), 0), graph_i64(g, 1)));
		number = row_of(b, has, number);
	}
	if (head_how(outer) & VLM_GIVES_FEATURES) {
		graph_value kept = all.id ? op_gather(g, rows, all, 0) : rows;
		graph_output(g, "audio_hidden_states",
			op_slice_to(g, kept, 0, graph_i64s(g, 1, (int64_t[]){ 0 }), op_reshape(g, count, 1, (int64_t[]){ 1 })));
	}
	return vlm_merge(b, ids, is_audio, number, rows);
}

static void build(struct build *b)
{
	vlm_build(b, hear);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct spec *tower = part_of(s, "audio");
	if (tower->row->family->hints)
		tower->row->family->hints(tower, out);
	out->image_token_id = vlm_of(s)->image_token_id;
	out->image_tokens = tower->image_tokens / vlm_of(s)->downsample;
}

// ---- windows of states, asked by learned queries --------------------------------------------------------------------------

static void resolve_windows(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const text_roots[] = { "language_model.", "model.language_model.", NULL },
				 *const audio_roots[] = { "encoder.", "model.encoder.", NULL },
				 *const asks_roots[] = { "projector.qformer.", "model.projector.qformer.", NULL };
	if (!c->checkpoint->weight_count)
		s->prefix = "";
	if (!vlm_resolve_text(c, s, a, false, text_roots))
		return;
	struct vlm *v = s->own;
	struct spec *tower = resolve_part(c, s, a, "audio", "encoder_config", NULL, NULL, audio_roots),
		    *asks = resolve_part(c, s, a, "qformer", "projector_config", NULL, NULL, asks_roots);
	int64_t rate = config_size(c, "downsample_rate", 5);
	v->wide = config_size(c, "window_size", 15);
	if (!tower || !asks || !part_is_usual(c, s, "audio") || !part_is_usual(c, s, "qformer"))
		return;
	v->queries = rate > 0 ? v->wide / rate : 0;
	if (v->queries < 1 || v->wide % rate || v->wide > CONFIG_COUNT_MOST || qformer_memory(asks) != tower->hidden_size)
		config_fail(c, STATUS_BAD_INPUT,
			"window_size %lld, downsample_rate %lld, queries that look at %lld of %lld numbers", (long long)v->wide,
			(long long)rate, (long long)qformer_memory(asks), (long long)tower->hidden_size);
}

// [sounds, states, width] -> [sounds, windows * queries, text]; zeros fill up the last window
static graph_value ask_windows(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *asks = part_of(s, "qformer");
	const struct vlm *v = vlm_of(s);
	int64_t in = part_of(s, "audio")->hidden_size, out = part_of(s, "text")->hidden_size, h = asks->hidden_size;
	graph_value sounds = op_dim(g, x, 0), longer = op_pad(g, x, 1, 0, v->wide - 1), size = graph_i64(g, v->wide);
	graph_value windows = op_div(g, op_dim(g, longer, 1), size); // [1]
	x = op_slice_to(g, longer, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), op_mul(g, windows, size));
	x = op_reshape(g, x, 3, (int64_t[]){ -1, v->wide, in });
	graph_value shape[] = { op_dim(g, x, 0), graph_i64s(g, 2, (int64_t[]){ v->queries, h }) };
	struct body io = { .memory = x };
	io.embeds = op_expand(g, WEIGHT(b, "query", "", 1, v->queries, h), op_concat(g, 2, shape, 0));
	const struct spec *outer = part_enter(b, "qformer");
	graph_enter(g, "qformer");
	asks->row->family->body(b, &io);
	graph_leave(g);
	part_leave(b, outer);
	graph_value all[] = { sounds, op_mul(g, windows, graph_i64(g, v->queries)), graph_i64s(g, 1, &out) };
	return op_reshape_to(g, linear(b, "projector", io.last, h, out, true), op_concat(g, 3, all, 0));
}

static graph_value hear_windows(struct build *b, graph_value ids, struct body *text)
{
	struct graph *g = b->g;
	const struct spec *outer = part_enter(b, "audio");
	struct body io = { 0 };
	(void)text;
	graph_enter(g, "audio");
	block_conformer_inputs(b, &io, "audio_batch");
	b->s->row->family->body(b, &io);
	graph_leave(g);
	part_leave(b, outer);
	graph_value x = ask_windows(b, io.last);
	if (!ids.id)
		return x;
	if (head_how(b->s) & VLM_GIVES_FEATURES)
		graph_output(g, "audio_hidden_states", x);
	int64_t shape[] = { graph_symbol(g, "audio_batch"), graph_symbol(g, "features") };
	graph_value is_audio, number, has = graph_input(g, "input_features_mask", DTYPE_BOOL, 2, shape);
	vlm_places(b, ids, &is_audio, &number);
	number = row_of(b, op_reshape(g, has, 1, (int64_t[]){ -1 }), number);
	return vlm_merge(b, ids, is_audio, number, op_reshape(g, x, 2, (int64_t[]){ -1, part_of(b->s, "text")->hidden_size }));
}

static void build_windows(struct build *b)
{
	vlm_build(b, hear_windows);
}

// Granite Speech (https://arxiv.org/abs/2505.08699), without the adapter that its text may have for sound.
const struct family vlm_windows_heard = {
	.name = "audio-language-windows",
	.architecture = "multimodal",
	.resolve = resolve_windows,
	.build = build_windows,
	.graphs = vlm_sound_graphs,
	.heads = vlm_heads,
};

// ---- the text alone -----------------------------------------------------------------------------------------------------

static void resolve_unheard(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const roots[] = { "language_model.", "model.language_model.", NULL };
	const struct vlm_unheard_traits *t = TRAITS_OF(s, vlm_unheard);
	if (!c->checkpoint->weight_count)
		s->prefix = "";
	if (!vlm_resolve_text(c, s, a, t->text_ties, roots))
		return;
	struct spec *text = part_of(s, "text");
	text->tied = text->tied && (t->may_tie || t->text_ties);
	text->gives_last = t->gives_last;
}

static graph_value hear_nothing(struct build *b, graph_value ids, struct body *text)
{
	(void)text;
	return vlm_embed(b, ids);
}

static void build_unheard(struct build *b)
{
	vlm_build(b, hear_nothing);
}

// Without what hears: the model answers to text as its class does where it is given no sound.
const struct family vlm_unheard = {
	.name = "audio-language-text",
	.architecture = "multimodal",
	.resolve = resolve_unheard,
	.build = build_unheard,
	.heads = vlm_heads,
	.traits = FAMILY_TRAIT_LIST(vlm_unheard, VLM_UNHEARD_TRAITS),
};

const struct family vlm_sound = {
	.name = "audio-language",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.graphs = vlm_sound_graphs,
	.hints = hints,
	.heads = vlm_heads,
	.traits = FAMILY_TRAIT_LIST(vlm_sound, VLM_SOUND_TRAITS),
};
