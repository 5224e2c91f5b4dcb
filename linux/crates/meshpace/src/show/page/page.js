// SPDX-License-Identifier: GPL-2.0-only
// Renews what the gateway has written, and draws what hosts got over time. Names are set as text, never as markup.
"use strict";
const SHOWN = 7; // colours; all others together have the last
const by = id => document.getElementById(id);
const svg = (name, attributes, text) => {
	const made = document.createElementNS("http://www.w3.org/2000/svg", name);
	for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
	if (text !== undefined) made.textContent = text;
	return made;
};
const rate = kbps => kbps < 1000 ? kbps.toFixed(0) + " kbit/s" : (kbps / 1000).toFixed(1) + " Mbit/s";
const ago = s => s < 120 ? s + " s" : s < 7200 ? Math.round(s / 60) + " min" : Math.round(s / 3600) + " h";

async function get(path) {
	const answer = await fetch(path, { cache: "no-store" });
	if (!answer.ok) throw new Error(answer.status);
	return answer;
}

async function renew() {
	try {
		const text = await (await get("/")).text();
		const made = new DOMParser().parseFromString(text, "text/html");
		by("now").replaceChildren(...made.getElementById("now").childNodes);
		by("lost").hidden = true;
	} catch {
		by("lost").hidden = false;
	}
}

// Of each of the hosts that got most a line of its own, of all others one: the same in both pictures.
function lines(picture, names) {
	const of = new Map(picture.hosts.map(host => [host.address, host.points.map(point => point[0] + point[1])]));
	const length = Math.max(0, ...picture.hosts.map(host => host.points.length));
	const all = [...of.values()];
	const rest = Array.from({ length }, () => 0);
	const shown = names.map(name => of.get(name) || []);
	all.filter(points => !shown.includes(points)).forEach(points => points.forEach((value, i) => { rest[i + length - points.length] += value; }));
	return { shown: all.length > names.length ? [...shown, rest] : shown, length };
}

function draw(element, picture, names) {
	const { shown, length } = lines(picture, names);
	element.parentNode.hidden = length < 2;
	if (length < 2) return; // no line yet
	const box = element.getBoundingClientRect(), width = box.width, height = box.height, low = height - 18;
	const most = Math.max(1, ...shown.flat());
	element.setAttribute("viewBox", `0 0 ${width} ${height}`);
	const x = i => length > 1 ? i / (length - 1) * width : 0, y = value => low - value / most * (low - 16);
	const parts = [svg("line", { x1: 0, x2: width, y1: y(most), y2: y(most) }), svg("line", { x1: 0, x2: width, y1: low, y2: low }),
		svg("text", { x: 0, y: 11 }, rate(most)), svg("text", { x: 0, y: height - 4 }, ago(length * picture.step_s) + " ago"),
		svg("text", { x: width, y: height - 4, "text-anchor": "end" }, "now")];
	shown.forEach((points, n) => {
		const at = points.map((value, i) => `${x(i + length - points.length).toFixed(1)},${y(value).toFixed(1)}`);
		parts.push(svg("polyline", { class: "c" + Math.min(n, SHOWN), points: at.join(" ") }));
	});
	element.replaceChildren(...parts);
}

async function pictures() {
	try {
		const [day, minutes] = await (await get("/history.json")).json();
		by("pictures").hidden = !minutes.hosts.length;
		const sum = host => host.points.reduce((all, point) => all + point[0] + point[1], 0);
		const totals = new Map(minutes.hosts.map(host => [host, sum(host)]));
		const first = [...minutes.hosts].sort((a, b) => totals.get(b) - totals.get(a)).slice(0, SHOWN);
		const names = first.map(host => host.address);
		draw(by("minutes"), minutes, names);
		draw(by("day"), day, names);
		const words = first.map(host => host.address + (host.group ? " " + host.group : ""));
		if (minutes.hosts.length > SHOWN) words.push("all others");
		by("names").replaceChildren(...words.map((word, n) => {
			const item = document.createElement("li"), dot = document.createElement("span");
			dot.className = "c" + n;
			dot.textContent = "■ ";
			item.append(dot, word);
			return item;
		}));
	} catch { /* renew() says that the gateway does not answer */ }
}

setInterval(renew, 2000);
setInterval(pictures, 5000);
addEventListener("resize", pictures);
pictures();
