declare var console: typeof globalThis extends { onmessage: any; console: infer T } ? T
  : restsrv.Log & { assert(condition?: unknown, ...values: unknown[]): void; [method: string]: any };
declare const global: typeof globalThis;

interface Timer { readonly __timer: unique symbol }
declare function setTimeout(run: (...values: any[]) => void, ms?: number, ...values: any[]): Timer;
declare function setInterval(run: (...values: any[]) => void, ms?: number, ...values: any[]): Timer;
declare function setImmediate(run: (...values: any[]) => void, ...values: any[]): Timer;
declare function clearTimeout(timer?: Timer | number | null): void;
declare function clearInterval(timer?: Timer | number | null): void;
declare function clearImmediate(timer?: Timer | number | null): void;
declare function queueMicrotask(run: () => void): void;
declare function structuredClone<T>(value: T): T;
declare function atob(text: string): string;
declare function btoa(text: string): string;

/**
 * The classes of browsers. The global names below stand for these types, or for those of the library "dom" if a project
 * includes it.
 */
declare namespace restsrv.web {
  type UnlessDom<T> = typeof globalThis extends { onmessage: any } ? {} : T;
  interface Performance { now(): number; readonly timeOrigin: number }

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
  var URLSearchParams: {
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
  var URL: { new (url: string | URL, base?: string | URL): URL; prototype: URL; canParse(url: string | URL, base?: string | URL): boolean };
  interface TextEncoder { readonly encoding: string; encode(text?: string): Uint8Array; encodeInto(text: string, into: Uint8Array): { read: number; written: number } }
  var TextEncoder: { new (): TextEncoder; prototype: TextEncoder };
  interface TextDecoder { readonly encoding: string; readonly fatal: boolean; readonly ignoreBOM: boolean; decode(bytes?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string }
  var TextDecoder: { new (label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean }): TextDecoder; prototype: TextDecoder };

  interface AbortSignal extends EventTarget {
    readonly aborted: boolean;
    readonly reason: any;
    onabort: ((event: any) => void) | null;
    throwIfAborted(): void;
  }
  var AbortSignal: { prototype: AbortSignal; abort(reason?: any): AbortSignal; timeout(ms: number): AbortSignal; any(signals: AbortSignal[]): AbortSignal };
  interface AbortController { readonly signal: AbortSignal; abort(reason?: any): void }
  var AbortController: { new (): AbortController; prototype: AbortController };

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
  var Event: { new (type: string, init?: { bubbles?: boolean; cancelable?: boolean; composed?: boolean }): Event; prototype: Event };
  interface CustomEvent extends Event { readonly detail: any }
  var CustomEvent: { new (type: string, init?: { detail?: any; cancelable?: boolean }): CustomEvent; prototype: CustomEvent };
  interface EventTarget {
    addEventListener(type: string, listener: ((event: any) => void) | { handleEvent(event: any): void } | null, options?: any): void;
    removeEventListener(type: string, listener: ((event: any) => void) | { handleEvent(event: any): void } | null, options?: any): void;
    dispatchEvent(event: Event): boolean;
  }
  var EventTarget: { new (): EventTarget; prototype: EventTarget };
  interface DOMException extends Error { readonly code: number }
  var DOMException: { new (message?: string, name?: string): DOMException; prototype: DOMException };

  interface Blob {
    readonly size: number;
    readonly type: string;
    arrayBuffer(): Promise<ArrayBuffer>;
    bytes(): Promise<Uint8Array>;
    slice(start?: number, end?: number, type?: string): Blob;
    text(): Promise<string>;
  }
  type BlobPart = string | ArrayBuffer | ArrayBufferView | Blob;
  var Blob: { new (parts?: BlobPart[], options?: { type?: string }): Blob; prototype: Blob };
  interface File extends Blob { readonly name: string; readonly lastModified: number }
  var File: { new (parts: BlobPart[], name: string, options?: { type?: string; lastModified?: number }): File; prototype: File };
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
  var FormData: { new (): FormData; prototype: FormData };

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
  var Headers: { new (init?: Headers | Iterable<[string, string]> | { [name: string]: string }): Headers; prototype: Headers };
  interface RequestInit {
    method?: string;
    headers?: Headers | [string, string][] | { [name: string]: string };
    body?: BlobPart | URLSearchParams | FormData | null;
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
    readonly bodyUsed: boolean;
    arrayBuffer(): Promise<ArrayBuffer>;
    blob(): Promise<Blob>;
    bytes(): Promise<Uint8Array>;
    clone(): Response;
    formData(): Promise<FormData>;
    json(): Promise<any>;
    text(): Promise<string>;
  }
  var Response: {
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
    readonly bodyUsed: boolean;
    arrayBuffer(): Promise<ArrayBuffer>;
    blob(): Promise<Blob>;
    bytes(): Promise<Uint8Array>;
    clone(): Request;
    formData(): Promise<FormData>;
    json(): Promise<any>;
    text(): Promise<string>;
  }
  var Request: { new (input: string | URL | Request, init?: RequestInit): Request; prototype: Request };

  interface Hash { update(data: string | ArrayBuffer | ArrayBufferView, encoding?: string): Hash; digest(): Buffer; digest(encoding: string): string }
  interface Crypto {
    randomUUID(): string;
    getRandomValues<T extends ArrayBufferView>(array: T): T;
    readonly subtle: { digest(algorithm: string | { name: string }, data: ArrayBuffer | ArrayBufferView): Promise<ArrayBuffer> };
  }
  /** Functions of Node.js that the object crypto has, too. */
  interface NodeCrypto {
    createHash(algorithm: string): Hash;
    createHmac(algorithm: string, key: string | ArrayBuffer | ArrayBufferView): Hash;
    randomBytes(size: number): Buffer;
    timingSafeEqual(a: ArrayBuffer | ArrayBufferView, b: ArrayBuffer | ArrayBufferView): boolean;
  }
}

interface URLSearchParams extends restsrv.web.UnlessDom<restsrv.web.URLSearchParams> {}
interface URL extends restsrv.web.UnlessDom<restsrv.web.URL> {}
interface TextEncoder extends restsrv.web.UnlessDom<restsrv.web.TextEncoder> {}
interface TextDecoder extends restsrv.web.UnlessDom<restsrv.web.TextDecoder> {}
interface AbortSignal extends restsrv.web.UnlessDom<restsrv.web.AbortSignal> {}
interface AbortController extends restsrv.web.UnlessDom<restsrv.web.AbortController> {}
interface Event extends restsrv.web.UnlessDom<restsrv.web.Event> {}
interface CustomEvent<T = any> extends restsrv.web.UnlessDom<restsrv.web.CustomEvent> {}
interface EventTarget extends restsrv.web.UnlessDom<restsrv.web.EventTarget> {}
interface DOMException extends restsrv.web.UnlessDom<restsrv.web.DOMException> {}
interface Blob extends restsrv.web.UnlessDom<restsrv.web.Blob> {}
interface File extends restsrv.web.UnlessDom<restsrv.web.File> {}
interface FormData extends restsrv.web.UnlessDom<restsrv.web.FormData> {}
interface Headers extends restsrv.web.UnlessDom<restsrv.web.Headers> {}
interface RequestInit extends restsrv.web.UnlessDom<restsrv.web.RequestInit> {}
interface Response extends restsrv.web.UnlessDom<restsrv.web.Response> {}
interface Request extends restsrv.web.UnlessDom<restsrv.web.Request> {}
interface Performance extends restsrv.web.UnlessDom<restsrv.web.Performance> {}
interface Crypto extends restsrv.web.NodeCrypto, restsrv.web.UnlessDom<restsrv.web.Crypto> {}
declare var URLSearchParams: typeof globalThis extends { onmessage: any; URLSearchParams: infer T } ? T : typeof restsrv.web.URLSearchParams;
declare var URL: typeof globalThis extends { onmessage: any; URL: infer T } ? T : typeof restsrv.web.URL;
declare var TextEncoder: typeof globalThis extends { onmessage: any; TextEncoder: infer T } ? T : typeof restsrv.web.TextEncoder;
declare var TextDecoder: typeof globalThis extends { onmessage: any; TextDecoder: infer T } ? T : typeof restsrv.web.TextDecoder;
declare var AbortSignal: typeof globalThis extends { onmessage: any; AbortSignal: infer T } ? T : typeof restsrv.web.AbortSignal;
declare var AbortController: typeof globalThis extends { onmessage: any; AbortController: infer T } ? T : typeof restsrv.web.AbortController;
declare var Event: typeof globalThis extends { onmessage: any; Event: infer T } ? T : typeof restsrv.web.Event;
declare var CustomEvent: typeof globalThis extends { onmessage: any; CustomEvent: infer T } ? T : typeof restsrv.web.CustomEvent;
declare var EventTarget: typeof globalThis extends { onmessage: any; EventTarget: infer T } ? T : typeof restsrv.web.EventTarget;
declare var DOMException: typeof globalThis extends { onmessage: any; DOMException: infer T } ? T : typeof restsrv.web.DOMException;
declare var Blob: typeof globalThis extends { onmessage: any; Blob: infer T } ? T : typeof restsrv.web.Blob;
declare var File: typeof globalThis extends { onmessage: any; File: infer T } ? T : typeof restsrv.web.File;
declare var FormData: typeof globalThis extends { onmessage: any; FormData: infer T } ? T : typeof restsrv.web.FormData;
declare var Headers: typeof globalThis extends { onmessage: any; Headers: infer T } ? T : typeof restsrv.web.Headers;
declare var Response: typeof globalThis extends { onmessage: any; Response: infer T } ? T : typeof restsrv.web.Response;
declare var Request: typeof globalThis extends { onmessage: any; Request: infer T } ? T : typeof restsrv.web.Request;
declare var performance: typeof globalThis extends { onmessage: any; performance: infer T } ? T : restsrv.web.Performance;
declare var crypto: typeof globalThis extends { onmessage: any; crypto: infer T } ? T : Crypto;
/** Hosts must be allowed in deploy.json: "scripts": {"fetch": {"hosts": [...]}}. */
declare function fetch(url: string | URL | Request, init?: RequestInit): Promise<Response>;

interface Buffer extends Uint8Array {
  toString(encoding?: string, start?: number, end?: number): string;
  toJSON(): { type: "Buffer"; data: number[] };
  equals(other: Uint8Array): boolean;
  write(text: string, offset?: number, length?: number, encoding?: string): number;
  copy(target: Uint8Array, targetStart?: number, start?: number, end?: number): number;
  readUInt8(offset?: number): number; readUInt16LE(offset?: number): number; readUInt16BE(offset?: number): number;
  readUInt32LE(offset?: number): number; readUInt32BE(offset?: number): number;
  readInt8(offset?: number): number; readInt16LE(offset?: number): number; readInt16BE(offset?: number): number;
  readInt32LE(offset?: number): number; readInt32BE(offset?: number): number;
  readFloatLE(offset?: number): number; readFloatBE(offset?: number): number; readDoubleLE(offset?: number): number; readDoubleBE(offset?: number): number;
  readBigInt64LE(offset?: number): bigint; readBigInt64BE(offset?: number): bigint; readBigUInt64LE(offset?: number): bigint; readBigUInt64BE(offset?: number): bigint;
  writeUInt8(value: number, offset?: number): number; writeUInt16LE(value: number, offset?: number): number; writeUInt16BE(value: number, offset?: number): number;
  writeUInt32LE(value: number, offset?: number): number; writeUInt32BE(value: number, offset?: number): number;
  writeInt8(value: number, offset?: number): number; writeInt16LE(value: number, offset?: number): number; writeInt16BE(value: number, offset?: number): number;
  writeInt32LE(value: number, offset?: number): number; writeInt32BE(value: number, offset?: number): number;
  writeFloatLE(value: number, offset?: number): number; writeFloatBE(value: number, offset?: number): number; writeDoubleLE(value: number, offset?: number): number; writeDoubleBE(value: number, offset?: number): number;
}
declare var Buffer: {
  prototype: Buffer;
  from(data: string, encoding?: string): Buffer;
  from(data: ArrayBuffer, offset?: number, length?: number): Buffer;
  from(data: ArrayLike<number> | Iterable<number>): Buffer;
  alloc(size: number, fill?: string | number | Uint8Array, encoding?: string): Buffer;
  allocUnsafe(size: number): Buffer;
  concat(list: readonly Uint8Array[], length?: number): Buffer;
  compare(a: Uint8Array, b: Uint8Array): number;
  byteLength(data: string | ArrayBuffer | ArrayBufferView, encoding?: string): number;
  isBuffer(value: unknown): value is Buffer;
  isEncoding(name: string): boolean;
};
/** env contains the variables that deploy.json allows: "scripts": {"env": ["NAME"]}. */
declare const process: { readonly env: { readonly [name: string]: string | undefined }; readonly [name: string]: any };

declare function require(module: string): any;
declare var module: { exports: any; readonly id: string; readonly filename: string };
declare var exports: any;
declare const __filename: string;
declare const __dirname: string;
