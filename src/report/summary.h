// SPDX-License-Identifier: Apache-2.0
// The facts of a report, gathered once; html.c, md.c, json.c and their like only write them down. A figure that was not measured
// is absent here and has no number in any of them.
#ifndef ASSAY_REPORT_SUMMARY_H
#define ASSAY_REPORT_SUMMARY_H

#include "stats/compare.h"
#include "report/report.h"
#include "report/section.h"
#include "store/comparison.h"
#include "store/question.h"

// This one against another that answered the same question: how many times as fast, between which bounds. speed.c.
struct report_speed {
	double times, low, high; // the other's time over this one's; 99 % interval, NaN where a side has one process. times NaN:
				 // nothing to compare with
	size_t processes, other_processes; // loads of the engine behind each side
	bool is_paired;                    // in alternation (a line of `comparison`), else from rows as they came
	const char *claim;                 // "one process each: no claim"; "faster"; never NULL where times is there
	const char *arithmetic; // "f16 against f32", of two that were asked the same precision; NULL: both computed in the same,
				// or it is not known
};

// What the rows of one question, each a process of its own, say together of the time of a run: the newest alone may be the odd
// one.
struct report_typical {
	double ms, low_ms, high_ms; // of their medians the median, the least and the largest; of one row its own; NaN: not timed
	size_t processes;
};

// One answered question: the latest of its rows.
struct report_cell {
	struct row row;
	struct store_question question; // as it was asked
	struct question asked;          // what the row says of that: row_asked
	const char *name;               // row.model in full: hub_full_name
	const char *shown;              // report_model_name, with its folder where a model of another one is called so too
	// "openvino"; "openvino:GPU" where that is not the device that it takes unasked, or cells asked for several.
	const char *platform;
	const char *machine; // id
	const char *asked_device;
	bool is_imported;     // from another database of assay
	bool is_running;      // no verdict yet
	enum verdict verdict; // VERDICT_COUNT while running
	bool is_good;         // it counts: row_counts. Everything below is no success
	bool is_foreign;      // another tool measured it
	bool is_stand_in;     // the null engine gave outputs in a platform's place: nothing was computed
	bool is_elsewhere;    // it gave outputs, on another platform than was asked for
	// It stands among what does not run or is not right: neither good nor running, compiled, imported or only unjudged.
	bool is_failure;
	bool is_not_valid; // its scenario's rule did not hold, whatever its outputs are worth: it is ranked nowhere
	bool is_best;      // of its line with several times
	bool is_fastest, is_near_fastest; // of its line; near: its samples and those of the fastest overlap
	bool is_untold;                   // of its line: they do not overlap, but one of the two is unstable: no claim
	bool is_decided;                  // the fastest, and not by its median: several processes say so
	double times_cpu;                 // latency of the cpu cell of this line / this one's; NaN where there is none
	const char *qualifiers;           // what stands beside each of its numbers, row_qualifiers; NULL: nothing
	const char *own_qualifiers; // of those what its line does not say already: "computed in f16, 16 tokens of the usual 128,
				    // emulated"; NULL: nothing
	// "engines agree, not judged: y", or what golden_what says; NULL where it was not judged right.
	const char *agreement;
	const char
		*cause; // of a failure: a sentence, never NULL there; of other rows that are not good or not valid: as far as one
			// is told
	const char *later; // a newer answer that proves less: "not enough memory within 512 MiB (row 19)"; NULL: there is none
	const char *p90;   // "13.1 ms", or "n too small (11 of 64 samples)"
	struct report_speed against_cpu;
	struct compare_process *processes;    // this question's rows that ran alike, oldest first: their samples
	double *process_ms;                   // of each the median of all its timed runs
	size_t process_count, unstable_count; // and those whose runs did not settle
	struct report_typical typical;
	size_t line, column;
	const struct report_fallback *fallback; // what was tried instead; NULL: nothing was
};

// What was tried where a cell gave nothing, or gave it elsewhere; fallbacks.c.
struct report_try {
	struct row row;
	const char *platform;
	enum verdict verdict;
	bool is_running;
};
struct report_fallback {
	const struct report_cell *cell; // what was asked for: the first try
	const char *chain;              // as the platform's row has it: "cuda, openvino, cpu"
	struct report_try *tries;       // the second on; none: a fallback that was silent, or allowed by --allow-fallback
	size_t try_count;
	const struct report_try *answer; // the try that answered; NULL: none did
	const char *got;                 // "cpu: right, 12.3 ms, 1.40x the time of cuda's row 17 (one process each: no claim)"
};

// Some of the nodes ran on something else than the asked platform.
struct report_partial {
	const struct report_cell *cell;
	const char *on;          // the platform, and those of a whole pipeline's parts
	const char *nodes, *ops; // "12 of 854"; "Gather i64 (4): REASON, ..."
};

// A model in one variant: what must be equal for two latencies to be compared.
struct report_line {
	uint64_t key, model_key;  // hashes: of what all its cells have alike, of model
	const char *model, *name; // as asked; as shown
	const char *model_type, *architecture;
	const char *machine;
	bool is_imported;         // all its cells are, from another database of assay
	const char *model_sha256; // of what lay under its name; NULL: no cell knows
	const char *weights, *weights_from,
		*compute_dtype;  // NULL unknown. compute_dtype: f32 where any cell computed in it; one in another type says so
	bool is_fitted;          // --fit took less than was asked
	bool has_default_length; // some cell of it was asked for none
	int64_t batch, sequence, layers;       // ROW_NONE unknown, none, all; sequence: as asked, row_question_sequence
	int64_t new_tokens;                    // ROW_NONE: one forward pass
	const struct store_question *question; // of one of its cells: options and shapes are those of all
	struct question asked;                 // of its columns in the row: precision, threads, ...; of every cell alike
	const char *source;                    // NULL: measured by assay
	const char *variant;                   // "batch 1, 128 tokens, f32, prepacking=off"
	const char *variant_but_options;       // "batch 1, 128 tokens": nor precision and threads
	const char *warning;                   // what qualifies each cell: "2 layers, synthetic weights"; NULL: nothing
	// The lowest median, unless several processes say that another is faster; NULL: nothing was timed.
	const struct report_cell *best;
	size_t *cell; // [columns]: 1 + index of the cell, 0: not asked
};

// Cells that are not good, with one cause.
struct report_failure {
	const char *cause;
	enum verdict verdict;
	bool is_elsewhere, is_stand_in;   // it ran, but on another platform than asked, or the null engine did
	const struct report_cell **cells; // all of them
	size_t cell_count;
	const char *qualifiers; // theirs; NULL: none
	const char **models, **platforms;
	size_t model_count, platform_count;
};

struct report_platform {
	const char *name, *reason, *engine, *engine_version, *library, *device, *at;
	const char *capabilities;       // of its devices, as they were detected; NULL: none told
	bool is_available, is_emulated; // emulated: every device that is here
};

struct report_machine {
	const char *id, *cpu_model, *architecture, *os, *kernel, *features, *hypervisor;
	int64_t cores, threads, usable_cpus, memory_bytes, memory_limit_bytes, l2_bytes, l3_bytes;
	bool is_foreign;  // all its rows were imported from other tools
	bool is_imported; // all its runs are of other databases of assay
};

// Of a table `run` called r: did the run come from another database? An older file has no such column.
#define REPORT_RUN_IMPORTED "(to_json(r) ->> 'origin_id' IS NOT NULL)"

struct report_run {
	const char *command, *version, *started_at;
	bool is_imported; // from another database or of another tool
	int64_t id, cells;
};

// Two sides of one question, in alternation; comparison.c.
struct report_comparison {
	struct store_comparison line;
	const char *first_sha256, *last_sha256; // the least and the greatest model_sha256 of its rows; NULL: not known
	const char *machine;
	bool is_imported;                   // from another database of assay
	const char *name, *model, *where;   // of the preset; as shown; "chromium", or both
	const char *a_ms, *b_ms, *interval; // "12.3 ms"; "0.871 (0.840 to 0.902)"; NULL where nothing was compared
	const char *answer;                 // "faster: B takes 13 % less"
	const char *notes;                  // what to know before quoting it; NULL: nothing
};

// Each cell once: by its verdict, or as what keeps the verdict from counting. Of the right ones all are good. Imported rows are
// no cells: `total` leaves them out.
struct report_counts {
	size_t of[VERDICT_COUNT];
	size_t running, elsewhere, stood_in, imported, good, total;
};

// What is known of a model, by the best of its rows; the first that holds.
enum report_model {
	REPORT_MODEL_RUNS,      // right, all its layers
	REPORT_MODEL_IN_PART,   // right, with fewer layers
	REPORT_MODEL_NOT_VALID, // right, and only in scenarios whose rule did not hold
	REPORT_MODEL_UNJUDGED,  // ran on what was asked for, and nothing judged it
	REPORT_MODEL_FAILS,     // it was asked where it could have run
	REPORT_MODEL_COMPILES,
	REPORT_MODEL_UNANSWERED, // running or interrupted
	REPORT_MODEL_ABSENT,     // asked only of platforms that are not here
	REPORT_MODEL_FOREIGN,    // only imported rows, or those of the null engine
	REPORT_MODELS
};

struct summary {
	const char *made_at, *version; // of this report
	struct report_machine *machines;
	size_t machine_count;
	size_t own_machine_count;          // of these the first: assay measured there
	struct report_platform *platforms; // latest detection
	size_t platform_count;
	struct report_run *runs; // newest first
	size_t run_count;
	const char **columns; // platform labels
	struct report_counts *column_counts;
	// Of each: "emulated", "1 of 9: nothing computed", of its good cells; NULL: hardware.
	const char **column_words;
	size_t column_count;
	struct report_line *lines;
	size_t line_count;
	size_t models[REPORT_MODELS];           // distinct names, and files of one name
	const char *headline;                   // what the first screen says: "6 of 8 models run here (synthetic weights)"
	const char *model_words[REPORT_MODELS]; // qualifiers of the rows by which the first two are known; NULL: none has any
	struct report_cell *cells;
	size_t cell_count, imported_count; // imported_count: of these, from other databases of assay
	struct report_failure *failures;
	size_t failure_count;
	struct report_counts counts;
	size_t synthetic; // cells with synthetic weights
	struct report_fallback *fallbacks;
	size_t fallback_count;
	struct report_partial *partials;
	size_t partial_count;
	struct report_comparison *comparisons; // latest answer to each question
	size_t comparison_count;
	struct forecast_group *forecasts; // forecasts.h
	size_t forecast_count;
	struct report_section *sections[REPORT_SECTIONS]; // tables, in the order in which they are shown
	size_t section_count;
	struct report_options options;
	const char **notes; // what to know before quoting a number; sentences
	size_t note_count;
	const char **methods; // how memory was sampled, distinct
	size_t method_count;
	const char *apart; // question_apart_sql
	int64_t rows;      // in the database; cell_count of them are shown
	size_t left_out;   // rows that no report takes, or of platforms and devices beyond REPORT_COLUMNS
	int64_t questions; // that have an answer; above cell_count: older ones are left out
};

// Everything in the store's arena.
enum status summary_make(struct store *s, const struct report_options *options, struct summary *out, struct error *err);

// Latest answers, in the order in which the questions came.
enum status report_comparisons(struct store *s, struct report_comparison **out, size_t *count, struct error *err);

// html/comparison.c; nothing where there are none. Texts that are not ours go through `esc`.
typedef const char *report_escape(struct arena *a, const char *s);
void report_comparisons_html(const struct summary *s, report_escape *esc, struct arena *a, struct text *out);

// words.c: numbers with their units, in the arena.
const char *report_ms(struct arena *a, double ms);   // "12.3 ms", "1.25 s"; NULL when NaN
const char *report_mib(struct arena *a, double mib); // "512 MiB", "1.9 GiB"; NULL when NaN
const char *report_bytes(struct arena *a, int64_t nbytes);
const char *report_times(struct arena *a, double times); // "1.9×"
const char *report_error(struct arena *a, double error); // "2.1e-06"
const char *report_join(
	struct arena *a, const char *const *items, size_t count, const char *last); // "a, b and c"; last "": "a, b, c"
const char *report_verdict_mark(const struct report_cell *c);                       // "✓"
const char *report_verdict_word(const struct report_cell *c);                       // "right", "ran elsewhere", "running"
const char *report_failure_word(const struct report_failure *f);
// Predicted over measured memory, "1.04"; NULL where one of them is absent.
const char *report_ratio(struct arena *a, const struct row *r);
// The command line that asks the cell's question again.
const char *report_command(struct arena *a, const struct report_cell *c);
// "12.0 ms (11.0 ms to 13.0 ms, 11 samples)"; NULL when nothing was timed.
const char *report_latency(struct arena *a, const struct row *r);
// "AMD EPYC, 2 of 4 processors usable, 23.4 GiB of memory, Debian 12".
const char *report_run_command(struct arena *a, const struct report_run *r); // "assay run x  # imported"
// Of the first, which measured here where any did: "AMD EPYC, 2 threads, and 1 more machine"; NULL: assay measured on none.
const char *report_machines_line(struct arena *a, const struct summary *s);
const char *report_machine_line(struct arena *a, const struct report_machine *m);
// "emulated", "nothing computed"; NULL for hardware.
const char *report_software(const struct row *r);
// Qualifiers of several cells: qualifiers_of_all.
const char *report_qualifiers(struct arena *a, const struct report_cell *const *cells, size_t count);
// "NAME (QUALIFIERS)"; just the name where qualifiers is NULL.
const char *report_qualified(struct arena *a, const char *name, const char *qualifiers);
// "cpu: right, 12.3 ms, 1.40 times as slow as the last of cuda (row 17)"; fallbacks.c.
const char *report_try_words(struct arena *a, const struct report_try *t);
// "ONNX Runtime" for "ort".
const char *report_engine_name(const char *engine);
// "412 of 500 nodes on it, 88 fused away", "not known: REASON"; NULL when nothing ran.
const char *report_placement(struct arena *a, const struct row *r);
// The last part of a path; a Hub's name as it is.
const char *report_model_name(const char *model);
// What is neither right nor a failure: "2 unjudged (nothing was there to compare the outputs with), 1 compiled and not run";
// NULL: nothing.
const char *report_unjudged_words(const struct summary *s, struct arena *a);
// Where there are no failures: a sentence that names what was not found right either.
const char *report_no_failure_words(const struct summary *s, struct arena *a);
// summary.headline.
const char *report_headline(const struct summary *s, struct arena *a);

enum status report_html(const struct summary *s, struct arena *a, struct text *out, struct error *err);
void report_md(const struct summary *s, struct arena *a, struct text *out);
json_t *report_json(const struct summary *s);
void report_yaml(const json_t *json, struct text *out); // yaml.c: the same as block style YAML that a JSON reader's eyes know
void report_junit(const struct summary *s, struct arena *a, struct text *out);
json_t *report_compatibility(const struct summary *s, struct arena *a); // compatibility.c

#endif
