import type { DatabaseSync, StatementSync } from 'node:sqlite';

const LICENSES = `
  SELECT license.*, product.code, product.name, product.authorization_method, product.metadata
  FROM license JOIN product ON product.id = license.product_id`;

/** What a pair of keys opens: all licenses, or those of its customer. */
const OPENED = '(:customer IS NULL OR customer = :customer)';

/** All statements, prepared once. */
const SQL = {
  // the air-gap key
  findAirgapPublicKey: 'SELECT airgap_public_key FROM cloud WHERE id = 1',
  setAirgapPublicKey: 'UPDATE cloud SET airgap_public_key = ? WHERE id = 1 AND airgap_public_key IS NULL',

  // signing keys
  listSigningKeys: `
    SELECT * FROM signing_key WHERE state != 'retired' ORDER BY state = 'signing' DESC, fingerprint`,
  listRetiredKeys: "SELECT * FROM signing_key WHERE state = 'retired'",
  addSigningKey: 'INSERT INTO signing_key (fingerprint, file, state, added_at) VALUES (?, ?, ?, ?)',
  setKeyState: 'UPDATE signing_key SET state = ? WHERE fingerprint = ?',
  removeSigningKey: 'DELETE FROM signing_key WHERE fingerprint = ?',

  // keys
  listKeys: 'SELECT * FROM api_key ORDER BY created_at, name',
  addKey: 'INSERT INTO api_key (name, api_key, shared_key, customer, created_at) VALUES (?, ?, ?, ?, ?)',
  disableKey: 'UPDATE api_key SET enabled = 0 WHERE name = ?',

  // products
  findProduct: 'SELECT * FROM product WHERE code = ?',
  listProducts: 'SELECT * FROM product ORDER BY code',
  addProduct: `
    INSERT INTO product (id, code, name, authorization_method, metadata, created_at)
    VALUES (?, ?, ?, ?, ?, ?)`,

  // licenses
  findLicense: `${LICENSES} WHERE license_key = ?`,
  // Another customer's license is found as little as one that does not exist, and as fast.
  findOpenLicense: `${LICENSES} WHERE license.id = (
    SELECT id FROM license INDEXED BY license_of_customer WHERE license_key = :key AND ${OPENED})`,
  findLicenseByKey: `${LICENSES} WHERE license.id = (
    SELECT id FROM license INDEXED BY license_of_customer
    WHERE license_key = :key AND product_id = :product AND ${OPENED})`,
  findLicenseByUser: `${LICENSES} WHERE license.id = (
    SELECT id FROM license INDEXED BY user_of_customer
    WHERE product_id = :product AND user_name = :user AND ${OPENED})`,
  listLicenses: `${LICENSES} ORDER BY license.created_at, license.id`,
  addLicense: `
    INSERT INTO license (id, license_key, product_id, user_name, password_hash, customer, terms, created_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  setTerms: 'UPDATE license SET terms = ? WHERE id = ?',
  setUser: 'UPDATE license SET user_name = ?, password_hash = ? WHERE id = ?',
  setCustomer: 'UPDATE license SET customer = ? WHERE id = ?',
  setEnabled: 'UPDATE license SET enabled = ? WHERE id = ?',
  setActive: 'UPDATE license SET active = ? WHERE id = ?',
  setLastFileAt: 'UPDATE license SET last_file_at = ? WHERE id = ?',
  setTransferCount: 'UPDATE license SET transfer_count = ? WHERE id = ?',

  // devices
  findDevice: 'SELECT * FROM device WHERE license_id = ? AND hardware_id = ?',
  countDevices: 'SELECT count(*) AS count FROM device WHERE license_id = ?',
  listDevices: `
    SELECT device.*, license_key, blocked_at FROM device
    JOIN license ON license.id = license_id LEFT JOIN blocked_device USING (hardware_id)
    WHERE :license IS NULL OR license_id = :license
    ORDER BY license.created_at, license_id, activated_at, device.id`,
  addDevice: `
    INSERT INTO device (id, license_id, hardware_id, host, activated_at, seen_at) VALUES (?, ?, ?, ?, ?, ?)`,
  // A new activation may come from another server, so earlier signatures do not apply.
  refreshDevice: `
    UPDATE device SET host = ?, seen_at = ?, signed = 0 WHERE license_id = ? AND hardware_id = ?`,
  signDevice: 'UPDATE device SET signed = 1 WHERE license_id = ? AND hardware_id = ?',
  // Keys of grants, and certificates
  setGrantKey: 'UPDATE device SET grant_key = ?, proven = ? WHERE license_id = ? AND hardware_id = ?',
  replaceGrantKeys: `
    UPDATE device SET grant_key = :x, proven = :x IS NOT NULL WHERE hardware_id = :machine`,
  proveGrantKeys: 'UPDATE device SET proven = 1 WHERE hardware_id = ? AND grant_key IS NOT NULL',
  unproveMachine: 'UPDATE device SET proven = 0 WHERE hardware_id = ?',
  unproveLicense: 'UPDATE device SET proven = 0 WHERE license_id = ?',
  forgetUnproven: 'UPDATE device SET grant_key = NULL WHERE hardware_id = ? AND proven = 0',
  findOthersProven: `
    SELECT 1 FROM device JOIN license ON license.id = license_id
    WHERE hardware_id = :machine AND proven = 1 AND customer IS NOT :customer`,
  listGrantKeys: `
    SELECT DISTINCT grant_key FROM device WHERE hardware_id = ? AND grant_key IS NOT NULL ORDER BY 1`,
  setCertified: `
    UPDATE device SET certified = ?, certified_until = max(coalesce(certified_until, 0), ?)
    WHERE license_id = ? AND hardware_id = ?`,
  countNonces: 'SELECT count(*) AS count FROM used_nonce WHERE pair = ?',
  addNonce: 'INSERT OR IGNORE INTO used_nonce (pair, nonce, until) VALUES (?, ?, ?)',
  removeNoncesBefore: 'DELETE FROM used_nonce WHERE until < ?',
  seeDevice: 'UPDATE device SET seen_at = ? WHERE license_id = ? AND hardware_id = ?',
  removeDevice: 'DELETE FROM device WHERE license_id = ? AND hardware_id = ?',
  removeDevices: 'DELETE FROM device WHERE license_id = ?',
  findMachine: 'SELECT signed FROM device WHERE hardware_id = ? GROUP BY signed',
  findForeignDevice: `
    SELECT 1 FROM device JOIN license ON license.id = license_id
    WHERE hardware_id = :machine AND :customer IS NOT NULL AND customer IS NOT :customer`,
  findForeignLicense: 'SELECT 1 FROM license WHERE id = ? AND customer IS NOT ?',
  findBlocked: 'SELECT 1 FROM blocked_device WHERE hardware_id = ?',
  listBlocked: 'SELECT * FROM blocked_device ORDER BY blocked_at, hardware_id',
  block: 'INSERT INTO blocked_device (hardware_id, blocked_at) VALUES (?, ?)',
  unblock: 'DELETE FROM blocked_device WHERE hardware_id = ?',

  // consumption
  findTotal: 'SELECT total FROM consumption_total WHERE license_id = ? AND feature = ? AND window_start = ?',
  putTotal: `
    INSERT INTO consumption_total (license_id, feature, window_start, total) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET total = excluded.total`,
  findReport: 'SELECT * FROM report WHERE license_id = ? AND id = ?',
  addReport: 'INSERT INTO report (license_id, id, feature, amount, counted_at) VALUES (?, ?, ?, ?, ?)',

  // licenses by file
  findRequest: 'SELECT * FROM offline_request WHERE id = ?',
  addRequest: `
    INSERT INTO offline_request (id, digest, license_id, answer, answered_at) VALUES (?, ?, ?, ?, ?)`,
  findServerKey: 'SELECT * FROM server_key WHERE hardware_id = ?',
  listServerKeys: `
    SELECT * FROM server_key
    WHERE :license IS NULL OR hardware_id IN (SELECT hardware_id FROM device WHERE license_id = :license)
    ORDER BY hardware_id`,
  putServerKey: `
    INSERT INTO server_key (hardware_id, server_key, confirmed, customer, learned_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET server_key = excluded.server_key, confirmed = excluded.confirmed,
      customer = excluded.customer, learned_at = excluded.learned_at, approved = 0`,
  approveServerKey: 'UPDATE server_key SET approved = 1 WHERE hardware_id = ?',
  // What is given back has to be proven again.
  endApproval: 'UPDATE server_key SET approved = 0 WHERE hardware_id = ?',
  endApprovals: `
    UPDATE server_key SET approved = 0
    WHERE hardware_id IN (SELECT hardware_id FROM device WHERE license_id = ?)`,
  findWaitingKey: 'SELECT 1 FROM waiting_key WHERE hardware_id = ? AND server_key = ?',
  addWaitingKey: `
    INSERT INTO waiting_key (hardware_id, server_key, grant_key, asks, came_from, came_at)
    VALUES (?, ?, ?, ?, ?, ?)`,
  setWaitingGrantKey: `
    UPDATE waiting_key SET grant_key = coalesce(?, grant_key) WHERE hardware_id = ? AND server_key = ?`,
  countWaitingKeys: `
    SELECT count(*) AS in_all, count(*) FILTER (WHERE hardware_id = :machine) AS of_machine,
      count(*) FILTER (WHERE hardware_id = :machine AND came_from = :from) AS of_address_and_machine
    FROM waiting_key`,
  // Keys from strangers are evicted before keys that the vendor submitted.
  removeOldestWaitingKey: `
    DELETE FROM waiting_key WHERE (hardware_id, server_key) IN (
      SELECT hardware_id, server_key FROM waiting_key WHERE :machine IS NULL OR hardware_id = :machine
      ORDER BY came_from IS NULL, came_at LIMIT 1)`,
  removeWaitingKeysBefore: 'DELETE FROM waiting_key WHERE came_at < ?',
  removeWaitingKeys: 'DELETE FROM waiting_key WHERE hardware_id = ?',
  listWaitingKeys: `
    SELECT waiting_key.*, (
      SELECT group_concat(license_key, ', ') FROM device JOIN license ON license.id = license_id
      WHERE device.hardware_id = waiting_key.hardware_id) AS license_keys
    FROM waiting_key WHERE :machine IS NULL OR hardware_id = :machine
    ORDER BY hardware_id, came_at, server_key`,
  // The machine's current key needs no waiting file.
  listApprovableKeys: `
    SELECT server_key FROM waiting_key WHERE hardware_id = :machine
    UNION SELECT server_key FROM server_key WHERE hardware_id = :machine AND approved = 0`,
  findUsageTaken: 'SELECT * FROM usage_taken WHERE server_key = ?',
  putUsageTaken: `
    INSERT INTO usage_taken (server_key, sequence, digest) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET sequence = excluded.sequence, digest = excluded.digest`,
  findReportedUsage:
    'SELECT consumed FROM usage_reported WHERE server_key = ? AND license_id = ? AND feature = ?',
  putReportedUsage: `
    INSERT INTO usage_reported (server_key, license_id, feature, consumed) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET consumed = excluded.consumed`,

  // the air gap
  findAirgapStart: 'SELECT initialization_code FROM airgap_start WHERE license_id = ?',
  putAirgapStart: `
    INSERT INTO airgap_start (license_id, initialization_code, started_at) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET
      initialization_code = excluded.initialization_code, started_at = excluded.started_at`,
  removeAirgapStart: 'DELETE FROM airgap_start WHERE license_id = ?',
  findAirgapActivation: 'SELECT * FROM airgap_activation WHERE license_id = ? AND hardware_id = ?',
  putAirgapActivation: `
    INSERT OR REPLACE INTO airgap_activation
      (license_id, hardware_id, activation_code, confirmation_code, policy_file, certificate_ends_at,
       confirmed_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)`,
  findAirgapDevice: `
    SELECT hardware_id FROM airgap_activation JOIN device USING (license_id, hardware_id)
    WHERE license_id = ? ORDER BY confirmed_at DESC LIMIT 1`,

  // events
  addEvent: 'INSERT INTO event (at, kind, license_id, facts) VALUES (?, ?, ?, ?)',
  listEvents: `
    SELECT event.*, license_key FROM event LEFT JOIN license ON license.id = license_id
    WHERE :license IS NULL OR license_id = :license
    ORDER BY seq DESC LIMIT :limit`,

  // transactions
  begin: 'BEGIN IMMEDIATE',
  findSchemaVersion: 'PRAGMA user_version',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
} as const;

export type Statements = Readonly<Record<keyof typeof SQL, StatementSync>>;

export function prepareStatements(db: DatabaseSync): Statements {
  const entries = Object.entries(SQL).map(([name, sql]) => [name, db.prepare(sql)]);
  return Object.fromEntries(entries) as Statements;
}
