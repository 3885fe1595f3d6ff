// SPDX-License-Identifier: Apache-2.0
// What `fetch` and the commands that fetch on their own share: which names are not here, the sizes before, the progress while
// bytes come. Everything goes to standard error.
#ifndef ASSAY_CLI_FETCHING_H
#define ASSAY_CLI_FETCHING_H

#include "hub/fetch.h"

struct fetching {     // zero but for `offline` and `dry_run` at first
	bool offline; // send no request
	bool dry_run; // say what would be fetched
	struct arena arena;
	struct fetch_watch watch;
	struct fetch **plans;
	size_t count;
	// Of the plan that runs.
	double shown_ms, line_ms, file_ms;
	double rate, mark_ms; // bytes a second, and when that was last looked at
	uint64_t mark_bytes;
	size_t file;
	uint64_t file_from; // bytes of the file that an earlier try had brought
};

// Asks the Hub about a name that is not here, or not with its weights (FETCH_MODEL), and plans to fetch it; *added says whether
// there was something to plan. A Hub that cannot be reached is told and passed over: what is here then decides. Returns -1 to go
// on, else the exit code after a message.
int fetching_add(struct fetching *x, const char *asked, enum fetch_want want, bool *added);
// Shows the sizes of what was planned, looks at the free space for all of it, and fetches it, unless it is a dry run.
int fetching_all(struct fetching *x);
// Both for one model.
int fetching_ensure(const char *asked, enum fetch_want want, bool offline);
void fetching_done(struct fetching *x);

// "ORG/NAME, commit 0123abc of main at https://HOST: 7 of 12 files, 420.1 MiB, 12.0 MiB of it here" in the arena.
const char *fetching_words(struct arena *a, const struct fetch *f);
// fetch_run with progress; takes the line away at its end.
enum status fetching_run(struct fetching *x, struct fetch *f, struct error *err);
const struct fetch_watch *fetching_watch(struct fetching *x);

#endif
