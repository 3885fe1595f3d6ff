// SPDX-License-Identifier: Apache-2.0
// predict.h. Peak = the larger of two moments: everything folded and packed, the largest weight twice; and the second run.
#include "cell/predict.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

// Is "key=value" the last word about key in "a=b,key=value,c=d"?
static bool asks(const char *options, const char *key, const char *word)
{
	bool found = false;
	size_t length = strlen(key), wanted = strlen(word);

	for (const char *at = options; at && *at;) {
		size_t n = strcspn(at, ",");

		if (n > length && !strncmp(at, key, length) && at[length] == '=')
			found = n - length - 1 == wanted && !strncmp(at + length + 1, word, wanted);
		at += n + (at[n] == ',');
	}
	return found;
}

// What an engine makes of the weights, and what stays of the mapped ones.
struct weights {
	double held, loading; // anonymous: while it runs; at most while it opens
	double read;          // mapped, and read by every run
	double mapped;        // mapped in all, pages that are not read again among them
};

static struct weights copies(const struct graph_memory *g, const struct platform_memory *e, const char *options)
{
	double packed = (double)g->multiplied_nbytes, folded = (double)g->folded_nbytes,
	       largest = (double)g->largest_multiplied_nbytes, stored = (double)g->stored_nbytes,
	       as_they_lie = stored - (double)g->folded_from_nbytes + (double)g->gathered_nbytes;
	bool casts = 2 * folded > packed; // not only a norm here and there
	struct weights w = { .read = (double)(g->in_place_nbytes + g->gathered_nbytes) };

	as_they_lie = as_they_lie < stored ? as_they_lie : stored;
	if (asks(options, "precision", "bf16") || asks(options, "precision", "f16"))
		packed /= 2;
	if (e->frees_packed && asks(options, "prepacking", "off")) { // folded copies stay, the others are read where they lie
		w.held = w.loading = folded;
		w.read = w.mapped = as_they_lie;
		return w;
	}
	if (e->frees_packed && asks(options, "optimisation", "none") &&
		casts) { // casts are made anew by every run, so nothing can be packed
		w.held = w.loading = 2 * largest;
		w.read = w.mapped = stored;
		return w;
	}
	packed += e->blocks * (double)g->block_nbytes;
	const double widened = e->widens_half_weights ? (double)g->half_multiplied_nbytes : 0;
	packed += widened;
	if (e->frees_packed) {
		w.held = packed + e->folded_slack * folded + (double)g->rescaled_nbytes;
		w.loading = w.held + (widened > 0 ? 2 * largest : casts ? largest : 0);
		w.mapped = w.read;
	} else {
		w.held = w.loading = packed + folded + (double)g->rescaled_nbytes;
		w.mapped = as_they_lie;
	}
	if (e->widens_half_tables) {
		w.held += 2 * (double)g->half_table_nbytes;
		w.read -= (double)(g->half_table_nbytes < g->gathered_nbytes ? g->half_table_nbytes : g->gathered_nbytes);
	}
	return w;
}

void predict_engine(struct prediction *out, const struct graph_memory *g, const struct target *t)
{
	const struct platform_memory *e = platform_memory(t->route);

	*out = (struct prediction){ .graph = *g };
	if (!e) { // whatever it does, it is given inputs and gives outputs
		out->anonymous_bytes = out->required_bytes = g->input_nbytes + g->output_nbytes;
		return;
	}
	struct weights w = copies(g, e, t->options);
	uint64_t peak = e->fuses_attention ? g->peak_fused_nbytes : g->peak_nbytes;
	double given = (double)(g->output_nbytes < peak ? g->output_nbytes : peak), made = (double)peak - given;
	double opened = e->opened_mib * 0x1p20, beside = e->made * made + e->given * given + (double)g->input_nbytes,
	       run = opened + w.held + beside;
	double load = opened + w.loading, libraries = e->mapped_mib * 0x1p20;
	double packing = e->frees_packed && w.loading <= w.held ? (double)g->largest_multiplied_nbytes
								: 0; // mapped, until its packed copy is there
	double loaded = load + (packing > w.mapped - w.read ? packing : w.mapped - w.read);
	double resident = run + w.mapped > loaded ? run + w.mapped : loaded;

	out->anonymous_bytes = (uint64_t)(run > load ? run : load);
	out->run_bytes = (uint64_t)beside;
	out->resident_bytes = (uint64_t)(resident + libraries);
	out->required_bytes = (uint64_t)((run + w.read > load ? run + w.read : load) + libraries);
}

// The inputs of the graph with its dimensions open, to learn what their symbols are in a file of inputs.
static enum status symbols_of_file(struct arena *a, struct input_symbol **out, size_t *count, const struct spec *s,
	const struct checkpoint *c, const struct arch_graph *which, const char *file, struct error *err)
{
	const struct tensor_type *types;
	struct graph *g = graph_new(NULL);
	enum status st = arch_build(s, c, which, g, err);

	if (!st) {
		size_t n = graph_inputs(g, &types);

		st = inputs_file_symbols(a, types, n, file, out, count, err);
	}
	graph_free(g);
	return st;
}

static enum status add_graph(struct graph_memory *sum, const struct spec *s, const struct checkpoint *c,
	const struct arch_graph *which, const struct target *t, const struct precise *precise, const struct input_shape *shape,
	struct error *err)
{
	struct graph_form form = t->platform->forms[0];
	struct input_symbol *symbols = NULL;
	struct input_hints hints;
	struct graph_memory m;
	struct arena a = { 0 };
	size_t symbol_count = 0;
	enum status st = shape->file ? symbols_of_file(&a, &symbols, &symbol_count, s, c, which, shape->file, err) : STATUS_OK;

	if (precise)
		form.precise = *precise;
	form.is_static = true; // every dimension is a number, whatever form will run
	arch_input_hints(s, &hints);
	struct graph *g = graph_new(&form);
	inputs_bind(g, &hints, shape);
	for (size_t i = 0; i < symbol_count; i++)
		graph_bind(g, symbols[i].name, symbols[i].number);
	arena_done(&a);
	if (!st)
		st = arch_build(s, c, which, g, err);
	if (!st) {
		graph_memory(g, &m);
		sum->peak_nbytes += m.peak_nbytes; // an engine keeps for the next run what it needed
		sum->peak_fused_nbytes += m.peak_fused_nbytes;
		sum->input_nbytes += m.input_nbytes;
		sum->output_nbytes += m.output_nbytes;
		sum->stored_nbytes += m.stored_nbytes;
		sum->in_place_nbytes += m.in_place_nbytes;
		sum->gathered_nbytes += m.gathered_nbytes;
		sum->half_table_nbytes += m.half_table_nbytes;
		sum->folded_from_nbytes += m.folded_from_nbytes;
		sum->folded_nbytes += m.folded_nbytes;
		sum->multiplied_nbytes += m.multiplied_nbytes;
		sum->half_multiplied_nbytes += m.half_multiplied_nbytes;
		sum->rescaled_nbytes += m.rescaled_nbytes;
		sum->block_nbytes += m.block_nbytes;
		if (m.largest_multiplied_nbytes > sum->largest_multiplied_nbytes)
			sum->largest_multiplied_nbytes = m.largest_multiplied_nbytes;
		sum->unknown |= m.unknown;
	}
	graph_free(g);
	return st;
}

enum status predict_cell(struct prediction *out, const struct spec *s, const struct checkpoint *c, const struct target *t,
	const struct precise *precise, const struct input_shape *shape, bool generates, struct error *err)
{
	const struct arch_graph *graphs[ARCH_STEPS_MOST] = { &arch_whole };
	size_t count = generates ? arch_graphs_of_loop(s, graphs) : 1;
	struct graph_memory sum = { 0 };
	enum status st = STATUS_OK;

	for (size_t i = 0; i < count && !st; i++)
		st = add_graph(&sum, s, c, graphs[i], t, precise, shape, err);
	if (!st)
		predict_engine(out, &sum, t);
	return st;
}

enum status predict_plan(struct checkpoint *out, struct arena *a, const struct checkpoint *config, const struct spec *s,
	enum dtype t, struct error *err)
{
	struct shard *shard = ARENA_NEW(a, struct shard);

	*shard = (struct shard){ .path = config->path,
		.real_path = config->path,
		.location = "model.safetensors",
		.identity = "plan",
		.synthetic = true };
	*out = (struct checkpoint){ .path = config->path, .config = config->config, .shards = shard, .shard_count = 1 };
	enum status st = arch_plan_weights(s, a, t, &out->weights, &out->weight_count, err);
	if (st)
		error_prefix(err, "%s/config.json", config->path);
	for (size_t i = 0; !st && i < out->weight_count; i++)
		out->weights[i].shard = shard;
	return st;
}

enum status predict_place(struct checkpoint *plan, struct error *err)
{
	struct arena passing = { 0 };
	struct shard *shard = plan->shards;
	char *header;
	uint64_t nbytes = 0;
	enum status st = safetensors_header_synthetic(
		&passing, plan->weights, plan->weight_count, &header, &shard->header_nbytes, &nbytes, err);

	shard->nbytes = (size_t)nbytes;
	arena_done(&passing);
	return st;
}

uint64_t predict_margin(const struct machine *m)
{
	uint64_t least = (uint64_t)256 << 20,
		 part = (uint64_t)(m->memory_limit_bytes > 0 ? m->memory_limit_bytes : m->memory_bytes) / 32;

	return part > least ? part : least;
}

bool predict_least(struct prediction *out, const struct checkpoint *plan, const struct target *t, const struct machine *m)
{
	enum { MANY = 1 << 14, PACKED = 8 }; // 4 bits for each of float32's 32
	uint64_t nbytes = 0;

	if (plan->weight_count < MANY || !platform_memory(t->route) || m->memory_available_bytes <= 0)
		return false;
	for (size_t i = 0; i < plan->weight_count; i++)
		nbytes += plan->weights[i].nbytes < UINT64_MAX - nbytes ? plan->weights[i].nbytes : UINT64_MAX - nbytes;
	*out = (struct prediction){ .required_bytes = nbytes / PACKED, .is_least = true };
	return nbytes / PACKED + predict_margin(m) > (uint64_t)m->memory_available_bytes;
}

const char *predict_amount(struct arena *a, uint64_t nbytes)
{
	return nbytes < (uint64_t)1 << 30 ? arena_printf(a, "%.0f MiB", (double)nbytes / 0x1p20)
					  : arena_printf(a, "%.1f GiB", (double)nbytes / 0x1p30);
}

enum status predict_fits(const struct prediction *p, const struct machine *m, int64_t allowed, struct error *err)
{
	struct arena a = { 0 };
	uint64_t available = (uint64_t)m->memory_available_bytes, margin = predict_margin(m);
	enum status st = STATUS_OK;

	if (allowed > 0 && p->anonymous_bytes > (uint64_t)allowed)
		st = error_set(err, STATUS_NO_MEMORY,
			"not tried: it needs %s of anonymous memory (predicted), and %s are allowed (--memory)",
			predict_amount(&a, p->anonymous_bytes), predict_amount(&a, (uint64_t)allowed));
	else if (available > 0 && p->required_bytes + margin > available)
		st = error_set(err, STATUS_NO_MEMORY,
			"not tried: it needs %s%s (predicted), and of the %s that are available %s stay free for others",
			p->is_least ? "more than " : "", predict_amount(&a, p->required_bytes), predict_amount(&a, available),
			predict_amount(&a, margin));
	arena_done(&a);
	return st;
}
