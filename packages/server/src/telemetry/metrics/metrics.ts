interface Metric {
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
}

const LICENSE = ['license', 'product'] as const;
const FEATURE = ['license', 'product', 'feature'] as const;

/**
 * Every metric, in the order of the page. `docs/monitoring.md`, the dashboard and the alert rules are
 * compared with this table. Labels hold only what licenses and this program define, never what clients send:
 * otherwise anyone could add as many series as they like.
 */
export const METRICS = {
  berth_build_info: { type: 'gauge', labels: ['version', 'node', 'store'], help: 'The running version.' },
  process_start_time_seconds: { type: 'gauge', labels: [], help: 'When the server was started, Unix time.' },
  process_cpu_seconds_total: { type: 'counter', labels: [], help: 'CPU time of the server, all threads.' },
  process_resident_memory_bytes: { type: 'gauge', labels: [], help: 'Memory of the server.' },
  berth_store_healthy: { type: 'gauge', labels: [], help: '1 if the data can be read and written.' },
  berth_leader: { type: 'gauge', labels: [], help: '1 if this server does the background work of all.' },

  berth_license_slots: { type: 'gauge', labels: LICENSE, help: 'Slots of the license.' },
  berth_license_slots_in_use: { type: 'gauge', labels: LICENSE, help: 'Slots in use, borrowed ones too.' },
  berth_license_slots_borrowed: { type: 'gauge', labels: LICENSE, help: 'Borrowed slots.' },
  berth_license_slots_peak: {
    type: 'gauge',
    labels: LICENSE,
    help: 'Most slots in use at a time since the last scrape, and within at least two minutes.',
  },
  berth_license_usable: { type: 'gauge', labels: LICENSE, help: '1 if the license can lend slots.' },
  berth_license_expiry_days: {
    type: 'gauge',
    labels: LICENSE,
    help: 'Days until the license ends, or its grace period if that has begun.',
  },
  berth_license_consumption: { type: 'gauge', labels: LICENSE, help: 'Consumption in this period.' },
  berth_license_consumption_remaining: {
    type: 'gauge',
    labels: LICENSE,
    help: 'How much can be consumed before requests are denied, overage included.',
  },
  berth_feature_slots: { type: 'gauge', labels: FEATURE, help: 'Slots of the feature.' },
  berth_feature_slots_in_use: { type: 'gauge', labels: FEATURE, help: 'Slots in use, borrowed ones too.' },
  berth_feature_slots_borrowed: { type: 'gauge', labels: FEATURE, help: 'Borrowed slots.' },
  berth_feature_slots_peak: {
    type: 'gauge',
    labels: FEATURE,
    help: 'Most slots in use at a time since the last scrape, and within at least two minutes.',
  },
  berth_feature_expiry_days: { type: 'gauge', labels: FEATURE, help: 'Days until the feature ends.' },
  berth_feature_consumption: { type: 'gauge', labels: FEATURE, help: 'Consumption in this period.' },
  berth_feature_consumption_remaining: {
    type: 'gauge',
    labels: FEATURE,
    help: 'How much can be consumed before requests are denied, overage included.',
  },
  berth_reserved_slots: {
    type: 'gauge',
    labels: ['product', 'feature', 'rule'],
    help: 'Slots that a rule reserves now; without a feature, of the product.',
  },
  berth_reserved_slots_kept_free: {
    type: 'gauge',
    labels: ['product', 'feature', 'rule'],
    help: 'Reserved slots that are kept free for those who have not come yet.',
  },
  berth_denials_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Denied requests for slots and consumption, by error code.',
  },
  berth_waiting: { type: 'gauge', labels: [], help: 'Clients of this server that wait for a slot.' },
  berth_wait_seconds: {
    type: 'histogram',
    labels: ['end'],
    help: 'How long clients waited in line until they got a slot (served) or gave up (denied).',
  },

  berth_cloud_failing: { type: 'gauge', labels: [], help: '1 if requests to the licensing cloud fail.' },
  berth_cloud_age_seconds: {
    type: 'gauge',
    labels: [],
    help: 'Time since the licensing cloud was last reached.',
  },
  berth_cloud_backlog: { type: 'gauge', labels: [], help: 'Consumption that is not in a report yet.' },
  berth_cloud_reports: {
    type: 'gauge',
    labels: ['state'],
    help: 'Reports to the cloud without an answer (under_way) or with an unknown result (uncertain).',
  },
  berth_clock_offset_seconds: {
    type: 'gauge',
    labels: [],
    help: "How far the server's time is ahead of the clock of the machine, or of the database.",
  },
  berth_backup_failing: { type: 'gauge', labels: [], help: '1 if the scheduled backups fail.' },
  berth_backup_age_seconds: { type: 'gauge', labels: [], help: 'Time since the last backup was made.' },
  berth_certificate_expiry_days: { type: 'gauge', labels: [], help: 'Days until the TLS certificate ends.' },

  berth_requests_total: { type: 'counter', labels: ['route', 'status'], help: 'Answered requests.' },
  berth_request_duration_seconds: {
    type: 'histogram',
    labels: ['route'],
    help: 'Time from a request to its answer.',
  },
  berth_event_loop_delay_seconds: {
    type: 'histogram',
    labels: [],
    help: 'How late a timer fires that is due every 100 ms: how long requests wait for the server.',
  },
  berth_batch_size: { type: 'histogram', labels: [], help: 'Requests that shared a commit.' },
  berth_sync_duration_seconds: { type: 'histogram', labels: [], help: 'Time to write a commit to disk.' },
  berth_database_connections: {
    type: 'gauge',
    labels: ['pool', 'state'],
    help: 'Connections to PostgreSQL, in_use or idle.',
  },
  berth_database_connections_max: { type: 'gauge', labels: ['pool'], help: 'Most connections of the pool.' },
  berth_database_connections_waiting: {
    type: 'gauge',
    labels: ['pool'],
    help: 'Requests that wait for a connection.',
  },
} as const satisfies Readonly<Record<string, Metric>>;

export type MetricName = keyof typeof METRICS;
