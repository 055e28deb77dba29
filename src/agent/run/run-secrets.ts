import type { FailureDetails } from '@picket/checks/contract/failure-details.ts';
import type { SecretReferences, UnavailableSecret } from '../references/secret-references.ts';
import type { RunOrder } from './contracts.ts';

const prefix = 'SERVICE_SECRET_';
/** The key of a code bundle, as a string of JSON: the files of a suite are not known here. */
const bundleKey = /"[0-9a-f]{64}-[1-9]\d{0,9}"/;

/** An order with the secrets whose values live elsewhere, or why it cannot run. */
export interface OrderWithSecrets {
  readonly order: RunOrder;
  /** Message and details of the failure; absent if the run has all secrets that it needs. */
  readonly unavailable?: { readonly message: string; readonly details: FailureDetails } | undefined;
}

/**
 * Adds the secrets that are declared by reference, as variables that are masked. A variable of the check with the same
 * name takes precedence. A run needs the secrets that its definition or its scripts mention, and all of them if it puts
 * names together or runs a suite.
 */
export async function withSecrets(order: RunOrder, references: SecretReferences): Promise<OrderWithSecrets> {
  if (references.isEmpty) return { order };
  const { input } = order;
  const { values, others, unavailable } = await references.current();
  const missing = unavailable.filter(({ name }) => input.variables[name] === undefined);
  const needed = missing.length > 0 ? mentionedNames(order) : 'all';
  const first = missing.find(({ name }) => needed === 'all' || needed.has(name));
  if (first) return { order, unavailable: failureOf(first) };
  return {
    order: {
      ...order,
      input: {
        ...input,
        variables: { ...values, ...input.variables },
        secretNames: [...new Set([...input.secretNames, ...Object.keys(values)])],
        otherSecrets: others,
      },
    },
  };
}

/** Names of secrets in everything that a run executes; `all` if some names are only known when it runs. */
function mentionedNames({ spec, input }: RunOrder): ReadonlySet<string> | 'all' {
  const { variables, lifecycle, snippets, plan } = input;
  const text = JSON.stringify([spec, Object.values(variables), lifecycle, snippets, plan]);
  if (bundleKey.test(text)) return 'all';
  const names = new Set(text.match(/SERVICE_SECRET_\w*/g));
  return names.has(prefix) ? 'all' : names;
}

function failureOf({
  name,
  provider,
  problem,
}: UnavailableSecret): NonNullable<OrderWithSecrets['unavailable']> {
  const { reason, status, message } = problem;
  return {
    message: `${name} is not available at this location. Provider "${provider}": ${message}`,
    details: {
      secretName: name,
      secretProvider: provider,
      secretReason: reason,
      ...(status === undefined ? {} : { secretStatus: status }),
    },
  };
}
