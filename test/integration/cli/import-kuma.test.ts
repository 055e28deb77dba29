import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { yamlText } from '../../../src/cli/project/files.ts';
import { problemsOf } from '../../../src/cli/project/validate.ts';
import { kumaBackup, readKumaDatabase } from '../../../src/extras/importers/kuma/dump.ts';
import { importKuma } from '../../../src/extras/importers/kuma/kuma.ts';
import { kinds, lostTypes, notificationConfig, type Row, small } from '../../helpers/cli/kuma-source.ts';
import { silentFields } from '../../helpers/cli/sources.ts';

const options = { location: 'main' };

it('moves a database of 300 monitors of all types, and every file is valid', () => {
  const folder = mkdtempSync(join(tmpdir(), 'picket-kuma-'));
  try {
    const path = join(folder, 'kuma.db');
    const monitors = Array.from({ length: 300 }, (_, index) => {
      const row = small['monitor']?.[index % kinds.length];
      return { ...row, id: index + 1, name: `${row?.['name']} ${index}` } as Row;
    });
    writeDatabase(path, {
      ...small,
      monitor: monitors,
      user: [{ id: 1, username: 'u', password: 'hidden' }],
      heartbeat: [{ id: 1, msg: 'x' }],
    });
    const { definitions, values, losses } = importKuma(readKumaDatabase(path), options);
    expect(problemsOf({ logicalId: 'p', name: 'p', definitions }, values)).toEqual([]);
    const checks = definitions.filter(({ folder }) => folder === 'checks');
    const groups = monitors.filter(({ type }) => type === 'group').length;
    const lost = losses.filter(({ reason }) => reason.includes('no check for monitors of type'));
    expect(checks.length + groups + lost.length).toBe(300);
    expect(lost.length).toBe(
      monitors.filter((_, index) => index % kinds.length >= kinds.length - lostTypes).length,
    );
    expect(losses.map(({ field }) => field)).toEqual(expect.arrayContaining(['user', 'heartbeat']));
    expect(yamlText(definitions.map(({ fields }) => fields))).not.toContain('hidden');
    const site = checks.find(({ logicalId }) => logicalId === 'site-1')?.fields;
    expect(site).toMatchObject({
      ...{
        checkType: 'API',
        group: 'shop-0',
        frequency: 1,
        alertChannels: ['chat'],
        tags: ['team:shop', 'maintenance-1'],
      },
      retryStrategy: { maxRetries: 3, baseBackoffSeconds: 20 },
      triggerIncident: { service: 'site-1', name: 'site 1 is down' },
      request: {
        method: 'POST',
        bodyType: 'JSON',
        skipSSL: true,
        followRedirects: false,
        basicAuth: { username: 'u' },
      },
    });
    expect(definitions.find(({ folder }) => folder === 'status-pages')?.fields).toMatchObject({
      ...{ url: 'shop-status', cards: [{ name: 'Front', services: ['mail-5', 'site-1'] }] },
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('reads a backup of version 1 like its database', () => {
  const backup = {
    version: '1.23.0',
    notificationList: [
      {
        id: 1,
        name: 'Chat',
        active: true,
        userId: 1,
        isDefault: false,
        config: notificationConfig({ type: 'discord', discordWebhookUrl: 'https://discord.com/hidden' }),
      },
    ],
    monitorList: [
      {
        ...{
          id: 1,
          name: 'site',
          url: 'https://example.com/',
          method: 'GET',
          type: 'keyword',
          keyword: 'ok',
          interval: 60,
        },
        ...{
          maxretries: 1,
          retryInterval: 30,
          upsideDown: false,
          ignoreTls: true,
          maxredirects: 10,
          active: true,
        },
        ...{ accepted_statuscodes: ['200-299'], notificationIDList: { 1: true }, expiryNotification: false },
        tags: [{ id: 1, monitor_id: 1, tag_id: 1, name: 'prod', value: '', color: '#fff' }],
      },
    ],
    proxyList: [],
  };
  const { definitions } = importKuma(kumaBackup(backup), options);
  expect(definitions.find(({ folder }) => folder === 'checks')?.fields).toMatchObject({
    ...{
      name: 'site',
      tags: ['prod'],
      alertChannels: ['chat'],
      retryStrategy: { maxRetries: 1, baseBackoffSeconds: 30 },
    },
    request: { skipSSL: true },
  });
});

it('loses nothing without a word: every field is carried over or on the list', () => {
  // Identifiers, measurements, and layout of an Uptime Kuma page.
  const nothing =
    /\.(id|user_id|created_date|weight|dns_last_result|show_powered_by|search_engine_index)$|^group\.\d+\.(public|active)$/;
  const silent = silentFields(small, (source) =>
    importKuma({ tables: source as typeof small, losses: [] }, options),
  );
  expect(silent.filter((field) => !nothing.test(field))).toEqual([]);
});

function writeDatabase(path: string, tables: Readonly<Record<string, readonly Row[]>>): void {
  const database = new DatabaseSync(path);
  for (const [table, rows] of Object.entries(tables)) {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const quoted = columns.map((column) => `"${column}"`).join(', ');
    database.exec(`create table "${table}" (${quoted})`);
    const insert = database.prepare(
      `insert into "${table}" (${quoted}) values (${columns.map(() => '?').join(', ')})`,
    );
    for (const row of rows) insert.run(...columns.map((column) => row[column] ?? null));
  }
  database.close();
}
