// SPDX-License-Identifier: Apache-2.0
// An encoder and a decoder that are models of their own, of any two types, as one (Rothe et al. 2019,
// https://arxiv.org/abs/1907.12461; TrOCR, https://arxiv.org/abs/2109.10282; Donut, https://arxiv.org/abs/2111.15664; Nougat,
// https://arxiv.org/abs/2308.13418). Only text has padding: pictures and sounds of one batch are seen whole.
//
//   text, pixels or samples -> encoder -> (project to the decoder's width) -+
//                                                      ids -> decoder, whose layers look at that -> its head
#include "arch/block/image.h"
#include "arch/block/seq2seq.h"
#include "arch/block/sound.h"
#include "arch/family/two_models.h"

struct two_models {
	bool projects;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct two_models *o = s->own = ARENA_NEW(a, struct two_models);
	bool below = TRAITS_OF(s, two_models)->below_model;
	const char *const of_first[] = { below ? "model.encoder." : "encoder.", NULL };
	const char *const of_second[] = { below ? "model.decoder." : "decoder.", NULL };
	struct spec *first = resolve_part(c, s, a, "encoder", "encoder", NULL, NULL, of_first);
	struct spec *second = resolve_part(c, s, a, "decoder", "decoder", NULL, &head_memory_lm, of_second);
	if (below && !s->tied)
		config_fail(c, STATUS_UNSUPPORTED, "tie_word_embeddings: false is not supported yet");
	if (config_bool(c, "tie_encoder_decoder", false))
		config_fail(c, STATUS_UNSUPPORTED, "tie_encoder_decoder: true is not supported yet");
	if (!first || !second || c->error.status)
		return;
	bool sees = TRAITS_OF(s, two_models)->source == SOURCE_PICTURE;
	if (sees && !text_is(first->row->family->architecture, "vision"))
		config_fail(c, STATUS_UNSUPPORTED, "encoder: the type %s is not supported here yet", first->row->model_type);
	if (!sees && !part_is_usual(c, s, "encoder"))
		return;
	bool own_width = json_is_integer(json_object_get(config_get(c, "decoder"), "cross_attention_hidden_size"));
	int64_t width = TRAITS_OF(s, two_models)->source == SOURCE_SOUND ? ((const struct sound *)first->own)->out_size
									 : first->hidden_size;
	o->projects = width != second->hidden_size && !own_width;
	s->vocab_size = first->vocab_size > 0 && first->vocab_size < second->vocab_size ? first->vocab_size : second->vocab_size;
	s->pad_token_id = second->pad_token_id;
	s->max_positions = second->max_positions;
	if (TRAITS_OF(s, two_models)->source == SOURCE_TEXT && first->max_positions < s->max_positions)
		s->max_positions = first->max_positions;
	if (TRAITS_OF(s, two_models)->source == SOURCE_PICTURE)
		resolve_backbone_image(s, first);
}

static void inputs(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *part = part_of(s, "encoder");
	int64_t shape[] = { graph_symbol(g, "batch"), 0, 0 };
	if (TRAITS_OF(s, two_models)->source == SOURCE_PICTURE) {
		io->pixels = pixel_input(b, s->channels, s->image_size, s->image_width);
		return;
	}
	if (TRAITS_OF(s, two_models)->source == SOURCE_SOUND) {
		const struct sound *o = part->own;
		shape[1] = graph_symbol(g, o->conv_count ? "samples" : "sequence"), shape[2] = o->feature_size;
		io->features = graph_input(
			g, o->conv_count ? "input_values" : "input_features", DTYPE_F32, o->conv_count ? 2 : 3, shape);
		return;
	}
	shape[1] = graph_symbol(g, "sequence");
	io->ids = b->ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	io->mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	io->types = op_mul(g, io->ids, graph_i64(g, 0));
}

static void encode(struct build *b, struct body *io)
{
	b->s->row->family->body(b, io);
	if (value_rank(b->g, io->last) != 3)
		graph_fail(b->g, STATUS_UNSUPPORTED, "encoder: the type %s gives no sequence of states", b->s->row->model_type);
}

static graph_value remember(struct build *b, graph_value memory)
{
	const struct two_models *o = b->s->own;
	int64_t out = part_of(b->s, "decoder")->hidden_size;
	return o->projects ? linear(b, "project", memory, value_dim(b->g, memory, -1), out, true) : memory;
}

// The decoder's own head follows, which reads what its body left in io.
static void decode(struct build *b, struct body *io)
{
	b->s->row->family->body(b, io);
}

static void build(struct build *b)
{
	bool sees_all = TRAITS_OF(b->s, two_models)->source != SOURCE_TEXT;
	struct seq2seq f = { .inputs = inputs, .encode = encode, .decode = decode, .remember = remember, .whole_halves = true };
	f.sees_all = sees_all;
	f.gives_remembered = TRAITS_OF(b->s, two_models)->source == SOURCE_SOUND;
	seq2seq_build(b, &f);
}

static void build_head(struct build *b, const struct body *io)
{
	const struct spec *whole = part_enter(b, "decoder");
	head_build(b, io);
	part_leave(b, whole);
}

static const struct family_head heads[] = {
	{ &head_conditional, build_head },
	{ 0 },
};

const struct family two_models = {
	.name = "two-models",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.graphs = seq2seq_graphs,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(two_models, TWO_MODELS_TRAITS),
};
