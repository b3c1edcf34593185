interface Performance { now(): number; readonly timeOrigin: number }
declare var performance: Performance;

interface URLSearchParams {
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  toString(): string;
  forEach(run: (value: string, name: string, all: URLSearchParams) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
declare var URLSearchParams: {
  new (init?: string | URLSearchParams | Iterable<[string, string]> | { [name: string]: string }): URLSearchParams;
  prototype: URLSearchParams;
};
interface URL {
  hash: string;
  host: string;
  hostname: string;
  href: string;
  readonly origin: string;
  password: string;
  pathname: string;
  port: string;
  protocol: string;
  search: string;
  readonly searchParams: URLSearchParams;
  username: string;
  toString(): string;
  toJSON(): string;
}
declare var URL: { new (url: string | URL, base?: string | URL): URL; prototype: URL; canParse(url: string | URL, base?: string | URL): boolean };
interface TextEncoder { readonly encoding: string; encode(text?: string): Uint8Array; encodeInto(text: string, into: Uint8Array): { read: number; written: number } }
declare var TextEncoder: { new (): TextEncoder; prototype: TextEncoder };
interface TextDecoder { readonly encoding: string; readonly fatal: boolean; readonly ignoreBOM: boolean; decode(bytes?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string }
declare var TextDecoder: { new (label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean }): TextDecoder; prototype: TextDecoder };

interface AbortSignal extends EventTarget {
  readonly aborted: boolean;
  readonly reason: any;
  onabort: ((event: any) => void) | null;
  throwIfAborted(): void;
}
declare var AbortSignal: { prototype: AbortSignal; abort(reason?: any): AbortSignal; timeout(ms: number): AbortSignal; any(signals: AbortSignal[]): AbortSignal };
interface AbortController { readonly signal: AbortSignal; abort(reason?: any): void }
declare var AbortController: { new (): AbortController; prototype: AbortController };

interface Event {
  readonly type: string;
  readonly target: EventTarget | null;
  readonly currentTarget: EventTarget | null;
  readonly cancelable: boolean;
  readonly defaultPrevented: boolean;
  preventDefault(): void;
  stopPropagation(): void;
  stopImmediatePropagation(): void;
}
declare var Event: { new (type: string, init?: { bubbles?: boolean; cancelable?: boolean; composed?: boolean }): Event; prototype: Event };
interface CustomEvent<T = any> extends Event { readonly detail: T }
declare var CustomEvent: { new (type: string, init?: { detail?: any; cancelable?: boolean }): CustomEvent; prototype: CustomEvent };
interface EventTarget {
  addEventListener(type: string, listener: ((event: any) => void) | { handleEvent(event: any): void } | null, options?: any): void;
  removeEventListener(type: string, listener: ((event: any) => void) | { handleEvent(event: any): void } | null, options?: any): void;
  dispatchEvent(event: Event): boolean;
}
declare var EventTarget: { new (): EventTarget; prototype: EventTarget };
interface DOMException extends Error { readonly code: number }
declare var DOMException: { new (message?: string, name?: string): DOMException; prototype: DOMException };

interface Blob {
  readonly size: number;
  readonly type: string;
  arrayBuffer(): Promise<ArrayBuffer>;
  bytes(): Promise<Uint8Array>;
  slice(start?: number, end?: number, type?: string): Blob;
  text(): Promise<string>;
  stream(): ReadableStream<Uint8Array>;
}
type BlobPart = string | ArrayBuffer | ArrayBufferView | Blob;
declare var Blob: { new (parts?: BlobPart[], options?: { type?: string }): Blob; prototype: Blob };
interface File extends Blob { readonly name: string; readonly lastModified: number }
declare var File: { new (parts: BlobPart[], name: string, options?: { type?: string; lastModified?: number }): File; prototype: File };
interface FormData {
  append(name: string, value: string | Blob, file?: string): void;
  delete(name: string): void;
  get(name: string): string | File | null;
  getAll(name: string): (string | File)[];
  has(name: string): boolean;
  set(name: string, value: string | Blob, file?: string): void;
  forEach(run: (value: string | File, name: string, all: FormData) => void): void;
  entries(): IterableIterator<[string, string | File]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string | File>;
  [Symbol.iterator](): IterableIterator<[string, string | File]>;
}
declare var FormData: { new (): FormData; prototype: FormData };

interface Headers {
  append(name: string, value: string): void;
  delete(name: string): void;
  get(name: string): string | null;
  getSetCookie(): string[];
  has(name: string): boolean;
  set(name: string, value: string): void;
  forEach(run: (value: string, name: string, all: Headers) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
declare var Headers: { new (init?: Headers | Iterable<[string, string]> | { [name: string]: string }): Headers; prototype: Headers };
interface RequestInit {
  method?: string;
  headers?: Headers | [string, string][] | { [name: string]: string };
  body?: BlobPart | URLSearchParams | FormData | ReadableStream | null;
  duplex?: "half";
  redirect?: "follow" | "error" | "manual";
  signal?: AbortSignal | null;
}
interface Response {
  readonly ok: boolean;
  readonly redirected: boolean;
  readonly status: number;
  readonly statusText: string;
  readonly type: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: ReadableStream<Uint8Array> | null;
  readonly bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<Blob>;
  bytes(): Promise<Uint8Array>;
  clone(): Response;
  formData(): Promise<FormData>;
  json(): Promise<any>;
  text(): Promise<string>;
}
declare var Response: {
  new (body?: RequestInit["body"], init?: { status?: number; statusText?: string; headers?: RequestInit["headers"] }): Response;
  prototype: Response;
  json(data: unknown, init?: { status?: number; headers?: RequestInit["headers"] }): Response;
  error(): Response;
};
interface Request {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly signal: AbortSignal;
  readonly body: ReadableStream<Uint8Array> | null;
  readonly bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<Blob>;
  bytes(): Promise<Uint8Array>;
  clone(): Request;
  formData(): Promise<FormData>;
  json(): Promise<any>;
  text(): Promise<string>;
}
declare var Request: { new (input: string | URL | Request, init?: RequestInit): Request; prototype: Request };
