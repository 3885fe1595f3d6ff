// SPDX-License-Identifier: Apache-2.0
// A case's graph. Its pictures may have another size than the configuration says, where the class takes any: the graph is then
// built for theirs, as with --image-size.
#include "conform/case.h"

#include "conform/stored.h"

// Height and width of in.pixel_values; false: there are none, or they fit what the graph takes.
static bool other_picture(const struct artifact *built, const char *io, int64_t size[2])
{
	struct arena a = { 0 };
	struct stored s;
	const struct tensor_type *takes = NULL;
	bool differs = false;

	for (size_t i = 0; i < built->input_count; i++)
		if (text_is(built->inputs[i].name, "pixel_values") && built->inputs[i].rank == 4)
			takes = &built->inputs[i];
	const struct weight *pictures = takes && !stored_open(&s, &a, io, NULL) ? stored_find(&s, "in.pixel_values") : NULL;
	for (int k = 0; k < 2 && pictures && pictures->rank == 4; k++) {
		size[k] = pictures->dim[2 + k];
		differs |= !takes->symbol[2 + k] && takes->dim[2 + k] != size[k];
	}
	arena_done(&a);
	return differs;
}

// Is there a size of made-up pictures? Then the class takes any, where it is a tower by itself, too.
static bool takes_any(const struct spec *s)
{
	struct input_hints hints;
	bool any = !text_is(arch_architecture(s), "vision");

	arch_input_hints(s, &hints);
	for (size_t i = 0; i < sizeof hints.symbols / sizeof *hints.symbols && hints.symbols[i].name; i++)
		any |= text_is(hints.symbols[i].name, "height");
	return any;
}

enum status conform_build(struct artifact *out, const struct conform_model *m, const struct arch_graph *which, struct graph **g,
	const char *io, struct arena *a, struct error *err)
{
	int64_t size[2];
	enum status st = artifact_build(out, a, m->checkpoint, m->spec, which, *g, err);

	if (st || !takes_any(m->spec) || !other_picture(out, io, size))
		return st;
	graph_free(*g);
	*g = graph_new(m->form);
	graph_bind(*g, "height", size[0]);
	graph_bind(*g, "width", size[1]);
	return artifact_build(out, a, m->checkpoint, m->spec, which, *g, err);
}
