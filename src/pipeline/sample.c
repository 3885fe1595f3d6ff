// SPDX-License-Identifier: Apache-2.0
// Sampling: which tokens are still to be chosen from, as the logits processors of transformers 5 say (TemperatureLogitsWarper and
// those behind it in _get_logits_processor, in that order), and which one it is, by a generator of its own.
#include <math.h>
#include <stdlib.h>

#include "answer/scores.h"
#include "base/hash.h"
#include "pipeline/choose.h"

// A token in an order of its own.
struct ranked {
	double key, score;
	int64_t id;
};

static int by_key(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->id < y->id ? -1 : x->id > y->id;
}

static int64_t best_of(const double *scores, int64_t vocab)
{
	int64_t best = 0;

	for (int64_t i = 1; i < vocab; i++)
		best = scores[i] > scores[best] ? i : best;
	return best;
}

static void rank(struct ranked *out, const double *keys, const double *scores, int64_t vocab)
{
	for (int64_t i = 0; i < vocab; i++)
		out[i] = (struct ranked){ keys[i], scores[i], i };
	qsort(out, (size_t)vocab, sizeof *out, by_key);
}

// What is below the k-th best falls out; those that are equal to it stay.
static void keep_top(int64_t k, double *scores, struct ranked *room, int64_t vocab)
{
	if (k <= 0 || k >= vocab)
		return;
	rank(room, scores, scores, vocab);
	const double least = room[vocab - k].score;
	for (int64_t i = 0; i < vocab; i++)
		scores[i] = scores[i] < least ? -INFINITY : scores[i];
}

// From the worst on, as long as their probabilities together are at most 1 - p; the best one stays.
static void keep_mass(double p, double *scores, double *shares, struct ranked *room, int64_t vocab)
{
	double sum = 0;

	rank(room, scores, scores, vocab);
	scores_softmax(scores, (size_t)vocab, shares);
	for (int64_t i = 0; i + 1 < vocab; i++)
		if ((sum += shares[room[i].id]) <= 1 - p)
			scores[room[i].id] = -INFINITY;
}

static void keep_above(double least, double *scores, const double *shares, int64_t vocab)
{
	const int64_t best = best_of(scores, vocab);

	for (int64_t i = 0; i < vocab; i++)
		if (shares[i] < least && scores[i] < scores[best])
			scores[i] = -INFINITY;
}

static double entropy_of(const double *shares, int64_t vocab)
{
	double sum = 0;

	for (int64_t i = 0; i < vocab; i++)
		sum -= shares[i] > 0 ? shares[i] * log(shares[i]) : 0;
	return sum;
}

// Locally typical (Meister et al. 2022, https://arxiv.org/abs/2202.00666): those whose information is nearest to the entropy,
// until their probabilities together reach the mass.
static void keep_typical(double mass, double *scores, double *shares, struct ranked *room, int64_t vocab)
{
	double sum = 0, entropy, *keys = malloc((size_t)vocab * sizeof *keys);
	int64_t last = 0;

	if (!keys)
		out_of_memory((size_t)vocab * sizeof *keys);
	scores_softmax(scores, (size_t)vocab, shares);
	entropy = entropy_of(shares, vocab);
	for (int64_t i = 0; i < vocab; i++)
		keys[i] = fabs(-log(shares[i]) - entropy);
	rank(room, keys, scores, vocab);
	while (last + 1 < vocab && (sum += shares[room[last].id]) < mass)
		last++;
	for (int64_t i = 1; i < vocab; i++)
		if (room[i].key > room[last].key)
			scores[room[i].id] = -INFINITY;
	free(keys);
}

void sampling_process(const struct sampling *s, double *scores, int64_t vocab)
{
	double *shares;
	struct ranked *room;

	for (int64_t i = 0; i < vocab; i++)
		scores[i] = isnan(scores[i]) ? -INFINITY : scores[i] / s->temperature;
	if (!isfinite(scores[best_of(scores, vocab)])) // nothing to choose from, or one that nothing comes near to
		return;
	shares = malloc((size_t)vocab * sizeof *shares);
	room = malloc((size_t)vocab * sizeof *room);
	if (!shares || !room)
		out_of_memory((size_t)vocab * sizeof *room);
	keep_top(s->top_k, scores, room, vocab);
	if (s->top_p < 1)
		keep_mass(s->top_p, scores, shares, room, vocab);
	if (s->min_p > 0) {
		scores_softmax(scores, (size_t)vocab, shares);
		keep_above(s->min_p * shares[best_of(scores, vocab)], scores, shares, vocab);
	}
	if (s->typical_p < 1)
		keep_typical(s->typical_p, scores, shares, room, vocab);
	if (s->epsilon > 0) {
		scores_softmax(scores, (size_t)vocab, shares);
		keep_above(s->epsilon, scores, shares, vocab);
	}
	if (s->eta > 0) {
		scores_softmax(scores, (size_t)vocab, shares);
		keep_above(fmin(s->eta, sqrt(s->eta) * exp(-entropy_of(shares, vocab))), scores, shares, vocab);
	}
	free(shares);
	free(room);
}

int64_t sampling_draw(const struct sampling *s, int64_t place, const double *scores, int64_t vocab)
{
	const double u = splitmix64_share(splitmix64((uint64_t)s->seed, (uint64_t)place));
	const int64_t best = best_of(scores, vocab);
	int64_t last = best;
	double whole = 0, sum = 0;

	for (int64_t i = 0; i < vocab; i++)
		whole += exp(scores[i] - scores[best]);
	for (int64_t i = 0; i < vocab; i++) {
		const double share = exp(scores[i] - scores[best]) / whole;

		if (!(share > 0))
			continue;
		last = i;
		if ((sum += share) > u)
			return i;
	}
	return last; // what rounding left of 1
}
