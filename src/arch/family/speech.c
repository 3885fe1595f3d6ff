// SPDX-License-Identifier: Apache-2.0
// Speech encoders: convolutions over samples, then a transformer or conformer over frames (wav2vec 2.0, Baevski et al. 2020,
// https://arxiv.org/abs/2006.11477; HuBERT, https://arxiv.org/abs/2106.07447; WavLM, https://arxiv.org/abs/2110.13900;
// data2vec, https://arxiv.org/abs/2202.03555; SEW, https://arxiv.org/abs/2109.06870; conformers,
// https://arxiv.org/abs/2010.05171; w2v-BERT 2.0, https://arxiv.org/abs/2312.05187). What stands on them is in speech_head.c.
//
//   samples -> stem -> norm - project -> (0 where padded) -> + positions (- norm) -> layers (- norm) -> (adapter) -> head
//   A mask of samples becomes one of frames: as many as the stem would give for that many samples.
#include "arch/block/seq2seq.h"
#include "arch/block/sound.h"
#include "arch/family/deberta.h"
#include "arch/family/speech.h"

#include <math.h>

// ---- config.json --------------------------------------------------------------------------------------------------------

void speech_resolve_stem(struct config *c, struct sound *o, struct arena *a)
{
	int64_t kernels = 0, strides = 0;
	int64_t features = config_size(c, "feature_projection_input_dim", 0);
	if (features) {
		o->feature_size = features;
		return;
	}
	o->conv_dim = config_sizes(c, "conv_dim", a, 0, &o->conv_count);
	o->conv_kernel = config_sizes(c, "conv_kernel", a, 0, &kernels);
	o->conv_stride = config_sizes(c, "conv_stride", a, 0, &strides);
	o->conv_bias = config_bool(c, "conv_bias", false);
	o->conv_act = config_activation(c, "feat_extract_activation", ACT_GELU);
	const char *norm = config_text(c, "feat_extract_norm");
	o->conv_first_norm = norm && text_is(norm, "group");
	if (norm && !o->conv_first_norm && !text_is(norm, "layer"))
		config_fail(c, STATUS_UNSUPPORTED, "feat_extract_norm %s is not supported yet", norm);
	if (c->error.status)
		return;
	bool bad = o->conv_count < 1 || o->conv_count != kernels || o->conv_count != strides;
	for (int64_t i = 0; !bad && i < o->conv_count; i++)
		bad = o->conv_dim[i] < 1 || o->conv_kernel[i] < 1 || o->conv_stride[i] < 1 || o->conv_kernel[i] > 1 << 16 ||
			o->conv_stride[i] > 1 << 16;
	if (bad)
		config_fail(c, STATUS_BAD_INPUT,
			"conv_dim, conv_kernel and conv_stride should be lists of one length, of numbers above 0");
	else
		o->feature_size = o->conv_dim[o->conv_count - 1];
}

void speech_resolve_positions(struct config *c, struct spec *s, struct sound *o)
{
	o->conformer_kernel = config_size(c, "conv_depthwise_kernel_size", 0);
	if (o->conformer_kernel) {
		const char *word = config_text(c, "position_embeddings_type");
		static const char *const words[] = { [POSITIONS_ROTARY] = "rotary",
			[POSITIONS_RELATIVE] = "relative",
			[POSITIONS_RELATIVE_KEY] = "relative_key" };
		for (size_t i = POSITIONS_ROTARY; word && i < sizeof words / sizeof words[0]; i++)
			if (text_is(words[i], word))
				o->positions = (enum sound_positions)i;
		o->key_left = config_size(c, "left_max_position_embeddings", 0);
		o->key_right = config_size(c, "right_max_position_embeddings", 0);
		s->rope.theta = config_real(c, "rotary_embedding_base", 10000);
		s->rope.factor = 1;
		if (o->conformer_kernel % 2 == 0 || s->hidden_size % 2)
			config_fail(c, STATUS_BAD_INPUT, "a depthwise kernel of %lld over %lld", (long long)o->conformer_kernel,
				(long long)s->hidden_size);
		return;
	}
	o->position_kernel = config_size(c, "num_conv_pos_embeddings", -1);
	o->position_groups = config_size(c, "num_conv_pos_embedding_groups", -1);
	int64_t kernel = config_size(c, "conv_pos_kernel_size", 0);
	if (kernel) { // a stack of them
		o->position_layers = o->position_kernel;
		o->position_kernel = kernel;
	}
	o->position_batch_norm = config_bool(c, "conv_pos_batch_norm", false);
	if (!c->error.status &&
		(o->position_kernel < 1 || o->position_groups < 1 || s->hidden_size % o->position_groups ||
			o->position_layers > 4096))
		config_fail(c, STATUS_BAD_INPUT, "positions by a kernel of %lld in %lld groups over %lld",
			(long long)o->position_kernel, (long long)o->position_groups, (long long)s->hidden_size);
}

static void resolve_adapter(struct config *c, struct spec *s, struct sound *o)
{
	bool add = config_bool(c, "add_adapter", false);
	int64_t layers = config_count(c, "num_adapter_layers", 0), size = config_size(c, "output_hidden_size", s->hidden_size);
	o->adapter_kernel = config_size(c, "adapter_kernel_size", 0);
	o->adapter_stride = config_size(c, "adapter_stride", 1);
	o->adapter_act = config_activation(c, "adapter_act", ACT_RELU);
	o->adapter_ffn = config_bool(c, "use_intermediate_ffn_before_adapter", false);
	o->adapter_layers = add ? layers : 0;
	o->out_size = add ? size : s->hidden_size;
	if (add && (o->adapter_kernel < 1 || o->adapter_stride < 1 || layers < 1 || layers > 4096 || size < 1 || size % s->heads))
		config_fail(c, STATUS_UNSUPPORTED, "an adapter of %lld layers with a kernel of %lld in steps of %lld to %lld",
			(long long)layers, (long long)o->adapter_kernel, (long long)o->adapter_stride, (long long)size);
	if (o->adapter_layers && s->head && !(head_how(s) & SPEECH_ADAPTED))
		config_fail(c, STATUS_UNSUPPORTED, "this class has no adapter (add_adapter)");
}

static void resolve_head(struct config *c, struct spec *s, struct sound *o, struct arena *a)
{
	int64_t kernels = 0, dilations = 0;
	o->weighted_sum = config_bool(c, "use_weighted_layer_sum", false);
	o->projector_size = config_size(c, "classifier_proj_size", s->hidden_size);
	o->xvector_size = config_size(c, "xvector_output_dim", 0);
	o->tdnn_dim = config_sizes(c, "tdnn_dim", a, 0, &o->tdnn_count);
	o->tdnn_kernel = config_sizes(c, "tdnn_kernel", a, 0, &kernels);
	o->tdnn_dilation = config_sizes(c, "tdnn_dilation", a, 0, &dilations);
	if (head_how(s) & SPEECH_VOICE &&
		(!o->tdnn_count || o->tdnn_count > kernels || o->tdnn_count > dilations || !o->xvector_size))
		config_fail(c, STATUS_BAD_INPUT, "tdnn_dim, tdnn_kernel and tdnn_dilation should be lists of one length");
	o->code_groups = config_size(c, "num_codevector_groups", 1);
	o->codes = config_size(c, "num_codevectors_per_group", 1);
	o->code_size = config_size(c, "codevector_dim", 1);
	o->code_out = config_size(c, "proj_codevector_dim", 1);
	if (head_how(s) & SPEECH_CODES &&
		(o->code_groups < 1 || o->codes < 1 || o->code_size < 1 || o->code_size % o->code_groups ||
			o->code_groups * o->codes > 1 << 24))
		config_fail(c, STATUS_BAD_INPUT, "%lld groups of %lld code vectors of %lld", (long long)o->code_groups,
			(long long)o->codes, (long long)o->code_size);
	if (head_how(s) & SPEECH_LETTERS && !s->vocab_size)
		config_fail(c, STATUS_BAD_INPUT, "vocab_size is missing");
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct sound *o = ARENA_NEW(a, struct sound);
	s->own = o;
	resolve_transformer(c, s, true);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	if (c->error.status)
		return;
	speech_resolve_stem(c, o, a);
	o->last_norm = o->conv_count > 0;
	o->feature_norm = config_bool(c, "feat_proj_layer_norm", true);
	o->squeeze = config_size(c, "squeeze_factor", 0);
	o->gives_features = !config_knows(c, "feat_proj_layer_norm") && !o->squeeze; // HuBERT's and SEW's classes do not
	o->feature_projection = !o->squeeze || o->feature_size != s->hidden_size;
	speech_resolve_positions(c, s, o);
	o->norm_first = config_bool(c, "do_stable_layer_norm", false);
	o->causal_convolution = TRAITS_OF(s, speech)->causal_convolution;
	o->inner_eps = o->causal_convolution ? s->norm_eps : 1e-5;
	o->buckets = config_size(c, "num_buckets", 0);
	o->far = config_size(c, "max_bucket_distance", 0);
	if (o->buckets && (o->buckets < 4 || o->buckets > 1 << 16 || o->far <= o->buckets / 4 || o->far > 1 << 16))
		config_fail(c, STATUS_BAD_INPUT, "relative positions in %lld buckets up to %lld", (long long)o->buckets,
			(long long)o->far);
	o->bottleneck = config_size(c, "adapter_attn_dim", 0);
	resolve_adapter(c, s, o);
	resolve_head(c, s, o, a);
	if (has_word(s, "distances") && !c->error.status) { // SEW-D
		deberta_resolve(c, resolve_half(s, a, "layers", ""), a);
		s->norm_eps = config_real(c, "feature_layer_norm_eps", 1e-5);
	}
}

// ---- body ---------------------------------------------------------------------------------------------------------------

static graph_value ffn(struct build *b, graph_value x)
{
	return prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", x);
}

//   after:  x -(+ attention)- norm -(+ ffn)- norm        first:  x -(+ attention(norm))-(+ ffn(norm))-(+ bottleneck)
static graph_value layer(struct build *b, graph_value x, graph_value mask, graph_value bias)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_enter(g, "attn");
	graph_value y = o->norm_first ? layer_norm(b, "layers.attn.norm", x, h) : x;
	x = op_add(
		g, self_attention(b, y, bias.id ? sound_gated(b, y, bias, mask) : mask, NO_VALUE, NO_VALUE, true, true, NULL), x);
	if (!o->norm_first)
		x = layer_norm(b, "layers.attn.norm", x, h);
	graph_leave(g);
	graph_enter(g, "ffn");
	x = op_add(g, ffn(b, o->norm_first ? layer_norm(b, "layers.ffn.norm", x, h) : x), x);
	if (!o->norm_first)
		x = layer_norm(b, "layers.ffn.norm", x, h);
	graph_leave(g);
	if (o->bottleneck && o->norm_first) {
		graph_enter(g, "adapter");
		y = linear(b, "layers.adapter.down", sound_norm(b, "layers.adapter.norm", x, h, 1e-5), h, o->bottleneck, true);
		x = op_add(g, x, linear(b, "layers.adapter.up", op_relu(g, y), o->bottleneck, h, true));
		graph_leave(g);
	}
	return x;
}

// Means of `squeeze` frames each; what is left over at the end is dropped. [batch, frames / squeeze, hidden]
static graph_value squeezed(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, n = sound_of(b)->squeeze;
	graph_value whole = op_mul(g, op_div(g, op_dim(g, x, 1), graph_i64(g, n)), graph_i64(g, n));
	x = op_slice_to(g, x, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), whole);
	return op_reduce_mean(g, op_reshape(g, x, 4, (int64_t[]){ 0, -1, n, h }), 2, false);
}

// Back to as many frames as x has; the dropped ones are 0.
static graph_value widened(struct build *b, graph_value y, graph_value x)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	y = activate(b, o->conv_act, linear(b, "upsample", y, h, h * o->squeeze, true));
	y = op_pad(g, op_reshape(g, y, 3, (int64_t[]){ 0, -1, h }), 1, 0, o->squeeze - 1);
	y = op_slice_to(g, y, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, x, 1));
	graph_assume(g, y, 1, value_dim(g, x, 1));
	return y;
}

// wav2vec 2.0: (project - norm) - [convolution to 2n - glu]
static graph_value adapter(struct build *b, graph_value x)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t n = o->out_size, stride = o->adapter_stride;
	x = op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
	for (b->layer = 0; b->layer < o->adapter_layers && !graph_failed(b->g); b->layer++) {
		graph_value w = WEIGHT(b, "adapter.conv", "weight", 2 * n, n, o->adapter_kernel);
		x = op_conv(g, x, w, WEIGHT(b, "adapter.conv", "bias", 2 * n), &stride, (int64_t[]){ 1, 1 }, (int64_t[]){ 1 }, 1);
		x = sound_glu(g, x, 1, n);
	}
	return op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
}

static graph_value shortened(struct build *b, const char *stem, graph_value x)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t n = o->out_size, stride = o->adapter_stride, pad = stride / 2;
	graph_value w = WEIGHT(b, stem, "weight", 2 * n, n, o->adapter_kernel);
	x = op_conv(g, op_transpose(g, x, 3, (int[]){ 0, 2, 1 }), w, WEIGHT(b, stem, "bias", 2 * n), &stride,
		(int64_t[]){ pad, pad }, (int64_t[]){ 1 }, 1);
	return op_transpose(g, sound_glu(g, x, 1, n), 3, (int[]){ 0, 2, 1 });
}

// w2v-BERT: a transformer layer over shortened frames, the residual shortened by a convolution of its own.
static graph_value attending_adapter(struct build *b, graph_value x, graph_value lengths)
{
	const struct spec *s = b->s;
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t n = o->out_size;
	float scale = (float)(1 / sqrt((double)n / (double)s->heads));
	for (b->layer = 0; b->layer < o->adapter_layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "adapter.%lld", (long long)b->layer);
		graph_value residual =
			shortened(b, "adapter.residual_conv", sound_norm(b, "adapter.residual_norm", x, n, o->inner_eps));
		x = shortened(b, "adapter.attn.conv", sound_norm(b, "adapter.attn.norm", x, n, o->inner_eps));
		graph_value mask = NO_VALUE;
		if (lengths.id) {
			graph_value fewer = sound_adapter_length(b, lengths);
			mask = mask_bidirectional(b, sound_frames(b, x, fewer, 1));
			lengths = o->adapter_from_all ? lengths : fewer;
		}
		graph_value q = linear(b, "adapter.attn.q", x, n, n, true), k = linear(b, "adapter.attn.k", x, n, n, true),
			    v = linear(b, "adapter.attn.v", x, n, n, true);
		graph_value y = op_attention(g, &(struct attention){ q, k, v, .bias = mask, .heads = s->heads, .scale = scale });
		x = op_add(g, linear(b, "adapter.attn.o", y, n, n, true), residual);
		y = activate(b, o->adapter_act,
			linear(b, "adapter.ffn.up", sound_norm(b, "adapter.ffn.norm", x, n, o->inner_eps), n, s->ffn_size, true));
		x = op_add(g, linear(b, "adapter.ffn.down", y, s->ffn_size, n, true), x);
		graph_leave(g);
	}
	return x;
}

static void rotary(struct build *b, graph_value x, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	int64_t half = b->s->head_width / 2;
	if (b->plan || !weight_exists(b, "rope.frequencies", "")) {
		rope_tables(b, x, NO_VALUE, cos, sin);
		return;
	}
	graph_value at = places_of(g, x); // the file's frequencies count
	graph_value angle = op_mul(g, op_unsqueeze(g, op_cast(g, at, DTYPE_F32), 1), WEIGHT(b, "rope.frequencies", "", half));
	angle = op_unsqueeze(g, op_unsqueeze(g, angle, 0), 2); // [1, frames, 1, width/2]
	*cos = op_cos(g, angle), *sin = op_sin(g, angle);
}

// Of frames [batch, frames], those that are in sight of each, [batch, 1, frames, frames]: 1, and 0 where none is to be seen. The
// class (transformers 5) adds the truth values themselves to the scores, so that nothing is hidden and little is weighed down.
static graph_value mask_of_chunks(struct build *b, graph_value x, graph_value frames)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	graph_value chunk = op_div(g, places_of(g, x), graph_i64(g, o->chunk)), query = op_unsqueeze(g, chunk, 1),
		    key = op_unsqueeze(g, chunk, 0);
	graph_value seen = op_less_or_equal(g, key, query);
	if (o->left_chunks >= 0)
		seen = op_and(g, seen, op_less_or_equal(g, op_sub(g, query, graph_i64(g, o->left_chunks)), key));
	seen = op_and(g, op_unsqueeze(g, op_unsqueeze(g, frames, 1), 1), seen);
	return op_cast(g, seen, DTYPE_F32);
}

static void conformer_body(struct build *b, struct body *io, graph_value x, graph_value mask, graph_value frames)
{
	const struct sound *o = sound_of(b);
	graph_value positions = o->positions == POSITIONS_RELATIVE ? conformer_positions(b, x) : NO_VALUE, cos = NO_VALUE,
		    sin = NO_VALUE;
	if (o->positions == POSITIONS_ROTARY)
		rotary(b, x, &cos, &sin);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(b->g, "layers.%lld", (long long)b->layer);
		x = conformer_layer(b, x, mask, frames, positions, cos, sin);
		graph_leave(b->g);
		states_add(io, x);
	}
	io->last = o->last_norm ? layer_norm(b, "norm", x, b->s->hidden_size) : x;
}

static void transformer_body(struct build *b, struct body *io, graph_value x, graph_value mask)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value positions = sound_positions(b, x), wide = x;
	if (o->squeeze) {
		x = squeezed(b, x);
		positions = op_transpose(g, op_slice_to(g, positions, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, x, 1)), 3,
			(int[]){ 0, 1, 2 });
		graph_assume(g, positions, 1, value_dim(g, x, 1));
	}
	x = op_add(g, x, positions);
	if (part_of(b->s, "layers")) {
		const struct spec *outer = part_enter(b, "layers");
		deberta_layers(b, io, x, mask);
		part_leave(b, outer);
		io->last = widened(b, io->last, wide);
		return;
	}
	if (!o->norm_first)
		x = layer_norm(b, "norm", x, h);
	graph_value bias = o->buckets ? sound_bias(b, x) : NO_VALUE;
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, mask, bias);
		graph_leave(g);
		states_add(io, x);
	}
	if (o->norm_first)
		x = layer_norm(b, "norm", x, h);
	io->last = o->squeeze ? widened(b, x, wide) : x;
}

static void speech_body(struct build *b, struct body *io)
{
	const struct spec *s = b->s;
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t h = s->hidden_size;
	graph_value x = o->conv_count ? sound_stem(b, io->features) : io->features; // [batch, frames, feature]
	graph_value lengths = io->mask.id ? sound_lengths(b, io->mask) : NO_VALUE, frames = NO_VALUE, mask = NO_VALUE;
	if (io->mask.id)
		frames = !o->conv_count ? op_cast(g, io->mask, DTYPE_BOOL)
			: o->squeeze    ? sound_frames(b, x, lengths, 1)
					: sound_frames_to_last(b, x, lengths);
	graph_enter(g, "features");
	if (o->feature_norm)
		x = layer_norm(b, "features.norm", x, o->feature_size);
	io->pooled = x; // extract_features
	if (o->feature_projection)
		x = linear(b, "features.project", x, o->feature_size, h, true);
	x = sound_zeroed(b, x, frames);
	graph_leave(g);
	if (frames.id && o->squeeze) {
		graph_value fewer = squeezed(b, x); // for its length
		mask = mask_bidirectional(b, sound_frames(b, fewer, lengths, o->squeeze));
	} else if (frames.id)
		mask = o->chunk ? mask_of_chunks(b, x, frames) : mask_bidirectional(b, frames);
	if (o->conformer_kernel)
		conformer_body(b, io, x, mask, frames);
	else
		transformer_body(b, io, x, mask);
	if (o->adapter_ffn) {
		graph_value y = op_relu(g, linear(b, "adapter.before.up", io->last, h, s->ffn_size, true));
		io->last = op_add(g, io->last, op_scale(g, linear(b, "adapter.before.down", y, s->ffn_size, h, true), 0.5f));
	}
	if (o->adapter_layers) {
		if (o->out_size != h) {
			io->last = linear(b, "adapter.project", io->last, h, o->out_size, true);
			io->last = sound_norm(b, "adapter.norm", io->last, o->out_size, o->conv_count ? 1e-5 : s->norm_eps);
		}
		io->last = o->conv_count ? adapter(b, io->last) : attending_adapter(b, io->last, lengths);
	}
}

static void speech_build(struct build *b)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, o->conv_count ? "samples" : "sequence"), o->feature_size };
	struct body io = { 0 };
	io.features = graph_input(g, o->conv_count ? "input_values" : "input_features", DTYPE_F32, o->conv_count ? 2 : 3, shape);
	io.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	speech_body(b, &io);
	head_build(b, &io);
}

const struct family speech = {
	.name = "speech",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = speech_build,
	.body = speech_body,
	.heads = speech_heads,
	.traits = FAMILY_TRAIT_LIST(speech, SPEECH_TRAITS),
};
