#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Development only: one line of src/arch/defaults.jsonl for each model type named.
#     tools/defaults.py FOLDER TYPE... > src/arch/defaults.jsonl
# FOLDER/TYPE.json is the whole default configuration of the type's class (CLASS().to_dict() in transformers). Keys that the
# class derives from others when they are left out are made null, so that assay derives them too; keys without effect go.
import json, sys

DERIVED = {"layer_types", "mlp_layer_types", "layer_rope_theta", "num_attention_heads_per_layer", "per_layer_config", "embedding_size", "output_hidden_size", "stage_names", "out_features", "out_indices"}
T5 = {"num_decoder_layers", "dense_act_fn", "is_gated_act", "scale_decoder_outputs"}
HEADS = {"head_dim", "num_key_value_heads"}
DERIVED_BY_TYPE = {t: HEADS for t in (
    "arcee aria_text deepseek_v2 diffllama hyperclovax jais2 minicpm3").split()}
DERIVED_BY_TYPE |= {t: {"num_key_value_heads"} for t in (
    "afmoe apertus cohere cohere2 doge flex_olmo granite granitemoe granitemoeshared granitemoe_swa hunyuan_v1_dense hunyuan_v1_moe nanochat olmo olmo2 olmo3 "
    "olmoe phi phi3").split()}
DERIVED_BY_TYPE |= {"eurobert": HEADS, "exaone": {"head_dim"}, "esmc": HEADS, "ultrabert": HEADS, "nomic_bert": {"head_dim"}}
DERIVED_BY_TYPE |= {"smollm3": {"no_rope_layers"}, "nemotron": {"head_dim"}, "hyperclovax": HEADS | {"attention_multiplier"}}
DERIVED_BY_TYPE |= {"marian": {"decoder_vocab_size"}, "moonshine": {"encoder_num_key_value_heads", "decoder_num_key_value_heads"}, "pop2piano": T5 - {"dense_act_fn"}, "switch_transformers": {"num_decoder_layers", "encoder_sparse_step", "decoder_sparse_step"}, "longt5": T5, "t5": T5, "mt5": T5, "umt5": T5, "llama": {"head_dim", "num_key_value_heads"}, "mistral": {"head_dim"}, "siglip_text_model": {"projection_size"}, "siglip2_text_model": {"projection_size"}, "sam_vision_model": {"mlp_dim"},
                   "swin2sr": {"num_channels_out"}, "seggpt": {"mlp_dim"}, "lightglue": {"num_key_value_heads", "hidden_size", "intermediate_size"}, "aya_vision": {"vision_config"}}
DERIVED_BY_TYPE |= {"lfm2": {"full_attn_idxs"}, "bamba": {"mamba_d_head"}, "falcon_h1": {"mamba_d_head"}, "jamba": {"mamba_dt_rank"},
                    "granitemoehybrid": {"mamba_d_head", "num_key_value_heads"}}
DERIVED_BY_TYPE |= {"olmo_hybrid": {"num_key_value_heads", "linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim"},
                    "llama4_text": {"no_rope_layers", "moe_layers", "head_dim"}, "nemotron_h": {"mtp_layers_block_type"}}
DERIVED_BY_TYPE |= {"bailing_hybrid": {"linear_head_dim", "linear_num_heads", "linear_conv_kernel_dim"}, "recurrent_gemma": {"lru_width", "num_key_value_heads", "head_dim"}}
DERIVED_BY_TYPE |= {"zamba": {"layers_block_type", "mamba_dt_rank", "attention_head_dim", "attention_hidden_size"},
                    "zamba2": {"intermediate_size", "attention_head_dim", "attention_hidden_size", "mamba_headdim", "num_key_value_heads"}}
DERIVED_BY_TYPE |= {"encodec": {"codebook_dim"}, "mimi": {"head_dim"}, "mimi_encoder": {"head_dim"}, "dac": {"upsampling_ratios", "hidden_size", "hop_length"},
                    "efficientloftr": {"intermediate_size", "num_key_value_heads", "fine_fusion_dims", "stage_block_in_channels", "stage_block_out_channels", "stage_block_stride"}}
DERIVED_BY_TYPE |= {"moshi": HEADS, "csm": {"head_dim"}, "granite_speech_encoder": {"dim_head"}, "granite_speech5_encoder": HEADS} | {t: {"num_key_value_heads"} for t in ("nemotron3_5_transcribe_asr_audio", "nemotron3_diarization_audio")}
DERIVED_BY_TYPE |= {"glm_moe_dsa": {"indexer_types"}, "hrm_text": {"num_layers_per_stack", "embedding_scale"}, "molmo2_text": {"rope_scaling_layers"}, "xlnet": {"d_head"}, "rwkv": {"attention_hidden_size", "intermediate_size"}}
DERIVED_BY_TYPE |= {"gemma3n_text": {"activation_sparsity_pattern"}, "longcat_flash": {"num_key_value_heads", "qk_head_dim"}}
DERIVED_BY_TYPE |= {"udop": {"num_decoder_layers", "dense_act_fn", "is_gated_act"}, "xlstm": {"num_blocks", "embedding_dim"}}
DERIVED_BY_TYPE |= {"reformer": {"num_hidden_layers"}, "axk2": HEADS, "dots3_note_text": HEADS, "hy_v4": HEADS | {"indexer_types"}, "glm5_next_text": {"indexer_types", "head_dim", "num_key_value_heads"},
                    "mistral_large4_text": HEADS | {"indexer_types", "no_rope_layers", "kv_source_layers"}}
DERIVED_BY_TYPE |= {t: {"feature_size", "cardinality", "embedding_dimension"} for t in ("autoformer", "informer", "time_series_transformer")}
# These look at rope_parameters.partial_rotary_factor, though their defaults do not have it.
PARTIAL = {"qwen4_exp_text", "glm_image_text", "glm4v_moe_text", "glm4v_text", "glm_ocr_text", "mellum", "minimax_m2", "minimax_m3_vl_text", "solar_open"}
# What a class says in its code only: its first layer has no experts.
ADDED = {"beam": {"first_k_dense_replace": 3}} | {t: {"first_k_dense_replace": 1} for t in ("axk1", "axk2", "dots3_note_text", "glm4_moe_lite", "hy_v3", "kimi_linear", "laguna", "mimo_v2_flash")}
# What a class makes its listed keys of.
ADDED["glm5_next_text"] = {"first_k_dense_replace": 3}
ADDED |= {"hy_v4": {"first_k_dense_replace": 1, "index_topk_freq": 4}, "mistral_large4_text": {"no_rope_layer_interval": 4}}
ADDED |= {"embedding_gemma2_text": {"global_head_dim": 512, "num_global_key_value_heads": 1, "sliding_window_pattern": 6}, "hrm_text": {"num_hidden_layers": 16}, "flint": {"mlp_only_layers": [0, 1]},
          "minimax": {"attn_layer_period": 2, "attn_layer_offset": 0}}
ADDED |= {"gemma3n_text": {"intermediate_size": 16384}} # in every layer, however many there are
WITHOUT_EFFECT = {"architectures", "id2label", "label2id", "dtype", "problem_type", "return_dict", "output_attentions", "output_hidden_states",
                  "chunk_size_feed_forward", "initializer_range", "is_encoder_decoder", "_name_or_path", "transformers_version"}


# The line of a type, from what its class's to_dict() says.
def line(name, config):
    derived = (DERIVED if name not in ("albert", "electra", "mobilebert", "regnet", "resnet", "rt_detr_resnet", "hgnet_v2") else DERIVED - {"embedding_size"}) | DERIVED_BY_TYPE.get(name, set())
    derived = derived - {"out_features"} if name == "efficientloftr" else derived  # its widths: nothing else says them
    if name in PARTIAL:
        rope = config["rope_parameters"]
        for r in (rope.values() if isinstance(next(iter(rope.values())), dict) else [rope]):
            r.setdefault("partial_rotary_factor", 1.0)
    row = {"model_type": name}
    config |= ADDED.get(name, {})
    if name == "granite_speech": # what the class itself says here does not fit its encoder, and cannot run
        config["projector_config"]["encoder_hidden_size"] = config["encoder_config"]["hidden_dim"]
    row |= {k: None if k in derived else v for k, v in sorted(config.items()) if k != "model_type" and k not in WITHOUT_EFFECT}
    return json.dumps(row)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        with open(f"{sys.argv[1]}/{name}.json") as f:
            print(line(name, json.load(f)))
