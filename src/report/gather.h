// SPDX-License-Identifier: Apache-2.0
// How a summary is gathered: its parts, in the order in which summary_make calls them. Private to the folder.
#ifndef ASSAY_REPORT_GATHER_H
#define ASSAY_REPORT_GATHER_H

#include "report/summary.h"
#include "store/same_question.h"

// Most of what a report takes from a database, however much is in it; the newest. Questions are compared with each
// other, name by name, and a matrix has lines x columns.
enum { REPORT_QUESTIONS = 5000, REPORT_COLUMNS = 100, REPORT_OTHERS = 5000 };
// Ids of the questions that it takes: a temporary table that take_cells makes, there while the store is being read.
#define REPORT_CHOSEN "report_chosen"
#define REPORT_QUESTION "report_question" // of all of them: id, and newest, as question_word_sql has them

void summary_place_cells(struct summary *out, struct arena *a);                      // lines.c: lines and columns
void summary_rank_line(struct summary *out, struct report_line *l, struct arena *a); // the fastest of a line
void summary_count_models(struct summary *out, struct arena *a);
void summary_gather_failures(struct summary *out, struct arena *a);                          // failures.c
enum status summary_take_fallbacks(struct store *s, struct summary *out, struct error *err); // fallbacks.c
void summary_gather_partials(struct summary *out, struct arena *a);
enum status summary_take_processes(struct store *s, struct summary *out, struct error *err); // speed.c
// Tables, in the order in which they are shown; each adds none where there is nothing to say.
void summary_gather_best(struct summary *out, struct arena *a);        // best.c
void summary_gather_performance(struct summary *out, struct arena *a); // performance.c
void summary_gather_load(struct summary *out, struct arena *a);        // load.c
void summary_gather_precision(struct summary *out, struct arena *a);   // precision.c
void summary_gather_accuracy(struct summary *out, struct arena *a);    // accuracy.c
void summary_gather_shipped(struct summary *out, struct arena *a);     // shipped.c
void summary_gather_sweeps(struct summary *out, struct arena *a);      // sweeps.c
void summary_gather_scenarios(struct summary *out, struct arena *a);   // sweeps.c
void summary_gather_generation(struct summary *out, struct arena *a);
void summary_gather_memory(struct summary *out, struct arena *a);   // memory.c
void summary_gather_together(struct summary *out, struct arena *a); // beside.c
void summary_gather_switches(struct summary *out, struct arena *a);
void summary_gather_energy(struct summary *out, struct arena *a);    // energy.c
void summary_gather_forecasts(struct summary *out, struct arena *a); // forecasts.c
void summary_gather_answers(struct summary *out, struct arena *a);   // answers.c
void summary_gather_notes(struct summary *out, struct arena *a);     // notes.c

// Of a whole pipeline its options and the beginning of its inputs: "num_inference_steps=2, seed=1; a red fox". NULL: no pipeline,
// or one that was asked nothing. answers.c.
const char *report_pipeline_words(struct arena *a, const struct report_cell *c);

// A list without doubles; its owner has room for the item.
void report_add_once(const char **list, size_t *count, const char *item);

// Do two cells ask the same question on the same machine, but for these?
// Options: and fixed or open shapes.
enum {
	BUT_PLATFORM = 1,
	BUT_BATCH = 2,
	BUT_SEQUENCE = 4,
	BUT_THREADS = 8,
	BUT_IMAGE = 16,
	BUT_PRECISION = 32,
	BUT_OPTIONS = 64,
	BUT_SHIPPED = 128,
};
bool report_alike(const struct report_cell *x, const struct report_cell *y, unsigned but);
// One name, and not known to be of unlike files: what lies under a name may change. Synthetic weights and shortened models are
// files that assay makes, others for every number of layers and for --fit: those are one model.
bool report_same_model(const struct report_line *x, const struct report_line *y);
// "model files 0123abcd" where lines of this name are of unlike files; NULL: nothing has to be told apart.
const char *report_files_words(struct arena *a, const struct summary *s, const struct report_line *l);
// "fixed shapes, prepacking=off, seed 3, golden file x.safetensors": what was asked of graph, engine, inputs and judge over the
// usual; NULL: nothing.
const char *report_asked_beside(struct arena *a, const struct store_question *q);
// Does line i speak for its model? One with all its layers before a shortened one, with its own weights before
// synthetic ones, then of a batch of 1, then one that found it
// right in no fewer bits than stored, then the simple one that most platforms were asked; the first of them. variants.c.
bool report_speaks_for_model(const struct summary *s, size_t i);
// Of a list "batch 1, f32; 2 layers" what another has not; NULL: nothing.
const char *report_words_beyond(struct arena *a, const char *list, const char *known);
// Of a line below or beside that of another: its words beyond, and that it is of a forward pass where the other's time is a
// token's.
const char *report_words_beside(struct arena *a, const struct report_line *l, const struct report_line *known);
bool report_has_time(const struct report_cell *c); // of a good answer that is not NOT VALID
// What a platform answered for the model: in this line, else in another of the model's (other lengths, other types), good before
// bad, as stored before fewer bits; NULL: it was not asked.
const struct report_cell *report_answer_of(const struct summary *s, const struct report_line *l, size_t column);
struct report_variant {
	const struct report_line *line;
	const struct report_cell *cell; // the fastest that can be compared, else its best, else the first
	double times;                   // time of the same platform in the model's line over this one's; NaN: not compared
};
// The other lines of the model for which `l` speaks, the fastest against it first; `out` has room for all lines.
size_t report_variants(const struct summary *s, const struct report_line *l, struct report_variant *out);
// Its time may stand among others: a good answer of the length that was asked for, timed by assay on hardware (or the null engine
// by its own name).
bool report_is_ranked(const struct report_cell *c);
bool report_computes_nothing(const struct report_cell *c); // the null engine, also asked for by its name
// What did not run has no length of its own: it is the one that was asked for; ROW_NONE: none was. A whole pipeline is asked for
// none.
int64_t report_sequence(const struct report_cell *c);
// Inputs of the same length ran: times and memory of other lengths are never compared, though they stand in one line.
bool report_same_length(const struct report_cell *x, const struct report_cell *y);
// "f32"; NULL where it is not known, or nothing was computed.
const char *report_computed_in(const struct row *r);
bool report_is_unstable(const struct report_cell *c);
bool report_is_cpu(const struct report_cell *c); // the platform that others are held against, whatever its column is called
// A million inputs (of generation: tokens) in what was typed as the price of an hour; NaN: there is no price, or no time.
double report_cost(const struct summary *s, const struct report_cell *c);
// One forward pass after the other, alone and in a process of its own: no scenario, no generation, no --together, no
// --switch, no whole pipeline.
bool report_is_plain(const struct report_cell *c);
struct report_speed report_speed_against(
	const struct summary *s, const struct report_cell *c, const struct report_cell *other, struct arena *a);
// By several processes a side, in alternation where there is such a comparison: 1 faster than the other, -1 slower, 0 nothing is
// claimed. A bootstrap: some milliseconds where both have several processes. report_claimed: of a speed that is known already.
int report_claimed(const struct report_speed *s);
int report_decided(const struct summary *s, const struct report_cell *c, const struct report_cell *other, struct arena *a);
// "lowest median", "lowest median, others overlap", "overlaps the lowest", "no claim"; NULL: another is faster, or nothing was
// compared.
const char *report_rank_words(const struct report_cell *c);
// "1.05 to 1.20 (99 %), 6 and 6 processes: faster", "one process each: no claim"; NULL.
const char *report_speed_words(struct arena *a, const struct report_speed *s);
// The time of a run by all of its processes over that of the newest row; 1: there is one.
double report_slower(const struct report_cell *c);
double report_per_s(const struct report_cell *c);                                // row_median_per_s by all of its processes
const char *report_typical_spread(struct arena *a, const struct report_cell *c); // of one process report_spread
const char *report_of_processes(struct arena *a, const struct report_cell *c);   // the same of several; NULL: of one
const char *report_line_words(struct arena *a, const struct report_line *l);     // variant and warning
const char *report_spread(struct arena *a, const struct row *r);                 // "11 runs, 12.1 ms to 13.0 ms, unstable"; NULL

#endif
