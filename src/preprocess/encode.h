// SPDX-License-Identifier: Apache-2.0
// Pictures to PNG files: 8 bits a sample, grey, RGB or RGBA.
#ifndef ASSAY_PREPROCESS_ENCODE_H
#define ASSAY_PREPROCESS_ENCODE_H

#include "preprocess/picture.h"

// Written beside the target and renamed (file_write). FAILED: what libpng says.
enum status picture_save(const struct picture *p, const char *path, struct error *err);

#endif
