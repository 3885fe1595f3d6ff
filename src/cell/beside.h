// SPDX-License-Identifier: Apache-2.0
// Queries answered several at a time: as many threads as there are lanes, each of which takes the next query when it is free.
// Time is the machine's. What is run comes from the caller, so that the rules are tested without an engine.
#ifndef ASSAY_CELL_BESIDE_H
#define ASSAY_CELL_BESIDE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum { BESIDE_MOST = 256 }; // lanes

struct beside {
	void *context;
	enum status (*run)(void *context, size_t lane, struct error *err); // one query, in that lane's thread
	size_t lanes;
};

struct beside_limits {
	size_t least, most; // queries; `most` is the room of what comes out
	int64_t limit_ns;   // none begins after it, once there are `least`; 0: no limit
	// [most]: when each arrives, from the beginning; none begins before, and it waits behind those that came before it. NULL:
	// all are there at once.
	const int64_t *arrive_ns;
};

struct beside_sample {
	// [count], in the order in which they began: from its arrival, or from its beginning where all are there at once.
	int64_t *latency_ns;
	size_t count, unanswered; // unanswered: had arrived when the time was over
	int64_t elapsed_ns;       // from the beginning to the end of the last
};
enum status beside_run(
	const struct beside *b, const struct beside_limits *l, struct arena *a, struct beside_sample *out, struct error *err);

#endif
