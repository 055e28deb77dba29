import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { ApiClient } from '../../../src/cli/api/client.ts';
import { deployCommand, planCommand } from '../../../src/cli/deploy/deploy-command.ts';
import { exportCommand } from '../../../src/cli/deploy/export-command.ts';
import type { MissingValue } from '../../../src/cli/project/export.ts';
import { readProject, writeProject } from '../../../src/cli/project/files.ts';
import { problemsOf } from '../../../src/cli/project/validate.ts';
import { generatedAccount } from '../../helpers/cli/generated-account.ts';
import { makeAccount } from '../../helpers/cli/make-account.ts';
import { isNight } from '../../helpers/night.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';

// Two services, because page addresses are unique within one.
let source: ServiceHarness;
let target: ServiceHarness;
let urls: readonly string[];
let folder: string;
beforeAll(async () => {
  [source, target] = [await openHarness(), await openHarness()];
  target.startDeployments();
  urls = await Promise.all([source, target].map((one) => one.app.listen({ port: 0, host: '127.0.0.1' })));
  folder = await mkdtemp(join(tmpdir(), 'picket-deploy-'));
});
afterAll(async () => {
  await source.close();
  await target.close();
  await rm(folder, { recursive: true });
});

const numRuns = isNight ? 500 : 4;
const certificate = await (await createAuthority()).issue();
let count = 0;

async function emptyAccount(): Promise<ApiClient> {
  const { key } = await target.addAccount();
  return new ApiClient({ PICKET_URL: urls[1] ?? '', PICKET_API_KEY: key });
}

async function textsIn(path: string): Promise<Record<string, string>> {
  const files = (await readdir(path, { recursive: true, withFileTypes: true })).filter((one) => one.isFile());
  const paths = files.map((one) => join(one.parentPath, one.name)).sort();
  const texts = await Promise.all(paths.map((file) => readFile(file, 'utf8')));
  return Object.fromEntries(paths.map((file, index) => [file.slice(path.length + 1), texts[index] ?? '']));
}

/** A suitable value for a missing one. */
function valueFor({ field, file }: MissingValue): string {
  if (file.startsWith('client-certificates/')) return certificate.key;
  if (field === 'config.botToken') return '123456:ABC';
  return /url$/i.test(field) ? 'https://user:word@example.com/x' : 'given-value-1';
}

const yes = { yes: true } as const;

it(
  `deploys the files of ${numRuns} accounts into empty ones, whose files are the same`,
  async () => {
    await fc.assert(
      fc.asyncProperty(generatedAccount(certificate), async (account) => {
        count += 1;
        const [from, to] = [join(folder, `${count}-from`), join(folder, `${count}-to`)];
        const { key } = await source.addAccount();
        await makeAccount(source, key, account);
        const api = new ApiClient({ PICKET_URL: urls[0] ?? '', PICKET_API_KEY: key });
        const { json } = await exportCommand(api, from, { project: 'p' });
        const { valuesToGive } = json as { readonly valuesToGive: readonly MissingValue[] };
        const written = await textsIn(from);
        expect(JSON.stringify(written)).not.toMatch(/hooks\.slack|123456:ABC|u:p@|PRIVATE KEY/);
        expect(problemsOf(await readProject(from))).toEqual([]);

        const empty = await emptyAccount();
        const environment = Object.fromEntries(valuesToGive.map((one) => [one.variable, valueFor(one)]));
        if (valuesToGive.length > 0) {
          await expect(deployCommand(empty, from, yes, {})).rejects.toThrow(valuesToGive[0]?.variable);
        }
        await deployCommand(empty, from, yes, environment);
        await exportCommand(empty, to, { project: 'p' });
        const again = await textsIn(to);
        const named = (text = '') => text.replace(/^name: .*$/m, '');
        expect({ ...again, 'picket.yaml': named(again['picket.yaml']) }).toEqual({
          ...written,
          'picket.yaml': named(written['picket.yaml']),
        });
        const plan = await planCommand(empty, from, {}, environment);
        expect(plan.lines(80)).toEqual(['No changes: the account matches the files.']);
        expect(plan.exitCode).toBe(0);
      }),
      { numRuns },
    );
  },
  numRuns * 30_000,
);

const shop = {
  folder: 'checks',
  logicalId: 'shop',
  fields: {
    checkType: 'URL',
    name: 'Shop',
    group: 'web',
    alertChannels: ['ops'],
    request: { url: 'https://example.com/' },
  },
} as const;
const web = { folder: 'groups', logicalId: 'web', fields: { name: 'Web' } } as const;
const ops = {
  folder: 'alert-channels',
  logicalId: 'ops',
  fields: { type: 'EMAIL', config: { address: 'ops@example.com' } },
} as const;

async function shopFolder(): Promise<string> {
  count += 1;
  const path = join(folder, `shop-${count}`);
  await writeProject(path, { logicalId: 'shop', name: 'Shop', definitions: [shop, web, ops] });
  return path;
}

it('plans before it deploys, shows drift, and confirms before it deletes', async () => {
  const api = await emptyAccount();
  const path = await shopFolder();
  const first = await planCommand(api, path, {}, {});
  expect(first.exitCode).toBe(3);
  expect(first.lines(80)).toEqual([
    '+ alert-channels/ops.yaml  create',
    '+ checks/shop.yaml  create',
    '+ groups/web.yaml  create',
    '',
    '3 to create.',
  ]);
  expect((await deployCommand(api, path, {}, {})).lines(80).at(-1)).toMatch(/^Deployed: /);

  // A user changes the check by hand, and another user changes its file.
  const { json } = await planCommand(api, path, {}, {});
  expect(json).toEqual({ project: 'shop', changes: [], warnings: [] });
  await writeFile(
    join(path, 'checks/shop.yaml'),
    'checkType: URL\nname: Shop\ngroup: web\nfrequency: 5\ntags: [eu]\nrequest:\n  url: https://example.com/\n',
  );
  const drifted = await planCommand(api, path, {}, {});
  expect(drifted.lines(80)).toEqual([
    '~ checks/shop.yaml  update',
    '    alertChannels: "ops" → (nothing)',
    '    tags: (nothing) → ["eu"]',
    '    frequency: (nothing) → 5',
    '',
    '1 to update.',
  ]);
  expect((await deployCommand(api, path, {}, {})).exitCode).toBeUndefined();

  await rm(join(path, 'alert-channels/ops.yaml'));
  const asked: string[] = [];
  const refuse = async (question: string) => {
    asked.push(question);
    return false;
  };
  vi.spyOn(console, 'error').mockReturnValue();
  await expect(deployCommand(api, path, {}, {}, refuse)).rejects.toThrow('Nothing was deployed');
  expect(asked).toEqual(['1 thing is deleted with all results. Continue? [y/N] ']);
  const kept = await planCommand(api, path, { keep: true }, {});
  expect(kept.lines(80)[0]).toBe('o alert-channels/ops.yaml  keep, without the project');
  await deployCommand(api, path, { keep: true }, {}, refuse);
  expect((await planCommand(api, path, {}, {})).exitCode).toBe(0);
  vi.restoreAllMocks();
});

it('reports every error in the files, with file and field', async () => {
  const api = await emptyAccount();
  const path = await shopFolder();
  await writeFile(
    join(path, 'checks/bad.yaml'),
    'checkType: URL\nname: x\ngroup: wbe\nfrequncy: 5\nrequest: { url: ftp://x }\n',
  );
  await writeFile(join(path, 'checks/kind.yaml'), 'checkType: BROWSR\nname: x\n');
  await expect(planCommand(api, path, {}, {})).rejects.toThrow(
    /checks\/bad\.yaml: group: there is no file groups\/wbe\.yaml[\s\S]*frequncy: unknown field; did you mean "frequency"\?[\s\S]*request\.url: must start with[\s\S]*checks\/kind\.yaml: checkType: must be one of .*; did you mean "BROWSER"\?/,
  );
  await rm(join(path, 'picket.yaml'));
  await expect(planCommand(api, path, {}, {})).rejects.toThrow('picket.yaml: is missing');
  await expect(planCommand(api, join(path, 'nowhere'), {}, {})).rejects.toThrow('the folder does not exist');
});

it('reads values from .env of the folder, and keeps values that are not given', async () => {
  const api = await emptyAccount();
  const path = await shopFolder();
  await writeFile(join(path, 'alert-channels/chat.yaml'), 'type: DISCORD\nconfig: { url: !env CHAT_URL }\n');
  await expect(deployCommand(api, path, {}, {})).rejects.toThrow('CHAT_URL');
  await writeFile(join(path, '.env'), "CHAT_URL='https://discord.com/hidden'\n");
  await deployCommand(api, path, {}, {});
  await rm(join(path, '.env'));
  expect((await planCommand(api, path, {}, {})).exitCode).toBe(0);
});

it('adopts the resources of an account: its files are the ones for its deployment', async () => {
  const { key } = await target.addAccount();
  const [account] = fc.sample(generatedAccount(certificate), { numRuns: 1, seed: 7 });
  if (!account) throw new Error('nothing was generated');
  await makeAccount(target, key, account);
  const api = new ApiClient({ PICKET_URL: urls[1] ?? '', PICKET_API_KEY: key });
  const path = join(folder, 'adopted');
  const { json } = await exportCommand(api, path, { project: 'adopted', adopt: true });
  const { valuesToGive, files } = json as { valuesToGive: MissingValue[]; files: string[] };
  expect(files).toHaveLength(account.calls.length);
  const environment = Object.fromEntries(valuesToGive.map((one) => [one.variable, valueFor(one)]));
  const { json: plan } = await planCommand(api, path, {}, environment);
  // Values that were provided again count as changes; everything else is unchanged.
  const { changes } = plan as { changes: { action: string; file: string }[] };
  expect(
    changes.filter(
      ({ action, file }) => action !== 'UPDATE' || !valuesToGive.some((one) => one.file === file),
    ),
  ).toEqual([]);
  await expect(
    exportCommand(api, join(folder, 'again'), { project: 'adopted', adopt: true }),
  ).rejects.toThrow('The project adopted already exists');
});
