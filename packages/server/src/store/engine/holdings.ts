/** Reads what a restore may lose, or must not forget (`Holdings`); the same text for both databases. */
export const HOLDINGS_SQL = {
  licenses: 'SELECT id, product FROM license',
  removed: 'SELECT facts FROM license WHERE removed_at IS NOT NULL',
  borrows: `SELECT license_id, "user", '' AS feature, borrowed_until FROM registration
      WHERE borrowed_until IS NOT NULL
    UNION ALL SELECT license_id, "user", feature, borrowed_until FROM feature_slot
      WHERE borrowed_until IS NOT NULL`,
  totals: 'SELECT license_id, feature, window_start, total FROM consumption_total',
} as const;
