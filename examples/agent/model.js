// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are source code
// The models: one with a fixed list of answers, and a real one behind an endpoint that is compatible with OpenAI's.
// A model takes messages `{ role, content }` and answers with a text. JavaScript between ``` fences in it is run.

const TIMEOUT_MS = 120_000;

/** The answers of the scripted model, step by step, chosen by a word of the request, which may name a customer and an item. */
const SCRIPT = [
  {
    asked: /refund/i,
    answers: [
      // There is no such tool. The error names the one that was meant.
      ({ name }) => fenced(`const [customer] = await tools.findCustomer({ name: '${name}' });\nreturn customer;`),
      ({ name, item }) =>
        fenced(`const [customer] = await tools.findCustomers({ name: '${name}' });
const orders = await tools.orders({ customerId: customer.id });
console.log(\`\${customer.name} has \${orders.length} orders\`);
const order = orders.find(({ item }) => item.includes('${item}'));
return tools.refund({ orderId: order.id, cents: order.cents, reason: \`\${order.item}: broken\` });`),
      ({ result }) => `The money goes back: ${result.value}`,
    ],
  },
  {
    asked: /spent|spend/i,
    answers: [
      () =>
        fenced(`const customers = await tools.findCustomers({ name: '' });
const totals = await Promise.all(customers.map(async ({ id, name }) => {
  const orders = await tools.orders({ customerId: id });
  return { name, cents: orders.reduce((sum, { cents }) => sum + cents, 0) };
}));
console.log('read the orders of', customers.length, 'customers');
return totals.sort((a, b) => b.cents - a.cents);`),
      ({ result }) => `They have spent, the most first: ${result.value}`,
    ],
  },
  {
    asked: /(?:)/,
    answers: [() => 'I am scripted. Ask “Refund the broken lamp of Ann”, or “Who has spent most?”.'],
  },
];

function fenced(code) {
  return `\`\`\`js\n${code}\n\`\`\``;
}

/** Answers by the number of its answers so far. */
async function scriptedModel(messages) {
  const request = messages.find(({ role }) => role === 'user').content;
  const { answers } = SCRIPT.find(({ asked }) => asked.test(request));
  const step = messages.filter(({ role }) => role === 'assistant').length;
  const result = step === 0 ? undefined : JSON.parse(messages.at(-1).content);
  if (step >= answers.length - 1 && result && result.status !== 'ok') return `That did not work. ${result.error}`;
  const name = /Ann|Bob/.exec(request)?.[0] ?? 'Ann';
  const item = /lamp|shelf|kettle/.exec(request)?.[0] ?? 'lamp';
  return answers[step]({ name, item, result });
}

/** The model that the environment names. @throws Error when a part is missing */
export function modelOf({ MODEL_URL, MODEL_NAME, MODEL_KEY }) {
  const settings = { MODEL_URL, MODEL_NAME, MODEL_KEY };
  const missing = Object.keys(settings).filter(name => settings[name] === undefined);
  if (missing.length === 3) return { name: 'scripted', answer: scriptedModel };
  if (missing.length > 0) throw new Error(`A real model needs ${missing.join(' and ')}, too (see README.md)`);
  if (!/^https?:$/.test(URL.canParse(MODEL_URL) ? new URL(MODEL_URL).protocol : ''))
    throw new Error(`MODEL_URL is "${MODEL_URL}", expected an address such as https://api.example.com/v1`);
  return { name: MODEL_NAME, answer: messages => ask(settings, messages) };
}

async function ask({ MODEL_URL, MODEL_NAME, MODEL_KEY }, messages) {
  const response = await fetch(`${MODEL_URL.replace(/\/$/, '')}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(MODEL_KEY !== '' && { authorization: `Bearer ${MODEL_KEY}` }) },
    body: JSON.stringify({ model: MODEL_NAME, messages }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`The model answered with ${response.status}: ${text.slice(0, 300)}`);
  const content = JSON.parse(text).choices?.[0]?.message?.content;
  if (typeof content !== 'string') throw new Error(`The model answered without a text: ${text.slice(0, 300)}`);
  return content;
}
