// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// What is read of machines made of files (data/machines/README.md): processors, cards, drivers, what hides them, what holds a
// process.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "platform/facts.h"

struct made {
	struct arena arena;
	struct machine machine;
	json_t *facts, *drivers;
	const char *root;
};

static const char *const hiding[] = { "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
	"HSA_OVERRIDE_GFX_VERSION", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "VK_DRIVER_FILES", "VK_ICD_FILENAMES",
	"KUBERNETES_SERVICE_HOST" };

static int make(void **state)
{
	for (size_t i = 0; i < sizeof hiding / sizeof *hiding; i++)
		unsetenv(hiding[i]);
	*state = calloc(1, sizeof(struct made));
	return *state ? 0 : -1;
}

static int drop(void **state)
{
	struct made *m = *state;

	json_decref(m->facts);
	json_decref(m->drivers);
	arena_done(&m->arena);
	free(m);
	return 0;
}

static void look(struct made *m, const char *machine, const char *platform)
{
	m->root = arena_printf(&m->arena, "%s/tests/unit/data/machines/%s", TEST_SOURCE, machine);
	machine_detect_at(&m->machine, &m->arena, m->root);
	const struct facts_source source = { { &m->arena, m->root }, m->drivers, &m->machine };
	json_decref(m->facts);
	m->facts = facts_of(platform, &source);
	assert_non_null(m->facts);
}

// "gpus.0.name" of the facts; NULL when it is not there.
static const json_t *at(const struct made *m, const char *path)
{
	const json_t *v = m->facts;

	while (*path && v) {
		const size_t n = strcspn(path, ".");
		const char *key = arena_strndup((struct arena *)&m->arena, path, n);

		v = json_is_array(v) ? json_array_get(v, strtoul(key, NULL, 10)) : json_object_get(v, key);
		path += n + (path[n] == '.');
	}
	return v;
}

static void is_text(const struct made *m, const char *path, const char *expected)
{
	const json_t *v = at(m, path);

	if (!json_is_string(v))
		fail_msg("%s is no text", path);
	assert_string_equal(json_string_value(v), expected);
}

static void is_number(const struct made *m, const char *path, int64_t expected)
{
	const json_t *v = at(m, path);

	if (!json_is_integer(v))
		fail_msg("%s is no number", path);
	assert_int_equal(json_integer_value(v), expected);
}

static void is_true(const struct made *m, const char *path, bool expected)
{
	const json_t *v = at(m, path);

	if (!json_is_boolean(v))
		fail_msg("%s is neither true nor false", path);
	assert_int_equal(json_is_true(v), expected);
}

static void is_absent(const struct made *m, const char *path)
{
	if (at(m, path))
		fail_msg("%s is there", path);
}

static bool finds(const struct made *m, const char *words)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(m->facts, "findings"), i, one) if (strstr(json_string_value(one), words)) return true;
	return false;
}

static void must_find(const struct made *m, const char *words)
{
	if (!finds(m, words)) {
		char *all = json_dumps(json_object_get(m->facts, "findings"), JSON_ENCODE_ANY);

		print_message("no finding says '%s': %s\n", words, all ? all : "there is none");
		free(all);
		fail();
	}
}

// ---- processors ---------------------------------------------------------------------------------------------------------

static void test_virtual_machine(void **state)
{
	struct made *m = *state;

	look(m, "vm-epyc", "cpu");
	assert_string_equal(m->machine.cpu_model, "AMD EPYC");
	assert_string_equal(m->machine.features,
		"sse4_1 sse4_2 avx avx2 fma f16c avx512f avx512bw avx512cd avx512dq avx512vl avx512_vnni avx512_bf16");
	assert_int_equal(m->machine.cores, 2);
	assert_non_null(m->machine.hypervisor);
	is_text(m, "caches.1.name", "L1i");
	is_number(m, "caches.3.bytes", 32 << 20);
	is_number(m, "caches.3.shared_by_threads", 2);
	is_text(m, "microcode", "0x1000065");
	is_true(m, "threads_share_cores", false);
	is_text(m, "frequency.idle_driver", "haltpoll");
	is_absent(m, "frequency.governor");
	is_absent(m, "frequency.turbo");
	must_find(m, "the hypervisor hides how the clock is governed");
	is_text(m, "container.kind", "docker");
	is_text(m, "limits.cgroup", "v1 and v2");
	is_text(m, "limits.allowed_cpus", "0-1");
	is_absent(m, "limits.cpu_quota");
	is_absent(m, "limits.memory_bytes");
	look(m, "vm-epyc", "cuda");
	must_find(m, "no NVIDIA card: none on the PCI bus");
	look(m, "vm-epyc", "rocm");
	must_find(m, "no AMD card: none on the PCI bus");
	look(m, "vm-epyc", "openvino");
	is_absent(m, "pci");
	look(m, "vm-epyc", "mps");
	must_find(m, "Core ML is a part of it");
}

static void test_two_sockets(void **state)
{
	struct made *m = *state;

	look(m, "xeon-amx", "cpu");
	assert_int_equal(m->machine.sockets, 2);
	assert_int_equal(m->machine.cores, 4);
	assert_int_equal(m->machine.threads, 8);
	assert_non_null(strstr(m->machine.features, "amx_tile amx_int8 amx_bf16"));
	assert_null(m->machine.hypervisor);
	is_number(m, "caches.0.bytes", 48 << 10);
	is_number(m, "caches.2.bytes", 2 << 20);
	is_number(m, "caches.3.bytes", 105 << 20);
	is_number(m, "caches.3.shared_by_threads", 4);
	is_number(m, "numa_nodes.1.node", 1);
	is_text(m, "numa_nodes.1.cpus", "2-3,6-7");
	is_number(m, "numa_nodes.1.memory_bytes", (int64_t)264000000 * 1024);
	is_text(m, "numa_nodes.0.distance", "10 21");
	is_true(m, "threads_share_cores", true);
	is_text(m, "frequency.driver", "intel_pstate");
	is_text(m, "frequency.governor", "powersave");
	is_text(m, "frequency.energy_preference", "balance_performance");
	is_number(m, "frequency.base_khz", 2000000);
	is_number(m, "frequency.max_khz", 3800000);
	is_true(m, "frequency.turbo", true);
	is_text(m, "frequency.idle_governor", "menu");
	must_find(m, "the frequency governor is powersave");
	is_absent(m, "container");
	is_text(m, "limits.cgroup", "v2");
	is_text(m, "product", "Two Socket Server");
	// A display of another vendor is no card of NVIDIA's.
	look(m, "xeon-amx", "cuda");
	is_absent(m, "pci");
}

static void test_arm(void **state)
{
	struct made *m = *state;

	look(m, "arm-sve", "cpu");
	assert_string_equal(m->machine.cpu_model, "Neoverse V1");
	assert_string_equal(m->machine.features, "asimd asimdhp asimddp asimdfhm sve bf16 i8mm svebf16 svei8mm");
	assert_int_equal(m->machine.sockets, 2);
	assert_int_equal(m->machine.cores, 4);
	is_text(m, "frequency.governor", "performance");
	is_absent(m, "frequency.turbo");
	is_absent(m, "core_kinds"); // one capacity is one kind
	assert_false(finds(m, "governor"));
	assert_string_equal(cpu_arm_name(0x41, 0xd4f), "Neoverse V2");
	assert_null(cpu_arm_name(0x41, 0x123));
}

static void test_two_kinds_of_cores(void **state)
{
	struct made *m = *state;

	look(m, "laptop-nvidia-no-driver", "cpu");
	assert_int_equal(m->machine.cores, 3);
	is_text(m, "core_kinds.performance_cpus", "0-1");
	is_text(m, "core_kinds.efficiency_cpus", "2-3");
	is_text(m, "frequency.governor", "performance powersave"); // they differ
	is_number(m, "frequency.allowed_max_khz", 2400000);
	is_true(m, "frequency.turbo", false);
}

// Nobody could look at the bus: nothing says that it has no card.
static void test_unseen_bus(void **state)
{
	static const char *const platforms[] = { "cuda", "rocm", "openvino" };
	struct made *m = *state;

	for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++) {
		look(m, "arm-sve", platforms[i]);
		must_find(m, "the PCI bus cannot be seen (/sys/bus/pci/devices: No such file or directory)");
		assert_false(finds(m, "on the PCI bus"));
	}
}

static void test_container(void **state)
{
	struct made *m = *state;

	look(m, "container-v2", "cpu");
	is_text(m, "container.kind", "kubernetes");
	is_text(m, "limits.cgroup", "v2");
	assert_true(json_real_value(at(m, "limits.cpu_quota")) == 1.5);
	is_number(m, "limits.memory_bytes", 2147483648);
	is_number(m, "limits.memory_left_bytes", 2147483648 - 1000000000 + 50000000);
	assert_true(m->machine.usable_cpus <= 2);
	assert_int_equal(m->machine.memory_limit_bytes, 2147483648);
	assert_int_equal(m->machine.memory_available_bytes, 2147483648 - 1000000000 + 50000000);
	must_find(m, "a control group allows 1.50 CPUs");
}

// ---- cards --------------------------------------------------------------------------------------------------------------

static void test_card_without_driver(void **state)
{
	struct made *m = *state;

	look(m, "laptop-nvidia-no-driver", "cuda");
	is_text(m, "pci.0.address", "0000:01:00.0");
	is_text(m, "pci.0.id", "10de:28a0");
	is_text(m, "pci.0.name", "AD107M [GeForce RTX 4060 Max-Q / Mobile]");
	assert_true(json_is_null(at(m, "pci.0.driver")));
	is_absent(m, "pci.1"); // its sound device is none
	is_absent(m, "kernel_driver");
	must_find(m,
		"an NVIDIA card (AD107M [GeForce RTX 4060 Max-Q / Mobile]) is on the PCI bus at 0000:01:00.0, but NVIDIA's "
		"kernel driver is not loaded");
	is_text(m, "cause", json_string_value(at(m, "findings.0")));
	look(m, "laptop-nvidia-no-driver", "openvino");
	is_text(m, "pci.0.name", "Raptor Lake-P [Iris Xe Graphics]");
	is_text(m, "pci.0.driver", "i915");
	is_true(m, "render_nodes.0.usable", true);
	must_find(m, "libOpenCL.so.1, which OpenVINO wants for it, is not");
}

static void test_nvidia(void **state)
{
	struct made *m = *state;

	look(m, "nvidia-two-cards", "cuda");
	is_text(m, "kernel_driver", "580.65.06");
	is_text(m, "gpus.1.name", "NVIDIA A100-SXM4-40GB");
	is_text(m, "gpus.1.uuid", "GPU-22222222-aaaa-bbbb-cccc-000000000002");
	is_text(m, "pci.0.kind", "3D");
	is_true(m, "gpus.0.visible", true);
	is_true(m, "device_files.0.usable", true);
}

static const json_t *library(const struct made *m, const char *name)
{
	return json_object_get(json_object_get(m->facts, "libraries"), name);
}

static void test_libraries(void **state)
{
	struct made *m = *state;

	look(m, "nvidia-two-cards", "cuda");
	assert_string_equal(json_string_value(json_object_get(library(m, "libcudart.so"), "version")), "13.0.96");
	assert_string_equal(json_string_value(json_object_get(library(m, "libcudart.so"), "path")),
		"/usr/local/cuda/lib64/libcudart.so.13.0.96");
	assert_string_equal(json_string_value(json_object_get(library(m, "libcublas.so"), "path")),
		"/usr/local/cuda/lib64/libcublas.so.13.0.2");
	assert_null(library(m, "libcudnn.so"));
	// The driver is older than the runtime that lies there.
	m->drivers = json_pack("{s:{s:s, s:s, s:[{s:i, s:s, s:s}]}}", "nvml", "driver", "570.1", "cuda", "12.8", "gpus", "index",
		0, "name", "A100", "uuid", "GPU-1");
	look(m, "nvidia-two-cards", "cuda");
	must_find(m, "the driver supports CUDA 12.8, but the CUDA runtime here is 13.0.96");
	is_text(m, "gpus.0.name", "A100"); // NVML's list goes before the kernel's
	is_absent(m, "gpus.1");
	is_absent(m, "nvml.gpus");
}

static void test_hidden_nvidia(void **state)
{
	struct made *m = *state;
	static const struct {
		const char *list;
		bool first, second;
	} cases[] = {
		{ "0,1", true, true },
		{ "1", false, true },
		{ "", false, false },
		{ "-1", false, false },
		{ "0,-1,1", true, false },
		{ "7,0", false, false },
		{ "GPU-2222", false, true },
		{ "GPU-2222,GPU-11111111-aaaa", true, true },
		{ "none", false, false },
		{ "1,0", true, true },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		setenv("CUDA_VISIBLE_DEVICES", cases[i].list, 1);
		look(m, "nvidia-two-cards", "cuda");
		print_message("CUDA_VISIBLE_DEVICES=%s\n", cases[i].list);
		is_true(m, "gpus.0.visible", cases[i].first);
		is_true(m, "gpus.1.visible", cases[i].second);
		is_text(m, "environment.CUDA_VISIBLE_DEVICES", cases[i].list);
		assert_int_equal(finds(m, "hides every card"), !cases[i].first && !cases[i].second);
		assert_int_equal(finds(m, "hides 1 of 2 cards"), cases[i].first != cases[i].second);
		assert_int_equal(at(m, "cause") != NULL, !cases[i].first && !cases[i].second);
	}
	unsetenv("CUDA_VISIBLE_DEVICES");
}

static void test_amd(void **state)
{
	struct made *m = *state;

	look(m, "amd-two-gpus", "rocm");
	is_text(m, "gpus.0.architecture", "gfx90a");
	is_number(m, "gpus.0.compute_units", 104);
	is_number(m, "gpus.0.memory_bytes", 68702699520);
	is_text(m, "gpus.0.uuid", "GPU-123456789abcdef0");
	is_text(m, "gpus.1.architecture", "gfx1100");
	is_number(m, "gpus.1.compute_units", 96);
	is_number(m, "gpus.1.memory_bytes", 25753026560);
	is_absent(m, "gpus.1.uuid");
	is_absent(m, "gpus.2"); // the first node is the processor
	is_number(m, "cards.1.memory_used_bytes", 900000000);
	is_absent(m, "cards.2"); // card0-DP-1 is a plug
	is_text(m, "kernel_driver", "6.10.5");
	is_text(m, "rocm", "6.3.4-76");
	is_text(m, "device_files.0.path", "/dev/kfd");
	is_text(m, "device_files.2.path", "/dev/dri/renderD129");
	must_find(m, "half precision is not proven");
	is_absent(m, "cause");
}

static void test_hidden_amd(void **state)
{
	struct made *m = *state;
	static const struct {
		const char *rocr, *hip, *cuda;
		bool first, second;
		const char *by;
	} cases[] = {
		{ NULL, NULL, NULL, true, true, NULL },
		{ "1", NULL, NULL, false, true, "ROCR_VISIBLE_DEVICES" },
		{ NULL, "0", NULL, true, false, "HIP_VISIBLE_DEVICES" },
		{ NULL, NULL, "1", false, true, "CUDA_VISIBLE_DEVICES" },
		{ NULL, "0", "1", true, false, "HIP_VISIBLE_DEVICES" },
		{ "1", "0", NULL, false, true, "ROCR_VISIBLE_DEVICES" }, // the first of those that ROCR left
		{ "1", "1", NULL, false, false, "HIP_VISIBLE_DEVICES" },
		{ "GPU-123456789abcdef0", NULL, NULL, true, false, "ROCR_VISIBLE_DEVICES" },
		{ "", NULL, NULL, false, false, "ROCR_VISIBLE_DEVICES" },
		{ NULL, "-1", NULL, false, false, "HIP_VISIBLE_DEVICES" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		static const char *const names[] = { "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES" };
		const char *const values[] = { cases[i].rocr, cases[i].hip, cases[i].cuda };

		for (size_t k = 0; k < 3; k++)
			if (values[k])
				setenv(names[k], values[k], 1);
			else
				unsetenv(names[k]);
		look(m, "amd-two-gpus", "rocm");
		print_message("case %zu\n", i);
		is_true(m, "gpus.0.visible", cases[i].first);
		is_true(m, "gpus.1.visible", cases[i].second);
		assert_int_equal(at(m, "cause") != NULL, !cases[i].first && !cases[i].second);
		if (cases[i].by)
			must_find(m, cases[i].by);
	}
	for (size_t i = 0; i < sizeof hiding / sizeof *hiding; i++)
		unsetenv(hiding[i]);
	// The kernel and HIP must agree on how many there are.
	m->drivers = json_pack("{s:{s:[{s:i}]}}", "hip", "gpus", "index", 0);
	look(m, "amd-two-gpus", "rocm");
	must_find(m, "HIP sees 1 GPUs, the kernel and the environment's variables leave 2");
}

static void test_npu(void **state)
{
	struct made *m = *state;

	look(m, "core-ultra-npu", "openvino");
	is_text(m, "pci.1.kind", "accelerator");
	is_text(m, "pci.1.driver", "intel_vpu");
	is_text(m, "accelerator_nodes.0.path", "/dev/accel/accel0");
	is_text(m, "opencl_drivers.0", "libOther.so");
	assert_string_equal(json_string_value(json_object_get(library(m, "libze_loader.so"), "version")), "1.17.6");
	must_find(m, "a GPU (8086:7d55) is here, but libOpenCL.so.1");
	assert_false(finds(m, "an NPU"));
}

static void test_snapdragon(void **state)
{
	struct made *m = *state;

	look(m, "snapdragon", "qnn");
	is_text(m, "soc", "X1E80100");
	is_number(m, "soc_id", 555);
	is_text(m, "device_files.1.path", "/dev/fastrpc-cdsp");
	is_absent(m, "cause");
	assert_false(finds(m, "EMULATED"));
	assert_string_equal(m->machine.cpu_model, "Oryon");
}

static void test_apple_texts(void **state)
{
	struct made *m = *state;
	static const char sysctl[] =
		"machdep.cpu.brand_string: Apple M2 Pro\nhw.model: Mac14,9\nhw.memsize: 17179869184\nhw.physicalcpu: 10\n"
		"hw.perflevel0.physicalcpu: 6\nhw.perflevel1.physicalcpu: 4\nhw.optional.arm.FEAT_BF16: "
		"1\nhw.optional.arm.FEAT_SME: 0\n";
	static const char ioreg[] = "+-o AGXAcceleratorG14X  <class AGXAcceleratorG14X, id 0x1000003b5, registered>\n    {\n"
				    "      \"model\" = \"Apple M2 Pro\"\n      \"gpu-core-count\" = 16\n    }\n";

	m->facts = json_object();
	facts_apple_texts(m->facts, &m->arena, sysctl, ioreg);
	is_text(m, "chip", "Apple M2 Pro");
	is_number(m, "gpu_cores", 16);
	is_number(m, "memory_bytes", 17179869184);
	is_number(m, "performance_cores", 6);
	is_number(m, "bf16", 1);
	is_number(m, "sme", 0);
	is_true(m, "neural_engine", true);
	is_absent(m, "findings");
	json_decref(m->facts);
	m->facts = json_object();
	facts_apple_texts(m->facts, &m->arena, "machdep.cpu.brand_string: Intel(R) Core(TM) i7-8700B CPU @ 3.20GHz\n", NULL);
	is_true(m, "neural_engine", false);
	is_absent(m, "gpu_cores");
	must_find(m, "this is an Intel Mac");
	json_decref(m->facts);
	m->facts = json_object();
	facts_apple_texts(m->facts, &m->arena, NULL, NULL);
	assert_int_equal(json_object_size(m->facts), 0);
}

// ---- permission, damage -------------------------------------------------------------------------------------------------

static char folder[256];

static void not_permitted(const char *path)
{
	struct arena a = { 0 };
	const struct sysfs s = { &a, folder };
	json_t *device = sysfs_device(&s, path);
	const bool good = device && json_is_false(json_object_get(device, "usable")) &&
		text_starts(json_string_value(json_object_get(device, "reason")), "not permitted");

	json_decref(device);
	arena_done(&a);
	_exit(good ? 0 : 1);
}

static void test_permission(void **state)
{
	const char *tmp = getenv("TMPDIR");
	char path[512];
	int status;
	struct arena a = { 0 };
	const struct sysfs s = { &a, folder };

	(void)state;
	snprintf(folder, sizeof folder, "%s/assay-detect-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0755), 0);
	snprintf(path, sizeof path, "%s/kfd", folder);
	assert_int_equal(file_write(path, "x", 1, NULL), STATUS_OK);
	assert_int_equal(chmod(path, 0), 0);
	// root may everything: ask as somebody else.
	const pid_t pid = fork();
	if (!pid) {
		if (!geteuid() && (setgid(65534) || setuid(65534)))
			_exit(2);
		not_permitted("/kfd");
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_null(sysfs_device(&s, "/none"));
	arena_done(&a);
	assert_int_equal(file_remove_tree(folder, NULL), STATUS_OK);
}

// Empty and torn files: facts stay away, nothing else happens.
static void test_damaged(void **state)
{
	struct made *m = *state;
	static const char *const files[] = { "/proc/cpuinfo", "/proc/meminfo", "/proc/self/cgroup", "/proc/self/mountinfo",
		"/proc/self/status", "/sys/devices/system/cpu/cpu0/cache/index0/level",
		"/sys/devices/system/cpu/cpu0/cache/index0/type", "/sys/devices/system/cpu/cpu0/cache/index0/size",
		"/sys/devices/system/node/node0/meminfo", "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq",
		"/sys/bus/pci/devices/x/uevent", "/sys/class/kfd/kfd/topology/nodes/1/properties",
		"/sys/class/kfd/kfd/topology/nodes/1/mem_banks/0/properties", "/proc/driver/nvidia/version",
		"/proc/driver/nvidia/gpus/x/information", "/sys/class/drm/card0/device/vendor", "/usr/share/misc/pci.ids",
		"/var/lib/dpkg/status", "/etc/vulkan/icd.d/a.json", "/sys/devices/soc0/family", "/sys/devices/soc0/soc_id" };
	static const char *const texts[] = { "", "\n", ":", "=", "9", "simd_count",
		"simd_count 99999999999999999999\nsimd_per_cu 0\ngfx_target_version -1\n", "PCI_CLASS=30000\nPCI_ID=10DE\n",
		"PCI_CLASS=30000\nPCI_ID=1002:FFFFFFFFFFFFFFFFFF\n", "\t\t\t\n1002\n\t", "{\"ICD\": 7}", "Snapdragon", "0-",
		"MemTotal:" };
	const char *tmp = getenv("TMPDIR");

	snprintf(folder, sizeof folder, "%s/assay-detect-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(folder));
	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
		for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
			const char *path = arena_printf(&m->arena, "%s%s", folder, files[i]);

			assert_int_equal(file_mkdirs(arena_strndup(&m->arena, path, (size_t)(strrchr(path, '/') - path)), NULL),
				STATUS_OK);
			assert_int_equal(file_put(path, texts[k], strlen(texts[k]), NULL), STATUS_OK);
		}
		machine_detect_at(&m->machine, &m->arena, folder);
		const struct facts_source source = { { &m->arena, folder }, NULL, &m->machine };
		for (size_t i = 0; i < platform_count(); i++) {
			json_t *facts = facts_of(platform_get(i)->name, &source);
			assert_true(json_is_object(facts));
			json_decref(facts);
		}
	}
	assert_int_equal(file_remove_tree(folder, NULL), STATUS_OK);
}

// No library of these drivers is needed for an answer; one that has no such name gives none.
static void test_drivers(void **state)
{
	(void)state;
	assert_string_equal(driver_name(0), "nvml");
	for (size_t i = 0; driver_name(i); i++)
		assert_non_null(platform_find(driver_platform(i)));
	assert_null(driver_ask("no such driver"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make, drop)
	const struct CMUnitTest tests[] = {
		TEST(test_virtual_machine),
		TEST(test_two_sockets),
		TEST(test_arm),
		TEST(test_two_kinds_of_cores),
		TEST(test_unseen_bus),
		TEST(test_container),
		TEST(test_card_without_driver),
		TEST(test_nvidia),
		TEST(test_libraries),
		TEST(test_hidden_nvidia),
		TEST(test_amd),
		TEST(test_hidden_amd),
		TEST(test_npu),
		TEST(test_snapdragon),
		TEST(test_apple_texts),
		TEST(test_permission),
		TEST(test_damaged),
		TEST(test_drivers),
	};
	return cmocka_run_group_tests_name("detect", tests, NULL, NULL);
}
