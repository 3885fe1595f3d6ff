// SPDX-License-Identifier: Apache-2.0
// Mutants of the architecture table: every trait of a row that is not zero, shared or the family's own, is set to zero, one at a
// time, and at least one conformance case with that type in it must break, in building or in its numbers. A trait that no case
// misses is a defect, and so is one that no row sets.
//
//	mutate [TYPE...]      exit code 0: none lives, and every trait of the lists is set by a row
//
// The program is linked so that arch_find gives the mutant. It is its own child too: the name of the folder that a case lies
// in says which mutant to be.
#include <dirent.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/spec.h"
#include "base/file.h"
#include "question/cell.h"
#include "conform/case.h"
#include "onnx/inside.h"

static char mutated_type[64], mutated_trait[64];

const struct arch *__real_arch_find(const char *model_type);
const struct arch *__wrap_arch_find(const char *model_type);
enum status __real_conform_materialise(const char **folder, struct arena *a, const char *case_folder, struct error *err);
enum status __wrap_conform_materialise(const char **folder, struct arena *a, const char *case_folder, struct error *err);

// The traits that a row of this family may set: the shared ones, then its own. NULL after the last.
static const struct trait *trait_at(const struct family *f, size_t i, bool *is_own)
{
	size_t shared = 0;
	while (shared_traits[shared].name)
		shared++;
	*is_own = i >= shared;
	const struct trait *t = *is_own ? (f->traits.traits ? &f->traits.traits[i - shared] : NULL) : &shared_traits[i];
	return t && t->name ? t : NULL;
}

// Sets one trait of a copy of a row's traits to zero; false when it is zero already or is not called so.
static bool drop(const struct family *f, char *traits, const char *name)
{
	bool is_own;
	const struct trait *t;
	for (size_t i = 0; (t = trait_at(f, i, &is_own)); i++) {
		void *at = traits + (is_own ? sizeof(struct traits) : 0);
		if (strcmp(t->name, name) != 0 || !trait_get(t, at))
			continue;
		trait_clear(t, at);
		return true;
	}
	return false;
}

static bool row_sets(const struct arch *row, const struct trait *t, bool is_own)
{
	return row->traits && trait_get(t, (const char *)row->traits + (is_own ? sizeof(struct traits) : 0));
}

// A trait that no row sets: of the shared ones no row at all, of a family's own none of that family.
static size_t unset_traits(void)
{
	size_t unset = 0;
	for (size_t r = 0; r < arch_row_count; r++) {
		const struct family *f = arch_rows[r].family;
		bool is_own, known = false;
		for (size_t before = 0; before < r; before++)
			known |= arch_rows[before].family == f;
		const struct trait *t;
		for (size_t i = 0; !known && (t = trait_at(f, i, &is_own)); i++) {
			bool set = !is_own && r > 0; // the shared ones were looked at with the first family
			for (size_t k = 0; k < arch_row_count && !set; k++)
				set = (!is_own || arch_rows[k].family == f) && row_sets(&arch_rows[k], t, is_own);
			if (set)
				continue;
			printf("set by no row: %s%s%s\n", t->name, is_own ? " of the family " : "", is_own ? f->name : "");
			unset++;
		}
	}
	return unset;
}

const struct arch *__wrap_arch_find(const char *model_type)
{
	static struct arch copy;
	static _Alignas(8) char traits[sizeof(struct traits) + TRAITS_MOST];
	const struct arch *row = __real_arch_find(model_type);
	if (!row || strcmp(row->model_type, mutated_type) != 0)
		return row;
	copy = *row;
	if (!row->traits)
		abort();
	memcpy(traits, row->traits, sizeof(struct traits) + row->family->traits.size);
	copy.traits = traits;
	if (!drop(row->family, traits, mutated_trait))
		abort();
	return &copy;
}

// WORK/TYPE:TRAIT/CASE
enum status __wrap_conform_materialise(const char **folder, struct arena *a, const char *case_folder, struct error *err)
{
	char *path = arena_strdup(a, case_folder), *mutant = basename(dirname(path)), *colon = strchr(mutant, ':');
	if (colon) {
		snprintf(mutated_type, sizeof mutated_type, "%.*s", (int)(colon - mutant), mutant);
		snprintf(mutated_trait, sizeof mutated_trait, "%s", colon + 1);
	}
	return __real_conform_materialise(folder, a, case_folder, err);
}

struct mutant {
	const char *type, *trait;
	bool killed;
};
struct tally {
	struct mutant *mutants;
	size_t count;
	struct conform_case
		*cases; // of each mutant, one mutant's behind the other's; those of few nodes first, which open sooner
	size_t *owner, *nodes, case_count;
};

// How many nodes the case's graph has; 0 where it is not built: a mutant that cannot be built is dead and needs no engine.
static size_t nodes_of(const char *folder)
{
	struct arena a = { 0 };
	struct checkpoint c = { 0 };
	struct spec *s;
	const char *made;
	struct graph *g = graph_new(NULL);
	bool built = !__real_conform_materialise(&made, &a, folder, NULL) && !checkpoint_open(&c, made, NULL) &&
		!arch_resolve(&s, &a, &c, NULL) && !arch_build(s, &c, &arch_whole, g, NULL) && !graph_finish(g, NULL);
	const size_t nodes = built ? (size_t)g->node_count : 0;
	graph_free(g);
	checkpoint_close(&c);
	arena_done(&a);
	return nodes;
}

// What config.json of each case says; "" where there is none.
static const char **texts_of(struct arena *a, const struct conform_case *cases, size_t count)
{
	const char **texts = ARENA_ARRAY(a, count + 1, const char *);
	for (size_t i = 0; i < count; i++) {
		char *text;
		size_t n;
		bool is_read = !file_read(a, arena_printf(a, "%s/config.json", cases[i].folder), 1 << 20, &text, &n, NULL);
		texts[i] = is_read ? text : "";
	}
	return texts;
}

static void add_mutant(struct tally *t, struct arena *a, const char *work, const char *type, const char *trait,
	const struct conform_case *cases, const char *const *texts, size_t count)
{
	const char *quoted = arena_printf(a, "\"%s\"", type);
	struct mutant *m = &t->mutants[t->count];
	const char *folder = arena_printf(a, "%s/%s:%s", work, type, trait);
	*m = (struct mutant){ type, trait, false };
	snprintf(mutated_type, sizeof mutated_type, "%s", type);
	snprintf(mutated_trait, sizeof mutated_trait, "%s", trait);
	size_t begin = t->case_count;
	if (file_mkdirs(folder, NULL))
		abort();
	for (size_t i = 0; i < count && !m->killed; i++) {
		if (strcmp(cases[i].model_type, type) != 0 && !strstr(texts[i], quoted))
			continue;
		size_t nodes = nodes_of(cases[i].folder), at = t->case_count++;
		m->killed = !nodes;
		for (; at > begin && t->nodes[at - 1] > nodes; at--) {
			t->cases[at] = t->cases[at - 1];
			t->nodes[at] = t->nodes[at - 1];
		}
		t->cases[at] = cases[i];
		t->cases[at].folder = arena_printf(a, "%s/%s", folder, cases[i].name);
		t->nodes[at] = nodes;
		t->owner[t->case_count - 1] = t->count;
		if (symlink(cases[i].folder, t->cases[at].folder))
			abort();
	}
	if (m->killed)
		t->case_count = begin;
	mutated_type[0] = 0;
	t->count++;
}

// Runs cases until every mutant is killed or has none left: in each round as many of those that still live as in all rounds
// before, and one to begin with.
static enum status run_rounds(struct tally *t, const struct target *target, struct arena *a, struct error *err)
{
	struct conform_case *round = ARENA_ARRAY(a, t->case_count + 1, struct conform_case);
	size_t *owner = ARENA_ARRAY(a, t->case_count + 1, size_t), ran = 0;
	for (size_t begin = 0, end = 1; begin < t->case_count; begin = end, end *= 2) {
		size_t count = 0, nth = 0;
		for (size_t i = 0; i < t->case_count; i++) {
			nth = i > 0 && t->owner[i] == t->owner[i - 1] ? nth + 1 : 0;
			if (nth < begin || nth >= end || t->mutants[t->owner[i]].killed)
				continue;
			round[count] = t->cases[i];
			owner[count++] = t->owner[i];
		}
		if (!count)
			continue;
		enum status s = conform_run(&(struct conform_asked){ .target = target, .cases = round, .count = count }, a, err);
		if (s)
			return s;
		for (size_t i = 0; i < count; i++)
			t->mutants[owner[i]].killed |= !round[i].passed;
		ran += count;
	}
	printf("%zu cases were run\n", ran);
	return STATUS_OK;
}

static bool wanted(const char *type, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], type) == 0)
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "cell") == 0)
		return conform_child();
	struct arena a = { 0 };
	struct tally t = { 0 };
	struct target target;
	struct error err = { 0 };
	const char *folder = conform_folder(&a);
	char work[] = "/tmp/assay-mutate-XXXXXX", self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	size_t count, living = unset_traits();
	if (!folder || !mkdtemp(work) || n < 0)
		return 1;
	self[n] = 0;
	setenv("ASSAY_PROGRAM", self, 1);
	if (platform_target(&target, &a, "cpu", &err))
		return 1;
	const struct conform_case *cases = conform_cases(&a, folder, NULL, &count);
	const char **texts = texts_of(&a, cases, count);
	t.mutants = ARENA_ARRAY(&a, arch_row_count * 64, struct mutant);
	t.cases = ARENA_ARRAY(&a, arch_row_count * 64 * 8 + count * 64, struct conform_case);
	t.owner = ARENA_ARRAY(&a, arch_row_count * 64 * 8 + count * 64, size_t);
	t.nodes = ARENA_ARRAY(&a, arch_row_count * 64 * 8 + count * 64, size_t);
	for (size_t i = 0; i < arch_row_count; i++) {
		const struct arch *row = &arch_rows[i];
		if (!wanted(row->model_type, argc, argv))
			continue;
		bool is_own;
		const struct trait *trait;
		for (size_t k = 0; (trait = trait_at(row->family, k, &is_own)); k++)
			// Without never_tied a head with numbers of its own, which each case has, is not tied either: it says
			// that a file without one is refused.
			if (row_sets(row, trait, is_own) && strcmp(trait->name, "never_tied") != 0)
				add_mutant(&t, &a, work, row->model_type, trait->name, cases, texts, count);
	}
	printf("%zu mutants; those that can be built make %zu cases\n", t.count, t.case_count);
	fflush(stdout);
	enum status s = run_rounds(&t, &target, &a, &err);
	file_remove_tree(work, NULL);
	if (s) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	size_t killed = 0;
	for (size_t i = 0; i < t.count; i++)
		if (t.mutants[i].killed)
			killed++;
		else {
			printf("lives: %s without %s\n", t.mutants[i].type, t.mutants[i].trait);
			living++;
		}
	printf("%zu of %zu mutants killed\n", killed, t.count);
	arena_done(&a);
	return living ? 1 : 0;
}
