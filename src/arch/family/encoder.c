// SPDX-License-Identifier: Apache-2.0
// BERT and its kin: a bidirectional transformer, normalised after each residual or before each branch (Devlin et al. 2018,
// https://arxiv.org/abs/1810.04805; RoBERTa, https://arxiv.org/abs/1907.11692; ALBERT, https://arxiv.org/abs/1909.11942;
// ELECTRA, https://arxiv.org/abs/2003.10555; MPNet, https://arxiv.org/abs/2004.09297; RoFormer, https://arxiv.org/abs/2104.09864;
// X-MOD, https://arxiv.org/abs/2205.06266; SqueezeBERT, https://arxiv.org/abs/2006.11316). encoder_embed.c has the embeddings.
//
//   ids -> embeddings -> layers (-> norm) (-> project) -> head
//   layer:  x -+- attention -(+)- norm -+- up - act - down -(+)- norm (- adapter)
//              +--------------+         +------------------+
#include <math.h>

#include "arch/block/image.h"
#include "arch/block/seq2seq.h"
#include "arch/family/encoder.h"

enum { Q, K, V, O, UP, DOWN };

// A linear layer, or a convolution over single tokens whose channels lie in groups.
static graph_value mix(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out, int which)
{
	struct graph *g = b->g;
	int64_t groups = ((const struct encoder *)b->s->own)->groups[which], one = 1, pad[] = { 0, 0 };
	int64_t matrices = ((const struct encoder *)b->s->own)->matrix_groups;
	if (which >= UP && matrices > 1)
		return encoder_grouped_linear(b, stem, x, in, out, matrices);
	if (!groups)
		return linear(b, stem, x, in, out, true);
	graph_value w = WEIGHT(b, stem, "weight", out, in / groups, 1);
	graph_value y =
		op_conv(g, op_transpose(g, x, 3, (int[]){ 0, 2, 1 }), w, WEIGHT(b, stem, "bias", out), &one, pad, &one, groups);
	return op_transpose(g, y, 3, (int[]){ 0, 2, 1 });
}

static graph_value attention(struct build *b, const struct body *io, graph_value x, const struct attention_extras *extras)
{
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	int64_t n = s->hidden_size;
	if (e->kernel)
		return encoder_span_attention(b, x, extras->bias);
	if (e->hash_bits)
		return encoder_hashed_attention(b, x, extras->mask);
	if (e->near_blocks)
		return encoder_block_attention(b, x);
	if (e->value_kernel)
		return encoder_convolved_attention(b, x, extras->bias);
	if (e->farthest)
		return encoder_distance_attention(b, x, extras->bias);
	if (e->by_distance)
		return encoder_by_distance(b, x, extras->bias, extras->types);
	if (e->windows)
		return global_attention(b, "layers.attn", x, extras->mask, extras->global, e->windows[b->layer]);
	if (e->joint)
		return encoder_joint_attention(b, x, extras->bias);
	if (extras->between.id)
		return encoder_pair_attention(b, x, extras->bias, extras->between);
	if (e->aware && extras->words.id)
		return encoder_entity_attention(b, x, extras->bias, extras->words);
	if (!e->groups[Q])
		return self_attention_with(b, x, extras, e->qkv_bias, true, io->cache);
	graph_value q = mix(b, "layers.attn.q", x, n, n, Q), k = mix(b, "layers.attn.k", x, n, n, K),
		    v = mix(b, "layers.attn.v", x, n, n, V);
	graph_value y = op_attention(b->g,
		&(struct attention){ q, k, v, .bias = extras->bias, .heads = s->heads, .scale = (float)s->attention_scale });
	return mix(b, "layers.attn.o", y, n, n, O);
}

// cos and sin of 2 pi j k / n for all j and k below n [1]: [n, n] each
static void waves(struct build *b, graph_value n, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	graph_value at = op_range(g, graph_i64(g, 0), op_squeeze(g, n, 0), graph_i64(g, 1));
	graph_value turns = op_mod(g, op_mul(g, op_unsqueeze(g, at, 1), op_unsqueeze(g, at, 0)), n);
	graph_value angle = op_div(g, op_scale(g, op_cast(g, turns, DTYPE_F32), (float)(2 * M_PI)), op_cast(g, n, DTYPE_F32));
	*cos = op_cos(g, angle), *sin = op_sin(g, angle);
}

// The real part of the Fourier transform over tokens and channels (FNet: Lee-Thorp et al. 2021,
// https://arxiv.org/abs/2105.03824): C x C' - S x S', C and S of the tokens, C' and S' of the channels
static graph_value fourier(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	graph_value cos[2], sin[2];
	waves(b, op_dim(g, x, 1), &cos[0], &sin[0]);
	waves(b, op_dim(g, x, 2), &cos[1], &sin[1]);
	graph_value real = op_matmul(g, op_matmul(g, cos[0], x), cos[1]); // [batch, seq, hidden]
	return op_sub(g, real, op_matmul(g, op_matmul(g, sin[0], x), sin[1]));
}

static graph_value feed_forward(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	graph_value y = activate(b, s->act, mix(b, "layers.ffn.up", x, s->hidden_size, s->ffn_size, UP)); // [batch, seq, ffn]
	return mix(b, "layers.ffn.down", y, s->ffn_size, s->hidden_size, DOWN);
}

//   x (- norm) -+- down - act - up -(+)-      of the one language that is spoken here
//               +--------------------+        the residual begins before or after the norm
static graph_value adapter(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	graph_value before = x;
	if (e->adapter_norm)
		x = layer_norm(b, "layers.adapter.norm", x, s->hidden_size);
	else if (e->adapter_reuses_norm)
		x = layer_norm(b, "layers.ffn.norm", x, s->hidden_size);
	if (e->norm_before_adapter)
		before = x;
	x = activate(b, s->act, linear(b, "layers.adapter.down", x, s->hidden_size, e->adapter, true));
	return op_add(b->g, linear(b, "layers.adapter.up", x, e->adapter, s->hidden_size, true), before);
}

static graph_value look_at_memory(struct build *b, const struct body *io, graph_value x)
{
	graph_enter(b->g, "cross");
	graph_value y = attend(b, "layers.cross", x, io->memory, io->memory_bias, io->cross, BIAS_ALL);
	x = layer_norm(b, "layers.cross.norm", op_add(b->g, y, x), b->s->hidden_size);
	graph_leave(b->g);
	return x;
}

static graph_value layer(struct build *b, const struct body *io, graph_value x, const struct attention_extras *extras)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	int64_t n = s->hidden_size;
	graph_enter(g, "attn");
	graph_value y = e->norm_first ? layer_norm(b, "layers.attn.norm", x, n) : x;
	y = TRAITS_OF(s, encoder)->fourier ? fourier(b, y) : attention(b, io, y, extras);
	x = op_add(g, y, x);
	x = e->norm_first ? x : layer_norm(b, "layers.attn.norm", x, n);
	graph_leave(g);
	if (head_reads_memory(s))
		x = look_at_memory(b, io, x);
	graph_enter(g, "ffn");
	y = feed_forward(b, e->norm_first ? layer_norm(b, "layers.ffn.norm", x, n) : x);
	x = op_add(g, y, x);
	x = e->adapter ? adapter(b, x) : x;
	x = e->norm_first ? x : layer_norm(b, "layers.ffn.norm", x, n);
	graph_leave(g);
	return x;
}

static void resolve_summary(struct config *c, struct encoder *e)
{
	static const char *const words[] = { "first", "last", "mean" };
	const char *type = config_text(c, "summary_type");
	size_t i = 0;
	while (i < 3 && !text_is(type ? type : "last", words[i]))
		i++;
	if (i == 3)
		config_fail(c, STATUS_UNSUPPORTED, "summary_type %s is not supported yet", type);
	e->summary = (enum summary)i;
	e->summary_projected = config_bool(c, "summary_use_proj", false);
	e->summary_act = config_activation(c, "summary_activation", ACT_NONE);
}

// One language's adapters are built: default_language's, which the class takes too where no other is named.
static void resolve_adapter(struct config *c, struct spec *s, struct encoder *e, struct arena *a)
{
	const json_t *languages = config_get(c, "languages");
	if (!languages)
		return;
	const char *first = json_string_value(json_array_get(languages, 0)), *language = config_text(c, "default_language");
	int64_t factor = config_size(c, "adapter_reduction_factor", 2);
	e->adapter = factor > 0 ? s->hidden_size / factor : 0;
	e->language = language ? arena_strdup(a, language) : first ? arena_strdup(a, first) : "";
	e->adapter_norm = config_bool(c, "adapter_layer_norm", false);
	e->adapter_reuses_norm = config_bool(c, "adapter_reuse_layer_norm", true);
	e->norm_before_adapter = config_bool(c, "ln_before_adapter", true);
	if (e->adapter < 1)
		config_fail(c, STATUS_BAD_INPUT, "adapter_reduction_factor %lld", (long long)factor);
	if (!language && json_array_size(languages) > 1)
		config_fail(c, STATUS_UNSUPPORTED, "default_language is missing: which of the languages should be built?");
}

static void resolve_spans(struct config *c, struct spec *s, struct encoder *e)
{
	e->farthest = config_size(c, "max_relative_position", 0);
	e->matrix_groups = config_size(c, "num_groups", 1);
	if (e->matrix_groups < 1 || s->hidden_size % e->matrix_groups || s->ffn_size % e->matrix_groups)
		config_fail(c, STATUS_BAD_INPUT, "num_groups %lld does not divide the channels", (long long)e->matrix_groups);
	if (e->farthest > 1 << 16)
		config_fail(c, STATUS_BAD_INPUT, "max_relative_position %lld", (long long)e->farthest);
	int64_t ratio = config_size(c, "head_ratio", 0);
	if (!ratio || c->error.status)
		return;
	e->kernel = config_size(c, "conv_kernel_size", 9);
	e->causal = false; // is_decoder adds cross attention only there
	s->heads = s->kv_heads = s->heads / ratio ? s->heads / ratio : 1;
	s->head_width = s->hidden_size / s->heads / 2;
	s->attention_scale = 1 / sqrt((double)s->head_width);
	if (e->kernel % 2 == 0 || e->kernel > 1000 || 2 * s->heads * s->head_width != s->hidden_size)
		config_fail(c, STATUS_BAD_INPUT, "%lld heads of half of %lld, a kernel of %lld", (long long)s->heads,
			(long long)s->hidden_size, (long long)e->kernel);
}

// Attention that leaves most of the keys out (BigBird), goes through landmarks (Nystromformer) or by hashes (YOSO).
static void resolve_approximation(struct config *c, struct encoder *e)
{
	const char *attention_type = config_text(c, "attention_type");
	int64_t random = config_size(c, "num_random_blocks", 3), block = config_size(c, "block_size", 64);
	if (attention_type && text_is(attention_type, "block_sparse")) // shorter texts are read whole, by that class too
		e->longest = (5 + 2 * random) * block;
	else if (attention_type && !text_is(attention_type, "original_full"))
		config_fail(c, STATUS_UNSUPPORTED, "attention_type %s is not supported yet", attention_type);
	int64_t landmarks = config_size(c, "num_landmarks", 0);
	if (landmarks != config_size(c, "segment_means_seq_len", 0) || config_bool(c, "inv_coeff_init_option", false))
		config_fail(c, STATUS_UNSUPPORTED, "attention through %lld landmarks is not supported yet", (long long)landmarks);
	if (landmarks) // as many as there are tokens: all of them, by usual attention
		e->value_kernel = config_size(c, "conv_kernel_size", 0);
	if (e->value_kernel && (e->value_kernel % 2 == 0 || e->value_kernel > 1000))
		config_fail(c, STATUS_BAD_INPUT, "conv_kernel_size %lld", (long long)e->value_kernel);
	if (config_knows(c, "hash_code_len")) {
		e->hash_bits = config_count(c, "hash_code_len", 9);
		e->value_kernel = config_get(c, "conv_window") ? config_size(c, "conv_window", 0) : 0;
		if (!config_bool(c, "use_expectation", true))
			config_fail(
				c, STATUS_UNSUPPORTED, "use_expectation: false, which draws hashes at random, is not supported");
		if (e->hash_bits < 1 || (e->value_kernel && (e->value_kernel % 2 == 0 || e->value_kernel > 1000)))
			config_fail(c, STATUS_BAD_INPUT, "hash_code_len %lld, conv_window %lld", (long long)e->hash_bits,
				(long long)e->value_kernel);
	}
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const groups[] = { "q_groups", "k_groups", "v_groups", "post_attention_groups", "intermediate_groups",
		"output_groups" };
	struct encoder *e = s->own = ARENA_NEW(a, struct encoder);
	resolve_transformer(c, s, false);
	if (!config_knows(c, "hidden_act"))
		s->act = ACT_GELU;
	if (config_knows(c, "gelu_activation"))
		s->act = config_bool(c, "gelu_activation", true) ? ACT_GELU : ACT_RELU;
	if (!s->ffn_size && !config_knows(c, "intermediate_size"))
		s->ffn_size = 4 * s->hidden_size;
	e->causal = config_knows(c, "is_decoder") && config_bool(c, "is_decoder", false);
	e->sees_padding = config_bool(c, "causal", false);
	e->causal |= e->sees_padding;
	if (head_reads_memory(s) && (!has_word(s, "layers.cross.q") || e->sees_padding))
		config_fail(c, STATUS_UNSUPPORTED, "the model type %s is not supported yet as a decoder beside an encoder",
			s->row->model_type);
	e->norm_first = s->traits.norm_first || config_bool(c, "pre_norm", false);
	e->qkv_bias = config_bool(c, "qkv_bias", config_bool(c, "use_bias", true));
	e->inner = TRAITS_OF(s, encoder)->shared_layers ? config_count(c, "inner_group_num", 1) : 1;
	e->question_token = config_size(c, "question_token_id", 0);
	e->out_size = config_size(c, "out_size", 0);
	s->lm_size = config_size(c, "lm_size", 0);
	if (TRAITS_OF(s, encoder)->relative_buckets && s->relative_buckets < 32)
		config_fail(c, STATUS_BAD_INPUT, "%lld buckets of distances: the class needs 32 or more",
			(long long)s->relative_buckets);
	if (e->inner < 1)
		config_fail(c, STATUS_BAD_INPUT, "inner_group_num should be 1 or more");
	for (int i = 0; i < 6; i++) {
		e->groups[i] = config_size(c, groups[i], 0);
		int64_t narrow = i == UP ? s->hidden_size : s->ffn_size;
		if (e->groups[i] && (s->hidden_size % e->groups[i] || (i >= UP && narrow % e->groups[i])))
			config_fail(
				c, STATUS_BAD_INPUT, "%s %lld does not divide the channels", groups[i], (long long)e->groups[i]);
	}
	resolve_approximation(c, e);
	if (config_knows(c, "block_per_row"))
		encoder_resolve_blocks(c, s, e);
	if (TRAITS_OF(s, encoder)->rows_beyond)
		s->max_positions += s->traits.position_offset;
	if (config_bool(c, "asm", false))
		config_fail(c, STATUS_UNSUPPORTED, "asm: true is not supported yet");
	if (!config_bool(c, "is_encoder", true))
		config_fail(c, STATUS_BAD_INPUT, "is_encoder: false: there is no such class");
	if (s->traits.position_offset && s->max_positions <= s->traits.position_offset)
		config_fail(c, STATUS_BAD_INPUT, "max_position_embeddings %lld: positions begin with row %d",
			(long long)s->max_positions, s->traits.position_offset);
	if (config_bool(c, "quant_mode", false))
		config_fail(c, STATUS_UNSUPPORTED, "quant_mode: true is not supported yet");
	resolve_spans(c, s, e);
	resolve_adapter(c, s, e, a);
	encoder_resolve_embedding(c, s, e, a);
	e->windows = resolve_attention_windows(c, s, a);
	e->separator = e->windows ? config_size(c, "sep_token_id", 2) : 0;
	encoder_resolve_distance(c, s, e);
	if ((e->windows || e->by_distance) && s->head && s->head->choices)
		head_refused(c, s);
	if (s->head && (s->head->choices || e->by_distance))
		resolve_summary(c, e);
}

// cos and sin [1, seq, 1, head_width / 2] as they lie in the file: sines first
static void stored_rotation(struct build *b, graph_value ids, struct attention_extras *extras)
{
	struct graph *g = b->g;
	int64_t d = b->s->head_width;
	graph_value table = WEIGHT(b, "embed.rotary", "weight", b->s->max_positions, d);
	table = op_slice_to(g, table, 0, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, ids, 1)); // [seq, d]
	table = op_unsqueeze(g, op_unsqueeze(g, table, 1), 0);
	extras->sin = op_slice(g, table, 3, 0, d / 2);
	extras->cos = op_slice(g, table, 3, d / 2, d);
}

// By the frequencies in the file where it has them: transformers reads them from there. It writes them under a name with a star.
static void rotation(struct build *b, graph_value x, struct attention_extras *extras)
{
	struct graph *g = b->g;
	static const char *const names[] = { "*", "0" };
	for (size_t i = 0; i < 2 && !b->plan; i++) {
		b->item_name = names[i];
		if (!weight_exists(b, "embed.frequencies", "inv_freq"))
			continue;
		graph_value at = places_of(g, x);
		at = op_unsqueeze(g, op_unsqueeze(g, op_cast(g, at, DTYPE_F32), 0), 2); // [1, seq, 1]
		graph_value angle =
			op_unsqueeze(g, op_mul(g, at, WEIGHT(b, "embed.frequencies", "inv_freq", b->s->head_width / 2)), 2);
		extras->cos = op_cos(g, angle), extras->sin = op_sin(g, angle);
		return;
	}
	rope_tables(b, x, NO_VALUE, &extras->cos, &extras->sin);
}

// What is added to the scores, and the rotary embedding of queries and keys; x: [batch, seq, hidden].
static void add_positions(
	struct build *b, const struct body *io, const struct text_inputs *in, graph_value x, struct attention_extras *extras)
{
	struct graph *g = b->g;
	const struct encoder *e = b->s->own;
	const struct encoder_traits *t = TRAITS_OF(b->s, encoder);

	if (io->bias.id)
		extras->bias = io->bias;
	else if (!t->fourier && !e->near_blocks)
		extras->bias = e->causal
			? mask_causal(b, e->sees_padding ? op_max(g, io->mask, graph_i64(g, 1)) : io->mask, io->ids, 0)
			: mask_bidirectional(b, io->mask); // [batch, 1, 1 or seq, seq]
	if (t->relative_buckets)
		extras->bias = mask_relative(b, extras->bias, io->ids);
	if (e->by_distance)
		extras->bias = encoder_distance_mask(b, io->mask, io->ids);
	if (e->side_width)
		extras->bias = encoder_page_bias(b, io->ids, in->boxes, extras->bias);
	if (e->rotary)
		rotation(b, x, extras);
	else if (weight_named(b, "embed.rotary"))
		stored_rotation(b, io->ids, extras);
	extras->turn_value = e->rotary_value;
}

static void encode(struct build *b, struct body *io, const struct text_inputs *in)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	graph_value x = encoder_embed(b, io, in);
	graph_value layout = e->shrink ? encoder_layout_embed(b, io, in->boxes) : NO_VALUE;
	struct attention_extras extras = { .mask = io->mask, .global = io->blocks, .types = io->types };
	if (e->sides)
		extras.between = encoder_box_pairs(b, in->boxes);
	if (in->pixels.id) {
		extras.words = op_dim(g, x, 1);
		io->features = e->pyramid ? encoder_pyramid_embed(b, in->pixels) : encoder_page_picture(b, in->pixels);
		x = op_concat(g, 2, (graph_value[]){ x, io->features }, 1);
		if (!e->pyramid)
			x = layer_norm(b, "embed.both_norm", x, s->hidden_size);
	}
	if (in->entities.id) {
		extras.words = op_dim(g, x, 1);
		x = op_concat(g, 2, (graph_value[]){ x, encoder_embed_entities(b, in) }, 1);
	}
	add_positions(b, io, in, x, &extras);
	double layers_a_group = (double)s->layers_in_config / (double)s->layer_groups;
	graph_value kept = TRAITS_OF(s, encoder)->states_zeroed ? op_unsqueeze(g, op_cast(g, io->mask, DTYPE_F32), 2) : NO_VALUE;
	x = kept.id ? op_mul(g, x, kept) : x;
	states_begin(b, io, x);
	for (int64_t i = 0; i < s->layers && !graph_failed(g); i++) {
		graph_enter(g, "layers.%lld", (long long)i);
		b->stage = (int64_t)((double)i / layers_a_group);
		b->item_name = e->language;
		for (int64_t k = 0; k < e->inner && !graph_failed(g); k++) {
			b->layer = TRAITS_OF(s, encoder)->shared_layers ? k : i;
			x = layout.id ? encoder_layout_layer(b, x, &layout, extras.bias) : layer(b, io, x, &extras);
			x = kept.id ? op_mul(g, x, kept) : x;
		}
		graph_leave(g);
		states_add(io, x);
	}
	if (e->norm_first && weight_named(b, "norm"))
		x = layer_norm(b, "norm", x, s->hidden_size);
	if (weight_named(b, "out.project"))
		x = linear(b, "out.project", layer_norm(b, "out.norm", x, s->hidden_size), s->hidden_size, e->out_size, true);
	if (in->pixels.id && !(head_how(s) & (e->pyramid ? WORDS_ONLY | CELLS_APART : WORDS_ONLY))) {
		if (e->pyramid && s->head->bare)
			io->pooled = op_tanh(g, linear(b, "pooler", first_token(b, x), s->hidden_size, s->hidden_size, true));
		io->last = x;
		return;
	}
	if (extras.words.id) {
		io->features = op_slice_to(g, x, 1, extras.words, op_dim(g, x, 1));
		x = op_slice_to(g, x, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), extras.words);
		graph_assume(g, x, 1, value_dim(g, io->ids, 1));
		if (in->entities.id)
			graph_assume(g, io->features, 1, value_dim(g, in->entities, 1));
		else
			io->features = NO_VALUE;
	}
	io->last = x;
	if (s->head && !s->head->bare)
		return;
	if (weight_named(b, "pooler") && weight_exists(b, "pooler", "weight"))
		io->pooled = op_tanh(g, linear(b, "pooler", first_token(b, x), s->hidden_size, s->hidden_size, true));
}

static void body(struct build *b, struct body *io)
{
	if (head_reads_memory(b->s))
		seq2seq_begin(b, io);
	encode(b, io, &(struct text_inputs){ 0 });
}

static graph_value token_input(struct build *b, const char *name, bool choices)
{
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "choices"), graph_symbol(g, "sequence") };
	if (choices)
		return graph_input(g, name, DTYPE_I64, 3, shape);
	shape[1] = shape[2];
	return graph_input(g, name, DTYPE_I64, 2, shape);
}

// [batch, choices, seq] -> [batch*choices, seq]
static graph_value one_text_a_row(struct build *b, graph_value x, bool choices)
{
	struct graph *g = b->g;
	if (!choices)
		return x;
	graph_value rows =
		op_reshape_to(g, x, op_concat(g, 2, (graph_value[]){ graph_i64s(g, 1, (int64_t[]){ -1 }), op_dim(g, x, 2) }, 0));
	graph_assume(g, rows, 0, graph_symbol(g, "batch*choices"));
	graph_assume(g, rows, 1, value_dim(g, x, 2));
	return rows;
}

// Which tokens see all: of classifiers the first, of questions those before the text; else global_attention_mask says so.
static graph_value global_tokens(struct build *b, graph_value ids)
{
	struct graph *g = b->g;
	const struct encoder *e = b->s->own;
	const int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	graph_value zero = graph_i64(g, 0);
	unsigned how = head_how(b->s);
	if (how & FIRST_SEES_ALL)
		return op_cast(g, op_equal(g, op_add(g, places_of(g, ids), op_mul(g, ids, zero)), zero), DTYPE_I64);
	if (how & QUESTION_SEES_ALL) {
		graph_value ends = op_cast(g, op_equal(g, ids, graph_i64(g, e->separator)), DTYPE_I64);
		return op_cast(g, op_equal(g, op_cumsum(g, ends, 1), zero), DTYPE_I64);
	}
	return graph_input(g, "global_attention_mask", DTYPE_I64, 2, shape);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	struct body io = { 0 };
	struct text_inputs in = { 0 };
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence"), 4 };
	bool choices = s->head->choices;
	graph_value ids = token_input(b, "input_ids", choices);
	io.ids = b->ids = one_text_a_row(b, ids, choices);
	if (!TRAITS_OF(s, encoder)->fourier && !e->near_blocks)
		io.mask = one_text_a_row(b, token_input(b, "attention_mask", choices), choices);
	if (s->type_vocab_size > 1 || e->by_distance)
		io.types = one_text_a_row(b, token_input(b, "token_type_ids", choices), choices);
	else if (e->type_count) {
		shape[2] = e->type_count;
		io.types = graph_input(g, "token_type_ids", DTYPE_I64, 3, shape);
	}
	if (e->languages)
		in.language = one_text_a_row(b, token_input(b, "langs", choices), choices);
	if (e->task_types)
		in.task = one_text_a_row(b, token_input(b, "task_type_ids", choices), choices);
	if ((e->boxes || e->sides) && !choices)
		in.boxes = graph_input(g, "bbox", e->sides ? DTYPE_F32 : DTYPE_I64, 3, shape);
	if (e->windows)
		io.blocks = global_tokens(b, io.ids);
	if (e->picture) {
		in.pixels = picture_input(b, e->pyramid ? "image" : "pixel_values", s->channels, s->image_size, s->image_size);
		int64_t count = encoder_page_tokens(e);
		graph_value one = graph_i64(g, 1), size[] = { op_dim(g, io.ids, 0), graph_i64s(g, 1, &count) };
		io.mask = op_concat(g, 2, (graph_value[]){ io.mask, op_expand(g, one, op_concat(g, 2, size, 0)) }, 1);
	}
	if (e->entities && head_how(s) & HAS_ENTITIES) {
		int64_t entities[] = { shape[0], graph_symbol(g, "entities"), graph_symbol(g, "words") };
		in.entities = graph_input(g, "entity_ids", DTYPE_I64, 2, entities);
		graph_value mask[] = { io.mask, graph_input(g, "entity_attention_mask", DTYPE_I64, 2, entities) };
		io.mask = op_concat(g, 2, mask, 1);
		in.entity_types = graph_input(g, "entity_token_type_ids", DTYPE_I64, 2, entities);
		in.entity_places = graph_input(g, "entity_position_ids", DTYPE_I64, 3, entities);
	}
	if (e->shapes)
		in.shapes = one_text_a_row(b, token_input(b, "input_shape_ids", choices), choices);
	if (e->sounds)
		in.sounds = one_text_a_row(b, token_input(b, "input_pronunciation_ids", choices), choices);
	if (e->depth && !choices) {
		shape[2] = e->depth;
		in.tags = graph_input(g, "xpath_tags_seq", DTYPE_I64, 3, shape);
		in.numbers = graph_input(g, "xpath_subs_seq", DTYPE_I64, 3, shape);
	}
	if (e->seen_size && !choices) {
		int64_t regions[] = { shape[0], graph_symbol(g, "regions"), e->seen_size };
		in.seen = graph_input(g, "visual_embeds", DTYPE_F32, 3, regions);
		graph_value mask[] = { io.mask, graph_input(g, "visual_attention_mask", DTYPE_I64, 2, regions) };
		io.mask = op_concat(g, 2, mask, 1);
		in.seen_types = graph_input(g, "visual_token_type_ids", DTYPE_I64, 2, regions);
	}
	encode(b, &io, &in);
	io.own = &ids;
	head_build(b, &io);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct encoder *e = s->own;
	if (s->head && s->head->choices)
		out->symbols[0] = (struct input_symbol){ "choices", 2 };
	if (e->seen_size)
		out->symbols[0] = (struct input_symbol){ "regions", 36 };
	if (e->entities) {
		out->symbols[0] = (struct input_symbol){ "entities", 2 };
		out->symbols[1] = (struct input_symbol){ "words", 4 };
		if (e->entities < out->vocab_size)
			out->vocab_size = e->entities;
	}
	if (e->pyramid)
		image_hints(out, 224, 224);
	out->max_sequence -= s->traits.position_offset;
	if (e->longest && (!out->max_sequence || e->longest < out->max_sequence))
		out->max_sequence = e->longest;
}

const struct family encoder = {
	.name = "encoder",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.body = body,
	.hints = hints,
	.heads = encoder_heads,
	.may_decode = true,
	.traits = FAMILY_TRAIT_LIST(encoder, ENCODER_TRAITS),
};
