// SPDX-License-Identifier: Apache-2.0
// Tasks whose answer is a model's states: feature-extraction (FeatureExtractionPipeline).
#include "base/text.h"
#include "pipeline/inside.h"

TASK(feature_extraction)
{
	const char *text;
	struct part *m;
	struct encoding e;
	struct tensor *given;
	const struct tensor *states;
	size_t n;
	enum status st = part_open(c->p, ".", &m, err);

	if (st || (st = call_text(c, "text", &text, err)) || (st = text_encode(m, c->a, text, NULL, NULL, &e, err)) ||
		(st = text_run(m, c->a, &e, &given, &n, err)))
		return st;
	if (!(states = part_output(given, n, "last_hidden_state", 3, err)))
		return STATUS_UNSUPPORTED;
	out->json = answer_tensor(c, out, "features", states);
	return STATUS_OK;
}
