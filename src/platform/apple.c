// SPDX-License-Identifier: Apache-2.0
// Apple's chips: what sysctl and the registry of devices say. Elsewhere only that Core ML is a part of macOS, and an Apple chip
// under Linux is named. The reading is apart from the asking, so that it is tested where it cannot be asked.
#include "platform/facts.h"

#include <stdlib.h>
#include <string.h>

#ifdef __APPLE__
#include <spawn.h>
#include <sys/sysctl.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

// `"gpu-core-count" = 16` of ioreg.
static int64_t registry_number(const char *text, const char *key)
{
	const char *at = text ? strstr(text, key) : NULL;

	at = at ? strchr(at, '=') : NULL;
	return at ? strtoll(at + 1, NULL, 10) : -1;
}

void facts_apple_texts(json_t *facts, struct arena *a, const char *sysctl, const char *ioreg)
{
	const struct sysfs s = { a, "" };
	static const struct {
		const char *key, *name;
	} numbers[] = {
		{ "hw.memsize", "memory_bytes" },
		{ "hw.physicalcpu", "cores" },
		{ "hw.perflevel0.physicalcpu", "performance_cores" },
		{ "hw.perflevel1.physicalcpu", "efficiency_cores" },
		{ "hw.perflevel0.l2cachesize", "l2_bytes" },
		{ "hw.optional.arm.FEAT_FP16", "fp16" },
		{ "hw.optional.arm.FEAT_BF16", "bf16" },
		{ "hw.optional.arm.FEAT_I8MM", "i8mm" },
		{ "hw.optional.arm.FEAT_SME", "sme" },
		{ "hw.optional.arm.FEAT_SME2", "sme2" },
	};
	const char *chip = sysfs_value(&s, sysctl, "machdep.cpu.brand_string"), *word;
	const int64_t gpu_cores = registry_number(ioreg, "\"gpu-core-count\"");

	facts_text(facts, "chip", chip);
	facts_text(facts, "model", sysfs_value(&s, sysctl, "hw.model"));
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if ((word = sysfs_value(&s, sysctl, numbers[i].key)) && *word)
			facts_number(facts, numbers[i].name, strtoll(word, NULL, 10));
	facts_number(facts, "gpu_cores", gpu_cores > 0 ? gpu_cores : -1);
	// Every chip of Apple for the Mac has a neural engine; an Intel Mac has none.
	if (chip)
		json_object_set_new(
			facts, "neural_engine", json_boolean(text_starts(chip, "Apple M") || text_starts(chip, "Apple A")));
	if (chip && !text_starts(chip, "Apple"))
		facts_finding(facts, "this is an Intel Mac (%s): Core ML has no neural engine here", chip);
	else if (chip && gpu_cores <= 0)
		facts_finding(facts, "the registry of devices does not say how many cores the GPU has");
}

#ifdef __APPLE__
static const char *ask_sysctl(struct arena *a)
{
	static const char *const texts[] = { "machdep.cpu.brand_string", "hw.model" };
	static const char *const numbers[] = { "hw.memsize", "hw.physicalcpu", "hw.perflevel0.physicalcpu",
		"hw.perflevel1.physicalcpu", "hw.perflevel0.l2cachesize", "hw.optional.arm.FEAT_FP16",
		"hw.optional.arm.FEAT_BF16", "hw.optional.arm.FEAT_I8MM", "hw.optional.arm.FEAT_SME",
		"hw.optional.arm.FEAT_SME2" };
	struct text t = { 0 };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char word[256];
		size_t n = sizeof word;

		if (!sysctlbyname(texts[i], word, &n, NULL, 0))
			text_addf(&t, "%s: %.*s\n", texts[i], (int)n, word);
	}
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		int64_t number = 0;
		size_t n = sizeof number;

		if (!sysctlbyname(numbers[i], &number, &n, NULL, 0))
			text_addf(&t, "%s: %lld\n", numbers[i], (long long)(n == 4 ? (int32_t)number : number));
	}
	const char *out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

static const char *ask_registry(struct arena *a)
{
	extern char **environ;
	char *arguments[] = { "ioreg", "-rc", "AGXAccelerator", "-d1", NULL };
	posix_spawn_file_actions_t actions;
	struct text t = { 0 };
	char buffer[4096];
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe(ends))
		return NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	const bool started = !posix_spawn(&pid, "/usr/sbin/ioreg", &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	while (started && (n = read(ends[0], buffer, sizeof buffer)) > 0)
		text_add_bytes(&t, buffer, (size_t)n);
	close(ends[0]);
	if (started)
		waitpid(pid, &status, 0);
	const char *out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}
#endif

json_t *facts_apple(const struct facts_source *source)
{
	json_t *out = json_object();

#ifdef __APPLE__
	facts_apple_texts(out, source->files.arena, ask_sysctl(source->files.arena), ask_registry(source->files.arena));
#else
	// "apple,j274\0apple,t8103\0apple,arm-platform\0": the second is the chip.
	const char *board = sysfs_text(&source->files, "/proc/device-tree/compatible");

	if (board && text_starts(board, "apple,")) {
		facts_text(out, "board", board);
		facts_cause(out, "this is Apple's hardware (%s) under another system: Core ML is a part of macOS", board);
	} else {
		facts_cause(out, "no Apple hardware, and not macOS: Core ML is a part of it");
	}
#endif
	return out;
}
