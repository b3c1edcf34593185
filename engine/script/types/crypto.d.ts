type BufferSource = ArrayBuffer | ArrayBufferView;
type KeyUsage = "encrypt" | "decrypt" | "sign" | "verify" | "deriveKey" | "deriveBits" | "wrapKey" | "unwrapKey";
type KeyFormat = "raw" | "pkcs8" | "spki" | "jwk";
/** The name of an algorithm, or an object with the name and the parameters that the Web Cryptography API defines for it. */
type AlgorithmIdentifier = string | { readonly name: string; readonly [parameter: string]: any };
interface JsonWebKey {
  alg?: string; crv?: string; d?: string; dp?: string; dq?: string; e?: string; ext?: boolean; k?: string; key_ops?: string[]; kty?: string;
  n?: string; p?: string; q?: string; qi?: string; use?: string; x?: string; y?: string;
}
interface CryptoKey {
  readonly type: "secret" | "private" | "public";
  readonly extractable: boolean;
  readonly algorithm: { readonly name: string; readonly [member: string]: any };
  readonly usages: KeyUsage[];
}
declare var CryptoKey: { new (): CryptoKey; prototype: CryptoKey };
interface CryptoKeyPair { readonly publicKey: CryptoKey; readonly privateKey: CryptoKey }
interface SubtleCrypto {
  encrypt(algorithm: AlgorithmIdentifier, key: CryptoKey, data: BufferSource): Promise<ArrayBuffer>;
  decrypt(algorithm: AlgorithmIdentifier, key: CryptoKey, data: BufferSource): Promise<ArrayBuffer>;
  sign(algorithm: AlgorithmIdentifier, key: CryptoKey, data: BufferSource): Promise<ArrayBuffer>;
  verify(algorithm: AlgorithmIdentifier, key: CryptoKey, signature: BufferSource, data: BufferSource): Promise<boolean>;
  digest(algorithm: AlgorithmIdentifier, data: BufferSource): Promise<ArrayBuffer>;
  generateKey(algorithm: AlgorithmIdentifier, extractable: boolean, usages: readonly KeyUsage[]): Promise<CryptoKey & CryptoKeyPair>;
  deriveKey(algorithm: AlgorithmIdentifier, baseKey: CryptoKey, derived: AlgorithmIdentifier, extractable: boolean, usages: readonly KeyUsage[]): Promise<CryptoKey>;
  deriveBits(algorithm: AlgorithmIdentifier, baseKey: CryptoKey, length?: number | null): Promise<ArrayBuffer>;
  importKey(format: "jwk", keyData: JsonWebKey, algorithm: AlgorithmIdentifier, extractable: boolean, usages: readonly KeyUsage[]): Promise<CryptoKey>;
  importKey(format: "raw" | "pkcs8" | "spki", keyData: BufferSource, algorithm: AlgorithmIdentifier, extractable: boolean, usages: readonly KeyUsage[]): Promise<CryptoKey>;
  exportKey(format: "jwk", key: CryptoKey): Promise<JsonWebKey>;
  exportKey(format: "raw" | "pkcs8" | "spki", key: CryptoKey): Promise<ArrayBuffer>;
  wrapKey(format: KeyFormat, key: CryptoKey, wrappingKey: CryptoKey, algorithm: AlgorithmIdentifier): Promise<ArrayBuffer>;
  unwrapKey(format: KeyFormat, wrapped: BufferSource, unwrappingKey: CryptoKey, algorithm: AlgorithmIdentifier, unwrapped: AlgorithmIdentifier, extractable: boolean, usages: readonly KeyUsage[]): Promise<CryptoKey>;
}
declare var SubtleCrypto: { new (): SubtleCrypto; prototype: SubtleCrypto };
interface Crypto {
  randomUUID(): string;
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  readonly subtle: SubtleCrypto;
}

interface Hash { update(data: string | BufferSource, encoding?: string): Hash; digest(): Buffer; digest(encoding: string): string; copy(): Hash }
interface KeyObject {
  readonly type: "secret" | "private" | "public";
  readonly asymmetricKeyType?: "rsa" | "ec" | "ed25519" | "x25519";
  readonly asymmetricKeyDetails?: { readonly modulusLength?: number; readonly publicExponent?: bigint; readonly namedCurve?: string };
  readonly symmetricKeySize?: number;
  equals(other: KeyObject): boolean;
  export(options: { format: "jwk" }): JsonWebKey;
  export(options: { format: "pem"; type: "pkcs1" | "pkcs8" | "sec1" | "spki" }): string;
  export(options?: { format: "der"; type: "pkcs1" | "pkcs8" | "sec1" | "spki" }): Buffer;
}
/** A key: an object, or a text in the format PEM. */
type KeyLike = string | BufferSource | KeyObject | CryptoKey | { readonly key: string | BufferSource | KeyObject | CryptoKey | JsonWebKey; readonly [option: string]: any };
type SecretLike = string | BufferSource | KeyObject | CryptoKey;
interface Signer { update(data: string | BufferSource, encoding?: string): Signer; sign(key: KeyLike): Buffer; sign(key: KeyLike, encoding: string): string }
interface Verifier { update(data: string | BufferSource, encoding?: string): Verifier; verify(key: KeyLike, signature: string | BufferSource, encoding?: string): boolean }
/** A cipher of Node.js: aes-128-gcm, aes-256-cbc, and so on. */
interface NodeCipher {
  update(data: string | BufferSource, inputEncoding?: string | null): Buffer;
  update(data: string | BufferSource, inputEncoding: string | null | undefined, outputEncoding: string): string;
  final(): Buffer;
  final(encoding: string): string;
  setAAD(data: string | BufferSource): this;
  setAutoPadding(pads?: boolean): this;
  getAuthTag(): Buffer;
  setAuthTag(tag: string | BufferSource, encoding?: string): this;
}
/** Functions of Node.js that the object crypto has, too. */
interface NodeCrypto {
  createHash(algorithm: string): Hash;
  createHmac(algorithm: string, key: SecretLike): Hash;
  hash(algorithm: string, data: string | BufferSource, encoding?: string): string;
  randomBytes(size: number): Buffer;
  randomInt(max: number): number;
  randomInt(min: number, max: number): number;
  randomFillSync<T extends BufferSource>(buffer: T, offset?: number, size?: number): T;
  timingSafeEqual(a: BufferSource, b: BufferSource): boolean;
  createSign(algorithm: string): Signer;
  createVerify(algorithm: string): Verifier;
  sign(algorithm: string | null | undefined, data: BufferSource, key: KeyLike): Buffer;
  verify(algorithm: string | null | undefined, data: BufferSource, key: KeyLike, signature: BufferSource): boolean;
  createSecretKey(key: string | BufferSource, encoding?: string): KeyObject;
  createPublicKey(key: KeyLike): KeyObject;
  createPrivateKey(key: KeyLike): KeyObject;
  generateKeyPairSync(type: "rsa" | "ec" | "ed25519" | "x25519", options?: { [option: string]: any }): { publicKey: any; privateKey: any };
  generateKeyPair(type: "rsa" | "ec" | "ed25519" | "x25519", options: { [option: string]: any }, callback: (error: Error | null, publicKey: any, privateKey: any) => void): void;
  generateKeySync(type: "aes" | "hmac", options: { length: number }): KeyObject;
  diffieHellman(keys: { privateKey: KeyObject; publicKey: KeyObject }): Buffer;
  createCipheriv(algorithm: string, key: SecretLike, iv: string | BufferSource | null, options?: { authTagLength?: number }): NodeCipher;
  createDecipheriv(algorithm: string, key: SecretLike, iv: string | BufferSource | null, options?: { authTagLength?: number }): NodeCipher;
  publicEncrypt(key: KeyLike, data: string | BufferSource): Buffer;
  privateDecrypt(key: KeyLike, data: string | BufferSource): Buffer;
  pbkdf2Sync(password: string | BufferSource, salt: string | BufferSource, iterations: number, length: number, digest: string): Buffer;
  pbkdf2(password: string | BufferSource, salt: string | BufferSource, iterations: number, length: number, digest: string, callback: (error: Error | null, key: Buffer) => void): void;
  scryptSync(password: string | BufferSource, salt: string | BufferSource, length: number, options?: { N?: number; r?: number; p?: number; maxmem?: number }): Buffer;
  scrypt(password: string | BufferSource, salt: string | BufferSource, length: number, callback: (error: Error | null, key: Buffer) => void): void;
  scrypt(password: string | BufferSource, salt: string | BufferSource, length: number, options: { N?: number; r?: number; p?: number; maxmem?: number }, callback: (error: Error | null, key: Buffer) => void): void;
  hkdfSync(digest: string, key: SecretLike, salt: string | BufferSource, info: string | BufferSource, length: number): ArrayBuffer;
  getHashes(): string[];
  getCiphers(): string[];
  getCurves(): string[];
  readonly constants: { readonly [name: string]: number };
}
