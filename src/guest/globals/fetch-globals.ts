/** The global names of fetch, bodies and streams. */

import { ExtendableEvent, FetchEvent, ScheduledEvent } from '../events/extendable-event.ts';
import { WebSocketRequestResponsePair } from '../objects/sockets/auto-response.ts';
import { fetch } from '../web/fetch/fetch.ts';
import { FixedLengthStream, IdentityTransformStream } from '../web/fetch/fixed-length.ts';
import { FormData } from '../web/fetch/form-data.ts';
import { Headers } from '../web/fetch/headers.ts';
import { Request } from '../web/fetch/request.ts';
import { Response } from '../web/fetch/response.ts';
import { Blob, File } from '../web/file/blob.ts';
import { CompressionStream, DecompressionStream } from '../web/streams/compression.ts';
import {
  ByteLengthQueuingStrategy,
  CountQueuingStrategy,
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  TransformStream,
  TransformStreamDefaultController,
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
} from '../web/streams/streams.ts';
import { CloseEvent } from '../websockets/close-event.ts';
import { WebSocketPair } from '../websockets/pair.ts';
import { WebSocket } from '../websockets/web-socket.ts';

/** Classes, which are not enumerable properties of the global object. */
export const fetchClasses = {
  Blob,
  ByteLengthQueuingStrategy,
  CloseEvent,
  CompressionStream,
  CountQueuingStrategy,
  DecompressionStream,
  ExtendableEvent,
  FetchEvent,
  File,
  FixedLengthStream,
  FormData,
  Headers,
  IdentityTransformStream,
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  Request,
  Response,
  ScheduledEvent,
  TransformStream,
  TransformStreamDefaultController,
  WebSocket,
  WebSocketPair,
  WebSocketRequestResponsePair,
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
};

/** Functions, which are. */
export const fetchFunctions = { fetch };
