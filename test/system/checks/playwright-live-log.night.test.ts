import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { linkRuntime, type SuiteStage, startSuiteStage } from '../../helpers/scripts/suite-stage.ts';

let stage: SuiteStage;
beforeAll(async () => {
  stage = await startSuiteStage();
});
afterAll(async () => {
  await stage.close();
});

it('a suite reports the secrets that it has declared so far, until its tests are over', async ({ skip }) => {
  if (stage.missing !== undefined) skip(stage.missing);
  const reads: (() => Promise<readonly string[] | undefined>)[] = [];
  const known: unknown[] = [];
  const gate = createServer(async (_request, response) => {
    known.push(await reads.at(-1)?.());
    response.end();
  });
  await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve));
  const { port } = gate.address() as AddressInfo;
  const test = `import { test } from '@playwright/test';
    test('a', async () => {
      process.env.SERVICE_SECRET_TOKEN = 'hunter2hunter2';
      await fetch('http://127.0.0.1:${port}');
    });`;
  const { outcome } = await stage.run(
    { 'a.spec.ts': test },
    { spec: linkRuntime(stage), context: { allowLiveLog: (secretsSoFar) => reads.push(secretsSoFar) } },
  );
  gate.close();
  expect(outcome.errorMessages).toEqual([]);
  expect(outcome.secrets).toEqual(['hunter2hunter2']);
  expect(known).toEqual([['hunter2hunter2']]);
  // The installation can declare no secrets; after the tests nothing may leave.
  expect(await Promise.all(reads.map((read) => read()))).toEqual([[], undefined]);
});
