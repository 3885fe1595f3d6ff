// SPDX-License-Identifier: Apache-2.0
// Intel's GPUs and NPUs as far as the kernel shows them, and the drivers in user space that OpenVINO's plugins want: OpenCL for
// the GPU, Level Zero for the NPU. Which devices OpenVINO itself lists stands beside these facts.
#include "platform/facts.h"

static json_t *nodes(const struct sysfs *s, const char *folder, const char *prefix)
{
	json_t *out = json_array();
	const char **names;
	const size_t count = sysfs_list(s, folder, prefix, true, &names);

	for (size_t i = 0; i < count; i++) {
		json_t *one = sysfs_device(s, arena_printf(s->arena, "%s/%s", folder, names[i]));

		if (one)
			json_array_append_new(out, one);
	}
	return out;
}

static void find_denied(json_t *out, const json_t *files)
{
	const json_t *one;
	size_t i;

	json_array_foreach(files, i, one) if (!json_is_true(json_object_get(one, "usable"))) facts_finding(out, "%s: %s",
		json_string_value(json_object_get(one, "path")), json_string_value(json_object_get(one, "reason")));
}

json_t *facts_intel(const struct facts_source *source)
{
	static const char *const variables[] = { "ONEAPI_DEVICE_SELECTOR", "ZE_AFFINITY_MASK", "ZE_ENABLE_ALT_DRIVERS",
		"OCL_ICD_VENDORS", NULL };
	const struct sysfs *s = &source->files;
	json_t *out = json_object(), *cards = facts_pci(s, PCI_INTEL), *render = nodes(s, "/dev/dri", "renderD"),
	       *accel = nodes(s, "/dev/accel", "accel");
	json_t *libraries = facts_libraries(s, "libOpenCL.so libze_loader.so libze_intel_npu.so libze_intel_gpu.so", NULL),
	       *icds = json_array();
	const char **names;
	const size_t count = sysfs_list(s, "/etc/OpenCL/vendors", "", false, &names);
	const json_t *card;
	size_t i;

	for (i = 0; i < count; i++) {
		const char *library = sysfs_line(s, "/etc/OpenCL/vendors/%s", names[i]);

		if (library && *library)
			json_array_append_new(icds, json_string(library));
	}
	facts_environment(out, variables);
	json_array_foreach(cards, i, card)
	{
		const bool npu = text_is(json_string_value(json_object_get(card, "kind")), "accelerator");
		const char *driver = json_string_value(json_object_get(card, "driver")),
			   *address = json_string_value(json_object_get(card, "address"));
		const char *name = json_string_value(json_object_get(card, json_object_get(card, "name") ? "name" : "id"));

		if (!driver)
			facts_finding(out, "an Intel %s (%s) is on the PCI bus at %s, but no kernel driver is bound to it (%s)",
				npu ? "NPU" : "GPU", name, address, npu ? "intel_vpu, Linux 6.3 or newer" : "i915 or xe");
		else if (npu && !json_array_size(accel))
			facts_finding(out,
				"the NPU's driver %s is loaded, but there is no /dev/accel/accel*: in a container, pass it in",
				driver);
		else if (npu && !json_object_get(libraries, "libze_loader.so"))
			facts_finding(out,
				"an NPU (%s) is here, but libze_loader.so.1, which OpenVINO wants for it, is not: install "
				"level-zero and the NPU's driver in user space",
				name);
		else if (!npu && !json_object_get(libraries, "libOpenCL.so"))
			facts_finding(out,
				"a GPU (%s) is here, but libOpenCL.so.1, which OpenVINO wants for it, is not: install "
				"ocl-icd-libopencl1 and intel-opencl-icd",
				name);
		else if (!npu && !json_array_size(icds))
			facts_finding(out,
				"a GPU (%s) is here, but no OpenCL driver is registered in /etc/OpenCL/vendors: install "
				"intel-opencl-icd",
				name);
	}
	if (json_array_size(cards))
		find_denied(out, render);
	find_denied(out, accel);
	if (facts_pci_unseen(s))
		facts_finding(out, "%s: whether there is an Intel GPU or NPU is not known", facts_pci_unseen(s));
	else if (!json_array_size(cards))
		facts_finding(out, "no Intel GPU and no NPU on the PCI bus: OpenVINO has the processor only");
	facts_add(out, "pci", cards);
	facts_add(out, "render_nodes", render);
	facts_add(out, "accelerator_nodes", accel);
	facts_add(out, "libraries", libraries);
	facts_add(out, "opencl_drivers", icds);
	return out;
}
