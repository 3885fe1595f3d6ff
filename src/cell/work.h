// SPDX-License-Identifier: Apache-2.0
// The state of a cell's child, and the steps that its ways through share. Private to cell/.
#ifndef ASSAY_CELL_WORK_H
#define ASSAY_CELL_WORK_H

#include "backend/outline.h"
#include "question/cell.h"
#include "cell/form.h"
#include "question/request.h"
#include "cell/asked.h"
#include "cell/cell.h"
#include "cell/data.h"
#include "cell/decoding.h"
#include "cell/guess.h"
#include "cell/inputs.h"
#include "cell/scenario.h"
#include "platform/energy.h"

struct work {
	struct arena arena;
	struct request ask;
	struct target target; // as asked; its device as the engine spells it once the engine is open
	const struct backend *backend;
	const struct provider *provider;
	struct checkpoint checkpoint;
	struct spec *spec;                 // NULL for a user's .onnx
	struct precise precise;            // as asked; zero where the engine makes it
	double convert_ms;                 // of weights, by this process so far; no part of build_ms
	double identify_ms;                // hashing what was not hashed before; likewise
	const struct linear_range *ranges; // of int8-static
	size_t range_count;
	json_t *calibration;          // how they were measured; NULL: there are none
	struct forms forms;           // of the platform; which is built, and why not those before
	struct graph_form built_form; // it, with what the question adds
	bool is_quick; // an emulated device, and nothing asked that takes time (work_open.c): one judged run is all
	// One graph, but for the generation of encoder-decoders: encoder, the decoder's first step, its further steps.
	struct part {
		const struct arch_graph *which;
		struct artifact artifact;
		struct session session;
	} part[3];
	size_t part_count;
	bool shares_cache;                      // part[0] is built with CACHE_SHARED
	struct decoding *decoding;              // of a prompt that --input gave; NULL: it says nothing of the generation
	const struct cell_dictation *dictation; // of --data; never NULL
	struct data_set data; // of --data, listed once; none: it is not asked for, or not listed yet (work_data.c)
	struct input_hints hints;
	struct input_shape shape;
	int64_t batch;          // inputs that one run answers; -1: nothing names it
	int64_t asked_sequence; // the usual length, where an emulated device is given a shorter one; 0: shape.sequence is what
				// was asked
	struct device_list devices;
	const struct device *device; // NULL: the engine does not list it
	bool is_open, shaped_by_sequence, threads_asked, shipped_asked;
	struct tensor *made; // as the graph declares them: order of part->artifact.inputs
	size_t made_count;
	const struct tensor_type *types; // of `made`, with what was decided of their open dimensions
	struct tensor *in, *out;         // order of part->session.inputs and .outputs
	char inputs_hash[65];
	// Of a user's .onnx: what --shape, --dim and --input ask, what was guessed of the shapes, and whether either decided any.
	struct asked_inputs asked_of_inputs;
	struct guess guess;
	bool shapes_decided, shape_taken; // shape_taken: a run went through
	const char *refused_guess;        // what the engine said of the first; NULL: none was refused
	const char *made_from;            // of a reference: what its file says of itself (base/sealed.h); NULL: a measurement
	struct outline outline;           // of a user's .onnx that can be read
	struct outline_arithmetic given;  // the same
	bool tells_only;                  // the null engine with clock=told: its time goes on by what it says
	int64_t told_ns;
	double load_ms, first_ms;
	struct {
		struct energy counters;
		struct energy_reading idle[2], begin;
		bool is_open;
	} energy;
	struct {
		int64_t busy_from, timed_from, timed_to; // clock_ns
	} beside;                                        // of --together
	int64_t device_bytes_before,
		device_bytes; // in use on the device before the load, and the most more since; -1: not counted
};

// The fields of a row event; steals them.
void say_row(json_t *fields);
void say_samples(const double *ms, size_t count); // none: nothing is said

// work.c
// The inputs: w->made and w->types. `types`: what the graph declares.
enum status work_make_tensors(struct work *w, const struct tensor_type *types, size_t count, struct error *err);
// Of a user's .onnx that was refused or failed with shapes that were guessed: how others are given. `failed` false: takes it
// back.
void work_hint_shapes(struct work *w, bool failed);

// work_precision.c
// What is computed in, in words: as the engine confirmed, else by the types of the graph. Of a user's .onnx that computes in
// integers it says so.
const char *work_computes_in(struct work *w, const struct session *s, const char *confirmed);
enum status work_choose_precision(struct work *w, struct error *err); // graph or engine: as the platform's row says
enum status work_check_precision(
	struct work *w, struct error *err); // after the load: does the engine compute in what it was asked to?
// The column compute_dtype, after the load. NULL: it is not confirmed what a graph of a reduced precision is computed in.
const char *work_confirmed_dtype(const struct work *w);
// Of int8-dynamic and int8-static: what products ran in, as the placed nodes tell. NULL: another precision, or they do not tell.
const char *work_products(const struct work *w, const struct placement *p);
// Columns of what was built and converted. UNSUPPORTED: integers were asked for and nothing became one.
enum status work_say_precision(struct work *w, struct graph *const *graphs, const struct conversion *made, struct error *err);

// work_calibrate.c
enum status work_calibrate(struct work *w, struct error *err); // the whole child: measures ranges, or finds them in the cache
enum status work_read_ranges(struct work *w, const char *path, struct error *err);

// work.c: as the engine counts them.
enum status work_order_inputs(struct work *w, struct error *err);

// The same of other tensors than w->made, into `in`: one for each input of the session.
enum status work_order(const struct work *w, const struct tensor *made, size_t count, struct tensor *in, struct error *err);

// work_data.c: of --data, every example through the open session. In w->arena. NOT_ASKED names an example that cannot be read or
// does not fit the model.
struct scores;
enum status work_data(struct work *w, struct scores *scores, struct error *err);

// work_open.c
enum status work_build(struct work *w, struct error *err);        // graph or graphs, built and placed
enum status work_check_memory(struct work *w, struct error *err); // for references: NO_MEMORY when it does not fit
enum status work_open_engine(struct work *w, struct error *err);
enum status work_load(struct work *w, struct error *err);
// Builds and loads: the form that form.h chooses.
enum status work_open(struct work *w, struct error *err);
bool work_compiles_only(const struct work *w);

// work_cost.c: what one pass over inputs of that shape computes and moves, of the form that was built. The names in *out live as
// long as *graph, which the caller frees. The row's flops, moved_bytes and op_mix, where they can be known.
struct graph_cost;
enum status work_cost(struct work *w, const struct input_shape *shape, struct arena *a, struct graph_cost *out,
	struct graph **graph, struct error *err);
void work_say_cost(struct work *w);

// work_profile.c: times of the engine's nodes, mapped to what was built, and the roofs of this machine. After everything else.
enum status work_profile(struct work *w, struct error *err);

// work_place.c: where the nodes of all open graphs are, summed into the row. `in`: inputs of the one graph, NULL: none. `ran`:
// the graphs have run, so that what is elsewhere ran there.
void work_explain(struct work *w, const struct tensor *in, bool ran);
// The same of a cell that has run, unless the question leaves it out.
void work_place(struct work *w, const struct tensor *in);
// UNSUPPORTED when a node of any graph is elsewhere, or when that cannot be known; *of_form: another form may be better.
enum status work_check_fallback(struct work *w, bool *of_form, struct error *err);
// What a shared cache is held against: the same model built with a plain one, opened in the place of what is open, with its
// weights read where they lie. Two open at once would need the memory twice.
enum status work_reopen_plain(struct work *w, struct error *err);

// work_memory.c: before the first load; and say_memory with the device's, where it is counted.
void work_device_memory_begin(struct work *w);
void work_memory(struct work *w, const char *phase);

// work_energy.c: idle before the first load; begin and end around what is timed, where it answers so many samples and, of a
// generation, tokens. NaN: how many is not known.
void work_energy_idle(struct work *w);
void work_energy_begin(struct work *w);
void work_energy_end(struct work *w, double samples, double tokens);

// work.c: from the request to target, backend, forms; and its inputs and first runs, once it is open.
enum status work_set_up(struct work *w, struct error *err);
enum status work_first(struct work *w, struct error *err);

// work_switch.c: of --switch; else they do nothing. Leave: opens the model on the platform before, runs it once and closes it
// again; NOT_ASKED where that cannot be. Arrive: when the first run here is over. Compare: the outputs here with those there.
enum status work_leave(struct work *w, struct error *err);
void work_arrive(const struct work *w);
void work_compare(struct work *w);

// work_together.c: of --together; else they do nothing. Meet: before the warm-up, waits until the others are there too;
// NOT_ASKED: one of them will not come. Timed: around the timed runs. Hold: runs `run` again until the timed runs of all others
// are over, so that nobody's are beside less than all; the outputs are those of the last run.
enum status work_meet(struct work *w, struct error *err);
void work_timed_begin(struct work *w);
void work_timed_end(struct work *w);
enum status work_hold(
	struct work *w, enum status (*run)(void *context, int64_t *ns, struct error *err), void *context, struct error *err);

// work_fill.c: offline and server where the engine runs several queries at a time: searched, run, and the outputs that are judged
// chosen. *json: the row's scenario_result, the caller's.
bool work_fills(const struct work *w, enum scenario kind);
enum status work_fill(
	struct work *w, const struct scenario_ask *ask, struct scenario_result *result, json_t **json, struct error *err);

// work_after.c: after the outputs; what goes wrong there is no error of the cell.
void work_new_shape(struct work *w);
void work_cycles(struct work *w);
void work_delay(const struct work *w); // --delay, in "warm"

// work_generate.c: prompt, first generation, timed ones, check without a cache; outputs `tokens` and `logits` for the judge.
enum status work_generate(struct work *w, struct error *err);
// work_prompt.c: the prompt that --input came to (w->ask.golden, as pipeline_prompt has it), on a generation whose sessions are
// open: the language of a sound is heard there. g->how is what changes its scores. p->ids stay NULL where the file has none for
// the decoder.
struct generation;
struct prompt;
enum status work_prompt(struct work *w, struct generation *g, struct prompt *p, struct error *err);
// What it wrote, up to an end token, in the row's generated_text, where the folder has a tokenizer.
void work_say_text(struct work *w, const struct generation *g);
enum status work_generate_reference(struct work *w, const char *path, struct error *err);

#endif
