// SPDX-License-Identifier: Apache-2.0
// assay completion: what a shell needs to complete commands, options and their values, made from the tables that the parser has.
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "command.h"
#include "emit.h"
#include "hub/hub.h"
#include "onnx/precision.h"
#include "pipeline/pipeline.h"
#include "plan/verify.h"
#include "platform/platform.h"
#include "store/questions.h"

enum values { NOTHING, FILES, PLATFORMS, PRECISIONS, MODELS, TASKS, KINDS, QUERIES, SHELLS };

// "PLATFORM,PART=PLATFORM,...": platforms are completed behind an equals sign, too.
static bool has_parts(const struct cli_option *o)
{
	return o->argument && strstr(o->argument, ",PART=PLATFORM");
}

static enum values values_of(const struct cli_option *o)
{
	const char *argument = o->argument ? o->argument : "";

	if (text_starts(argument, "PLATFORM") && (!strchr(argument, '=') || has_parts(o)))
		return PLATFORMS;
	if (text_is(o->name, "precision"))
		return PRECISIONS;
	if (text_is(argument, "PIPELINE"))
		return TASKS;
	if (text_starts(argument, "KIND"))
		return KINDS;
	return text_starts(argument, "FILE") || text_starts(argument, "DIR") || text_starts(argument, "PATH") ? FILES : NOTHING;
}

static enum values words_of(const struct cli_usage *usage)
{
	return strstr(usage->synopsis, "MODEL")       ? MODELS
		: strstr(usage->synopsis, "PLATFORM") ? PLATFORMS
		: strstr(usage->synopsis, "bash|")    ? SHELLS
		: strstr(usage->synopsis, "'SQL'")    ? QUERIES
		: usage->max_words                    ? FILES
						      : NOTHING;
}

static void print_values(enum values v)
{
	const char *between = "";

	for (size_t i = 0; v == PLATFORMS && i < platform_count(); i++, between = " ")
		emit("%s%s", between, platform_get(i)->name);
	for (enum precision p = PRECISION_STORED; v == PRECISIONS && p < PRECISION_COUNT; p++, between = " ")
		emit("%s%s", between, precision_word(p));
	for (size_t i = 0; v == MODELS && i < hub_published_count(); i++, between = " ")
		emit("%s%s", between, hub_published_get(i)->name);
	for (size_t i = 0; v == TASKS && i < pipeline_task_count(); i++, between = " ")
		emit("%s%s", between, pipeline_task_name(i, NULL));
	const char *kind;
	for (size_t i = 0; v == KINDS && (kind = verify_kind_word(i, NULL)); i++, between = " ")
		emit("%s%s", between, kind);
	for (size_t i = 0; v == QUERIES && store_questions[i].name; i++, between = " ")
		emit("%s%s", between, store_questions[i].name);
	if (v == SHELLS)
		emit("bash zsh fish");
}

static bool takes_files(enum values v)
{
	return v == FILES || v == MODELS;
}

static bool is_value(const struct cli_option *o)
{
	return o->kind != CLI_FLAG;
}

// "PLATFORM,...": values are completed behind a comma, too.
static bool is_list(const struct cli_option *o)
{
	return o->argument && strstr(o->argument, ",...");
}

static const char *dashes(const struct cli_option *o)
{
	return strlen(o->name) == 1 ? "-" : "--";
}

// ---- bash and zsh: one function, which differs in how it hands words over -----------------------------------------------------

struct dialect {
	const char *head, *tail;
	const char *give, *end; // before and after words
	const char *give_list;  // before words of which several may stand, with commas between them
	const char *files;
};

static const struct dialect bash = {
	.head = "# assay completion bash >/etc/bash_completion.d/assay, or: source <(assay completion bash)\n"
		"_assay()\n{\n"
		"\tlocal at=$COMP_CWORD now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
		"command=${COMP_WORDS[1]}\n"
		// An equals sign is a word of its own: cpu,unet = openv.
		"\tlocal value=$at\n"
		"\tif [ \"$now\" = = ]; then now= value=$((at + 1)); fi\n"
		"\tif [ \"${COMP_WORDS[value-1]}\" = = ]; then\n"
		"\t\tbefore=${COMP_WORDS[value-2]}; [[ $before == -* ]] || before=${COMP_WORDS[value-3]}\n"
		"\tfi\n"
		"\tlocal lead=${now%\"${now##*[,=]}\"}\n"
		"\tCOMPREPLY=()\n",
	.give = "COMPREPLY+=($(compgen -W \"",
	.give_list = "COMPREPLY+=($(now=${now##*[,=]}; compgen -P \"$lead\" -W \"",
	.end = "\" -- \"$now\"))",
	.files = "COMPREPLY+=($(compgen -f -- \"$now\"))",
	.tail = "}\ncomplete -o filenames -F _assay assay\n",
};

static const struct dialect zsh = {
	.head = "#compdef assay\n# assay completion zsh >DIR/_assay where DIR is in $fpath, or: source <(assay completion zsh)\n"
		"_assay()\n{\n"
		"\tlocal at=$((CURRENT - 1)) now=$words[CURRENT] before=$words[CURRENT-1] command=$words[2]\n",
	.give = "compadd -- ",
	.give_list = "compset -P '*[,=]'; compadd -- ",
	.end = "",
	.files = "_files",
	.tail = "}\nif [ \"$funcstack[1]\" = _assay ]; then _assay \"$@\"; else compdef _assay assay; fi\n",
};

static void give(const struct dialect *d, enum values v, bool list)
{
	if (v != FILES && v != NOTHING) {
		emit("%s", list ? d->give_list : d->give);
		print_values(v);
		emit("%s; ", d->end);
	}
	if (takes_files(v))
		emit("%s; ", d->files);
}

struct visit {
	const struct dialect *dialect;
	const char *name; // of the command
};

static void option_values(void *context, const struct cli_usage *usage)
{
	const struct visit *v = context;

	for (const struct cli_option *o = usage->options; o && o->kind != CLI_END; o++) {
		if (!is_value(o))
			continue;
		emit("\t\"%s %s%s\") ", v->name, dashes(o), o->name);
		give(v->dialect, values_of(o), is_list(o));
		emit("return ;;\n");
	}
}

static void option_names(void *context, const struct cli_usage *usage)
{
	const struct visit *v = context;

	emit("\t%s)\n\t\tcase $now in\n\t\t-*) %s", v->name, v->dialect->give);
	for (const struct cli_option *o = usage->options; o && o->kind != CLI_END; o++)
		if (o->help)
			emit("%s%s ", dashes(o), o->name);
	emit("--help%s ;;\n\t\t*) ", v->dialect->end);
	give(v->dialect, words_of(usage), false);
	emit("true ;;\n\t\tesac ;;\n");
}

static void print_function(const struct dialect *d)
{
	const struct command *c;

	emit_lines(d->head);
	emit("\tif [ \"$at\" -eq 1 ]; then %s", d->give);
	for (size_t i = 0; (c = cli_command(i)); i++)
		emit("%s ", c->name);
	emit("help%s; return; fi\n\tcase \"$command $before\" in\n", d->end);
	for (size_t i = 0; (c = cli_command(i)); i++)
		cli_list_options(c, option_values, &(struct visit){ d, c->name });
	emit("\tesac\n\tcase $command in\n");
	for (size_t i = 0; (c = cli_command(i)); i++)
		cli_list_options(c, option_names, &(struct visit){ d, c->name });
	emit("\tesac\n");
	emit_lines(d->tail);
}

// ---- fish ----------------------------------------------------------------------------------------------------------------

// Within single quotes.
static void print_quoted(const char *text)
{
	emit("'");
	for (; *text; text++)
		emit("%s%c", *text == '\'' || *text == '\\' ? "\\" : "", *text);
	emit("'");
}

static void print_fish_values(enum values v, bool list)
{
	if (v == NOTHING || v == FILES)
		return;
	emit(list ? " -a '(__fish_append , " : " -a '");
	print_values(v);
	emit(list ? ")'" : "'");
}

static void fish_options(void *context, const struct cli_usage *usage)
{
	const struct visit *v = context;

	emit("complete -c assay -n '__fish_seen_subcommand_from %s'%s", v->name, takes_files(words_of(usage)) ? "" : " -f");
	print_fish_values(words_of(usage), false);
	emit("\n");
	for (const struct cli_option *o = usage->options; o && o->kind != CLI_END; o++) {
		if (!o->help)
			continue;
		emit("complete -c assay -n '__fish_seen_subcommand_from %s' %s %s%s", v->name, strlen(o->name) == 1 ? "-s" : "-l",
			o->name,
			!is_value(o)                        ? ""
				: takes_files(values_of(o)) ? " -rF"
							    : " -x");
		if (is_value(o))
			print_fish_values(values_of(o), is_list(o));
		emit(" -d ");
		print_quoted(o->help);
		emit("\n");
	}
}

static void print_fish(void)
{
	const struct command *c;

	emit("# assay completion fish >~/.config/fish/completions/assay.fish, or: assay completion fish | source\n");
	for (size_t i = 0; (c = cli_command(i)); i++) {
		emit("complete -c assay -n __fish_use_subcommand -f -a %s -d ", c->name);
		print_quoted(c->summary);
		emit("\n");
		cli_list_options(c, fish_options, &(struct visit){ NULL, c->name });
	}
}

static int run(int argc, char **argv)
{
	const struct cli_option options[] = { { .kind = CLI_END } };
	const struct cli_usage usage = {
		.synopsis = "assay completion bash|zsh|fish",
		.text = "Prints what the shell needs to complete commands, options, platforms, precisions and files.\n\n"
			"  source <(assay completion bash)\n"
			"  assay completion zsh >\"${fpath[1]}/_assay\"\n"
			"  assay completion fish >~/.config/fish/completions/assay.fish\n\n"
			"Exit codes: 0 printed; 1 bad use.\n",
		.options = options,
		.min_words = 1,
		.max_words = 1,
	};
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	if (text_is(argv[1], "bash"))
		print_function(&bash);
	else if (text_is(argv[1], "zsh"))
		print_function(&zsh);
	else if (text_is(argv[1], "fish"))
		print_fish();
	else
		return cli_bad_use("no completion for '%s': bash, zsh or fish", argv[1]);
	return EXIT_GOOD;
}

const struct command command_completion = { "completion", "completion of commands and options for bash, zsh and fish", run };
