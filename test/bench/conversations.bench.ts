import { needPrograms, runInLab, targetAddress } from './parts/bench-lab.ts';
import { type Bench, numberOption } from './report.ts';

/** About three minutes. Reports how many of the times that are off by more than 5 ms were marked as doubtful. */
const bench: Bench = {
  usage: '[--kinds=tcp,steps,udp,starttls] [--burners=0,2,4] [--runs=300]',
  title: 'Times of TCP, UDP and STARTTLS conversations against the wire, on busy hosts',
  async run(run) {
    needPrograms('tcpdump', 'chrt');
    const target = ['speaking-target.ts', targetAddress, String(numberOption(run, 'runs', 300)), '20'];
    return await runInLab(run, 'conversations-main.ts', target);
  },
};
export default bench;
