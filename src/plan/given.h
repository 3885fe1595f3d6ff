// SPDX-License-Identifier: Apache-2.0
// --input FILE and --input TEXT: real inputs of a cell, made by the model's own processor and tokenizer. Private to plan/.
#ifndef ASSAY_PLAN_GIVEN_H
#define ASSAY_PLAN_GIVEN_H

#include <jansson.h>

#include "cell/asked.h"
#include "preprocess/medium.h"

struct given {
	const char *path;  // CACHE/reference/SHA-256.inputs.safetensors: the tensors, "in.NAME"
	const char *files; // JSON: [{"file", "is" (picture, sound, text), "sha256"}, ..]; NULL: texts alone
	int64_t tokens;    // of input_ids, else of decoder_input_ids; 0: it has neither
};
// One picture, one sound, and a text or a pair of them, of asked->things. `model` is a folder, or an .onnx file that lies in one
// (in its folder "onnx" too). `config` may be NULL; where it has a decoder_start_token_id, that is decoder_input_ids. Memory in
// `a`. BAD_INPUT: a file that cannot be read, or nothing in the folder that prepares it; UNSUPPORTED: what prepares it is not
// known.
enum status given_make(struct given *out, struct arena *a, const char *model, const json_t *config,
	const struct asked_inputs *asked, struct error *err);
// For --task generate: the prompt that `assay pipeline` would begin with (pipeline_prompt), its tensors "in.NAME". Of an .onnx
// file, whose pipeline is not known, as given_make.
enum status given_prompt(
	struct given *out, struct arena *a, const char *model, const struct asked_inputs *asked, struct error *err);

// Adds {"file", "is", "sha256"} of the file to the list.
enum status given_add_file(json_t *files, struct arena *a, const char *path, enum medium *medium, struct error *err);

#endif
