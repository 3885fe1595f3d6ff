// SPDX-License-Identifier: Apache-2.0
// convert.h. Each tensor of the file is made by itself, in strips of rows, by as many threads as there are processors; the mapped
// pages of the source are let go of behind each strip. So the memory it takes is some MB a thread, whatever the model's size.
#include "artifact/convert.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/inside.h"
#include "artifact/quantize.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/sealed.h"
#include "base/text.h"
#include "checkpoint/computed.h"

enum { STRIP_NUMBERS = 1 << 16, STRIP_COLUMNS = 64, MOST_THREADS = 8 };

// ---- what is to be made -------------------------------------------------------------------------------------------------

struct item {
	const struct recipe *recipe;
	const struct shard *shard;
	const struct weight *seeded;   // the source lies nowhere and is made by its formula; NULL: it does not
	const struct weight *computed; // the source is computed from what lies in the files; NULL: it is not
	uint64_t seed, at;             // of seeded weights; the source's first element within that tensor
	int64_t rows, length;          // of the source as the recipe looks at it: a row an output
};

struct list {
	struct item *items;
	struct weight *weights; // what is made, same order
	size_t count;
	char *header;
	size_t header_nbytes;
	uint64_t nbytes; // of the file
	char key[65];
	struct unwritten unwritten;
	const struct weight **computed; // of the checkpoint
	size_t computed_count;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct item *)a)->recipe->name, ((const struct item *)b)->recipe->name);
}

static const struct shard *shard_of(const struct checkpoint *c, const struct recipe *r)
{
	for (size_t i = 0; i < c->shard_count; i++)
		if (text_is(c->shards[i].location, r->location))
			return &c->shards[i];
	return NULL;
}

// Weights that are computed, in the order of the places that they were given.
static void list_computed(struct list *l, struct arena *a, const struct checkpoint *c)
{
	l->computed = ARENA_ARRAY(a, c->computed_count + 1, const struct weight *);
	for (size_t i = 0; i < c->weight_count; i++)
		if (c->weights[i].computed)
			l->computed[l->computed_count++] = &c->weights[i];
}

// The one that has these bytes; NULL: none.
static const struct weight *computed_at(const struct list *l, uint64_t offset, uint64_t nbytes)
{
	size_t low = 0, high = l->computed_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct weight *w = l->computed[middle];

		if (offset >= w->offset + w->nbytes)
			low = middle + 1;
		else if (offset < w->offset)
			high = middle;
		else
			return nbytes <= w->nbytes - (offset - w->offset) ? w : NULL;
	}
	return NULL;
}

static enum status add(struct list *l, const struct checkpoint *c, const struct recipe *r, struct error *err)
{
	struct item *i = &l->items[l->count];
	size_t size = dtype_size(r->source_dtype);

	*i = (struct item){ .recipe = r,
		.shard = shard_of(c, r),
		.rows = r->in_out ? r->inner : r->outer,
		.length = r->in_out ? r->outer : r->inner };
	if (!i->shard || r->offset > i->shard->nbytes || r->source_nbytes > i->shard->nbytes - r->offset ||
		r->source_nbytes != (uint64_t)r->outer * (uint64_t)r->inner * size ||
		(i->shard->computed && !(i->computed = computed_at(l, r->offset, r->source_nbytes))))
		return error_set(err, STATUS_UNSUPPORTED,
			"%s is not built yet: assay's graph asks for what does not lie in the file of weights", r->name);
	i->seeded = unwritten_at(&l->unwritten, r->location, r->offset, r->source_nbytes);
	i->seed = l->unwritten.seed;
	const struct weight *whole = i->seeded ? i->seeded : i->computed;
	i->at = whole ? (r->offset - whole->offset) / size : 0;
	if (r->source_dtype != DTYPE_F32 && r->source_dtype != DTYPE_F16 && r->source_dtype != DTYPE_BF16)
		return error_set(err, STATUS_UNSUPPORTED, "%s: cannot be made from %s", r->name, dtype_word(r->source_dtype));
	l->count++;
	return STATUS_OK;
}

// Without the number of the value, which belongs to one graph alone.
static enum status make_key(struct list *l, struct checkpoint *c, struct error *err)
{
	struct hash h;
	enum status st = checkpoint_digest(c, NULL, err);

	hash_init(&h);
	hash_add_text(&h, "converted 3");
	for (size_t i = 0; i < l->count && !st; i++) {
		const struct recipe *r = l->items[i].recipe;
		int64_t numbers[] = { r->kind, r->bits, r->block, r->asymmetric, r->in_out, r->source_dtype, r->outer, r->inner,
			(int64_t)r->offset };

		hash_add_text(&h, l->items[i].shard->digest);
		hash_add_text(&h, l->items[i].shard->location);
		hash_add(&h, numbers, sizeof numbers);
	}
	hash_add(&h, l->header, l->header_nbytes);
	hash_hex(&h, l->key);
	return st;
}

static enum status collect(
	struct list *l, struct arena *a, struct checkpoint *c, struct graph *const *graphs, size_t count, struct error *err)
{
	const struct recipe *const *recipes;
	size_t all = 0, kept = 0;
	bool synthetic = false;
	enum status s = unwritten_of(&l->unwritten, a, c, err);

	list_computed(l, a, c);
	for (size_t i = 0; i < count; i++)
		all += graph_recipes(graphs[i], &recipes);
	l->items = ARENA_ARRAY(a, all + 1, struct item);
	for (size_t i = 0; i < count && !s; i++)
		for (size_t k = 0, n = graph_recipes(graphs[i], &recipes); k < n && !s; k++)
			s = add(l, c, recipes[k], err);
	if (s || !l->count)
		return s;
	qsort(l->items, l->count, sizeof *l->items, by_name);
	for (size_t i = 0; i < l->count; i++) // graphs of one model share weights
		if (!i || strcmp(l->items[i].recipe->name, l->items[kept - 1].recipe->name))
			l->items[kept++] = l->items[i];
	l->count = kept;
	l->weights = ARENA_ARRAY(a, kept, struct weight);
	for (size_t i = 0; i < kept; i++) {
		const struct recipe *r = l->items[i].recipe;

		l->weights[i] = (struct weight){ .name = r->name, .dtype = r->dtype, .rank = r->rank };
		memcpy(l->weights[i].dim, r->dim, sizeof r->dim);
	}
	for (size_t i = 0; i < kept; i++)
		synthetic = synthetic || l->items[i].shard->synthetic;
	// What was made from synthetic weights carries their mark.
	s = (synthetic ? safetensors_header_synthetic : safetensors_header)(
		a, l->weights, kept, &l->header, &l->header_nbytes, &l->nbytes, err);
	if (s)
		return s;
	return make_key(l, c, err);
}

// ---- rows ---------------------------------------------------------------------------------------------------------------

// Elements [first, first + count) of what lies in no file.
static void read_seeded(const struct item *i, uint64_t first, size_t count, float *out)
{
	enum { PIECE = 1024 };
	float piece[PIECE];

	for (size_t done = 0, n; done < count; done += n) {
		n = count - done < PIECE ? count - done : PIECE;
		weights_fill(i->seeded, i->seed, (size_t)(i->at + first) + done, n, piece);
		numbers_widen((const uint8_t *)piece, i->recipe->source_dtype, n, out + done);
	}
}

// Elements [first, first + count) of the source.
static void read_numbers(const struct item *i, uint64_t first, size_t count, float *out)
{
	if (i->seeded)
		read_seeded(i, first, count, out);
	else if (i->computed)
		weight_numbers(i->computed, i->at + first, count, out);
	else
		numbers_widen(i->shard->map + i->recipe->offset + first * dtype_size(i->recipe->source_dtype),
			i->recipe->source_dtype, count, out);
}

// How many rows are made at one time.
static int64_t strip_of(const struct item *i)
{
	int64_t rows = i->recipe->in_out ? STRIP_COLUMNS : i->length > 0 ? STRIP_NUMBERS / i->length : 1;

	return rows > 0 ? rows : 1;
}

// Rows [first, first + count), at most a strip, into out[count][length].
static void read_rows(const struct item *i, int64_t first, int64_t count, float *out, float *passing)
{
	if (!i->recipe->in_out) {
		read_numbers(i, (uint64_t)(first * i->length), (size_t)(count * i->length), out);
		return;
	}
	for (int64_t k = 0; k < i->length; k++) {
		read_numbers(i, (uint64_t)(k * i->rows + first), (size_t)count, passing);
		for (int64_t n = 0; n < count; n++)
			out[n * i->length + k] = passing[n];
	}
}

// The pages that were just read may go: they stay in the kernel's cache. Not those of an image in memory, which has no file; of
// computed weights the kernel decides.
static void let_go(const struct item *i, uint64_t begin, uint64_t end)
{
	if (i->shard->copied || i->seeded || i->computed)
		return;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)(i->shard->map + i->recipe->offset + begin),
		  to = (uintptr_t)(i->shard->map + i->recipe->offset + end);

	from = (from + page - 1) / page * page;
	to = to / page * page;
	if (from < to)
		madvise((void *)from, to - from, MADV_DONTNEED);
}

// Bytes of what is made for one row.
static size_t row_nbytes(const struct item *i)
{
	return (size_t)(i->recipe->nbytes / (uint64_t)i->rows);
}

static void make_block_row(const struct recipe *r, const float *x, size_t length, uint8_t *out)
{
	size_t block = (size_t)r->block, blocks = (length + block - 1) / block, each = block * (size_t)r->bits / 8;

	if (r->kind == RECIPE_BLOCK_ZEROS)
		memset(out, 0, (blocks * (size_t)r->bits + 7) / 8);
	for (size_t k = 0; k < blocks; k++) {
		size_t n = length - k * block < block ? length - k * block : block;
		struct block_scale s = quantize_block_scale(x + k * block, n, r->bits, r->asymmetric);

		if (r->kind == RECIPE_BLOCK_VALUES) {
			quantize_block(x + k * block, n, r->bits, r->block, s, out + k * each);
		} else if (r->kind == RECIPE_BLOCK_ZEROS && r->bits == 4) {
			out[k / 2] = (uint8_t)(out[k / 2] | s.zero << (k % 2 ? 4 : 0));
		} else if (r->kind == RECIPE_BLOCK_ZEROS) {
			out[k] = (uint8_t)s.zero;
		} else if (r->dtype == DTYPE_F32) {
			memcpy(out + 4 * k, &s.scale, 4);
		} else {
			uint16_t half = r->dtype == DTYPE_F16 ? f16_of_f32(s.scale) : bf16_of_f32(s.scale);

			memcpy(out + 2 * k, &half, 2);
		}
	}
}

static void make_cast(enum dtype t, const float *x, size_t n, uint8_t *out)
{
	if (t == DTYPE_F32)
		memcpy(out, x, n * sizeof *x);
	for (size_t i = 0; i < n && t != DTYPE_F32; i++) {
		uint16_t half = t == DTYPE_F16 ? f16_of_f32(x[i]) : bf16_of_f32(x[i]);

		memcpy(out + 2 * i, &half, 2);
	}
}

static void make_row(const struct item *i, const float *x, uint8_t *out)
{
	const struct recipe *r = i->recipe;
	size_t length = (size_t)i->length;
	float scale;

	switch (r->kind) {
	case RECIPE_CAST:
		make_cast(r->dtype, x, length, out);
		break;
	case RECIPE_ROW_VALUES:
		quantize_row(x, length, quantize_row_scale(x, length), (int8_t *)out);
		break;
	case RECIPE_ROW_SCALES:
		scale = quantize_row_scale(x, length);
		make_cast(r->dtype, &scale, 1, out);
		break;
	case RECIPE_BLOCK_VALUES:
	case RECIPE_BLOCK_SCALES:
	case RECIPE_BLOCK_ZEROS:
		make_block_row(r, x, length, out);
		break;
	}
}

// Rows [first, first + count) of what is made.
static void make_rows(const struct item *i, int64_t first, int64_t count, float *rows, float *passing, uint8_t *out)
{
	read_rows(i, first, count, rows, passing);
	for (int64_t n = 0; n < count; n++)
		make_row(i, rows + n * i->length, out + (size_t)n * row_nbytes(i));
}

// ---- the file -----------------------------------------------------------------------------------------------------------

struct writer {
	pthread_mutex_t lock;
	const struct list *list;
	int fd, error; // errno of the first failed write; EDOM: `unfit` holds what integers have no number for
	const struct recipe *unfit;
	size_t item;
	int64_t row; // what is to be made next
};

static bool next_strip(struct writer *w, size_t *item, int64_t *first, int64_t *count)
{
	bool found = false;

	pthread_mutex_lock(&w->lock);
	if (!w->error && w->item < w->list->count) {
		const struct item *i = &w->list->items[w->item];
		int64_t left = i->rows - w->row;

		found = true;
		*item = w->item;
		*first = w->row;
		*count = left < strip_of(i) ? left : strip_of(i);
		w->row += *count;
		if (w->row == i->rows) {
			w->item++;
			w->row = 0;
		}
	}
	pthread_mutex_unlock(&w->lock);
	return found;
}

static void fail(struct writer *w, int code)
{
	pthread_mutex_lock(&w->lock);
	w->error = w->error ? w->error : code;
	pthread_mutex_unlock(&w->lock);
}

// Infinities and NaN have the highest exponent.
static bool are_finite(const float *x, size_t n)
{
	uint32_t bits, found = 0;

	for (size_t i = 0; i < n; i++) {
		memcpy(&bits, &x[i], sizeof bits);
		found |= (bits & 0x7f800000) == 0x7f800000;
	}
	return !found;
}

static void refuse(struct writer *w, const struct recipe *r)
{
	pthread_mutex_lock(&w->lock);
	if (!w->error)
		w->unfit = r;
	w->error = w->error ? w->error : EDOM;
	pthread_mutex_unlock(&w->lock);
}

static void *make_strips(void *handle)
{
	struct writer *w = handle;
	size_t most = 0, widest = 0, k;
	int64_t first, count;

	for (size_t i = 0; i < w->list->count; i++) {
		const struct item *it = &w->list->items[i];
		size_t strip = (size_t)strip_of(it), made = strip * row_nbytes(it), read = strip * (size_t)it->length;

		most = made > most ? made : most;
		widest = read > widest ? read : widest;
	}
	float *rows = malloc((widest + 1) * sizeof *rows), passing[STRIP_COLUMNS];
	uint8_t *made = malloc(most + 1);
	if (!rows || !made)
		fail(w, ENOMEM);
	while (rows && made && next_strip(w, &k, &first, &count)) {
		const struct item *i = &w->list->items[k];
		size_t size = dtype_size(i->recipe->source_dtype), row = (size_t)i->length * size;

		make_rows(i, first, count, rows, passing, made);
		if (i->recipe->kind != RECIPE_CAST && !are_finite(rows, (size_t)(count * i->length))) {
			refuse(w, i->recipe);
			break;
		}
		int code = file_write_at(
			w->fd, made, (size_t)count * row_nbytes(i), w->list->weights[k].offset + (uint64_t)first * row_nbytes(i));
		if (code)
			fail(w, code);
		if (!i->recipe->in_out)
			let_go(i, (uint64_t)first * row, (uint64_t)(first + count) * row);
		else if (first + count == i->rows)
			let_go(i, 0, i->recipe->source_nbytes);
	}
	free(rows);
	free(made);
	return NULL;
}

static int usable_cpus(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);

	return n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : n;
}

static enum status write_file(int fd, const char *path, const struct list *l, struct error *err)
{
	struct writer w = { .lock = PTHREAD_MUTEX_INITIALIZER, .list = l, .fd = fd };
	pthread_t threads[MOST_THREADS];
	int started = 0;

	// Reserved first: a disk that fills up meanwhile says so before minutes were spent.
	if (fallocate(fd, 0, 0, (off_t)l->nbytes) && errno != EOPNOTSUPP && errno != ENOSYS)
		w.error = errno;
	if (!w.error)
		w.error = file_write_at(fd, l->header, l->header_nbytes, 0);
	while (!w.error && started + 1 < usable_cpus() && !pthread_create(&threads[started], NULL, make_strips, &w))
		started++;
	make_strips(&w);
	while (started)
		pthread_join(threads[--started], NULL);
	if (w.unfit)
		return error_set(err, STATUS_UNSUPPORTED,
			"%s: made from a weight with values that are NaN or infinite, for which integers have no number",
			w.unfit->name);
	errno = w.error;
	if (w.error)
		return error_errno(err, "%s", path);
	return ftruncate(fd, (off_t)l->nbytes) ? error_errno(err, "%s", path) : STATUS_OK;
}

// The name is the file's own among all that a graph may point into.
static const char *name_of(struct arena *a, const struct list *l)
{
	return arena_printf(a, "converted-%.16s.safetensors", l->key);
}

static const char *file_in(struct arena *a, const char *folder, const struct list *l)
{
	return arena_printf(a, "%s/%s", folder, name_of(a, l));
}

static enum status make(void *context, const char *folder, struct error *err)
{
	const struct list *l = context;
	struct arena a = { 0 };
	const char *path = file_in(&a, folder, l);
	enum status s = file_mkdirs(folder, err);
	int fd = -1;

	if (!s)
		s = space_check(folder, l->nbytes, err);
	if (!s && (fd = partial_open(path, err)) < 0)
		s = err ? err->status : STATUS_FAILED;
	if (!s)
		s = write_file(fd, path, l, err);
	if (fd >= 0 && s)
		partial_drop(fd, path);
	else if (fd >= 0 && !(s = partial_keep(fd, path, 0777, err)))
		s = sealed_folder_write(folder, name_of(&a, l), l->key, err);
	arena_done(&a);
	return s;
}

// The header is what it must be, the digest what it was. The first and last row of every tensor are made anew as well: a disk
// that lost power may hold zeros and a digest that was remembered before.
static bool is_whole(void *context, const char *folder, struct error *err)
{
	const struct list *l = context;
	struct arena a = { 0 };
	struct shard shard;
	struct weight *weights;
	size_t count;
	const char *path = file_in(&a, folder, l);
	bool whole = file_exists(path) && !safetensors_open(&a, path, &shard, &weights, &count, err) &&
		shard.header_nbytes == l->header_nbytes && !memcmp(shard.map, l->header, l->header_nbytes) &&
		sealed_folder_check(folder, name_of(&a, l), l->key);

	for (size_t k = 0; k < l->count && whole; k++) {
		const struct item *i = &l->items[k];
		size_t n = row_nbytes(i);
		struct arena row = { 0 };
		float *x = ARENA_ARRAY(&row, (size_t)i->length + 1, float), passing[1];
		uint8_t *made = arena_alloc(&row, n + 1);

		for (int last = 0; last < 2 && whole && i->rows; last++) {
			int64_t at = last ? i->rows - 1 : 0;

			make_rows(i, at, 1, x, passing, made);
			whole = !memcmp(shard.map + l->weights[k].offset + (size_t)at * n, made, n);
		}
		arena_done(&row);
	}
	arena_done(&a);
	return whole;
}

// ---- the way in ---------------------------------------------------------------------------------------------------------

static enum status add_shard(struct checkpoint *c, const char *path, struct error *err)
{
	struct shard *shards = ARENA_ARRAY(&c->arena, c->shard_count + 1, struct shard);
	struct weight *weights;
	size_t count;

	if (c->shard_count)
		memcpy(shards, c->shards, c->shard_count * sizeof *shards);
	enum status s = safetensors_open(&c->arena, path, &shards[c->shard_count], &weights, &count, err);
	if (s)
		return s;
	c->shards = shards; // weights point at the shards as they were, which stay
	c->shard_count++;
	return STATUS_OK;
}

static const struct weight *made_as(const struct list *l, const char *name)
{
	size_t low = 0, high = l->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(l->weights[middle].name, name);

		if (!order)
			return &l->weights[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

enum status convert_weights(struct conversion *out, struct arena *a, struct checkpoint *c, struct graph *const *graphs,
	size_t count, struct error *err)
{
	struct arena passing = { 0 };
	struct list list = { 0 };
	const struct recipe *const *recipes;
	const char *folder = NULL, *location = NULL;
	double begin = clock_ms();
	enum status s = collect(&list, &passing, c, graphs, count, err);

	*out = (struct conversion){ .ms = (double)NAN };
	if (s || !list.count) {
		arena_done(&passing);
		return s;
	}
	struct cached how = { .is_whole = is_whole, .make = make, .context = &list };
	uint64_t removed;

	s = cached_folder(&folder, a, "converted", list.key, &how, err);
	if (s == STATUS_NO_SPACE && cache_trim(0, &removed, NULL) == STATUS_OK && removed > 0)
		s = cached_folder(&folder, a, "converted", list.key, &how, err);
	if (!s) {
		out->nbytes = list.nbytes;
		out->path = file_in(a, folder, &list);
		location = strrchr(out->path, '/') + 1;
		bool is_open = false;
		for (size_t i = 0; i < c->shard_count; i++) // the same model built again
			is_open |= text_is(c->shards[i].location, location);
		if (!is_open)
			s = add_shard(c, out->path, err);
	}
	for (size_t i = 0; i < count && !s; i++)
		for (size_t k = 0, n = graph_recipes(graphs[i], &recipes); k < n; k++)
			graph_place(graphs[i], recipes[k], location, made_as(&list, recipes[k]->name)->offset);
	if (!s && !how.was_there)
		out->ms = clock_ms() - begin;
	arena_done(&passing);
	return s;
}
