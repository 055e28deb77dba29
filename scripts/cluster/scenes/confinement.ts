import { namespace } from '../agent-pods.ts';
import { nodeAddress } from '../cluster.ts';
import type { Stage } from './stage.ts';

/** The security context of the manifests, as the kernel has it. */
export async function confinement({ log, kubectl, pods, service }: Stage): Promise<void> {
  log.heading('The security context holds');
  const [pod] = await pods.all();
  if (!pod) throw new Error('no pod');
  const script = `
    const { readFileSync, writeFileSync, existsSync } = require('node:fs');
    const write = (path) => { try { writeFileSync(path, ''); return 'written'; } catch (error) { return error.code; } };
    const status = readFileSync('/proc/1/status', 'latin1');
    const field = (name) => new RegExp('^' + name + ':\\\\s+(.*)$', 'm').exec(status)[1].split(/\\s+/);
    console.log(JSON.stringify({
      uid: field('Uid'), gid: field('Gid'), noNewPrivileges: field('NoNewPrivs')[0], seccomp: field('Seccomp')[0],
      capabilities: ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((name) => field(name)[0]),
      root: write('/file'), app: write('/app/file'), tmp: write('/tmp/file'), spool: write('/var/spool/picket/file'),
      pings: readFileSync('/proc/sys/net/ipv4/ping_group_range', 'latin1').trim().split(/\\s+/).join(' '),
      hasAccountToken: existsSync('/var/run/secrets/kubernetes.io'),
      hasKeyInEnvironment: Object.keys(process.env).includes('API_KEY'),
    }));`;
  const seen = JSON.parse(
    await kubectl.ask('-n', namespace, 'exec', pod.name, '--', '/usr/bin/node', '-e', script),
  ) as Readonly<Record<string, string | boolean | string[]>>;
  const is = (name: string, wanted: string) => log.expect(`${name} is ${wanted}`, seen[name] === wanted);
  const ids = [...(seen.uid as string[]), ...(seen.gid as string[])];
  log.expect(
    'the process is user and group 10001',
    ids.every((id) => id === '10001'),
    ids.join(' '),
  );
  const capabilities = seen.capabilities as string[];
  log.expect(
    'it has no capability, nor any to be had',
    capabilities.every((set) => /^0+$/.test(set)),
    capabilities.join(' '),
  );
  is('noNewPrivileges', '1');
  log.expect('it is under a seccomp filter', seen.seccomp === '2', String(seen.seccomp));
  log.expect(
    'its root cannot be written',
    seen.root === 'EROFS' && seen.app === 'EROFS',
    `${seen.root}, ${seen.app}`,
  );
  log.expect(
    '/tmp and the spool can',
    seen.tmp === 'written' && seen.spool === 'written',
    `${seen.tmp}, ${seen.spool}`,
  );
  log.expect('it has no token of a service account', seen.hasAccountToken === false);
  log.expect('its key is in a file, not in its environment', seen.hasKeyInEnvironment === false);
  log.expect(
    'the sysctl of the manifest holds',
    seen.pings === '0 2147483647',
    `net.ipv4.ping_group_range = ${seen.pings}`,
  );
  const health = (await (await fetch(`http://${pod.address}:8081/health`)).json()) as {
    readonly checkTypes: readonly string[];
    readonly capabilities: { readonly backends: Readonly<Record<string, string>> };
  };
  const backend = health.capabilities.backends.ICMP ?? 'none';
  log.expect('pings go through datagram sockets', /datagram/.test(backend), backend);
  const results = {
    icmp: await service.tryOnce('icmp', { hostname: nodeAddress, pingCount: 3 }),
    url: await service.tryOnce('url', { url: `${service.target.url}/once` }),
    tcp: await service.tryOnce('tcp', {
      hostname: nodeAddress,
      port: Number(new URL(service.target.url).port),
    }),
  };
  for (const [type, result] of Object.entries(results)) {
    const isGood = result !== undefined && !result.hasFailures && !result.hasErrors;
    log.expect(`a ${type} check passes`, isGood, result ? result.failure?.message : 'no result came');
  }
}
