// SPDX-License-Identifier: Apache-2.0
// The embeddings of the encoder family: a word, and what its kin add to it before the first norm.
//
//   word (+ type) (+ position) (+ task | + places on the page | joined with shape and sound) - norm - (project)
#include "arch/family/encoder.h"

#include <math.h>

// A size that counts only where a switch is on, and is needed there.
static int64_t size_if(struct config *c, bool on, const char *key)
{
	int64_t n = config_size(c, key, on ? -1 : 0);
	return on ? n : 0;
}

void encoder_resolve_embedding(struct config *c, struct spec *s, struct encoder *e, struct arena *a)
{
	if (config_bool(c, "is_folding_model", false))
		config_fail(c, STATUS_UNSUPPORTED, "is_folding_model: true is not supported yet");
	const char *kind = config_knows(c, "position_embedding_type") ? config_text(c, "position_embedding_type") : NULL;
	e->rotary = kind && text_is(kind, "rotary");
	e->positions = !e->rotary;
	e->rotary_value = config_bool(c, "rotary_value", false);
	e->normed = config_bool(c, "emb_layer_norm_before", true);
	e->mask_ratio = config_bool(c, "token_dropout", false);
	e->mask_token = e->mask_ratio ? config_size(c, "mask_token_id", -1) : 0;
	int64_t languages = size_if(c, config_bool(c, "use_lang_emb", false), "n_langs");
	e->languages = languages > 1 ? languages : 0; // a single one has no table
	e->task_types = size_if(c, config_bool(c, "use_task_id", false), "task_type_vocab_size");
	e->boxes = config_size(c, "max_2d_position_embeddings", 0);
	e->types = config_sizes(c, "type_vocab_sizes", a, 0, &e->type_count);
	e->cell_positions = config_bool(c, "reset_position_index_per_cell", false);
	e->table_rows = config_count(c, "max_num_rows", 0);
	e->table_columns = config_count(c, "max_num_columns", 0);
	e->empty_column = config_bool(c, "allow_empty_column_selection", false);
	if (e->type_count && (e->table_rows < 1 || e->table_columns < 1))
		config_fail(c, STATUS_BAD_INPUT, "a table of %lld rows and %lld columns", (long long)e->table_rows,
			(long long)e->table_columns);
	if (!config_bool(c, "select_one_column", true) &&
		head_how(s) & SELECTS_COLUMN) // the class itself needs the logits of columns then
		config_fail(c, STATUS_UNSUPPORTED, "select_one_column: false is not supported");
	e->aggregations = config_size(c, "num_aggregation_labels", 0);
	e->cell_temperature = e->type_count ? config_real(c, "temperature", 1) : 1;
	if (!(e->cell_temperature > 0))
		config_fail(c, STATUS_BAD_INPUT, "temperature %g", e->cell_temperature);
	e->shapes = size_if(c, config_bool(c, "enable_shape", false), "shape_vocab_size");
	e->sounds = size_if(c, config_bool(c, "enable_pronunciation", false), "pronunciation_vocab_size");
	e->shape_width = config_size(c, "shape_embed_dim", 0);
	e->sound_width = config_size(c, "pronunciation_embed_dim", 0);
	e->depth = config_count(c, "max_depth", 0);
	e->tags = config_size(c, "max_xpath_tag_unit_embeddings", 0);
	e->numbers = config_size(c, "max_xpath_subs_unit_embeddings", 0);
	e->unit = config_size(c, "xpath_unit_hidden_size", 0);
	e->seen_size = config_size(c, "visual_embedding_dim", 0);
	e->shrink = config_size(c, "channel_shrink_ratio", 0);
	e->sides = config_count(c, "dim_bbox", 0);
	e->box_scale = config_real(c, "bbox_scale", 100);
	e->entities = config_size(c, "entity_vocab_size", 0);
	e->entity_width = config_size(c, "entity_emb_size", 0);
	e->aware = config_bool(c, "use_entity_aware_attention", false);
	e->entities_tied = e->entities && s->tied;
	s->tied &= !e->entities; // the words' head is a layer of its own
	encoder_resolve_page(c, s, e, a);
	e->retrieved = config_size(c, "retriever_proj_size", 0);
	if (e->shrink &&
		(s->hidden_size % 6 || s->heads * (s->head_width / e->shrink) != s->hidden_size / e->shrink ||
			s->hidden_size / e->shrink < 1 || s->ffn_size / e->shrink < 1))
		config_fail(c, STATUS_BAD_INPUT, "channel_shrink_ratio %lld does not go together with a width of %lld",
			(long long)e->shrink, (long long)s->hidden_size);
	if (e->sides && (e->sides != 8 || s->hidden_size % 64))
		config_fail(c, STATUS_UNSUPPORTED, "dim_bbox %lld with a width of %lld is not supported yet", (long long)e->sides,
			(long long)s->hidden_size);
	if (e->entities && e->entity_width < 1)
		config_fail(c, STATUS_BAD_INPUT, "entity_emb_size 0");
	if (e->depth > 1024)
		config_fail(c, STATUS_BAD_INPUT, "max_depth %lld", (long long)e->depth);
	if (config_bool(c, "bypass_transformer", false))
		config_fail(c, STATUS_UNSUPPORTED, "bypass_transformer: true is not supported yet");
	e->joined = config_bool(c, "concat_input", false);
	if (config_bool(c, "rescale_embeddings", false))
		s->embedding_scale = sqrt((double)s->hidden_size);
	if (kind) {
		s->rope.theta = config_real(c, "rope_theta", 10000);
		s->rope.factor = 1;
	}
}

// (1 - 0.12) / (1 - share of masked tokens), which are zeros: as if 15 % had been chosen and 80 % of those masked
static graph_value without_masked(struct build *b, const struct body *io, graph_value x)
{
	struct graph *g = b->g;
	const struct encoder *e = b->s->own;
	graph_value masked = op_equal(g, io->ids, graph_i64(g, e->mask_token)); // [batch, seq]
	x = op_where(g, op_unsqueeze(g, masked, 2), graph_f32(g, 0), x);
	graph_value count = op_cast(g, op_reduce_sum(g, op_cast(g, masked, DTYPE_I64), 1, true), DTYPE_F32); // [batch, 1]
	graph_value share = op_div(g, count, op_cast(g, op_reduce_sum(g, io->mask, 1, true), DTYPE_F32));
	graph_value grow = op_div(g, graph_f32(g, (float)(1 - 0.15 * 0.8)), op_sub(g, graph_f32(g, 1), share));
	return op_mul(g, x, op_unsqueeze(g, grow, 2));
}

// Number `i` of the last axis of x [batch, seq, n]: [batch, seq]
static graph_value numbered(struct build *b, graph_value x, int64_t i)
{
	return op_squeeze(b->g, op_slice(b->g, x, 2, i, i + 1), 2);
}

// The four sides of a token's box on the page, its height and its width: six tables, [batch, seq, embedding].
static graph_value on_the_page(struct build *b, graph_value x, graph_value boxes)
{
	struct graph *g = b->g;
	int64_t rows = ((const struct encoder *)b->s->own)->boxes, width = b->s->embedding_size;
	graph_value side[4];
	for (int i = 0; i < 4; i++) {
		side[i] = numbered(b, boxes, i);
		x = op_add(g, x, embedding(b, i % 2 ? "embed.y" : "embed.x", side[i], rows, width));
	}
	x = op_add(g, x, embedding(b, "embed.height", op_sub(g, side[3], side[1]), rows, width));
	return op_add(g, x, embedding(b, "embed.width", op_sub(g, side[2], side[0]), rows, width));
}

// Counted from the first token of the same cell (column and row are types 1 and 2): [batch, seq]
static graph_value within_cells(struct build *b, graph_value types)
{
	struct graph *g = b->g;
	graph_value at = places_of(g, types); // [seq]
	graph_value same = NO_VALUE;
	for (int64_t i = 1; i <= 2; i++) {
		graph_value id = numbered(b, types, i);
		graph_value equal = op_equal(g, op_unsqueeze(g, id, 2), op_unsqueeze(g, id, 1)); // [batch, seq, seq]
		same = same.id ? op_and(g, same, equal) : equal;
	}
	graph_value before = op_where(g, same, op_neg(g, at), graph_i64(g, -b->s->max_positions)); // the first has the greatest
	graph_value first = op_neg(g, op_reduce_max(g, op_cast(g, before, DTYPE_F32), 2, false));
	graph_value position = op_sub(g, at, op_cast(g, first, DTYPE_I64));
	return op_min(g, position, graph_i64(g, b->s->max_positions - 1));
}

static graph_value positions(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	if (s->traits.positions_from_pad) {
		graph_value at = positions_from_pad(b, io->ids);
		if (io->positions.id) // of further tokens: from the first one's on
			at = op_where(g, op_equal(g, io->ids, graph_i64(g, s->pad_token_id)), at,
				op_add(g, at, op_slice(g, io->positions, 1, 0, 1)));
		return embedding(b, "embed.position", at, s->max_positions, s->embedding_size);
	}
	if (e->cell_positions)
		return embedding(b, "embed.position", within_cells(b, io->types), s->max_positions, s->embedding_size);
	if (io->positions.id && !s->traits.position_offset)
		return embedding(b, "embed.position", io->positions, s->max_positions, s->embedding_size);
	graph_value table = WEIGHT(b, "embed.position", "weight", s->max_positions, s->embedding_size);
	if (s->traits.position_offset)
		table = op_slice(g, table, 0, s->traits.position_offset, s->max_positions);
	return op_slice_to(g, table, 0, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, io->ids, 1)); // [seq, embedding]
}

// Where in a document's tree a token stands: at each level a tag and which of its kind it is, a row of a table each
// (MarkupLM: Li et al. 2021, https://arxiv.org/abs/2110.08518).
static graph_value in_the_tree(struct build *b, graph_value tags, graph_value numbers)
{
	struct graph *g = b->g;
	const struct encoder *e = b->s->own;
	int64_t n = b->s->hidden_size;
	graph_value *parts = GRAPH_TABLE(g, NULL, e->depth + 1, 1, graph_value);
	if (!parts)
		return NO_VALUE;
	for (b->item = 0; b->item < e->depth && !graph_failed(b->g); b->item++)
		parts[b->item] = op_add(g, embedding(b, "embed.tag", numbered(b, tags, b->item), e->tags, e->unit),
			embedding(b, "embed.number", numbered(b, numbers, b->item), e->numbers, e->unit)); // [batch, seq, unit]
	graph_value x = e->depth > 1 ? op_concat(g, (int)e->depth, parts, 2) : parts[0];
	x = op_relu(g, linear(b, "embed.tree", x, e->depth * e->unit, 4 * n, true));
	return linear(b, "embed.tree_out", x, 4 * n, n, true);
}

// What a picture's regions look like, after the text: [batch, seq + regions, hidden]
static graph_value with_regions(struct build *b, graph_value x, const struct text_inputs *in)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	graph_value y = linear(b, "embed.seen", in->seen, e->seen_size, s->hidden_size, true); // [batch, regions, hidden]
	y = op_add(g, y, embedding(b, "embed.seen_type", in->seen_types, s->type_vocab_size, s->hidden_size));
	graph_value first =
		embedding(b, "embed.seen_position", graph_i64s(g, 1, (int64_t[]){ 0 }), s->max_positions, s->hidden_size);
	return op_concat(g, 2, (graph_value[]){ x, op_add(g, y, first) }, 1);
}

// An entity, its type, and the mean of the positions of its words; places of -1 are none: [batch, entities, hidden]
graph_value encoder_embed_entities(struct build *b, const struct text_inputs *in)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	int64_t n = s->hidden_size;
	graph_value x = embedding(b, "embed.entity", in->entities, e->entities, e->entity_width);
	if (e->entity_width != n)
		x = linear(b, "embed.entity_project", x, e->entity_width, n, false);
	graph_value zero = graph_i64(g, 0), there = op_cast(g, op_less_or_equal(g, zero, in->entity_places), DTYPE_F32);
	graph_value at = embedding(b, "embed.entity_position", op_max(g, in->entity_places, zero), s->max_positions, n);
	there = op_unsqueeze(g, there, 3);
	graph_value sum = op_reduce_sum(g, op_mul(g, at, there), 2, false);
	x = op_add(g, x, op_div(g, sum, op_max(g, op_reduce_sum(g, there, 2, false), graph_f32(g, 1e-7f))));
	x = op_add(g, x, embedding(b, "embed.entity_type", in->entity_types, s->type_vocab_size, n));
	return layer_norm(b, "embed.entity_norm", x, n);
}

static graph_value types(struct build *b, const struct body *io, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	if (s->type_vocab_size > 1)
		return op_add(g, x, embedding(b, "embed.type", io->types, s->type_vocab_size, s->embedding_size));
	if (s->type_vocab_size == 1) // a constant row
		return op_add(g, x, embedding(b, "embed.type", graph_i64s(g, 1, (int64_t[]){ 0 }), 1, s->embedding_size));
	for (b->item = 0; b->item < e->type_count && !graph_failed(b->g); b->item++)
		x = op_add(
			g, x, embedding(b, "embed.types", numbered(b, io->types, b->item), e->types[b->item], s->embedding_size));
	return x;
}

graph_value encoder_embed(struct build *b, const struct body *io, const struct text_inputs *in)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	graph_enter(g, "embed");
	graph_value x = embedding(b, "embed.word", io->ids, s->vocab_size, s->embedding_size); // [batch, seq, embedding]
	if (TRAITS_OF(s, encoder)->pad_is_zero && s->pad_token_id >= 0)
		x = op_where(g, op_unsqueeze(g, op_equal(g, io->ids, graph_i64(g, s->pad_token_id)), 2), graph_f32(g, 0), x);
	if (s->embedding_scale > 0)
		x = op_scale(g, x, (float)s->embedding_scale);
	if (e->mask_ratio)
		x = without_masked(b, io, x);
	graph_value seen = in->shapes.id ? embedding(b, "embed.shape", in->shapes, e->shapes, e->shape_width) : NO_VALUE;
	graph_value heard = in->sounds.id ? embedding(b, "embed.sound", in->sounds, e->sounds, e->sound_width) : NO_VALUE;
	if (e->joined) {
		graph_value all[] = { x, seen.id ? seen : heard, heard };
		int64_t width = s->embedding_size + (seen.id ? e->shape_width : 0) + (heard.id ? e->sound_width : 0);
		int count = 1 + (seen.id != 0) + (heard.id != 0);
		x = linear(b, "embed.join", count > 1 ? op_concat(g, count, all, 2) : x, width, s->embedding_size, true);
	}
	x = types(b, io, x);
	if (e->positions && weight_named(b, "embed.position"))
		x = op_add(g, x, positions(b, io));
	if (e->languages)
		x = op_add(g, x, embedding(b, "embed.language", in->language, e->languages, s->embedding_size));
	if (e->task_types)
		x = op_add(g, x, embedding(b, "embed.task", in->task, e->task_types, s->embedding_size));
	if (in->tags.id)
		x = op_add(g, x, in_the_tree(b, in->tags, in->numbers));
	if (in->seen.id)
		x = with_regions(b, x, in);
	if (e->side_width)
		x = op_add(g, x, encoder_page_places(b, in->boxes));
	else if (in->boxes.id && !e->shrink && !e->sides)
		x = on_the_page(b, x, in->boxes);
	if (e->normed && weight_named(b, "embed.norm"))
		x = layer_norm(b, "embed.norm", x, s->embedding_size);
	if (!e->joined && (seen.id || heard.id)) {
		x = seen.id ? op_add(g, x, seen) : x;
		x = heard.id ? op_add(g, x, heard) : x;
		x = op_scale(g, x, 1 / (float)(1 + (seen.id != 0) + (heard.id != 0)));
	}
	if (TRAITS_OF(s, encoder)->padding_zeroed)
		x = op_mul(g, x, op_unsqueeze(g, op_cast(g, io->mask, DTYPE_F32), 2));
	if (weight_named(b, "embed.project") && (s->embedding_size != s->hidden_size || TRAITS_OF(s, encoder)->always_projected))
		x = linear(b, "embed.project", x, s->embedding_size, s->hidden_size, true);
	graph_leave(g);
	return x; // [batch, seq, hidden]
}
