// SPDX-License-Identifier: Apache-2.0
#include "cell/placed.h"

static json_t *told(int64_t n)
{
	return n < 0 ? json_null() : json_integer(n);
}

json_t *placed_columns(const struct placement *p)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "nodes_on_platform", told(p->on_platform), "nodes_fused",
		told(p->on_platform < 0 ? -1 : p->fused), "nodes_elsewhere", told(p->elsewhere), "partitions",
		told(p->partitions), "copies", told(p->copies));
}
