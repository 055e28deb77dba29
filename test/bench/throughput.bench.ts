import { FakeService } from '../helpers/agent/fake-service/fake-service.ts';
import { leasedRun } from '../helpers/agent/fake-service/leased-run.ts';
import { cpuMsOf, startAgentProcess } from '../helpers/picket-process.ts';
import { startLineProcess } from './parts/line-process.ts';
import { type Bench, numberOption, quantile } from './report.ts';

const bench: Bench = {
  usage: '[--checks=3000] [--rounds=7] [--concurrency=50]',
  title: 'URL checks per CPU-second: the whole agent compared with a bare undici loop',
  async run(run) {
    const checks = numberOption(run, 'checks', 3000);
    const rounds = numberOption(run, 'rounds', 7);
    const concurrency = numberOption(run, 'concurrency', 50);
    await using target = startLineProcess('target.ts');
    const url = `http://127.0.0.1:${await target.next()}/`;
    await using bare = startLineProcess('bare-undici.ts', [url, String(concurrency)]);
    await bare.next();
    const service = new FakeService();
    await service.listen();
    const options = { serviceUrl: service.url, key: 'pl_0123456789abcdef' };
    await using agent = await startAgentProcess(options, { PROBE_CONCURRENCY: String(concurrency) });

    const agentRound = async (count: number): Promise<number> => {
      service.results.length = 0;
      service.receipts.length = 0;
      service.calls.length = 0;
      const before = await cpuMsOf(agent.process.pid);
      service.enqueue(...Array.from({ length: count }, () => leasedRun(url)));
      await service.waitFor(`${count} results`, () => service.receipts.length === count, 120_000);
      const failed = service.results.filter(({ failure }) => failure !== null);
      if (failed.length > 0)
        throw new Error(`${failed.length} checks did not pass: ${failed[0]?.failure?.message}`);
      return (await cpuMsOf(agent.process.pid)) - before;
    };
    const bareRound = async (count: number): Promise<number> => Number(await bare.ask(String(count)));

    await agentRound(1000);
    await bareRound(1000);
    const rows: string[][] = [];
    const ratios: number[] = [];
    const costs = { agent: [] as number[], bare: [] as number[] };
    for (let round = 1; round <= rounds; round += 1) {
      // The order of the two alternates, so that a drift of the machine favours neither.
      const isAgentFirst = round % 2 === 1;
      const first = await (isAgentFirst ? agentRound(checks) : bareRound(checks));
      const second = await (isAgentFirst ? bareRound(checks) : agentRound(checks));
      const [agentMs, bareMs] = isAgentFirst ? [first, second] : [second, first];
      const perSecond = (cpuMs: number) => (checks / cpuMs) * 1000;
      const ratio = bareMs / agentMs;
      ratios.push(ratio);
      costs.agent.push((agentMs / checks) * 1000);
      costs.bare.push((bareMs / checks) * 1000);
      rows.push([
        String(round),
        perSecond(agentMs).toFixed(0),
        perSecond(bareMs).toFixed(0),
        ((agentMs / checks) * 1000).toFixed(0),
        ((bareMs / checks) * 1000).toFixed(0),
        ratio.toFixed(2),
      ]);
      run.progress(`round ${round} of ${rounds}: ratio ${ratio.toFixed(2)}`);
    }
    await service.close();
    const median = (values: readonly number[]) => quantile(values, 0.5);
    return {
      columns: [
        'round',
        'agent (checks per CPU-s)',
        'bare undici',
        'agent (µs CPU per check)',
        'bare undici (µs)',
        'ratio',
      ],
      rows,
      notes: [
        'Agent: lease, probe, assertions, report and acknowledgement of a URL monitor, all threads counted, against a fake service in another process. Bare: one GET with undici on a fresh connection each, nothing else.',
        `${checks} plain HTTP checks a round, ${concurrency} at a time, rounds in alternating order. Median ratio ${median(ratios).toFixed(2)}.`,
      ],
      figures: {
        ratio: median(ratios).toFixed(2),
        agent_us: median(costs.agent).toFixed(0),
        bare_us: median(costs.bare).toFixed(0),
      },
    };
  },
};
export default bench;
