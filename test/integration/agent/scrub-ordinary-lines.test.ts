import { generateKeyPairSync } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { Scrubber } from '../../../src/agent/scrub/scrubber.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const wantedCount = 100_000;
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
/** Realistic secrets: with words, hosts and prefixes that occur in any text. */
const secrets = [
  'password-of-the-shop-17',
  'Correct horse battery staple 4',
  'Summer2026!',
  'production-db-7.internal',
  'https://hooks.slack.com/services/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',
  'https://packages.example.org/@private/token-8f3a',
  'https://github.com/acme/secret-repository-4711.git',
  'postgres://shop:s3cr3t-pw@db.internal:5432/shop',
  'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N',
  'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
  'export-const-import-key-99',
  'function-key-8c1f',
  'undefined-behaviour-5',
  'node_modules/.cache/token-1f',
  'tok_4hW8n3KdYtC6eJq1',
  '604918275533',
  '2026-11-22T23:59:59.123Z',
  JSON.stringify(
    { type: 'service_account', project_id: 'acme-4711', token_uri: 'https://oauth2.example.com/t' },
    null,
    2,
  ),
  'version: 1\nname: shop\napiKey: 9f8e7d6c5b4a\nservices:\n  - web',
  pem,
];

/** Lines that people write: documents, code, types, data. */
function ordinaryLines(): string[] {
  const lines: string[] = [];
  for (const pattern of [
    '{docs,src}/**/*.{md,ts}',
    'node_modules/*/*.{md,json}',
    'node_modules/*/{dist,lib,src}/*.{js,ts,mjs}',
  ]) {
    for (const file of globSync(pattern, { cwd: root }).toSorted()) {
      const text = readFileSync(`${root}${file}`, 'utf8');
      lines.push(...text.split('\n').filter((line) => line.trim() !== '' && line.length < 2000));
      if (lines.length >= wantedCount) return lines.slice(0, wantedCount);
    }
  }
  return lines;
}

/** A line with the name of a credential header and a value: in quotes, after a scheme, or on a separate line. */
const isOfHeader = /(?:authorization|cookies?|[\w-]+-(?:key|token|secret))["'`)\]\\]*\s*(?:[:=,]|=>).*\S/i;

it('leaves ordinary lines unchanged', { timeout: 120_000 }, () => {
  const lines = ordinaryLines();
  expect(lines).toHaveLength(wantedCount);
  const scrubber = new Scrubber(secrets);
  const withoutSecrets = new Scrubber([]);
  const masked: string[] = [];
  const ofHeaders: string[] = [];
  for (const line of lines) {
    // User info in URLs and values of credential headers are masked for any secrets.
    if (line.includes('@') || scrubber.text(line) === line) continue;
    if (withoutSecrets.text(line) === scrubber.text(line)) ofHeaders.push(line);
    else masked.push(line);
  }
  expect(masked).toEqual([]);
  // Few lines contain such headers, and many of those are in this project's own documents and tests.
  expect(ofHeaders.filter((line) => !isOfHeader.test(line))).toEqual([]);
  expect(ofHeaders.length).toBeLessThan(wantedCount / 1000);
});
