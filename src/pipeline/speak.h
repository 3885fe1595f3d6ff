// SPDX-License-Identifier: Apache-2.0
// The kinds of models that text-to-audio is for. Private to pipeline/.
#ifndef ASSAY_PIPELINE_SPEAK_H
#define ASSAY_PIPELINE_SPEAK_H

#include "pipeline/inside.h"

// speak.c: VITS, whose one graph gives samples. Inputs noise; options seed, speaker_id.
enum status speak_samples(struct call *c, struct part *m, struct pipeline_answer *out, struct error *err);
// speak_frames.c: SpeechT5, which makes a spectrogram frame by frame; a vocoder in the folder vocoder/ makes samples of it.
// Inputs speaker_embeddings and output; options seed, threshold, minlenratio, maxlenratio.
enum status speak_frames(struct call *c, struct part *m, struct pipeline_answer *out, struct error *err);

// Samples [1, n] as the answer's sound.
void answer_sound(struct call *c, struct pipeline_answer *out, const struct tensor *samples, int rate);
// sampling_rate of a configuration, 16000 where it says none. BAD_INPUT: it is no rate.
enum status sampling_rate(const struct part *m, int *out, struct error *err);
// The tensor of this name in the safetensors file that a member of the input names, or the only one where `name` is NULL: f32 of
// this rank. In c->a. BAD_INPUT: there is none.
enum status call_tensor(const struct call *c, const char *key, const char *name, int rank, struct tensor *out, struct error *err);

#endif
