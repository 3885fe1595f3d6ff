// SPDX-License-Identifier: Apache-2.0
// The two kinds of models that automatic-speech-recognition is for. Private to pipeline/.
#ifndef ASSAY_PIPELINE_SPEECH_H
#define ASSAY_PIPELINE_SPEECH_H

#include "pipeline/inside.h"

// speech.c: labels of frames. Options return_timestamps (char, word), chunk_length_s, stride_length_s.
enum status recognise_labels(struct call *c, struct part *m, struct pipeline_answer *out, struct error *err);
// whisper.c: a text is written. Option generate_kwargs, with language and task among them.
enum status recognise_dictation(struct call *c, struct part *m, struct pipeline_answer *out, struct error *err);

#endif
