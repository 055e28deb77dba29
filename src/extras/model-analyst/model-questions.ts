import type { ModelAccess } from '@picket/checks/model/access.ts';
import type { Parts } from '@picket/platform/feature/parts.ts';
import type { Job } from '@picket/platform/jobs/job-loop.ts';
import { ReceiverNames } from '@picket/platform/outbound/receiver-names.ts';
import { createEgressPolicy } from '@picket/probes/egress/policy.ts';
import { ModelAnalyst } from './model-analyst.ts';

/** Sends open questions to the model, separately from the analyses, which must not wait for a model. */
export function modelQuestions({
  config,
  ...parts
}: Parts & { readonly model: ModelAccess }): readonly Job[] {
  const names = new ReceiverNames();
  const work = new ModelAnalyst({
    ...parts,
    network: {
      // The operator chose the address, so a model on this host is allowed.
      egress: createEgressPolicy({ allow: config.EGRESS_ALLOW, deny: config.EGRESS_DENY, ownPorts: [] }),
      resolver: {
        resolve: async (hostname) => {
          const found = await names.addressesOf(hostname);
          return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
        },
      },
    },
  });
  // Only one process sends requests, so that its daily limits apply to all.
  return [{ name: 'questions to a model', leaderOnly: true, wakesOn: ['alerts'], longestMs: 2_000, work }];
}
