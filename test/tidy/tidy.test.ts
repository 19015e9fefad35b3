import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { accepted, rejected } from './examples.ts';
import { readProjectFiles } from './project-files.ts';
import { rules } from './rules.ts';
import type { Finding, SourceFile } from './source.ts';

const project = readProjectFiles(fileURLToPath(new URL('../..', import.meta.url)));

function formatFindings(findings: Finding[]): string {
  return findings.map(({ path, line, message }) => `${path}:${line} ${message}`).join('\n');
}

function applyRule(name: string, files: SourceFile[]): Finding[] {
  const rule = rules[name];
  assert.ok(rule, `There is no rule '${name}'.`);
  return rule(files);
}

describe('the project is tidy', () => {
  test('the listing sees the sources', () => {
    const paths = project.map((file) => file.path);
    assert.ok(paths.includes('package.json'));
    assert.ok(paths.includes('test/tidy/tidy.test.ts'));
    assert.ok(paths.some((path) => path.startsWith('packages/server/src/')));
    assert.ok(!paths.some((path) => path.includes('node_modules/')));
  });

  for (const name of Object.keys(rules)) {
    test(name, () => {
      const findings = applyRule(name, project);
      if (findings.length > 0) assert.fail(`\n${formatFindings(findings)}`);
    });
  }
});

describe('every rule can fail', () => {
  test('and has an example which does', () => {
    assert.deepEqual(new Set(rejected.map((example) => example.rule)), new Set(Object.keys(rules)));
  });

  for (const { rule, title, line, files } of rejected) {
    test(`${rule}: ${title}`, () => {
      const findings = applyRule(rule, files);
      assert.deepEqual(
        findings.map((finding) => ({ path: finding.path, line: finding.line, rule: finding.rule })),
        [{ path: files[0]?.path, line, rule }],
      );
      assert.match(findings[0]?.message ?? '', /^.+ .+\.$/);
    });
  }
});

describe('no rule fails on what is allowed', () => {
  for (const { rule, title, files } of accepted) {
    test(`${rule}: ${title}`, () => {
      assert.equal(formatFindings(applyRule(rule, files)), '');
    });
  }
});
