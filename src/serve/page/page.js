// SPDX-License-Identifier: Apache-2.0
// The browser's side of an engine: says what it is, asks for commands, runs them with onnxruntime-web, answers. It decides
// nothing: which graph, which weights, which provider and which options come with the command, times and errors go back as
// they are. A message is a little-endian u32, that many bytes of JSON, and the bytes that the JSON points into.
const instance = Array.from(crypto.getRandomValues(new Uint8Array(8)), b => b.toString(16).padStart(2, "0")).join("");
const sessions = new Map();
const said = [];                         // what the engine wrote to the console since the last answer
let runtime = null, runtimeName = null, keepLines = null;

const here = path => `${path}?i=${instance}`;
const show = text => { document.getElementById("state").textContent = text; };

function describe(e) {
	if (e instanceof Error || (e && e.message !== undefined))
		return `${e.name && e.name !== "Error" ? e.name + ": " : ""}${e.message}`;
	return String(e);
}

function note(kind, text) {
	fetch(`${here("note")}`, { method: "POST", body: `${kind}: ${text}`.slice(0, 8000) }).catch(() => {});
}

for (const kind of ["log", "info", "debug", "warn", "error"]) {
	const plain = console[kind].bind(console);
	console[kind] = (...words) => {
		const text = words.map(w => typeof w === "string" ? w : describe(w)).join(" ");
		if (keepLines)
			keepLines.push(text);
		if ((kind === "error" || kind === "warn") && said.length < 100)
			said.push(text);
		plain(...words);
	};
}
window.addEventListener("error", e => { said.push(describe(e.error || e.message)); note("error", describe(e.error || e.message)); });
window.addEventListener("unhandledrejection", e => { said.push(describe(e.reason)); note("unhandled rejection", describe(e.reason)); });

// ---- messages -----------------------------------------------------------------------------------------------------------

// Spaces after the JSON put the bytes at a multiple of 16.
function pack(head, blobs) {
	let text = JSON.stringify(head);
	text += " ".repeat((28 - new TextEncoder().encode(text).length % 16) % 16);
	const json = new TextEncoder().encode(text);
	const length = new Uint8Array(4);
	new DataView(length.buffer).setUint32(0, json.length, true);
	return new Blob([length, json, ...blobs]);
}

function unpack(buffer) {
	const length = new DataView(buffer).getUint32(0, true);
	return [JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))), new Uint8Array(buffer, 4 + length)];
}

// ---- what this browser is -----------------------------------------------------------------------------------------------

function plainObject(o) {
	const out = {};
	for (const key in o)
		if (["number", "string", "boolean"].includes(typeof o[key]))
			out[key] = o[key];
	return out;
}

async function webgpuFacts(power) {
	if (!navigator.gpu)
		return { absent: window.isSecureContext ? "navigator.gpu is not there" : "the page is not a secure context: open it as http://localhost, or by https" };
	const asked = power && power !== "none" ? { powerPreference: power } : {};
	const adapter = await navigator.gpu.requestAdapter(asked);
	if (!adapter)
		return { absent: "requestAdapter gave no adapter" };
	return { info: plainObject(adapter.info || {}), is_fallback: !!(adapter.isFallbackAdapter || (adapter.info && adapter.info.isFallbackAdapter)),
		limits: plainObject(adapter.limits), features: [...adapter.features].sort() };
}

async function webnnFacts() {
	if (!navigator.ml)
		return { absent: window.isSecureContext ? "navigator.ml is not there" : "the page is not a secure context: open it as http://localhost, or by https" };
	const contexts = {};
	for (const type of ["cpu", "gpu", "npu"]) {
		try {
			const context = await navigator.ml.createContext({ deviceType: type });
			contexts[type] = { limits: context.opSupportLimits ? context.opSupportLimits() : null };
			if (context.destroy)
				context.destroy();
		} catch (e) {
			contexts[type] = { absent: describe(e) };
		}
	}
	if (!Object.values(contexts).some(c => !c.absent))
		return { absent: contexts.cpu.absent };
	return { contexts };
}

async function facts(which, power) {
	const out = { user_agent: navigator.userAgent, isolated: window.crossOriginIsolated, secure: window.isSecureContext,
		cores: navigator.hardwareConcurrency, platform: navigator.platform };
	try {
		if (navigator.userAgentData)
			out.brands = (await navigator.userAgentData.getHighEntropyValues(["fullVersionList"])).fullVersionList;
	} catch (e) { /* the user agent says it too */ }
	const guarded = async make => { try { return await make(); } catch (e) { return { absent: describe(e) }; } };
	if (which === "all" || which === "webgpu")
		out.webgpu = await guarded(() => webgpuFacts(power));
	if (which === "all" || which === "webnn")
		out.webnn = await guarded(webnnFacts);
	return out;
}

// ---- fetching -----------------------------------------------------------------------------------------------------------

async function fetchBytes(url) {
	const answer = await fetch(url);
	if (!answer.ok)
		throw new Error(`${url}: the server answers ${answer.status}`);
	return new Uint8Array(await answer.arrayBuffer());
}

function request(r) {
	return new Promise((done, failed) => {
		r.onsuccess = () => done(r.result);
		r.onerror = () => failed(r.error);
	});
}

function database() {
	const r = indexedDB.open("assay", 1);
	r.onupgradeneeded = () => r.result.createObjectStore("files");
	return request(r);
}

// The two caches a page has, with the same two calls.
const stores = {
	"cache-api": {
		async put(name, bytes) { await (await caches.open("assay")).put(`/assay/${name}`, new Response(bytes)); },
		async get(name) { return new Uint8Array(await (await (await caches.open("assay")).match(`/assay/${name}`)).arrayBuffer()); },
	},
	"indexeddb": {
		async put(name, bytes) {
			const t = (await database()).transaction("files", "readwrite");
			t.objectStore("files").put(bytes, name);
			await new Promise((done, failed) => { t.oncomplete = done; t.onerror = t.onabort = () => failed(t.error); });
		},
		async get(name) { return request((await database()).transaction("files").objectStore("files").get(name)); },
	},
};

async function inTurn(makers, parallel) {
	if (parallel)
		return Promise.all(makers.map(make => make()));
	const out = [];
	for (const make of makers)
		out.push(await make());
	return out;
}

async function loadFiles(files, command, times) {
	const parallel = command.parallel, store = stores[command.cache];
	if (store) {                             // the first visit, told apart: what is timed as loading is the second
		const begin = performance.now();
		await inTurn(files.map(f => async () => store.put(f.name, await fetchBytes(f.url))), parallel);
		times.first_visit_ms = performance.now() - begin;
	}
	const begin = performance.now();
	const bytes = await inTurn(files.map(f => () => store ? store.get(f.name) : fetchBytes(f.url)), parallel);
	times.fetch_ms = performance.now() - begin;
	for (let i = 0; i < files.length; i++)
		if (bytes[i].length !== files[i].nbytes)
			throw new Error(`${files[i].name}: ${bytes[i].length} bytes came, ${files[i].nbytes} were expected`);
	return bytes;
}

// ---- sessions -----------------------------------------------------------------------------------------------------------

async function loadRuntime(command) {
	if (runtime && runtimeName === command.runtime)
		return;
	if (runtime)
		throw new Error(`this page has loaded ${runtimeName}; it cannot load ${command.runtime} beside it`);
	const ort = await import(`${command.runtime_folder}${command.runtime}`);
	ort.env.wasm.wasmPaths = new URL(command.runtime_folder, location.href).href;
	ort.env.wasm.numThreads = window.crossOriginIsolated ? command.threads : 1;
	ort.env.wasm.proxy = false;
	ort.env.logLevel = "warning";
	if (ort.env.webgpu) {
		if (command.power && command.power !== "none")
			ort.env.webgpu.powerPreference = command.power;
	}
	runtime = ort;
	runtimeName = command.runtime;
}

function sessionOptions(command) {
	const o = { graphOptimizationLevel: command.optimisation, enableGraphCapture: false, logSeverityLevel: 2 };
	// Else a file that has "ORTM" where its own format has it runs as that, and everybody else reads another graph there.
	o.extra = { session: { load_model_format: "ONNX" } };
	if (command.provider === "webgpu") {
		const ep = { name: "webgpu" };
		if (command.layout)
			ep.preferredLayout = command.layout;
		if (command.validation)
			ep.validationMode = command.validation;
		o.executionProviders = [ep];
		o.enableGraphCapture = command.graph_capture;
		if (command.graph_capture)
			o.preferredOutputLocation = "gpu-buffer";
	} else if (command.provider === "webnn") {
		const ep = { name: "webnn", deviceType: command.webnn_device };
		if (command.power && command.power !== "none")
			ep.powerPreference = command.power;
		o.executionProviders = [ep];
	} else {
		o.executionProviders = ["wasm"];
	}
	if (command.dims)
		o.freeDimensionOverrides = command.dims;
	return o;
}

function metadata(list, names) {
	return names.map((name, i) => {
		const m = list && list[i];
		return m && m.isTensor ? { name, type: m.type, shape: m.shape } : { name };
	});
}

async function create(command, graph, parts, more) {
	const o = Object.assign(sessionOptions(command), more);
	if (parts.length)
		o.externalData = parts.map((data, i) => ({ path: command.parts[i].name, data }));
	return runtime.InferenceSession.create(graph, o);
}

async function open(command) {
	const times = {}, begin = performance.now();
	const files = [command.graph, ...command.parts];
	show(`Loading ${files.length} files...`);
	const loadRuntimeTimed = async () => { const t = performance.now(); await loadRuntime(command); times.runtime_ms = performance.now() - t; };
	const [, bytes] = await inTurn([loadRuntimeTimed, () => loadFiles(files, command, times)], command.parallel);
	const created = performance.now();
	const session = await create(command, bytes[0], bytes.slice(1), {});
	times.create_ms = performance.now() - created;
	times.load_ms = performance.now() - begin;
	const s = { command, session, buffers: new Map() };
	sessions.set(command.id, s);
	if (command.warmup) {
		const t = performance.now();
		const out = await session.run(zeros(command.warmup));
		for (const name in out)
			out[name].dispose();
		times.warmup_ms = performance.now() - t;
	}
	return { times, threads: runtime.env.wasm.numThreads, version: runtime.env.versions ? runtime.env.versions.web || runtime.env.versions.common : null,
		inputs: metadata(session.inputMetadata, session.inputNames), outputs: metadata(session.outputMetadata, session.outputNames) };
}

const arrays = { float32: Float32Array, float16: Uint16Array, float64: Float64Array, int64: BigInt64Array, uint64: BigUint64Array, int32: Int32Array,
	uint32: Uint32Array, int16: Int16Array, uint16: Uint16Array, int8: Int8Array, uint8: Uint8Array, bool: Uint8Array };

function makeTensor(type, dims, buffer) {
	if (!arrays[type])
		throw new Error(`a tensor of type ${type} cannot be given to a browser`);
	return new runtime.Tensor(type, new arrays[type](buffer), dims);
}

function zeros(inputs) {
	const feeds = {};
	for (const x of inputs)
		feeds[x.name] = makeTensor(x.type, x.dims, new ArrayBuffer(x.nbytes));
	return feeds;
}

// Where a graph is captured, inputs and outputs stay at their places on the device.
function deviceTensor(s, device, x, bytes) {
	let b = s.buffers.get(x.name);
	const size = Math.max(16, Math.ceil(x.nbytes / 16) * 16);
	if (!b || b.size !== size) {
		b = device.createBuffer({ size, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC });
		s.buffers.set(x.name, b);
	}
	const padded = new Uint8Array(size);
	padded.set(bytes.subarray(x.at, x.at + x.nbytes));
	device.queue.writeBuffer(b, 0, padded);
	return runtime.Tensor.fromGpuBuffer(b, { dataType: x.type, dims: x.dims });
}

async function run(command, bytes) {
	const s = sessions.get(command.id), feeds = {};
	const device = s.command.graph_capture ? await runtime.env.webgpu.device : null;
	for (const x of command.inputs)
		feeds[x.name] = device ? deviceTensor(s, device, x, bytes) : makeTensor(x.type, x.dims, bytes.slice(x.at, x.at + x.nbytes).buffer);
	const begin = performance.now();
	const results = await s.session.run(feeds);
	const data = {};
	for (const name of s.session.outputNames)
		data[name] = await results[name].getData();
	const ms = performance.now() - begin;
	const outputs = [], blobs = [];
	let at = 0;
	for (const name of s.session.outputNames) {
		const view = new Uint8Array(data[name].buffer, data[name].byteOffset, data[name].byteLength);
		outputs.push({ name, type: results[name].type, dims: results[name].dims, at, nbytes: view.length });
		blobs.push(view, new Uint8Array((8 - view.length % 8) % 8));
		at += view.length + (8 - view.length % 8) % 8;
	}
	return [{ ms, outputs }, blobs];
}

// The assignment of nodes is only told in the log, so the session is made once more with it on. The first one goes before.
async function explain(command) {
	const s = sessions.get(command.id);
	await s.session.release();
	const files = [s.command.graph, ...s.command.parts];
	const bytes = await inTurn(files.map(f => () => fetchBytes(f.url)), true);
	const lines = keepLines = [];
	const level = runtime.env.logLevel;
	try {
		runtime.env.logLevel = "verbose";
		s.session = await create(s.command, bytes[0], bytes.slice(1), { logSeverityLevel: 0, logVerbosityLevel: 0 });
	} finally {
		keepLines = null;
		runtime.env.logLevel = level;
	}
	const wanted = /placed on|number of partitions|Node placements|\([^()]*\)\s*$/;
	return { lines: lines.join("\n").split("\n").filter(l => wanted.test(l)) };
}

async function close(command) {
	const s = sessions.get(command.id);
	sessions.delete(command.id);
	if (s)
		await s.session.release();
	return {};
}

async function obey(command, bytes) {
	if (command.op === "open")
		return [await open(command), []];
	if (command.op === "run")
		return run(command, bytes);
	if (command.op === "explain")
		return [await explain(command), []];
	if (command.op === "close")
		return [await close(command), []];
	throw new Error(`no command is called ${command.op}`);
}

// ---- the conversation ---------------------------------------------------------------------------------------------------

async function main() {
	const which = new URLSearchParams(location.search);
	const hello = await facts(which.get("facts") || "all", which.get("power"));
	let answer = await fetch(here("hello"), { method: "POST", body: JSON.stringify(hello) });
	if (!answer.ok) {
		show(answer.status === 409 ? "Another browser has joined already." : `The server answers ${answer.status}.`);
		return;
	}
	fetch(here("alive")).catch(() => {});    // stays open: its end tells the server that this page is gone
	new Worker("beat.js").postMessage(new URL(here("beat"), location.href).href);     // Firefox keeps connections of a process that died
	for (let n = 1;;) {
		show("Waiting for work...");
		answer = await fetch(`${here("next")}&n=${n}`);
		if (answer.status === 204)
			continue;
		if (!answer.ok)
			break;
		const [command, bytes] = unpack(await answer.arrayBuffer());
		if (command.op === "end")
			break;
		show(`Working: ${command.op}...`);
		said.length = 0;
		let head, blobs = [];
		try {
			[head, blobs] = await obey(command, bytes);
			head.ok = true;
		} catch (e) {
			head = { ok: false, error: describe(e), stack: e && e.stack ? String(e.stack).slice(0, 4000) : "" };
		}
		head.console = said.slice(0, 100).map(t => String(t).slice(0, 2000));
		answer = await fetch(`${here("reply")}&n=${n}`, { method: "POST", body: pack(head, blobs) });
		if (!answer.ok)
			break;
		n++;
	}
	show("Finished. This page can be closed.");
}

main().catch(e => { show(describe(e)); note("error", describe(e)); });
