import { needPrograms, runInLab, targetAddress } from './parts/bench-lab.ts';
import { type Bench, numberOption, textOption } from './report.ts';

/**
 * `--only` takes a part such as `https bursts`, `ssl`, `grpc`, `websocket` or `icmp`. With burners, that many
 * processes that never pause share one core with the prober, at the same priority, and the report says how many of the
 * wrong times were flagged as doubtful.
 */
const bench: Bench = {
  usage: '[--seconds=10] [--wait=100] [--only=PART] [--burners=0]',
  title: 'Reported times against the wire, compared with blackbox_exporter',
  async run(run) {
    const isPeerNeeded = !/^(ssl|grpc|websocket)/.test(textOption(run, 'only', ''));
    needPrograms('tcpdump', 'chrt', ...(isPeerNeeded ? (['prometheus-blackbox-exporter'] as const) : []));
    const waitMs = numberOption(run, 'wait', 100);
    return await runInLab(run, 'accuracy-main.ts', ['waiting-target.ts', targetAddress, String(waitMs)]);
  },
};
export default bench;
