// Light or dark: as the system says, or as the reader last chose.
(() => {
  const root = document.documentElement;
  const kept = () => { try { return localStorage.getItem("bertlook-look"); } catch { return null; } };
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (kept() ? kept() === "dark" : system.matches);
  const show = () => {
    root.dataset.look = dark() ? "dark" : "light";
    const button = document.getElementById("look");
    if (button) [button.hidden, button.textContent] = [false, dark() ? "Light" : "Dark"];
  };
  show();
  system.addEventListener("change", show);
  addEventListener("DOMContentLoaded", () => {
    show();
    document.getElementById("look")?.addEventListener("click", () => {
      const next = root.dataset.look === "dark" ? "light" : "dark";
      try { localStorage.setItem("bertlook-look", next); } catch { /* then for this page alone */ }
      root.dataset.look = next;
      document.getElementById("look").textContent = next === "dark" ? "Light" : "Dark";
    });
  });
})();
