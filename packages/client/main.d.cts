/** The types for `require`, which loads the module that `import` loads. A test compares the names. */
import type * as client from './dist/main.js' with { 'resolution-mode': 'import' };

export type * from './dist/main.js' with { 'resolution-mode': 'import' };

export declare const acquire: typeof client.acquire;
export declare const connect: typeof client.connect;
export declare const createFileStorage: typeof client.createFileStorage;

export declare const BerthError: typeof client.BerthError;
export type BerthError = client.BerthError;
export declare const BorrowError: typeof client.BorrowError;
export type BorrowError = client.BorrowError;
export declare const DeniedError: typeof client.DeniedError;
export type DeniedError = client.DeniedError;
export declare const ProofError: typeof client.ProofError;
export type ProofError = client.ProofError;
export declare const SlotLostError: typeof client.SlotLostError;
export type SlotLostError = client.SlotLostError;
export declare const StorageError: typeof client.StorageError;
export type StorageError = client.StorageError;
export declare const UnreachableError: typeof client.UnreachableError;
export type UnreachableError = client.UnreachableError;
