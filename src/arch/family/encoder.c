// SPDX-License-Identifier: Apache-2.0
// BERT and its kin: a bidirectional transformer, normalised behind each residual (Devlin et al. 2018,
// https://arxiv.org/abs/1810.04805; RoBERTa, https://arxiv.org/abs/1907.11692; ALBERT, https://arxiv.org/abs/1909.11942;
// ELECTRA, https://arxiv.org/abs/2003.10555; MPNet, https://arxiv.org/abs/2004.09297).
//
//   ids -> word + position + type -> norm (-> project) -> layers -> head
//   layer:  x -+- attention -(+)- norm -+- up - act - down -(+)- norm
//              +--------------+         +------------------+
#include "arch/family/encoder.h"

static value embed(struct build *b, value ids, value types)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "embed");
	value x = embedding(b, "embed.word", ids, s->vocab_size, s->embedding_size);                         // [batch, seq, embedding]
	if (s->traits.pad_is_zero && s->pad_token_id >= 0)
		x = op_where(g, op_unsqueeze(g, op_equal(g, ids, graph_i64(g, s->pad_token_id)), 2), graph_f32(g, 0), x);
	if (s->traits.no_types)
		;
	else if (s->type_vocab_size > 1)
		x = op_add(g, x, embedding(b, "embed.type", types, s->type_vocab_size, s->embedding_size));
	else                                                                                                 // one type: a constant row
		x = op_add(g, x, embedding(b, "embed.type", graph_i64s(g, 1, (int64_t[]){ 0 }), s->type_vocab_size, s->embedding_size));
	value positions;
	if (s->traits.positions_from_pad)
		positions = embedding(b, "embed.position", positions_from_pad(b, ids), s->max_positions, s->embedding_size);
	else {
		value table = WEIGHT(b, "embed.position", "weight", s->max_positions, s->embedding_size);
		positions = op_slice_to(g, table, 0, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, ids, 1)); // [seq, embedding]
	}
	x = layer_norm(b, "embed.norm", op_add(g, x, positions), s->embedding_size);
	if (s->embedding_size != s->hidden_size || s->traits.always_projected)
		x = linear(b, "embed.project", x, s->embedding_size, s->hidden_size, true);
	graph_leave(g);
	return x;                                                                                            // [batch, seq, hidden]
}

static value layer(struct build *b, value x, value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "attn");
	value y = self_attention(b, x, bias, NO_VALUE, NO_VALUE, true, true, NULL);
	x = layer_norm(b, "layers.attn.norm", op_add(g, y, x), s->hidden_size);
	graph_leave(g);
	graph_enter(g, "ffn");
	y = activate(b, s->act, linear(b, "layers.ffn.up", x, s->hidden_size, s->ffn_size, true));           // [batch, seq, ffn]
	y = linear(b, "layers.ffn.down", y, s->ffn_size, s->hidden_size, true);
	x = layer_norm(b, "layers.ffn.norm", op_add(g, y, x), s->hidden_size);
	graph_leave(g);
	return x;
}

static void resolve_summary(struct config *c, struct encoder *e)
{
	static const char *const words[] = { "first", "last", "mean" };
	const char *type = config_text(c, "summary_type");
	size_t i = 0;
	while (i < 3 && !text_is(type ? type : "last", words[i]))
		i++;
	if (i == 3)
		config_fail(c, STATUS_UNSUPPORTED, "summary_type %s is not supported yet", type);
	e->summary = (enum summary)i;
	e->summary_projected = config_bool(c, "summary_use_proj", false);
	e->summary_act = config_activation(c, "summary_activation", ACT_NONE);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct encoder *e = s->own = ARENA_NEW(a, struct encoder);
	resolve_transformer(c, s, false);
	e->causal = config_knows(c, "is_decoder") && config_bool(c, "is_decoder", false);
	e->inner = s->traits.shared_layers ? config_size(c, "inner_group_num", 1) : 1;
	if (e->inner < 1)
		config_fail(c, STATUS_BAD_INPUT, "inner_group_num should be 1 or more");
	if (s->head && text_is(s->head->name, "multiple-choice"))
		resolve_summary(c, e);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	value x = embed(b, io->ids, io->types);
	value bias = e->causal ? mask_causal(b, io->mask, io->ids, 0) : mask_bidirectional(b, io->mask);     // [batch, 1, 1 or seq, seq]
	if (s->traits.relative_buckets)
		bias = mask_relative(b, bias, io->ids);
	double layers_a_group = (double)s->layers_in_config / (double)s->layer_groups;
	states_begin(b, io, x);
	for (int64_t i = 0; i < s->layers; i++) {
		graph_enter(g, "layers.%lld", (long long)i);
		b->stage = (int64_t)((double)i / layers_a_group);
		for (int64_t k = 0; k < e->inner; k++) {
			b->layer = s->traits.shared_layers ? k : i;
			x = layer(b, x, bias);
		}
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
}

// One score for each of several texts: a dense layer over what the pooler gives, or a summary of the states.
static void draw_choices(struct build *b, value choices, value hidden)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	value x;
	graph_enter(g, "head");
	if (weight_named(b, "pooler"))
		x = op_tanh(g, linear(b, "pooler", first_token(b, hidden), s->hidden_size, s->hidden_size, true));
	else if (!weight_named(b, "head.choice.dense"))
		x = activate(b, s->traits.head_act, linear(b, "head.sequence.dense", first_token(b, hidden), s->hidden_size, s->hidden_size, true));
	else {
		x = e->summary == SUMMARY_FIRST ? first_token(b, hidden) : e->summary == SUMMARY_LAST ? op_gather(g, hidden, graph_i64(g, -1), 1)
			: op_reduce_mean(g, hidden, 1, false);
		if (e->summary_projected)
			x = linear(b, "head.choice.dense", x, s->hidden_size, s->hidden_size, true);
		x = activate(b, e->summary_act, x);
	}
	x = linear(b, "head.choice.out", x, s->hidden_size, 1, true);                                // [batch*choices, 1]
	x = op_reshape_to(g, x, op_concat(g, 2, (value[]){ op_dim(g, choices, 0), op_dim(g, choices, 1) }, 0));
	graph_leave(g);
	for (int i = 0; i < 2; i++)
		graph_assume(g, x, i, value_dim(g, choices, i));
	graph_output(g, "logits", x);                                                                // [batch, choices]
}

static value token_input(struct build *b, const char *name, bool choices)
{
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "choices"), graph_symbol(g, "sequence") };
	if (choices)
		return graph_input(g, name, DTYPE_I64, 3, shape);
	shape[1] = shape[2];
	return graph_input(g, name, DTYPE_I64, 2, shape);
}

// [batch, choices, seq] -> [batch*choices, seq]
static value one_text_a_row(struct build *b, value x, bool choices)
{
	struct graph *g = b->g;
	if (!choices)
		return x;
	value rows = op_reshape_to(g, x, op_concat(g, 2, (value[]){ graph_i64s(g, 1, (int64_t[]){ -1 }), op_dim(g, x, 2) }, 0));
	graph_assume(g, rows, 0, graph_symbol(g, "batch*choices"));
	graph_assume(g, rows, 1, value_dim(g, x, 2));
	return rows;
}

static void draw(struct build *b)
{
	struct body io = { 0 };
	bool choices = text_is(b->s->head->name, "multiple-choice");
	value ids = token_input(b, "input_ids", choices);
	io.ids = b->ids = one_text_a_row(b, ids, choices);
	io.mask = one_text_a_row(b, token_input(b, "attention_mask", choices), choices);
	if (b->s->type_vocab_size > 1)
		io.types = one_text_a_row(b, token_input(b, "token_type_ids", choices), choices);
	body(b, &io);
	if (choices)
		draw_choices(b, ids, io.last);
	else
		b->s->head->draw(b, io.last);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	if (s->head && text_is(s->head->name, "multiple-choice"))
		out->symbols[0] = (struct input_symbol){ "choices", 2 };
}

const struct family encoder = { .name = "encoder", .architecture = "encoder-only", .resolve = resolve, .draw = draw, .body = body, .hints = hints };
