/**
 * The fake control plane for manual use: `node test/helpers/agent/fake-service/main.ts [PORT] [URL] [SECONDS]` hands
 * out one run of URL every SECONDS (default 5) and prints the results. Start an agent against it with any key:
 * `API_KEY=pl_test SERVICE_URL=http://127.0.0.1:PORT node src/cli.ts agent`.
 */
import { FakeService } from './fake-service.ts';
import { leasedRun } from './leased-run.ts';

const [port = '8090', url = 'https://example.com/', seconds = '5'] = process.argv.slice(2);
const service = new FakeService();
await service.listen(Number(port));
console.log(`fake service on ${service.url}`);
service.script = (call) => {
  if (call.name === 'results') {
    for (const result of call.body.results as { responseTimeMs: number; failure: unknown }[]) {
      console.log('result', result.responseTimeMs, result.failure ?? 'passed');
    }
  } else {
    console.log(call.name, call.name === 'claim' ? JSON.stringify(call.body.freeSlots) : '');
  }
  return undefined;
};
service.onOtherCall = (path) => console.log('other', path);
setInterval(() => service.enqueue(leasedRun(url)), Number(seconds) * 1000);
