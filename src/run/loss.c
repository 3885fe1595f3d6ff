// SPDX-License-Identifier: Apache-2.0
#include "run/loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static double *limit_of(struct loss_limits *l, const char *word, size_t length)
{
	const struct {
		const char *word;
		double *limit;
	} all[] = { { "cosine", &l->cosine }, { "top1", &l->top1 }, { "perplexity", &l->perplexity }, { "nmse", &l->nmse } };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (strlen(all[i].word) == length && !memcmp(all[i].word, word, length))
			return all[i].limit;
	return NULL;
}

enum status loss_parse(struct loss_limits *out, const char *text, struct error *err)
{
	*out = (struct loss_limits){ (double)NAN, (double)NAN, (double)NAN, (double)NAN };
	for (const char *at = text ? text : ""; *at;) {
		const char *equals = strchr(at, '=');
		size_t word = strcspn(at, "=,");
		double *limit = limit_of(out, at, word);
		char *end;

		if (!limit || equals != at + word)
			return error_set(err, STATUS_BAD_INPUT,
				"--max-loss %s: WORD=LIMIT is expected at '%s'; words: cosine, top1, perplexity, nmse", text, at);
		if (!isnan(*limit))
			return error_set(err, STATUS_BAD_INPUT, "--max-loss %s: %.*s has two limits", text, (int)word, at);
		*limit = strtod(equals + 1, &end);
		if (*end == '%') {
			*limit /= 100;
			end++;
		}
		if (end == equals + 1 || !(*limit >= 0) || isinf(*limit) || (*end && *end != ',') || (*end && !end[1]))
			return error_set(err, STATUS_BAD_INPUT,
				"--max-loss %s: a limit is a number from 0 on, as 0.01 or 1%%; '%s' is none", text, equals + 1);
		at = *end ? end + 1 : end;
	}
	return STATUS_OK;
}

static const char *add(struct arena *a, const char *said, const char *more)
{
	return said ? arena_printf(a, "%s; %s", said, more) : arena_printf(a, "--max-loss: %s", more);
}

const char *loss_beyond(const struct loss_limits *l, const struct row *r, struct arena *a, bool *known)
{
	const struct {
		const char *word, *figure, *what;
		double limit, lost;
	} all[] = {
		{ "cosine", "cosine similarity", "1 - cosine similarity", l->cosine, 1 - r->cosine },
		{ "top1", "top-1 agreement", "the share of places with another top-1", l->top1, 1 - r->top1_agreement },
		{ "perplexity", "perplexity", "perplexity over that of float32, less 1", l->perplexity,
			r->perplexity / r->perplexity_float32 - 1 },
		{ "nmse", "normalised mean squared error", "normalised mean squared error", l->nmse, r->nmse },
	};
	// Judged once: against whatever judged it.
	const char *said = NULL, *against = !r->arithmetic_verdict && r->reference ? r->reference : "float32";

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].lost > all[i].limit)
			said = add(a, said,
				arena_printf(a, "%s is %.4g against %s, allowed %.4g", all[i].what, all[i].lost, against,
					all[i].limit));
	*known = said != NULL;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!isnan(all[i].limit) && isnan(all[i].lost))
			said = add(a, said,
				arena_printf(a, "the limit %s=%g cannot be applied: the outputs of this model have no %s",
					all[i].word, all[i].limit, all[i].figure));
	*known = *known || !said;
	return said;
}
