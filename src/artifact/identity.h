// SPDX-License-Identifier: Apache-2.0
// What a model is: the contents of every file that it is read from. All keys that speak of a model are made of this.
//
//   a folder         config.json; the files of weights and their index, as checkpoint_files names them; an adapter's files
//   a .gguf file     the file itself
//   an .onnx file    the file itself; every file of its folder that its external data names
//
// What leads out of the model's folder, by its name or by links, is not opened: a stranger's file may name a private one, or one
// that does not end. A snapshot of the Hub's cache is links into the blobs of its model, which are inside. Where the files lie
// and what the folder is called does not belong to it: a copy is the same model.
#ifndef ASSAY_ARTIFACT_IDENTITY_H
#define ASSAY_ARTIFACT_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/error.h"

struct model_file {
	const char *name; // within the folder, without "." and "//"; as the .onnx file has it where it leads out
	const char *path; // NULL: it leads out of the folder
};

// In a fixed order. A file that cannot be read is in the list when its name is known. Memory in `a`.
void model_files(const char *path, struct arena *a, struct model_file **out, size_t *count);

// All files of a folder, and of those in it, that a pipeline may read: tokenizers and settings decide its answer, too. In the
// order of their names. Not what is hidden, and not deeper than MODEL_TREE_DEEP folders. False: there are too many, or one
// cannot be looked at. Memory in `a`.
enum { MODEL_TREE_DEEP = 3 };
bool model_tree(const char *folder, struct arena *a, struct model_file **out, size_t *count);
bool model_is_weights(const char *name); // by its ending

// Of a location of external data, what changes nothing taken out: "a//./b" is "a/b". NULL: absolute, or with a "..", or ONNX
// Runtime's word for an address in memory, which engines take for one.
const char *model_plain_location(struct arena *a, const char *location);

// Does a path below the folder end within the model, links followed? What a link leads to outside is neither read nor copied.
bool model_has_inside(const char *folder, const char *path);

// BAD_INPUT with a sentence for an .onnx file that names a file outside of its folder, more files than are read, or that is
// nested deeper than it is looked through: the identity of such a model is not known.
enum status model_check_places(const char *path, struct error *err);

// file_check_given of each.
enum status model_check_given(const char *path, const char *said, struct error *err);

// SHA-256 over the names and digests of all of them, as 64 hexadecimal digits. A file that is absent or cannot be read counts as
// that. An error only where watch->progress stopped it, or where a file changes all the time. `watch` may be NULL; its total is
// set.
enum status model_identity(char out[65], const char *path, struct digest_watch *watch, struct error *err);

// The same from what the file system says of them (device, inode, size, mtime, ctime): another identity for other content, and
// sometimes for the same. For models that are refused before their weights are read.
void model_fingerprint(char out[65], const char *path);

#endif
