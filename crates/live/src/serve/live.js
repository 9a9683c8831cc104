"use strict";
// Puts the parts of the page that the server sends in their places. Without a script the page
// loads itself again every few seconds instead.
const place = (name) => document.getElementById(name);

// Boxes that were ticked stay ticked when the list is new.
const ticked = () =>
  new Set([...document.querySelectorAll("#studies input:checked")].map((box) => box.value));

const source = new EventSource("events");
source.addEventListener("runs", (event) => {
  place("runs").innerHTML = event.data;
});
source.addEventListener("studies", (event) => {
  const before = ticked();
  place("studies").innerHTML = event.data;
  for (const box of document.querySelectorAll("#studies input")) box.checked = before.has(box.value);
  enable();
});

// Two are compared, not one and not three.
const enable = () => {
  const button = document.querySelector("#studies button");
  if (button) button.disabled = ticked().size !== 2;
};
document.addEventListener("change", enable);
enable();
