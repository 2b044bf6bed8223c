// A room: who is in it, and what is said there. Its WebSockets sleep: while nobody says anything there is no instance, and the host keeps the connections.
import { StatefulObject } from 'edgehost:workers';

const NAME_LENGTH = 40;
const TEXT_LENGTH = 2000;
/** Messages that a browser is shown of what was said before. */
const HISTORY = 100;
/** A code of the application's own: the browser is not to connect again. */
const REFUSED = 4000;

export class Room extends StatefulObject {
  /** The messages of a room are stored and sent one after the other. */
  #last = Promise.resolve();

  constructor(ctx, env) {
    super(ctx, env);
    // Answered by the host: browsers that only ask whether the room is there wake nobody.
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'));
  }

  /** A browser comes in. `after` is the last message that it knows. */
  async fetch(request) {
    const { searchParams } = new URL(request.url);
    const name = (searchParams.get('name') ?? '').trim();
    if (name === '' || name.length > NAME_LENGTH) {
      return new Response(`A name has 1 to ${NAME_LENGTH} characters\n`, { status: 400 });
    }
    const [client, socket] = Object.values(new WebSocketPair());
    // From here on it gets what is said, so nothing is lost between the history and the next message.
    this.ctx.acceptWebSocket(socket);
    socket.serializeAttachment({ name });
    tell(socket, { kind: 'history', messages: await this.#history(Number(searchParams.get('after')) || 0) });
    this.#tellWhoIsHere();
    return new Response(null, { status: 101, webSocket: client });
  }

  async webSocketMessage(socket, message) {
    const text = textOf(message);
    if (text === undefined) {
      socket.close(REFUSED, `A message is a text of 1 to ${TEXT_LENGTH} characters`);
      return;
    }
    const { name } = socket.deserializeAttachment();
    const said = this.#last.then(() => this.#say(name, text));
    this.#last = said.catch(() => {});
    await said;
  }

  webSocketClose(socket) {
    this.#tellWhoIsHere(socket);
  }

  webSocketError(socket) {
    this.#tellWhoIsHere(socket);
  }

  async #say(author, text) {
    const sentAt = new Date().toISOString();
    const id = await this.env.DB.prepare(
      'INSERT INTO messages (room, author, text, sent_at) VALUES (?, ?, ?, ?) RETURNING id',
    )
      .bind(this.ctx.id.name, author, text, sentAt)
      .first('id');
    const message = { kind: 'message', id, author, text, sentAt };
    for (const socket of this.ctx.getWebSockets()) tell(socket, message);
  }

  /** The last messages behind `after`, the oldest first. */
  async #history(after) {
    const { results } = await this.env.DB.prepare(
      'SELECT id, author, text, sent_at AS sentAt FROM messages WHERE room = ? AND id > ? ORDER BY id DESC LIMIT ?',
    )
      .bind(this.ctx.id.name, after, HISTORY)
      .all();
    return results.reverse();
  }

  #tellWhoIsHere(gone) {
    const here = this.ctx.getWebSockets().filter(socket => socket !== gone && socket.readyState === WebSocket.OPEN);
    const names = [...new Set(here.map(socket => socket.deserializeAttachment().name))].sort();
    for (const socket of here) tell(socket, { kind: 'here', names });
  }
}

function tell(socket, message) {
  try {
    socket.send(JSON.stringify(message));
  } catch {
    // It was closed a moment ago.
  }
}

function textOf(message) {
  if (typeof message !== 'string') return undefined;
  const text = message.trim();
  return text !== '' && text.length <= TEXT_LENGTH ? text : undefined;
}
