// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Program: plain
// Every type, built from its defaults with all layers and all experts: up to 200,000 nodes.
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

static void every_type_is_built_whole(void **state)
{
	(void)state;
	size_t mixtures = 0, most = 0;
	for (size_t i = 0; i < arch_type_count(); i++) {
		char config[256];
		if (!arch_find(arch_type_name(i))->family->heads) // a part of others only
			continue;
		type_config(config, sizeof config, arch_type_name(i));
		struct checkpoint c;
		struct spec *s = open_full(&c, arch_type_name(i), config, true);
		struct graph *g = build_whole(s, &c, NULL);
		struct graph_summary sum;
		graph_summarise(g, &sum);
		// A layer has a product and what is done with it, an expert three products, and each adds its result.
		if ((int64_t)sum.node_count < 2 * arch_layers(s) || (int64_t)sum.node_count < 4 * experts_of(s))
			fail_msg("%s: %zu nodes for %lld layers and %lld experts", arch_type_name(i), sum.node_count,
				(long long)arch_layers(s), (long long)experts_of(s));
		if (sum.node_count > most)
			most = sum.node_count;
		mixtures += experts_of(s) > 0;
		graph_free(g);
		checkpoint_close(&c);
	}
	assert_true(mixtures >= 20 && most > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_type_is_built_whole) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
