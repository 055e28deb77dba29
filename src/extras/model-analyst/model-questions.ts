import type { ModelAccess } from '@picket/checks/model/access.ts';
import type { Parts } from '@picket/platform/feature/parts.ts';
import type { Job } from '@picket/platform/jobs/job-loop.ts';
import { ReceiverNames } from '@picket/platform/outbound/receiver-names.ts';
import { createEgressPolicy } from '@picket/probes/egress/policy.ts';
import { ModelAnalyst } from './model-analyst.ts';

/** Asks the model what rules leave open, apart from the analyses themselves, which no model may hold up. */
export function modelQuestions({
  config,
  ...parts
}: Parts & { readonly model: ModelAccess }): readonly Job[] {
  const names = new ReceiverNames();
  const work = new ModelAnalyst({
    ...parts,
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
