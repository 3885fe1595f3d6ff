// SPDX-License-Identifier: Apache-2.0
#include "onnx/messages.h"

#include <stddef.h>

// Field numbers of onnx.proto3.
static const struct {
	enum onnx_message within;
	unsigned field;
	enum onnx_message is;
} table[] = {
	{ ONNX_MODEL, 7, ONNX_GRAPH },
	{ ONNX_MODEL, 25, ONNX_FUNCTION },
	{ ONNX_FUNCTION, 7, ONNX_NODE },
	{ ONNX_FUNCTION, 11, ONNX_ATTRIBUTE },
	{ ONNX_GRAPH, 1, ONNX_NODE },
	{ ONNX_GRAPH, 5, ONNX_TENSOR },
	{ ONNX_GRAPH, 15, ONNX_SPARSE },
	{ ONNX_NODE, 5, ONNX_ATTRIBUTE },
	{ ONNX_ATTRIBUTE, 5, ONNX_TENSOR },
	{ ONNX_ATTRIBUTE, 6, ONNX_GRAPH },
	{ ONNX_ATTRIBUTE, 10, ONNX_TENSOR },
	{ ONNX_ATTRIBUTE, 11, ONNX_GRAPH },
	{ ONNX_ATTRIBUTE, 22, ONNX_SPARSE },
	{ ONNX_ATTRIBUTE, 23, ONNX_SPARSE },
	{ ONNX_SPARSE, 1, ONNX_TENSOR },
	{ ONNX_SPARSE, 2, ONNX_TENSOR },
	{ ONNX_TENSOR, 13, ONNX_ENTRY },
};

bool onnx_leads(enum onnx_message within, const struct wire_field *f, enum onnx_message *is)
{
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (f->kind == WIRE_BYTES && table[i].within == within && table[i].field == f->number) {
			*is = table[i].is;
			return true;
		}
	return false;
}
