// SPDX-License-Identifier: Apache-2.0
// operator.h: rows of the list, and the sets of types that its letters stand for.
#include "onnx/operator.h"

#include <string.h>

#include "onnx/inside.h"

const struct operator operators[] = {
#define X(name, domain, opset, inputs, cost, of_result, of_input) \
	{ name, domain, opset, inputs, COST_##cost, of_result, of_input },
	OPERATOR_LIST(X)
#undef X
};
const int operator_count = (int)(sizeof operators / sizeof *operators);

#define BIT(t) (1u << DTYPE_##t)
enum {
	HALF_TO_DOUBLE = BIT(F16) | BIT(F32) | BIT(F64),
	FLOATS = HALF_TO_DOUBLE | BIT(BF16),
	SIGNED = BIT(I8) | BIT(I16) | BIT(I32) | BIT(I64),
	INTEGERS = SIGNED | BIT(U8) | BIT(U16) | BIT(U32) | BIT(U64),
	LONG_INTEGERS = BIT(I32) | BIT(I64) | BIT(U32) | BIT(U64),
};

static const struct {
	unsigned types;
	const char *words;
} sets['z' - 'a' + 1] = {
	['a' - 'a'] = { FLOATS | INTEGERS | BIT(BOOL), "any type but 8-bit floats" },
	['b' - 'a'] = { BIT(BOOL), "bool" },
	['d' - 'a'] = { BIT(I8) | BIT(U8) | BIT(I32), "i8, u8 or i32" },
	['e' - 'a'] = { BIT(F32), "f32" },
	['f' - 'a'] = { FLOATS, "f16, f32, f64 or bf16" },
	['g' - 'a'] = { BIT(F32) | BIT(F64) | BIT(I16) | BIT(I32) | BIT(I64), "f32, f64, i16, i32 or i64" },
	['h' - 'a'] = { HALF_TO_DOUBLE, "f16, f32 or f64" },
	['i' - 'a'] = { INTEGERS, "integers" },
	['k' - 'a'] = { HALF_TO_DOUBLE | BIT(I8) | BIT(U8), "f16, f32, f64, i8 or u8" },
	['l' - 'a'] = { BIT(I64), "i64" },
	['m' - 'a'] = { FLOATS | LONG_INTEGERS, "floats and integers of 32 and 64 bits" },
	['n' - 'a'] = { FLOATS | INTEGERS, "numbers" },
	['p' - 'a'] = { FLOATS | BIT(I32) | BIT(I64), "floats, i32 or i64" },
	['q' - 'a'] = { BIT(I8) | BIT(U8), "i8 or u8" },
	['r' - 'a'] = { FLOATS | LONG_INTEGERS | BIT(I8) | BIT(U8), "floats and integers of 8, 32 and 64 bits" },
	['s' - 'a'] = { FLOATS | SIGNED, "floats and signed integers" },
	['t' - 'a'] = { HALF_TO_DOUBLE | INTEGERS, "numbers but bf16" },
	['u' - 'a'] = { BIT(U8), "u8" },
	['w' - 'a'] = { BIT(I32), "i32" },
	['z' - 'a'] = { FLOATS | BIT(U8), "u8 or floats" },
	['x' - 'a'] = { BIT(I32) | BIT(I64), "i32 or i64" },
};

// The list is in the order of names, then of domains.
const struct operator* operator_find(const char *name, const char *domain)
{
	int low = 0, high = operator_count;

	while (low < high) {
		int middle = (low + high) / 2, order = strcmp(operators[middle].name, name);

		if (!order)
			order = strcmp(operators[middle].domain, domain);
		if (!order)
			return &operators[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static bool is_letter(char c)
{
	return c != '?' && c != '*';
}

int operator_inputs(const struct operator* o)
{
	int count = 0;

	for (const char *at = o->inputs; *at; at++)
		count += is_letter(*at);
	return count;
}

bool operator_input(const struct operator* o, int i, struct operator_input *out)
{
	const char *at = o->inputs;

	for (; i > 0 && *at && at[1] != '*'; i--)
		at += at[1] == '?' ? 2 : 1;
	if (i < 0 || !*at)
		return false;
	bool shared = *at < 'a';
	int letter = *at - (shared ? 'A' : 'a');

	*out = (struct operator_input){ sets[letter].types, at[1] == '?', shared, sets[letter].words };
	return true;
}

bool operator_takes(const struct operator* o, int i, enum dtype t)
{
	struct operator_input in;

	return operator_input(o, i, &in) && (in.types >> t & 1);
}
