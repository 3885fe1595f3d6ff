// SPDX-License-Identifier: Apache-2.0
// The usual way of each head, and the table of classes.
#include <float.h>
#include "arch/block/block.h"

const struct family_head *head_row(const struct spec *s)
{
	const struct family_head *row = s->head ? s->row->family->heads : NULL;
	while (row && row->head && row->head != s->head)
		row++;
	return row && row->head ? row : NULL;
}

unsigned head_how(const struct spec *s)
{
	const struct family_head *row = head_row(s);
	return row ? row->how : 0;
}

bool head_reads_memory(const struct spec *s)
{
	return s->head && s->head->reads_memory;
}

void head_refused(struct config *c, const struct spec *s)
{
	struct text has = { 0 };
	for (const struct family_head *row = s->row->family->heads; row && row->head; row++)
		text_addf(&has, "%s%s", has.length ? ", " : "", row->head->name);
	config_fail(c, STATUS_UNSUPPORTED, "the head of %s on a model of type %s is not supported yet; its family, %s, has: %s",
		s->class_name, s->row->model_type, s->row->family->name, text_get(&has));
	text_done(&has);
}

void head_build(struct build *b, const struct body *io)
{
	const struct family_head *row = head_row(b->s);
	(row && row->build ? row->build : b->s->head->build)(b, io);
}

void head_unsupported(struct build *b)
{
	graph_fail(b->g, STATUS_UNSUPPORTED, "%s: the head of %s on a model of type %s is not supported yet", b->c->path,
		b->s->class_name, b->s->row->model_type);
}

// The dense layer that reads the first token; its activation is a trait.
static graph_value pooled(struct build *b, const char *stem, graph_value hidden, enum activation act)
{
	int64_t out = b->s->pooler_size ? b->s->pooler_size : b->s->hidden_size;
	return activate(b, act, linear(b, stem, first_token(b, hidden), b->s->hidden_size, out, true));
}

void head_give_last(struct build *b, const struct body *io)
{
	graph_output(b->g, "last_hidden_state", io->last);
}

void head_give_states(struct build *b, const struct body *io)
{
	graph_output(b->g, "last_hidden_state", io->last);
	if (io->pooled.id)
		graph_output(b->g, "pooler_output", io->pooled);
}

void head_give_pooled(struct build *b, const struct body *io)
{
	graph_output(b->g, "last_hidden_state", io->last);
	if (weight_named(b, "pooler") && weight_exists(b, "pooler", "weight"))
		graph_output(b->g, "pooler_output", pooled(b, "pooler", io->last, ACT_TANH));
}

void head_classify_pooled(struct build *b, const struct body *io)
{
	graph_output(b->g, "logits", linear(b, "head.image", io->pooled, b->s->hidden_size, b->s->labels, true));
}

// A head that is built by families only
static void build_own(struct build *b, const struct body *io)
{
	(void)io;
	head_unsupported(b);
}

graph_value head_lm_bias(struct build *b)
{
	bool loose = b->plan ? b->s->tied : !weight_exists(b, "head.lm.out", "bias") && weight_exists(b, "head.lm.loose", "bias");

	return WEIGHT(b, loose ? "head.lm.loose" : "head.lm.out", "bias", b->s->vocab_size);
}

// dense, activation, norm, then the token embedding, transposed, and a bias of its own
static graph_value masked_lm(struct build *b, graph_value hidden)
{
	const struct spec *s = b->s;
	int64_t width = s->lm_size ? s->lm_size : s->embedding_size;
	graph_value x = hidden;
	if (weight_named(b, "head.lm.dense")) {
		x = linear(b, "head.lm.dense", x, s->hidden_size, width, true);
		x = layer_norm(b, "head.lm.norm", activate(b, s->traits.lm_gelu ? ACT_GELU : s->act, x), width);
	}
	graph_value w = WEIGHT(b, s->tied ? "embed.word" : "head.lm.out", "weight", s->vocab_size, width);
	return op_linear_output(b->g, x, w, head_lm_bias(b));
}

void head_lm(struct build *b, const struct body *io)
{
	graph_enter(b->g, "head");
	graph_value logits = masked_lm(b, io->last);
	graph_leave(b->g);
	graph_output(b->g, "logits", logits); // [batch, seq, vocab]
}

// What encoders are trained with: ELECTRA's finds exchanged tokens, the others fill gaps and compare two sentences.
static void build_pretraining(struct build *b, const struct body *io)
{
	graph_value hidden = io->last;
	const struct spec *s = b->s;
	struct graph *g = b->g;
	if (weight_named(b, "head.found.dense")) {
		graph_value x = activate(b, s->act, linear(b, "head.found.dense", hidden, s->hidden_size, s->hidden_size, true));
		graph_output(
			g, "logits", op_squeeze(g, linear(b, "head.found.out", x, s->hidden_size, 1, true), 2)); // [batch, seq]
		return;
	}
	if (!weight_named(b, "head.next") && !weight_named(b, "head.order")) {
		head_unsupported(b);
		return;
	}
	graph_enter(g, "head");
	graph_value logits = masked_lm(b, hidden), first = pooled(b, "pooler", hidden, ACT_TANH);
	graph_leave(g);
	graph_output(g, "prediction_logits", logits);
	if (weight_named(b, "head.order"))
		graph_output(g, "sop_logits", linear(b, "head.order", first, s->hidden_size, s->labels, true));
	else
		graph_output(g, "seq_relationship_logits", linear(b, "head.next", first, s->hidden_size, 2, true));
}

static void build_next_sentence(struct build *b, const struct body *io)
{
	if (weight_named(b, "head.next"))
		graph_output(b->g, "logits",
			linear(b, "head.next", pooled(b, "pooler", io->last, ACT_TANH), b->s->hidden_size, 2, true));
	else
		head_unsupported(b);
}

// The last num_logits_to_keep of [batch, seq, hidden], as transformers' logits_to_keep counts them: 0 are all.
static graph_value last_chosen(struct graph *g, graph_value x)
{
	graph_value kept = graph_input(g, "num_logits_to_keep", DTYPE_I64, 0, NULL);

	return op_slice_to(g, x, 1, op_neg(g, op_unsqueeze(g, kept, 0)), graph_i64s(g, 1, (int64_t[]){ INT64_MAX }));
}

static void build_causal_lm(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_enter(b->g, "head");
	int64_t width = s->embedding_size > 0 ? s->embedding_size : s->hidden_size;
	int64_t words = s->output_size ? s->output_size : s->vocab_size;
	graph_value w = WEIGHT(b, s->tied ? "embed.word" : "head.lm.out", "weight", words, width);
	graph_value bias = s->traits.lm_bias ? WEIGHT(b, "head.lm.out", "bias", words) : NO_VALUE, x = io->last;
	if (graph_get_form(b->g)->logits_chosen)
		x = last_chosen(b->g, x);
	if (weight_named(b, "head.lm.dense")) {
		x = activate(b, s->lm_act, linear(b, "head.lm.dense", x, width, width, s->lm_dense_bias));
		x = norm(b, "head.lm.norm", x, width);
	}
	graph_value logits = op_linear_last(b->g, x, w, bias);
	if (s->logit_scale > 0)
		logits = op_scale(b->g, logits, (float)s->logit_scale);
	logits = op_softcap(b->g, logits, (float)s->logit_softcap);
	if (s->unsaid) {
		graph_value never = graph_constant(b->g, DTYPE_BOOL, 1, &words, s->unsaid);
		logits = op_where(b->g, never, graph_f32(b->g, -FLT_MAX), logits);
	}
	graph_leave(b->g);
	graph_output(b->g, "logits", logits); // [batch, seq, vocab]
	if (s->gives_last)
		graph_output(b->g, "last_hidden_state", io->last);
}

void head_score_last(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	struct graph *g = b->g;
	graph_enter(g, "head");
	graph_value scores = linear(b, "head.score", io->last, s->hidden_size, s->labels, false); // [batch, seq, labels]
	graph_value last = graph_i64(g, -1), logits;
	if (s->pad_token_id >= 0) {
		graph_value is_token = op_cast(g, op_not(g, op_equal(g, b->ids, graph_i64(g, s->pad_token_id))), DTYPE_I64);
		graph_value at = places_of(g, b->ids);
		last = op_argmax(g, op_mul(g, is_token, at), 1, true); // [batch, 1]
		logits = op_gather_nd(g, scores, last, 1);             // [batch, labels]
	} else
		logits = op_gather(g, scores, last, 1);
	graph_leave(g);
	graph_output(g, "logits", logits); // [batch, labels]
}

// By the first token, through a dense layer
static void build_sequence(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	struct graph *g = b->g;
	graph_enter(g, "head");
	graph_value x = pooled(b, "head.sequence.dense", io->last, s->traits.head_hidden_act ? s->act : s->traits.head_act);
	graph_value logits = linear(b, "head.sequence.out", x, s->hidden_size, s->labels, true);
	graph_leave(g);
	graph_output(g, "logits", logits); // [batch, labels]
}

static void build_token(struct build *b, const struct body *io)
{
	graph_output(
		b->g, "logits", linear(b, "head.token", io->last, b->s->hidden_size, b->s->labels, true)); // [batch, seq, labels]
}

// Two logits a token, apart: where the answer begins and where it ends.
static void build_span(struct build *b, const struct body *io)
{
	graph_value both = linear(b, "head.span", io->last, b->s->hidden_size, 2, true); // [batch, seq, 2]
	graph_output(b->g, "start_logits", op_squeeze(b->g, op_slice(b->g, both, 2, 0, 1), 2));
	graph_output(b->g, "end_logits", op_squeeze(b->g, op_slice(b->g, both, 2, 1, 2), 2));
}

const struct head head_audio = { "audio-classification", build_own };
const struct head head_audio_frames = { "audio-frame-classification", build_own };
const struct head head_augmented_lm = { "augmented-lm", head_lm, .choices = true };
const struct head head_backbone = { "backbone", build_own, .gives_states = true };
const struct head head_backbone_classed = { "backbone-with-class-token", build_own, .gives_states = true };
const struct head head_causal_lm = { "causal-lm", build_causal_lm, .predicts_next = true };
const struct head head_cells = { "table-question-answering", build_own };
const struct head head_conditional = { "conditional-generation", build_own, .generates = true };
const struct head head_ctc = { "ctc", build_own };
const struct head head_depth = { "depth-estimation", build_own };
const struct head head_embedding = { "embedding", build_own };
const struct head head_grounding = { "video-grounding", build_own };
const struct head head_retrieval = { "retrieval", build_own };
const struct head head_encoder = { "encoder", head_give_last };
const struct head head_image = { "image-classification", build_own };
const struct head head_images_text = { "images-and-text-classification", build_own };
const struct head head_image_teacher = { "image-classification-teacher", build_own };
const struct head head_keypoints = { "keypoint-detection", build_own };
const struct head head_masked_image = { "masked-image", build_own };
const struct head head_masked_lm = { "masked-lm", head_lm };
const struct head head_matches = { "keypoint-matching", build_own };
const struct head head_matting = { "image-matting", build_own };
const struct head head_memory_lm = { "causal-lm", build_causal_lm, .predicts_next = true, .reads_memory = true };
const struct head head_model = { "model", head_give_states, .bare = true, .generates = true };
const struct head head_multiple_choice = { "multiple-choice", build_own, .choices = true };
const struct head head_next_sentence = { "next-sentence", build_next_sentence };
const struct head head_objects = { "object-detection", build_own };
const struct head head_pose = { "pose-estimation", build_own };
const struct head head_pretraining = { "pretraining", build_pretraining };
const struct head head_projection = { "projection", build_own };
const struct head head_reader = { "reader", build_own };
const struct head head_table = { "table-recognition", build_own };
const struct head head_scene_text = { "scene-text-recognition", build_own };
const struct head head_regression = { "regression", build_own };
const struct head head_series = { "series-classification", build_own };
const struct head head_forecast = { "forecast", build_own };
const struct head head_segmentation = { "segmentation", build_own };
const struct head head_segments = { "semantic-segmentation", build_own };
const struct head head_sequence = { "sequence-classification", build_sequence };
const struct head head_span = { "question-answering", build_span,
	.other_prefix = "transformer." }; // where other classes say "model."
const struct head head_super_resolution = { "super-resolution", build_own };
const struct head head_text_to_text = { "text-to-text", build_own, .generates = true };
const struct head head_token = { "token-classification", build_token };
const struct head head_transducer = { "transducer", build_own };
const struct head head_video = { "video-classification", build_own };
const struct head head_speech = { "text-to-speech", build_own };
const struct head head_vocoder = { "vocoder", build_own };
const struct head head_x_vector = { "x-vector", build_own };

const struct head_class head_classes[] = {
	{ "ChameleonForConditionalGeneration", &head_causal_lm }, // a decoder, whose pictures are words
	{ "CsmForConditionalGeneration", &head_causal_lm },       // a decoder, which gives the first word of a frame
	{ "RagTokenForGeneration", &head_conditional },
	{ "RagSequenceForGeneration", &head_text_to_text },
	{ "GPTSanJapaneseForConditionalGeneration", &head_causal_lm },
	{ "ForConditionalGeneration", &head_conditional },
	{ "ForProteinText2Text", &head_conditional },
	{ "ForSpeechToText", &head_conditional },
	{ "ForTextToSpeech", &head_speech },
	{ "ForTextToText", &head_text_to_text },
	{ "ForVisionText2Text", &head_conditional },
	{ "FSMTModel", &head_model },
	{ "MTModel", &head_conditional },
	{ "EncoderDecoderModel", &head_conditional },
	{ "ForMaskedLM", &head_masked_lm },
	{ "ForPreTraining", &head_pretraining },
	{ "QuestionEncoder", &head_embedding },
	{ "ContextEncoder", &head_embedding },
	{ "KnowledgeAugEncoder", &head_augmented_lm },
	{ "Embedder", &head_embedding },
	{ "Reader", &head_reader },
	{ "GenerationDecoder", &head_causal_lm },
	{ "ForNextSentencePrediction", &head_next_sentence },
	{ "ForMultipleChoice", &head_multiple_choice },
	{ "ForCausalLM", &head_causal_lm },
	{ "ForCausalImageModeling", &head_causal_lm },
	{ "WithLMHeadModel", &head_masked_lm },
	{ "LMHeadModel", &head_causal_lm },
	{ "ForSequenceClassification", &head_sequence },
	{ "ModelWithLMHead", &head_causal_lm },
	{ "ForGraphClassification", &head_sequence },
	{ "ForTokenClassification", &head_token },
	{ "TapasForQuestionAnswering", &head_cells },
	{ "ForQuestionAnswering", &head_span },
	{ "ForImageClassificationWithTeacher", &head_image_teacher },
	{ "ForImageClassification", &head_image },
	{ "ForMaskedImageModeling", &head_masked_image },
	{ "ForObjectDetection", &head_objects },
	{ "ForKeypointDetection", &head_keypoints },
	{ "ForKeypointMatching", &head_matches },
	{ "ForDepthEstimation", &head_depth },
	{ "ForPoseEstimation", &head_pose },
	{ "ForVideoGrounding", &head_grounding },
	{ "ForRetrieval", &head_retrieval },
	{ "ForImageAndTextRetrieval", &head_retrieval },
	{ "ForImagesAndTextClassification", &head_images_text },
	{ "ForImageMatting", &head_matting },
	{ "ForImageSuperResolution", &head_super_resolution },
	{ "ForSceneTextRecognition", &head_scene_text },
	{ "ForTableRecognition", &head_table },
	{ "ForVideoClassification", &head_video },
	{ "ForAudioVisualClassification", &head_video },
	{ "ForSemanticSegmentation", &head_segments },
	{ "ForSegmentation", &head_segmentation },
	{ "ForImageSegmentation", &head_segmentation },
	{ "ForInstanceSegmentation", &head_segmentation },
	{ "ForUniversalSegmentation", &head_segmentation },
	{ "Backbone", &head_backbone },
	{ "ForAudioClassification", &head_audio },
	{ "ForCTC", &head_ctc },
	{ "ForPrediction", &head_forecast },
	{ "ForRegression", &head_regression },
	{ "TSTForClassification", &head_series },
	{ "ForRNNT", &head_transducer },
	{ "ForTDT", &head_transducer },
	{ "HifiGan", &head_vocoder },
	{ "Encoder", &head_encoder },
	{ "ForAudioFrameClassification", &head_audio_frames },
	{ "ForXVector", &head_x_vector },
	{ "EncoderModel", &head_encoder },
	{ "ModelWithProjection", &head_projection },
	{ "VisionTransformer", &head_model },
	{ "AutoencoderKL", &head_model },
	{ "AutoencoderTiny", &head_model },
	{ "AutoencoderDC", &head_model },
	{ "VQVAE", &head_model },
	{ "Model", &head_model },
	{ NULL, NULL },
};
