// Writes the table of Node's modules in docs/node.md, by asking a function of the real engine which names have code. With --check, it exits with 1 if the table
// is not up to date. It needs the build.
import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { EdgeHost } from '../dist/src/index.js';

const PAGE = fileURLToPath(new URL('../docs/node.md', import.meta.url));
const START = '<!-- modules -->';
const END = '<!-- /modules -->';
/** Longer lists are cut. */
const MAX_NAMES = 8;

const FUNCTION = `
const isMissing = value => Object.getOwnPropertySymbols(value).some(symbol => symbol.description === 'edgehost.unsupported');
export default { fetch() {
  const modules = {};
  for (const name of require('module').builtinModules) {
    const module = require(name);
    const entry = { working: 0, throwing: [] };
    const look = (key, value) => {
      if (typeof value !== 'function') return;
      if (isMissing(value)) entry.throwing.push(key);
      else entry.working++;
    };
    for (const key of Object.keys(module)) {
      if (key.startsWith('_') || key === 'default') continue;
      const value = module[key];
      look(key, value);
      if (typeof value !== 'object' || value === null) continue;
      for (const member of Object.keys(value)) if (typeof value[member] === 'function' && isMissing(value[member])) look(key + '.' + member, value[member]);
    }
    modules[name] = entry;
  }
  return Response.json(modules);
} };`;

async function supported() {
  const host = new EdgeHost({ storage: ':memory:', isolation: 'thread', limits: { cpuMs: 10_000 } });
  try {
    const fn = await host.load(FUNCTION);
    return await (await fn.fetch('http://function.example/')).json();
  } finally {
    await host.close();
  }
}

function levelOf({ working, throwing }) {
  if (throwing.length === 0) return working === 0 ? 'constants' : 'full';
  return working === 0 ? 'throws' : 'partial';
}

function row(name, entry) {
  const level = levelOf(entry);
  const names = entry.throwing.slice(0, MAX_NAMES).map(key => `\`${key}\``);
  const rest = entry.throwing.length - names.length;
  const list = names.join(', ') + (rest > 0 ? `, and ${rest} more` : '');
  return [`\`${name}\``, level, level === 'throws' ? 'all of its functions' : list];
}

function table(rows) {
  const all = [['module', 'level', 'functions that throw'], ...rows];
  const widths = [0, 1, 2].map(at => Math.max(...all.map(cells => cells[at].length)));
  const line = cells => `| ${cells.map((cell, at) => cell.padEnd(widths[at])).join(' | ')} |`;
  const [head, ...body] = all;
  return [line(head), line(widths.map(width => '-'.repeat(width))), ...body.map(line)].join('\n');
}

const modules = await supported();
const rows = Object.keys(modules)
  .filter(name => !name.startsWith('_') && name !== 'sys')
  .sort()
  .map(name => row(name, modules[name]));
const text = readFileSync(PAGE, 'utf8');
const start = text.indexOf(START);
const end = text.indexOf(END);
if (start < 0 || end < start) throw new Error(`docs/node.md lacks ${START} or ${END}`);
const updated = `${text.slice(0, start + START.length)}\n\n${table(rows)}\n\n${text.slice(end)}`;
if (!process.argv.includes('--check')) writeFileSync(PAGE, updated);
else if (updated !== text) {
  process.stderr.write('docs/node.md is not up to date: run node .scripts/node-table.mjs\n');
  process.exitCode = 1;
}
