// SPDX-License-Identifier: Apache-2.0
// The program: a table of commands. It finds the command and hands over; what a command does lies in cmd_*.c.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "assay.h"
#include "command.h"
#include "emit.h"

// In the order of `assay --help`. One line here is all that a new command needs besides its file.
static const struct command *const commands[] = {
	&command_detect,
	&command_doctor,
	&command_setup,
	&command_platforms,
	&command_inspect,
	&command_run,
	&command_matrix,
	&command_profile,
	&command_ab,
	&command_compare,
	&command_history,
	&command_reproduce,
	&command_report,
	&command_recommend,
	&command_query,
	&command_export,
	&command_import,
	&command_explain,
	&command_build,
	&command_fetch,
	&command_synth,
	&command_conform,
	&command_types,
	&command_cache,
	&command_cell,
	NULL,
};

static const struct command *find_command(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

// Hidden commands are at the end of the table: the list for "did you mean" stops before them.
static const char *listed_name(size_t i, const void *table)
{
	const struct command *const *list = table;
	return list[i] && list[i]->summary ? list[i]->name : NULL;
}

static int unknown_command(const char *name)
{
	const char *near = cli_nearest(name, listed_name, commands);
	if (near)
		return cli_bad_use("unknown command '%s'; did you mean '%s'?", name, near);
	return cli_bad_use("unknown command '%s'; `assay --help` lists them", name);
}

static void print_help(void)
{
	emit("usage: assay COMMAND [arguments]\n\n"
	     "Does this model run on this hardware: where exactly, how right, how fast, in how much memory, and if not, "
	     "why?\n\n");
	for (const struct command *const *c = commands; *c; c++)
		if ((*c)->summary)
			emit("  %-10s %s\n", (*c)->name, (*c)->summary);
	emit("\n`assay COMMAND --help` says more about one of them, `man assay` about all. A first try:\n\n"
	     "  assay run bert-base-uncased --synthetic --on cpu,openvino\n\n"
	     "Exit codes: 0 every asked cell is right, unjudged or compiles; 1 bad use or an error of assay's own;\n"
	     "2 a cell has another verdict; 3 a cell is wrong.\n");
}

static int dispatch(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
		(argc == 2 && strcmp(argv[1], "help") == 0)) {
		print_help();
		return argc < 2 ? EXIT_USE : EXIT_GOOD;
	}
	if (strcmp(argv[1], "--version") == 0) {
		emit("assay %s\n", assay_version());
		return EXIT_GOOD;
	}
	if (argv[1][0] == '-')
		return cli_bad_use(
			"options come after the command: assay COMMAND %s; `assay --help` lists the commands", argv[1]);
	bool is_help = strcmp(argv[1], "help") == 0;
	const char *name = argv[1 + is_help];
	const struct command *command = find_command(name);
	if (!command)
		return unknown_command(name);
	if (is_help) {
		char *ask[] = { (char *)command->name, "--help", NULL };
		return command->run(2, ask);
	}
	return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	// At a limit of file sizes a write fails with a sentence; the signal would end the program in silence.
	signal(SIGXFSZ, SIG_IGN);
	bool is_child = argc > 1 && strcmp(argv[1], "cell") == 0;
	cli_watch_pages(is_child);
	if (!is_child)
		cli_watch_database();
	int code = dispatch(argc, argv);
	int failure = emit_flush();
	if (failure && failure != EPIPE)
		return cli_bad_use("standard output cannot be written: %s", strerror(failure));
	return code;
}
