import { IDEMPOTENCY_KEY } from '@berth/protocol/api/consumption';

/** The headers that some routes take, as the API document describes them. */
export const HEADER_PARAMETERS = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A request repeated within 24 hours with the same key and fields counts once. Without blanks.',
    schema: { type: 'string', pattern: IDEMPOTENCY_KEY.source },
    example: '6f9d2f0e-2f55-4f4e-9a3d-0c7d5f6c1b11',
  },
  'Last-Event-ID': {
    name: 'Last-Event-ID',
    in: 'header',
    description: 'Continue after this event; takes precedence over `after`.',
    schema: { type: 'string', pattern: '^(\\d{1,15}(\\.\\d{1,15})?)?$' },
    example: '12.0',
  },
  'X-Berth-Code': {
    name: 'X-Berth-Code',
    in: 'header',
    description: 'The code of the authenticator app, or a recovery code, if the account has a second factor.',
    schema: { type: 'string' },
    example: '123456',
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    description:
      'With `wait=30` the request waits in line for up to 30 seconds, at most 50, if no slot is free. With ' +
      '`return=minimal` the answer has the slot, and a grant if asked for, but no license.',
    schema: { type: 'string' },
    example: 'return=minimal',
  },
} as const;
