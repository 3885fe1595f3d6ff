// SPDX-License-Identifier: Apache-2.0
// The flame graph: widening a box, going through boxes by keys, finding them by words, layers folded or each by itself.
(function () {
	"use strict";
	var now = document.getElementById("now"), find = document.getElementById("find"), found = document.getElementById("found");
	var each = document.getElementById("each"), flames = Array.from(document.querySelectorAll(".flame"));

	function flame() { return flames.find(function (f) { return !f.hidden; }); }
	function top(f) { return f.querySelector(".f"); }
	function box(f) { return f && f.querySelector(".b"); }
	function frame(b) { return b.parentNode; }
	function above(b) { return box(frame(b).parentNode.closest(".f")); }
	function parts(f) { return Array.from(f.querySelectorAll(":scope > .k > .f")).filter(function (x) { return x.style.display !== "none"; }); }
	// One box of a graph can be reached with Tab; arrows go on from there.
	function focus(b) {
		if (!b)
			return;
		flame().querySelectorAll('.b[tabindex="0"]').forEach(function (x) { x.tabIndex = -1; });
		b.tabIndex = 0;
		b.focus();
	}
	// What is beside the box and beside what holds it is hidden.
	function widen(f) {
		var root = top(flame()), p;
		flame().querySelectorAll(".f").forEach(function (x) { x.style.display = ""; });
		flame().querySelectorAll("[aria-expanded]").forEach(function (x) { x.removeAttribute("aria-expanded"); });
		for (p = f; p && p !== root; p = p.parentNode.closest(".f")) {
			Array.from(p.parentNode.children).forEach(function (s) { if (s !== p) s.style.display = "none"; });
			box(p).setAttribute("aria-expanded", "true");
		}
	}
	function beside(b, step) {
		var up = above(b), all = up ? parts(frame(up)) : [frame(b)];
		return box(all[all.indexOf(frame(b)) + step]);
	}
	function search() {
		var words = find.value.toLowerCase().trim(), ms = 0, boxes = 0, whole = flame();
		whole.classList.toggle("searching", words !== "");
		whole.querySelectorAll(".b").forEach(function (b) {
			var hit = words !== "" && b.title.toLowerCase().indexOf(words) >= 0, up = above(b);
			b.classList.toggle("hit", hit);
			boxes += hit;
			b.inHit = hit || !!(up && up.inHit);
			if (hit && !(up && up.inHit))                    // a box in a box that was found is counted with it
				ms += Number(b.dataset.ms);
		});
		found.textContent = words === "" ? "" : boxes + (boxes === 1 ? " box, " : " boxes, ") +
			(100 * ms / Number(box(top(whole)).dataset.ms)).toFixed(1) + " % of the run";
	}
	flames.forEach(function (f) {
		f.addEventListener("click", function (e) {
			var b = e.target.closest(".b");
			if (b) {
				widen(frame(b));
				focus(b);
			}
		});
		["mouseover", "focusin"].forEach(function (t) {
			f.addEventListener(t, function (e) { if (e.target.closest(".b")) now.textContent = e.target.closest(".b").title; });
		});
		f.addEventListener("keydown", function (e) {
			var b = e.target.closest(".b"), to = !b ? null
				: e.key === "ArrowDown" ? box(parts(frame(b))[0])
				: e.key === "ArrowUp" ? above(b)
				: e.key === "ArrowRight" ? beside(b, 1)
				: e.key === "ArrowLeft" ? beside(b, -1)
				: e.key === "Home" ? box(top(f)) : null;
			if (e.key === "Escape")
				widen(top(f));
			else if (!to)
				return;
			focus(to || b);
			e.preventDefault();
		});
	});
	find.addEventListener("input", search);
	addEventListener("keydown", function (e) {
		if (e.key === "/" && e.target !== find) {
			find.focus();
			e.preventDefault();
		}
	});
	if (each)
		each.addEventListener("click", function () {
			var pressed = each.getAttribute("aria-pressed") !== "true";
			each.setAttribute("aria-pressed", String(pressed));
			flames.forEach(function (f, i) { f.hidden = (i === 1) !== pressed; });
			search();
		});
})();
