// SPDX-License-Identifier: Apache-2.0
// Files of torch.save: pytorch_model.bin. Two layouts, told apart by their first bytes:
//
//   zip (since 1.6)    ROOT/data.pkl  the pickle; its storages are named, and are entries themselves
//                      ROOT/data/KEY  a storage's bytes, stored, at a multiple of 64 of the file
//                      ROOT/byteorder "little"
//   stream (before)    pickles: a magic number, the protocol, the machine, the object, the list of storage keys; then for
//                      each key in that order i64 elements | bytes
// Tensors are used where they lie. Several may share a storage; one that is not row-major gets strides, and views.c copies it.
// What it does not do: run anything a pickle asks for, read tensors that are sparse, quantized or complex, or check sums.
#include "checkpoint/checkpoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/text.h"
#include "base/visible.h"
#include "checkpoint/inside.h"
#include "checkpoint/pickle.h"
#include "checkpoint/zip.h"

enum { NAME_LIMIT = 512, PROTOCOL = 1001, VERSION_MOST = 10 };

#define TENSOR "tensor \"%.200s\""

// Where a storage of a stream lies.
struct stored {
	struct pickle_bytes key;
	enum dtype dtype;
	uint64_t count, offset; // offset 0: not in the list of keys
};

struct source {
	struct arena *a;      // the caller's: names and strides
	struct arena passing; // pickles and tables, until the tensors are known
	struct pickle_budget budget;
	size_t spent; // beside it: bytes of a zip's table of contents, and names of what is no tensor
	const struct shard *shard;
	const struct zip_entry *entries; // of a zip
	size_t entry_count;
	const char *root; // "archive/"
	size_t root_nbytes;
	struct stored *stored; // of a stream, sorted by key
	size_t stored_count;
};

// ---- one tensor ---------------------------------------------------------------------------------------------------------

static int by_key(const void *a, const void *b)
{
	const struct stored *x = a, *y = b;
	size_t n = x->key.nbytes < y->key.nbytes ? x->key.nbytes : y->key.nbytes;
	int order = memcmp(x->key.at, y->key.at, n);
	return order ? order : x->key.nbytes < y->key.nbytes ? -1 : x->key.nbytes > y->key.nbytes;
}

static struct stored *find_stored(struct stored *stored, size_t count, struct pickle_bytes key)
{
	struct stored wanted = { .key = key };
	return count ? bsearch(&wanted, stored, count, sizeof *stored, by_key) : NULL;
}

// The entry ROOT/NAME; NULL when there is none.
static const struct zip_entry *find_entry(const struct source *f, const void *name, size_t nbytes)
{
	char path[NAME_LIMIT];
	if (f->root_nbytes + nbytes > sizeof path)
		return NULL;
	memcpy(path, f->root, f->root_nbytes);
	memcpy(path + f->root_nbytes, name, nbytes);
	return zip_find(f->entries, f->entry_count, path, f->root_nbytes + nbytes);
}

// As PyTorch's reader finds it, which does not tell capital letters from small ones.
static const struct zip_entry *find_in_any_case(const struct source *f, const char *name)
{
	const size_t n = f->root_nbytes + strlen(name);

	for (size_t i = 0; i < f->entry_count; i++)
		if (f->entries[i].name_nbytes == n && !strncasecmp(f->entries[i].name + f->root_nbytes, name, strlen(name)))
			return &f->entries[i];
	return NULL;
}

static enum status packed(const char *what, int shown, struct error *err)
{
	return error_set(err, STATUS_UNSUPPORTED,
		"its entry %.*s is compressed or encrypted, which torch.save does not do: load and save it again", shown, what);
}

// Where the storage's bytes begin in the file; all of them are there.
static enum status find_storage(const struct source *f, const struct pickle_storage *st, uint64_t *offset, struct error *err)
{
	int shown = st->key.nbytes < 100 ? (int)st->key.nbytes : 100;
	const char *key = (const char *)st->key.at;
	if (!f->entries) {
		const struct stored *s = find_stored(f->stored, f->stored_count, st->key);
		if (!s || !s->offset)
			return error_set(err, STATUS_BAD_INPUT, "its storage \"%.*s\" is not in the file", shown, key);
		*offset = s->offset;
		return STATUS_OK;
	}
	char name[NAME_LIMIT];
	size_t size = st->dtype == DTYPE_NONE ? 1 : dtype_size(st->dtype);
	uint64_t nbytes;
	if (st->key.nbytes > sizeof name - 5)
		return error_set(err, STATUS_BAD_INPUT, "its storage \"%.*s...\" is not in the file", shown, key);
	memcpy(name, "data/", 5);
	memcpy(name + 5, key, st->key.nbytes);
	const struct zip_entry *e = find_entry(f, name, st->key.nbytes + 5);
	if (!e)
		return error_set(err, STATUS_BAD_INPUT, "its storage \"%.*s\" is not in the file", shown, key);
	if (!e->stored)
		return packed(key, shown, err);
	if (__builtin_mul_overflow(st->count, size, &nbytes) || nbytes > e->nbytes)
		return error_set(err, STATUS_BAD_INPUT,
			"its storage \"%.*s\" holds %" PRIu64 " bytes, not %" PRIu64 " elements of %zu", shown, key, e->nbytes,
			st->count, size);
	*offset = e->offset;
	return STATUS_OK;
}

static enum status read_sizes(struct weight *w, const struct pickle_tensor *t, int64_t stride[], struct error *err)
{
	const struct pickle_items *size = &t->size->items, *strides = &t->stride->items;
	if (size->count > TENSOR_MAX_RANK)
		return error_set(
			err, STATUS_UNSUPPORTED, "%u dimensions; at most %d are supported", size->count, TENSOR_MAX_RANK);
	if (strides->count != size->count)
		return error_set(err, STATUS_BAD_INPUT, "%u dimensions and %u strides", size->count, strides->count);
	w->rank = (int)size->count;
	for (int i = 0; i < w->rank; i++) {
		if (size->at[i]->kind != PICKLE_INT || strides->at[i]->kind != PICKLE_INT || size->at[i]->integer < 0 ||
			strides->at[i]->integer < 0)
			return error_set(err, STATUS_BAD_INPUT, "dimension %d of its shape or strides is not a size", i);
		w->dim[i] = size->at[i]->integer;
		stride[i] = strides->at[i]->integer;
	}
	return STATUS_OK;
}

// How many elements after its first one a tensor's last one lies; false when that is beyond any file.
static bool reach(const struct weight *w, const int64_t stride[], uint64_t *out)
{
	uint64_t last = 0, step;
	for (int i = 0; i < w->rank; i++)
		if (__builtin_mul_overflow((uint64_t)w->dim[i] - 1, (uint64_t)stride[i], &step) ||
			__builtin_add_overflow(last, step, &last))
			return false;
	*out = last;
	return true;
}

static bool is_row_major(const struct weight *w, const int64_t stride[])
{
	int64_t expected = 1;
	for (int i = w->rank; i--;) {
		if (w->dim[i] != 1 && stride[i] != expected)
			return false;
		expected *= w->dim[i]; // their product is the tensor's size, which fits
	}
	return true;
}

static enum status read_tensor(struct weight *w, const struct source *f, const struct pickle_tensor *t, struct error *err)
{
	const struct pickle_storage *st = t->storage;
	int64_t stride[TENSOR_MAX_RANK];
	size_t size = dtype_size(t->dtype), count, nbytes;
	uint64_t at = 0, last, first = 0, limit = st->dtype == DTYPE_NONE ? st->count / size : st->count;
	char shape[128];
	enum status s;
	if ((s = read_sizes(w, t, stride, err)) || (s = find_storage(f, st, &at, err)))
		return s;
	w->dtype = t->dtype;
	tensor_shape_text(w->rank, w->dim, shape, sizeof shape);
	if (!tensor_count(w->rank, w->dim, &count) || __builtin_mul_overflow(count, size, &nbytes))
		return error_set(err, STATUS_BAD_INPUT, "its shape %s is larger than any file", shape);
	if (count) {
		if (t->offset < 0 || !reach(w, stride, &last) || last >= limit || (uint64_t)t->offset >= limit - last)
			return error_set(err, STATUS_BAD_INPUT,
				"%s from element %" PRIi64 " reaches beyond its storage of %" PRIu64 " elements", shape,
				t->offset, limit);
		first = (uint64_t)t->offset;
	}
	w->nbytes = nbytes;
	w->offset = at + first * size;
	w->data = f->shard->map + w->offset;
	if (count && !is_row_major(w, stride))
		w->stride = memcpy(ARENA_ARRAY(f->a, (size_t)w->rank, int64_t), stride, (size_t)w->rank * sizeof *stride);
	return STATUS_OK;
}

// ---- which tensors ------------------------------------------------------------------------------------------------------

static size_t count_tensors(const struct pickle *dict)
{
	return dict->kind == PICKLE_DICT ? dict->items.tensors : 0;
}

// The state dict: the object itself, or one level below it {"state_dict": ...}.
static enum status find_dict(const struct pickle **out, const struct pickle *root, struct error *err)
{
	const struct pickle *found = NULL;
	if (root->kind == PICKLE_TENSOR || root->kind == PICKLE_LIST || root->kind == PICKLE_TUPLE)
		return error_set(err, STATUS_UNSUPPORTED, "holds tensors without names, not a state dict");
	if (root->kind != PICKLE_DICT)
		return error_set(err, STATUS_BAD_INPUT, "holds no state dict");
	*out = root;
	if (count_tensors(root))
		return STATUS_OK;
	for (size_t i = 0; i < root->items.count; i += 2) {
		const struct pickle *key = root->items.at[i], *value = root->items.at[i + 1];
		if (!count_tensors(value))
			continue;
		if (pickle_is_text(key, "state_dict")) {
			*out = value;
			return STATUS_OK;
		}
		if (found)
			return error_set(
				err, STATUS_UNSUPPORTED, "holds several dictionaries of tensors and none called \"state_dict\"");
		found = value;
	}
	if (found)
		*out = found;
	return STATUS_OK;
}

// The key as a string; NULL when no program could have a tensor of that name.
static const char *key_text(struct arena *a, struct pickle_bytes key)
{
	if (memchr(key.at, 0, key.nbytes) || visible_not_utf8(key.at, key.nbytes) < key.nbytes)
		return NULL;
	return arena_strndup(a, (const char *)key.at, key.nbytes);
}

enum { TENSOR_NAME_MOST = 1 << 20 };

struct named {
	const struct pickle *key;
	const struct pickle_tensor *tensor;
	const char *name;
	size_t place; // in the dictionary
};

// A pickle may use one text many times: those are one key, told by where it lies, before any text is copied or compared.
static int by_text(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	const struct pickle_bytes *p = &x->key->bytes, *q = &y->key->bytes;
	if (p->at != q->at)
		return p->at < q->at ? -1 : 1;
	if (p->nbytes != q->nbytes)
		return p->nbytes < q->nbytes ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strcmp(x->name, y->name);
	return order ? order : x->place < y->place ? -1 : x->place > y->place;
}

static bool same_text(const struct named *x, const struct named *y)
{
	return x->key->bytes.at == y->key->bytes.at && x->key->bytes.nbytes == y->key->bytes.nbytes;
}

// Beside the state dict and in it.
static void note_ignored(struct shard *shard, struct source *f, const struct pickle *root, const struct pickle *dict)
{
	enum { NAMES_MOST = 1000, NAME_MOST = 200 };
	const struct pickle *const places[] = { root, dict };
	shard->ignored = ARENA_ARRAY(f->a, NAMES_MOST, const char *);
	for (int p = root == dict; p < 2; p++)
		for (size_t i = 0; i + 1 < places[p]->items.count; i += 2) {
			const struct pickle *key = places[p]->items.at[i], *value = places[p]->items.at[i + 1];
			if (value == dict || value->kind == PICKLE_TENSOR)
				continue;
			if (shard->ignored_count == NAMES_MOST) {
				shard->ignored_more++;
				continue;
			}
			struct pickle_bytes text = key->kind == PICKLE_TEXT ? key->bytes : (struct pickle_bytes){ 0 };
			text.nbytes = visible_fit(text.at, text.nbytes, NAME_MOST);
			const char *name = text.at ? key_text(f->a, text) : NULL;
			f->spent += text.nbytes + sizeof name; // a pickle says one text many times in two bytes each
			shard->ignored[shard->ignored_count++] = name ? name : "(a key that is not text)";
		}
}

// The dictionary's tensors by name, each name once: the file's last word on a name counts, as in a dictionary.
static enum status list_tensors(
	const struct source *f, struct named *all, size_t *count, const struct pickle *dict, struct error *err)
{
	size_t n = 0, kept = 0;
	for (size_t i = 0; i + 1 < dict->items.count; i += 2) {
		const struct pickle *key = dict->items.at[i], *value = dict->items.at[i + 1];
		if (value->kind != PICKLE_TENSOR)
			continue;
		if (key->kind != PICKLE_TEXT)
			return error_set(err, STATUS_BAD_INPUT, "a tensor's name in its pickle is not text");
		all[n] = (struct named){ .key = key, .tensor = value->tensor, .place = n };
		n++;
	}
	if (n)
		qsort(all, n, sizeof *all, by_text);
	for (size_t i = 0; i < n; i++) {
		kept -= kept && same_text(&all[kept - 1], &all[i]);
		all[kept++] = all[i];
	}
	for (size_t i = 0; i < kept; i++)
		if (all[i].key->bytes.nbytes > TENSOR_NAME_MOST)
			return error_set(err, STATUS_BAD_INPUT,
				"a tensor's name in its pickle has %zu bytes; at most %d are read",
				(size_t)all[i].key->bytes.nbytes, TENSOR_NAME_MOST);
		else if (!(all[i].name = key_text(f->a, all[i].key->bytes)))
			return error_set(err, STATUS_BAD_INPUT, "a tensor's name in its pickle is not text");
	n = kept;
	if (n)
		qsort(all, n, sizeof *all, by_name);
	for (size_t i = kept = 0; i < n; i++) {
		kept -= kept && !strcmp(all[kept - 1].name, all[i].name);
		all[kept++] = all[i];
	}
	*count = kept;
	return STATUS_OK;
}

static enum status read_dict(struct shard *shard, struct source *f, const struct pickle *root, struct weight **out,
	size_t *ret_count, struct error *err)
{
	const struct pickle *dict = NULL;
	size_t count = 0;
	enum status s = find_dict(&dict, root, err);
	if (s)
		return s;
	if (count_tensors(dict) > TENSORS_MOST)
		return error_set(
			err, STATUS_BAD_INPUT, "its pickle names more than %d tensors; no checkpoint does", TENSORS_MOST);
	struct named *all = ARENA_ARRAY(&f->passing, count_tensors(dict), struct named);
	if ((s = list_tensors(f, all, &count, dict, err)))
		return s;
	struct weight *weights = ARENA_ARRAY(f->a, count, struct weight);
	for (size_t i = 0; i < count; i++) {
		weights[i] = (struct weight){ .name = all[i].name, .shard = shard };
		if ((s = read_tensor(&weights[i], f, all[i].tensor, err))) {
			error_prefix(err, TENSOR, weights[i].name);
			return s;
		}
	}
	note_ignored(shard, f, root, dict);
	*out = weights;
	*ret_count = count;
	return STATUS_OK;
}

// ---- the two layouts ----------------------------------------------------------------------------------------------------

// "archive/" of the one entry "archive/data.pkl".
static enum status find_root(struct source *f, const struct zip_entry **pickle, struct error *err)
{
	for (size_t i = 0; i < f->entry_count; i++) {
		const struct zip_entry *e = &f->entries[i];
		f->spent += sizeof *e + e->name_nbytes;
		const char *slash = memchr(e->name, '/', e->name_nbytes);
		if (!slash || e->name_nbytes - (size_t)(slash + 1 - e->name) != 8 || memcmp(slash + 1, "data.pkl", 8))
			continue;
		if (*pickle)
			return error_set(err, STATUS_BAD_INPUT, "holds two files data.pkl");
		*pickle = e;
		f->root = e->name;
		f->root_nbytes = (size_t)(slash + 1 - e->name);
	}
	// PyTorch's reader takes the folder of the first file, and asks for names in it.
	for (size_t i = 0; *pickle && i < f->entry_count; i++)
		if (f->entries[i].name_nbytes < f->root_nbytes || memcmp(f->entries[i].name, f->root, f->root_nbytes))
			return error_set(err, STATUS_BAD_INPUT,
				"holds files beside the folder of data.pkl, which torch.save does not write");
	if (!*pickle)
		return error_set(err, STATUS_BAD_INPUT, "a zip file, but not one of torch.save: it has no data.pkl");
	if (find_in_any_case(f, "constants.pkl"))
		return error_set(err, STATUS_UNSUPPORTED,
			"a TorchScript program, not weights: save model.state_dict(), best as safetensors");
	if (!(*pickle)->stored)
		return packed("data.pkl", 8, err);
	// PyTorch reads none without it, and up to 10.
	const struct zip_entry *version = find_in_any_case(f, "version"), *order = find_in_any_case(f, "byteorder");
	if (!version)
		return error_set(err, STATUS_BAD_INPUT, "a zip file, but not one of torch.save: it has no version");
	char digits[4] = "";
	int64_t number;
	if (version->stored && version->nbytes < sizeof digits)
		memcpy(digits, f->shard->map + version->offset, (size_t)version->nbytes);
	digits[strspn(digits, "0123456789")] = 0; // a line's end is behind them
	if (!text_to_int(digits, 1, VERSION_MOST, &number))
		return error_set(err, STATUS_UNSUPPORTED, "is of a version that PyTorch does not read");
	if (order && (order->nbytes != 6 || memcmp(f->shard->map + order->offset, "little", 6)))
		return error_set(err, STATUS_UNSUPPORTED,
			"was written on a big-endian machine: load and save it again on a little-endian one");
	return STATUS_OK;
}

static enum status read_zip(struct shard *shard, struct source *f, struct weight **out, size_t *count, struct error *err)
{
	const struct zip_entry *pickle = NULL;
	struct pickle_result result = { 0 };
	enum status s;
	if ((s = zip_read(&f->entries, &f->entry_count, &f->passing, shard->map, shard->nbytes, err)) ||
		(s = find_root(f, &pickle, err)) ||
		(s = pickle_read(&result, &f->passing, shard->map + pickle->offset, (size_t)pickle->nbytes, &f->budget, err)))
		return s;
	return read_dict(shard, f, result.value, out, count, err);
}

// The types of the storages that the pickle named: without them the length of each is not known.
static enum status list_stored(struct source *f, const struct pickle_storage *storages, struct error *err)
{
	enum { KEY_MOST = 256 };
	size_t n = 0, kept = 0;
	for (const struct pickle_storage *st = storages; st; st = st->next, n++)
		if (st->key.nbytes > KEY_MOST) // one long text may be the key of all, and each is held against others
			return error_set(err, STATUS_BAD_INPUT,
				"a storage's key of %zu bytes in its pickle: torch writes numbers", (size_t)st->key.nbytes);
	f->stored = ARENA_ARRAY(&f->passing, n, struct stored);
	f->stored_count = n;
	for (const struct pickle_storage *st = storages; st; st = st->next)
		f->stored[kept++] = (struct stored){ .key = st->key, .dtype = st->dtype, .count = st->count };
	if (n)
		qsort(f->stored, n, sizeof *f->stored, by_key);
	for (size_t i = kept = 0; i < n; i++) {
		if (!i || by_key(&f->stored[kept - 1], &f->stored[i])) {
			f->stored[kept++] = f->stored[i];
			continue;
		}
		const struct stored *x = &f->stored[kept - 1], *y = &f->stored[i];
		if (x->dtype != y->dtype || x->count != y->count)
			return error_set(err, STATUS_BAD_INPUT, "its pickle gives one storage two sizes");
	}
	f->stored_count = kept;
	return STATUS_OK;
}

static enum status place_stored(struct source *f, const struct pickle *keys, size_t at, struct error *err)
{
	const struct shard *shard = f->shard;
	if (keys->kind != PICKLE_LIST)
		return error_set(err, STATUS_BAD_INPUT, "its list of storages is missing: damaged");
	for (size_t i = 0; i < keys->items.count; i++) {
		const struct pickle *key = keys->items.at[i];
		struct stored *st = key->kind == PICKLE_TEXT ? find_stored(f->stored, f->stored_count, key->bytes) : NULL;
		if (!st || st->offset)
			return error_set(err, STATUS_BAD_INPUT, "entry %zu of its list of storages is %s: damaged", i,
				st ? "there twice" : "unknown");
		uint64_t count = 0, nbytes;
		if (shard->nbytes - at < 8)
			return error_set(err, STATUS_BAD_INPUT, "ends before its storage %zu: cut off; download it again", i);
		for (int j = 0; j < 8; j++)
			count |= (uint64_t)shard->map[at + (size_t)j] << 8 * j;
		at += 8;
		if (count != st->count)
			return error_set(err, STATUS_BAD_INPUT,
				"its storage %zu holds %" PRIu64 " elements, its pickle says %" PRIu64, i, count, st->count);
		if (__builtin_mul_overflow(count, st->dtype == DTYPE_NONE ? 1 : dtype_size(st->dtype), &nbytes) ||
			nbytes > shard->nbytes - at)
			return error_set(
				err, STATUS_BAD_INPUT, "ends in the middle of its storage %zu: cut off; download it again", i);
		st->offset = at;
		at += (size_t)nbytes;
	}
	return STATUS_OK;
}

static bool is_little_endian(const struct pickle *machine)
{
	for (size_t i = 0; machine->kind == PICKLE_DICT && i + 1 < machine->items.count; i += 2)
		if (pickle_is_text(machine->items.at[i], "little_endian"))
			return machine->items.at[i + 1]->kind == PICKLE_BOOL && machine->items.at[i + 1]->integer;
	return false;
}

static bool is_magic(const struct pickle *p)
{
	static const uint8_t magic[] = { 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19 }; // 0x1950a86a20f9469cfc6c
	return p->kind == PICKLE_LONG && p->bytes.nbytes == sizeof magic && !memcmp(p->bytes.at, magic, sizeof magic);
}

static enum status read_stream(struct shard *shard, struct source *f, struct weight **out, size_t *count, struct error *err)
{
	struct pickle_result part[5] = { 0 }; // magic, protocol, machine, object, keys
	size_t at = 0;
	enum status s;
	for (int i = 0; i < 5; i++) {
		if ((s = pickle_read(&part[i], &f->passing, shard->map + at, shard->nbytes - at, &f->budget, err)))
			return s;
		at += part[i].used;
		if (!i && !is_magic(part[i].value))
			return error_set(err, STATUS_BAD_INPUT, "a pickle, but not a file of torch.save");
		if (i == 1 && (part[i].value->kind != PICKLE_INT || part[i].value->integer != PROTOCOL))
			return error_set(err, STATUS_UNSUPPORTED, "is of another version than %d of the older layout", PROTOCOL);
		if (i == 2 && !is_little_endian(part[i].value))
			return error_set(err, STATUS_UNSUPPORTED,
				"was written on a big-endian machine: load and save it again on a little-endian one");
	}
	if ((s = list_stored(f, part[3].storages, err)) || (s = place_stored(f, part[4].value, at, err)))
		return s;
	return read_dict(shard, f, part[3].value, out, count, err);
}

enum status torch_parse(struct arena *a, struct shard *shard, struct weight **out, size_t *count, struct error *err)
{
	struct source f = { .a = a, .shard = shard, .budget = pickle_budget_of_file };
	const uint8_t *p = shard->map;
	enum status s = shard_check_pointer(shard, err);
	if (!s && shard->nbytes >= 4 && !memcmp(p, "PK\3\4", 4))
		s = read_zip(shard, &f, out, count, err);
	else if (!s && shard->nbytes >= 2 && p[0] == 0x80)
		s = read_stream(shard, &f, out, count, err);
	else if (!s)
		s = error_set(
			err, STATUS_BAD_INPUT, "neither a zip file nor a pickle, so not a file of torch.save that can be read");
	arena_done(&f.passing);
	shard->header_nbytes = pickle_budget_of_file.nbytes - f.budget.nbytes + f.spent;
	if (s)
		error_prefix(err, "%s", shard->path);
	return s;
}

enum status torch_open(
	struct arena *a, const char *path, struct shard *shard, struct weight **out, size_t *count, struct error *err)
{
	enum status s = shard_open(shard, a, path, err);
	if (s)
		return s;
	s = torch_parse(a, shard, out, count, err);
	pages_forget(shard->map, shard->nbytes); // pickle, table of contents, and a page of each entry
	return s;
}
