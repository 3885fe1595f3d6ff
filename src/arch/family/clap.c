// SPDX-License-Identifier: Apache-2.0
// CLAP: sound and text, and how alike they are (Wu et al. 2022, https://arxiv.org/abs/2211.06687). The sound tower is HTSAT (Chen
// et al. 2022, https://arxiv.org/abs/2202.00874): a spectrogram, cut in time and laid out as a square, goes through windowed
// attention. The text tower is RoBERTa. In fused models a clip longer than the window comes as a short view of all of it and
// three details.
//
//   mel [batch, 1 or 4, frames, bins] - batch norm over bins - to spec_size * ratio frames - square - patches (+ details) -
//   stages - norm - mean
//   each tower: pooled - linear - act - linear - / length            logits = products * exp(scale), one scale each way
#include "arch/block/image.h"
#include "arch/block/window.h"
#include "arch/family/encoder.h"

struct clap_audio {
	struct windows w;
	int64_t spec_size, bins, ratio; // ratio: pieces of time that lie above each other
	int64_t patch, stride;
	int64_t reduced; // width inside the fusion block; 0: nothing is fused
	bool patch_norm;
	int64_t projection_size;
	enum activation projection_act;
};

static void resolve_projection(struct config *c, int64_t *size, enum activation *act)
{
	*size = config_size(c, "projection_dim", 512);
	*act = config_activation(c, "projection_hidden_act", ACT_RELU);
}

static int64_t equal_pair(struct config *c, const char *key, struct arena *a)
{
	int64_t count = 0;
	const int64_t *n = config_sizes(c, key, a, 2, &count);
	if (!n || count != 2 || n[0] != n[1] || n[0] < 1) {
		config_fail(c, STATUS_UNSUPPORTED, "%s of unequal sides is not supported yet", key);
		return 1;
	}
	return n[0];
}

static void resolve_audio(struct config *c, struct spec *s, struct arena *a)
{
	struct clap_audio *o = ARENA_NEW(a, struct clap_audio);
	s->own = o;
	o->w = *resolve_windows(c, a, "num_attention_heads", "patch_embeds_hidden_size");
	if (c->error.status)
		return;
	resolve_refusals(c, s);
	s->hidden_size = config_size(c, "hidden_size", windows_width(&o->w));
	s->heads = s->kv_heads = o->w.heads[0];
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	o->spec_size = config_size(c, "spec_size", -1);
	o->bins = config_size(c, "num_mel_bins", -1);
	o->patch = equal_pair(c, "patch_size", a);
	o->stride = equal_pair(c, "patch_stride", a);
	o->patch_norm = config_bool(c, "enable_patch_layer_norm", true);
	s->channels = config_size(c, "patch_embed_input_channels", 1);
	bool fusion = config_bool(c, "enable_fusion", false);
	const char *kind = config_text(c, "fusion_type");
	int64_t narrower = config_size(c, "aff_block_r", 4);
	resolve_projection(c, &o->projection_size, &o->projection_act);
	if (!config_bool(c, "flatten_patch_embeds", true))
		config_fail(c, STATUS_UNSUPPORTED, "flatten_patch_embeds: false is not supported");
	if (c->error.status)
		return;
	if (fusion && ((kind && text_is(kind, "channel_map")) || s->channels != 1))
		config_fail(c, STATUS_UNSUPPORTED, "fusion_type %s of %lld channels is not supported", kind ? kind : "null",
			(long long)s->channels);
	bool bad = o->bins < 1 || o->spec_size < o->bins || o->spec_size > 1 << 14 || o->patch < o->stride ||
		(o->patch - o->stride) % 2 || narrower < 1 || o->w.embed / narrower < 1 ||
		s->hidden_size != windows_width(&o->w) || s->channels < 1;
	if (!bad) {
		o->ratio = o->spec_size / o->bins;
		bad = o->spec_size % o->ratio || (o->spec_size / o->stride) % (1 << (o->w.stages - 1)) ||
			o->spec_size % o->stride;
	}
	if (bad) {
		config_fail(c, STATUS_UNSUPPORTED, "a square of %lld from %lld bins in patches of %lld is not supported",
			(long long)o->spec_size, (long long)o->bins, (long long)o->stride);
		return;
	}
	o->reduced = fusion ? o->w.embed / narrower : 0;
}

// ---- the sound tower ----------------------------------------------------------------------------------------------------

// x [batch, channels, frames, bins] by the statistics of each bin, which engines fold to one factor and one summand.
static graph_value norm_bins(struct build *b, graph_value x, int64_t bins)
{
	struct graph *g = b->g;
	graph_value w = WEIGHT(b, "bins.norm", "weight", bins), mean = WEIGHT(b, "bins.norm", "running_mean", bins),
		    variance = WEIGHT(b, "bins.norm", "running_var", bins);
	graph_value factor = op_div(g, w, op_sqrt(g, op_add(g, variance, graph_f32(g, 1e-5f))));
	return op_add(g, op_mul(g, x, factor), op_sub(g, WEIGHT(b, "bins.norm", "bias", bins), op_mul(g, mean, factor)));
}

// Keys' cubic (a = -0.75, as torch has it) at distance t, 0 .. 1 for `near`, 1 .. 2 otherwise
static graph_value cubic(struct graph *g, graph_value t, bool near)
{
	static const float from_one[] = { -0.75f, 3.75f, -6, 3 }, from_zero[] = { 1.25f, -2.25f, 0, 1 };
	const float *k = near ? from_zero : from_one;
	graph_value y = op_add(g, op_scale(g, t, k[0]), graph_f32(g, k[1]));
	y = op_add(g, op_mul(g, y, t), graph_f32(g, k[2]));
	return op_add(g, op_mul(g, y, t), graph_f32(g, k[3]));
}

// x [batch, channels, frames, bins] resized along one axis so that both ends stay where they are. By hand: ONNX Runtime's Resize
// rounds places otherwise than torch does, which is seen in the fourth digit of a logit (OpenVINO's does not).
static graph_value stretched(struct build *b, graph_value x, int axis, int64_t to)
{
	struct graph *g = b->g;
	if (graph_failed(g) || value_dim(g, x, axis) == to || to < 2)
		return x;
	float *count = GRAPH_TABLE(g, NULL, to, 1, float);
	for (int64_t i = 0; count && i < to; i++)
		count[i] = (float)i;
	graph_value last = op_sub(g, op_dim(g, x, axis), graph_i64(g, 1)); // [1]
	// x is never longer than `to`. Max keeps the divisor from being a constant, which OpenVINO would turn into a factor.
	graph_value step = op_cast(g, last, DTYPE_F32);
	step = op_div(g, step, op_max(g, step, graph_f32(g, (float)(to - 1))));
	graph_value at = op_mul(g, graph_constant(g, DTYPE_F32, 1, &to, count), step); // [to]
	graph_value whole = op_floor(g, at), t = op_sub(g, at, whole), rest = op_sub(g, graph_f32(g, 1), t),
		    one = graph_f32(g, 1), sum = NO_VALUE;
	graph_value weight[] = { cubic(g, op_add(g, t, one), false), cubic(g, t, true), cubic(g, rest, true),
		cubic(g, op_add(g, rest, one), false) };
	for (int i = 0; i < 4; i++) {
		graph_value from = op_add(g, op_cast(g, whole, DTYPE_I64), graph_i64(g, i - 1));
		from = op_max(g, op_min(g, from, last), graph_i64(g, 0));
		graph_value part = op_mul(g, op_gather(g, x, from, axis), axis == 2 ? op_unsqueeze(g, weight[i], 1) : weight[i]);
		sum = sum.id ? op_add(g, sum, part) : part;
	}
	return sum;
}

// [batch, channels, ratio * n, bins] -> [batch, channels, ratio * bins, n]: the pieces above each other, bins downwards
static graph_value squared(struct build *b, graph_value x, int64_t channels)
{
	const struct clap_audio *o = b->s->own;
	struct graph *g = b->g;
	int64_t high = o->spec_size / o->ratio, wide = o->spec_size * o->ratio;
	x = stretched(b, stretched(b, x, 2, wide), 3, high);
	x = op_reshape(g, x, 4, (int64_t[]){ 0, channels * o->ratio, wide / o->ratio, high });
	return op_reshape(
		g, op_transpose(g, x, 4, (int[]){ 0, 1, 3, 2 }), 4, (int64_t[]){ 0, channels, high * o->ratio, wide / o->ratio });
}

static graph_value attend(
	struct build *b, const char *conv1, const char *norm1, const char *conv2, const char *norm2, graph_value x)
{
	const struct clap_audio *o = b->s->own;
	graph_value y = conv(b, conv1, x, (struct conv){ .out = o->reduced, .kernel = 1, .bias = true });
	y = op_relu(b->g, batch_norm(b, norm1, y, 1e-5));
	return batch_norm(b, norm2, conv(b, conv2, y, (struct conv){ .out = o->w.embed, .kernel = 1, .bias = true }), 1e-5);
}

// Attentional fusion (Dai et al. 2020, https://arxiv.org/abs/2009.14082): a weight for each place from both inputs and their
// mean.
static graph_value fused(struct build *b, graph_value whole, graph_value detail)
{
	struct graph *g = b->g;
	graph_enter(g, "fusion");
	graph_value both = op_add(g, whole, detail);
	graph_value near = attend(b, "fusion.local.0", "fusion.local.1", "fusion.local.3", "fusion.local.4", both);
	graph_value far = attend(
		b, "fusion.global.1", "fusion.global.2", "fusion.global.4", "fusion.global.5", op_global_average_pool(g, both));
	graph_value share = op_sigmoid(g, op_add(g, near, far));
	graph_value y = op_add(g, op_mul(g, whole, share), op_mul(g, detail, op_sub(g, graph_f32(g, 1), share)));
	graph_leave(g);
	return op_scale(g, y, 2);
}

// The three details side by side, as wide as the whole: [batch, embed, rows, cols]
static graph_value details(struct build *b, graph_value x, int64_t cols)
{
	const struct clap_audio *o = b->s->own;
	struct graph *g = b->g;
	int64_t size = o->spec_size, e = o->w.embed, pad = (o->patch - o->stride) / 2, stride[] = { o->stride, 3 * o->stride },
		one[] = { 1, 1 };
	x = op_reshape(g, op_slice(g, x, 1, 1, 4), 4, (int64_t[]){ -1, 1, size, size });
	graph_value w = WEIGHT(b, "fusion.patch", "weight", e, 1, o->patch, 3 * o->patch);
	x = op_conv(g, x, w, WEIGHT(b, "fusion.patch", "bias", e), stride, (int64_t[]){ pad, pad, pad, pad }, one, 1);
	if (graph_failed(g))
		return NO_VALUE;
	int64_t rows = value_dim(g, x, 2), each = value_dim(g, x, 3);
	x = op_transpose(g, op_reshape(g, x, 5, (int64_t[]){ -1, 3, e, rows, each }), 5, (int[]){ 0, 2, 3, 1, 4 });
	return op_pad(g, op_reshape(g, x, 4, (int64_t[]){ 0, e, rows, 3 * each }), 3, 0, cols - 3 * each);
}

static void audio_body(struct build *b, struct body *io)
{
	const struct clap_audio *o = b->s->own;
	struct graph *g = b->g;
	int64_t pad = (o->patch - o->stride) / 2, e = o->w.embed, stride[] = { o->stride, o->stride }, one[] = { 1, 1 };
	int64_t channels = o->reduced ? 4 : b->s->channels;
	graph_enter(g, "embed");
	graph_value x = squared(b, norm_bins(b, io->features, o->bins), channels), square = x;
	graph_value w = WEIGHT(b, "embed.patch", "weight", e, b->s->channels, o->patch, o->patch);
	x = op_conv(g, op_slice(g, x, 1, 0, b->s->channels), w, WEIGHT(b, "embed.patch", "bias", e), stride,
		(int64_t[]){ pad, pad, pad, pad }, one, 1);
	int64_t rows = o->spec_size / o->stride, cols = rows;
	if (o->reduced) { // io->mask: is this clip longer than the window
		graph_value longer = op_reshape(g, io->mask, 4, (int64_t[]){ -1, 1, 1, 1 }),
			    y = fused(b, x, details(b, square, cols));
		graph_assume(g, longer, 0, value_dim(g, x, 0));
		x = op_where(g, longer, y, x);
	}
	x = tokens_of(b, x);
	if (o->patch_norm)
		x = layer_norm_eps(b, "embed.norm", x, 1e-5);
	graph_leave(g);
	x = layer_norm_eps(b, "norm", window_stages(b, &o->w, io, x, &rows, &cols, false), 1e-5);
	io->pooled = op_reduce_mean(g, x, 1, false); // [batch, hidden]
	// The pieces of time concatenated again: [batch, hidden, high, pieces * cols]
	int64_t h = b->s->hidden_size, high = rows / o->ratio, pieces = high ? rows / high : 0;
	if (!high || rows % high) {
		io->last = NO_VALUE;
		return;
	}
	x = op_reshape(g, op_transpose(g, x, 3, (int[]){ 0, 2, 1 }), 5, (int64_t[]){ 0, h, pieces, high, cols });
	io->last = op_reshape(g, op_transpose(g, x, 5, (int[]){ 0, 1, 3, 2, 4 }), 4, (int64_t[]){ 0, h, high, pieces * cols });
}

static void audio_inputs(struct build *b, struct body *io, const char *batch)
{
	const struct clap_audio *o = b->s->own;
	struct graph *g = b->g;
	// A square that the bins alone do not fill is resized twice, and only a whole one comes out as such.
	int64_t frames = o->spec_size / o->ratio == o->bins ? graph_symbol(g, "frames") : o->spec_size * o->ratio;
	int64_t shape[] = { graph_symbol(g, batch), o->reduced ? 4 : b->s->channels, frames, o->bins };
	io->features = graph_input(g, "input_features", DTYPE_F32, 4, shape);
	if (o->reduced)
		io->mask = graph_input(g, "is_longer", DTYPE_BOOL, 2, (int64_t[]){ shape[0], 1 });
}

static graph_value projected(
	struct build *b, const char *first, const char *second, graph_value pooled, int64_t size, enum activation act)
{
	graph_value x = activate(b, act, linear(b, first, pooled, b->s->hidden_size, size, true));
	return linear(b, second, x, size, size, true);
}

static void project_audio(struct build *b, const struct body *io)
{
	const struct clap_audio *o = b->s->own;
	graph_output(b->g, "audio_embeds",
		projected(b, "head.linear1", "head.linear2", io->pooled, o->projection_size, o->projection_act));
	graph_output(b->g, "last_hidden_state", io->last);
}

static void audio_build(struct build *b)
{
	struct body io = { 0 };
	audio_inputs(b, &io, "batch");
	audio_body(b, &io);
	if (io.last.id)
		head_build(b, &io);
	else
		graph_fail(b->g, STATUS_UNSUPPORTED, "the last stage's bins do not divide into pieces of time");
}

static void audio_sizes(const struct spec *s, json_t *out)
{
	const struct clap_audio *o = s->own;
	json_object_set_new(out, "stages", json_integer(o->w.stages));
	json_object_set_new(out, "window", json_integer(o->w.window));
	json_object_set_new(out, "bins", json_integer(o->bins));
}

// Ten seconds, as the published processors cut them, where they fit.
static void audio_hints(const struct spec *s, struct input_hints *out)
{
	enum { TEN_SECONDS = 1001 };
	const struct clap_audio *o = s->own;
	int64_t most = o->spec_size * o->ratio;
	out->symbols[0] = (struct input_symbol){ "frames", most < TEN_SECONDS ? most : TEN_SECONDS };
}

// ---- the text tower: RoBERTa with a projection beside it ----------------------------------------------------------------

struct clap_text {
	struct encoder encoder; // first: to the family it is its own
	int64_t projection_size;
	enum activation projection_act;
};

static void resolve_text(struct config *c, struct spec *s, struct arena *a)
{
	struct clap_text *o = ARENA_NEW(a, struct clap_text);
	encoder.resolve(c, s, a);
	o->encoder = *(const struct encoder *)s->own;
	resolve_projection(c, &o->projection_size, &o->projection_act);
	s->own = o;
}

static void text_body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	if (!io->types.id && b->s->type_vocab_size > 1) // the class has a table of zeros for them
		io->types = op_sub(g, io->ids, io->ids);
	encoder.body(b, io);
	io->pooled = op_tanh(g, linear(b, "pooler", first_token(b, io->last), h, h, true));
}

static void project_text(struct build *b, const struct body *io)
{
	const struct clap_text *o = b->s->own;
	graph_output(b->g, "text_embeds",
		projected(b, "head.linear1", "head.linear2", io->pooled, o->projection_size, o->projection_act));
	graph_output(b->g, "last_hidden_state", io->last);
}

enum { PROJECTED = 1 }; // flag of heads

static void text_build(struct build *b)
{
	struct body io = { 0 };
	if (!(head_how(b->s) & PROJECTED)) {
		encoder.build(b);
		return;
	}
	text_tower_inputs(b, &io);
	text_body(b, &io);
	head_build(b, &io);
}

// ---- both ---------------------------------------------------------------------------------------------------------------

struct clap {
	int64_t projection_size;
	enum activation projection_act;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct clap *o = ARENA_NEW(a, struct clap);
	static const char *const roots[] = { "", NULL };
	s->own = o;
	resolve_part_fixed(c, s, a, "text", "text_config", NULL, NULL, roots);
	resolve_part_fixed(c, s, a, "audio", "audio_config", NULL, NULL, roots);
	resolve_projection(c, &o->projection_size, &o->projection_act); // these count, not the parts'
	resolve_refusals(c, s);
	if (config_get(c, "text_config_dict") || config_get(c, "audio_config_dict"))
		config_fail(c, STATUS_UNSUPPORTED,
			"text_config_dict and audio_config_dict beside the parts' own configurations are not supported yet");
}

static graph_value tower(struct build *b, const char *part, struct body *io, const char *first, const char *second)
{
	const struct clap *o = b->s->own;
	const struct spec *outer = part_enter(b, part);
	graph_enter(b->g, "%s", part);
	b->s->row->family->body(b, io);
	graph_value x = linear(b, first, io->pooled, b->s->hidden_size, o->projection_size, true);
	x = linear(b, second, activate(b, o->projection_act, x), o->projection_size, o->projection_size, true);
	graph_leave(b->g);
	part_leave(b, outer);
	return unit_length(b, x);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	struct body text = { 0 }, audio = { 0 };
	text_tower_inputs(b, &text);
	const struct spec *outer = part_enter(b, "audio");
	audio_inputs(b, &audio, "audio_batch");
	part_leave(b, outer);
	graph_value texts = tower(b, "text", &text, "head.linear1", "head.linear2");             // [batch, projection]
	graph_value sounds = tower(b, "audio", &audio, "head.linear1", "head.linear2");          // [audio_batch, projection]
	graph_value products = op_matmul(g, sounds, op_transpose(g, texts, 2, (int[]){ 1, 0 })); // [audio_batch, batch]
	graph_value to_text = op_exp(g, weight(b, "head.scale_text", "", 0, NULL)),
		    to_audio = op_exp(g, weight(b, "head.scale_audio", "", 0, NULL));
	graph_output(g, "logits_per_audio", op_mul(g, products, to_audio));
	graph_output(g, "logits_per_text", op_mul(g, op_transpose(g, products, 2, (int[]){ 1, 0 }), to_text));
	graph_output(g, "text_embeds", texts);
	graph_output(g, "audio_embeds", sounds);
}

static const struct family_head heads[] = { { &head_model }, { 0 } };
static const struct family_head audio_heads[] = { { &head_model }, { &head_projection, project_audio }, { 0 } };
static const struct family_head text_heads[] = { { &head_model }, { &head_projection, project_text, PROJECTED }, { 0 } };

const struct family clap_audio = {
	.name = "clap-audio",
	.architecture = "audio",
	.resolve = resolve_audio,
	.build = audio_build,
	.body = audio_body,
	.sizes = audio_sizes,
	.hints = audio_hints,
	.heads = audio_heads,
};
const struct family clap_text = {
	.name = "clap-text",
	.architecture = "encoder-only",
	.resolve = resolve_text,
	.build = text_build,
	.body = text_body,
	.heads = text_heads,
};
const struct family clap = {
	.name = "clap",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
