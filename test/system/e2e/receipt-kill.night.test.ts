import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import {
  createLocation,
  startAgentProcess,
  startServiceProcess,
  until,
} from '../../helpers/picket-process.ts';
import { readLedger } from '../../helpers/service/ledger-view.ts';
import { ReceiptTaker } from '../../helpers/service/receipt-taker.ts';

const heldSpool = fileURLToPath(new URL('../../helpers/agent/fixtures/held-spool.mjs', import.meta.url));
const checkCount = 8;

/** Whether any file of an agent contains data of a run. */
function isOnDisk(folder: string, runId: string): boolean {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  return files.some(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(runId));
}

it('an agent that is killed before it learns that the service has its result loses no run and counts none twice', {
  timeout: 240_000,
}, async () => {
  await using service = await startServiceProcess();
  await using way = await ReceiptTaker.open(service.url);
  const { slugName, key } = await createLocation(service, 'killed');
  const spool = await mkdtemp(join(tmpdir(), 'picket-spool-'));
  const connection = { serviceUrl: way.url, key };
  const checkIds: string[] = [];
  for (let index = 0; index < checkCount; index += 1) {
    const { id } = await service.api<{ id: string }>('POST', '/v1/checks/url', {
      name: `check ${index}`,
      frequency: 60,
      privateLocations: [slugName],
      activated: true,
      request: { url: `${service.url}/-/liveness` },
    });
    checkIds.push(id);
  }
  // The agent's disk at its death: empty, as with a disk that hangs; or with all results, whose receipts never arrived.
  const disks: Record<string, string>[] = [{ NODE_OPTIONS: `--import=${heldSpool}` }, {}, {}];
  for (const environment of disks) {
    const known = new Set(readLedger(service.dataDir).map(({ id }) => id));
    const agent = await startAgentProcess(connection, {
      SPOOL_DIR: spool,
      AGENT_ID: 'killed',
      ...environment,
    });
    const killed = new Promise<void>((resolve) => {
      way.onReceipt = () => {
        agent.process.child.kill('SIGKILL');
        resolve();
      };
    });
    await service.api('POST', '/v1/check-sessions/trigger', { target: { checkId: checkIds } });
    await killed;
    await agent.process.ended;
    way.onReceipt = undefined;
    const asked = () => readLedger(service.dataDir).filter(({ id }) => !known.has(id));
    const stored = asked().filter(({ finals }) => finals > 0);
    expect(stored.length).toBeGreaterThan(0);
    if (environment.NODE_OPTIONS) expect(stored.filter(({ id }) => isOnDisk(spool, id))).toEqual([]);
    await using next = await startAgentProcess(connection, { SPOOL_DIR: spool, AGENT_ID: 'next' });
    await until('every run has ended', () => asked().every(({ state }) => state === 'final'), {
      process: next.process,
    });
    const ended = asked();
    expect(ended.length).toBeGreaterThanOrEqual(checkCount);
    expect(ended.filter(({ finals }) => finals !== 1)).toEqual([]);
    // The results that the service had stay unchanged: no later result replaced them.
    expect(ended).toEqual(expect.arrayContaining(stored));
  }
  await rm(spool, { recursive: true, force: true });
});
