// The frame's own width is known only in the browser, and is nothing while its slide is hidden.
const fit = () => {
  if (innerWidth) document.body.style.zoom = Math.max(0.4, Math.min(ZOOM, (innerWidth - 8) / WIDTH));
};
addEventListener("resize", fit);
fit();
