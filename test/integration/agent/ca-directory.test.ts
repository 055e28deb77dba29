import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readCaDirectory } from '../../../src/lib/ca-directory.ts';
import { createAuthority, type TestAuthority } from '../../helpers/targets/certificates.ts';

const parent = mkdtempSync(join(tmpdir(), 'picket-ca-directory-'));
let authority: TestAuthority;
let other: TestAuthority;
let folder: string;

const put = (name: string, content: string | Buffer) => writeFileSync(join(folder, name), content);

beforeAll(async () => {
  authority = await createAuthority('One');
  other = await createAuthority('Two');
});
beforeEach(() => {
  folder = mkdtempSync(join(parent, 'case-'));
});
afterAll(() => rmSync(parent, { recursive: true }));

describe('a folder of authorities', () => {
  it('returns each certificate once, from files with one or many', async () => {
    put('a.pem', authority.cert);
    put('bundle.crt', `a comment\n${authority.cert}\n${other.cert}`);
    const { certificates, files, problem } = await readCaDirectory(folder);
    expect(certificates.map(({ subject }) => subject)).toEqual(['CN=One', 'CN=Two']);
    expect(files.flatMap(({ problems }) => problems)).toEqual([]);
    expect(problem).toBeUndefined();
  });

  it('follows the links that Kubernetes creates, and skips their hidden targets', async () => {
    mkdirSync(join(folder, '..2026_11_21'));
    writeFileSync(join(folder, '..2026_11_21/ca.pem'), authority.cert);
    symlinkSync('..2026_11_21', join(folder, '..data'));
    symlinkSync('..data/ca.pem', join(folder, 'ca.pem'));
    const { certificates, files } = await readCaDirectory(folder);
    expect(certificates).toHaveLength(1);
    expect(files).toMatchObject([{ name: 'ca.pem', problems: [] }]);
  });

  it.each([
    ['nothing', '', 'is empty'],
    ['a text', 'hello', 'contains no PEM certificate'],
    ['DER', Buffer.from([0x30, 0x82, 1, 2]), 'is DER, not PEM'],
    [
      'nonsense between the lines',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      'cannot be parsed',
    ],
    ['the beginning of one', '-----BEGIN CERTIFICATE-----\nAAAA', 'is cut off'],
  ])('reports a file with %s, and accepts the others', async (_name, content, problem) => {
    put('bad.pem', content);
    put('good.pem', authority.cert);
    const { certificates, files } = await readCaDirectory(folder);
    expect(certificates).toHaveLength(1);
    expect(files[0]?.problems.map(({ text }) => text)).toEqual([expect.stringContaining(problem)]);
  });

  it('does not accept the certificate of a server', async () => {
    const { cert, key } = await authority.issue();
    put('server.pem', cert + key);
    const { certificates, files } = await readCaDirectory(folder);
    expect(certificates).toEqual([]);
    expect(files[0]?.problems).toEqual([
      { kind: 'private-key', text: expect.stringContaining('private key') },
      { kind: 'no-authority', text: expect.stringContaining('not a CA certificate') },
    ]);
  });

  it('accepts certificates outside their validity, with a report', async () => {
    put('one.pem', authority.cert);
    const at = async (days: number) =>
      (await readCaDirectory(folder, new Date(Date.now() + days * 86_400_000))).files[0];
    expect(await at(400)).toMatchObject({
      certificates: [{ subject: 'CN=One' }],
      problems: [{ kind: 'expired', text: expect.stringMatching(/CN=One expired on \d{4}-\d\d-\d\d/) }],
    });
    expect(await at(-9)).toMatchObject({
      problems: [{ kind: 'file', text: expect.stringContaining('is valid only from') }],
    });
  });

  it('reports nested folders, and a missing folder', async () => {
    mkdirSync(join(folder, 'more'));
    expect((await readCaDirectory(folder)).files).toMatchObject([
      { problems: [{ kind: 'file', text: expect.stringContaining('is a folder') }] },
    ]);
    expect((await readCaDirectory(join(folder, 'gone'))).problem).toContain('ENOENT');
  });
});
