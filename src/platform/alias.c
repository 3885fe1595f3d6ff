// SPDX-License-Identifier: Apache-2.0
// Other names that people type for platforms. Rows and keys hold the platform's own name.
#include <strings.h>

#include "base/text.h"
#include "platform/facts.h"
#include "platform/platform.h"

static const struct {
	const char *word, *platform;
} aliases[] = { { "nvidia", "cuda" }, { "amd", "rocm" }, { "trt", "tensorrt" }, { "coreml", "mps" } };

// The first of the table whose vendor has a card on the PCI bus; without any the first of all, whose row then says what is
// missing.
static const char *gpu(void)
{
	static const struct {
		const char *platform;
		unsigned vendor;
	} vendors[] = { { "cuda", PCI_NVIDIA }, { "rocm", PCI_AMD } };
	struct arena a = { 0 };
	const struct sysfs files = { &a, "" };
	const char *first = NULL, *found = NULL;

	for (size_t i = 0; i < platform_count() && !found; i++)
		for (size_t k = 0; k < sizeof vendors / sizeof *vendors; k++) {
			if (!text_is(platform_get(i)->name, vendors[k].platform))
				continue;
			json_t *cards = facts_pci(&files, vendors[k].vendor);

			first = first ? first : vendors[k].platform;
			found = json_array_size(cards) ? vendors[k].platform : found;
			json_decref(cards);
		}
	arena_done(&a);
	return found ? found : first;
}

const struct platform *platform_named(const char *name)
{
	for (size_t i = 0; i < platform_count(); i++)
		if (!strcasecmp(platform_get(i)->name, name))
			return platform_get(i);
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (!strcasecmp(aliases[i].word, name))
			return platform_find(aliases[i].platform);
	return strcasecmp(name, "gpu") ? NULL : platform_find(gpu());
}

const char *platform_elsewhere(const char *name)
{
	if (!strcasecmp(name, "dml") || !strcasecmp(name, "directml"))
		return "DirectML is a part of Windows, where assay does not run; `gpu` is the graphics card of this machine, by "
		       "CUDA or ROCm, and `webgpu` any";
	return NULL;
}
