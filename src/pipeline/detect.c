// SPDX-License-Identifier: Apache-2.0
// Tasks that find things in a picture: boxes, masks, depths; and pictures made of pictures.
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "answer/boxes.h"
#include "pipeline/depth.h"
#include "answer/masks.h"
#include "pipeline/pictures.h"

static struct tensor floats_of(int rank, const int64_t *dim, float *data)
{
	struct tensor t = { .dtype = DTYPE_F32, .rank = rank, .data = data, .nbytes = sizeof *data };

	for (int i = 0; i < rank; i++) {
		t.dim[i] = dim[i];
		t.nbytes *= (size_t)dim[i];
	}
	return t;
}

// ---- boxes ----------------------------------------------------------------------------------------------------------------

static enum status detections_of(
	struct call *c, const struct outputs *given, const struct picture *image, struct detections *out, struct error *err)
{
	const struct tensor *logits, *boxes;
	enum status st;

	if ((st = output_of(given, "logits", 3, &logits, err)) || (st = output_of(given, "pred_boxes", 3, &boxes, err)))
		return st;
	if (boxes->dim[1] != logits->dim[1] || boxes->dim[2] != 4)
		return error_set(
			err, STATUS_FAILED, "%lld boxes of %lld queries", (long long)boxes->dim[1], (long long)logits->dim[1]);
	size_t queries = (size_t)logits->dim[1], classes = (size_t)logits->dim[2];
	*out = (struct detections){ elements_of(c->a, logits, 0, queries * classes), boxes->data, queries, classes, image->width,
		image->height };
	return STATUS_OK;
}

TASK(object_detection)
{
	struct inputs in = { 0 };
	struct outputs given;
	struct picture image;
	struct detections d;
	const char *processor;
	struct part *m;
	double threshold;
	enum status st;

	if ((st = part_open(c->p, ".", &m, err)) || (st = option_real(c, "threshold", 0.5, &threshold, err)) ||
		(st = image_inputs(c, m, &image, &in, &processor, err)))
		return st;
	const struct detector *by = detector_of(processor);
	if (!by)
		return error_set(err, STATUS_UNSUPPORTED, "boxes of a model whose processor is %s", processor);
	if ((st = whole_run(c, m, &in, &given, err)) || (st = detections_of(c, &given, &image, &d, err)))
		return st;
	struct boxes found = boxes_found(c->a, &d, by->rule, by->most ? by->most : d.queries, threshold);
	out->json = json_array();
	for (size_t i = 0; i < found.count; i++)
		json_array_append_new(out->json, box_answer(&found.items[i], label_of(m, c->a, (size_t)found.items[i].label)));
	return STATUS_OK;
}

// Boxes of one label, which is asked for by itself; added to `all`, with the label's number. `c` is of this label alone, `keep`
// of the whole answer.
static enum status find_label(struct call *c, struct part *m, const struct inputs *picture, const struct picture *frame,
	const char *label, int64_t number, double threshold, struct boxes *all, struct arena *keep, struct error *err)
{
	struct inputs in = *picture;
	struct outputs given;
	struct encoding e;
	struct tensor *text;
	struct detections d;
	size_t n;
	enum status st;

	if ((st = text_encode(m, c->a, label, NULL, NULL, &e, err)) || (st = text_tensors(m, c->a, &e, &text, &n, err)))
		return st;
	inputs_add(&in, text, n);
	if ((st = whole_run(c, m, &in, &given, err)) || (st = detections_of(c, &given, frame, &d, err)))
		return st;
	struct boxes found = boxes_found(c->a, &d, BOXES_QUERIES, 0, threshold);
	struct box *more = ARENA_ARRAY(keep, all->count + found.count + 1, struct box);
	if (all->count)
		memcpy(more, all->items, all->count * sizeof *more);
	for (size_t i = 0; i < found.count; i++) {
		more[all->count + i] = found.items[i];
		more[all->count + i].label = number;
	}
	*all = (struct boxes){ more, all->count + found.count };
	return STATUS_OK;
}

TASK(zero_shot_object_detection)
{
	struct inputs in = { 0 };
	struct picture image, frame;
	struct boxes all = { 0 };
	const char *const *labels, *processor;
	struct part *m;
	double threshold;
	int64_t top;
	size_t count;
	enum status st;

	if ((st = part_open(c->p, ".", &m, err)) || (st = call_labels(c, &labels, &count, err)) ||
		(st = option_real(c, "threshold", 0.1, &threshold, err)) ||
		(st = option_integer(c, "top_k", 1, INT32_MAX, INT32_MAX, &top, err)) ||
		(st = image_inputs(c, m, &image, &in, &processor, err)))
		return st;
	frame = image;
	if (text_is(processor, "Owlv2")) // which pads to a square before it resizes
		frame.width = frame.height = image.width > image.height ? image.width : image.height;
	else if (!text_is(processor, "OwlViT"))
		return error_set(err, STATUS_UNSUPPORTED, "boxes of given labels by a model whose processor is %s", processor);
	for (size_t i = 0; i < count && !st; i++) {
		struct arena brief = { 0 };
		struct call one = *c;

		one.a = &brief;
		st = find_label(&one, m, &in, &frame, labels[i], (int64_t)i, threshold, &all, c->a, err);
		arena_done(&brief);
	}
	if (st)
		return st;
	boxes_sort(c->a, &all);
	out->json = json_array();
	for (size_t i = 0; i < all.count && i < (size_t)top; i++)
		json_array_append_new(out->json, box_answer(&all.items[i], labels[all.items[i].label]));
	return STATUS_OK;
}

// ---- masks ----------------------------------------------------------------------------------------------------------------

static struct planes planes_of(const struct tensor *t) // the last three dimensions
{
	return (struct planes){ (int)t->dim[t->rank - 3], (int)t->dim[t->rank - 2], (int)t->dim[t->rank - 1], t->data };
}

static enum status mask_options(const struct call *c, struct mask_thresholds *t, const char **subtask, struct error *err)
{
	enum status st;

	if ((st = option_real(c, "threshold", 0.9, &t->score, err)) ||
		(st = option_real(c, "mask_threshold", 0.5, &t->mask, err)) ||
		(st = option_real(c, "overlap_mask_area_threshold", 0.5, &t->overlap, err)) ||
		(st = option_text(c, "subtask", NULL, subtask, err)))
		return st;
	if (*subtask && !text_is(*subtask, "panoptic") && !text_is(*subtask, "instance") && !text_is(*subtask, "semantic"))
		return error_set(err, STATUS_BAD_INPUT, "subtask is panoptic, instance or semantic, not '%s'", *subtask);
	return STATUS_OK;
}

static enum status segments_found(struct call *c, const struct segmenter *by, const struct outputs *given,
	const struct picture *image, struct segments *out, struct error *err)
{
	struct mask_thresholds t;
	const struct tensor *classes, *masks;
	const char *subtask;
	enum status st;

	if ((st = mask_options(c, &t, &subtask, err)) || (st = output_of(given, by->classes, by->masks ? 3 : 4, &classes, err)))
		return st;
	if (!by->masks) {
		struct planes map = planes_of(classes);

		if (subtask && !text_is(subtask, "semantic"))
			return error_set(err, STATUS_UNSUPPORTED, "subtask %s: this model gives labels of pixels alone", subtask);
		return segments_of_labels(out, c->a, &map, image->height, image->width, err);
	}
	if ((st = output_of(given, by->masks, 4, &masks, err)))
		return st;
	if (masks->dim[1] != classes->dim[1] || classes->dim[2] < 2)
		return error_set(
			err, STATUS_FAILED, "%lld masks of %lld queries", (long long)masks->dim[1], (long long)classes->dim[1]);
	const struct mask_queries q = { elements_of(c->a, classes, 0, (size_t)(classes->dim[1] * classes->dim[2])),
		planes_of(masks), (size_t)classes->dim[2] - 1, by->side };
	return text_is(subtask, "semantic")    ? segments_of_queries(out, c->a, &q, image->height, image->width, err)
		: text_is(subtask, "instance") ? segments_of_instances(out, c->a, &q, &t, image->height, image->width, err)
					       : segments_panoptic(out, c->a, &q, &t, image->height, image->width, err);
}

TASK(image_segmentation)
{
	struct inputs in = { 0 };
	struct outputs given;
	struct picture image;
	struct segments found;
	const char *processor;
	struct part *m;
	enum status st;

	if ((st = part_open(c->p, ".", &m, err)) || (st = image_inputs(c, m, &image, &in, &processor, err)))
		return st;
	const struct segmenter *by = segmenter_of(processor);
	if (!by)
		return error_set(err, STATUS_UNSUPPORTED, "masks of a model whose processor is %s", processor);
	if ((st = whole_run(c, m, &in, &given, err)) || (st = segments_found(c, by, &given, &image, &found, err)))
		return st;
	out->json = json_array();
	for (size_t i = 0; i < found.count; i++) {
		const struct segment *s = &found.items[i];
		json_t *mask = answer_picture(c, out, arena_printf(c->a, "%zu.mask.png", i), &s->mask);

		json_array_append_new(out->json,
			json_pack("{s:o, s:s, s:o}", "score", isnan(s->score) ? json_null() : json_real(s->score), "label",
				label_of(m, c->a, (size_t)s->label), "mask", mask));
	}
	return STATUS_OK;
}

// ---- masks of what is pointed at ------------------------------------------------------------------------------------------

enum { PROMPT_POINTS_MOST = 256, LABEL_CORNER = 2 }; // of the upper left corner of a box; the lower right one's is 3

struct prompt_points {
	float at[2 * PROMPT_POINTS_MOST]; // x, y in pixels of the prepared picture
	int64_t labels[PROMPT_POINTS_MOST];
	size_t count;
	bool boxed;
};

static void add_point(struct prompt_points *p, const double scale[2], const json_t *x, const json_t *y, int64_t label)
{
	p->at[2 * p->count] = (float)(json_number_value(x) * scale[0]);
	p->at[2 * p->count + 1] = (float)(json_number_value(y) * scale[1]);
	p->labels[p->count++] = label;
}

// The lists of one object of one picture: input_points [[[x, y], ..]], input_labels [[label, ..]], input_boxes
// [[[left, top, right, bottom]]] in pixels of the picture; `scale` brings them to the prepared one's, across and down.
static enum status prompt_points(const struct call *c, const double scale[2], struct prompt_points *out, struct error *err)
{
	const json_t *points = json_array_get(json_object_get(c->input, "input_points"), 0),
		     *labels = json_array_get(json_object_get(c->input, "input_labels"), 0),
		     *boxes = json_array_get(json_object_get(c->input, "input_boxes"), 0), *box = json_array_get(boxes, 0),
		     *point;
	size_t i;

	*out = (struct prompt_points){ .boxed = box != NULL };
	if (json_array_size(points) + 2 > PROMPT_POINTS_MOST || json_array_size(points) != json_array_size(labels) ||
		json_array_size(boxes) > 1 || (box && json_array_size(box) != 4) || (!box && !json_array_size(points)))
		return error_set(err, STATUS_BAD_INPUT,
			"input_points [[[x, y], ..]] with as many input_labels [[1, ..]], or input_boxes [[[left, top, right, "
			"bottom]]], of one object");
	json_array_foreach(points, i, point)
	{
		if (json_array_size(point) != 2 || !json_is_integer(json_array_get(labels, i)))
			return error_set(err, STATUS_BAD_INPUT, "input_points: a point is [x, y], and its label a whole number");
		add_point(out, scale, json_array_get(point, 0), json_array_get(point, 1),
			json_integer_value(json_array_get(labels, i)));
	}
	for (size_t k = 0; box && k < 2; k++)
		add_point(out, scale, json_array_get(box, 2 * k), json_array_get(box, 2 * k + 1), LABEL_CORNER + (int64_t)k);
	return STATUS_OK;
}

// The graph for these prompts: with a box one that adds no point, where the model has it.
static const struct arch_graph *prompt_graph(const struct part *m, bool boxed)
{
	const struct arch_graph *g;

	for (size_t i = 1; boxed && (g = arch_graph_at(m->spec, i)); i++)
		if (text_is(g->file, "model_of_boxes.onnx"))
			return g;
	return &arch_whole;
}

static enum status masks_answer(struct call *c, const struct outputs *given, const struct picture *image, const int padded[2],
	const int taken[2], struct pipeline_answer *out, struct error *err)
{
	const struct tensor *masks, *scores;
	enum status st;

	if ((st = output_of(given, "pred_masks", 5, &masks, err)) || (st = output_of(given, "iou_scores", 3, &scores, err)))
		return st;
	if (masks->dim[1] != 1 || scores->dim[2] != masks->dim[2])
		return error_set(
			err, STATUS_FAILED, "%lld scores of %lld masks", (long long)scores->dim[2], (long long)masks->dim[2]);
	json_t *list = json_array(), *numbers = json_array();
	for (int64_t i = 0; i < masks->dim[2] && !st; i++) {
		struct planes map = planes_of(masks);
		struct picture mask;

		map.data += i * map.height * map.width;
		map.channels = 1;
		if ((st = mask_unpadded(&mask, c->a, &map, padded, taken, image->height, image->width, err)))
			break;
		json_array_append_new(list, answer_picture(c, out, arena_printf(c->a, "mask.%lld.png", (long long)i), &mask));
		json_array_append_new(numbers, json_real(tensor_get(scores, (size_t)i)));
	}
	out->json = json_pack("{s:o, s:o}", "iou_scores", numbers, "masks", list);
	return st;
}

TASK(promptable_segmentation)
{
	struct inputs in = { 0 };
	struct outputs given;
	struct picture image;
	struct prompt_points p;
	struct part *m;
	bool several;
	enum status st;

	if ((st = part_open(c->p, ".", &m, err)) || (st = option_bool(c, "multimask_output", true, &several, err)) ||
		(st = image_inputs(c, m, &image, &in, NULL, err)))
		return st;
	if (!several)
		return error_set(err, STATUS_UNSUPPORTED, "multimask_output false is not supported yet");
	const struct tensor *pixels = tensor_named(in.items, in.count, "pixel_values"),
			    *sizes = tensor_named(in.items, in.count, "reshaped_input_sizes");
	if (!pixels || pixels->rank != 4 || !sizes)
		return error_set(err, STATUS_UNSUPPORTED, "prompts for a model whose processor does not say how it resized");
	const int padded[2] = { (int)pixels->dim[2], (int)pixels->dim[3] },
		  taken[2] = { (int)tensor_get(sizes, 0), (int)tensor_get(sizes, 1) };
	const double scale[2] = { (double)taken[1] / image.width, (double)taken[0] / image.height };
	if ((st = prompt_points(c, scale, &p, err)))
		return st;
	const int64_t count = (int64_t)p.count, shape[] = { 1, 1, count, 2 };
	struct tensor prompts[2] = { floats_of(4, shape, p.at),
		{ .name = "input_labels",
			.dtype = DTYPE_I64,
			.rank = 3,
			.dim = { 1, 1, count },
			.data = p.labels,
			.nbytes = p.count * sizeof *p.labels } };
	prompts[0].name = "input_points";
	inputs_add(&in, prompts, 2);
	if ((st = part_run(m, prompt_graph(m, p.boxed), in.items, in.count, c->a, &given.items, &given.count, err)))
		return st;
	return masks_answer(c, &given, &image, padded, taken, out, err);
}

// ---- a map or a picture of the picture ------------------------------------------------------------------------------------

TASK(depth_estimation)
{
	struct inputs in = { 0 };
	struct outputs given;
	struct picture image, grey;
	struct planes depth;
	const struct tensor *map;
	const char *processor;
	struct part *m;
	enum status st;

	if ((st = part_open(c->p, ".", &m, err)) || (st = image_inputs(c, m, &image, &in, &processor, err)))
		return st;
	if (!text_is(processor, "DPT") && !text_is(processor, "GLPN"))
		return error_set(err, STATUS_UNSUPPORTED, "depths by a model whose processor is %s", processor);
	if ((st = whole_run(c, m, &in, &given, err)) || (st = output_of(&given, "predicted_depth", 3, &map, err)))
		return st;
	const struct planes one = planes_of(map);
	if ((st = depth_of_picture(&depth, &grey, c->a, &one, image.height, image.width, err)))
		return st;
	const struct tensor t = floats_of(2, (int64_t[]){ depth.height, depth.width }, depth.data);
	json_t *predicted = answer_tensor(c, out, "predicted_depth", &t);
	out->json = json_pack("{s:o, s:o}", "predicted_depth", predicted, "depth", answer_picture(c, out, "depth.png", &grey));
	return STATUS_OK;
}

// What a super-resolution model makes: [1, 3, height, width] to [height, width, 3] within 0 and 1, and the picture of it.
TASK(image_to_image)
{
	struct inputs in = { 0 };
	struct outputs given;
	struct picture image, made;
	const struct tensor *channels;
	struct part *m;
	enum status st;

	if ((st = part_open(c->p, ".", &m, err)) || (st = image_inputs(c, m, &image, &in, NULL, err)) ||
		(st = whole_run(c, m, &in, &given, err)) || (st = output_of(&given, "reconstruction", 4, &channels, err)))
		return st;
	const struct planes p = planes_of(channels);
	if (p.channels != 3)
		return error_set(err, STATUS_UNSUPPORTED, "a picture of %d channels", p.channels);
	if ((st = picture_new(&made, c->a, p.width, p.height, 3, err)))
		return st;
	size_t pixels = (size_t)p.height * (size_t)p.width;
	float *values = ARENA_ARRAY(c->a, 3 * pixels, float);
	for (size_t i = 0; i < 3 * pixels; i++) {
		values[i] = fminf(fmaxf(p.data[i % 3 * pixels + i / 3], 0), 1);
		made.pixels[i] = (uint8_t)rintf(values[i] * 255);
	}
	const struct tensor t = floats_of(3, (int64_t[]){ p.height, p.width, 3 }, values);
	json_t *tensor = answer_tensor(c, out, "image", &t);
	out->json = json_pack("{s:o, s:o}", "image", tensor, "png", answer_picture(c, out, "image.png", &made));
	return STATUS_OK;
}
