import type { FailureDetails } from '@picket/checks/contract/failure-details.ts';
import type { SecretReferences, UnavailableSecret } from '../references/secret-references.ts';
import type { RunOrder } from './contracts.ts';

const prefix = 'SERVICE_SECRET_';
/** The key of a code bundle, as a string of JSON: the files of a suite are not known here. */
const bundleKey = /"[0-9a-f]{64}-[1-9]\d{0,9}"/;

/** All secrets that the agent declares, the only ones that a run can get. */
export interface LocationSecrets {
  /** Those whose value is elsewhere. */
  readonly references: SecretReferences;
  /** Those whose value is in the environment of the agent. */
  readonly literal: Readonly<Record<string, string>>;
}

/** An order with its secrets, or why it cannot run. */
export interface OrderWithSecrets {
  readonly order: RunOrder;
  /** Message and details of the failure; absent if the run has all secrets that it needs. */
  readonly unavailable?: MissingSecret | undefined;
}

interface MissingSecret {
  readonly message: string;
  readonly details: FailureDetails;
}

/**
 * Adds the secrets that are declared by reference, and variables of the account whose value is a secret of this
 * location. All of them are masked. A variable of the check with the same name takes precedence. A run needs the
 * variables that its definition or its scripts mention, and all of them if it puts names together or runs a suite.
 */
export async function withSecrets(
  order: RunOrder,
  { references, literal }: LocationSecrets,
): Promise<OrderWithSecrets> {
  const { input, valuesFrom = {} } = order;
  const wanted = Object.entries(valuesFrom);
  if (references.isEmpty && wanted.length === 0) return { order };
  const { values, others, unavailable } = await references.current();
  const missing = new Map<string, MissingSecret>();
  for (const secret of unavailable) {
    if (input.variables[secret.name] === undefined) missing.set(secret.name, failureOf(secret));
  }
  const fromLocation: Record<string, string> = {};
  for (const [variable, name] of wanted) {
    const value = ownText(values, name) ?? ownText(literal, name);
    if (value !== undefined) fromLocation[variable] = value;
    else missing.set(variable, missingVariable(variable, name, unavailable));
  }
  if (missing.size > 0) {
    const isNeeded = needsOf(order);
    for (const [name, failure] of missing) if (isNeeded(name)) return { order, unavailable: failure };
  }
  return {
    order: {
      ...order,
      input: {
        ...input,
        variables: { ...values, ...input.variables, ...fromLocation },
        secretNames: [
          ...new Set([...input.secretNames, ...Object.keys(values), ...Object.keys(fromLocation)]),
        ],
        otherSecrets: others,
      },
    },
  };
}

function ownText(texts: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(texts, name) ? texts[name] : undefined;
}

/** Returns whether a run needs a variable: by everything that it executes. */
function needsOf({ spec, input }: RunOrder): (name: string) => boolean {
  const { variables, lifecycle, snippets, plan } = input;
  const text = JSON.stringify([spec, Object.values(variables), lifecycle, snippets, plan]);
  // Some names are only known when it runs.
  if (bundleKey.test(text)) return () => true;
  const isAnySecret = text.match(/SERVICE_SECRET_(?!\w)/) !== null;
  return (name) =>
    new RegExp(`(?<!\\w)${name.replaceAll(/\W/g, '\\$&')}(?!\\w)`).test(text) ||
    (isAnySecret && name.startsWith(prefix));
}

function failureOf({ name, provider, problem }: UnavailableSecret): MissingSecret {
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

/** The failure of a run that needs a variable of the account whose secret is missing here. */
function missingVariable(
  variable: string,
  name: string,
  unavailable: readonly UnavailableSecret[],
): MissingSecret {
  const secret = unavailable.find((one) => one.name === name);
  const { message, details } = secret
    ? failureOf(secret)
    : {
        message: `The agent does not declare ${name}.`,
        details: { secretName: name, secretReason: 'NOT_DECLARED' as const },
      };
  return { message: `The variable ${variable} has no value at this location. ${message}`, details };
}
