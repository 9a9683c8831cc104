"use strict";
// Without this script the values are shown by the browser as titles. With it they appear at once,
// by pointer, touch and arrow keys, and the tables get a button to copy them.
const tip = document.createElement("div");
tip.id = "tip";
tip.setAttribute("role", "status");
document.body.append(tip);
let shown = null;

function show(mark, x, y) {
  if (shown) shown.classList.remove("on");
  shown = mark;
  tip.style.visibility = mark ? "visible" : "hidden";
  if (!mark) return;
  mark.classList.add("on");
  tip.textContent = mark.dataset.values;
  const left = Math.min(x + 14, innerWidth - tip.offsetWidth - 4);
  const above = y - tip.offsetHeight - 10;
  tip.style.transform = `translate(${Math.max(4, left)}px,${above < 4 ? y + 18 : above}px)`;
}

for (const chart of document.querySelectorAll(".chart")) {
  const name = chart.querySelector("title");
  chart.setAttribute("aria-label", name.textContent);
  name.remove();
  const labels = chart.querySelector(".v")?.dataset.labels?.split("\n") ?? [];
  const marks = [...chart.querySelectorAll(".v path")];
  for (const mark of marks) {
    const [place, ...values] = mark.textContent.split("\n");
    const lines = values.map((value, i) => (labels[i] ? `${labels[i]}: ${value}` : value));
    mark.dataset.values = [place, ...lines].join("\n");
    mark.textContent = "";
  }
  if (!marks.length) continue;
  chart.tabIndex = 0;
  chart.addEventListener("blur", () => show(null));
  chart.addEventListener("pointerleave", () => show(null));
  for (const kind of ["pointermove", "pointerdown"]) {
    chart.addEventListener(kind, (event) => {
      show(event.target.closest(".v path"), event.clientX, event.clientY);
    });
  }
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") show(null);
    if (!step) return;
    event.preventDefault();
    const last = marks.indexOf(shown);
    const next = last < 0 ? (step > 0 ? 0 : marks.length - 1) : last + step;
    const mark = marks[Math.min(Math.max(next, 0), marks.length - 1)];
    const place = mark.getBoundingClientRect();
    show(mark, place.x + place.width / 2, place.y);
  });
}

for (const details of document.querySelectorAll(".behind")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", () => {
    const selection = getSelection();
    selection.selectAllChildren(details.querySelector(".scroll"));
    document.execCommand("copy");
    selection.removeAllRanges();
    button.textContent = "Copied";
  });
  details.querySelector("summary").after(button);
}
