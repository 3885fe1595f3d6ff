// SPDX-License-Identifier: Apache-2.0
#include "onnx/flow.h"

#include <string.h>

#include "base/text.h"

// A name that ends with a dot is the beginning of names; what comes after it is the same on both sides.
static const struct flow {
	const char *output, *input;
	enum flow_kind kind;
} flows[] = {
	{ "present.", "past_key_values.", FLOW_CACHE },
	{ "present_conv.", "past_conv.", FLOW_STATE },           // the last inputs of a causal convolution
	{ "present_ssm.", "past_ssm.", FLOW_STATE },             // of a state space
	{ "present_recurrent.", "past_recurrent.", FLOW_STATE }, // of linear attention
	{ "present_hidden.", "past_hidden.", FLOW_STATE },       // of an LSTM: what it gives, and what it keeps
	{ "present_cell.", "past_cell.", FLOW_STATE },
	{ "last_hidden_state", "encoder_hidden_states", FLOW_ENCODED },
};
enum { FLOWS = sizeof flows / sizeof *flows };

static bool is_of(const char *name, const char *flow)
{
	return text_ends(flow, ".") ? text_starts(name, flow) : text_is(name, flow);
}

enum flow_kind flow_input(const char *name)
{
	for (int i = 0; i < FLOWS; i++)
		if (is_of(name, flows[i].input))
			return flows[i].kind;
	return FLOW_NONE;
}

enum flow_kind flow_output(const char *name)
{
	for (int i = 0; i < FLOWS; i++)
		if (is_of(name, flows[i].output))
			return flows[i].kind;
	return FLOW_NONE;
}

const char *flow_next(struct arena *a, const char *output)
{
	for (int i = 0; i < FLOWS; i++)
		if (is_of(output, flows[i].output))
			return arena_printf(a, "%s%s", flows[i].input, output + strlen(flows[i].output));
	return NULL;
}
