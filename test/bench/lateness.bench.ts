import { setTimeout as delay } from 'node:timers/promises';
import {
  cpuMsOf,
  createLocation,
  startAgentProcess,
  startServiceProcess,
} from '../helpers/picket-process.ts';
import { readLedger } from '../helpers/service/ledger-view.ts';
import { startLineProcess } from './parts/line-process.ts';
import { type Bench, numberOption, quantile } from './report.ts';

const bench: Bench = {
  usage: '[--checks=1000] [--minutes=3]',
  title: 'One-minute URL checks on one agent: slots and lateness',
  async run(run) {
    const checks = numberOption(run, 'checks', 1000);
    const minutes = numberOption(run, 'minutes', 3);
    await using target = startLineProcess('target.ts');
    const targetUrl = `http://127.0.0.1:${await target.next()}/`;
    await using service = await startServiceProcess();
    const location = await createLocation(service, 'bench');
    run.progress(`creating ${checks} checks`);
    for (let index = 0; index < checks; index += 1) {
      await service.api('POST', '/v1/checks/url', {
        name: `check ${index}`,
        frequency: 1,
        privateLocations: [location.slugName],
        request: {
          url: targetUrl,
          assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' }],
        },
      });
    }
    await using agent = await startAgentProcess({ serviceUrl: service.url, key: location.key });
    await delay(2000);
    const startsAt = Date.now();
    const endsAt = startsAt + minutes * 60_000;
    const agentCpu = await cpuMsOf(agent.process.pid);
    const serviceCpu = await cpuMsOf(service.process.pid);
    while (Date.now() < endsAt) {
      run.progress(`${Math.ceil((endsAt - Date.now()) / 1000)} s to go`);
      await delay(Math.min(30_000, Math.max(0, endsAt - Date.now())));
    }
    const agentCpuMs = (await cpuMsOf(agent.process.pid)) - agentCpu;
    const serviceCpuMs = (await cpuMsOf(service.process.pid)) - serviceCpu;
    await delay(5000); // results of the last second are in flight

    const runs = readLedger(service.dataDir).filter(({ slotAt }) => slotAt >= startsAt && slotAt < endsAt);
    const due = checks * minutes;
    const finalOnce = runs.filter(({ state, finals }) => state === 'final' && finals === 1).length;
    const doubled = runs.filter(({ finals }) => finals > 1).length;
    const lateness = runs.flatMap(({ startedAt, slotAt }) =>
      startedAt === null ? [] : [startedAt - slotAt],
    );
    const response = runs.flatMap(({ responseTimeMs }) => (responseTimeMs === null ? [] : [responseTimeMs]));
    const ms = (values: readonly number[], q: number) => quantile(values, q).toFixed(1);
    return {
      columns: ['figure', 'value'],
      rows: [
        ['slots due', String(due)],
        ['slots with exactly one FINAL', String(finalOnce)],
        ['slots with more than one FINAL', String(doubled)],
        [
          'lateness p50 / p99 / max (ms)',
          `${ms(lateness, 0.5)} / ${ms(lateness, 0.99)} / ${ms(lateness, 1)}`,
        ],
        ['response time p50 / p99 (ms)', `${ms(response, 0.5)} / ${ms(response, 0.99)}`],
        ['CPU of the agent per run (ms)', (agentCpuMs / runs.length).toFixed(2)],
        ['CPU of the service per run (ms)', (serviceCpuMs / runs.length).toFixed(2)],
      ],
      notes: [
        'Lateness: from the due time of a slot to the start of its probe. Service (SQLite), agent and target share the machine.',
      ],
      figures: {
        due,
        final_once: finalOnce,
        lateness_p99_ms: ms(lateness, 0.99),
        agent_cpu_ms_per_run: (agentCpuMs / runs.length).toFixed(2),
      },
    };
  },
};
export default bench;
