// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Program: plain
// Every type that is a mixture of experts, built from its defaults with all of them: up to 200,000 nodes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "pretended.h"

static int64_t experts_of(const struct spec *s)
{
	int64_t experts = s->expert_layers;
	for (int i = 0; i < PARTS_MOST; i++)
		experts += s->parts[i].spec ? experts_of(s->parts[i].spec) : 0;
	return experts;
}

static bool has_experts(const char *type, const char *config)
{
	struct checkpoint c;
	struct error err = { 0 };
	struct spec *s;
	if (checkpoint_open_config(&c, type, config, strlen(config), &err) || arch_resolve(&s, &c.arena, &c, &err))
		fail_msg("%s", err.text);
	bool has = experts_of(s) > 0;
	checkpoint_close(&c);
	return has;
}

static void every_mixture_is_built_with_all_experts(void **state)
{
	(void)state;
	size_t mixtures = 0, most = 0;
	for (size_t i = 0; i < arch_type_count(); i++) {
		char config[256];
		if (!arch_find(arch_type_name(i))->family->heads) // a part of others only
			continue;
		type_config(config, sizeof config, arch_type_name(i));
		if (!has_experts(arch_type_name(i), config))
			continue;
		struct checkpoint c;
		struct spec *s = open_full(&c, arch_type_name(i), config, true);
		struct graph *g = build_whole(s, &c, NULL);
		struct graph_summary sum;
		graph_summarise(g, &sum);
		// An expert has three products at least, and each layer adds its result to the others'.
		if ((int64_t)sum.node_count < 4 * experts_of(s))
			fail_msg("%s: %zu nodes for %lld experts", arch_type_name(i), sum.node_count, (long long)experts_of(s));
		if (sum.node_count > most)
			most = sum.node_count;
		mixtures++;
		graph_free(g);
		checkpoint_close(&c);
	}
	assert_true(mixtures >= 20 && most > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_mixture_is_built_with_all_experts) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
