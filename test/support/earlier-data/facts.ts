/** The values that the data in this folder was made with. They are valid for this data only. */
export const HARDWARE_ID = 'earlier-server';

/** License keys by product: activated at the cloud, by file and by codes. */
export const KEYS = {
  cad: 'EARL-IERC-LOUD-0001',
  drawing: 'EARL-IERF-ILE0-0001',
  render: 'EARL-IERC-ODES-0001',
} as const;

export const ADMIN = { name: 'admin', password: 'the earlier admin' } as const;
export const OPERATOR = { name: 'olga', password: 'the earlier operator' } as const;
