// SPDX-License-Identifier: Apache-2.0
// Adapters as peft saves them: a folder with adapter_config.json and adapter_model.safetensors (or .bin), whose model is another
// one, the base, with some weights changed. The base is the one that base_model_name_or_path names: a folder, or a name in the
// Hub's cache. The checkpoint is the base's with the adapter merged (peft, LoraLayer.get_delta_weight and merge):
//
//   W + B A * scale     A [r, in] = M.lora_A.weight, B [out, r] = M.lora_B.weight, for W = M.weight [out, in], or [in, out]
//   W + (B A)^T * scale A [r, rows] = M.lora_embedding_A, B [width, r] = M.lora_embedding_B, for an embedding W [rows, width]
//   scale = alpha / r, or alpha / sqrt(r) with use_rslora; r and alpha of a layer also from rank_pattern and alpha_pattern
//
// Any other tensor M.weight or M.bias (modules_to_save, bias) takes the place of the base's. Everything that changes a model in
// another way (DoRA, other methods than LoRA, ..) is refused by its key.
#ifndef ASSAY_CHECKPOINT_ADAPTER_H
#define ASSAY_CHECKPOINT_ADAPTER_H

#include "checkpoint/checkpoint.h"

// Whether the folder is an adapter's: it has adapter_config.json and no weights of a model.
bool adapter_is(const char *folder);
// The folder of its base, in `a`. BAD_INPUT where the configuration names none that is here, or one that is an adapter itself.
enum status adapter_base(const char **base, struct arena *a, const char *folder, struct error *err);
// The file of its tensors: a name within the folder.
const char *adapter_file(const char *folder);

#endif
