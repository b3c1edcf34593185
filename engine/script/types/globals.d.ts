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

interface RequestInit extends restsrv.web.UnlessDom<restsrv.web.RequestInit> {}
interface Performance extends restsrv.web.UnlessDom<restsrv.web.Performance> {}
interface Crypto extends restsrv.web.NodeCrypto, restsrv.web.UnlessDom<restsrv.web.Crypto> {}
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
