// SPDX-License-Identifier: Apache-2.0
// A checkpoint of seeded weights: planned from a configuration, sized before a byte is written, streamed by a few threads,
// visible only when whole. In the cache it is shared by everybody who asks for the same one; users hold a shared lock for the
// life of their arena. Nothing waits for the disk: the formula says what must be there, and a part of every tensor is
// compared before cached weights are used again.
#include "artifact/artifact.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/spec.h"
#include "artifact/inside.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

enum { BLOCK_NBYTES = 2 << 20, MOST_THREADS = 8, COMPARED = 16 };

// ---- the plan -----------------------------------------------------------------------------------------------------------

enum dtype synth_dtype(const struct spec *s, enum dtype asked)
{
	return asked != DTYPE_NONE ? asked : s->dtype == DTYPE_F16 || s->dtype == DTYPE_BF16 ? s->dtype : DTYPE_F32;
}

uint64_t synth_nbytes(const struct spec *s, enum dtype t)
{
	struct arena a = { 0 };
	struct weight *weights;
	size_t count, header_nbytes;
	char *header;
	uint64_t nbytes = 0;
	if (arch_plan_weights(s, &a, synth_dtype(s, t), &weights, &count, NULL) ||
		safetensors_header_synthetic(&a, weights, count, &header, &header_nbytes, &nbytes, NULL))
		nbytes = 0;
	arena_done(&a);
	return nbytes;
}

// What this checkpoint's configuration calls its layer count, "num_hidden_layers" or "num_decoder_layers".
static const char *layers_key(const struct spec *s, const char *canonical)
{
	for (const struct key_name *k = s->row->dialect->keys; k->canonical; k++)
		if (text_is(k->canonical, canonical))
			return k->config;
	return canonical;
}

static const char *dtype_for_config(enum dtype t)
{
	return t == DTYPE_F16 ? "float16" : t == DTYPE_BF16 ? "bfloat16" : "float32";
}

// The configuration that the new checkpoint will have: its dtype in the spelling that is there, and fewer layers.
static json_t *new_config(const json_t *config, const struct spec *s, enum dtype t, int64_t layers)
{
	json_t *c = json_deep_copy(config);
	json_object_set_new(c, json_object_get(c, "dtype") ? "dtype" : "torch_dtype", json_string(dtype_for_config(t)));
	if (layers > 0) {
		const struct spec *own =
			part_of(s, "text") && part_of(s, "text")->key ? part_of(s, "text") : s; // whose layers count
		const struct spec *half = part_of(own, "decoder"); // of an encoder-decoder, already cut
		json_t *at = own == s ? c : json_object_get(c, own->key);
		if (!at)
			json_object_set_new(c, own->key, at = json_pack("{s:s}", "model_type", own->row->model_type));
		json_object_set_new(at, layers_key(own, "num_hidden_layers"), json_integer(layers));
		if (half && half->row == own->row)
			json_object_set_new(at, layers_key(own, "num_decoder_layers"), json_integer(half->layers));
		json_t *types = json_object_get(at, "layer_types");
		while (json_is_array(types) && (int64_t)json_array_size(types) > layers)
			json_array_remove(types, json_array_size(types) - 1);
	}
	return c;
}

struct plan {
	struct checkpoint config; // of the new checkpoint
	struct weight *weights;
	size_t count;
	char *config_text, *header;
	size_t header_nbytes;
	uint64_t nbytes, written; // of the file; of them without holes
	bool *left;               // of each weight: there is a hole where it would lie
};

static void plan_done(struct plan *p)
{
	checkpoint_close(&p->config);
}

// What one graph reads in another form, and what as it lies.
static enum status find_uses(const struct spec *s, const struct checkpoint *c, const struct arch_graph *which,
	const struct graph_form *form, bool *derived, bool *read, struct error *err)
{
	const struct recipe *const *recipes;
	struct graph *g = graph_new(form);
	enum status st = arch_build(s, c, which, g, err);
	size_t count = st ? 0 : graph_recipes(g, &recipes);

	for (size_t i = 0; i < c->weight_count && !st; i++) {
		const struct weight *w = &c->weights[i];

		read[i] |= graph_reads(g, w->shard->location, w->offset, w->nbytes);
		for (size_t k = 0; k < count; k++)
			derived[i] |= recipes[k]->offset >= w->offset && recipes[k]->offset < w->offset + w->nbytes;
	}
	graph_free(g);
	return st;
}

// Another header, which names what is not written.
static enum status leave_out(struct plan *p, const struct spec *s, const struct synth_options *o, struct error *err)
{
	struct arena *a = &p->config.arena;
	struct shard shard = { .path = p->config.path,
		.real_path = p->config.path,
		.location = "model.safetensors",
		.identity = "plan",
		.synthetic = true,
		.header_nbytes = p->header_nbytes,
		.nbytes = p->nbytes };
	struct checkpoint plan = { .path = p->config.path,
		.config = p->config.config,
		.shards = &shard,
		.shard_count = 1,
		.weights = ARENA_ARRAY(a, p->count, struct weight),
		.weight_count = p->count };
	bool *derived = ARENA_ARRAY(a, p->count, bool), *read = ARENA_ARRAY(a, p->count, bool);
	const bool parts = o->generates && arch_graph_of(s, STEP_NEXT);
	enum status st = STATUS_OK;

	for (size_t i = 0; i < p->count; i++) {
		plan.weights[i] = p->weights[i];
		plan.weights[i].shard = &shard;
	}
	for (int step = parts ? STEP_ENCODE : STEP_NONE; step <= (parts ? STEP_NEXT : STEP_NONE) && !st; step++)
		st = find_uses(s, &plan, arch_graph_of(s, (enum arch_step)step), o->form, derived, read, err);
	for (size_t i = 0; i < p->count; i++)
		p->left[i] = derived[i] && !read[i];
	if (st)
		return st;
	json_t *metadata = unwritten_metadata(p->weights, p->left, p->count, o->seed);
	st = safetensors_header_metadata(a, p->weights, p->count, metadata, &p->header, &p->header_nbytes, &p->nbytes, err);
	json_decref(metadata);
	return st;
}

// The new configuration is resolved afresh, so that what is written is a model by itself; it must want exactly the weights
// that the shortened one does.
static enum status plan_make(struct plan *p, const struct checkpoint *c, const struct synth_options *o, struct error *err)
{
	struct arena passing = { 0 };
	struct spec *whole, *cut;
	struct weight *wanted;
	size_t wanted_count = 0;
	enum status s;
	*p = (struct plan){ 0 };
	if ((s = arch_resolve(&whole, &passing, c, err)))
		goto done;
	if (o->layers > 0 && !arch_shorten(whole, o->layers)) {
		s = error_set(err, STATUS_BAD_INPUT, "%s: has %lld layers, which cannot be cut to %lld", c->path,
			(long long)whole->layers_in_config, (long long)o->layers);
		goto done;
	}
	enum dtype t = synth_dtype(whole, o->dtype);
	json_t *config = new_config(c->config, whole, t, o->layers);
	char *text = json_dumps(config, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
	json_decref(config);
	if (!text) {
		s = error_set(err, STATUS_NO_MEMORY, "%s: not enough memory for its configuration", c->path);
		goto done;
	}
	s = checkpoint_open_config(&p->config, c->path, text, strlen(text), err);
	if (!s)
		p->config_text = arena_strdup(&p->config.arena, text);
	free(text);
	struct arena *a = &p->config.arena;
	if (s || (s = arch_resolve(&cut, a, &p->config, err)) ||
		(s = arch_plan_weights(cut, a, t, &p->weights, &p->count, err)) ||
		(s = arch_plan_weights(whole, &passing, t, &wanted, &wanted_count, err)))
		goto done;
	if (p->count != wanted_count)
		s = error_set(err, STATUS_UNSUPPORTED, "%s: a %s cannot be cut to %lld layers in its configuration", c->path,
			arch_model_type(whole), (long long)o->layers);
	else
		s = safetensors_header_synthetic(a, p->weights, p->count, &p->header, &p->header_nbytes, &p->nbytes, err);
	p->left = ARENA_ARRAY(a, p->count, bool);
	if (!s && o->form)
		s = leave_out(p, cut, o, err);
	p->written = p->nbytes;
	for (size_t i = 0; i < p->count; i++)
		p->written -= p->left[i] ? p->weights[i].nbytes : 0;
done:
	arena_done(&passing);
	if (s)
		plan_done(p);
	return s;
}

// ---- writing ------------------------------------------------------------------------------------------------------------

// Shared by the writing threads; `lock` guards everything.
struct writer {
	pthread_mutex_t lock;
	const struct plan *plan;
	uint64_t seed, done;
	int fd, error; // errno of the first failed write
	bool stop;
	size_t weight, element; // what is to be written next
};

static bool next_block(struct writer *w, const struct weight **out, size_t *first, size_t *count)
{
	bool found = false;
	pthread_mutex_lock(&w->lock);
	while (!found && !w->stop && !w->error && w->weight < w->plan->count) {
		const struct weight *weight = &w->plan->weights[w->weight];
		size_t size = dtype_size(weight->dtype), total = weight->nbytes / size, left = total - w->element,
		       most = BLOCK_NBYTES / size;
		*out = weight;
		*first = w->element;
		if (w->plan->left[w->weight])
			left = total = 0;
		*count = left < most ? left : most;
		found = *count > 0;
		w->element += *count;
		if (w->element >= total) {
			w->weight++;
			w->element = 0;
		}
	}
	pthread_mutex_unlock(&w->lock);
	return found;
}

// `o` is given to one of the threads only: progress is reported from the caller's.
static void write_blocks(struct writer *w, char *buffer, const struct synth_options *o)
{
	const struct weight *weight;
	size_t first, count;
	while (next_block(w, &weight, &first, &count)) {
		size_t size = dtype_size(weight->dtype);
		weights_fill(weight, w->seed, first, count, buffer);
		int code = file_write_at(w->fd, buffer, count * size, weight->offset + first * size);
		pthread_mutex_lock(&w->lock);
		w->done += count * size;
		if (code && !w->error)
			w->error = code;
		uint64_t done = w->done;
		pthread_mutex_unlock(&w->lock);
		if (!code && o && o->progress && o->progress(o->context, done, w->plan->written)) {
			pthread_mutex_lock(&w->lock);
			w->stop = true;
			pthread_mutex_unlock(&w->lock);
		}
	}
}

static void *write_thread(void *handle)
{
	struct writer *w = handle;
	char *buffer = malloc(BLOCK_NBYTES);
	if (buffer) // without it the others do the work
		write_blocks(w, buffer, NULL);
	free(buffer);
	return NULL;
}

static int usable_cpus(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
	return n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : n;
}

static enum status write_weights(int fd, const char *path, const struct plan *p, const struct synth_options *o, struct error *err)
{
	struct writer w = { .lock = PTHREAD_MUTEX_INITIALIZER, .plan = p, .seed = o->seed, .fd = fd, .done = p->header_nbytes };
	pthread_t threads[MOST_THREADS];
	int started = 0;
	char *buffer = malloc(BLOCK_NBYTES);
	if (!buffer)
		return error_set(err, STATUS_NO_MEMORY, "%s: not enough memory to write it", path);
	// Reserved first: a disk that fills up meanwhile says so before minutes were spent.
	if (p->written == p->nbytes && fallocate(fd, 0, 0, (off_t)p->nbytes) && errno != EOPNOTSUPP && errno != ENOSYS)
		w.error = errno;
	if (!w.error)
		w.error = file_write_at(fd, p->header, p->header_nbytes, 0);
	int wanted = p->nbytes > 4 * BLOCK_NBYTES ? usable_cpus() - 1 : 0;
	while (!w.error && started < wanted && !pthread_create(&threads[started], NULL, write_thread, &w))
		started++;
	write_blocks(&w, buffer, o);
	while (started)
		pthread_join(threads[--started], NULL);
	free(buffer);
	if (w.error) {
		errno = w.error;
		return error_errno(err, "%s", path);
	}
	if (w.stop)
		return error_set(err, STATUS_INTERRUPTED, "%s: stopped before it was written", path);
	// All zero tensors at the end may leave the file short where nothing was reserved.
	return ftruncate(fd, (off_t)p->nbytes) ? error_errno(err, "%s", path) : STATUS_OK;
}

// Weights that somebody trained are never replaced.
static enum status check_target(const char *folder, const char *path, struct arena *a, struct error *err)
{
	struct shard shard;
	struct weight *weights;
	size_t count;
	bool ours = !file_exists(path) || (!safetensors_open(a, path, &shard, &weights, &count, NULL) && shard.synthetic);
	if (ours && !file_exists(arena_printf(a, "%s.index.json", path)) &&
		!file_exists(arena_printf(a, "%s/pytorch_model.bin", folder)) &&
		!file_exists(arena_printf(a, "%s/pytorch_model.bin.index.json", folder)))
		return STATUS_OK;
	return error_set(err, STATUS_BAD_INPUT, "%s: holds weights that are not synthetic; name another folder", folder);
}

static enum status write_folder(const char *folder, const struct plan *p, const struct synth_options *o, struct error *err)
{
	struct arena a = { 0 };
	const char *path = arena_printf(&a, "%s/model.safetensors", folder);
	enum status s;
	int fd;
	if ((s = file_mkdirs(folder, err)) || (s = check_target(folder, path, &a, err)) ||
		(s = space_check(folder, p->written, err)))
		goto done;
	if ((fd = partial_open(path, err)) < 0) {
		s = err ? err->status : STATUS_FAILED;
		goto done;
	}
	s = write_weights(fd, path, p, o, err);
	if (!s)
		s = file_put(arena_printf(&a, "%s/config.json", folder), p->config_text, strlen(p->config_text), err);
	if (s)
		partial_drop(fd, path);
	else
		s = partial_keep(fd, path, 0777, err);
done:
	arena_done(&a);
	return s;
}

enum status synth_write(const char *folder, const struct checkpoint *config, const struct synth_options *o, struct error *err)
{
	struct plan p;
	enum status s = plan_make(&p, config, o, err);
	if (s)
		return s;
	s = write_folder(folder, &p, o, err);
	plan_done(&p);
	return s;
}

// ---- in the cache -------------------------------------------------------------------------------------------------------

static void cached_key(char out[65], const struct plan *p, const struct synth_options *o)
{
	struct hash h;
	uint64_t seed = o->seed;
	hash_init(&h);
	hash_add_text(&h, "synthetic 2");
	hash_add(&h, &seed, sizeof seed);
	hash_add_text(&h, p->config_text); // keys sorted; dtype and layer count are in it
	hash_add(&h, p->header, p->header_nbytes);
	hash_hex(&h, out);
}

// Whether the folder holds these weights: the header, and the first and last elements of every tensor.
static bool is_whole(const char *folder, const struct plan *p, uint64_t seed, struct error *err)
{
	struct arena a = { 0 };
	struct shard shard;
	struct weight *weights;
	size_t count;
	char expected[COMPARED * 8];
	bool whole = file_exists(arena_printf(&a, "%s/config.json", folder)) &&
		!safetensors_open(&a, arena_printf(&a, "%s/model.safetensors", folder), &shard, &weights, &count, err) &&
		shard.header_nbytes == p->header_nbytes && !memcmp(shard.map, p->header, p->header_nbytes);
	for (size_t i = 0; whole && i < count; i++) {
		weights[i].gain = p->weights[i].gain; // the headers are equal, so these are the same tensors in the same order
		size_t size = dtype_size(weights[i].dtype), total = weights[i].nbytes / size,
		       n = p->left[i]      ? 0
			: total < COMPARED ? total
					   : COMPARED;
		weights_fill(&weights[i], seed, 0, n, expected);
		whole = !memcmp(weights[i].data, expected, n * size);
		weights_fill(&weights[i], seed, total - n, n, expected);
		whole = whole && !memcmp((const char *)weights[i].data + (total - n) * size, expected, n * size);
	}
	arena_done(&a);
	return whole;
}

struct making {
	const struct plan *plan;
	const struct synth_options *options;
};

static bool holds_these(void *context, const char *folder, struct error *err)
{
	const struct making *m = context;
	return is_whole(folder, m->plan, m->options->seed, err);
}

static enum status make_these(void *context, const char *folder, struct error *err)
{
	const struct making *m = context;
	return write_folder(folder, m->plan, m->options, err);
}

static int wait_for_these(void *context)
{
	const struct making *m = context;
	return m->options->progress ? m->options->progress(m->options->context, 0, m->plan->written) : 0;
}

enum status synth_cached(
	const char **folder, struct arena *a, const struct checkpoint *config, const struct synth_options *o, struct error *err)
{
	struct plan p;
	char key[65];
	enum status s = plan_make(&p, config, o, err);
	if (s)
		return s;
	cached_key(key, &p, o);
	struct making m = { &p, o };
	struct cached how = { .is_whole = holds_these, .make = make_these, .wait = wait_for_these, .context = &m };
	s = cached_folder(folder, a, "synthetic", key, &how, err);
	plan_done(&p);
	return s;
}
