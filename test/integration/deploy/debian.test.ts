import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { AgentConfig, readAgentSettings } from '../../../src/agent/config.ts';
import { checkTypes } from '../../../src/checks/index.ts';

const folder = join(import.meta.dirname, '../../../deploy/debian');
const read = (name: string) => readFileSync(join(folder, name), 'utf8');
const settingsIn = (text: string) => parseEnv(text) as Record<string, string>;

describe('the settings of the package', () => {
  const own = { ...settingsIn(read('agent-defaults.env')), ...settingsIn(read('agent.env')) };
  const offered = settingsIn(read('agent.env').replaceAll(/^#(?=[A-Z])/gm, ''));

  it('need an address and a key, and nothing else', () => {
    const filled = { ...own, SERVICE_URL: 'https://picket.example.com', API_KEY: 'pl_0123456789' };
    const settings = readAgentSettings(filled);
    expect(settings.spoolDir).toBe('/var/lib/picket');
    const probes = checkTypes.filter(({ load, lane }) => load !== undefined && lane === 'probe');
    expect([...settings.checkTypes].sort()).toEqual(probes.map(({ name }) => name).sort());
  });

  it('name only variables that exist', () => {
    const known = [...Object.keys(AgentConfig.shape), 'HOME', 'NODE_ENV', 'MALLOC_ARENA_MAX'];
    expect(Object.keys({ ...own, ...offered }).filter((name) => !known.includes(name))).toEqual([]);
  });
});

describe('the unit', () => {
  const lines = read('picket-agent.service').split('\n');
  const valuesOf = (name: string) =>
    lines.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1));

  it('reads settings of the operator after those of the package', () => {
    const files = ['/usr/lib/picket/agent-defaults.env', '/etc/picket/agent.env'];
    expect(valuesOf('EnvironmentFile')).toEqual(files);
  });

  it('gives a drain 30 seconds more than its grace period', () => {
    const { shutdownGraceMs } = readAgentSettings({
      SERVICE_URL: 'http://localhost',
      API_KEY: 'pl_0123456789',
    });
    expect(valuesOf('TimeoutStopSec').map(Number)).toEqual([shutdownGraceMs / 1000 + 30]);
    expect(valuesOf('KillMode')).toEqual(['mixed']);
  });

  it('has no capability, sees no file of others, and writes nowhere but in its own folders', () => {
    expect(valuesOf('CapabilityBoundingSet')).toEqual(['']);
    expect(valuesOf('ProtectSystem')).toEqual(['strict']);
    for (const name of [
      'NoNewPrivileges',
      'PrivateTmp',
      'PrivateDevices',
      'ProtectHome',
      'RestrictNamespaces',
    ])
      expect(valuesOf(name), name).toEqual(['yes']);
    expect([valuesOf('StateDirectory'), valuesOf('CacheDirectory')]).toEqual([['picket'], ['picket']]);
    expect(valuesOf('ReadWritePaths')).toEqual([]);
  });
});
