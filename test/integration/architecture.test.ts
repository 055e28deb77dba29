import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, matchesGlob, relative } from 'node:path';
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';
import { describe, expect, it } from 'vitest';
import { matchedMessage } from '../../scripts/house/matched-messages.ts';
import { importsWithin, knots, roomsOf, upwardArrows } from '../../scripts/house/rooms.ts';
import { checkTypes } from '../../src/checks/index.ts';
import { features } from '../../src/server/features.ts';
import { ownProcess } from '../helpers/own-process.ts';

const root = join(import.meta.dirname, '../..');

async function sourceFiles(folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** Files of the service that may call JSON.parse, with the input they parse. */
const parsingFiles: Readonly<Record<string, string>> = {
  'src/platform/store/stored-json.ts': 'the reader of stored JSON',
  'src/platform/store/secrets/sealed-columns.ts':
    'a sealed value: one JSON string, which is opened or refused',
  'src/platform/store/engine/signals.ts': 'messages of other processes, through their schema',
  'src/platform/http/idempotency/sealing.ts': 'an answer, sealed with its two fields',
  'src/service/coverage/slot-segments.ts': 'a binary form of its own',
  'src/service/results/columns/column-coding.ts': 'a binary form of its own',
  'src/service/results/analytics/report-aggregates.ts': 'a list that the query makes',
  'src/service/backup/manifest.ts': 'a file, through its schema',
  'src/service/pages/public-copies.ts': 'a file, through its schema',
  'src/service/locations/agents/error-routes.ts': 'a request',
  'src/console/forms/values.ts': 'a request',
  'src/console/run/exchange.ts': 'a body, to print it',
  'src/console/artifacts/trace-viewer.ts': 'a manifest of an installed package',
  'src/console/public/dashboards/routes.ts': 'an answer that was just made',
  'src/extras/mcp/answers.ts': 'an answer that was just made',
  'src/service/metrics/metrics.ts': 'its own keys in memory',
  'src/service/pages/routes.ts': 'a copy of a request',
  'src/service/projects/kinds/status-pages.ts': 'a copy of a request',
};

/** Folders that read messages and logs of runs, and the files there that may match text, with what they match. */
const readingFolders = ['analyses', 'alerts', 'check-metrics', 'incidents', 'results'].map(
  (one) => `src/service/${one}`,
);
const matchingFiles: Readonly<Record<string, string>> = {
  'src/service/results/error-groups/cleaned-message.ts':
    'how messages of assertions begin, as a constant has it',
};
describe('files', () => {
  it('match no message or log of a run, especially ours: programs read fields (failure.details, RunFacts)', async () => {
    const matching = new Set<string>();
    for (const folder of [...readingFolders, 'src/agent/doctor']) {
      for (const file of await sourceFiles(folder)) {
        if (file.endsWith('.test.ts') || matchingFiles[file] || file.endsWith('foreign-texts.ts')) continue;
        if (matchedMessage.test(await readFile(join(root, file), 'utf8'))) matching.add(file);
      }
    }
    expect([...matching]).toEqual([]);
    for (const line of [
      '/answered 407/.test(run.message)',
      "said.message?.startsWith('a')",
      '/a/.exec(message)',
    ])
      expect(matchedMessage.test(line), line).toBe(true);
  });

  it('of tests that change or measure their process have one of their own', async () => {
    const alone =
      /setDefaultCACertificates\(|openSslStage\(|beforeAll\(startFaults\)|process\.resourceUsage\(/;
    const files = (await sourceFiles('test')).filter((file) => file.endsWith('.test.ts'));
    const found: string[] = [];
    for (const file of files) if (alone.test(await readFile(join(root, file), 'utf8'))) found.push(file);
    expect(found.length).toBeGreaterThan(10);
    const globs = Object.values(ownProcess);
    expect(found.filter((file) => !globs.some((glob) => matchesGlob(file, glob)))).toEqual([]);
  });

  it('are at most 400 lines long', async () => {
    const files = [
      ...(await sourceFiles('src')),
      ...(await sourceFiles('test')),
      ...(await sourceFiles('scripts')),
    ];
    const long: string[] = [];
    for (const file of files) {
      const lines = (await readFile(join(root, file), 'utf8')).split('\n').length;
      if (lines > 401) long.push(`${file}: ${lines}`);
    }
    expect(long).toEqual([]);
  });

  it('pass no list of the service as arguments to Math.min and Math.max, which fail beyond some 100,000', async () => {
    const spreading: string[] = [];
    for (const file of [...(await sourceFiles('src/platform')), ...(await sourceFiles('src/service'))]) {
      if (file.endsWith('.test.ts')) continue;
      const text = await readFile(join(root, file), 'utf8');
      if (/Math\.(?:min|max)\(\.\.\./.test(text)) spreading.push(file);
    }
    expect(spreading).toEqual([]);
  });

  it('read the environment only at the command line and through lib/env', async () => {
    const programs = [
      ...['src/cli.ts', 'src/cli/agent-only.ts', 'src/cli/health-probe.ts'],
      // Texts of scripts, which have an environment of their own.
      'src/checks/script/templates.ts',
    ];
    const readers: string[] = [];
    for (const file of await sourceFiles('src')) {
      if (file.endsWith('.test.ts') || programs.includes(file)) continue;
      if (/process\.env\b/.test(await readFile(join(root, file), 'utf8'))) readers.push(file);
    }
    expect(readers).toEqual([]);
  });

  it('of the service parse stored JSON by its schema: JSON.parse is for other texts only', async () => {
    const readers: string[] = [];
    for (const file of [
      ...(await sourceFiles('src/platform')),
      ...(await sourceFiles('src/service')),
      ...(await sourceFiles('src/console')),
      ...(await sourceFiles('src/extras')),
    ]) {
      // Importers parse files of other programs.
      if (file.endsWith('.test.ts') || file in parsingFiles || file.startsWith('src/extras/importers/'))
        continue;
      if (/\bJSON\.parse\(/.test(await readFile(join(root, file), 'utf8'))) readers.push(file);
    }
    expect(
      readers,
      'read columns with storedJson or storedValue (src/platform/store/stored-json.ts)',
    ).toEqual([]);
  });

  it('name no check type in a stage of the ring: the type declares what a stage must know', async () => {
    const names = checkTypes.map(({ name }) => name).join('|');
    const pattern = new RegExp(`['"\`](${names})['"\`]`);
    const naming: string[] = [];
    for (const file of await sourceFiles('src')) {
      // Probes may mention protocols that share a check type's name.
      if (/^src\/(checks|probes)\//.test(file) || file.endsWith('.test.ts')) continue;
      // Importers map foreign formats to check types: they are not a stage.
      if (file.startsWith('src/extras/importers/')) continue;
      // The origin of a session and the protocol of a name server have their own values, and some equal check type
      // names.
      const text = (await readFile(join(root, file), 'utf8')).replaceAll(
        /provider: .*|"protocol":"\w+"/g,
        '',
      );
      if (pattern.test(text)) naming.push(file);
    }
    expect(naming).toEqual([]);
  });
});

async function temporaryTree(sources: Readonly<Record<string, string>>): Promise<string> {
  const tree = await mkdtemp(join(tmpdir(), 'picket-arrows-'));
  for (const [file, text] of Object.entries(sources)) {
    await mkdir(dirname(join(tree, file)), { recursive: true });
    await writeFile(join(tree, file), text);
  }
  return tree;
}

describe('the service', () => {
  it('loads no probe, no sandbox and no runner of a check type: only agents load those, through load()', async () => {
    const imports = (await importsWithin(root, 'src')).filter(
      ({ isTypeOnly, isLazy }) => !isTypeOnly && !isLazy,
    );
    const starts = imports.map(({ from }) => from);
    const loaded = new Set(
      starts.filter(
        (file) => !/^(agent|checks|cli|lib|probes|sandbox|extras\/(agentic|importers))\/|^[^/]+$/.test(file),
      ),
    );
    for (const file of loaded) for (const { from, to } of imports) if (from === file) loaded.add(to);
    const foreign = [...loaded].filter((file) =>
      /^(probes\/(?!egress\/)|sandbox\/|checks\/.*\/run\.ts$)/.test(file),
    );
    expect(foreign).toEqual([]);
    expect(loaded).toContain('checks/index.ts');
  });
});

describe('rooms', () => {
  it.each([
    'src/agent',
    'src/platform',
    'src/service',
    'src/console',
    'src/server',
    'src/sandbox',
    'src/probes',
    'src/checks',
    'src/protocol',
    'src/channels',
    'src/cli',
    'src/lib',
    'src/extras',
  ])('of %s have no cyclic imports, not even of types', async (folder) => {
    expect(knots(roomsOf(await importsWithin(root, folder)))).toEqual([]);
  });

  it('with a door are all in the list of features, each under its name', async () => {
    const files = await sourceFiles('src');
    const doors = files.filter(
      (file) => file.endsWith('/feature.ts') && file !== 'src/platform/feature/feature.ts',
    );
    const rooms = doors.map((file) => basename(dirname(file))).sort();
    expect(features.map(({ name }) => name).sort()).toEqual(rooms);
    const kept = features.flatMap(({ repositories = {} }) => Object.keys(repositories));
    expect(kept.filter((name, index) => kept.indexOf(name) !== index)).toEqual([]);
  });

  it('have at most 15 loose source files besides their door', async () => {
    const counts = new Map<string, number>();
    for (const file of (await readdir(join(root, 'src'), { recursive: true })).sort()) {
      if (!/\.(ts|cjs)$/.test(file) || file.endsWith('.test.ts') || file.endsWith('/feature.ts')) continue;
      counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    }
    expect([...counts].filter(([, count]) => count > 15)).toEqual([]);
  });

  it('in a cycle of any length are found, even through a type, inside a function or through a loose file', async () => {
    const tree = await temporaryTree({
      'src/service/runs/runs.ts':
        "import type { Check } from '../checks/store.ts';\nexport type Run = Check;\n",
      'src/service/checks/store.ts':
        "export const load = () => import('../tables.ts');\nexport interface Check {}\n",
      'src/service/tables.ts': "export type { Run } from './runs/runs.ts';\n",
      'src/service/mail/mail.ts': "import { load } from '../checks/store.ts';\nexport const mail = load;\n",
    });
    try {
      const rooms = roomsOf(await importsWithin(tree, 'src/service'));
      expect(knots(rooms)).toEqual([['checks', 'runs', 'tables.ts']]);
      expect(upwardArrows(rooms)).toHaveLength(1);
    } finally {
      await rm(tree, { recursive: true });
    }
  });
});

// npm run lint applies it to the actual code.
describe('the check of import directions', () => {
  async function violations(baseDir: string): Promise<string[]> {
    const options = await extractOptions(join(root, '.dependency-cruiser.mjs'));
    const { output } = await cruise(['src'], { ...options, baseDir });
    return (output as ICruiseResult).summary.violations.map(
      ({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`,
    );
  }

  it('fails for an upward import, even of a type or inside a function', async () => {
    const tree = await temporaryTree({
      'src/checks/contract/failure.ts': 'export interface Failure { code: string }\n',
      'src/lib/up.ts':
        "import type { Failure } from '../checks/contract/failure.ts';\nexport type Up = Failure;\n",
      'src/platform/http/app.ts': 'export const app = 1;\n',
      'src/agent/sideways.ts': "export const load = () => import('../platform/http/app.ts');\n",
    });
    try {
      expect((await violations(tree)).sort()).toEqual([
        'arrow-agent: src/agent/sideways.ts -> src/platform/http/app.ts',
        'arrow-lib: src/lib/up.ts -> src/checks/contract/failure.ts',
      ]);
    } finally {
      await rm(tree, { recursive: true });
    }
  });
});
