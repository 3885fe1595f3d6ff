// SPDX-License-Identifier: Apache-2.0
// The least that can be written around ONNX Runtime: open a graph, fill its inputs, run it, and look at the clock before and
// after each run. What bench/overhead compares a cell with. Nothing of assay is in it.
//
//     bare_loop LIBRARY GRAPH RUNS THREADS SPINNING PREPACKING BATCH SEQUENCE        prints milliseconds, one run a line
// SPINNING: on, off or microseconds, as in the row's options.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <onnxruntime/onnxruntime_c_api.h>

enum { MOST = 16, UNTIMED = 3 }; // a cell runs three times before it is timed: first, memory, and one to settle

static const OrtApi *api;

static void check(OrtStatus *status)
{
	if (status) {
		fprintf(stderr, "bare_loop: %s\n", api->GetErrorMessage(status));
		exit(1);
	}
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static OrtValue *make_input(
	OrtSession *session, size_t i, const char *name, OrtMemoryInfo *memory, int64_t batch, int64_t sequence)
{
	OrtTypeInfo *info;
	const OrtTensorTypeAndShapeInfo *tensor;
	ONNXTensorElementDataType type;
	int64_t dims[8];
	size_t rank, count = 1, size;
	OrtValue *value = NULL;
	void *data;

	check(api->SessionGetInputTypeInfo(session, i, &info));
	check(api->CastTypeInfoToTensorInfo(info, &tensor));
	check(api->GetTensorElementType(tensor, &type));
	check(api->GetDimensionsCount(tensor, &rank));
	check(api->GetDimensions(tensor, dims, rank));
	for (size_t k = 0; k < rank; k++) {
		dims[k] = dims[k] >= 0 ? dims[k] : k ? sequence : batch;
		count *= (size_t)dims[k];
	}
	size = count * (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 ? 8 : 4);
	data = malloc(size);
	for (size_t k = 0; k < count; k++) {
		if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64)
			((int64_t *)data)[k] = strstr(name, "mask") ? 1
				: strstr(name, "type")              ? 0
				: strstr(name, "position")          ? (int64_t)k % sequence
								    : (int64_t)(k * 7919 % 89) + 1;
		else
			((float *)data)[k] = (float)(k * 7919 % 2001) / 1000 - 1;
	}
	check(api->CreateTensorWithDataAsOrtValue(memory, data, size, dims, rank, type, &value));
	api->ReleaseTypeInfo(info);
	return value;
}

int main(int argc, char **argv)
{
	const char *names[MOST], *output_names[MOST];
	OrtValue *inputs[MOST], *outputs[MOST] = { NULL };
	const OrtApiBase *(*base)(void);
	OrtSessionOptions *options;
	OrtAllocator *allocator;
	OrtMemoryInfo *memory;
	OrtSession *session;
	OrtEnv *env;
	size_t input_count, output_count, runs;
	double *ms;
	void *library;

	if (argc != 9) {
		fprintf(stderr, "usage: bare_loop LIBRARY GRAPH RUNS THREADS SPINNING PREPACKING BATCH SEQUENCE\n");
		return 1;
	}
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "bare_loop: %s\n", dlerror());
		return 1;
	}
	*(void **)&base = dlsym(library, "OrtGetApiBase");
	api = base()->GetApi(24);
	runs = strtoul(argv[3], NULL, 10);
	ms = calloc(runs, sizeof *ms);
	check(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "bare", &env));
	check(api->CreateSessionOptions(&options));
	check(api->SetIntraOpNumThreads(options, (int)strtol(argv[4], NULL, 10)));
	check(api->SetInterOpNumThreads(options, 1));
	// on, off, or for how many microseconds, as the row's option says.
	check(api->AddSessionConfigEntry(options, "session.intra_op.allow_spinning", strcmp(argv[5], "off") ? "1" : "0"));
	if (argv[5][0] >= '0' && argv[5][0] <= '9')
		check(api->AddSessionConfigEntry(options, "session.intra_op.spin_duration_us", argv[5]));
	check(api->AddSessionConfigEntry(options, "session.disable_prepacking", strcmp(argv[6], "on") ? "1" : "0"));
	check(api->CreateSession(env, argv[2], options, &session));
	check(api->GetAllocatorWithDefaultOptions(&allocator));
	check(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
	check(api->SessionGetInputCount(session, &input_count));
	check(api->SessionGetOutputCount(session, &output_count));
	if (input_count > MOST || output_count > MOST)
		return 1;
	for (size_t i = 0; i < input_count; i++) {
		char *name;

		check(api->SessionGetInputName(session, i, allocator, &name));
		names[i] = name;
		inputs[i] = make_input(session, i, name, memory, strtoll(argv[7], NULL, 10), strtoll(argv[8], NULL, 10));
	}
	for (size_t i = 0; i < output_count; i++) {
		char *name;

		check(api->SessionGetOutputName(session, i, allocator, &name));
		output_names[i] = name;
	}
	for (size_t run = 0; run < runs + UNTIMED; run++) {
		double before = now_ms(), after;
		OrtStatus *status = api->Run(
			session, NULL, names, (const OrtValue *const *)inputs, input_count, output_names, output_count, outputs);

		after = now_ms();
		check(status);
		if (run >= UNTIMED)
			ms[run - UNTIMED] = after - before;
		for (size_t i = 0; i < output_count; i++) {
			api->ReleaseValue(outputs[i]);
			outputs[i] = NULL;
		}
	}
	for (size_t i = 0; i < runs; i++)
		printf("%.6f\n", ms[i]);
	return 0;
}
