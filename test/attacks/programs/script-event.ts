import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to climb from the events of a classic script',
  rules: ['R7'],
  script: `
addEventListener('fetch', event => {
  keep(event); keep(event.request); keep(event.target); keep(event.currentTarget); keep(event.composedPath());
  attempt(() => event.respondWith({ then(a, b) { keep(a); keep(b); b(1); }, get status() { throw 1; } }));
  attempt(() => event.respondWith(1));
  attempt(() => event.waitUntil({ then(a, b) { keep(a); keep(b); a(); } }));
  attempt(() => event.passThroughOnException.call({}));
  attempt(() => new event.constructor('fetch', { request: event.request }));
  event.stopImmediatePropagation();
});
addEventListener('fetch', { handleEvent(event) { event.respondWith(report()); } });
`,
  holds: ended('EDGE_HANDLER_THREW', 'EDGE_NO_RESPONSE'),
});
