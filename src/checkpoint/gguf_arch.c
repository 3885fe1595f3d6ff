// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf_arch.h"

#include "base/text.h"

#define KEYS(...) ((const struct gguf_key[]){ __VA_ARGS__, { NULL, NULL, 0 } })
#define WORDS(...) ((const struct gguf_word[]){ __VA_ARGS__, { NULL, NULL, GGUF_AS_IT_IS } })

// Of every architecture: what stands in another key or in a tensor's shape, or is said for people.
const struct gguf_key gguf_common_keys[] = {
	{ "vocab_size", NULL, 0 },
	{ "rope.dimension_count", NULL, 0 },
	{ "rope.freq_base", NULL, 0 },
	{ "rope.scaling.type", NULL, 0 },
	{ "rope.scaling.factor", NULL, 0 },
	{ "rope.scaling.original_context_length", NULL, 0 },
	{ "rope.scaling.finetuned", NULL, 0 },
	{ "rope.scaling.attn_factor", NULL, 0 },
	{ "rope.scaling.yarn_ext_factor", NULL, 0 },
	{ "rope.scaling.yarn_attn_factor", NULL, 0 },
	{ "rope.scaling.yarn_beta_fast", NULL, 0 },
	{ "rope.scaling.yarn_beta_slow", NULL, 0 },
	{ "attention.key_length", NULL, 0 },
	{ "attention.value_length", NULL, 0 },
	{ "attention.sliding_window", NULL, 0 },
	{ "attention.causal", NULL, 0 },
	{ NULL, NULL, 0 },
};

// ---- keys ---------------------------------------------------------------------------------------------------------------

#define SIZES \
	{ "block_count", "num_hidden_layers", 0 }, { "embedding_length", "hidden_size", 0 }, \
		{ "attention.head_count", "num_attention_heads", 0 }, { "feed_forward_length", "intermediate_size", 0 }, \
		{ "context_length", "max_position_embeddings", 0 }, { "@token_embd.weight", "vocab_size", 0 }, \
	{ \
		"!output.weight", "tie_word_embeddings", 0 \
	}
#define GROUPED \
	SIZES, \
	{ \
		"attention.head_count_kv", "num_key_value_heads", 0 \
	}
#define RMS \
	{ \
		"attention.layer_norm_rms_epsilon", "rms_norm_eps", 0 \
	}
#define LAYER_NORM(key) \
	{ \
		"attention.layer_norm_epsilon", key, 0 \
	}
#define EXPERTS(count) \
	{ "expert_count", count, 0 }, { "expert_used_count", "num_experts_per_tok", 0 }, \
		{ "expert_feed_forward_length", NULL, 0 }, \
	{ \
		"expert_shared_feed_forward_length", NULL, 0 \
	}
#define SOFTCAPS \
	{ "attn_logit_softcapping", "attn_logit_softcapping", 0 }, \
	{ \
		"final_logit_softcapping", "final_logit_softcapping", 0 \
	}

// ---- names --------------------------------------------------------------------------------------------------------------

#define AS_IT_IS GGUF_AS_IT_IS
#define LAYER "model.layers.#."
#define ATTENTION LAYER "self_attn."

#define ENDS(norm) \
	{ "token_embd", "model.embed_tokens", AS_IT_IS }, { "output", "lm_head", AS_IT_IS }, \
	{ \
		"output_norm", "model.norm", norm \
	}
#define QKV(queries, keys) \
	{ "blk.#.attn_q", ATTENTION "q_proj", queries }, { "blk.#.attn_k", ATTENTION "k_proj", keys }, \
		{ "blk.#.attn_v", ATTENTION "v_proj", AS_IT_IS }, \
	{ \
		"blk.#.attn_output", ATTENTION "o_proj", AS_IT_IS \
	}
#define PLAIN_QKV QKV(AS_IT_IS, AS_IT_IS)
#define PAIRED_QKV QKV(GGUF_PAIRS, GGUF_KEY_PAIRS)
#define QK_NORMS(order) \
	{ "blk.#.attn_q_norm", ATTENTION "q_norm", order }, \
	{ \
		"blk.#.attn_k_norm", ATTENTION "k_norm", order \
	}
#define TWO_NORMS(order) \
	{ "blk.#.attn_norm", LAYER "input_layernorm", order }, \
	{ \
		"blk.#.ffn_norm", LAYER "post_attention_layernorm", order \
	}
#define FOUR_NORMS(order) \
	{ "blk.#.attn_norm", LAYER "input_layernorm", order }, \
		{ "blk.#.post_attention_norm", LAYER "post_attention_layernorm", order }, \
		{ "blk.#.ffn_norm", LAYER "pre_feedforward_layernorm", order }, \
	{ \
		"blk.#.post_ffw_norm", LAYER "post_feedforward_layernorm", order \
	}
#define NORMS_BEHIND \
	{ "blk.#.post_attention_norm", LAYER "post_attention_layernorm", AS_IT_IS }, \
	{ \
		"blk.#.post_ffw_norm", LAYER "post_feedforward_layernorm", AS_IT_IS \
	}
#define GATED(stem) \
	{ "blk.#.ffn_gate", LAYER stem "gate_proj", AS_IT_IS }, { "blk.#.ffn_up", LAYER stem "up_proj", AS_IT_IS }, \
	{ \
		"blk.#.ffn_down", LAYER stem "down_proj", AS_IT_IS \
	}
#define UP_DOWN(up, down) \
	{ "blk.#.ffn_up", up, AS_IT_IS }, \
	{ \
		"blk.#.ffn_down", down, AS_IT_IS \
	}
#define EACH_EXPERT(router, gate, up, down) \
	{ "blk.#.ffn_gate_inp", LAYER router, AS_IT_IS }, { "blk.#.ffn_gate_exps", LAYER gate, GGUF_EACH }, \
		{ "blk.#.ffn_up_exps", LAYER up, GGUF_EACH }, \
	{ \
		"blk.#.ffn_down_exps", LAYER down, GGUF_EACH \
	}
#define QWEN_EXPERTS EACH_EXPERT("mlp.gate", "mlp.experts.*.gate_proj", "mlp.experts.*.up_proj", "mlp.experts.*.down_proj")

static const struct gguf_word llama_words[] = { ENDS(AS_IT_IS), PAIRED_QKV, TWO_NORMS(AS_IT_IS), GATED("mlp."),
	{ NULL, NULL, AS_IT_IS } };
static const struct gguf_word qwen_words[] = { ENDS(AS_IT_IS), PLAIN_QKV, QK_NORMS(AS_IT_IS), TWO_NORMS(AS_IT_IS), GATED("mlp."),
	{ NULL, NULL, AS_IT_IS } };
static const struct gguf_word gemma_words[] = { ENDS(GGUF_PLUS_ONE), PLAIN_QKV, TWO_NORMS(GGUF_PLUS_ONE), GATED("mlp."),
	{ NULL, NULL, AS_IT_IS } };
static const struct gguf_word gemma2_words[] = { ENDS(GGUF_PLUS_ONE), PLAIN_QKV, QK_NORMS(GGUF_PLUS_ONE),
	FOUR_NORMS(GGUF_PLUS_ONE), GATED("mlp."), { NULL, NULL, AS_IT_IS } };

#define H "transformer.h.#."
#define BLOOM_WORDS \
	{ "token_embd", "transformer.word_embeddings", AS_IT_IS }, { "output", "lm_head", AS_IT_IS }, \
		{ "output_norm", "transformer.ln_f", AS_IT_IS }, \
		{ "blk.#.attn_qkv", H "self_attention.query_key_value", GGUF_BY_HEAD }, \
		{ "blk.#.attn_output", H "self_attention.dense", AS_IT_IS }, \
		UP_DOWN(H "mlp.dense_h_to_4h", H "mlp.dense_4h_to_h")
#define NEOX "gpt_neox.layers.#."

#define FALCON_KEYS \
	{ "block_count", "num_hidden_layers", 0 }, { "embedding_length", "hidden_size", 0 }, \
		{ "attention.head_count", "num_attention_heads", 0 }, { "attention.head_count_kv", "num_kv_heads", 0 }, \
		{ "feed_forward_length", "ffn_hidden_size", 0 }, { "context_length", "max_position_embeddings", 0 }, \
		{ "@token_embd.weight", "vocab_size", 0 }, { "!output.weight", "tie_word_embeddings", 0 }, \
		{ "tensor_data_layout", NULL, 0 }, LAYER_NORM("layer_norm_epsilon")

#define B "encoder.layer.#."

static const struct gguf_arch rows[] = {
	{ "bert", NULL, "bert", "BertModel", 0,
		KEYS({ "block_count", "num_hidden_layers", 0 }, { "embedding_length", "hidden_size", 0 },
			{ "attention.head_count", "num_attention_heads", 0 }, { "feed_forward_length", "intermediate_size", 0 },
			{ "context_length", NULL, 0 }, { "@token_embd.weight", "vocab_size", 0 },
			{ "@position_embd.weight", "max_position_embeddings", 0 },
			{ "@token_types.weight", "type_vocab_size", 0 }, { "pooling_type", NULL, 0 },
			{ "attention.head_count_kv", NULL, 0 }, LAYER_NORM("layer_norm_eps")),
		WORDS({ "token_embd", "embeddings.word_embeddings", AS_IT_IS },
			{ "position_embd", "embeddings.position_embeddings", AS_IT_IS },
			{ "token_types", "embeddings.token_type_embeddings", AS_IT_IS },
			{ "token_embd_norm", "embeddings.LayerNorm", AS_IT_IS },
			{ "blk.#.attn_q", B "attention.self.query", AS_IT_IS },
			{ "blk.#.attn_k", B "attention.self.key", AS_IT_IS },
			{ "blk.#.attn_v", B "attention.self.value", AS_IT_IS },
			{ "blk.#.attn_output", B "attention.output.dense", AS_IT_IS },
			{ "blk.#.attn_output_norm", B "attention.output.LayerNorm", AS_IT_IS },
			{ "blk.#.ffn_up", B "intermediate.dense", AS_IT_IS }, { "blk.#.ffn_down", B "output.dense", AS_IT_IS },
			{ "blk.#.layer_output_norm", B "output.LayerNorm", AS_IT_IS }),
		NULL, 0 },
	{ "bloom", NULL, "bloom", "BloomForCausalLM", 0,
		KEYS({ "block_count", "n_layer", 0 }, { "embedding_length", "hidden_size", 0 },
			{ "attention.head_count", "n_head", 0 }, { "attention.head_count_kv", NULL, 0 },
			{ "feed_forward_length", NULL, 0 }, { "context_length", NULL, 0 },
			{ "@token_embd.weight", "vocab_size", 0 }, { "!output.weight", "tie_word_embeddings", 0 },
			LAYER_NORM("layer_norm_epsilon")),
		WORDS(BLOOM_WORDS, { "token_embd_norm", "transformer.word_embeddings_layernorm", AS_IT_IS },
			{ "blk.#.attn_norm", H "input_layernorm", AS_IT_IS },
			{ "blk.#.ffn_norm", H "post_attention_layernorm", AS_IT_IS }),
		NULL, 0 },
	{ "command-r", NULL, "cohere", "CohereForCausalLM", GGUF_ROTARY,
		KEYS(GROUPED, LAYER_NORM("layer_norm_eps"), { "logit_scale", "logit_scale", 0 },
			{ "?blk.0.attn_q_norm.weight", "use_qk_norm", 0 }),
		WORDS(ENDS(AS_IT_IS), PLAIN_QKV, QK_NORMS(AS_IT_IS), { "blk.#.attn_norm", LAYER "input_layernorm", AS_IT_IS },
			GATED("mlp.")),
		NULL, 0 },
	{ "falcon", "blk.0.attn_norm_2.weight", "falcon", "FalconForCausalLM", GGUF_ROTARY, KEYS(FALCON_KEYS),
		WORDS(BLOOM_WORDS, { "blk.#.attn_norm", H "ln_mlp", AS_IT_IS }, { "blk.#.attn_norm_2", H "ln_attn", AS_IT_IS }),
		"{\"new_decoder_architecture\": true, \"num_ln_in_parallel_attn\": 2}", 0 },
	{ "falcon", NULL, "falcon", "FalconForCausalLM", GGUF_ROTARY, KEYS(FALCON_KEYS),
		WORDS(BLOOM_WORDS, { "blk.#.attn_norm", H "input_layernorm", AS_IT_IS }),
		"{\"new_decoder_architecture\": true, \"num_ln_in_parallel_attn\": 1}", 0 },
	{ "gemma", NULL, "gemma", "GemmaForCausalLM", GGUF_ROTARY | GGUF_HEAD_DIM, KEYS(GROUPED, RMS), gemma_words, NULL, 0 },
	{ "gemma2", NULL, "gemma2", "Gemma2ForCausalLM", GGUF_ROTARY | GGUF_HEAD_DIM | GGUF_WINDOW, KEYS(GROUPED, RMS, SOFTCAPS),
		gemma2_words, NULL, 46 },
	{ "gemma3", NULL, "gemma3_text", "Gemma3ForCausalLM", GGUF_ROTARY | GGUF_HEAD_DIM | GGUF_WINDOW,
		KEYS(GROUPED, RMS, SOFTCAPS, { "rope.freq_base_swa", NULL, 0 }), gemma2_words, NULL, 62 },
	{ "gpt2", NULL, "gpt2", "GPT2LMHeadModel", 0,
		KEYS({ "block_count", "n_layer", 0 }, { "embedding_length", "n_embd", 0 },
			{ "attention.head_count", "n_head", 0 }, { "feed_forward_length", "n_inner", 0 },
			{ "context_length", NULL, 0 }, { "@position_embd.weight", "n_positions", 0 },
			{ "@token_embd.weight", "vocab_size", 0 }, { "!output.weight", "tie_word_embeddings", 0 },
			LAYER_NORM("layer_norm_epsilon")),
		WORDS({ "token_embd", "transformer.wte", AS_IT_IS }, { "position_embd", "transformer.wpe", AS_IT_IS },
			{ "output", "lm_head", AS_IT_IS }, { "output_norm", "transformer.ln_f", AS_IT_IS },
			{ "blk.#.attn_norm", H "ln_1", AS_IT_IS }, { "blk.#.ffn_norm", H "ln_2", AS_IT_IS },
			{ "blk.#.attn_qkv", H "attn.c_attn", GGUF_TURNED }, { "blk.#.attn_output", H "attn.c_proj", GGUF_TURNED },
			{ "blk.#.ffn_up", H "mlp.c_fc", GGUF_TURNED }, { "blk.#.ffn_down", H "mlp.c_proj", GGUF_TURNED }),
		NULL, 0 },
	{ "gptneox", NULL, "gpt_neox", "GPTNeoXForCausalLM", GGUF_ROTARY | GGUF_PARTIAL,
		KEYS(SIZES, { "attention.head_count_kv", NULL, 0 }, { "use_parallel_residual", "use_parallel_residual", 0 },
			LAYER_NORM("layer_norm_eps")),
		WORDS({ "token_embd", "gpt_neox.embed_in", AS_IT_IS }, { "output", "embed_out", AS_IT_IS },
			{ "output_norm", "gpt_neox.final_layer_norm", AS_IT_IS },
			{ "blk.#.attn_norm", NEOX "input_layernorm", AS_IT_IS },
			{ "blk.#.ffn_norm", NEOX "post_attention_layernorm", AS_IT_IS },
			{ "blk.#.attn_qkv", NEOX "attention.query_key_value", GGUF_BY_HEAD },
			{ "blk.#.attn_output", NEOX "attention.dense", AS_IT_IS },
			UP_DOWN(NEOX "mlp.dense_h_to_4h", NEOX "mlp.dense_4h_to_h")),
		NULL, 0 },
	{ "granite", NULL, "granite", "GraniteForCausalLM", GGUF_ROTARY,
		KEYS(GROUPED, RMS, { "attention.scale", "attention_multiplier", 0 },
			{ "embedding_scale", "embedding_multiplier", 0 }, { "residual_scale", "residual_multiplier", 0 },
			{ "logit_scale", "logits_scaling", 0 }, { "?blk.0.attn_q.bias", "attention_bias", 0 },
			{ "?blk.0.ffn_up.bias", "mlp_bias", 0 }),
		llama_words, NULL, 0 },
	{ "llama", "blk.0.ffn_gate_exps.weight", "mixtral", "MixtralForCausalLM", GGUF_ROTARY,
		KEYS(GROUPED, RMS, EXPERTS("num_local_experts")),
		WORDS(ENDS(AS_IT_IS), PAIRED_QKV, TWO_NORMS(AS_IT_IS),
			EACH_EXPERT("block_sparse_moe.gate", "block_sparse_moe.experts.*.w1", "block_sparse_moe.experts.*.w3",
				"block_sparse_moe.experts.*.w2")),
		NULL, 0 },
	{ "llama", NULL, "llama", "LlamaForCausalLM", GGUF_ROTARY | GGUF_HEAD_DIM,
		KEYS(GROUPED, RMS, { "?blk.0.attn_q.bias", "attention_bias", 0 }, { "?blk.0.ffn_up.bias", "mlp_bias", 0 }),
		llama_words, NULL, 0 },
	{ "nemotron", NULL, "nemotron", "NemotronForCausalLM", GGUF_ROTARY | GGUF_PARTIAL | GGUF_HEAD_DIM,
		KEYS(GROUPED, LAYER_NORM("norm_eps"), { "attention.layer_norm_rms_epsilon", NULL, 0 },
			{ "?blk.0.attn_q.bias", "attention_bias", 0 }, { "?blk.0.ffn_up.bias", "mlp_bias", 0 }),
		WORDS(ENDS(GGUF_PLUS_ONE), PLAIN_QKV, TWO_NORMS(GGUF_PLUS_ONE),
			UP_DOWN(LAYER "mlp.up_proj", LAYER "mlp.down_proj")),
		NULL, 0 },
	{ "olmo", NULL, "olmo", "OlmoForCausalLM", GGUF_ROTARY,
		KEYS(GROUPED, LAYER_NORM(NULL), { "attention.clamp_kqv", "clip_qkv", 0 }),
		WORDS(ENDS(AS_IT_IS), PAIRED_QKV, GATED("mlp.")), NULL, 0 },
	{ "olmo2", NULL, "olmo2", "Olmo2ForCausalLM", GGUF_ROTARY, KEYS(GROUPED, RMS),
		WORDS(ENDS(AS_IT_IS), PLAIN_QKV, QK_NORMS(AS_IT_IS), NORMS_BEHIND, GATED("mlp.")), NULL, 0 },
	{ "olmoe", NULL, "olmoe", "OlmoeForCausalLM", GGUF_ROTARY, KEYS(GROUPED, RMS, EXPERTS("num_experts")),
		WORDS(ENDS(AS_IT_IS), PLAIN_QKV, QK_NORMS(AS_IT_IS), TWO_NORMS(AS_IT_IS), QWEN_EXPERTS),
		"{\"norm_topk_prob\": false}", 0 },
	{ "phi2", NULL, "phi", "PhiForCausalLM", GGUF_ROTARY | GGUF_PARTIAL | GGUF_HEAD_BIAS,
		KEYS(GROUPED, LAYER_NORM("layer_norm_eps")),
		WORDS({ "token_embd", "model.embed_tokens", AS_IT_IS }, { "output", "lm_head", AS_IT_IS },
			{ "output_norm", "model.final_layernorm", AS_IT_IS },
			{ "blk.#.attn_norm", LAYER "input_layernorm", AS_IT_IS },
			{ "blk.#.attn_q", ATTENTION "q_proj", AS_IT_IS }, { "blk.#.attn_k", ATTENTION "k_proj", AS_IT_IS },
			{ "blk.#.attn_v", ATTENTION "v_proj", AS_IT_IS }, { "blk.#.attn_output", ATTENTION "dense", AS_IT_IS },
			UP_DOWN(LAYER "mlp.fc1", LAYER "mlp.fc2")),
		NULL, 0 },
	{ "phi3", NULL, "phi3", "Phi3ForCausalLM", GGUF_ROTARY | GGUF_PARTIAL | GGUF_WINDOW, KEYS(GROUPED, RMS),
		WORDS(ENDS(AS_IT_IS), { "blk.#.attn_qkv", ATTENTION "qkv_proj", AS_IT_IS },
			{ "blk.#.attn_output", ATTENTION "o_proj", AS_IT_IS }, TWO_NORMS(AS_IT_IS),
			UP_DOWN(LAYER "mlp.gate_up_proj", LAYER "mlp.down_proj")),
		NULL, 0 },
	{ "qwen2", NULL, "qwen2", "Qwen2ForCausalLM", GGUF_ROTARY, KEYS(GROUPED, RMS), qwen_words, NULL, 0 },
	{ "qwen2moe", NULL, "qwen2_moe", "Qwen2MoeForCausalLM", GGUF_ROTARY,
		KEYS(GROUPED, RMS, EXPERTS("num_experts"), { "@blk.0.ffn_gate_exps.weight", "moe_intermediate_size", 1 },
			{ "@blk.0.ffn_gate_shexp.weight", "shared_expert_intermediate_size", 0 }),
		WORDS(ENDS(AS_IT_IS), PLAIN_QKV, TWO_NORMS(AS_IT_IS), QWEN_EXPERTS,
			{ "blk.#.ffn_gate_inp_shexp", LAYER "mlp.shared_expert_gate", GGUF_ROW },
			{ "blk.#.ffn_gate_shexp", LAYER "mlp.shared_expert.gate_proj", AS_IT_IS },
			{ "blk.#.ffn_up_shexp", LAYER "mlp.shared_expert.up_proj", AS_IT_IS },
			{ "blk.#.ffn_down_shexp", LAYER "mlp.shared_expert.down_proj", AS_IT_IS }),
		"{\"norm_topk_prob\": false}", 0 },
	{ "qwen3", NULL, "qwen3", "Qwen3ForCausalLM", GGUF_ROTARY | GGUF_HEAD_DIM, KEYS(GROUPED, RMS), qwen_words, NULL, 0 },
	{ "qwen3moe", NULL, "qwen3_moe", "Qwen3MoeForCausalLM", GGUF_ROTARY | GGUF_HEAD_DIM,
		KEYS(GROUPED, RMS, EXPERTS("num_local_experts"), { "@blk.0.ffn_gate_exps.weight", "moe_intermediate_size", 1 }),
		WORDS(ENDS(AS_IT_IS), PLAIN_QKV, QK_NORMS(AS_IT_IS), TWO_NORMS(AS_IT_IS), QWEN_EXPERTS),
		"{\"norm_topk_prob\": true}", 0 },
	{ "smollm3", NULL, "smollm3", "SmolLM3ForCausalLM", GGUF_ROTARY, KEYS(GROUPED, RMS), llama_words, NULL, 0 },
	{ "stablelm", NULL, "stablelm", "StableLmForCausalLM", GGUF_ROTARY | GGUF_PARTIAL,
		KEYS(GROUPED, LAYER_NORM("layer_norm_eps"), { "?blk.0.attn_q.bias", "use_qkv_bias", 0 },
			{ "!blk.0.ffn_norm.weight", "use_parallel_residual", 0 }, { "use_parallel_residual", NULL, 0 }),
		WORDS(ENDS(AS_IT_IS), PLAIN_QKV, TWO_NORMS(AS_IT_IS), GATED("mlp.")), NULL, 0 },
	{ "starcoder2", NULL, "starcoder2", "Starcoder2ForCausalLM", GGUF_ROTARY,
		KEYS(GROUPED, LAYER_NORM("norm_epsilon"), { "?blk.0.attn_q.bias", "use_bias", 0 }),
		WORDS(ENDS(AS_IT_IS), PLAIN_QKV, TWO_NORMS(AS_IT_IS), UP_DOWN(LAYER "mlp.c_fc", LAYER "mlp.c_proj")), NULL, 0 },
};

const struct gguf_arch *gguf_arch_find(const char *name, bool (*has)(const void *file, const char *tensor), const void *file)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (text_is(rows[i].name, name) && (!rows[i].when || has(file, rows[i].when)))
			return &rows[i];
	return NULL;
}
