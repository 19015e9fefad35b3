export type { CountOptions, Total } from './consumption/count.ts';
export type { CountQueue, QueuedCount, QueueEvents, StrayCount } from './consumption/count-queue.ts';
export type { Duration } from './duration.ts';
export type { Storage } from './environment.ts';
export {
  BerthError,
  BorrowError,
  DeniedError,
  type FailedAttempt,
  ProofError,
  SlotLostError,
  StorageError,
  UnreachableError,
} from './errors.ts';
export type { Waiting, WaitOptions } from './lending/acquire.ts';
export type { Borrow } from './lending/borrow.ts';
export type { FeatureSlot } from './lending/feature-slot.ts';
export type { StoredBorrow } from './lending/find-borrows.ts';
export type { LossReason, SlotEvents } from './lending/renewal.ts';
export type { License, Slot } from './lending/slot.ts';
export type { BorrowOptions } from './lending/take-borrow.ts';
export type { Grant } from './proof/verifier.ts';
