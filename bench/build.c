// SPDX-License-Identifier: Apache-2.0
// What bench/build measures with: the wall time and memory of whole `assay build --link` processes, and what loading their
// result in ONNX Runtime without prepacking adds to anonymous memory.
//
//     build_cost --runs RUNS NAME ASSAY CHECKPOINT OUT LIBRARY       one model; prints a JSON object
//     build_cost --once COMMAND...                                   one command; prints its seconds and peak memory
//     build_cost --load LIBRARY GRAPH                                opens a graph; prints milliseconds and kB, used by --runs
//
// Memory is read at the stop that ptrace makes when a process is about to exit, from /proc/PID/status: VmHWM, the most that
// was ever resident, is at least the peak of anonymous memory; RssAnon is what of it was anonymous in the end. Timed runs are
// others than those, and untraced.
#include <dlfcn.h>
#include <jansson.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <onnxruntime/onnxruntime_c_api.h>

enum { TRACED = 3, LOADS = 5 };

static void die(const char *what, const char *which)
{
	fprintf(stderr, "build_cost: %s: %s\n", what, which);
	exit(1);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *x, size_t count)
{
	double *sorted = malloc(count * sizeof *sorted), result;

	memcpy(sorted, x, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, ascending);
	result = count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
	free(sorted);
	return result;
}

// A line "KEY:   number kB" of /proc/PID/status.
static long status_kb(pid_t pid, const char *key)
{
	char path[64], line[256];
	long kb = -1;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	if (!f)
		die("cannot read", path);
	while (fgets(line, sizeof line, f))
		if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':')
			kb = strtol(line + strlen(key) + 1, NULL, 10);
	fclose(f);
	return kb;
}

struct cost {
	double ms;
	long peak_kb, anonymous_kb;
}; // peak and anonymous: 0 when it was not traced

static struct cost spend(char **command, bool traced, bool loud)
{
	struct cost cost = { 0 };
	struct rusage usage;
	int status;
	double before = now_ms();
	pid_t pid = fork();

	if (pid < 0)
		die("cannot fork", command[0]);
	if (!pid) {
		if (traced)
			ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		if (!loud && !freopen("/dev/null", "w", stdout))
			_exit(127);
		execvp(command[0], command);
		_exit(127);
	}
	if (traced) {
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			die("cannot be traced", command[0]);
		ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL);
		for (int deliver = 0;;) {
			ptrace(PTRACE_CONT, pid, NULL, deliver);
			if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
				die("was not seen at its end", command[0]);
			if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_EXIT << 8)))
				break;
			deliver = WSTOPSIG(status);
		}
		cost.peak_kb = status_kb(pid, "VmHWM");
		cost.anonymous_kb = status_kb(pid, "RssAnon");
		ptrace(PTRACE_CONT, pid, NULL, 0);
	}
	if (wait4(pid, &status, 0, &usage) != pid || status)
		die("failed", command[0]);
	cost.ms = now_ms() - before;
	if (!traced)
		cost.peak_kb = usage.ru_maxrss; // not below what this small program had when it forked
	return cost;
}

// ---- ONNX Runtime -------------------------------------------------------------------------------------------------------

static const OrtApi *api;

static void check(OrtStatus *status)
{
	if (status)
		die("ONNX Runtime", api->GetErrorMessage(status));
}

static int load(const char *library, const char *graph)
{
	const OrtApiBase *(*base)(void);
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	OrtSessionOptions *options;
	OrtSession *session;
	OrtEnv *env;
	long before, after;
	double began, ms;

	if (!handle)
		die("cannot open", dlerror());
	*(void **)&base = dlsym(handle, "OrtGetApiBase");
	api = base()->GetApi(24);
	check(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "build", &env));
	check(api->CreateSessionOptions(&options));
	check(api->AddSessionConfigEntry(options, "session.disable_prepacking", "1"));
	before = status_kb(getpid(), "RssAnon");
	began = now_ms();
	check(api->CreateSession(env, graph, options, &session));
	ms = now_ms() - began;
	after = status_kb(getpid(), "RssAnon");
	printf("%.3f %ld %ld\n", ms, before, after);
	return 0;
}

static json_t *loads(const char *self, const char *library, const char *graph, double weights)
{
	double ms[LOADS], percent[LOADS], growth[LOADS];
	char command[8192];

	for (int i = 0; i < LOADS; i++) {
		int ends[2], status;
		long before, after;
		FILE *out;
		pid_t pid;

		if (pipe(ends) || (pid = fork()) < 0)
			die("cannot start", self);
		if (!pid) {
			dup2(ends[1], 1);
			close(ends[0]);
			execl(self, self, "--load", library, graph, (char *)NULL);
			_exit(127);
		}
		close(ends[1]);
		out = fdopen(ends[0], "r");
		if (!out || !fgets(command, sizeof command, out) || sscanf(command, "%lf %ld %ld", &ms[i], &before, &after) != 3)
			die("did not load", graph);
		fclose(out);
		waitpid(pid, &status, 0);
		growth[i] = (double)(after - before) / 1024;
		percent[i] = 100 * (double)(after - before) * 1024 / weights;
	}
	return json_pack("{s:i, s:f, s:f, s:f}", "loads", LOADS, "load_median_ms", median(ms, LOADS), "anonymous_growth_mib",
		median(growth, LOADS), "percent_of_weights", median(percent, LOADS));
}

static double bytes_of(const char *folder, const char *name)
{
	char path[4096];
	struct stat st;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (stat(path, &st))
		die("is not there", path);
	return (double)st.st_size;
}

static int runs_of(int count, const char *self, const char *name, char *assay, char *checkpoint, char *out, const char *library)
{
	char *command[] = { assay, "build", checkpoint, "-o", out, "--link", NULL };
	double *ms = calloc((size_t)count, sizeof *ms), peak = 0, anonymous = 0, weights;
	json_t *samples = json_array(), *row;
	char path[4096];

	for (int i = -1; i < count; i++) { // the first is not counted
		struct cost c = spend(command, false, false);

		if (i >= 0) {
			ms[i] = c.ms;
			json_array_append_new(samples, json_real(c.ms));
		}
		snprintf(path, sizeof path, "%s/model.onnx", out);
		unlink(path);
		snprintf(path, sizeof path, "%s/model.safetensors", out);
		unlink(path);
	}
	for (int i = 0; i < TRACED; i++) {
		struct cost c = spend(command, true, false);

		if ((double)c.peak_kb / 1024 > peak)
			peak = (double)c.peak_kb / 1024;
		if ((double)c.anonymous_kb / 1024 > anonymous)
			anonymous = (double)c.anonymous_kb / 1024;
	}
	weights = bytes_of(out, "model.safetensors");
	snprintf(path, sizeof path, "%s/model.onnx", out);
	qsort(ms, (size_t)count, sizeof *ms, ascending);
	row = json_pack("{s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:o, s:o}", "model", name, "runs", count, "wall_median_ms",
		median(ms, (size_t)count), "wall_fastest_ms", ms[0], "wall_slowest_ms", ms[count - 1], "peak_resident_mib", peak,
		"anonymous_at_exit_mib", anonymous, "graph_bytes", (json_int_t)bytes_of(out, "model.onnx"), "weights_bytes",
		(json_int_t)weights, "onnxruntime_prepacking_off", loads(self, library, path, weights), "wall_ms", samples);
	return json_dumpf(row, stdout, JSON_COMPACT | JSON_REAL_PRECISION(7));
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--load"))
		return load(argv[2], argv[3]);
	if (argc > 2 && !strcmp(argv[1], "--once")) {
		struct cost c = spend(argv + 2, false, false);

		printf("{\"wall_s\": %.2f, \"peak_resident_mib\": %ld}\n", c.ms / 1e3, c.peak_kb / 1024);
		return 0;
	}
	if (argc == 8 && !strcmp(argv[1], "--runs"))
		return runs_of((int)strtol(argv[2], NULL, 10), argv[0], argv[3], argv[4], argv[5], argv[6], argv[7]);
	fprintf(stderr, "usage: see the top of bench/build.c\n");
	return 1;
}
