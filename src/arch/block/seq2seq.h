// SPDX-License-Identifier: Apache-2.0
// Encoder-decoders: what their graphs take and give, whichever way the two halves are built. A half is a part of the model
// ("encoder", "decoder") that shares row and dialect with the whole; its "@" leads into "encoder." or "decoder.".
//
// The graphs, names and layout as optimum-onnx and transformers.js know them; B batch, S tokens of the encoder, N new tokens of
// the decoder, P tokens before them, H heads of the decoder, E their width. SOURCE is input_ids i64 [B,S] and attention_mask i64
// [B,S] for text, input_features f32 (and attention_mask where the class takes one) for sound.
//
//   model.onnx                     SOURCE, decoder_input_ids [B,N]  ->  logits [B,N,vocab], encoder_last_hidden_state
//                                  [B,S,hidden]
//   encoder_model.onnx             SOURCE  ->  last_hidden_state [B,S,hidden]
//   decoder_model.onnx             input_ids [B,N], encoder_hidden_states [B,S,hidden], encoder_attention_mask [B,S]
//                                  ->  logits [B,N,vocab], present.L.decoder.{key,value} [B,H,N,E], present.L.encoder.{key,value}
//                                  [B,H,S,E]
//   decoder_with_past_model.onnx   input_ids [B,N], encoder_attention_mask [B,S], past_key_values.L.decoder.{key,value}
//                                  [B,H,P,E],
//                                  past_key_values.L.encoder.{key,value} [B,H,S,E]
//                                  ->  logits [B,N,vocab], present.L.decoder.{key,value} [B,H,P+N,E]
//   decoder_model_merged.onnx      what decoder_with_past_model takes, encoder_hidden_states [B,S,hidden] and use_cache_branch
//                                  bool [1]
//                                  ->  what decoder_model gives. False: the past is not looked at and may have any length.
//   A decoder by itself has no cache: model.onnx, input_ids and attention_mask [B,N], encoder_hidden_states [B,S,source]  ->
//   logits; and decoder_alone_model.onnx, the same without encoder_hidden_states and the attention that looks at them, which is
//   what generates.
//
// Generation: run the encoder once, decoder_model with the start token(s), then decoder_with_past_model with one token a step;
// its present.L.decoder.* are the next step's past_key_values.L.decoder.*, and present.L.encoder.* of the first run stay as they
// are. Positions follow from P. There is no encoder_attention_mask where the decoder looks at all of the encoder's states
// (Whisper); no mask over the decoder's own tokens: prompts of one batch have one length. A bare model gives last_hidden_state
// for logits.
#ifndef ASSAY_ARCH_BLOCK_SEQ2SEQ_H
#define ASSAY_ARCH_BLOCK_SEQ2SEQ_H

#include "arch/block/block.h"

// How a family builds its halves. The functions run with b->s at the half; they find embeds (tokens, scaled) or features and the
// mask in io, the decoder also memory, memory_mask and caches, and leave `last` (and `states`).
struct seq2seq {
	// Declares the encoder's, io->own being this struct; NULL: input_ids and attention_mask.
	void (*inputs)(struct build *b, struct body *io);
	// The decoder's, where it reads no tokens: features; NULL: ids.
	void (*target)(struct build *b, struct body *io);
	void (*encode)(struct build *b, struct body *io);
	void (*decode)(struct build *b, struct body *io);
	// With b->s at the whole: what the decoder makes of the states it is given, in io->memory; NULL: nothing.
	graph_value (*remember)(struct build *b, graph_value memory);
	// encoder_model, decoder_model and decoder_with_past_model, where they are the family's own; NULL: those below.
	const struct arch_graph *const *graphs;
	bool gives_remembered; // encoder_last_hidden_state of model.onnx is what `remember` makes of it
	bool whole_halves;     // halves are models of their own: they embed their tokens, and the decoder has the head
	bool one_table;        // a new checkpoint has one table of tokens, "embed.shared", for both halves
	bool head_in_body;     // the bare model's states are logits
	bool head_bias;        // "head.lm.bias", [1, vocab]
	bool masks_frames;     // masks are of what the encoder reads, not of its states: the decoder counts them over
	bool gives_mask;       // encoder_model.onnx gives encoder_attention_mask too, which is not that of the text
	bool float_mask;       // encoder_attention_mask is f32, as the class's processor makes the encoder's
	bool sees_all;         // the decoder looks at all of the encoder's states: no mask
	float embed_scale;     // of the token embeddings; 0: 1
	float head_scale;      // of the last state before the language model's head; 0: 1
	bool start_wraps;      // the shifted copy begins with the text's own last token
	bool source_masked;    // there is encoder_attention_mask [B,S] beside the states that it looks at
	int64_t source_size;   // of a decoder by itself: the width of the states it looks at
	int64_t eos, start;    // for heads on a text that is read twice: where it ends, what its shifted copy begins with
};
void seq2seq_build(struct build *b, const struct seq2seq *f);
// Runs a half, "encoder" or "decoder": from io->ids, unless embeds are there, to io->last.
void seq2seq_run(struct build *b, const struct seq2seq *f, const char *part, struct body *io);
// ids [batch, seq] by the table of tokens of that half, scaled: [batch, seq, embedding]
graph_value seq2seq_embed(struct build *b, const struct seq2seq *f, const char *part, graph_value ids);
// Which of the encoder's states a decoder looks at, where f32 [batch] says how many: i64 [batch, states].
graph_value seq2seq_states_of(struct build *b, const struct body *io, graph_value lengths);
// Of a decoder that has a family of its own and reads memory, all of whose tokens count: io->mask [batch, past + seq], positions
// [1, seq], types, and memory_bias of memory_mask.
void seq2seq_begin(struct build *b, struct body *io);
// encoder_model.onnx; decoder_model.onnx: encoder_hidden_states and a first run of decoder input_ids;
// decoder_with_past_model.onnx; decoder_model_merged.onnx: the first and every further run in one.
extern const struct arch_graph *const seq2seq_graphs[], seq2seq_encoder, seq2seq_first, seq2seq_next, seq2seq_merged,
	seq2seq_alone;
enum {
	SEQ2SEQ_TWICE = 1,
	SEQ2SEQ_ENCODER_ONLY = 2,
	SEQ2SEQ_WRAPPED = 4
};      // flags of heads: the text goes into both halves; the
	// class has no decoder; its names begin with the prefix
// Ways of building: io->own is the struct seq2seq. The rows are those of most families.
void seq2seq_logits(struct build *b, const struct body *io);
// Of the language model, whose states are the decoder's: [.., hidden] -> [.., vocab].
graph_value seq2seq_scores(struct build *b, const struct seq2seq *f, graph_value hidden);
void seq2seq_classify(struct build *b, const struct body *io);
extern const struct family_head seq2seq_heads[], seq2seq_speech_heads[];

// seq2seq_resolve.c. Makes a half of s: a copy to be filled with its own sizes; `within` is "encoder." or "decoder.".
struct spec *resolve_half(struct spec *s, struct arena *a, const char *part, const char *within);
// What BART's kin say: s gets the whole's and the encoder's sizes, d the decoder's; then both halves.
// alone: the class is a decoder by itself, and all sizes are its. without_tokens: neither half reads words.
struct halves_sizes {
	int64_t layers, heads, ffn_size, vocab_size;
	bool alone, without_tokens;
};
void resolve_halves_sizes(struct config *c, struct spec *s, struct halves_sizes *d);
void resolve_halves(struct spec *s, struct arena *a, const struct halves_sizes *d);

// STEM.q of x, STEM.k and STEM.v (or STEM.kv, where the dialect has that word) of `from`, STEM.o of what they give. `from` is x
// itself: self-attention, whose cache grows; else the encoder's states, or NO_VALUE when the cache has their keys and values
// already.
enum { BIAS_Q = 1, BIAS_K = 2, BIAS_V = 4, BIAS_O = 8, BIAS_ALL = 15, FFN_NO_BIAS = 16 };
graph_value attend(struct build *b, const char *stem, graph_value x, graph_value from, graph_value bias, struct cache *cache,
	unsigned biases);

// Where the new tokens stand among all: i64 [seq, 1] and [1, keys]; and what keeps each from looking ahead, [seq, keys].
void decoder_places(struct build *b, const struct body *io, graph_value *query, graph_value *key);
graph_value causal_bias(struct build *b, graph_value query, graph_value key);

// seq2seq_layers.c: io->mask, cache, cross, memory and memory_mask -> last, states; x [batch, seq, hidden] is the embedding. A
// decoder without memory and cross looks at none. Of biases FFN_NO_BIAS is about the feed-forward.
void seq2seq_layers(struct build *b, struct body *io, graph_value x, bool is_decoder, unsigned biases);
// The same without the norm after the last layer, whose result it gives: states, not `last`.
graph_value seq2seq_stack(struct build *b, struct body *io, graph_value x, bool is_decoder, unsigned biases);
// Sines, then cosines, of positions times 10000^(-i / steps), i from 0: [.., width]; width is even.
graph_value sines(struct build *b, graph_value positions, int64_t width, int64_t steps);
// The same where tokens (bool [batch, seq]) are counted from pad_token_id + 1, after the past; elsewhere 0: [batch, seq,
// hidden].
graph_value sines_of_tokens(struct build *b, const struct body *io, graph_value is_token);

#endif
