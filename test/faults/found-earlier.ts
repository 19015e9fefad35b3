/** What was found without the faults, or before they were recorded, by the commit that fixed it. */
export const FOUND_EARLIER: Readonly<Record<string, string>> = {
  d280e4aa: 'After a pause, whoever asked first took the slots of users who could not renew, on SQLite.',
  '2d1200e6':
    'When a promoted standby was behind, the event feed and webhooks did not follow its shorter log.',
  e66ba4df: 'Reading the open database for its checksums released the locks that SQLite had on it.',
  a97fa40d: 'A damaged page that had been reported was forgotten after a failure of the disk.',
  '497b8468': 'It was also forgotten when the checksums of the other pages were lost.',
};
