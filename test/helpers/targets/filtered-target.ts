import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A port that does not reply to a connect, like one behind a firewall that drops packets. */
export interface FilteredTarget extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

const listener = `
  const server = require('node:net').createServer();
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));
`;
/** A backlog of 1 holds two connections; the kernel drops further ones without a reply. */
const queueLength = 2;

/** Starts a listener in a separate process, stops that process and fills its accept queue. */
export async function startFilteredTarget(): Promise<FilteredTarget> {
  const child = spawn(process.execPath, ['--eval', listener], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(output.toString());
  child.kill('SIGSTOP');
  const host = '127.0.0.1';
  const fillers: Socket[] = [];
  for (let index = 0; index < queueLength; index += 1) {
    const filler = connect({ host, port });
    filler.on('error', () => filler.destroy());
    fillers.push(filler);
    await once(filler, 'connect');
  }
  const close = async () => {
    for (const filler of fillers) filler.destroy();
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  return { host, port, close, [Symbol.asyncDispose]: close };
}
