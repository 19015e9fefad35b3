import { randomBytes, randomInt } from 'node:crypto';
import { readInitializationCode } from '@berth/protocol/carried/airgap-codes';

/** Letters and digits that are hard to confuse: users read keys aloud and type them. */
const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const GROUPS = 4;
const GROUP_LENGTH = 4;

/** 80 random bits: infeasible to guess. */
export function generateLicenseKey(): string {
  const group = () =>
    Array.from({ length: GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return Array.from({ length: GROUPS }, group).join('-');
}

const API_KEY_BYTES = 20;
const SHARED_KEY_BYTES = 32;

export function generateApiKey(): string {
  return randomBytes(API_KEY_BYTES).toString('hex');
}

export function generateSharedKey(): string {
  return randomBytes(SHARED_KEY_BYTES).toString('hex');
}

const INITIALIZATION_CODE_BYTES = 32;

/** A private key of the curve. Nearly every 32 bytes are valid; the few others are discarded. */
export function generateInitializationCode(): string {
  const code = randomBytes(INITIALIZATION_CODE_BYTES).toString('base64');
  return readInitializationCode(code) === null ? generateInitializationCode() : code;
}
