export function page(title, objects) {
  const items = objects.map(({ key, size }) => `<li>${escape(key)} (${size} bytes)</li>`);
  return `<!doctype html><title>${escape(title)}</title><ul>${items.join('')}</ul>\n`;
}

function escape(text) {
  return text.replace(/[&<>"]/g, character => `&#${character.charCodeAt(0)};`);
}
