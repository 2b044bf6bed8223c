// In the browser: shows the conversations as they come, and sends requests and decisions. All texts are set as text, never as HTML.
const byId = id => document.getElementById(id);
const articles = new Map();
const cards = new Map();

const events = new EventSource('/events');
events.addEventListener('open', () => {
  // The server sends everything again.
  for (const known of [articles, cards]) {
    for (const element of known.values()) element.remove();
    known.clear();
  }
  byId('none').hidden = false;
});
events.addEventListener('message', ({ data }) => {
  const { model, id, entry } = JSON.parse(data);
  if (model !== undefined) byId('status').textContent = `Connected, model: ${model}`;
  else show(id, entry);
});
events.addEventListener('error', () => {
  byId('status').textContent = 'The connection was lost; connecting again';
});

byId('ask').addEventListener('submit', async event => {
  event.preventDefault();
  const input = byId('text');
  if (await post('/requests', { text: input.value })) input.value = '';
});

async function post(path, body) {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const problem = await fetch(path, init).then(
    async response => (response.ok ? '' : await response.text()),
    error => error.message,
  );
  byId('problem').textContent = problem;
  return problem === '';
}

const LABELS = {
  code: 'Code',
  log: 'Log',
  call: 'Call',
  result: 'Result',
  approval: 'Paused',
  decision: 'Decision',
  answer: 'Answer',
  error: 'Error',
};

function show(id, entry) {
  if (!articles.has(id)) {
    const article = element('article', '', element('h3'), element('ol'));
    articles.set(id, article);
    byId('conversations').prepend(article);
  }
  const article = articles.get(id);
  if (entry.kind === 'request') article.querySelector('h3').textContent = entry.text;
  else {
    const item = element(
      'li',
      entry.kind,
      element('span', 'kind', LABELS[entry.kind]),
      element('pre', '', textOf(entry)),
    );
    item.classList.toggle('wrong', entry.error !== undefined || entry.kind === 'error' || entry.approved === false);
    article.querySelector('ol').append(item);
  }
  if (entry.kind === 'approval') ask(entry);
  if (entry.kind === 'decision') close(entry.run);
}

function textOf(entry) {
  switch (entry.kind) {
    case 'code':
      return entry.code;
    case 'log':
      return entry.message;
    case 'call':
      return `${entry.tool}: ${entry.status}, ${entry.durationMs.toFixed(1)} ms`;
    case 'result':
      return entry.error ?? entry.hint ?? entry.value;
    case 'approval':
      return `${entry.tool}() waits for an approval`;
    case 'decision':
      return (entry.approved ? 'approved' : 'denied') + (entry.note ? `: ${entry.note}` : '');
    default:
      return entry.text;
  }
}

/** Shows the card of an open approval. */
function ask({ run, tool, input }) {
  const note = element('input');
  note.id = `note-${run}`;
  note.maxLength = 1000;
  note.autocomplete = 'off';
  const label = element('label', '', 'Note, for a denial');
  label.htmlFor = note.id;
  const decide = approved => {
    const button = element('button', '', approved ? 'Approve' : 'Deny');
    button.type = 'button';
    button.addEventListener('click', () => void post('/decisions', { run, approved, note: note.value }));
    return button;
  };
  const form = element('form', '', label, note, decide(true), decide(false));
  // The key Enter in the note decides nothing.
  form.addEventListener('submit', event => event.preventDefault());
  const card = element('div', 'card', element('h3', '', `Allow ${tool}?`), element('pre', '', input), form);
  cards.set(run, card);
  byId('approvals').append(card);
  byId('none').hidden = true;
}

function close(run) {
  const hadFocus = cards.get(run)?.contains(document.activeElement);
  cards.get(run)?.remove();
  cards.delete(run);
  byId('none').hidden = cards.size > 0;
  if (hadFocus) byId('text').focus();
}

function element(name, className = '', ...children) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...children);
  return made;
}
