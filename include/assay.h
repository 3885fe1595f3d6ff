/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay: does this model run on this hardware: how right, how fast, in how much memory, and if not, why?
 *
 *     #include <assay.h>
 *     #include <stdio.h>
 *
 *     static void event(void *context, const struct assay_event *e)
 *     {
 *             (void)context;
 *             if (e->kind == ASSAY_EVENT_ROW)
 *                     printf("%s: %s, %.2f ms\n", e->cell, e->row->verdict_word, e->row->latency_ms);
 *             else if (e->kind == ASSAY_EVENT_FOUND)
 *                     printf("%s: finished before, %s\n", e->cell, e->text);
 *     }
 *     int main(int argc, char **argv)
 *     {
 *             const char *models[] = { argc > 1 ? argv[1] : "bert-base-uncased", NULL }, *platforms[] = { "cpu", NULL };
 *             const char *options[] = { "synthetic", "layers=1", "seq=16", "batch=1,2", "runs=3", NULL };
 *             struct assay_matrix m = { .size = sizeof m, .models = models, .platforms = platforms, .options = options,
 *                     .db = "rows.duckdb", .resume = 1, .event = event };
 *             struct assay_error error;
 *             if (assay_matrix_run(&m, &error) == ASSAY_OK)
 *                     return 0;
 *             fprintf(stderr, "%s\n", error.text);
 *             return 1;
 *     }
 *
 *     cc -o example example.c $(pkg-config --cflags --libs assay)
 *
 * Every cell runs in a child process, the installed program `assay` (or $ASSAY_PROGRAM): an engine that crashes, hangs or eats
 * memory gives a row with that verdict and leaves the calling program alone; no engine is ever loaded into it.
 *
 * Errors: functions return ASSAY_OK, or another status and a sentence in *error (which may be NULL). A model that does not run
 * is not an error but a row: see `verdict`.
 * Ownership: what a function returns belongs to the caller, who frees it with the function named beside it. What a struct that
 * is given to assay points to must last until the call returns; what an event points to lasts for the event.
 * Threads: every function may be called from any thread, and several at once; but cells that are timed side by side disturb each
 * other. Events come from the thread that called. assay prints nothing, and installs one signal handler: SIGURG gets one that
 * does nothing, with which it wakes its own threads. A program that ignores SIGCHLD, or waits for all its children (waitpid(-1)),
 * takes away how a cell's process ended: one that crashed has the verdict not_asked then.
 */
#ifndef ASSAY_H
#define ASSAY_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ASSAY_PUBLIC __attribute__((visibility("default")))
#else
#define ASSAY_PUBLIC
#endif

/* What a function returns. */
enum assay_status {
	ASSAY_OK,
	ASSAY_BAD_INPUT, /* an argument, an option, a model that is not here */
	ASSAY_FAILED     /* assay could not do its work: a database, a disk, a missing program */
};

struct assay_error {
	char text[2048]; /* one sentence, no newline at the end */
};

/* How a cell ended; `assay_row.sentence` says what it means. The numbers stay what they are. */
enum assay_verdict {
	ASSAY_VERDICT_RIGHT,
	ASSAY_VERDICT_WRONG,
	ASSAY_VERDICT_LOSSY,
	ASSAY_VERDICT_UNJUDGED,
	ASSAY_VERDICT_FELL_BACK,
	ASSAY_VERDICT_COMPILES,
	ASSAY_VERDICT_UNAVAILABLE,
	ASSAY_VERDICT_UNSUPPORTED,
	ASSAY_VERDICT_NO_MEMORY,
	ASSAY_VERDICT_TIMEOUT,
	ASSAY_VERDICT_CRASHED,
	ASSAY_VERDICT_FAILED,
	ASSAY_VERDICT_NOT_ASKED,
	ASSAY_VERDICT_INTERRUPTED
};

/* The answer of a cell. Times are milliseconds, memory is MiB (2^20 bytes). NaN where nothing was measured, NULL where nothing
 * is known. */
struct assay_row {
	const char *model, *requested; /* as asked */
	const char *actual, *device; /* platform and device that ran; NULL when nothing ran. Another platform than requested: that
					took no node, and the verdict is fell_back unless allow-fallback was asked */
	enum assay_verdict verdict;
	const char *verdict_word; /* "right", "no_memory", ...: as databases and reports have it */
	const char *sentence;     /* what that verdict means */
	const char *cause;        /* why, when it is not right */
	const char *reference;    /* what judged it: golden, engine:openvino-f32, engine:ort-cpu-unoptimised */
	double load_ms, first_ms;
	double latency_ms; /* median of the warm runs */
	double peak_anonymous_mib;
	double max_abs_error, cosine; /* against the reference */
	int exit_code;                /* of `assay run`: 0 right, unjudged or compiles; 2 else, or NOT VALID; 3 wrong */
	int64_t number;               /* in the database; 0: it is not stored */
	const char *json;             /* all of it: the object that `assay run --json` prints */
};

enum assay_event_kind {
	ASSAY_EVENT_PROGRESS,    /* text: what runs, and in which phase; seconds_left */
	ASSAY_EVENT_NOTICE,      /* text: something that a person must do or know */
	ASSAY_EVENT_ROW,         /* a try of a cell ended: row */
	ASSAY_EVENT_FOUND,       /* with resume: the cell was finished before, `number` is its row; text: how it ended */
	ASSAY_EVENT_TAKEN,       /* with resume: another run is at the cell */
	ASSAY_EVENT_SWEEP_ENDED, /* larger batches are not asked; text: why */
	ASSAY_EVENT_LAST = 1000  /* others may come: leave those alone that you do not know */
};
struct assay_event {
	enum assay_event_kind kind;
	const char *cell; /* "[2/8] bert-base-uncased on cpu, batch 2"; NULL: it is about no one cell */
	const char *text; /* may be NULL */
	const struct assay_row *row;
	int64_t number;
	double seconds_left; /* of the whole matrix, guessed; NaN: nothing to guess by */
};

/* Models x platforms x values of options: what `assay matrix` runs. Zero is the default of every member but size and models. */
struct assay_matrix {
	size_t size;                  /* sizeof(struct assay_matrix): members may come to its end */
	const char *const *models;    /* ends with NULL: folders, .onnx files, names in the Hub's cache, known models' names */
	const char *const *platforms; /* ends with NULL; "openvino", "openvino:GPU", ..., as --on takes; NULL: cpu */
	const char *const *options;   /* ends with NULL: those that `assay matrix --help` lists from --batch to --cache-limit,
					  without dashes: "batch=1,8", "precision=float16", "synthetic"; NULL: none */
	const char *db;               /* DuckDB file that gets the rows; NULL: they are not stored */
	int resume;                   /* not 0: what is finished in db is not run again */
	const volatile sig_atomic_t *stop; /* not 0 in it: end; the cells that run have the verdict interrupted; may be NULL */
	void (*event)(void *context, const struct assay_event *event); /* may be NULL */
	void *context;
};

/* "0.1.0" */
ASSAY_PUBLIC const char *assay_version(void);

/* Runs the cells. Nothing is fetched: assay_fetch brings a model. */
ASSAY_PUBLIC enum assay_status assay_matrix_run(const struct assay_matrix *matrix, struct assay_error *error);

/* One cell: a model on a platform (NULL: "cpu") with options as a matrix has them (may be NULL); its row is not stored.
 * Free *row with assay_row_free. */
ASSAY_PUBLIC enum assay_status assay_run(
	const char *model, const char *platform, const char *const *options, struct assay_row **row, struct assay_error *error);
ASSAY_PUBLIC void assay_row_free(struct assay_row *row);

/* A question to a whole pipeline, as `assay pipeline` has it. Zero is the default of every member but size, model and inputs. */
struct assay_pipeline {
	size_t size;                       /* sizeof(struct assay_pipeline): members may come to its end */
	const char *model;                 /* a folder, or a name in the Hub's cache */
	const char *const *inputs;         /* ends with NULL: texts, names of files, JSON, as the command takes INPUT */
	const char *task;                  /* NULL: by the model's class */
	const char *on;                    /* as --on takes: "cpu", "cpu,unet=webgpu"; NULL: cpu */
	const char *const *options;        /* ends with NULL: "KEY=VALUE" of the task, as --option takes; NULL: none */
	const char *precision;             /* as --precision takes; NULL: as stored */
	const char *save;                  /* folder that gets pictures and tensors of the answers as files; NULL: none */
	const volatile sig_atomic_t *stop; /* may be NULL */
};
/* *json: the object that `assay pipeline --json` prints, but for its row and verdict: nothing is stored and nothing judged. A
 * model that gives no answer is ASSAY_FAILED, and the sentence says why. Free *json with assay_free. */
ASSAY_PUBLIC enum assay_status assay_pipeline_json(const struct assay_pipeline *pipeline, char **json, struct assay_error *error);

/* Brings a model ("ORG/NAME", "ORG/NAME@REVISION") from the Hub into its cache, or what is missing of it. $HF_ENDPOINT, $HF_TOKEN
 * and $HF_HUB_OFFLINE mean what they mean to huggingface_hub. `stop` may be NULL. */
ASSAY_PUBLIC enum assay_status assay_fetch(const char *model, const volatile sig_atomic_t *stop, struct assay_error *error);

/* The machine and its platforms: what `assay detect --json` prints. Free *json with assay_free. */
ASSAY_PUBLIC enum assay_status assay_detect_json(char **json, struct assay_error *error);

/* A report of all rows of a DuckDB file; format is "md", "html", "json", "yaml", "junit" (XML), "matrix" (JSON: architecture x
 * hardware) or "matrix-yaml". Free *text with assay_free. */
ASSAY_PUBLIC enum assay_status assay_report(const char *db, const char *format, char **text, struct assay_error *error);

ASSAY_PUBLIC void assay_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
