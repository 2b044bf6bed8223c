export function page(title, objects) {
  const items = objects.map(({ key, size }) => `<li>${escapeHtml(key)} (${size} bytes)</li>`);
  return `<!doctype html><title>${escapeHtml(title)}</title><ul>${items.join('')}</ul>\n`;
}

function escapeHtml(text) {
  return text.replace(/[&<>"]/g, character => `&#${character.charCodeAt(0)};`);
}
