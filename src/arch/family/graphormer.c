// SPDX-License-Identifier: Apache-2.0
// Graphormer (Ying et al. 2021, https://arxiv.org/abs/2106.05234): nodes of a graph are tokens, with one more that stands for the
// whole. How many edges a node has is added to it; how far two nodes are apart, and the edges on the way, are a bias of their
// scores. attn_bias, which says what may not be seen, is added twice.
//
//   nodes + edges in + edges out -> [graph, nodes] (- norm) -> layers - linear - act - norm -> head
#include <float.h>
#include <math.h>

#include "arch/block/block.h"

struct graphormer {
	int64_t atoms, edges, distances, in_degrees, out_degrees, spatial, farthest;
	bool hops, norm_first, bias; // hops: edges are those on the way, not of the pair
	double scale;                // of the embedding
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct graphormer *o = s->own = ARENA_NEW(a, struct graphormer);
	resolve_transformer(c, s, true);
	s->norm_eps = 1e-5;
	s->ffn_size = config_size(c, "ffn_embedding_dim", -1);
	s->act = config_activation(c, "activation_fn", ACT_GELU);
	s->labels = config_size(c, "num_classes", 1);
	const char *kind = config_text(c, "edge_type");
	*o = (struct graphormer){ .atoms = config_size(c, "num_atoms", -1),
		.edges = config_size(c, "num_edges", -1),
		.distances = config_size(c, "num_edge_dis", -1),
		.in_degrees = config_size(c, "num_in_degree", -1),
		.out_degrees = config_size(c, "num_out_degree", -1),
		.spatial = config_size(c, "num_spatial", -1),
		.farthest = config_size(c, "multi_hop_max_dist", 5),
		.hops = text_is(kind, "multi_hop"),
		.norm_first = config_bool(c, "pre_layernorm", false),
		.bias = config_bool(c, "bias", true),
		.scale = config_real(c, "embed_scale", 0) };
	s->traits.embedding_norm = config_bool(c, "encoder_normalize_before", false);
	if (config_bool(c, "share_input_output_embed", false) || config_real(c, "q_noise", 0) > 0)
		config_fail(c, STATUS_UNSUPPORTED, "share_input_output_embed or q_noise is not supported yet");
	if (!c->error.status &&
		(s->ffn_size < 1 || s->labels < 1 || o->atoms < 1 || o->edges < 1 || o->distances < 1 || o->spatial < 1 ||
			o->in_degrees < 1 || o->out_degrees < 1))
		config_fail(c, STATUS_BAD_INPUT, "%lld atoms, %lld edges, %lld classes", (long long)o->atoms, (long long)o->edges,
			(long long)s->labels);
}

static graph_value looked_up(struct build *b, const char *stem, graph_value ids, int64_t rows, int64_t width)
{
	return op_gather(b->g, WEIGHT(b, stem, "weight", rows, width), ids, 0);
}

// The edges on the way between two nodes, each by how far along it lies, over how long the way is: [batch, nodes, nodes, heads]
static graph_value edges_between(struct build *b, graph_value far)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct graphormer *o = s->own;
	int64_t n = s->heads, nodes = graph_symbol(g, "nodes"),
		shape[] = { graph_symbol(g, "batch"), nodes, nodes, graph_symbol(g, "hops"), graph_symbol(g, "edge_features") };
	graph_value zero = graph_i64s(g, 1, (int64_t[]){ 0 }), one = graph_i64(g, 1);
	if (!o->hops) {
		shape[3] = shape[4];
		graph_value ids = graph_input(g, "attn_edge_type", DTYPE_I64, 4, shape);
		return op_reduce_mean(g, looked_up(b, "embed.edge", ids, o->edges + 1, n), 3, false);
	}
	graph_value ids = graph_input(g, "input_edges", DTYPE_I64, 5, shape);
	if (o->farthest)
		ids = op_slice(g, ids, 3, 0, o->farthest);
	graph_value x = op_reduce_mean(
		g, looked_up(b, "embed.edge", ids, o->edges + 1, n), 4, false); // [batch, nodes, nodes, hops, heads]
	x = op_reshape(g, op_transpose(g, x, 5, (int[]){ 3, 0, 1, 2, 4 }), 3, (int64_t[]){ 0, -1, n });
	graph_value w =
		op_reshape(g, WEIGHT(b, "embed.edge_distance", "weight", o->distances * n * n, 1), 3, (int64_t[]){ -1, n, n });
	x = op_reduce_sum(g, op_matmul(g, x, op_slice_to(g, w, 0, zero, op_dim(g, x, 0))), 0, false); // [pairs, heads]
	x = op_reshape_to(g, x, op_concat(g, 2, (graph_value[]){ op_shape(g, far), graph_i64s(g, 1, &n) }, 0));
	graph_value length = op_max(g, op_where(g, op_greater(g, far, one), op_sub(g, far, one), far), one);
	if (o->farthest)
		length = op_min(g, length, graph_i64(g, o->farthest));
	return op_div(g, x, op_unsqueeze(g, op_cast(g, length, DTYPE_F32), 3));
}

// What is added to the scores: [batch, heads, 1 + nodes, 1 + nodes]
static graph_value bias_of(struct build *b, graph_value is_padding)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct graphormer *o = s->own;
	int64_t n = s->heads, nodes = graph_symbol(g, "nodes"), more = graph_symbol(g, "nodes+1"),
		batch = graph_symbol(g, "batch");
	graph_value far = graph_input(g, "spatial_pos", DTYPE_I64, 3, (int64_t[]){ batch, nodes, nodes });
	graph_value given = graph_input(g, "attn_bias", DTYPE_F32, 3, (int64_t[]){ batch, more, more });
	graph_value x = op_add(g, looked_up(b, "embed.spatial", far, o->spatial, n), edges_between(b, far));
	x = op_transpose(g, x, 4, (int[]){ 0, 3, 1, 2 });
	// The graph's own token is one distance from all.
	graph_value t = op_reshape(g, WEIGHT(b, "embed.graph_distance", "weight", 1, n), 4, (int64_t[]){ 1, n, 1, 1 }),
		    none = graph_f32(g, 0);
	x = op_concat(g, 2, (graph_value[]){ op_add(g, op_mul(g, op_slice(g, x, 3, 0, 1), none), t), x }, 3);
	x = op_concat(g, 2, (graph_value[]){ op_add(g, op_mul(g, op_slice(g, x, 2, 0, 1), none), t), x }, 2);
	x = op_add(g, x, op_unsqueeze(g, op_scale(g, given, 2), 1));
	return op_where(g, op_unsqueeze(g, op_unsqueeze(g, is_padding, 1), 1), graph_f32(g, -FLT_MAX), x);
}

static graph_value layer(struct build *b, graph_value x, graph_value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct graphormer *o = s->own;
	int64_t h = s->hidden_size;
	graph_value y = o->norm_first ? layer_norm(b, "layers.attn.norm", x, h) : x;
	x = op_add(g, x, self_attention(b, y, bias, NO_VALUE, NO_VALUE, o->bias, o->bias, NULL));
	x = o->norm_first ? x : layer_norm(b, "layers.attn.norm", x, h);
	y = o->norm_first ? layer_norm(b, "layers.ffn.norm", x, h) : x;
	y = activate(b, s->act, linear(b, "layers.ffn.up", y, h, s->ffn_size, true));
	x = op_add(g, x, linear(b, "layers.ffn.down", y, s->ffn_size, h, true));
	return o->norm_first ? x : layer_norm(b, "layers.ffn.norm", x, h);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct graphormer *o = s->own;
	int64_t h = s->hidden_size,
		shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "nodes"), graph_symbol(g, "node_features") };
	graph_value nodes = graph_input(g, "input_nodes", DTYPE_I64, 3, shape),
		    in = graph_input(g, "in_degree", DTYPE_I64, 2, shape),
		    out = graph_input(g, "out_degree", DTYPE_I64, 2, shape), zero = graph_i64(g, 0);
	graph_value x = op_reduce_sum(g, looked_up(b, "embed.atom", nodes, o->atoms + 1, h), 2, false);
	x = op_add(g, x, looked_up(b, "embed.in", in, o->in_degrees, h));
	x = op_add(g, x, looked_up(b, "embed.out", out, o->out_degrees, h));
	graph_value whole = op_unsqueeze(g, WEIGHT(b, "embed.graph", "weight", 1, h), 0);
	whole = op_add(g, op_mul(g, op_slice(g, x, 1, 0, 1), graph_f32(g, 0)), whole);
	x = op_concat(g, 2, (graph_value[]){ whole, x }, 1); // [batch, 1 + nodes, hidden]
	x = o->scale > 0 ? op_scale(g, x, (float)o->scale) : x;
	x = s->traits.embedding_norm ? layer_norm(b, "embed.norm", x, h) : x;
	graph_value padding = op_equal(g, op_squeeze(g, op_slice(g, nodes, 2, 0, 1), 2), zero), first = op_slice(g, in, 1, 0, 1);
	padding =
		op_concat(g, 2, (graph_value[]){ op_not(g, op_equal(g, first, first)), padding }, 1); // the graph's token is none
	graph_value bias = bias_of(b, padding);
	graph_assume(g, bias, 2, value_dim(g, x, 1));
	graph_assume(g, bias, 3, value_dim(g, x, 1));
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, bias);
		graph_leave(g);
	}
	struct body io = { .last = layer_norm(b, "out.norm", activate(b, s->act, linear(b, "out", x, h, h, true)), h) };
	head_build(b, &io);
}

static void classify(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	graph_value x = linear(b, "head.classes", first_token(b, io->last), b->s->hidden_size, b->s->labels, false);
	graph_output(g, "logits", op_add(g, x, WEIGHT(b, "head.bias", "", 1))); // [batch, classes]
}

static const struct family_head heads[] = {
	{ &head_model, head_give_last },
	{ &head_sequence, classify },
	{ 0 },
};

const struct family graphormer = {
	.name = "graphormer",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
