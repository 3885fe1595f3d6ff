// SPDX-License-Identifier: Apache-2.0
// bounds.h. At most four months in ms, 1e12 a second, an exbibyte in MiB; a prediction may be of what no machine has.
#include "question/bounds.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define MOST_RATE 1e12
#define MOST_MIB 1099511627776.0
#define MOST_COUNT 1e15
#define MOST_INTEGER 9.3e18

#define REALS(X) \
	X(latency_ms, BOUND_MS) \
	X(latency_min_ms, BOUND_MS) \
	X(latency_max_ms, BOUND_MS) \
	X(latency_p90_ms, BOUND_MS) \
	X(latency_p95_ms, BOUND_MS) \
	X(latency_p99_ms, BOUND_MS) \
	X(latency_low_ms, BOUND_MS) \
	X(latency_high_ms, BOUND_MS) \
	X(build_ms, BOUND_MS) \
	X(load_ms, BOUND_MS) \
	X(first_ms, BOUND_MS) \
	X(convert_ms, BOUND_MS) \
	X(new_shape_ms, BOUND_MS) \
	X(warmup_ms, BOUND_MS) \
	X(alone_ms, BOUND_MS) \
	X(device_ms, BOUND_MS) \
	X(wall_ms, BOUND_MS) \
	X(encoder_ms, BOUND_MS) \
	X(prefill_ms, BOUND_MS) \
	X(token_ms, BOUND_MS) \
	X(answer_first_token_ms, BOUND_MS) \
	X(answer_token_ms, BOUND_MS) \
	X(answer_steps_per_s, MOST_RATE) \
	X(together_throughput, MOST_RATE) \
	X(throughput_per_s, MOST_RATE) \
	X(tokens_per_s, MOST_RATE) \
	X(peak_anonymous_mib, MOST_MIB) \
	X(peak_pss_mib, MOST_MIB) \
	X(peak_resident_mib, MOST_MIB) \
	X(device_memory_mib, MOST_MIB) \
	X(predicted_mib, MOST_COUNT)
// Of bytes and the like only what is below 0 cannot be.
#define COUNTS(X) \
	X(samples, MOST_COUNT) \
	X(warmup_runs, MOST_INTEGER) \
	X(attempts, MOST_INTEGER) \
	X(batch, MOST_INTEGER) \
	X(sequence, MOST_INTEGER) \
	X(prompt_tokens, MOST_INTEGER) \
	X(new_tokens, MOST_INTEGER) \
	X(nodes, MOST_INTEGER) \
	X(nodes_elsewhere, MOST_INTEGER) \
	X(cache_bytes, MOST_INTEGER) \
	X(weights_bytes, MOST_INTEGER) \
	X(converted_bytes, MOST_INTEGER) \
	X(compiled_bytes, MOST_INTEGER) \
	X(data_examples, MOST_INTEGER) \
	X(data_unlike, MOST_INTEGER) \
	X(data_worse, MOST_INTEGER) \
	X(data_better, MOST_INTEGER)
#define NAMES(X) X(model) X(requested) X(actual) X(engine) X(weights) X(compute_dtype) X(precision) X(scenario) X(source)

const struct row_bound row_bounds[] = {
#define X(member, bound) { #member, bound },
	REALS(X)
#undef X
#define X(member, bound) { #member, bound },
		COUNTS(X)
#undef X
			{ NULL, 0 },
};

const char *const row_names[] = {
#define X(member) #member,
	NAMES(X)
#undef X
		NULL,
};

// Infinity and below 0 are beyond; NaN is absent.
static bool is_beyond(double x, double most)
{
	return !isnan(x) && !(x >= 0 && x <= most);
}

static bool is_long(const char *name)
{
	return name != NULL && strnlen(name, NAME_MOST + 1) > NAME_MOST;
}

static bool counts_nothing(int64_t n, double most)
{
	return n != ROW_NONE && is_beyond((double)n, most);
}

const char *row_beyond(const struct row *r, struct arena *a)
{
#define X(member, bound) \
	if (is_beyond(r->member, bound)) \
		return arena_printf(a, #member " is %g, which nothing can have measured", r->member);
	REALS(X)
#undef X
#define X(member) \
	if (is_long(r->member)) \
		return arena_printf(a, #member " is a name of more than %d characters", NAME_MOST);
	NAMES(X)
#undef X
#define X(member, bound) \
	if (counts_nothing(r->member, bound)) \
		return arena_printf(a, #member " is %lld, which nothing can have measured", (long long)r->member);
	COUNTS(X)
#undef X
	return NULL;
}

const char *name_within(const char *name, struct arena *a)
{
	enum { KEPT = NAME_MOST / 2 };

	return is_long(name) ? arena_printf(a, "%.*s... (cut: it had %zu bytes)", KEPT, name, strlen(name)) : name;
}

void row_keep_within(struct row *r, struct arena *a)
{
#define X(member, bound) r->member = is_beyond(r->member, bound) ? (double)NAN : r->member;
	REALS(X)
#undef X
#define X(member) r->member = name_within(r->member, a);
	NAMES(X)
#undef X
#define X(member, bound) r->member = counts_nothing(r->member, bound) ? ROW_NONE : r->member;
	COUNTS(X)
#undef X
}
