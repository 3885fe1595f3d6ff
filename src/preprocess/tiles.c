// SPDX-License-Identifier: Apache-2.0
// Classes that make several pictures of one.
#include <math.h>

#include "preprocess/inside.h"

// Settings may ask for tiles of a pixel each. The largest published classes make some hundred.
static enum status tiles_check(double height, double width, double tile, struct error *err)
{
	enum { TILES_MOST = 1024 };
	double count = ceil(height / tile) * ceil(width / tile);

	if (count > TILES_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%.0f tiles of one picture: at most %d", count, TILES_MOST);
	return STATUS_OK;
}

// LLaVA-NeXT's select_best_resolution: the one that keeps most of the picture, and of those the one that wastes least.
static const int *best_pinpoint(const struct settings *s, const struct picture *in)
{
	double most = 0, least = INFINITY;
	const int *best = NULL;

	for (int i = 0; i < s->pinpoint_count; i++) {
		double h = s->pinpoints[i][0], w = s->pinpoints[i][1], scale = fmin(w / in->width, h / in->height),
		       kept = fmin(trunc(in->width * scale) * trunc(in->height * scale), (double)in->width * in->height),
		       wasted = h * w - kept;
		if (kept > most || (kept == most && wasted < least)) {
			most = kept;
			least = wasted;
			best = s->pinpoints[i];
		}
	}
	return best;
}

// The whole picture, squeezed into a square, then the tiles of the padded one, row by row; each through shape_plain.
enum status shape_pinpoints(struct job *j, const struct picture *in, struct group *out, struct error *err)
{
	const struct settings *s = j->s;
	const int *to = best_pinpoint(s, in);
	int side = s->crop.height ? s->crop.height : s->size.height ? s->size.height : s->size.shortest, height, width;
	bool square = s->size.height && s->size.width;
	struct picture p, padded;
	enum status status;

	if (!to || !side)
		return error_set(err, STATUS_BAD_INPUT, "image_grid_pinpoints, or a size, is missing");
	if ((status = tiles_check(to[0], to[1], side, err)))
		return status;
	double sh = (double)to[0] / in->height, sw = (double)to[1] / in->width;
	height = sw < sh ? (int)fmin(ceil(in->height * sw), to[0]) : to[0];
	width = sw < sh ? to[1] : (int)fmin(ceil(in->width * sh), to[1]);
	if ((status = job_resize(
		     &p, j, in, square ? s->size.height : s->size.shortest, square ? s->size.width : s->size.shortest, err)) ||
		(status = shape_plain(j, &p, out, err)) || (status = job_resize(&p, j, in, height, width, err)) ||
		(status = job_crop(&padded, j, &p, -((to[1] - width) / 2), -((to[0] - height) / 2), to[1], to[0], err)))
		return status;
	for (int y = 0; y < padded.height; y += side)
		for (int x = 0; x < padded.width; x += side) {
			int right = padded.width - x < side ? padded.width - x : side,
			    below = padded.height - y < side ? padded.height - y : side;
			if ((status = job_crop(&p, j, &padded, x, y, right, below, err)) ||
				(status = shape_plain(j, &p, out, err)))
				return status;
		}
	return STATUS_OK;
}

static int up_to(double side, int tile)
{
	return (int)(ceil(side / tile) * tile);
}

// Idefics 3: resized to whole tiles, cut into them row by row, then the whole picture as a tile. One that is a tile is not cut.
enum status shape_split(struct job *j, const struct picture *in, struct group *out, struct error *err)
{
	int tile = j->s->tile.longest;
	struct picture p = *in, whole;
	struct extent to;
	enum status s;

	if (!tile)
		return error_set(err, STATUS_BAD_INPUT, "max_image_size: longest_edge is missing");
	if ((j->s->on & DO_RESIZE) &&
		((s = size_idefics3(&to, j->s, in->height, in->width, err)) ||
			(s = job_resize(&p, j, in, to.height, to.width, err))))
		return s;
	whole = p;
	if (!(j->s->on & DO_SPLIT))
		return (s = job_resize(&p, j, &whole, tile, tile, err)) ? s : group_add(out, j, &p, err);
	double aspect = (double)p.width / p.height;
	if (p.width >= p.height) {
		to.width = up_to(p.width, tile);
		to.height = up_to(trunc((double)to.width / aspect), tile);
	} else {
		to.height = up_to(p.height, tile);
		to.width = up_to(trunc((double)to.height * aspect), tile);
	}
	if ((s = tiles_check((double)to.height, (double)to.width, tile, err)) ||
		(s = job_resize(&whole, j, &p, to.height, to.width, err)))
		return s;
	if (whole.height > tile || whole.width > tile)
		out->tiles = (struct picture_tiles){ whole.height / tile, whole.width / tile };
	for (int y = 0; (whole.height > tile || whole.width > tile) && y < whole.height; y += tile)
		for (int x = 0; x < whole.width; x += tile)
			if ((s = job_crop(&p, j, &whole, x, y, tile, tile, err)) || (s = group_add(out, j, &p, err)))
				return s;
	return (s = job_resize(&p, j, &whole, tile, tile, err)) ? s : group_add(out, j, &p, err);
}

// Gemma 3's pan and scan: 2 to scan_crops_most crops along the longer side, where they are not too small.
static int scan_crops(const struct settings *s, int longer, int shorter)
{
	double count = floor((double)longer / shorter + 0.5);

	if ((double)longer / shorter < s->scan_ratio_least)
		return 0;
	count = fmin(fmax(2, fmin(floor((double)longer / s->scan_side_least), count)), s->scan_crops_most);
	return fmin(ceil(longer / count), shorter) < s->scan_side_least ? 0 : (int)count;
}

enum status shape_scan(struct job *j, const struct picture *in, struct group *out, struct error *err)
{
	bool wide = in->width >= in->height;
	int longer = wide ? in->width : in->height, crops = 0;
	const struct settings *asked = j->s;
	struct settings resizing = *asked;
	struct picture p;

	// With torchvision the switch for it is not looked at here.
	if ((j->s->on & DO_SCAN) && j->library == LIBRARY_TORCHVISION)
		resizing.on |= DO_RESIZE;
	j->s = &resizing;
	enum status s = shape_plain(j, in, out, err);

	if (s == STATUS_OK && (asked->on & DO_SCAN)) {
		if (asked->scan_side_least <= 0 || asked->scan_crops_most <= 0)
			s = error_set(
				err, STATUS_BAD_INPUT, "do_pan_and_scan without pan_and_scan_min_crop_size and _max_num_crops");
		else
			crops = scan_crops(asked, longer, wide ? in->height : in->width);
	}
	for (int i = 0; s == STATUS_OK && i < crops; i++) {
		int side = (longer + crops - 1) / crops, at = side * i, length = longer - at < side ? longer - at : side;
		s = job_crop(&p, j, in, wide ? at : 0, wide ? 0 : at, wide ? length : in->width, wide ? in->height : length, err);
		if (s == STATUS_OK)
			s = shape_plain(j, &p, out, err);
	}
	j->s = asked;
	return s;
}
