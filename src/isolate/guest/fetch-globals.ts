/** The global names of fetch, bodies and streams. */
import { Blob, File } from './web/blob.ts';
import { CompressionStream, DecompressionStream } from './web/compression.ts';
import { ExtendableEvent, FetchEvent, ScheduledEvent } from './web/extendable-event.ts';
import { fetch } from './web/fetch.ts';
import { FixedLengthStream, IdentityTransformStream } from './web/fixed-length.ts';
import { FormData } from './web/form-data.ts';
import { Headers } from './web/headers.ts';
import { Request } from './web/request.ts';
import { Response } from './web/response.ts';
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
} from './web/streams.ts';

/** Classes, which are not enumerable properties of the global object. */
export const fetchClasses = {
  Blob,
  ByteLengthQueuingStrategy,
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
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
};

/** Functions, which are. */
export const fetchFunctions = { fetch };
