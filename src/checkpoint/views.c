// SPDX-License-Identifier: Apache-2.0
// Weights that do not lie row-major in their file (a transposed view that torch.save kept as one): no graph can point at those.
// They are copied once, into the image of a safetensors file in anonymous memory; artifact/ writes it beside the graph. All
// copies together take at most as many bytes as the files take on their disk, so neither a stride of zero nor a hole makes a
// mountain of a grain.
#include "checkpoint/inside.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/file.h"
#include "base/hash.h"

struct image {
	void *at;
	size_t nbytes;
};

static void unmap(void *handle)
{
	struct image *m = handle;
	munmap(m->at, m->nbytes);
}

// One element after the other, the last dimension innermost.
static void gather(const struct weight *w, const uint8_t *from, uint8_t *to)
{
	size_t size = dtype_size(w->dtype);
	int inner = w->rank - 1;
	int64_t index[TENSOR_MAX_RANK] = { 0 }, at = 0;
	for (;;) {
		const uint8_t *p = from + (size_t)at * size;
		size_t step = (size_t)w->stride[inner] * size;
		for (int64_t i = 0; i < w->dim[inner]; i++, p += step, to += size)
			memcpy(to, p, size);
		int d = inner - 1;
		for (; d >= 0 && ++index[d] == w->dim[d]; d--) {
			at -= (w->dim[d] - 1) * w->stride[d];
			index[d] = 0;
		}
		if (d < 0)
			return;
		at += w->stride[d];
	}
}

static enum status check_size(const struct checkpoint *c, struct error *err)
{
	// Some file systems learn only after seconds what a new file takes.
	const uint64_t harmless = 32 << 20;
	uint64_t copied = 0, there = 0, all = 0;
	for (size_t i = 0; i < c->shard_count; i++) {
		there += c->shards[i].stored_nbytes;
		all += c->shards[i].nbytes;
	}
	if (there < harmless)
		there = all < harmless ? all : harmless;
	for (size_t i = 0; i < c->weight_count; i++)
		if (c->weights[i].stride && (__builtin_add_overflow(copied, c->weights[i].nbytes, &copied) || copied > there))
			return error_set(err, STATUS_BAD_INPUT,
				"%s: tensor \"%.200s\": copied row by row, tensors like it would take more bytes than the file "
				"has",
				c->weights[i].shard->path, c->weights[i].name);
	return STATUS_OK;
}

enum status views_copy(struct checkpoint *c, struct error *err)
{
	size_t n = 0, header_nbytes;
	char *header;
	uint64_t nbytes;
	for (size_t i = 0; i < c->weight_count; i++)
		n += c->weights[i].stride != NULL;
	if (!n)
		return STATUS_OK;
	struct weight **views = ARENA_ARRAY(&c->arena, n, struct weight *), *copies = ARENA_ARRAY(&c->arena, n, struct weight);
	n = 0;
	for (size_t i = 0; i < c->weight_count; i++)
		if (c->weights[i].stride) {
			copies[n] = c->weights[i];
			views[n++] = &c->weights[i];
		}
	enum status s = check_size(c, err);
	if (s)
		return s;
	if ((s = safetensors_header(&c->arena, copies, n, &header, &header_nbytes, &nbytes, err))) {
		error_prefix(err, "%s", c->path);
		return s;
	}
	struct image *image = ARENA_NEW(&c->arena, struct image);
	image->nbytes = (size_t)nbytes;
	image->at = mmap(NULL, image->nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (image->at == MAP_FAILED)
		return error_errno(err, "%s: %llu bytes for copies of views", c->path, (unsigned long long)nbytes);
	arena_defer(&c->arena, unmap, image);
	memcpy(image->at, header, header_nbytes);

	struct shard *shard = &c->shards[c->shard_count];
	struct hash h;
	char hex[65];
	hash_init(&h);
	hash_add_text(&h, "views 1");
	for (size_t i = 0; i < c->shard_count; i++)
		hash_add_text(&h, c->shards[i].identity);
	hash_hex(&h, hex);
	*shard = (struct shard){ .path = arena_printf(&c->arena, "%s/pytorch_model.views.safetensors", c->path),
		.location = "pytorch_model.views.safetensors",
		.map = image->at,
		.nbytes = image->nbytes,
		.header_nbytes = header_nbytes,
		.copied = true,
		.identity = arena_printf(&c->arena, "views:%s", hex) };
	shard->real_path = shard->path;
	c->shard_count++;
	for (size_t i = 0; i < n; i++) {
		gather(&copies[i], views[i]->data, (uint8_t *)image->at + copies[i].offset);
		views[i]->shard = shard;
		views[i]->offset = copies[i].offset;
		views[i]->data = shard->map + copies[i].offset;
		c->copied_nbytes += copies[i].nbytes;
	}
	c->copied_count = n;
	return STATUS_OK;
}
