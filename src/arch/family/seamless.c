// SPDX-License-Identifier: Apache-2.0
// SeamlessM4T (Barrault et al. 2023, https://arxiv.org/abs/2308.11596 and, version 2, https://arxiv.org/abs/2312.05187) as it
// writes text: of a sound, through w2v-BERT's conformer and a layer that shortens it, or of a text, through M2M-100's encoder;
// the decoder is M2M-100's. What it says aloud, by units and a vocoder, is not built.
#include <math.h>

#include "arch/block/seq2seq.h"
#include "arch/block/sound.h"
#include "arch/dialect.h"
#include "arch/family/seamless.h"
#include "arch/family/speech.h"

enum { FROM_TEXT = 8 }; // beside SEQ2SEQ_TWICE and its like

struct seamless {
	struct sound sound; // first: of all parts
	bool scaled;
};

static void inputs(struct build *b, struct body *io)
{
	const struct sound *o = &((const struct seamless *)b->s->own)->sound;
	int64_t shape[] = { graph_symbol(b->g, "batch"), graph_symbol(b->g, "sequence"), o->feature_size };
	io->features = graph_input(b->g, "input_features", DTYPE_F32, 3, shape);
	io->mask = graph_input(b->g, "attention_mask", DTYPE_I64, 2, shape);
}

static void hear(struct build *b, struct body *io)
{
	speech.body(b, io);
	io->last = sound_norm(b, "after", io->last, b->s->hidden_size, sound_of(b)->inner_eps);
}

// Tokens and the sines of their places, of those that are not padding
static graph_value embedded(struct build *b, const struct body *io)
{
	graph_value is_token = op_not(b->g, op_equal(b->g, io->ids, graph_i64(b->g, b->s->pad_token_id)));
	return op_add(b->g, io->embeds, sines_of_tokens(b, io, is_token));
}

static void read_text(struct build *b, struct body *io)
{
	seq2seq_layers(b, io, embedded(b, io), false, BIAS_ALL);
}

static void decode_text(struct build *b, struct body *io)
{
	seq2seq_layers(b, io, embedded(b, io), true, BIAS_ALL);
}

static void decode_sound(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	graph_value length = op_cast(g, op_reduce_sum(g, io->memory_mask, 1, false), DTYPE_F32);
	io->memory_mask = seq2seq_states_of(b, io, sound_adapter_length(b, length));
	decode_text(b, io);
}

// ---- config.json --------------------------------------------------------------------------------------------------------

static void resolve_chunks(struct config *c, struct sound *o)
{
	const json_t *left = config_get(c, "speech_encoder_left_chunk_num"); // less than 0: all
	o->chunk = config_size(c, "speech_encoder_chunk_size", 0);
	o->left_chunks = json_is_integer(left) && json_integer_value(left) >= 0 ? json_integer_value(left) : -1;
	if (o->left_chunks > 1 << 20)
		config_fail(c, STATUS_BAD_INPUT, "speech_encoder_left_chunk_num %lld", (long long)o->left_chunks);
}

static void resolve_sound(struct config *c, struct spec *s, struct sound *o, struct arena *a)
{
	bool causal = TRAITS_OF(s, seamless)->causal_convolution, add = config_bool(c, "add_adapter", true);
	int64_t layers = config_count(c, "num_adapter_layers", 1);
	speech_resolve_stem(c, o, a);
	speech_resolve_positions(c, s, o);
	if (causal)
		resolve_chunks(c, o);
	if (causal != (o->positions == POSITIONS_RELATIVE_KEY)) // each version has its own words for them
		o->positions = POSITIONS_NONE;
	o->feature_norm = o->feature_projection = o->zeroed_convolution = o->last_norm = o->adapter_ffn = true;
	o->adapter_from_all = true;
	o->causal_convolution = causal;
	o->inner_eps = 1e-5;
	o->out_size = s->hidden_size;
	o->adapter_kernel = config_size(c, "adaptor_kernel_size", -1);
	o->adapter_stride = config_size(c, "adaptor_stride", -1);
	o->adapter_act = ACT_RELU;
	o->adapter_layers = add ? layers : 0;
	if (!c->error.status && (o->conv_count || o->adapter_kernel < 1 || o->adapter_stride < 1 || !o->conformer_kernel))
		config_fail(c, STATUS_BAD_INPUT, "an adaptor with a kernel of %lld in steps of %lld",
			(long long)o->adapter_kernel, (long long)o->adapter_stride);
}

// The encoder of sounds has words of its own in the file.
static void resolve_hearer(struct config *c, struct spec *half, struct arena *a)
{
	struct arch *row = ARENA_NEW(a, struct arch);
	*row = *half->row;
	row->dialect = &seamless_speech_names;
	half->row = row;
	half->prefix = "speech_encoder.";
	half->layers = half->layers_in_config = config_count(c, "speech_encoder_layers", -1);
	half->heads = half->kv_heads = config_size(c, "speech_encoder_attention_heads", -1);
	half->ffn_size = config_size(c, "speech_encoder_intermediate_size", -1);
	half->act = config_activation(c, "speech_encoder_hidden_act", ACT_SILU);
	half->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	if (c->error.status)
		return;
	if (half->heads < 1 || half->hidden_size % half->heads || half->ffn_size < 1 || half->layers < 1) {
		config_fail(c, STATUS_BAD_INPUT, "%lld heads over %lld", (long long)half->heads, (long long)half->hidden_size);
		return;
	}
	half->head_width = half->hidden_size / half->heads;
	half->attention_scale = 1 / sqrt((double)half->head_width);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const no_text[] = { "text_encoder.*", NULL }, *const no_sound[] = { "speech_encoder.*", NULL };
	struct seamless *o = s->own = ARENA_NEW(a, struct seamless);
	struct halves_sizes h = { 0 };
	bool text = head_how(s) & FROM_TEXT;
	resolve_halves_sizes(c, s, &h);
	o->scaled = config_bool(c, "scale_embedding", true);
	s->traits.norm_first = true;
	s->unused = text ? no_sound : no_text;
	if (!c->error.status && s->pad_token_id < 0)
		config_fail(c, STATUS_BAD_INPUT, "pad_token_id is missing");
	resolve_sound(c, s, &o->sound, a);
	if (c->error.status)
		return;
	resolve_halves(s, a, &h);
	part_of(s, "decoder")->prefix = "text_decoder.";
	struct spec unheard = *s; // what a class that reads text says of sounds, for its keys
	resolve_hearer(c, text ? &unheard : part_of(s, "encoder"), a);
	if (text)
		part_of(s, "encoder")->prefix = "text_encoder.";
}

static void build(struct build *b)
{
	struct seq2seq heard = { .inputs = inputs, .encode = hear, .decode = decode_sound, .masks_frames = true },
		       f = { .encode = read_text, .decode = decode_text };
	if (!(head_how(b->s) & FROM_TEXT))
		f = heard;
	f.one_table = true;
	f.embed_scale = ((const struct seamless *)b->s->own)->scaled ? (float)sqrt((double)b->s->hidden_size) : 0;
	seq2seq_build(b, &f);
}

static const struct family_head heads[] = {
	{ &head_conditional, seq2seq_logits },
	{ &head_text_to_text, seq2seq_logits, FROM_TEXT },
	{ &head_model, seq2seq_logits, FROM_TEXT },
	{ 0 },
};

const struct family seamless = {
	.name = "seamless",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.graphs = seq2seq_graphs,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(seamless, SEAMLESS_TRAITS),
};
