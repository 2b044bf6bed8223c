/** The events of a stream. @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation */

export interface ServerSentEvent {
  readonly type: string;
  readonly data: string;
}

/** A server that sends no end of a line would fill the memory. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

export async function* readEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent, void, void> {
  const decoder = new TextDecoder();
  let text = '';
  let type = '';
  let data: string[] = [];
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      if (text.length > MAX_CHARACTERS) throw new Error('The server has sent a line that does not end');
      const lines = text.split(/\r\n|\n|\r/);
      text = lines.pop() ?? '';
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { type: type || 'message', data: data.join('\n') };
          type = '';
          data = [];
        } else if (line.startsWith('event:')) type = fieldOf(line);
        else if (line.startsWith('data:')) data.push(fieldOf(line));
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function fieldOf(line: string): string {
  return line.slice(line.indexOf(':') + 1).replace(/^ /, '');
}
