/** Entry of the thread that runs the echo engine. */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { type Libc, loadLibc, SysUnavailable } from '../sys/libc.ts';
import { EchoEngine } from './engine.ts';
import type { EngineStart, FromEngine, ToEngine } from './engine-messages.ts';

if (!parentPort) throw new Error('engine-worker runs in a worker thread only');
const port = parentPort;
const { wakeUpDescriptor } = workerData as EngineStart;

const libc = await loaded();
if (libc) {
  const engine = new EchoEngine(libc, wakeUpDescriptor, send);
  const nextMessage = () => receiveMessageOnPort(port)?.message as ToEngine | undefined;
  port.on('message', (message: ToEngine) => {
    engine.serve(message, nextMessage);
    if (engine.isClosed) port.close();
  });
  send({ type: 'ready', families: engine.families });
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

function send(message: FromEngine): void {
  port.postMessage(message);
}
