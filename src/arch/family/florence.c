// SPDX-License-Identifier: Apache-2.0
// Florence-2 (Xiao et al. 2023, https://arxiv.org/abs/2311.06242): the features of a picture stand among the tokens that BART's
// encoder reads, its decoder answers.
//
//   pixels -> DaViT -> + position -> (mean of all places, each place) - linear - norm -+
//   ids -> token embedding -------------------> where a token is the image token: <----+-> encoder -> decoder -> head
#include "arch/block/image.h"
#include "arch/family/seq2seq.h"
#include "arch/family/vlm.h"

struct florence {
	int64_t image_token_id;
	int64_t places, frames; // rows of the tables of positions: along a side, in time
	int64_t width;          // of a feature
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct florence *f = s->own = ARENA_NEW(a, struct florence);
	bool bare = s->head->bare, tied = config_bool(c, "tie_word_embeddings", true);
	f->image_token_id = config_size(c, "image_token_id", 51289);
	struct spec *text = resolve_part(c, s, a, "text", "text_config", NULL, s->head,
		(const char *const[]){
			bare ? "language_model." : "model.language_model.", "model.language_model.", "language_model.", NULL });
	const struct spec *tower = resolve_part(c, s, a, "vision", "vision_config", NULL, NULL,
		(const char *const[]){
			bare ? "vision_tower." : "model.vision_tower.", "model.vision_tower.", "vision_tower.", NULL });
	if (!text || !tower || !part_is_usual(c, s, "text") || !part_is_usual(c, s, "vision"))
		return;
	text->tied = tied;
	if (!c->checkpoint->weight_count) { // new files have its names without a prefix of their own
		text->prefix = "";
		((struct spec *)part_of(text, "encoder"))->prefix = "encoder.";
		((struct spec *)part_of(text, "decoder"))->prefix = "decoder.";
	}
	struct config vision;
	config_open_within(&vision, c, "vision_config", a);
	f->places = config_size(&vision, "max_position_embeddings", 50);
	f->frames = config_size(&vision, "max_temporal_embeddings", 100);
	f->width = config_size(&vision, "projection_dim", 1024);
	config_close(&vision);
	if (f->places < 1 || f->frames < 1 || f->width != text->hidden_size)
		config_fail(c, STATUS_BAD_INPUT, "vision_config: projection_dim %lld for a text of %lld", (long long)f->width,
			(long long)text->hidden_size);
}

static const struct florence *own(const struct build *b)
{
	return b->s->own;
}

// The first rows of the table of columns and of that of rows, side by side: [rows, cols, width]
static graph_value positions(struct build *b, graph_value rows, graph_value cols, int64_t width)
{
	struct graph *g = b->g;
	int64_t n = own(b)->places, down = width / 2, right = width - down;
	graph_value zero = graph_i64s(g, 1, (int64_t[]){ 0 });
	graph_value x = op_slice_to(g, WEIGHT(b, "positions.column", "weight", n, right), 0, zero, cols),
		    y = op_slice_to(g, WEIGHT(b, "positions.row", "weight", n, down), 0, zero, rows);
	x = op_expand(g, op_unsqueeze(g, x, 0), op_concat(g, 3, (graph_value[]){ rows, cols, graph_i64s(g, 1, &right) }, 0));
	y = op_expand(g, op_unsqueeze(g, y, 1), op_concat(g, 3, (graph_value[]){ rows, cols, graph_i64s(g, 1, &down) }, 0));
	return op_concat(g, 2, (graph_value[]){ x, y }, 2);
}

// pixels -> [pictures, 1 + places, width]
static graph_value look(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *tower = part_of(b->s, "vision"), *outer = part_enter(b, "vision");
	struct body io = { .pixels = pixels };
	int64_t h = tower->hidden_size;
	graph_enter(g, "vision");
	tower->row->family->body(b, &io);
	graph_leave(g);
	part_leave(b, outer);
	graph_enter(g, "projector");
	graph_value at = positions(b, op_dim(g, io.last, 2), op_dim(g, io.last, 3), h);
	graph_value x = op_add(g, tokens_of(b, io.last), op_reshape(g, at, 3, (int64_t[]){ 1, -1, h }));
	x = op_add(g, x, op_slice(g, WEIGHT(b, "frames", "", own(b)->frames, h), 0, 0, 1));
	x = op_concat(g, 2, (graph_value[]){ op_reduce_mean(g, x, 1, true), x }, 1);
	x = layer_norm_eps(b, "projector.norm", linear(b, "projector", x, h, own(b)->width, false), 1e-5);
	graph_leave(g);
	return x;
}

// The text's halves, and the whole around it.
struct within {
	struct seq2seq halves;
	const struct spec *whole;
};

static void inputs(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct within *in = io->own;
	const struct spec *text = b->s;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	io->ids = b->ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	io->mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	int64_t picture[] = { graph_symbol(g, "image_batch"), part_of(in->whole, "vision")->channels, graph_symbol(g, "height"),
		graph_symbol(g, "width") };
	graph_value pixels = graph_input(g, "pixel_values", DTYPE_F32, 4, picture), is_image, number;
	graph_value tokens = seq2seq_embed(b, &in->halves, "encoder", io->ids);
	part_leave(b, in->whole);
	graph_value rows = op_reshape(g, look(b, pixels), 2, (int64_t[]){ -1, own(b)->width });
	vlm_places_of(b, io->ids, own(b)->image_token_id, &is_image, &number);
	io->embeds = op_where(g, op_unsqueeze(g, is_image, 2), op_gather(g, rows, number, 0), tokens);
	part_leave(b, text);
}

static void build(struct build *b)
{
	struct within in = { .whole = part_enter(b, "text") };
	in.halves = seq2seq_halves(b);
	in.halves.inputs = inputs;
	in.halves.head_bias = false; // the head is this class's own
	seq2seq_build(b, &in.halves);
	part_leave(b, in.whole);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct florence *f = s->own;
	out->image_token_id = f->image_token_id;
	out->image_tokens = 1 + 24 * 24; // of a picture of 768 by 768
}

static const struct family_head heads[] = { { &head_conditional }, { &head_model }, { 0 } };

const struct family florence = {
	.name = "florence",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.graphs = seq2seq_graphs,
	.hints = hints,
	.heads = heads,
};
