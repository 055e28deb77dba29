import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { startAgentProcess, until } from '../../helpers/picket-process.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import {
  createLocation,
  openHarness,
  type ServiceHarness,
  temporaryFolder,
} from '../../helpers/service/service.ts';
import { migratedDatabase } from '../../helpers/service/shared-database.ts';
import { loggedIn } from '../../helpers/service/visitor.ts';

const noPostgres = whyNoPostgres();
const { ids: runtimes } = await readRuntimes(runtimesDirectory);

/** The script says how far it is by these requests, and waits until each is answered. */
class Gate {
  readonly #server = createServer((request, response) => this.#waiting.set(request.url ?? '', response));
  readonly #waiting = new Map<string, ServerResponse>();
  url = '';

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async reached(path: string): Promise<void> {
    await until(`the script is at ${path}`, () => this.#waiting.has(path));
  }

  pass(path: string): void {
    this.#waiting.get(path)?.end('go on');
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

describe.skipIf(noPostgres !== null || runtimes.length === 0)('the live log of a script', () => {
  const gate = new Gate();
  const folder = temporaryFolder();
  const open: ServiceHarness[] = [];

  beforeAll(() => gate.open());
  afterAll(async () => {
    for (const harness of open.splice(0)) await harness.close();
    gate.close();
    folder.remove();
  });

  it('is on the page of one service while the agent runs it for another, and has no secret', async () => {
    const databaseUrl = await migratedDatabase();
    const [near, far] = [await openHarness({ databaseUrl }), await openHarness({ databaseUrl })];
    open.push(near, far);
    for (const { app } of open) await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = far.app.server.address() as AddressInfo;
    const location = await createLocation(near, 'lab');
    await using _agent = await startAgentProcess(
      { serviceUrl: `http://127.0.0.1:${port}`, key: location.key },
      {
        RUNTIMES_DIR: runtimesDirectory,
        SCRIPTS_DIR: folder.path,
        ALLOW_UNISOLATED_SCRIPTS: 'true',
        CHECK_TYPES: 'MULTI_STEP',
      },
    );
    const script = `
      const at = (path) => fetch('${gate.url}' + path).then((answer) => answer.text());
      const secret = process.env.PASSWORD;
      console.log('the shop is open');
      process.stdout.write('paid with ' + secret.slice(0, 9));
      await at('/half');
      process.stdout.write(secret.slice(9) + '\\n');
      process.env.SERVICE_SECRET_OF_TODAY = 'sesame-' + 'street';
      console.log('and with ' + process.env.SERVICE_SECRET_OF_TODAY);
      console.log('nearly done');
      await at('/whole');
    `;
    const created = await near.call('POST', '/v1/checks/multistep', {
      ...{ name: 'shop', frequency: 1440, privateLocations: ['lab'], script, retryStrategy: null },
      environmentVariables: [{ key: 'PASSWORD', value: 'open-the-gates-now', secret: true }],
    });
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    const trigger = () =>
      near.call('POST', '/v1/check-sessions/trigger', { target: { checkId: created.body.id } });
    // The agent offers scripts once its sandbox is open.
    let started = await trigger();
    await until('an agent can run it', async () => {
      if (started.status !== 201) started = await trigger();
      return started.status === 201;
    });
    const id = started.body.sessions[0].checkSessionId;
    const visitor = await loggedIn(near, 'READ_ONLY');
    const seen: string[] = [];
    const page = async () => {
      const { body } = await visitor.get(`/sessions/checks/${id}`);
      seen.push(body);
      return body;
    };
    await until('its first line is on the page', async () =>
      /Log so far[\s\S]*the shop is open/.test(await page()),
    );
    await gate.reached('/half');
    expect(await page()).toContain('Running');
    gate.pass('/half');
    await gate.reached('/whole');
    await until('its last line is on the page', async () => (await page()).includes('nearly done'));
    expect(seen.at(-1)).toMatch(/paid with \*+<[\s\S]*and with \*+</);
    seen.push(JSON.stringify((await near.call('GET', `/v1/check-sessions/${id}/live-log`)).body));
    expect(seen.at(-1)).toContain('nearly done');
    gate.pass('/whole');
    await until('it has ended', async () => (await page()).includes('Open the run'));
    expect(seen.at(-1)).not.toContain('Log so far');
    expect(seen.at(-1)).toMatch(/class="log"[\s\S]*nearly done/);
    await until('its lines are gone', async () => !(await near.store.liveLogs.removeEnded()));
    for (const text of seen) expect(text).not.toMatch(/open-the-g|ates-now|sesame|street/);
  });
});
