declare namespace restsrv {
  /** The account of a request. */
  interface User {
    /** <user>@<type>. */
    id(): string;
    login(): string;
    type(): string;
    name(): string;
    coactors(): string[];
    properties(): { [name: string]: any };
    isMe(id: string): boolean;
    toString(): string;
  }
  /** A request, similar to that of Express. */
  interface Request {
    readonly id: string;
    readonly method: string;
    readonly url: string;
    readonly originalUrl: string;
    readonly baseUrl: string;
    readonly path: string;
    readonly params: { readonly [name: string]: string };
    readonly query: { readonly [name: string]: any };
    readonly headers: { readonly [name: string]: string | undefined };
    readonly user: User;
    readonly ip: string;
    readonly hostname: string;
    readonly protocol: string;
    readonly secure: boolean;
    /** JSON, a form, text or bytes; a ReadableStream if the handler has bodyParser: false. */
    body: any;
    /** The received bytes of the body, for signatures; undefined for a form with files. */
    readonly rawBody: Buffer;
    get(header: string): string | undefined;
    header(header: string): string | undefined;
    /** Lets work continue after the answer until the promise settles, at most for the limit workTime. */
    waitUntil(promise: unknown): void;
    /** The chunks of the body. */
    [Symbol.asyncIterator](): AsyncIterableIterator<Buffer>;
    [added: string]: any;
  }
  /** A result with its own headers or status. */
  interface Answer {
    data: unknown;
    status?: number;
    headers?: { [name: string]: string | number } | string[];
  }
  /** A server-sent event: a text, or its fields. */
  type ServerEvent = string | number | { data?: unknown; event?: string; id?: string | number; retry?: number; comment?: string };
  type ServerEvents = AsyncIterable<ServerEvent> | Iterable<ServerEvent>;
  /** The result of eventStream. */
  interface EventStream { readonly __events: unique symbol }
  /** The result of a handler, or a promise of it. It is sent as JSON, except for bytes, streams and an Answer. */
  interface Handler {
    (req: Request): unknown;
    /** false: req.body is a ReadableStream, and the body is not read before the handler runs. */
    bodyParser?: boolean;
  }
  type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" | "SEARCH";
  /** The short form of a service: module.exports = {'GET /:id': async (req) => ...}. */
  type Routes = { [route in `${Method} /${string}`]: Handler };
  /** The argument of _route(router). Pass it to addHandler. */
  interface Router { readonly __router: unique symbol }
  /** The options of the service in deploy.json. */
  interface Options {
    readonly dataRepo?: DataRepo;
    readonly metaRepo?: MetaRepo;
    readonly [name: string]: any;
  }

  interface StoredFile {
    readonly id: string;
    readonly name: string;
    readonly link: string;
    readonly options: { [name: string]: any };
    getContents(): Promise<{ name: string; mimeType: string; buffer: Buffer }>;
    toString(): string;
  }
  interface FileStorage {
    /** Stores bytes, {buffer, name, mimeType}, {name, mime, body}, base64 text, a stream, or the body of a request with bodyParser: false. An item can then refer to the file. */
    accept(file: any, folder?: string | null, described?: { name?: string; mimeType?: string }): Promise<StoredFile>;
    fetch(ids: string[]): Promise<StoredFile[]>;
    /** Removes a file that no item refers to. */
    remove(id: string): Promise<void>;
  }
  /** An image with its thumbnails, by kind: tiny, small, medium, preview and those of deploy.json. */
  interface StoredImage extends StoredFile {
    readonly file: StoredFile;
    readonly thumbnails: { readonly [kind: string]: StoredFile };
  }
  /** The component ion://imageStorage. */
  interface ImageStorage {
    accept(file: any, folder?: string | null, described?: { name?: string; mimeType?: string }): Promise<StoredImage>;
    fetch(ids: string[]): Promise<StoredImage[]>;
    /** Removes an image that no item refers to. */
    remove(id: string): Promise<void>;
  }
  /** The component ion://sequenceProvider: counters that all servers of a database share. */
  interface SequenceProvider {
    /** Increments the counter and resolves to its value. The first value is 1. */
    next(name: string): Promise<number>;
    /** Sets the counter to value, which defaults to 0. The next number is the one after it. */
    reset(name: string, value?: number): Promise<void>;
    /** The last numbers by name, of one sequence or of all. */
    snapshot(name?: string): Promise<{ [name: string]: number }>;
  }
  /** Data that all VMs of a service share. It survives reloads. Values are stored as JSON. */
  interface Shared {
    get(key: string): any;
    has(key: string): boolean;
    /** Milliseconds to live, or {ttl}. */
    set(key: string, value: unknown, ttl?: number | { ttl?: number }): void;
    delete(key: string): boolean;
    /** Adds a number, by default 1, and returns the sum. */
    incr(key: string, by?: number): number;
    /** Sets the value if it is the expected one. */
    cas(key: string, expected: unknown, value: unknown, ttl?: number | { ttl?: number }): boolean;
    keys(): string[];
    size(): number;
    clear(): void;
    getOrCompute<T>(key: string, compute: () => T | Promise<T>, ttl?: number | { ttl?: number }): Promise<T>;
    once<T>(key: string, work: () => T | Promise<T>): Promise<T>;
    lock<T>(key: string, work: () => T | Promise<T>, timeout?: number | { timeout?: number }): Promise<T>;
  }
  interface Settings {
    /** Returns null if deploy.json does not contain the setting, or if scripts may not read it. */
    get(name: string): any;
  }
  interface Log {
    log(...values: unknown[]): void;
    info(...values: unknown[]): void;
    warn(...values: unknown[]): void;
    error(...values: unknown[]): void;
    debug(...values: unknown[]): void;
    trace(...values: unknown[]): void;
  }
}

/** The items of this application. It acts for the account of the request. */
declare const dataRepo: restsrv.DataRepo;
declare const metaRepo: restsrv.MetaRepo;
declare const fileStorage: restsrv.FileStorage;
/** The options of the service in deploy.json. */
declare const options: restsrv.Options;
declare const shared: restsrv.Shared;
declare const settings: restsrv.Settings;
declare const log: restsrv.Log;
