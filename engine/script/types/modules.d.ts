declare module "restsrv" {
  /** The base class of services that register their routes in _route(router). */
  class Service {
    constructor(...options: any[]);
    /** The options of the service in deploy.json, as passed to the constructor. */
    options: any;
    addHandler(router: any, path: string, method: restsrv.Method, handler: (this: any, req: restsrv.Request) => unknown): Promise<void>;
    route(router: any): Promise<unknown>;
  }
  /** The answer of a handler with server-sent events. retry is in milliseconds, heartbeat in seconds. */
  function eventStream(events: restsrv.ServerEvents | (() => restsrv.ServerEvents), options?: { retry?: number; heartbeat?: number; headers?: restsrv.Answer["headers"] }): restsrv.EventStream;
  export { Service, eventStream };
  export type Routes = restsrv.Routes;
  export type Request = restsrv.Request;
  export type Answer = restsrv.Answer;
  export type Handler = restsrv.Handler;
  export type User = restsrv.User;
  export type ClassName = restsrv.ClassName;
  export type ItemOf<K extends restsrv.ClassName> = restsrv.ItemOf<K>;
  export type Input<K extends restsrv.ClassName> = restsrv.Input<K>;
  export type Filter<K extends restsrv.ClassName> = restsrv.Filter<K>;
  export type DataRepo = restsrv.DataRepo;
  export type MetaRepo = restsrv.MetaRepo;
}

declare module "modules/rest/lib/interfaces/Service" {
  class Service {
    constructor(...options: any[]);
    options: any;
    addHandler(router: any, path: string, method: string, handler: (this: any, req: restsrv.Request) => unknown): Promise<void>;
    route(router: any): Promise<unknown>;
  }
  export = Service;
}
declare module "@iondv/rest/lib/interfaces/Service" {
  import Service = require("modules/rest/lib/interfaces/Service");
  export = Service;
}
declare module "modules/rest/backend/util" {
  interface Updates { id: string | null; data: { [attribute: string]: any }; collections: { [name: string]: any[] } }
  export function prepareUpdates(options: any, data: object, classMeta: restsrv.ClassMeta, id?: string): Promise<Updates>;
  export function applyCollections(options: any, item: restsrv.Identified, collections: { [name: string]: any[] }): Promise<restsrv.AnyItem>;
}
declare module "modules/rest/backend/multipart" {
  function multipart(req: restsrv.Request): Promise<any>;
  export = multipart;
}
declare module "@iondv/rest/backend/util" { export * from "modules/rest/backend/util"; }
declare module "@iondv/rest/backend/multipart" {
  import multipart = require("modules/rest/backend/multipart");
  export = multipart;
}
declare module "core/IonError" {
  class IonError extends Error {
    constructor(code: string | number | { code?: string | number; params?: object; cause?: unknown; message?: string }, params?: object, cause?: unknown);
    code: any;
    params: any;
  }
  export = IonError;
}
declare module "core/FunctionCodes" { const codes: { readonly [name: string]: string }; export = codes; }
declare module "core/PropertyTypes" { const types: { readonly [name: string]: number }; export = types; }
declare module "core/Permissions" { const permissions: { readonly [name: string]: string }; export = permissions; }
declare module "core/util/normalize" {
  function normalize(item: any, ...rest: any[]): any;
  export = normalize;
}
declare module "core/errors/*" { const codes: { readonly [name: string]: string }; export = codes; }
declare module "core/*" { const anything: any; export = anything; }
declare module "modules/*" { const anything: any; export = anything; }
declare module "@iondv/*" { const anything: any; export = anything; }
declare module "clone" { function clone<T>(value: T): T; export = clone; }
declare module "merge" { const merge: any; export = merge; }
declare module "is-base64" { function isBase64(text: unknown, options?: object): boolean; export = isBase64; }
declare module "moment" { const moment: any; export = moment; }
declare module "moment/*" { const moment: any; export = moment; }

declare module "path" {
  const path: {
    readonly sep: string; readonly delimiter: string; readonly posix: any;
    basename(path: string, suffix?: string): string;
    dirname(path: string): string;
    extname(path: string): string;
    isAbsolute(path: string): boolean;
    join(...parts: string[]): string;
    normalize(path: string): string;
    relative(from: string, to: string): string;
    resolve(...parts: string[]): string;
    parse(path: string): { root: string; dir: string; base: string; ext: string; name: string };
    format(parts: { root?: string; dir?: string; base?: string; ext?: string; name?: string }): string;
  };
  export = path;
}
declare module "assert" {
  interface Assert {
    (value: unknown, message?: string | Error): asserts value;
    readonly AssertionError: any;
    readonly strict: Assert;
    ok(value: unknown, message?: string | Error): asserts value;
    fail(message?: string | Error): never;
    equal(actual: unknown, expected: unknown, message?: string | Error): void;
    notEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    strictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    notStrictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    deepEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    notDeepEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    deepStrictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    notDeepStrictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    match(text: string, pattern: RegExp, message?: string | Error): void;
    doesNotMatch(text: string, pattern: RegExp, message?: string | Error): void;
    throws(run: () => unknown, expected?: any, message?: string | Error): void;
    doesNotThrow(run: () => unknown, message?: string | Error): void;
    rejects(promise: Promise<unknown> | (() => Promise<unknown>), expected?: any, message?: string | Error): Promise<void>;
    doesNotReject(promise: Promise<unknown> | (() => Promise<unknown>), message?: string | Error): Promise<void>;
    ifError(value: unknown): void;
  }
  const assert: Assert;
  export = assert;
}
declare module "events" {
  class EventEmitter {
    static EventEmitter: typeof EventEmitter;
    static once(emitter: EventEmitter, event: string | symbol): Promise<any[]>;
    on(event: string | symbol, listener: (...values: any[]) => void): this;
    addListener(event: string | symbol, listener: (...values: any[]) => void): this;
    once(event: string | symbol, listener: (...values: any[]) => void): this;
    off(event: string | symbol, listener: (...values: any[]) => void): this;
    removeListener(event: string | symbol, listener: (...values: any[]) => void): this;
    removeAllListeners(event?: string | symbol): this;
    emit(event: string | symbol, ...values: any[]): boolean;
    listenerCount(event: string | symbol): number;
    listeners(event: string | symbol): Function[];
    eventNames(): (string | symbol)[];
    setMaxListeners(n: number): this;
  }
  export = EventEmitter;
}
declare module "util" {
  const util: {
    readonly types: any;
    format(format?: any, ...values: any[]): string;
    inspect(value: unknown, options?: any): string;
    promisify(f: Function): (...values: any[]) => Promise<any>;
    callbackify(f: Function): (...values: any[]) => void;
    inherits(constructor: Function, base: Function): void;
    deprecate<F extends Function>(f: F, message: string, code?: string): F;
    isDeepStrictEqual(a: unknown, b: unknown): boolean;
    isArray(value: unknown): value is any[];
    readonly TextEncoder: typeof globalThis.TextEncoder;
    readonly TextDecoder: typeof globalThis.TextDecoder;
    readonly [name: string]: any;
  };
  export = util;
}
declare module "url" {
  const url: {
    readonly URL: typeof globalThis.URL; readonly URLSearchParams: typeof globalThis.URLSearchParams;
    parse(url: string, parseQuery?: boolean): any; format(url: any): string; resolve(from: string, to: string): string;
    readonly [name: string]: any;
  };
  export = url;
}
declare module "querystring" {
  const querystring: {
    parse(text: string, separator?: string, equals?: string): { [name: string]: string | string[] | undefined };
    stringify(values: object, separator?: string, equals?: string): string;
    escape(text: string): string; unescape(text: string): string;
    readonly [name: string]: any;
  };
  export = querystring;
}
declare module "crypto" { const c: Crypto & { readonly webcrypto: Crypto; readonly [name: string]: any }; export = c; }
declare module "buffer" { const b: { readonly Buffer: typeof globalThis.Buffer; readonly [name: string]: any }; export = b; }
declare module "timers" { const t: { readonly setTimeout: typeof globalThis.setTimeout; readonly [name: string]: any }; export = t; }
declare module "timers/promises" { export function setTimeout<T>(ms?: number, value?: T): Promise<T>; export function setImmediate<T>(value?: T): Promise<T>; }
declare module "assert/strict" { import m = require("assert"); export = m; }
declare module "path/posix" { import m = require("path"); export = m; }
declare module "os" { const os: { readonly EOL: string; readonly [name: string]: any }; export = os; }
declare module "stream" {
  import EventEmitter = require("events");
  class Stream extends EventEmitter {
    constructor(options?: any);
    pipe<T>(to: T, options?: { end?: boolean }): T;
    destroy(error?: Error): this;
    readonly destroyed: boolean;
    [name: string]: any;
  }
  namespace Stream {
    class Readable extends Stream {
      static from(source: Iterable<any> | AsyncIterable<any>, options?: any): Readable;
      push(chunk: any, encoding?: string): boolean;
      read(size?: number): any;
      setEncoding(encoding: string): this;
      [Symbol.asyncIterator](): AsyncIterableIterator<any>;
    }
    class Writable extends Stream {
      write(chunk: any, encoding?: any, done?: (error?: Error | null) => void): boolean;
      end(chunk?: any, encoding?: any, done?: () => void): this;
    }
    class Duplex extends Readable {
      write(chunk: any, encoding?: any, done?: (error?: Error | null) => void): boolean;
      end(chunk?: any, encoding?: any, done?: () => void): this;
    }
    class Transform extends Duplex {}
    class PassThrough extends Transform {}
    const promises: { pipeline(...streams: any[]): Promise<any>; finished(stream: any, options?: any): Promise<void> };
    function pipeline(...streams: any[]): any;
    function finished(stream: any, ...rest: any[]): () => void;
    function compose(...streams: any[]): Duplex;
    function addAbortSignal<T>(signal: AbortSignal, stream: T): T;
  }
  export = Stream;
}
declare module "stream/promises" { export function pipeline(...streams: any[]): Promise<any>; export function finished(stream: any, options?: any): Promise<void>; }
declare module "stream/consumers" {
  export function text(stream: any): Promise<string>; export function json(stream: any): Promise<any>; export function buffer(stream: any): Promise<Buffer>;
  export function arrayBuffer(stream: any): Promise<ArrayBuffer>; export function blob(stream: any): Promise<Blob>;
}
declare module "async_hooks" {
  export class AsyncLocalStorage<T> {
    static bind<F extends Function>(f: F): F;
    static snapshot(): (f: (...values: any[]) => any, ...values: any[]) => any;
    run<R>(store: T, f: (...values: any[]) => R, ...values: any[]): R;
    exit<R>(f: (...values: any[]) => R, ...values: any[]): R;
    getStore(): T | undefined;
    enterWith(store: T): void;
    disable(): void;
  }
  export class AsyncResource {
    constructor(type: string, options?: any);
    static bind<F extends Function>(f: F, type?: string): F;
    bind<F extends Function>(f: F): F;
    runInAsyncScope<R>(f: (...values: any[]) => R, self?: any, ...values: any[]): R;
    emitDestroy(): this; asyncId(): number; triggerAsyncId(): number;
  }
  export function executionAsyncId(): number;
  export function triggerAsyncId(): number;
  /** Not supported: throws an error. Use AsyncLocalStorage. */
  export function createHook(...values: any[]): never;
}
declare module "fs" {
  interface Stats { readonly size: number; readonly mtime: Date; readonly mtimeMs: number; isFile(): boolean; isDirectory(): boolean; readonly [name: string]: any }
  type Path = string | Uint8Array | URL;
  /** Files of the application directory, which is the folder /. Functions that change files throw an error: use fileStorage. */
  const fs: {
    existsSync(path: Path): boolean;
    readFileSync(path: Path | number, options: string | { encoding: string }): string;
    readFileSync(path: Path | number, options?: { encoding?: null } | null): Buffer;
    readdirSync(path: Path, options: { withFileTypes: true; recursive?: boolean }): { name: string; parentPath: string; isFile(): boolean; isDirectory(): boolean }[];
    readdirSync(path: Path, options?: any): string[];
    statSync(path: Path, options?: any): Stats;
    realpathSync(path: Path): string;
    createReadStream(path: Path, options?: any): import("stream").Readable;
    readonly promises: typeof import("fs/promises");
    readonly [name: string]: any;
  };
  export = fs;
}
declare module "fs/promises" {
  const promises: {
    readFile(path: string | Uint8Array | URL, options: string | { encoding: string }): Promise<string>;
    readFile(path: string | Uint8Array | URL, options?: { encoding?: null } | null): Promise<Buffer>;
    readdir(path: string | Uint8Array | URL, options?: any): Promise<any[]>;
    stat(path: string | Uint8Array | URL, options?: any): Promise<any>;
    readonly [name: string]: any;
  };
  export = promises;
}
declare module "http" {
  /** A client over fetch, under the same rules. createServer throws an error: a service exports its routes. */
  const http: {
    request(...values: any[]): import("stream").Writable; get(...values: any[]): import("stream").Writable;
    readonly METHODS: string[]; readonly STATUS_CODES: { readonly [status: number]: string | undefined; readonly [status: string]: string | undefined };
    readonly [name: string]: any;
  };
  export = http;
}
declare module "https" { import m = require("http"); export = m; }
declare module "punycode" { export function toASCII(domain: string): string; export function toUnicode(domain: string): string; export function encode(text: string): string; export function decode(text: string): string; }
declare module "process" { const p: typeof process; export = p; }
declare module "string_decoder" { export class StringDecoder { constructor(encoding?: string); write(bytes: Uint8Array): string; end(bytes?: Uint8Array): string } }
declare module "util/types" { const types: { readonly [name: string]: (value: unknown) => boolean }; export = types; }
declare module "node:assert/strict" { import m = require("assert"); export = m; }
declare module "node:os" { import m = require("os"); export = m; }
declare module "node:string_decoder" { export * from "string_decoder"; }
declare module "node:timers/promises" { export * from "timers/promises"; }
declare module "node:path" { import m = require("path"); export = m; }
declare module "node:assert" { import m = require("assert"); export = m; }
declare module "node:events" { import m = require("events"); export = m; }
declare module "node:util" { import m = require("util"); export = m; }
declare module "node:url" { import m = require("url"); export = m; }
declare module "node:querystring" { import m = require("querystring"); export = m; }
declare module "node:crypto" { import m = require("crypto"); export = m; }
declare module "node:buffer" { import m = require("buffer"); export = m; }
declare module "node:timers" { import m = require("timers"); export = m; }
declare module "stream/web" {
  const web: {
    readonly ReadableStream: typeof globalThis.ReadableStream; readonly WritableStream: typeof globalThis.WritableStream;
    readonly TransformStream: typeof globalThis.TransformStream; readonly [name: string]: any;
  };
  export = web;
}
declare module "node:stream/web" { import m = require("stream/web"); export = m; }
declare module "zlib" {
  type Input = string | ArrayBuffer | ArrayBufferView;
  interface Options { level?: number; strategy?: number; dictionary?: ArrayBuffer | ArrayBufferView; maxOutputLength?: number; finishFlush?: number; [name: string]: any }
  type Callback = (error: Error | null, result: Buffer) => void;
  interface Later { (input: Input, callback: Callback): void; (input: Input, options: Options, callback: Callback): void }
  const zlib: {
    gzipSync(input: Input, options?: Options): Buffer;
    gunzipSync(input: Input, options?: Options): Buffer;
    deflateSync(input: Input, options?: Options): Buffer;
    inflateSync(input: Input, options?: Options): Buffer;
    deflateRawSync(input: Input, options?: Options): Buffer;
    inflateRawSync(input: Input, options?: Options): Buffer;
    unzipSync(input: Input, options?: Options): Buffer;
    readonly gzip: Later; readonly gunzip: Later; readonly deflate: Later; readonly inflate: Later;
    readonly deflateRaw: Later; readonly inflateRaw: Later; readonly unzip: Later;
    crc32(data: string | ArrayBufferView, value?: number): number;
    readonly constants: { readonly [name: string]: number };
    readonly [name: string]: any;
  };
  export = zlib;
}
declare module "node:zlib" { import m = require("zlib"); export = m; }

// The other modules of Node.js. The members that scripts cannot use throw an error with the alternative.
declare module "child_process";
declare module "cluster";
declare module "console";
declare module "constants";
declare module "dgram";
declare module "diagnostics_channel";
declare module "dns";
declare module "dns/promises";
declare module "domain";
declare module "http2";
declare module "inspector";
declare module "inspector/promises";
declare module "module";
declare module "net";
declare module "path/win32";
declare module "perf_hooks";
declare module "readline";
declare module "readline/promises";
declare module "repl";
declare module "sys";
declare module "tls";
declare module "trace_events";
declare module "tty";
declare module "v8";
declare module "vm";
declare module "wasi";
declare module "worker_threads";
declare module "node:child_process";
declare module "node:cluster";
declare module "node:console";
declare module "node:constants";
declare module "node:dgram";
declare module "node:diagnostics_channel";
declare module "node:dns";
declare module "node:dns/promises";
declare module "node:domain";
declare module "node:http2";
declare module "node:inspector";
declare module "node:inspector/promises";
declare module "node:module";
declare module "node:net";
declare module "node:path/win32";
declare module "node:perf_hooks";
declare module "node:readline";
declare module "node:readline/promises";
declare module "node:repl";
declare module "node:sys";
declare module "node:tls";
declare module "node:trace_events";
declare module "node:tty";
declare module "node:v8";
declare module "node:vm";
declare module "node:wasi";
declare module "node:worker_threads";
declare module "node:test";
declare module "node:sqlite";
declare module "node:async_hooks" { export * from "async_hooks"; }
declare module "node:fs" { import m = require("fs"); export = m; }
declare module "node:fs/promises" { import m = require("fs/promises"); export = m; }
declare module "node:http" { import m = require("http"); export = m; }
declare module "node:https" { import m = require("https"); export = m; }
declare module "node:punycode" { export * from "punycode"; }
declare module "node:stream" { import m = require("stream"); export = m; }
declare module "node:stream/promises" { export * from "stream/promises"; }
declare module "node:stream/consumers" { export * from "stream/consumers"; }
declare module "node:util/types" { import m = require("util/types"); export = m; }
declare module "node:path/posix" { import m = require("path/posix"); export = m; }
declare module "node:process" { import m = require("process"); export = m; }
