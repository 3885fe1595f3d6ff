// SPDX-License-Identifier: Apache-2.0
// The matrix of a report: which cells stand in one line and may be compared, who is fastest in it, how many models run.
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "question/standing.h"
#include "onnx/precision.h"
#include "report/gather.h"

static void count_cell(struct report_counts *n, const struct report_cell *c)
{
	n->total += !c->is_foreign;
	n->good += c->is_good && !c->is_not_valid;
	if (c->is_running)
		n->running++;
	else if (c->is_foreign)
		n->imported++;
	else if (c->is_stand_in)
		n->stood_in++;
	else if (c->is_elsewhere)
		n->elsewhere++;
	else
		n->of[c->verdict]++;
}

const char *report_computed_in(const struct row *r)
{
	return text_is(r->compute_dtype, "none") ? NULL : r->compute_dtype;
}

static bool same_graph_and_options(const struct store_question *x, const struct store_question *y)
{
	return text_is(x->own_options, y->own_options) && x->cell.is_static == y->cell.is_static &&
		x->cell.is_dynamic == y->cell.is_dynamic;
}

// What was fed and what judged, too: a later answer about other inputs, or by another measure, takes nothing back.
static bool same_question(const struct store_question *x, const struct store_question *y)
{
	return text_is(x->own_options, y->own_options) && question_agrees(&x->cell.question, &y->cell.question, QUESTION_ASKED);
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

const char *report_asked_beside(struct arena *a, const struct store_question *q)
{
	const char *golden = q->cell.golden, *data = q->cell.data;
	const char *const words[] = {
		q->cell.is_static            ? "fixed shapes"
			: q->cell.is_dynamic ? "open shapes"
					     : NULL,
		q->own_options,
		q->cell.profile ? "profiled" : NULL,
		q->cell.seed != 0 ? arena_printf(a, "seed %lld", (long long)q->cell.seed) : NULL,
		golden != NULL ? arena_printf(a, "golden file %s", file_name(golden)) : NULL,
		data != NULL ? arena_printf(a, "examples of %s", file_name(data)) : NULL,
		q->cell.max_loss != NULL ? arena_printf(a, "may lose %s", q->cell.max_loss) : NULL,
		q->cell.shapes != NULL ? arena_printf(a, "shapes %s", q->cell.shapes) : NULL,
		q->cell.dims != NULL ? arena_printf(a, "dimensions %s", q->cell.dims) : NULL,
		q->cell.inputs != NULL ? arena_printf(a, "inputs %s", q->cell.inputs) : NULL,
	};
	const char *out = NULL;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		out = arena_join(a, out, ", ", words[i]);
	return out;
}

// Of what fits_line wants to be equal: every question is held against every line.
static uint64_t key_of(const struct report_cell *c)
{
	const struct row *r = &c->row;
	const uint64_t parts[] = { fnv1a64_text(r->model), fnv1a64_text(c->machine), c->is_imported, fnv1a64_text(r->source),
		(uint64_t)r->layers, (uint64_t)r->new_tokens, fnv1a64_text(c->question.own_options),
		question_digest(&c->asked, QUESTION_ROW), question_digest(&c->asked, QUESTION_TUNED),
		question_digest(&c->asked, QUESTION_JUDGED), question_digest(&c->question.cell.question, QUESTION_ASKED) };

	return fnv1a64(parts, sizeof parts);
}

int64_t report_sequence(const struct report_cell *c)
{
	const struct cell *asked = &c->question.cell;
	const int64_t own = row_question_sequence(&c->row);

	return own == ROW_NONE && asked->sequence > 0 && asked->pipeline_asked == NULL && !verdict_ran(c->verdict)
		? asked->sequence
		: own;
}

// What did not run and was asked for no length was asked for the default, which only those know that ran with it.
static bool fits_length(const struct report_line *l, const struct report_cell *c)
{
	const int64_t sequence = report_sequence(c);

	if (l->sequence == sequence)
		return true;
	return l->sequence == ROW_NONE ? c->question.cell.sequence <= 0 : sequence == ROW_NONE && l->has_default_length;
}

// What a cell computed in is an answer and no part of the question: the cell says it where it is not what its line says.
static bool fits_line(const struct report_line *l, const struct report_cell *c)
{
	const struct row *r = &c->row;

	return (l->batch == r->batch || l->batch == ROW_NONE || r->batch == ROW_NONE) && fits_length(l, c) &&
		l->layers == r->layers && l->new_tokens == r->new_tokens && text_is(l->model, r->model) &&
		text_is(l->machine, c->machine) && l->is_imported == c->is_imported && text_agree(l->weights, r->weights) &&
		text_agree(l->model_sha256, r->model_sha256) && question_same(&l->asked, &c->asked) &&
		text_is(l->source, r->source) && same_question(l->question, &c->question);
}

static void add_to_line(struct report_line *l, const struct report_cell *c)
{
	const struct row *r = &c->row;

	l->question = &c->question;
	l->model = r->model;
	l->model_key = fnv1a64_text(r->model);
	l->name = report_model_name(r->model);
	l->machine = c->machine;
	l->is_imported = c->is_imported;
	l->layers = r->layers;
	l->new_tokens = r->new_tokens;
	l->source = r->source;
	l->is_fitted = r->fitted != NULL;
	l->asked = c->asked;
	l->model_type = l->model_type != NULL ? l->model_type : r->model_type;
	l->architecture = l->architecture != NULL ? l->architecture : r->architecture;
	l->weights = l->weights != NULL ? l->weights : r->weights;
	l->weights_from = l->weights_from != NULL ? l->weights_from : r->weights_from;
	l->model_sha256 = l->model_sha256 != NULL ? l->model_sha256 : r->model_sha256;
	if (report_computed_in(r) != NULL && (l->compute_dtype == NULL || text_is(r->compute_dtype, "f32")))
		l->compute_dtype = r->compute_dtype;
	l->batch = l->batch != ROW_NONE ? l->batch : r->batch;
	l->sequence = l->sequence != ROW_NONE ? l->sequence : report_sequence(c);
	l->has_default_length = l->has_default_length || c->question.cell.sequence <= 0;
}

static bool is_pipeline(const struct report_line *l)
{
	return l->question->cell.pipeline_asked != NULL;
}

bool report_same_model(const struct report_line *x, const struct report_line *y)
{
	if (x->model_key != y->model_key || !text_is(x->model, y->model))
		return false;
	// The identity of a whole pipeline is of more files.
	const bool of_alike = is_pipeline(x) == is_pipeline(y);
	const bool made_alike =
		of_alike && x->layers == y->layers && x->is_fitted == y->is_fitted && text_is(x->weights, y->weights);

	return !made_alike || text_agree(x->model_sha256, y->model_sha256);
}

const char *report_files_words(struct arena *a, const struct summary *s, const struct report_line *l)
{
	for (size_t i = 0; i < s->line_count && l->model_sha256 != NULL; i++)
		if (text_is(s->lines[i].model, l->model) && !report_same_model(&s->lines[i], l))
			return arena_printf(a, "model files %.8s", l->model_sha256);
	return NULL;
}

// "in FOLDER", where a model of another folder has the same name; NULL: its name tells.
static const char *folder_words(struct arena *a, const struct summary *s, const struct report_line *l)
{
	const size_t n = l->model != NULL ? strlen(l->model) - strlen(l->name) : 0;

	for (size_t i = 0; i < s->line_count && n > 1; i++)
		if ((s->lines[i].model_key != l->model_key || !text_is(s->lines[i].model, l->model)) &&
			text_is(s->lines[i].name, l->name))
			return arena_printf(a, "in %.*s", (int)n - 1, l->model);
	return NULL;
}

// Of a line about --data, where another one of the model is about other examples of that name; NULL: its name tells.
static const char *examples_words(struct arena *a, const struct summary *s, const struct report_line *l)
{
	const char *data = l->question->cell.data;

	for (size_t i = 0; i < s->line_count && data != NULL; i++) {
		const char *other = s->lines[i].question->cell.data;

		if (other != NULL && report_same_model(&s->lines[i], l) && text_is(file_name(other), file_name(data)) &&
			!text_is(s->lines[i].asked.data, l->asked.data))
			return text_is(l->asked.data, data) ? "whose contents are not known"
							    : arena_printf(a, "whose contents are %.8s", l->asked.data);
	}
	return NULL;
}

// `files`: which of several of that name it is, which is asked of all other lines.
static const char *variant_of(
	struct arena *a, const struct report_line *l, bool with_options, const char *files, const struct summary *s)
{
	const char *out = l->batch != ROW_NONE ? arena_printf(a, "batch %lld", (long long)l->batch) : NULL;
	const struct cell *asked = &l->question->cell;

	// Two questions of a graph in which no batch is known are told apart by what was asked.
	if (l->batch == ROW_NONE && l->source == NULL && asked->batch > 1 && asked->golden == NULL)
		out = arena_printf(a, "batch %lld asked, not known", (long long)asked->batch);
	if (l->sequence != ROW_NONE)
		out = arena_join(a, out, ", ", arena_printf(a, "%lld tokens", (long long)l->sequence));
	if (l->new_tokens > 0 && l->source != NULL) // other tools time the whole test
		out = arena_join(a, out, ", ", arena_printf(a, "time of all %lld generated", (long long)l->new_tokens));
	else if (l->new_tokens != ROW_NONE && l->source == NULL)
		out = arena_join(a, out, ", ", arena_printf(a, "time of each of %lld generated", (long long)l->new_tokens));
	if (with_options)
		out = arena_join(a, out, ", ", l->asked.precision != NULL ? l->asked.precision : l->compute_dtype);
	if (with_options && l->asked.threads > 0)
		out = arena_join(a, out, ", ",
			arena_printf(a, "%lld thread%s", (long long)l->asked.threads, l->asked.threads == 1 ? "" : "s"));
	const char *more = question_words(a, &l->asked);
	out = arena_join(a, out, ", ", *more ? more : NULL);
	if (asked->pipeline_asked != NULL && l->asked.pipeline == NULL) // it failed before its task was known
		out = arena_join(a, out, ", ", "a whole pipeline");
	out = arena_join(a, out, ", ", files);
	if (with_options)
		out = arena_join(a, out, ", ", arena_join(a, report_asked_beside(a, l->question), ", ", examples_words(a, s, l)));
	if (l->source != NULL && s->machine_count > 1 && l->machine != NULL) // its file names it at best
		out = arena_join(a, out, ", ", arena_printf(a, "machine %s", l->machine));
	else if (l->source == NULL && s->own_machine_count > 1)
		out = arena_join(a, out, ", ", arena_printf(a, "machine %.8s", l->machine != NULL ? l->machine : "?"));
	if (l->is_imported && s->imported_count < s->cell_count)
		out = arena_join(a, out, ", ", "imported");
	return out != NULL ? out : "";
}

static const char *own_words(struct arena *a, const struct report_line *l, const struct report_cell *c)
{
	const char *in = report_computed_in(&c->row);

	if (in == NULL || text_is(in, l->compute_dtype) || row_qualifiers(a, &c->row, QUALIFY_PRECISION) != NULL)
		return c->own_qualifiers;
	return arena_printf(a, "computed in %s%s%s", in, c->own_qualifiers != NULL ? ", " : "",
		c->own_qualifiers != NULL ? c->own_qualifiers : "");
}

static const char *warning_of(struct arena *a, const struct report_line *l)
{
	struct row r;

	row_init(&r);
	r.weights = l->weights;
	r.weights_from = l->weights_from;
	r.layers = l->layers;
	r.source = l->source;
	return row_qualifiers(a, &r, QUALIFY_ALL);
}

// A device that need not be named: that of the platform's first route, of a stand-in's, or what another tool calls its own.
static bool is_usual_device(const struct report_cell *c)
{
	const struct platform *p = c->row.requested != NULL ? platform_find(c->row.requested) : NULL;

	return c->is_foreign || p == NULL || report_computes_nothing(c) || text_is(c->asked_device, p->routes[0].device);
}

static bool has_device(const struct report_cell *c)
{
	return c->asked_device != NULL && *c->asked_device != '\0';
}

bool report_is_cpu(const struct report_cell *c)
{
	return text_is(c->row.requested, "cpu") && (!has_device(c) || is_usual_device(c));
}

// Were other devices of its platform asked for? `of_each`: a cell of each platform and device, imported ones apart.
static bool is_one_of_several(const struct report_cell *c, const struct report_cell *const *of_each, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (of_each[i]->is_foreign == c->is_foreign && text_is(of_each[i]->row.requested, c->row.requested) &&
			!text_is(of_each[i]->asked_device, c->asked_device))
			return true;
	return false;
}

// A platform's name says its device where that is not the usual one, or cells asked for more than one.
static void name_platforms(struct summary *out, struct arena *a)
{
	const struct report_cell **of_each = ARENA_ARRAY(a, out->cell_count + 1, const struct report_cell *);
	size_t count = 0;

	for (size_t i = 0, k; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i];
		for (k = 0; k < count; k++)
			if (of_each[k]->is_foreign == c->is_foreign && text_is(of_each[k]->row.requested, c->row.requested) &&
				text_is(of_each[k]->asked_device, c->asked_device))
				break;
		if (k == count)
			of_each[count++] = c;
	}
	for (size_t i = 0; i < out->cell_count; i++) {
		struct report_cell *c = &out->cells[i];
		c->platform = c->row.requested != NULL ? c->row.requested : "?";
		if (has_device(c) && (!is_usual_device(c) || is_one_of_several(c, of_each, count)))
			c->platform = arena_printf(a, "%s:%s", c->row.requested, c->asked_device);
	}
}

static void qualify_columns(struct summary *out, struct arena *a)
{
	const char **words = ARENA_ARRAY(a, out->cell_count + 1, const char *);

	for (size_t k = 0; k < out->column_count; k++) {
		size_t n = 0;
		for (size_t i = 0; i < out->cell_count; i++)
			if (out->cells[i].column == k && out->cells[i].is_good)
				words[n++] = row_qualifiers(a, &out->cells[i].row, QUALIFY_DEVICE);
		out->column_words[k] = qualifiers_of_all(a, words, n);
	}
}

// Of a column "openvino:GPU" the place of "openvino" in the table of platforms; what is not in it comes last.
static size_t place_of(const char *name)
{
	const size_t n = strcspn(name, ":"), count = platform_count();

	for (size_t i = 0; i < count; i++)
		if (strlen(platform_get(i)->name) == n && strncmp(platform_get(i)->name, name, n) == 0)
			return i;
	return count;
}

static bool goes_before(const char *x, const char *y)
{
	const size_t p = place_of(x), q = place_of(y);

	return p != q ? p < q : strcmp(x, y) < 0;
}

static void name_columns(struct summary *out)
{
	for (size_t i = 0, k; i < out->cell_count; i++) {
		const char *name = out->cells[i].platform;

		for (k = 0; k < out->column_count && !text_is(out->columns[k], name); k++)
			;
		if (k < out->column_count)
			continue;
		for (k = out->column_count++; k > 0 && goes_before(name, out->columns[k - 1]); k--)
			out->columns[k] = out->columns[k - 1];
		out->columns[k] = name;
	}
}

void summary_place_cells(struct summary *out, struct arena *a)
{
	out->columns = ARENA_ARRAY(a, out->cell_count + 1, const char *);
	out->column_counts = ARENA_ARRAY(a, out->cell_count + 1, struct report_counts);
	out->column_words = ARENA_ARRAY(a, out->cell_count + 1, const char *);
	out->lines = ARENA_ARRAY(a, out->cell_count + 1, struct report_line);
	name_platforms(out, a);
	name_columns(out);
	for (size_t i = 0; i < out->cell_count; i++) {
		struct report_cell *c = &out->cells[i];
		while (!text_is(out->columns[c->column], c->platform))
			c->column++;
	}
	for (size_t i = 0; i < out->cell_count; i++) {
		struct report_cell *c = &out->cells[i];
		const uint64_t key = key_of(c);
		// Two answers of one line and column differ in something that has no place in a line: each has its own.
		while (c->line < out->line_count &&
			(out->lines[c->line].key != key || !fits_line(&out->lines[c->line], c) ||
				out->lines[c->line].cell[c->column] != 0))
			c->line++;
		struct report_line *l = &out->lines[c->line];
		if (c->line == out->line_count) {
			out->line_count++;
			l->batch = l->sequence = l->new_tokens = ROW_NONE;
			l->key = key;
			l->cell = ARENA_ARRAY(a, out->column_count, size_t);
		}
		add_to_line(l, c);
		l->cell[c->column] = i + 1;
		count_cell(&out->counts, c);
		count_cell(&out->column_counts[c->column], c);
	}
	qualify_columns(out, a);
	for (size_t i = 0; i < out->line_count; i++) {
		struct report_line *l = &out->lines[i];
		const char *files = arena_join(a, folder_words(a, out, l), ", ", report_files_words(a, out, l));

		l->variant = variant_of(a, l, true, files, out);
		l->variant_but_options = variant_of(a, l, false, files, out);
		l->warning = warning_of(a, l);
	}
	for (size_t i = 0; i < out->cell_count; i++)
		out->cells[i].own_qualifiers = own_words(a, &out->lines[out->cells[i].line], &out->cells[i]);
}

// The fastest of a line has the lowest median, unless a comparison of several processes says that another is faster. Where none
// decides, a cell whose fastest run is not slower than that median cannot be told from it; nor can an unstable one, whose median
// may be another tomorrow. An emulator's time is no hardware's: it has no place among the fastest. Nor has the null engine's,
// which computes nothing, nor the time of a shorter input than its line's, nor one of a scenario whose rule did not hold, nor
// that of `assay profile`, whose question is another one than where a model runs fastest.
bool report_is_ranked(const struct report_cell *c)
{
	return c->is_good && c->row.latency_ms > 0 && !row_is_brief(&c->row) && c->row.emulated != 1 &&
		!report_computes_nothing(c) && !c->is_not_valid && !c->question.cell.profile;
}

bool report_computes_nothing(const struct report_cell *c)
{
	return text_is(c->row.engine, "null");
}

bool report_is_plain(const struct report_cell *c)
{
	return member_is_default(&question_members[QUESTION_AT_scenario], &c->asked) && c->row.new_tokens == ROW_NONE &&
		c->row.together == NULL && c->row.switched_from == NULL && c->row.pipeline_asked == NULL &&
		!c->question.cell.profile;
}

bool report_same_length(const struct report_cell *x, const struct report_cell *y)
{
	return x->row.sequence == y->row.sequence;
}

bool report_alike(const struct report_cell *x, const struct report_cell *y, unsigned but)
{
	const struct row *r = &x->row, *q = &y->row;

	if (!(but & BUT_BATCH || r->batch == q->batch) || !(but & BUT_SEQUENCE || r->sequence == q->sequence) ||
		r->layers != q->layers || r->new_tokens != q->new_tokens || !text_is(x->name, y->name) ||
		!text_is(x->machine, y->machine) || x->is_imported != y->is_imported || !text_is(r->weights, q->weights) ||
		!text_is(r->source, q->source) || !text_agree(r->model_sha256, q->model_sha256))
		return false;
	struct question asked = x->asked;
	asked.precision = but & BUT_PRECISION ? y->asked.precision : asked.precision;
	asked.threads = but & BUT_THREADS ? y->asked.threads : asked.threads;
	asked.as_shipped = but & BUT_SHIPPED ? y->asked.as_shipped : asked.as_shipped;
	asked.image_size = but & BUT_IMAGE ? y->asked.image_size : asked.image_size;
	return question_agrees(&asked, &y->asked, QUESTION_ROW) && question_agrees(&asked, &y->asked, QUESTION_TUNED) &&
		(but & BUT_OPTIONS || same_graph_and_options(&x->question, &y->question)) &&
		(but & BUT_PLATFORM || text_is(x->platform, y->platform));
}

bool report_is_unstable(const struct report_cell *c)
{
	// Of several processes half: where fewer did not settle, their median is one of the others'.
	return c->typical.processes > 1 ? 2 * c->unstable_count >= c->process_count : text_is(c->row.stability, "unstable");
}

static struct report_cell *ranked_at(struct summary *out, const struct report_line *l, size_t column)
{
	struct report_cell *c = l->cell[column] ? &out->cells[l->cell[column] - 1] : NULL;

	return c != NULL && report_is_ranked(c) ? c : NULL;
}

// Of several processes their medians stand for the runs. Of an unstable cell a single run says little: the intervals of the
// medians overlap, where they are known.
static bool overlaps(const struct report_cell *c, const struct report_cell *best)
{
	bool has_intervals = !isnan(c->row.latency_low_ms) && !isnan(best->row.latency_high_ms);

	if (c->typical.processes > 1 || best->typical.processes > 1)
		return c->typical.low_ms <= best->typical.ms;
	if (has_intervals && (report_is_unstable(c) || report_is_unstable(best)))
		return c->row.latency_low_ms <= best->row.latency_high_ms;
	return !isnan(c->row.latency_min_ms) && c->row.latency_min_ms <= best->row.latency_ms;
}

// The best of a line's ranked cells, from the lowest median on. decided[]: what several processes say of each cell of the line
// against it.
static struct report_cell *find_best(struct summary *out, const struct report_line *l, struct report_cell *lowest,
	const struct report_cell *cpu, size_t timed, int decided[], struct arena *a)
{
	struct report_cell *best = lowest;
	size_t changes = 0, k = 0;

	while (k < out->column_count) {
		struct report_cell *c = ranked_at(out, l, k);
		decided[k] = c == NULL || c == best ? 0
			: best == cpu               ? report_claimed(&c->against_cpu)
						    : report_decided(out, c, best, a);
		if (decided[k] > 0 && changes < timed) {
			best = c;
			changes++;
			k = 0; // those passed before are compared with this one
		} else {
			k++;
		}
	}
	return best;
}

void summary_rank_line(struct summary *out, struct report_line *l, struct arena *a)
{
	struct report_cell *lowest = NULL, *cpu = NULL;
	int *decided = ARENA_ARRAY(a, out->column_count + 1, int);
	size_t timed = 0;

	for (size_t k = 0; k < out->column_count; k++) {
		struct report_cell *c = ranked_at(out, l, k);
		if (c == NULL)
			continue;
		timed++;
		if (lowest == NULL || c->typical.ms < lowest->typical.ms)
			lowest = c;
		if (report_is_cpu(c))
			cpu = c;
	}
	l->best = lowest;
	if (timed < 2)
		return;
	for (size_t k = 0; k < out->column_count && cpu != NULL; k++) {
		struct report_cell *c = ranked_at(out, l, k);
		if (c == NULL || c == cpu)
			continue;
		c->against_cpu = report_speed_against(out, c, cpu, a);
		c->times_cpu = report_same_length(c, cpu) ? cpu->typical.ms / c->typical.ms : (double)NAN;
	}
	struct report_cell *best = find_best(out, l, lowest, cpu, timed, decided, a);
	bool alone = true;
	for (size_t k = 0; k < out->column_count; k++) {
		struct report_cell *c = ranked_at(out, l, k);
		if (c == NULL || c == best || decided[k] < 0)
			continue;
		c->is_near_fastest = overlaps(c, best);
		c->is_untold = !c->is_near_fastest && (report_is_unstable(c) || report_is_unstable(best));
		best->is_near_fastest = best->is_near_fastest || c->is_near_fastest;
		best->is_untold = best->is_untold || c->is_untold;
		alone = alone && !c->is_near_fastest && !c->is_untold;
	}
	l->best = best;
	best->is_best = true;
	best->is_fastest = alone;
	best->is_decided = best != lowest;
	best->is_untold = best->is_untold && !best->is_near_fastest;
}

const char *report_rank_words(const struct report_cell *c)
{
	if (c->is_near_fastest && c->is_best)
		return c->is_decided ? "fastest by several processes, others overlap" : "lowest median, others overlap";
	return c->is_fastest            ? c->is_decided ? "fastest by several processes" : "lowest median"
		: c->is_near_fastest    ? "overlaps the lowest"
		: !c->is_untold         ? NULL
		: report_is_unstable(c) ? "no claim"
					: "no claim: another is unstable";
}

// ---- models ------------------------------------------------------------------------------------------------------

// The row by which a cell's model is known to run: the cell's own, or that of the try that answered where it gave nothing; NULL:
// neither.
static const struct row *running_row(const struct report_cell *c)
{
	const struct report_try *y = c->fallback != NULL ? c->fallback->answer : NULL;

	if (row_runs_on(&c->row, c->row.requested))
		return &c->row;
	return y != NULL && row_runs_on(&y->row, y->platform) ? &y->row : NULL;
}

// What qualifies the answer is what qualifies that row, and not the cell that gave nothing.
static const char *reason_words(struct arena *a, const struct report_cell *c, unsigned which)
{
	const struct row *r = running_row(c);

	return row_qualifiers(a, r != NULL ? r : &c->row, which);
}

static enum report_model standing_of(const struct report_cell *c)
{
	const struct row *runs = running_row(c);

	if (runs != NULL && row_is_not_valid(runs))
		return REPORT_MODEL_NOT_VALID;
	if (runs != NULL)
		return row_is_shortened(runs) ? REPORT_MODEL_IN_PART : REPORT_MODEL_RUNS;
	if (c->is_foreign || report_computes_nothing(c))
		return REPORT_MODEL_FOREIGN;
	if (c->is_running || !verdict_answers(c->verdict))
		return REPORT_MODEL_UNANSWERED;
	switch (c->verdict) {
	case VERDICT_UNJUDGED:
		return c->is_elsewhere ? REPORT_MODEL_FAILS : REPORT_MODEL_UNJUDGED;
	case VERDICT_COMPILES:
		return REPORT_MODEL_COMPILES;
	case VERDICT_UNAVAILABLE:
		return REPORT_MODEL_ABSENT;
	default:
		return REPORT_MODEL_FAILS;
	}
}

// How far from the trained model on hardware: the fewer qualifiers the better.
static unsigned distance_of(const struct report_cell *c, struct arena *a)
{
	unsigned out = 0;

	for (unsigned which = 1; which <= QUALIFY_ALL; which *= 2)
		out += reason_words(a, c, which) != NULL ? which == QUALIFY_DEVICE ? 8 : which == QUALIFY_WEIGHTS ? 2 : 1 : 0;
	return out;
}

static bool speaks_better(const struct report_cell *x, const struct report_cell *y, struct arena *a)
{
	enum report_model p = standing_of(x), q = standing_of(y);

	return p != q ? p < q : distance_of(x, a) < distance_of(y, a);
}

// How much a line knows of the files of its model: nothing, of files that assay made itself, or of the model's own.
static int tells_files(const struct report_line *l)
{
	return l->model_sha256 == NULL ? 0 : l->layers == ROW_NONE && !l->is_fitted ? 2 : 1;
}

void summary_count_models(struct summary *out, struct arena *a)
{
	const struct report_cell **best = ARENA_ARRAY(a, out->cell_count + 1, const struct report_cell *);
	const struct report_line **of = ARENA_ARRAY(a, out->cell_count + 1, const struct report_line *);
	const char **words = ARENA_ARRAY(a, out->cell_count + 1, const char *);
	size_t count = 0;

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i];
		size_t k = 0;
		const struct report_line *l = &out->lines[c->line];
		while (k < count && !report_same_model(of[k], l))
			k++;
		if (k == count || speaks_better(c, best[k], a))
			best[k] = c;
		of[k] = k == count || tells_files(l) > tells_files(of[k]) ? l : of[k];
		count += k == count;
	}
	for (int m = 0; m < REPORT_MODELS; m++) {
		for (size_t k = 0; k < count; k++)
			if (standing_of(best[k]) == (enum report_model)m)
				words[out->models[m]++] = reason_words(a, best[k], QUALIFY_ALL);
		out->model_words[m] = qualifiers_of_all(a, words, out->models[m]);
	}
}
