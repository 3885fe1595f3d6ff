// SPDX-License-Identifier: Apache-2.0
// Graphics cards and accelerators on the PCI bus, by sysfs: a card is there whether or not it has a driver. Each device's
// `uevent` says PCI_CLASS=30000, PCI_ID=10DE:2684, PCI_SLOT_NAME=0000:01:00.0 and, when one is bound, DRIVER=nvidia.
#include "platform/facts.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The name that the system's copy of pci.ids has: "VVVV  Vendor" and, below it, "\tDDDD  Device".
static const char *find_name(const struct sysfs *s, unsigned vendor, unsigned device)
{
	static const char *const places[] = { "/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids" };
	const char *name = NULL;
	char line[512];

	for (size_t i = 0; i < sizeof places / sizeof *places && !name; i++) {
		FILE *f = fopen(arena_printf(s->arena, "%s%s", s->root, places[i]), "re");
		bool inside = false;

		while (f && !name && fgets(line, sizeof line, f)) {
			line[strcspn(line, "\n")] = 0;
			if (*line != '\t' && *line != '#' && *line)
				inside = strtoul(line, NULL, 16) == vendor;
			else if (inside && line[0] == '\t' && line[1] != '\t' && strlen(line) > 7 &&
				strtoul(line + 1, NULL, 16) == device)
				name = arena_strdup(s->arena, line + 7);
		}
		if (f)
			fclose(f);
	}
	return name;
}

#define DEVICES "/sys/bus/pci/devices"

const char *facts_pci_unseen(const struct sysfs *s)
{
	DIR *dir = opendir(arena_printf(s->arena, "%s" DEVICES, s->root));

	if (!dir)
		return arena_printf(s->arena, "the PCI bus cannot be seen (" DEVICES ": %s)", strerror(errno));
	closedir(dir);
	return NULL;
}

json_t *facts_pci(const struct sysfs *s, unsigned vendor)
{
	json_t *out = json_array();
	const char **names;
	size_t count = sysfs_list(s, DEVICES, "", false, &names);

	for (size_t i = 0; i < count; i++) {
		const char *event = sysfs_text(s, DEVICES "/%s/uevent", names[i]);
		const char *id = sysfs_value(s, event, "PCI_ID"), *class_text = sysfs_value(s, event, "PCI_CLASS"),
			   *driver = sysfs_value(s, event, "DRIVER");
		char *colon;

		if (!id || !class_text)
			continue;
		const unsigned long kind = strtoul(class_text, NULL, 16), its_vendor = strtoul(id, &colon, 16);
		const unsigned long device = *colon == ':' ? strtoul(colon + 1, NULL, 16) : 0;
		if (its_vendor != vendor || (kind >> 16 != 0x03 && kind >> 16 != 0x12))
			continue;
		json_t *one = json_pack("{s:s, s:s}", "address", names[i], "kind",
			kind >> 16 == 0x12            ? "accelerator"
				: kind >> 8 == 0x0302 ? "3D"
						      : "display");
		json_object_set_new(one, "id", json_sprintf("%04lx:%04lx", its_vendor, device));
		json_object_set_new(one, "driver", driver && *driver ? json_string(driver) : json_null());
		facts_text(one, "name", find_name(s, (unsigned)its_vendor, (unsigned)device));
		facts_number(one, "numa_node", sysfs_number(s, -1, DEVICES "/%s/numa_node", names[i]));
		facts_text(one, "link_speed", sysfs_line(s, DEVICES "/%s/current_link_speed", names[i]));
		facts_number(one, "link_width", sysfs_number(s, -1, DEVICES "/%s/current_link_width", names[i]));
		json_array_append_new(out, one);
	}
	return out;
}
