/** Defines a test for restsrv test. Tests are in files *.test.js or *.test.ts beside the scripts. */
declare const test: restsrv.TestFunction;
declare const it: restsrv.TestFunction;
declare const describe: restsrv.DescribeFunction;
declare function before(work: () => unknown): void;
declare function after(work: () => unknown): void;
declare function beforeEach(work: () => unknown): void;
declare function afterEach(work: () => unknown): void;
declare const assert: typeof import("assert");
/** Sends a request to the application, through the whole server. */
declare function request(method: restsrv.Method | Lowercase<restsrv.Method>, path: string, options?: restsrv.RequestOptions): Promise<restsrv.TestResponse>;
/** Returns a function like request that sends requests as an account. No password is needed. */
declare function asAccount(account: string): typeof request;
/** Creates an account. The grants are permissions by resource, such as {'c:::note@sample': 'read write'}. */
declare function addAccount(account: string, options?: { roles?: string[]; grant?: { [resource: string]: string } }): Promise<void>;

declare namespace restsrv {
  interface TestFunction {
    (name: string, work?: () => unknown, options?: { timeout?: number }): void;
    only(name: string, work: () => unknown, options?: { timeout?: number }): void;
    skip(name: string, work?: () => unknown, options?: { timeout?: number }): void;
    todo(name: string): void;
  }
  interface DescribeFunction {
    (name: string, tests: () => void): void;
    only(name: string, tests: () => void): void;
    skip(name: string, tests: () => void): void;
  }
  interface RequestOptions {
    /** Sent as it is. */
    body?: string | Bytes;
    /** Sent as JSON. */
    json?: unknown;
    /** Sent as a form. */
    form?: { [name: string]: string | number | boolean };
    headers?: { [name: string]: string };
    /** The account of the request, such as 'ann@local'. No password is needed. If it is absent, the request is anonymous. */
    account?: string;
    /** Basic authentication: 'user@type:password'. */
    auth?: string;
  }
  interface TestResponse {
    readonly status: number;
    /** The headers, by lower-case name. */
    readonly headers: { readonly [name: string]: string };
    readonly text: string;
    /** The parsed body, or undefined if it is not JSON. */
    readonly json: any;
    readonly bytes: Uint8Array;
  }
}
