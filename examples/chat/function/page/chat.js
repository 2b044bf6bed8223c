// In the browser: connects to the room, shows what is said there, and connects again when the connection is lost.
const PING_MS = 30_000;
const MAX_WAIT_MS = 15_000;
const REFUSED = 4000;

const [, , room] = location.pathname.split('/');
const element = id => document.getElementById(id);
const status = element('status');
const messages = element('messages');
const times = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

let socket;
let lastId = 0;
let failures = 0;

element('room').textContent = room;
document.title = `${room} – Chat`;

element('enter').addEventListener('submit', event => {
  event.preventDefault();
  enter(element('name').value);
});

element('say').addEventListener('submit', event => {
  event.preventDefault();
  const input = element('text');
  // What cannot be sent now stays where it is.
  if (socket?.readyState !== WebSocket.OPEN || input.value.trim() === '') return;
  socket.send(input.value);
  input.value = '';
});

// A page that is loaded again is still in the room.
const known = sessionStorage.getItem('name');
if (known !== null) enter(known);
else element('name').focus();

function enter(name) {
  sessionStorage.setItem('name', name);
  element('enter').hidden = true;
  element('chat').hidden = false;
  element('text').focus();
  connect(name);
}

function connect(name) {
  status.textContent = 'Connecting';
  const url = new URL(`/rooms/${room}/socket`, location.href);
  url.protocol = url.protocol.replace('http', 'ws');
  url.searchParams.set('name', name);
  url.searchParams.set('after', String(lastId));
  socket = new WebSocket(url);
  let pinging;
  socket.addEventListener('open', () => {
    failures = 0;
    status.textContent = `Connected as ${name}`;
    pinging = setInterval(() => socket.send('ping'), PING_MS);
  });
  socket.addEventListener('message', ({ data }) => {
    if (data !== 'pong') receive(JSON.parse(data));
  });
  socket.addEventListener('close', ({ code, reason }) => {
    clearInterval(pinging);
    if (code === REFUSED) {
      status.textContent = `Not connected: ${reason}`;
      return;
    }
    status.textContent = 'The connection was lost; connecting again';
    // Not all browsers at the same moment.
    const waitMs = Math.min(MAX_WAIT_MS, 250 * 2 ** failures++) * (0.5 + Math.random() / 2);
    setTimeout(() => connect(name), waitMs);
  });
}

function receive(message) {
  if (message.kind === 'here') element('here').textContent = message.names.join(', ');
  else if (message.kind === 'history') message.messages.forEach(show);
  else show(message);
}

function show({ id, author, text, sentAt }) {
  // The history and the first message may overlap.
  if (id <= lastId) return;
  lastId = id;
  const isAtEnd = messages.scrollHeight - messages.scrollTop - messages.clientHeight < 40;
  const item = document.createElement('li');
  const time = document.createElement('time');
  time.dateTime = sentAt;
  time.textContent = times.format(new Date(sentAt));
  const name = document.createElement('span');
  name.className = 'author';
  name.textContent = author;
  const body = document.createElement('p');
  body.textContent = text;
  item.append(name, ' ', time, body);
  messages.append(item);
  if (isAtEnd) messages.scrollTop = messages.scrollHeight;
}
