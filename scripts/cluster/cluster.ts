import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mustRun } from '../images/command.ts';
import { startUnpackedDocker, unpackedPrograms } from '../images/unpacked-docker.ts';
import { canRaiseLimits } from './control-groups.ts';
import { Daemon } from './daemon.ts';
import { Kubectl } from './kubectl.ts';
import { makeNodeFiles, makeNodeNetwork } from './node-files.ts';
import { engineFolder, imageArchive, pauseImage } from './trial-images.ts';

/** The node's; the service and the target listen there too. */
export const nodeAddress = '10.214.0.1';
const apiUrl = 'https://127.0.0.1:6443';
const etcdUrl = 'http://127.0.0.1:2379';
const startMs = 180_000;

export interface ClusterOptions {
  readonly cacheFolder: string;
  /** Where the programs are. */
  readonly programs: string;
  /** For everything that this cluster writes. */
  readonly folder: string;
  /** The control group that everything is put below, without a slash. */
  readonly controlGroup: string;
}

/**
 * A cluster of one node: etcd, API server, controller manager, scheduler, kubelet and Docker, in the network, mount and process namespaces
 * of this process. Whoever asks may do everything: rights are not what is tried. There is no network plug-in and no proxy: pods are at the
 * engine's bridge, network policies are kept but not enforced, and services have no address that works.
 */
export class Cluster implements AsyncDisposable {
  readonly kubectl: Kubectl;
  readonly docker: { readonly client: string; readonly host: string };
  readonly #running: AsyncDisposable[];

  private constructor(
    kubectl: Kubectl,
    docker: { readonly client: string; readonly host: string },
    running: AsyncDisposable[],
  ) {
    this.kubectl = kubectl;
    this.docker = docker;
    this.#running = running;
  }

  static async start(options: ClusterOptions): Promise<Cluster> {
    const { folder } = options;
    await mkdir(join(folder, 'logs'), { recursive: true });
    await makeNodeFiles(join(folder, 'files'));
    await makeNodeNetwork(nodeAddress);
    const running: AsyncDisposable[] = [];
    try {
      const kubeconfig = await writeIdentities(folder);
      const kubectl = new Kubectl(join(options.programs, 'kubectl'), kubeconfig, folder);
      const [docker] = await Promise.all([
        startEngine(options, running),
        startControlPlane(options, kubeconfig, kubectl, running),
      ]);
      await startKubelet(options, kubeconfig, kubectl, docker.host, running);
      return new Cluster(kubectl, docker, running);
    } catch (thrown) {
      await stopAll(running);
      throw thrown;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await stopAll(this.#running);
  }
}

async function stopAll(running: AsyncDisposable[]): Promise<void> {
  for (const each of running.splice(0).reverse()) await each[Symbol.asyncDispose]();
}

/** A key for service accounts, and one identity for all, which may do everything. @returns the path of its kubeconfig. */
async function writeIdentities(folder: string): Promise<string> {
  const token = randomBytes(16).toString('hex');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(join(folder, 'accounts.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }), {
    mode: 0o600,
  });
  await writeFile(join(folder, 'tokens.csv'), `${token},trial,trial,"system:masters"\n`, { mode: 0o600 });
  const kubeconfig = join(folder, 'kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'trial', cluster: { server: apiUrl, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'trial', user: { token } }],
    contexts: [{ name: 'trial', context: { cluster: 'trial', user: 'trial' } }],
    'current-context': 'trial',
  };
  await writeFile(kubeconfig, JSON.stringify(config), { mode: 0o600 });
  return kubeconfig;
}

async function startEngine(
  { cacheFolder, folder, controlGroup }: ClusterOptions,
  running: AsyncDisposable[],
) {
  const engine = engineFolder(cacheFolder);
  const args = ['--cgroup-parent', `/${controlGroup}/docker`, '--userland-proxy=false'];
  if (!canRaiseLimits()) {
    const wrapper = join(folder, 'runc-with-permitted-limits');
    const editor = join(import.meta.dirname, 'permitted-limits.ts');
    const runc = join(unpackedPrograms(engine), 'usr/sbin/runc');
    await writeFile(
      wrapper,
      [
        '#!/bin/sh',
        `case " $* " in *" create "*|*" exec "*|*" run "*) '${process.execPath}' '${editor}' "$@" || exit 1;; esac`,
        `exec '${runc}' "$@"`,
        '',
      ].join('\n'),
    );
    await chmod(wrapper, 0o755);
    args.push('--add-runtime', `permitted=${wrapper}`, '--default-runtime', 'permitted');
  }
  const docker = await startUnpackedDocker(engine, { state: join(folder, 'docker'), args });
  if (typeof docker === 'string') throw new Error(docker);
  running.push({ [Symbol.asyncDispose]: () => docker.stop() });
  await mustRun(docker.client, ['load', '--input', imageArchive(cacheFolder)], {
    environment: { DOCKER_HOST: docker.host },
  });
  return docker;
}

async function startControlPlane(
  { folder, programs }: ClusterOptions,
  kubeconfig: string,
  kubectl: Kubectl,
  running: AsyncDisposable[],
): Promise<void> {
  const start = (name: string, args: readonly string[]) => {
    const logFile = join(folder, 'logs', `${name}.log`);
    const daemon = new Daemon({ name, program: join(programs, name), args, logFile });
    running.push(daemon);
    return daemon;
  };
  start('etcd', [
    ...['--data-dir', join(folder, 'etcd'), '--listen-client-urls', etcdUrl],
    ...['--advertise-client-urls', etcdUrl, '--listen-peer-urls', 'http://127.0.0.1:2380'],
    // Other work of the machine must not cost it its leadership.
    ...['--heartbeat-interval', '1000', '--election-timeout', '10000'],
  ]);
  const certificates = join(folder, 'certificates');
  const accountsKey = join(folder, 'accounts.key');
  const apiServer = start('kube-apiserver', [
    `--etcd-servers=${etcdUrl}`,
    '--bind-address=127.0.0.1',
    '--secure-port=6443',
    `--advertise-address=${nodeAddress}`,
    `--cert-dir=${certificates}`,
    '--service-cluster-ip-range=10.215.0.0/24',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-signing-key-file=${accountsKey}`,
    `--service-account-key-file=${accountsKey}`,
    `--token-auth-file=${join(folder, 'tokens.csv')}`,
    '--authorization-mode=AlwaysAllow',
    '--kubelet-preferred-address-types=InternalIP',
  ]);
  await apiServer.until(
    'the API server is ready',
    () => kubectl.succeeds('get', '--raw', '/readyz'),
    startMs,
  );
  const common = [
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--bind-address=127.0.0.1',
    '--port=0',
  ];
  start('kube-controller-manager', [
    ...common,
    `--cert-dir=${certificates}-controller`,
    `--service-account-private-key-file=${accountsKey}`,
    // A machine that is busy with other things is no lost node.
    '--node-monitor-grace-period=5m',
  ]);
  start('kube-scheduler', [...common, `--cert-dir=${certificates}-scheduler`]);
}

async function startKubelet(
  { folder, programs, controlGroup }: ClusterOptions,
  kubeconfig: string,
  kubectl: Kubectl,
  dockerHost: string,
  running: AsyncDisposable[],
): Promise<void> {
  const kubelet = new Daemon({
    name: 'kubelet',
    program: join(programs, 'kubelet'),
    logFile: join(folder, 'logs', 'kubelet.log'),
    environment: { PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` },
    args: [
      `--kubeconfig=${kubeconfig}`,
      '--container-runtime=docker',
      `--docker-endpoint=${dockerHost}`,
      `--pod-infra-container-image=${pauseImage}`,
      '--hostname-override=trial',
      `--node-ip=${nodeAddress}`,
      '--cgroup-driver=cgroupfs',
      `--cgroup-root=/${controlGroup}`,
      // What the machine has belongs to others as well.
      '--enforce-node-allocatable=',
      '--eviction-hard=',
      '--image-gc-high-threshold=100',
      '--fail-swap-on=false',
      ...(canRaiseLimits() ? [] : ['--oom-score-adj=0']),
      '--read-only-port=0',
      '--anonymous-auth=true',
      '--authorization-mode=AlwaysAllow',
    ],
  });
  running.push(kubelet);
  const isReady = async () => {
    const nodes = await kubectl.list<{ status: { conditions?: { type: string; status: string }[] } }>(
      'nodes',
    );
    return nodes.some(({ status }) =>
      status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True'),
    );
  };
  await kubelet.until('the node is ready', isReady, startMs);
  const hasAccount = () => kubectl.succeeds('get', 'serviceaccount', 'default');
  await kubelet.until('service accounts are made', hasAccount, startMs);
}
