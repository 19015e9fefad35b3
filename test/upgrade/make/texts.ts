/** The data is in the folder of `berth.yaml`. The machine that made it and those that test it have one id. */
export const SETTINGS = (cloudUrl: string) => `# Settings of the release that this data is of.
data: data
hardwareId: kestrel-works-1
page:
  name: Kestrel Works
cloud:
  url: ${cloudUrl}
  publicKey: [vendor.pem]
  checkMinutes: 30
  reportSeconds: 5
  timeoutSeconds: 5
auth:
  localAdmin: never
  clients: open
  secondFactor: optional
  localAccounts: everywhere
limits:
  newSlotsPerHour: 500
lending:
  maxWaiting: 200
  holdForRetries: 0
users:
  ignoreCase: true
http:
  maxConnections: 4000
  maxConnectionsPerAddress: 1000
  trustedProxies: [192.0.2.7]
  allowedOrigins: [https://tools.kestrel.example]
  allowedHosts: [berth.kestrel.example]
  allowKeysInUrl: false
log:
  level: info
  format: json
  slowRequestMs: 2500
metrics:
  access: open
sweeper:
  intervalSeconds: 15
history:
  keepDays: 3650
backup:
  folder: backups
  keep: 4
notices:
  expiryDays: 21
  diskFreeMegabytes: 1
eventsFile:
  path: events.jsonl
  megabytes: 5
  keep: 2
`;

export const RULES = `# Who gets slots at Kestrel Works.
groups:
  cad-team: { users: [ada, grace, "cad-*"], hosts: ["ws-1*"] }
  field: { users: ["fld-*"], addresses: [10.20.0.0/16] }
  everybody: { groups: [cad-team, field], users: [bob, "old-*", "new-*", "pg-*"] }
times:
  office: { days: mon-fri, from: "08:00", to: "18:00", zone: Europe/Berlin }
deny: { users: [mallory], addresses: [192.0.2.0/24] }
products:
  cad:
    allow: [everybody]
    reserve: [{ slots: 1, for: cad-team }]
    limit:
      - { slots: 2, for: field }
      - { slots: 4, for: cad-team, during: office }
    borrow: { allow: [cad-team, field], keep: 1 }
    priority: [{ for: cad-team, level: 5 }]
    features:
      render:
        deny: { users: [grace] }
expect:
  - { user: ada, product: cad, answer: served }
  - { user: Mallory, product: cad, answer: refused, rule: deny }
  - { user: zoe, product: cad, answer: refused, rule: allow }
  - { user: bob, product: cad, free: 1, answer: refused, rule: reserve 1 for cad-team }
  - { user: fld-3, product: cad, held: { field: 2 }, answer: refused, rule: limit 2 for field }
  - { user: grace, product: cad, feature: render, answer: refused, rule: deny }
  - { user: zoe, product: meter, answer: served }
`;

export const FIRST_RULES = 'deny: { users: [mallory, trudy] }\n';
