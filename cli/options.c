// SPDX-License-Identifier: Apache-2.0
// Options from tables: parsing, --help, "did you mean", messages about bad use, and the Ctrl-C flag.
// What it does not do: know any command or any option.
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "emit.h"
#include "base/arena.h"
#include "base/text.h"
#include "store/store.h"

volatile sig_atomic_t cli_stop;

enum { HELP_COLUMN = 26, HELP_WIDTH = 100 };

int cli_bad_use(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	emit_error("assay: ");
	emit_errorv(format, ap);
	emit_error("\n");
	va_end(ap);
	return EXIT_USE;
}

int cli_error(const struct error *err)
{
	return cli_bad_use("%s", err->text);
}

const char *cli_default_db(void)
{
	const char *path = getenv("ASSAY_DB");
	return path && *path ? path : STORE_DEFAULT;
}

// A second one ends at once. What comes with the first is the same one: timeout(1) sends it to the program and to its group.
static void on_stop(int signal_number)
{
	static struct timespec first;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!cli_stop)
		first = now;
	else if ((double)(now.tv_sec - first.tv_sec) + 1e-9 * (double)(now.tv_nsec - first.tv_nsec) > 0.2)
		_exit(128 + signal_number);
	cli_stop = signal_number;
}

void cli_catch_stop(void)
{
	struct sigaction action = { .sa_handler = on_stop }, before;
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, NULL, &before);
	if (before.sa_handler != SIG_IGN) // nohup
		sigaction(SIGHUP, &action, NULL);
}

void cli_release_stop(void)
{
	struct sigaction now;

	for (size_t i = 0; i < 3; i++) {
		const int number = (const int[]){ SIGINT, SIGTERM, SIGHUP }[i];

		if (!sigaction(number, NULL, &now) && now.sa_handler == on_stop)
			signal(number, SIG_DFL);
	}
}

const char *cli_stop_name(void)
{
	return cli_stop == SIGTERM ? "SIGTERM" : cli_stop == SIGHUP ? "SIGHUP" : "SIGINT";
}

// ---- help --------------------------------------------------------------------------------------------------------

// Prints words wrapped between two columns; `column` is where the cursor stands.
static void print_wrapped(const char *text, int column)
{
	const char *p = text;
	while (*p) {
		size_t length = strcspn(p, " ");
		if (column > HELP_COLUMN && column + 1 + (int)length > HELP_WIDTH) {
			emit("\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		} else if (column > HELP_COLUMN) {
			emit(" ");
			column++;
		}
		emit("%.*s", (int)length, p);
		column += (int)length;
		p += length;
		p += strspn(p, " ");
	}
	emit("\n");
}

static void print_option(const char *name, const char *argument, const char *help)
{
	int column = emit("  %s%s%s%s", strlen(name) == 1 ? "-" : "--", name, argument ? " " : "", argument ? argument : "");
	if (column >= HELP_COLUMN) {
		emit("\n");
		column = 0;
	}
	emit("%*s", HELP_COLUMN - column, "");
	print_wrapped(help, HELP_COLUMN);
}

static void print_help(const struct cli_usage *usage)
{
	emit("usage: %s\n\n", usage->synopsis);
	for (const struct cli_option *o = usage->options; o && o->kind != CLI_END; o++)
		if (o->help)
			print_option(o->name, o->argument, o->help);
	print_option("help", NULL, "this text");
	if (usage->text) {
		emit("\n");
		emit_lines(usage->text);
		if (!text_ends(usage->text, "\n"))
			emit("\n");
	}
}

// ---- parsing -----------------------------------------------------------------------------------------------------

static struct arena lists; // what lists hold lives till exit

static void list_add(struct cli_list *list, const char *text)
{
	const char **items = ARENA_ARRAY(&lists, (size_t)list->count + 1, const char *);

	if (list->count)
		memcpy(items, list->items, (size_t)list->count * sizeof *items);
	items[list->count++] = text;
	list->items = items;
}

static void list_split(struct cli_list *list, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, ",");

		if (length)
			list_add(list, arena_strndup(&lists, text, length));
		text += length + (text[length] == ',');
	}
}

static int set_value(const struct cli_option *o, const char *shown, const char *value)
{
	bool limited = o->min != 0 || o->max != 0;
	int64_t integer;
	double real;

	switch (o->kind) {
	case CLI_TEXT:
		*(const char **)o->out = value;
		return 0;
	case CLI_LIST:
		if (!value[strspn(value, ",")])
			return cli_bad_use("%s wants %s, not '%s'", shown, o->argument, value);
		list_split(o->out, value);
		return 0;
	case CLI_VALUES:
		list_add(o->out, value);
		return 0;
	case CLI_INTEGER:
		if (!text_to_int(value, limited ? (int64_t)o->min : INT64_MIN, limited ? (int64_t)o->max : INT64_MAX, &integer))
			return limited
				? cli_bad_use("%s wants a whole number from %.0f to %.0f, not '%s'", shown, o->min, o->max, value)
				: cli_bad_use("%s wants a whole number, not '%s'", shown, value);
		*(int64_t *)o->out = integer;
		return 0;
	case CLI_REAL:
	case CLI_GIB:
		if (!text_to_double(value, limited ? o->min : -1e300, limited ? o->max : 1e300, &real))
			return limited ? cli_bad_use("%s wants a number from %g to %g, not '%s'", shown, o->min, o->max, value)
				       : cli_bad_use("%s wants a number, not '%s'", shown, value);
		if (o->kind == CLI_GIB)
			*(int64_t *)o->out = (int64_t)(real * 1073741824.0);
		else
			*(double *)o->out = real;
		return 0;
	case CLI_FLAG:
	case CLI_END:
		break;
	}
	return 0;
}

static const char *option_name(size_t i, const void *table)
{
	const struct cli_option *o = table;
	for (size_t k = 0; k <= i; k++)
		if (o[k].kind == CLI_END)
			return NULL;
	return o[i].name;
}

static const struct cli_option *find_option(const struct cli_option *options, const char *name, size_t length)
{
	for (const struct cli_option *o = options; o && o->kind != CLI_END; o++)
		if (strlen(o->name) == length && strncmp(o->name, name, length) == 0)
			return o;
	return NULL;
}

static int unknown_option(const struct cli_usage *usage, const char *argument, const char *name, size_t length)
{
	char word[64];
	snprintf(word, sizeof word, "%.*s", (int)length, name);
	const char *near = usage->options && length > 1 ? text_nearest(word, option_name, usage->options) : NULL;
	if (near)
		return cli_bad_use("unknown option %s; did you mean %s%s?", argument, near[1] ? "--" : "-", near);
	return cli_bad_use("unknown option %s; usage: %s", argument, usage->synopsis);
}

static int parse_option(const struct cli_usage *usage, int argc, char **argv, int *i)
{
	const char *argument = argv[*i];
	bool is_long = argument[1] == '-';
	const char *name = argument + 1 + is_long;
	// --name=value; for a letter also -ovalue, as compilers take it.
	size_t length = is_long ? strcspn(name, "=") : 1;
	const char *value = name[length] == '\0' ? NULL : name + length + is_long;
	const struct cli_option *o = find_option(usage->options, name, length);
	char shown[72];

	if (!o)
		return unknown_option(usage, argument, name, length);
	snprintf(shown, sizeof shown, "%s%s", is_long ? "--" : "-", o->name);
	if (o->kind == CLI_FLAG) {
		if (value)
			return is_long ? cli_bad_use("%s takes no value", shown)
				       : unknown_option(usage, argument, name, strlen(name));
		*(bool *)o->out = true;
		return 0;
	}
	if (!value) {
		const char *next = *i + 1 < argc ? argv[*i + 1] : NULL;
		const char *given = next && next[0] == '-' && next[1] == '-' && next[2] ? next + 2 : NULL;

		if (!next)
			return cli_bad_use("%s wants a value: %s", shown, o->argument ? o->argument : "VALUE");
		if (given && find_option(usage->options, given, strcspn(given, "=")))
			return cli_bad_use("%s wants a value, %s, and not another option: %s", shown,
				o->argument ? o->argument : "VALUE", next);
		value = argv[++*i];
	}
	if (o->kind != CLI_TEXT && *value == '\0')
		return cli_bad_use("%s wants a value: %s", shown, o->argument ? o->argument : "VALUE");
	int code = set_value(o, shown, value);
	while (code == 0 && usage->max_words == 0 && (o->kind == CLI_LIST || o->kind == CLI_VALUES) && *i + 1 < argc &&
		argv[*i + 1][0] != '-' && argv[*i + 1][0])
		code = set_value(o, shown, argv[++*i]);
	return code;
}

static struct {
	void (*visit)(void *context, const struct cli_usage *usage);
	void *context;
} lister;

void cli_list_options(const struct command *command, void (*visit)(void *context, const struct cli_usage *), void *context)
{
	char *argv[] = { (char *)(uintptr_t)command->name, NULL };

	lister.visit = visit;
	lister.context = context;
	command->run(1, argv);
	lister.visit = NULL;
}

int cli_parse(const struct cli_usage *usage, int argc, char **argv, int *words)
{
	int count = 0;
	bool options_over = false;

	if (lister.visit) {
		lister.visit(lister.context, usage);
		return EXIT_GOOD;
	}

	for (int i = 1; i < argc; i++) {
		if (options_over || argv[i][0] != '-' || argv[i][1] == '\0') {
			argv[++count] = argv[i];
		} else if (strcmp(argv[i], "--") == 0) {
			options_over = true;
		} else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			print_help(usage);
			return EXIT_GOOD;
		} else if (parse_option(usage, argc, argv, &i) != 0) {
			return EXIT_USE;
		}
	}
	if (count < usage->min_words)
		return cli_bad_use("too few arguments; usage: %s", usage->synopsis);
	if (usage->max_words >= 0 && count > usage->max_words)
		return cli_bad_use("unexpected argument '%s'; usage: %s", argv[usage->max_words + 1], usage->synopsis);
	*words = count;
	return -1;
}
