// A slide fills its room: its one picture takes what the words leave, and words alone grow. A live view fits itself. The extensions for the two RISEs hold these functions word for word.
"use strict";

// The part of the course gives the deck its colour, the lesson its place in the strip at the foot (rise.part, rise.lesson).
function showPlace(rise) {
  if (rise.part) document.body.dataset.part = rise.part;
  if (!rise.lesson) return;
  document.body.dataset.lesson = rise.lesson;
  document.body.style.setProperty("--lesson", rise.lesson);
}

function fillSlide() {
  const slide = document.querySelector(".reveal:not(.overview) .slides > section > section.present");
  if (!slide) return;
  for (const name of ["picture", "grow", "air", "drop"]) slide.style.removeProperty(`--slide-${name}`);
  slide.classList.remove("bertlook-fills", "bertlook-beside");
  const live = slide.querySelector(".bertlook, .bertlook-course, .bertlook-explorer:not(:has(figure)), iframe, canvas");
  const pictures = live ? [] : [...slide.querySelectorAll("figure > svg, figure > img")].filter((one) => one.checkVisibility());
  if (pictures.length === 1) fillPicture(slide, pictures[0]);
  growWords(slide, live || pictures.length ? [1.2, 1.1] : [1.5, 1.4, 1.3, 1.2, 1.1]);
  lowerBody(slide);
}

// The height that is left above the footer.
function restOf(slide) {
  return 0.93 * window.innerHeight - slide.scrollHeight - 4;
}

// The one picture takes the room that is left; where it is narrow, its caption stands beside it.
function fillPicture(slide, picture) {
  const box = picture.viewBox?.baseVal;
  const [w, h] = box ? [box.width, box.height] : [picture.naturalWidth, picture.naturalHeight];
  if (!w || !h) return;
  const figure = picture.parentElement;
  const caption = figure.querySelector("figcaption");
  const beside = caption?.innerText.trim() && w < 1.4 * h && figure.clientWidth > 900;
  const free = restOf(slide) + (beside ? caption.offsetHeight : 0);
  const widest = (beside ? 0.62 : 1) * figure.clientWidth;
  let height = Math.min(picture.getBoundingClientRect().height + free, (widest * h) / w);
  slide.classList.add("bertlook-fills");
  slide.classList.toggle("bertlook-beside", Boolean(beside));
  for (; height >= 0.25 * window.innerHeight; height *= 0.95) {
    slide.style.setProperty("--slide-picture", `${Math.floor(height)}px`);
    if (restOf(slide) >= 0) return;
  }
  slide.style.removeProperty("--slide-picture");
  slide.classList.remove("bertlook-fills", "bertlook-beside");
}

// Type grows as far as all of the slide, hidden fragments too, keeps its room and no line of code breaks; then lines move apart.
function growWords(slide, sizes) {
  const boxes = [slide, ...slide.querySelectorAll("pre, table, .jp-RenderedHTMLCommon, .rendered_html, .cm-content, .jp-OutputArea-output")];
  const wide = () => boxes.filter((box) => box.scrollWidth > box.clientWidth + 1).length;
  const lines = () => codes.reduce((sum, code) => sum + Math.round(code.offsetHeight / parseFloat(getComputedStyle(code).lineHeight)), 0);
  const codes = [...slide.querySelectorAll("pre, div.cm-content, .CodeMirror-code")];
  const before = [wide(), lines()];
  const set = (grow) => slide.style.setProperty("--slide-grow", grow);
  if (!sizes.some((grow) => (set(grow), restOf(slide) >= 0 && wide() <= before[0] && lines() <= before[1]))) slide.style.removeProperty("--slide-grow");
  const blocks = slide.querySelectorAll(":is(.jp-RenderedMarkdown, .text_cell_render) :is(p, li)").length;
  const air = Math.min(0.03 * window.innerHeight, (0.4 * restOf(slide)) / (blocks + 1));
  if (air > 2) slide.style.setProperty("--slide-air", `${Math.floor(air)}px`);
  if (!restOf(slide) >= 0) slide.style.removeProperty("--slide-air");
}

// What is below the heading stands in the middle of the room that is left.
function lowerBody(slide) {
  const free = restOf(slide);
  if (free > 8) slide.style.setProperty("--slide-drop", `${Math.floor(0.45 * free)}px`);
}

// Whenever another slide comes, the window changes, or a cell has shown something or taken another size.
function keepFilled() {
  let waiting = false;
  const soon = () => {
    if (!waiting) requestAnimationFrame(() => ((waiting = false), fillSlide()));
    waiting = true;
  };
  const sizes = new ResizeObserver(soon);
  const turned = () => {
    sizes.disconnect();
    for (const part of document.querySelectorAll(".reveal .slides > section > section.present :is(.bertlook, .jupyter-widgets, figure)")) sizes.observe(part);
    fillSlide();
  };
  for (const name of ["ready", "slidechanged", "overviewhidden"]) document.addEventListener(name, turned);
  window.addEventListener("resize", fillSlide);
  window.addEventListener("load", soon, { capture: true }); // a picture inside a slide
  new MutationObserver(soon).observe(document.body, { childList: true, subtree: true });
}
