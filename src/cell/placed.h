// SPDX-License-Identifier: Apache-2.0
// What of a placement is known, as columns of a row. Private to cell/.
#ifndef ASSAY_CELL_PLACED_H
#define ASSAY_CELL_PLACED_H

#include <jansson.h>

#include "backend/backend.h"

// nodes_on_platform, nodes_fused, nodes_elsewhere, partitions and copies, as row_from_json takes them; null where the engine does
// not tell. Owned by the caller.
json_t *placed_columns(const struct placement *p);

#endif
