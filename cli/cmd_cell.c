// SPDX-License-Identifier: Apache-2.0
// assay cell: the child's side of a cell, a probe, a plan, a conformance run or a pipeline. Not for people: it speaks JSON on
// descriptors 0 and 3.
#include <stdbool.h>

#include "command.h"
#include "question/cell.h"
#include "cell/cell.h"
#include "conform/conform.h"
#include "pipeline/pipeline.h"
#include "plan/plan.h"

static int run(int argc, char **argv)
{
	const char *probe = NULL, *driver = NULL, *plan = NULL;
	bool conform = false, pipeline = false;
	const struct cli_option options[] = {
		{ "probe", CLI_TEXT, &probe, "ENGINE", "list the devices of one engine" },
		{ "driver", CLI_TEXT, &driver, "NAME", "say what a vendor's library says" },
		{ "plan", CLI_TEXT, &plan, "WHAT", "read a model, or predict its memory" },
		{ "conform", CLI_FLAG, &conform, NULL, "answer conformance cases" },
		{ "pipeline", CLI_FLAG, &pipeline, NULL, "answer with a pipeline" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay cell [--probe ENGINE | --driver NAME | --plan model|memory | --conform | --pipeline]",
		.text = "Started by assay itself: the request is one line of JSON on descriptor 0, events are written to\n"
			"descriptor 3.\n",
		.options = options,
	};
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	if ((probe != NULL) + (driver != NULL) + (plan != NULL) + conform + pipeline > 1)
		return cli_bad_use("--probe, --driver, --plan, --conform and --pipeline do not go together");
	if (probe)
		return cell_child_probe(probe);
	if (driver)
		return cell_child_driver(driver);
	if (plan)
		return plan_child(plan);
	if (pipeline)
		return pipeline_child();
	return conform ? conform_child() : cell_child(&pipeline_dictation);
}

const struct command command_cell = { "cell", NULL, run };
