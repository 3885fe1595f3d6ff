// SPDX-License-Identifier: Apache-2.0
// Tensors of a file that no graph reads, and that are not what a graph has in their place: what a class computes and keeps in
// its files (persistent buffers of torch), and the second name of a tensor that a class ties. transformers 5 takes each as the
// file has it.
#include "arch/unread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arch/block/block.h"
#include "base/text.h"

#define AT(type, w, i) (*(const type *)memcpy(&(type){ 0 }, (const char *)(w)->data + (i) * sizeof(type), sizeof(type)))

// Element i; NaN for a type that no buffer has.
static double number_at(const struct weight *w, size_t i)
{
	switch (w->dtype) {
	case DTYPE_F64:
		return AT(double, w, i);
	case DTYPE_F32:
		return AT(float, w, i);
	case DTYPE_F16:
		return f32_of_f16(AT(uint16_t, w, i));
	case DTYPE_BF16:
		return f32_of_bf16(AT(uint16_t, w, i));
	case DTYPE_I64:
		return (double)AT(int64_t, w, i);
	case DTYPE_I32:
		return AT(int32_t, w, i);
	case DTYPE_I16:
		return AT(int16_t, w, i);
	case DTYPE_I8:
		return AT(int8_t, w, i);
	case DTYPE_U64:
		return (double)AT(uint64_t, w, i);
	case DTYPE_U32:
		return AT(uint32_t, w, i);
	case DTYPE_U16:
		return AT(uint16_t, w, i);
	case DTYPE_U8:
	case DTYPE_BOOL:
		return AT(uint8_t, w, i);
	default:
		return NAN;
	}
}

// Names of one file may share their bytes, and no more are looked at than the files have a few times.
struct look {
	const struct build *b;
	uint64_t left; // bytes
	bool is_over;
};

static bool may_look(struct look *l, const struct weight *w)
{
	l->is_over = l->is_over || w->nbytes > l->left;
	l->left -= l->is_over ? 0 : w->nbytes;
	return !l->is_over;
}

static bool are_all(
	struct look *l, const struct weight *w, const struct spec *s, double (*of)(const struct spec *s, size_t i, size_t n))
{
	if (!may_look(l, w))
		return true;
	const size_t count = w->nbytes / dtype_size(w->dtype), n = w->rank ? (size_t)w->dim[w->rank - 1] : 1;

	for (size_t i = 0; i < count; i++)
		if (number_at(w, i) != of(s, i, n))
			return false;
	return true;
}

static double position(const struct spec *s, size_t i, size_t n)
{
	return (double)(i % n) + (double)s->traits.position_offset;
}

static double zero(const struct spec *s, size_t i, size_t n)
{
	return (void)s, (void)i, (void)n, 0;
}

// Of Swin's square windows of n places (Liu et al. 2021, section 3.2): (dy + window - 1) (2 window - 1) + dx + window - 1.
static double relative_place(const struct spec *s, size_t i, size_t n)
{
	const int64_t window = (int64_t)sqrt((double)n), a = (int64_t)(i / n), b = (int64_t)(i % n);

	(void)s;
	return (double)((a / window - b / window + window - 1) * (2 * window - 1) + a % window - b % window + window - 1);
}

static bool is_square_window(const struct weight *w)
{
	const int64_t n = w->rank == 2 ? w->dim[0] : 0, window = (int64_t)sqrt((double)n);

	return n > 0 && n == w->dim[1] && window * window == n;
}

// What a graph has for this buffer; NULL: it is that, or no buffer that is known.
static const char *other_buffer(struct look *l, const struct spec *s, const struct weight *w)
{
	if (text_ends(w->name, "position_ids"))
		return are_all(l, w, s, position) ? NULL : "the positions that are computed here";
	if (text_ends(w->name, "embeddings.token_type_ids"))
		return are_all(l, w, s, zero) ? NULL : "the types that are taken here, which are zeros";
	if (text_ends(w->name, "relative_position_index") && is_square_window(w))
		return are_all(l, w, s, relative_place) ? NULL : "the places that are computed here";
	return NULL;
}

static const char *other_copy(struct look *l, const struct weight *w, const char *name)
{
	const struct checkpoint *c = l->b->c;
	const struct weight *x = checkpoint_find(c, name);

	if (!x || x == w || !x->data || !l->b->read[x - c->weights] || !may_look(l, w))
		return NULL;
	return x->nbytes != w->nbytes || x->dtype != w->dtype || memcmp(x->data, w->data, w->nbytes) ? x->name : NULL;
}

// The heads of a detector, under a second name: of its decoder or beside it, of one layer or of the first.
static const char *other_head(struct look *l, const struct weight *w)
{
	static const char within[] = "model.decoder.", *const heads[] = { "bbox_embed.", "class_embed." };
	const bool is_within = text_starts(w->name, within);
	const char *name = w->name + (is_within ? strlen(within) : 0), *found = NULL;
	struct arena *a = graph_arena(l->b->g);
	char *end;

	for (size_t i = 0; i < sizeof heads / sizeof *heads && !found; i++) {
		if (!text_starts(name, heads[i]))
			continue;
		found = other_copy(l, w, is_within ? name : arena_printf(a, "%s%s", within, name));
		if (!found && strtoll(name + strlen(heads[i]), &end, 10) > 0 && *end == '.')
			found = other_copy(l, w, arena_printf(a, "%s%s0%s", is_within ? within : "", heads[i], end));
	}
	return found;
}

// A buffer is of the whole model or of one of its parts: what each that takes it from the file has in its place.
static const char *other_in_all(struct look *l, const struct spec *s, const struct weight *w, bool *is_same)
{
	const char *other = s->row->dialect->keeps_buffers ? other_buffer(l, s, w) : NULL;

	*is_same = *is_same || (s->row->dialect->keeps_buffers && !other);
	for (int i = 0; i < PARTS_MOST; i++) {
		const char *of_part = s->parts[i].spec ? other_in_all(l, s->parts[i].spec, w, is_same) : NULL;
		other = other ? other : of_part;
	}
	return other;
}

// What a graph has for this tensor; NULL: nothing, or the same.
static const char *other_of(struct look *l, const struct weight *w)
{
	if (!w->data)
		return NULL;
	bool is_same = false;
	const char *other = other_in_all(l, l->b->s, w, &is_same);
	return other && !is_same ? other : other_head(l, w);
}

enum status unread_check(const struct build *b, struct error *err)
{
	enum { TIMES = 4 };
	const struct checkpoint *c = b->c;
	struct look l = { .b = b };

	for (size_t i = 0; i < c->shard_count; i++)
		l.left += (uint64_t)TIMES * c->shards[i].nbytes;
	for (size_t i = 0; i < c->weight_count; i++) {
		const struct weight *w = &c->weights[i];
		const char *other = b->read[i] ? NULL : other_of(&l, w);

		if (l.is_over)
			return error_set(err, STATUS_BAD_INPUT,
				"%s: the tensors up to %s that %s does not compute with share its bytes more than %d times",
				w->shard->path, w->name, b->s->class_name, TIMES);
		if (other)
			return error_set(err, STATUS_UNSUPPORTED, "%s: the tensor %s has other numbers than %s, and %s takes it",
				w->shard->path, w->name, other, b->s->class_name);
	}
	return STATUS_OK;
}
