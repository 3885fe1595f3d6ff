// SPDX-License-Identifier: Apache-2.0
// From external data of a graph (file, offset, length) to parts. Ranges that overlap, as those of tied weights and of slices of
// one weight do, go into one stretch, so that no byte is sent twice; stretches are laid into parts in the order of the file, at
// multiples of 16. Every number comes from a file that somebody else may have written: it is held against the file's size.
#include "artifact/parts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/artifact.h"
#include "artifact/identity.h"
#include "base/file.h"
#include "base/text.h"
#include "onnx/names.h"
#include "onnx/unpack.h"

enum { ALIGN = 16 };

struct source { // a file of weights
	struct source *next;
	const char *location;
	const uint8_t *map;
	size_t nbytes;
};

struct use { // one tensor's range
	Onnx__TensorProto *tensor;
	const struct source *source;
	uint64_t offset, nbytes;
	size_t stretch;
};

struct stretch { // a union of overlapping ranges
	const struct source *source;
	uint64_t begin, end;
	size_t part;
	uint64_t at;
};

struct cutter {
	struct arena *arena;
	const struct artifact *art;
	const struct checkpoint *checkpoint;
	struct source *sources;
	struct use *uses;
	size_t count, capacity;
};

// ---- what the graph names -----------------------------------------------------------------------------------------------

static enum status find_source(struct cutter *w, const char *location, const struct source **out, struct error *err)
{
	const char *plain = w->checkpoint ? location : model_plain_location(w->arena, location);
	if (!plain)
		return error_set(err, STATUS_BAD_INPUT, "%s: lies outside the graph's folder", location);
	for (const struct source *s = w->sources; s; s = s->next)
		if (!strcmp(s->location, plain)) {
			*out = s;
			return STATUS_OK;
		}
	struct source s = { .next = w->sources, .location = plain };
	if (w->checkpoint) {
		for (size_t i = 0; i < w->checkpoint->shard_count && !s.map; i++)
			if (!strcmp(w->checkpoint->shards[i].location, location)) {
				s.map = w->checkpoint->shards[i].map;
				s.nbytes = w->checkpoint->shards[i].nbytes;
			}
		if (!s.map)
			return error_set(err, STATUS_UNSUPPORTED,
				"this graph is not built yet for an engine that takes it in parts: it names %s, which is no file "
				"of the checkpoint",
				location);
	} else {
		// What a file names must lie beside it: neither above nor behind a link.
		char *real = NULL;
		const char *folder = w->art->weights_dir, *path = arena_printf(w->arena, "%s/%s", folder, location);
		size_t n = strlen(folder);
		bool inside = *location && *location != '/' && (real = realpath(path, NULL)) && !strncmp(real, folder, n) &&
			real[n] == '/';
		bool there = real != NULL;
		free(real);
		if (!inside)
			return error_set(err, STATUS_BAD_INPUT,
				there ? "%s: lies outside the graph's folder" : "%s: is not beside the graph", location);
		enum status st = file_map(w->arena, path, &s.map, &s.nbytes, err);
		if (st)
			return st;
	}
	w->sources = ARENA_NEW(w->arena, struct source);
	*w->sources = s;
	*out = w->sources;
	return STATUS_OK;
}

static const char *external(const Onnx__TensorProto *t, const char *key)
{
	for (size_t i = 0; i < t->n_external_data; i++)
		if (t->external_data[i]->key && !strcmp(t->external_data[i]->key, key))
			return t->external_data[i]->value;
	return NULL;
}

// Of an element of TensorProto's types; 0: it has no such data in a file.
static unsigned bits_of(int type)
{
	static const struct {
		int type;
		unsigned bits;
	} others[] = { { ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX64, 64 }, { ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX128, 128 },
		{ ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E4M3FNUZ, 8 }, { ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E5M2FNUZ, 8 },
		{ ONNX__TENSOR_PROTO__DATA_TYPE__UINT4, 4 }, { ONNX__TENSOR_PROTO__DATA_TYPE__INT4, 4 },
		{ ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT4E2M1, 4 }, { ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E8M0, 8 },
		{ ONNX__TENSOR_PROTO__DATA_TYPE__UINT2, 2 }, { ONNX__TENSOR_PROTO__DATA_TYPE__INT2, 2 } };

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (others[i].type == type)
			return others[i].bits;
	return 8 * (unsigned)dtype_size(dtype_of_onnx(type));
}

// By its type and shape, within the `nbytes` that are there. A length that says otherwise every engine refuses.
static enum status size_of(const Onnx__TensorProto *t, const char *name, uint64_t *nbytes, struct error *err)
{
	uint64_t n = bits_of(t->data_type);

	if (n == 0)
		return error_set(
			err, STATUS_UNSUPPORTED, "%s: data of element type %d in a file is not taken here", name, t->data_type);
	for (size_t i = 0; i < t->n_dims; i++)
		if (t->dims[i] < 0 || __builtin_mul_overflow(n, (uint64_t)t->dims[i], &n))
			n = UINT64_MAX;
	n = n / 8 + (n % 8 != 0);
	if (n > *nbytes)
		return error_set(err, STATUS_BAD_INPUT, "%s: its shape takes more than the %llu bytes that are there", name,
			(unsigned long long)*nbytes);
	*nbytes = n;
	return STATUS_OK;
}

static enum status add_tensor(struct cutter *w, Onnx__TensorProto *t, struct error *err)
{
	if (!t || !t->has_data_location || t->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
		return STATUS_OK;
	const char *name = t->name && *t->name ? t->name : "a tensor", *location = external(t, "location");
	const char *offset_text = external(t, "offset"), *length_text = external(t, "length");
	int64_t offset = 0, length = 0;
	struct use u = { .tensor = t };
	if (!location)
		return error_set(err, STATUS_BAD_INPUT, "%s: its data is external and has no location", name);
	enum status st = find_source(w, location, &u.source, err);
	if (st)
		return error_prefix(err, "%s", name);
	if (offset_text && !text_to_int(offset_text, 0, INT64_MAX, &offset))
		return error_set(err, STATUS_BAD_INPUT, "%s: offset %s", name, offset_text);
	u.offset = (uint64_t)offset;
	u.nbytes = u.offset <= u.source->nbytes ? u.source->nbytes - u.offset : 0;
	if (length_text && !text_to_int(length_text, 0, INT64_MAX, &length))
		return error_set(err, STATUS_BAD_INPUT, "%s: length %s", name, length_text);
	if (u.offset > u.source->nbytes || (uint64_t)length > u.nbytes)
		return error_set(err, STATUS_BAD_INPUT, "%s: %llu bytes at %llu of %s, which has %zu", name,
			(unsigned long long)length, (unsigned long long)offset, location, u.source->nbytes);
	if ((st = size_of(t, name, &u.nbytes, err)))
		return st;
	if (length_text && (uint64_t)length != u.nbytes)
		return error_set(err, STATUS_BAD_INPUT, "%s: its data has %lld bytes, and its shape takes %llu", name,
			(long long)length, (unsigned long long)u.nbytes);
	if (w->count == w->capacity) {
		w->capacity = w->capacity ? 2 * w->capacity : 64;
		struct use *more = ARENA_ARRAY(w->arena, w->capacity, struct use);
		for (size_t i = 0; i < w->count; i++)
			more[i] = w->uses[i];
		w->uses = more;
	}
	w->uses[w->count++] = u;
	return STATUS_OK;
}

static enum status add_graph(struct cutter *w, Onnx__GraphProto *g, struct error *err);

static enum status add_nodes(struct cutter *w, Onnx__NodeProto **nodes, size_t count, struct error *err)
{
	enum status st = STATUS_OK;
	for (size_t i = 0; i < count && !st; i++) {
		for (size_t k = 0; k < nodes[i]->n_attribute && !st; k++) {
			Onnx__AttributeProto *p = nodes[i]->attribute[k];
			st = add_tensor(w, p->t, err);
			for (size_t n = 0; n < p->n_tensors && !st; n++)
				st = add_tensor(w, p->tensors[n], err);
			st = st ? st : add_graph(w, p->g, err);
			for (size_t n = 0; n < p->n_graphs && !st; n++)
				st = add_graph(w, p->graphs[n], err);
		}
	}
	return st;
}

static enum status add_graph(struct cutter *w, Onnx__GraphProto *g, struct error *err)
{
	enum status st = STATUS_OK;
	for (size_t i = 0; g && i < g->n_initializer && !st; i++)
		st = add_tensor(w, g->initializer[i], err);
	return st || !g ? st : add_nodes(w, g->node, g->n_node, err);
}

// ---- cutting ------------------------------------------------------------------------------------------------------------

static int by_place(const void *a, const void *b)
{
	const struct use *x = a, *y = b;
	int order = strcmp(x->source->location, y->source->location);
	if (order)
		return order;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->nbytes < y->nbytes ? -1 : x->nbytes > y->nbytes;
}

static void cut(struct cutter *w, uint64_t limit, struct artifact_parts *out)
{
	struct stretch *stretches = ARENA_ARRAY(w->arena, w->count + 1, struct stretch);
	size_t n = 0;
	if (w->count)
		qsort(w->uses, w->count, sizeof *w->uses, by_place);
	for (size_t i = 0; i < w->count; i++) {
		struct use *u = &w->uses[i];
		struct stretch *last = n ? &stretches[n - 1] : NULL;
		if (!last || strcmp(last->source->location, u->source->location) || u->offset >= last->end) {
			last = &stretches[n++];
			*last = (struct stretch){ .source = u->source, .begin = u->offset, .end = u->offset };
		}
		if (u->offset + u->nbytes > last->end)
			last->end = u->offset + u->nbytes;
		u->stretch = n - 1;
	}
	out->items = ARENA_ARRAY(w->arena, n + 1, struct artifact_part);
	struct part_segment *segments = ARENA_ARRAY(w->arena, n + 1, struct part_segment);
	for (size_t i = 0; i < n; i++) {
		struct stretch *s = &stretches[i];
		struct artifact_part *p = out->count ? &out->items[out->count - 1] : NULL;
		uint64_t nbytes = s->end - s->begin, at = p ? (p->nbytes + ALIGN - 1) / ALIGN * ALIGN : 0;
		if (!p || at + nbytes > limit) {
			p = &out->items[out->count];
			*p = (struct artifact_part){ .name = arena_printf(w->arena, "weights-%zu.bin", out->count),
				.segments = &segments[i] };
			out->count++;
			at = 0;
		}
		segments[i] = (struct part_segment){ at, s->source->map + s->begin, nbytes };
		p->segment_count++;
		p->nbytes = at + nbytes;
		s->part = out->count - 1;
		s->at = at;
	}
	for (size_t i = 0; i < out->count; i++)
		out->nbytes += out->items[i].nbytes;
	for (size_t i = 0; i < w->count; i++) {
		struct use *u = &w->uses[i];
		const struct stretch *s = &stretches[u->stretch];
		// The message's own strings are protobuf-c's; ours replace the values for the time of packing alone.
		u->offset = s->at + (u->offset - s->begin);
		u->source = NULL;
		u->stretch = s->part;
		if (u->nbytes > out->largest_nbytes) {
			out->largest_nbytes = u->nbytes;
			out->largest = arena_strdup(w->arena, u->tensor->name && *u->tensor->name ? u->tensor->name : "a tensor");
		}
	}
}

static Onnx__StringStringEntryProto *entry(struct arena *a, const char *key, const char *text)
{
	Onnx__StringStringEntryProto *e = ARENA_NEW(a, Onnx__StringStringEntryProto);
	onnx__string_string_entry_proto__init(e);
	e->key = arena_strdup(a, key);
	e->value = arena_strdup(a, text);
	return e;
}

struct given {
	size_t count;
	Onnx__StringStringEntryProto **data;
};

static enum status too_large(size_t nbytes, struct error *err)
{
	return error_set(err, STATUS_UNSUPPORTED, "the graph takes %zu bytes; protobuf holds 2 GiB", nbytes);
}

// Packs the model with the new places, and gives the tensors their own entries back, which the model's owner frees.
static enum status write_graph(struct cutter *w, Onnx__ModelProto *model, struct artifact_parts *out, struct error *err)
{
	struct given *was = ARENA_ARRAY(w->arena, w->count + 1, struct given);
	for (size_t i = 0; i < w->count; i++) {
		struct use *u = &w->uses[i];
		Onnx__TensorProto *t = u->tensor;
		was[i] = (struct given){ t->n_external_data, t->external_data };
		t->n_external_data = 3;
		t->external_data = ARENA_ARRAY(w->arena, 3, Onnx__StringStringEntryProto *);
		t->external_data[0] = entry(w->arena, "location", out->items[u->stretch].name);
		t->external_data[1] = entry(w->arena, "offset", arena_printf(w->arena, "%llu", (unsigned long long)u->offset));
		t->external_data[2] = entry(w->arena, "length", arena_printf(w->arena, "%llu", (unsigned long long)u->nbytes));
	}
	enum status st = STATUS_OK;
	size_t size = onnx__model_proto__get_packed_size(model);
	if (size > INT_MAX) {
		st = too_large(size, err);
	} else {
		uint8_t *bytes = arena_alloc(w->arena, size + 1);
		out->graph_nbytes = onnx__model_proto__pack(model, bytes);
		out->graph = bytes;
	}
	for (size_t i = 0; i < w->count; i++) {
		w->uses[i].tensor->n_external_data = was[i].count;
		w->uses[i].tensor->external_data = was[i].data;
	}
	return st;
}

enum status artifact_cut(struct artifact_parts *out, struct arena *a, const struct artifact *art, const struct checkpoint *c,
	uint64_t limit, struct error *err)
{
	struct cutter w = { .arena = a, .art = art, .checkpoint = c };
	struct artifact_parts parts = { .graph = art->graph, .graph_nbytes = art->graph_nbytes };
	Onnx__ModelProto *model = NULL;
	enum status st = onnx_unpack(&model, art->graph, art->graph_nbytes, err);
	if (st)
		return st;
	// A browser says by names alone, in a log, where its nodes ran.
	parts.graph = onnx_named(a, art->graph, art->graph_nbytes, &parts.graph_nbytes);
	if (parts.graph != art->graph) {
		onnx__model_proto__free_unpacked(model, NULL);
		if (!parts.graph)
			return error_set(err, STATUS_BAD_INPUT, "not a readable ONNX file");
		if (parts.graph_nbytes > INT_MAX)
			return too_large(parts.graph_nbytes, err);
		if ((st = onnx_unpack(&model, parts.graph, parts.graph_nbytes, err)))
			return st;
	}
	st = add_graph(&w, model->graph, err);
	for (size_t i = 0; i < model->n_functions && !st; i++)
		st = add_nodes(&w, model->functions[i]->node, model->functions[i]->n_node, err);
	if (!st && w.count) {
		cut(&w, limit, &parts);
		st = write_graph(&w, model, &parts, err);
	}
	onnx__model_proto__free_unpacked(model, NULL);
	if (!st)
		*out = parts;
	return st;
}

size_t artifact_part_read(const struct artifact_part *p, uint64_t at, void *out, size_t nbytes)
{
	size_t low = 0, high = p->segment_count;
	if (at >= p->nbytes)
		return 0;
	if (nbytes > p->nbytes - at)
		nbytes = (size_t)(p->nbytes - at);
	while (low < high) { // the first segment that ends after `at`
		size_t middle = low + (high - low) / 2;
		if (p->segments[middle].at + p->segments[middle].nbytes <= at)
			low = middle + 1;
		else
			high = middle;
	}
	memset(out, 0, nbytes);
	for (; low < p->segment_count && p->segments[low].at < at + nbytes; low++) {
		const struct part_segment *s = &p->segments[low];
		uint64_t begin = s->at > at ? s->at : at, end = s->at + s->nbytes < at + nbytes ? s->at + s->nbytes : at + nbytes;
		memcpy((uint8_t *)out + (begin - at), s->data + (begin - s->at), (size_t)(end - begin));
	}
	return nbytes;
}
