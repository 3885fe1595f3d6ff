// SPDX-License-Identifier: Apache-2.0
// MGP-STR (Wang et al. 2022, https://arxiv.org/abs/2209.03592): a vision transformer reads a word in a picture, in characters and
// in two kinds of subwords at once. For each kind each place of the word has a learned attention over the patches.
//
//   pixels -> [class, patches] + positions -> layers -> for each kind: norm -+- 1x1 in groups - 1x1 - softmax over patches -+
//                                                                            +- 1x1 in groups ----------------------------- x -
//   - norm - linear -> logits
#include "arch/block/image.h"
#include "arch/family/vitdet.h"

enum { KINDS = 3, GROUPS = 8 };

// spec.own of the family.
struct mgp_str {
	int64_t length, words[KINDS]; // places of a word; how many characters, byte pairs and word pieces there are
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct mgp_str *o = ARENA_NEW(a, struct mgp_str);
	s->own = o;
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	s->act = ACT_GELU;
	if (s->head == &head_scene_text) {
		o->length = config_size(c, "max_token_length", 27);
		o->words[0] = config_size(c, "num_character_labels", 38);
		o->words[1] = config_size(c, "num_bpe_labels", 50257);
		o->words[2] = config_size(c, "num_wordpiece_labels", 30522);
	}
	if (config_bool(c, "distilled", false))
		config_fail(c, STATUS_UNSUPPORTED, "distilled: true has a position for a token that there is not");
	if (!c->error.status && (s->hidden_size % GROUPS || s->ffn_size < 1))
		config_fail(c, STATUS_BAD_INPUT, "hidden_size %lld is not in %d groups", (long long)s->hidden_size, GROUPS);
	for (int i = 0; i < KINDS && s->head == &head_scene_text && !c->error.status; i++)
		if (o->words[i] < 1 || o->length < 1)
			config_fail(
				c, STATUS_BAD_INPUT, "max_token_length %lld, or a number of labels is 0", (long long)o->length);
}

static graph_value embed(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, stride[] = { s->patch_size, s->patch_width }, none[4] = { 0 }, one[] = { 1, 1 },
		n = s->image_size / s->patch_size * (s->image_width / s->patch_width);
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, s->patch_size, s->patch_width);
	graph_value x = tokens_of(b, op_conv(g, pixels, w, WEIGHT(b, "embed.patch", "bias", h), stride, none, one, 1));
	x = op_concat(g, 2, (graph_value[]){ each_image(b, WEIGHT(b, "embed.class", "", 1, 1, h), pixels), x }, 1);
	return op_add(g, x, WEIGHT(b, "embed.position", "", 1, n + 1, h));
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value x = embed(b, io->pixels);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = op_add(g, x, vitdet_attention(b, layer_norm(b, "layers.attn.norm", x, h), 0, 0, false));
		x = op_add(g, x, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", layer_norm(b, "layers.ffn.norm", x, h)));
		graph_leave(g);
	}
	io->last = x;
}

static void build_words(struct build *b, const struct body *io)
{
	static const char *const kinds[] = { "char", "bpe", "wp" };
	struct graph *g = b->g;
	const struct mgp_str *o = b->s->own;
	int64_t h = b->s->hidden_size;
	for (int i = 0; i < KINDS && !graph_failed(g); i++) {
		b->item_name = kinds[i];
		graph_enter(g, "%s", kinds[i]);
		graph_value x = op_transpose(g, layer_norm(b, "choice.norm", io->last, h), 3, (int[]){ 0, 2, 1 });
		x = op_unsqueeze(g, x, 3); // [batch, hidden, tokens, 1]
		const struct conv grouped = { .out = h, .kernel = 1, .group = GROUPS };
		graph_value share =
			conv(b, "choice.1", conv(b, "choice.0", x, grouped), (struct conv){ .out = o->length, .kernel = 1 });
		share = op_softmax(g, op_squeeze(g, share, 3), 2); // [batch, length, tokens]
		x = op_matmul(g, share, tokens_of(b, conv(b, "choice.value", x, grouped)));
		x = linear(b, "head.words", layer_norm(b, "choice.out.norm", x, h), h, o->words[i], true);
		graph_leave(g);
		graph_output(g, arena_printf(graph_arena(g), "logits.%d", i), x); // [batch, length, words]
	}
}

static const struct family_head heads[] = {
	{ &head_scene_text, build_words },
	{ &head_model, head_give_last },
	{ 0 },
};

const struct family mgp_str = {
	.name = "mgp-str",
	.architecture = "vision",
	.resolve = resolve,
	.build = picture_build,
	.body = body,
	.heads = heads,
};
