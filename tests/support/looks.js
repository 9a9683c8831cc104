// What a page looks like, for tests: each function gives a list of what is wrong.

// Texts of one chart that lie over each other, or reach out of it.
function touchingTexts() {
  const wrong = [];
  for (const chart of document.querySelectorAll("svg.chart")) {
    const frame = chart.getBoundingClientRect();
    const texts = [...chart.querySelectorAll("text")].map((text) => {
      const box = text.getBoundingClientRect();
      return { text: text.textContent, box };
    });
    texts.forEach(({ text, box }, i) => {
      const name = chart.getAttribute("aria-label") ?? chart.querySelector("title").textContent;
      if (box.left < frame.left - 1 || box.right > frame.right + 1) wrong.push(`${name}: ${text} reaches out`);
      for (const other of texts.slice(i + 1)) {
        const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const down = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        // Boxes of letters are higher than the letters.
        if (across > 1 && down > 4) wrong.push(`${name}: ${text} | ${other.text}`);
      }
    });
  }
  return wrong;
}

// Texts whose contrast with what is behind them is below 4.5 (WCAG 2.2, 1.4.3).
function faintTexts() {
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const linear = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const paper = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, a = 1] = channels(getComputedStyle(at).backgroundColor);
      if (a > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const wrong = [];
  for (const element of document.querySelectorAll("body, body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !element.getClientRects().length || ["SCRIPT", "title", "desc"].includes(element.nodeName)) continue;
    const style = getComputedStyle(element);
    const inside = element.ownerSVGElement;
    const ink = luminance(channels(inside ? style.fill : style.color));
    const ground = luminance(paper(inside ?? element));
    const contrast = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
    if (contrast < 4.5) wrong.push(`${element.nodeName} ${element.textContent.slice(0, 30)}: ${contrast.toFixed(2)}`);
  }
  return wrong;
}

// What is wider than the window.
function tooWide() {
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide <= 0) return [];
  const beyond = [...document.querySelectorAll("body *")].filter((e) => {
    return e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll");
  });
  return [`${wide} px`, ...beyond.slice(0, 5).map((e) => `${e.nodeName}.${e.className} ${e.id}`)];
}
