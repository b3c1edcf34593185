interface ReadableStreamReadResult<T> { done: boolean; value: T | undefined }
interface StreamPipeOptions { preventAbort?: boolean; preventCancel?: boolean; preventClose?: boolean; signal?: AbortSignal }
interface QueuingStrategy<T = any> { highWaterMark?: number; size?(chunk: T): number }
interface UnderlyingSource<R = any> {
  type?: "bytes";
  autoAllocateChunkSize?: number;
  start?(controller: any): any;
  pull?(controller: any): void | Promise<void>;
  cancel?(reason?: any): void | Promise<void>;
}
interface UnderlyingSink<W = any> {
  start?(controller: WritableStreamDefaultController): any;
  write?(chunk: W, controller: WritableStreamDefaultController): void | Promise<void>;
  close?(): void | Promise<void>;
  abort?(reason?: any): void | Promise<void>;
}
interface Transformer<I = any, O = any> {
  start?(controller: TransformStreamDefaultController<O>): any;
  transform?(chunk: I, controller: TransformStreamDefaultController<O>): void | Promise<void>;
  flush?(controller: TransformStreamDefaultController<O>): void | Promise<void>;
  cancel?(reason?: any): void | Promise<void>;
}
interface ReadableStreamDefaultController<R = any> { readonly desiredSize: number | null; close(): void; enqueue(chunk?: R): void; error(e?: any): void }
interface ReadableByteStreamController {
  readonly byobRequest: ReadableStreamBYOBRequest | null;
  readonly desiredSize: number | null;
  close(): void;
  enqueue(chunk: ArrayBufferView): void;
  error(e?: any): void;
}
interface ReadableStreamBYOBRequest { readonly view: ArrayBufferView | null; respond(bytesWritten: number): void; respondWithNewView(view: ArrayBufferView): void }
interface WritableStreamDefaultController { readonly signal: AbortSignal; error(e?: any): void }
interface TransformStreamDefaultController<O = any> { readonly desiredSize: number | null; enqueue(chunk?: O): void; error(reason?: any): void; terminate(): void }
interface ReadableStreamDefaultReader<R = any> {
  readonly closed: Promise<undefined>;
  read(): Promise<ReadableStreamReadResult<R>>;
  cancel(reason?: any): Promise<void>;
  releaseLock(): void;
}
interface ReadableStreamBYOBReader {
  readonly closed: Promise<undefined>;
  read<T extends ArrayBufferView>(view: T): Promise<ReadableStreamReadResult<T>>;
  cancel(reason?: any): Promise<void>;
  releaseLock(): void;
}
interface ReadableStream<R = any> {
  readonly locked: boolean;
  cancel(reason?: any): Promise<void>;
  getReader(): ReadableStreamDefaultReader<R>;
  getReader(options: { mode: "byob" }): ReadableStreamBYOBReader;
  pipeThrough<T>(transform: { readable: ReadableStream<T>; writable: WritableStream<any> }, options?: StreamPipeOptions): ReadableStream<T>;
  pipeTo(target: WritableStream<R>, options?: StreamPipeOptions): Promise<void>;
  tee(): [ReadableStream<R>, ReadableStream<R>];
  values(options?: { preventCancel?: boolean }): AsyncIterableIterator<R>;
  [Symbol.asyncIterator](options?: { preventCancel?: boolean }): AsyncIterableIterator<R>;
}
interface WritableStream<W = any> {
  readonly locked: boolean;
  abort(reason?: any): Promise<void>;
  close(): Promise<void>;
  getWriter(): WritableStreamDefaultWriter<W>;
}
interface WritableStreamDefaultWriter<W = any> {
  readonly closed: Promise<undefined>;
  readonly desiredSize: number | null;
  readonly ready: Promise<undefined>;
  abort(reason?: any): Promise<void>;
  close(): Promise<void>;
  releaseLock(): void;
  write(chunk?: W): Promise<void>;
}
interface TransformStream<I = any, O = any> { readonly readable: ReadableStream<O>; readonly writable: WritableStream<I> }
interface TextEncoderStream { readonly encoding: string; readonly readable: ReadableStream<Uint8Array>; readonly writable: WritableStream<string> }
interface TextDecoderStream {
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  readonly readable: ReadableStream<string>;
  readonly writable: WritableStream<any>;
}
interface CompressionStream { readonly readable: ReadableStream<Uint8Array>; readonly writable: WritableStream<any> }
interface DecompressionStream { readonly readable: ReadableStream<Uint8Array>; readonly writable: WritableStream<any> }
declare var ReadableStream: {
  new <R = any>(source?: UnderlyingSource<R>, strategy?: QueuingStrategy<R>): ReadableStream<R>;
  prototype: ReadableStream;
  from<R>(items: Iterable<R> | AsyncIterable<R>): ReadableStream<R>;
};
declare var WritableStream: { new <W = any>(sink?: UnderlyingSink<W>, strategy?: QueuingStrategy<W>): WritableStream<W>; prototype: WritableStream };
declare var TransformStream: {
  new <I = any, O = any>(transformer?: Transformer<I, O>, writable?: QueuingStrategy<I>, readable?: QueuingStrategy<O>): TransformStream<I, O>;
  prototype: TransformStream;
};
declare var ReadableStreamDefaultReader: { new <R = any>(stream: ReadableStream<R>): ReadableStreamDefaultReader<R>; prototype: ReadableStreamDefaultReader };
declare var ReadableStreamBYOBReader: { new (stream: ReadableStream): ReadableStreamBYOBReader; prototype: ReadableStreamBYOBReader };
declare var ReadableStreamDefaultController: { prototype: ReadableStreamDefaultController };
declare var ReadableByteStreamController: { prototype: ReadableByteStreamController };
declare var ReadableStreamBYOBRequest: { prototype: ReadableStreamBYOBRequest };
declare var WritableStreamDefaultWriter: { new <W = any>(stream: WritableStream<W>): WritableStreamDefaultWriter<W>; prototype: WritableStreamDefaultWriter };
declare var WritableStreamDefaultController: { prototype: WritableStreamDefaultController };
declare var TransformStreamDefaultController: { prototype: TransformStreamDefaultController };
interface CountQueuingStrategy extends QueuingStrategy { readonly highWaterMark: number; size(chunk?: any): 1 }
declare var CountQueuingStrategy: { new (init: { highWaterMark: number }): CountQueuingStrategy; prototype: CountQueuingStrategy };
interface ByteLengthQueuingStrategy extends QueuingStrategy<ArrayBufferView> { readonly highWaterMark: number; size(chunk?: any): number }
declare var ByteLengthQueuingStrategy: { new (init: { highWaterMark: number }): ByteLengthQueuingStrategy; prototype: ByteLengthQueuingStrategy };
declare var TextEncoderStream: { new (): TextEncoderStream; prototype: TextEncoderStream };
declare var TextDecoderStream: { new (label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean }): TextDecoderStream; prototype: TextDecoderStream };
declare var CompressionStream: { new (format: "gzip" | "deflate" | "deflate-raw"): CompressionStream; prototype: CompressionStream };
declare var DecompressionStream: { new (format: "gzip" | "deflate" | "deflate-raw"): DecompressionStream; prototype: DecompressionStream };
