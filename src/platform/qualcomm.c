// SPDX-License-Identifier: Apache-2.0
// Qualcomm's chips: the kernel's description of the chip, the way to its DSP (FastRPC), and, on x86-64, that what QNN has there
// is an emulator of the HTP.
#include "platform/facts.h"

#include <string.h>
#include <sys/utsname.h>

json_t *facts_qualcomm(const struct facts_source *source)
{
	static const char *const variables[] = { "ADSP_LIBRARY_PATH", "DSP_LIBRARY_PATH", NULL };
	const struct sysfs *s = &source->files;
	json_t *out = json_object(), *files = json_array(), *one;
	const char *family = sysfs_line(s, "/sys/devices/soc0/family"), *machine = sysfs_line(s, "/sys/devices/soc0/machine");
	const char *board = sysfs_text(s, "/proc/device-tree/model"),
		   *architecture = source->machine ? source->machine->architecture : NULL;
	const bool here = family && (strstr(family, "Snapdragon") || strstr(family, "Qualcomm"));
	const char **names;
	const size_t count = sysfs_list(s, "/dev", "fastrpc-", false, &names);

	for (size_t i = 0; i < count; i++)
		if ((one = sysfs_device(s, arena_printf(s->arena, "/dev/%s", names[i])))) {
			if (!json_is_true(json_object_get(one, "usable")))
				facts_cause(out, "/dev/%s: %s", names[i], json_string_value(json_object_get(one, "reason")));
			json_array_append_new(files, one);
		}
	if (here) {
		facts_text(out, "soc", machine);
		facts_number(out, "soc_id", sysfs_number(s, -1, "/sys/devices/soc0/soc_id"));
		facts_text(out, "revision", sysfs_line(s, "/sys/devices/soc0/revision"));
		facts_text(out, "board", board);
		if (!count)
			facts_cause(out, "a Qualcomm chip (%s) is here, but no /dev/fastrpc-*: the DSP cannot be reached",
				machine ? machine : family);
	} else if (text_is(architecture, "x86_64")) {
		facts_finding(out,
			"no Qualcomm chip: on x86-64 QNN emulates the HTP; every device is EMULATED and its times mean nothing");
	} else {
		facts_cause(out, "no Qualcomm chip: /sys/devices/soc0 names none");
	}
	facts_environment(out, variables);
	facts_add(out, "device_files", files);
	facts_add(out, "libraries", facts_libraries(s, "libcdsprpc.so libQnnHtp.so libQnnSystem.so libQnnHtpPrepare.so", NULL));
	return out;
}
