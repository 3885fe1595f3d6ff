// SPDX-License-Identifier: Apache-2.0
// What libvorbis and libopus would take for the headers of an Ogg file, before they are given it.
#ifndef ASSAY_PREPROCESS_SOUND_OGG_H
#define ASSAY_PREPROCESS_SOUND_OGG_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// Of anything but an Ogg file nothing is looked at. BAD_INPUT: more channels or codebooks than those of a sound.
enum status ogg_check(const char *name, const uint8_t *data, size_t nbytes, struct error *err);

#endif
