import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { fromBufferPromise } from 'yauzl';
import { FileScrubber } from '../../../src/agent/delivery/artifacts/artifact-scrubber.ts';
import type { FinishedRun } from '../../../src/agent/run/contracts.ts';
import { LagMeter } from '../../../src/agent/runners/lag/lag-meter.ts';
import { RunPipeline } from '../../../src/agent/runners/run-pipeline.ts';
import { wholeReport } from '../../../src/agent/scrub/report-texts.ts';
import { SecretFinder } from '../../../src/checks/secrets/secret-finder.ts';
import { credentialHeaderShapes } from '../../../src/checks/secrets/shapes/credentials/credential-header-shape.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createEgressPolicy } from '../../../src/probes/egress/policy.ts';
import { leakyFiles } from '../../helpers/agent/leaky-files.ts';
import { leakyTests } from '../../helpers/agent/leaky-tests.ts';
import { cutForms, otherForms, rareForms } from '../../helpers/agent/rare-forms.ts';
import { readablePieces } from '../../helpers/agent/readable-pieces.ts';
import { type WrittenSecret, writtenForms } from '../../helpers/agent/scrub-forms.ts';
import { isNight } from '../../helpers/night.ts';
import { packFiles } from '../../helpers/scripts/suite-bundle.ts';
import { type SuiteStage, startSuiteStage } from '../../helpers/scripts/suite-stage.ts';
import { listen, type Target } from '../../helpers/targets/listening.ts';

const secrets = { TOKEN: 'tok_9fQ2x7LmZpR4sVb8', PASSWORD: `p@ss'w"ö\\rd+& 100%`, NAME: 'Grüße-Ärger-Öl' };
const isText = ({ form }: WrittenSecret) => !/^UTF-(?:16|32)/.test(form) && form !== 'Latin-1';
/**
 * The forms in which pages and programs write texts, out of all forms of a secret; integration tests cover all forms in
 * every sink.
 */
const usual =
  /^(?:raw|JSON|JSON in JSON|URL|HTML|hex|Base64 at [012]|UTF-.*|NFD|Buffer|gzip|Base64 twice at 0|Base64 of gzip)$/;
const forms = Object.values(secrets)
  .flatMap((secret) => [
    ...writtenForms(secret).filter(({ form }) => usual.test(form)),
    ...rareForms(secret).filter(({ form }) => usual.test(form)),
    ...otherForms(secret),
    ...cutForms(secret),
  ])
  .filter(({ leak }) => leak.length >= 8);
const texts = [...new Set(forms.filter(isText).map(({ bytes }) => bytes.toString()))];

/** A place where text may appear, and its readable content. */
interface Sink {
  readonly name: string;
  readonly readable: Buffer;
}

describe('the outputs of real runs', () => {
  let stage: SuiteStage;
  let target: Target;
  let folder: string;
  let given: string;
  beforeAll(async () => {
    stage = await startSuiteStage();
    folder = await mkdtemp(join(tmpdir(), 'picket-attacks-'));
    const files = await leakyFiles(secrets.TOKEN);
    given = join(folder, 'given.json');
    await writeFile(
      given,
      JSON.stringify({
        texts,
        files: Object.entries(files).map(([name, bytes]) => ({ name, base64: bytes.toString('base64') })),
      }),
    );
    const server = createServer((request, reply) => {
      const [, kind = '', name = ''] = (request.url ?? '').replace(/\?.*/, '').split('/');
      request.resume();
      if (kind === 'blank') {
        reply
          .writeHead(200, { 'content-type': 'text/html' })
          .end('<!doctype html><meta charset="utf-8"><title>Blank</title>');
      } else if (kind === 'file') {
        reply.writeHead(200, { 'content-type': 'application/octet-stream' }).end(files[name]);
      } else {
        const text = texts[Number(name)] ?? '';
        reply.writeHead(200, { 'content-type': 'application/json', 'x-said': encodeURIComponent(text) });
        reply.end(JSON.stringify({ said: text }));
      }
    });
    new WebSocketServer({ server }).on('connection', (socket) => {
      socket.on('message', (data) => socket.send(data.toString()));
    });
    target = await listen(server, { scheme: 'http' });
  });
  afterAll(async () => {
    await target.close();
    await stage.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('contain no form of a secret', { timeout: 900_000 }, async (context) => {
    if (stage.scripts.missingBrowser && process.env.CI !== 'true') context.skip(stage.scripts.missingBrowser);
    const leaks: string[] = [];
    const { ids } = stage.scripts.runtimes;
    const runs = ids.flatMap((id) => [['BROWSER', id] as const, ['PLAYWRIGHT', id] as const]);
    // By day one of each kind, each with another runtime.
    const chosen = isNight
      ? runs
      : [['BROWSER', ids.at(-1) ?? ''] as const, ['PLAYWRIGHT', ids[0] ?? ''] as const];
    for (const [checkType, runtimeId] of chosen) {
      const sinks = await sinksOfRun(checkType, runtimeId, true);
      leaks.push(...[...cells(sinks)].map((cell) => `${runtimeId} ${checkType} ${cell}`));
      expect(sinks.length).toBeGreaterThan(100);
      if (!isNight) continue;
      // The same run without declared secrets shows which places the forms reach.
      const reached = cells(await sinksOfRun(checkType, runtimeId, false));
      console.log(`${runtimeId} ${checkType}: ${reached.size} cells`);
      expect(reached.size).toBeGreaterThan(5000);
    }
    expect(leaks).toEqual([]);
  });

  function cells(sinks: readonly Sink[]): Set<string> {
    const found = new Set<string>();
    for (const { name, readable } of sinks) {
      for (const { form, leak } of forms) if (readable.includes(leak)) found.add(`${name}: ${form}: ${leak}`);
      for (const [secret, value] of Object.entries(secrets))
        if (readable.includes(value)) found.add(`${name}: ${secret}`);
    }
    return found;
  }

  async function sinksOfRun(
    checkType: 'BROWSER' | 'PLAYWRIGHT',
    runtimeId: string,
    isSecret: boolean,
  ): Promise<Sink[]> {
    if (checkType === 'BROWSER')
      return await sinksOf(
        await run(checkType, { script: leakyTests(target.url), runtimeId }, runtimeId, isSecret),
      );
    const reports = join(folder, `reports-${runtimeId}-${isSecret}`);
    const config = `import { defineConfig } from '@playwright/test';
      export default defineConfig({ retries: 0, workers: 1, use: { video: 'on', screenshot: 'on' }, reporter: [
        ['html', { outputFolder: '${reports}/html', open: 'never' }],
        ['blob', { outputDir: '${reports}/blob' }],
        ['json', { outputFile: '${reports}/report.json' }],
        ['list'],
      ] });`;
    const bytes = await packFiles({
      'playwright.config.ts': config,
      'leaky.spec.ts': leakyTests(target.url),
    });
    const runtime = stage.scripts.runtimes.find(runtimeId);
    const spec = {
      codeBundlePath: stage.bundles.add(bytes),
      installCommand: `ln -s '${runtime?.modulesDirectory}' node_modules`,
      cacheHash: runtimeId,
    };
    const finished = await run('PLAYWRIGHT', spec, runtimeId, isSecret);
    const sinks = await sinksOf(finished);
    const values = isSecret ? Object.values(secrets) : [];
    const scrubber = new FileScrubber(() => new SecretFinder(values, credentialHeaderShapes()));
    for (const entry of await readdir(reports, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      const outcome = await scrubber.scrub(path, `${path}.out`, AbortSignal.timeout(60_000));
      const name = path.slice(reports.length + 1);
      if (outcome.isSendable) sinks.push(...(await sinksOfFile(name, await readFile(`${path}.out`))));
    }
    return sinks;
  }

  async function run(
    checkType: string,
    spec: object,
    runtimeId: string,
    isSecret: boolean,
  ): Promise<FinishedRun> {
    const pipeline = new RunPipeline({
      clock: systemClock,
      lagMeter: new LagMeter(systemClock),
      ownSecrets: [],
      egress: createEgressPolicy(),
      hosts: { scripts: stage.host },
    });
    return await pipeline.run(
      {
        runId: crypto.randomUUID(),
        leaseNumber: 1,
        resultId: crypto.randomUUID(),
        checkType,
        spec,
        input: {
          variables: { ...secrets, GIVEN: given, PIECES: checkType === 'BROWSER' ? 'yes' : 'no' },
          secretNames: isSecret ? Object.keys(secrets) : [],
          proxyUrl: null,
          clientCertificates: [],
          runtimeId,
        },
        receivedAtMs: systemClock.monotonicMs(),
        timeoutMs: 240_000,
        isLogWanted: true,
      } as Parameters<RunPipeline['run']>[0],
      {
        serviceOffsetMs: systemClock.wallMs() - systemClock.monotonicMs(),
        artifactFolder: join(folder, `${runtimeId}-${checkType}-${isSecret}`),
        spareRuns: 0,
      },
      new AbortController().signal,
    );
  }

  async function sinksOf({ report, log, facts }: FinishedRun): Promise<Sink[]> {
    const result = JSON.parse(wholeReport(report)) as Record<string, unknown>;
    const { detail, ...rest } = result;
    const sinks = [
      ...Object.entries({ ...rest, log, facts, names: report.artifacts?.reported }),
      ...Object.entries((detail ?? {}) as Record<string, unknown>).map(
        ([name, value]) => [`detail.${name}`, value] as const,
      ),
    ].map(([name, value]) => sink(name, Buffer.from(JSON.stringify(value ?? null))));
    for (const { name, path } of report.artifacts?.files ?? []) {
      sinks.push(...(await sinksOfFile(name, await readFile(path))));
    }
    return sinks;
  }
});

function sink(name: string, bytes: Buffer): Sink {
  return { name, readable: Buffer.from(readablePieces(bytes).join('\n'), 'latin1') };
}

/** A file, or all files of an archive and of nested archives. */
async function sinksOfFile(name: string, bytes: Buffer): Promise<Sink[]> {
  if (bytes.subarray(0, 4).toString('latin1') !== 'PK\u0003\u0004') return [sink(name, bytes)];
  const sinks: Sink[] = [];
  const archive = await fromBufferPromise(bytes, { lazyEntries: true });
  for await (const entry of archive.eachEntry()) {
    sinks.push(sink(`name in ${name}`, Buffer.from(entry.fileName)));
    if (entry.fileName.endsWith('/')) continue;
    const inner = await buffer(await archive.openReadStreamPromise(entry));
    sinks.push(...(await sinksOfFile(`${name}/${entry.fileName}`, inner)));
  }
  return sinks;
}
