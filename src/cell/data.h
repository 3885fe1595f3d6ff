// SPDX-License-Identifier: Apache-2.0
// A set of examples that a model is asked about (--data), read one by one.
//
//   a folder      each *.safetensors file in it is an example, in the order of their names; or, of a folder of folders, each
//                 picture, sound and text (*.txt) in them, which has the folder's name for its label
//   FILE.jsonl    an example a line, an object of one of
//                   file                a safetensors file
//                   text, text_pair     text for the model's own tokenizer
//                   text_file           the same of a file
//                   image, sound        a file for the model's own processor
//                 and of one of
//                   label, labels       an integer, a word of the configuration's label2id, or an array of them
//                   transcript          the words that are said in a sound
//                   boxes               the things in a picture, an array of {"label": L, "box": [left, top, width, height]} in
//                                       pixels of the picture; with "crowd": true a group that is not counted
//                   mask                a grey picture, as large as the image, of the numbers of classes; 255: not judged
//                 Paths are relative to the folder of FILE and stay in it.
//
// A safetensors file has the model's inputs by name, "NAME" or "in.NAME", and either `label` or `labels` (integers), or outputs
// to be held against, "out.NAME", or "NAME" where the graph has an output and no input of that name. An example has one such
// target: with two it is refused.
#ifndef ASSAY_CELL_DATA_H
#define ASSAY_CELL_DATA_H

#include "cell/prepare.h"
#include "stats/detection.h"

enum {
	DATA_EXAMPLES_MOST = 100000,
	DATA_LINE_MOST = 1 << 20,   // bytes of a line
	DATA_FILE_MOST = 64 << 20,  // of FILE.jsonl
	DATA_WEIGHT_MOST = 1 << 27, // of all its lines and their values (json_weight): some two million labels
	DATA_LABELS_MOST = 1 << 24, // places that are judged, of all examples
	DATA_CLASSES_MOST = 10000,  // folders of a folder
	DATA_BOXES_MOST = 1000,     // of an example
	DATA_MASK_MOST = 1 << 24,   // pixels of a mask
	DATA_ROWS_MOST = 1 << 21    // boxes found and given, or classes of masks, of all examples
};
#define DATA_EXAMPLE_BYTES_MOST ((uint64_t)1 << 30) // of one file
#define DATA_BYTES_MOST ((uint64_t)16 << 30)        // of all of them

struct data_item {
	const char *name; // for people: a file's name, "line 3"
	const char *path; // of a safetensors file; NULL: `line` says what it is
	const char *line; // its JSON text
	bool names_files; // the line does
};
struct data_set {
	const char *path, *folder; // folder: what paths are relative to
	struct data_item *items;
	size_t count;
};
// What there is, in `a`; files are looked at and not opened. BAD_INPUT with a sentence: no such file or folder, no example, a
// line that is no such object, a path that leads out, too many or too large.
enum status data_list(struct data_set *out, struct arena *a, const char *path, struct error *err);
// SHA-256 over names and contents of all examples, and of what `model` (its folder, or NULL) brings to prepare texts, pictures
// and sounds. In `a`; digest_unknown where something cannot be read.
const char *data_digest(struct arena *a, const char *path, const char *model);
// Writes to the list and the files of the examples are told from now on (artifact/writes.h), as many as the kernel watches.
void data_watch(int watch, const char *path);

// Every label of a set's lines and boxes: an integer, or a word of the configuration's label2id. `classes`: of a model whose
// labels are classes, how many it has, and an integer is one of them or the -100 that is not judged; 0: not known. BAD_INPUT
// names the line.
enum status data_check_labels(const struct data_set *set, const json_t *config, int64_t classes, struct error *err);
// Has a line of it this member?
bool data_has(const struct data_set *set, const char *member);
// Does a model of this type write down what a sound says (pipeline/whisper.c)?
bool data_dictates(const char *model_type);
// How many classes a configuration names: id2label, else num_labels; 0: neither is there.
int64_t data_classes(const json_t *config);

struct data_example {
	struct weight *inputs; // "in.NAME"
	size_t input_count;
	struct weight *golden; // names of outputs
	size_t golden_count;
	const struct weight *labels; // integers; NULL: none
	const char *transcript;      // NULL: none
	const char *sound;           // of a transcript, with `leaves_sounds`: the file
	struct detection *boxes;     // of DETECTION_TRUTH and DETECTION_CROWD; NULL: none are given
	size_t box_count;
	struct picture mask; // RGB of three equal numbers; pixels NULL: none
	int width, height;   // of the picture that it is of; 0: of none
	bool is_text;        // made of a text
	bool is_cut;         // that had more tokens than `text_most`
};
// How texts, pictures and sounds become inputs, and what the graph takes.
struct data_reader {
	struct preparing how;
	json_t *config;
	const struct tensor_type *types; // inputs of the graph
	size_t type_count;
	bool leaves_sounds;  // data_dictates: the sound of a transcript is not prepared
	bool reduces_labels; // do_reduce_labels of the processor: class 0 of a mask is not judged, the others are one less
};
// Example i, in `a`. BAD_INPUT with its name: what cannot be read, a number that is not finite, neither labels nor outputs, two
// of them.
enum status data_read(struct data_example *out, struct arena *a, const struct data_set *set, size_t i, struct data_reader *r,
	struct error *err);

#endif
