// SPDX-License-Identifier: Apache-2.0
// asked.h: rows to fields, fields to words.
#include "analysis/asked.h"

#include "base/text.h"
#include "question/standing.h"
#include "run/cell.h"

_Static_assert(ASKED_COUNT <= 64, "a field is a bit of uint64_t");

const char *asked_name(enum asked_field f)
{
	static const char *const names[] = {
#define X(code, name) [ASKED_##code] = name,
		ASKED_LIST(X)
#undef X
	};

	return f < ASKED_QUESTION ? names[f] : question_members[f - ASKED_QUESTION].name;
}

static const char *number(struct arena *a, int64_t n)
{
	return n > 0 ? arena_printf(a, "%lld", (long long)n) : NULL;
}

static const char *word(const char *text)
{
	return text && *text ? text : NULL;
}

// Two cells of the same size as far as it was asked for.
static bool same_size(const struct cell *x, const struct cell *y)
{
	const struct question *p = &x->question, *q = &y->question;

	return text_is(x->model, y->model) && p->sequence == q->sequence && p->batch == q->batch && p->layers == q->layers &&
		p->new_tokens == q->new_tokens && p->image_size == q->image_size && text_is(p->shapes, q->shapes) &&
		text_is(p->dims, q->dims) && text_is(p->inputs, q->inputs);
}

// A size that the row has, or one that was asked the same; 0: none of them knows.
static int64_t as_run(const struct side_row *r, size_t member, const struct side *const *sides, size_t side_count)
{
	const int64_t *own = (const int64_t *)((const char *)&r->row + member);

	if (*own != ROW_NONE)
		return *own;
	for (size_t k = 0; k < side_count; k++)
		for (size_t i = 0; i < sides[k]->count; i++) {
			const struct side_row *other = &sides[k]->rows[i];
			const int64_t *its = (const int64_t *)((const char *)&other->row + member);
			if (*its != ROW_NONE && same_size(&r->question.cell, &other->question.cell))
				return *its;
		}
	return 0;
}

// What shapes, dimensions and inputs that were asked for make of the batch, only a row that ran knows.
static int64_t batch_of(const struct side_row *r, const struct side *const *sides, size_t side_count)
{
	const struct cell *c = &r->question.cell;

	if (c->batch > 1 || !(c->shapes || c->dims || c->inputs))
		return c->batch > 0 ? c->batch : 1;
	return as_run(r, offsetof(struct row, batch), sides, side_count);
}

static int64_t length_of(const struct side_row *r, const struct side *const *sides, size_t side_count)
{
	const int64_t asked = r->question.cell.sequence;

	return asked > 0 ? asked : as_run(r, offsetof(struct row, sequence), sides, side_count);
}

void asked_of(struct asked *out, struct arena *a, const struct side_row *r, const struct side *const *sides, size_t side_count)
{
	const struct cell *c = &r->question.cell;
	const struct row *row = &r->row;
	// A rebuilt question lacks what the row itself may have.
	int64_t prompt = c->prompt_tokens ? c->prompt_tokens : row->prompt_tokens == ROW_NONE ? 0 : row->prompt_tokens;
	int64_t fresh = c->new_tokens ? c->new_tokens : row->new_tokens == ROW_NONE ? 0 : row->new_tokens;

	*out = (struct asked){ 0 };
	out->field[ASKED_MODEL] = c->model;
	out->field[ASKED_FILES] = row->model_sha256;
	out->field[ASKED_WEIGHTS] = cell_weights_word(c);
	out->field[ASKED_LAYERS] = number(a, c->layers);
	out->field[ASKED_PROMPT] = number(a, prompt);
	out->field[ASKED_NEW] = number(a, fresh);
	out->field[ASKED_PLATFORM] = c->requested ? c->requested : c->platform;
	// A further try of --fallback answers the same question on another platform: its times are that one's.
	out->field[ASKED_INSTEAD] = row_is_instead(row) ? row->tried : NULL;
	out->field[ASKED_DEVICE] = word(c->device);
	out->field[ASKED_OPTIONS] = word(r->question.own_options);
	out->field[ASKED_SHAPES] = c->is_static ? "static" : c->is_dynamic ? "dynamic" : NULL;
	out->field[ASKED_SEED] = number(a, (int64_t)c->seed);
	out->field[ASKED_GOLDEN] = word(c->golden);
	// Inputs from a file have its shapes, whatever the defaults are, and a whole pipeline makes its own.
	bool has_shapes = c->golden == NULL && row->golden_file == NULL && c->pipeline_asked == NULL;
	out->field[ASKED_BATCH] = has_shapes ? number(a, batch_of(r, sides, side_count)) : NULL;
	out->field[ASKED_SEQUENCE] = has_shapes && fresh <= 0 ? number(a, length_of(r, sides, side_count)) : NULL;
	for (size_t i = 0; i < QUESTION_COUNT; i++)
		if (question_tells((enum question_at)i))
			out->field[ASKED_QUESTION + i] = member_word(&question_members[i], a, &c->question);
	if (c->profile)
		out->field[ASKED_QUESTION + QUESTION_AT_profile] = "";
}

bool asked_same(const struct asked *x, const struct asked *y, uint64_t leave)
{
	for (unsigned f = 0; f < ASKED_COUNT; f++) {
		bool same = f == ASKED_FILES ? text_agree(x->field[f], y->field[f]) : text_is(x->field[f], y->field[f]);

		if (!same && !(leave >> f & 1))
			return false;
	}
	return true;
}

bool asked_other_files(const struct asked *x, const struct asked *y)
{
	return text_is(x->field[ASKED_MODEL], y->field[ASKED_MODEL]) && !text_agree(x->field[ASKED_FILES], y->field[ASKED_FILES]);
}

void asked_learn(struct asked *x, const struct asked *y)
{
	if (!x->field[ASKED_FILES])
		x->field[ASKED_FILES] = y->field[ASKED_FILES];
}

// What the device is one of.
static enum asked_field place_of(const struct asked *x)
{
	return x->field[ASKED_INSTEAD] ? ASKED_INSTEAD : ASKED_PLATFORM;
}

const char *asked_words(struct arena *a, const struct asked *x, uint64_t leave)
{
	struct text t = { 0 };

	for (unsigned f = 0; f < ASKED_COUNT; f++) {
		const char *v = x->field[f], *comma = t.length ? ", " : "";

		if (!v || leave >> f & 1)
			continue;
		switch (f) {
		case ASKED_MODEL:
			text_addf(&t, "%s%s", comma, v);
			break;
		case ASKED_FILES:
			text_addf(&t, "%sfiles %.8s", comma, v);
			break;
		case ASKED_PLATFORM:
			text_addf(&t, "%s%s", t.length ? " on " : "on ", v);
			break;
		case ASKED_INSTEAD:
			text_addf(&t, "%sin its place %s", comma, v);
			break;
		case ASKED_DEVICE:
			text_addf(&t, "%s%s", t.length && !(leave >> place_of(x) & 1) ? ":" : comma, v);
			break;
		case ASKED_OPTIONS:
			text_addf(&t, "%s%s", t.length ? " " : "", v);
			break;
		case ASKED_WEIGHTS:
			text_addf(&t, text_is(v, "real") ? "" : "%s%s weights", comma, v);
			break;
		case ASKED_PROMPT:
		case ASKED_NEW:
		case ASKED_LAYERS:
		case ASKED_SEQUENCE:
			text_addf(&t, "%s%s %s", comma, v, asked_name((enum asked_field)f));
			break;
		case ASKED_SHAPES:
			text_addf(&t, "%s%s shapes", comma, v);
			break;
		default:
			text_addf(&t, *v ? "%s%s %s" : "%s%s", comma, asked_name((enum asked_field)f), v);
		}
	}
	const char *out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

const char *asked_qualifiers(
	struct arena *a, const struct asked *x, uint64_t leave, const struct side_row *const *rows, size_t count)
{
	static const struct {
		enum asked_field field;
		unsigned which;
	} said[] = {
		{ ASKED_WEIGHTS, QUALIFY_WEIGHTS },
		{ ASKED_LAYERS, QUALIFY_LAYERS },
		{ ASKED_QUESTION + QUESTION_AT_precision, QUALIFY_PRECISION },
	};
	const char **words = ARENA_ARRAY(a, count + 1, const char *);
	unsigned which = QUALIFY_ALL;

	for (size_t i = 0; i < sizeof said / sizeof *said; i++)
		if (x->field[said[i].field] && !text_is(x->field[said[i].field], "real") && !(leave >> said[i].field & 1))
			which &= ~said[i].which;
	for (size_t i = 0; i < count; i++)
		words[i] = row_qualifiers(a, &rows[i]->row, which);
	return qualifiers_of_all(a, words, count);
}
