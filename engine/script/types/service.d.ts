declare namespace restsrv {
  /** The account that asks. */
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
  /** A request, as Express shows it. */
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
    /** JSON, a form, text or bytes. */
    body: any;
    /** The body as it came, for signatures; undefined of a form with files. */
    readonly rawBody: Buffer;
    get(header: string): string | undefined;
    header(header: string): string | undefined;
    [added: string]: any;
  }
  /** A result with headers or a status of its own. */
  interface Answer {
    data: unknown;
    status?: number;
    headers?: { [name: string]: string | number } | string[];
  }
  /** What a handler returns, or a promise of it, is sent as JSON; bytes, and what an Answer says, as they are. */
  type Handler = (req: Request) => unknown;
  type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" | "SEARCH";
  /** The short form of a service: module.exports = {'GET /:id': async (req) => ...}. */
  type Routes = { [route in `${Method} /${string}`]: Handler };
  /** What _route(router) gets: pass it to addHandler. */
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
    /** Stores bytes, {buffer, name, mimeType}, {name, mime, body} or base64 text; an item then holds the file. */
    accept(file: any, folder?: string | null, described?: { name?: string; mimeType?: string }): Promise<StoredFile>;
    fetch(ids: string[]): Promise<StoredFile[]>;
    /** Removes a file that no item holds. */
    remove(id: string): Promise<void>;
  }
  /** An image with its thumbnails, by kind: tiny, small, medium, preview and those of deploy.json. */
  interface StoredImage extends StoredFile {
    readonly file: StoredFile;
    readonly thumbnails: { readonly [kind: string]: StoredFile };
  }
  /** What ion://imageStorage is. */
  interface ImageStorage {
    accept(file: any, folder?: string | null, described?: { name?: string; mimeType?: string }): Promise<StoredImage>;
    fetch(ids: string[]): Promise<StoredImage[]>;
    /** Removes an image that no item holds. */
    remove(id: string): Promise<void>;
  }
  /** What ion://sequenceProvider is: counters that all servers of a database share. */
  interface SequenceProvider {
    /** Counts, and gives the number; the first is 1. */
    next(name: string): Promise<number>;
    /** Has the next number be the one after value, which is 0 if nothing is said. */
    reset(name: string, value?: number): Promise<void>;
    /** The numbers that were given last, by name: of one sequence, or of all. */
    snapshot(name?: string): Promise<{ [name: string]: number }>;
  }
  /** What all VMs of a service share, and what survives reloads; values are kept as JSON. */
  interface Shared {
    get(key: string): any;
    has(key: string): boolean;
    /** Milliseconds to live, or {ttl}. */
    set(key: string, value: unknown, ttl?: number | { ttl?: number }): void;
    delete(key: string): boolean;
    /** Adds, by default 1, and gives the sum. */
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
    /** Null for what deploy.json does not say, or does not tell scripts. */
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

/** Items of this application. Acts for the account of the request. */
declare const dataRepo: restsrv.DataRepo;
declare const metaRepo: restsrv.MetaRepo;
declare const fileStorage: restsrv.FileStorage;
/** The options of the service in deploy.json. */
declare const options: restsrv.Options;
declare const shared: restsrv.Shared;
declare const settings: restsrv.Settings;
declare const log: restsrv.Log;
