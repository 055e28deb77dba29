import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { answersOk } from '../../helpers/picket-process.ts';
import { expectAccepted } from '../../integration/deploy/agreement.ts';
import { expectLinted } from './block-lint.ts';
import { type Block, blocksOf, root } from './command-blocks.ts';
import { configurationTests } from './configuration.ts';
import { exampleTests } from './examples.ts';
import { firstStepTests } from './first-steps.ts';
import { logsInBrowsers, logsInByDigest, queriesMysql } from './logins.ts';
import { mcpTests } from './mcp.ts';
import { runInShell, runUntil } from './shell.ts';
import type { DocumentStage } from './stage.ts';
import { tutorialTests } from './tutorial.ts';

/** The test of a command, or of a whole block. @throws if it does not do what the document says. */
export type Trial = (stage: DocumentStage, text: string) => Promise<void>;

/** A command that is not run here: the reason, and a substitute proof. */
interface NotRun {
  readonly reason: string;
  readonly proof: (stage: DocumentStage) => Promise<void> | void;
}

/** A block that is run as a whole, or its commands separately. */
export type BlockTest = Trial | Readonly<Record<string, Trial | NotRun>>;

const run = promisify(execFile);

/** Commands that need containers or a cluster, which this machine lacks: they are checked, not run. */
const isLinted: Trial = async (_stage, text) => expectLinted(text);

/** A command that runs until it is interrupted: it must become ready, and Ctrl-C must end it. */
const runsUntilReady =
  (
    port: 'servicePort' | 'healthPort',
    variables: (stage: DocumentStage) => Record<string, string> = () => ({}),
  ): Trial =>
  async (stage, text) => {
    const url = `http://127.0.0.1:${stage[port]}`;
    const { output } = await runUntil(
      stage.rewritten(text),
      { cwd: root, environment: stage.environment(variables(stage)) },
      () => answersOk(`${url}/-/readiness`),
    );
    expect(output).not.toMatch(/"level":"(error|fatal)"/);
    expect(await answersOk(`${url}/-/liveness`)).toBe(false);
  };

/** Commands of a package from the registry, which belong to the third tier. */
const isRunByTheCommandLine = async () => {
  const test = readFileSync(join(root, 'test/system/clients/bring-your-project.night.test.ts'), 'utf8');
  expect(test).toContain("blocksOf('docs/how-to/bring-your-project.md')");
};

/** `doctor` for the service of the stage, without any problems. */
const examines: Trial = async (stage, text) => {
  const environment = stage.environment(stage.agentVariables());
  const { code, output } = await runInShell(text, { cwd: root, environment });
  expect(code, output).toBe(0);
  if (text.includes('--json')) expect(() => JSON.parse(output)).not.toThrow();
  else expect(output).toMatch(/ok +protocol/);
};

/** Commands that download hundreds of megabytes. */
const installsBrowsers: NotRun = {
  reason:
    'the archives are not to be had here; test/system/checks/browsers-install.test.ts installs small ones',
  proof: async () => {
    const { stdout } = await run(process.execPath, [
      join(root, 'src/cli.ts'),
      'browsers',
      'install',
      '--help',
    ]);
    for (const option of ['--from', '--for', '--with-deps']) expect(stdout).toContain(option);
  },
};

function scriptOf(command: string): NotRun['proof'] {
  return () => {
    const [, name = ''] = /^npm (?:run )?([\w:]+)/.exec(command) ?? [];
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const [, , , file = ''] = scripts[name]?.split(' ') ?? [];
    expect(existsSync(join(root, file)), `${name}: ${file}`).toBe(true);
  };
}

/** The commands of a new service's operator. */
const invitesFirstMember: Trial = async (stage, text) => {
  const environment = stage.environment({ DATA_DIR: join(stage.copyOf(), 'people') });
  const ready = () => answersOk(`http://127.0.0.1:${stage.servicePort}/-/readiness`);
  const options = { cwd: root, environment: { ...environment, PORT: String(stage.servicePort) } };
  await runUntil('picket service', options, ready);
  for (const line of text.trim().split('\n')) {
    const { code, output } = await runInShell(line, { cwd: root, environment });
    expect(code, output).toBe(0);
    if (line.includes('invite')) expect(output).toMatch(/^link +\/invitations\/[\w-]{43}$/m);
    if (line.includes('members list')) expect(output).toMatch(/ada@example\.com +ADMIN +PENDING/);
    if (line.includes('audit')) expect(output).toContain('createInvite');
  }
};

/**
 * Blocks by place. A block that is no longer in a document must be removed from this table, and every block in a
 * document must be listed.
 */
export const blockTests: Readonly<Record<string, BlockTest>> = {
  'README.md#start': {
    'npm start': async (stage, text) => {
      const { output } = await runUntil(text, { cwd: root, environment: stage.environment({}) }, (soFar) =>
        /^PASSED /m.test(soFar),
      );
      expect(output).toContain('Stopping');
      // The three example commands that it prints.
      expect(output.match(/^ {2}curl -s -H "Authorization/gm)).toHaveLength(3);
    },
    'npm test': { reason: 'it runs this test', proof: scriptOf('npm test') },
  },
  'README.md#install': isLinted,
  'README.md#for-operators': {
    'npm run picket -- service': async (stage, text) => {
      const own = () => ({
        PORT: String(stage.servicePort),
        DATA_DIR: join(stage.folder, 'state', 'operator'),
      });
      await runsUntilReady('servicePort', own)(stage, text);
    },
    'npm run picket -- agent': runsUntilReady('healthPort', (stage) => stage.agentVariables()),
    'npm run picket -- run FILE': async (stage, text) => {
      const example = blocksOf('README.md').find(({ language }) => language === 'yaml');
      const file = join(stage.folder, 'home.yaml');
      writeFileSync(file, stage.rewritten(example?.text ?? ''));
      const environment = stage.environment();
      const { code, output } = await runInShell(text.replace('FILE', file), { cwd: root, environment });
      expect(output).toMatch(/PASSED {2}Home page/);
      expect(code, output).toBe(0);
    },
    'npm run picket -- doctor': examines,
    'npm run picket -- COMMAND --help': async (stage, text) => {
      for (const command of ['agent', 'service', 'run', 'doctor']) {
        const environment = stage.environment();
        const { code, output } = await runInShell(`picket ${command} --help`, { cwd: root, environment });
        expect(code, output).toBe(0);
        expect(output, text).toContain(`Usage: picket ${command}`);
      }
    },
  },
  'CONTRIBUTING.md#contributing': {
    'npm test': { reason: 'it runs this test', proof: scriptOf('npm test') },
    'npm run test:system': { reason: 'it takes minutes and root', proof: scriptOf('npm run test:system') },
    'EVERY_PACKAGE_MANAGER=true npm run test:nightly -- test/system/checks/playwright-installs.night.test.ts':
      {
        reason: 'it takes minutes, and is tests itself',
        proof: () => {
          const test = readFileSync(
            join(root, 'test/system/checks/playwright-installs.night.test.ts'),
            'utf8',
          );
          expect(test).toContain('process.env.EVERY_PACKAGE_MANAGER');
        },
      },
    'npm run typecheck': { reason: '.ci/run runs it on all there is', proof: inCi('typecheck') },
    'npm run lint -- --write': {
      reason: 'it writes into the checkout; .ci/run runs it without',
      proof: inCi('lint'),
    },
    'npm run gen': {
      reason: 'it writes into the checkout; .ci/run runs it with --check',
      proof: inCi('gen'),
    },
    'npm run bench': async (stage, text) => {
      const { output } = await runInShell(text, { cwd: root, environment: stage.environment() });
      for (const file of readdirSync(join(root, 'test/bench')))
        if (file.endsWith('.bench.ts')) expect(output).toContain(file.slice(0, -'.bench.ts'.length));
    },
    'npm run faults -- --seed 7 --minutes 2': faultCampaign('seed', 'minutes'),
    '.ci/run': {
      reason: 'it runs this test',
      proof: async () => {
        await run('bash', ['-n', '.ci/run'], { cwd: root });
      },
    },
  },
  'docs/how-to/api-clients.md#api-clients-with-types': async () => {
    // It installs packages from the registry, which belongs to the third tier.
    const test = readFileSync(join(root, 'test/system/docs/api-clients.night.test.ts'), 'utf8');
    expect(test).toContain("blocksOf('docs/how-to/api-clients.md')");
  },
  'docs/how-to/bring-your-project.md#set-it-up-once': isRunByTheCommandLine,
  'docs/how-to/bring-your-project.md#use-it': isRunByTheCommandLine,
  'docs/how-to/prometheus.md#scrape-checks-with-prometheus': async (stage, text) => {
    const { code, output } = await runInShell(stage.rewritten(text), {
      cwd: root,
      environment: stage.environment(),
    });
    expect(code, output).toBe(0);
    expect(output).toContain('picket_check_metrics_cut 0');
  },
  'docs/how-to/prometheus.md#rules': isLinted,
  'docs/how-to/install.md#install': {
    'docker build -t picket:8.0.0-alpha.1 .': isLinted,
    'docker build -t picket-uptime:8.0.0-alpha.1 -f Dockerfile.uptime .': isLinted,
    'docker buildx build --platform linux/amd64,linux/arm64 -t picket:8.0.0-alpha.1 .': isLinted,
    'npm run images': {
      reason: 'it builds images, which takes minutes, a container engine and their base image',
      proof: async (stage) => {
        const environment = stage.environment();
        const { code, output } = await runInShell('npm run images -- none', { cwd: root, environment });
        expect(code).toBe(2);
        for (const name of ['full', 'uptime', 'dev', 'migration']) expect(output).toContain(`[${name}]`);
      },
    },
  },
  'docs/how-to/install.md#docker': isLinted,
  'docs/how-to/install.md#debian-package-and-tarball': async (stage, text) => {
    expectLinted(text);
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(text).toContain(`sudo dpkg -i packages/picket-agent_${version.replace('-', '~')}_amd64.deb`);
    // test/system/agent/debian-package.night.test.ts builds, installs and purges it.
    const { output } = await runInShell('npm run packages -- --help', {
      cwd: root,
      environment: stage.environment(),
    });
    for (const option of ['--arch', '--out', '--compress']) expect(output).toContain(option);
  },
  'docs/how-to/agents-behind-a-proxy.md#run-agents-behind-a-proxy': async (_stage, text) => {
    expectLinted(text);
    const settings = [...text.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [
      name,
      value?.replace('…', 'example'),
    ]);
    expectAccepted('agent', Object.fromEntries(settings));
  },
  'docs/how-to/install.md#compose': isLinted,
  'docs/how-to/install.md#kubernetes': isLinted,
  'docs/how-to/install.md#helm': isLinted,
  'docs/how-to/install.md#without-internet': async (_stage, text) => {
    expectLinted(text);
    // The images of compose.yaml must be transferred, too.
    const compose = readFileSync(join(root, 'deploy/compose.yaml'), 'utf8');
    for (const [, image] of compose.matchAll(/^ {4}image: (\S+)$/gm)) expect(text).toContain(image);
  },
  'docs/how-to/run-the-service.md#start-it': runsUntilReady('servicePort'),
  'docs/how-to/proxy-and-tls.md#set-it-up': runsUntilReady('servicePort'),
  // test/system/service/clickhouse.night.test.ts runs it against a real server.
  'docs/how-to/analytics-from-clickhouse.md#set-it-up': isLinted,
  'docs/how-to/back-up-and-restore.md#back-up-and-restore': async (stage, text) => {
    const folder = stage.copyOf();
    const [backup = '', restore = ''] = text.replaceAll('/backups', folder).trim().split('\n');
    const inDirectory = async (command: string, name: string) => {
      const environment = stage.environment({ DATA_DIR: join(folder, name) });
      const { code, output } = await runInShell(command, { cwd: root, environment });
      expect(code, output).toBe(0);
      return output;
    };
    // A service creates its database when it starts.
    await runUntil(
      'picket service',
      {
        cwd: root,
        environment: stage.environment({ DATA_DIR: join(folder, 'data'), PORT: String(stage.servicePort) }),
      },
      () => answersOk(`http://127.0.0.1:${stage.servicePort}/-/readiness`),
    );
    const account = await inDirectory('picket service add-account Shop --json', 'data');
    await inDirectory(backup, 'data');
    await inDirectory(restore, 'restored');
    const listed = `picket service list-keys --account ${JSON.parse(account).accountId}`;
    expect(await inDirectory(listed, 'restored')).toContain('first key');
  },
  'docs/how-to/rotate-keys.md#the-key-of-stored-secrets': async (stage, text) => {
    const cwd = stage.copyOf();
    const { code, output } = await runInShell(text, { cwd, environment: stage.environment() });
    expect(code, output).toBe(0);
    expect(Buffer.from(readFileSync(join(cwd, 'secrets.key'), 'utf8'), 'base64')).toHaveLength(32);
  },
  'docs/how-to/secrets-from-vaults.md#try-it': async (stage, text) => {
    const environment = stage.environment();
    const options = { cwd: stage.copyOf(), environment };
    const { code, output } = await runInShell(stage.rewritten(text), options);
    expect(code, output).toBe(0);
    expect(output).toMatch(/^PASSED +Login/m);
    expect(output).not.toContain('correct-horse');
  },
  'docs/how-to/custom-ca-certificates.md#trust-custom-ca-certificates': isLinted,
  'docs/how-to/people.md#inviting-people': invitesFirstMember,
  'docs/how-to/upgrade.md#upgrade': {
    'npm run faults -- --seed 7 --minutes 2 --agents ../picket-before': faultCampaign('agents'),
    'npm run faults -- --seed 7 --minutes 2 --services ../picket-before': faultCampaign('services'),
  },
  'docs/reference/suites.md#uploading': async (stage, text) => {
    const cwd = stage.copyOf();
    mkdirSync(join(cwd, 'tests'));
    for (const name of ['package.json', 'package-lock.json', 'playwright.config.ts', 'tests/one.spec.ts'])
      writeFileSync(join(cwd, name), '{}');
    const environment = stage.environment(stage.accountVariables());
    const { code, output } = await runInShell(text, { cwd, environment });
    expect(code, output).toBe(0);
    const bytes = readFileSync(join(cwd, 'suite.tar.gz')).length;
    expect(JSON.parse(output.slice(output.indexOf('{')))).toMatchObject({ contentLength: bytes });
  },
  'docs/reference/suites.md#browsers': {
    'picket browsers install firefox webkit --with-deps': installsBrowsers,
    'picket browsers install firefox --from https://mirror.example.com/playwright': installsBrowsers,
    'picket browsers install webkit --from /media/usb --for ./shop-e2e': installsBrowsers,
    'picket browsers list': async (stage, text) => {
      const environment = stage.environment({ BROWSERS_DIR: join(stage.folder, 'browsers') });
      const { code, output } = await runInShell(text, { cwd: stage.folder, environment });
      expect(code, output).toBe(0);
    },
  },
  'docs/how-to/troubleshooting.md#when-an-agent-does-not-work': {
    'picket doctor': examines,
    'picket doctor --json': examines,
  },
  ...configurationTests,
  ...exampleTests,
  'docs/how-to/log-in-to-intranets.md#log-in-to-intranets': logsInByDigest,
  'docs/how-to/log-in-to-intranets.md#browser-checks-and-suites': logsInBrowsers,
  'docs/reference/checks.md#sql-monitor-sql': queriesMysql,
  ...firstStepTests,
  ...mcpTests,
  ...tutorialTests,
};

function faultCampaign(...options: readonly string[]): NotRun {
  return {
    reason: 'it takes minutes; test/system/faults runs campaigns of its own',
    proof: () => {
      const script = readFileSync(join(root, 'scripts/faults.ts'), 'utf8');
      for (const name of options) expect(script).toMatch(new RegExp(`^ +${name}: \\{ type`, 'm'));
    },
  };
}

function inCi(name: string): NotRun['proof'] {
  return (stage) => {
    expect(readFileSync(join(root, '.ci/run'), 'utf8')).toMatch(new RegExp(`^steps=.*\\b${name}\\b`, 'm'));
    return scriptOf(`npm run ${name}`)(stage);
  };
}

/** The test of a block, by its place. */
export function testOf(block: Block): BlockTest | undefined {
  return blockTests[block.place];
}
