// SPDX-License-Identifier: Apache-2.0
// Forecasts as distributions: what the Time Series Transformer, Informer and Autoformer read and give. The values before each
// step (its lags), what is known of the step, and what is known of the whole series are the features of a step.
#ifndef ASSAY_ARCH_BLOCK_FORECAST_H
#define ASSAY_ARCH_BLOCK_FORECAST_H

#include "arch/block/seq2seq.h"
#include "arch/block/series.h"

enum distribution { STUDENT_T, NORMAL, NEGATIVE_BINOMIAL };

// What spec.own of such a family begins with, of the whole and of both halves.
struct forecast {
	int64_t context, prediction;               // steps that the encoder reads, steps that are forecast
	int64_t past;                              // context and the longest lag
	int64_t channels, known, real, categories; // known: features of a step; real, categories: of a series
	int64_t lag_count, features;               // features: of a step, all of them
	const int64_t *lags, *cardinality, *widths;
	enum series_scaling scaling;
	double least_scale, default_scale; // default_scale NaN: that of the batch
	enum distribution distribution;
};

// resolve_halves_sizes and the keys of the series. False after an error.
bool forecast_resolve(struct config *c, struct spec *s, struct forecast *o, struct halves_sizes *h, struct arena *a);

// While building.
struct forecast_series {
	graph_value lagged;     // [batch, context + prediction, channels * lag_count], scaled
	graph_value known;      // [batch, context + prediction, features - channels * lag_count]
	graph_value loc, scale; // [batch, 1] of one channel, [batch, 1, channels] of several
	graph_value fixed;      // features of the series, [batch, ..]
	graph_value remembered; // the encoder's states [batch, .., hidden]
};
// Declares the inputs: past_values [batch, past], future_values [batch, prediction] (and channels, where there are several),
// their time features, past_observed_mask f32, static_categorical_features i64 [batch, categories], static_real_features.
void forecast_inputs(struct build *b, struct forecast_series *r);
// x [batch, steps, features] -> hidden, with positions from `first` on, normed
graph_value forecast_embed(struct build *b, graph_value x, int64_t first, int64_t steps);
// Heads; io->own is the struct forecast_series, io->last the decoder's states of the steps that are forecast.
void forecast_give_states(struct build *b, const struct body *io);
void forecast_give_params(struct build *b, const struct body *io, int64_t width); // by layers from width

#endif
