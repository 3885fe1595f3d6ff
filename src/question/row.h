// SPDX-License-Identifier: Apache-2.0
// A row: everything one cell answered. One list gives the struct, the JSON keys, the database columns and their comments.
// Absent values: TEXT NULL, REAL NaN, INTEGER ROW_NONE, BOOLEAN -1; JSON and database say null.
#ifndef ASSAY_QUESTION_ROW_H
#define ASSAY_QUESTION_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/error.h"
#include "question/question.h"

#define ROW_NONE INT64_MIN

// kind, name, meaning. JSON: text that holds JSON (an object in `run --json`, a JSON column's text in the database).
#define ROW_LIST(X) \
	X(INTEGER, row, "number of the row in its database") \
	X(TEXT, model, "the model as asked for") \
	X(TEXT, revision, "commit of a Hub snapshot") \
	X(TEXT, model_type, "config.json's model_type") \
	X(TEXT, architecture, "encoder-only, decoder-only, vision, ...") \
	X(TEXT, head, "masked-lm, causal-lm, ..., model") \
	X(TEXT, requested, "the platform asked for") \
	X(TEXT, actual, "the platform that ran; null when nothing ran") \
	X(TEXT, engine, "engine that ran: ort, openvino, null") \
	X(TEXT, engine_version, "its version, as the library says") \
	X(TEXT, provider, \
		"the part of the engine that was asked to run it: CPUExecutionProvider, QNNExecutionProvider, webgpu, ...") \
	X(TEXT, device, "device of the engine") \
	X(JSON, adapter, "of a browser or GPU: its version, adapter, limits, features, software or not") \
	X(TEXT, device_description, "the device's own name") \
	X(BOOLEAN, emulated, "a software stand-in for other hardware") \
	X(TEXT, verdict, "see verdicts") \
	X(TEXT, cause, "why, in a sentence; null when right") \
	X(TEXT, hint, "what to do about it, where that is known") \
	X(JSON, would_fit, \
		"of no_memory: what is predicted to fit, the nearest to what was asked first: objects of precision or layers, " \
		"and the predicted bytes; null: another verdict") \
	X(TEXT, fitted, "--fit: what was asked and did not fit, and what was taken in its place; null: it ran as asked") \
	X(TEXT, fit_asked_precision, \
		"of a row that has fitted: the precision that was asked; stored: none was. null: fitted is null, or an older " \
		"assay wrote it") \
	X(INTEGER, fit_asked_layers, "likewise the layers that were asked; null: all") \
	X(TEXT, raw_error, "what the engine said, word for word, where the cause was made from it") \
	X(INTEGER, attempt, "1, or the number of this try in a chain of fallbacks") \
	X(TEXT, tried, "the platform that this try was made on: the one asked for, or a fallback") \
	X(INTEGER, fallback_of, "row of the first try, which this one stands in for; null: this is what was asked for") \
	X(TEXT, fallback_reason, "verdict and cause of the try before") \
	X(REAL, fallback_factor, "latency here over the latency last measured on the platform that was asked for") \
	X(INTEGER, fallback_against, "the row with that latency") \
	X(BOOLEAN, fallback_allowed, \
		"--allow-fallback: where no node ran on the platform asked for, the outputs count all the same; `actual` says " \
		"where") \
	X(TEXT, reference, "golden, engine:openvino-f32, engine:ort-cpu-unoptimised, or null") \
	X(JSON, input_files, \
		"of --input: each file that the model's own processor or tokenizer made inputs of: file, is (picture, sound, " \
		"text), sha256; null: none") \
	X(TEXT, golden_file, "name of the golden file that judged; null: no such file") \
	X(TEXT, golden_sha256, "of that file's contents") \
	X(TEXT, golden_case, "the case that assay ships with these very bytes, made by transformers; null: another file") \
	X(TEXT, golden_word, "who made it, by the file's own word, which nobody has checked") \
	X(TEXT, graph_verdict, \
		"of a reduced precision: right, wrong or unjudged, of the same form of the graph in float32 by float32's " \
		"bound; null: the row is of float32") \
	X(TEXT, graph_reference, "what that graph in float32 was judged by") \
	X(REAL, graph_max_abs_error, "its largest absolute error") \
	X(REAL, graph_nmse, "its normalised mean squared error") \
	X(TEXT, arithmetic_verdict, "of a reduced precision: right, wrong or unjudged, of its arithmetic") \
	X(TEXT, arithmetic_reference, \
		"what the arithmetic was judged by: the same weights, dequantised, in float32, and the engine that computed it") \
	X(REAL, arithmetic_max_abs_error, "largest absolute error against that") \
	X(REAL, arithmetic_nmse, "normalised mean squared error against that") \
	X(REAL, arithmetic_cosine, "cosine similarity to that") \
	X(TEXT, type_conformance, \
		"cases of this type that assay ships that pass on this platform, as passed/cases: float32 models, whatever " \
		"precision the row has") \
	X(TEXT, weights, "real, synthetic, or as in the file: of an .onnx file that assay did not fill, nobody knows") \
	X(TEXT, weights_from, \
		"of weights that are published in another form than a graph reads: which, and what was made of it (fp8 .., " \
		"dequantised to bf16); null: they are read as they lie") \
	X(BOOLEAN, shortened, "fewer layers than the configuration says") \
	X(INTEGER, layers, "layers asked for by --layers, or that the .onnx file says it was cut to; null: all") \
	X(TEXT, weights_dtype, \
		"type of most weight bytes in the files of the model, whatever they were converted to (precision, " \
		"converted_bytes)") \
	X(TEXT, compute_dtype, \
		"what the engine computes in: what its provider or its nodes say, else the type of the graph's outputs; of an " \
		".onnx file that holds quantised operators it says so; 'f32 and int8': products of integers, the rest in f32; " \
		"null: of a reduced precision nobody says it") \
	X(TEXT, precision_by, "who makes the precision: graph (as built), engine (an option); null: nothing was asked") \
	X(JSON, quantization, "block, symmetric or not, accuracy level, what was left in float and why, calibration") \
	X(INTEGER, converted_bytes, "of weights converted for it, in the cache") \
	X(REAL, convert_ms, "time of that conversion; null: it lay in the cache") \
	X(REAL, against_float32, \
		"of a reduced precision: latency over the last one of the same question in float32; a ratio of two rows, which " \
		"claims nothing by itself") \
	X(INTEGER, against_float32_row, "the row with that latency; null: it was not measured here before") \
	X(TEXT, against_float32_claim, \
		"slower, faster, same, cannot tell: of all rows of this question in the two precisions, each a process, as " \
		"`assay compare` decides it") \
	X(TEXT, against_float32_why, "processes on each side, and the ratio with its 99 % interval where it has one") \
	X(REAL, perplexity, \
		"of a causal language model on the input tokens of the judged run; those are random but for a golden file's") \
	X(REAL, perplexity_float32, "the same of the reference outputs") \
	X(REAL, token_agreement, \
		"share of places, the tokens of float32 before each given, where its next one is chosen here too") \
	X(TEXT, data_sha256, \
		"of --data: SHA-256 of what the examples contain, and of what the model's folder brings to prepare texts, " \
		"pictures and sounds") \
	X(INTEGER, data_examples, "how many examples were asked") \
	X(TEXT, data_metric, \
		"accuracy, token accuracy, perplexity, word error rate, mAP (COCO's AP at IoU 0.50:0.95), mean IoU, or cosine " \
		"to golden outputs") \
	X(REAL, data_value, "the metric over all examples, as computed here") \
	X(REAL, data_low, \
		"lower end of its 95 % interval: Wilson's of accuracy, else a bootstrap over examples; null below 6 examples, " \
		"and of mAP and mean IoU, which no example has a share in by itself") \
	X(REAL, data_high, "its upper end") \
	X(REAL, data_reference, "the metric of float32 on the same examples") \
	X(TEXT, data_reference_by, "the engine that computed that; null with the reason in data_note") \
	X(INTEGER, data_unlike, \
		"examples that are answered otherwise than in float32: another class, token or text, a cosine more than 1e-6 " \
		"away, or an mAP or mean IoU of the picture by itself more than 1e-4 away") \
	X(INTEGER, data_worse, "examples whose score is below float32's") \
	X(INTEGER, data_better, "examples whose score is above it") \
	X(REAL, data_p, "chance that as many and more of these fall to one side by themselves: exact sign test, two-sided") \
	X(REAL, data_macro_f1, "of accuracy: mean of the F1 of all classes that occur among labels or answers") \
	X(REAL, data_macro_f1_reference, "the same of float32") \
	X(REAL, data_top5, "of accuracy with more than 5 classes: share of labels among the 5 largest logits") \
	X(REAL, data_top5_reference, "the same of float32") \
	X(REAL, data_map50, "of mAP: the same at the one threshold of IoU 0.50") \
	X(REAL, data_max_rel_error, \
		"of golden outputs: largest relative error of values above a hundredth of the output's largest") \
	X(TEXT, data_note, \
		"texts that were cut to the length that model and graph take, why there is no reference; null: nothing of this") \
	X(INTEGER, batch, "batch size; null: nothing in a user's graph names it, and throughput_per_s is null too") \
	X(INTEGER, sequence, "sequence length in tokens; null where there is none") \
	X(INTEGER, asked_sequence, \
		"the usual length, where an emulated device was given a shorter one because no length was asked for; null: as " \
		"asked") \
	X(REAL, padding, \
		"share of the tokens of the judged run that are padding, which its attention mask says; null: it takes no such " \
		"mask") \
	QUESTION_COLUMN_LIST(X) \
	X(INTEGER, prompt_tokens, \
		"tokens that go in before the first new one; of an encoder-decoder the source's, of a sound the decoder's") \
	X(INTEGER, new_tokens, "tokens generated, greedily") \
	X(REAL, encoder_ms, "median time of the encoder") \
	X(REAL, prefill_ms, "median time of the prompt, with the choice of the first token") \
	X(REAL, token_ms, "median time of a token after the first: the engine's run and harness_overhead_us") \
	X(REAL, tokens_per_s, "batch over token_ms") \
	X(TEXT, cache_form, "plain: the engine lays past and new behind each other; shared: it writes into one buffer") \
	X(TEXT, cache_why, "why the cache is plain on a platform that shares it; null: nothing prevents it") \
	X(INTEGER, cache_bytes, "keys and values after the last token") \
	X(INTEGER, cache_copied_bytes, "bytes of the cache that the engine writes for the last token") \
	X(JSON, tokens, "ids generated for the first row of the batch") \
	X(TEXT, generated_text, \
		"of a prompt that --input gave: the text of tokens up to the first end token, without special ones; null: no " \
		"such prompt, or the model's folder has no tokenizer") \
	X(JSON, answer, \
		"of a pipeline: what it answered to each input, as transformers' pipeline does; of pictures and sounds their " \
		"sizes and SHA-256, as files that assay writes; of more than 256 KiB its SHA-256 alone") \
	X(TEXT, answer_picture, \
		"of a pipeline: its first picture, at most 128 pixels high and wide, a PNG file in base64; null: no picture") \
	X(JSON, answer_parts, \
		"of a pipeline: milliseconds before the first graph, between graphs and behind the last, and of each graph: " \
		"where it ran, its form, milliseconds of opening, runs and milliseconds of all of them, nodes there and " \
		"elsewhere, and the anonymous memory that opening and first run added") \
	X(JSON, answer_measures, \
		"of a pipeline: its answer beside that of `reference`: labels and tokens that are the same, largest difference " \
		"of a score, word errors, largest difference of a tensor, least intersection over union of boxes and of masks, " \
		"least PSNR of pictures; empty: answers in which neither found anything") \
	X(REAL, answer_first_token_ms, \
		"of a pipeline that writes a text: encoder, prompt and choice of the first token, a mean over the texts") \
	X(REAL, answer_token_ms, "likewise a token after the first, a mean over all of them") \
	X(REAL, answer_steps_per_s, \
		"of a pipeline that makes pictures: steps of its denoiser a second, the schedule's work in it, opening not") \
	X(INTEGER, tokens_unlike_uncached, "generated tokens that a run without a cache chooses otherwise") \
	X(REAL, uncached_max_error, "largest difference of the best logits from a run without a cache") \
	X(TEXT, form, "which graph variant ran") \
	X(TEXT, form_why, "why an earlier variant was not taken; null: it is the first") \
	X(JSON, options, "every effective option of the engine") \
	X(TEXT, shipped_defaults, \
		"of --as-shipped: what was left to the engine and came to this, as it says itself where it does: name=value, " \
		"..") \
	X(INTEGER, attempts, "how many times the cell was tried for this row") \
	X(REAL, build_ms, "building the graph and placing it") \
	X(REAL, load_ms, "opening it in the engine") \
	X(REAL, first_ms, "first run") \
	X(REAL, new_shape_ms, \
		"first run of another shape, after the first one ran warm; null: the shapes of the graph are fixed") \
	X(INTEGER, warmup_runs, "runs before the sample began") \
	X(REAL, warmup_ms, "time of them") \
	X(JSON, warmup_samples_ms, "the single times, in order; those of the timed runs are in the table sample") \
	X(TEXT, warmup_end, "why they ended: three windows agree within 5 %, the limit of time, the limit of runs") \
	X(REAL, latency_ms, "median of the warm runs") \
	X(REAL, latency_min_ms, "fastest warm run") \
	X(REAL, latency_max_ms, "slowest warm run") \
	X(REAL, latency_p90_ms, "90th percentile; null below 64 samples: n too small") \
	X(REAL, latency_low_ms, \
		"lower end of the 95 % interval of the median: order statistics of the timed runs, exact for independent runs " \
		"of any distribution; it says nothing of another process; null below 6 runs") \
	X(REAL, latency_high_ms, "its upper end") \
	X(REAL, latency_p95_ms, "95th percentile; null below 130 samples") \
	X(REAL, latency_p99_ms, "99th percentile; null below 662 samples") \
	X(REAL, latency_cv, "coefficient of variation of the timed runs: standard deviation over mean; outliers show in it") \
	X(REAL, throughput_per_s, \
		"samples/s: batch times timed runs over the sum of their times, a mean that one slow run " \
		"lowers, unlike batch over the median latency_ms; of a scenario as it defines it") \
	X(REAL, together_share, \
		"of --together: share of the timed loop in which the loops of all the others ran too, by one clock") \
	X(REAL, alone_ms, "of --together: latency of the same cell alone, measured before; null: it has no time") \
	X(INTEGER, alone_row, "the row with that latency") \
	X(REAL, together_factor, "latency_ms over alone_ms: two processes once each, no claim") \
	X(REAL, together_throughput, \
		"throughput_per_s over that of the row alone: what a median does not show where most runs fit between two " \
		"turns of the scheduler") \
	X(REAL, switch_ms, \
		"of --switch: switch_release_ms, load_ms and first_ms: from the last answer on the platform before to the " \
		"first " \
		"one here, the graph built beforehand") \
	X(REAL, switch_release_ms, "closing the model on the platform before") \
	X(REAL, switch_left_mib, \
		"anonymous memory that was still there after that, over what there was before it was loaded there") \
	X(REAL, switch_max_difference, \
		"largest absolute difference of a float32 output from that of the platform before, of the same inputs; null: " \
		"none that could be compared") \
	X(TEXT, switch_not_compared, "why switch_max_difference is null after a switch") \
	X(REAL, device_ms, "time on the device of a profiled run, by its own clock; null: not profiled, or nobody tells") \
	X(REAL, clock_overhead_us, \
		"median time between two looks at the clock with nothing between them; it is in every latency") \
	X(REAL, harness_overhead_us, \
		"what assay does for a run: checking its inputs (in the latency where the engine has no clock of its own), and " \
		"the way to the next run (in none); of a generation: for a token, between two runs of the engine (inputs " \
		"prepared, the token chosen over the vocabulary, the cache kept), all of it in token_ms") \
	X(REAL, energy_j_per_sample, \
		"joules for a sample, over what the machine takes when nothing of this runs: the timed runs', everything else " \
		"that " \
		"ran on the machine in it; of a generation for one text, its prompt and all new tokens; null: energy_why") \
	X(REAL, energy_j_per_token, "of a generation: the same over its new tokens, the prompt in it") \
	X(REAL, idle_w, "watts that the same counters counted in the half second before anything was loaded") \
	X(TEXT, energy_source, "which counters these are") \
	X(TEXT, energy_why, "why there is no figure: no counter, not permitted, it stood still, too short; null: there is one") \
	X(JSON, energy, \
		"of all timed runs: joules over idle and with it, seconds, and each counter by itself; one that is not added " \
		"(dram) " \
		"may be in another") \
	X(JSON, scenario_result, \
		"of a scenario: queries, percentile, bound, whether early stopping allows the claim; of offline and server how " \
		"many " \
		"queries were asked at a time, how the engine was set for it, and what was tried") \
	X(INTEGER, samples, "timed warm runs") \
	X(TEXT, stability, \
		"stable: the medians of the last three windows of runs agree within 5 %, the interquartile range is at most 20 " \
		"% of the median, and the coefficient of variation at most 25 %; else unstable; 'n too small' below 9 runs") \
	X(TEXT, stability_why, \
		"which of these failed (drift or scatter of the windows, spread, tail), by how much, and what other processes " \
		"did; or for how long assay itself stood still; null: stable, or too few runs") \
	X(REAL, peak_anonymous_mib, \
		"peak of the anonymous memory of all processes of the cell, private (RssAnon) and shared, sampled at 100 Hz " \
		"over load, first run and one extra run; mapped files are not in it") \
	X(REAL, peak_pss_mib, \
		"largest proportional set size (anonymous memory, and mapped files by share) seen at the end of a phase; what " \
		"peaked in between is not in it, so it may be below peak_anonymous_mib") \
	X(REAL, peak_resident_mib, \
		"high-water mark of the resident set up to the extra run (VmHWM), as the kernel keeps it: anonymous memory, " \
		"mapped weights and libraries, all counted whole") \
	X(REAL, device_memory_mib, \
		"largest memory in use on the devices of the vendor at the ends of load, first run and the extra run, less " \
		"what was in use before; null: nobody counts it") \
	X(REAL, leak_mib_per_cycle, "slope of anonymous memory after close over the cycles") \
	X(REAL, leak_low_mib, "lower end of its 95 % interval") \
	X(REAL, leak_high_mib, "its upper end") \
	X(REAL, predicted_mib, "peak_resident_mib as predicted before anything was loaded; null where it cannot be") \
	X(TEXT, memory_sampling, "how memory was sampled") \
	X(INTEGER, weights_bytes, "bytes of the weights that the graph uses; of an .onnx file of all that it holds or names") \
	X(INTEGER, nodes, "nodes in the graph as built") \
	X(INTEGER, nodes_on_platform, \
		"nodes that ran on the requested platform, of a pipeline on that of their graph; null when it cannot be known") \
	X(INTEGER, nodes_elsewhere, "nodes that ran on something else; null when it cannot be known") \
	X(INTEGER, partitions, "stretches of the graph that the platform took; null when it cannot be known") \
	X(INTEGER, copies, "nodes that the engine added to copy between devices") \
	X(JSON, refused, "what was left to others: objects of op, dtype, count, first node, reason") \
	X(INTEGER, compiled_bytes, "size of what was compiled for the device, where it is kept in a file") \
	X(INTEGER, nodes_fused, "nodes folded into others by the engine") \
	X(INTEGER, flops, "floating-point operations of one run as built, a multiplication and an addition are two") \
	X(INTEGER, moved_bytes, "bytes that one run must at least move: weights read, values made and read") \
	X(JSON, op_mix, "share of the operations by kind of node") \
	X(REAL, peak_gflops, \
		"largest rate of float operations that this engine reached on this machine, in the same run; of a profile") \
	X(REAL, bandwidth_gb_s, "memory bandwidth measured in the same run; of a profile") \
	X(REAL, roofline_share, "time that these two allow over the time it took; of a profile") \
	X(JSON, profile, \
		"of a profile: profiled runs and how long they took, how much of that its nodes make up, how the roofs were " \
		"measured") \
	X(TEXT, placement_note, "how placement was learned, or why it was not") \
	X(REAL, max_abs_error, \
		"largest absolute error over all outputs; of a reduced precision this and the next are its loss: against " \
		"golden outputs or float32") \
	X(REAL, max_rel_error, "largest relative error where the reference is not near zero") \
	X(REAL, nmse, "normalised mean squared error, the worst output's") \
	X(REAL, cosine, "cosine similarity, the worst output's") \
	X(REAL, top1_agreement, "share of positions whose argmax agrees; null where there are no classes") \
	X(INTEGER, non_finite, "NaN and infinite values in the outputs") \
	X(TEXT, worst, "output and index of the worst element, with both values") \
	X(INTEGER, left_out, "values that no figure is about: the reference masks them, or they are about padding") \
	X(TEXT, not_judged, \
		"outputs that the reference does not hold, of which only that they are finite was looked at; and those whose " \
		"comparison says nothing, with the reason in brackets") \
	X(TEXT, bound_by, "the figure that came nearest to its bound, of which output, and how near: it decided") \
	X(TEXT, bound, "what counted as right") \
	X(TEXT, output_shape, "shape of the first output") \
	X(TEXT, placed_by, "how the engine got the weights: memory, hardlink, reflink, copy, file") \
	X(TEXT, artifact_key, "SHA-256 of graph, weight headers and blob identities") \
	X(TEXT, model_sha256, \
		"of the names and contents of the model's files, the same on every platform; null: not known, or its weights " \
		"were made in one precision alone (--fit), as the same model's of another are not") \
	X(TEXT, inputs_hash, "SHA-256 of the inputs") \
	X(TEXT, inputs_note, \
		"which integers an .onnx file's inputs were given, and whether the table that they index was found; which of " \
		"their shapes were guessed, by what, and which guesses were refused; of a file what it lacks; null: nothing of " \
		"this") \
	X(TEXT, source, "null: measured by assay; else the tool whose result was imported, which assay did not measure") \
	X(TEXT, cell_key, "hash of the question: the same question has the same key") \
	X(TEXT, stderr_tail, "the end of what the child wrote to standard error") \
	X(JSON, machine_state, \
		"while the cell's child lived: governor, load, CPUs that others used, heat, what held it back; before and " \
		"after") \
	X(TEXT, started_at, "UTC, ISO 8601") \
	X(REAL, wall_ms, "the whole cell, as the parent saw it, without the waits of --quiet-wait and --delay")

struct row {
#define ROW_TEXT const char *
#define ROW_JSON const char *
#define ROW_REAL double
#define ROW_INTEGER int64_t
#define ROW_BOOLEAN int
#define X(kind, name, meaning) ROW_##kind name;
	ROW_LIST(X)
#undef X
};

void row_init(struct row *r); // every field absent
// The columns that hold what was asked: from a question, and back.
void row_set_asked(struct row *r, const struct question *q);
void row_asked(struct question *q, const struct row *r); // every other member is the default
// The engine had folded every node into constants on the processor before the platform was asked for any: nothing was left that
// it could have computed. Of `cpu` that is an answer like any other.
bool row_left_none(const struct row *r);
// No node ran on the platform that was asked for: known, not guessed. False where placement is not known.
bool row_took_none(const struct row *r);
// Inputs a second as measured; of a generation: tokens; else batch over the median latency. NaN where it has no time.
double row_per_s(const struct row *r);
// The same by the median and not by the mean that throughput_per_s is: one run that took long says nothing of a batch. What
// generates, and a scenario, define their own. What a person is shown, and what ends a sweep.
double row_median_per_s(const struct row *r);
double row_peak_mib(const struct row *r);    // the largest of the peaks, without a device's; NaN where there is none
json_t *row_to_json(const struct row *r);    // all keys, null where absent
size_t row_json_weight(const struct row *r); // bytes that the members which are JSON take in it (json_weight)
// Takes over the keys that `object` has; text is copied into `a`. A key of the wrong type is an error; unknown keys are ignored.
enum status row_from_json(struct row *r, struct arena *a, const json_t *object, struct error *err);

#endif
