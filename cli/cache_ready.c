// SPDX-License-Identifier: Apache-2.0
// What a command that works in the cache says about it before it begins.
#include "base/cache.h"
#include "base/claim.h"
#include "command.h"
#include "plan/plan.h"
#include "progress.h"

int cli_cache_ready(void)
{
	struct error err = { 0 };
	const char *problem;

	if (cache_check(&err) || plan_check_cache_limit(&err))
		return cli_error(&err);
	if ((problem = claim_problem()))
		progress_notice(problem);
	return -1;
}
