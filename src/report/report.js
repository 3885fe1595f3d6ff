// SPDX-License-Identifier: Apache-2.0
// The latency chart: one block a model, one bar a platform, a whisker from the fastest to the slowest run. uPlot has the
// scales, the axis and the canvas; blocks and labels are drawn here. On a logarithmic scale a bar's length would mean
// nothing, so the median is a dot there. Everything shown is also in the tables.
(function () {
	"use strict";
	var host = document.getElementById("latency-chart");
	if (!host || typeof uPlot === "undefined")
		return;
	var all = JSON.parse(document.getElementById("latency-data").textContent), data = [];
	var LINE = 20, BAR = 24, GAP = 14, AXIS = 34, PAD = 2, MOST = 120;       // MOST bars: a canvas has a largest height
	var rows = [], column = 0, low = Infinity, high = 0, pen = document.createElement("canvas").getContext("2d");
	var soft = document.getElementById("latency-soft"), filter = document.getElementById("latency-filter");
	var left = document.getElementById("latency-left"), log = null, chart = null;

	// What is shown: no device that is not hardware unless it is asked for, what the filter names, as many as there is room for.
	function choose() {
		var words = filter.value.toLowerCase().split(/\s+/), shown = soft && soft.getAttribute("aria-pressed") === "true";
		var bars = 0, later = 0, hidden = 0, columns = {};
		data = [];
		low = Infinity;
		high = 0;
		all.forEach(function (group) {
			var text = (group.name + " " + group.note).toLowerCase();
			if (!words.every(function (w) { return text.indexOf(w) >= 0; }))
				return;
			var some = group.bars.filter(function (bar) { return shown || !bar.soft; });
			hidden += !some.length;
			later += some.length && bars + some.length > MOST && bars > 0;
			if (!some.length || later)
				return;
			bars += some.length;
			data.push({ name: group.name, note: group.note, bars: some });
			some.forEach(function (bar) {
				low = Math.min(low, bar.min || bar.ms, bar.ms);
				high = Math.max(high, bar.max || bar.ms, bar.ms);
				columns[bar.color] = true;
			});
		});
		document.querySelectorAll("[data-column]").forEach(function (key) { key.hidden = !columns[key.dataset.column]; });
		left.textContent = (later ? later + " more below these: filter by name. " : "") +
			(hidden ? hidden + (hidden === 1 ? " has" : " have") + " only times of devices that are not hardware. " : "") +
			(data.length ? "" : "Nothing to show.");
		filter.hidden = !filter.value && !later;
		host.hidden = !data.length;
	}

	var buttons = document.querySelectorAll("[data-scale]");

	function css(name) {
		return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	}
	function label(ms) {
		var unit = ms >= 1000 ? "s" : ms < 1 ? "µs" : "ms", x = ms >= 1000 ? ms / 1000 : ms < 1 ? ms * 1000 : ms;
		return String(+x.toPrecision(3)) + " " + unit;
	}
	function font(weight, size) {
		return weight + size + "px " + getComputedStyle(document.body).fontFamily;
	}
	function measure(text, weight) {
		pen.font = font(weight, 13);
		return pen.measureText(text).width;
	}
	// Lines no wider than that, broken where a word, or a part of a path, ends; inside one only where it alone is wider.
	function wrap(text, weight, width) {
		var lines = [], line = "";
		(text.match(/[^\s\/_-]*[\s\/_-]+|[^\s\/_-]+/g) || []).forEach(function (word) {
			if (line && measure((line + word).trimEnd(), weight) > width) {
				lines.push(line.trimEnd());
				line = "";
			}
			line += word;
			while (line.length > 1 && measure(line.trimEnd(), weight) > width) {
				var n = line.length - 1;
				while (n > 1 && measure(line.slice(0, n), weight) > width)
					n--;
				lines.push(line.slice(0, n));
				line = line.slice(n);
			}
		});
		return line.trim() ? lines.concat(line.trimEnd()) : lines;
	}
	function words(bar) {
		return bar.platform + "  " + bar.text;
	}
	// Where everything stands on a chart this wide; its height. Labels have a column of their own where the widest takes less than
	// half, else lines above their bar: none is ever cut, as what qualifies a number is in it.
	function lay(width) {
		var y = 0, widest = 0;
		data.forEach(function (group) {
			group.bars.forEach(function (bar) { widest = Math.max(widest, measure(words(bar), "")); });
		});
		column = widest < width * .45 ? Math.ceil(widest) + 14 : 0;
		rows = [];
		data.forEach(function (group) {
			var name = wrap(group.name, "600 ", width), used = measure(name[name.length - 1] + "  ", "600 ");
			var beside = used + measure(group.note, "") <= width, note = beside ? [group.note] : wrap(group.note, "", width);
			rows.push({ y: y, lines: name, weight: "600 ", ink: "--ink", x: 0 });
			rows.push({ y: y + LINE * (beside ? name.length - 1 : name.length), lines: note, weight: "", ink: "--soft", x: beside ? used : 0 });
			y += LINE * (name.length + (beside ? 0 : note.length)) + 4;
			group.bars.forEach(function (bar) {
				var label = column ? [words(bar)] : wrap(words(bar), "", width), above = column ? 0 : LINE * label.length;
				rows.push({ y: y + (column ? (BAR - LINE) / 2 : 0), lines: label, weight: "", ink: "--ink", x: 0 });
				rows.push({ y: y + above, bar: bar });
				y += above + BAR;
			});
			y += GAP;
		});
		return y;
	}
	function draw(u) {
		var c = u.ctx, r = uPlot.pxRatio, left = u.bbox.left, top = u.bbox.top;
		c.save();
		c.textBaseline = "middle";
		c.textAlign = "left";
		rows.forEach(function (row) {
			var at = top + row.y * r;
			if (row.lines) {
				c.font = font(row.weight, r * 13);
				row.lines.forEach(function (line, i) {
					var mid = at + LINE * (i + .5) * r;
					c.fillStyle = css("--panel");             // no line of the grid through the words
					c.fillRect((PAD + row.x) * r, mid - 9 * r, c.measureText(line).width, 18 * r);
					c.fillStyle = css(row.ink);
					c.fillText(line, (PAD + row.x) * r, mid);
				});
				return;
			}
			var b = row.bar, mid = at + BAR * r / 2, x = u.valToPos(b.ms, "x", true), thick = 14 * r;
			c.fillStyle = css("--p" + b.color % 8);
			if (log) {
				c.beginPath();
				c.arc(x, mid, 5 * r, 0, 2 * Math.PI);
				c.fill();
			} else {
				c.fillRect(left, mid - thick / 2, Math.max(x - left, 2 * r), thick);
			}
			if (b.min && b.max) {
				var x0 = u.valToPos(b.min, "x", true), x1 = u.valToPos(b.max, "x", true), cap = 4 * r;
				c.strokeStyle = css("--ink");
				c.lineWidth = 1.5 * r;
				c.beginPath();
				c.moveTo(x0, mid); c.lineTo(x1, mid);
				c.moveTo(x0, mid - cap); c.lineTo(x0, mid + cap);
				c.moveTo(x1, mid - cap); c.lineTo(x1, mid + cap);
				c.stroke();
			}
		});
		c.restore();
	}
	// The powers of ten, as many as there is room for; 1, 2 and 5 of each where there are fewer than three.
	function decades(u, axis, from, to) {
		var first = Math.ceil(Math.log10(from) - 1e-9), last = Math.floor(Math.log10(to) + 1e-9), out = [], k;
		var step = Math.max(1, Math.ceil((last - first + 1) * 62 / Math.max(62, u.width - column - 44)));
		for (k = first - 1; k <= last && last - first < 2; k++)
			[1, 2, 5].forEach(function (m) { if (m * Math.pow(10, k) >= from && m * Math.pow(10, k) <= to) out.push(m * Math.pow(10, k)); });
		for (k = first; k <= last && last - first >= 2; k += step)
			out.push(Math.pow(10, k));
		return out;
	}
	function make() {
		if (chart)
			chart.destroy();
		chart = null;
		choose();
		if (!data.length)
			return;
		if (log === null)
			log = high / low > 100;
		buttons.forEach(function (b) { b.setAttribute("aria-pressed", String((b.dataset.scale === "log") === log)); });
		var width = host.clientWidth, height = lay(width - 2 * PAD), grid = { stroke: css("--rule"), width: 1 };
		var axis = { scale: "x", size: AXIS, stroke: css("--soft"), grid: grid, ticks: { show: false }, font: font("", 12), space: 70,
			values: function (u, ticks) { return ticks.map(function (t) { return t === 0 ? "0" : label(t); }); } };
		if (log) {
			axis.splits = decades;
			axis.filter = function (u, ticks) { return ticks; };
		}
		chart = new uPlot({
			width: width, height: height + AXIS + 8, padding: [8, 26, 0, PAD + (column || 16)], cursor: { show: false }, legend: { show: false }, select: { show: false },
			scales: {
				x: { time: false, distr: log ? 3 : 1, range: log ? [low / 1.25, high * 1.25] : [0, high * 1.02] },
				y: { range: [0, 1] }
			},
			axes: [axis, { show: false }],
			series: [{}, { show: true, paths: function () { return null; }, points: { show: false } }],
			hooks: { draw: [draw] }
		}, [log ? [low, high] : [0, high], [0, 1]], host);
	}
	buttons.forEach(function (b) {
		b.addEventListener("click", function () { log = b.dataset.scale === "log"; make(); });
	});
	if (soft) {
		soft.setAttribute("aria-pressed", String(location.hash === "#latency-soft")); // a link to the switch presses it
		soft.addEventListener("click", function () {
			soft.setAttribute("aria-pressed", String(soft.getAttribute("aria-pressed") !== "true"));
			make();
		});
	}
	filter.addEventListener("input", make);
	make();
	var width = host.clientWidth;
	addEventListener("resize", function () {
		if (host.clientWidth !== width) {
			width = host.clientWidth;
			make();
		}
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", make);
	addEventListener("beforeprint", make);
})();
(function () {
	"use strict";
	// A link from the matrix opens the cell it leads to.
	function open() {
		var target = location.hash && document.getElementById(location.hash.slice(1));
		if (target && target.tagName === "DETAILS")
			target.open = true;
	}
	// The menus of the contents close when one of their links, or anything else, was chosen.
	var menus = document.querySelectorAll(".contents details");
	addEventListener("click", function (e) {
		menus.forEach(function (m) { if (!m.contains(e.target) || e.target.tagName === "A") m.open = false; });
	});
	addEventListener("keydown", function (e) {
		if (e.key === "Escape")
			menus.forEach(function (m) { m.open = false; });
	});
	addEventListener("hashchange", open);
	open();
})();
