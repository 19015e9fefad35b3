/** What the data in this folder was made with. None of it opens anything but this data. */
export const HARDWARE_ID = 'earlier-server';

/** Product and license key: one from the cloud, one from a file, one by codes. */
export const KEYS = {
  cad: 'EARL-IERC-LOUD-0001',
  drawing: 'EARL-IERF-ILE0-0001',
  render: 'EARL-IERC-ODES-0001',
} as const;

export const ADMIN = { name: 'admin', password: 'the earlier admin' } as const;
export const OPERATOR = { name: 'olga', password: 'the earlier operator' } as const;
