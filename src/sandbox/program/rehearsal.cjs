'use strict';
/**
 * A run of a sample of our own in a process that waits for its script, so that the engine has read and compiled what every run
 * uses: the first time that takes some 200 ms, afterwards a third.
 *
 * It is Playwright's own code that runs, in the parts its two processes have; what it changed is put back. A version that has
 * these parts elsewhere, or works differently, goes without: that costs time and nothing else. Both resolve with whether it went
 * well.
 */
const fs = require('node:fs');
const { once } = require('node:events');
const http = require('node:http');
const path = require('node:path');
const { hasTopLevelAwait, isTestMode, parse } = require('./script-source.cjs');

const configFile = path.join(__dirname, 'playwright-config.cjs');
const sampleName = 'ahead.spec.ts';

/** A script of the usual kind. */
const sample = `import { test, expect } from '@playwright/test';
interface Item { readonly id: number; name?: string }
const wanted: Item[] = [{ id: 1, name: \`one \${2}\` }];
test.describe('ahead', () => {
  test('sample', async ({ request }, testInfo) => {
    const answer = await request.get(process.env.PICKET_AHEAD_URL ?? '');
    for (const { id, ...rest } of wanted) expect(rest.name?.length ?? id).toBeGreaterThan(0);
    try { expect(answer.status()).toBe(200); } catch (error) { throw error as Error; }
    expect(testInfo.title).toContain('sample');
  });
});
`;

/** Finds out what kind of script the sample is, reads the configuration, finds the tests of the sample and plans their run, as the runner does. */
async function rehearseRunner(modulesDirectory) {
  return await onStage('runner', async (stage) => {
    isTestMode([sample]);
    hasTopLevelAwait(parse(modulesDirectory, sample));
    const lib = libraryOf(modulesDirectory);
    const { createLoadTask, createRunTestsTasks, TestRun } = lib('runner/tasks.js');
    const config = await lib('common/configLoader.js').deserializeConfig(stage.config);
    config.cliArgs = [];
    await lib('runner/reporters.js').createReporters(config, 'test');
    const [plan] = createRunTestsTasks(config);
    const testRun = new TestRun(config, {}, {});
    const errors = [];
    for (const task of [createLoadTask('in-process', { filterOnly: true, failOnLoadErrors: true }), plan])
      await task.setup(testRun, errors, errors);
    String(new Error('ahead').stack);
    return errors.length === 0 && testRun.phases.length === 1;
  });
}

/** Runs the sample, with a request to a server of our own and a trace of it, as the worker does. */
async function rehearseWorker(modulesDirectory) {
  return await onStage('worker', async (stage) => {
    const lib = libraryOf(modulesDirectory);
    const workerMain = require.resolve(path.join(modulesDirectory, 'playwright/lib/worker/workerMain.js'));
    const server = http.createServer((_request, response) => response.end('ahead'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { send } = process;
    const writes = { stdout: process.stdout.write, stderr: process.stderr.write };
    const listeners = listenersOf(process);
    let hasPassed = false;
    // What it tells its runner is nobody's business.
    process.send = (message) => {
      hasPassed ||= /"testEnd".*"status":"passed"/.test(JSON.stringify(message));
      return true;
    };
    process.env.PICKET_AHEAD_URL = `http://127.0.0.1:${server.address().port}/`;
    try {
      const { create } = require(workerMain);
      const config = await lib('common/configLoader.js').deserializeConfig(stage.config);
      const [project] = config.projects;
      const { loadTestFile } = lib('common/testLoader.js');
      // Before 1.58 it wants the folder of the tests alone.
      const load = (from) => loadTestFile(stage.file, from);
      const fileSuite = await load(config).catch(() => load(config.config.rootDir));
      const suite = lib('common/suiteUtils.js').bindFileSuiteToProject(project, fileSuite);
      const worker = create({
        workerIndex: 0,
        parallelIndex: 0,
        repeatEachIndex: 0,
        projectId: project.id,
        config: stage.config,
        artifactsDir: path.join(stage.folder, 'artifacts'),
      });
      const entries = suite.allTests().map(({ id }) => ({ testId: id, retry: 0 }));
      await worker.runTestGroup({ file: stage.file, entries });
      await worker.gracefullyClose();
      return hasPassed;
    } finally {
      process.send = send;
      process.stdout.write = writes.stdout;
      process.stderr.write = writes.stderr;
      removeListenersBut(process, listeners);
      server.close();
      // It is loaded once more for the run: it begins to talk when it is loaded.
      delete require.cache[workerMain];
      delete require.cache[require.resolve(path.join(modulesDirectory, 'playwright/lib/common/process.js'))];
    }
  });
}

/** Puts the sample where a run finds its script, and tidies up behind it. Never rejects. */
async function onStage(name, act) {
  const folder = path.join(process.env.PWTEST_CACHE_DIR ?? '', '..', `ahead-${name}`);
  const file = path.join(folder, sampleName);
  const environment = { ...process.env };
  try {
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(file, sample);
    process.env.PW_DISABLE_TS_ESM = '1';
    process.env.PICKET_RUN = JSON.stringify({
      directory: folder,
      privateDirectory: folder,
      entry: sampleName,
      testTimeoutMs: 10_000,
      globalTimeoutMs: 10_000,
    });
    const location = { resolvedConfigFile: configFile, configDir: __dirname };
    return await act({ folder, file, config: { location, configCLIOverrides: {} } });
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  } finally {
    for (const name of Object.keys(require.cache)) {
      if (name === configFile || path.basename(name) === sampleName) delete require.cache[name];
    }
    for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
    Object.assign(process.env, environment);
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function libraryOf(modulesDirectory) {
  return (name) => require(path.join(modulesDirectory, 'playwright/lib', name));
}

function listenersOf(emitter) {
  return new Map(emitter.eventNames().map((name) => [name, new Set(emitter.rawListeners(name))]));
}

function removeListenersBut(emitter, kept) {
  for (const name of emitter.eventNames()) {
    for (const listener of emitter.rawListeners(name)) {
      if (!kept.get(name)?.has(listener)) emitter.off(name, listener);
    }
  }
}

module.exports = { rehearseRunner, rehearseWorker };
