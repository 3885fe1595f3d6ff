// SPDX-License-Identifier: Apache-2.0
// A prompt from a file of tensors (pipeline/pipeline.h says which), and the text of what was generated behind it.
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cell/generate.h"
#include "cell/prepare.h"
#include "cell/say.h"
#include "cell/work.h"

enum { LANGUAGE = -1, HOW_MOST = 1 << 22 }; // the place of a language that is to be heard; bytes of the settings

// What the file has, without "in.".
struct prompt_file {
	struct tensor *tensors;
	size_t count;
};

static const struct tensor *in_file(const struct prompt_file *f, const char *name)
{
	return tensor_named(f->tensors, f->count, name);
}

static enum status read_file(struct work *w, struct prompt_file *out, struct error *err)
{
	struct shard shard;
	struct weight *all;
	size_t count;
	enum status st = safetensors_open(&w->arena, w->ask.golden, &shard, &all, &count, err);

	if (st)
		return st;
	*out = (struct prompt_file){ ARENA_ARRAY(&w->arena, count + 1, struct tensor), 0 };
	for (size_t i = 0; i < count; i++)
		if (text_starts(all[i].name, "in.")) {
			out->tensors[out->count] = weight_tensor(&all[i]);
			out->tensors[out->count++].name = all[i].name + strlen("in.");
		}
	return STATUS_OK;
}

static void forget(void *json)
{
	json_decref(json);
}

// The settings, for so many new tokens.
static enum status read_how(struct work *w, const struct prompt_file *f, int64_t length, struct error *err)
{
	const struct tensor *t = in_file(f, "generation_config");
	json_t *file = NULL, *options;
	enum status st;

	if (!t)
		return STATUS_OK;
	if (t->dtype != DTYPE_U8 || t->nbytes > HOW_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%s: generation_config is no text", w->ask.golden);
	if ((st = json_bytes("generation_config", t->data, t->nbytes, &file, err)))
		return st;
	options = json_pack("{s:I}", "max_new_tokens", (json_int_t)w->ask.new_tokens);
	arena_defer(&w->arena, forget, file);
	arena_defer(&w->arena, forget, options);
	w->decoding = ARENA_NEW(&w->arena, struct decoding);
	return decoding_settle(
		w->decoding, &w->arena, &(struct decoding_source){ .options = options, .file = file }, length, 1, err);
}

static enum status take_ids(struct work *w, const struct prompt_file *f, struct prompt *p, struct error *err)
{
	const struct tensor *ids = in_file(f, w->part_count > 1 ? "decoder_input_ids" : "input_ids");

	if (!ids)
		return STATUS_OK;
	if (ids->dtype != DTYPE_I64 || ids->rank != 2 || ids->dim[0] != 1 || ids->dim[1] < 1)
		return error_set(err, STATUS_BAD_INPUT, "%s: the first tokens are no i64 [1, tokens]", w->ask.golden);
	int64_t *own = arena_alloc(&w->arena, ids->nbytes);
	memcpy(own, ids->data, ids->nbytes);
	p->ids = own;
	p->length = ids->dim[1];
	return STATUS_OK;
}

// ---- the language of a sound ----------------------------------------------------------------------------------------------

struct languages {
	const int64_t *ids;
	size_t count;
};

static bool choose_language(void *context, const int64_t *const *texts, int64_t length, const float *const *logits, int64_t vocab,
	int64_t *next, int64_t *from)
{
	const struct languages *l = context;

	(void)texts, (void)length, (void)from;
	next[0] = -1;
	for (size_t i = 0; i < l->count; i++)
		if (l->ids[i] >= 0 && l->ids[i] < vocab && (next[0] < 0 || logits[0][l->ids[i]] > logits[0][next[0]]))
			next[0] = l->ids[i];
	return false;
}

// The one that what stands before its place is most likely followed by, as the detect_language of transformers' class finds it. A
// reduced precision takes the one of the tokens that it is asked about.
static enum status hear_language(
	struct work *w, const struct generation *g, const struct prompt_file *f, struct prompt *p, struct error *err)
{
	const struct tensor *t = in_file(f, "languages");
	struct languages l = { t ? t->data : NULL, t ? t->nbytes / sizeof(int64_t) : 0 };
	struct generate_chooser chooser = { &l, choose_language };
	struct generation one = *g;
	struct prompt before = *p;
	int64_t token = w->ask.language;
	enum status st = STATUS_OK;

	before.length = 0;
	while (before.length < p->length && p->ids[before.length] != LANGUAGE)
		before.length++;
	if (before.length == p->length)
		return STATUS_OK;
	if (!before.length || !t || t->dtype != DTYPE_I64)
		return error_set(err, STATUS_BAD_INPUT, "%s: no languages that a sound may be of", w->ask.golden);
	one.chooser = &chooser;
	one.how = NULL;
	one.new_tokens = 1;
	if (!token && (st = generate_greedy(&one, &before, NULL, &w->arena, err)))
		return error_prefix(err, "hearing the language");
	token = token ? token : one.ids[0];
	if (token < 0)
		return error_set(err, STATUS_BAD_INPUT, "%s: its languages are no tokens", w->ask.golden);
	((int64_t *)(uintptr_t)p->ids)[before.length] = token; // ours (take_ids)
	say(json_pack("{s:s, s:I}", "event", "language", "token", (json_int_t)token));
	say_row(json_pack("{s:o}", "inputs_note",
		json_sprintf("the language is the one that %s heard, token %lld",
			w->ask.language ? "the reference in float32" : "the model", (long long)token)));
	return STATUS_OK;
}

// ---- both -----------------------------------------------------------------------------------------------------------------

enum status work_prompt(struct work *w, struct generation *g, struct prompt *p, struct error *err)
{
	struct prompt_file f;
	enum status st = read_file(w, &f, err);

	if (st)
		return st;
	p->inputs = f.tensors;
	p->input_count = f.count;
	if ((st = take_ids(w, &f, p, err)) || !p->ids)
		return st;
	if ((st = hear_language(w, g, &f, p, err)) || (st = read_how(w, &f, p->length, err)))
		return st;
	g->how = w->decoding && !decoding_is_plain(w->decoding) ? w->decoding : NULL;
	return STATUS_OK;
}

void work_say_text(struct work *w, const struct generation *g)
{
	struct preparing how = { .model = w->ask.path };
	uint32_t *ids = ARENA_ARRAY(&w->arena, (size_t)g->new_tokens + 1, uint32_t);
	size_t count = 0, nbytes;
	char *text;

	if (!w->ask.golden || !w->spec)
		return;
	while ((int64_t)count < g->new_tokens && !(w->decoding && decoding_ends(w->decoding, g->ids[count]))) {
		ids[count] = (uint32_t)g->ids[count];
		count++;
	}
	if (!prepare_tokenizer(&how, NULL) && !tokenizer_decode(how.tokenizer, &w->arena, ids, count, true, &text, &nbytes, NULL))
		say_row(json_pack("{s:s%}", "generated_text", text, nbytes));
	preparing_done(&how);
}
