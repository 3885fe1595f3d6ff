// SPDX-License-Identifier: Apache-2.0
// An engine: ONNX Runtime, OpenVINO, a browser, null. Data first, then few functions; one `const struct backend` a file, one list
// in backend.c. The pointers are not called directly: session_open/run/close/explain below hold checks, defaults, timing and
// fault injection once. Runtimes are opened with dlopen by full path, RTLD_LOCAL, and only ever in a child process.
#ifndef ASSAY_BACKEND_BACKEND_H
#define ASSAY_BACKEND_BACKEND_H

#include <jansson.h>

#include "artifact/artifact.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/tensor.h"

enum {
	BACKEND_NEEDS_PATH = 1,      // wants artifact.graph_path
	BACKEND_SOFTWARE = 2,        // its devices are not hardware (null)
	BACKEND_WRITES_IN_PLACE = 4, // can write an output where an input lies (session_share_cache)
	BACKEND_TIMES_ITSELF = 8,    // runs elsewhere: session.run_ns says how long a run took, the way there left out
	BACKEND_NEEDS_PARTS = 16,    // wants artifact.parts: graph and weights as files that a browser can fetch
};

struct option {
	const char *name;
	const char *value; // default; NULL: the engine's own
	const char *help;
	// The values that there are, apart by spaces: words, and "1..4096" for whole numbers; another one is bad use, told before
	// anything runs. NULL: the engine looks at it when it opens.
	const char *takes;
	bool reaches_out; // opens a port, or writes a file that the value names: only who asks for it here gets it
};
#define OPTION_SWITCH "on off" // also 1, yes, true and 0, no, false

// A part of an engine that serves a platform: an execution provider of ONNX Runtime, a Web API of a browser. An engine has at
// least one.
struct provider {
	const char *name;             // "cpu", "qnn", "webgpu": what a platform's route names
	const char *build;            // folder of the library that has it; two meet in one process for parts of a pipeline alone
	const struct option *options; // its own, beside the engine's; NULL: none
	const void *detail;           // the engine's
	const char *threads;          // the option that sets how many threads compute; NULL: it has no such number
	const char *threads_told;     // the option that the engine reads it back into; NULL: the same
	// The options by which it is as it is without assay's defaults, "threads=default,.."; "default" leaves one to the engine,
	// which says afterwards what it came to. NULL: they are not known.
	const char *shipped;
	// How a session is filled with queries that are there at the same time. `fill`: an option by which the engine itself
	// decides how many requests it takes, and the option in which it tells how many; NULL: there is none. `splits`: so many
	// threads may also be that many runs of one thread each, or something between.
	const char *fill, *fill_told;
	bool splits;
};

struct device {
	const char *provider;
	const char *name;        // "CPU", "GPU.0", "57": what stands after the colon of --on
	const char *description; // "AMD EPYC ..."
	bool emulated;           // a software stand-in for other hardware
	bool compiles_only;      // it is not here: a session can be opened on it and not run
	const char *features;    // words, or NULL
	const json_t *facts; // what the engine learned of it: adapter, limits, contexts; NULL. Lives as long as the list's arena
};
struct absence {
	const char *provider, *reason;
}; // of a provider that this build should have: a sentence, and what to do
struct device_list {
	struct arena *arena;           // the caller's
	const char *version, *library; // of the engine; the path of the library that was opened
	struct device *items;
	size_t count;
	struct absence *absent;
	size_t absent_count;
};
void device_add(struct device_list *l, const struct device *d); // copies texts
void device_absent(struct device_list *l, const char *provider, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Which node ran where. `where` is a provider's or a device's name as the engine spells it. `dtype`: of the first input, or
// NULL. `reason`: why it is not on the asked device, where the engine tells. `elsewhere`: it is not; session_explain sets it too
// where there is a reason, or where `where` is another than the session's option "provider". `ms`: of one profiled run; 0: not
// known.
struct placed_node {
	const char *name, *op, *dtype, *where, *kernel, *reason;
	bool fused_away, elsewhere;
	double ms;
};
struct placement {
	struct arena *arena;
	struct placed_node *nodes; // of the graph as built; joined by node name
	size_t count;
	int64_t on_platform; // nodes that ran on the asked device; -1: cannot be known
	int64_t elsewhere;   // nodes that ran on another: 0 is what a row wants; -1: cannot be known
	int64_t fused;       // nodes that the engine folded into others, counted apart
	int64_t partitions;  // stretches of the graph that the asked device took; -1: cannot be known
	int64_t copies;      // nodes that the engine added to copy between devices; -1: cannot be known
	const char *note;    // how it was learned, or why it was not
};

// How long each of the engine's own nodes took, in the order in which they ran. Names are the engine's.
struct profiled_node {
	const char *name, *op, *kernel, *where;
	bool on_device; // ms is by the device's clock, not the processor's
	double ms;
};
struct profile {
	struct arena *arena;
	const char *folder; // for files of its own, which it removes
	int64_t runs;       // to do; done, afterwards. Some that warm up go before them
	struct profiled_node *nodes;
	size_t count;
	double whole_ms; // of a profiled run, by our clock around it, as the nodes' times: the mean over the middle half of
	int64_t taken;   // the runs by their length, that many
	double least_ms, most_ms; // of all of them
};

struct session {
	const struct backend *backend;
	const struct provider *provider;
	struct arena arena; // dies with the session
	const char *device;
	json_t *options;                            // effective: every option by name, as the engine reads it back where it can
	const struct tensor_type *inputs, *outputs; // as the engine sees them
	size_t input_count, output_count;
	int64_t node_count; // of the graph given to the engine; -1 unknown
	bool is_untimed;    // of session_open_untimed: it may keep more beside its work
	bool keeps_outputs; // set by the caller: the outputs of a run stay valid through the next run, so that a
			    // cache goes back in by its pointer
	const int *past_of; // [output_count]: the input in whose memory this output is written, or -1; NULL: none is
	int64_t run_count;
	int64_t run_ns;     // of the last run by the engine's own clock: BACKEND_TIMES_ITSELF, and a session that says so (not 0)
	int64_t open_ns;    // may be set by open: how long that took by the engine's own clock; 0: as long as the call
	bool compiles_only; // set by open: it was compiled for a device that is not here, and is not run
	json_t *adapter; // may be set by open: what the device says of itself (version, limits, features); freed with the session
	int emulated;    // may be set by open: 1 a software stand-in, -1 it is not; 0: devices() has said it
	int64_t compiled_bytes; // set by open: size of what was compiled, where a file of it is kept; 0: unknown
	void *state;            // session_size bytes, zeroed
};

struct backend {
	const char *name, *summary;
	unsigned caps;
	size_t session_size;
	const struct option *options;     // ends with a NULL name
	const struct provider *providers; // ends with a NULL name
	// Of one build. UNAVAILABLE when its library is not here; a provider that has no device is listed as absent, with the
	// reason.
	enum status (*devices)(const char *build, struct device_list *out, struct error *err);
	enum status (*open)(struct session *s, const struct artifact *a, struct error *err);
	// in[input_count], out[output_count]: the backend fills data, dtype, rank, dim, nbytes of out; valid until the next run.
	enum status (*run)(struct session *s, const struct tensor *in, struct tensor *out, struct error *err);
	// May be NULL. Runs at the same time in one session: `lanes` makes room for so many, once (UNSUPPORTED: this session
	// cannot); run_lane is called from a thread for each lane, and allocates nothing of the session. The outputs of a lane
	// are valid until its next run.
	enum status (*lanes)(struct session *s, size_t count, struct error *err);
	enum status (*run_lane)(struct session *s, size_t lane, const struct tensor *in, struct tensor *out, struct error *err);
	void (*close)(struct session *s); // accepts a half-open session
	// May be NULL. Untimed; may compile a second time. `in`: representative inputs for one run.
	enum status (*explain)(
		struct session *s, const struct artifact *a, const struct tensor *in, struct placement *out, struct error *err);
	// May be NULL. Opens the model a second time. UNSUPPORTED, with the reason, where nodes have no times of their own.
	enum status (*profile)(
		struct session *s, const struct artifact *a, const struct tensor *in, struct profile *out, struct error *err);
	// Whether it will, told before anything is loaded; NULL where profile is: there is nothing to ask.
	enum status (*can_profile)(const struct provider *p, struct error *err);
	bool (*memory)(
		int64_t *pss_kib, int64_t *anonymous_kib); // may be NULL: of processes beside this one that sessions run in
	void (*end)(void);                                 // may be NULL: what was kept for a next session ends
};

extern const struct backend backend_ort, backend_openvino, backend_browser, backend_null;

size_t backend_count(void);
const struct backend *backend_get(size_t i);
const struct backend *backend_find(const char *name); // NULL if there is none

const struct provider *backend_provider(const struct backend *b, const char *name); // NULL name: the first; NULL if there is none

// Is an option of the engine, or of the provider, called so?
bool backend_has_option(const struct backend *b, const struct provider *p, const char *name, size_t length);
// Are these names of options, each with a value that its `takes` has? BAD_INPUT lists the known ones.
enum status backend_check_options(const struct backend *b, const struct provider *p, const char *options, struct error *err);
// The first of them that `reaches_out`; NULL: none.
const char *backend_reaches_out(const struct backend *b, const struct provider *p, const char *options);

enum status backend_devices(const struct backend *b, const char *build, struct device_list *out, struct error *err);

// `device` NULL: the provider's first. `options`: "key=value,key=value" over the defaults of backend and provider; an unknown
// key is BAD_INPUT with the known ones. On failure the session is closed. `s` is the caller's storage; it need not be zeroed.
enum status session_open(struct session *s, const struct backend *b, const struct provider *p, const char *device,
	const char *options, const struct artifact *a, struct error *err);
// The same for what nobody times: it may keep beside its work where its nodes go, which session_explain then makes no second
// session for.
enum status session_open_untimed(struct session *s, const struct backend *b, const struct provider *p, const char *device,
	const char *options, const struct artifact *a, struct error *err);
// Count, names, types and shapes of the inputs against what the engine declares; session_run does it first.
enum status session_check(const struct session *s, const struct tensor *in, size_t in_count, struct error *err);
enum status session_run(
	struct session *s, const struct tensor *in, size_t in_count, struct tensor *out, size_t out_count, struct error *err);
// Room for `count` runs at the same time; UNSUPPORTED where the engine has none. Then a run in one of them, from any thread.
enum status session_lanes(struct session *s, size_t count, struct error *err);
enum status session_run_lane(
	struct session *s, size_t lane, const struct tensor *in, size_t in_count, struct tensor *out, struct error *err);
// From here on each output present.X is written into the memory that is given as past_key_values.X, of the same shape: for graphs
// whose cache has the form CACHE_SHARED. UNSUPPORTED where the engine cannot.
enum status session_share_cache(struct session *s, struct error *err);
enum status session_explain(struct session *s, const struct artifact *a, const struct tensor *in, size_t in_count,
	struct placement *out, struct error *err);
// in out: arena, folder, runs.
enum status session_profile(struct session *s, const struct artifact *a, const struct tensor *in, size_t in_count,
	struct profile *out, struct error *err);
enum status backend_can_profile(const struct backend *b, const struct provider *p, struct error *err); // UNSUPPORTED says why not
// For engines: from ms[runs][nodes] and whole_ms[runs] to the members above; nodes have no times yet.
void profile_gather(struct profile *out, const double *ms, const double *whole_ms, size_t runs);
void session_close(struct session *s);                                 // zeroed or half-open is fine
const char *session_option(const struct session *s, const char *name); // effective value while opening; NULL if unset

// What an engine of this kind takes beside the graph: a path (BACKEND_NEEDS_PATH, or weights in several folders), parts
// (BACKEND_NEEDS_PARTS). `c` NULL: a user's .onnx file.
enum status backend_prepare(
	const struct backend *b, struct artifact *art, struct arena *a, const struct checkpoint *c, struct error *err);
// What processes take that engines run in beside this one; false: there are none.
bool backend_memory(int64_t *pss_kib, int64_t *anonymous_kib);
// Before a process ends: what engines kept running ends.
void backend_end(void);
// Words for the person that waits ("open this address ..."), from an engine to the listener that was set; NULL: they are dropped.
void backend_set_notice(void (*listener)(const char *text));
void backend_notice(const char *text);

// For engines. A value that an option cannot take is BAD_INPUT, in words that name the option.
bool session_option_is_own(const struct session *s, const char *name); // "default": it is left as the engine has it by itself
void session_set_option(struct session *s, const char *name, const char *text); // what turned out to be effective
enum status session_option_int(
	const struct session *s, const char *name, int64_t min, int64_t max, int64_t otherwise, int64_t *out, struct error *err);
enum status session_option_bool(struct session *s, const char *name, bool *out, struct error *err); // on, off
enum status session_option_word(
	const struct session *s, const char *name, const char *const *words, size_t count, size_t *out, struct error *err);

// library.c: finding and opening an engine's shared library.
// Order: ASSAY_ENGINE_PATH (colon separated), PREFIX/lib/assay/engines (of this program, of ASSAY_PROGRAM, of this library),
// XDG_DATA_HOME/assay/engines, the build tree's dependency folder, the system loader. In each, FOLDER/BUILD/ goes first; a build
// without a dash in its name is also found in FOLDER itself ("onnxruntime" is the plain one, "onnxruntime-gpu" is not to be
// taken for it). `pattern` is a glob of the file name, "libonnxruntime.so.*"; the newest match wins. `path` is in `a`.
// UNAVAILABLE: none (*path is NULL). NOT_ASKED: the newest is no regular file (*path is its name), which might be waited for; or
// it is nowhere, and a folder could not be looked into, or the one of XDG_DATA_HOME is one that other users may write into
// (base/owned.h), which is left out; or one of ASSAY_ENGINE_PATH could not be looked into, before it was found.
enum status library_find(struct arena *a, const char *build, const char *pattern, const char **path, struct error *err);
// The newest of the pattern in that file's folder; NULL: none.
const char *library_beside(struct arena *a, const char *file, const char *pattern);
enum status library_open(
	struct arena *a, const char *build, const char *pattern, void **handle, const char **path, struct error *err);
// The same, but its functions are looked up as each is called first: half of the time, for a library of 25,000 of which a process
// calls few. One that is not there ends the process then; names and versions of libraries are looked at here all the same.
enum status library_open_lazily(
	struct arena *a, const char *build, const char *pattern, void **handle, const char **path, struct error *err);
// dlopen of a path, which must be a regular file, or of a soname, for the system's loader; `binding` RTLD_NOW or RTLD_LAZY,
// always RTLD_LOCAL. NULL: *why, in `a`, says why.
void *library_load(struct arena *a, const char *file, int binding, const char **why);
// A library runs code of its own while it is loaded, and may not come back from it: the listener is told its name before, and
// NULL after it. library_loading is for those that an engine loads when it is asked to.
void library_set_loading(void (*listener)(const char *file));
void library_loading(const char *file);
// Of a process that is no child with a limit, and loads libraries all the same (DuckDB's): one that is still being loaded after
// so many seconds is told to `give_up`, in a thread of its own, which ends the process: the loader is locked. NULL: none is.
void library_limit(double seconds, void (*give_up)(const char *file));
// The folders that are looked in, in order, one a line with a mark whether they exist.
void library_search_path(struct text *out);

#endif
