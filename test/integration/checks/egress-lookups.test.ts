import { expect, it } from 'vitest';
import { definitionSchema, runnableSpec } from '../../../src/checks/contract/definition/definition.ts';
import { CapabilityMissing } from '../../../src/checks/contract/failure.ts';
import type { Runner } from '../../../src/checks/contract/outcome.ts';
import { checkTypes } from '../../../src/checks/index.ts';
import { HostResolver } from '../../../src/probes/dns/host/host-resolver.ts';
import { createEgressPolicy } from '../../../src/probes/egress/policy.ts';
import { startDnsServer } from '../../helpers/dns/dns-server.ts';
import { createHostFiles } from '../../helpers/dns/host-files.ts';
import { runContext } from '../../helpers/run-context.ts';
import type { Samples } from '../conformance/samples/samples.ts';

const closedName = 'data.evil.test';
const probeTypes = checkTypes.filter(({ load, lane }) => load && lane === 'probe');

it.each(probeTypes.map((type) => [type.name, type] as const))(
  '%s resolves no name that the egress policy closes',
  async (_name, type) => {
    await using server = await startDnsServer(() => []);
    using files = createHostFiles(`nameserver ${server.nameserver}`);
    const egress = createEgressPolicy({ allow: '*.shop.test', deny: '*', ownPorts: [] });
    const resolver = new HostResolver(files, 'linux', (name) => egress.lookupRefusal(name));
    const { samples } = (await import(`../conformance/samples/${type.route}.ts`)) as {
      readonly samples: Samples;
    };
    const named = JSON.stringify(samples.minimal).replaceAll(/127\.0\.0\.1|www\.example\.test/g, closedName);
    expect(named).toContain(closedName);
    const definition = definitionSchema(type).parse({ name: 'sample', ...JSON.parse(named) });
    let run: Runner<unknown, unknown>;
    try {
      run = (await type.load?.())?.run as Runner<unknown, unknown>;
    } catch (thrown) {
      if (thrown instanceof CapabilityMissing) return; // not a run either
      throw thrown;
    }
    const { failure } = await run(runnableSpec(type, definition), runContext({ egress, resolver }));
    expect(failure).toMatchObject({
      code: 'EGRESS_DENIED',
      message: expect.stringContaining(`a look-up of ${closedName} is refused by the rule * of EGRESS_DENY`),
      details: { egressRule: 'by the rule * of EGRESS_DENY' },
    });
    expect(server.queries).toEqual([]);
  },
);
