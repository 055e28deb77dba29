import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readExaminedSettings } from '../../../src/agent/doctor/environment.ts';
import type { ExaminedAgent } from '../../../src/agent/doctor/examination.ts';
import { kerberos } from '../../../src/agent/doctor/probing.ts';
import { runApi } from '../../../src/checks/api/run.ts';
import { ApiSpec } from '../../../src/checks/api/spec.ts';
import type { KerberosSettings } from '../../../src/checks/kerberos/settings.ts';
import { program, programEnvironment } from '../../helpers/program.ts';
import { runContext } from '../../helpers/run-context.ts';
import { type Apache, startApache, whyNoApache } from '../../helpers/targets/apache.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import {
  type KerberosRealm,
  startKerberosRealm,
  whyNoKerberos,
} from '../../helpers/targets/kerberos-realm.ts';

const skipReason =
  whyNoKerberos() ?? whyNoApache(['auth_gssapi'], 'apache2, libapache2-mod-auth-gssapi, gss-ntlmssp');

/** Apache with pages for those whom mod_auth_gssapi lets in by these mechanisms. */
async function startProtected(options: {
  readonly mechanism: string;
  readonly env: (folder: string) => Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly lines?: string;
}): Promise<Apache> {
  const { cert, key } = await (await createAuthority()).issue();
  return await startApache({
    modules: ['auth_gssapi', 'ssl'],
    files: { ...options.files, cert, key },
    env: options.env,
    directives: (folder) => `
      SSLEngine on
      SSLCertificateFile ${folder}/cert
      SSLCertificateKeyFile ${folder}/key
      <Directory ${folder}>
        AuthType GSSAPI
        AuthName intranet
        GssapiAllowedMech ${options.mechanism}
        GssapiConnectionBound On
        ${options.lines ?? ''}
        Require valid-user
      </Directory>`,
  });
}

async function run(port: number, auth: Record<string, unknown>, kerberos?: KerberosSettings) {
  const request = { url: `https://localhost:${port}/index.html`, auth, skipSSL: true };
  return await runApi(ApiSpec.parse({ request }), runContext({ kerberos, timeoutMs: 20_000 }));
}

describe.skipIf(skipReason)(`a Negotiate login at Apache, with a KDC of MIT ${skipReason ?? ''}`, () => {
  let realm: KerberosRealm;
  let apache: Apache;
  let keytab: string;
  let identity: KerberosSettings;
  beforeAll(async () => {
    realm = await startKerberosRealm();
    keytab = realm.addPrincipal('monitor');
    const serverKeytab = realm.addPrincipal('HTTP/localhost');
    apache = await startProtected({
      mechanism: 'krb5',
      env: () => ({ KRB5_CONFIG: realm.configFile }),
      lines: `GssapiCredStore keytab:${serverKeytab}`,
    });
    identity = {
      ...{ keytab: undefined, principal: undefined, ticketCache: undefined },
      ...{ configFile: realm.configFile, servers: ['local*'], browserServers: [] },
    };
  });
  afterAll(async () => {
    await apache?.[Symbol.asyncDispose]();
    await realm?.[Symbol.asyncDispose]();
  });
  const negotiate = { type: 'NEGOTIATE' };

  it.each<readonly [string, () => Partial<KerberosSettings>]>([
    ['a keytab', () => ({ keytab })],
    ['a keytab and its principal', () => ({ keytab, principal: 'monitor@PICKET.TEST' })],
    ['a ticket cache', () => ({ ticketCache: realm.ticketFor('monitor', keytab) })],
  ])('succeeds by %s', async (_, own) => {
    const { failure, detail } = await run(apache.port, negotiate, { ...identity, ...own() });
    expect(failure).toBeUndefined();
    expect(detail.response).toMatchObject({
      status: 200,
      httpVersion: '1.1',
      login: { scheme: 'Negotiate', state: 'accepted', legs: [{ status: 401 }] },
    });
    expect(JSON.stringify(detail)).not.toContain('YII');
  });

  it('is what picket run does with the settings of an agent', async () => {
    const file = join(apache.folder, 'check.json');
    const auth = { type: 'NEGOTIATE' };
    const request = { url: `https://localhost:${apache.port}/index.html`, auth, skipSSL: true };
    writeFileSync(file, JSON.stringify({ checkType: 'URL', name: 'Intranet', request }));
    const env = {
      ...programEnvironment,
      ...{ KERBEROS_KEYTAB: keytab, KERBEROS_CONFIG: realm.configFile, KERBEROS_SERVERS: 'localhost' },
    };
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'run', file], { env });
    expect(stdout).toContain('PASSED');
    expect(stdout).toContain('Negotiate: accepted');
  });

  it('is foretold by the doctor', async () => {
    const examine = async (own: Partial<KerberosSettings>) => {
      const { settings } = readExaminedSettings({ API_KEY: 'pl_0', SERVICE_URL: 'http://a.test' });
      const signal = new AbortController().signal;
      const patient = { settings: { ...settings, kerberos: { ...identity, ...own } }, signal };
      return [await kerberos.examine(patient as unknown as ExaminedAgent)].flat();
    };
    expect(await examine({ keytab })).toMatchObject([
      {
        status: 'ok',
        detail: expect.stringMatching(/^monitor@PICKET.TEST has a ticket .* (5\d\d|600) minutes/),
      },
    ]);
    const short = { ticketCache: realm.ticketFor('monitor', keytab, '5m'), servers: [] };
    expect(await examine(short)).toMatchObject([
      { status: 'warning', detail: expect.stringContaining('minutes') },
      { status: 'warning', about: 'KERBEROS_SERVERS' },
    ]);
    expect(await examine({ keytab: '/nowhere' })).toMatchObject([
      { status: 'problem', fix: expect.stringContaining('Mount the keytab') },
    ]);
    expect(await examine({})).toMatchObject([{ status: 'skipped' }]);
  });

  it.each<readonly [string, () => Partial<KerberosSettings>, string]>([
    ['no identity', () => ({}), 'the agent has no Kerberos identity'],
    ['a server that the operator does not name', () => ({ keytab, servers: ['a.test'] }), 'KERBEROS_SERVERS'],
    ['a keytab that is not there', () => ({ keytab: '/nowhere' }), 'cannot be read: ENOENT'],
    ['no tickets in the cache', () => ({ ticketCache: '/nowhere' }), 'No credentials cache found'],
    ['another principal', () => ({ keytab, principal: 'nobody' }), 'no Kerberos ticket'],
  ])('is the fault of the location with %s', async (_, own, words) => {
    const { failure } = await run(apache.port, negotiate, { ...identity, ...own() });
    expect(failure).toMatchObject({ code: 'LOGIN_UNAVAILABLE', owner: 'location' });
    expect(failure?.message).toContain(words);
  });
});

describe.skipIf(skipReason)(`an NTLM login at Apache, with gss-ntlmssp ${skipReason ?? ''}`, () => {
  it('is taken with the right password only, by another implementation', async () => {
    await using apache = await startProtected({
      mechanism: 'ntlmssp',
      files: { users: 'INTRA:grace:Pass wörd' },
      env: (folder) => ({ NTLM_USER_FILE: `${folder}/users` }),
    });
    const grace = { type: 'NTLM', username: 'INTRA\\grace', password: 'Pass wörd' };
    const taken = await run(apache.port, grace);
    expect(taken.failure).toBeUndefined();
    expect(taken.detail.response.login).toMatchObject({
      scheme: 'NTLM',
      state: 'accepted',
      legs: [{ status: 401 }, { status: 401 }],
    });
    const refused = await run(apache.port, { ...grace, password: 'other' });
    expect(refused.failure).toMatchObject({ details: { loginState: 'refused' } });
  });
});
