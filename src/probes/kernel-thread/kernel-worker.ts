/** Entry point of the kernel thread. */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { type Libc, loadLibc, SysUnavailable } from '../sys/libc.ts';
import { KernelLoop } from './kernel-loop.ts';
import type { FromKernelThread, KernelThreadStart, ToKernelThread } from './messages.ts';
import { runPromptly } from './scheduling.ts';

if (!parentPort) throw new Error('kernel-worker runs in a worker thread only');
const port = parentPort;

void begin();

async function begin(): Promise<void> {
  const libc = await loaded();
  if (!libc) return;
  // Requests prompt scheduling, so that timestamps are taken in time on a busy host. If that is refused, the thread
  // waits its turn.
  runPromptly(libc);
  const loop = new KernelLoop(libc, workerData as KernelThreadStart);
  const nextMessage = () => receiveMessageOnPort(port)?.message as ToKernelThread | undefined;
  port.on('message', (message: ToKernelThread) => {
    loop.serve(message, nextMessage);
    if (loop.isEnded) port.close();
  });
  send({ type: 'ready' });
}

async function loaded(): Promise<Libc | undefined> {
  try {
    return await loadLibc();
  } catch (thrown) {
    if (!(thrown instanceof SysUnavailable)) throw thrown;
    send({ type: 'unavailable', reason: thrown.message });
    return undefined;
  }
}

function send(message: FromKernelThread): void {
  port.postMessage(message);
}
