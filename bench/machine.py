# SPDX-License-Identifier: Apache-2.0
# What the benchmarks that are written in Python share: the machine, how busy it was meanwhile, a cell, a program built from our sources.
import json, os, random, statistics, subprocess, sys, time

root = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
assay = os.path.abspath(os.environ.get("ASSAY", os.path.join(root, "build", "assay")))


def need_assay(name):
	if not os.access(assay, os.X_OK):
		sys.exit(f"{name}: {assay} is not there; run ./try --build first")


def output(*words, **more):
	return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def compile_c(to, source, with_library=False):
	"""Builds a source of this repository, given by its path in it; with_library: with libassay.a, which lies beside the program."""
	words = [os.environ.get("CC", "cc"), "-std=gnu17", "-O3", "-march=native", "-Wall", "-Wextra", os.path.join(root, source), "-o", to]
	if with_library:
		words += ["-I" + os.path.join(root, "src"), "-I" + os.path.join(os.environ.get("ASSAY_DEPS", os.path.join(root, ".deps")), "include"), os.path.join(os.path.dirname(assay), "libassay.a"),
			*output("pkg-config", "--cflags", "--libs", "jansson", "nettle", "libprotobuf-c", "libmicrohttpd", "libpcre2-8", "libjpeg", "libpng", "libwebpdemux").split(), "-lgif", "-ldl", "-lm"]
	subprocess.run(words + ["-pthread"], check=True)


def cell(*words):
	"""One cell as a process of its own; the row as a dictionary. A cell that gave no time ends the benchmark: nothing is left out in silence."""
	run = subprocess.run([assay, "run", *words, "--no-conform", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
	row = json.loads(run.stdout)[0] if run.stdout else None
	if not row or not row["latency_ms"]:
		sys.exit(f"assay run {' '.join(words)}: {row['verdict'] if row else ''} {row['cause'] if row else ''}\n{run.stderr}")
	return row


def interval(values):
	"""The median, and 95 % of 2000 bootstrap medians, seeded."""
	dice = random.Random(0)
	medians = sorted(statistics.median(dice.choices(values, k=len(values))) for _ in range(2000))
	return statistics.median(values), [medians[49], medians[1949]]


def cpu_seconds():
	"""Busy and stolen CPU seconds since boot, and those of this process and its ended children."""
	tick = os.sysconf("SC_CLK_TCK")
	n = [int(x) / tick for x in open("/proc/stat").readline().split()[1:9]]
	own = os.times()
	return n[0] + n[1] + n[2] + n[5] + n[6], n[7], own.user + own.system + own.children_user + own.children_system


class Quiet:
	"""How busy others kept the machine between the beginning and told()."""

	def __init__(self):
		self.load, self.begin, self.cpu = os.getloadavg(), time.time(), cpu_seconds()

	def told(self):
		wall, now = time.time() - self.begin, cpu_seconds()
		busy, steal, own = (now[i] - self.cpu[i] for i in range(3))
		others = max(0, busy - own) / wall
		return {"seconds": round(wall), "load_average_before": [round(x, 2) for x in self.load], "load_average": [round(x, 2) for x in os.getloadavg()],
			"others_cpus": round(others, 3), "steal_cpus": round(steal / wall, 3), "calm": others < 0.1 and steal / wall < 0.05}


def about():
	"""Date, program and machine, without what names this one machine."""
	machine = json.loads(output(assay, "detect", "null", "--json"))["machine"]
	return {"date": time.strftime("%F", time.gmtime()), "assay": output(assay, "--version").strip(),
		"machine": {k: v for k, v in machine.items() if k not in ("id", "hostname", "boot_id")}}


def write(path, result):
	os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
	with open(path + ".new", "w") as f:
		json.dump(result, f, indent=1)
		f.write("\n")
	os.replace(path + ".new", path)
