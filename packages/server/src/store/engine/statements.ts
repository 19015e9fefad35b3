import type { Row, RowValue } from './rows.ts';

/**
 * Everything that the engine asks of a database, by name. Each store has its own SQL for each of these; the
 * values that belong into it come in the same order, or under the same names.
 */
export const STATEMENT_NAMES = [
  // licenses
  'putLicense',
  'updateFacts',
  'removeLicense',
  // registrations
  'findRegistration',
  'findFirstEnd',
  'findNextEnd',
  'listEnded',
  'countEnded',
  'countCrowd',
  'putRegistration',
  'renewRegistration',
  'removeRegistration',
  'removeLiveRegistrations',
  'endRegistrationsBy',
  // borrows that have ended
  'findEndedBorrow',
  'putEndedBorrow',
  'trimEndedBorrows',
  'removeEndedBorrows',
  'removeAllEndedBorrows',
  'listEndedBorrows',
  'listBorrowHolders',
  'listBorrowFeatureSlots',
  'removeSettledBorrows',
  // the clock
  'prolongLive',
  'pullBackLive',
  'pullBackEndedBorrows',
  'pullBackDenials',
  'pullBackPlaceDenials',
  'pullBackTokens',
  'pullBackOneTimePasswords',
  'getServer',
  'saveHardwareId',
  // denials
  'listDenialsOf',
  'listDenialsBy',
  'putDenial',
  'removeDenial',
  'listPlaceDenialsOf',
  'listPlaceDenialsBy',
  'putPlaceDenial',
  'removePlaceDenial',
  // consumption
  'findMeter',
  'putMeter',
  'findTotal',
  'putTotal',
  'listReports',
  'addReport',
  'markReportUncertain',
  'removeReport',
  // first answers
  'findAnswer',
  'rememberAnswer',
  'countStaleAnswers',
  'removeStaleAnswers',
  'removeOldestAnswers',
  'pullBackAnswers',
  // feature slots
  'listFeatureSlotsOf',
  'listEndedFeatureSlots',
  'findFirstFeatureEnd',
  'findNextFeatureEnd',
  'countLiveFeatureSlots',
  'putFeatureSlot',
  'removeFeatureSlot',
  'listFeaturesInUse',
  'removeAllFeatureSlots',
  'endFeatureSlotsBy',
  'prolongLiveFeatures',
  'pullBackFeatures',
  // files that a person carries
  'findRequest',
  'addRequest',
  'answerRequest',
  'voidRequests',
  'removeOldRequests',
  'setUsageSequence',
  // rules
  'putRules',
  'pullBackRules',
  // what was told
  'findNotice',
  'putNotice',
  'removeNotice',
  'setWebhookCursor',
  // audit
  'findSegment',
  'findLastLinkBefore',
  'listLinksOf',
  'putSegment',
  'removeLinks',
  // accounts and tokens
  'findAccount',
  'countAdministrators',
  'putAccount',
  'putPassword',
  'putRole',
  'removeAccount',
  'endSetup',
  'removeSetupTokens',
  'useOneTimePassword',
  'findToken',
  'findTokenById',
  'findTokenByName',
  'putToken',
  'touchToken',
  'freeToken',
  'removeToken',
  'removeTokensOf',
  'removeDeadTokens',
  'removeSurplusTokens',
  // secrets
  'listSecrets',
  'putSecret',
] as const;

export type StatementName = (typeof STATEMENT_NAMES)[number];

export type Statements = Readonly<Record<StatementName, Statement>>;

/** One statement. It answers at once: a store whose database takes its time holds the rows ready. */
export interface Statement {
  get(...values: RowValue[]): Row | undefined;
  get(named: Record<string, RowValue>): Row | undefined;
  all(...values: RowValue[]): Row[];
  all(named: Record<string, RowValue>): Row[];
  run(...values: RowValue[]): { readonly changes: number | bigint };
  run(named: Record<string, RowValue>): { readonly changes: number | bigint };
}
