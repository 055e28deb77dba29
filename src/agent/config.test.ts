import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeEnvironment } from '@picket/lib/env.ts';
import { newPrivateKey, publicKeyLine, readPublicKey } from '@picket/lib/signing/signing-keys.ts';
import { describe, expect, it } from 'vitest';
import { AgentConfig, readAgentSettings } from './config.ts';

const needed = { API_KEY: 'pl_abc', SERVICE_URL: 'https://picket.example.com' };

describe('readAgentSettings', () => {
  it('needs a key and an address, and has defaults for the rest', () => {
    expect(readAgentSettings(needed)).toEqual({
      apiKey: 'pl_abc',
      serviceUrl: 'https://picket.example.com',
      healthPort: 8081,
      isErrorReportingOn: true,
      checkTypes: expect.arrayContaining(['URL', 'ICMP', 'BROWSER']),
      laneSizes: { probe: 100, script: 1 },
      logLevel: 'info',
      agentId: expect.stringMatching(/^[\w.-]+-[0-9a-f]{8}$/),
      spoolDir: tmpdir(),
      spoolMaxBytes: 1024 ** 3,
      spoolMaxAgeMs: 86_400_000,
      isSpoolRequired: false,
      canaries: [],
      trustedKeys: [],
      revokedKeys: [],
      caCertsDir: undefined,
      shutdownGraceMs: 300_000,
      proxy: { https: undefined, http: undefined, all: undefined, except: undefined },
      egress: { allow: '', deny: '' },
      serviceSecrets: {},
      references: expect.objectContaining({ references: [], refreshMs: 300_000, maxStaleMs: 3_600_000 }),
      scripts: {
        directory: `/var/tmp/picket-scripts-${process.getuid?.()}`,
        runtimesDirectory: expect.stringMatching(/runtimes$/),
        chromiumPath: undefined,
        isUnisolatedAllowed: false,
        lifecycleCount: 4,
        suites: { cacheMaxBytes: 5_000_000_000 },
      },
      secretFiles: [],
      kerberos: {
        keytab: undefined,
        principal: undefined,
        ticketCache: undefined,
        configFile: undefined,
        servers: [],
        browserServers: [],
      },
    });
  });

  it('reads the Kerberos identity, and hides its files from scripts', () => {
    const named = {
      KERBEROS_KEYTAB: '/etc/monitor.keytab',
      KERBEROS_TICKET_CACHE: 'FILE:/run/tickets',
      KERBEROS_SERVERS: 'a.test, *.Intra.test ,',
    };
    const { kerberos, secretFiles } = readAgentSettings({ ...needed, ...named });
    expect(kerberos).toMatchObject({ keytab: '/etc/monitor.keytab', servers: ['a.test', '*.intra.test'] });
    expect(secretFiles).toEqual(['/etc/monitor.keytab', '/run/tickets']);
    for (const wrong of [
      { KERBEROS_KEYTAB: 'monitor.keytab' },
      { KERBEROS_TICKET_CACHE: 'tickets' },
      { KERBEROS_SERVERS: 'http://a.test' },
      { KERBEROS_BROWSER_SERVERS: '*.intra.test', KERBEROS_KEYTAB: '/etc/monitor.keytab' },
      { KERBEROS_BROWSER_SERVERS: 'a.test' },
      { KERBEROS_BROWSER_SERVERS: 'a.test', KERBEROS_TICKET_CACHE: 'KEYRING:user' },
    ]) {
      expect(() => readAgentSettings({ ...needed, ...wrong }), JSON.stringify(wrong)).toThrow(
        Object.keys(wrong)[0],
      );
    }
  });

  it('offers the check types that are named', () => {
    expect(readAgentSettings({ ...needed, CHECK_TYPES: ' url,Dns ,' }).checkTypes).toEqual(['URL', 'DNS']);
    for (const wrong of ['URL,HTTP', ',', 'HEARTBEAT']) {
      expect(() => readAgentSettings({ ...needed, CHECK_TYPES: wrong }), wrong).toThrow('CHECK_TYPES');
    }
  });

  it('reads canaries, and reports invalid ones', () => {
    expect(
      readAgentSettings({ ...needed, CANARY_TARGETS: 'router.lan:443, [fd00::1]:53,10.0.0.1:1' }).canaries,
    ).toEqual([
      { host: 'router.lan', port: 443 },
      { host: 'fd00::1', port: 53 },
      { host: '10.0.0.1', port: 1 },
    ]);
    for (const bad of ['router.lan', 'router.lan:0', 'a:70000', 'http://a:1', ':1']) {
      expect(() => readAgentSettings({ ...needed, CANARY_TARGETS: `ok:1,${bad}` })).toThrow(
        `"${bad}" must be a host and a port`,
      );
    }
  });

  it('gives every start without AGENT_ID a new id', () => {
    expect(readAgentSettings(needed).agentId).not.toBe(readAgentSettings(needed).agentId);
    expect(readAgentSettings({ ...needed, AGENT_ID: 'a.b-c' }).agentId).toBe('a.b-c');
  });

  it('lists every problem at once, without the values of secrets', () => {
    const bad = {
      API_KEY: 'wrong-key',
      SERVICE_URL: 'https://user:opensesame@example.com/?a=b',
      PROBE_CONCURRENCY: '0',
      SHUTDOWN_GRACE_SECONDS: '-1',
      HTTPS_PROXY: 'ftp://proxy',
      EGRESS_DENY: '10.0.0.0/8,10.0.0.0/33',
      AGENT_ID: 'with space',
      SERVICE_SECRET_LONG: 'x'.repeat(128 * 1024 + 1),
    };
    let message = '';
    try {
      readAgentSettings(bad);
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: 'CONFIG_INVALID' });
      message = String(thrown);
    }
    for (const name of Object.keys(bad)) expect(message).toContain(`- ${name}: `);
    expect(message).toContain('8 problems');
    expect(message).not.toMatch(/wrong-key|opensesame|xxxxx/);
    expect(() => readAgentSettings({})).toThrow(/API_KEY: is required.*\n.*SERVICE_URL: is required/);
  });

  it('accepts log levels as other tools write them', () => {
    const level = (LOG_LEVEL: string) => readAgentSettings({ ...needed, LOG_LEVEL }).logLevel;
    expect(['DEBUG', 'LOG', 'INFO', 'WARN', 'Error', 'silent'].map(level)).toEqual([
      'debug',
      'info',
      'info',
      'warn',
      'error',
      'silent',
    ]);
  });

  it('keeps a path of the service and drops slashes at its end', () => {
    const settings = readAgentSettings({ ...needed, SERVICE_URL: 'http://example.com/picket//' });
    expect(settings.serviceUrl).toBe('http://example.com/picket');
  });

  it('reads proxies in lower case, which has precedence over upper case', () => {
    const settings = readAgentSettings({
      ...needed,
      https_proxy: 'http://a',
      HTTPS_PROXY: 'http://b',
      no_proxy: 'c',
    });
    expect(settings.proxy).toEqual({ https: 'http://b', http: undefined, except: 'c' });
  });

  it('reads the key and SERVICE_SECRET_* from files too', () => {
    const folder = mkdtempSync(join(tmpdir(), 'picket-config-'));
    const keyFile = join(folder, 'key');
    const secretFile = join(folder, 'secret');
    writeFileSync(keyFile, 'pl_from_file\n');
    writeFileSync(secretFile, 'hunter22\n');
    const settings = readAgentSettings({
      SERVICE_URL: needed.SERVICE_URL,
      API_KEY_FILE: keyFile,
      SERVICE_SECRET_A_FILE: secretFile,
      SERVICE_SECRET_B: 'direct',
      SERVICE_SECRET_EMPTY: '',
    });
    rmSync(folder, { recursive: true });
    expect(settings.apiKey).toBe('pl_from_file');
    expect(settings.serviceSecrets).toEqual({ SERVICE_SECRET_A: 'hunter22', SERVICE_SECRET_B: 'direct' });
  });

  it('reads trusted keys, and names those that it cannot read', () => {
    const line = publicKeyLine(newPrivateKey());
    const keys = readAgentSettings({ ...needed, TRUSTED_KEYS: `${line}, ${line}:2027-12-31\n` }).trustedKeys;
    expect(keys.map(({ notAfter }) => notAfter)).toEqual([null, Date.parse('2028-01-01T00:00:00Z')]);
    for (const wrong of [`${line},ssh-ed25519 AAAA`, `${line}:2027-13-40`, line.slice(0, -1), ',']) {
      expect(() => readAgentSettings({ ...needed, TRUSTED_KEYS: wrong }), wrong).toThrow('TRUSTED_KEYS: ');
    }
  });

  it('reads revoked keys, and refuses them where they would have no effect', () => {
    const [line, other] = [publicKeyLine(newPrivateKey()), publicKeyLine(newPrivateKey())];
    const trusted = { ...needed, TRUSTED_KEYS: line };
    const id = readPublicKey(other)?.id ?? '';
    const read = readAgentSettings({ ...trusted, REVOKED_KEYS: `${other}, 5F3A0C1E9B7D2468` }).revokedKeys;
    expect(read).toEqual([id, '5f3a0c1e9b7d2468']);
    expect(() => readAgentSettings({ ...trusted, REVOKED_KEYS: '5f3a' })).toThrow(
      'REVOKED_KEYS: "5f3a" is neither',
    );
    expect(() => readAgentSettings({ ...needed, REVOKED_KEYS: id })).toThrow(
      'REVOKED_KEYS: needs TRUSTED_KEYS',
    );
  });

  it('names each invalid egress rule', () => {
    const settings = { ...needed, EGRESS_ALLOW: '10.0.0.0/8, *.example.com', EGRESS_DENY: '' };
    expect(readAgentSettings(settings).egress).toEqual({ allow: '10.0.0.0/8, *.example.com', deny: '' });
    expect(() => readAgentSettings({ ...needed, EGRESS_ALLOW: 'a:1,10.0.0.0/8,10.0.0.0/33' })).toThrow(
      /2 problems.*\n.*EGRESS_ALLOW: "a:1" is.*\n.*EGRESS_ALLOW: "10\.0\.0\.0\/33" is/,
    );
  });

  it('documents every variable', () => {
    for (const { name, description } of describeEnvironment(AgentConfig)) {
      expect(description, name).not.toBe('');
    }
    const docs = new Map(describeEnvironment(AgentConfig).map((variable) => [variable.name, variable]));
    expect(docs.get('API_KEY')).toMatchObject({ isSecret: true, defaultText: 'required' });
    expect(docs.get('AGENT_HEALTH_PORT')).toMatchObject({ isSecret: false, defaultText: '8081' });
    expect(docs.get('AGENT_ID')?.defaultText).toContain('random');
  });
});
