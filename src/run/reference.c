// SPDX-License-Identifier: Apache-2.0
// Golden outputs first: they alone know what the model's authors meant. Two engines that run our graph can agree on a wrong
// one, so the row always says which reference it was.
// An engine's reference runs in a child of its own, from the graph built in that engine's form, in float32, once; its outputs
// stay in CACHE/reference under the hash of graph, weights, inputs, reference and engine version, and say so themselves
// (base/sealed.h).
#include "run/reference.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "checkpoint/checkpoint.h"
#include "hub/hub.h"
#include "cell/derive.h"
#include "cell/asked.h"
#include "cell/inputs.h"
#include "run/cell.h"
#include "run/child_memory.h"
#include "run/golden.h"
#include "run/hear.h"
#include "question/request.h"

// It would say how large the question is, and nothing of the answer. What is too long to be read is refused as a golden file.
static bool holds_inputs_alone(const char *path)
{
	struct arena a = { 0 };
	struct answer answer;
	bool alone = golden_check(path, NULL) == STATUS_OK && outputs_read(&a, path, &answer, NULL) == STATUS_OK && !answer.count;

	arena_done(&a);
	return alone;
}

const char *reference_golden(const struct cell *c, struct arena *a)
{
	const char *path;

	if (c->given)
		return c->given;
	if (c->golden)
		return c->golden;
	// Inputs of any size and the answer to be judged by: a folder's own maker may say so, a stranger's may not.
	if (c->layers > 0 || c->synthetic || !c->path || !file_is_dir(c->path) || hub_is_download(c->path))
		return NULL;
	path = arena_printf(a, "%s/io.safetensors", c->path);
	return file_exists(path) && file_exists(arena_printf(a, "%s/case.json", c->path)) && !holds_inputs_alone(path) ? path
														       : NULL;
}

bool reference_hold(struct arena *a, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return false;
	flock(fd, LOCK_SH | LOCK_NB);
	futimens(fd, NULL);
	file_close_with(a, fd);
	return !fstat(fd, &st) && st.st_nlink > 0;
}

enum status reference_read_golden(struct reference *out, const char *path, struct arena *a, struct error *err)
{
	enum status st;

	*out = (struct reference){ 0 };
	if ((st = golden_check(path, err)))
		return st;
	if ((st = outputs_read(a, path, &out->answer, err)))
		return error_prefix(err, "golden outputs");
	if (!out->answer.count) {
		if (!inputs_file_nbytes(path))
			return error_set(err, STATUS_BAD_INPUT,
				"%s holds neither inputs nor outputs: their names begin with \"in.\" and \"out.\"", path);
		out->absent = "the golden file holds inputs and no outputs";
		return STATUS_OK;
	}
	out->name = "golden";
	out->by = BY_GOLDEN;
	out->derives = true;
	return STATUS_OK;
}

const char *cell_judge_word(struct arena *a, const struct target *t)
{
	if (text_is(t->platform->name, "openvino"))
		return "engine:openvino-f32"; // the engine's own defaults are float32
	if (text_is(t->platform->name, "cpu"))
		return "engine:ort-cpu-unoptimised";
	return arena_printf(a, "engine:%s", t->platform->name);
}

// Which engine, and how the row names it.
struct asked {
	struct target target;
	const char *name;
};

// Activations are left to the engine: the graph, and so the one that judges its arithmetic, rounds none.
static bool engine_quantises(const struct cell *c)
{
	const struct platform *p = platform_find(c->platform);
	const struct route *route = p ? platform_route(p, c->device) : NULL;

	return route && platform_precision(route, precision_find(c->precision))->quantises;
}

static bool rounds_activations(const struct cell *c)
{
	enum precision p = precision_find(c->precision);

	return (p == PRECISION_INT8_DYNAMIC || p == PRECISION_INT8_STATIC) && !engine_quantises(c);
}

// Of a model whose weights were made in its precision alone every reference reads those.
static bool is_dequantised(const struct reference_question *q, const struct cell *c)
{
	return q->kind == REFERENCE_ARITHMETIC || (c->unwritten && q->kind != REFERENCE_REDUCED);
}

// Runs it, or finds it in the cache. *why: a sentence when there is no reference after all.
static enum status ask_engine(struct reference *out, const struct asked *x, const struct reference_question *q,
	const struct cell *c, const struct cell_watch *watch, struct arena *a, const char **why, struct error *err)
{
	struct cell_watch quiet = { .stop = watch ? watch->stop : NULL };
	struct child_limits limits = { .timeout_s = c->timeout_s,
		.memory_bytes = c->force ? CHILD_UNLIMITED : 0,
		.mapped_bytes = child_mapped_bytes(a, c->path),
		.stop = quiet.stop };
	struct request ask = { .path = c->path,
		.platform = x->target.platform->name,
		.device = x->target.device,
		.options = x->target.options,
		.reference_name = x->name,
		.reference_tokens = q->tokens,
		.language = q->language,
		.question = { .golden = q->golden, // no precision: a reference computes in float32
			.data = q->data,
			.batch = c->batch,
			.sequence = c->sequence,
			.layers = c->layers,
			.prompt_tokens = c->prompt_tokens,
			.new_tokens = c->new_tokens,
			.seed = c->seed,
			.image_size = c->image_size,
			.shapes = c->shapes,
			.dims = c->dims,
			.inputs = c->inputs } };
	struct error read_error = { 0 };
	struct child_report report;
	struct heard heard;
	const char *cause, *note, *from;
	enum status st;

	if (q->kind == REFERENCE_GRAPH || q->kind == REFERENCE_ARITHMETIC) {
		ask.form_of = c->platform;
		ask.form = q->form;
		ask.is_static = c->is_static;
	}
	if (q->kind == REFERENCE_REDUCED) // which multiplies in float32: reads_reduced
		ask.precision = arena_printf(a, "%s:accuracy=1", c->precision);
	if (is_dequantised(q, c)) {
		ask.precision = c->precision;
		ask.calibration = q->calibration;
		ask.dequantised = engine_quantises(c) ? DEQUANTISE_WEIGHTS : DEQUANTISE_ALL;
	}
	if (!limits.memory_bytes && (st = child_memory_default(&ask.limit_bytes, &from, a, "", err)))
		return st;
	heard_init(&heard, a, &quiet);
	st = hear_child(&heard, NULL, request_text(a, &ask), &limits, &report, &read_error);
	if (st == STATUS_NOT_ASKED) { // the cell has run: it stays unjudged
		*why = arena_strdup(a, read_error.text);
		return STATUS_OK;
	}
	if (st)
		return error_set(err, st, "%s", read_error.text);
	const enum verdict v = heard_verdict(&heard, &report, &limits, &cause, &note);
	out->no_memory = v == VERDICT_NO_MEMORY;
	out->language = heard.language;
	if (v == VERDICT_RIGHT && heard.reference_path) {
		// A limit on the cache may take the file away at any time: then there is no reference, which is no error.
		// It is looked at again here, in the memory that is compared: another program may have written meanwhile.
		reference_hold(a, heard.reference_path);
		if (outputs_read_sealed(a, heard.reference_path, &out->answer, &read_error) == STATUS_OK)
			out->name = x->name;
		else
			*why = arena_strdup(a, read_error.text);
	} else {
		*why = cause ? cause : "its child told no outputs";
	}
	child_report_done(&report);
	return STATUS_OK;
}

enum status reference_calibrate(const struct cell *c, const struct cell_watch *watch, struct arena *a, const char **path,
	enum verdict *verdict, const char **why, struct error *err)
{
	enum { INPUTS = 8 };
	struct cell_watch quiet = { .stop = watch ? watch->stop : NULL };
	struct child_limits limits = { .timeout_s = c->timeout_s,
		.spent_s = c->planned_s,
		.memory_bytes = c->memory_bytes > 0 || !c->force ? c->memory_bytes : CHILD_UNLIMITED,
		.mapped_bytes = child_mapped_bytes(a, c->path),
		.stop = quiet.stop };
	struct request ask = { .path = c->path,
		.platform = "cpu",
		.device = "CPU",
		.calibrate = INPUTS,
		.question = { .batch = c->batch,
			.sequence = c->sequence,
			.layers = c->layers,
			.seed = c->seed,
			.image_size = c->image_size,
			.force = c->force } };
	const char *cause = NULL, *note;
	struct child_report report;
	struct error limit = { 0 };
	struct heard heard;
	enum status st;

	heard_init(&heard, a, &quiet);
	if ((st = hear_child(&heard, NULL, request_text(a, &ask), &limits, &report, err)))
		return st; // NOT_ASKED: the cell itself could not be started either
	*verdict = heard_verdict(&heard, &report, &limits, &cause, &note);
	*path = *verdict == VERDICT_RIGHT ? heard.reference_path : NULL;
	*why = cause ? cause : "its child told no ranges";
	if (*verdict == VERDICT_NO_MEMORY && heard_memory_limit(&report, &limits, &limit)) {
		*verdict = VERDICT_NOT_ASKED;
		*why = arena_printf(a, "%s; %s", *why, limit.text);
	}
	if (*path && !reference_hold(a, *path)) {
		*path = NULL;
		*why = "their file was removed from the cache meanwhile";
	}
	child_report_done(&report);
	return STATUS_OK;
}

static const char unoptimised[] = "cpu:optimisation=none";

// The targets to try, in order: NULL ends them.
static void targets_of(const struct platform *p, enum reference_kind kind, const char *target[2])
{
	const struct platform *processor = platform_find("cpu");
	bool computes_nothing = p && text_is(p->reference, "null"); // null, and what it stands in for (platform/stand_in.c)

	target[0] = p ? p->reference : NULL;
	target[1] = NULL;
	if (kind == REFERENCE_ENGINE)
		target[1] = target[0] ? unoptimised : NULL;
	else if (!computes_nothing)
		target[0] = kind == REFERENCE_SECOND || kind == REFERENCE_REDUCED ? processor->reference : unoptimised;
}

// Does that engine multiply integer weights of the cell's precision in float32?
static bool reads_reduced(const struct asked *x, const struct cell *c)
{
	return platform_precision(x->target.route, precision_find(c->precision))->float_activations;
}

static const char *name_for(const struct asked *x, const struct reference_question *q, const struct cell *c, struct arena *a)
{
	const char *engine = cell_judge_word(a, &x->target);

	if (q->kind == REFERENCE_REDUCED)
		return arena_printf(a, "%s, weights in integers as they are", engine);
	return !is_dequantised(q, c) ? engine
				     : arena_printf(a, "%s, dequantised weights%s", engine,
					       rounds_activations(c) ? ", activations rounded alike" : "");
}

enum status reference_ask(struct reference *out, const struct reference_question *q, const struct cell *c,
	const struct cell_watch *watch, struct arena *a, struct error *err)
{
	const char *target[2];

	*out = (struct reference){ .by = c->path && text_ends(c->path, ".onnx") ? BY_FILE : BY_ENGINE };
	targets_of(platform_find(c->platform), q->kind, target);
	if (!target[0]) {
		out->absent = "nothing judges this platform";
		return STATUS_OK;
	}
	for (size_t i = 0; i < 2 && target[i] && !out->name; i++) {
		const char *why = NULL;
		struct asked x;
		enum status st = platform_target(&x.target, a, target[i], err);

		if (st)
			return st;
		// The table may name the platform itself with other options; the last resort must be another one.
		if (i && (text_is(x.target.platform->name, c->platform) || text_is(target[0], target[1])))
			continue;
		if (q->kind == REFERENCE_REDUCED && !reads_reduced(&x, c))
			continue;
		x.name = name_for(&x, q, c, a);
		if ((st = ask_engine(out, &x, q, c, watch, a, &why, err)))
			return st;
		if (why)
			out->absent = out->absent ? arena_printf(a, "%s; %s: %s", out->absent, x.name, why)
						  : arena_printf(a, "%s: %s", x.name, why);
	}
	if (!out->name && !out->absent)
		out->absent = "no engine on this machine can judge it";
	return STATUS_OK;
}

const char *reference_tokens(const struct reference *ref, struct arena *a)
{
	struct text t = { 0 };
	const char *out = NULL;
	size_t count;

	for (size_t i = 0; ref->name && i < ref->answer.count && !out; i++) {
		const struct tensor *x = &ref->answer.tensors[i];

		if (!text_is(x->name, "tokens") || x->dtype != DTYPE_I64 || !tensor_count(x->rank, x->dim, &count) ||
			x->nbytes < count * sizeof(int64_t))
			continue;
		for (size_t k = 0; k < count; k++)
			text_addf(&t, "%s%lld", k ? " " : "", (long long)((const int64_t *)x->data)[k]);
		out = arena_strdup(a, text_get(&t));
	}
	text_done(&t);
	return out;
}

bool reference_same_output(const char *a, const char *b)
{
	return text_is(a, b) || (text_starts(a, "out_") && text_is(a + 4, b)) || (text_starts(b, "out_") && text_is(a, b + 4));
}

// Outputs with a hash of each one's name, which both spellings share: there may be thousands with names of KBs that begin alike.
struct outputs {
	const struct answer *of;
	const uint64_t *keys;
};

static uint64_t key_of(const char *name)
{
	while (text_starts(name, "out_"))
		name += strlen("out_");
	return fnv1a64_text(name);
}

static struct outputs outputs_of(const struct answer *x, struct arena *a)
{
	uint64_t *keys = ARENA_ARRAY(a, x->count + 1, uint64_t);

	for (size_t i = 0; i < x->count; i++)
		keys[i] = key_of(x->tensors[i].name);
	return (struct outputs){ x, keys };
}

static const struct tensor *named(const struct outputs *x, const char *name, uint64_t key)
{
	for (size_t i = 0; i < x->of->count; i++)
		if (x->keys[i] == key && text_is(x->of->tensors[i].name, name))
			return &x->of->tensors[i];
	return NULL;
}

// The output of `x` that is `name` of `of`: of that name, else of its other spelling, unless that is another one's of `of`.
static const struct tensor *find_output(const struct outputs *x, const struct outputs *of, const char *name)
{
	const uint64_t key = key_of(name);
	const struct tensor *same = named(x, name, key);

	for (size_t i = 0; !same && i < x->of->count; i++) {
		const char *other = x->of->tensors[i].name;

		if (x->keys[i] == key && reference_same_output(other, name) && !named(of, other, key))
			same = &x->of->tensors[i];
	}
	return same;
}

// Keys and values of tokens, [batch, heads, tokens, width], as arch/block/cache.c and exports of other programs name them.
static bool is_cache(const struct tensor *r)
{
	return r->rank == 4 && text_starts(r->name, "present.") &&
		(text_ends(r->name, ".key") || text_ends(r->name, ".value") || text_ends(r->name, ".index"));
}

// Which axis of `r` is the mask's tokens; 0: none. Outputs [batch, seq, ..], the two that name places of the text, and caches.
// Other outputs may have those sizes by chance: a pooled state as wide as the text is long. Of an encoder-decoder the mask is the
// encoder's, and the decoder may have as many tokens. Keys and values at padding are no more than its hidden state is: no token
// looks at them, and in a window a padded query may have no key that is not masked, so that its state is whatever an engine's
// softmax makes of that.
static int padded_axis(const struct tensor *r, bool has_encoder)
{
	if (is_cache(r))
		return strstr(r->name, ".decoder.") || (has_encoder && !strstr(r->name, ".encoder.")) ? 0 : 2;
	if (r->rank == 2 ? !text_ends(r->name, "start_logits") && !text_ends(r->name, "end_logits") : r->rank != 3)
		return 0;
	return has_encoder && !text_starts(r->name, "encoder_") ? 0 : 1;
}

// Golden outputs count at padding too, where their authors' library gives a number that the graph repeats; but for the cache,
// of which nobody reads it.
static const struct padded *padding_for(
	struct padded *out, const struct reference *ref, const struct tensor *r, const struct tensor *mask, bool has_encoder)
{
	*out = (struct padded){ mask, padded_axis(r, has_encoder) };
	return out->axis && (ref->by != BY_GOLDEN || is_cache(r)) ? out : NULL;
}

// Absent is NaN: the first number replaces it.
static double larger(double a, double b)
{
	return isnan(b) || a >= b ? a : b;
}

static double smaller(double a, double b)
{
	return isnan(b) || a <= b ? a : b;
}

static void add_check(struct row *row, const struct check *c, const struct tensor *output, struct arena *a)
{
	if (!isnan(c->max_abs_error) && !(row->max_abs_error >= c->max_abs_error)) {
		char index[128] = "";
		int64_t at[TENSOR_MAX_RANK] = { 0 };
		size_t flat = c->worst;

		for (int k = output->rank - 1; k >= 0 && output->dim[k] > 0; k--) {
			at[k] = (int64_t)(flat % (size_t)output->dim[k]);
			flat /= (size_t)output->dim[k];
		}
		row->worst = arena_printf(a, "%s%s: %.6g, reference %.6g", c->name,
			tensor_shape_text(output->rank, at, index, sizeof index), c->worst_value, c->worst_reference);
	}
	row->max_abs_error = larger(row->max_abs_error, c->max_abs_error);
	row->max_rel_error = larger(row->max_rel_error, c->max_rel_error);
	row->nmse = larger(row->nmse, c->nmse);
	row->cosine = smaller(row->cosine, c->cosine);
	row->top1_agreement = smaller(row->top1_agreement, c->top1_agreement);
	row->non_finite = (row->non_finite == ROW_NONE ? 0 : row->non_finite) + c->non_finite;
}

// Names of outputs, of which there may be a thousand of 4 KB each: those that are too many are counted.
struct names {
	struct text text;
	size_t more;
};

static void add_name(struct names *n, const char *between, const char *name)
{
	enum { NAMES_MOST = 16 << 10 }; // bytes

	if (n->text.length > 0 && n->text.length + strlen(name) > NAMES_MOST)
		n->more++;
	else
		text_addf(&n->text, "%s%s", n->text.length > 0 ? between : "", name);
}

// NULL: there are none. They are empty again.
static const char *take_names(struct names *n, struct arena *a)
{
	const char *out = NULL;

	if (n->text.length > 0)
		out = n->more > 0 ? arena_printf(a, "%s and %zu more", text_get(&n->text), n->more)
				  : arena_strdup(a, text_get(&n->text));
	text_done(&n->text);
	*n = (struct names){ 0 };
	return out;
}

// What the reference does not hold: it is named in the row, and must at least be numbers. `held`: a truth for each output of `x`.
// True: it is not.
static bool judge_unheld(const struct reference *ref, const struct answer *x, const bool *held, struct arena *a, struct row *row)
{
	struct names unheld = { 0 }, through = { 0 };
	bool wrong = false;

	for (size_t i = 0; i < x->count; i++) {
		const char *name = x->tensors[i].name, *by;
		int64_t bad;

		if (held[i])
			continue;
		for (size_t k = 0; k < ref->answer.count && ref->derives; k++) {
			const char *made = ref->answer.tensors[k].name;

			if (derives_from(made, name) && !derives_from_no_token(made, ref->answer.mask))
				add_name(&through, " and ", made);
		}
		by = take_names(&through, a);
		add_name(&unheld, ", ", by ? arena_printf(a, "%s (judged only through %s)", name, by) : name);
		bad = judge_not_finite(&x->tensors[i]);
		if (bad && !wrong) {
			row->cause = row->cause
				? row->cause
				: arena_printf(a, "%s: %lld values are not finite; the reference does not hold this output", name,
					  (long long)bad);
			row->non_finite = (row->non_finite == ROW_NONE ? 0 : row->non_finite) + bad;
			wrong = true;
		}
	}
	row->not_judged = take_names(&unheld, a);
	return wrong;
}

// The diagonal of cosine similarities is 1 for every model.
static int64_t trivial(const struct check *c, const struct tensor *output, const struct tensor *made)
{
	return output == made && text_is(c->name, "cosine") && c->compared > 0 ? output->dim[0] : 0;
}

// The figures over all outputs, as they are added up.
struct total {
	int64_t compared, left_out;
	double of_bound; // the largest
	int64_t alike_not_finite, no_reference;
	const char *of_no_token; // outputs derived from no token
	const char *idle;        // outputs whose comparison says nothing, each with why
	const char *bound_by;
};

static void add_total(struct total *t, const struct check *c, struct arena *a)
{
	t->compared += c->compared;
	t->left_out += c->left_out;
	t->alike_not_finite += c->alike_not_finite;
	t->no_reference += c->no_reference;
	if (t->bound_by && !(c->of_bound > t->of_bound) && !isnan(c->of_bound))
		return;
	t->of_bound = isnan(c->of_bound) ? INFINITY : c->of_bound;
	t->bound_by = isnan(c->of_bound)
		? arena_printf(a, "%s of %s", c->decided_by, c->name)
		: arena_printf(a, "%s of %s: %.3g %% of its bound", c->decided_by, c->name, 100 * c->of_bound);
}

static enum verdict conclude(struct row *row, const struct total *t, size_t wrong, struct arena *a)
{
	row->left_out = t->left_out;
	row->bound_by = t->bound_by;
	if (wrong > 1)
		row->cause = arena_printf(a, "%s (and %zu more outputs are wrong)", row->cause, wrong - 1);
	if (!wrong && t->alike_not_finite > 0) {
		struct question asked;
		const char *of, *instead;

		row_asked(&asked, row);
		const bool are_given = asked_has_files(&asked);
		of = are_given ? "the inputs of --input" : "made-up inputs";
		instead = are_given ? "look at what the files hold, or judge by outputs that are right (--golden)"
				    : "give real ones with their outputs (--golden)";
		row->cause = arena_printf(a, "not judged: both engines give values that are not finite for %s, the same %lld: %s",
			of, (long long)t->alike_not_finite, instead);
		return VERDICT_UNJUDGED;
	}
	if (!wrong && t->no_reference > 0) {
		row->cause = arena_printf(a,
			"not judged: the golden file holds %lld values that are no numbers (NaN or infinite) where the model "
			"gives "
			"numbers: it was made with other inputs, or is damaged",
			(long long)t->no_reference);
		return VERDICT_UNJUDGED;
	}
	if (!wrong && t->compared == 0) {
		row->cause = t->idle ? arena_printf(a, "not judged: %s", t->idle)
			: t->of_no_token
			? arena_printf(a,
				  "not judged: %s: the golden file's attention_mask is 0 everywhere, so no token is left to "
				  "derive it from",
				  t->of_no_token)
			: "not judged: the reference holds no value that could be compared (masked, or the same for every model)";
		return VERDICT_UNJUDGED;
	}
	return wrong ? VERDICT_WRONG : VERDICT_RIGHT;
}

// What the outputs judged so far came to.
struct judging {
	const struct reference *ref;
	const struct answer *answer;
	struct bound usual;
	struct arena *a;
	struct row *row;
	json_t *all; // of each output
	struct total total;
	double largest;                 // of the output that has the largest error; NaN before one has
	const char *derived;            // "; for derived outputs max abs 0.001", or ""
	size_t wrong;                   // outputs
	struct names of_no_token, idle; // of total
	struct outputs ours, theirs;
	const struct tensor *mask; // mask_of the answer
	bool *held;                // which outputs of the answer were compared
};

static void judge_output(struct judging *j, const struct tensor *r, bool has_encoder)
{
	const struct reference *ref = j->ref;
	const struct tensor *o = find_output(&j->ours, &j->theirs, r->name);
	struct bound bound = j->usual;
	struct padded padded;
	struct tensor made;
	struct check check = { .name = r->name,
		.max_abs_error = (double)NAN,
		.max_rel_error = (double)NAN,
		.nmse = (double)NAN,
		.cosine = (double)NAN,
		.top1_agreement = (double)NAN,
		.of_bound = (double)NAN,
		.decided_by = "absence" };

	if (!o && ref->derives && derives_from_no_token(r->name, ref->answer.mask)) {
		add_name(&j->of_no_token, ", ", r->name);
		return;
	}
	if (!o && ref->derives && derive_output(&made, j->a, r, j->answer->tensors, j->answer->count, ref->answer.mask)) {
		o = &made;
		bound.max_abs = j->usual.derived;
		j->derived = arena_printf(j->a, "; for derived outputs max abs %g", bound.max_abs);
	}
	if (o && o != &made)
		j->held[o - j->answer->tensors] = true;
	if (o)
		judge_tensor(o, r, padding_for(&padded, ref, r, j->mask, has_encoder), bound, ref->by, j->a, &check);
	else
		check.cause = arena_printf(j->a, "%s: the reference has this output, the model has not", r->name);
	if (text_is(r->name, "best_logits")) // of one token each: which place has the largest means nothing
		check.top1_agreement = (double)NAN;
	json_array_append_new(j->all, check_json(&check, o));
	if (check.not_judged) {
		add_name(&j->idle, ", ", arena_printf(j->a, "%s (%s)", r->name, check.not_judged));
		j->total.left_out += check.left_out;
		j->row->non_finite = (j->row->non_finite == ROW_NONE ? 0 : j->row->non_finite) + check.non_finite;
		return;
	}
	if (!check.right && !j->wrong++)
		j->row->cause = check.cause;
	if (!isnan(check.max_abs_error) && !(j->row->max_abs_error >= check.max_abs_error))
		j->largest = check.reference_absmax;
	add_check(j->row, &check, o ? o : r, j->a);
	check.compared -= trivial(&check, o, &made);
	add_total(&j->total, &check, j->a);
}

// The mask by which places count as padding; one of floats that holds another number than 0 and 1 (added to scores, say) leaves
// nothing out.
static const struct tensor *mask_of(const struct answer *x)
{
	const struct tensor *mask = x->mask;
	size_t count = 0;
	bool is_plain = mask && tensor_count(mask->rank, mask->dim, &count) && mask->nbytes >= count * dtype_size(mask->dtype);

	for (size_t i = 0; is_plain && i < count; i++) {
		const double value = tensor_get(mask, i);

		is_plain = value == 0 || value == 1;
	}
	return is_plain ? mask : NULL;
}

enum verdict reference_judge(const struct reference *ref, const struct answer *x, struct bound usual, struct arena *a,
	struct row *row, json_t **checks)
{
	struct judging j = { ref, x, usual, a, row, .largest = (double)NAN, .derived = "" };

	if (!ref->name || !ref->answer.count) {
		row->cause = ref->name ? "the reference holds no outputs" : arena_printf(a, "not judged: %s", ref->absent);
		return VERDICT_UNJUDGED;
	}
	const struct answer none = { 0 };
	const struct outputs nothing = { &none, NULL };

	j.all = json_array();
	j.held = ARENA_ARRAY(a, x->count + 1, bool);
	j.mask = mask_of(x);
	j.ours = outputs_of(x, a);
	j.theirs = outputs_of(&ref->answer, a);
	const bool has_encoder = find_output(&j.theirs, &nothing, "encoder_last_hidden_state") != NULL;
	row->reference = ref->name;
	row->bound = bound_text(&usual, a);
	row->not_judged = NULL;
	for (size_t i = 0; i < ref->answer.count; i++)
		judge_output(&j, &ref->answer.tensors[i], has_encoder);
	j.total.of_no_token = take_names(&j.of_no_token, a);
	j.total.idle = take_names(&j.idle, a);
	row->bound = arena_printf(a, "%s%s", bound_text_of(&usual, j.largest, a), j.derived);
	if (judge_unheld(ref, x, j.held, a, row) && !j.wrong++)
		j.total.bound_by = "not finite";
	row->not_judged = arena_join(a, arena_join(a, row->not_judged, ", ", j.total.of_no_token), ", ", j.total.idle);
	if (x->tokens) {
		row->perplexity = judge_perplexity(find_output(&j.ours, &nothing, "logits"), x->tokens, j.mask);
		row->perplexity_float32 = judge_perplexity(find_output(&j.theirs, &nothing, "logits"), x->tokens, j.mask);
	}
	if (checks)
		*checks = json_incref(j.all);
	json_decref(j.all);
	return conclude(row, &j.total, j.wrong, a);
}
