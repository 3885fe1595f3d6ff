// SPDX-License-Identifier: Apache-2.0
// A reader of protobuf's wire format that visits only the fields it wants. Not protobuf-c's unpacking, because a user's file
// may hold gigabytes of weights and this runs in the process whose memory is being measured.
//
//   ModelProto.graph = 7
//   GraphProto.node = 1 (NodeProto: input = 1, output = 2, name = 3, op_type = 4, attribute = 5 (AttributeProto: name = 1, i = 3,
//   t = 5))
//   .initializer = 5 (TensorProto: data_type = 2, name = 8)   .input = 11   .output = 12
//   TensorProto: dims = 1, data_type = 2, raw_data = 9.   AttributeProto: g = 6, graphs = 11
//   ValueInfoProto: name = 1, type = 2 (TypeProto: tensor_type = 1 (elem_type = 1, shape = 2 (dim = 1 (dim_value = 1, dim_param =
//   2))))
#include "backend/outline.h"

#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "onnx/wire.h"

// One pass over a file. One that has seen WIRE_FIELDS_MOST is as bad as one over a broken file.
struct reading {
	bool bad;
	bool many;  // nodes
	bool wide;  // inputs or outputs
	bool deep;  // dimensions of one of them
	bool heavy; // weights that an engine makes many times larger
	uint64_t fields;
};
// NODES_MOST: ten times as many as any published graph has; an engine takes a kB for each while it refuses them. PORTS_MOST:
// inputs that are no initializers, and outputs, of which a cache of 200 layers has 400; engines take a time with their square.
// PORT_NBYTES_MOST: of one of them; an engine takes 300 bytes for each of its dimensions.
enum { NODES_MOST = 1 << 19, VALUES_MOST = 1 << 16, PORTS_MOST = 1 << 10, NAME_MOST = 1 << 16, PORT_NBYTES_MOST = 1 << 17 };

// The next field; false at the end. A broken one sets r->bad.
static bool next(struct wire *w, struct wire_field *f, struct reading *r)
{
	if (r->bad)
		return false;
	const enum wire_got got = wire_next_of(w, f, &r->fields);
	r->bad = got == WIRE_DAMAGED || got == WIRE_MANY;
	return got == WIRE_FIELD;
}

static enum status unreadable(const struct reading *r, struct error *err)
{
	if (r->heavy && !r->bad)
		return error_set(err, STATUS_BAD_INPUT, "weights that an engine makes many times larger; no model has such");
	if (r->deep)
		return error_set(err, STATUS_BAD_INPUT,
			"an input or output of more than %d dimensions, or with a name longer than any that is read",
			TENSOR_MAX_RANK);
	if (r->wide && !r->many)
		return error_set(
			err, STATUS_BAD_INPUT, "a graph of more than %d inputs or outputs; no model has so many", PORTS_MOST);
	return r->many ? error_set(err, STATUS_BAD_INPUT, "a graph of more than %d nodes; no model has so many", NODES_MOST)
		       : error_set(err, STATUS_BAD_INPUT, "not a readable ONNX file");
}

static const char *string(struct arena *a, struct wire w)
{
	return arena_strndup(a, (const char *)w.at, (size_t)(w.end - w.at));
}

static void read_shape(struct tensor_type *t, struct arena *a, struct wire w, struct reading *r)
{
	struct wire_field f, g;

	while (next(&w, &f, r)) {
		int64_t dim = -1;
		const char *symbol = NULL;

		if (f.number != 1 || f.kind != 2)
			continue;
		while (next(&f.bytes, &g, r)) {
			if (g.number == 1 && g.kind == 0)
				dim = (int64_t)g.varint;
			if (g.number == 2 && g.kind == 2)
				symbol = string(a, g.bytes);
		}
		if (t->rank == TENSOR_MAX_RANK) {
			r->bad = r->deep = true;
		} else {
			t->symbol[t->rank] = symbol;
			t->dim[t->rank++] = dim < 0 ? -1 : dim;
		}
	}
}

static void read_value(struct tensor_type *t, struct arena *a, struct wire w, struct reading *r)
{
	struct wire_field f, g, h;

	t->name = "";
	while (next(&w, &f, r)) {
		if (f.number == 1 && f.kind == 2)
			t->name = string(a, f.bytes);
		if (f.number != 2 || f.kind != 2)
			continue;
		while (next(&f.bytes, &g, r)) {
			if (g.number != 1 || g.kind != 2)
				continue;
			while (next(&g.bytes, &h, r)) {
				if (h.number == 1 && h.kind == 0)
					t->dtype = dtype_of_onnx((int)h.varint);
				if (h.number == 2 && h.kind == 2)
					read_shape(t, a, h.bytes, r);
			}
		}
	}
}

// Makes of a message its first field of this number that has bytes; false when it has none.
static bool field_of(struct wire *w, unsigned number, struct reading *r)
{
	struct wire_field f;

	while (next(w, &f, r))
		if (f.number == number && f.kind == 2) {
			*w = f.bytes;
			return true;
		}
	return false;
}

static const char *text_field(struct arena *a, struct wire w, unsigned number, struct reading *r)
{
	if (!field_of(&w, number, r))
		return "";
	r->bad = r->bad || w.end - w.at > NAME_MOST;
	return r->bad ? "" : string(a, w);
}

// ---- names --------------------------------------------------------------------------------------------------------------

// What is known of the values of a graph by their names. dtype: outline_types. input, rows, axis_rows: outline_tables. node:
// find_live.
struct known {
	const uint8_t *name;
	size_t length;
	enum dtype dtype;
	size_t input;   // the input whose numbers these are, counted from 1; 0: of none
	int64_t dim[2]; // of a table: its first two dimensions; 0: no table
	size_t node;    // the node that gives it, counted from 1; 0: none
};
// Open addressing, by a hash with a secret. A file that has more names than any model's loses what is known of the last ones.
struct names {
	struct known *slots;
	size_t mask, count;
	struct known lost;
};
enum { NAMES_MOST = 1 << 20 };

static void names_init(struct names *t, struct arena *a, size_t count)
{
	for (t->mask = 63; t->mask < 2 * count && t->mask < NAMES_MOST; t->mask = 2 * t->mask + 1)
		;
	t->slots = ARENA_ARRAY(a, t->mask + 1, struct known);
}

// The place of a name, which is added where it is new; without `add` NULL then.
static struct known *look(struct names *t, struct wire name, bool add)
{
	size_t length = (size_t)(name.end - name.at);
	size_t i = table_place_of(table_hash(TABLE_HASH_START, (const char *)name.at, length)) & t->mask;
	struct known *k = &t->slots[i];

	for (; k->name; k = &t->slots[i = (i + 1) & t->mask])
		if (k->length == length && !memcmp(k->name, name.at, length))
			return k;
	if (!add)
		return NULL;
	if (t->count > t->mask / 4 * 3) {
		t->lost = (struct known){ 0 };
		return &t->lost;
	}
	t->count++;
	k->name = name.at;
	k->length = length;
	return k;
}

static struct known *slot(struct names *t, struct wire name)
{
	return look(t, name, true);
}

static struct wire wire_of(const char *text)
{
	return (struct wire){ (const uint8_t *)text, (const uint8_t *)text + strlen(text) };
}

static void read_graph(struct outline *o, struct arena *a, struct wire graph, struct reading *r)
{
	size_t count[16] = { 0 }, inputs = 0;
	struct names names = { 0 };
	struct wire w = graph;
	struct wire_field f;

	while (next(&w, &f, r))
		if (f.number < 16 && f.kind == 2)
			count[f.number]++;
	r->many = !r->bad && count[1] > NODES_MOST;
	r->bad = r->bad || r->many || count[11] > VALUES_MOST || count[12] > VALUES_MOST;
	if (r->bad)
		return;
	o->nodes = ARENA_ARRAY(a, count[1] + 1, struct outline_node);
	o->inputs = ARENA_ARRAY(a, count[11] + 1, struct tensor_type);
	o->outputs = ARENA_ARRAY(a, count[12] + 1, struct tensor_type);
	names_init(&names, a, count[11]);
	w = graph;
	while (next(&w, &f, r)) {
		if (f.kind != 2)
			continue;
		if (f.number == 1)
			o->nodes[o->node_count++] =
				(struct outline_node){ text_field(a, f.bytes, 3, r), text_field(a, f.bytes, 4, r) };
		else if (f.number == 11)
			read_value(&o->inputs[inputs++], a, f.bytes, r);
		else if (f.number == 12)
			read_value(&o->outputs[o->output_count++], a, f.bytes, r);
	}
	for (size_t i = 0; i < inputs; i++)
		slot(&names, wire_of(o->inputs[i].name));
	for (w = graph; inputs && next(&w, &f, r);) { // before IR 4 every initializer was an input too
		struct wire name = f.bytes;
		struct known *k = NULL;

		if (f.number == 5 && f.kind == 2 && field_of(&name, 8, r))
			k = look(&names, name, false);
		if (k)
			k->input = 1;
	}
	for (size_t i = 0; i < inputs; i++)
		if (!slot(&names, wire_of(o->inputs[i].name))->input)
			o->inputs[o->input_count++] = o->inputs[i];
	r->wide = !r->bad && (o->input_count > PORTS_MOST || o->output_count > PORTS_MOST);
	r->bad = r->bad || r->wide;
}

enum status outline_read(struct outline *out, struct arena *a, const void *onnx, size_t nbytes, struct error *err)
{
	struct wire w = { onnx, (const uint8_t *)onnx + nbytes };
	struct outline o = { 0 };
	struct reading r = { .bad = nbytes == 0 };
	bool found = false;
	struct wire_field f;

	while (next(&w, &f, &r)) {
		if (f.number != 7 || f.kind != 2 || found)
			continue;
		found = true;
		read_graph(&o, a, f.bytes, &r);
	}
	if (r.bad || !found)
		return unreadable(&r, err);
	*out = o;
	return STATUS_OK;
}

// ---- constants --------------------------------------------------------------------------------------------------------

static bool is_kept(struct wire op)
{
	static const char *const words[] = { "Random", "Multinomial", "Bernoulli", "QuantizeLinear", "DequantizeLinear",
		"DynamicQuantizeLinear" };
	const size_t n = (size_t)(op.end - op.at);

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t length = strlen(words[i]);

		if (n >= length && !memcmp(op.at, words[i], length))
			return true;
	}
	return false;
}

static bool has_branches(struct wire attribute, struct reading *r)
{
	struct wire_field f;
	bool found = false;

	while (next(&attribute, &f, r))
		found |= f.number == 6 || f.number == 11;
	return found;
}

// Nodes stand after those that give their inputs; one that does not is taken for no constant.
static bool is_constant(struct names *names, struct wire node, struct reading *r)
{
	const struct known *k;
	bool constant = true;
	struct wire_field f;

	for (struct wire w = node; next(&w, &f, r);) {
		if (f.kind != 2)
			continue;
		if (f.number == 1 && f.bytes.at < f.bytes.end)
			constant = constant && (k = look(names, f.bytes, false)) != NULL && !k->input;
		else if (f.number == 4)
			constant = constant && !is_kept(f.bytes);
		else if (f.number == 5)
			constant = constant && !has_branches(f.bytes, r);
	}
	for (struct wire w = node; constant && next(&w, &f, r);)
		if (f.number == 2 && f.kind == 2)
			slot(names, f.bytes);
	return constant;
}

void outline_constant(bool *out, size_t count, struct arena *a, const void *onnx, size_t nbytes)
{
	struct wire graph = { onnx, (const uint8_t *)onnx + nbytes };
	struct reading r = { .bad = nbytes == 0 };
	struct names names = { 0 };
	struct wire_field f;
	size_t known = 0, at = 0;

	memset(out, 0, count * sizeof *out);
	if (!field_of(&graph, 7, &r))
		return;
	for (struct wire w = graph; next(&w, &f, &r);)
		known += f.number == 5 || f.number == 11;
	names_init(&names, a, known + 2 * count);
	for (struct wire w = graph; next(&w, &f, &r);) { // a weight that is an input, too, may be another one in each run
		struct wire name = f.bytes;

		if (f.number == 11 && f.kind == 2 && field_of(&name, 1, &r))
			slot(&names, name)->input = 1;
	}
	for (struct wire w = graph; next(&w, &f, &r);) {
		struct wire name = f.bytes;

		if (f.number == 5 && f.kind == 2 && field_of(&name, 8, &r))
			slot(&names, name);
	}
	for (struct wire w = graph; next(&w, &f, &r) && at < count;)
		if (f.number == 1 && f.kind == 2)
			out[at++] = is_constant(&names, f.bytes, &r);
	if (r.bad)
		memset(out, 0, count * sizeof *out);
}

// ---- types ----------------------------------------------------------------------------------------------------------

static bool is(struct wire w, const char *words)
{
	size_t length = (size_t)(w.end - w.at);

	for (const char *at = words; length && *at;) {
		size_t n = strcspn(at, " ");

		if (n == length && !memcmp(at, w.at, n))
			return true;
		at += n + (at[n] == ' ');
	}
	return false;
}

static void tensor_fields(struct wire tensor, struct wire *name, enum dtype *dtype, struct reading *r)
{
	struct wire_field f;

	while (next(&tensor, &f, r)) {
		if (f.number == 2 && f.kind == 0)
			*dtype = dtype_of_onnx((int)f.varint);
		if (f.number == 8 && f.kind == 2)
			*name = f.bytes;
	}
}

// What an operator gives where that is not the type of what it takes.
static enum dtype gives(struct wire op, enum dtype first, enum dtype second, enum dtype named)
{
	if (is(op, "Shape Size ArgMax ArgMin NonZero"))
		return DTYPE_I64;
	if (is(op, "If Loop")) // what their branches and bodies give
		return DTYPE_NONE;
	if (is(op, "Equal Less LessOrEqual Greater GreaterOrEqual And Or Xor Not IsNaN IsInf"))
		return DTYPE_BOOL;
	if (is(op, "Cast ConstantOfShape Constant RandomNormal EyeLike OneHot"))
		return named ? named : is(op, "ConstantOfShape") ? DTYPE_F32 : DTYPE_NONE;
	return is(op, "Where CastLike DequantizeLinear") ? second : first;
}

static const char moves[] = "Constant Identity Reshape Flatten Squeeze Unsqueeze Transpose Slice Split Concat Expand Tile Gather "
			    "GatherElements GatherND DepthToSpace SpaceToDepth Shape Size";

static bool is_half(enum dtype t)
{
	return t == DTYPE_F16 || t == DTYPE_BF16;
}

static enum dtype half_of(struct wire op, enum dtype first, enum dtype second, enum dtype out)
{
	if (is(op, moves))
		return DTYPE_NONE;
	return is_half(out)               ? out
		: is(op, "Cast CastLike") ? DTYPE_NONE
		: is_half(first)          ? first
		: is_half(second)         ? second
					  : DTYPE_NONE;
}

static void type_node(struct names *t, struct outline_node *n, struct wire node, struct reading *r)
{
	struct wire w = node, op = { 0 }, name = { 0 };
	enum dtype in[2] = { DTYPE_NONE, DTYPE_NONE }, named = DTYPE_NONE, out;
	struct wire_field f, g;
	size_t inputs = 0;

	while (next(&w, &f, r)) {
		if (f.number == 4 && f.kind == 2)
			op = f.bytes;
		if (f.number == 1 && f.kind == 2) {
			if (inputs < 2 && f.bytes.at < f.bytes.end)
				in[inputs] = slot(t, f.bytes)->dtype;
			inputs++;
		}
		if (f.number != 5 || f.kind != 2)
			continue;
		for (struct wire a = f.bytes; next(&a, &g, r);) {
			if (g.number == 1 && g.kind == 2)
				name = g.bytes;
			if (g.number == 3 && g.kind == 0 && is(name, "to dtype"))
				named = dtype_of_onnx((int)g.varint);
			if (g.number == 5 && g.kind == 2 && is(name, "value"))
				tensor_fields(g.bytes, &(struct wire){ 0 }, &named, r);
		}
	}
	n->dtype = in[0];
	out = gives(op, in[0], in[1], named);
	n->half = half_of(op, in[0], in[1], out);
	w = node;
	for (size_t outputs = 0; next(&w, &f, r);)
		if (f.number == 2 && f.kind == 2 && f.bytes.at < f.bytes.end)
			slot(t, f.bytes)->dtype =
				outputs++ && is(op, "TopK MaxPool Dropout LayerNormalization") ? DTYPE_NONE : out;
}

enum { GRAPHS_DEEP = 8 }; // branches within branches that are looked into

// An upper bound of the names in a graph and, above GRAPHS_DEEP, its branches.
static size_t count_names(struct wire graph, int depth, struct reading *r)
{
	struct wire_field f, g, h;
	size_t names = 0;

	while (next(&graph, &f, r)) {
		names++;
		for (struct wire node = f.bytes; f.number == 1 && f.kind == 2 && next(&node, &g, r);) {
			names++;
			for (struct wire at = g.bytes; depth < GRAPHS_DEEP && g.number == 5 && g.kind == 2 && next(&at, &h, r);)
				if (h.number == 6 && h.kind == 2)
					names += count_names(h.bytes, depth + 1, r);
		}
	}
	return names;
}

void outline_types(struct outline *o, struct arena *a, const void *onnx, size_t nbytes)
{
	struct wire w = { onnx, (const uint8_t *)onnx + nbytes }, graph = { 0 }, at;
	size_t node = 0;
	struct names t = { 0 };
	struct reading r = { 0 };
	struct wire_field f;

	while (next(&w, &f, &r))
		if (f.number == 7 && f.kind == 2 && !graph.at)
			graph = f.bytes;
	names_init(&t, a, count_names(graph, GRAPHS_DEEP, &r));
	for (size_t i = 0; i < o->input_count; i++)
		slot(&t, wire_of(o->inputs[i].name))->dtype = o->inputs[i].dtype;
	at = graph;
	while (next(&at, &f, &r)) {
		struct wire name = { 0 };
		enum dtype dtype = DTYPE_NONE;

		if (f.number != 5 || f.kind != 2)
			continue;
		tensor_fields(f.bytes, &name, &dtype, &r);
		if (name.at)
			slot(&t, name)->dtype = dtype;
	}
	at = graph;
	while (next(&at, &f, &r))
		if (f.number == 1 && f.kind == 2 && node < o->node_count)
			type_node(&t, &o->nodes[node++], f.bytes, &r);
}

// ---- arithmetic ---------------------------------------------------------------------------------------------------------

static const char of_weights[] = "DequantizeLinear MatMulNBits MatMulBnb4 MatMulFpQ4 GatherBlockQuantized QMoE";
static const char of_scales[] =
	"QuantizeLinear QLinearMatMul QLinearConv QLinearAdd QLinearMul QLinearSoftmax QLinearSigmoid QLinearLeakyRelu"
	" QLinearAveragePool QLinearGlobalAveragePool QLinearConcat QLinearReduceMean QLinearWhere QGemm QOrderedMatMul "
	"QOrderedAttention";
static const char of_run[] = "DynamicQuantizeLinear DynamicQuantizeMatMul DynamicQuantizeLSTM MatMulInteger MatMulInteger16 "
			     "MatMulIntegerToFloat ConvInteger"
			     " QAttention QEmbedLayerNormalization";

static const char of_chance[] = "RandomNormal RandomNormalLike RandomUniform RandomUniformLike Multinomial Bernoulli";

static void take_operator(struct outline_arithmetic *out, struct arena *a, struct wire op)
{
	unsigned of = is(op, of_run) ? OUTLINE_DYNAMIC
		: is(op, of_scales)  ? OUTLINE_STATIC
		: is(op, of_weights) ? OUTLINE_WEIGHTS
				     : 0;

	out->of |= of;
	if (of && !out->quantised)
		out->quantised = string(a, op);
	if (is(op, of_chance) && !out->draws)
		out->draws = string(a, op);
}

static void take_half(struct outline_arithmetic *out, enum dtype t)
{
	out->of |= t == DTYPE_F16 ? OUTLINE_F16 : t == DTYPE_BF16 ? OUTLINE_BF16 : 0;
}

static void take_nodes(
	struct outline_arithmetic *out, struct arena *a, struct wire graph, unsigned nodes, int depth, struct reading *r);

// Of what is inside branches and functions the types are not followed: a tensor in 16 bits, or a cast to them, is taken for
// arithmetic.
static void take_node(struct outline_arithmetic *out, struct arena *a, struct wire node, int depth, struct reading *r)
{
	enum dtype named = DTYPE_NONE;
	struct wire_field f, g;

	while (next(&node, &f, r)) {
		struct wire name = { 0 };

		if (f.number == 4 && f.kind == 2)
			take_operator(out, a, f.bytes);
		if (f.number != 5 || f.kind != 2)
			continue;
		while (next(&f.bytes, &g, r)) {
			if (g.number == 1 && g.kind == 2)
				name = g.bytes;
			if (depth > 0 && g.number == 3 && g.kind == 0 && is(name, "to dtype"))
				take_half(out, dtype_of_onnx((int)g.varint));
			if (depth > 0 && g.number == 5 && g.kind == 2)
				tensor_fields(g.bytes, &(struct wire){ 0 }, &named, r);
			if ((g.number == 6 || g.number == 11) && g.kind == 2 && depth < GRAPHS_DEEP)
				take_nodes(out, a, g.bytes, 1, depth + 1, r);
		}
	}
	take_half(out, named);
}

// `nodes`: the number of the field that holds them, 1 of a GraphProto, 7 of a FunctionProto.
static void take_nodes(
	struct outline_arithmetic *out, struct arena *a, struct wire graph, unsigned nodes, int depth, struct reading *r)
{
	struct wire_field f;

	while (next(&graph, &f, r)) {
		enum dtype dtype = DTYPE_NONE;

		if (f.kind != 2)
			continue;
		if (f.number == nodes)
			take_node(out, a, f.bytes, depth, r);
		else if (depth > 0 && nodes == 1 && f.number == 5)
			tensor_fields(f.bytes, &(struct wire){ 0 }, &dtype, r);
		take_half(out, dtype);
	}
}

// Which nodes lead to an output: from the outputs back to what gives them, each node once, so that the order in the file does not
// matter. Whatever a branch names counts as read.
struct live {
	struct wire *node;
	bool *is;
	size_t count;
	size_t *open, open_count; // nodes that lead to an output and are not yet looked into
	struct names values, functions;
	bool calls; // one of them calls a function of the model
	bool all;   // it cannot be told: all of them do
	struct reading reading;
};

static void reach(struct live *l, struct wire name)
{
	const struct known *k = name.at < name.end ? look(&l->values, name, false) : NULL;

	if (!k || !k->node || l->is[k->node - 1])
		return;
	l->is[k->node - 1] = true;
	l->open[l->open_count++] = k->node - 1;
}

static void reach_graph(struct live *l, struct wire graph, int depth);

static void reach_inputs(struct live *l, struct wire node, int depth)
{
	struct wire_field f, g;

	while (next(&node, &f, &l->reading)) {
		if (f.number == 1 && f.kind == 2)
			reach(l, f.bytes);
		if (f.number == 4 && f.kind == 2)
			l->calls = l->calls || (f.bytes.at < f.bytes.end && look(&l->functions, f.bytes, false));
		while (f.number == 5 && f.kind == 2 && next(&f.bytes, &g, &l->reading))
			if ((g.number == 6 || g.number == 11) && g.kind == 2)
				reach_graph(l, g.bytes, depth + 1);
	}
}

static void reach_graph(struct live *l, struct wire graph, int depth)
{
	struct wire_field f;

	l->all = l->all || depth > GRAPHS_DEEP;
	while (!l->all && next(&graph, &f, &l->reading)) {
		if (f.number == 1 && f.kind == 2)
			reach_inputs(l, f.bytes, depth);
		if (f.number == 12 && f.kind == 2 && field_of(&f.bytes, 1, &l->reading))
			reach(l, f.bytes);
	}
}

// The nodes of a graph and the values that they give. Two nodes that give one value: broken.
static void take_values(struct live *l, struct wire graph)
{
	struct wire_field f, g;
	size_t i = 0;

	while (next(&graph, &f, &l->reading)) {
		if (f.number != 1 || f.kind != 2 || i == l->count)
			continue;
		l->node[i++] = f.bytes;
		while (next(&f.bytes, &g, &l->reading)) {
			struct known *k =
				g.number == 2 && g.kind == 2 && g.bytes.at < g.bytes.end ? slot(&l->values, g.bytes) : NULL;

			l->all = l->all || (k && (k->node || k == &l->values.lost));
			if (k)
				k->node = i;
		}
	}
}

static void find_live(struct live *l, const struct outline *o, struct arena *a, struct wire model)
{
	size_t names = 0, functions = 0, graphs = 0;
	struct wire w = model, graph = { 0 };
	struct wire_field f, g;

	while (next(&w, &f, &l->reading)) {
		functions += f.number == 25 && f.kind == 2;
		if (f.number == 7 && f.kind == 2 && !graphs++)
			graph = f.bytes;
	}
	for (w = graph; next(&w, &f, &l->reading);)
		if (f.number == 1 && f.kind == 2)
			for (struct wire node = f.bytes; next(&node, &g, &l->reading);)
				names += g.number == 2;
	l->count = o->node_count;
	l->node = ARENA_ARRAY(a, l->count + 1, struct wire);
	l->is = ARENA_ARRAY(a, l->count + 1, bool);
	l->open = ARENA_ARRAY(a, l->count + 1, size_t);
	names_init(&l->values, a, names);
	names_init(&l->functions, a, functions);
	for (w = model; functions && next(&w, &f, &l->reading);)
		if (f.number == 25 && f.kind == 2 && field_of(&f.bytes, 1, &l->reading))
			l->all = slot(&l->functions, f.bytes) == &l->functions.lost || l->all;
	take_values(l, graph);
	l->all = l->all || graphs != 1 || o->output_count == 0;
	for (size_t i = 0; i < o->output_count; i++)
		reach(l, wire_of(o->outputs[i].name));
	while (l->open_count && !l->all)
		reach_inputs(l, l->node[l->open[--l->open_count]], 0);
	l->all = l->all || l->reading.bad;
	l->calls = l->calls || l->all;
}

void outline_arithmetic(struct outline_arithmetic *out, struct outline *o, struct arena *a, const void *onnx, size_t nbytes)
{
	struct wire w = { onnx, (const uint8_t *)onnx + nbytes };
	struct reading r = { 0 };
	struct live live = { 0 };
	struct wire_field f;

	*out = (struct outline_arithmetic){ 0 };
	outline_types(o, a, onnx, nbytes);
	find_live(&live, o, a, w);
	for (size_t i = 0; i < o->node_count; i++) {
		if (!live.is[i] && !live.all)
			continue;
		if (!live.all)
			take_node(out, a, live.node[i], 0, &r);
		take_half(out, o->nodes[i].half);
		out->f32 = out->f32 ||
			(o->nodes[i].dtype == DTYPE_F32 && !is(wire_of(o->nodes[i].op), moves) &&
				!is(wire_of(o->nodes[i].op), "Cast CastLike"));
	}
	for (size_t i = 0; i < o->output_count; i++)
		take_half(out, o->outputs[i].dtype);
	while (next(&w, &f, &r)) {
		if (f.number == 7 && f.kind == 2 && live.all)
			take_nodes(out, a, f.bytes, 1, 0, &r);
		if (f.number == 25 && f.kind == 2 && live.calls) // ModelProto.functions
			take_nodes(out, a, f.bytes, 7, 1, &r);
	}
}

// ---- weights ------------------------------------------------------------------------------------------------------------

enum { DTYPE_ONNX_U4 = 21, DTYPE_ONNX_I4 = 22, BRANCHES_NBYTES_MOST = 1 << 29, SPARSE_MOST = 1 << 26 };

struct weigher {
	uint64_t of[DTYPE_COUNT];
	size_t nodes;
	size_t inputs, initializers, outputs; // of the graph itself
	uint64_t again;                       // bytes of weights within branches, for each graph around the first around them
	uint64_t whole;                       // elements of sparse weights when they are whole
};

// Saturates: a file may claim any shape.
static uint64_t times(uint64_t x, uint64_t y)
{
	uint64_t out;

	return __builtin_mul_overflow(x, y, &out) ? UINT64_MAX : out;
}

static uint64_t plus(uint64_t x, uint64_t y)
{
	return x + y < y ? UINT64_MAX : x + y;
}

static void multiply(uint64_t *count, struct wire_field *f)
{
	uint64_t dim = 1;

	if (f->kind == 0)
		*count = times(*count, f->varint);
	while (f->kind == 2 && f->bytes.at < f->bytes.end && wire_varint(&f->bytes, &dim))
		*count = times(*count, dim);
}

// `dims`: the number of that field, 3 of a sparse one, which an engine makes whole, whatever its file has.
static void weigh_tensor(struct weigher *w, struct wire tensor, unsigned dims, int depth, struct reading *r)
{
	uint64_t count = 1, raw = 0, nbytes;
	int onnx = 0;
	struct wire_field f;

	while (next(&tensor, &f, r)) {
		if (f.number == dims)
			multiply(&count, &f);
		if (f.number == 2 && f.kind == 0)
			onnx = (int)f.varint;
		if (f.number == 9 && f.kind == 2)
			raw = (uint64_t)(f.bytes.end - f.bytes.at);
	}
	enum dtype t = dtype_of_onnx(onnx);
	bool is_half_byte = onnx == DTYPE_ONNX_U4 || onnx == DTYPE_ONNX_I4;
	nbytes = raw > 0 ? raw : is_half_byte ? count / 2 + count % 2 : times(count, dtype_size(t));
	w->of[t] = plus(w->of[t], nbytes);
	w->whole = plus(w->whole, dims == 3 ? count : 0);
	w->again = plus(w->again, depth > 1 ? times(raw, (uint64_t)depth - 1) : 0);
}

static void weigh_graph(struct weigher *w, struct wire graph, int depth, struct reading *r);

static void weigh_node(struct weigher *w, struct wire node, int depth, struct reading *r)
{
	enum { WEIGHED_DEEP = 32 };
	struct wire_field f, g;
	size_t ports = 0;

	while (next(&node, &f, r)) {
		ports += f.number == 1 || f.number == 2;
		if (f.number != 5 || f.kind != 2)
			continue;
		while (next(&f.bytes, &g, r)) {
			if (g.number == 5 && g.kind == 2)
				weigh_tensor(w, g.bytes, 1, depth, r);
			if ((g.number == 22 || g.number == 23) && g.kind == 2)
				weigh_tensor(w, g.bytes, 3, depth, r);
			if ((g.number == 6 || g.number == 11) && g.kind == 2 && depth < WEIGHED_DEEP)
				weigh_graph(w, g.bytes, depth + 1, r);
			else if ((g.number == 6 || g.number == 11) && g.kind == 2)
				w->nodes += NODES_MOST; // no model has so many graphs around one
		}
	}
	w->nodes += ports > PORTS_MOST ? ports - PORTS_MOST : 0; // as much as a node, each
}

static void weigh_graph(struct weigher *w, struct wire graph, int depth, struct reading *r)
{
	struct wire_field f;

	while (next(&graph, &f, r)) {
		w->inputs += depth == 0 && f.number == 11;
		w->initializers += depth == 0 && f.number == 5;
		w->outputs += depth == 0 && f.number == 12;
		r->deep |= (f.number == 11 || f.number == 12) && f.kind == 2 && f.bytes.end - f.bytes.at > PORT_NBYTES_MOST;
		if (f.number == 5 && f.kind == 2) {
			w->nodes += (uint64_t)depth; // engines keep a branch in each graph around it
			weigh_tensor(w, f.bytes, 1, depth, r);
		}
		if (f.number == 15 && f.kind == 2)
			weigh_tensor(w, f.bytes, 3, depth, r);
		if (f.number == 1 && f.kind == 2) {
			w->nodes += (uint64_t)depth + 1;
			weigh_node(w, f.bytes, depth, r);
		}
	}
}

// The number of layers in an entry of the model's metadata; 0: it is another entry.
static int64_t layers_of(struct wire entry, struct reading *r)
{
	enum { DIGITS_MOST = 9 };
	struct wire key = { 0 }, number = { 0 };
	struct wire_field f;
	int64_t n = 0;

	while (next(&entry, &f, r)) {
		if (f.number == 1 && f.kind == 2)
			key = f.bytes;
		if (f.number == 2 && f.kind == 2)
			number = f.bytes;
	}
	if (!is(key, "assay.layers") || number.end - number.at > DIGITS_MOST)
		return 0;
	for (; number.at < number.end; number.at++) {
		if (*number.at < '0' || *number.at > '9')
			return 0;
		n = 10 * n + (*number.at - '0');
	}
	return n;
}

enum status outline_weights(struct outline_weights *out, const void *onnx, size_t nbytes, struct error *err)
{
	struct wire w = { onnx, (const uint8_t *)onnx + nbytes };
	struct weigher weigher = { 0 };
	struct reading r = { .bad = nbytes == 0 };
	struct wire_field f;

	*out = (struct outline_weights){ 0 };
	while (next(&w, &f, &r))
		if (f.number == 7 && f.kind == 2)
			weigh_graph(&weigher, f.bytes, 0, &r);
		else if (f.number == 14 && f.kind == 2 && out->layers == 0)
			out->layers = layers_of(f.bytes, &r);
	r.many = !r.bad && weigher.nodes > NODES_MOST;
	r.heavy = weigher.whole > SPARSE_MOST || weigher.again > BRANCHES_NBYTES_MOST;
	r.wide = weigher.inputs > weigher.initializers + PORTS_MOST || weigher.outputs > PORTS_MOST;
	if (r.bad || r.many || r.wide || r.deep || r.heavy)
		return unreadable(&r, err);
	for (int t = 0; t < DTYPE_COUNT; t++) {
		out->nbytes = plus(out->nbytes, weigher.of[t]);
		if (weigher.of[t] > weigher.of[out->dtype])
			out->dtype = (enum dtype)t;
	}
	return STATUS_OK;
}

// ---- tables -------------------------------------------------------------------------------------------------------------

static const char arranges[] =
	"Cast CastLike Identity Reshape Flatten Squeeze Unsqueeze Transpose Slice Expand Tile Split Concat Clip Where Dropout";
static const char keeps_rows[] = "Cast CastLike Identity Dropout DequantizeLinear QuantizeLinear";

struct tables {
	struct names names;
	int64_t *rows;
	struct reading reading;
};

// The first two dimensions of a TensorProto; the others are looked over. Packed or one by one: both are allowed.
static void read_table(struct tables *t, struct wire tensor, struct wire name)
{
	int64_t dim[2] = { 0 };
	size_t rank = 0;
	uint64_t n;
	struct wire_field f;

	while (next(&tensor, &f, &t->reading)) {
		if (f.number == 8 && f.kind == 2)
			name = f.bytes;
		if (f.number == 1 && f.kind == 0) {
			if (rank < 2)
				dim[rank] = (int64_t)f.varint;
			rank++;
		}
		for (struct wire packed = f.bytes; f.number == 1 && f.kind == 2 && wire_varint(&packed, &n); rank++)
			if (rank < 2)
				dim[rank] = (int64_t)n;
	}
	if (name.at < name.end && rank)
		memcpy(slot(&t->names, name)->dim, dim, sizeof dim);
}

static void indexes(struct tables *t, const struct known *ids, const struct known *table, int64_t axis)
{
	int64_t rows = axis == 0 || axis == 1 ? table->dim[axis] : 0;

	if (ids->input && rows > 0 && (!t->rows[ids->input - 1] || rows < t->rows[ids->input - 1]))
		t->rows[ids->input - 1] = rows;
}

static void follow_graph(struct tables *t, struct wire graph, int depth);

// EmbedLayerNormalization: input_ids, segment_ids, tables of words, positions and segments, .., number 8 position_ids.
static void follow_node(struct tables *t, struct wire node, int depth)
{
	enum { INPUTS_MOST = 9 };
	struct known in[INPUTS_MOST] = { 0 }, made = { 0 };
	struct wire w = node, op = { 0 }, name = { 0 }, value = { 0 };
	size_t inputs = 0, origin = 0;
	int64_t axis = 0;
	struct wire_field f, g;

	while (next(&w, &f, &t->reading)) {
		if (f.number == 4 && f.kind == 2)
			op = f.bytes;
		if (f.number == 1 && f.kind == 2) {
			const struct known *k = f.bytes.at < f.bytes.end ? slot(&t->names, f.bytes) : &(const struct known){ 0 };

			origin = origin ? origin : k->input;
			if (inputs < INPUTS_MOST)
				in[inputs++] = *k;
		}
		for (struct wire at = f.bytes; f.number == 5 && f.kind == 2 && next(&at, &g, &t->reading);) {
			if (g.number == 1 && g.kind == 2)
				name = g.bytes;
			if (g.number == 3 && g.kind == 0 && (is(name, "axis") || is(name, "gather_axis")))
				axis = (int64_t)g.varint;
			if (g.number == 5 && g.kind == 2 && is(name, "value"))
				value = g.bytes;
			if (g.number == 6 && g.kind == 2 && depth < GRAPHS_DEEP)
				follow_graph(t, g.bytes, depth + 1);
		}
	}
	if (is(op, "Gather GatherElements GatherBlockQuantized"))
		indexes(t, &in[1], &in[0], axis);
	if (is(op, "EmbedLayerNormalization")) {
		indexes(t, &in[0], &in[2], 0);
		indexes(t, &in[1], &in[4], 0);
		indexes(t, &in[8], &in[3], 0);
	}
	if (is(op, arranges))
		made.input = origin;
	if (is(op, keeps_rows))
		memcpy(made.dim, in[0].dim, sizeof made.dim);
	for (w = node; next(&w, &f, &t->reading);) {
		if (f.number != 2 || f.kind != 2 || f.bytes.at >= f.bytes.end)
			continue;
		if (value.at && is(op, "Constant")) {
			read_table(t, value, f.bytes);
			continue;
		}
		struct known *k = slot(&t->names, f.bytes);
		k->input = made.input;
		memcpy(k->dim, made.dim, sizeof made.dim);
	}
}

static void follow_graph(struct tables *t, struct wire graph, int depth)
{
	struct wire at = graph;
	struct wire_field f;

	while (next(&at, &f, &t->reading)) // weights may stand after the nodes that read them
		if (f.number == 5 && f.kind == 2)
			read_table(t, f.bytes, (struct wire){ 0 });
	for (at = graph; next(&at, &f, &t->reading);)
		if (f.number == 1 && f.kind == 2)
			follow_node(t, f.bytes, depth);
}

void outline_tables(const struct outline *o, const void *onnx, size_t nbytes, int64_t *rows)
{
	struct wire w = { onnx, (const uint8_t *)onnx + nbytes }, graph = { 0 };
	struct tables t = { .rows = rows };
	struct arena a = { 0 };
	struct wire_field f;

	memset(rows, 0, o->input_count * sizeof *rows);
	while (next(&w, &f, &t.reading))
		if (f.number == 7 && f.kind == 2 && !graph.at)
			graph = f.bytes;
	names_init(&t.names, &a, o->input_count + count_names(graph, 0, &t.reading));
	for (size_t i = 0; i < o->input_count; i++)
		slot(&t.names, wire_of(o->inputs[i].name))->input = i + 1;
	follow_graph(&t, graph, 0);
	arena_done(&a);
}
