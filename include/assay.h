/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay: does this model run on this hardware: how right, how fast, in how much memory, and if not, why?
 *
 *     #include <assay.h>
 *     #include <stdio.h>
 *     int main(int argc, char **argv)
 *     {
 *             struct assay_cell cell = { .model = argc > 1 ? argv[1] : "bert-base-uncased", .synthetic = 1, .layers = 1 };
 *             struct assay_row *row;
 *             struct assay_error error;
 *             if (assay_run(&cell, &row, &error) != 0)
 *                     return fprintf(stderr, "%s\n", error.text), 1;
 *             printf("%s on %s: %s, %.2f ms, %s\n", row->model, row->requested, row->verdict, row->latency_ms, row->sentence);
 *             return assay_row_free(row), 0;
 *     }
 *
 *     cc -o example example.c $(pkg-config --cflags --libs assay)
 *
 * Every cell runs in a child process, the installed program `assay` (or $ASSAY_PROGRAM): an engine that crashes, hangs or eats
 * memory gives a row with that verdict and leaves the calling program alone; no engine is ever loaded into it.
 *
 * Errors: functions return 0, or 1 and a sentence in *error (which may be NULL). A model that does not run is not an error but a
 * row: see `verdict`.
 * Ownership: what a function returns belongs to the caller, who frees it with the function named beside it. Text in a struct
 * given to assay is not kept after the call.
 * Threads: every function may be called from any thread, and several at once; but cells that are timed side by side disturb each
 * other. assay installs no signal handler and prints nothing.
 */
#ifndef ASSAY_H
#define ASSAY_H

#include <signal.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ASSAY_PUBLIC __attribute__((visibility("default")))
#else
#define ASSAY_PUBLIC
#endif

struct assay_error {
	char text[2048]; /* one sentence, no newline at the end */
};

/* A question. Zero is the default of every member but `model`: clear the struct, then set what differs. */
struct assay_cell {
	const char *model;     /* a folder, an .onnx file, a name in the Hub's cache, or a known model's name */
	const char *platform;  /* NULL: "cpu"; "openvino", "openvino:GPU", "null:fail=run@3", as `assay run --on` takes */
	int64_t batch;         /* 0: 1 */
	int64_t sequence;      /* tokens; 0: 128, or what the model takes if that is less */
	int64_t runs;          /* timed runs, exactly; 0: at least 11, until 3 s have passed or 662 runs are done */
	int64_t layers;        /* only the first N layers; 0: all */
	uint64_t seed;         /* of inputs and synthetic weights */
	int synthetic;         /* not 0: random weights where the model has none here */
	int static_shapes;     /* not 0: a graph with fixed shapes */
	double timeout_s;      /* wall clock, the whole cell; 0: 600 */
	int64_t memory_bytes;  /* limit of the child's anonymous memory; 0: none */
	int force;             /* not 0: try what is predicted not to fit into memory */
	const char *precision; /* NULL: weights as stored, arithmetic in float32; "int4-weights:block=64", as `assay run
				  --precision` takes */
	int64_t threads;       /* of the engine; 0: its default */
	const char *effort;    /* how long it is measured: "rapid", "quick", "normal"; NULL: as runs says, or normal */
	const char *options;   /* the engine's, "key=value,key=value", over the platform's defaults; NULL: those */
	const char *golden;    /* safetensors file with in.NAME and out.NAME to be judged by; NULL: another engine judges */
	const char *db;        /* DuckDB file that gets the row; NULL: it is not stored */
	const volatile sig_atomic_t *stop;               /* not 0 in it: end the cell, verdict "interrupted"; may be NULL */
	void (*phase)(void *context, const char *phase); /* told "build", "load", "first", "warm", ...; may be NULL */
	void *context;
	int allow_fallback; /* not 0: the platform may take no node at all; else such a cell is fell_back */
};

/* The answer. Times are milliseconds, memory is MiB (2^20 bytes). NaN where nothing was measured, NULL where nothing is known. */
struct assay_row {
	const char *model, *requested; /* as asked */
	const char *actual, *device; /* platform and device that ran; NULL when nothing ran. Another platform than requested: that
					took no node, and the verdict is fell_back unless allow_fallback was set */
	const char *verdict;         /* right wrong unjudged fell_back compiles unavailable unsupported no_memory timeout crashed
					failed interrupted */
	const char *sentence;        /* what that verdict means */
	const char *cause;           /* why, when it is not right */
	const char *reference;       /* what judged it: golden, engine:openvino-f32, engine:ort-cpu-unoptimised */
	double load_ms, first_ms;
	double latency_ms; /* median of the warm runs */
	double peak_anonymous_mib;
	double max_abs_error, cosine; /* against the reference */
	int exit_code;                /* what `assay run` would end with: 0 right, unjudged or compiles; 2 else; 3 wrong */
	const char *json;             /* all of it: the object that `assay run --json` prints */
};

/* "0.1.0" */
ASSAY_PUBLIC const char *assay_version(void);

/* Runs one cell in a child process and judges its outputs. Free *row with assay_row_free. */
ASSAY_PUBLIC int assay_run(const struct assay_cell *cell, struct assay_row **row, struct assay_error *error);
ASSAY_PUBLIC void assay_row_free(struct assay_row *row);

/* The machine and its platforms: what `assay detect --json` prints. Free *json with assay_free. */
ASSAY_PUBLIC int assay_detect_json(char **json, struct assay_error *error);

/* A report of all rows of a DuckDB file; format is "md", "html", "json", "yaml", "junit" (XML), "matrix" (JSON: architecture x
 * hardware) or "matrix-yaml". Free *text with assay_free. */
ASSAY_PUBLIC int assay_report(const char *db, const char *format, char **text, struct assay_error *error);

ASSAY_PUBLIC void assay_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
