import { createEgressPolicy } from '../../probes/egress/policy.ts';
import type { ServiceConfig } from '../config/config.ts';
import { defineJob } from '../jobs/job-loop.ts';
import { ReceiverNames } from '../outbound/receiver-names.ts';
import { Analyst } from './analyst.ts';
import { ModelAnalyst } from './asking/model-analyst.ts';

export function analysesJob(deps: ConstructorParameters<typeof Analyst>[0]) {
  const analyst = new Analyst(deps);
  return defineJob({
    name: 'root cause analyses',
    leaderOnly: true,
    wakesOn: ['alerts'],
    longestMs: 2_000,
    run: () => analyst.turn(),
  });
}

/** Apart from the analyses themselves, which no model may hold up. */
export function modelQuestionsJob({
  config,
  ...deps
}: Omit<ConstructorParameters<typeof ModelAnalyst>[0], 'network'> & {
  readonly config: Pick<ServiceConfig, 'EGRESS_ALLOW' | 'EGRESS_DENY'>;
}) {
  const names = new ReceiverNames();
  const analyst = new ModelAnalyst({
    ...deps,
    network: {
      // The operator chose the address, so that a model on this host is as good as any.
      egress: createEgressPolicy({ allow: config.EGRESS_ALLOW, deny: config.EGRESS_DENY, ownPorts: [] }),
      resolver: {
        resolve: async (hostname) => {
          const found = await names.addressesOf(hostname);
          return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
        },
      },
    },
  });
  return defineJob({
    name: 'questions to a model',
    // One process asks, so that its limits of a day are those of all.
    leaderOnly: true,
    wakesOn: ['alerts'],
    longestMs: 2_000,
    run: () => analyst.turn(),
    stopping: () => analyst.stop(),
  });
}
