// SPDX-License-Identifier: Apache-2.0
// Mixture of experts (Shazeer et al. 2017, https://arxiv.org/abs/1701.06538; Mixtral, https://arxiv.org/abs/2401.04088;
// DeepSeek-V3, https://arxiv.org/abs/2412.19437): a router chooses top_k of the experts for each token.
//
//   x -+- router -> scores -> top_k -> weights [batch, seq, experts], 0 where not chosen
//      +- expert 0 .. n-1 -> sum of weight * expert (+ shared experts, which every token goes through)
//
// EXPERTS_ALL, right for every engine: every expert computes every token and the weight decides. It costs experts / top_k times
// what choosing does.
// EXPERTS_CHOSEN: pairs of a token and one of its experts, sorted by expert, are cut into a piece for each (Gale et al. 2022,
// MegaBlocks, https://arxiv.org/abs/2211.15841, without its blocks); the results go back to where their tokens were.
#include <float.h>
#include <math.h>

#include "arch/block/block.h"

graph_value are_greatest(struct graph *g, graph_value x, int64_t k)
{
	int64_t n = value_dim(g, x, value_rank(g, x) - 1), *count = ARENA_ARRAY(graph_arena(g), (size_t)(n > 0 ? n : 1), int64_t);
	graph_value at;

	for (int64_t i = 0; i < n; i++)
		count[i] = i;
	op_topk_indices(g, x, k, -1, false, &at);
	graph_value is = op_equal(g, op_unsqueeze(g, at, -1), graph_i64s(g, (int)n, count)); // [.., k, n]
	return op_greater(g, op_reduce_max(g, op_cast(g, is, DTYPE_F32), -2, false), graph_f32(g, 0.5f));
}

// Experts outside the top_groups best groups cannot be chosen. A group is worth its two best experts, or its best.
static graph_value within_groups(struct build *b, graph_value choice)
{
	struct graph *g = b->g;
	const struct moe *m = b->s->moe;
	if (m->groups <= 1)
		return choice;
	int64_t each = m->experts / m->groups, best = m->group_of_two ? 2 : 1;
	graph_value grouped = op_reshape(g, choice, 4, (int64_t[]){ 0, 0, m->groups, each });
	graph_value worth = op_reduce_sum(g, op_topk(g, grouped, best), -1, false); // [batch, seq, groups]
	graph_value in = are_greatest(g, worth, m->top_groups);
	graph_value kept = op_where(g, op_unsqueeze(g, in, 3), grouped, graph_f32(g, -FLT_MAX));
	return op_reshape(g, kept, 3, (int64_t[]){ 0, 0, m->experts });
}

// One step of the sparse mixer (Liu et al. 2024, https://arxiv.org/abs/2409.12136): the best of `scores`, weighed against those
// within 2 * jitter of it only. taken: what an earlier step chose, or NO_VALUE. *best: what this step chose.
static graph_value mix_best(struct build *b, graph_value scores, graph_value taken, graph_value *best)
{
	struct graph *g = b->g;
	graph_value low = graph_f32(g, -FLT_MAX);
	graph_value left = taken.id ? op_where(g, taken, low, scores) : scores;
	graph_value max = op_reduce_max(g, left, -1, true);
	graph_value ratio = op_div(g, op_sub(g, max, scores), op_max(g, op_abs(g, scores), max));
	graph_value far = op_greater(g, ratio, graph_f32(g, (float)(2 * b->s->moe->jitter)));
	*best = are_greatest(g, left, 1);
	return op_where(g, *best, op_softmax(g, op_where(g, far, low, left), -1), graph_f32(g, 0));
}

// How often the table has each expert for a token, by its number in the vocabulary: f32 [batch, seq, experts]
static graph_value by_table(struct build *b)
{
	struct graph *g = b->g;
	const struct moe *m = b->s->moe;
	int64_t *count = ARENA_ARRAY(graph_arena(g), (size_t)m->experts, int64_t);
	for (int64_t i = 0; i < m->experts; i++)
		count[i] = i;
	if (!b->ids.id) {
		graph_fail(g, STATUS_UNSUPPORTED, "experts that a table chooses want the tokens' ids");
		return NO_VALUE;
	}
	graph_value table = weight_integers(b, "layers.moe.hash", 2, (int64_t[]){ b->s->vocab_size, m->top_k });
	table = op_max(g, op_min(g, table, graph_i64(g, m->experts - 1)), graph_i64(g, 0));
	graph_value own = op_unsqueeze(g, op_gather(g, table, b->ids, 0), 3); // [batch, seq, top_k, 1]
	graph_value is = op_equal(g, own, graph_i64s(g, (int)m->experts, count));
	return op_reduce_sum(g, op_cast(g, is, DTYPE_F32), 2, false);
}

// The scores of the top_k best experts, 0 elsewhere.
static graph_value chosen_scores(struct build *b, graph_value logits, graph_value scores)
{
	struct graph *g = b->g;
	const struct moe *m = b->s->moe;
	int64_t all = m->experts + m->identities;
	graph_value choice = m->by_logits ? logits : scores;
	if (weight_named(b, "layers.moe.choice_bias") && !m->unbiased_choice) {
		bool flat = !m->choice_bias_row;
		graph_value bias = flat ? WEIGHT(b, "layers.moe.choice_bias", "", all)
					: WEIGHT(b, "layers.moe.choice_bias", "", 1, m->experts);
		choice = op_add(g, choice, flat ? bias : op_reshape(g, bias, 1, &m->experts));
	}
	choice = within_groups(b, choice);
	return op_where(g, are_greatest(g, choice, m->top_k), scores, graph_f32(g, 0));
}

// How much of each expert's result a token gets: [batch, seq, experts].
graph_value route(struct build *b, const char *stem, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct moe *m = s->moe;
	int64_t all = m->experts + m->identities;
	if (weight_named(b, "layers.moe.router_scale")) {
		x = op_rms_norm(g, x, ones_of(b, s->hidden_size), (float)s->norm_eps);
		x = op_mul(g, x, WEIGHT(b, "layers.moe.router_scale", "", s->hidden_size));
		x = op_scale(g, x, (float)(1 / sqrt((double)s->hidden_size)));
	}
	graph_value logits = linear(b, arena_printf(graph_arena(g), "%s.router", stem), x, s->hidden_size, all, m->router_bias);
	if (m->logit_scale > 0)
		logits = op_scale(g, logits, (float)m->logit_scale);
	if (m->sparse_mixer) {
		graph_value first, second, weights = mix_best(b, logits, NO_VALUE, &first);
		return op_add(g, weights, mix_best(b, logits, first, &second));
	}
	graph_value scores = m->activated ? activate(b, m->score, logits)
		: m->sigmoid              ? op_sigmoid(g, logits)
					  : op_softmax(g, logits, -1);
	graph_value weights =
		m->hashed && m->hashed[b->layer] ? op_mul(g, scores, by_table(b)) : chosen_scores(b, logits, scores);
	if (m->normalise) {
		graph_value sum = op_reduce_sum(g, weights, -1, true);
		weights = op_div(g, weights,
			m->least_sum > 0 ? op_max(g, sum, graph_f32(g, (float)m->least_sum))
					 : op_add(g, sum, graph_f32(g, 1e-20f)));
	}
	if (weight_named(b, "layers.moe.expert_scale"))
		weights = op_mul(g, weights, WEIGHT(b, "layers.moe.expert_scale", "", m->experts));
	return op_scale(g, weights, (float)m->scale);
}

// gate and up of one tensor, halves or (clamped_swiglu) side by side; all experts' tensors in one, [experts, out, in] or
// [experts, in, out].
static graph_value expert_of_stack(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct moe *m = s->moe;
	int64_t e = m->experts, h = m->latent ? m->latent : s->hidden_size, f = m->width;
	bool in_out = m->in_out, bias = weight_named(b, "layers.moe.experts.gate_up_bias");
	if (weight_named(b, "layers.moe.experts.gate")) { // each [experts * width, hidden]
		const int64_t rows[] = { e, f, h };
		graph_value gate = op_linear(g, x, weight_item_of(b, "layers.moe.experts.gate", 3, rows, true), NO_VALUE);
		graph_value up = op_linear(g, x, weight_item_of(b, "layers.moe.experts.up", 3, rows, true), NO_VALUE);
		graph_value both = op_mul(g, activate(b, s->act, gate), up);
		return op_linear_in_out(g, both, weight_item_of(b, "layers.moe.experts.down", 3, rows, true), NO_VALUE);
	}
	graph_value (*multiply)(struct graph *, graph_value, graph_value, graph_value) = in_out ? op_linear_in_out : op_linear;
	graph_value w = weight_item(b, "layers.moe.experts.gate_up", 3, (int64_t[]){ e, in_out ? h : 2 * f, in_out ? 2 * f : h });
	graph_value both = multiply(
		g, x, w, bias ? weight_item(b, "layers.moe.experts.gate_up_bias", 2, (int64_t[]){ e, 2 * f }) : NO_VALUE);
	graph_value y;
	if (m->clamped_silu)
		y = clamped_silu_glu(b, op_slice(g, both, 2, 0, f), op_slice(g, both, 2, f, 2 * f), m->limit);
	else if (m->clamped_swiglu || m->gate_cap > 0) {
		graph_value gate, up;
		if (m->halves) {
			gate = op_slice(g, both, 2, 0, f);
			up = op_slice(g, both, 2, f, 2 * f);
		} else {
			graph_value pairs = op_reshape(g, both, 4, (int64_t[]){ 0, 0, f, 2 });
			gate = op_squeeze(g, op_slice(g, pairs, 3, 0, 1), 3);
			up = op_squeeze(g, op_slice(g, pairs, 3, 1, 2), 3);
		}
		if (m->gate_cap > 0)
			y = op_mul(g, op_mul(g, op_softcap(g, gate, (float)m->gate_cap), op_sigmoid(g, gate)),
				op_softcap(g, up, (float)m->up_cap));
		else
			y = clamped_glu(b, gate, up, m->alpha, m->limit);
	} else
		y = op_mul(g, activate(b, s->act, op_slice(g, both, 2, 0, f)), op_slice(g, both, 2, f, 2 * f));
	w = weight_item(b, "layers.moe.experts.down", 3, (int64_t[]){ e, in_out ? f : h, in_out ? h : f });
	return multiply(g, y, w, bias ? weight_item(b, "layers.moe.experts.down_bias", 2, (int64_t[]){ e, h }) : NO_VALUE);
}

// Pairs of a token and an expert that it chose, in the order of the experts. A token's pairs are `chosen`.
struct pairs {
	int64_t chosen;
	graph_value weights; // [tokens, chosen]; 0: an expert that was not chosen, where the router chose fewer
	graph_value place;   // i32 [tokens * chosen]: where each token's pairs are in that order
	graph_value origin;  // i64 [tokens * chosen]: of which token's pair each is
	graph_value lengths; // i64 [experts]: how many pairs each has
};

// A counting sort: a pair is after those of lower experts, and after those of its own that stand before it.
static void sort_pairs(struct build *b, struct pairs *p, graph_value weights)
{
	struct graph *g = b->g;
	const struct moe *m = b->s->moe;
	graph_value flat = op_reshape(g, op_slice(g, weights, 2, 0, m->experts), 2, (int64_t[]){ -1, m->experts });
	graph_value ids;

	p->chosen = moe_chosen(m);
	op_topk_indices(g, op_abs(g, flat), p->chosen, 1, false, &ids);
	p->weights = op_gather_elements(g, flat, ids, 1);
	graph_value id = op_reshape(g, ids, 2, (int64_t[]){ -1, 1 });
	int64_t *count = ARENA_ARRAY(graph_arena(g), (size_t)m->experts, int64_t);
	for (int64_t i = 0; i < m->experts; i++)
		count[i] = i;
	graph_value is = op_cast(g, op_equal(g, id, graph_i64s(g, (int)m->experts, count)), DTYPE_I32); // [pairs, experts]
	graph_value before = op_cumsum_from(g, is, 0, true, false), lengths = op_reduce_sum(g, is, 0, false);
	graph_value begins = op_cumsum_from(g, lengths, 0, true, false);
	p->place = op_reduce_sum(g, op_mul(g, op_add(g, before, begins), is), 1, false);
	p->lengths = op_cast(g, lengths, DTYPE_I64);
	graph_value pairs = op_range(g, graph_i64(g, 0), op_squeeze(g, op_dim(g, id, 0), 0), graph_i64(g, 1));
	p->origin = op_scatter_elements(g, pairs, p->place, pairs, 0, SCATTER_REPLACE);
}

// One for each expert, [1, tokens that chose it, hidden].
static graph_value *pieces(struct build *b, const struct pairs *p, graph_value x, int64_t hidden)
{
	struct graph *g = b->g;
	const struct moe *m = b->s->moe;
	graph_value *out = ARENA_ARRAY(graph_arena(g), (size_t)m->experts, graph_value);
	graph_value token = op_div(g, p->origin, graph_i64(g, p->chosen));
	graph_value rows = op_gather(g, op_reshape(g, x, 2, (int64_t[]){ -1, hidden }), token, 0);

	if (m->scales_inputs)
		rows = op_mul(g, rows, op_gather(g, op_reshape(g, p->weights, 2, (int64_t[]){ -1, 1 }), p->origin, 0));
	op_split(g, op_unsqueeze(g, rows, 0), 1, p->lengths, (int)m->experts, out);
	return out;
}

// What the experts made of the pieces, as one value of x's shape.
static graph_value together(struct build *b, const struct pairs *p, const graph_value *made, graph_value x, int64_t hidden)
{
	struct graph *g = b->g;
	const struct moe *m = b->s->moe;
	graph_value rows = op_squeeze(g, op_concat(g, (int)m->experts, made, 1), 0);
	rows = op_reshape(g, op_gather(g, rows, p->place, 0), 3, (int64_t[]){ -1, p->chosen, hidden });
	graph_value sum = m->scales_inputs ? op_reduce_sum(g, rows, 1, false)
					   : op_squeeze(g, op_matmul(g, op_unsqueeze(g, p->weights, 1), rows), 1);
	return op_reshape_to(g, sum, op_shape(g, x));
}

// In a plan only the weights of an expert are wanted: its graph is one of its own and forgotten, since those of 32,768 take
// 300 MB.
static void plan_expert(struct build *b)
{
	struct graph *whole = b->g;
	const int64_t token[] = { 1, 1, b->s->hidden_size };
	b->g = graph_new(graph_get_form(whole));
	ffn_of(b, "layers.moe.expert", graph_input(b->g, "x", DTYPE_F32, 3, token), b->s->moe->width, false);
	if (graph_failed(b->g))
		graph_fail(whole, STATUS_FAILED, "expert %lld is not as the first", (long long)b->item);
	graph_free(b->g);
	b->g = whole;
}

// Are all experts' tensors in one? Where the dialect has words for both ways the file says which.
static bool is_stacked(const struct build *b)
{
	if (weight_named(b, "layers.moe.experts.gate_up") && weight_named(b, "layers.moe.expert.gate"))
		return weight_exists(b, "layers.moe.experts.gate_up", "");
	return weight_named(b, "layers.moe.experts.gate_up") || weight_named(b, "layers.moe.experts.gate");
}

// Of b->item.
static graph_value expert(struct build *b, graph_value x, int64_t outer)
{
	const struct spec *s = b->s;
	struct spec own = *s;
	own.act = s->moe->silu ? ACT_SILU : s->act;
	b->s = &own;
	graph_value y =
		is_stacked(b) ? expert_of_stack(b, x) : ffn_between(b, "layers.moe.expert", x, outer, s->moe->width, false);
	b->s = s;
	return weight_named(b, "layers.moe.expert_norm") ? norm_scaled_first(b, "layers.moe.expert_norm", y, outer) : y;
}

static graph_value all_experts(struct build *b, graph_value weights, graph_value x, int64_t outer)
{
	struct graph *g = b->g;
	const struct moe *m = b->s->moe;
	graph_value sum = NO_VALUE;

	for (b->item = 0; b->item < m->experts && !graph_failed(b->g); b->item++) {
		if (b->plan && b->item > 0) {
			if (!is_stacked(b)) // else the first has named the tensors of all
				plan_expert(b);
			continue;
		}
		graph_enter(g, "expert.%lld", (long long)b->item);
		graph_value own = op_slice(g, weights, 2, b->item, b->item + 1);
		graph_value y = expert(b, m->scales_inputs ? op_mul(g, x, own) : x, outer);
		y = m->scales_inputs ? y : op_mul(g, y, own);
		sum = sum.id ? op_add(g, sum, y) : y;
		graph_leave(g);
	}
	return sum;
}

static graph_value chosen_experts(struct build *b, graph_value weights, graph_value x, int64_t outer)
{
	struct graph *g = b->g;
	struct pairs p;

	sort_pairs(b, &p, weights);
	graph_value *piece = pieces(b, &p, x, outer);
	for (b->item = 0; b->item < b->s->moe->experts && !graph_failed(b->g); b->item++) {
		graph_enter(g, "expert.%lld", (long long)b->item);
		piece[b->item] = expert(b, piece[b->item], outer);
		graph_leave(g);
	}
	return together(b, &p, piece, x, outer);
}

graph_value weighed_experts(struct build *b, graph_value x, graph_value weights)
{
	const struct moe *m = b->s->moe;
	int64_t outer = m->latent ? m->latent : b->s->hidden_size;

	return graph_get_form(b->g)->experts == EXPERTS_CHOSEN && !b->plan ? chosen_experts(b, weights, x, outer)
									   : all_experts(b, weights, x, outer);
}

graph_value mixture(struct build *b, graph_value x)
{
	return mixture_apart(b, x, x);
}

graph_value mixture_apart(struct build *b, graph_value chooser, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct moe *m = s->moe;
	graph_enter(g, "moe");
	graph_value weights = route(b, "layers.moe", chooser), whole = x;
	int64_t outer = m->latent ? m->latent : s->hidden_size;
	if (m->latent)
		x = linear(b, "layers.moe.latent_in", x, s->hidden_size, outer, s->traits.ffn_bias);
	if (weight_named(b, "layers.moe.latent_norm"))
		x = norm(b, "layers.moe.latent_norm", x, outer);
	graph_value sum = weighed_experts(b, x, weights);
	if (m->identities) {
		graph_value own = op_slice(g, weights, 2, m->experts, m->experts + m->identities);
		sum = op_add(g, sum, op_mul(g, x, op_reduce_sum(g, own, -1, true)));
	}
	if (m->latent)
		sum = linear(b, "layers.moe.latent_out", sum, outer, s->hidden_size, s->traits.ffn_bias);
	x = whole;
	if (m->shared_width) {
		graph_enter(g, "shared");
		graph_value y = ffn_of(b, "layers.moe.shared", x, m->shared_width, s->traits.ffn_bias);
		if (weight_named(b, "layers.moe.shared_gate"))
			y = op_mul(g, y, op_sigmoid(g, linear(b, "layers.moe.shared_gate", x, s->hidden_size, 1, false)));
		sum = op_add(g, sum, y);
		graph_leave(g);
	}
	if (m->shared_width && m->shared_average)
		sum = op_scale(g, sum, 0.5f);
	if (weight_named(b, "layers.moe.bias"))
		sum = op_add(g, sum, WEIGHT(b, "layers.moe.bias", "", s->hidden_size));
	if (weight_named(b, "layers.moe.norm"))
		sum = norm(b, "layers.moe.norm", sum, s->hidden_size);
	graph_leave(g);
	return sum;
}
