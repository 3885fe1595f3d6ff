// SPDX-License-Identifier: Apache-2.0
// A command: one file cli/cmd_NAME.c, one `const struct command`, one line in main.c's table. Options are a table in the
// command; parsing, --help, "did you mean" and the usage text come from it.
#ifndef ASSAY_CLI_COMMAND_H
#define ASSAY_CLI_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct command {
	const char *name;
	const char *summary;               // one line for `assay --help`; NULL: not listed there
	int (*run)(int argc, char **argv); // argv[0] is the command's name; returns the exit code
};

enum cli_kind { CLI_FLAG, CLI_TEXT, CLI_INTEGER, CLI_REAL, CLI_LIST, CLI_VALUES, CLI_GIB, CLI_END };

struct cli_option {
	const char *name; // "batch" for --batch N and --batch=N; one letter, "o", for -o N and --o N
	enum cli_kind kind;
	void *out; // bool *, const char **, int64_t *, double *, struct cli_list * (LIST, VALUES), int64_t * of bytes (GIB)
	const char *argument; // "N" in the help; NULL for a flag
	const char *help;     // NULL: not listed (another spelling of the option above)
	double min, max;      // of a number; both 0: any
};

struct cli_list {
	const char **items;
	int count;
}; // of LIST: "a,b,c" and repeated options add up; of VALUES: each as typed, "1,2,4" is one; lives till exit

struct cli_usage {
	const char *synopsis;             // "assay run MODEL... [options]"
	const char *text;                 // paragraphs and examples after the options; may be NULL
	const struct cli_option *options; // ends with CLI_END
	int min_words, max_words;         // positional arguments; max -1: any number
};

enum { EXIT_GOOD = 0, EXIT_USE = 1, EXIT_VERDICT = 2, EXIT_WRONG = 3 };

// Parses; the positional words are left at argv[1..*words], options may stand anywhere, "--" ends them. Returns -1 to go
// on, else the exit code to return at once (0 after --help, 1 after a message about bad use on standard error). In a command that
// takes no words a list may also be typed with spaces: --models a b.
int cli_parse(const struct cli_usage *usage, int argc, char **argv, int *words);
// Shows `visit` the usage of a command, which then does nothing.
void cli_list_options(const struct command *command, void (*visit)(void *context, const struct cli_usage *), void *context);
const struct command *cli_command(size_t i); // of main.c, those that are listed; NULL after the last
// "assay: TEXT" on standard error; returns EXIT_USE.
int cli_error(const struct error *err);
int cli_bad_use(const char *format, ...) __attribute__((format(printf, 1, 2)));
// For commands that work in the cache, once, after their options. -1: go on, perhaps after a sentence about what is not cleaned
// up; else the exit code: another user could have put something into it (base/cache.h).
int cli_cache_ready(void);
// Where `assay setup` unpacks what it fetches, in `a`.
enum status cli_setup_folder(const char **folder, struct arena *a, struct error *err);
// $ASSAY_DB, else "assay.duckdb".
const char *cli_default_db(void);
// Installs the Ctrl-C handler (SIGINT, SIGTERM) that sets the flag; a second one, which does not come with the first, ends the
// program at once.
extern volatile sig_atomic_t cli_stop;
void cli_catch_stop(void);
void cli_release_stop(void);     // a signal ends the program again
const char *cli_stop_name(void); // "SIGINT": the signal that came

// A mapped page that cannot be read (SIGBUS) becomes a message and EXIT_USE; of a child, that message and the signal.
void cli_watch_pages(bool is_child);
// The same for a database that DuckDB crashes on; not in a child, whose parent tells its signals.
void cli_watch_database(void);
// Each library that this process loads itself (DuckDB's) has a minute, or `timeout_s` where a cell has less; 0: a minute. One
// that is not loaded by then ends the program with its name and EXIT_USE. Not in a child, whose parent has a limit.
void cli_limit_loading(double timeout_s);

extern const struct command command_export, command_import;
extern const struct command command_doctor, command_setup, command_platforms;
extern const struct command command_detect, command_inspect, command_synth, command_build, command_run, command_matrix;
extern const struct command command_ab, command_compare, command_recommend, command_history, command_reproduce, command_profile,
	command_report, command_query, command_explain, command_conform, command_models, command_types, command_operators,
	command_cache, command_cell, command_fetch, command_completion, command_tokenize, command_preprocess, command_pipeline,
	command_verify;

#endif
