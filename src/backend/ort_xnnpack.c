// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's XNNPACK provider: float32 kernels for the processor. It is part of the library itself or is not in it; the
// wheels of ONNX Runtime are built without it.
#include <strings.h>

#include "backend/host.h"
#include "backend/ort_vendor.h"

const struct option ort_xnnpack_options[] = {
	{ "xnnpack_threads", NULL, "threads of XNNPACK's own pool; default: the CPUs this process may use", "1..4096" },
	{ .name = NULL },
};

static enum status has_xnnpack(const struct ort_library *l, struct error *err)
{
	struct text names = { 0 };
	char **available = NULL;
	struct error ignored;
	enum status st = STATUS_OK;
	int count = 0;

	if (ort_has_provider(l, "XnnpackExecutionProvider"))
		return STATUS_OK;
	if (!ort_check(l->api, l->api->GetAvailableProviders(&available, &count), "listing its providers", &ignored)) {
		for (int i = 0; i < count; i++)
			text_addf(&names, "%s%s", i ? ", " : "", available[i]);
		if (ort_check(l->api, l->api->ReleaseAvailableProviders(available, count), "listing its providers", &ignored))
			text_add(&names, "");
	}
	st = error_set(err, STATUS_UNAVAILABLE,
		"%s is built without XnnpackExecutionProvider (it has %s); a build with --use_xnnpack in a folder of "
		"ASSAY_ENGINE_PATH is needed",
		l->path, text_get(&names));
	text_done(&names);
	return st;
}

static enum status xnnpack_devices(
	const struct provider *p, const struct ort_library *l, OrtEnv *env, struct device_list *out, struct error *err)
{
	char model[256];
	enum status st = has_xnnpack(l, err);

	(void)env;
	if (!st)
		device_add(out,
			&(struct device){ .provider = p->name,
				.name = "CPU",
				.description = host_cpuinfo("", "model name", model, sizeof model) });
	return st;
}

static enum status xnnpack_append(struct session *s, OrtSessionOptions *so, struct error *err)
{
	struct ep_options o = { 0 };
	int64_t threads;
	enum status st = has_xnnpack(&((struct ort *)s->state)->library, err);

	if (st || (st = session_option_int(s, "xnnpack_threads", 1, 4096, host_cpus(""), &threads, err)))
		return st;
	if (s->device && strcasecmp(s->device, "CPU"))
		return error_set(err, STATUS_UNAVAILABLE, "no device %s; XNNPACK's is CPU", s->device);
	s->device = "CPU";
	ep_option(&o, "intra_op_num_threads", arena_printf(&s->arena, "%lld", (long long)threads));
	session_set_option(s, "xnnpack_threads", o.values[0]);
	return ep_append(s, so, "XNNPACK", &o, err);
}

const struct ort_provider ort_xnnpack = {
	.ep = "XnnpackExecutionProvider", .devices = xnnpack_devices, .append = xnnpack_append
};
