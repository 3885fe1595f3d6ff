// SPDX-License-Identifier: Apache-2.0
// A browser as an engine: not written yet.
#include "backend/backend.h"

static const struct option options[] = { { NULL, NULL, NULL } };
static const struct provider providers[] = {
	{ "webgpu", "web", NULL, NULL },
	{ "webnn", "web", NULL, NULL },
	{ "wasm", "web", NULL, NULL },
	{ NULL, NULL, NULL, NULL },
};

static enum status browser_devices(const char *build, struct device_list *out, struct error *err)
{
	(void)build;
	(void)out;
	return error_set(err, STATUS_UNAVAILABLE, "the code that drives a browser is not written yet");
}

static enum status browser_open(struct session *s, const struct artifact *a, struct error *err)
{
	(void)s;
	(void)a;
	return error_set(err, STATUS_UNAVAILABLE, "the code that drives a browser is not written yet");
}

static enum status browser_run(struct session *s, const struct tensor *in, struct tensor *out, struct error *err)
{
	(void)s;
	(void)in;
	(void)out;
	return error_set(err, STATUS_UNAVAILABLE, "the code that drives a browser is not written yet");
}

static void browser_close(struct session *s)
{
	(void)s;
}

const struct backend backend_browser = {
	.name = "browser",
	.summary = "onnxruntime-web in a browser",
	.caps = BACKEND_TIMES_ITSELF | BACKEND_NEEDS_PARTS,
	.session_size = 1,
	.options = options,
	.providers = providers,
	.devices = browser_devices,
	.open = browser_open,
	.run = browser_run,
	.close = browser_close,
};
