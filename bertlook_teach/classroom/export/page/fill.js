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
  for (const name of ["--slide-picture", "--slide-grow"]) slide.style.removeProperty(name);
  slide.classList.remove("bertlook-fills");
  const held = [...slide.querySelectorAll(".jp-CodeCell, .code_cell, svg, img, iframe, canvas")];
  if (!held.some((part) => part.checkVisibility())) return growWords(slide); // a hidden set-up cell does not count
  if (slide.querySelector(".bertlook, .bertlook-course, .bertlook-explorer:not(:has(figure)), iframe, canvas")) return;
  const pictures = [...slide.querySelectorAll("figure > svg, figure > img")];
  if (pictures.length !== 1) return;
  const box = pictures[0].viewBox?.baseVal;
  const [w, h] = box ? [box.width, box.height] : [pictures[0].naturalWidth, pictures[0].naturalHeight];
  if (!w || !h) return;
  const free = 0.93 * window.innerHeight - slide.scrollHeight - 4;
  let height = Math.min(pictures[0].getBoundingClientRect().height + free, (pictures[0].parentElement.clientWidth * h) / w);
  slide.classList.add("bertlook-fills");
  for (; height >= 0.25 * window.innerHeight; height *= 0.95) {
    slide.style.setProperty("--slide-picture", `${Math.floor(height)}px`);
    if (slide.scrollHeight <= slide.clientHeight + 1) return;
  }
  slide.style.removeProperty("--slide-picture");
  slide.classList.remove("bertlook-fills");
}

// On a slide of words alone the type grows as far as all of it, hidden fragments too, keeps its room in height and width.
function growWords(slide) {
  const boxes = [slide, ...slide.querySelectorAll("pre, table, .jp-RenderedHTMLCommon, .rendered_html")];
  const wide = () => boxes.filter((box) => box.scrollWidth > box.clientWidth + 1).length;
  const before = wide();
  for (const grow of [1.3, 1.2, 1.1]) {
    slide.style.setProperty("--slide-grow", grow);
    if (slide.scrollHeight <= slide.clientHeight + 1 && slide.scrollHeight < 0.92 * window.innerHeight && wide() <= before) return;
  }
  slide.style.removeProperty("--slide-grow");
}

// Whenever another slide comes, the window changes, or a cell has shown something.
function keepFilled() {
  let waiting = false;
  const soon = () => {
    if (!waiting) requestAnimationFrame(() => ((waiting = false), fillSlide()));
    waiting = true;
  };
  for (const name of ["ready", "slidechanged", "overviewhidden"]) document.addEventListener(name, fillSlide);
  window.addEventListener("resize", fillSlide);
  window.addEventListener("load", soon, { capture: true }); // a picture inside a slide
  new MutationObserver(soon).observe(document.body, { childList: true, subtree: true });
}
