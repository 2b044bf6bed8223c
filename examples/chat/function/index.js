// The requests of browsers: the page, and the WebSocket of a room, which goes on to the room's object.
import script from './page/chat.js';
import page from './page/index.html';
import style from './page/style.css';

export { Room } from './room.js';

const ROOM = /^\/rooms\/([a-z0-9-]{1,40})(\/socket)?$/;

const FILES = new Map([
  ['/page/chat.js', { text: script, type: 'text/javascript; charset=utf-8' }],
  ['/page/style.css', { text: style, type: 'text/css; charset=utf-8' }],
]);

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

export default {
  fetch(request, env) {
    const url = new URL(request.url);
    if (url.pathname === '/') return Response.redirect(new URL('/rooms/lobby', url).href, 302);
    const file = FILES.get(url.pathname);
    if (file !== undefined) return send(file.text, file.type);
    const [, room, socket] = ROOM.exec(url.pathname) ?? [];
    if (room === undefined) return new Response('Not found\n', { status: 404 });
    if (socket === undefined) return send(page, 'text/html; charset=utf-8');
    if (request.headers.get('upgrade') !== 'websocket') {
      return new Response('This is the address of a WebSocket\n', { status: 426, headers: { upgrade: 'websocket' } });
    }
    // Browsers let the pages of any site connect, with the cookies of this one.
    if (!isOwnPage(request.headers.get('origin'), url)) {
      return new Response('Only pages of this site may connect\n', { status: 403 });
    }
    return env.ROOMS.getByName(room).fetch(request);
  },
};

function send(text, type) {
  return new Response(text, { headers: { ...HEADERS, 'content-type': type } });
}

/** What is no browser says no origin. */
function isOwnPage(origin, { host }) {
  return origin === null || (URL.canParse(origin) && new URL(origin).host === host);
}
