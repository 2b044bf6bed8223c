// The agent: asks the model, runs the code that it writes, and gives it the result, until it answers in words. Conversations are in the account's storage, and so
// are paused runs: an approval may come after a restart.
import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { crmTools } from './crm.js';

const MAX_STEPS = 6;
const KEPT_SECONDS = 8 * 86_400; // longer than a paused run

/** An entry of these kinds is the last one of its conversation. */
const IS_LAST = new Set(['answer', 'error']);

/**
 * @param {{
 *   account: import('edgehost').Account,
 *   model: { answer(messages: { role: string, content: string }[]): Promise<string> },
 *   show(id: string, entry: object): void,
 * }} options `show` gets each entry of a conversation as it is added
 */
export async function startAgent({ account, model, show }) {
  const box = account.sandbox({
    name: 'agent',
    tools: crmTools(account.bucket('refunds')),
    limits: { cpuMs: 500, wallMs: 20_000, calls: 30 },
    approve: ({ tool }) => (tool === 'refund' ? 'pause' : 'allow'),
  });
  const system = `You are the assistant of a shop. To read or change something, answer with JavaScript alone, between \`\`\` fences: the body of an async function,
which must return its result. You get the result as JSON, and may then write more code. To end, answer in words, without code. In scope:\n\n${box.types}`;
  const store = account.kv('conversations');
  /** Lists of entries by id, the oldest first. */
  const conversations = new Map();
  /** Where the approval of a paused run is asked for, by the id of the run. */
  const waiting = new Map();
  await restore();

  function add(id, entry) {
    conversations.get(id).push(entry);
    show(id, entry);
  }

  /** Stores the conversation with a further entry, and shows it only then. */
  async function keep(id, entry) {
    const entries = [...conversations.get(id), entry];
    await store.put(id, JSON.stringify(entries), { expirationTtl: KEPT_SECONDS });
    add(id, entry);
  }

  /** Takes steps until the model has answered or a run is paused. `resume` continues a run that was paused. */
  async function work(id, resume) {
    try {
      let run = resume;
      for (let step = 0; step < MAX_STEPS; step++) {
        if (run !== undefined && !(await finish(id, await run()))) return;
        const text = await model.answer([{ role: 'system', content: system }, ...messagesOf(conversations.get(id))]);
        const code = /```\w*\n(.*?)\n?```/s.exec(text)?.[1];
        if (code === undefined) return await keep(id, { kind: 'answer', text });
        add(id, { kind: 'code', code });
        run = () => box.run(code, listeners(id));
      }
      throw new Error(`The model has not answered after ${MAX_STEPS} steps`);
    } catch (error) {
      // Errors of the code are results. This one is the model's, or the storage's.
      await keep(id, { kind: 'error', text: error.message });
    }
  }

  /** Whether the run is over, and not paused. */
  async function finish(id, { status, value, error, logs, hint, paused }) {
    if (status === 'paused') {
      waiting.set(paused.id, id);
      const input = textOf(paused.input);
      await keep(id, { kind: 'approval', run: paused.id, tool: paused.tool, input, lines: logs.length });
      return false;
    }
    const shown = status === 'ok' ? textOf(value) : undefined;
    await keep(id, { kind: 'result', status, value: shown, error: error?.stack, hint });
    return true;
  }

  /** A run that is resumed logs its first lines again, which are shown already. */
  function listeners(id, shownLines = 0) {
    let lines = 0;
    return {
      onLog: ({ level, message }) => ++lines > shownLines && add(id, { kind: 'log', level, message }),
      // The call that waits for an approval is abandoned.
      onCall: ({ tool, status, durationMs }) =>
        status !== 'abandoned' && add(id, { kind: 'call', tool, status, durationMs }),
    };
  }

  async function restore() {
    for (let cursor; ; ) {
      const page = await store.list({ cursor });
      for (const { name } of page.keys) conversations.set(name, (await store.get(name, 'json')) ?? []);
      if (page.list_complete) break;
      cursor = page.cursor;
    }
    const idOf = new Map([...conversations].flatMap(([id, entries]) => entries.map(({ run }) => [run, id])));
    for await (const { id: run, tool, input } of box.paused()) {
      const id = idOf.get(run) ?? newId();
      const entries = conversations.get(id) ?? [];
      conversations.set(id, entries);
      waiting.set(run, id);
      // This program may have ended before it has stored the pause, or while it resumed the run.
      if (entries.at(-1)?.kind !== 'approval')
        entries.push({ kind: 'approval', run, tool, input: textOf(input), lines: 0 });
    }
    const open = new Set(waiting.values());
    for (const [id, entries] of conversations)
      if (!open.has(id) && !IS_LAST.has(entries.at(-1)?.kind))
        entries.push({ kind: 'error', text: 'The program has ended before the answer' });
  }

  return {
    conversations,
    /** Begins a conversation, and does not wait for its end. */
    ask(text) {
      const id = newId();
      conversations.set(id, []);
      add(id, { kind: 'request', text });
      work(id).catch(console.error);
    },
    /** Resumes a paused run. @returns false when no such run waits */
    decide(run, approved, note) {
      const id = waiting.get(run);
      if (id === undefined) return false;
      waiting.delete(run);
      const { lines } = conversations.get(id).findLast(entry => entry.run === run);
      add(id, { kind: 'decision', run, approved, note });
      work(id, () => box.resume(run, { approved, ...(note && { note }), ...listeners(id, lines) })).catch(
        console.error,
      );
      return true;
    },
  };
}

/** Values may be more than JSON takes: maps, cycles, big integers. */
function textOf(value) {
  return inspect(value, { depth: 8, maxArrayLength: 200, maxStringLength: 10_000 });
}

/** Ids sort by time. */
function newId() {
  return `${Date.now()}-${randomUUID()}`;
}

/** The conversation for the model: what it wrote, and how that has ended. */
function messagesOf(entries) {
  return entries.flatMap(({ kind, text, code, ...result }) => {
    if (kind === 'request') return { role: 'user', content: text };
    if (kind === 'code') return { role: 'assistant', content: `\`\`\`js\n${code}\n\`\`\`` };
    if (kind === 'result') return { role: 'user', content: JSON.stringify(result) };
    return [];
  });
}
