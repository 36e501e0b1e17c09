// What a view has in a kernel's place: anywidget's interface over saved traits. Bytes are saved as {base64}.
function decoded(value) {
  if (typeof value?.base64 !== "string") return value;
  const letters = atob(value.base64);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return new DataView(bytes.buffer);
}

const same = (a, b) => a === b || (typeof a === "object" && typeof b === "object" && !ArrayBuffer.isView(a) && JSON.stringify(a) === JSON.stringify(b));

class SavedModel {
  constructor(state) {
    this.listeners = new Map();
    this.state = Object.fromEntries(Object.entries(state).map(([name, value]) => [name, decoded(value)]));
  }
  get(name) {
    return this.state[name];
  }
  set(name, value) {
    const changes = Object.entries(typeof name === "string" ? { [name]: value } : name);
    const changed = changes.filter(([key, content]) => !same(this.state[key], content));
    for (const [key, content] of changed) this.state[key] = content;
    for (const [key, content] of changed) this.emit(`change:${key}`, content);
    if (changed.length) this.emit("change");
  }
  save_changes() {} // there is nobody to tell
  send() {}
  on(names, listener) {
    for (const name of names.split(/\s+/)) this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
  }
  off(names, listener) {
    for (const name of names ? names.split(/\s+/) : [...this.listeners.keys()]) {
      const left = listener ? (this.listeners.get(name) ?? []).filter((one) => one !== listener) : [];
      this.listeners.set(name, left);
    }
  }
  emit(name, value) {
    for (const listener of this.listeners.get(name) ?? []) listener(this, value);
  }
}
