// SPDX-License-Identifier: Apache-2.0
// What tables and columns mean: the comments of the database itself, from which tools/schema makes docs/SCHEMA.md. Columns of
// `measurement` and `comparison` have theirs in ROW_LIST and COMPARISON_LIST. Applied with the views: a changed text reaches
// older files.
#include <strings.h>

#include "base/text.h"
#include "store/comparison.h"
#include "store/schema.h"

static const struct {
	const char *table, *column, *meaning;
} comments[] = {
	{ "schema_version", NULL, "one step of the schema" },
	{ "schema_version", "version", "number of the step" },
	{ "schema_version", "what", "what it brought" },
	{ "schema_version", "applied_at", "when this file got it" },

	{ "machine", NULL, "one machine, when first seen" },
	{ "machine", "id", "hash of the other columns that stay the same" },
	{ "machine", "os", "name and version of the distribution" },
	{ "machine", "kernel", "release of the kernel" },
	{ "machine", "architecture", "as uname says: x86_64, aarch64" },
	{ "machine", "cpu_vendor", "maker of the processor" },
	{ "machine", "cpu_model", "its name" },
	{ "machine", "sockets", "processors" },
	{ "machine", "cores", "physical cores of all of them" },
	{ "machine", "threads", "hardware threads of all of them" },
	{ "machine", "usable_cpus", "threads that the program may use: affinity and control group" },
	{ "machine", "l1d_bytes", "first-level data cache of a core" },
	{ "machine", "l2_bytes", "second-level cache of a core" },
	{ "machine", "l3_bytes", "last-level cache" },
	{ "machine", "features", "instruction sets that engines choose by" },
	{ "machine", "hypervisor", "of a virtual machine: whose; null: none is seen" },
	{ "machine", "memory_bytes", "memory of the machine" },
	{ "machine", "memory_limit_bytes", "limit of the control group; null: none" },
	{ "machine", "first_seen_at", "when the first run on it began" },

	{ "run", NULL, "one run of the program; imported: one of another database or of another tool" },
	{ "run", "id", "number in this file" },
	{ "run", "machine", "machine.id" },
	{ "run", "hostname", "name of the machine in its network" },
	{ "run", "program_version", "version of assay; of an imported result the tool and its version" },
	{ "run", "program_commit",
		"commit of the checkout it was built from, with + behind it where files differed; null: not known" },
	{ "run", "command", "command line" },
	{ "run", "pid", "process; with the next three it tells whether the run still lives. 0: imported from another tool" },
	{ "run", "start_ticks", "when that process began, in clock ticks since boot" },
	{ "run", "boot_id", "this boot of the machine" },
	{ "run", "pid_namespace", "namespace that the process number belongs to" },
	{ "run", "memory_available_bytes", "memory that was free for programs when it began" },
	{ "run", "started_at", "when it began" },
	{ "run", "origin_id", "its number in the file where it was measured; null: this one" },
	{ "run", "import", "import.id that brought it; null: measured into this file" },

	{ "model", NULL, "a model in one revision and head, when first finished" },
	{ "model", "id", "number in this file" },
	{ "model", "name", "as it was asked for" },
	{ "model", "revision", "commit of a Hub snapshot" },
	{ "model", "model_type", "config.json's model_type" },
	{ "model", "architecture", "encoder-only, decoder-only, vision, ..." },
	{ "model", "head", "masked-lm, causal-lm, ..., model" },
	{ "model", "first_seen_at", "when a cell of it first finished" },

	{ "artifact", NULL, "a graph with its weights, when first finished" },
	{ "artifact", "key", "SHA-256 of graph, weight headers and blob identities; measurement.artifact_key" },
	{ "artifact", "model", "model.id" },
	{ "artifact", "form", "which graph variant" },
	{ "artifact", "weights_dtype", "type of most weight bytes in the files of the model, whatever they were converted to" },
	{ "artifact", "weights_bytes", "bytes of the weights that the graph uses" },
	{ "artifact", "nodes", "nodes in the graph as built" },
	{ "artifact", "placed_by", "how the engine got the weights: memory, hardlink, reflink, copy, file" },
	{ "artifact", "first_seen_at", "when a cell with it first finished" },

	{ "cell", NULL, "one question, as it was asked; 0 means the default" },
	{ "cell", "id", "number of the row" },
	{ "cell", "run", "run.id" },
	{ "cell", "cell_key", "hash of the question: the same question has the same key" },
	{ "cell", "model", "the model as asked for" },
	{ "cell", "path", "where it was found" },
	{ "cell", "revision", "commit of a Hub snapshot" },
	{ "cell", "requested", "the platform asked for" },
	{ "cell", "device", "its device, as asked" },
	{ "cell", "asked_options", "options asked of the engine" },
	{ "cell", "batch", "batch size" },
	{ "cell", "sequence", "tokens" },
	{ "cell", "runs", "timed runs" },
	{ "cell", "layers", "layers; 0: all" },
	{ "cell", "seed", "of inputs and synthetic weights" },
	{ "cell", "synthetic", "weights may be random numbers" },
	{ "cell", "static_shapes", "fixed shapes in the graph" },
	{ "cell", "timeout_s", "seconds for the whole cell" },
	{ "cell", "memory_limit_bytes", "limit of its anonymous memory" },
	{ "cell", "golden", "file of expected outputs" },
	{ "cell", "attempt", "1, or the number of this try in a chain of fallbacks" },
	{ "cell", "fallback_of", "cell.id of the first try" },
	{ "cell", "fallback_reason", "verdict and cause of the try before" },
	{ "cell", "started_at", "when it was started" },
	{ "cell", "question", "JSON: all that was asked" },
	{ "cell", "origin_id", "its number in the file where it was measured; null: this one" },

	{ "event", NULL,
		"something that happened to a run or a cell; the last word about a cell is its event with the highest number" },
	{ "event", "id", "number in this file" },
	{ "event", "run", "run.id; 0: the next program that opened the file" },
	{ "event", "cell", "cell.id; null: it is about the run" },
	{ "event", "kind", "run_started, run_ended, started, verdict, interrupted" },
	{ "event", "verdict", "of a last word" },
	{ "event", "cause", "why, in a sentence" },
	{ "event", "happened_at", "when" },

	{ "measurement", NULL, "what was measured with one verdict: the fields of a row, as `assay run --json` prints them" },
	{ "measurement", "cell", "cell.id" },
	{ "measurement", "event", "event.id of the verdict" },

	{ "sample", NULL, "one timed warm run" },
	{ "sample", "cell", "cell.id" },
	{ "sample", "event", "event.id of the verdict" },
	{ "sample", "number", "from 0, in the order in which they ran" },
	{ "sample", "ms", "its time" },

	{ "placement", NULL, "one node of the graph" },
	{ "placement", "cell", "cell.id" },
	{ "placement", "event", "event.id of the verdict" },
	{ "placement", "number", "from 0" },
	{ "placement", "node", "its name" },
	{ "placement", "op", "its operator" },
	{ "placement", "place", "who ran it" },
	{ "placement", "kernel", "what of it, where the engine tells" },
	{ "placement", "fused", "it was folded into another" },
	{ "placement", "dtype", "type of its first input" },
	{ "placement", "reason", "why it is not where it was asked to be" },
	{ "placement", "elsewhere", "it ran on something else than what was asked for" },
	{ "placement", "ms", "time in one profiled run, where the engine tells" },

	{ "profile_node", NULL, "one node of the engine's own graph, of a cell that was profiled (`assay profile`)" },
	{ "profile_node", "cell", "cell.id" },
	{ "profile_node", "event", "event.id of the verdict" },
	{ "profile_node", "number", "order of execution, from 0" },
	{ "profile_node", "name", "the engine's name of it" },
	{ "profile_node", "op", "the engine's operator" },
	{ "profile_node", "kernel", "the engine's kernel" },
	{ "profile_node", "place", "who ran it" },
	{ "profile_node", "scope", "of the graph as built; null: not named" },
	{ "profile_node", "named_by", "how the scope was found: name, part, place, not" },
	{ "profile_node", "drawn_nodes", "nodes of the built graph that it stands for" },
	{ "profile_node", "ms", "mean time over the middle half of the profiled runs" },
	{ "profile_node", "flops", "floating-point operations" },
	{ "profile_node", "bytes", "bytes that it must at least move" },
	{ "profile_node", "weight_bytes", "bytes of weights among them" },
	{ "profile_node", "roof_ms", "time that the roofline of this machine allows" },
	{ "profile_node", "roof", "which roof: compute or memory" },

	{ "output_check", NULL, "one output against its reference" },
	{ "output_check", "cell", "cell.id" },
	{ "output_check", "event", "event.id of the verdict" },
	{ "output_check", "number", "from 0" },
	{ "output_check", "output", "its name" },
	{ "output_check", "agrees", "within the bound" },
	{ "output_check", "max_abs_error", "largest absolute error" },
	{ "output_check", "max_rel_error", "largest relative error where the reference is not near zero" },
	{ "output_check", "nmse", "normalised mean squared error" },
	{ "output_check", "cosine", "cosine similarity" },
	{ "output_check", "top1_agreement", "share of positions whose argmax agrees; null where there are no classes" },
	{ "output_check", "non_finite", "NaN and infinite values" },
	{ "output_check", "reference_absmax", "largest value of the reference" },
	{ "output_check", "cause", "why it does not agree" },
	{ "output_check", "facts", "JSON with the rest" },

	{ "platform_detection", NULL, "one platform as one run found it" },
	{ "platform_detection", "id", "number in this file" },
	{ "platform_detection", "run", "run.id" },
	{ "platform_detection", "platform", "its name" },
	{ "platform_detection", "available", "an engine of it opened and has a device, and none before it died or hung" },
	{ "platform_detection", "reason", "why not" },
	{ "platform_detection", "engine", "engine that serves it" },
	{ "platform_detection", "engine_version", "its version, as the library says" },
	{ "platform_detection", "library", "file of the library" },
	{ "platform_detection", "device", "the first device's own name" },
	{ "platform_detection", "devices", "JSON: all of them" },
	{ "platform_detection", "features", "JSON: what the engine says of it, and facts of the hardware" },
	{ "platform_detection", "facts", "JSON: the whole answer of detect" },
	{ "platform_detection", "detected_at", "when" },

	{ "comparison", NULL, "two sides of one question in one measure of time, whole ones only (`assay ab`)" },

	{ "import", NULL, "a file that was imported: of another database, or the result of another tool" },
	{ "import", "id", "number in this file" },
	{ "import", "path", "its name as it was given" },
	{ "import", "sha256", "of its bytes: the same file adds nothing again" },
	{ "import", "tool", "assay, or the tool whose result it is" },
	{ "import", "tool_version", "its version, where the file says it" },
	{ "import", "run", "of a tool's result: run.id that it became; null: an export of assay, which may hold many" },
	{ "import", "cells", "cells that it added" },
	{ "import", "imported_at", "when" },
};

bool schema_has_table(const char *name)
{
	for (size_t i = 0; i < sizeof comments / sizeof comments[0]; i++) {
		if (comments[i].column == NULL && strcasecmp(comments[i].table, name) == 0)
			return true;
	}
	return false;
}

static void add_quoted(struct text *sql, const char *s) // COMMENT takes no parameter; our own texts only
{
	text_add(sql, " IS '");
	for (; *s != '\0'; s++)
		text_add_bytes(sql, *s == '\'' ? "''" : s, *s == '\'' ? 2 : 1);
	text_add(sql, "';");
}

void schema_comments(struct text *sql)
{
	for (size_t i = 0; i < sizeof comments / sizeof comments[0]; i++) {
		if (comments[i].column == NULL)
			text_addf(sql, "COMMENT ON TABLE %s", comments[i].table);
		else
			text_addf(sql, "COMMENT ON COLUMN %s.\"%s\"", comments[i].table, comments[i].column);
		add_quoted(sql, comments[i].meaning);
	}
#define X(kind, name, meaning) \
	text_add(sql, "COMMENT ON COLUMN measurement.\"" #name "\""); \
	add_quoted(sql, meaning);
	ROW_LIST(X)
#undef X
#define X(kind, name, meaning) \
	text_add(sql, "COMMENT ON COLUMN comparison.\"" #name "\""); \
	add_quoted(sql, meaning);
	COMPARISON_LIST(X)
#undef X
}
