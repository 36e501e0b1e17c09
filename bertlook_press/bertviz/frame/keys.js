// BertViz knows the mouse alone. What it draws to be clicked or pointed at gets one tab stop each, arrows within, Enter for
// a click and Shift+Enter for two; they are found by the handlers that d3 has put on them, and anew after each drawing.
const vis = document.getElementById("vis");
vis.setAttribute("role", "toolbar");
vis.setAttribute("aria-label", "Arrows go from one to the next, Enter clicks, Shift+Enter clicks twice.");
const hears = (node, type) => (node.__on ?? []).some((one) => one.type === type);
const place = {click: 0, mouseover: 0};
const found = {click: [], mouseover: []};
const name = (node, i) => {
  const {include_layers: layers, include_heads: heads} = bertvizParams; // heads: in the model view alone
  const token = node.closest("g")?.textContent.trim();
  return token || (heads ? `layer ${layers[Math.floor(i / heads.length)]}, head ${heads[i % heads.length]}` : `head ${i}`);
};
const choose = (type, i, focus) => {
  place[type] = Math.max(0, Math.min(found[type].length - 1, i));
  found[type].forEach((node, j) => node.setAttribute("tabindex", j === place[type] ? 0 : -1));
  if (focus) found[type][place[type]]?.focus();
};
const mark = () => {
  const had = vis.dataset.focus;
  const all = [...vis.querySelectorAll("g, rect, text")].filter((node) => node.checkVisibility({visibilityProperty: true}));
  found.click = all.filter((node) => hears(node, "click"));
  found.mouseover = all.filter((node) => hears(node, "mouseover") && !hears(node, "click"));
  for (const [type, nodes] of Object.entries(found)) {
    nodes.forEach((node, i) => {
      node.dataset.kind = type;
      node.setAttribute("role", type === "click" ? "button" : "img");
      node.setAttribute("aria-label", name(node, i));
      if (type === "click" && getComputedStyle(node).opacity === "0") node.classList.add("unseen");
    });
    choose(type, place[type], false);
  }
  if (had && (document.activeElement === document.body || !document.activeElement.checkVisibility({visibilityProperty: true}))) found[had][place[had]]?.focus();
};
const send = (node, type) => node.dispatchEvent(new MouseEvent(type, {bubbles: true, cancelable: true}));
vis.addEventListener("focusin", ({target}) => {
  const type = target.dataset.kind;
  if (!type) return;
  vis.dataset.focus = type;
  if (type !== "mouseover") return;
  send(target, "mouseover");
  const own = found.click.findIndex((node) => target.contains(node)); // its plus sign comes next
  if (own >= 0) choose("click", own, false);
});
vis.addEventListener("focusout", ({target, relatedTarget}) => {
  if (target.dataset.kind === "mouseover") ["mouseout", "mouseleave"].forEach((type) => send(target, type));
  if (relatedTarget && !vis.contains(relatedTarget)) delete vis.dataset.focus;
});
vis.addEventListener("keydown", (event) => {
  const {target, key, shiftKey} = event;
  const type = target.dataset.kind, i = (found[type] ?? []).indexOf(target);
  const step = {ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1}[key];
  if (i < 0 || !(step || key === "Enter" || key === " ")) return;
  event.preventDefault();
  if (step) choose(type, i + step, true);
  else if (type === "click") {
    send(target, shiftKey ? "dblclick" : "click");
    setTimeout(mark); // what was clicked may have made room for another
  }
});
// Keys of the slides, which hear nothing of what is pressed in a frame (classroom/export/page/fill.js).
window.addEventListener("keydown", (event) => {
  const {key, code, keyCode, ctrlKey, altKey, metaKey} = event;
  if (ctrlKey || altKey || metaKey || !["Escape", "PageUp", "PageDown", "b", "."].includes(key)) return;
  event.preventDefault();
  parent.postMessage({bertlookKey: {key, code, keyCode}}, "*");
});
new MutationObserver(mark).observe(vis, {childList: true, subtree: true});
mark();
