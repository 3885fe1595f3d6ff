// SPDX-License-Identifier: Apache-2.0
// contents.h. Every pass over the file is bounded by WIRE_FIELDS_MOST; what is counted once is allocated, and then filled.
//
//   ModelProto: ir_version = 1, producer_name = 2, producer_version = 3, graph = 7, opset_import = 8 (domain = 1, version = 2),
//   functions = 25 (FunctionProto: name = 1, node = 7, domain = 10)
//   NodeProto: op_type = 4, attribute = 5 (t = 5, g = 6, graphs = 11), domain = 7
//   GraphProto: node = 1, initializer = 5.   TensorProto: dims = 1, data_type = 2, raw_data = 9
#include "backend/contents.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "onnx/wire.h"

enum { DEEP = 8, NODES_MOST = 1 << 19, OPSETS_MOST = 1024, FUNCTIONS_MOST = 1 << 16, KINDS_MOST = 1 << 12, NAME_MOST = 256 };

struct pass {
	bool bad, too_deep;
	uint64_t fields;
	struct contents *out;
	struct node {
		struct wire domain, op;
	} * nodes; // NULL: they are counted
	size_t count;
};

static bool next(struct wire *w, struct wire_field *f, struct pass *p)
{
	if (p->bad)
		return false;
	const enum wire_got got = wire_next_of(w, f, &p->fields);
	p->bad = got == WIRE_DAMAGED || got == WIRE_MANY;
	return got == WIRE_FIELD;
}

static size_t length(struct wire w)
{
	return (size_t)(w.end - w.at);
}

static const char *name(struct arena *a, struct wire w)
{
	return arena_strndup(a, (const char *)w.at, length(w) < NAME_MOST ? length(w) : NAME_MOST);
}

// "ai.onnx" is another spelling of "".
static struct wire domain_of(struct wire w)
{
	static const char usual[] = "ai.onnx";

	return length(w) == strlen(usual) && !memcmp(w.at, usual, strlen(usual)) ? (struct wire){ w.end, w.end } : w;
}

static uint64_t plus(uint64_t x, uint64_t y)
{
	return x + y < y ? UINT64_MAX : x + y;
}

static uint64_t times(uint64_t x, uint64_t y)
{
	uint64_t out;

	return __builtin_mul_overflow(x, y, &out) ? UINT64_MAX : out;
}

static bool is_integer(enum dtype t)
{
	return t == DTYPE_I64 || t == DTYPE_I32 || t == DTYPE_U64 || t == DTYPE_U32 || t == DTYPE_BOOL;
}

static void take_tensor(struct pass *p, struct wire tensor)
{
	uint64_t count = 1, raw = 0, dim;
	enum dtype t = DTYPE_NONE;
	struct wire_field f;

	while (next(&tensor, &f, p)) {
		if (f.number == 1 && f.kind == WIRE_VARINT)
			count = times(count, f.varint);
		if (f.number == 1 && f.kind == WIRE_BYTES)
			while (f.bytes.at < f.bytes.end && wire_varint(&f.bytes, &dim))
				count = times(count, dim);
		if (f.number == 2 && f.kind == WIRE_VARINT)
			t = dtype_of_onnx((int)f.varint);
		if (f.number == 9 && f.kind == WIRE_BYTES)
			raw = length(f.bytes);
	}
	if (!p->nodes)
		return;
	p->out->bytes[t] = plus(p->out->bytes[t], raw ? raw : times(count, dtype_size(t)));
	if (!is_integer(t))
		p->out->parameters = plus(p->out->parameters, count);
}

static void take_graph(struct pass *p, struct wire graph, unsigned nodes, unsigned tensors, int depth);

static void take_node(struct pass *p, struct wire node, int depth)
{
	struct node n = { 0 };
	struct wire_field f, g;

	while (next(&node, &f, p)) {
		if (f.number == 4 && f.kind == WIRE_BYTES)
			n.op = f.bytes;
		if (f.number == 7 && f.kind == WIRE_BYTES)
			n.domain = domain_of(f.bytes);
		if (f.number != 5 || f.kind != WIRE_BYTES)
			continue;
		while (next(&f.bytes, &g, p)) {
			if (g.number == 5 && g.kind == WIRE_BYTES)
				take_tensor(p, g.bytes);
			if ((g.number == 6 || g.number == 11) && g.kind == WIRE_BYTES) {
				p->too_deep = p->too_deep || depth == DEEP;
				if (depth < DEEP)
					take_graph(p, g.bytes, 1, 5, depth + 1);
			}
		}
	}
	if (p->nodes)
		p->nodes[p->count] = n;
	p->count++;
	p->bad = p->bad || p->count > NODES_MOST;
}

// Of a graph or a function: its nodes and tensors by the numbers of their fields; 0: it has none.
static void take_graph(struct pass *p, struct wire graph, unsigned nodes, unsigned tensors, int depth)
{
	struct wire_field f;

	while (next(&graph, &f, p)) {
		if (f.number == nodes && f.kind == WIRE_BYTES)
			take_node(p, f.bytes, depth);
		if (f.number == tensors && f.kind == WIRE_BYTES)
			take_tensor(p, f.bytes);
	}
}

static void take_model(struct pass *p, struct wire w)
{
	struct wire_field f;

	while (next(&w, &f, p)) {
		if (f.number == 7 && f.kind == WIRE_BYTES)
			take_graph(p, f.bytes, 1, 5, 0);
		if (f.number == 25 && f.kind == WIRE_BYTES)
			take_graph(p, f.bytes, 7, 0, 0);
	}
}

static int compare(struct wire x, struct wire y)
{
	const size_t n = length(x) < length(y) ? length(x) : length(y);
	const int order = n ? memcmp(x.at, y.at, n) : 0;

	return order ? order : length(x) < length(y) ? -1 : length(x) > length(y);
}

static int by_operator(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	const int order = compare(x->domain, y->domain);

	return order ? order : compare(x->op, y->op);
}

// False: of more kinds than any file.
static bool count_operators(struct contents *out, struct arena *a, struct node *nodes, size_t count)
{
	size_t kinds = 0;

	if (count)
		qsort(nodes, count, sizeof *nodes, by_operator);
	for (size_t i = 0; i < count; i++)
		kinds += i == 0 || by_operator(&nodes[i - 1], &nodes[i]) != 0;
	if (kinds > KINDS_MOST)
		return false;
	out->operators = ARENA_ARRAY(a, kinds + 1, struct contents_operator);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || by_operator(&nodes[i - 1], &nodes[i]) != 0)
			out->operators[out->operator_count++] =
				(struct contents_operator){ name(a, nodes[i].domain), name(a, nodes[i].op), 0, false };
		out->operators[out->operator_count - 1].count++;
	}
	out->node_count = count;
	return true;
}

// Versions, and which operators the file defines itself.
static void take_head(struct contents *out, struct arena *a, struct wire model, struct pass *p, struct node *functions)
{
	struct wire_field f, g;

	while (next(&model, &f, p)) {
		struct contents_opset *s = &out->opsets[out->opset_count];
		struct node *function = &functions[out->function_count];

		if (f.number == 1 && f.kind == WIRE_VARINT)
			out->ir_version = (int64_t)f.varint;
		if (f.number == 2 && f.kind == WIRE_BYTES)
			out->producer = name(a, f.bytes);
		if (f.number == 3 && f.kind == WIRE_BYTES)
			out->producer_version = name(a, f.bytes);
		if (f.number == 8 && f.kind == WIRE_BYTES) {
			for (*s = (struct contents_opset){ "", 1 }; next(&f.bytes, &g, p);) {
				if (g.number == 1 && g.kind == WIRE_BYTES)
					s->domain = name(a, domain_of(g.bytes));
				if (g.number == 2 && g.kind == WIRE_VARINT)
					s->version = (int64_t)g.varint;
			}
			out->opset_count++;
		}
		if (f.number == 25 && f.kind == WIRE_BYTES) {
			for (*function = (struct node){ 0 }; next(&f.bytes, &g, p);) {
				if (g.number == 1 && g.kind == WIRE_BYTES)
					function->op = g.bytes;
				if (g.number == 10 && g.kind == WIRE_BYTES)
					function->domain = domain_of(g.bytes);
			}
			out->function_count++;
		}
	}
}

static struct wire wire_of(const char *text)
{
	return (struct wire){ (const uint8_t *)text, (const uint8_t *)text + strlen(text) };
}

enum status contents_read(struct contents *out, struct arena *a, const void *onnx, size_t nbytes, struct error *err)
{
	const struct wire model = { onnx, (const uint8_t *)onnx + nbytes };
	struct contents c = { 0 };
	struct pass p = { .bad = nbytes == 0, .out = &c };
	size_t opsets = 0, functions = 0, graphs = 0;
	struct wire w = model;
	struct wire_field f;

	while (next(&w, &f, &p)) {
		graphs += f.number == 7 && f.kind == WIRE_BYTES;
		opsets += f.number == 8 && f.kind == WIRE_BYTES;
		functions += f.number == 25 && f.kind == WIRE_BYTES;
	}
	take_model(&p, model); // counts
	if (p.bad || !graphs || opsets > OPSETS_MOST || functions > FUNCTIONS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "not a readable ONNX file");
	struct pass second = { .out = &c, .nodes = ARENA_ARRAY(a, p.count + 1, struct node) };
	struct node *defined = ARENA_ARRAY(a, functions + 1, struct node);
	c.opsets = ARENA_ARRAY(a, opsets + 1, struct contents_opset);
	take_model(&second, model);
	take_head(&c, a, model, &(struct pass){ 0 }, defined);
	if (!count_operators(&c, a, second.nodes, second.count))
		return error_set(err, STATUS_BAD_INPUT, "names more than %d operators; no model does", KINDS_MOST);
	if (functions)
		qsort(defined, functions, sizeof *defined, by_operator);
	for (size_t i = 0; i < c.operator_count; i++) {
		const struct node key = { wire_of(c.operators[i].domain), wire_of(c.operators[i].op) };

		c.operators[i].defined = functions && bsearch(&key, defined, functions, sizeof *defined, by_operator);
	}
	c.too_deep = p.too_deep ? "branches below 8 others were not looked into" : NULL;
	*out = c;
	return STATUS_OK;
}

// ---- what is known of engines ---------------------------------------------------------------------------------------------

// The first version of each in ONNX's operator schemas (onnx 1.23).
int contents_since(const char *op)
{
	static const struct {
		int opset;
		const char *ops;
	} since[] = {
		{ 1,
			" Abs Add And ArgMax ArgMin AveragePool BatchNormalization Cast Ceil Clip Concat Constant Conv "
			"ConvTranspose "
			"DepthToSpace Div Dropout Elu Equal Exp Flatten Floor GRU Gather Gemm GlobalAveragePool GlobalLpPool "
			"GlobalMaxPool Greater HardSigmoid Hardmax Identity If InstanceNormalization LRN LSTM LeakyRelu Less Log "
			"LogSoftmax Loop LpNormalization LpPool MatMul Max MaxPool MaxRoiPool Mean Min Mul Neg Not Or PRelu Pad "
			"Pow "
			"RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike Reciprocal ReduceL1 ReduceL2 "
			"ReduceLogSum "
			"ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Selu "
			"Shape "
			"Sigmoid Size Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh Tile TopK "
			"Transpose Unsqueeze Upsample Xor " },
		{ 7, " Acos Asin Atan Cos Multinomial Sin Tan " }, { 8, " Expand Scan " },
		{ 9,
			" Acosh Asinh Atanh Compress ConstantOfShape Cosh Erf EyeLike IsNaN MaxUnpool MeanVarianceNormalization "
			"NonZero OneHot Scatter Shrink Sign Sinh TfIdfVectorizer Where " },
		{ 10,
			" ConvInteger DequantizeLinear IsInf MatMulInteger Mod NonMaxSuppression QLinearConv QLinearMatMul "
			"QuantizeLinear Resize ReverseSequence RoiAlign StringNormalizer ThresholdedRelu " },
		{ 11,
			" BitShift ConcatFromSequence CumSum Det DynamicQuantizeLinear GatherElements GatherND Range Round "
			"ScatterElements ScatterND SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert "
			"SequenceLength SplitToSequence Unique " },
		{ 12, " Celu Einsum GreaterOrEqual LessOrEqual NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss " },
		{ 14, " HardSwish Trilu " }, { 15, " Bernoulli CastLike Optional OptionalGetElement OptionalHasElement " },
		{ 16, " GridSample " },
		{ 17, " BlackmanWindow DFT HammingWindow HannWindow LayerNormalization MelWeightMatrix STFT SequenceMap " },
		{ 18, " BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CenterCropPad Col2Im GroupNormalization Mish " },
		{ 19, " DeformConv " }, { 20, " AffineGrid Gelu ImageDecoder RegexFullMatch StringConcat StringSplit " },
		{ 23, " Attention RMSNormalization RotaryEmbedding " }, { 24, " Swish TensorScatter " },
		{ 26, " BitCast CumProd " }, { 27, " CausalConvWithState LinearAttention " }, { 28, " SwiGLU " }
	};

	const size_t n = strlen(op);

	for (size_t i = 0; i < sizeof since / sizeof *since && n; i++)
		for (const char *at = since[i].ops; (at = strstr(at, op)); at += n)
			if (at > since[i].ops && at[-1] == ' ' && at[n] == ' ')
				return since[i].opset;
	return 0;
}

// Measured with a graph of one Relu: each opset from 1 to 28, each IR version from 2 to 15. OpenVINO took them all,
// and operators of later opsets than the file imports.
const struct contents_bounds *contents_bounds(const char *engine)
{
	static const struct contents_bounds all[] = {
		{ "ort", "1.31", 6, 26, 13,
			"com.microsoft com.microsoft.nchwc com.ms.internal.nhwc ai.onnx.ml ai.onnx.training "
			"ai.onnx.preview.training",
			"", true },
		{ "openvino", "2026.4", 0, 0, 0, "com.microsoft ai.onnx.ml org.openvinotoolkit",
			"Affine ATen ConstantFill Crop ImageScaler", false },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (text_is(all[i].engine, engine))
			return &all[i];
	return NULL;
}
