// A button in the corner of every view: what is seen as a drawing (SVG), as a picture (PNG), or its numbers (CSV).
// Nothing leaves the page: the file is made here and handed to the browser as a download.

const SAVED_AS = { SVG: "image/svg+xml", PNG: "image/png", CSV: "text/csv" };
const SHARPER = 3; // pixels of a saved picture for one of the page
const MARGIN = 8; // around it
const UNSAVED = ".bl-save, .bl-unseen, .bl-tip, option, script, style";
const KEPT_OF_SVG = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "paint-order", "visibility"];

// A view says with `numbers` what its rows are and with `name` what a file is called; others have the tables for readers of the screen.
function saveButton(root, { name = () => root.classList[1].replace("bertlook-", ""), numbers = () => tablesOf(root) }) {
  const box = element("div", "bl-save");
  const show = (...nodes) => {
    const inside = box.contains(document.activeElement);
    box.replaceChildren(...nodes);
    if (inside) nodes[0].focus();
  };
  const open = button("bl-save-as", "save", () => show(...choices));
  open.setAttribute("aria-label", "save this view as a file");
  const choices = Object.keys(SAVED_AS).map((kind) =>
    button("bl-save-as", kind, async () => {
      const made = kind === "CSV" ? `\ufeff${commaSeparated(numbers())}` : drawingOf(root);
      download(`${name()}.${kind.toLowerCase()}`, kind === "PNG" ? await pictureOf(made) : new Blob([made], { type: SAVED_AS[kind] }));
      show(open);
    }),
  );
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || box.firstChild === open) return;
    keep(event);
    show(open);
  });
  box.addEventListener("focusout", (event) => event.relatedTarget && !box.contains(event.relatedTarget) && show(open));
  box.append(open);
  root.append(box);
}

function download(name, blob) {
  const link = element("a", "", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// What begins like a formula is kept from being one, with the sign that spreadsheets hide.
function commaSeparated(rows) {
  const cell = (value) => (typeof value === "number" ? String(value) : `"${value.replace(/^(?=[=+\-@\t\r])/, "'").replaceAll('"', '""')}"`);
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

// The tables that a view holds for readers of the screen.
const tablesOf = (root) => [...root.querySelectorAll("table")].flatMap(({ rows }) => [...rows].map(({ cells }) => [...cells].map(({ textContent }) => textContent)));

async function pictureOf(drawing) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width * SHARPER, image.height * SHARPER];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((made) => canvas.toBlob(made, "image/png"));
}

// Every text where it stands, every coloured part, and the drawings and canvases between them, as one SVG.
function drawingOf(root) {
  const paper = root.getBoundingClientRect();
  const size = { width: Math.ceil(paper.width) + 2 * MARGIN, height: Math.ceil(paper.height) + 2 * MARGIN };
  const whole = drawn("svg", { ...size, viewBox: `0 0 ${size.width} ${size.height}` });
  whole.append(drawn("rect", { ...size, fill: groundOf(root) }));
  const at = ({ left, top, width, height }) => ({ x: left - paper.left + MARGIN, y: top - paper.top + MARGIN, width, height });

  function copy(node, into) {
    if (node.nodeType === Node.TEXT_NODE) return write(node, into);
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches(UNSAVED)) return undefined;
    const style = getComputedStyle(node);
    if (style.display === "none" || style.visibility === "hidden" || style.opacity === "0") return undefined;
    if (style.transform !== "none" && !node.ownerSVGElement) return turned(node, style, into);
    if (node.matches("svg")) return into.append(styled(node, at(node.getBoundingClientRect())));
    const box = at(node.getBoundingClientRect());
    if (node.matches("canvas")) return into.append(drawn("image", { ...box, href: node.toDataURL() }));
    const [, frame, wide] = /^(rgba?\(.*?\)).* ([\d.]+)px inset/.exec(style.boxShadow.split(/, (?=rgb)/)[0]) ?? []; // of the chosen head
    const edge = frame ? { stroke: frame, "stroke-width": wide } : parseFloat(style.borderTopWidth) ? { stroke: style.borderTopColor } : null;
    const shades = style.backgroundImage.match(/rgb\(.*?\)/g) ?? [style.backgroundColor]; // of a scale, from left to right
    shades.forEach((fill, i) => {
      if (edge || !fill.endsWith(", 0)")) into.append(drawn("rect", { ...box, x: box.x + (box.width * i) / shades.length, width: box.width / shades.length, fill, rx: shades.length > 1 ? 0 : parseFloat(style.borderTopLeftRadius) || 0, ...(shades.length > 1 ? {} : edge) }));
    });
    if (node.matches("select")) return write(node.selectedOptions[0]?.firstChild, into, node);
    for (const child of node.childNodes) copy(child, into);
    return undefined;
  }

  // A turned label is measured as it stands before it is turned.
  function turned(node, { transform, transformOrigin }, into) {
    const before = node.style.transform;
    node.style.transform = "none";
    const { x, y } = at(node.getBoundingClientRect());
    const [across, down] = transformOrigin.split(" ").map(parseFloat);
    const group = drawn("g", { transform: `translate(${x + across} ${y + down}) ${transform} translate(${-x - across} ${-y - down})` });
    copy(node, group);
    node.style.transform = before;
    into.append(group);
  }

  // A text line by line; `shown` is what shows it, where that is not what it stands in.
  function write(node, into, shown = node?.parentElement) {
    if (!node?.data.trim()) return;
    const style = getComputedStyle(shown);
    const pen = (write.pen ??= document.createElement("canvas").getContext("2d"));
    pen.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below } = pen.measureText("x");
    const upright = !style.writingMode.startsWith("vertical");
    for (const [line, rect] of shown === node.parentElement ? linesOf(node) : [[node.data, shown.getBoundingClientRect()]]) {
      const { x, y, width, height } = at(rect);
      const inset = shown === node.parentElement ? 0 : parseFloat(style.paddingLeft) + 4;
      const place = upright ? { x: x + inset, y: y + (height - above - below) / 2 + above } : { transform: `translate(${x + (width - above - below) / 2 + below} ${y}) rotate(90)` };
      const look = { fill: style.color, "font-family": style.fontFamily, "font-size": style.fontSize, "font-weight": style.fontWeight, "xml:space": "preserve" };
      into.append(drawn("text", { ...place, ...look, ...(shown === node.parentElement ? { textLength: upright ? width : height, lengthAdjust: "spacingAndGlyphs" } : {}) }, line));
    }
  }

  for (const child of root.childNodes) copy(child, whole);
  return new XMLSerializer().serializeToString(whole);
}

function linesOf(node) {
  const lines = [];
  const range = document.createRange();
  for (const { 0: word, index } of node.data.matchAll(/\s*\S+\s*/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const rect = range.getBoundingClientRect();
    const last = lines.at(-1);
    if (last && Math.abs(last.rect.top - rect.top) < rect.height / 2) last.end = index + word.length;
    else lines.push({ start: index, end: index + word.length, rect });
  }
  return lines.map(({ start, end }) => {
    range.setStart(node, start);
    range.setEnd(node, end);
    return [node.data.slice(start, end), range.getBoundingClientRect()];
  });
}

// A drawing of the page as a part of another: what style sheets say of it goes with it.
function styled(node, place) {
  const copied = node.cloneNode(true);
  const [from, to] = [node, copied].map((one) => [one, ...one.querySelectorAll("*")]);
  from.forEach((part, i) => {
    const style = getComputedStyle(part);
    for (const name of KEPT_OF_SVG) to[i].style.setProperty(name, style.getPropertyValue(name));
  });
  for (const [name, value] of Object.entries(place)) copied.setAttribute(name, value);
  return copied;
}

// The first colour behind a view.
function groundOf(node) {
  for (let up = node; up; up = up.parentElement) {
    const { backgroundColor } = getComputedStyle(up);
    if (!backgroundColor.endsWith(", 0)")) return backgroundColor;
  }
  return "#fff";
}
