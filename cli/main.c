// SPDX-License-Identifier: Apache-2.0
// The program: a table of commands. It finds the command and hands over; what a command does lies in cmd_*.c.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "assay.h"
#include "command.h"
#include "emit.h"
#include "run/cell.h"

// clang-format off
// In the order of `assay --help`: what people do first, then what serves it. One line here is all that a new command needs
// besides its file.
static const struct {
	const struct command *command;
	const char *group; // begins here; NULL: the one before goes on
} commands[] = {
	{ &command_run, "Run a model" },
	{ &command_inspect, NULL },
	{ &command_report, NULL },
	{ &command_recommend, NULL },
	{ &command_matrix, NULL },
	{ &command_verify, NULL },
	{ &command_profile, NULL },
	{ &command_ab, "Compare" },
	{ &command_compare, NULL },
	{ &command_history, NULL },
	{ &command_reproduce, NULL },
	{ &command_explain, NULL },
	{ &command_detect, "This machine" },
	{ &command_doctor, NULL },
	{ &command_setup, NULL },
	{ &command_platforms, NULL },
	{ &command_types, NULL },
	{ &command_operators, NULL },
	{ &command_query, "Rows" },
	{ &command_export, NULL },
	{ &command_import, NULL },
	{ &command_models, "Models and files" },
	{ &command_fetch, NULL },
	{ &command_build, NULL },
	{ &command_synth, NULL },
	{ &command_pipeline, NULL },
	{ &command_tokenize, NULL },
	{ &command_preprocess, NULL },
	{ &command_cache, NULL },
	{ &command_conform, NULL },
	{ &command_completion, NULL },
	{ &command_cell, NULL }, // hidden ones are at the end: "did you mean" stops before them
};
// clang-format on
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i].command->name, name) == 0)
			return commands[i].command;
	return NULL;
}

static const char *listed_name(size_t i, const void *table)
{
	(void)table;
	return cli_command(i) ? cli_command(i)->name : NULL;
}

const struct command *cli_command(size_t i)
{
	return i < COMMAND_COUNT && commands[i].command->summary ? commands[i].command : NULL;
}

static int unknown_command(const char *name)
{
	const char *near = text_nearest(name, listed_name, NULL);
	if (near)
		return cli_bad_use("unknown command '%s'; did you mean '%s'?", name, near);
	return cli_bad_use("unknown command '%s'; `assay --help` lists them", name);
}

static void print_help(void)
{
	emit("usage: assay COMMAND [arguments]\n\n"
	     "Does this model run on this hardware: where exactly, how right, how fast, in how much memory, and if not, "
	     "why?\n");
	for (size_t i = 0; i < COMMAND_COUNT && commands[i].command->summary; i++) {
		if (commands[i].group)
			emit("\n%s\n", commands[i].group);
		emit("  %-11s %s\n", commands[i].command->name, commands[i].command->summary);
	}
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

// A standard descriptor that is closed would be that of the next file that is opened, and what is printed would be written into
// it. Opened for the other direction it fails as before.
static bool fill_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return false;
	return true;
}

// Who started this program may have left signals blocked, and SIGCHLD ignored: no end of a child would be heard of.
static void take_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGCHLD, SIG_DFL);
	// At a limit of file sizes a write fails with a sentence; the signal would end the program in silence.
	signal(SIGXFSZ, SIG_IGN);
}

// What these name is relative to the folder that the program is started in, and its engines are called from another. Some are
// lists, with colons.
static void take_folders(void)
{
	static const char *const names[] = { "ASSAY_CACHE", "ASSAY_ENGINE_PATH", "ASSAY_BROWSER_PATH", "LD_LIBRARY_PATH",
		"VK_ICD_FILENAMES", "VK_DRIVER_FILES", "VK_ADD_DRIVER_FILES" };
	char folder[4096];

	if (!getcwd(folder, sizeof folder))
		return;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *list = getenv(names[i]);
		bool is_cache = i == 0; // one folder, whatever its name has
		struct text whole = { 0 };

		if (!list || !*list || strcmp(list, "none") == 0)
			continue;
		for (const char *at = list;; at++) {
			size_t n = is_cache ? strlen(at) : strcspn(at, ":");

			if (n && *at != '/')
				text_addf(&whole, "%s/", folder);
			text_add_bytes(&whole, at, n);
			at += n;
			if (!*at)
				break;
			text_add(&whole, ":");
		}
		setenv(names[i], text_get(&whole), 1);
		text_done(&whole);
	}
}

int main(int argc, char **argv)
{
	if (!fill_descriptors())
		return EXIT_USE;
	take_signals();
	take_folders();
	cell_program_is_this();
	bool is_child = argc > 1 && strcmp(argv[1], "cell") == 0;
	cli_watch_pages(is_child);
	if (!is_child) {
		cli_watch_database();
		cli_limit_loading(0);
	}
	int code = dispatch(argc, argv);
	int failure = emit_flush();
	if (failure && failure != EPIPE)
		return cli_bad_use("standard output cannot be written: %s", strerror(failure));
	return code;
}
