// SPDX-License-Identifier: Apache-2.0
// Building a spec, for real or to learn which weights it wants; afterwards every tensor of the checkpoint has been read or is
// known to be of no use to this class.
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "arch/block/block.h"
#include "arch/dialect.h"
#include "arch/plan.h"
#include "arch/unread.h"

struct plan {
	struct arena *arena; // of the names
	struct weight *weights;
	size_t count, capacity;
	uint32_t *slots; // open addressing by name: index + 1; always less than half full
	size_t slot_count;
};

static uint32_t *plan_slot(const struct plan *p, const char *name)
{
	size_t at = fnv1a64_text(name) & (p->slot_count - 1);
	while (p->slots[at] && !text_is(p->weights[p->slots[at] - 1].name, name))
		at = (at + 1) & (p->slot_count - 1);
	return &p->slots[at];
}

static void plan_grow(struct plan *p)
{
	p->capacity = p->capacity ? p->capacity * 2 : 256;
	p->slot_count = p->capacity * 4;
	free(p->slots);
	p->slots = calloc(p->slot_count, sizeof *p->slots);
	p->weights = realloc(p->weights, p->capacity * sizeof *p->weights);
	if (!p->slots || !p->weights)
		out_of_memory(p->capacity * sizeof *p->weights);
	for (size_t i = 0; i < p->count; i++)
		*plan_slot(p, p->weights[i].name) = (uint32_t)i + 1;
}

void plan_add(struct plan *p, const char *name, int rank, const int64_t *dim, double gain)
{
	if (p->count == p->capacity)
		plan_grow(p);
	uint32_t *slot = plan_slot(p, name);
	if (*slot)
		return;
	struct weight *w = &p->weights[p->count++];
	*slot = (uint32_t)p->count;
	*w = (struct weight){ .name = arena_strdup(p->arena, name), .rank = rank, .gain = gain };
	if (rank)
		memcpy(w->dim, dim, (size_t)rank * sizeof *dim);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct weight *)a)->name, ((const struct weight *)b)->name);
}

// A graph that does not fit together is a gap of the builder's: no engine has seen it yet, and nothing is wrong with the files.
static enum status finish(struct graph *g, const struct spec *s, struct error *err)
{
	enum status status = graph_finish(g, err);
	if (status != STATUS_FAILED)
		return status;
	error_prefix(err, "the head %s of type %s is not built yet in this configuration", s->head->name, s->row->model_type);
	if (err)
		err->status = STATUS_UNSUPPORTED;
	return STATUS_UNSUPPORTED;
}

// The most values that a graph of this model may have, 60 MB of them: a Llama of 1,000 layers has 90,000, the deepest that is
// published some thousand. Every expert brings some of its own.
static int64_t values_most(const struct spec *s)
{
	enum { USUAL = 2 << 16, AN_EXPERT = 40 };
	int64_t experts = s->expert_layers;
	for (int i = 0; i < PARTS_MOST; i++)
		experts += s->parts[i].spec ? s->parts[i].spec->expert_layers : 0;
	return USUAL + AN_EXPERT * experts;
}

// The weights go over into the arena, by name.
static struct weight *plan_done(struct plan *p)
{
	struct weight *out = ARENA_ARRAY(p->arena, p->count + 1, struct weight);
	if (p->count) {
		qsort(p->weights, p->count, sizeof *p->weights, by_name);
		memcpy(out, p->weights, p->count * sizeof *out);
	}
	free(p->weights);
	free(p->slots);
	return out;
}

enum status arch_plan_weights(
	const struct spec *s, struct arena *a, enum dtype t, struct weight **out, size_t *count, struct error *err)
{
	struct checkpoint empty = { .path = s->row->model_type };
	struct plan plan = { .arena = a };
	struct graph *g = graph_new(NULL);
	struct build b = { .g = g, .s = s, .c = &empty, .plan = &plan, .which = &arch_whole };
	graph_limit(g, values_most(s));
	s->row->family->build(&b);
	enum status status = finish(g, s, err);
	graph_free(g);
	*out = plan_done(&plan);
	*count = plan.count;
	if (status)
		return status;
	for (size_t i = 0; i < *count; i++) {
		struct weight *w = &(*out)[i];
		size_t elements;
		if (!tensor_count(w->rank, w->dim, &elements) || elements > SIZE_MAX / 16)
			return error_set(err, STATUS_BAD_INPUT, "%s: the tensor %s is too large", s->row->model_type, w->name);
		w->dtype = t;
		w->nbytes = elements * dtype_size(t);
	}
	return STATUS_OK;
}

// Does a dialect's stem, with any or no prefix and any numbers, name this tensor (STEM or STEM.suffix)? *layer: its last number
// but the item's.
static bool stem_names(const struct spec *s, const char *pattern, const char *name, int64_t *layer)
{
	const char *prefix = s->row->dialect->prefix;
	int numbers = 0;
	if (pattern[0] == '@') {
		pattern++;
		if (s->prefix[0] && text_starts(name, s->prefix))
			name += strlen(s->prefix);
		else if (text_starts(name, prefix))
			name += strlen(prefix);
	}
	for (; *pattern; pattern++)
		if (*pattern == '#' || *pattern == '*') {
			char *end;
			int64_t n = strtoll(name, &end, 10);
			if (end == name)
				return false;
			name = end;
			if (*pattern == '#' && numbers++ < 2)
				*layer = n;
		} else if (*pattern != *name++)
			return false;
	return !*name || *name == '.';
}

static bool is_of_expert(const char *canonical)
{
	static const char *const stems[] = { "layers.moe.expert.", "layers.moe.experts.", "layers.attn.experts.in",
		"layers.attn.experts.out" };
	for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
		if (text_starts(canonical, stems[i]))
			return true;
	return false;
}

bool arch_expert_weight(const struct spec *s, const char *name, struct arch_experts *out)
{
	for (int i = 0; i < PARTS_MOST; i++)
		if (s->parts[i].spec && arch_expert_weight(s->parts[i].spec, name, out))
			return true;
	const struct moe *m = s->moe;
	if (!m || m->identities || !text_starts(name, s->root))
		return false;
	int64_t layer = -1;
	bool is = false;
	for (const struct weight_name *n = s->row->dialect->weights; n->canonical && !is; n++)
		is = is_of_expert(n->canonical) && stem_names(s, n->file, name + strlen(s->root), &layer);
	*out = (struct arch_experts){ m->experts, moe_chosen(m) };
	return is;
}

// Known, and rightly not read: another class's head or pooler, a layer beyond --layers, the second copy of a tied weight, or
// what the dialect lists.
static bool may_stay_unread(const struct spec *s, const char *name)
{
	for (int i = 0; i < PARTS_MOST; i++)
		if (s->parts[i].spec && may_stay_unread(s->parts[i].spec, name))
			return true;
	if (!text_starts(name, s->root))
		return false;
	name += strlen(s->root);
	for (const char *const *glob = s->row->dialect->ignored; glob && *glob; glob++)
		if (!fnmatch(*glob, name, 0))
			return true;
	for (const char *const *glob = s->unused; glob && *glob; glob++)
		if (!fnmatch(*glob, name, 0))
			return true;
	for (const struct weight_name *n = s->row->dialect->weights; n->canonical; n++) {
		int64_t layer = -1;
		if (!stem_names(s, n->file, name, &layer))
			continue;
		if (text_starts(n->canonical, "head.") || text_is(n->canonical, "pooler"))
			return true;
		if (layer >= s->layers && s->layers < s->layers_in_config)
			return true;
	}
	return false;
}

const struct spec *part_enter(struct build *b, const char *part)
{
	const struct spec *outer = b->s;
	if (part_of(outer, part))
		b->s = part_of(outer, part);
	else
		graph_fail(b->g, STATUS_UNSUPPORTED, "the head %s of type %s is not built yet: it has no such part",
			outer->head->name, outer->row->model_type);
	return outer;
}

void part_leave(struct build *b, const struct spec *outer)
{
	b->s = outer;
}

const struct arch_graph arch_whole = { .file = "model.onnx" };

const struct arch_graph *arch_graph_at(const struct spec *s, size_t i)
{
	const struct arch_graph *const *g = s->row->family->graphs;
	if (!i)
		return &arch_whole;
	for (; g && *g; g++)
		if ((!(*g)->there || (*g)->there(s)) && --i == 0)
			return *g;
	return NULL;
}

const struct arch_graph *arch_graph_of(const struct spec *s, enum arch_step step)
{
	const struct arch_graph *g;
	for (size_t i = 0; (g = arch_graph_at(s, i)); i++)
		if (g->step == step)
			return g;
	return NULL;
}

size_t arch_graphs_of_loop(const struct spec *s, const struct arch_graph *out[ARCH_STEPS_MOST])
{
	static const enum arch_step decodes[] = { STEP_ENCODE, STEP_FIRST, STEP_NEXT },
				    transduces[] = { STEP_ENCODE, STEP_TRANSDUCE };
	const bool is_transducer = arch_graph_of(s, STEP_TRANSDUCE);
	const size_t count = is_transducer ? 2 : 3;
	const struct arch_graph *alone = arch_graph_of(s, STEP_ALONE);

	out[0] = alone ? alone : &arch_whole;
	if (!is_transducer && !arch_graph_of(s, STEP_NEXT))
		return 1;
	for (size_t i = 0; i < count; i++)
		out[i] = arch_graph_of(s, (is_transducer ? transduces : decodes)[i]);
	return count;
}

static bool has_graph(const struct spec *s, const struct arch_graph *which)
{
	const struct arch_graph *g;
	for (size_t i = 0; (g = arch_graph_at(s, i)); i++)
		if (g == which)
			return true;
	return false;
}

// A head and a table that the configuration ties, and that the file has with other numbers, are not tied (transformers 5).
static struct spec *untied(struct build *b, const struct spec *s)
{
	struct spec *own = ARENA_NEW(graph_arena(b->g), struct spec);

	*own = *s;
	b->s = own;
	own->tied = s->tied && !weights_differ(b, "embed.word", "head.lm.out", "weight");
	for (int i = 0; i < PARTS_MOST; i++)
		if (s->parts[i].spec)
			own->parts[i].spec = untied(b, s->parts[i].spec);
	b->s = own;
	return own;
}

enum status arch_build(
	const struct spec *given, const struct checkpoint *c, const struct arch_graph *which, struct graph *g, struct error *err)
{
	struct build b = { .g = g, .c = c, .which = which, .read = ARENA_ARRAY(graph_arena(g), c->weight_count + 1, bool) };
	const struct spec *s = untied(&b, given);
	if (!c->weight_count)
		return error_set(err, STATUS_BAD_INPUT, "%s: there are no weights here", c->path);
	if (!has_graph(s, which))
		return error_set(
			err, STATUS_BAD_INPUT, "%s: a model of type %s has no %s", c->path, s->row->model_type, which->file);
	graph_limit(g, values_most(s));
	s->row->family->build(&b);
	graph_set_layers(g, arch_shortened_to(s));
	graph_limit(g, 0); // what brings it to 16 bits may add as it needs
	if (graph_failed(g))
		return finish(g, s, err);
	for (size_t i = 0; which == &arch_whole && i < c->weight_count; i++)
		if (!b.read[i] && !may_stay_unread(s, c->weights[i].name))
			return error_set(err, STATUS_UNSUPPORTED,
				"%s: the tensor %s was not read: %s as built here does not use it", c->weights[i].shard->path,
				c->weights[i].name, s->class_name);
	enum status unread = unread_check(&b, err);
	return unread ? unread : finish(g, s, err);
}
