// SPDX-License-Identifier: Apache-2.0
#include "pipeline/speak.h"

enum status speak_frames(struct call *c, struct part *m, struct pipeline_answer *out, struct error *err)
{
	(void)c, (void)m, (void)out;
	return error_set(err, STATUS_UNSUPPORTED, "not yet");
}
