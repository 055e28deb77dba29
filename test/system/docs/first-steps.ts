import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { SMTPServer } from 'smtp-server';
import { expect } from 'vitest';
import { type RunningService, startServiceProcess } from '../../helpers/picket-process.ts';
import { expectLinted } from './block-lint.ts';
import type { Trial } from './block-table.ts';
import { root } from './command-blocks.ts';
import { runInShell } from './shell.ts';
import type { DocumentStage } from './stage.ts';

interface Typed {
  /** The page, whose later blocks use definitions of earlier ones. */
  readonly page: string;
  readonly cwd?: string;
  readonly serviceUrl?: string;
  readonly variables?: Readonly<Record<string, string>>;
  readonly rewritten?: (text: string) => string;
}

const names = 'LOCATION_KEY BUNDLE SLACK MAIL TOKEN PING';

/** Runs a block in the reader's terminal. */
async function typed(stage: DocumentStage, text: string, how: Typed): Promise<string> {
  const { page, cwd = root, serviceUrl, variables = {}, rewritten = (same) => same } = how;
  const defined = join(stage.folder, 'state', `${page}.sh`);
  const commands = rewritten(stage.rewritten(text, serviceUrl === undefined ? {} : { serviceUrl }));
  const keep = `{ declare -f; declare -p ${names} 2>/dev/null || true; } > '${defined}'`;
  const script = `[ ! -f '${defined}' ] || source '${defined}'\n${commands}\n${keep}`;
  const { code, output } = await runInShell(script, { cwd, environment: stage.environment(variables) });
  expect(code, output).toBe(0);
  return output;
}

const ofPage =
  (page: string, expected: RegExp): Trial =>
  async (stage, text) => {
    expect(await typed(stage, text, { page })).toMatch(expected);
  };

const keys = new WeakMap<DocumentStage, string>();
const agentPage = 'docs/tutorial/private-location.md';
const privateLocation: Readonly<Record<string, Trial>> = {
  [`${agentPage}#create-it`]: async (stage, text) => {
    const [key = ''] = /pl_[0-9a-f]{32}/.exec(await typed(stage, text, { page: 'agent' })) ?? [];
    expect(key).not.toBe('');
    keys.set(stage, key);
  },
  [`${agentPage}#start-an-agent`]: async (stage, text) => {
    const key = keys.get(stage) ?? '';
    stage.keepRunning(stage.rewritten(text.replace('pl_…', key)), { SPOOL_DIR: join(stage.folder, 'state') });
    await expect
      .poll(async () => (await stage.service.api<Fleet>('GET', '/v1/private-locations/fleet')).locations)
      .toContainEqual(
        expect.objectContaining({ slugName: 'lab', agents: expect.objectContaining({ connected: 1 }) }),
      );
  },
  [`${agentPage}#see-it-connect`]: ofPage('agent', /"slugName":"lab","agents":\{"connected":1/),
};

interface Fleet {
  readonly locations: readonly object[];
}

/** The location of npm start, which the pages name. */
async function withHere({ service }: DocumentStage): Promise<void> {
  const all = await service.api<{ slugName: string }[]>('GET', '/v1/private-locations');
  if (all.some(({ slugName }) => slugName === 'here')) return;
  await service.api('POST', '/v1/private-locations', { name: 'This machine', slugName: 'here' });
}

const browserPage = 'docs/tutorial/browser-check.md';
const suitePage = 'docs/tutorial/suite.md';
let suiteFolder: string | undefined;

const scripts: Readonly<Record<string, Trial>> = {
  [`${browserPage}#write-it-and-run-it-here`]: async (stage, text) => {
    const variables = { CHECK_TYPES: 'BROWSER' };
    // The file is written into the folder where the command runs.
    const rewritten = (commands: string) => commands.replaceAll('home.yaml', join(stage.folder, 'home.yaml'));
    const output = await typed(stage, text, { page: 'browser', variables, rewritten });
    expect(output).toMatch(/PASSED {2}Home page opens/);
  },
  [`${browserPage}#let-a-location-run-it`]: async (stage, text) => {
    await withHere(stage);
    expect(await typed(stage, text, { page: 'browser' })).toMatch(/"checkType":"BROWSER"/);
  },
  [`${suitePage}#make-a-project`]: async (stage, text) => {
    suiteFolder = stage.copyOf();
    await typed(stage, text, { page: 'suite', cwd: suiteFolder });
    expect(() =>
      JSON.parse(readFileSync(join(suiteFolder ?? '', 'suite/package.json'), 'utf8')),
    ).not.toThrow();
  },
  // test/system/checks runs suites: a run installs packages from the registry.
  [`${suitePage}#upload-it-and-create-the-check`]: async (stage, text) => {
    await withHere(stage);
    const output = await typed(stage, text, { page: 'suite', cwd: suiteFolder ?? stage.copyOf() });
    expect(output).toMatch(/"checkType":"PLAYWRIGHT"/);
    expect(output).toMatch(/"codeBundlePath":"[^"]+"/);
  },
};

const alertPage = 'docs/tutorial/alert.md';

/** A service that can send mails, and receivers of both kinds on this machine. */
async function withReceivers(work: (service: RunningService, hook: string, got: string[]) => Promise<void>) {
  const got: string[] = [];
  const slack = createServer((request, response) => {
    got.push(`slack ${request.url}`);
    request.resume();
    response.end('ok');
  });
  await new Promise<void>((resolve) => slack.listen(0, '127.0.0.1', resolve));
  const mail = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: ({ address }, _session, done) => {
      got.push(`mail ${address}`);
      done();
    },
    onData: (stream, _session, done) => {
      stream.resume();
      stream.on('end', () => done());
    },
  });
  await new Promise<void>((resolve) => mail.listen(0, '127.0.0.1', () => resolve()));
  const mailPort = (mail.server.address() as AddressInfo).port;
  try {
    await using service = await startServiceProcess({
      SMTP_URL: `smtp://127.0.0.1:${mailPort}`,
      MAIL_FROM: 'picket@example.com',
      EGRESS_ALLOW: '127.0.0.1',
    });
    const hook = `http://127.0.0.1:${(slack.address() as AddressInfo).port}`;
    await work(service, hook, got);
  } finally {
    slack.close();
    await new Promise<void>((resolve) => mail.close(() => resolve()));
  }
}

/** Definitions of the Slack block, which the mail block uses. */
let slackBlock = '';
const alerts: Readonly<Record<string, Trial>> = {
  [`${alertPage}#slack`]: async (stage, text) => {
    slackBlock = text;
    await withReceivers(async ({ url }, hook, got) => {
      const rewritten = (commands: string) => commands.replace('https://hooks.slack.com', hook);
      const output = await typed(stage, text, { page: 'slack', serviceUrl: url, rewritten });
      expect(output).toMatch(/"status":"SUCCESS"/);
      expect(got).toEqual(['slack /services/T000/B000/XXXX']);
    });
  },
  [`${alertPage}#mail`]: async (stage, text) => {
    await withReceivers(async ({ url }, _hook, got) => {
      const functions = slackBlock.split('\n').filter((line) => /^\w+\(\) \{/.test(line));
      const both = [...functions, text].join('\n');
      const output = await typed(stage, both, { page: 'mail', serviceUrl: url });
      expect(output).toMatch(/"status":"SUCCESS"/);
      expect(got).toEqual(['mail ops@example.com']);
    });
  },
};

const heartbeatPage = 'docs/tutorial/heartbeat.md';
const heartbeats: Readonly<Record<string, Trial>> = {
  [`${heartbeatPage}#create-it`]: ofPage('heartbeat', /^\{\}$/m),
  [`${heartbeatPage}#a-fixed-time`]: ofPage('heartbeat', /"times":\[(?:"[^"]+",?){3}\]/),
  [`${heartbeatPage}#duration-exit-code-and-output`]: ofPage('heartbeat', /\{\}\s*\{\}/),
  [`${heartbeatPage}#ping-from-cron`]: async (stage, text) => {
    // cron of this machine is left alone: a program that keeps the table in a file takes its place.
    const [programs, table] = [join(stage.folder, 'cron-bin'), join(stage.folder, 'state', 'crontab')];
    mkdirSync(programs, { recursive: true });
    const crontab = `#!/bin/sh\nif [ "$1" = -l ]; then cat '${table}'; else cat > '${table}.new'; mv '${table}.new' '${table}'; fi\n`;
    writeFileSync(join(programs, 'crontab'), crontab, { mode: 0o755 });
    writeFileSync(table, '');
    const PATH = `${programs}${delimiter}${stage.environment().PATH ?? ''}`;
    const output = await typed(stage, text, { page: 'heartbeat', variables: { PATH } });
    const [, command = ''] = /^0 3 \* \* \* (.*)$/m.exec(output) ?? [];
    expect(command).toMatch(/^\/usr\/local\/bin\/backup && curl /);
    // cron runs the command with sh; the job of the page does not exist here.
    const run = (job: string) => spawnSync('sh', ['-c', command.replace('/usr/local/bin/backup', job)]);
    expect(run('true').status).toBe(0);
    expect(run('false').status).toBe(1);
    const checks = await stage.service.api<{ id: string; name: string }[]>('GET', '/v1/checks?limit=100');
    // The page on the API has a heartbeat of the same name.
    const own = checks.filter(({ name }) => name === 'Nightly backup');
    const events = await Promise.all(
      own.map(({ id }) =>
        stage.service.api<{ events?: unknown[] } | unknown[]>('GET', `/v1/checks/heartbeats/${id}/events`),
      ),
    );
    expect(JSON.stringify(events)).toContain('EARLY');
  },
};

const kubernetesPage = 'docs/tutorial/kubernetes.md';
const isLinted: Trial = async (_stage, text) => expectLinted(text);
const kubernetes: Readonly<Record<string, Trial>> = {
  [`${kubernetesPage}#build-the-image-and-load-it`]: isLinted,
  [`${kubernetesPage}#start-the-agents`]: async (_stage, text) => {
    expectLinted(text);
    // The names in the commands are those of the manifests.
    const [deployment, maps] = ['deployment.yaml', 'kustomization.yaml'].map((file) =>
      readFileSync(join(root, 'deploy/kubernetes/agent', file), 'utf8'),
    );
    for (const [, name = ''] of text.matchAll(/deployment\/([\w-]+)/g))
      expect(deployment).toMatch(new RegExp(`^  name: ${name}$`, 'm'));
    const [, secret = ''] = /secret generic ([\w-]+)/.exec(text) ?? [];
    expect(deployment).toContain(`secretName: ${secret}`);
    expect(maps).toContain('SERVICE_URL=');
  },
};

/** The pages for the first hour; the blocks of each in their order. */
export const firstStepTests: Readonly<Record<string, Trial>> = {
  ...privateLocation,
  ...scripts,
  ...alerts,
  ...heartbeats,
  ...kubernetes,
};
