// SPDX-License-Identifier: Apache-2.0
// Lists of traits as data, and what a spec has of its family's own.
#include "arch/traits.h"

#include <stdint.h>
#include <string.h>

#include "arch/spec.h"

const struct trait shared_traits[] = { SHARED_TRAITS(TRAIT_ENTRY, struct traits){ NULL } };

int trait_get(const struct trait *t, const void *traits)
{
	const void *at = (const char *)traits + t->offset;
	return t->kind == TRAIT_FLAG   ? *(const bool *)at
		: t->kind == TRAIT_ACT ? (int)*(const enum activation *)at
				       : *(const int *)at;
}

void trait_clear(const struct trait *t, void *traits)
{
	memset((char *)traits + t->offset, 0,
		t->kind == TRAIT_FLAG          ? sizeof(bool)
			: t->kind == TRAIT_ACT ? sizeof(enum activation)
					       : sizeof(int));
}

void *traits_of(const struct spec *s, const struct family *f)
{
	static const uint64_t
		none[TRAITS_MOST / sizeof(uint64_t)]; // read only: who sets a trait of another family's spec crashes
	return s->row->family == f ? s->own_traits : (void *)(uintptr_t)none;
}

void traits_of_row(struct spec *s, struct arena *a)
{
	const struct arch *row = s->row;
	size_t own = row->family->traits.size;
	s->own_traits = arena_alloc(a, own ? own : 1);
	if (!row->traits)
		return;
	memcpy(&s->traits, row->traits, sizeof s->traits);
	memcpy(s->own_traits, (const char *)row->traits + sizeof s->traits, own);
}
