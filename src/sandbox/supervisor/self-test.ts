import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, copyFile, realpath, rename } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { hasNamespaces, needsRoot, type SandboxMechanism } from '../mechanism.ts';
import { impassableFolder } from './launch.ts';
import { supervisorSecretName } from './message.ts';
import type { Slot } from './slot.ts';

/** Properties of a sandboxed program, as it observes them itself. */
const SelfView = z.object({
  uid: z.number(),
  groupCount: z.number(),
  noNewPrivileges: z.string(),
  capabilities: z.array(z.string()),
  readablePrivatePaths: z.array(z.string()),
  unreadablePaths: z.array(z.string()),
  foundSupervisorSecret: z.boolean(),
  canWrite: z.boolean(),
  hasOwnProc: z.boolean(),
  connected: z.string(),
});

const selfTestMs = 20_000;
const megabyte = 1024 * 1024;
const greeting = 'hello';

/** Runs in the sandbox. It tries every action instead of reading settings: only the kernel's behaviour counts. */
const selfView = `
const fs = require('node:fs');
const { secretHash, privatePaths, readablePaths, isCovered, hostPort } = JSON.parse(process.argv[1]);
const digest = (text) => require('node:crypto').createHash('sha256').update(text).digest('hex');
const can = (action) => { try { action(); return true; } catch { return false; } };
const open = (path) => can(() => fs.statSync(path).isDirectory() ? fs.readdirSync(path) : fs.closeSync(fs.openSync(path)));
const isBare = (path) => can(() => { if (fs.statSync(path).isDirectory() ? fs.readdirSync(path).length > 0 : fs.readFileSync(path).length > 0) throw new Error(); });
const status = fs.readFileSync('/proc/self/status', 'latin1');
const field = (name) => new RegExp('^' + name + ':\\\\s+(\\\\S+)', 'm').exec(status)?.[1] ?? '';
const environments = fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).map((pid) => {
  try { return fs.readFileSync('/proc/' + pid + '/environ', 'latin1'); } catch { return ''; }
}).join('\\0').split('\\0');
const facts = {
  uid: process.getuid(),
  groupCount: process.getgroups().filter((group) => group !== process.getgid()).length,
  noNewPrivileges: field('NoNewPrivs'),
  capabilities: ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map(field),
  readablePrivatePaths: privatePaths.filter((path) => open(path) && !(isCovered && isBare(path))),
  unreadablePaths: readablePaths.filter((path) => !open(path)),
  foundSupervisorSecret: environments.some((entry) => entry.startsWith('${supervisorSecretName}=') && digest(entry.slice(${
    supervisorSecretName.length + 1
  })) === secretHash),
  hasOwnProc: fs.readlinkSync('/proc/self') === String(process.pid),
  canWrite: can(() => fs.writeFileSync('written', 'x')) && can(() => fs.writeFileSync(require('node:os').tmpdir() + '/written', 'x')),
};
const socket = require('node:net').connect(hostPort, '127.0.0.1');
const tell = (connected) => { fs.writeSync(3, JSON.stringify({ ...facts, connected }) + '\\n'); process.exit(0); };
socket.on('error', (error) => tell(error.code)).on('data', (data) => tell(String(data)));
`;

/**
 * Runs a program in a slot that attempts forbidden actions.
 *
 * @returns protections that are weaker than possible.
 * @throws Error if the mechanism does not work here; the message explains why.
 */
export async function selfTest(
  slot: Slot,
  mechanism: SandboxMechanism,
  given: {
    readonly nodePath: string;
    readonly readablePaths: readonly string[];
    readonly privatePaths: readonly string[];
    readonly secretHash: string;
  },
): Promise<string[]> {
  let events = '';
  let errors = '';
  const server = createServer((socket) => socket.on('error', () => undefined).end(greeting));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port: hostPort } = server.address() as AddressInfo;
  slot.openTestPort(hostPort);
  const program = slot.start(
    {
      path: given.nodePath,
      args: ['-e', selfView, JSON.stringify({ ...given, hostPort, isCovered: hasNamespaces(mechanism) })],
      environment: {},
      hasEvents: true,
      limits: {
        memoryBytes: 512 * megabyte,
        wallMs: selfTestMs,
        cpuMs: selfTestMs,
        processCount: 64,
        outputBytes: megabyte,
        diskBytes: megabyte,
      },
    },
    (stream, chunk, onSent) => {
      if (stream === 'events') events += chunk.toString('utf8');
      if (stream === 'stderr') errors += chunk.toString('utf8');
      onSent();
    },
  );
  const end = await program.ended;
  server.close();
  if (end.reason !== 'exited' || end.exitCode !== 0) {
    const why =
      end.problem ?? (errors.trim() || `${end.reason}, exit code ${end.exitCode}, signal ${end.signal}`);
    throw new Error(why.slice(0, 500));
  }
  const view = SelfView.parse(JSON.parse(events));
  if (view.connected !== greeting)
    throw new Error(`connections of scripts do not get out (${view.connected})`);
  if (!view.canWrite) throw new Error(`${slot.directory} cannot be written from inside`);
  if (needsRoot(mechanism) && view.uid !== slot.uid) throw new Error(`the user did not change (${view.uid})`);
  if (needsRoot(mechanism) && view.groupCount > 0) throw new Error('groups of the agent were kept');
  if (view.unreadablePaths.length > 0) throw new Error(unreadable(view.unreadablePaths));
  if (mechanism === 'none')
    return ['scripts run as the agent itself: they can read its key, files and memory'];
  if (view.noNewPrivileges !== '1') throw new Error('no_new_privs is not set');
  if (view.capabilities.some((set) => /[^0]/.test(set))) throw new Error('capabilities were kept');
  if (view.foundSupervisorSecret) throw new Error("environments of the agent's processes can be read");
  if (view.readablePrivatePaths.length > 0) {
    throw new Error(
      `readable from inside, and must not be: ${view.readablePrivatePaths.join(', ')} (chmod go-rwx)`,
    );
  }
  const seen =
    'scripts see the names of all processes here: /proc is partly covered, and so cannot be mounted anew';
  return hasNamespaces(mechanism) && !view.hasOwnProc ? [seen] : [];
}

function unreadable(paths: readonly string[]): string {
  const reasons = paths.map((path) => {
    const folder = impassableFolder(path);
    return folder
      ? `${path} (${folder} cannot be entered by other users: chmod o+x, or put it elsewhere)`
      : path;
  });
  return `out of reach from inside: ${reasons.join(', ')}`;
}

/**
 * Returns the Node executable for scripts: the original, or a copy if they cannot access it, for example in a private
 * home folder, or in /tmp if they have their own.
 */
export async function reachableNode(
  nodePath: string,
  mechanism: SandboxMechanism,
  directory: string,
): Promise<string> {
  const real = await realpath(nodePath);
  const isHidden = hasNamespaces(mechanism) && /^\/(?:tmp|dev\/shm)\//.test(real);
  const isClosed = needsRoot(mechanism) && impassableFolder(real);
  if (!isHidden && !isClosed) return real;
  const copy = join(directory, 'node');
  const isThere = await access(copy, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!isThere) {
    const partial = `${copy}.partial`;
    await copyFile(real, partial, constants.COPYFILE_FICLONE);
    await rename(partial, copy);
  }
  return copy;
}
