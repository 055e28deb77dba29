/**
 * The yardstick of the throughput benchmark: GETs with undici alone, each on a new connection. Reads "COUNT\n" on
 * standard input and prints for each line the CPU milliseconds that these requests took.
 *
 * Usage: node bare-undici.ts URL CONCURRENCY
 */
import { createInterface } from 'node:readline';
import { Client } from 'undici';

const [url = '', concurrency = '50'] = process.argv.slice(2);
const { origin, pathname } = new URL(url);

async function getOnce(): Promise<void> {
  const client = new Client(origin, { pipelining: 1, allowH2: false });
  const { statusCode, body } = await client.request({ path: pathname, method: 'GET' });
  await body.text();
  if (statusCode !== 200) throw new Error(`the target answered ${statusCode}`);
  await client.close();
}

async function getMany(count: number): Promise<number> {
  const before = process.cpuUsage();
  let left = count;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      await getOnce();
    }
  };
  await Promise.all(Array.from({ length: Number(concurrency) }, worker));
  const used = process.cpuUsage(before);
  return (used.user + used.system) / 1000;
}

console.log('ready');
for await (const line of createInterface({ input: process.stdin })) console.log(await getMany(Number(line)));
