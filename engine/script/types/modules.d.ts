declare module "restsrv" {
  /** The base class of services that register their routes in _route(router). */
  class Service {
    constructor(...options: any[]);
    /** The options of the service in deploy.json, as passed to the constructor. */
    options: any;
    addHandler(router: any, path: string, method: restsrv.Method, handler: (this: any, req: restsrv.Request) => unknown): Promise<void>;
    route(router: any): Promise<unknown>;
  }
  export { Service };
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
