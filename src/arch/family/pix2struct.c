// SPDX-License-Identifier: Apache-2.0
// Pix2Struct (Lee et al. 2022, https://arxiv.org/abs/2210.03347): T5's decoder of a picture in patches, as many as fit, which
// keep the picture's aspect and say themselves where they lie.
//
//   patches [batch, n, 2 + width]: row and column -> two tables -(+)- layers - norm -> states;  ids -> T5's decoder -> logits
//                                  the rest -> linear -----------+
//   layer:  x -+- RMS norm - attention, not scaled -(+)-+- RMS norm - act(gate) * up - down -(+)-
#include "arch/block/seq2seq.h"
#include "arch/family/t5.h"

struct pix2struct {
	int64_t patch_size, places; // numbers of a patch; rows, and columns, that there are positions for
};

// What both halves say of themselves.
static void resolve_sizes(struct config *c, struct spec *half)
{
	half->hidden_size = half->embedding_size = config_size(c, "hidden_size", 768);
	half->layers = half->layers_in_config = config_count(c, "num_hidden_layers", 12);
	half->heads = half->kv_heads = config_size(c, "num_attention_heads", 12);
	half->head_width = config_size(c, "head_dim", 64);
	half->ffn_size = config_size(c, "intermediate_size", 2048);
	half->act = config_activation(c, "dense_act_fn", ACT_GELU_TANH);
	half->norm_eps = config_real(c, "layer_norm_eps", 1e-6);
	half->attention_scale = 1;
	if (half->hidden_size < 1 || half->layers < 1 || half->heads < 1 || half->head_width < 1 || half->ffn_size < 1)
		config_fail(c, STATUS_BAD_INPUT, "a size is 0");
}

static void resolve_decoder(struct config *c, struct spec *half, struct arena *a)
{
	struct t5 *t = half->own = ARENA_NEW(a, struct t5);
	struct config sub;
	config_open_within(&sub, c, "text_config", a);
	resolve_sizes(&sub, half);
	half->vocab_size = config_size(&sub, "vocab_size", 50244);
	half->relative_buckets = config_size(&sub, "relative_attention_num_buckets", 32);
	*t = (struct t5){ .gated = true, .is_decoder = true };
	t->farthest = config_size(&sub, "relative_attention_max_distance", 128);
	if (!config_bool(&sub, "is_decoder", true))
		config_fail(&sub, STATUS_UNSUPPORTED, "is_decoder: false is not supported");
	else if (half->vocab_size < 1 || half->hidden_size != half->heads * half->head_width)
		config_fail(&sub, STATUS_BAD_INPUT, "hidden_size %lld is not num_heads %lld times d_kv %lld",
			(long long)half->hidden_size, (long long)half->heads, (long long)half->head_width);
	config_close_within(&sub, c);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct pix2struct *o = ARENA_NEW(a, struct pix2struct);
	struct config sub;
	s->own = o;
	s->prefix = "";
	struct spec *first = resolve_half(s, a, "encoder", "encoder."), *second = resolve_half(s, a, "decoder", "decoder.");
	resolve_decoder(c, second, a);
	config_open_within(&sub, c, "vision_config", a);
	resolve_sizes(&sub, first);
	o->patch_size = config_size(&sub, "patch_embed_hidden_size", 768);
	o->places = config_size(&sub, "seq_len", 4096);
	if (o->patch_size < 1 || o->places < 1)
		config_fail(&sub, STATUS_BAD_INPUT, "patch_embed_hidden_size or seq_len is 0");
	else if (first->hidden_size != second->hidden_size)
		config_fail(&sub, STATUS_BAD_INPUT, "hidden_size is %lld, and %lld in text_config", (long long)first->hidden_size,
			(long long)second->hidden_size);
	config_close_within(&sub, c);
	s->hidden_size = second->hidden_size;
	s->vocab_size = second->vocab_size;
}

static void inputs(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct pix2struct *o = b->s->own;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence"), 2 + o->patch_size };
	io->features = graph_input(g, "flattened_patches", DTYPE_F32, 3, shape);
	io->mask = graph_input(g, "attention_mask", DTYPE_F32, 2, shape);
}

static graph_value position(struct build *b, const char *stem, graph_value patches, int64_t number)
{
	struct graph *g = b->g;
	const struct pix2struct *o = b->s->own;
	graph_value at = op_squeeze(g, op_slice(g, patches, 2, number, number + 1), 2);
	return embedding(b, stem, op_cast(g, at, DTYPE_I64), o->places, b->s->hidden_size);
}

static void encode(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct pix2struct *o = s->own;
	int64_t h = s->hidden_size;
	graph_value x = linear(b, "patches", op_slice(g, io->features, 2, 2, INT64_MAX), o->patch_size, h, true);
	x = op_add(g, x, position(b, "patches.row", io->features, 0));
	x = op_add(g, x, position(b, "patches.column", io->features, 1));
	graph_value bias = mask_bidirectional(b, op_cast(g, io->mask, DTYPE_I64));
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_value y = rms_norm(b, "source.attn.norm", x, h);
		x = op_add(g, x, attend(b, "source.attn", y, y, bias, NULL, 0));
		y = rms_norm(b, "source.ffn.norm", x, h);
		graph_value gate = activate(b, s->act, linear(b, "source.ffn.gate", y, h, s->ffn_size, false));
		y = op_mul(g, gate, linear(b, "source.ffn.up", y, h, s->ffn_size, false));
		x = op_add(g, x, linear(b, "source.ffn.down", y, s->ffn_size, h, false));
		graph_leave(g);
		states_add(io, x);
	}
	io->last = rms_norm(b, "source.norm", x, h);
}

static void decode(struct build *b, struct body *io)
{
	io->memory_mask = op_cast(b->g, io->memory_mask, DTYPE_I64);
	t5_stack(b, io);
}

static void build(struct build *b)
{
	struct seq2seq f = { .inputs = inputs, .encode = encode, .decode = decode, .float_mask = true };
	seq2seq_build(b, &f);
}

static const struct family_head heads[] = {
	{ &head_conditional, seq2seq_logits },
	{ 0 },
};

const struct family pix2struct = {
	.name = "pix2struct",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.graphs = seq2seq_graphs,
	.heads = heads,
};
