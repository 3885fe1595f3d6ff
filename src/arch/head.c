// SPDX-License-Identifier: Apache-2.0
// Heads: what stands on a body, chosen by the suffix of architectures[0]. hidden is the body's last state [batch, seq, hidden].
#include "arch/block/block.h"

// A head that some families build themselves
static void build_own(struct build *b, value hidden)
{
	(void)hidden;
	graph_fail(b->g, STATUS_UNSUPPORTED, "%s: the head of %s on a model of type %s is not supported yet", b->c->path,
		b->s->class_name, b->s->row->model_type);
}

// The dense layer that reads the first token; its activation is a trait.
static value pooled(struct build *b, const char *stem, value hidden, enum activation act)
{
	int64_t out = b->s->pooler_size ? b->s->pooler_size : b->s->hidden_size;
	return activate(b, act, linear(b, stem, first_token(b, hidden), b->s->hidden_size, out, true));
}

static void build_model(struct build *b, value hidden)
{
	graph_output(b->g, "last_hidden_state", hidden);
	if (b->s->row->family != &decoder && weight_named(b, "pooler") && weight_exists(b, "pooler", "weight"))
		graph_output(b->g, "pooler_output", pooled(b, "pooler", hidden, ACT_TANH));
}

// dense, activation, norm, then the token embedding turned round and a bias of its own
static value masked_lm(struct build *b, value hidden)
{
	const struct spec *s = b->s;
	int64_t width = s->lm_size ? s->lm_size : s->embedding_size;
	value x = hidden;
	if (weight_named(b, "head.lm.dense")) {
		x = linear(b, "head.lm.dense", x, s->hidden_size, width, true);
		x = layer_norm(b, "head.lm.norm", activate(b, s->traits.lm_gelu ? ACT_GELU : s->act, x), width);
	}
	value w = WEIGHT(b, s->tied ? "embed.word" : "head.lm.out", "weight", s->vocab_size, width);
	// A tied output's bias lies beside it; one of its own has its own, but older files have the one beside it then too.
	bool loose = weight_exists(b, "head.lm.loose", "bias") && (s->tied || !weight_exists(b, "head.lm.out", "bias"));
	return op_linear_output(b->g, x, w, WEIGHT(b, loose ? "head.lm.loose" : "head.lm.out", "bias", s->vocab_size));
}

static void build_masked_lm(struct build *b, value hidden)
{
	graph_enter(b->g, "head");
	value logits = masked_lm(b, hidden);
	graph_leave(b->g);
	graph_output(b->g, "logits", logits); // [batch, seq, vocab]
}

// What encoders are trained with: ELECTRA's finds exchanged tokens, the others fill gaps and compare two sentences.
static void build_pretraining(struct build *b, value hidden)
{
	const struct spec *s = b->s;
	struct graph *g = b->g;
	if (weight_named(b, "head.found.dense")) {
		value x = activate(b, s->act, linear(b, "head.found.dense", hidden, s->hidden_size, s->hidden_size, true));
		graph_output(
			g, "logits", op_squeeze(g, linear(b, "head.found.out", x, s->hidden_size, 1, true), 2)); // [batch, seq]
		return;
	}
	if (!weight_named(b, "head.next") && !weight_named(b, "head.order")) {
		build_own(b, hidden);
		return;
	}
	graph_enter(g, "head");
	value logits = masked_lm(b, hidden), first = pooled(b, "pooler", hidden, ACT_TANH);
	graph_leave(g);
	graph_output(g, "prediction_logits", logits);
	if (weight_named(b, "head.order"))
		graph_output(g, "sop_logits", linear(b, "head.order", first, s->hidden_size, s->labels, true));
	else
		graph_output(g, "seq_relationship_logits", linear(b, "head.next", first, s->hidden_size, 2, true));
}

static void build_next_sentence(struct build *b, value hidden)
{
	if (weight_named(b, "head.next"))
		graph_output(b->g, "logits",
			linear(b, "head.next", pooled(b, "pooler", hidden, ACT_TANH), b->s->hidden_size, 2, true));
	else
		build_own(b, hidden);
}

static void build_causal_lm(struct build *b, value hidden)
{
	const struct spec *s = b->s;
	if (s->row->family == &encoder) {
		build_masked_lm(b, hidden);
		return;
	}
	graph_enter(b->g, "head");
	int64_t width = s->embedding_size > 0 ? s->embedding_size : s->hidden_size;
	value w = WEIGHT(b, s->tied ? "embed.word" : "head.lm.out", "weight", s->vocab_size, width);
	value bias = s->traits.lm_bias ? WEIGHT(b, "head.lm.out", "bias", s->vocab_size) : NO_VALUE;
	value logits = op_linear_last(b->g, hidden, w, bias);
	if (s->logit_scale > 0)
		logits = op_scale(b->g, logits, (float)s->logit_scale);
	logits = op_softcap(b->g, logits, (float)s->logit_softcap);
	graph_leave(b->g);
	graph_output(b->g, "logits", logits); // [batch, seq, vocab]
}

// Decoders score the last token that is not padding; encoders the first, through a dense layer.
static void build_sequence(struct build *b, value hidden)
{
	const struct spec *s = b->s;
	struct graph *g = b->g;
	graph_enter(g, "head");
	value logits;
	if (s->row->family == &decoder) {
		value scores = linear(b, "head.score", hidden, s->hidden_size, s->labels, false); // [batch, seq, labels]
		value last = graph_i64(g, -1);
		if (s->pad_token_id >= 0) {
			value is_token = op_cast(g, op_not(g, op_equal(g, b->ids, graph_i64(g, s->pad_token_id))), DTYPE_I64);
			value at = op_range(g, graph_i64(g, 0), op_squeeze(g, op_dim(g, b->ids, 1), 0), graph_i64(g, 1));
			last = op_argmax(g, op_mul(g, is_token, at), 1, true); // [batch, 1]
			logits = op_gather_nd(g, scores, last, 1);             // [batch, labels]
		} else
			logits = op_gather(g, scores, last, 1);
	} else {
		value x = pooled(b, "head.sequence.dense", hidden, s->traits.head_hidden_act ? s->act : s->traits.head_act);
		logits = linear(b, "head.sequence.out", x, s->hidden_size, s->labels, true);
	}
	graph_leave(g);
	graph_output(g, "logits", logits); // [batch, labels]
}

static void build_token(struct build *b, value hidden)
{
	graph_output(
		b->g, "logits", linear(b, "head.token", hidden, b->s->hidden_size, b->s->labels, true)); // [batch, seq, labels]
}

// Two logits a token, apart: where the answer begins and where it ends.
static void build_span(struct build *b, value hidden)
{
	value both = linear(b, "head.span", hidden, b->s->hidden_size, 2, true); // [batch, seq, 2]
	graph_output(b->g, "start_logits", op_squeeze(b->g, op_slice(b->g, both, 2, 0, 1), 2));
	graph_output(b->g, "end_logits", op_squeeze(b->g, op_slice(b->g, both, 2, 1, 2), 2));
}

static void build_encoder(struct build *b, value hidden)
{
	graph_output(b->g, "last_hidden_state", hidden);
}

const struct head head_rows[] = {
	{ "ForConditionalGeneration", "conditional-generation", build_own, true },
	{ "MTModel", "conditional-generation", build_own, true },
	{ "ForMaskedLM", "masked-lm", build_masked_lm },
	{ "ForPreTraining", "pretraining", build_pretraining },
	{ "QuestionEncoder", "embedding", build_own },
	{ "ContextEncoder", "embedding", build_own },
	{ "Reader", "reader", build_own },
	{ "GenerationDecoder", "causal-lm", build_causal_lm },
	{ "ForNextSentencePrediction", "next-sentence", build_next_sentence },
	{ "ForMultipleChoice", "multiple-choice", build_own },
	{ "ForCausalLM", "causal-lm", build_causal_lm },
	{ "LMHeadModel", "causal-lm", build_causal_lm },
	{ "ForSequenceClassification", "sequence-classification", build_sequence },
	{ "ForTokenClassification", "token-classification", build_token },
	{ "ForQuestionAnswering", "question-answering", build_span },
	{ "ForImageClassificationWithTeacher", "image-classification-teacher", build_own },
	{ "ForImageClassification", "image-classification", build_own },
	{ "ForMaskedImageModeling", "masked-image", build_own },
	{ "ForObjectDetection", "object-detection", build_own },
	{ "ForVideoClassification", "video-classification", build_own },
	{ "ForSemanticSegmentation", "semantic-segmentation", build_own },
	{ "ForSegmentation", "segmentation", build_own },
	{ "Backbone", "backbone", build_own },
	{ "ForAudioClassification", "audio-classification", build_own, false },
	{ "ForCTC", "ctc", build_own, false },
	{ "HifiGan", "vocoder", build_own, false },
	{ "Encoder", "encoder", build_encoder, false },
	{ "ForAudioFrameClassification", "audio-frame-classification", build_own, false },
	{ "ForXVector", "x-vector", build_own, false },
	{ "EncoderModel", "encoder", build_encoder },
	{ "ModelWithProjection", "projection", build_own },
	{ "Model", "model", build_model, true },
	{ NULL, NULL, NULL, false },
};
