import { randomBytes, randomInt } from 'node:crypto';

/** Letters and digits that cannot be mistaken for one another: people read keys aloud and type them. */
const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const GROUPS = 4;
const GROUP_LENGTH = 4;

/** 80 random bits: nobody finds another one by trying. */
export function makeUpLicenseKey(): string {
  const group = () =>
    Array.from({ length: GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return Array.from({ length: GROUPS }, group).join('-');
}

const API_KEY_BYTES = 20;
const SHARED_KEY_BYTES = 32;

export function makeUpApiKey(): string {
  return randomBytes(API_KEY_BYTES).toString('hex');
}

export function makeUpSharedKey(): string {
  return randomBytes(SHARED_KEY_BYTES).toString('hex');
}
