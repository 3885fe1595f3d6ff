// SPDX-License-Identifier: Apache-2.0
// The latency chart: one block a model, one bar a platform, a whisker from the fastest to the slowest run. uPlot has the
// scales, the axis and the canvas; blocks and labels are drawn here. On a logarithmic scale a bar's length would mean
// nothing, so the median is a dot there. Everything shown is also in the tables.
(function () {
	"use strict";
	var host = document.getElementById("latency-chart");
	if (!host || typeof uPlot === "undefined")
		return;
	var data = JSON.parse(document.getElementById("latency-data").textContent), text;
	var HEAD = 30, BAR = 24, GAP = 16, AXIS = 34;
	var rows = [], y = 0, low = Infinity, high = 0;
	data.forEach(function (group) {
		rows.push({ y: y, name: group.name, note: group.note });
		y += HEAD;
		group.bars.forEach(function (bar) {
			rows.push({ y: y, bar: bar });
			low = Math.min(low, bar.min || bar.ms, bar.ms);
			high = Math.max(high, bar.max || bar.ms, bar.ms);
			y += BAR;
		});
		y += GAP;
	});
	var height = y, log = high / low > 100, chart = null;

	function css(name) {
		return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	}
	function label(ms) {
		var unit = ms >= 1000 ? "s" : ms < 1 ? "µs" : "ms", x = ms >= 1000 ? ms / 1000 : ms < 1 ? ms * 1000 : ms;
		return String(+x.toPrecision(3)) + " " + unit;
	}
	function draw(u) {
		var c = u.ctx, r = uPlot.pxRatio, left = u.bbox.left, top = u.bbox.top, right = left + u.bbox.width;
		var font = r * 13 + "px " + getComputedStyle(document.body).fontFamily;
		c.save();
		c.textBaseline = "middle";
		rows.forEach(function (row) {
			var at = top + row.y * r;
			if (row.name !== undefined) {
				c.font = "600 " + font;
				c.fillStyle = css("--ink");
				c.textAlign = "left";
				var room = right - left;
				text = row.name;
				while (text.length > 4 && c.measureText(text + "…").width > room)
					text = text.slice(0, -1);
				c.fillText(text === row.name ? text : text + "…", left, at + HEAD * r / 2);
				var used = c.measureText(text + "  ").width;
				c.font = font;
				c.fillStyle = css("--soft");
				if (row.note && used + c.measureText(row.note).width < room)
					c.fillText(row.note, left + used, at + HEAD * r / 2);
				return;
			}
			var b = row.bar, mid = at + BAR * r / 2, x = u.valToPos(b.ms, "x", true), thick = 14 * r, end = x;
			c.fillStyle = c.strokeStyle = css("--p" + b.color % 8);
			if (log) {
				c.beginPath();
				c.arc(x, mid, 5 * r, 0, 2 * Math.PI);
				c.fill();
				end = x + 5 * r;
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
				end = Math.max(end, x1);
			}
			c.font = font;
			c.fillStyle = css("--ink");
			text = b.platform + "  " + b.text;
			// Behind the whisker where there is room, else left of it on a ground of its own.
			var width = c.measureText(text).width;
			if (end + 8 * r + width <= right) {
				c.textAlign = "left";
				c.fillText(text, end + 8 * r, mid);
			} else {
				var from = Math.min(x, b.min ? u.valToPos(b.min, "x", true) : x) - 8 * r;
				c.fillStyle = css("--panel");
				c.globalAlpha = .88;
				c.fillRect(from - width - 5 * r, mid - 9 * r, width + 10 * r, 18 * r);
				c.globalAlpha = 1;
				c.textAlign = "right";
				c.fillStyle = css("--ink");
				c.fillText(text, from, mid);
			}
		});
		c.restore();
	}
	// How much farther the axis must reach so that the widest label fits behind the longest whisker.
	function room(width) {
		var c = document.createElement("canvas").getContext("2d"), widest = 0;
		c.font = "13px " + getComputedStyle(document.body).fontFamily;
		rows.forEach(function (row) {
			if (row.bar)
				widest = Math.max(widest, c.measureText(row.bar.platform + "  " + row.bar.text).width);
		});
		return width / Math.max(width * .4, width - widest - 14);
	}
	function make() {
		if (chart)
			chart.destroy();
		var factor = room(host.clientWidth - 16);
		var grid = { stroke: css("--rule"), width: 1 };
		chart = new uPlot({
			width: host.clientWidth, height: height + AXIS + 8, padding: [8, 14, 0, 2], cursor: { show: false }, legend: { show: false }, select: { show: false },
			scales: {
				x: { time: false, distr: log ? 3 : 1, range: log ? [low / 1.25, low / 1.25 * Math.pow(high * 1.25 / low, factor)] : [0, high * factor] },
				y: { range: [0, 1] }
			},
			axes: [
				{ scale: "x", size: AXIS, stroke: css("--soft"), grid: grid, ticks: { show: false }, font: "12px " + getComputedStyle(document.body).fontFamily, space: 70,
					values: function (u, ticks) { return ticks.map(function (t) { return t === null ? "" : t === 0 ? "0" : label(t); }); } },
				{ show: false }
			],
			series: [{}, { show: true, paths: function () { return null; }, points: { show: false } }],
			hooks: { draw: [draw] }
		}, [log ? [low, high] : [0, high], [0, 1]], host);
	}
	var buttons = document.querySelectorAll("[data-scale]");
	function press() {
		buttons.forEach(function (b) { b.setAttribute("aria-pressed", String((b.dataset.scale === "log") === log)); });
		make();
	}
	buttons.forEach(function (b) {
		b.addEventListener("click", function () { log = b.dataset.scale === "log"; press(); });
	});
	press();
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
	addEventListener("hashchange", open);
	open();
})();
