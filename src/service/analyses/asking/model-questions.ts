import type { Parts } from '../../../platform/feature/parts.ts';
import type { Job } from '../../../platform/jobs/job-loop.ts';
import { ReceiverNames } from '../../../platform/outbound/receiver-names.ts';
import { createEgressPolicy } from '../../../probes/egress/policy.ts';
import { ModelAnalyst } from './model-analyst.ts';

/** Asks the model what rules leave open, apart from the analyses themselves, which no model may hold up. */
export function modelQuestions({ model, config, ...parts }: Parts): readonly Job[] {
  if (!model) return [];
  const names = new ReceiverNames();
  const work = new ModelAnalyst({
    ...{ ...parts, model },
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
  // One process asks, so that its limits of a day are those of all.
  return [{ name: 'questions to a model', leaderOnly: true, wakesOn: ['alerts'], longestMs: 2_000, work }];
}
