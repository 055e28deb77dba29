import { describe, expect, it } from 'vitest';
import { readAgentSettings } from '../config.ts';

const base = { API_KEY: 'pl_0123456789', SERVICE_URL: 'http://127.0.0.1:1' };
const referencesOf = (environment: Record<string, string>) =>
  readAgentSettings({ ...base, ...environment }).references.references;
const problemsOf = (environment: Record<string, string>) => {
  try {
    referencesOf(environment);
    return '';
  } catch (thrown) {
    return String(thrown);
  }
};

describe('a secret by reference', () => {
  it.each([
    ['file:/run/secrets/db', { provider: 'file', place: '/run/secrets/db', field: undefined }],
    ['file:/run/app.json#db.password', { provider: 'file', place: '/run/app.json', field: 'db.password' }],
    ['file:/run/a%23b#c', { provider: 'file', place: '/run/a#b', field: 'c' }],
    ['exec:/bin/echo a  b', { provider: 'exec', place: '/bin/echo a  b', field: undefined }],
    ['exec:["/bin/echo","a b"]#x', { provider: 'exec', place: '["/bin/echo","a b"]', field: 'x' }],
  ])('%s', (text, parts) => {
    expect(referencesOf({ SECRET_FROM_DB: text })).toEqual([{ name: 'SERVICE_SECRET_DB', ...parts }]);
  });

  it.each([
    ['hunter22', 'must be a reference'],
    ['ftp:/x', 'must be a reference'],
    ['file:run/x', 'the path must be absolute'],
    ['file:/run/x#', 'must name a field'],
    ['exec:echo a', 'the path of the command must be absolute'],
    ['exec:["/bin/echo"', 'not JSON'],
    [`file:/${'x'.repeat(5000)}`, 'must not be longer'],
  ])('rejects %.20s', (text, problem) => {
    expect(problemsOf({ SECRET_FROM_DB: text })).toContain(`SECRET_FROM_DB: ${''}`);
    expect(problemsOf({ SECRET_FROM_DB: text })).toContain(problem);
  });

  it('leaves every SERVICE_SECRET_ value as it is, and refuses a name that is declared twice', () => {
    const settings = readAgentSettings({
      ...base,
      SERVICE_SECRET_A: 'file:/etc/passwd',
      SERVICE_SECRET_MAIL_FROM: 'vault:kv/data/app#x',
    });
    expect(settings.serviceSecrets).toEqual({
      SERVICE_SECRET_A: 'file:/etc/passwd',
      SERVICE_SECRET_MAIL_FROM: 'vault:kv/data/app#x',
    });
    expect(settings.references.references).toEqual([]);
    expect(problemsOf({ SERVICE_SECRET_A: 'x', SECRET_FROM_A: 'file:/x' })).toContain(
      'SECRET_FROM_A: SERVICE_SECRET_A is set as well',
    );
  });

  it('keeps keys of the agent from commands, and hides the folder of a file from scripts', () => {
    const settings = readAgentSettings({
      ...base,
      ...{ SERVICE_SECRET_A: 'hunter22', OP_TOKEN: 'for the command', SECRET_FROM_B: 'file:/run/secrets/db' },
      SECRET_FROM_C: 'file:/etc/db-password',
    });
    expect(settings.references.environment).toMatchObject({ OP_TOKEN: 'for the command' });
    expect(JSON.stringify(settings.references.environment)).not.toMatch(/pl_0123456789|hunter22/);
    expect(settings.secretFiles).toEqual(['/run/secrets/db', '/run/secrets', '/etc/db-password']);
  });
});
