// SPDX-License-Identifier: Apache-2.0
// Option io_binding=on: inputs and outputs stay in the memory of the device. Each input has one place there, made anew only when
// its shape changes, so that a captured graph finds it again; the copies to and from the caller's memory lie outside the time
// that is taken (session.run_ns), and the device has finished before the clock is read.
#include "backend/ort_vendor.h"

#include <string.h>

#include "base/clock.h"

enum { BY_ADDRESS = 4 }; // cudaMemcpyDefault, hipMemcpyDefault

struct ort_binding {
	const struct ort_device_memory *memory;
	OrtMemoryInfo *info;
	OrtAllocator *allocator;
	OrtIoBinding *binding;
	OrtValue **in;         // on the device
	struct tensor *held;   // their shapes; data: their place
	struct tensor *out[2]; // copies in host memory, in turns where the session keeps outputs
	size_t *room[2];
	int turn;
	bool outputs_bound, ran;
};

enum status device_memory_of(struct ort_device_memory *out, void *runtime, const char *prefix, int device, struct error *err)
{
	char function[64];

	*out = (struct ort_device_memory){ .device_id = device };
#define FIND(suffix, member) \
	snprintf(function, sizeof function, "%s%s", prefix, suffix); \
	if (!vendor_find(runtime, function, &out->member)) \
	return error_set(err, STATUS_UNAVAILABLE, "option io_binding: the vendor's runtime has no function %s", function)
	FIND("SetDevice", set_device);
	FIND("Memcpy", copy);
	FIND("DeviceSynchronize", synchronize);
#undef FIND
	return STATUS_OK;
}

// A provider's memory has had several names.
static enum status reach_memory(struct ort *o, struct ort_binding *b, struct error *err)
{
	const OrtApi *api = o->library.api;
	enum status st = STATUS_FAILED;

	for (const char *const *name = b->memory->names; *name && st; name++) {
		if ((st = ort_check(api,
			     api->CreateMemoryInfo(*name, OrtDeviceAllocator, b->memory->device_id, OrtMemTypeDefault, &b->info),
			     "naming the device's memory", err)))
			continue;
		if ((st = ort_check(api, api->CreateAllocator(o->session, b->info, &b->allocator), "reaching the device's memory",
			     err))) {
			api->ReleaseMemoryInfo(b->info);
			b->info = NULL;
		}
	}
	return st;
}

enum status ort_binding_open(struct session *s, const struct ort_device_memory *memory, struct error *err)
{
	struct ort *o = s->state;
	const OrtApi *api = o->library.api;
	struct ort_binding *b = ARENA_NEW(&s->arena, struct ort_binding);
	enum status st;

	b->memory = memory;
	b->in = ARENA_ARRAY(&s->arena, s->input_count + 1, OrtValue *);
	b->held = ARENA_ARRAY(&s->arena, s->input_count + 1, struct tensor);
	for (int i = 0; i < 2; i++) {
		b->out[i] = ARENA_ARRAY(&s->arena, s->output_count + 1, struct tensor);
		b->room[i] = ARENA_ARRAY(&s->arena, s->output_count + 1, size_t);
	}
	o->binding = b;
	if ((st = reach_memory(o, b, err)))
		return st;
	return ort_check(api, api->CreateIoBinding(o->session, &b->binding), "binding inputs and outputs", err);
}

static enum status copy(
	const struct ort_binding *b, void *to, const void *from, size_t nbytes, const char *what, struct error *err)
{
	int code = nbytes ? b->memory->copy(to, from, nbytes, BY_ADDRESS) : 0;

	return code ? error_set(err, STATUS_FAILED, "copying %s between host and device: error %d of the vendor's runtime", what,
			      code)
		    : STATUS_OK;
}

static bool same_shape(const struct tensor *a, const struct tensor *b)
{
	return a->data && a->dtype == b->dtype && a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

// A place of the input's size on the device, bound under its name.
static enum status place_input(struct session *s, size_t i, const struct tensor *in, struct error *err)
{
	struct ort *o = s->state;
	const OrtApi *api = o->library.api;
	struct ort_binding *b = o->binding;
	enum status st;

	if (b->memory->captured && b->ran)
		return error_set(err, STATUS_UNSUPPORTED,
			"input %s has another shape than when the graph was captured; enable_cuda_graph=off takes any", in->name);
	if (b->in[i])
		api->ReleaseValue(b->in[i]);
	b->in[i] = NULL;
	b->held[i] = (struct tensor){ 0 };
	if ((st = ort_check(api,
		     api->CreateTensorAsOrtValue(b->allocator, in->dim, (size_t)in->rank,
			     (ONNXTensorElementDataType)dtype_onnx(in->dtype), &b->in[i]),
		     "making room for an input on the device", err)) ||
		(st = ort_check(api, api->BindInput(b->binding, o->input_names[i], b->in[i]), "binding an input", err)))
		return st;
	b->held[i] = *in;
	b->outputs_bound = false; // their shapes may be others
	return ort_check(api, api->GetTensorMutableData(b->in[i], &b->held[i].data), "binding an input", err);
}

static enum status give_inputs(struct session *s, const struct tensor *in, struct error *err)
{
	struct ort *o = s->state;
	const OrtApi *api = o->library.api;
	struct ort_binding *b = o->binding;
	enum status st = STATUS_OK;

	for (size_t i = 0; i < s->input_count && !st; i++) {
		if (!same_shape(&b->held[i], &in[i]))
			st = place_input(s, i, &in[i], err);
		if (!st)
			st = copy(b, b->held[i].data, in[i].data, in[i].nbytes, "an input", err);
	}
	if (!st && !b->outputs_bound)
		api->ClearBoundOutputs(b->binding);
	for (size_t i = 0; i < s->output_count && !st && !b->outputs_bound; i++)
		st = ort_check(api, api->BindOutputToDevice(b->binding, o->output_names[i], b->info), "binding an output", err);
	if (!st)
		b->outputs_bound = true;
	if (!st)
		st = ort_check(api, api->SynchronizeBoundInputs(b->binding), "waiting for the inputs", err);
	if (!st && b->memory->synchronize())
		st = error_set(err, STATUS_FAILED, "waiting for the inputs: the device reports an error");
	return st;
}

static enum status fetch_output(struct session *s, size_t i, OrtValue *v, struct tensor *out, struct error *err)
{
	struct ort_binding *b = ((struct ort *)s->state)->binding;
	struct tensor *mine = &b->out[b->turn][i];
	enum status st = ort_show_output(s, &s->outputs[i], v, out, err);
	const void *there = out->data;

	if (st)
		return st;
	if (out->nbytes > b->room[b->turn][i]) {
		mine->data = arena_alloc(&s->arena, out->nbytes);
		b->room[b->turn][i] = out->nbytes;
	}
	out->data = mine->data;
	return copy(b, out->data, there, out->nbytes, "an output", err);
}

enum status ort_binding_run(struct session *s, const struct tensor *in, struct tensor *out, struct error *err)
{
	struct ort *o = s->state;
	const OrtApi *api = o->library.api;
	struct ort_binding *b = o->binding;
	OrtValue **values = NULL;
	size_t count = 0;
	int64_t begin;
	enum status st;

	if (s->past_of)
		return error_set(err, STATUS_UNSUPPORTED, "option io_binding=on cannot write a cache in place");
	if (b->memory->set_device(b->memory->device_id))
		return error_set(err, STATUS_FAILED, "device %d cannot be used", b->memory->device_id);
	if ((st = give_inputs(s, in, err)))
		return st;
	begin = clock_ns();
	if ((st = ort_check(api, api->RunWithBinding(o->session, NULL, b->binding), "running", err)) ||
		(st = ort_check(api, api->SynchronizeBoundOutputs(b->binding), "waiting for the outputs", err)))
		return st;
	s->run_ns = clock_ns() - begin;
	b->ran = true;
	if ((st = ort_check(
		     api, api->GetBoundOutputValues(b->binding, o->allocator, &values, &count), "reading the outputs", err)))
		return st;
	if (count != s->output_count)
		st = error_set(err, STATUS_FAILED, "%zu outputs are bound and %zu came back", s->output_count, count);
	b->turn = s->keeps_outputs ? !b->turn : 0;
	for (size_t i = 0; i < count; i++) {
		if (!st)
			st = fetch_output(s, i, values[i], &out[i], err);
		api->ReleaseValue(values[i]);
	}
	if (values)
		o->allocator->Free(o->allocator, values);
	return st;
}

void ort_binding_close(struct session *s)
{
	struct ort *o = s->state;
	const OrtApi *api = o->library.api;
	struct ort_binding *b = o->binding;

	if (!b)
		return;
	if (b->binding)
		api->ReleaseIoBinding(b->binding);
	for (size_t i = 0; i < s->input_count; i++)
		if (b->in[i])
			api->ReleaseValue(b->in[i]);
	if (b->allocator)
		api->ReleaseAllocator(b->allocator);
	if (b->info)
		api->ReleaseMemoryInfo(b->info);
	o->binding = NULL;
}
