import { test } from 'node:test';
import { runDemoPage } from './run-demo-page.ts';

test('every command of docs/integrating.md prints what the page says', (t) =>
  runDemoPage(t, 'docs/integrating.md', { atLeast: 13 }));
