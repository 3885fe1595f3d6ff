// SPDX-License-Identifier: Apache-2.0
// Bark (Suno 2023, https://github.com/suno-ai/bark): text to words of meaning, these to the first words of a sound codec, these
// to the others, and the codec's decoder. A forward pass of the whole runs each of the four on ids of its own; what goes from one
// to the next is chosen, moved and cut by a loop outside of the graph.
//
//   semantic_ids, coarse_ids [batch, ..] -> tokens + positions -> GPT layers, causal -> norm -> semantic_logits, coarse_logits
//   fine_ids [batch, .., codebooks] -> the words up to the one asked for, summed, + positions -> layers -> norm -> fine_logits
//   codes [batch, codebooks, frames] -> codec -> audio
//
// The fine model is asked for one codebook a run, of those that it writes; here for the third.
#include <math.h>

#include "arch/block/seq2seq.h"

enum { ASKED = 2 };

struct bark_model { // of each of the three
	int64_t out;
	bool bias;
	int64_t codebooks, given; // of the fine model
};

static struct spec *resolve_model(
	struct config *c, struct spec *s, struct arena *a, const char *part, const char *key, const char *within)
{
	struct config sub;
	config_open_within(&sub, c, key, a);
	struct spec *d = resolve_half(s, a, part, within);
	struct bark_model *o = d->own = ARENA_NEW(a, struct bark_model);
	d->hidden_size = d->embedding_size = config_size(&sub, "hidden_size", -1);
	d->layers = d->layers_in_config = config_count(&sub, "num_hidden_layers", -1);
	d->heads = d->kv_heads = config_size(&sub, "num_attention_heads", -1);
	d->vocab_size = config_size(&sub, "vocab_size", -1);
	d->max_positions = config_size(&sub, "max_position_embeddings", -1);
	d->tied = config_bool(&sub, "tie_word_embeddings", true);
	d->norm_eps = 1e-5;
	d->act = ACT_GELU;
	o->out = config_size(&sub, "output_vocab_size", -1);
	o->bias = config_bool(&sub, "bias", true);
	if (text_is(part, "fine")) {
		o->codebooks = config_count(&sub, "n_codes_total", 8);
		o->given = config_count(&sub, "n_codes_given", 1);
		if (!sub.error.status && (o->codebooks <= ASKED || o->given < 1 || o->given > ASKED))
			config_fail(&sub, STATUS_UNSUPPORTED, "%lld codebooks of which %lld are given are not supported yet",
				(long long)o->codebooks, (long long)o->given);
	}
	if (!sub.error.status &&
		(d->hidden_size < 1 || d->heads < 1 || d->hidden_size % d->heads || d->vocab_size < 1 || d->max_positions < 1 ||
			o->out < 1))
		config_fail(&sub, STATUS_BAD_INPUT, "%lld heads over %lld", (long long)d->heads, (long long)d->hidden_size);
	config_close_within(&sub, c);
	if (c->error.status)
		return d;
	d->ffn_size = 4 * d->hidden_size;
	d->head_width = d->hidden_size / d->heads;
	d->attention_scale = 1 / sqrt((double)d->head_width);
	return d;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const roots[] = { "codec_model.", NULL }, *const unused[] = { "encoder.*", NULL };
	static const char *const others[] = { "fine_acoustics.input_embeds_layers.*", "fine_acoustics.lm_heads.*", NULL };
	struct spec *codec = resolve_part(c, s, a, "codec", "codec_config", NULL, NULL, roots);
	if (!codec || !part_is_usual(c, s, "codec"))
		return;
	codec->unused = unused;
	s->unused = others;
	const struct spec *semantic = resolve_model(c, s, a, "semantic", "semantic_config", "semantic."),
			  *coarse = resolve_model(c, s, a, "coarse", "coarse_acoustics_config", "coarse_acoustics."),
			  *fine = resolve_model(c, s, a, "fine", "fine_acoustics_config", "fine_acoustics.");
	if (c->error.status)
		return;
	const struct spec *const all[] = { semantic, coarse, fine };
	s->vocab_size = semantic->vocab_size;
	s->max_positions = semantic->max_positions;
	for (int i = 1; i < 3; i++) {
		s->vocab_size = all[i]->vocab_size < s->vocab_size ? all[i]->vocab_size : s->vocab_size;
		s->max_positions = all[i]->max_positions < s->max_positions ? all[i]->max_positions : s->max_positions;
	}
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	out->symbols[0] = (struct input_symbol){ "frames", 16, false };
}

// A layer norm, without a bias where the causal models' layers have none
static graph_value normed(struct build *b, const char *stem, graph_value x, bool bias)
{
	int64_t h = b->s->hidden_size;
	graph_value w = WEIGHT(b, stem, "weight", h);
	return op_layer_norm(b->g, x, w, bias ? WEIGHT(b, stem, "bias", h) : NO_VALUE, (float)b->s->norm_eps);
}

// x [batch, seq, hidden], the sum of a place's words -> after the last norm
static graph_value run_layers(struct build *b, graph_value x, bool is_causal)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct bark_model *o = s->own;
	int64_t h = s->hidden_size;
	struct body io = { .embeds = x };
	graph_value query, key;
	decoder_places(b, &io, &query, &key);
	graph_value bias = is_causal ? causal_bias(b, query, key) : NO_VALUE;
	bool norm_bias = !is_causal || o->bias;
	x = op_add(g, x, embedding(b, "embed.position", op_squeeze(g, query, 1), s->max_positions, h));
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_value y = normed(b, "layers.attn.norm", x, norm_bias);
		x = op_add(g, x, self_attention(b, y, bias, NO_VALUE, NO_VALUE, o->bias, o->bias, NULL));
		y = activate(b, s->act,
			linear(b, "layers.ffn.up", normed(b, "layers.ffn.norm", x, norm_bias), h, s->ffn_size, o->bias));
		x = op_add(g, x, linear(b, "layers.ffn.down", y, s->ffn_size, h, o->bias));
		graph_leave(g);
	}
	return normed(b, "norm", x, norm_bias);
}

// A dimension that only this model knows; fixed shapes are as long as the text.
static int64_t length_of(struct build *b, const char *name)
{
	struct graph *g = b->g;
	int64_t n = graph_symbol(g, "sequence");
	if (graph_get_form(g)->is_static && n >= 0 && graph_symbol(g, name) < 0)
		graph_bind(g, name, n);
	return graph_symbol(g, name);
}

static void run_causal(struct build *b, const char *part, const char *length)
{
	struct graph *g = b->g;
	const char *input = arena_printf(graph_arena(g), "%s_ids", part);
	int64_t dim[] = { graph_symbol(g, "batch"), length_of(b, length) };
	graph_value ids = graph_input(g, input, DTYPE_I64, 2, dim);
	graph_enter(g, "%s", part);
	const struct spec *whole = part_enter(b, part);
	int64_t h = b->s->hidden_size, out = ((const struct bark_model *)b->s->own)->out;
	graph_value x = run_layers(b, embedding(b, "embed.word", ids, b->s->vocab_size, h), true);
	graph_output(g, arena_printf(graph_arena(g), "%s_logits", part), linear(b, "lm", x, h, out, false));
	part_leave(b, whole);
	graph_leave(g);
}

static void run_fine(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *whole = b->s, *fine = part_of(whole, "fine");
	const struct bark_model *o = fine->own;
	int64_t dim[] = { graph_symbol(g, "batch"), length_of(b, "fine_sequence"), o->codebooks }, h = fine->hidden_size;
	graph_value ids = graph_input(g, "fine_ids", DTYPE_I64, 3, dim), x = NO_VALUE;
	graph_enter(g, "fine");
	part_enter(b, "fine");
	for (b->layer = 0; b->layer <= ASKED && !graph_failed(g); b->layer++) {
		graph_value one = op_squeeze(g, op_slice(g, ids, 2, b->layer, b->layer + 1), 2);
		graph_value y = embedding(b, "embed.codes", one, fine->vocab_size, h);
		x = x.id ? op_add(g, x, y) : y;
	}
	x = run_layers(b, x, false);
	b->layer = ASKED - o->given;
	bool shared = b->plan ? fine->tied : !weight_exists(b, "lm.codes", "weight");
	b->layer += shared; // head n is the table n + 1
	graph_output(g, "fine_logits", linear(b, shared ? "embed.codes" : "lm.codes", x, h, o->out, false));
	part_leave(b, whole);
	graph_leave(g);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	int64_t codebooks = ((const struct bark_model *)part_of(b->s, "fine")->own)->codebooks;
	run_causal(b, "semantic", "sequence");
	run_causal(b, "coarse", "coarse_sequence");
	run_fine(b);
	struct body io = { .ids = graph_input(g, "codes", DTYPE_I64, 3,
				   (int64_t[]){ graph_symbol(g, "batch"), codebooks, graph_symbol(g, "frames") }) };
	graph_enter(g, "codec");
	const struct spec *whole = part_enter(b, "codec");
	b->s->row->family->body(b, &io);
	part_leave(b, whole);
	graph_leave(g);
	graph_output(g, "audio", io.last);
}

static const struct family_head heads[] = { { &head_model }, { 0 } };

const struct family bark = {
	.name = "bark",
	.architecture = "audio",
	.resolve = resolve,
	.build = build,
	.heads = heads,
	.hints = hints,
};
