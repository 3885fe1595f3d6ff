// SPDX-License-Identifier: Apache-2.0
// assay inspect of an .onnx file that assay did not build.
#ifndef ASSAY_CLI_INSPECT_ONNX_H
#define ASSAY_CLI_INSPECT_ONNX_H

#include "hub/hub.h"

enum status inspect_onnx(const struct hub_model *hub, bool json, struct error *err);

#endif
