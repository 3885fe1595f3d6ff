// SPDX-License-Identifier: Apache-2.0
// Decision Transformer (Chen et al. 2021, https://arxiv.org/abs/2106.01345): returns, states and actions of an episode in turn
// are the tokens of a GPT-2 without positions, which says what comes next.
//
//   for each step: linear(return), linear(state), linear(action), each + time -> [batch, 3 * steps, hidden] - norm
//   - causal layers - norm -> state and return after each action, action after each state
#include "arch/block/block.h"

struct decision {
	int64_t state_width, action_width, times, positions;
	bool bounded; // actions, by tanh
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct decision *o = ARENA_NEW(a, struct decision);
	s->own = o;
	resolve_transformer(c, s, true);
	s->traits.transposed_weights = true;
	s->ffn_size = s->ffn_size ? s->ffn_size : 4 * s->hidden_size;
	o->positions = s->max_positions;
	s->max_positions = s->vocab_size = 0; // it reads no tokens
	o->state_width = config_size(c, "state_dim", -1);
	o->action_width = config_size(c, "act_dim", -1);
	o->times = config_size(c, "max_ep_len", -1);
	o->bounded = config_bool(c, "action_tanh", true);
	if (!config_bool(c, "scale_attn_weights", true))
		s->attention_scale = 1;
	s->scale_by_layer = config_bool(c, "scale_attn_by_inverse_layer_idx", false);
	if (!c->error.status && (o->state_width < 1 || o->action_width < 1 || o->times < 1 || o->positions < 1))
		config_fail(c, STATUS_BAD_INPUT, "state_dim %lld, act_dim %lld, max_ep_len %lld, n_positions %lld",
			(long long)o->state_width, (long long)o->action_width, (long long)o->times, (long long)o->positions);
}

// x [batch, steps, width] -> [batch, steps, 1, hidden]
static graph_value token(struct build *b, const char *stem, const char *input, int64_t width, graph_value time)
{
	struct graph *g = b->g;
	int64_t dim[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence"), width };
	graph_value x = graph_input(g, input, DTYPE_F32, 3, dim);
	return op_unsqueeze(g, op_add(g, linear(b, stem, x, width, b->s->hidden_size, true), time), 2);
}

// io->mask [batch, steps] becomes one of tokens
static graph_value episode(struct build *b, struct body *io)
{
	const struct decision *o = b->s->own;
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, dim[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	graph_value time = embedding(b, "embed.time", graph_input(g, "timesteps", DTYPE_I64, 2, dim), o->times, h);
	graph_value state = token(b, "embed.state", "states", o->state_width, time);
	graph_value action = token(b, "embed.action", "actions", o->action_width, time);
	graph_value earned = token(b, "embed.return", "returns_to_go", 1, time);
	graph_value mask = op_unsqueeze(g, graph_input(g, "attention_mask", DTYPE_I64, 2, dim), 2);
	io->mask = op_reshape(g, op_concat(g, 3, (graph_value[]){ mask, mask, mask }, 2), 2, (int64_t[]){ 0, -1 });
	graph_value x = op_reshape(g, op_concat(g, 3, (graph_value[]){ earned, state, action }, 2), 3, (int64_t[]){ 0, -1, h });
	graph_assume(g, x, 1, value_dim(g, io->mask, 1));
	x = layer_norm(b, "embed.norm", x, h);
	return op_add(g, x, op_slice(g, WEIGHT(b, "embed.position", "weight", o->positions, h), 0, 0, 1)); // place 0 for all
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	struct body io = { 0 };
	graph_value x = episode(b, &io), bias = mask_causal(b, io.mask, x, 0);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = prenorm_layer(b, x, bias);
		graph_leave(g);
	}
	io.last = layer_norm(b, "norm", x, b->s->hidden_size);
	head_build(b, &io);
}

static void give(struct build *b, const struct body *io)
{
	const struct decision *o = b->s->own;
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value x = op_reshape(g, io->last, 4, (int64_t[]){ 0, -1, 3, h });
	graph_value state = op_squeeze(g, op_slice(g, x, 2, 1, 2), 2), action = op_squeeze(g, op_slice(g, x, 2, 2, 3), 2);
	graph_value next = linear(b, "head.action", state, h, o->action_width, true);
	graph_output(g, "state_preds", linear(b, "head.state", action, h, o->state_width, true)); // [batch, steps, ..], each
	graph_output(g, "action_preds", o->bounded ? op_tanh(g, next) : next);
	graph_output(g, "return_preds", linear(b, "head.return", action, h, 1, true));
	graph_output(g, "last_hidden_state", io->last); // [batch, 3 * steps, hidden]
}

static const struct family_head heads[] = { { &head_model, give }, { 0 } };

const struct family decision = {
	.name = "decision",
	.architecture = "decoder-only",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
